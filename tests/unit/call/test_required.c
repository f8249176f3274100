/*
 * test_required.c - the fourteen tests that seed 000 section 10.1 requires, by their numbers.
 */

#include "world.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#define CARD(name, capability, more)                                                               \
	"{\"name\":\"" name "\",\"description\":\"For tests.\",\"capability\":\"" capability       \
	"\",\"reversibility\":\"irreversible\"," more                                              \
	"\"input_schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"     \
	"\"additionalProperties\":false}}"

static int
say_done(void *instance, struct hf_job *job)
{
	(void)instance;
	hf_job_text(job, "done", 4);
	return 0;
}
static const struct hf_tool plain = {.run = say_done};

static void
required_01_registration_refuses_disallowed_schemas(void **state)
{
	struct world *w = world_new(NULL);
	static const char *const bad[][2] = {
	    {"{\"type\":\"object\",\"properties\":{\"x\":{\"anyOf\":[]}}}",
	     "$.properties.x: disallowed JSON Schema keyword 'anyOf'"},
	    {"{\"type\":\"object\",\"properties\":{\"x\":{\"$ref\":\"#/y\"}}}",
	     "$.properties.x: disallowed JSON Schema keyword '$ref'"},
	    {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}",
	     "$.additionalProperties: must be boolean, got schema"},
	    {"{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"frob\"}}}",
	     "$.properties.x.type: 'frob'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char card[512];
		snprintf(card, sizeof(card),
			 "{\"name\":\"t\",\"description\":\"d\",\"capability\":\"none\","
			 "\"reversibility\":\"pure\",\"input_schema\":%s}",
			 bad[i][0]);
		assert_true(hf_register(w->hf, card, &plain, NULL) < 0);
		if (!strstr(hf_error(w->hf), bad[i][1]))
			fail_msg("'%s' is not in '%s'", bad[i][1], hf_error(w->hf));
	}
	/* Effects must be declared, and from the closed set. */
	assert_true(hf_register(w->hf,
				"{\"name\":\"t\",\"description\":\"d\",\"reversibility\":\"pure\","
				"\"input_schema\":{\"type\":\"object\"}}",
				&plain, NULL) < 0);
	assert_non_null(strstr(hf_error(w->hf), "capability"));
	world_free(w);
}

static void
required_02_a_name_is_registered_once(void **state)
{
	struct world *w = world_new(NULL);

	(void)state;
	assert_int_equal(hf_register(w->hf, CARD("twin", "none", ""), &plain, NULL), 0);
	assert_true(hf_register(w->hf, CARD("twin", "none", ""), &plain, NULL) < 0);
	assert_non_null(strstr(hf_error(w->hf), "twin"));
	assert_true(hf_register(w->hf, CARD("read_file", "none", ""), &plain, NULL) < 0);
	/* Free again after unregister. */
	assert_int_equal(hf_unregister(w->hf, "twin"), 0);
	assert_true(hf_unregister(w->hf, "twin") < 0);
	assert_int_equal(hf_register(w->hf, CARD("twin", "none", ""), &plain, NULL), 0);
	world_free(w);
}

static void
required_03_malformed_input_of_every_class_is_told(void **state)
{
	static const char *const classes[] = {"none", "read", "write", "execute", "network"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
		struct world *w = world_new(NULL);
		char card[512];
		snprintf(
		    card, sizeof(card),
		    "{\"name\":\"t\",\"description\":\"d\",\"capability\":\"%s\",\"reversibility\":"
		    "\"irreversible\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"n\":{"
		    "\"type\":"
		    "\"integer\"}},\"required\":[\"n\"]}}",
		    classes[i]);
		assert_int_equal(hf_register(w->hf, card, &plain, NULL), 0);
		struct result r = world_call(w, "t", "{\"n\":\"x\"}");
		assert_true(r.is_error);
		assert_true(str_is(result_text(&r), "/n: must be an integer, got \"x\""));
		assert_tool_events(w, "input_invalid");
		const struct json *errors =
		    json_get(world_last(w, "tool.input_invalid"), S("validation_errors"));
		assert_true(
		    str_is(json_str(json_at(errors, 0)), "n: 'x' is not of type 'integer'"));
		result_free(&r);
		world_free(w);
	}
}

