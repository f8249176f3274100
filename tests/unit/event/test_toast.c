/* test_toast.c - notes: how many, how long, which events make one, and what settles it. */

#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "event/toast.h"

static struct loop *loop;
static struct bus *bus;
static struct toasts *all;
static struct bus_reader reader;
static uint64_t now;

static uint64_t
clock_here(void)
{
	return now;
}

static void
nothing(void *arg)
{
	(void)arg;
}

static int
setup(void **state)
{
	struct err e;

	(void)state;
	now = 1000;
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(bus_new(loop, NULL, &bus, &e), 0);
	all = toasts_new(&(struct toasts_spec){loop, bus, clock_here});
	assert_non_null(all);
	reader = (struct bus_reader){.news = nothing};
	bus_attach(bus, &reader);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	toasts_free(all);
	bus_detach(bus, &reader);
	bus_free(bus);
	loop_free(loop);
	return 0;
}

/* Until the manager has heard of all events. */
static void
settle_down(void)
{
	struct timer t = {0};

	timer_start(loop, &t, 1, nothing, NULL);
	while (timer_running(&t))
		uv_run(loop_uv(loop), UV_RUN_ONCE);
}

static void
show(const char *title, uint64_t duration_ms)
{
	toast_show(all, &(struct toast_spec){.level = TOAST_INFO,
					     .duration_ms = duration_ms,
					     .title = str_of(title),
					     .message = S("message")});
}

static void
happen(enum event_type type, const char *const members[][2])
{
	struct jw *w = bus_begin(bus, &(struct event_draft){.type = type});

	for (size_t i = 0; members[i][0]; i++)
		jw_member_z(w, members[i][0], members[i][1]);
	bus_end(bus, NULL);
	settle_down();
}
#define HAPPEN(type, ...) happen(type, (const char *const[][2]){__VA_ARGS__, {NULL, NULL}})

/* "title title title" of those shown, oldest first. */
static const char *
titles(void)
{
	static char text[1024];
	struct buf b = BUF_INIT(64 * KIB);
	struct json_doc *doc;
	struct jw w = jw(&b);
	size_t len = 0;

	toasts_write(&w, all);
	assert_int_equal(json_parse(buf_str(&b), &json_door, &doc, NULL), 0);
	text[0] = '\0';
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s", len ? "|" : "",
					STR_ARG(json_str(json_get(it.value, S("title")))));
	json_doc_unref(doc);
	buf_done(&b);
	return text;
}

/* A member of the first one, written as JSON. */
static const char *
first(const char *pointer)
{
	static char text[1024];
	struct buf b = BUF_INIT(64 * KIB), out = BUF_INIT(1000);
	struct json_doc *doc;
	struct jw w = jw(&b), v = jw(&out);

	toasts_write(&w, all);
	assert_int_equal(json_parse(buf_str(&b), &json_door, &doc, NULL), 0);
	jw_value(&v, json_pointer(json_root(doc), str_of(pointer)));
	snprintf(text, sizeof(text), "%.*s", STR_ARG(buf_str(&out)));
	json_doc_unref(doc);
	buf_done(&b);
	buf_done(&out);
	return text;
}

/* How many toast events of the type came since the last time, and the last one's reason. */
static int
heard(enum event_type type, char reason[64])
{
	const struct event *ev;
	uint64_t missed;
	int n = 0;

	while ((ev = bus_next(bus, &reader, &missed))) {
		struct json_doc *doc;
		if (ev->type != type)
			continue;
		n++;
		assert_int_equal(json_parse(ev->json, &json_door, &doc, NULL), 0);
		struct str s = json_str(json_pointer(json_root(doc), S("/payload/reason")));
		if (reason)
			snprintf(reason, 64, "%.*s", STR_ARG(s));
		json_doc_unref(doc);
	}
	return n;
}

static void
five_are_shown_and_the_oldest_goes(void **state)
{
	char reason[64], title[2] = "a";

	(void)state;
	for (; title[0] <= 'g'; title[0]++)
		show(title, 4000);
	assert_string_equal(titles(), "c|d|e|f|g");
	assert_int_equal(heard(EVENT_TOAST_DISMISSED, reason), 2);
	assert_string_equal(reason, "dropped");
}

