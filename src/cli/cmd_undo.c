/* cmd_undo.c - take back what a call did: to files, and where a tool can, to the world. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/show.h"
#include "cli/term.h"
#include "json/write.h"

/* How it is said which changes are meant, as it was typed. */
struct meant {
	const char *key;   /* of the order, and of the history behind _id */
	const char *typed; /* NULL: the last one */
};

static int
read_meant(const struct args *a, struct meant *ret)
{
	const char *turn = args_value(a, "turn");
	bool last = args_given(a, "last");

	if ((a->count > 0) + (turn != NULL) + last != 1)
		return usage_error(a, "give a call, or --turn TURN, or --last; `holdfast changes` "
				      "lists what can be undone");
	*ret = a->count ? (struct meant){"call", a->words[0]}
	       : turn   ? (struct meant){"turn", turn}
			: (struct meant){"last", NULL};
	return EXIT_FINE;
}

/* By the end of an id, as lists show it; what is not found is left for the gateway to say so. */
static int
find_meant(struct api *api, const struct meant *m, char *id, size_t size)
{
	static const struct {
		const char *path, *list;
	} places[] = {{"/changes?limit=1000", "changes"}, {"/calls?all=1&limit=1000", "calls"}};
	const struct json *row = NULL;
	struct reply rows;
	char key[16];
	int code = EXIT_FINE;

	snprintf(key, sizeof(key), "%s_id", m->key);
	snprintf(id, size, "%s", m->typed);
	for (size_t i = 0; code == EXIT_FINE && !row && i < ARRAY_LEN(places); i++) {
		code = find_row(api, places[i].path, places[i].list, key, m->typed, &rows, &row);
		if (code != EXIT_FINE)
			return code;
		if (row)
			snprintf(id, size, "%.*s", STR_ARG(member(row, key)));
		api_done(&rows);
	}
	return EXIT_FINE;
}

static int
order_write(struct api *api, const struct args *a, const struct meant *m, struct buf *out)
{
	struct jw w = jw(out);
	struct path here;
	char id[128];
	int code;

	jw_object(&w);
	if (m->typed) {
		if ((code = find_meant(api, m, id, sizeof(id))) != EXIT_FINE)
			return code;
		jw_member_z(&w, m->key, id);
	} else {
		if ((code = find_workspace(a, &here)) != EXIT_FINE)
			return code;
		jw_member_bool(&w, "last", true);
		jw_member_z(&w, "workspace", here.text);
	}
	jw_member_bool(&w, "force", args_given(a, "force"));
	jw_member_bool(&w, "dry_run", args_given(a, "dry-run"));
	jw_end(&w);
	return EXIT_FINE;
}

/* What undoing does to a file, by the type of the change that it is. */
static const char *
verb(struct str type, bool dry)
{
	static const struct {
		const char *type, *done, *would;
	} verbs[] = {
	    {"deleted", "removed", "would remove"},
	    {"created", "brought back", "would bring back"},
	    {"modified", "restored", "would restore"},
	};

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (str_is(type, verbs[i].type))
			return dry ? verbs[i].would : verbs[i].done;
	return dry ? "would undo" : "undone";
}

static void
print_file(const struct json *file, bool dry)
{
	bool ok = json_bool(json_get(file, S("ok")));
	struct buf path = BUF_INIT(4 * LIMIT_PATH), error = BUF_INIT(16 * KIB);

	text_safe(&path, member(file, "path"), SAFE_LINE);
	text_safe(&error, member(file, "error"), SAFE_LINE);
	if (ok)
		printf("%s %.*s\n", verb(member(file, "type"), dry), STR_ARG(buf_str(&path)));
	else
		refuse("%.*s: %.*s", STR_ARG(buf_str(&path)), STR_ARG(buf_str(&error)));
	buf_done(&path);
	buf_done(&error);
}

static void
print_effect(const struct json *effect, bool dry)
{
	struct buf tool = BUF_INIT(4 * KIB), back = BUF_INIT(4 * KIB), error = BUF_INIT(16 * KIB);

	text_safe(&tool, member(effect, "tool_name"), SAFE_LINE);
	text_safe(&back, member(effect, "compensation_tool"), SAFE_LINE);
	text_safe(&error, member(effect, "error"), SAFE_LINE);
	if (json_bool(json_get(effect, S("ok"))))
		printf("%s %.*s by %.*s\n", dry ? "would take back" : "took back",
		       STR_ARG(buf_str(&tool)), STR_ARG(buf_str(&back)));
	else
		refuse("%.*s: %.*s", STR_ARG(buf_str(&tool)), STR_ARG(buf_str(&error)));
	buf_done(&tool);
	buf_done(&back);
	buf_done(&error);
}

static bool
some_are_ok(const struct json *rows)
{
	for (struct json_iter it = json_iter(rows); json_next(&it);)
		if (json_bool(json_get(it.value, S("ok"))))
			return true;
	return false;
}

static int
print_answer(const struct args *a, const struct reply *r)
{
	const struct json *files = json_get(r->root, S("files"));
	bool dry = args_given(a, "dry-run");
	struct str call = member(r->root, "call_id");

	if (args_given(a, "json")) {
		show_json(r);
	} else {
		for (struct json_iter it = json_iter(json_get(r->root, S("effects")));
		     json_next(&it);)
			print_effect(it.value, dry);
		for (struct json_iter it = json_iter(files); json_next(&it);)
			print_file(it.value, dry);
		if (!dry && some_are_ok(files))
			printf("this was %.*s; `holdfast undo %.*s` does it again\n", STR_ARG(call),
			       STR_ARG(call));
	}
	bool whole = member_int(r->root, "failed") == 0 && member_int(r->root, "undone") > 0;
	return whole ? EXIT_FINE : EXIT_REFUSED;
}

int
cmd_undo(const struct args *a)
{
	struct buf order = BUF_INIT(16 * KIB);
	struct meant meant = {0};
	struct reply done = {0};
	struct api *api;
	int code = read_meant(a, &meant);

	if (code != EXIT_FINE || (code = api_enter(API_ANY, &api)) != EXIT_FINE)
		return code;
	code = order_write(api, a, &meant, &order);
	if (code == EXIT_FINE)
		code = api_ask(api, "POST", "/undo", buf_str(&order), &done);
	if (code == EXIT_FINE) {
		code = print_answer(a, &done);
		api_done(&done);
	}
	buf_done(&order);
	api_close(api);
	return code;
}
