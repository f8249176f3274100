/* test_bus.c - events come in one order, whole, to readers of any speed. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "event/bus.h"

static struct loop *loop;
static struct store *store;
static struct bus *bus;
static char logged[512];

static void
log_keep(const char *line, size_t len, void *arg)
{
	(void)arg;
	snprintf(logged, sizeof(logged), "%.*s", (int)len, line);
}

static int
setup(void **state)
{
	struct err e;

	(void)state;
	logged[0] = '\0';
	log_set_sink(log_keep, NULL);
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(store_open(loop, NULL, &store, &e), 0);
	assert_int_equal(bus_new(loop, store, &bus, &e), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	bus_free(bus);
	store_free(store);
	loop_free(loop);
	log_set_sink(NULL, NULL);
	return 0;
}

static void
emit(enum event_type type, const char *session, const char *text, char ret_id[ULID_LEN + 1])
{
	struct jw *w =
	    bus_begin(bus, &(struct event_draft){.type = type, .session = str_of(session)});

	jw_member_z(w, "text", text);
	bus_end(bus, ret_id);
}

/* The text of the event's payload. */
static char *
text_of(const struct event *ev)
{
	static char text[64];
	struct json_doc *doc = NULL;

	assert_non_null(ev);
	assert_int_equal(json_parse(ev->json, &json_door, &doc, NULL), 0);
	struct str s = json_str(json_get(json_get(json_root(doc), S("payload")), S("text")));
	snprintf(text, sizeof(text), "%.*s", STR_ARG(s));
	json_doc_unref(doc);
	return text;
}

static struct {
	size_t count;
	char json[4][1024];
} stored;

static void
stored_keep(const struct store_page *p, void *arg)
{
	(void)arg;
	assert_int_equal(p->code, 0);
	stored.count = p->count;
	for (size_t i = 0; i < p->count && i < ARRAY_LEN(stored.json); i++)
		snprintf(stored.json[i], sizeof(stored.json[i]), "%.*s", STR_ARG(p->rows[i].json));
	loop_stop(loop);
}

static void
stored_read(void)
{
	store_find_events(store, &(struct store_query){.limit = 1000}, stored_keep, NULL);
	loop_run(loop);
}

static void
an_event_is_the_exact_envelope_and_the_store_has_the_same_bytes(void **state)
{
	struct bus_reader r = {.next = 1};
	char first[ULID_LEN + 1], second[ULID_LEN + 1], want[512];
	uint64_t missed;

	(void)state;
	emit(EVENT_TOOL_CALLED, "sess_1", "x\"\n", first);
	struct jw *w = bus_begin(bus, &(struct event_draft){
					  .type = EVENT_TOOL_CONFIRMATION_RESOLVED,
					  .session = S("sess_1"),
					  .turn = S("turn_1"),
					  .parent = str_of(first),
					  .actor = "system",
				      });
	jw_member_int(w, "n", 7);
	bus_end(bus, second);

	const struct event *ev = bus_next(bus, &r, &missed);
	assert_int_equal(ev->seq, 1);
	assert_int_equal(ev->type, EVENT_TOOL_CALLED);
	assert_string_equal(ev->id, first);
	assert_true(str_is(ev->session, "sess_1"));
	/* The time is the one thing that cannot be known: it is looked at in its place. */
	snprintf(want, sizeof(want),
		 "{\"id\":\"%s\",\"timestamp\":\"%.27s\",\"session_id\":\"sess_1\","
		 "\"turn_id\":null,\"parent_event_id\":null,\"type\":\"tool.called\","
		 "\"actor\":\"agent\",\"payload\":{\"text\":\"x\\\"\\n\"},"
		 "\"sensitivity\":\"private\"}",
		 first,
		 ev->json.ptr + strlen("{\"id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"timestamp\":\""));
	assert_true(str_is(ev->json, want));
	assert_int_equal(
	    want[strlen("{\"id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"timestamp\":\"") + 26], 'Z');

	ev = bus_next(bus, &r, &missed);
	stored_read();
	assert_int_equal(stored.count, 2);
	assert_string_equal(stored.json[0], want);
	assert_true(str_is(ev->json, stored.json[1]));
	snprintf(want, sizeof(want),
		 "\"turn_id\":\"turn_1\",\"parent_event_id\":\"%s\","
		 "\"type\":\"tool.confirmation_resolved\",\"actor\":\"system\","
		 "\"payload\":{\"n\":7}",
		 first);
	assert_non_null(strstr(stored.json[1], want));
	assert_null(bus_next(bus, &r, &missed));
	assert_true(strcmp(first, second) < 0);
}

