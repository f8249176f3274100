/*
 * watch.h - a file that somebody may change.
 *
 * It is watched by its directory, so that editors that write a new file and rename it are noticed,
 * and by the directory it really lies in, where it is a symbolic link. A directory that is not
 * there yet is waited for. `changed` comes when nothing has happened for a while, perhaps more
 * often than the file has changed: look at what is in it. Where the system cannot watch, nothing
 * ever comes.
 */

#ifndef LOOP_WATCH_H
#define LOOP_WATCH_H

#include "loop/loop.h"

struct watch;

int watch_new(struct loop *l, const char *path, unsigned quiet_ms, void (*changed)(void *arg),
	      void *arg, struct watch **ret, struct err *e);
void watch_free(struct watch *w); /* takes NULL; nothing comes afterwards */

#endif
