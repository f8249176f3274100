/* cmd_grants.c - answers that are remembered, and forgetting one. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/show.h"

static const struct column columns[] = {
    {"ID", "id", SHOW_ID},
    {"ANSWER", "decision", SHOW_TEXT},
    {"TOOL", "tool_name", SHOW_TEXT},
    {"PREFIX", "prefix", SHOW_TEXT},
    {"SCOPE", "scope", SHOW_TEXT},
    {"SINCE", "created_at", SHOW_TIME},
    {"BY", "by", SHOW_TEXT},
    {"WORKSPACE", "workspace_path", SHOW_TEXT},
};

static int
revoke(struct api *api, const char *typed)
{
	struct buf target = BUF_INIT(KIB);
	struct reply grants, done;
	const struct json *grant;
	int code = find_row(api, "/grants", "grants", "id", typed, &grants, &grant);

	if (code != EXIT_FINE)
		return code;
	buf_addz(&target, "/grants/");
	url_add(&target, grant ? member(grant, "id") : str_of(typed));
	if (!buf_z(&target))
		code = refuse("no remembered answer has an id this long");
	else if ((code = api_ask(api, "DELETE", target.ptr, (struct str){NULL, 0}, &done)) ==
		 EXIT_FINE)
		api_done(&done);
	api_done(&grants);
	buf_done(&target);
	return code;
}

static int
list(struct api *api, bool json)
{
	struct reply grants;
	int code = api_get(api, &grants, "/grants");

	if (code != EXIT_FINE)
		return code;
	const struct json *rows = json_get(grants.root, S("grants"));
	if (json)
		show_json(&grants);
	else if (json_len(rows) == 0)
		printf("no answer is remembered\n");
	else
		show_table(rows, columns, ARRAY_LEN(columns));
	api_done(&grants);
	return EXIT_FINE;
}

int
cmd_grants(const struct args *a)
{
	const char *revoked = args_value(a, "revoke");
	struct api *api;
	int code = api_enter(API_ANY, &api);

	if (code != EXIT_FINE)
		return code;
	code = revoked ? revoke(api, revoked) : list(api, args_given(a, "json"));
	api_close(api);
	return code;
}
