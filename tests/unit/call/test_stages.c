/* test_stages.c - stages of the program that holds the gateway: where they stand, and how they go.
 */

#include <pthread.h>

#include "world.h"

#include "call/stage.h"

#define CARD                                                                                       \
	"{\"name\":\"thing\",\"description\":\"For tests.\",\"capability\":\"write\","             \
	"\"reversibility\":\"pure\",\"input_schema\":{\"type\":\"object\",\"properties\":{"        \
	"\"n\":{\"type\":\"integer\"}},\"additionalProperties\":false}}"

static char trace[512];

static void
note(const char *how, const char *arg)
{
	strcat(trace, trace[0] ? " " : "");
	strcat(trace, how);
	strcat(trace, arg);
}

static int
run_tool(void *instance, struct hf_job *job)
{
	(void)instance;
	note("run", "");
	hf_job_text(job, "done", 4);
	return 0;
}
static const struct hf_tool tool = {.run = run_tool};

static struct world *
begin(void)
{
	struct world *w = world_new("tool_confirmation: {default: {WRITE: auto}}\n");

	trace[0] = '\0';
	assert_int_equal(hf_register(w->hf, CARD, &tool, NULL), 0);
	return w;
}

static int
enter(struct hf_call *call, void *arg)
{
	(void)call;
	note("+", arg);
	return HF_NEXT;
}

static void
leave(struct hf_call *call, void *arg)
{
	(void)call;
	note("-", arg);
}

static void
use(struct world *w, const char *name, enum hf_side side, const char *neighbour)
{
	struct hf_stage s = {name, "For tests.", enter, NULL, leave, (void *)name};

	if (hf_use(w->hf, &s, side, neighbour) < 0)
		fail_msg("%s", hf_error(w->hf));
}

static void
stages_stand_where_they_were_put(void **state)
{
	struct world *w = begin();
	struct buf order = BUF_INIT(1024);

	(void)state;
	use(w, "a", HF_AFTER, "confirm");
	use(w, "b", HF_BEFORE, "confirm");
	use(w, "c", HF_AFTER, "a");
	use(w, "z", HF_AFTER, "result");
	for (size_t i = 0; i < w->hf->gw.chain_len; i++)
		buf_addf(&order, "%s ", w->hf->gw.chain[i].stage->name);
	assert_string_equal(buf_z(&order),
			    "record admit resolve hooks args scope replay policy b confirm "
			    "a c slot dispatch result z ");
	buf_done(&order);
	struct result r = world_call(w, "thing", "{}");
	assert_false(r.is_error);
	assert_string_equal(trace, "+b +a +c run +z -z -c -a -b");
	for (size_t i = 0; i < w->hf->gw.chain_len; i++)
		assert_int_equal(w->hf->gw.chain[i].entries, 1);
	result_free(&r);
	world_free(w);
}

/* A guest behind every stage that may have one: calls walk as the chain is printed. */
static void
calls_walk_as_the_chain_is_printed(void **state)
{
	static const char *const beside[] = {"record",  "admit", "resolve", "hooks",
					     "args",    "scope", "replay",  "policy",
					     "confirm", "slot",  "result"};
	char names[ARRAY_LEN(beside)][24];
	struct world *w = begin();
	struct buf text = BUF_INIT(64 * KIB), in = BUF_INIT(1024), out = BUF_INIT(1024);
	struct jw printing = jw(&text);
	struct json_doc *doc;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
		snprintf(names[i], sizeof(names[i]), "%s-seen", beside[i]);
		use(w, names[i], HF_AFTER, beside[i]);
	}
	struct result r = world_call(w, "thing", "{}");
	assert_false(r.is_error);
	gateway_write_pipeline(&printing, &w->hf->gw);
	assert_int_equal(json_parse(buf_str(&text), &json_door, &doc, NULL), 0);
	const struct json *stages = json_get(json_root(doc), S("stages"));
	for (size_t i = 0; i < json_len(stages); i++) {
		const struct json *s = json_at(stages, i);
		struct str name = json_str(json_get(s, S("name")));
		bool ours = str_is(json_str(json_get(s, S("by"))), "library");
		assert_int_equal(ours, str_ends(name, S("-seen")));
		if (str_is(name, "dispatch"))
			buf_addz(&in, " run");
		if (ours)
			buf_addf(&in, " +%.*s", STR_ARG(name));
	}
	for (size_t i = ARRAY_LEN(beside); i > 0; i--)
		buf_addf(&out, " -%s", names[i - 1]);
	buf_add(&in, buf_str(&out));
	assert_string_equal(trace, buf_z(&in) + 1);
	json_doc_unref(doc);
	buf_done(&text);
	buf_done(&in);
	buf_done(&out);
	result_free(&r);
	world_free(w);
}

