/* db.c - a connection, from its file to its statements. */

#include "db/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define BUSY_MS 5000 /* how long another process may hold the file */
#define BUSY_STEP_MS 10
/* Small things of a connection, kept ready: statements that stay prepared need few. */
#define LOOKASIDE_BYTES 512
#define LOOKASIDE_COUNT 32

void
db_alone(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	(void)sqlite3_config(SQLITE_CONFIG_LOOKASIDE, LOOKASIDE_BYTES, LOOKASIDE_COUNT);
}

int
db_error(sqlite3 *db, const char *what, struct err *e)
{
	int system = db ? sqlite3_system_errno(db) : 0;

	err_plain(e, E_STORE);
	err_inside(e, "%s: %s", what, db ? sqlite3_errmsg(db) : "out of memory");
	if (system)
		err_inside(e, "%s", strerror(system));
	return E_STORE;
}

/*
 * The file is made here and not by SQLite, for its mode. An existing one is not even opened:
 * closing it again would drop the locks that other connections of this process hold.
 */
static int
file_make(const char *path, struct err *e)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno != EEXIST)
		return err_errno(e, E_STORE, errno, path);
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Two that turn a fresh file to WAL at once are told "busy" without waiting (a deadlock else). */
static int
settings_apply(sqlite3 *db, const char *sql)
{
	uint64_t until_ms = clock_mono_ms() + BUSY_MS;
	int rc;

	sqlite3_busy_timeout(db, BUSY_MS);
	while ((rc = sqlite3_exec(db, sql, NULL, NULL, NULL)) == SQLITE_BUSY) {
		if (clock_mono_ms() >= until_ms)
			break;
		sqlite3_sleep(BUSY_STEP_MS);
	}
	return rc;
}

int
db_open(const struct db_spec *spec, sqlite3 **ret, struct err *e)
{
	char uri[80] = ":memory:";
	/* A connection may change hands between threads, so each is safe for them. */
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX;
	sqlite3 *db = NULL;

	if (spec->path && file_make(spec->path, e) < 0)
		return E_STORE;
	if (!spec->path)
		flags |= SQLITE_OPEN_URI | SQLITE_OPEN_CREATE;
	if (!spec->path && spec->name)
		snprintf(uri, sizeof(uri), "file:/%s?vfs=memdb", spec->name);
	int rc = sqlite3_open_v2(spec->path ? spec->path : uri, &db, flags, NULL);
	if (rc == SQLITE_OK)
		rc = settings_apply(db, spec->settings);
	if (rc != SQLITE_OK) {
		db_error(db, spec->path ? spec->path : "memory", e);
		sqlite3_close(db);
		return E_STORE;
	}
	*ret = db;
	return 0;
}

int
db_version(sqlite3 *db, int *ret)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL);

	if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		*ret = sqlite3_column_int(st, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return rc;
}

int
db_is_newer(sqlite3 *db, int there, int known, struct err *e)
{
	const char *path = sqlite3_db_filename(db, "main");
	const char *name = path ? strrchr(path, '/') : NULL;

	return err_set(
	    e, E_STORE,
	    "%.40s is of a newer holdfast (version %d; this one knows %d): use that one, "
	    "or another state directory",
	    name ? name + 1 : "the file", there, known);
}

int
db_form(sqlite3 *db, int version, const char *sql, struct err *e)
{
	char note[48];
	int there = 0, rc = db_version(db, &there);

	if (rc == SQLITE_OK && there == version)
		return 0;
	if (rc == SQLITE_OK && there > version)
		return db_is_newer(db, there, version, e);
	snprintf(note, sizeof(note), "PRAGMA user_version = %d; COMMIT", version);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, note, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return 0;
	db_error(db, "form", e);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return E_STORE;
}

int
db_prepare(sqlite3 *db, const char *const *sql, size_t count, sqlite3_stmt **ret, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		if (sql[i] && sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &ret[i],
						 NULL) != SQLITE_OK)
			return db_error(db, sql[i], e);
	return 0;
}

int
db_bind(sqlite3_stmt *st, int at, const struct value *v)
{
	switch (v->type) {
	case VALUE_NULL: return sqlite3_bind_null(st, at);
	case VALUE_INT: return sqlite3_bind_int64(st, at, v->number);
	case VALUE_TEXT:
		return sqlite3_bind_text64(st, at, v->text, (sqlite3_uint64)v->number,
					   SQLITE_STATIC, SQLITE_UTF8);
	case VALUE_BLOB:
		return sqlite3_bind_blob64(st, at, v->text ? v->text : "",
					   (sqlite3_uint64)v->number, SQLITE_STATIC);
	}
	BUG("value of no type");
}

int
db_bind_all(sqlite3_stmt *st, const struct value *values, size_t count)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
		rc = db_bind(st, (int)i + 1, &values[i]);
	return rc;
}

int
db_run(sqlite3_stmt *st, const struct value *values, size_t count)
{
	int rc = db_bind_all(st, values, count);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_step(st);
	return sqlite3_reset(st); /* says what the step said */
}

struct str
db_text(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return (struct str){text, text ? (size_t)sqlite3_column_bytes(st, column) : 0};
}

struct str
db_copy(sqlite3_stmt *st, int column, char *out, size_t size)
{
	struct str text = str_upto(db_text(st, column), size - 1);

	*(char *)mempcpy(out, text.ptr ? text.ptr : "", text.len) = '\0';
	return (struct str){out, text.len};
}
