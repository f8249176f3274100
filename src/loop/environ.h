/* environ.h - what a child gets to know of our own environment, where it gets to know any of it. */

#ifndef LOOP_ENVIRON_H
#define LOOP_ENVIRON_H

#include "base/arena.h"

#define ENVIRON_VALUE_MAX 4096 /* of a variable that is handed on */

/*
 * The directories of our own PATH that are absolute (an empty one or "." would be the place the
 * child starts in, where anybody may put an "ls"), then the usual ones that were not among them.
 * NULL: no memory.
 */
const char *environ_path(struct arena *a);

/* HOME, or what the system knows; never NULL. */
const char *environ_home(void);

#endif