static void
required_04_no_path_leaves_the_workspace(void **state)
{
	static const char *const escapes[] = {
	    "{\"path\":\"../../etc/passwd\"}",   "{\"path\":\"/etc/passwd\"}",
	    "{\"path\":\"link/secret.txt\"}",    "{\"path\":\"out.txt\"}",
	    "{\"path\":\"a/../../secret.txt\"}",
	};
	struct world *w = world_new("tool_confirmation: {default: {WRITE: auto}}");
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/secret.txt", w->dir);
	FILE *f = fopen(path, "w");
	fputs("secret", f);
	fclose(f);
	snprintf(path, sizeof(path), "%s/link", w->workspace);
	assert_int_equal(symlink("..", path), 0);
	snprintf(path, sizeof(path), "%s/out.txt", w->workspace);
	assert_int_equal(symlink("../secret.txt", path), 0);

	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		size_t before = w->event_count;
		struct result r = world_call(w, "read_file", escapes[i]);
		assert_true(r.is_error);
		assert_false(contains(result_text(&r), "secret\n"));
		assert_true(contains(result_text(&r), "escapes workspace boundary"));
		assert_member(world_last(w, "tool.failed"), "error_class", "permission_denied");
		result_free(&r);
		/* It was never called. */
		for (size_t k = before; k < w->event_count; k++)
			assert_false(str_is(event_type_of(w, k), "tool.called"));
	}
	struct result r =
	    world_call(w, "write_file", "{\"path\":\"link/new.txt\",\"content\":\"x\"}");
	assert_true(r.is_error);
	result_free(&r);
	snprintf(path, sizeof(path), "%s/new.txt", w->dir);
	assert_int_equal(access(path, F_OK), -1);
	world_free(w);
}

static struct str
asked(struct world *w)
{
	UNTIL(w, world_count(w, "tool.confirmation_requested") >
		     world_count(w, "tool.confirmation_resolved"));
	return json_str(
	    json_get(world_last(w, "tool.confirmation_requested"), S("confirmation_request_id")));
}

static void
answer(struct world *w, bool allow, const char *scope)
{
	struct str id = asked(w);
	char request[64];

	snprintf(request, sizeof(request), "%.*s", STR_ARG(id));
	assert_int_equal(hf_answer(w->hf, request, allow, scope), 0);
}

static void
required_05_an_allowed_write_runs(void **state)
{
	struct world *w = world_new(NULL);
	struct result r;
	char path[256];

	(void)state;
	world_start(w, "write_file", "{\"path\":\"src/auth.ts\",\"content\":\"new\\n\"}", &r);
	asked(w);
	snprintf(path, sizeof(path), "%s/src/auth.ts", w->workspace);
	assert_int_equal(access(path, F_OK), -1); /* nothing has happened yet */
	const struct json *request = world_last(w, "tool.confirmation_requested");
	assert_member(request, "tool_name", "write_file");
	assert_member(request, "side_effects", "write");
	assert_true(str_is(json_str(json_at(json_get(request, S("projected_modifications")), 0)),
			   "src/auth.ts"));
	assert_true(contains(json_str(json_get(request, S("diff"))), "+new"));

	answer(w, true, "once");
	UNTIL(w, r.here);
	world_turn(w);
	assert_false(r.is_error);
	assert_int_equal(access(path, F_OK), 0);
	assert_tool_events(w, "confirmation_requested confirmation_resolved called completed");
	assert_member(world_last(w, "tool.confirmation_resolved"), "decision", "allow");
	result_free(&r);
	world_free(w);
}

