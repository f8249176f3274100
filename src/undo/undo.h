/*
 * undo.h - what files were before tools changed them, and how they become that again.
 *
 *	about ---> the content that is there, under the digest of its bytes, and a note of who
 *	           is about to change what; on the disk before the file is touched
 *	made  ---> the note says that it was done
 *	run   ---> newest first: is the file still what the call left? then it becomes what it was
 *
 * A note without `made` is of a process that died in between. Nothing is lost by that: whether
 * the change was made is told by the file itself, when somebody wants it undone.
 *
 * One SQLite file, 0600, beside the journal and not in it: workers write here while the journal's
 * queue is the loop's, and some of them longer than the journal is open. Several processes may
 * share it. What is kept has a limit, and a time; the oldest goes first, and its change can then
 * not be undone any more.
 *
 * All functions block, and may be called from any thread.
 */

#ifndef UNDO_UNDO_H
#define UNDO_UNDO_H

#include "base/buf.h"
#include "base/err.h"
#include "base/ulid.h"
#include "workspace/workspace.h"

struct undo;

struct undo_spec {
	const char *path;   /* its directory is there; NULL: in memory */
	uint64_t max_bytes; /* of what is kept */
	int64_t keep_us;
};
int undo_open(const struct undo_spec *spec, struct undo **ret,
	      struct err *e);                                   /* E_STORE, E_NOMEM */
void undo_free(struct undo *u);                                 /* takes NULL */
void undo_tune(struct undo *u, const struct undo_spec *spec);   /* other numbers; the path stays */
int undo_expire(struct undo *u, int64_t now_us, struct err *e); /* forget what is too old */
void undo_release(struct undo *u);                              /* memory it can do without */

/* Who changes files; {NULL,0} where there is none. */
struct undo_author {
	struct str call, turn, session, tool;
	struct str workspace; /* absolute */
};

/* A change, as it was noted. */
struct undo_note {
	struct id id; /* chg_...; "": it could not even be noted */
	bool undoable;
	struct err why; /* when it is not */
	bool unseen;    /* without an id: after a crash nobody would know that it was begun */
};

/* Of a change that is about to be made. Never fails: what cannot be kept cannot be undone. */
void undo_about(struct undo *u, const struct undo_author *by, const struct file_change *ch,
		struct undo_note *ret);
void undo_made(struct undo *u, const struct undo_note *n);     /* it was; no-op without an id */
void undo_not_made(struct undo *u, const struct undo_note *n); /* nor will it be */
/* Of one that was found out afterwards: it is in the history, and cannot be undone. */
void undo_found(struct undo *u, const struct undo_author *by, const struct file_change *ch,
		struct undo_note *ret);

/*
 * Of a call whose process died: did it do what it was about to? By the files themselves, compared
 * with what was noted before each was touched. UNCLEAR: somebody has changed one since, it cannot
 * be read, or nothing is noted and lately something could not be.
 */
enum undo_verdict { UNDO_NOT_DONE, UNDO_DONE, UNDO_UNCLEAR };
enum undo_verdict undo_verdict(struct undo *u, struct str call, const char *const *shut);

/* The history, newest first, as JSON objects with commas between; *ret_more: there are more. */
struct undo_query {
	struct str session, call; /* {NULL,0}: all */
	struct str pattern;       /* base/glob.h: glob_file */
	size_t limit;
};
int undo_list(struct undo *u, const struct undo_query *q, struct buf *out, bool *ret_more,
	      struct err *e);

/* What is to be undone: one of the first three. */
struct undo_ask {
	struct str call;
	struct str turn;
	bool last;            /* the last call that has something to undo... */
	struct str workspace; /* ...in this directory or above or below it; {NULL,0}: anywhere */
	bool force;           /* also where the file was changed since */
	bool dry_run;
	struct str by;           /* the call that this is: undoing it is doing it again */
	const char *const *shut; /* as workspace_open has it */
};

/* What became of one change; valid inside `each` only. */
struct undo_step {
	struct str change, call, session, workspace, path;
	enum change_kind kind; /* of what undoing it does to the file */
	uint64_t size;         /* of what is there then */
	struct err err;        /* code 0: it is undone, or could be */
	struct undo_note note; /* of the undoing itself */
};

/*
 * Each change is undone at most once; one that cannot be does not keep others from it. E_NO_CALL
 * (nothing is known that it changed), E_EXISTS (all of it was undone before), E_STORE.
 */
int undo_run(struct undo *u, const struct undo_ask *ask,
	     void (*each)(const struct undo_step *step, void *arg), void *arg, struct err *e);

#endif
