/* test_sqlite.c - what is put comes back: rows, pages, filters, pruning, grouping. */

#include "store_unit.h"

#include "base/ulid.h"

static void
an_event_reads_back_as_the_whole_envelope(void **state)
{
	struct store *s = open_store(NULL);

	(void)state;
	store_put_event(s, &(struct store_event){
			       .id = S("01A"),
			       .wall_us = 1778241600000001,
			       .session = S("sess_1"),
			       .parent = S("01\"0"),
			       .type = "tool.called",
			       .actor = "agent",
			       .sensitivity = "private",
			       .payload = S("{\"n\":1}"),
			   });
	find_events(s, (struct store_query){.limit = 10});
	assert_int_equal(page.count, 1);
	assert_false(page.more);
	assert_string_equal(page.ids[0], "01A");
	assert_string_equal(page.types[0], "tool.called");
	assert_string_equal(page.json[0],
			    "{\"id\":\"01A\",\"timestamp\":\"2026-05-08T12:00:00.000001Z\","
			    "\"session_id\":\"sess_1\",\"turn_id\":null,"
			    "\"parent_event_id\":\"01\\\"0\",\"type\":\"tool.called\","
			    "\"actor\":\"agent\",\"payload\":{\"n\":1},"
			    "\"sensitivity\":\"private\"}");
	store_free(s);
}