static void
required_06_a_denied_write_does_not(void **state)
{
	struct world *w = world_new(NULL);
	struct result r;
	char path[256];

	(void)state;
	world_start(w, "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}", &r);
	answer(w, false, "once");
	UNTIL(w, r.here);
	world_turn(w);
	assert_true(r.is_error);
	assert_true(str_is(result_text(&r), "User denied this operation."));
	assert_tool_events(w, "confirmation_requested confirmation_resolved failed");
	assert_member(world_last(w, "tool.failed"), "error_class", "user_denied");
	assert_member(world_last(w, "tool.confirmation_resolved"), "decision", "deny");
	snprintf(path, sizeof(path), "%s/a.txt", w->workspace);
	assert_int_equal(access(path, F_OK), -1);
	result_free(&r);
	world_free(w);
}

static void
required_07_nobody_answers(void **state)
{
	struct world *w = world_new("tool_confirmation: {confirmation_timeout_seconds: 1}");
	struct result r;

	(void)state;
	world_start(w, "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}", &r);
	UNTIL(w, r.here);
	world_turn(w);
	assert_true(r.is_error);
	assert_tool_events(w, "confirmation_requested confirmation_resolved failed");
	assert_member(world_last(w, "tool.failed"), "error_class", "confirmation_timeout");
	assert_member(world_last(w, "tool.confirmation_resolved"), "decision", "timeout");
	result_free(&r);
	world_free(w);
}

/* A tool that holds on until it is let go, and tells how many do so at once. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int running, most, finished;
	bool go;
	void *instances[16];
	size_t made;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *
gate_make(void *arg)
{
	(void)arg;
	void *instance = malloc(1);
	pthread_mutex_lock(&gate.lock);
	gate.instances[gate.made++ % ARRAY_LEN(gate.instances)] = instance;
	pthread_mutex_unlock(&gate.lock);
	return instance;
}

static int
gate_run(void *instance, struct hf_job *job)
{
	char text[32];

	(void)instance;
	pthread_mutex_lock(&gate.lock);
	gate.running++;
	if (gate.running > gate.most)
		gate.most = gate.running;
	while (!gate.go)
		pthread_cond_wait(&gate.changed, &gate.lock);
	gate.running--;
	gate.finished++;
	pthread_mutex_unlock(&gate.lock);
	int n = snprintf(text, sizeof(text), "%s", hf_job_input(job));
	hf_job_text(job, text, (size_t)n);
	return 0;
}

static int
gate_running(void)
{
	pthread_mutex_lock(&gate.lock);
	int n = gate.running;
	pthread_mutex_unlock(&gate.lock);
	return n;
}

static void
turn_is_over(struct turn *t, void *arg)
{
	bool *over = arg;

	assert_int_equal(t->settled, t->count);
	*over = true;
}

static void
required_08_four_run_two_wait_all_in_order(void **state)
{
	static const struct hf_tool tool = {.make = gate_make, .free = free, .run = gate_run};
	struct world *w = world_new(NULL);
	struct session *s = session_find(w->hf->sessions, str_of(w->session));
	struct json_doc *docs[6];
	struct call_spec calls[6] = {0};
	struct turn *turn;
	struct err e;
	bool over = false;

	(void)state;
	gate.go = false;
	gate.running = gate.most = gate.finished = 0;
	gate.made = 0;
	assert_int_equal(hf_register(w->hf, CARD("gate", "none", ""), &tool, NULL), 0);
	for (int i = 0; i < 6; i++) {
		char text[16];
		snprintf(text, sizeof(text), "{\"n\":%d}", i);
		assert_int_equal(json_parse(str_of(text), &json_door, &docs[i], &e), 0);
		calls[i] = (struct call_spec){.tool = S("gate"),
					      .input_doc = docs[i],
					      .input = json_root(docs[i])};
	}
	struct turn_spec spec = {.calls = calls, .count = 6, .done = turn_is_over, .arg = &over};
	assert_int_equal(gateway_submit(&w->hf->gw, s, &spec, &turn, &e), 0);
	UNTIL(w, gate_running() == 4);
	UNTIL(w, w->hf->gw.at[PLACE_QUEUED].len == 2);
	assert_int_equal(w->hf->gw.at[PLACE_RUNNING].len, 4);

	pthread_mutex_lock(&gate.lock);
	gate.go = true;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
	UNTIL(w, over);
	assert_int_equal(gate.most, 4);
	assert_int_equal(gate.finished, 6);
	for (int i = 0; i < 6; i++) {
		char expected[16];
		snprintf(expected, sizeof(expected), "{\\\"n\\\":%d}", i);
		assert_true(contains(buf_str(&turn->results[i].content), expected));
		json_doc_unref(docs[i]);
	}
	/* Each call had an instance of its own (section 3.1). */
	assert_int_equal(gate.made, 6);
	world_free(w);
}

