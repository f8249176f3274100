/* own.h - a session for one command: the one that was named, or one of its own. */

#ifndef CLI_OWN_H
#define CLI_OWN_H

#include "cli/api.h"
#include "cli/args.h"

struct own {
	const char *tenant, *agent; /* whose it is to be; NULL: the default ones */
	char id[64];
	bool made; /* here, and ends here */
};

/* The command has the options session and workspace. What is wrong was said. */
int own_open(struct api *api, const struct args *a, const char *client, struct own *ret);
void own_end(struct api *api, const struct own *own);

#endif