static void
events_are_found_by_session_turn_type_and_id_range(void **state)
{
	struct store *s = open_store(NULL);

	(void)state;
	put_event(s, "01", "a", "tool.called");
	put_event(s, "02", "b", "tool.called");
	put_event(s, "03", "a", "tool.failed");
	put_event(s, "04", "a", "tool.completed");
	put_event(s, "05", "a", "turn.completed");

	const struct {
		struct store_query q;
		const char *ids;
		bool more;
	} cases[] = {
	    {{.limit = 9}, "01 02 03 04 05 ", false},
	    {{.limit = 5}, "01 02 03 04 05 ", false},
	    {{.limit = 2}, "01 02 ", true},
	    {{.limit = 2, .newest = true}, "04 05 ", true},
	    {{.limit = 9, .session = S("a")}, "01 03 04 05 ", false},
	    {{.limit = 9, .session = S("nobody")}, "", false},
	    {{.limit = 9, .turn = S("turn_1"), .session = S("b")}, "02 ", false},
	    {{.limit = 9, .turn = S("turn_2")}, "", false},
	    {{.limit = 9, .since = S("02")}, "03 04 05 ", false},
	    {{.limit = 9, .since = S("02"), .until = S("04")}, "03 04 ", false},
	    {{.limit = 1, .since = S("02"), .newest = true}, "05 ", true},
	    {{.limit = 9, .types = S("tool.failed,tool.completed")}, "03 04 ", false},
	    {{.limit = 9, .types = S("tool")}, "", false},
	    {{.limit = 9, .types = S("%")}, "", false},
	    {{.limit = 9, .types = S("")}, "", false},
	    {{.limit = 9, .id = S("03")}, "03 ", false},
	    {{.limit = 9, .session = S("' OR 1=1 --")}, "", false},
	    {{.limit = 0}, "01 02 03 04 05 ", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char got[64] = "";
		find_events(s, cases[i].q);
		for (size_t j = 0; j < page.count; j++)
			strcat(strcat(got, page.ids[j]), " ");
		assert_string_equal(got, cases[i].ids);
		assert_int_equal(page.more, cases[i].more);
	}
	store_free(s);
}

static struct store_call
call_running(const char *id)
{
	return (struct store_call){
	    .id = str_of(id),
	    .tool_use_id = S("tu_1"),
	    .session = S("sess_1"),
	    .turn = S("turn_1"),
	    .tool = S("write_file"),
	    .state = "running",
	    .input = S("{\"path\":\"a\"}"),
	    .input_hash = S("ff"),
	    .input_bytes = 12,
	    .opened_us = 1000000,
	};
}

static void
a_call_put_again_replaces_its_row(void **state)
{
	struct store *s = open_store(NULL);
	struct store_call c = call_running("call_1");

	(void)state;
	store_put_call(s, &c);
	find_calls(s, (struct store_query){.limit = 5, .id = S("tu_1")});
	assert_string_equal(
	    page.json[0],
	    "{\"call_id\":\"call_1\",\"tool_use_id\":\"tu_1\",\"session_id\":\"sess_1\","
	    "\"turn_id\":\"turn_1\",\"tool_name\":\"write_file\",\"capability\":null,"
	    "\"reversibility\":null,\"state\":\"running\",\"success\":null,\"error_class\":null,"
	    "\"message\":null,\"inside\":null,\"rule\":null,\"input\":{\"path\":\"a\"},"
	    "\"input_hash\":\"ff\",\"input_bytes\":12,\"output_bytes\":0,\"files_modified\":null,"
	    "\"command\":null,\"opened_at\":\"1970-01-01T00:00:01.000000Z\",\"closed_at\":null,"
	    "\"waited_ms\":0,\"ran_ms\":0,\"attempts\":0,\"reviewed_by\":null,"
	    "\"reviewed_at\":null,\"shown_hash\":null,\"confinement\":null}");

	c.capability = "write";
	c.reversibility = "compensatable";
	c.state = "failed";
	c.error_class = "execution_error";
	c.message = S("no");
	c.inside = S("errno 5");
	c.rule = S("default.WRITE");
	c.files_modified = S("[\"a\"]");
	c.command = S("x");
	c.closed_us = 2000000;
	c.waited_ms = 3, c.ran_ms = 4, c.output_bytes = 5, c.attempts = 6;
	c.reviewed_by = S("rest");
	c.reviewed_us = INT64_C(1700000000000000);
	c.shown_hash = S("ee");
	c.confinement = S("open: group");
	store_put_call(s, &c);
	find_calls(s, (struct store_query){.limit = 5, .id = S("call_1")});
	assert_int_equal(page.count, 1);
	assert_string_equal(
	    page.json[0],
	    "{\"call_id\":\"call_1\",\"tool_use_id\":\"tu_1\",\"session_id\":\"sess_1\","
	    "\"turn_id\":\"turn_1\",\"tool_name\":\"write_file\",\"capability\":\"write\","
	    "\"reversibility\":\"compensatable\",\"state\":\"failed\",\"success\":false,"
	    "\"error_class\":\"execution_error\",\"message\":\"no\",\"inside\":\"errno 5\","
	    "\"rule\":\"default.WRITE\",\"input\":{\"path\":\"a\"},\"input_hash\":\"ff\","
	    "\"input_bytes\":12,\"output_bytes\":5,\"files_modified\":[\"a\"],\"command\":\"x\","
	    "\"opened_at\":\"1970-01-01T00:00:01.000000Z\","
	    "\"closed_at\":\"1970-01-01T00:00:02.000000Z\","
	    "\"waited_ms\":3,\"ran_ms\":4,\"attempts\":6,\"reviewed_by\":\"rest\","
	    "\"reviewed_at\":\"2023-11-14T22:13:20.000000Z\",\"shown_hash\":\"ee\","
	    "\"confinement\":\"open: group\"}");
	store_free(s);
}

static void
an_input_too_long_for_the_journal_is_cut_and_says_so(void **state)
{
	struct store *s = open_store(NULL);
	struct store_call c = call_running("call_1");
	struct buf input = BUF_INIT(1 * MIB);

	(void)state;
	buf_addz(&input, "{\"text\":\"");
	for (int i = 0; i < 100000; i++)
		buf_addc(&input, 'a');
	buf_addz(&input, "\"}");
	c.input = buf_str(&input);
	store_put_call(s, &c);
	find_calls(s, (struct store_query){.limit = 1});
	assert_non_null(strstr(page.json[0], "\"input\":\"{\\\"text\\\":\\\"aaa"));
	assert_non_null(strstr(page.json[0], "aaa... [cut, 100011 bytes in all]\""));
	assert_true(strlen(page.json[0]) < LIMIT_JOURNAL_INPUT_BYTES + 1000);
	buf_done(&input);
	store_free(s);
}

static void
a_session_reads_back_open_and_ended(void **state)
{
	struct store *s = open_store(NULL);
	struct store_session row = {
	    .id = S("sess_1"),
	    .workspace = S("/w"),
	    .kind = "main",
	    .client = S("cli"),
	    .created_us = 1000000,
	};

	(void)state;
	store_put_session(s, &row);
	find_sessions(s, (struct store_query){.limit = 5});
	assert_string_equal(
	    page.json[0], "{\"session_id\":\"sess_1\",\"workspace_path\":\"/w\",\"kind\":\"main\","
			  "\"client\":\"cli\",\"created_at\":\"1970-01-01T00:00:01.000000Z\","
			  "\"ended_at\":null}");
	row.ended_us = 2000000;
	store_put_session(s, &row);
	find_sessions(s, (struct store_query){.limit = 5, .id = S("sess_1")});
	assert_int_equal(page.count, 1);
	assert_non_null(strstr(page.json[0], "\"ended_at\":\"1970-01-01T00:00:02.000000Z\""));
	store_free(s);
}

static void
grant_note(const struct store_grant *g, void *arg)
{
	char *out = arg;
	size_t used = strlen(out);

	snprintf(out + used, 200 - used, "%.*s %.*s %.*s %.*s %d %d %.*s\n", STR_ARG(g->id),
		 STR_ARG(g->workspace), STR_ARG(g->tool),
		 STR_ARG(g->prefix.ptr ? g->prefix : S("-")), g->allow, (int)g->created_us,
		 STR_ARG(g->by));
}

static void
grants_are_kept_until_deleted(void **state)
{
	struct store *s = open_store(path_in("g.db"));
	char got[200] = "";
	struct err e;

	(void)state;
	store_put_grant(s, &(struct store_grant){S("grant_1"), S("/w"), S("shell"), S("git status"),
						 true, 7, S("cli")});
	store_put_grant(
	    s, &(struct store_grant){
		   S("grant_2"), S("/w"), S("write_file"), {NULL, 0}, false, 8, S("rest")});
	store_free(s);

	s = open_store(path_in("g.db"));
	assert_int_equal(store_load_grants(s, grant_note, got, &e), 0);
	assert_string_equal(got, "grant_1 /w shell git status 1 7 cli\n"
				 "grant_2 /w write_file - 0 8 rest\n");
	store_delete_grant(s, S("grant_1"));
	got[0] = '\0';
	assert_int_equal(store_load_grants(s, grant_note, got, &e), 0);
	assert_string_equal(got, "grant_2 /w write_file - 0 8 rest\n");
	store_free(s);
}

/* An id as it was made at that moment. */
static struct str
id_of(const char *prefix, int64_t wall_us, char out[40])
{
	char ulid[ULID_LEN + 1];

	ulid_at(wall_us, ulid);
	snprintf(out, 40, "%s%s", prefix, ulid);
	return str_of(out);
}

static void
pruning_goes_by_age_and_spares_audit_events(void **state)
{
	static const int64_t old = 5000000, edge = 7000000, young = 9000000;
	struct store *s = open_store(NULL);
	struct store_event ev = {.type = "t", .actor = "a", .sensitivity = "p", .payload = S("{}")};
	struct store_call c = call_running("");
	char id[40], audit[40], kept[40], sessions[2][40];

	(void)state;
	ev.id = id_of("", old, id);
	store_put_event(s, &ev);
	ev.id = id_of("", old + 1000, audit), ev.audit = true;
	store_put_event(s, &ev);
	ev.id = id_of("", young, kept), ev.audit = false;
	store_put_event(s, &ev);
	/* Two sessions that were never ended, as after a crash; only one has a young call. */
	for (size_t i = 0; i < 2; i++) {
		c.session = id_of("sess_", old + (int64_t)i * 1000, sessions[i]);
		store_put_session(s, &(struct store_session){.id = c.session});
		c.id = id_of("call_", old + (int64_t)i * 1000, id);
		store_put_call(s, &c);
	}
	c.id = id_of("call_", young, id);
	store_put_call(s, &c);

	assert_int_equal(store_prune(s, edge), 0);
	find_events(s, (struct store_query){.limit = 9});
	assert_int_equal(page.count, 2);
	assert_string_equal(page.ids[0], audit);
	assert_string_equal(page.ids[1], kept);
	find_calls(s, (struct store_query){.limit = 9});
	assert_int_equal(page.count, 1);
	assert_string_equal(page.ids[0], id);
	find_sessions(s, (struct store_query){.limit = 9});
	assert_int_equal(page.count, 1);
	assert_string_equal(page.ids[0], sessions[1]);
	store_free(s);
}

static void
a_read_sees_everything_put_before_it(void **state)
{
	const char *paths[] = {NULL, path_in("ryw.db")};

	(void)state;
	for (size_t p = 0; p < 2; p++) {
		struct store *s = open_store(paths[p]);
		char id[16], last[27];
		struct err e;
		for (int i = 1; i <= 300; i++) {
			snprintf(id, sizeof(id), "%08d", i);
			put_event(s, id, "a", "t");
			find_events(s, (struct store_query){.limit = 1, .newest = true});
			assert_string_equal(page.ids[0], id);
		}
		assert_int_equal(store_last_event_id(s, last, &e), 0);
		assert_string_equal(last, id);
		store_free(s);
	}
}

static void
an_empty_store_has_no_last_event(void **state)
{
	struct store *s = open_store(NULL);
	char last[27] = "x";
	struct err e;

	(void)state;
	assert_int_equal(store_last_event_id(s, last, &e), 0);
	assert_string_equal(last, "");
	store_free(s);
}

static void
stores_in_memory_are_apart(void **state)
{
	struct store *a = open_store(NULL), *b = open_store(NULL);

	(void)state;
	put_event(a, "01", "a", "t");
	assert_int_equal(sync_now(a), 0);
	find_events(b, (struct store_query){.limit = 1});
	assert_int_equal(page.count, 0);
	store_free(a);
	store_free(b);
}

/* Text from agents: nothing in it is SQL, and bytes that are no text do not break the JSON. */
static void
hostile_text_is_only_text(void **state)
{
	static const char nasty[] = "a\0b'); DROP TABLE calls; --\xff\x1b[31m";
	struct store *s = open_store(NULL);
	struct store_call c = call_running("call_1");

	(void)state;
	c.message = (struct str){nasty, sizeof(nasty) - 1};
	c.input = S("{\"a\":1},\"success\":true,{");
	store_put_call(s, &c);
	find_calls(s, (struct store_query){.limit = 5});
	assert_int_equal(page.count, 1);
	assert_non_null(strstr(page.json[0], "\"message\":\"a\\u0000b'); DROP TABLE calls; --"
					     "\xef\xbf\xbd\\u001b[31m\""));
	assert_non_null(strstr(page.json[0], "\"input\":\"{\\\"a\\\":1},\\\"success\\\""));
	store_free(s);
}

static void
a_page_of_large_rows_ends_early_and_goes_on(void **state)
{
	enum { ROWS = 40, BYTES = 500 * 1024 };
	struct store *s = open_store(NULL);
	char *payload = malloc(BYTES);
	char id[8], since[8] = "";
	size_t seen = 0, pages = 0;

	(void)state;
	memset(payload, ' ', BYTES);
	memcpy(payload, "{}", 2);
	for (int i = 0; i < ROWS; i++) {
		snprintf(id, sizeof(id), "%02d", i);
		store_put_event(s, &(struct store_event){.id = str_of(id),
							 .type = "t",
							 .payload = {payload, BYTES}});
	}
	do {
		find_events(s, (struct store_query){.limit = 1000, .since = str_of(since)});
		assert_true(page.count > 0);
		seen += page.count;
		pages++;
		snprintf(since, sizeof(since), "%s", page.ids[page.count - 1]);
	} while (page.more);
	assert_int_equal(seen, ROWS);
	assert_int_equal(pages, 2);
	free(payload);
	store_free(s);
}

/* Another connection that holds the file, so that rows must queue up. */
static sqlite3 *
file_hold(const char *path)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return db;
}