static int
poll_run(void *instance, struct hf_job *job)
{
	(void)instance;
	pthread_mutex_lock(&gate.lock);
	gate.running++;
	pthread_mutex_unlock(&gate.lock);
	hf_job_text(job, "half", 4);
	while (!hf_job_cancelled(job))
		usleep(1000);
	return hf_job_fail(job, "stopped when asked") < 0 ? -ECANCELED : 0;
}

static void
required_09_cancel_reaches_a_running_tool(void **state)
{
	static const struct hf_tool tool = {.run = poll_run};
	struct world *w = world_new(NULL);
	struct result r;

	(void)state;
	gate.running = 0;
	assert_int_equal(hf_register(w->hf, CARD("poll", "none", ""), &tool, NULL), 0);
	world_start(w, "poll", "{}", &r);
	UNTIL(w, gate_running() == 1);
	assert_int_equal(hf_cancel_session(w->hf, w->session), 0);
	UNTIL(w, r.here);
	world_turn(w);
	assert_true(r.is_error);
	assert_tool_events(w, "called failed");
	assert_member(world_last(w, "tool.failed"), "error_class", "cancelled");
	assert_int_equal(world_count(w, "turn.cancelled"), 1);
	result_free(&r);
	world_free(w);
}

static void
required_10_shell_gets_sigterm_then_sigkill(void **state)
{
	struct world *w = world_new("tool_confirmation: {default: {EXECUTE: auto}}");
	struct result r;

	(void)state;
	/* A polite one leaves a word on SIGTERM. */
	world_start(w, "shell",
		    "{\"command\":\"trap 'echo polite; exit 3' TERM; echo up; while :; do sleep "
		    "0.05; done\"}",
		    &r);
	UNTIL(w, world_count(w, "tool.output_delta") >= 1);
	hf_cancel_session(w->hf, w->session);
	UNTIL(w, r.here);
	world_turn(w);
	assert_true(r.is_error);
	assert_member(world_last(w, "tool.failed"), "error_class", "cancelled");
	struct str partial = json_str(
	    json_get(json_at(json_get(world_last(w, "tool.failed"), S("partial_output")), 0),
		     S("text")));
	assert_true(contains(partial, "up"));
	assert_true(contains(partial, "polite"));
	result_free(&r);

	/* A deaf one hears it too, goes on, and is killed. */
	size_t before = world_count(w, "tool.output_delta");
	world_start(
	    w, "shell",
	    "{\"command\":\"trap 'echo heard' TERM; echo deaf; while :; do sleep 0.05; done\"}",
	    &r);
	UNTIL(w, world_count(w, "tool.output_delta") > before);
	hf_cancel_session(w->hf, w->session);
	UNTIL(w, r.here);
	world_turn(w);
	assert_true(r.is_error);
	partial = json_str(
	    json_get(json_at(json_get(world_last(w, "tool.failed"), S("partial_output")), 0),
		     S("text")));
	assert_true(contains(partial, "heard"));
	assert_true(contains(partial, "signal=SIGKILL"));
	result_free(&r);
	world_free(w);
}

static int
secret_failure(void *instance, struct hf_job *job)
{
	(void)instance;
	(void)job;
	return E_SYSTEM;
}

static void
required_11_what_a_tool_trips_over_stays_inside(void **state)
{
	static const struct hf_tool tool = {.run = secret_failure};
	struct world *w = world_new(NULL);

	(void)state;
	assert_int_equal(hf_register(w->hf, CARD("trips", "none", ""), &tool, NULL), 0);
	struct result r = world_call(w, "trips", "{}");
	assert_true(r.is_error);
	assert_true(str_is(result_text(&r), "Tool execution failed."));
	assert_member(world_last(w, "tool.failed"), "error_class", "execution_error");
	assert_non_null(strstr(w->log, "\"level\":\"error\""));
	assert_non_null(strstr(w->log, "trips"));
	result_free(&r);
	world_free(w);
}

