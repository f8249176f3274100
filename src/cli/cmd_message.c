/* cmd_message.c - say something to a session while its agent is at work. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/input.h"
#include "cli/show.h"
#include "json/write.h"

static void
tell(const struct json *reply)
{
	struct str turn = member(reply, "turn_id");

	if (turn.len)
		printf(
		    "%.*s is pending: turn %.*s is open, and asked about it before anything that "
		    "cannot be undone\n",
		    STR_ARG(member(reply, "message_id")), STR_ARG(turn));
	else
		printf("%.*s waits for the next turn\n", STR_ARG(member(reply, "message_id")));
}

static int
say(struct api *api, const struct args *a, const char *session, struct str text)
{
	struct buf target = BUF_INIT(4 * KIB), body = BUF_INIT(LIMIT_MESSAGE_BYTES * 6 + KIB);
	struct jw w = jw(&body);
	struct reply reply = {0};

	buf_addf(&target, "/sessions/%s/messages", session);
	jw_object(&w);
	jw_member(&w, "content", text);
	if (args_value(a, "id"))
		jw_member_z(&w, "id", args_value(a, "id"));
	jw_end(&w);
	const char *z = buf_z(&target);
	int code = z && !buf_failed(&body) ? api_ask(api, "POST", z, buf_str(&body), &reply)
					   : refuse("the message is too long");
	if (code == EXIT_FINE) {
		if (args_given(a, "json"))
			show_json(&reply);
		else
			tell(reply.root);
		api_done(&reply);
	}
	buf_done(&target);
	buf_done(&body);
	return code;
}

int
cmd_message(const struct args *a)
{
	struct buf text = BUF_INIT(INPUT_BYTES);
	char session[64];
	struct api *api;
	int code = EXIT_FINE;

	if (strcmp(a->words[1], "-") != 0)
		buf_addz(&text, a->words[1]);
	else
		code = input_read("-", &text);
	if (code == EXIT_FINE && (code = api_enter(API_DAEMON, &api)) == EXIT_FINE) {
		code = find_session(api, a->words[0], session, sizeof(session));
		if (code == EXIT_FINE)
			code = say(api, a, session, buf_str(&text));
		api_close(api);
	}
	buf_done(&text);
	return code;
}
