/*
 * test_faults.c - servers that hang, lie, flood and die: every call ends, and the next one works.
 *
 * The matrix is that of a hostile stdio server (issue 5): what one does is never felt by another.
 */

#include "house.h"

/* ---- the matrix ---- */

static const struct fault {
	const char *tool;
	int code;         /* of the call */
	const char *says; /* in its result or error */
	bool dies;        /* it is another one afterwards */
} faults[] = {
    {"hang", E_TIMEOUT, "not answered in time", false},
    {"half", E_UNAVAILABLE, "went away while it worked", true},
    {"garbage", 0, "after garbage", false},
    {"wrong_id", 0, "to you", false},
    {"twice", 0, "once", false},
    {"drip", 0, "", false},
    {"long_line", E_EXECUTION, "larger than 8 MiB", false},
    {"endless_line", E_UNAVAILABLE, "what is no message", true},
    {"crash", E_UNAVAILABLE, "ended with status 7", true},
    {"crash_after", 0, "done", true},
    {"stderr", 0, "loud", false},
    {"bad_answer", E_EXECUTION, "is not valid", false},
    {"flood", 0, "flooded", false},
    {"closes_stdin", E_TIMEOUT, "not answered in time", true},
    {"progress_forever", E_TIMEOUT, "not answered in time", true},
    {"ask_model", 0, "no client", false},
    {"ask_odd", 0, "no such method", false},
    {"ping", 0, "{}", false},
};

static int
server_pid(const struct upstream *u)
{
	const char *at = strstr(house_shown(u), "\"pid\":");

	return at ? atoi(at + 6) : 0;
}

static void
fault_run(const struct fault *f, struct upstream *bad, struct upstream *good)
{
	struct call faulty = {0}, other = {.argument = "untouched"};

	int pid = server_pid(bad);
	call_begin(&faulty, bad, f->tool);
	call(&other, good, "echo"); /* meanwhile */
	assert_string_equal(other.text, "untouched");
	UNTIL(faulty.over);
	if (faulty.code != f->code || !strstr(faulty.text, f->says))
		fail_msg("%s: %d %s", f->tool, faulty.code, faulty.text);
	assert_true(faulty.sent);
	assert_int_equal(faulty.overs, 1);
	if (f->dies && f->code == E_TIMEOUT) /* it hears nothing any more */
		upstream_restart(bad);
	if (f->dies) {
		UNTIL(upstream_state(bad) != UPSTREAM_STARTED || server_pid(bad) != pid);
		upstream_restart(bad); /* its back-off grows with every fall */
	}
	struct call after = {.argument = "alive"};
	call(&after, bad, "echo");
	if (after.code != 0)
		fail_msg("after %s: %s", f->tool, after.text);
	assert_string_equal(after.text, "alive");
	assert_int_equal(server_pid(bad) != pid, f->dies);
}

static void
every_fault_ends_and_harms_nobody(void **state)
{
	const struct server servers[] = {{.name = "bad", .timeout_ms = 2000, .max_ms = 4000},
					 {.name = "good"}};

	(void)state;
	house_servers(servers, 2);
	struct upstream *bad = upstream_at(set, 0), *good = upstream_at(set, 1);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		UNTIL(upstream_state(good) == UPSTREAM_STARTED);
		if (upstream_state(bad) != UPSTREAM_STARTED) {
			upstream_restart(bad);
			UNTIL(upstream_state(bad) == UPSTREAM_STARTED);
		}
		fault_run(&faults[i], bad, good);
	}
}

/* ---- clocks ---- */

static void
a_late_answer_is_dropped(void **state)
{
	struct call late = {0};

	(void)state;
	struct upstream *u = house_started((struct server){.timeout_ms = 200});
	call(&late, u, "late");
	assert_int_equal(late.code, E_TIMEOUT);
	assert_string_equal(CALL(u, "flush")->text, "flushed");
	assert_int_equal(late.overs, 1);
	assert_non_null(strstr(house_shown(u), "\"late\":1"));
}

