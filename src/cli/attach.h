/* attach.h - MCP over standard input and output, for `holdfast mcp` and `holdfast plugin-host`. */

#ifndef CLI_ATTACH_H
#define CLI_ATTACH_H

#include "cli/api.h"

struct attach_wish {
	const char *workspace;
	const char *surface;        /* NULL: the usual one */
	const char *tenant, *agent; /* NULL: the default ones */
};

/* Until one side ends. An exit code; what was wrong has been said. */
int attach_stdio(struct api *api, const struct attach_wish *wish);
/* The same over two other descriptors. */
int attach_pipes(struct api *api, const int fds[static 2], const struct attach_wish *wish);

#endif
