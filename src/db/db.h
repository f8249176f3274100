/*
 * db.h - one connection to an SQLite file: how it is opened, what is bound, what it says when it
 * fails. For those who keep something in one; what they keep is theirs.
 */

#ifndef DB_DB_H
#define DB_DB_H

#include <sqlite3.h>

#include "base/err.h"

/* What is bound to a statement. */
enum value_type { VALUE_NULL, VALUE_INT, VALUE_TEXT, VALUE_BLOB };
struct value {
	enum value_type type;
	int64_t number; /* or the length of text */
	const char *text;
};

static inline struct value
value_int(int64_t n)
{
	return (struct value){VALUE_INT, n, NULL};
}

static inline struct value
value_str(struct str s)
{
	return s.ptr ? (struct value){VALUE_TEXT, (int64_t)s.len, s.ptr} : (struct value){0};
}

static inline struct value
value_blob(struct str s)
{
	return (struct value){VALUE_BLOB, (int64_t)s.len, s.ptr};
}

static inline struct value
value_z(const char *z)
{
	return value_str(str_of(z));
}

static inline struct value
value_time(int64_t wall_us) /* 0 is "not yet" */
{
	return wall_us ? value_int(wall_us) : (struct value){0};
}

/*
 * For a program that is SQLite's only user in its process, before it opens anything: a connection
 * takes pages when it needs them, not twenty for the start, and nobody counts the bytes under one
 * lock for all threads.
 */
void db_alone(void);

/*
 * The file is made with mode 0600, its directory has to be there. Several processes may open one
 * at the same time. E_STORE with the reason inside.
 */
struct db_spec {
	const char *path;     /* NULL: in memory... */
	const char *name;     /* ...under this name, for all connections of this process; NULL: for
				 this one alone */
	const char *settings; /* SQL: the pragmas it needs */
};
int db_open(const struct db_spec *spec, sqlite3 **ret, struct err *e);

int db_error(sqlite3 *db, const char *what, struct err *e); /* E_STORE with the reason inside */
/* All of them; ret has room for `count`. E_STORE. */
/*
 * What the file says of itself (PRAGMA user_version): 0 when it is new. db_form: where that is
 * less than `version`, `sql` makes what is missing, and it is noted; nothing is written else.
 * E_STORE: a later program made it.
 */
int db_version(sqlite3 *db, int *ret);                             /* SQLite's code */
int db_is_newer(sqlite3 *db, int there, int known, struct err *e); /* says so: E_STORE */
int db_form(sqlite3 *db, int version, const char *sql, struct err *e);

int db_prepare(sqlite3 *db, const char *const *sql, size_t count, sqlite3_stmt **ret,
	       struct err *e);
int db_bind(sqlite3_stmt *st, int at, const struct value *v); /* text must stay until reset */
int db_bind_all(sqlite3_stmt *st, const struct value *values, size_t count);
int db_run(sqlite3_stmt *st, const struct value *values, size_t count);
struct str db_text(sqlite3_stmt *st, int column); /* until the next step */
struct str db_copy(sqlite3_stmt *st, int column, char *out, size_t size);

#endif
