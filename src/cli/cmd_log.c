/* cmd_log.c - the journal: the last calls, those of a session, or one call in full. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/show.h"
#include "cli/term.h"

#define LAST_CALLS 20

/* Why something failed is in the call's own page; what it was is not to be missed. */
static const struct column row_columns[] = {
    {"TIME", "opened_at", SHOW_TIME, 4},    {"CALL", "call_id", SHOW_ID},
    {"TOOL", "tool_name", SHOW_TEXT},       {"OUTCOME", NULL, SHOW_OUTCOME},
    {"CLASS", "error_class", SHOW_TEXT, 2}, {"RAN", "ran_ms", SHOW_MS, 3},
    {"RULE", "rule", SHOW_TEXT, 1},         {"WHAT", NULL, SHOW_WHAT},
};

static const struct column call_columns[] = {
    {"call", "call_id", SHOW_TEXT},
    {"tool_use_id", "tool_use_id", SHOW_TEXT},
    {"session", "session_id", SHOW_TEXT},
    {"turn", "turn_id", SHOW_TEXT},
    {"tool", "tool_name", SHOW_TEXT},
    {"may", "capability", SHOW_TEXT},
    {"effect", "reversibility", SHOW_TEXT},
    {"outcome", NULL, SHOW_OUTCOME},
    {"class", "error_class", SHOW_TEXT},
    {"message", "message", SHOW_TEXT},
    {"inside", "inside", SHOW_TEXT},
    {"rule", "rule", SHOW_TEXT},
    {"opened", "opened_at", SHOW_TIME},
    {"closed", "closed_at", SHOW_TIME},
    {"waited", "waited_ms", SHOW_MS},
    {"ran", "ran_ms", SHOW_MS},
    {"input bytes", "input_bytes", SHOW_TEXT},
    {"output bytes", "output_bytes", SHOW_TEXT},
    {"changed", "files_modified", SHOW_TEXT},
    {"command", "command", SHOW_TEXT},
    {"confined", "confinement", SHOW_TEXT},
    {"input", "input", SHOW_TEXT},
};

static void
print_rows(const struct reply *calls, bool json)
{
	const struct json *rows = json_get(calls->root, S("calls"));

	if (json)
		show_json(calls);
	else if (json_len(rows) == 0)
		printf("no calls\n");
	else
		show_table(rows, row_columns, ARRAY_LEN(row_columns));
}

/* A session may have more calls than an answer holds rows. */
static int
log_session(struct api *api, struct str id, bool json)
{
	char since[64] = "";
	bool more = true;

	while (more) {
		struct reply calls;
		int code = api_get(api, &calls, "/sessions/%.*s/calls?limit=%d%s%s", STR_ARG(id),
				   LIMIT_EVENT_PAGE, since[0] ? "&since=" : "", since);
		if (code != EXIT_FINE)
			return code;
		print_rows(&calls, json);
		more = json_bool(json_get(calls.root, S("more")));
		snprintf(since, sizeof(since), "%.*s", STR_ARG(member(calls.root, "last_id")));
		api_done(&calls);
	}
	return EXIT_FINE;
}

static int
log_last(struct api *api, bool json)
{
	struct reply calls;
	int code = api_get(api, &calls, "/calls?all=1&limit=%d", LAST_CALLS);

	if (code != EXIT_FINE)
		return code;
	print_rows(&calls, json);
	api_done(&calls);
	return EXIT_FINE;
}

static void
print_call(const struct reply *call, bool json)
{
	if (json)
		show_json(call);
	else
		show_fields(call->root, call_columns, ARRAY_LEN(call_columns));
}

/* By its whole id or tool_use_id. False: there is none. */
static bool
log_call(struct api *api, struct str id, bool json, int *ret_code)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	struct reply call = {0};
	struct err e;

	buf_addz(&target, "/calls/");
	url_add(&target, id);
	bool there = buf_z(&target) &&
		     api_request(api, "GET", target.ptr, (struct str){NULL}, &call, &e) == 0 &&
		     call.status == 200;
	if (there)
		print_call(&call, json);
	api_done(&call);
	buf_done(&target);
	*ret_code = EXIT_FINE;
	return there;
}

/* By the end of an id, as lists show it. */
static int
log_ending(struct api *api, const char *typed, bool json)
{
	struct reply rows;
	const struct json *row;
	int code = find_row(api, "/sessions?all=1&limit=1000", "sessions", "session_id", typed,
			    &rows, &row);

	if (code == EXIT_FINE && row)
		code = log_session(api, member(row, "session_id"), json);
	if (code == EXIT_FINE)
		api_done(&rows);
	if (code != EXIT_FINE || row)
		return code;
	code = find_row(api, "/calls?all=1&limit=1000", "calls", "call_id", typed, &rows, &row);
	if (code != EXIT_FINE)
		return code;
	if (!row || !log_call(api, member(row, "call_id"), json, &code))
		code = refuse("the journal has no session or call '%s'", typed);
	api_done(&rows);
	return code;
}

int
cmd_log(const struct args *a)
{
	const char *typed = a->count ? a->words[0] : NULL;
	bool json = args_given(a, "json");
	struct api *api;
	int code = api_enter(API_ANY, &api);

	if (code != EXIT_FINE)
		return code;
	if (!typed)
		code = log_last(api, json);
	else if (!log_call(api, str_of(typed), json, &code))
		code = log_ending(api, typed, json);
	api_close(api);
	return code;
}