static void
whoever_was_entered_is_left(void **state)
{
	struct world *w = begin();

	(void)state;
	use(w, "a", HF_AFTER, "resolve");
	use(w, "b", HF_AFTER, "args");
	struct result r = world_call(w, "thing", "{\"n\":\"x\"}");
	assert_true(r.is_error);
	assert_string_equal(trace, "+a -a");
	result_free(&r);
	world_free(w);
}

static int
refuse(struct hf_call *call, void *arg)
{
	note("+", arg);
	if (strcmp(arg, "mute") == 0)
		return HF_FAIL;
	int verdict = hf_call_fail(call, "not on a Sunday");
	return strcmp(arg, "hazy") == 0 ? HF_NEXT : verdict;
}

static void
a_stage_may_stop_a_call(void **state)
{
	static const char *const rows[][2] = {{"loud", "not on a Sunday"},
					      {"hazy", "not on a Sunday"},
					      {"mute", "the stage mute refused this call"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world *w = begin();
		struct hf_stage s = {rows[i][0], "Stops.", refuse, NULL, leave, (void *)rows[i][0]};
		assert_int_equal(hf_use(w->hf, &s, HF_AFTER, "confirm"), 0);
		struct result r = world_call(w, "thing", "{}");
		assert_true(r.is_error);
		assert_true(str_is(result_text(&r), rows[i][1]));
		assert_member(world_last(w, "tool.failed"), "error_class", "permission_denied");
		assert_null(strstr(trace, "run"));
		assert_int_equal(trace[0], '+');
		assert_non_null(strchr(trace, '-'));
		result_free(&r);
		world_free(w);
	}
}

/* What is seen of a call. */

static int
look(struct hf_call *call, void *arg)
{
	(void)arg;
	assert_string_equal(hf_call_tool(call), "thing");
	assert_string_equal(hf_call_input(call), "{\"n\":3}");
	assert_string_equal(hf_call_capability(call), "write");
	assert_true(strlen(hf_call_session(call)) > 0 && strlen(hf_call_id(call)) > 0);
	assert_int_equal(hf_call_workspace(call)[0], '/');
	assert_null(hf_call_result(call));
	assert_false(hf_call_is_error(call));
	/* It sees, and changes nothing. */
	assert_true(hf_call_set_input(call, "{}") < 0);
	assert_true(hf_call_abort(call, "x", "x") < 0);
	assert_true(hf_call_set_result(call, "x", 1, true) < 0);
	return HF_NEXT;
}

static void
look_back(struct hf_call *call, void *arg)
{
	(void)arg;
	assert_string_equal(hf_call_result(call), "done");
	assert_false(hf_call_is_error(call));
	assert_true(hf_call_set_result(call, "x", 1, true) < 0);
	hf_call_fail(call, "too late");
	note("seen", "");
}

static void
a_stage_sees_and_changes_nothing(void **state)
{
	struct world *w = begin();
	struct hf_stage s = {"looker", "Looks.", look, NULL, look_back, NULL};

	(void)state;
	assert_int_equal(hf_use(w->hf, &s, HF_AFTER, "confirm"), 0);
	struct result r = world_call(w, "thing", "{\"n\":3}");
	assert_false(r.is_error);
	assert_true(str_is(result_text(&r), "done"));
	assert_string_equal(trace, "run seen");
	result_free(&r);
	world_free(w);
}

static void
look_at_failure(struct hf_call *call, void *arg)
{
	(void)arg;
	assert_true(hf_call_is_error(call));
	note(hf_call_result(call), "");
}

static void
a_failure_is_seen_on_the_way_out(void **state)
{
	struct world *w = begin();
	struct hf_stage s = {"looker", "Looks.", NULL, NULL, look_at_failure, NULL};

	(void)state;
	assert_int_equal(hf_use(w->hf, &s, HF_AFTER, "record"), 0);
	struct result r = world_call(w, "thin", "{}");
	assert_string_equal(trace, "there is no tool 'thin'; did you mean 'thing'?");
	result_free(&r);
	world_free(w);
}

/* Waiting. */

static struct hf_call *waiting;
static int open_now;

static int
wait_here(struct hf_call *call, void *arg)
{
	(void)arg;
	waiting = call;
	return open_now ? HF_NEXT : HF_WAIT;
}

static void *
wake_from_elsewhere(void *arg)
{
	for (int i = 0; i < 3 * HF_WOKEN; i++) /* more than are remembered one by one */
		hf_call_wake(arg);
	return NULL;
}

static struct world *
begin_waiting(void)
{
	struct world *w = begin();
	struct hf_stage s = {"gate", "Waits.", wait_here, wait_here, leave, (void *)"gate"};

	waiting = NULL;
	open_now = 0;
	assert_int_equal(hf_use(w->hf, &s, HF_BEFORE, "slot"), 0);
	return w;
}

static void
another_thread_wakes_a_stage(void **state)
{
	struct world *w = begin_waiting();
	struct result r;
	pthread_t thread;

	(void)state;
	world_start(w, "thing", "{}", &r);
	UNTIL(w, waiting);
	assert_int_equal(w->hf->gw.at[PLACE_STAYING].len, 1);
	hf_call_wake(waiting); /* for nothing */
	world_turn(w);
	world_turn(w);
	assert_false(r.here);
	open_now = 1;
	pthread_create(&thread, NULL, wake_from_elsewhere, waiting);
	pthread_join(thread, NULL);
	UNTIL(w, r.here);
	assert_false(r.is_error);
	assert_string_equal(trace, "run -gate");
	result_free(&r);
	world_free(w);
}

static void
a_cancel_ends_the_wait(void **state)
{
	struct world *w = begin_waiting();
	struct result r;

	(void)state;
	world_start(w, "thing", "{}", &r);
	UNTIL(w, waiting);
	assert_int_equal(hf_cancel_session(w->hf, w->session), 0);
	UNTIL(w, r.here);
	assert_true(str_is(result_text(&r), "the call was cancelled"));
	assert_string_equal(trace, "-gate");
	result_free(&r);
	world_free(w);
}

static void
one_that_cannot_be_woken_may_not_wait(void **state)
{
	struct world *w = begin();
	struct hf_stage s = {"gate", "Waits.", wait_here, NULL, leave, (void *)"gate"};

	(void)state;
	open_now = 0;
	assert_int_equal(hf_use(w->hf, &s, HF_BEFORE, "slot"), 0);
	struct result r = world_call(w, "thing", "{}");
	assert_true(contains(result_text(&r), "the stage gate waits"));
	assert_string_equal(trace, "-gate");
	result_free(&r);
	world_free(w);
}

/* What is refused. */

static void
wrong_stages_are_refused_with_a_reason(void **state)
{
	struct world *w = begin_waiting();
	static const struct {
		const char *name, *sentence;
		enum hf_side side;
		const char *neighbour, *says;
	} rows[] = {
	    {"args", "x", HF_AFTER, "confirm", "there is a stage 'args' already"},
	    {"gate", "x", HF_AFTER, "confirm", "there is a stage 'gate' already"},
	    {"new", "x", HF_AFTER, "confrim", "there is no stage 'confrim'"},
	    {"new", "x", HF_BEFORE, "record", "nothing comes before record"},
	    {"new", "x", HF_AFTER, "dispatch", "between dispatch and result"},
	    {"new", "x", HF_BEFORE, "result", "between dispatch and result"},
	    {"New", "x", HF_AFTER, "confirm", "small letters"},
	    {"", "x", HF_AFTER, "confirm", "small letters"},
	    {NULL, "x", HF_AFTER, "confirm", "small letters"},
	    {"new", NULL, HF_AFTER, "confirm", "a sentence"},
	    {"new", "", HF_AFTER, "confirm", "a sentence"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct hf_stage s = {.name = rows[i].name, .sentence = rows[i].sentence};
		assert_true(hf_use(w->hf, &s, rows[i].side, rows[i].neighbour) < 0);
		if (!strstr(hf_error(w->hf), rows[i].says))
			fail_msg("'%s' is not in '%s'", rows[i].says, hf_error(w->hf));
	}
	struct result r;
	world_start(w, "thing", "{}", &r);
	UNTIL(w, waiting);
	struct hf_stage late = {.name = "late", .sentence = "x"};
	assert_true(hf_use(w->hf, &late, HF_AFTER, "confirm") < 0);
	assert_non_null(strstr(hf_error(w->hf), "no call is alive"));
	open_now = 1;
	hf_call_wake(waiting);
	UNTIL(w, r.here);
	assert_int_equal(hf_use(w->hf, &late, HF_AFTER, "confirm"), 0);
	result_free(&r);
	world_free(w);
}

static void
the_chain_has_an_end(void **state)
{
	struct world *w = begin();
	char name[16];
	int code = 0;

	(void)state;
	for (int i = 0; code == 0; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		struct hf_stage s = {.name = name, .sentence = "x"};
		code = hf_use(w->hf, &s, HF_AFTER, "confirm");
	}
	assert_int_equal(code, E_LIMIT);
	assert_int_equal(w->hf->gw.chain_len, LIMIT_STAGES);
	struct result r = world_call(w, "thing", "{}");
	assert_false(r.is_error);
	result_free(&r);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(stages_stand_where_they_were_put),
	    cmocka_unit_test(calls_walk_as_the_chain_is_printed),
	    cmocka_unit_test(whoever_was_entered_is_left),
	    cmocka_unit_test(a_stage_may_stop_a_call),
	    cmocka_unit_test(a_stage_sees_and_changes_nothing),
	    cmocka_unit_test(a_failure_is_seen_on_the_way_out),
	    cmocka_unit_test(another_thread_wakes_a_stage),
	    cmocka_unit_test(a_cancel_ends_the_wait),
	    cmocka_unit_test(one_that_cannot_be_woken_may_not_wait),
	    cmocka_unit_test(wrong_stages_are_refused_with_a_reason),
	    cmocka_unit_test(the_chain_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
