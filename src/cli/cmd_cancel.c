/* cmd_cancel.c - stop a call, a turn or a session, by its id or the end of it. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"

static void
call_target(struct buf *out, const struct json *row)
{
	buf_addf(out, "/calls/%.*s/cancel", STR_ARG(member(row, "call_id")));
}

static void
turn_target(struct buf *out, const struct json *row)
{
	buf_addf(out, "/sessions/%.*s/turns/%.*s/cancel", STR_ARG(member(row, "session_id")),
		 STR_ARG(member(row, "turn_id")));
}

static void
session_target(struct buf *out, const struct json *row)
{
	buf_addf(out, "/sessions/%.*s/cancel", STR_ARG(member(row, "session_id")));
}

/* Where to look, in this order, and what to post to. */
static const struct way {
	const char *what;
	const char *list_path;
	const char *list;
	const char *key;
	void (*target)(struct buf *out, const struct json *row);
} ways[] = {
    {"call", "/calls", "calls", "call_id", call_target},
    {"call", "/calls", "calls", "tool_use_id", call_target},
    {"turn", "/calls", "calls", "turn_id", turn_target},
    {"session", "/sessions", "sessions", "session_id", session_target},
};

static int
cancel_row(struct api *api, const struct way *way, const struct json *row)
{
	struct buf target = BUF_INIT(4 * KIB);
	struct reply done;

	way->target(&target, row);
	const char *z = buf_z(&target);
	int code = z ? api_ask(api, "POST", z, S("{}"), &done) : refuse("an id is too long");
	if (code == EXIT_FINE) {
		printf("cancelling %s %.*s\n", way->what, STR_ARG(member(row, way->key)));
		api_done(&done);
	}
	buf_done(&target);
	return code;
}

int
cmd_cancel(const struct args *a)
{
	const struct json *row = NULL;
	struct reply rows;
	struct api *api;
	int code = api_enter(API_DAEMON, &api);

	if (code != EXIT_FINE)
		return code;
	for (size_t i = 0; i < ARRAY_LEN(ways) && code == EXIT_FINE && !row; i++) {
		const struct way *way = &ways[i];
		code = find_row(api, way->list_path, way->list, way->key, a->words[0], &rows, &row);
		if (row)
			code = cancel_row(api, way, row);
		api_done(&rows);
	}
	if (code == EXIT_FINE && !row)
		code = refuse("nothing that is running has the id '%s'", a->words[0]);
	api_close(api);
	return code;
}
