/* test_breaker.c - when one is left alone, and who tries again. */

#include "unit.h"

#include "policy/breaker.h"

static const struct breaker_tuning three = {.failures = 3, .window_ms = 8000, .rest_ms = 5000};

/* One call at that time; it must be let through. True: it was the one that tried. */
static bool
send_one(struct breaker *b, enum breaker_outcome outcome, uint64_t at, bool *ret_changed)
{
	bool changed;

	assert_int_equal(breaker_wait_ms(b, &three, at), 0);
	bool tried = breaker_begin(b);
	changed = breaker_end(b, &three, tried, outcome, at);
	if (ret_changed)
		*ret_changed = changed;
	return tried;
}

static void
it_opens_at_the_failures_of_the_window(void **state)
{
	struct breaker b = {0};
	bool changed;

	(void)state;
	assert_false(send_one(&b, BREAKER_BAD, 1000, &changed));
	assert_false(changed);
	send_one(&b, BREAKER_BAD, 2000, &changed);
	assert_false(changed);
	assert_string_equal(breaker_word(&b, &three, 2000), "closed");
	send_one(&b, BREAKER_BAD, 3000, &changed);
	assert_true(changed);
	assert_string_equal(breaker_word(&b, &three, 3000), "open");
	assert_int_equal(breaker_wait_ms(&b, &three, 3000), 5000);
	assert_int_equal(breaker_wait_ms(&b, &three, 7999), 1);
	assert_int_equal(breaker_wait_ms(&b, &three, 8000), 0);
}

static void
what_is_older_than_the_window_does_not_count(void **state)
{
	struct breaker b = {0};
	bool changed;

	(void)state;
	send_one(&b, BREAKER_BAD, 0, NULL);
	send_one(&b, BREAKER_BAD, 500, NULL);
	send_one(&b, BREAKER_BAD, 8500, &changed);
	assert_false(changed);
	send_one(&b, BREAKER_BAD, 9000, &changed);
	assert_false(changed);
	send_one(&b, BREAKER_BAD, 9500, &changed);
	assert_true(changed);
}

static void
a_few_failures_among_many_successes_open_nothing(void **state)
{
	struct breaker b = {0};
	bool changed;

	(void)state;
	for (uint64_t at = 0; at < 4000; at += 400)
		send_one(&b, BREAKER_GOOD, at, NULL);
	for (uint64_t at = 4000; at < 7600; at += 400) {
		send_one(&b, BREAKER_BAD, at, &changed);
		assert_false(changed);
	}
	send_one(&b, BREAKER_BAD, 7600, &changed); /* half of them now */
	assert_true(changed);
}

static void
one_tries_and_the_others_wait_for_it(void **state)
{
	struct breaker b = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		send_one(&b, BREAKER_BAD, 0, NULL);
	assert_string_equal(breaker_word(&b, &three, 5000), "half_open");
	assert_true(breaker_begin(&b));
	assert_int_equal(breaker_wait_ms(&b, &three, 5000), BREAKER_TRYING_MS);
	assert_string_equal(breaker_word(&b, &three, 5000), "half_open");
	/* It failed: the rest begins anew. */
	assert_false(breaker_end(&b, &three, true, BREAKER_BAD, 6000));
	assert_int_equal(breaker_wait_ms(&b, &three, 6000), 5000);
	/* The next one goes well. */
	assert_true(breaker_begin(&b));
	assert_true(breaker_end(&b, &three, true, BREAKER_GOOD, 11000));
	assert_string_equal(breaker_word(&b, &three, 11000), "closed");
	/* And nothing of before counts. */
	bool changed;
	send_one(&b, BREAKER_BAD, 11001, &changed);
	assert_false(changed);
}

static void
one_that_was_given_up_leaves_the_trial_to_the_next(void **state)
{
	struct breaker b = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		send_one(&b, BREAKER_BAD, 0, NULL);
	assert_true(breaker_begin(&b));
	assert_false(breaker_end(&b, &three, true, BREAKER_UNKNOWN, 5000));
	assert_int_equal(breaker_wait_ms(&b, &three, 5001), 0);
	assert_true(breaker_begin(&b));
}

static void
what_was_under_way_when_it_opened_decides_nothing(void **state)
{
	struct breaker b = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		send_one(&b, BREAKER_BAD, 0, NULL);
	assert_false(breaker_end(&b, &three, false, BREAKER_GOOD, 10));
	assert_false(breaker_end(&b, &three, false, BREAKER_BAD, 4000));
	assert_int_equal(breaker_wait_ms(&b, &three, 4000), 1000);
}

static void
without_a_number_it_never_opens(void **state)
{
	struct breaker_tuning never = {.window_ms = 1000, .rest_ms = 1000};
	struct breaker b = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_false(breaker_end(&b, &never, breaker_begin(&b), BREAKER_BAD, 0));
	assert_int_equal(breaker_wait_ms(&b, &never, 0), 0);
	/* One that was open when the setting went is let go. */
	for (int i = 0; i < 3; i++)
		send_one(&b, BREAKER_BAD, 0, NULL);
	assert_int_equal(breaker_wait_ms(&b, &never, 0), 0);
	assert_string_equal(breaker_word(&b, &never, 0), "closed");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_opens_at_the_failures_of_the_window),
	    cmocka_unit_test(what_is_older_than_the_window_does_not_count),
	    cmocka_unit_test(a_few_failures_among_many_successes_open_nothing),
	    cmocka_unit_test(one_tries_and_the_others_wait_for_it),
	    cmocka_unit_test(one_that_was_given_up_leaves_the_trial_to_the_next),
	    cmocka_unit_test(what_was_under_way_when_it_opened_decides_nothing),
	    cmocka_unit_test(without_a_number_it_never_opens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
