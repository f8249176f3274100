/* test_db.c - the form of a file: made once, kept when it is there, left alone when it is newer. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/db.h"

static char dir[64], path[96];

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/holdfast-db-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/a.db", dir);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static sqlite3 *
open_db(void)
{
	sqlite3 *db;
	struct err e;

	assert_int_equal(db_open(&(struct db_spec){.path = path,
						   .settings = "PRAGMA journal_mode = WAL"},
				 &db, &e),
			 0);
	return db;
}

static off_t
wal_bytes(void)
{
	char wal[128];
	struct stat st;

	snprintf(wal, sizeof(wal), "%s-wal", path);
	return stat(wal, &st) == 0 ? st.st_size : 0;
}

static void
a_form_is_made_once_and_then_nothing_is_written(void **state)
{
	struct err e = ERR_NONE;
	sqlite3 *db = open_db();

	(void)state;
	assert_int_equal(db_form(db, 3, "CREATE TABLE t (x)", &e), 0);
	assert_true(wal_bytes() > 0);
	sqlite3_close(db);
	db = open_db();
	assert_int_equal(db_form(db, 3, "this is no SQL", &e), 0);
	assert_int_equal(wal_bytes(), 0);
	/* A later program adds to it. */
	assert_int_equal(db_form(db, 4, "CREATE TABLE u (x)", &e), 0);
	assert_int_equal(sqlite3_exec(db, "INSERT INTO u VALUES (1)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void
a_later_form_is_refused_and_a_wrong_one_leaves_nothing(void **state)
{
	struct err e = ERR_NONE;
	sqlite3 *db = open_db();
	int version = -1;

	(void)state;
	assert_int_equal(db_form(db, 1, "CREATE TABLE t (x); this is no SQL", &e), E_STORE);
	assert_int_equal(db_version(db, &version), SQLITE_OK);
	assert_int_equal(version, 0);
	assert_int_equal(sqlite3_exec(db, "SELECT * FROM t", NULL, NULL, NULL), SQLITE_ERROR);
	assert_int_equal(db_form(db, 7, "CREATE TABLE t (x)", &e), 0);
	assert_int_equal(db_form(db, 6, "DROP TABLE t", &e), E_STORE);
	assert_non_null(strstr(e.text, "version 7"));
	assert_int_equal(sqlite3_exec(db, "SELECT * FROM t", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_form_is_made_once_and_then_nothing_is_written, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_later_form_is_refused_and_a_wrong_one_leaves_nothing,
					    setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
