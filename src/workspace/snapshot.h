/*
 * snapshot.h - what the files of a workspace look like from outside, to tell later which are
 * others.
 *
 * Nothing is read: a file is another when its inode, size, mode or times are. It was renamed when
 * the same file has another name. `.git/objects` and shut directories are left out. Blocks.
 */

#ifndef WORKSPACE_SNAPSHOT_H
#define WORKSPACE_SNAPSHOT_H

#include "workspace/workspace.h"

struct snapshot;

/* E_LIMIT: more than LIMIT_TRACKED_FILES; E_CANCELLED when *stop comes true. stop may be NULL. */
int snapshot_take(struct workspace *ws, const _Atomic _Bool *stop, struct snapshot **ret,
		  struct err *e);
void snapshot_free(struct snapshot *s); /* takes NULL */

/* In the order of paths, renamed ones last. A change has no content: see struct file_change. */
void snapshot_compare(const struct snapshot *before, const struct snapshot *after,
		      void (*each)(const struct file_change *ch, void *arg), void *arg);

#endif
