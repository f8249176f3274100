/* cmd_effects.c - what was done to the world, and what is known of it. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/show.h"
#include "json/write.h"

static const struct column columns[] = {
    {"TIME", "executed_at", SHOW_TIME, 3}, {"EFFECT", "id", SHOW_ID},
    {"STATE", "state", SHOW_TEXT},         {"POLICY", "policy", SHOW_TEXT, 2},
    {"CALL", "call", SHOW_ID, 1},          {"TOOL", "tool", SHOW_TEXT},
    {"ERROR", "error", SHOW_TEXT},
};

static int
target_write(struct api *api, const struct args *a, struct buf *out)
{
	const char *state = args_value(a, "state"), *typed = args_value(a, "session");
	char session[64] = "";
	int code = typed ? find_session(api, typed, session, sizeof(session)) : EXIT_FINE;

	buf_addf(out, "/effects?limit=%d", LIMIT_EFFECT_PAGE);
	if (state) {
		buf_addz(out, "&state=");
		url_add(out, str_of(state));
	}
	if (session[0])
		buf_addf(out, "&session=%s", session);
	if (args_given(a, "unknown"))
		buf_addz(out, "&unknown=1");
	return code;
}

static int
list(struct api *api, const struct args *a)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	struct reply page = {0};
	int code = target_write(api, a, &target);
	const char *z = buf_z(&target);

	if (code == EXIT_FINE)
		code = z ? api_get(api, &page, "%s", z) : refuse("this is too long");
	buf_done(&target);
	if (code != EXIT_FINE)
		return code;
	const struct json *rows = json_get(page.root, S("effects"));
	if (args_given(a, "json"))
		show_json(&page);
	else if (json_len(rows) == 0)
		printf("no effects\n");
	else
		show_table(rows, columns, ARRAY_LEN(columns));
	if (!args_given(a, "json") && member_int(page.root, "unknown") > 0)
		refuse("%lld of unknown outcome: look what became of them, then `holdfast effects "
		       "resolve`",
		       (long long)member_int(page.root, "unknown"));
	api_done(&page);
	return EXIT_FINE;
}

int
cmd_effects(const struct args *a)
{
	struct api *api;
	int code = api_enter(API_ANY, &api);

	if (code == EXIT_FINE) {
		code = list(api, a);
		api_close(api);
	}
	return code;
}

/* By the end of an id, as lists show it; what is not found is left for the gateway to say so. */
static int
find_effect(struct api *api, const char *typed, char *id, size_t size)
{
	const struct json *row;
	struct reply rows;
	int code = find_row(api, "/effects?limit=1000", "effects", "id", typed, &rows, &row);

	snprintf(id, size, "%s", typed);
	if (code != EXIT_FINE)
		return code;
	if (row)
		snprintf(id, size, "%.*s", STR_ARG(member(row, "id")));
	api_done(&rows);
	return EXIT_FINE;
}

static int
show(struct api *api, const struct args *a)
{
	struct reply one = {0};
	char id[128];
	int code = find_effect(api, a->words[0], id, sizeof(id));

	if (code == EXIT_FINE)
		code = api_get(api, &one, "/effects/%s", id);
	if (code == EXIT_FINE)
		show_json(&one);
	api_done(&one);
	return code;
}

int
cmd_effects_show(const struct args *a)
{
	struct api *api;
	int code = api_enter(API_ANY, &api);

	if (code == EXIT_FINE) {
		code = show(api, a);
		api_close(api);
	}
	return code;
}

static int
resolve(struct api *api, const struct args *a)
{
	struct buf body = BUF_INIT(64 * KIB), target = BUF_INIT(KIB);
	struct jw w = jw(&body);
	struct reply answer = {0};
	char id[128];
	int code = find_effect(api, a->words[0], id, sizeof(id));

	jw_object(&w);
	jw_member_bool(&w, "done", args_given(a, "done"));
	if (args_value(a, "note"))
		jw_member_z(&w, "note", args_value(a, "note"));
	jw_end(&w);
	buf_addf(&target, "/effects/%s/resolve", id);
	if (code == EXIT_FINE)
		code = api_ask(api, "POST", buf_z(&target), buf_str(&body), &answer);
	if (code == EXIT_FINE)
		printf("%s is %.*s\n", id, STR_ARG(member(answer.root, "state")));
	api_done(&answer);
	buf_done(&body);
	buf_done(&target);
	return code;
}

int
cmd_effects_resolve(const struct args *a)
{
	struct api *api;

	if (args_given(a, "done") == args_given(a, "not-done"))
		return usage_error(a, "say --done or --not-done");
	int code = api_enter(API_ANY, &api);
	if (code == EXIT_FINE) {
		code = resolve(api, a);
		api_close(api);
	}
	return code;
}

static int
export_all(struct api *api)
{
	long long after = 0;
	int code;

	do {
		struct reply page = {0};
		code = api_get(api, &page, "/effects/log?after=%lld&limit=1000", after);
		if (code != EXIT_FINE)
			break;
		for (struct json_iter it = json_iter(json_get(page.root, S("records")));
		     json_next(&it);)
			show_json_value(it.value);
		after = (long long)member_int(page.root, "last");
		api_done(&page);
	} while (after > 0);
	return code;
}

int
cmd_effects_export(const struct args *a)
{
	struct api *api;
	int code = api_enter(API_ANY, &api);

	(void)a;
	if (code == EXIT_FINE) {
		code = export_all(api);
		api_close(api);
	}
	return code;
}

static void
print_problem(const struct json *p)
{
	struct str effect = member(p, "effect");

	refuse("%.*s%s%.*s", STR_ARG(member(p, "problem")), effect.len ? ": " : "",
	       STR_ARG(effect));
}

static int
verify(struct api *api, bool json)
{
	struct reply answer = {0};
	int code = api_get(api, &answer, "/effects/verify");

	if (code != EXIT_FINE)
		return code;
	bool ok = json_bool(json_get(answer.root, S("ok")));
	if (json)
		show_json(&answer);
	for (struct json_iter it = json_iter(json_get(answer.root, S("problems")));
	     !json && json_next(&it);)
		print_problem(it.value);
	if (!json && ok)
		printf("%lld records of %lld effects: as they were written\n",
		       (long long)member_int(answer.root, "records"),
		       (long long)member_int(answer.root, "effects"));
	api_done(&answer);
	return ok ? EXIT_FINE : EXIT_REFUSED;
}

int
cmd_effects_verify(const struct args *a)
{
	struct api *api;
	int code = api_enter(API_ANY, &api);

	if (code == EXIT_FINE) {
		code = verify(api, args_given(a, "json"));
		api_close(api);
	}
	return code;
}