static void
file_release(sqlite3 *db)
{
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void
what_is_queued_together_is_committed_together(void **state)
{
	struct store *s = open_store(path_in("group.db"));
	sqlite3 *other = file_hold(path_in("group.db"));
	char id[16];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		snprintf(id, sizeof(id), "%08d", i);
		assert_int_equal(put_event(s, id, "a", "t"), 0);
	}
	file_release(other);
	assert_int_equal(sync_now(s), 0);
	assert_int_equal(s->writer.written, 2000);
	/* What the writer had already taken when it met the lock, and all the rest. */
	assert_in_range(s->writer.commits, 1, 2);
	store_free(s);
}

static void
a_full_queue_refuses_and_then_takes_again(void **state)
{
	enum { BYTES = 1024 * 1024 };
	struct store *s = open_store(path_in("full.db"));
	sqlite3 *other = file_hold(path_in("full.db"));
	struct store_event ev = {.type = "t", .payload = {calloc(1, BYTES), BYTES}};
	int taken = 0, code;

	(void)state;
	while ((code = store_put_event(s, &ev)) == 0)
		taken++;
	assert_int_equal(code, E_LIMIT);
	assert_in_range(taken, 60, 64);
	file_release(other);
	assert_int_equal(sync_now(s), 0);
	assert_int_equal(s->writer.bytes, 0);
	assert_int_equal(store_put_event(s, &ev), 0);
	free((char *)ev.payload.ptr);
	store_free(s);
}

