/* db.c - the SQLite file: its form, its statements, and what it says when it fails. */

#include "undo/inside.h"

#include <stdarg.h>
#include <stdio.h>

/*
 * synchronous=FULL: what was before is on the disk when the file is changed, whatever happens then.
 * Pages of what is forgotten are overwritten and given back: it may have been a secret.
 */
static const char open_sql[] = "PRAGMA page_size = 16384;"
			       "PRAGMA auto_vacuum = INCREMENTAL;"
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = FULL;"
			       "PRAGMA secure_delete = ON;"
			       "PRAGMA trusted_schema = OFF;";

#define FORM_VERSION 1

/* Nothing here has a constraint that could refuse a row. Ids are ULIDs behind a prefix: their
 * order is that of time. */
static const char form_sql[] =
    "CREATE TABLE IF NOT EXISTS images ("
    " digest TEXT PRIMARY KEY," /* SHA-256 of the bytes, in hex */
    " last   TEXT,"             /* the newest change that needs it */
    " size   INTEGER,"
    " bytes  BLOB);"
    "CREATE INDEX IF NOT EXISTS images_last ON images (last, size);"
    "CREATE TABLE IF NOT EXISTS changes ("
    " id TEXT PRIMARY KEY, call TEXT, turn TEXT, session TEXT, workspace TEXT, tool TEXT,"
    " path TEXT, old TEXT, type TEXT,"
    " before TEXT," /* digest, 'absent', or NULL: it was not kept */
    " mode INTEGER, after TEXT, size INTEGER, at_us INTEGER,"
    " made INTEGER,"  /* 0: about to be, or its process died */
    " undoes TEXT,"   /* the change that this one took back */
    " depth INTEGER," /* 1: an undo, 2: the undo of one, ... */
    " undone_by TEXT) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS changes_call ON changes (call, id);"
    "CREATE INDEX IF NOT EXISTS changes_turn ON changes (turn, id);"
    "CREATE INDEX IF NOT EXISTS changes_path ON changes (path, id);";

#define COLUMNS                                                                                    \
	"id, call, turn, session, workspace, tool, path, old, type, before, after, undoes,"        \
	" undone_by, mode, size, at_us, made, depth,"                                              \
	" before IS NOT NULL AND (before = 'absent' OR EXISTS"                                     \
	" (SELECT 1 FROM images WHERE digest = before))"

static const char *const op_sql[OP__COUNT] = {
    [OP_BEGIN] = "BEGIN IMMEDIATE",
    [OP_COMMIT] = "COMMIT",
    [OP_ROLLBACK] = "ROLLBACK",
    [OP_IMAGE_PUT] = "INSERT OR IGNORE INTO images (digest, last, size, bytes)"
		     " VALUES (?, ?, ?, ?)",
    [OP_IMAGE_USED] = "UPDATE images SET last = ? WHERE digest = ?",
    [OP_IMAGE_GET] = "SELECT bytes FROM images WHERE digest = ?",
    [OP_IMAGE_OLDEST] = "SELECT digest, size FROM images ORDER BY last LIMIT 1",
    [OP_IMAGE_DROP] = "DELETE FROM images WHERE digest = ?",
    [OP_IMAGES_SIZE] = "SELECT total(size) FROM images",
    [OP_NOTE] = "INSERT OR REPLACE INTO changes (id, call, turn, session, workspace, tool, path,"
		" old, type, before, after, undoes, mode, size, at_us, made, depth)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [OP_MADE] = "UPDATE changes SET made = 1 WHERE id = ?",
    [OP_NOT_MADE] = "DELETE FROM changes WHERE id = ?",
    [OP_UNDONE] = "UPDATE changes SET undone_by = ?, made = 1 WHERE id = ?",
    [OP_UNDONE_BY] = "SELECT undone_by FROM changes WHERE id = ?",
    [OP_TRIM_NOTES] = "DELETE FROM changes WHERE id <="
		      " (SELECT id FROM changes ORDER BY id DESC LIMIT 1 OFFSET ?)",
    [OP_TRIM_IMAGES] = "DELETE FROM images WHERE last < (SELECT min(id) FROM changes)",
    [OP_EXPIRE_NOTES] = "DELETE FROM changes WHERE id < ?",
    [OP_EXPIRE_IMAGES] = "DELETE FROM images WHERE last < ?",
    [OP_VACUUM] = "PRAGMA incremental_vacuum",
    [OP_OF_CALL] = "SELECT " COLUMNS " FROM changes WHERE call = ? ORDER BY id DESC",
    [OP_OF_TURN] = "SELECT " COLUMNS " FROM changes WHERE turn = ? ORDER BY id DESC",
    /* An undo is no work to be undone by --last, but what it was undone by again is. */
    [OP_LAST] = "SELECT " COLUMNS " FROM changes WHERE undone_by IS NULL AND depth % 2 = 0"
		" AND before IS NOT NULL ORDER BY id DESC",
    [OP_LATER] = "SELECT " COLUMNS " FROM changes WHERE path = ? AND id > ? AND workspace = ?"
		 " AND after = ? AND undone_by IS NULL ORDER BY id DESC LIMIT 1",
    [OP_LIST] = "SELECT " COLUMNS " FROM changes ORDER BY id DESC",
};

