/* test_disk.c - the file: who may read it, who shares it, and what happens when the disk refuses.
 */

#include "store_unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define NOBODY 65534

static int
sql_int(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* As the program counts them: what came in a rush is not in the view. */
static size_t
events_in(const char *path)
{
	struct store *s = open_store(path);
	char last[40] = "";
	size_t count = 0;

	do {
		find_events(s,
			    (struct store_query){.limit = LIMIT_EVENT_PAGE, .since = str_of(last)});
		count += page.count;
		if (page.count)
			snprintf(last, sizeof(last), "%s", page.ids[page.count - 1]);
	} while (page.more);
	store_free(s);
	return count;
}

static void
sql_run(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void
file_and_directories_are_private(void **state)
{
	struct store *s = open_store(path_in("a/b/c.db"));
	struct stat st;

	(void)state;
	assert_int_equal(sync_now(s), 0);
	assert_int_equal(stat(path_in("a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(path_in("a/b"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(path_in("a/b/c.db"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(path_in("a/b/c.db-wal"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	store_free(s);
}

static void
a_new_file_has_the_catalogue_s_table(void **state)
{
	store_free(open_store(path_in("new.db")));

	(void)state;
	const char *path = path_in("new.db");
	assert_int_equal(sql_int(path, "PRAGMA user_version"), 6);
	assert_int_equal(sql_int(path,
				 "SELECT count(*) FROM pragma_table_info('events') WHERE name IN"
				 " ('id', 'timestamp_us', 'session_id', 'turn_id',"
				 " 'parent_event_id', 'type', 'actor', 'sensitivity',"
				 " 'payload_json')"),
			 9);
	assert_int_equal(sql_int(path, "SELECT count(*) FROM pragma_journal_mode"
				       " WHERE journal_mode = 'wal'"),
			 1);
}

/* A file as the first version left it. */
static void
file_of_version_1(const char *path)
{
	sql_run(path, embedded_sql[0].bytes.ptr);
	sql_run(path,
		"INSERT INTO events VALUES"
		" ('02', 1778241600000002, 'sess_\"', 'turn_1', '01', 'tool.called', 'agent',"
		" 'private', '{\"n\":1}', 0),"
		" ('01', 1778241600000001, 'sess_\"', NULL, NULL, 'x', 'user', 'private', '{}',"
		" 1);"
		"INSERT INTO calls (id, tool_use_id, session_id, turn_id, tool, state, input,"
		" opened_us) VALUES ('call_1', 'tu_1', 'sess_\"', 'turn_1', 'shell', 'running',"
		" '{\"a\":1}', 1000000), ('call_2', 'tu_2', 'sess_\"', 'turn_1', 'shell',"
		" 'running', '{\"cut... [cut, 99 bytes in all]', 1000000);"
		"UPDATE calls SET state = 'completed', success = 1, closed_us = 2000000,"
		" files_modified = '[\"b\"]' WHERE id = 'call_1';"
		"INSERT INTO sessions (id, workspace) VALUES ('sess_\"', '/w');"
		"INSERT INTO grants (id, workspace, tool, allow, created_us, answered_by)"
		" VALUES ('grant_1', '/w', 'shell', 1, 7, 'cli');"
		"PRAGMA user_version = 1");
}

static void
grant_count(const struct store_grant *g, void *arg)
{
	(void)g;
	++*(int *)arg;
}

static void
a_file_of_the_first_version_loses_nothing(void **state)
{
	struct err e;
	int grants = 0;

	(void)state;
	file_of_version_1(path_in("old.db"));
	struct store *s = open_store(path_in("old.db"));
	find_events(s, (struct store_query){.limit = 9, .session = S("sess_\"")});
	assert_int_equal(page.count, 2);
	assert_string_equal(page.json[1],
			    "{\"id\":\"02\",\"timestamp\":\"2026-05-08T12:00:00.000002Z\","
			    "\"session_id\":\"sess_\\\"\",\"turn_id\":\"turn_1\","
			    "\"parent_event_id\":\"01\",\"type\":\"tool.called\","
			    "\"actor\":\"agent\",\"payload\":{\"n\":1},"
			    "\"sensitivity\":\"private\"}");
	find_calls(s, (struct store_query){.limit = 9, .id = S("tu_1")});
	assert_int_equal(page.count, 1);
	assert_non_null(strstr(page.json[0], "\"state\":\"completed\",\"success\":true"));
	assert_non_null(strstr(page.json[0], "\"input\":{\"a\":1},"));
	assert_non_null(strstr(page.json[0], "\"files_modified\":[\"b\"]"));
	find_calls(s, (struct store_query){.limit = 9, .id = S("call_2")});
	assert_non_null(strstr(page.json[0], "\"success\":null"));
	assert_non_null(strstr(page.json[0], "\"input\":\"{\\\"cut... [cut, 99 bytes in all]\""));
	find_sessions(s, (struct store_query){.limit = 9});
	assert_int_equal(page.count, 1);
	assert_int_equal(store_load_grants(s, grant_count, &grants, &e), 0);
	assert_int_equal(grants, 1);
	/* All of it is old; the audit event stays. */
	assert_int_equal(store_prune(s, INT64_C(4102444800000000)), 0);
	find_events(s, (struct store_query){.limit = 9});
	assert_int_equal(page.count, 1);
	assert_string_equal(page.ids[0], "01");
	store_free(s);
	assert_int_equal(sql_int(path_in("old.db"), "PRAGMA user_version"), 6);
	assert_int_equal(sql_int(path_in("old.db"), "SELECT count(*) FROM sqlite_master WHERE name"
						    " LIKE '%_001'"),
			 0);
}

/* The table of the catalogue is a view of what is kept. */
static void
the_view_shows_every_event(void **state)
{
	struct store *s = open_store(path_in("view.db"));
	const char *path;

	(void)state;
	store_put_event(s, &(struct store_event){.id = S("01"),
						 .wall_us = 1778241600000002,
						 .session = S("s"),
						 .type = "t",
						 .payload = S("{\"a\":[1,\"\\u001e\"]}")});
	store_put_event(s, &(struct store_event){
			       .id = S("02"), .type = "u", .audit = true, .payload = S("{}")});
	store_free(s);
	path = path_in("view.db");
	assert_int_equal(sql_int(path, "SELECT count(*) FROM events"), 2);
	assert_int_equal(sql_int(path,
				 "SELECT count(*) FROM events WHERE id = '01' AND timestamp_us ="
				 " 1778241600000002 AND session_id = 's' AND turn_id IS NULL"
				 " AND type = 't' AND audit = 0 AND"
				 " json_extract(payload_json, '$.a[0]') = 1"),
			 1);
	assert_int_equal(sql_int(path, "SELECT audit FROM events WHERE type = 'u'"), 1);
}

static void
a_file_of_a_newer_program_is_left_alone(void **state)
{
	struct store *s = NULL;
	struct err e = ERR_NONE;

	(void)state;
	sql_run(path_in("newer.db"), "PRAGMA user_version = 99");
	assert_int_equal(store_open(loop, path_in("newer.db"), &s, &e), E_STORE);
	assert_non_null(strstr(e.text, "newer.db is of a newer holdfast (version 99"));
	assert_int_equal(sql_int(path_in("newer.db"), "PRAGMA user_version"), 99);
	assert_int_equal(sql_int(path_in("newer.db"), "SELECT count(*) FROM sqlite_master"), 0);
}

static void
what_is_no_database_is_refused(void **state)
{
	struct store *s = NULL;
	struct err e = ERR_NONE;
	char garbage[8192];

	(void)state;
	memset(garbage, 'x', sizeof(garbage));
	FILE *f = fopen(path_in("garbage"), "w");
	fwrite(garbage, 1, sizeof(garbage), f);
	fclose(f);
	assert_int_equal(store_open(loop, path_in("garbage"), &s, &e), E_STORE);
	assert_non_null(strstr(e.inside, "not a database"));
	assert_int_equal(store_open(loop, path_in("garbage/below"), &s, &e), E_STORE);
	assert_null(s);
}

/* Run in a child, as somebody whom the directory's mode stops. */
static int
in_a_child(int (*run)(void))
{
	int status;

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setuid(NOBODY) < 0)
			_exit(99);
		_exit(run());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
open_is_refused(void)
{
	struct loop *own;
	struct store *s = NULL;
	struct err e = ERR_NONE;

	if (loop_new(&own, &e) < 0)
		return 2;
	int code = store_open(own, path_in("ro/x.db"), &s, &e);
	return code == E_STORE && !s && strstr(e.inside, "ermission denied") ? 0 : 1;
}

static void
a_read_only_directory_is_an_error_with_its_reason(void **state)
{
	(void)state;
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(mkdir(path_in("ro"), 0555), 0);
	assert_int_equal(in_a_child(open_is_refused), 0);
}

static void
two_stores_in_one_process_share_a_file(void **state)
{
	struct store *a = open_store(path_in("two.db"));
	struct store *b = open_store(path_in("two.db"));
	char id[16];

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(id, sizeof(id), "%08d", i);
		assert_int_equal(put_event(i % 2 ? a : b, id, "s", "t"), 0);
	}
	assert_int_equal(sync_now(a), 0);
	assert_int_equal(sync_now(b), 0);
	find_events(a, (struct store_query){.limit = 1000});
	assert_int_equal(page.count, 200);
	store_free(a);
	put_event(b, "1", "s", "t"); /* the other's end took no lock away */
	find_events(b, (struct store_query){.limit = 1000});
	assert_int_equal(page.count, 201);
	store_free(b);
}

enum { PROCESSES = 4, ROWS = 300 };

/* A process of its own: opens the fresh file with all the others at once, and writes. */
static int
sharer(int number, int gate)
{
	struct err e = ERR_NONE;
	struct store *s = NULL;
	char id[32], byte;

	if (read(gate, &byte, 1) < 0 || loop_new(&loop, &e) < 0)
		return 2;
	if (store_open(loop, path_in("many.db"), &s, &e) < 0) {
		fprintf(stderr, "open: %s\n", e.inside);
		return 3;
	}
	for (int i = 0; i < ROWS; i++) {
		snprintf(id, sizeof(id), "%d-%08d", number, i);
		if (put_event(s, id, "s", "t") < 0)
			return 4;
	}
	store_sync(s, sync_keep, NULL);
	loop_run(loop);
	store_free(s);
	return synced;
}

static void
several_processes_share_a_fresh_file(void **state)
{
	pid_t pids[PROCESSES];
	int gate[2], status;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	fflush(NULL);
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(gate[1]);
			_exit(sharer(i, gate[0]));
		}
	}
	close(gate[0]);
	close(gate[1]); /* go */
	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(events_in(path_in("many.db")), PROCESSES * ROWS);
}

static struct {
	struct store *store;
	int acks;
	unsigned next;
} victim;

static void
victim_go_on(int code, void *arg)
{
	char id[16];

	(void)arg;
	if (code < 0)
		_exit(1);
	if (victim.next && write(victim.acks, &victim.next, sizeof(victim.next)) < 0)
		_exit(1);
	for (int i = 0; i < 50; i++) {
		snprintf(id, sizeof(id), "%08u", ++victim.next);
		put_event(victim.store, id, "s", "t");
	}
	store_sync(victim.store, victim_go_on, NULL);
}

static void
a_killed_process_leaves_all_it_was_told_is_committed(void **state)
{
	unsigned acked = 0;
	int acks[2], status;

	(void)state;
	assert_int_equal(pipe(acks), 0);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		struct err e;
		close(acks[0]);
		victim.acks = acks[1];
		if (loop_new(&loop, &e) < 0 ||
		    store_open(loop, path_in("kill.db"), &victim.store, &e) < 0)
			_exit(1);
		victim_go_on(0, NULL);
		loop_run(loop);
		_exit(1);
	}
	close(acks[1]);
	for (int i = 0; i < 40; i++)
		assert_int_equal(read(acks[0], &acked, sizeof(acked)), sizeof(acked));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	for (unsigned more; read(acks[0], &more, sizeof(more)) == sizeof(more);)
		acked = more;
	close(acks[0]);

	struct store *s = open_store(path_in("kill.db"));
	char id[16];
	snprintf(id, sizeof(id), "%08u", acked);
	find_events(s, (struct store_query){.limit = 1, .id = str_of(id)});
	assert_int_equal(page.count, 1);
	assert_int_equal(put_event(s, "99999999", "s", "t"), 0);
	assert_int_equal(sync_now(s), 0);
	store_free(s);
	assert_true(events_in(path_in("kill.db")) > acked);
	assert_int_equal(sql_int(path_in("kill.db"), "SELECT integrity_check = 'ok'"
						     " FROM pragma_integrity_check"),
			 1);
}

static void
files_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
a_full_disk_is_reported_reads_go_on_and_it_recovers(void **state)
{
	struct store *s = open_store(path_in("full.db"));
	struct err e = ERR_NONE;
	char id[16];

	(void)state;
	put_event(s, "00000000", "s", "t");
	assert_int_equal(sync_now(s), 0);
	assert_int_equal(store_health(s, &e), 0);

	files_limit(16 * 1024);
	for (int i = 1; i <= 2000; i++) {
		snprintf(id, sizeof(id), "%08d", i);
		assert_int_equal(put_event(s, id, "s", "t"), 0);
	}
	assert_int_equal(sync_now(s), E_STORE);
	assert_int_equal(store_health(s, &e), E_STORE);
	assert_string_equal(e.text, err_row(E_STORE)->sentence);
	assert_true(strlen(e.inside) > 0);
	find_events(s, (struct store_query){.limit = 1000});
	assert_string_equal(page.ids[0], "00000000");
	assert_int_equal(put_event(s, "00002001", "s", "t"), 0); /* kept for later */

	files_limit(RLIM_INFINITY);
	assert_int_equal(sync_now(s), 0);
	assert_int_equal(store_health(s, &e), 0);
	find_events(s, (struct store_query){.limit = 1, .newest = true});
	assert_string_equal(page.ids[0], "00002001");
	store_free(s);
	assert_int_equal(events_in(path_in("full.db")), 2002);
}

static void
freeing_ends_also_when_the_disk_refuses(void **state)
{
	struct store *s = open_store(path_in("lost.db"));
	char id[16];

	(void)state;
	assert_int_equal(sync_now(s), 0);
	files_limit(16 * 1024);
	for (int i = 1; i <= 2000; i++) {
		snprintf(id, sizeof(id), "%08d", i);
		put_event(s, id, "s", "t");
	}
	synced = 1;
	store_sync(s, sync_keep, NULL);
	store_free(s);
	assert_int_equal(synced, E_STORE);
	files_limit(RLIM_INFINITY);
	assert_int_equal(sql_int(path_in("lost.db"), "SELECT integrity_check = 'ok'"
						     " FROM pragma_integrity_check"),
			 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(file_and_directories_are_private, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_new_file_has_the_catalogue_s_table, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_file_of_the_first_version_loses_nothing, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(the_view_shows_every_event, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_file_of_a_newer_program_is_left_alone, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_is_no_database_is_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_read_only_directory_is_an_error_with_its_reason,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(two_stores_in_one_process_share_a_file, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(several_processes_share_a_fresh_file, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_killed_process_leaves_all_it_was_told_is_committed,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(a_full_disk_is_reported_reads_go_on_and_it_recovers,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(freeing_ends_also_when_the_disk_refuses, setup,
					    teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
