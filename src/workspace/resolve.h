/*
 * resolve.h - how a path becomes a descriptor; for this folder only.
 *
 * Three steps, in this order: workspace__route makes the text relative to the root,
 * openat2 resolves and opens it beneath the root, workspace__closed looks where the opened
 * thing lies. What is looked at is always what was opened.
 */

#ifndef WORKSPACE_RESOLVE_H
#define WORKSPACE_RESOLVE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "workspace/workspace.h"

#define WORKSPACE_TEMP ".holdfast-" /* begins the names of files that are not finished */

struct workspace {
	atomic_uint refs;
	int fd;      /* of the root, O_PATH */
	char *path;  /* of the root, real */
	char *given; /* as it was asked for: absolute paths may also start with this; or NULL */
	char **shut; /* real paths beneath the root */
	size_t shut_count;
};

/* A path on its way: what the agent wrote, and the same relative to the root. */
struct route {
	struct str shown;
	char rel[LIMIT_PATH]; /* never empty, never absolute */
};

/* E_VALIDATION (empty, NUL, too long), E_PERMISSION (absolute and elsewhere). */
int workspace__route(const struct workspace *ws, struct str path, struct route *ret, struct err *e);

/* A close-on-exec descriptor, or -errno. */
int workspace__openat(const struct workspace *ws, const char *rel, uint64_t flags);

/* Both of the above and workspace__closed: a descriptor in *ret_fd, or a sentence. */
int workspace__open(const struct workspace *ws, struct str path, uint64_t flags, int *ret_fd,
		    struct err *e);

/* E_PERMISSION when fd, or the entry `name` in the directory fd, lies in a shut directory. */
int workspace__closed(const struct workspace *ws, int fd, const char *name, struct str shown,
		      struct err *e);

/*
 * The deepest part of rel that is there, O_PATH, or -errno; rel is cut to it, "" for the root.
 */
int workspace__deepest(const struct workspace *ws, char *rel);

/*
 * Nothing is there, or no directory: what is missing lies where its deepest existing parent lies. 0
 * when that is inside and open, else E_PERMISSION.
 */
int workspace__absent(const struct workspace *ws, const struct route *r, struct err *e);

/* The sentence for an errno. */
int workspace__fail(struct err *e, int errnum, const struct route *r);
int workspace__escapes(struct err *e, struct str shown);
int workspace__refuse(struct err *e, int code, const char *sentence, struct str shown);

/* More ".." than names, as far as the text alone tells. */
bool workspace__climbs_out(const char *rel);

bool workspace__lies_in(const char *path, const char *dir); /* or is it; both absolute */

/* Path of what fd stands for, or -errno. */
int workspace__location(int fd, char *out, size_t size);

/* All of a regular file, at most LIMIT_FILE_READ. fd stays the caller's. */
int workspace__slurp(int fd, struct str shown, struct buf *out, struct err *e);

/*
 * An entry of a directory that is about to be replaced. Held from before it is read until
 * it is renamed over, so two patches of one file do not lose one another.
 */
struct place {
	const struct workspace *ws;
	int dir;
	char name[NAME_MAX + 1];
	bool there;
	struct stat st;     /* when there */
	const mode_t *mode; /* to have afterwards; NULL: as it was */
	struct str shown;
	pthread_mutex_t *lock;
};
/* Follows a link as the last part. On success workspace__leave must follow. */
int workspace__place(struct workspace *ws, struct str path, bool make_parents, struct place *ret,
		     struct err *e);
void workspace__leave(struct place *p);
int workspace__place_read(const struct place *p, struct buf *out, struct err *e);
int workspace__replace(const struct place *p, struct str bytes, struct witness *w, struct err *e);
/* The entry goes, also when it is a link. */
int workspace__remove(struct workspace *ws, struct str path, struct witness *w, struct err *e);

/* The directory that holds the last part (not followed), and that part. */
int workspace__parent(struct workspace *ws, struct route *r, bool make_parents, int *ret_dir,
		      char name[static NAME_MAX + 1], struct err *e);

#endif
