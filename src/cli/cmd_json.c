/* cmd_json.c - canonical forms of JSON, and their digests. */

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/input.h"
#include "cli/term.h"
#include "json/canon.h"

static const struct {
	const char *name;
	enum canon_form form;
} forms[] = {
    {"jcs", CANON_JCS},      {"kernel", CANON_JCS},   {"contextweaver", CANON_COMPACT},
    {"metis", CANON_SPACED}, {"focal", CANON_SPACED},
};

static int
find_form(const struct args *a, enum canon_form *ret)
{
	const char *name = args_value(a, "form");

	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (strcmp(name ? name : "jcs", forms[i].name) == 0) {
			*ret = forms[i].form;
			return EXIT_FINE;
		}
	return usage_error(a, "there is no form '%.100s': it is jcs, contextweaver, metis or focal",
			   name);
}

/* Of the file that was named, or standard input. */
static int
canon(const struct args *a, struct buf *out)
{
	enum canon_form form = CANON_JCS;
	struct json_doc *doc;
	int code = find_form(a, &form);

	if (code != EXIT_FINE)
		return code;
	if ((code = input_json(a->count > 0 ? a->words[0] : "-", &doc)) != EXIT_FINE)
		return code;
	canon_write(out, json_root(doc), form);
	json_doc_unref(doc);
	return buf_failed(out) ? refuse("there is not enough memory") : EXIT_FINE;
}

/* Escapes make a text six times as long at most. */
#define CANON_BYTES (8 * LIMIT_JSON_BYTES)

int
cmd_json_canon(const struct args *a)
{
	struct buf out = BUF_INIT(CANON_BYTES);
	int code = canon(a, &out);

	if (code == EXIT_FINE && term_is(stdout))
		text_print_json(stdout, buf_str(&out));
	else if (code == EXIT_FINE)
		fwrite(out.ptr, 1, out.len, stdout);
	buf_done(&out);
	return code;
}

int
cmd_json_digest(const struct args *a)
{
	struct buf out = BUF_INIT(CANON_BYTES);
	char digest[DIGEST_TEXT];
	int code = canon(a, &out);

	if (code == EXIT_FINE) {
		digest_bytes(buf_str(&out), digest);
		puts(digest);
	}
	buf_done(&out);
	return code;
}