static void
passing_events_are_shown_but_not_stored(void **state)
{
	struct bus_reader r = {.next = 1};
	uint64_t missed;

	(void)state;
	emit(EVENT_TOOL_OUTPUT_DELTA, "s", "now", NULL);
	emit(EVENT_TOOL_COMPLETED, "s", "kept", NULL);
	assert_string_equal(text_of(bus_next(bus, &r, &missed)), "now");
	stored_read();
	assert_int_equal(stored.count, 1);
	assert_non_null(strstr(stored.json[0], "kept"));
}

static void
ids_go_on_above_the_last_stored_one(void **state)
{
	struct err e;
	char id[ULID_LEN + 1];

	(void)state;
	store_put_event(store, &(struct store_event){.id = S("7ZZZZZZZZZ0000000000000000"),
						     .type = "t",
						     .payload = S("{}")});
	bus_free(bus);
	assert_int_equal(bus_new(loop, store, &bus, &e), 0);
	emit(EVENT_TOOL_CALLED, "s", "x", id);
	assert_true(strcmp(id, "7ZZZZZZZZZ0000000000000000") > 0);
}

static void
an_event_over_its_limit_becomes_a_mark_and_a_line_in_the_log(void **state)
{
	struct bus_reader r = {.next = 1};
	char *large = malloc(LIMIT_EVENT_BYTES + 1);
	uint64_t missed;

	(void)state;
	memset(large, 'x', LIMIT_EVENT_BYTES);
	large[LIMIT_EVENT_BYTES] = '\0';
	emit(EVENT_TOOL_CALLED, "s", large, NULL);
	const struct event *ev = bus_next(bus, &r, &missed);
	assert_non_null(memmem(ev->json.ptr, ev->json.len, "\"payload\":{\"truncated\":true}", 28));
	assert_non_null(strstr(logged, "too large"));
	assert_non_null(strstr(logged, "tool.called"));
	stored_read();
	assert_true(str_is(ev->json, stored.json[0]));
	emit(EVENT_TOOL_CALLED, "s", "small", NULL);
	assert_string_equal(text_of(bus_next(bus, &r, &missed)), "small");
	free(large);
}

static void
the_ring_is_bounded_by_count_and_tells_how_much_was_missed(void **state)
{
	struct bus_reader slow = {.next = 0}, late = {.next = 3};
	uint64_t missed;
	char text[16];

	(void)state;
	bus_attach(bus, &slow);
	for (int i = 1; i <= LIMIT_EVENT_RING + 5; i++) {
		snprintf(text, sizeof(text), "%d", i);
		emit(EVENT_TOOL_OUTPUT_DELTA, "s", text, NULL);
	}
	assert_string_equal(text_of(bus_next(bus, &slow, &missed)), "6");
	assert_int_equal(missed, 5);
	assert_string_equal(text_of(bus_next(bus, &slow, &missed)), "7");
	assert_int_equal(missed, 0);
	assert_string_equal(text_of(bus_next(bus, &late, &missed)), "6");
	assert_int_equal(missed, 3);
	for (int i = 8; i <= LIMIT_EVENT_RING + 5; i++)
		assert_int_equal(bus_next(bus, &slow, &missed)->seq, i);
	assert_null(bus_next(bus, &slow, &missed));
	assert_int_equal(missed, 0);
	bus_detach(bus, &slow);
}

static void
the_ring_is_bounded_by_bytes(void **state)
{
	enum { BYTES = 400 * 1024 };
	struct bus_reader r = {.next = 1};
	char *large = malloc(BYTES + 1);
	uint64_t missed;
	size_t kept = 0, bytes = 0;

	(void)state;
	memset(large, 'x', BYTES);
	large[BYTES] = '\0';
	for (int i = 0; i < 100; i++)
		emit(EVENT_TOOL_OUTPUT_DELTA, "s", large, NULL);
	for (const struct event *ev; (ev = bus_next(bus, &r, &missed)); kept++)
		bytes += ev->json.len;
	assert_true(bytes <= LIMIT_EVENT_RING_BYTES);
	assert_int_equal(kept, LIMIT_EVENT_RING_BYTES / (BYTES + 400));
	free(large);
}

