/* sqlite_db.c - the file of the store: how it is opened and brought up to date. */

#include "store/sqlite.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/limits.h"

/*
 * synchronous=NORMAL in WAL mode: a killed process loses nothing, a power cut may lose the
 * last transactions but never breaks the file.
 */
static const char open_sql[] = "PRAGMA page_size = 16384;"
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = NORMAL;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA trusted_schema = OFF;";

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

int
db__open(const char *path, const char *name, sqlite3 **ret, struct err *e)
{
	struct db_spec spec = {.path = path, .name = name, .settings = open_sql};

	return path && parents_make(path, e) < 0 ? E_STORE : db_open(&spec, ret, e);
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
	int rc = db_version(db, &version);
	if (rc == SQLITE_OK && version == known)
		return 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = db_version(db, &version);
	if (rc == SQLITE_OK && version > known) {
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
		return db_is_newer(db, version, known, e);
	}
	for (; rc == SQLITE_OK && version < known; version++)
		rc = migration_apply(db, version);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return 0;
	db_error(db, "migration", e);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return E_STORE;
}