int
undo__failed(struct undo *u, const char *what, struct err *e)
{
	int system = u->db ? sqlite3_system_errno(u->db) : 0;

	err_set(e, E_STORE, "what files were before cannot be kept or read");
	err_inside(e, "%s: %s", what, u->db ? sqlite3_errmsg(u->db) : "out of memory");
	if (system)
		err_inside(e, "%s", strerror(system));
	return E_STORE;
}

int
undo__db_open(const char *path, sqlite3 **ret, struct err *e)
{
	sqlite3 *db = NULL;
	struct err why = ERR_NONE;
	int code = db_open(&(struct db_spec){.path = path, .settings = open_sql}, &db, &why);

	if (code == 0 && (code = db_form(db, FORM_VERSION, form_sql, &why)) < 0)
		sqlite3_close(db);
	if (code < 0)
		return err_set(e, E_STORE,
			       "%s cannot be used (%s); nothing else is lost when it is moved away",
			       path ? path : "memory", why.inside);
	*ret = db;
	return 0;
}

int
undo__prepare(struct undo *u, struct err *e)
{
	for (size_t i = 0; i < OP__COUNT; i++)
		if (sqlite3_prepare_v3(u->db, op_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &u->ops[i],
				       NULL) != SQLITE_OK)
			return undo__failed(u, op_sql[i], e);
	return 0;
}

static int
bind_one(sqlite3_stmt *st, int at, char type, va_list *ap)
{
	if (type == 'i')
		return sqlite3_bind_int64(st, at, va_arg(*ap, int64_t));
	struct str s = va_arg(*ap, struct str);
	if (!s.ptr)
		return sqlite3_bind_null(st, at);
	if (type == 'b')
		return sqlite3_bind_blob64(st, at, s.ptr, s.len, SQLITE_STATIC);
	/* Paths may be no UTF-8; they come back as they are. */
	return sqlite3_bind_text64(st, at, s.ptr, s.len, SQLITE_STATIC, SQLITE_UTF8);
}

static int
bind_all(struct undo *u, enum undo_op op, const char *types, va_list *ap)
{
	sqlite3_stmt *st = u->ops[op];
	int rc = SQLITE_OK;

	sqlite3_reset(st);
	for (int i = 0; types[i] && rc == SQLITE_OK; i++)
		rc = bind_one(st, i + 1, types[i], ap);
	return rc;
}

int
undo__bind(struct undo *u, enum undo_op op, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	int rc = bind_all(u, op, types, &ap);
	va_end(ap);
	return rc;
}

int
undo__run(struct undo *u, enum undo_op op, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	int rc = bind_all(u, op, types, &ap);
	va_end(ap);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_step(u->ops[op]);
	return sqlite3_reset(u->ops[op]); /* says what the step said */
}

struct str
undo__text(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return (struct str){text, text ? (size_t)sqlite3_column_bytes(st, column) : 0};
}

static void
row_texts(sqlite3_stmt *st, struct undo_row *r)
{
	struct str *const texts[] = {&r->id,        &r->call,   &r->turn,  &r->session,
				     &r->workspace, &r->tool,   &r->path,  &r->old,
				     &r->type,      &r->before, &r->after, &r->undoes,
				     &r->undone_by};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct str text = undo__text(st, (int)i);
		buf_add(&r->text, text);
		buf_addc(&r->text, '\0');
		texts[i]->len = text.len;
		texts[i]->ptr = text.ptr; /* is there one; see below */
	}
	const char *at = r->text.ptr;
	for (size_t i = 0; i < ARRAY_LEN(texts) && !buf_failed(&r->text); i++) {
		size_t len = texts[i]->len;
		texts[i]->ptr = texts[i]->ptr ? at : NULL;
		at += len + 1;
	}
}

bool
undo__row(struct undo *u, enum undo_op op, struct undo_row *ret)
{
	sqlite3_stmt *st = u->ops[op];

	if (sqlite3_step(st) != SQLITE_ROW)
		return false;
	*ret = (struct undo_row){.text = BUF_INIT(8 * LIMIT_PATH)};
	row_texts(st, ret);
	ret->mode = sqlite3_column_int64(st, 13);
	ret->size = sqlite3_column_int64(st, 14);
	ret->at_us = sqlite3_column_int64(st, 15);
	ret->made = sqlite3_column_int64(st, 16);
	ret->depth = sqlite3_column_int64(st, 17);
	ret->kept = sqlite3_column_int(st, 18) != 0;
	if (!buf_failed(&ret->text))
		return true;
	undo__row_done(ret);
	return false;
}

void
undo__row_done(struct undo_row *r)
{
	buf_done(&r->text);
}

bool
undo__undoable(const struct undo_row *r)
{
	return r->kept && !r->undone_by.ptr;
}
