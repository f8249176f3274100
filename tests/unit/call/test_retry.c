/* test_retry.c - what is tried again, what never is, and what comes too late. */

#include "world.h"

#include "call/stage.h"
#include "effect/ledger.h"

#define CONFIG                                                                                     \
	"tool_confirmation: {default: {WRITE: auto, EXECUTE: auto}}\n"                             \
	"tools: {defaults: {retry: {attempts: 3, initial_ms: 1, max_ms: 60000, jitter: 0}}}\n"

/* Runs a built-in tool for the time of a test: its jobs rest until they are told what became of
 * them. */
struct puppet {
	struct provider provider;
	struct job *job; /* the last one */
	unsigned started, cancelled;
};

static void
puppet_start(struct provider *p, struct job *j)
{
	struct puppet *pu = CONTAINER_OF(p, struct puppet, provider);

	if (j->kind == JOB_PREVIEW) {
		job_report_soon(j);
		return;
	}
	pu->job = j;
	pu->started++;
}

static void
puppet_cancel(struct provider *p, struct job *j)
{
	(void)j;
	CONTAINER_OF(p, struct puppet, provider)->cancelled++;
}

static struct provider *
puppet_take(struct world *w, struct puppet *pu, const char *tool)
{
	struct tool *t = catalog_find(w->hf->catalog, str_of(tool));
	struct provider *before = t->provider;

	*pu = (struct puppet){.provider = {"puppet", puppet_start, puppet_cancel, NULL}};
	t->provider = &pu->provider;
	return before;
}

static void
puppet_give(struct world *w, const char *tool, struct provider *back)
{
	catalog_find(w->hf->catalog, str_of(tool))->provider = back;
}

static void
fail_job(struct job *j, int code, bool broke, bool never_left)
{
	output_textf(&j->out, "half of it");
	err_set(&j->out.err, code, "it broke");
	j->out.broke = broke;
	j->out.never_left = never_left;
	job_report_soon(j);
}

static void
end_job(struct job *j)
{
	output_textf(&j->out, "done");
	job_report_soon(j);
}

static struct call *
call_in(struct world *w, enum place place)
{
	struct node *n = list_first(&w->hf->gw.at[place]);

	return n ? CONTAINER_OF(n, struct call, in_place) : NULL;
}

static int
setup(void **state)
{
	*state = world_new(CONFIG);
	return 0;
}

static int
teardown(void **state)
{
	world_free(*state);
	return 0;
}

static void
each_attempt_is_a_job_of_its_own(void **state)
{
	struct world *w = *state;
	struct puppet pu;
	struct provider *before = puppet_take(w, &pu, "list_dir");
	struct result r;
	int64_t n = 0;

	world_start(w, "list_dir", "{\"path\": \".\"}", &r);
	for (unsigned i = 1; i <= 3; i++) {
		UNTIL(w, pu.started == i);
		struct call *c = call_in(w, PLACE_RUNNING);
		assert_non_null(c);
		assert_int_equal(c->attempts, i);
		assert_int_equal(c->allowed_ms, 60000);
		assert_false(c->overdue);
		if (i < 3)
			fail_job(pu.job, E_UNAVAILABLE, true, false);
	}
	end_job(pu.job);
	UNTIL(w, r.here);
	world_turn(w);
	assert_false(r.is_error);
	assert_true(str_is(result_text(&r), "done"));
	assert_tool_events(w, "called retrying retrying completed");
	assert_true(json_int(json_get(world_last(w, "tool.retrying"), S("attempt")), &n) && n == 3);
	assert_true(json_int(json_get(world_last(w, "tool.retrying"), S("delay_ms")), &n) &&
		    n == 2);
	assert_member(world_last(w, "tool.retrying"), "reason", "unavailable");
	result_free(&r);
	puppet_give(w, "list_dir", before);
}

static void
the_last_failure_is_the_calls(void **state)
{
	struct world *w = *state;
	struct puppet pu;
	struct provider *before = puppet_take(w, &pu, "list_dir");
	struct result r;

	world_start(w, "list_dir", "{\"path\": \".\"}", &r);
	for (unsigned i = 1; i <= 3; i++) {
		UNTIL(w, pu.started == i);
		fail_job(pu.job, E_UNAVAILABLE, true, false);
	}
	UNTIL(w, r.here);
	assert_true(r.is_error && str_is(result_text(&r), "it broke"));
	assert_int_equal(pu.started, 3);
	result_free(&r);
	puppet_give(w, "list_dir", before);
}