static void
a_server_that_says_nothing_is_replaced(void **state)
{
	(void)state;
	struct upstream *u = house_started((struct server){.timeout_ms = 150});
	for (int i = 0; i < 3; i++)
		assert_int_equal(CALL(u, "stuck")->code, E_TIMEOUT);
	UNTIL(upstream_state(u) == UPSTREAM_FAILED);
	assert_non_null(strstr(house_shown(u), "not said a word"));
	assert_int_equal(CALL(u, "echo")->code, 0);
}

/* Issue 5: tool calls have a clock of their own, and what it says must count as much. */
static void
test_5_it_is_replaced_when_others_have_the_clock(void **state)
{
	struct call last = {.spec.timeout_ms = UINT_MAX, .spec.max_ms = UINT_MAX};

	(void)state;
	struct upstream *u = house_started((struct server){.timeout_ms = 150});
	call_begin(&last, u, "stuck");
	while (upstream_state(u) == UPSTREAM_STARTED) {
		struct call c = {.spec.timeout_ms = UINT_MAX, .spec.max_ms = UINT_MAX};
		call_begin(&c, u, "echo");
		exchange_expire(c.x);
		UNTIL(c.over);
		assert_int_equal(c.code, E_CANCELLED);
	}
	assert_int_equal(upstream_state(u), UPSTREAM_FAILED);
	assert_non_null(strstr(house_shown(u), "not said a word"));
	UNTIL(last.over); /* as in a crash */
	assert_int_equal(last.code, E_UNAVAILABLE);
	assert_non_null(strstr(last.text, "went away while it worked"));
	assert_true(last.sent);
	assert_int_equal(CALL(u, "echo")->code, 0);
}

/* Issue 5: one that is slow with a tool, or that people lose patience with, says so when asked. */
static void
test_5_a_server_that_is_slow_with_one_tool_stays(void **state)
{
	static const char *const eras[] = {NULL, "modern"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(eras); i++) {
		struct upstream *u = house_started((struct server){.words = {eras[i]}});
		int pid = server_pid(u);
		for (int n = 0; n < 9; n++) {
			struct call c = {0};
			call_begin(&c, u, "hang");
			exchange_expire(c.x);
			UNTIL(c.over);
		}
		assert_int_equal(CALL(u, "echo")->code, 0);
		assert_int_equal(upstream_state(u), UPSTREAM_STARTED);
		assert_int_equal(server_pid(u), pid);
	}
}

