/*
 * workspace.h - files inside one directory, and nothing outside it.
 *
 * The root is a descriptor held since the session began. Every path is resolved and
 * opened in one step by openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS): there is no
 * check first and open later, so no symlink swapped meanwhile leads out (seed 000 section
 * 5.1; decision 10). Absolute paths are taken when they lie inside the root.
 *
 * All functions block; call them from a worker. A workspace is immutable and counted.
 * Errors are sentences for the agent: "no such file: a.txt", "is a directory: src",
 * "Path '../x' escapes workspace boundary" (E_PERMISSION).
 */

#ifndef WORKSPACE_WORKSPACE_H
#define WORKSPACE_WORKSPACE_H

#include "base/buf.h"
#include "base/err.h"

struct workspace;

/*
 * path is made absolute and real. `shut` lists directories that stay closed even where they
 * lie inside the root (our own state and configuration); NULL-terminated, may be NULL.
 * E_NO_WORKSPACE.
 */
int workspace_open(const char *path, const char *const *shut, struct workspace **ret,
		   struct err *e);
struct workspace *workspace_ref(struct workspace *ws);  /* any thread */
void workspace_unref(struct workspace *ws);             /* takes NULL */
const char *workspace_path(const struct workspace *ws); /* absolute, real */
int workspace_fd(const struct workspace *ws);           /* borrowed, O_PATH-like directory */

/*
 * Is the path inside, as far as the names and links say now? Cheap; for the scope stage and
 * for messages. The operations below decide for themselves when they open.
 * 0, E_PERMISSION, E_VALIDATION (NUL, too long, empty).
 */
int workspace_check(struct workspace *ws, struct str path, struct err *e);

/*
 * Where a write to the path goes, relative to the root, all links followed; for showing. Of a
 * file whose parents are still to be made, where they will be. Fails as the write would.
 */
int workspace_target(struct workspace *ws, struct str path, struct buf *out, struct err *e);

/*
 * Whoever must know of a change before it is made: that a person saw this very content, and to keep
 * it. `about` is called on the worker that makes the change, while the place is held and nothing
 * has been done; negative, with *e set: it is not done. Else `made` follows with the same pointer,
 * or `missed` if it could not be done. A change that is only found out afterwards has a `made`
 * alone. All functions take NULL for nobody.
 */
enum change_kind { CHANGE_CREATED, CHANGE_MODIFIED, CHANGE_DELETED, CHANGE_RENAMED };
const char *change_kind_name(enum change_kind k);

struct file_change {
	enum change_kind kind;
	struct str path; /* relative to the root, all links followed */
	struct str old;  /* where it was, of one that is renamed; else {NULL,0} */
	int before; /* the file as it is, open to read, at its start; borrowed. -1: there is none,
		       or (unless it is created) it cannot be read or is a link */
	uint32_t mode;    /* its permission bits */
	struct str after; /* what will be there; {NULL,0} of one that is deleted or renamed, {NULL,
			     its size} of one that was found out afterwards */
};
struct witness {
	int (*about)(struct witness *w, const struct file_change *ch, struct err *e);
	void (*made)(struct witness *w, const struct file_change *ch);
	void (*missed)(struct witness *w, const struct file_change *ch); /* may be NULL */
	void (*drop)(struct witness *w); /* whoever was given it lets go of it; any thread */
};

/* Text must be UTF-8. All refuse what is no regular file, and more than LIMIT_FILE_READ. */
int workspace_read(struct workspace *ws, struct str path, struct buf *out, struct err *e);
int workspace_read_bytes(struct workspace *ws, struct str path, struct buf *out, struct err *e);

/* As workspace_read_bytes, but a missing file is no error: *ret_there is false then. */
int workspace_peek(struct workspace *ws, struct str path, struct buf *out, bool *ret_there,
		   struct err *e);

/* Open to read, however large it is; whoever asks closes it. Fails as reading would. */
int workspace_open_file(struct workspace *ws, struct str path, int *ret_fd, struct err *e);

/*
 * Atomic: readers see the old file or the new one, a crash leaves one of them. Parents are
 * made. Mode and owner's bits of an existing file are kept; a new one gets 0666 & ~umask.
 * A link as the last part is followed inside the root (the target is replaced, not the link);
 * one to nothing, or with an absolute target, is refused. A hard link is broken, so that a
 * name of the file outside the root keeps its content.
 */
int workspace_write(struct workspace *ws, struct str path, struct str text, struct witness *w,
		    struct err *e);
int workspace_write_bytes(struct workspace *ws, struct str path, struct str bytes,
			  struct witness *w, struct err *e);
int workspace_append(struct workspace *ws, struct str path, struct str text, struct witness *w,
		     struct err *e);
/* As workspace_write_bytes, but with these permission bits, whatever the file had. */
int workspace_restore(struct workspace *ws, struct str path, struct str bytes, uint32_t mode,
		      struct witness *w, struct err *e);

/* False also for what escapes. */
bool workspace_exists(struct workspace *ws, struct str path);

/* Entries sorted by name, directories with a '/' at the end, '\n' between; at most
 * LIMIT_DIR_ENTRIES, while *ret_count says how many there are. Names that would break a line or
 * are no UTF-8 are shown escaped. */
int workspace_list(struct workspace *ws, struct str path, struct buf *out, size_t *ret_count,
		   struct err *e);

/* Not directories; of a link the link itself. */
int workspace_delete(struct workspace *ws, struct str path, struct witness *w, struct err *e);

/* old must stand exactly once. The result can be had without writing, for a diff. */
int workspace_patched(struct workspace *ws, struct str path, struct str old, struct str new,
		      struct buf *ret_before, struct buf *ret_after, struct err *e);
int workspace_patch(struct workspace *ws, struct str path, struct str old, struct str new,
		    struct witness *w, struct err *e);

#endif