/* Small and large ones side by side, while the ring turns round and a reader lags behind. */
static void
what_the_ring_keeps_stays_whole(void **state)
{
	enum { EVENTS = 2 * LIMIT_EVENT_RING + 500, LAG = 4000, LARGE = 100 * 1000 };
	struct bus_reader r = {.next = 1};
	char *large = malloc(LARGE + 1);
	uint64_t missed;
	char text[32];

	(void)state;
	memset(large, 'x', LARGE);
	large[LARGE] = '\0';
	bus_expect(bus, true);
	for (int i = 1; i <= EVENTS; i++) {
		struct jw *w =
		    bus_begin(bus,
			      &(struct event_draft){.type = EVENT_TOOL_OUTPUT_DELTA,
						    .session = str_of(i % 2 ? "odd" : "even")});
		jw_member_int(w, "n", i);
		jw_member(w, "filler", (struct str){large, (size_t)(i % 997 ? i % 50 : LARGE)});
		bus_end(bus, NULL);
		if (i <= LAG)
			continue;
		const struct event *ev = bus_next(bus, &r, &missed);
		assert_int_equal(missed, 0);
		assert_int_equal(ev->seq, i - LAG);
		assert_true(str_is(ev->session, (i - LAG) % 2 ? "odd" : "even"));
		snprintf(text, sizeof(text), "\"payload\":{\"n\":%d,", i - LAG);
		assert_non_null(memmem(ev->json.ptr, ev->json.len, text, strlen(text)));
		assert_true(str_ends(ev->json, S("\"sensitivity\":\"private\"}")));
	}
	bus_expect(bus, false);
	free(large);
}

struct watcher {
	struct bus_reader reader;
	unsigned calls;
	unsigned events;
};

static void
watcher_news(void *arg)
{
	struct watcher *w = arg;
	uint64_t missed;

	w->calls++;
	while (bus_next(bus, &w->reader, &missed))
		w->events++;
	loop_stop(loop);
}

static void
news_come_later_and_once_for_many(void **state)
{
	struct watcher w = {.reader = {.news = watcher_news, .arg = &w}};
	struct watcher gone = {.reader = {.news = watcher_news, .arg = &gone}};

	(void)state;
	bus_attach(bus, &w.reader);
	bus_attach(bus, &gone.reader);
	for (int i = 0; i < 100; i++)
		emit(EVENT_TOOL_OUTPUT_DELTA, "s", "x", NULL);
	assert_int_equal(w.calls, 0);
	bus_detach(bus, &gone.reader);
	loop_run(loop);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.events, 100);
	assert_int_equal(gone.calls, 0);
	bus_detach(bus, &w.reader);
	bus_detach(bus, &w.reader);
}

static void
one_who_wants_some_types_is_woken_for_them_alone(void **state)
{
	struct watcher w = {
	    .reader = {.news = watcher_news, .arg = &w, .types = UINT64_C(1) << EVENT_TOOL_FAILED}};

	(void)state;
	bus_attach(bus, &w.reader);
	for (int i = 0; i < 1000; i++) /* more than a short ring holds */
		emit(EVENT_TOOL_OUTPUT_DELTA, "s", "not wanted", NULL);
	assert_null(w.reader.wake.node.list);
	emit(EVENT_TOOL_FAILED, "s", "wanted", NULL);
	loop_run(loop);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.events, 1);
	bus_detach(bus, &w.reader);
	bus_detach(bus, &w.reader);
}

static void
one_who_attaches_for_older_events_is_told_at_once(void **state)
{
	struct watcher w = {.reader = {.next = 1, .news = watcher_news, .arg = &w}};

	(void)state;
	emit(EVENT_TOOL_OUTPUT_DELTA, "s", "x", NULL);
	bus_attach(bus, &w.reader);
	loop_run(loop);
	assert_int_equal(w.events, 1);
	bus_detach(bus, &w.reader);
}

static void
nothing(void *arg)
{
	(void)arg;
}

