/* test_tuning.c - what the file says of tools, and how long is waited between attempts. */

#include "unit.h"

#include <string.h>

#include "base/limits.h"
#include "policy/tuning.h"

static struct tunings *
tunings_of(const char *yaml, struct err *e)
{
	struct tunings *t = NULL;
	struct yaml y = {0};

	*e = ERR_NONE;
	assert_int_equal(yaml_parse(str_of(yaml), LIMIT_CONFIG_BYTES, &y, e), 0);
	int code = tunings_new(&y, json_get(json_root(y.doc), S("tools")), &t, e);
	assert_int_equal(code, t ? 0 : e->code);
	yaml_done(&y);
	return t;
}

static struct tunings *
good(const char *yaml)
{
	struct err e;
	struct tunings *t = tunings_of(yaml, &e);

	if (!t)
		fail_msg("%s", e.text);
	return t;
}

/* The values of seed 002. */
static void
nothing_said_is_two_attempts_and_three_repeats(void **state)
{
	static const char *const files[] = {"{}", "tools:\n", "tools: {defaults: }\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct tunings *t = good(files[i]);
		const struct tuning *got = tunings_find(t, S("anything"));
		assert_int_equal(got->retry.attempts, 2);
		assert_int_equal(got->retry.initial_ms, 200);
		assert_int_equal(got->retry.max_ms, 2000);
		assert_true(got->retry.multiplier == 2 && got->retry.jitter == .2);
		assert_int_equal(got->repeat_limit, 3);
		assert_int_equal(got->timeout_ms + got->max_ms + got->rate.calls, 0);
		assert_int_equal(got->breaker.failures + got->max_result_bytes, 0);
		assert_int_equal(got->confinement, CONFINE_UNSET);
		tunings_unref(t);
	}
	assert_ptr_equal(tunings_find(NULL, S("x")), &tuning_plain);
}

static void
the_closest_pattern_decides_setting_by_setting(void **state)
{
	struct tunings *t =
	    good("tools:\n"
		 "  defaults: {timeout_seconds: 7, retry: {attempts: 4}}\n"
		 "  '*': {max_seconds: 100}\n"
		 "  'github__*': {timeout_seconds: 20, rate: {calls: 30}}\n"
		 "  'github__get_?': {timeout_seconds: 0.5, track_changes: true}\n"
		 "  github__get_x: {retry: {initial_ms: 5}, confinement: strict}\n");
	const struct tuning *other = tunings_find(t, S("shell"));
	const struct tuning *list = tunings_find(t, S("github__list"));
	const struct tuning *x = tunings_find(t, S("github__get_x"));

	(void)state;
	assert_int_equal(other->timeout_ms, 7000);
	assert_int_equal(other->max_ms, 100000);
	assert_int_equal(other->retry.attempts, 4);
	assert_int_equal(list->timeout_ms, 20000);
	assert_int_equal(list->rate.calls, 30);
	assert_int_equal(list->rate.per_ms, 60000);
	assert_int_equal(x->timeout_ms, 500);
	assert_true(x->track_changes);
	assert_int_equal(x->rate.calls, 30);
	assert_int_equal(x->retry.attempts, 4);
	assert_int_equal(x->retry.initial_ms, 5);
	assert_int_equal(x->confinement, CONFINE_STRICT);
	/* Found once: the same again. */
	assert_ptr_equal(x, tunings_find(t, S("github__get_x")));
	struct tuning again;
	tunings_read(t, S("github__get_x"), &again);
	assert_int_equal(again.timeout_ms, 500);
	tunings_unref(t);
}

static void
a_name_counts_more_than_any_pattern(void **state)
{
	struct tunings *t = good("tools:\n"
				 "  a__b: {repeat_limit: 1}\n"
				 "  'a__b*': {repeat_limit: 2}\n"
				 "  'a_*_b': {repeat_limit: 4}\n");

	(void)state;
	assert_int_equal(tunings_find(t, S("a__b"))->repeat_limit, 1);
	assert_int_equal(tunings_find(t, S("a__bc"))->repeat_limit, 2);
	assert_int_equal(tunings_find(t, S("a_x_b"))->repeat_limit, 4);
	tunings_unref(t);
}

