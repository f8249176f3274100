/*
 * cmd_mcp.c - MCP over standard input and output: a relay to the shared daemon, which is started
 * when none runs. Standard output carries nothing but MCP messages.
 */

#include "cli/attach.h"
#include "cli/background.h"
#include "cli/find.h"
#include "cli/holder.h"

static int
attach(const struct args *a, struct api **ret, struct err *e)
{
	const char *config = args_value(a, "config");

	if (args_given(a, "standalone"))
		return api_open(API_PRIVATE | API_SERVERS, config, ret, e);
	int code = api_open(API_DAEMON, NULL, ret, e);
	if (code == E_STOPPING)
		return background_start(&(struct background){.config = config}, ret, e);
	if (code == 0 && config)
		refuse("a gateway is running already: --config has no effect on it");
	return code;
}

/* One that was stopped is not started again: somebody wanted that. */
static int
attach_again(void *arg, struct api **ret, struct err *e)
{
	struct holder holder;
	int code = api_open(API_DAEMON, NULL, ret, e);

	if (code == E_STOPPING && holder_find(&holder) == HOLDER_FELL)
		return attach(arg, ret, e);
	return code;
}

int
cmd_mcp(const struct args *a)
{
	struct path workspace;
	struct api *api = NULL;
	struct err e;
	int code = find_workspace(a, &workspace);

	if (code != EXIT_FINE)
		return code;
	if (attach(a, &api, &e) < 0) {
		refuse("%s", err_text(&e));
		return EXIT_NO_GATEWAY;
	}
	struct attach_wish wish = {.workspace = workspace.text,
				   .surface = args_value(a, "surface"),
				   .tenant = args_value(a, "tenant"),
				   .agent = args_value(a, "agent"),
				   .again = args_given(a, "standalone") ? NULL : attach_again,
				   .arg = (void *)a};
	code = attach_stdio(&api, &wish);
	api_close(api);
	return code;
}
