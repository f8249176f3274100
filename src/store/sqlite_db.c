/* sqlite_db.c - one connection: how it is opened, brought up to date, and what it says when it
 * fails. */

#include "store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

#define BUSY_MS 5000 /* how long another process may hold the file */
#define BUSY_STEP_MS 10

/*
 * synchronous=NORMAL in WAL mode: a killed process loses nothing, a power cut may lose the
 * last transactions but never breaks the file.
 */
static const char open_sql[] = "PRAGMA page_size = 16384;"
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = NORMAL;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA trusted_schema = OFF;";

int
db__error(sqlite3 *db, const char *what, struct err *e)
{
	int system = db ? sqlite3_system_errno(db) : 0;

	err_plain(e, E_STORE);
	err_inside(e, "%s: %s", what, db ? sqlite3_errmsg(db) : "out of memory");
	if (system)
		err_inside(e, "%s", strerror(system));
	return E_STORE;
}

static int
parents_make(const char *path, struct err *e)
{
	char part[LIMIT_PATH];

	if (strlen(path) >= sizeof(part))
		return err_errno(e, E_STORE, ENAMETOOLONG, "path of the journal");
	strcpy(part, path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return err_errno(e, E_STORE, errno, part);
		*slash = '/';
	}
	return 0;
}

/*
 * The file is made here and not by SQLite, for its mode. An existing one is not even opened:
 * closing it again would drop the locks that other connections of this process hold.
 */
static int
file_make(const char *path, struct err *e)
{
	if (parents_make(path, e) < 0)
		return E_STORE;
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && errno != EEXIST)
		return err_errno(e, E_STORE, errno, path);
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Two that turn a fresh file to WAL at once are told "busy" without waiting (a deadlock else). */
static int
settings_apply(sqlite3 *db)
{
	uint64_t until_ms = clock_mono_ms() + BUSY_MS;
	int rc;

	sqlite3_busy_timeout(db, BUSY_MS);
	while ((rc = sqlite3_exec(db, open_sql, NULL, NULL, NULL)) == SQLITE_BUSY) {
		if (clock_mono_ms() >= until_ms)
			break;
		sqlite3_sleep(BUSY_STEP_MS);
	}
	return rc;
}

int
db__open(const char *path, const char *name, sqlite3 **ret, struct err *e)
{
	char uri[80];
	/* The loop borrows the reader's connection at the start, so each is safe for threads. */
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX;
	sqlite3 *db = NULL;

	if (path && file_make(path, e) < 0)
		return E_STORE;
	if (!path) {
		/* Seen by all connections of this process that know the name, and gone with them.
		 */
		snprintf(uri, sizeof(uri), "file:/%s?vfs=memdb", name);
		flags |= SQLITE_OPEN_URI | SQLITE_OPEN_CREATE;
	}
	int rc = sqlite3_open_v2(path ? path : uri, &db, flags, NULL);
	if (rc == SQLITE_OK)
		rc = settings_apply(db);
	if (rc != SQLITE_OK) {
		db__error(db, path ? path : "memory", e);
		sqlite3_close(db);
		return E_STORE;
	}
	*ret = db;
	return 0;
}

static int
version_get(sqlite3 *db, int *ret)
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

/* What SQL alone cannot do for the version after this one. */
static int (*const steps[])(sqlite3 *db) = {NULL, segments__adopt};

static int
migration_apply(sqlite3 *db, int version)
{
	char note[40];
	int rc = sqlite3_exec(db, embedded_sql[version].bytes.ptr, NULL, NULL, NULL);

	if (rc == SQLITE_OK && (size_t)version < ARRAY_LEN(steps) && steps[version])
		rc = steps[version](db);
	snprintf(note, sizeof(note), "PRAGMA user_version = %d", version + 1);
	return rc == SQLITE_OK ? sqlite3_exec(db, note, NULL, NULL, NULL) : rc;
}

/* All or nothing, and by one process: the version is read again under the lock. */
int
db__migrate(sqlite3 *db, struct err *e)
{
	int known = 0, version = 0;

	while (embedded_sql[known].name)
		known++;
	int rc = version_get(db, &version);
	if (rc == SQLITE_OK && version == known)
		return 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = version_get(db, &version);
	if (rc == SQLITE_OK && version > known) {
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
		err_plain(e, E_STORE);
		err_inside(e, "the file has version %d, this program knows %d", version, known);
		return E_STORE;
	}
	for (; rc == SQLITE_OK && version < known; version++)
		rc = migration_apply(db, version);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return 0;
	db__error(db, "migration", e);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return E_STORE;
}

int
db__bind(sqlite3_stmt *st, int at, const struct value *v)
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
db__run(sqlite3_stmt *st, const struct value *values, size_t count)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
		rc = db__bind(st, (int)i + 1, &values[i]);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_step(st);
	return sqlite3_reset(st); /* says what the step said */
}

struct str
db__text(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return (struct str){text, text ? (size_t)sqlite3_column_bytes(st, column) : 0};
}

struct str
db__copy(sqlite3_stmt *st, int column, char *out, size_t size)
{
	struct str text = str_upto(db__text(st, column), size - 1);

	*(char *)mempcpy(out, text.ptr ? text.ptr : "", text.len) = '\0';
	return (struct str){out, text.len};
}
