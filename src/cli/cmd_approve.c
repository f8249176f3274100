/* cmd_approve.c - approve and deny: answering an open question from anywhere. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/ask.h"
#include "cli/show.h"

static const struct column columns[] = {
    {"ID", "confirmation_request_id", SHOW_ID},    {"TOOL", "tool_name", SHOW_TEXT},
    {"WANTS TO", "side_effects", SHOW_TEXT, 3},    {"UNTIL", "expires_at", SHOW_CLOCK, 2},
    {"WORKSPACE", "workspace_path", SHOW_TEXT, 1}, {"WHAT", NULL, SHOW_WHAT},
};

/* The one question there is; with none or several, a list of them and a usage error. */
static int
only_question(struct api *api, struct reply *ret, const struct json **question)
{
	int code = api_get(api, ret, "/confirmations");

	if (code != EXIT_FINE)
		return code;
	const struct json *rows = json_get(ret->root, S("confirmations"));
	*question = json_at(rows, 0);
	if (json_len(rows) == 0) {
		code = refuse("there is no open question");
	} else if (json_len(rows) > 1) {
		show_table(rows, columns, ARRAY_LEN(columns));
		refuse("there are several open questions: give the ID of one");
		code = EXIT_USAGE;
	}
	if (code != EXIT_FINE)
		api_done(ret);
	return code;
}

static int
answer(struct api *api, struct str request, const struct ask_answer *v)
{
	int code;

	if (ask_answer(api, request, v, &code))
		printf("%s\n", v->allow ? "allowed" : "denied");
	return code;
}

static int
answer_only(struct api *api, const struct ask_answer *v)
{
	const struct json *question;
	struct reply rows;
	int code = only_question(api, &rows, &question);

	if (code != EXIT_FINE)
		return code;
	ask_show(stdout, question);
	code = answer(api, member(question, "confirmation_request_id"), v);
	api_done(&rows);
	return code;
}

/* An open question is known by the end of its id, one that was answered only by the whole: that is
 * in the journal, and the gateway then tells the outcome. */
static struct str
whole_id(struct api *api, struct str typed, struct reply *events)
{
	if (api_get(api, events, "/events?newest=1&limit=%d&event_types=tool.confirmation_resolved",
		    LIMIT_EVENT_PAGE) != EXIT_FINE)
		return typed;
	for (struct json_iter it = json_iter(json_get(events->root, S("events")));
	     json_next(&it);) {
		struct str id = member(json_get(it.value, S("payload")), "confirmation_request_id");
		if (typed.len >= SHORT_ID && str_ends(id, typed))
			return id;
	}
	return typed;
}

static int
answer_named(struct api *api, const char *typed, const struct ask_answer *v)
{
	struct reply events = {0};
	int code = answer(api, whole_id(api, str_of(typed), &events), v);

	api_done(&events);
	return code;
}

static int
run(const struct args *a, const struct ask_answer *v)
{
	struct api *api;
	int code = api_enter(API_DAEMON, &api);

	if (code != EXIT_FINE)
		return code;
	code = a->count ? answer_named(api, a->words[0], v) : answer_only(api, v);
	api_close(api);
	return code;
}

static int
list(bool json)
{
	struct reply rows;
	struct api *api;
	int code = api_enter(API_DAEMON, &api);

	if (code != EXIT_FINE)
		return code;
	code = api_get(api, &rows, "/confirmations");
	api_close(api);
	if (code != EXIT_FINE)
		return code;
	const struct json *questions = json_get(rows.root, S("confirmations"));
	if (json)
		show_json(&rows);
	else if (json_len(questions) == 0)
		printf("there is no open question\n");
	else
		show_table(questions, columns, ARRAY_LEN(columns));
	api_done(&rows);
	return EXIT_FINE;
}

int
cmd_approve(const struct args *a)
{
	bool workspace = args_given(a, "workspace");
	struct ask_answer v = {true, "once", args_value(a, "prefix"), "holdfast approve"};

	if (args_given(a, "list"))
		return list(args_given(a, "json"));
	if (workspace && args_given(a, "session"))
		return usage_error(a, "--session and --workspace exclude each other");
	if (v.prefix)
		v.scope = workspace ? "workspace_prefix" : "prefix";
	else if (workspace)
		v.scope = "workspace";
	else if (args_given(a, "session"))
		v.scope = "session";
	return run(a, &v);
}

int
cmd_deny(const struct args *a)
{
	struct ask_answer v = {false, args_given(a, "always") ? "workspace" : "once", NULL,
			       "holdfast deny"};

	return run(a, &v);
}