/* What a failure looks like, and whether there is a second attempt. */
static void
what_is_tried_again(void **state)
{
	static const struct {
		const char *tool, *input;
		int code;
		bool broke, never_left, again;
	} cases[] = {
	    {"list_dir", "{\"path\": \".\"}", E_EXECUTION, false, false, false},
	    {"list_dir", "{\"path\": \".\"}", E_VALIDATION, false, false, false},
	    {"list_dir", "{\"path\": \".\"}", E_UNAVAILABLE, true, false, true},
	    {"list_dir", "{\"path\": \".\"}", E_UNAVAILABLE, true, true, true},
	    {"shell", "{\"command\": \"true\"}", E_UNAVAILABLE, true, false, false},
	    {"shell", "{\"command\": \"true\"}", E_TIMEOUT, true, false, false},
	    {"shell", "{\"command\": \"true\"}", E_UNAVAILABLE, false, true, false},
	    {"shell", "{\"command\": \"true\"}", E_UNAVAILABLE, true, true, true},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct puppet pu;
		struct provider *before = puppet_take(w, &pu, cases[i].tool);
		struct result r;
		world_start(w, cases[i].tool, cases[i].input, &r);
		UNTIL(w, pu.started == 1);
		fail_job(pu.job, cases[i].code, cases[i].broke, cases[i].never_left);
		UNTIL(w, r.here || pu.started == 2);
		if (r.here == cases[i].again)
			fail_msg("case %zu: %s", i, r.here ? "it was not" : "it was");
		if (!r.here)
			end_job(pu.job);
		UNTIL(w, r.here);
		assert_int_equal(r.is_error, !cases[i].again);
		result_free(&r);
		puppet_give(w, cases[i].tool, before);
	}
}

