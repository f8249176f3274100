/*
 * launch.h - from a spec to a running minder; for child.c.
 *
 * Runs in the owner's process and is done when this returns: nothing is watched here.
 */

#ifndef LOOP_LAUNCH_H
#define LOOP_LAUNCH_H

#include <sys/types.h>

#include "loop/child.h"

struct launched {
	int streams[3]; /* our ends, by the child's number of them; stdin's is -1 when not wanted */
	int control;
	pid_t pid; /* of the minder, and */
	int pidfd;
};

/* All of *ret is the caller's. Closing `control` ends whatever was started. */
int child__launch(const struct child_spec *spec, struct launched *ret, struct err *e);

#endif
