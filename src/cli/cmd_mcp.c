/*
 * cmd_mcp.c - MCP over standard input and output: a relay to the shared daemon, which is started
 * when none runs. Standard output carries nothing but MCP messages.
 */

#include "cli/attach.h"
#include "cli/background.h"
#include "cli/find.h"
#include "cli/holder.h"

struct mcp {
	const struct args *args;
	struct path workspace;
};

static int
attach(const struct mcp *m, struct api **ret, struct err *e)
{
	const char *config = args_value(m->args, "config");

	if (args_given(m->args, "standalone"))
		return api_open(API_PRIVATE | API_SERVERS, config, ret, e);
	int code = api_open(API_DAEMON, NULL, ret, e);
	if (code == E_STOPPING) {
		struct background wish = {.config = config, .workspace = m->workspace.text};
		/* Where clients that know no project start us: its servers do not get all of it. */
		if (!args_given(m->args, "workspace") && strcmp(wish.workspace, "/") == 0)
			wish.workspace = NULL;
		return background_start(&wish, ret, e);
	}
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
	struct mcp m = {.args = a};
	struct api *api = NULL;
	struct err e;
	int code = find_workspace(a, &m.workspace);

	if (code != EXIT_FINE)
		return code;
	if (attach(&m, &api, &e) < 0) {
		refuse("%s", err_text(&e));
		return EXIT_NO_GATEWAY;
	}
	struct attach_wish wish = {.workspace = m.workspace.text,
				   .surface = args_value(a, "surface"),
				   .tenant = args_value(a, "tenant"),
				   .agent = args_value(a, "agent"),
				   .again = args_given(a, "standalone") ? NULL : attach_again,
				   .arg = &m};
	code = attach_stdio(&api, &wish);
	api_close(api);
	return code;
}
