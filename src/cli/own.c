/* own.c - a session for one command. */

#include "cli/own.h"

#include <stdio.h>

#include "base/limits.h"
#include "cli/find.h"
#include "json/write.h"

int
own_open(struct api *api, const struct args *a, const char *client, struct own *ret)
{
	const char *given = args_value(a, "session");
	struct buf body = BUF_INIT(64 * KIB);
	struct path workspace;
	struct reply reply;
	int code;

	if (given)
		return find_session(api, given, ret->id, sizeof(ret->id));
	if ((code = find_workspace(a, &workspace)) != EXIT_FINE)
		return code;
	struct jw w = jw(&body);
	jw_object(&w);
	jw_member_z(&w, "workspace", workspace.text);
	jw_member_z(&w, "client", client);
	if (ret->tenant)
		jw_member_z(&w, "tenant", ret->tenant);
	if (ret->agent)
		jw_member_z(&w, "agent", ret->agent);
	jw_end(&w);
	code = api_ask(api, "POST", "/sessions", buf_str(&body), &reply);
	buf_done(&body);
	if (code != EXIT_FINE)
		return code;
	snprintf(ret->id, sizeof(ret->id), "%.*s", STR_ARG(member(reply.root, "session_id")));
	ret->made = true;
	api_done(&reply);
	return EXIT_FINE;
}

void
own_end(struct api *api, const struct own *own)
{
	struct buf target = BUF_INIT(KIB);
	struct reply reply = {0};

	if (!own->made)
		return;
	buf_addf(&target, "/sessions/%s", own->id);
	api_request(api, "DELETE", buf_z(&target), (struct str){NULL, 0}, &reply, NULL);
	api_done(&reply);
	buf_done(&target);
}