static void
each_ends_at_its_time_and_some_have_none(void **state)
{
	char reason[64];

	(void)state;
	show("short", 4000);
	show("long", 9000);
	show("open", 0);
	now += 3999;
	toasts_tick(all);
	assert_string_equal(titles(), "short|long|open");
	now += 1;
	toasts_tick(all);
	assert_string_equal(titles(), "long|open");
	assert_int_equal(heard(EVENT_TOAST_DISMISSED, reason), 1);
	assert_string_equal(reason, "expired");
	now += 1000000;
	toasts_tick(all);
	assert_string_equal(titles(), "open");
}

static void
the_timer_ends_them(void **state)
{
	(void)state;
	show("brief", 20);
	now += 20;
	for (int i = 0; i < 1000 && titles()[0]; i++)
		uv_run(loop_uv(loop), UV_RUN_ONCE);
	assert_string_equal(titles(), "");
}

static void
the_same_again_only_counts(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		show("same", 4000);
	assert_string_equal(titles(), "same");
	assert_string_equal(first("/0/count"), "100");
	assert_int_equal(heard(EVENT_TOAST_SHOWN, NULL), 1);
	now += 4000;
	toasts_tick(all);
	show("same", 4000); /* after its life it is news again */
	assert_string_equal(first("/0/count"), "1");
	assert_int_equal(heard(EVENT_TOAST_SHOWN, NULL), 1);
}

static void
one_is_put_away_by_its_id(void **state)
{
	char id[64];

	(void)state;
	show("a", 4000);
	show("b", 4000);
	snprintf(id, sizeof(id), "%s", first("/0/id"));
	assert_int_equal(toast_dismiss(all, str_upto(str_from(str_of(id), 1), ULID_LEN)), 0);
	assert_string_equal(titles(), "b");
	assert_int_equal(toast_dismiss(all, str_upto(str_from(str_of(id), 1), ULID_LEN)),
			 E_NO_TOAST);
	assert_int_equal(toast_dismiss(all, S("")), E_NO_TOAST);
}

static void
a_question_is_told_until_it_is_settled(void **state)
{
	char reason[64];

	(void)state;
	HAPPEN(EVENT_TOOL_CONFIRMATION_REQUESTED, {"tool_name", "shell"}, {"call_id", "call_1"},
	       {"input_summary", "rm it"});
	assert_string_equal(titles(), "shell needs an answer");
	assert_string_equal(first("/0/message"), "\"rm it\"");
	assert_string_equal(first("/0/duration_ms"), "null");
	assert_string_equal(first("/0/action/command"), "\"holdfast watch\"");
	HAPPEN(EVENT_TOOL_CONFIRMATION_RESOLVED, {"call_id", "call_2"});
	assert_string_equal(titles(), "shell needs an answer");
	HAPPEN(EVENT_TOOL_CONFIRMATION_RESOLVED, {"call_id", "call_1"});
	assert_string_equal(titles(), "");
	assert_int_equal(heard(EVENT_TOAST_DISMISSED, reason), 1);
	assert_string_equal(reason, "settled");
	/* Cancelled: nobody answers it. */
	HAPPEN(EVENT_TOOL_CONFIRMATION_REQUESTED, {"tool_name", "shell"}, {"call_id", "call_3"});
	HAPPEN(EVENT_TOOL_FAILED, {"tool_name", "shell"}, {"call_id", "call_3"},
	       {"error_class", "cancelled"});
	assert_string_equal(titles(), "");
}

