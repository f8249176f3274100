/* cmd_claims.c - who decides what is done once, and beginning anew with one that forgot. */

#include <stdio.h>

#include "cli/args.h"
#include "cli/find.h"
#include "cli/show.h"

static void
show_claims(const struct json *root)
{
	static const char *const lines[] = {"backend", "server",  "key_prefix",
					    "state",   "problem", "warning"};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct str value = json_str(json_get(root, str_of(lines[i])));
		if (value.len)
			printf("%-12s%.*s\n", lines[i], STR_ARG(value));
	}
}

static int
with_claims(const struct args *a, bool accept)
{
	struct api *api;
	struct reply r = {0};
	int code = api_enter(API_DAEMON, &api);

	if (code != EXIT_FINE)
		return code;
	code = accept ? api_ask(api, "POST", "/claims/accept", S("{}"), &r)
		      : api_get(api, &r, "/claims");
	if (code == EXIT_FINE && args_given(a, "json"))
		show_json(&r);
	else if (code == EXIT_FINE && !accept)
		show_claims(r.root);
	else if (code == EXIT_FINE)
		printf("the server counts as it is now\n");
	api_done(&r);
	api_close(api);
	return code;
}

int
cmd_claims(const struct args *a)
{
	return with_claims(a, false);
}

int
cmd_claims_accept(const struct args *a)
{
	return with_claims(a, true);
}
