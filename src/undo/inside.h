/* inside.h - the file behind undo.h; for src/undo only. */

#ifndef UNDO_INSIDE_H
#define UNDO_INSIDE_H

#include <pthread.h>

#include "base/limits.h"
#include "db/db.h"
#include "json/canon.h"
#include "undo/undo.h"

#define UNDO_ABSENT "absent" /* instead of a digest: there is no file */

enum undo_op {
	OP_BEGIN,
	OP_COMMIT,
	OP_ROLLBACK,
	OP_IMAGE_PUT,
	OP_IMAGE_USED,
	OP_IMAGE_GET,
	OP_IMAGE_OLDEST,
	OP_IMAGE_DROP,
	OP_IMAGES_SIZE,
	OP_NOTE,
	OP_MADE,
	OP_NOT_MADE,
	OP_UNDONE,
	OP_UNDONE_BY,
	OP_TRIM_NOTES,
	OP_TRIM_IMAGES,
	OP_EXPIRE_NOTES,
	OP_EXPIRE_IMAGES,
	OP_VACUUM,
	OP_OF_CALL,
	OP_OF_TURN,
	OP_LAST,
	OP_LATER,
	OP_LIST,
	OP__COUNT
};

struct undo {
	pthread_mutex_t lock; /* for all below */
	sqlite3 *db;
	sqlite3_stmt *ops[OP__COUNT];
	uint64_t max_bytes;
	int64_t keep_us;
	unsigned since_trim; /* notes that were made */
};

/* One row of the history. Its texts are its own. */
struct undo_row {
	struct buf text; /* all of them, each ended by a NUL */
	struct str id, call, turn, session, workspace, tool, path, old, type, before, after, undoes,
	    undone_by;
	int64_t mode, size, at_us, made, depth;
	bool kept; /* what was before is here, or there was nothing */
};

/* db.c. Values are bound in order: 's' a struct str (NULL for {NULL,0}), 'i' an int64_t, 'b' a
 * struct str as bytes. All answer with SQLite's codes, and are called with the lock held. */
int undo__db_open(const char *path, sqlite3 **ret, struct err *e);
int undo__prepare(struct undo *u, struct err *e);
int undo__bind(struct undo *u, enum undo_op op, const char *types, ...);
int undo__run(struct undo *u, enum undo_op op, const char *types, ...);
/* Steps a query that was bound. True: *ret is filled, to be done with. False: it is over. */
bool undo__row(struct undo *u, enum undo_op op, struct undo_row *ret);
struct str undo__text(sqlite3_stmt *st, int column); /* until the next step */
int undo__failed(struct undo *u, const char *what, struct err *e);
void undo__row_done(struct undo_row *r);
bool undo__undoable(const struct undo_row *r);

/* missed.c. That a change could not be noted is marked beside the file: what is not noted is not
 * taken for not begun then. */
bool undo__missed_mark(struct undo *u); /* with the lock held; false: not even that */
bool undo__missed(struct undo *u);
void undo__missed_forget(struct undo *u, int64_t before_us);

/* undo.c. As undo_about; undoes: the change this takes back, or NULL. */
void undo__note(struct undo *u, const struct undo_author *by, const struct file_change *ch,
		const struct undo_row *undoes, struct undo_note *ret);
/* Which change is undone by the one that was just made. */
void undo__done(struct undo *u, const struct undo_note *n, const struct undo_row *of,
		struct str by);
/* The digest of what is there; false: too long, or it cannot be read. */
bool undo__content(int fd, struct buf *out, char digest[static DIGEST_TEXT]);

#endif