/* Issue 6: one answer took away the note of the other question. */
static void
questions_that_look_alike_are_two(void **state)
{
	static const char *const calls[] = {"call_1", "call_2"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		HAPPEN(EVENT_TOOL_CONFIRMATION_REQUESTED, {"tool_name", "shell"},
		       {"call_id", calls[i]}, {"input_summary", "make"});
	assert_string_equal(titles(), "shell needs an answer|shell needs an answer");
	HAPPEN(EVENT_TOOL_CONFIRMATION_RESOLVED, {"call_id", "call_1"});
	assert_string_equal(titles(), "shell needs an answer");
}

/* Issue 6: what is told right behind a gap is no older than the gap. */
static void
a_gap_settles_only_what_was_before_it(void **state)
{
	(void)state;
	HAPPEN(EVENT_TOOL_CONFIRMATION_REQUESTED, {"tool_name", "old"}, {"call_id", "call_1"});
	for (size_t i = 0; i < LIMIT_EVENT_RING + 8; i++) {
		struct jw *w =
		    bus_begin(bus,
			      &(struct event_draft){.type = EVENT_TOOL_CONFIRMATION_REQUESTED});
		jw_member_z(w, "tool_name", "new");
		jw_member_z(w, "call_id", "call_2");
		bus_end(bus, NULL);
	}
	settle_down();
	assert_string_equal(titles(), "new needs an answer");
	HAPPEN(EVENT_TOOL_CONFIRMATION_RESOLVED, {"call_id", "call_2"});
	assert_string_equal(titles(), "");
}

static void
failures_are_told_but_not_an_agents_own(void **state)
{
	static const char *const quiet[] = {"validation_error",  "tool_not_found", "not_found",
					    "permission_denied", "user_denied",    "cancelled"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(quiet); i++)
		HAPPEN(EVENT_TOOL_FAILED, {"tool_name", "t"}, {"error_class", quiet[i]});
	HAPPEN(EVENT_TOOL_COMPLETED, {"tool_name", "t"});
	assert_string_equal(titles(), "");
	HAPPEN(EVENT_TOOL_FAILED, {"tool_name", "t"}, {"error_class", "execution_error"},
	       {"error_message", "why"}, {"call_id", "call_1"});
	HAPPEN(EVENT_TOOL_FAILED, {"tool_name", "t"}, {"error_class", "timeout"});
	assert_string_equal(titles(), "t failed|t took too long");
	assert_string_equal(first("/0/action/command"), "\"holdfast log call_1\"");
}

static void
servers_and_definitions_are_told_and_settled(void **state)
{
	(void)state;
	HAPPEN(EVENT_SERVER_STATE_CHANGED, {"server", "git"}, {"state", "failed"},
	       {"reason", "it exited"});
	HAPPEN(EVENT_TOOL_DEFINITION_CHANGED, {"server", "git"}, {"tool", "push"});
	HAPPEN(EVENT_CONFIG_REJECTED, {"error", "line 3"});
	assert_string_equal(
	    titles(),
	    "the server git has failed|push of git has changed|the configuration is wrong");
	HAPPEN(EVENT_SERVER_STATE_CHANGED, {"server", "other"}, {"state", "started"});
	HAPPEN(EVENT_SERVER_STATE_CHANGED, {"server", "git"}, {"state", "started"});
	HAPPEN(EVENT_TOOL_DEFINITION_ACCEPTED, {"server", "git"}, {"tool", "pull"});
	HAPPEN(EVENT_TOOL_DEFINITION_ACCEPTED, {"server", "git"}, {"tool", "push"});
	HAPPEN(EVENT_CONFIG_RELOADED, {"file", "x"});
	assert_string_equal(titles(), "");
	HAPPEN(EVENT_BREAKER_OPENED, {"server", "git"});
	HAPPEN(EVENT_BREAKER_OPENED, {"tool", "push"});
	assert_string_equal(titles(), "git gets no calls for now|push gets no calls for now");
	HAPPEN(EVENT_BREAKER_CLOSED, {"tool", "git"});
	HAPPEN(EVENT_BREAKER_CLOSED, {"server", "git"});
	assert_string_equal(titles(), "push gets no calls for now");
}

static void
long_texts_are_cut_between_characters(void **state)
{
	static char text[100000];

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 2; i++)
		text[i] = "ä"[i % 2];
	HAPPEN(EVENT_TOOL_FAILED, {"tool_name", text}, {"error_class", "timeout"},
	       {"error_message", text}, {"call_id", text});
	assert_true(strlen(titles()) <= LIMIT_TOAST_TITLE);
	assert_true(str_is_utf8(str_of(titles())));
	assert_true(strlen(first("/0/message")) <= LIMIT_TOAST_TEXT + 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(five_are_shown_and_the_oldest_goes, setup, teardown),
	    cmocka_unit_test_setup_teardown(each_ends_at_its_time_and_some_have_none, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(the_timer_ends_them, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_same_again_only_counts, setup, teardown),
	    cmocka_unit_test_setup_teardown(one_is_put_away_by_its_id, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_question_is_told_until_it_is_settled, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(questions_that_look_alike_are_two, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_gap_settles_only_what_was_before_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(failures_are_told_but_not_an_agents_own, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(servers_and_definitions_are_told_and_settled, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(long_texts_are_cut_between_characters, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
