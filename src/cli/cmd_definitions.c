/* cmd_definitions.c - tools defined while the gateway runs. */

#include <stdio.h>

#include "base/limits.h"
#include "catalog/definition.h"
#include "cli/args.h"
#include "cli/servers.h"
#include "cli/input.h"
#include "cli/owner.h"
#include "cli/show.h"
#include "json/write.h"
#include "json/yaml.h"

static const struct column columns[] = {
    {"NAME", "name", SHOW_TEXT},       {"TENANT", "tenant_id", SHOW_TEXT},
    {"GATEWAY", "gateway", SHOW_TEXT}, {"EFFECTS", "side_effect_policy", SHOW_TEXT, 2},
    {"FROM", "from", SHOW_TEXT},       {"AVAILABLE", "available", SHOW_TEXT, 3},
    {"ID", "id", SHOW_TEXT, 1},
};

/* "/definitions/NAME?tenant_id=TENANT" */
static void
path_of(struct buf *out, struct str name, const char *tenant)
{
	buf_addz(out, "/definitions");
	if (name.ptr) {
		buf_addc(out, '/');
		segment_add(out, name);
	}
	if (tenant) {
		buf_addz(out, "?tenant_id=");
		segment_add(out, str_of(tenant));
	}
}

/* ---- define ---- */

/* "tools.yaml, line 7: refund: gateway: is missing" */
static int
complain(const char *path, const struct yaml *y, const struct json *one, const struct err *e)
{
	return refuse("%s, line %u: %s", input_name(path), yaml_line(y, one), err_text(e));
}

static int
check(const char *path, const struct yaml *y, const struct json *one)
{
	struct definition *d = NULL;
	struct err e;

	if (definition_parse(y->doc, one, &d, &e) < 0)
		return complain(path, y, one, &e);
	definition_unref(d);
	return EXIT_FINE;
}

static int
define(const struct args *a, const struct json *one)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD), body = BUF_INIT(INPUT_BYTES);
	struct jw w = jw(&body);
	struct str name = json_str(json_get(one, S("name")));
	struct reply reply;

	path_of(&target, name, args_value(a, "tenant"));
	jw_value(&w, one);
	int code = owner_ask("PUT", &target, &body, &reply);
	if (code != EXIT_FINE)
		return code;
	if (args_given(a, "json"))
		show_json(&reply);
	else
		printf("%.*s is defined\n", STR_ARG(name));
	api_done(&reply);
	return EXIT_FINE;
}

/* A list, or {"definitions": [...]}, as the configuration has them, or one. */
static int
define_all(const struct args *a, const struct yaml *y)
{
	const struct json *root = json_root(y->doc), *list = json_get(root, S("definitions"));
	int code = EXIT_FINE;

	if (!json_is(list, JSON_ARRAY))
		list = root;
	if (!json_is(list, JSON_ARRAY)) {
		code = check(a->words[0], y, root);
		return code == EXIT_FINE ? define(a, root) : code;
	}
	for (struct json_iter it = json_iter(list); code == EXIT_FINE && json_next(&it);)
		code = check(a->words[0], y, it.value);
	for (struct json_iter it = json_iter(list); code == EXIT_FINE && json_next(&it);)
		code = define(a, it.value);
	return code;
}

int
cmd_define(const struct args *a)
{
	struct buf text = BUF_INIT(INPUT_BYTES);
	struct yaml y = {0};
	struct err e;
	int code = input_read(a->words[0], &text);

	if (code == EXIT_FINE && yaml_parse(buf_str(&text), INPUT_BYTES, &y, &e) < 0)
		code = refuse("%s: %s", input_name(a->words[0]), err_text(&e));
	if (code == EXIT_FINE)
		code = define_all(a, &y);
	yaml_done(&y);
	buf_done(&text);
	return code;
}

/* ---- the others ---- */

int
cmd_definitions(const struct args *a)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	struct reply reply;
	int code;

	path_of(&target, a->count ? str_of(a->words[0]) : (struct str){NULL, 0},
		args_value(a, "tenant"));
	if (!a->count) {
		code = buf_z(&target) ? owner_list(target.ptr, args_given(a, "json"), "definitions",
						   columns, ARRAY_LEN(columns))
				      : refuse("no name is this long");
		buf_done(&target);
		return code;
	}
	if ((code = owner_ask("GET", &target, NULL, &reply)) != EXIT_FINE)
		return code;
	show_json(&reply);
	api_done(&reply);
	return EXIT_FINE;
}

int
cmd_undefine(const struct args *a)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);

	path_of(&target, str_of(a->words[0]), args_value(a, "tenant"));
	return owner_drop(&target);
}