static void
what_contradicts_itself_is_refused_with_its_line(void **state)
{
	struct err e;

	(void)state;
	assert_null(
	    tunings_of("tools:\n  shell:\n    timeout_seconds: 9\n    max_seconds: 8\n", &e));
	assert_int_equal(e.code, E_CONFIG);
	assert_non_null(strstr(e.text, "line 3: tools.shell: max_seconds is less than"));
	assert_null(tunings_of("tools:\n  defaults: {retry: {initial_ms: 3000}}\n", &e));
	assert_non_null(strstr(e.text, "tools.defaults.retry: initial_ms is more than max_ms"));
}

static void
servers_have_a_breaker_and_may_have_a_rate(void **state)
{
	struct tunings *t = good("{}");
	struct json_doc *doc;

	(void)state;
	assert_int_equal(json_parse(S("{\"rate\":{\"calls\":3,\"per_seconds\":1.5},"
				      "\"breaker\":{\"failures\":0},\"confinement\":\"open\"}"),
				    &json_door, &doc, NULL),
			 0);
	assert_int_equal(tunings_add_server(t, S("s"), json_root(doc)), 0);
	json_doc_unref(doc);
	const struct tuning *s = tunings_server(t, S("s"));
	assert_int_equal(s->rate.calls, 3);
	assert_int_equal(s->rate.per_ms, 1500);
	assert_int_equal(s->breaker.failures, 0);
	assert_int_equal(s->confinement, CONFINE_UNSET);
	assert_ptr_equal(tunings_server(t, S("other")), &tuning_plain_server);
	assert_ptr_equal(tunings_server(NULL, S("s")), &tuning_plain_server);
	assert_true(tuning_plain_server.breaker.failures > 0);
	tunings_unref(t);
}

/* A call keeps what it began with. */
static void
references_keep_them(void **state)
{
	struct tunings *t = good("tools: {x: {timeout_seconds: 3}}\n"), *held = tunings_ref(t);
	const struct tuning *x = tunings_find(t, S("x"));

	(void)state;
	tunings_unref(t);
	assert_int_equal(x->timeout_ms, 3000);
	tunings_unref(held);
	tunings_unref(NULL);
}

/* Vectors: buckley_vectors.json `backoff`, cw_controls.json `backoff`. */
static void
delays_grow_up_to_the_maximum(void **state)
{
	static const unsigned middle[] = {200, 400, 800, 1600, 2000, 2000};
	static const unsigned other[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
	struct retry r = {.initial_ms = 200, .max_ms = 2000, .multiplier = 2};
	struct retry cw = {.initial_ms = 100, .max_ms = 5000, .multiplier = 2};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(middle); i++)
		assert_int_equal(retry_delay_ms(&r, i + 1, 0.3), middle[i]);
	for (unsigned i = 0; i < ARRAY_LEN(other); i++)
		assert_int_equal(retry_delay_ms(&cw, i + 1, 1), other[i]);
	assert_int_equal(retry_delay_ms(&r, UINT32_MAX, 0), 2000);
}

static void
jitter_spreads_them_and_never_beyond_the_maximum(void **state)
{
	struct retry r = tuning_plain.retry,
		     whole = {.initial_ms = 100, .max_ms = 1000, .jitter = 1};

	(void)state;
	assert_int_equal(retry_delay_ms(&r, 1, 0), 160);
	assert_int_equal(retry_delay_ms(&r, 1, .5), 200);
	assert_int_equal(retry_delay_ms(&r, 1, 1), 240);
	assert_int_equal(retry_delay_ms(&r, 9, 1), 2000);
	assert_int_equal(retry_delay_ms(&r, 9, 0), 1600);
	assert_int_equal(retry_delay_ms(&whole, 1, 0), 0);
	assert_int_equal(retry_delay_ms(&whole, 1, 1), 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_said_is_two_attempts_and_three_repeats),
	    cmocka_unit_test(the_closest_pattern_decides_setting_by_setting),
	    cmocka_unit_test(a_name_counts_more_than_any_pattern),
	    cmocka_unit_test(what_contradicts_itself_is_refused_with_its_line),
	    cmocka_unit_test(servers_have_a_breaker_and_may_have_a_rate),
	    cmocka_unit_test(references_keep_them),
	    cmocka_unit_test(delays_grow_up_to_the_maximum),
	    cmocka_unit_test(jitter_spreads_them_and_never_beyond_the_maximum),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