static void
freeing_flushes_and_answers_what_is_under_way(void **state)
{
	struct store *s = open_store(path_in("flush.db"));
	char id[16];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(id, sizeof(id), "%08d", i);
		put_event(s, id, "a", "t");
	}
	synced = 1;
	page.code = 1;
	store_sync(s, sync_keep, NULL);
	store_find_events(s, &(struct store_query){.limit = 1000}, page_keep, NULL);
	store_free(s);
	assert_int_equal(synced, 0);
	assert_int_equal(page.code, 0);
	assert_int_equal(page.count, 1000);

	s = open_store(path_in("flush.db"));
	find_events(s, (struct store_query){.limit = 1000});
	assert_int_equal(page.count, 1000);
	store_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(an_event_reads_back_as_the_whole_envelope, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(events_are_found_by_session_turn_type_and_id_range,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(a_call_put_again_replaces_its_row, setup, teardown),
	    cmocka_unit_test_setup_teardown(an_input_too_long_for_the_journal_is_cut_and_says_so,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(a_session_reads_back_open_and_ended, setup, teardown),
	    cmocka_unit_test_setup_teardown(grants_are_kept_until_deleted, setup, teardown),
	    cmocka_unit_test_setup_teardown(pruning_goes_by_age_and_spares_audit_events, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_read_sees_everything_put_before_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(an_empty_store_has_no_last_event, setup, teardown),
	    cmocka_unit_test_setup_teardown(stores_in_memory_are_apart, setup, teardown),
	    cmocka_unit_test_setup_teardown(hostile_text_is_only_text, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_page_of_large_rows_ends_early_and_goes_on, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_is_queued_together_is_committed_together, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_full_queue_refuses_and_then_takes_again, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(freeing_flushes_and_answers_what_is_under_way, setup,
					    teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