/* Issue 5: who has closed its stdin hears nothing: what is sent to it is not waited for. */
static void
test_5_a_server_that_reads_no_more_is_replaced(void **state)
{
	static const char *const tools[] = {"hang", "closes_stdin", "echo"};
	struct call calls[3] = {0};

	(void)state;
	struct upstream *u = house_started((struct server){0});
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (i == 2)
			UNTIL(messages.len > 0); /* it says that it has */
		calls[i].spec.timeout_ms = UINT_MAX;
		call_begin(&calls[i], u, tools[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		UNTIL(calls[i].over);
		assert_int_equal(calls[i].code, E_UNAVAILABLE);
	}
	assert_non_null(strstr(house_shown(u), "closed its stdin"));
	assert_int_equal(CALL(u, "echo")->code, 0);
}

/* ---- starts ---- */

static void
a_server_that_never_answers_fails(void **state)
{
	struct call c = {0};

	(void)state;
	struct upstream *u = house_server((struct server){.words = {"mute"}, .start_ms = 200});
	call(&c, u, "echo");
	assert_int_equal(c.code, E_UNAVAILABLE);
	assert_non_null(strstr(c.text, "the server fake is not available"));
	assert_false(c.sent);
	assert_int_equal(upstream_state(u), UPSTREAM_FAILED);
}

static void
a_program_that_is_not_there_is_named(void **state)
{
	const char *const argv[] = {"no-such-program-here", NULL};
	struct upstream_spec spec = {.name = S("none"), .argv = argv, .env = env};
	struct err e;

	(void)state;
	assert_int_equal(upstreams_set(set, &spec, 1, &e), 0);
	struct upstream *u = upstream_at(set, 0);
	UNTIL(upstream_state(u) == UPSTREAM_FAILED);
	assert_non_null(strstr(house_shown(u), "no-such-program-here"));
}

/* Five starts in a row, with back-off between them; then it is left alone. */
static void
a_crash_loop_ends_in_quarantine(void **state)
{
	char count[128], word[140], line[256];
	unsigned starts = 0;

	(void)state;
	snprintf(count, sizeof(count), "%s/count", dir);
	snprintf(word, sizeof(word), "count=%s", count);
	struct upstream *u = house_server((struct server){.words = {"exit-start", word}});
	UNTIL(upstream_state(u) == UPSTREAM_QUARANTINED);
	FILE *f = fopen(count, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		starts++;
	fclose(f);
	/* The first one ends in the probe, and is started once more for that. */
	assert_int_equal(starts, LIMIT_UPSTREAM_FAILS + 1);
	assert_non_null(strstr(house_shown(u), "\"state\":\"quarantined\""));
	assert_non_null(strstr(house_shown(u), "no luck")); /* its last words */
	struct call *c = CALL(u, "echo");
	assert_int_equal(c->code, E_UNAVAILABLE);
	assert_non_null(strstr(c->text, "failed too often"));
	upstream_restart(u);
	assert_int_not_equal(upstream_state(u), UPSTREAM_QUARANTINED);
}

/* Its end takes longer than its back-off: one at a time, and it is still looked for again. */
static void
a_server_that_lingers_is_started_again(void **state)
{
	char count[128], word[140], line[64];
	unsigned starts = 0;
	struct err e;

	(void)state;
	snprintf(count, sizeof(count), "%s/count", dir);
	snprintf(word, sizeof(word), "count=%s", count);
	struct upstream *u =
	    house_server((struct server){.words = {"mute", "linger", word}, .start_ms = 100});
	UNTIL(strstr(house_shown(u), "\"restarts\":1"));
	FILE *f = fopen(count, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		starts++;
	fclose(f);
	assert_in_range(starts, 1, 2);
	assert_int_equal(upstreams_set(set, NULL, 0, &e), 0);
}

static void
a_server_with_a_problem_is_not_started(void **state)
{
	(void)state;
	struct upstream *u =
	    house_server((struct server){.problem = "env.TOKEN: the variable X is not set"});
	assert_int_equal(upstream_state(u), UPSTREAM_QUARANTINED);
	struct call *c = CALL(u, "echo");
	assert_int_equal(c->code, E_UNAVAILABLE);
	assert_non_null(strstr(c->text, "env.TOKEN: the variable X is not set"));
	assert_null(strstr(house_shown(u), "\"pid\""));
}

/* ---- words ---- */

static struct buf said; /* by the log */

static void
said_log(const char *line, size_t len, void *arg)
{
	(void)arg;
	buf_add(&said, (struct str){line, len});
	loop_stop(loop);
}

#define KEY_LINE "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"

/* Issue 5: what was filled in for a server, and what looks like a secret, is not in the log. */
static void
test_5_secrets_of_its_stderr_are_not_told(void **state)
{
	static const char *const secrets[] = {"hunter2-of-ours", "hunter2", NULL};
	static const struct {
		const char *text, *told, *last;
	} rows[] = {
	    {"it is hunter2-of-ours, or hunter2hunter2; no more",
	     "it is [REDACTED-SECRET], or "
	     "[REDACTED-SECRET][REDACTED-SECRET]; no more",
	     "no more"},
	    {"ghp_0123456789abcdefghijABCDEFGHIJ012345 it was", "[REDACTED-SECRET] it was",
	     "it was"},
	    {"-----BEGIN PRIVATE KEY-----\n" KEY_LINE "\n" KEY_LINE
	     "\n-----END PRIVATE KEY-----\nfin",
	     "fin", "fin"},
	};

	(void)state;
	said = BUF_INIT(MIB);
	log_set_sink(said_log, NULL);
	struct upstream *u = house_started((struct server){.secrets = secrets});
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct call c = {.argument = rows[i].text};
		upstream_restart(u); /* its back-off grows with every fall */
		call(&c, u, "leak");
		assert_int_equal(c.code, E_UNAVAILABLE);
		UNTIL(strstr(buf_z(&said), rows[i].told));
		assert_non_null(strstr(house_shown(u), rows[i].last)); /* its last words */
		assert_null(strstr(house_shown(u), "hunter2"));
	}
	assert_null(strstr(buf_z(&said), "hunter2"));
	assert_null(strstr(buf_z(&said), "ghp_"));
	assert_null(strstr(buf_z(&said), "MIIEvQ"));
	log_set_sink(house_log, NULL);
	buf_done(&said);
}

/* What npm and node print last says nothing of what went wrong. */
static void
test_5_its_last_words_are_those_that_say_something(void **state)
{
	static const struct {
		const char *text, *last;
	} rows[] = {
	    {"npm warn something\nnpm error code E404\n"
	     "npm error 404 Not Found - GET https://npm.example/nope\nnpm error 404\n"
	     "npm error 404 Note that you can also install from a\n"
	     "npm error A complete log of this run can be found in: /x.log",
	     "\"last_words\":\"npm error 404 Not Found - GET https://npm.example/nope\""},
	    {"npm ERR! could not determine executable to run\n\nnpm ERR! A complete log of this",
	     "\"last_words\":\"npm ERR! could not determine executable to run\""},
	    {"node:internal/modules/cjs/loader:1210\n  throw err;\n\nError: Cannot find module "
	     "'x'\n"
	     "    at Module._load {\n  code: 'MODULE_NOT_FOUND',\n}\n\nNode.js v20.20.2",
	     "\"last_words\":\"Error: Cannot find module 'x'\""},
	    {"  first\n  then this", "\"last_words\":\"then this\""},
	    {"one\nanother", "\"last_words\":\"another\""},
	};

	(void)state;
	struct upstream *u = house_started((struct server){0});
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct call c = {.argument = rows[i].text};
		upstream_restart(u); /* its back-off grows with every fall */
		call(&c, u, "leak");
		if (!strstr(house_shown(u), rows[i].last))
			fail_msg("%zu: %s", i, house_shown(u));
	}
}

/* ---- lists ---- */

static void
lists_that_do_not_end_are_cut(void **state)
{
	const struct server servers[] = {{.name = "a", .words = {"circle"}},
					 {.name = "b", .words = {"endless"}},
					 {.name = "c", .words = {"tools=10050", "page=3000"}},
					 {.name = "d", .words = {"flood"}}};

	(void)state;
	house_servers(servers, 4);
	for (size_t i = 0; i < 4; i++)
		UNTIL(upstream_state(upstream_at(set, i)) == UPSTREAM_STARTED);
	assert_in_range(upstream_tool_count(upstream_at(set, 0)), 3, 12);
	assert_int_equal(upstream_tool_count(upstream_at(set, 1)), LIMIT_UPSTREAM_PAGES);
	assert_int_equal(upstream_tool_count(upstream_at(set, 2)), LIMIT_UPSTREAM_ITEMS);
	assert_int_equal(CALL(upstream_at(set, 3), "echo")->code, 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, house_setup, house_teardown)
	const struct CMUnitTest tests[] = {
	    TEST(every_fault_ends_and_harms_nobody),
	    TEST(a_late_answer_is_dropped),
	    TEST(a_server_that_says_nothing_is_replaced),
	    TEST(test_5_it_is_replaced_when_others_have_the_clock),
	    TEST(test_5_a_server_that_is_slow_with_one_tool_stays),
	    TEST(test_5_a_server_that_reads_no_more_is_replaced),
	    TEST(a_server_that_never_answers_fails),
	    TEST(a_program_that_is_not_there_is_named),
	    TEST(a_crash_loop_ends_in_quarantine),
	    TEST(a_server_that_lingers_is_started_again),
	    TEST(a_server_with_a_problem_is_not_started),
	    TEST(test_5_secrets_of_its_stderr_are_not_told),
	    TEST(test_5_its_last_words_are_those_that_say_something),
	    TEST(lists_that_do_not_end_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
