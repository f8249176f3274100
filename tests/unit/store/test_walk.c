/* test_walk.c - records out of many segments: in one order, each once, whoever wrote them. */

#include "store_unit.h"

#include "base/ulid.h"

/* Ids of the last page, one after the other. */
static const char *
ids(void)
{
	static char text[1024];

	text[0] = '\0';
	for (size_t i = 0; i < page.count; i++)
		strcat(strcat(text, page.ids[i]), " ");
	return text;
}

static int
put_call(struct store *s, const char *id, const char *use, const char *state)
{
	return store_put_call(s, &(struct store_call){.id = str_of(id),
						      .tool_use_id = str_of(use),
						      .session = S("sess_1"),
						      .turn = S("turn_1"),
						      .tool = S("shell"),
						      .state = state,
						      .input = S("{}"),
						      .closed_us = state[0] != 'r'});
}

/* What a process wrote at one time, each transaction one segment: written anew, none is joined. */
static void
put_apart(const char *path, const char *const *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct store *s = open_store(path);
		char list[64], *rest = list, *id;
		snprintf(list, sizeof(list), "%s", wanted[i]);
		while ((id = strsep(&rest, " ")))
			assert_int_equal(put_event(s, id, "a", "t"), 0);
		store_free(s);
	}
}

static void
segments_that_overlap_come_out_in_one_order(void **state)
{
	/* All but the last begin alike. */
	static const char *const segments[] = {"00000005 00000009", "00000002 00000007",
					       "00000001",          "00000006 00000008",
					       "00000003 00000004", "00000010 00000011"};
	const char *path = path_in("overlap.db");

	(void)state;
	put_apart(path, segments, ARRAY_LEN(segments));
	struct store *s = open_store(path);
	const struct {
		struct store_query q;
		const char *ids;
		bool more;
	} cases[] = {
	    {{.limit = 99},
	     "00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000008 00000009 "
	     "00000010 00000011 ",
	     false},
	    {{.limit = 3}, "00000001 00000002 00000003 ", true},
	    {{.limit = 3, .since = S("00000003")}, "00000004 00000005 00000006 ", true},
	    {{.limit = 3, .since = S("00000009")}, "00000010 00000011 ", false},
	    {{.limit = 9, .until = S("00000003")}, "00000001 00000002 00000003 ", false},
	    {{.limit = 3, .newest = true}, "00000009 00000010 00000011 ", true},
	    {{.limit = 3, .newest = true, .until = S("00000008")},
	     "00000006 00000007 00000008 ",
	     true},
	    {{.limit = 2, .newest = true, .since = S("00000008")}, "00000010 00000011 ", true},
	    {{.limit = 9, .id = S("00000007")}, "00000007 ", false},
	    {{.limit = 9, .id = S("0000000")}, "", false},
	    {{.limit = 9, .session = S("b")}, "", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		find_events(s, cases[i].q);
		assert_string_equal(ids(), cases[i].ids);
		assert_int_equal(page.more, cases[i].more);
	}
	char last[27];
	struct err e;
	assert_int_equal(store_last_event_id(s, last, &e), 0);
	assert_string_equal(last, "00000011");
	store_free(s);
}

static void
the_last_event_is_the_greatest_not_the_last_written(void **state)
{
	static const char *const segments[] = {"00000001 00000009", "00000002"};
	char last[27];
	struct err e;

	(void)state;
	put_apart(path_in("last.db"), segments, ARRAY_LEN(segments));
	struct store *s = open_store(path_in("last.db"));
	assert_int_equal(store_last_event_id(s, last, &e), 0);
	assert_string_equal(last, "00000009");
	store_free(s);
}

/* Calls end in another order than they began, and each is in two segments. */
static void
of_a_call_the_last_that_was_put_counts(void **state)
{
	struct store *s = open_store(path_in("calls.db"));

	(void)state;
	put_call(s, "call_1", "a", "running");
	put_call(s, "call_2", "b", "running");
	put_call(s, "call_3", "c", "running");
	assert_int_equal(sync_now(s), 0);
	put_call(s, "call_3", "c", "failed");
	assert_int_equal(sync_now(s), 0);
	put_call(s, "call_1", "a", "completed");
	store_free(s);
	s = open_store(path_in("calls.db"));
	for (int newest = 0; newest < 2; newest++) {
		find_calls(s, (struct store_query){.limit = 9, .newest = newest});
		assert_string_equal(ids(), "call_1 call_2 call_3 ");
		assert_non_null(strstr(page.json[0], "\"state\":\"completed\""));
		assert_non_null(strstr(page.json[1], "\"state\":\"running\""));
		assert_non_null(strstr(page.json[2], "\"state\":\"failed\""));
	}
	find_calls(s, (struct store_query){.limit = 2, .session = S("sess_1")});
	assert_string_equal(ids(), "call_1 call_2 ");
	assert_true(page.more);
	put_call(s, "call_2", "b", "completed");
	find_calls(s, (struct store_query){.limit = 9, .turn = S("turn_1"), .since = S("call_1")});
	assert_string_equal(ids(), "call_2 call_3 ");
	assert_non_null(strstr(page.json[0], "\"state\":\"completed\""));
	store_free(s);
}

static void
a_call_is_found_by_what_the_agent_calls_it(void **state)
{
	struct store *s = open_store(NULL);
	char id[40], other[40];

	(void)state;
	snprintf(id, sizeof(id), "%s", id_new("call_").text);
	snprintf(other, sizeof(other), "%s", id_new("call_").text);
	put_call(s, id, other, "completed"); /* also when it looks like one of ours */
	put_call(s, "call_2", "tu \"\\\x01\xc3\xa4", "completed");
	find_calls(s, (struct store_query){.limit = 9, .id = str_of(other)});
	assert_int_equal(page.count, 1);
	assert_string_equal(page.ids[0], id);
	find_calls(s, (struct store_query){.limit = 9, .id = str_of(id)});
	assert_int_equal(page.count, 1);
	find_calls(s, (struct store_query){.limit = 9, .id = S("tu \"\\\x01\xc3\xa4")});
	assert_string_equal(ids(), "call_2 ");
	find_calls(s, (struct store_query){.limit = 9, .id = S("tu")});
	assert_int_equal(page.count, 0);
	/* Types are of events: calls have none, and are found. */
	find_calls(s, (struct store_query){.limit = 9, .types = S("tool.called")});
	assert_int_equal(page.count, 2);
	store_free(s);
}

/* A session's id says from when on to look; what is older than it is nobody's. */
static void
a_session_is_found_among_many(void **state)
{
	struct store *s = open_store(NULL);
	struct id sessions[20];
	char id[ULID_LEN + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sessions); i++)
		sessions[i] = id_new("sess_");
	for (size_t i = 0; i < 400; i++) {
		ulid_new(id);
		put_event(s, id, sessions[i % ARRAY_LEN(sessions)].text, "t");
		if (i % 50 == 0)
			assert_int_equal(sync_now(s), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(sessions); i++) {
		find_events(s,
			    (struct store_query){.limit = 1000, .session = id_str(&sessions[i])});
		assert_int_equal(page.count, 20);
		for (size_t j = 0; j < page.count; j++)
			assert_non_null(strstr(page.json[j], sessions[i].text));
	}
	struct id late = id_new("sess_");
	find_events(s, (struct store_query){.limit = 1000, .session = id_str(&late)});
	assert_int_equal(page.count, 0);
	store_free(s);
}

static int64_t
count(struct store *s, const char *sql)
{
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_prepare_v2(s->reader.db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int64_t n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static void
little_by_little_becomes_few_segments(void **state)
{
	struct store *s = open_store(NULL);
	char id[16];

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(id, sizeof(id), "0000000%03d", i);
		put_event(s, id, "a", "t");
		assert_int_equal(sync_now(s), 0);
	}
	assert_in_range(count(s, "SELECT count(*) FROM segments"), 1, 6);
	assert_int_equal(count(s, "SELECT count(*) FROM records"),
			 count(s, "SELECT count(*) FROM segments"));
	find_events(s, (struct store_query){.limit = 1000});
	assert_int_equal(page.count, 200);
	assert_string_equal(page.ids[199], "0000000199");
	store_free(s);
}

/* Another process may prune what this one would go on with. */
static void
a_segment_that_is_gone_is_begun_anew(void **state)
{
	struct store *a = open_store(path_in("gone.db")), *b = open_store(path_in("gone.db"));
	char old[ULID_LEN + 1], young[ULID_LEN + 1];

	(void)state;
	ulid_at(1000000, old);
	ulid_at(3000000, young); /* they begin alike */
	put_event(a, old, "s", "t");
	assert_int_equal(sync_now(a), 0);
	assert_int_equal(store_prune(b, 2000000), 0);
	assert_int_equal(sync_now(b), 0);
	put_event(a, young, "s", "t");
	find_events(a, (struct store_query){.limit = 9});
	assert_int_equal(page.count, 1);
	assert_string_equal(page.ids[0], young);
	store_free(a);
	store_free(b);
}

/* Old and young ones in one segment; the row that is written anew has all that finds them. */
static void
pruning_leaves_the_young_half_of_a_segment(void **state)
{
	struct store *s = open_store(path_in("half.db"));
	char id[40], ulid[ULID_LEN + 1];

	(void)state;
	for (int i = 0; i < 10; i++) {
		ulid_at(1000000 + i * 1000000, ulid);
		put_event(s, ulid, i % 2 ? "sess_odd" : "sess_even", "t");
		snprintf(id, sizeof(id), "call_%s", ulid);
		put_call(s, id, i % 2 ? "odd" : "even", "completed");
	}
	assert_int_equal(store_prune(s, 6000000), 0);
	find_events(s, (struct store_query){.limit = 99});
	assert_int_equal(page.count, 5);
	find_events(s, (struct store_query){.limit = 99, .session = S("sess_odd")});
	assert_int_equal(page.count, 3);
	find_events(s, (struct store_query){.limit = 99, .id = str_of(ulid)});
	assert_int_equal(page.count, 1);
	find_calls(s, (struct store_query){.limit = 99, .id = S("even")});
	assert_int_equal(page.count, 2);
	assert_int_equal(store_prune(s, 60000000), 0);
	find_calls(s, (struct store_query){.limit = 99});
	assert_int_equal(page.count, 0);
	assert_int_equal(count(s, "SELECT count(*) FROM records"), 0);
	assert_int_equal(count(s, "SELECT count(*) FROM segments"), 0);
	store_free(s);
}

#define RUSH 1000

static void
put_rush(struct store *s)
{
	char ulid[ULID_LEN + 1], id[40];

	for (int i = 0; i < RUSH; i++) {
		ulid_at(1000000 + i * 1000, ulid);
		assert_int_equal(put_event(s, ulid, i % 2 ? "sess_odd" : "sess_even", "t"), 0);
		snprintf(id, sizeof(id), "call_%s", ulid);
		put_call(s, id, i % 2 ? "odd" : "even", "completed");
	}
	assert_int_equal(sync_now(s), 0);
	assert_true(count(s, "SELECT count(*) FROM records WHERE typeof(lines) = 'blob'") > 1);
}

static void
what_comes_in_a_rush_is_packed_and_found(void **state)
{
	struct store *s = open_store(path_in("rush.db"));
	char ulid[ULID_LEN + 1];

	(void)state;
	put_rush(s);
	assert_true(count(s, "SELECT sum(length(lines)) FROM records") < RUSH * 2 * 100);
	find_events(s, (struct store_query){.limit = RUSH});
	assert_int_equal(page.count, RUSH);
	find_events(s, (struct store_query){.limit = RUSH, .session = S("sess_odd")});
	assert_int_equal(page.count, RUSH / 2);
	assert_non_null(strstr(page.json[0], "\"session_id\":\"sess_odd\""));
	ulid_at(1000000 + 700 * 1000, ulid);
	assert_int_equal(store_prune(s, 1000000 + 700 * 1000), 0);
	find_events(s, (struct store_query){.limit = RUSH});
	assert_in_range(page.count, RUSH - 701, RUSH - 700);
	find_calls(s, (struct store_query){.limit = RUSH, .id = S("even")});
	assert_in_range(page.count, 149, 150);
	store_free(s);
}

static void
what_is_damaged_does_not_hide_the_rest(void **state)
{
	struct store *s = open_store(path_in("torn.db"));
	sqlite3 *db;

	(void)state;
	put_rush(s);
	assert_int_equal(sqlite3_open(path_in("torn.db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE records SET lines = x'00010000ff00' WHERE seq ="
				      " (SELECT seq FROM segments JOIN records USING (seq) WHERE"
				      "  log = 'events' AND typeof(lines) = 'blob' LIMIT 1)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	find_events(s, (struct store_query){.limit = RUSH});
	assert_in_range(page.count, 1, RUSH - 1);
	find_calls(s, (struct store_query){.limit = RUSH});
	assert_int_equal(page.count, RUSH);
	/* Nor does it stand in the way of those that come, or of pruning. */
	assert_int_equal(store_prune(s, 1000000 + (RUSH - 1) * 1000), 0);
	put_event(s, "99999999", "s", "t");
	assert_int_equal(sync_now(s), 0);
	find_events(s, (struct store_query){.limit = 1, .newest = true});
	assert_string_equal(page.ids[0], "99999999");
	store_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(segments_that_overlap_come_out_in_one_order, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(the_last_event_is_the_greatest_not_the_last_written,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(of_a_call_the_last_that_was_put_counts, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_call_is_found_by_what_the_agent_calls_it, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_session_is_found_among_many, setup, teardown),
	    cmocka_unit_test_setup_teardown(little_by_little_becomes_few_segments, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_segment_that_is_gone_is_begun_anew, setup, teardown),
	    cmocka_unit_test_setup_teardown(pruning_leaves_the_young_half_of_a_segment, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_comes_in_a_rush_is_packed_and_found, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_is_damaged_does_not_hide_the_rest, setup,
					    teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