/* Issue 6: too many waiting, or one that was cancelled, is no failure of the server. */
static void
only_what_broke_opens_the_breaker(void **state)
{
	static const struct {
		int code;
		bool never_left, opens;
	} cases[] = {
	    {E_LIMIT, true, false},
	    {E_CANCELLED, false, false},
	    {E_UNAVAILABLE, true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world *w = world_new("tools: {list_dir: {retry: {attempts: 1}, breaker: "
					    "{failures: 1}}}\n");
		struct puppet pu;
		struct provider *before = puppet_take(w, &pu, "list_dir");
		struct result r;
		world_start(w, "list_dir", "{\"path\": \".\"}", &r);
		UNTIL(w, pu.started == 1);
		fail_job(pu.job, cases[i].code, true, cases[i].never_left);
		UNTIL(w, r.here);
		result_free(&r);
		world_start(w, "list_dir", "{\"path\": \".\"}", &r);
		UNTIL(w, r.here || pu.started == 2);
		if (r.here != cases[i].opens)
			fail_msg("case %zu: %s", i, r.here ? "it opened" : "it did not open");
		if (!r.here)
			end_job(pu.job);
		UNTIL(w, r.here);
		result_free(&r);
		puppet_give(w, "list_dir", before);
		world_free(w);
	}
}

static void
cancel_ends_the_wait(void **state)
{
	struct world *w = *state;
	struct puppet pu;
	struct provider *before = puppet_take(w, &pu, "list_dir");
	struct result r;

	world_start(w, "list_dir", "{\"path\": \".\"}", &r);
	UNTIL(w, pu.started == 1);
	fail_job(pu.job, E_LIMIT, true, false);
	pu.job->out.err.retry_after_ms = 50000;
	UNTIL(w, call_in(w, PLACE_PAUSING));
	call_cancel(call_in(w, PLACE_PAUSING));
	UNTIL(w, r.here);
	world_turn(w);
	assert_member(world_last(w, "tool.failed"), "error_class", "cancelled");
	assert_int_equal(pu.started, 1);
	result_free(&r);
	puppet_give(w, "list_dir", before);
}

/* As if it had been told to stop, and its time for that were over. */
static void
leave_behind(struct world *w, struct result *r)
{
	UNTIL(w, call_in(w, PLACE_RUNNING));
	struct call *c = call_in(w, PLACE_RUNNING);
	call_cancel(c);
	UNTIL(w, call_in(w, PLACE_ENDING));
	c->overdue = true;
	c->ending = E_TIMEOUT;
	call_wake(c);
	UNTIL(w, r->here);
}

static void
a_late_report_is_thrown_away_and_told(void **state)
{
	struct world *w = *state;
	struct puppet pu;
	struct provider *before = puppet_take(w, &pu, "list_dir");
	struct result r;
	char id[64];

	world_start(w, "list_dir", "{\"path\": \".\"}", &r);
	leave_behind(w, &r);
	world_turn(w);
	assert_int_equal(pu.cancelled, 1);
	assert_int_equal(pu.started, 1); /* one that may still be at work is not followed */
	assert_member(world_last(w, "tool.failed"), "error_class", "timeout");
	struct str call = json_str(json_get(world_last(w, "tool.failed"), S("call_id")));
	snprintf(id, sizeof(id), "%.*s", STR_ARG(call));
	assert_null(world_last(w, "tool.late_report"));
	end_job(pu.job);
	UNTIL(w, world_last(w, "tool.late_report"));
	assert_member(world_last(w, "tool.late_report"), "call_id", id);
	assert_int_equal(w->hf->gw.stragglers.len, 0);
	result_free(&r);
	puppet_give(w, "list_dir", before);
}

static bool
is_given(struct world *w, const char *effect, const char *wanted)
{
	struct buf out = BUF_INIT(1 * MIB), given = BUF_INIT(1 * MIB);
	struct err e;

	assert_int_equal(ledger_recall(w->hf->ledger, str_of(effect), &out, &given, &e), 0);
	bool same = str_is(buf_str(&given), wanted);
	buf_done(&out);
	buf_done(&given);
	return same;
}

/* What it gave in the end is there for taking it back. */
static void
test_7_what_is_given_late_is_kept(void **state)
{
	struct world *w = world_new("tool_confirmation: {default: {EXECUTE: auto}}\n"
				    "tools: {shell: {side_effect_policy: compensatable,"
				    " compensation_tool: list_dir}}\n");
	struct puppet pu;
	struct provider *before = puppet_take(w, &pu, "shell");
	struct result r;
	char id[64];

	(void)state;
	world_start(w, "shell", "{\"command\": \"true\"}", &r);
	UNTIL(w, world_last(w, "tool_side_effect_started"));
	leave_behind(w, &r);
	snprintf(id, sizeof(id), "%.*s",
		 STR_ARG(json_str(
		     json_get(world_last(w, "tool_side_effect_started"), S("effect_id")))));
	assert_true(is_given(w, id, ""));
	output_textf(&pu.job->out, "{\"id\":7}");
	job_report_soon(pu.job);
	UNTIL(w, is_given(w, id, "{\"id\":7}"));
	result_free(&r);
	puppet_give(w, "shell", before);
	world_free(w);
}

/* Told to stop before anything of it had left: the turn has done nothing. */
static void
test_7_what_never_left_is_no_effect_of_its_turn(void **state)
{
	struct world *w = *state;

	for (int left = 0; left <= 1; left++) {
		struct puppet pu;
		struct provider *before = puppet_take(w, &pu, "shell");
		struct result r;
		world_start(w, "shell", "{\"command\": \"true\"}", &r);
		UNTIL(w, call_in(w, PLACE_RUNNING) && pu.started == 1);
		struct turn *t = call_in(w, PLACE_RUNNING)->turn;
		call_cancel(call_in(w, PLACE_RUNNING));
		UNTIL(w, pu.cancelled == 1);
		fail_job(pu.job, E_CANCELLED, true, !left);
		UNTIL(w, r.here);
		assert_int_equal(t->effects, left);
		assert_int_equal(t->committed, left);
		result_free(&r);
		puppet_give(w, "shell", before);
	}
}

static void
nobody_is_told_when_the_gateway_is_gone(void **state)
{
	struct world *w = *state;
	struct puppet pu;
	struct provider *before = puppet_take(w, &pu, "list_dir");
	struct result r;

	world_start(w, "list_dir", "{\"path\": \".\"}", &r);
	leave_behind(w, &r);
	assert_int_equal(w->hf->gw.stragglers.len, 1);
	late_forget(&w->hf->gw);
	assert_int_equal(w->hf->gw.stragglers.len, 0);
	job_report(pu.job); /* and it frees itself */
	result_free(&r);
	puppet_give(w, "list_dir", before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(each_attempt_is_a_job_of_its_own, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_last_failure_is_the_calls, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_is_tried_again, setup, teardown),
	    cmocka_unit_test(only_what_broke_opens_the_breaker),
	    cmocka_unit_test_setup_teardown(cancel_ends_the_wait, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_late_report_is_thrown_away_and_told, setup, teardown),
	    cmocka_unit_test(test_7_what_is_given_late_is_kept),
	    cmocka_unit_test_setup_teardown(test_7_what_never_left_is_no_effect_of_its_turn, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(nobody_is_told_when_the_gateway_is_gone, setup,
					    teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
