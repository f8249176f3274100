/* cmd_schema.c - schemas, and values against them. */

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/input.h"
#include "cli/term.h"
#include "json/write.h"
#include "schema/schema.h"

#define ERRORS_BYTES (8 * LIMIT_JSON_BYTES) /* a pointer may be as long as the value */

/* Nobody would miss it in a pipe. */
static void
say_fine(const char *sentence)
{
	if (term_is(stderr))
		fprintf(stderr, "%s%s%s\n", paint(stderr, GREEN), sentence, paint(stderr, PLAIN));
}

static void
print_lines(const struct buf *lines)
{
	text_print(stdout, buf_str(lines));
	putchar('\n');
}

/* {"valid":false,"errors":[...]}, or with "schema_error" instead; each is JSON already. */
static void
print_answer(bool valid, const char *key, struct str value)
{
	struct buf out = BUF_INIT(ERRORS_BYTES + KIB);
	struct jw w = jw(&out);

	jw_object(&w);
	jw_member_bool(&w, "valid", valid);
	jw_key(&w, key);
	jw_raw(&w, value);
	jw_end(&w);
	text_print_json(stdout, buf_str(&out));
	buf_done(&out);
}

static int
schema_refused(const struct args *a, const struct err *e)
{
	struct buf sentence = BUF_INIT(16 * KIB);
	struct jw w = jw(&sentence);

	jw_z(&w, err_text(e));
	if (args_given(a, "json"))
		print_answer(false, "schema_error", buf_str(&sentence));
	else
		refuse("%s: %s", input_name(a->words[0]), err_text(e));
	buf_done(&sentence);
	return EXIT_NO_SCHEMA;
}

static int
read_options(const struct args *a, struct schema_options *ret)
{
	const char *draft = args_value(a, "draft");

	ret->assert_formats = args_given(a, "formats");
	if (draft && strcmp(draft, "7") == 0)
		ret->draft = 7;
	else if (draft && (strcmp(draft, "2020") == 0 || strcmp(draft, "2020-12") == 0))
		ret->draft = 2020;
	else if (draft)
		return usage_error(a, "there is no draft '%.100s' here: it is 7 or 2020", draft);
	if (a->count == 2 && strcmp(a->words[0], "-") == 0 && strcmp(a->words[1], "-") == 0)
		return usage_error(a, "only one of the two can be standard input");
	return EXIT_FINE;
}

/* EXIT_FINE, or what is wrong was said. */
static int
compile(const struct args *a, struct schema **ret)
{
	struct schema_options options = {0};
	struct json_doc *doc;
	struct err e;
	int code;

	if ((code = read_options(a, &options)) != EXIT_FINE ||
	    (code = input_json(a->words[0], &doc)) != EXIT_FINE)
		return code;
	if (schema_compile(doc, json_root(doc), &options, ret, &e) < 0)
		code = schema_refused(a, &e);
	json_doc_unref(doc);
	return code;
}

static int
check_instance(const struct args *a, const struct schema *schema)
{
	bool json = args_given(a, "json");
	struct buf errors = BUF_INIT(ERRORS_BYTES);
	struct json_doc *doc;
	int code = input_json(a->words[1], &doc);

	if (code != EXIT_FINE)
		return code;
	bool valid = schema_validate(schema, json_root(doc), json ? SCHEMA_JSON : SCHEMA_LINES,
				     &errors) == 0;
	json_doc_unref(doc);
	if (buf_failed(&errors))
		refuse("there is not enough memory");
	else if (json)
		print_answer(valid, "errors", valid ? S("[]") : buf_str(&errors));
	else if (!valid)
		print_lines(&errors);
	else
		say_fine("It fits.");
	buf_done(&errors);
	return valid ? EXIT_FINE : EXIT_REFUSED;
}

int
cmd_schema_check(const struct args *a)
{
	struct schema *schema = NULL;
	int code = compile(a, &schema);

	if (code == EXIT_FINE && a->count == 2)
		code = check_instance(a, schema);
	else if (code == EXIT_FINE && args_given(a, "json"))
		print_answer(true, "errors", S("[]"));
	else if (code == EXIT_FINE)
		say_fine("The schema is fine.");
	schema_free(schema);
	return code;
}

int
cmd_schema_lint(const struct args *a)
{
	struct buf problems = BUF_INIT(ERRORS_BYTES);
	struct json_doc *doc;
	int code = input_json(a->words[0], &doc);

	if (code != EXIT_FINE)
		return code;
	if (schema_subset(json_root(doc), &problems) == 0) {
		say_fine("The schema keeps to the portable subset.");
	} else {
		print_lines(&problems);
		code = EXIT_REFUSED;
	}
	json_doc_unref(doc);
	buf_done(&problems);
	return code;
}
