/* api_inside.h - what is behind an api; for api*.c alone. */

#ifndef CLI_API_INSIDE_H
#define CLI_API_INSIDE_H

#include "cli/api.h"

/* A gateway in this process: api_here.c. Not every program that talks with one has it in it. */
struct api_ops {
	int (*connect)(struct api *api, int *ret_fd);
	void (*close)(struct api *api); /* all but its memory */
};

struct api {
	struct path socket;        /* of the daemon */
	const struct api_ops *ops; /* NULL: it is the daemon */
};

int api__daemon(struct api **ret, struct err *e); /* E_STOPPING: there is none */

#endif
