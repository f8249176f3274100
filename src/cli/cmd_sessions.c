/* cmd_sessions.c - who is at work where. */

#include <stdio.h>

#include "cli/args.h"
#include "cli/show.h"

static const struct column open_columns[] = {
    {"SESSION", "session_id", SHOW_ID},
    {"SINCE", "created_at", SHOW_TIME},
    {"TURNS", "turns", SHOW_TEXT},
    {"RUNNING", "running", SHOW_TEXT},
    {"QUEUED", "queued", SHOW_TEXT},
    {"CLIENT", "client", SHOW_TEXT},
    {"WORKSPACE", "workspace_path", SHOW_TEXT},
};

static const struct column all_columns[] = {
    {"SESSION", "session_id", SHOW_ID},         {"SINCE", "created_at", SHOW_TIME},
    {"UNTIL", "ended_at", SHOW_TIME},           {"CLIENT", "client", SHOW_TEXT},
    {"WORKSPACE", "workspace_path", SHOW_TEXT},
};

static void
print(const struct args *a, const struct reply *r)
{
	const struct json *rows = json_get(r->root, S("sessions"));

	if (args_given(a, "json"))
		show_json(r);
	else if (json_len(rows) == 0)
		printf("no session is open\n");
	else if (args_given(a, "all"))
		show_table(rows, all_columns, ARRAY_LEN(all_columns));
	else
		show_table(rows, open_columns, ARRAY_LEN(open_columns));
}

int
cmd_sessions(const struct args *a)
{
	struct reply sessions;
	struct api *api;
	int code = api_enter(API_ANY, &api);

	if (code != EXIT_FINE)
		return code;
	code = api_get(api, &sessions, "/sessions%s", args_given(a, "all") ? "?all=1" : "");
	api_close(api);
	if (code != EXIT_FINE)
		return code;
	print(a, &sessions);
	api_done(&sessions);
	return EXIT_FINE;
}
