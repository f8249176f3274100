/* attach.h - MCP over standard input and output, for `holdfast mcp` and `holdfast plugin-host`. */

#ifndef CLI_ATTACH_H
#define CLI_ATTACH_H

#include "cli/api.h"

/* Until one side ends. surface NULL: the usual one. An exit code; what was wrong has been said. */
int attach_stdio(struct api *api, const char *workspace, const char *surface);
/* The same over two other descriptors. */
int attach_pipes(struct api *api, const int fds[static 2], const char *workspace,
		 const char *surface);

#endif