static int
raw_open(void *instance, struct hf_job *job)
{
	char text[16];
	int fd = open("/etc/hostname", O_RDONLY);

	(void)instance;
	int n = snprintf(text, sizeof(text), "%s", fd >= 0 ? "opened" : "failed");
	hf_job_text(job, text, (size_t)n);
	if (fd >= 0)
		close(fd);
	return 0;
}

static void
required_12_raw_access_is_permitted_and_logged(void **state)
{
	static const struct hf_tool tool = {.run = raw_open};
	struct world *w = world_new("tool_confirmation: {default: {EXECUTE: auto}}");

	(void)state;
	assert_int_equal(hf_register(w->hf, CARD("raw", "execute", ""), &tool, NULL), 0);
	struct result r = world_call(w, "raw", "{}");
	assert_false(r.is_error);
	assert_true(str_is(result_text(&r), "opened"));
	assert_non_null(strstr(w->log, "outside the workspace file interface"));
	result_free(&r);
	world_free(w);
}

static void
required_13_a_trusted_workspace_lowers_the_bar(void **state)
{
	struct world *w = world_new("tool_confirmation:\n"
				    "  trusted_workspaces:\n    - %s\n"
				    "  trusted_workspace_overrides:\n    EXECUTE: prompt\n");

	(void)state;
	struct result r = world_call(w, "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}");
	assert_false(r.is_error);
	assert_tool_events(w, "called completed");
	result_free(&r);

	world_start(w, "shell", "{\"command\":\"true\"}", &r);
	answer(w, false, "once");
	UNTIL(w, r.here);
	assert_true(r.is_error);
	result_free(&r);
	world_free(w);
}

static void
required_14_events_carry_the_declared_class(void **state)
{
	static const char *const calls[][3] = {
	    {"read_file", "{\"path\":\"a.txt\"}", "read"},
	    {"write_file", "{\"path\":\"b.txt\",\"content\":\"x\"}", "write"},
	    {"patch_file", "{\"path\":\"a.txt\",\"old\":\"one\",\"new\":\"two\"}", "write"},
	    {"list_dir", "{}", "read"},
	    {"shell", "{\"command\":\"true\"}", "execute"},
	};
	struct world *w = world_new("tool_confirmation: {default: {WRITE: auto, EXECUTE: auto}}");

	(void)state;
	world_write(w, "a.txt", "one\n");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct result r = world_call(w, calls[i][0], calls[i][1]);
		assert_false(r.is_error);
		assert_member(world_last(w, "tool.called"), "tool_name", calls[i][0]);
		assert_member(world_last(w, "tool.called"), "side_effects", calls[i][2]);
		result_free(&r);
	}
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(required_01_registration_refuses_disallowed_schemas),
	    cmocka_unit_test(required_02_a_name_is_registered_once),
	    cmocka_unit_test(required_03_malformed_input_of_every_class_is_told),
	    cmocka_unit_test(required_04_no_path_leaves_the_workspace),
	    cmocka_unit_test(required_05_an_allowed_write_runs),
	    cmocka_unit_test(required_06_a_denied_write_does_not),
	    cmocka_unit_test(required_07_nobody_answers),
	    cmocka_unit_test(required_08_four_run_two_wait_all_in_order),
	    cmocka_unit_test(required_09_cancel_reaches_a_running_tool),
	    cmocka_unit_test(required_10_shell_gets_sigterm_then_sigkill),
	    cmocka_unit_test(required_11_what_a_tool_trips_over_stays_inside),
	    cmocka_unit_test(required_12_raw_access_is_permitted_and_logged),
	    cmocka_unit_test(required_13_a_trusted_workspace_lowers_the_bar),
	    cmocka_unit_test(required_14_events_carry_the_declared_class),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
