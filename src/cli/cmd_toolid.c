/* cmd_toolid.c - tool ids made and taken apart. */

#include <stdio.h>

#include "base/limits.h"
#include "catalog/toolid.h"
#include "cli/args.h"
#include "cli/input.h"
#include "cli/term.h"
#include "json/write.h"

int
cmd_toolid_derive(const struct args *a)
{
	const char *file = args_value(a, "schema");
	struct json_doc *schema = NULL;
	struct buf id = BUF_INIT(TOOLID_MAX);
	int code = file ? input_json(file, &schema) : EXIT_FINE;

	if (code != EXIT_FINE)
		return code;
	toolid_derive(&id, str_of(a->words[0]), str_of(args_value(a, "server")),
		      str_of(args_value(a, "version")), schema ? json_root(schema) : NULL);
	if (buf_failed(&id))
		code = refuse("there is not enough memory");
	else
		puts(buf_z(&id));
	buf_done(&id);
	json_doc_unref(schema);
	return code;
}

int
cmd_toolid_parse(const struct args *a)
{
	struct buf out = BUF_INIT(4 * KIB);
	struct jw w = jw(&out);
	struct toolid parts;
	struct err e;

	if (toolid_parse(str_of(a->words[0]), &parts, &e) < 0)
		return refuse("%s", err_text(&e));
	jw_object(&w);
	jw_member(&w, "namespace", parts.ns);
	jw_member(&w, "name", parts.name);
	jw_member(&w, "version", parts.version);
	jw_member(&w, "hash8", parts.hash8);
	jw_end(&w);
	text_print_json(stdout, buf_str(&out));
	buf_done(&out);
	return EXIT_FINE;
}