/* The seam between store and ring: no event twice, none lost. */
static void
replay_knows_where_the_ring_takes_over(void **state)
{
	char before[ULID_LEN + 1], first[ULID_LEN + 1], second[ULID_LEN + 1];
	struct err e;

	(void)state;
	assert_int_equal(bus_seq_after(bus, S("")), 1);
	emit(EVENT_TOOL_CALLED, "s", "of an earlier run", before);
	bus_free(bus);
	assert_int_equal(bus_new(loop, store, &bus, &e), 0);

	assert_int_equal(bus_seq_after(bus, S("")), 0);
	assert_int_equal(bus_seq_after(bus, str_of(before)), 1);
	emit(EVENT_TOOL_CALLED, "s", "1", first);
	emit(EVENT_TOOL_CALLED, "s", "2", second);
	assert_int_equal(bus_seq_after(bus, str_of(before)), 1);
	assert_int_equal(bus_seq_after(bus, str_of(first)), 2);
	assert_int_equal(bus_seq_after(bus, str_of(second)), 3);
	assert_int_equal(bus_seq_after(bus, S("zzz")), 3);
	bus_expect(bus, true);
	for (int i = 0; i < LIMIT_EVENT_RING; i++)
		emit(EVENT_TOOL_OUTPUT_DELTA, "s", "x", NULL);
	assert_int_equal(bus_seq_after(bus, str_of(first)), 0);
	assert_int_equal(bus_seq_after(bus, str_of(second)), 3);
	bus_expect(bus, false);
}

/* While nobody reads the ring is short; what it has is all of what it says it has. */
static void
the_ring_is_as_long_as_it_is_wanted(void **state)
{
	char ids[3 * LIMIT_EVENT_RING_QUIET][ULID_LEN + 1];
	struct bus_reader r = {.next = 0, .news = nothing};
	uint64_t missed;
	const struct event *ev;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		emit(EVENT_TOOL_CALLED, "s", "quiet", ids[i]);
	size_t oldest = ARRAY_LEN(ids) - LIMIT_EVENT_RING_QUIET;
	assert_int_equal(bus_seq_after(bus, str_of(ids[oldest - 2])), 0);
	assert_int_equal(bus_seq_after(bus, str_of(ids[oldest - 1])), oldest + 1);

	r.next = oldest + 1;
	bus_attach(bus, &r); /* and from here on it grows */
	for (int i = 0; i < LIMIT_EVENT_RING_QUIET; i++)
		emit(EVENT_TOOL_CALLED, "s", "read", NULL);
	for (size_t i = oldest; i < ARRAY_LEN(ids); i++) {
		ev = bus_next(bus, &r, &missed);
		assert_int_equal(missed, 0);
		assert_string_equal(ev->id, ids[i]);
	}
	for (int i = 0; i < LIMIT_EVENT_RING_QUIET; i++)
		assert_non_null(bus_next(bus, &r, &missed));
	assert_null(bus_next(bus, &r, &missed));
	bus_detach(bus, &r);
	emit(EVENT_TOOL_CALLED, "s", "quiet again", ids[0]);
	assert_int_equal(bus_seq_after(bus, str_of(ids[1])), 0);
	assert_int_not_equal(bus_seq_after(bus, str_of(ids[0])), 0);
}

static void
the_table_speaks_the_catalogue_s_words(void **state)
{
	(void)state;
	const struct event_row *r = event_row(EVENT_TOOL_CONFIRMATION_RESOLVED);
	assert_string_equal(r->type, "tool.confirmation_resolved");
	assert_string_equal(r->actor, "user");
	assert_string_equal(r->sensitivity, "private");
	assert_string_equal(r->keep, "audit");
	assert_string_equal(event_row(EVENT_TOOL_INPUT_INVALID)->sensitivity, "pseudonymous");
	for (int i = 0; i < EVENT__COUNT; i++)
		assert_true(strlen(event_row((enum event_type)i)->sentence) > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		an_event_is_the_exact_envelope_and_the_store_has_the_same_bytes, setup, teardown),
	    cmocka_unit_test_setup_teardown(passing_events_are_shown_but_not_stored, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(
		an_event_over_its_limit_becomes_a_mark_and_a_line_in_the_log, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		the_ring_is_bounded_by_count_and_tells_how_much_was_missed, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_ring_is_bounded_by_bytes, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_the_ring_keeps_stays_whole, setup, teardown),
	    cmocka_unit_test_setup_teardown(news_come_later_and_once_for_many, setup, teardown),
	    cmocka_unit_test_setup_teardown(one_who_wants_some_types_is_woken_for_them_alone, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(one_who_attaches_for_older_events_is_told_at_once,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(the_ring_is_as_long_as_it_is_wanted, setup, teardown),
	    cmocka_unit_test_setup_teardown(replay_knows_where_the_ring_takes_over, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(the_table_speaks_the_catalogue_s_words, setup,
					    teardown),
	    /* Last: it moves the clock of ids of this whole program. */
	    cmocka_unit_test_setup_teardown(ids_go_on_above_the_last_stored_one, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
