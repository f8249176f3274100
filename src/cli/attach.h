/* attach.h - MCP over standard input and output, for `holdfast mcp` and `holdfast plugin-host`. */

#ifndef CLI_ATTACH_H
#define CLI_ATTACH_H

#include "cli/api.h"

struct attach_wish {
	const char *workspace;
	const char *surface;        /* NULL: the usual one */
	const char *tenant, *agent; /* NULL: the default ones */
	/* A gateway in place of one that was lost; NULL: there is no other. */
	int (*again)(void *arg, struct api **ret, struct err *e);
	void *arg;
};

/* Until the client ends, or there is no gateway. An exit code; what was wrong has been said. The
 * caller closes *api, which may be another one then, or NULL. */
int attach_stdio(struct api **api, const struct attach_wish *wish);
/* The same over two other descriptors. */
int attach_pipes(struct api **api, const int fds[static 2], const struct attach_wish *wish);

#endif
