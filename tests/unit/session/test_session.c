/* test_session.c - sessions, their slots, and the turns they remember. */

#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "session/turn.h"

struct fixture {
	struct loop *loop;
	struct bus *bus;
	struct sessions *sessions;
	struct session *session;
	char dir[32];
};

static struct session *
open_session(struct fixture *f)
{
	struct session_spec spec = {.client = S("test")};
	struct session *s;
	struct err e;

	assert_int_equal(workspace_open(f->dir, NULL, &spec.workspace, &e), 0);
	assert_int_equal(session_open(f->sessions, &spec, &s, &e), 0);
	workspace_unref(spec.workspace);
	return s;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err e;

	strcpy(f->dir, "/tmp/holdfast-unit-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(loop_new(&f->loop, &e), 0);
	assert_int_equal(bus_new(f->loop, NULL, &f->bus, &e), 0);
	f->sessions = sessions_new(f->bus, NULL);
	f->session = open_session(f);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	sessions_free(f->sessions);
	bus_free(f->bus);
	loop_free(f->loop);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void
count_grant(void *arg)
{
	++*(int *)arg;
}

static void
slots_go_to_who_came_first(void **state)
{
	struct fixture *f = *state;
	struct slot slots[6] = {0};
	int granted[6] = {0};

	for (size_t i = 0; i < ARRAY_LEN(slots); i++) {
		slots[i] =
		    (struct slot){.tool = S("t"), .granted = count_grant, .arg = &granted[i]};
		assert_int_equal(slot_take(f->session, &slots[i]), i < LIMIT_SESSION_SLOTS);
	}
	slot_give(f->session, &slots[2]);
	assert_int_equal(granted[4], 1);
	assert_int_equal(granted[5], 0);
	slot_give(f->session, &slots[5]); /* gives up waiting */
	slot_give(f->session, &slots[0]);
	assert_int_equal(granted[5], 0);
	for (size_t i = 0; i < ARRAY_LEN(slots); i++)
		slot_give(f->session, &slots[i]);
	assert_int_equal(f->session->running.len, 0);
}

static void
a_tool_at_its_own_cap_does_not_hold_up_others(void **state)
{
	struct fixture *f = *state;
	int granted = 0;
	struct slot one = {.tool = S("shell"), .max_running = 1};
	struct slot two = {.tool = S("shell"),
			   .max_running = 1,
			   .granted = count_grant,
			   .arg = &granted};
	struct slot other = {.tool = S("read"), .max_running = 0};

	assert_true(slot_take(f->session, &one));
	assert_false(slot_take(f->session, &two));
	assert_true(slot_take(f->session, &other));
	slot_give(f->session, &other);
	assert_int_equal(granted, 0);
	slot_give(f->session, &one);
	assert_int_equal(granted, 1);
	slot_give(f->session, &two);
}

static void
note_end(struct turn *t, void *arg)
{
	(void)t;
	++*(int *)arg;
}

static struct turn *
begin_turn_as(struct session *s, size_t count, bool lone, int *ended)
{
	struct turn *t;
	struct err e;

	assert_int_equal(turn_open(s, count, SHAPE_ANTHROPIC, true, &t, &e), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(turn_expect(t, i, id_new("call_"), S("tu"), S("tool")), 0);
	t->done = note_end;
	t->arg = ended;
	t->lone = lone;
	turn_begin(t);
	return t;
}

static struct turn *
begin_turn_in(struct session *s, size_t count, int *ended)
{
	return begin_turn_as(s, count, false, ended);
}

static struct turn *
begin_turn(struct fixture *f, size_t count, int *ended)
{
	return begin_turn_in(f->session, count, ended);
}

static void
settle(struct turn *t, size_t i, const char *text)
{
	struct turn_result came = {.content = BUF_INIT(100), .latency_ms = 1};

	buf_addf(&came.content, "{\"type\":\"text\",\"text\":\"%s\"}", text);
	turn_settle(t, i, &came);
}

static void
results_stand_in_the_order_asked(void **state)
{
	struct fixture *f = *state;
	int ended = 0;
	struct turn *t = begin_turn(f, 2, &ended);
	struct buf out = BUF_INIT(4096);
	struct jw w = jw(&out);

	settle(t, 1, "second");
	assert_int_equal(ended, 0);
	settle(t, 0, "first");
	assert_int_equal(ended, 1);
	turn_write(&w, t);
	const char *text = buf_z(&out);
	assert_true(strstr(text, "\"state\":\"completed\"") != NULL);
	assert_true(strstr(text, "first") < strstr(text, "second"));
	buf_done(&out);
}

static void
only_the_last_ended_turns_are_kept(void **state)
{
	struct fixture *f = *state;
	int ended = 0;
	struct turn *slow = begin_turn(f, 1, &ended);
	struct id slow_id = slow->id, first_id = {0};

	for (int i = 0; i < LIMIT_TURNS_KEPT + 3; i++) {
		struct turn *t = begin_turn(f, 1, &ended);
		if (i == 0)
			first_id = t->id;
		settle(t, 0, "x");
	}
	assert_null(turn_find(f->session, id_str(&first_id)));
	assert_int_equal(f->session->turns.len, LIMIT_TURNS_KEPT + 1);
	/* One that took long is not forgotten the moment it is over. */
	settle(slow, 0, "x");
	assert_non_null(turn_find(f->session, id_str(&slow_id)));
}

static void
settle_large(struct turn *t, size_t i, size_t bytes)
{
	struct turn_result came = {.content = BUF_INIT(2 * LIMIT_RESULT_BYTES), .latency_ms = 1};

	memset(buf_room(&came.content, bytes), ' ', bytes);
	came.content.len = bytes;
	turn_settle(t, i, &came);
}

static void
test_5_lone_turns_push_out_no_messages(void **state)
{
	struct fixture *f = *state;
	int ended = 0;
	struct id first = {0}, last = {0}, message = {0};

	for (int i = 0; i < 20; i++) {
		struct turn *t = begin_turn(f, 1, &ended);
		message = i == 0 ? t->id : message;
		settle(t, 0, "x");
	}
	for (int i = 0; i < LIMIT_TURNS_KEPT_LONE + 1; i++) {
		struct turn *t = begin_turn_as(f->session, 1, true, &ended);
		first = i == 0 ? t->id : first;
		last = t->id;
		settle(t, 0, "x");
	}
	assert_int_equal(ended, 20 + LIMIT_TURNS_KEPT_LONE + 1);
	assert_non_null(turn_find(f->session, id_str(&message)));
	assert_null(turn_find(f->session, id_str(&first)));
	assert_non_null(turn_find(f->session, id_str(&last)));
	assert_int_equal(f->session->turns.len, 20 + LIMIT_TURNS_KEPT_LONE);
}

/* A turn that is over and holds `bytes`; its id. */
static struct id
large_turn(struct session *s, size_t bytes)
{
	int ended = 0;
	struct turn *t = begin_turn_in(s, bytes / LIMIT_RESULT_BYTES, &ended);
	struct id id = t->id;

	for (size_t i = 0; i < bytes / LIMIT_RESULT_BYTES; i++)
		settle_large(t, i, LIMIT_RESULT_BYTES - 1 * KIB);
	assert_int_equal(ended, 1);
	return id;
}

static void
test_2_ended_turns_of_a_session_are_kept_as_far_as_they_fit(void **state)
{
	struct fixture *f = *state;
	int ended = 0;
	struct turn *open = begin_turn(f, 2, &ended);
	struct id first = large_turn(f->session, 16 * MIB);
	struct id second = large_turn(f->session, 12 * MIB);

	settle_large(open, 0, LIMIT_RESULT_BYTES);
	assert_non_null(turn_find(f->session, id_str(&first)));
	struct id third = large_turn(f->session, 20 * MIB);
	assert_null(turn_find(f->session, id_str(&first)));
	assert_non_null(turn_find(f->session, id_str(&second)));
	assert_non_null(turn_find(f->session, id_str(&third)));
	settle_large(open, 1, LIMIT_RESULT_BYTES);
	assert_int_equal(ended, 1);
}

static void
test_2_ended_turns_of_all_sessions_are_kept_as_far_as_they_fit(void **state)
{
	struct fixture *f = *state;
	struct session *others[12];
	struct id first = large_turn(f->session, 24 * MIB), last = {0};

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		others[i] = open_session(f);
		last = large_turn(others[i], 24 * MIB);
		assert_non_null(turn_find(others[i], id_str(&last)));
		assert_true(f->sessions->turn_bytes <= LIMIT_TURNS_TOTAL);
	}
	assert_null(turn_find(f->session, id_str(&first)));
	assert_int_equal(others[0]->turns.len, 0);
	assert_int_equal(others[ARRAY_LEN(others) - 2]->turns.len, 1);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		session_end(others[i]);
	assert_int_equal(f->sessions->ended.len, 0);
	assert_int_equal(f->sessions->turn_bytes, 0);
}

static void
see_results(struct turn *t, void *arg)
{
	(void)arg;
	assert_int_equal(t->results[0].content.len, LIMIT_RESULT_BYTES - 1 * KIB);
	assert_false(t->results[0].is_error);
}

static void
test_2_results_that_do_not_fit_into_a_turn_say_so(void **state)
{
	struct fixture *f = *state;
	const size_t count = LIMIT_TURN_BYTES / LIMIT_RESULT_BYTES + 1;
	struct turn *t = begin_turn(f, count, NULL);

	t->done = see_results;
	for (size_t i = 0; i < count; i++)
		settle_large(t, i, LIMIT_RESULT_BYTES - 1 * KIB);
	const struct turn_result *last = &t->results[count - 1];
	assert_true(last->is_error);
	assert_string_equal(last->error_class, "execution_error");
	assert_true(last->content.len < 1 * KIB);
	assert_non_null(
	    memmem(last->content.ptr, last->content.len, "the call succeeded, but", 23));
	assert_false(t->results[count - 2].is_error);
}

struct keeper {
	struct session_end end;
	unsigned told;
};

static void
keeper_told(struct session_end *end)
{
	CONTAINER_OF(end, struct keeper, end)->told++;
}

/* Each once, but for who has left before (issue 5). */
static void
whoever_keeps_something_for_a_session_hears_of_its_end(void **state)
{
	struct fixture *f = *state;
	struct keeper keepers[3];

	for (size_t i = 0; i < ARRAY_LEN(keepers); i++) {
		keepers[i] = (struct keeper){.end.ended = keeper_told};
		list_push(&f->session->at_end, &keepers[i].end.node);
	}
	list_remove(&keepers[1].end.node);
	session_ref(f->session);
	session_end(f->session);
	session_end(f->session);
	for (size_t i = 0; i < ARRAY_LEN(keepers); i++)
		assert_int_equal(keepers[i].told, i == 1 ? 0 : 1);
	session_unref(f->session);
}

static void
a_session_nobody_uses_is_found(void **state)
{
	struct fixture *f = *state;
	uint64_t later = clock_mono_ms() + 1;
	int ended = 0;

	assert_ptr_equal(session_idle(f->sessions, later), f->session);
	assert_null(session_idle(f->sessions, f->session->used_ms));
	f->session->attached = true;
	assert_null(session_idle(f->sessions, later));
	f->session->attached = false;
	struct turn *t = begin_turn(f, 1, &ended);
	assert_null(session_idle(f->sessions, UINT64_MAX));
	settle(t, 0, "x");
	assert_ptr_equal(session_idle(f->sessions, UINT64_MAX), f->session);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(slots_go_to_who_came_first, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_tool_at_its_own_cap_does_not_hold_up_others, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(results_stand_in_the_order_asked, setup, teardown),
	    cmocka_unit_test_setup_teardown(only_the_last_ended_turns_are_kept, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_5_lone_turns_push_out_no_messages, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(
		test_2_ended_turns_of_a_session_are_kept_as_far_as_they_fit, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_2_ended_turns_of_all_sessions_are_kept_as_far_as_they_fit, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_2_results_that_do_not_fit_into_a_turn_say_so,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(a_session_nobody_uses_is_found, setup, teardown),
	    cmocka_unit_test_setup_teardown(whoever_keeps_something_for_a_session_hears_of_its_end,
					    setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
