/* cmd_changes.c - what calls did to files, and what they do. */

#include <stdio.h>

#include "base/glob.h"
#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/show.h"
#include "cli/term.h"

static const struct column columns[] = {
    {"TIME", "at", SHOW_TIME, 3},     {"CALL", "call_id", SHOW_ID},
    {"TOOL", "tool_name", SHOW_TEXT}, {"TYPE", "type", SHOW_TEXT},
    {"UNDO", NULL, SHOW_UNDO},        {"WORKSPACE", "workspace", SHOW_TEXT, 1},
    {"PATH", NULL, SHOW_MOVED},
};

static int
print_past(struct api *api, const char *pattern, const char *session, bool json)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	struct reply page = {0};

	buf_addz(&target, "/changes?pattern=");
	url_add(&target, str_of(pattern));
	if (session[0]) {
		buf_addz(&target, "&session=");
		url_add(&target, str_of(session));
	}
	const char *z = buf_z(&target);
	int code = z ? api_get(api, &page, "%s", z) : refuse("the pattern is too long");
	buf_done(&target);
	if (code != EXIT_FINE)
		return code;
	const struct json *rows = json_get(page.root, S("changes"));
	if (json)
		show_json(&page);
	else if (json_len(rows) == 0)
		printf("no changes\n");
	else
		show_table(rows, columns, ARRAY_LEN(columns));
	api_done(&page);
	return EXIT_FINE;
}

static void
print_news(const char *pattern, const struct client_event *ev, bool json)
{
	struct json_doc *doc;

	if (json_parse(ev->text, &json_door, &doc, NULL) < 0)
		return;
	const struct json *payload = json_get(json_root(doc), S("payload"));
	if (str_is(ev->type, "gap"))
		refuse("%lld events were missed", (long long)member_int(json_root(doc), "missed"));
	else if (!glob_file(str_of(pattern), member(payload, "path")))
		;
	else if (json)
		show_json_value(json_root(doc));
	else
		show_event(json_root(doc));
	fflush(stdout);
	json_doc_unref(doc);
}

/* Until the gateway goes away. */
static int
follow(struct api *api, const char *pattern, const char *session, bool json)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	struct client *c = NULL;
	struct client_event ev;
	struct err e = ERR_NONE;

	if (!api_is_daemon(api)) {
		refuse("no gateway is running, so there is nothing to follow; `holdfast serve` "
		       "starts one");
		return EXIT_NO_GATEWAY;
	}
	if (session[0]) {
		buf_addz(&target, "/sessions/");
		url_add(&target, str_of(session));
	}
	buf_addz(&target, "/events?event_types=file.changed");
	const char *z = buf_z(&target);
	int code = z ? api_events(api, z, &c, &e) : refuse("the session's id is too long");
	buf_done(&target);
	for (int r; code == EXIT_FINE && (r = client_event(c, -1, &ev, &e)) >= 0;)
		if (r > 0)
			print_news(pattern, &ev, json);
	if (c || code == EXIT_NO_GATEWAY) {
		refuse("the gateway went away");
		code = EXIT_NO_GATEWAY;
	}
	client_free(c);
	return code;
}

int
cmd_changes(const struct args *a)
{
	const char *pattern = a->count ? a->words[0] : "", *typed = args_value(a, "session");
	bool json = args_given(a, "json");
	char session[64] = "";
	struct api *api;
	int code = api_enter(API_ANY, &api);

	if (code != EXIT_FINE)
		return code;
	if (typed)
		code = find_session(api, typed, session, sizeof(session));
	if (code == EXIT_FINE)
		code = args_given(a, "follow") ? follow(api, pattern, session, json)
					       : print_past(api, pattern, session, json);
	api_close(api);
	return code;
}
