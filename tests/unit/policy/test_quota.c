/* test_quota.c - so many in any so much time, and when the next may come. */

#include "unit.h"

#include "policy/quota.h"

static const struct rate three = {.calls = 3, .per_ms = 1000};

static void
the_window_slides(void **state)
{
	static const uint64_t at[] = {0, 100, 900};
	struct quota q = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(quota_wait_ms(&q, &three, at[i]), 0);
		assert_int_equal(quota_take(&q, &three, at[i]), 0);
	}
	assert_int_equal(quota_wait_ms(&q, &three, 900), 100);
	assert_int_equal(quota_wait_ms(&q, &three, 999), 1);
	assert_int_equal(quota_wait_ms(&q, &three, 1000), 0);
	assert_int_equal(quota_take(&q, &three, 1000), 0);
	assert_int_equal(quota_wait_ms(&q, &three, 1000), 100);
	quota_done(&q);
}

/* Never more than three in any thousand milliseconds, however they come. */
static void
no_window_ever_holds_more(void **state)
{
	struct quota q = {0};
	uint64_t taken[1000];
	size_t n = 0;
	unsigned dice = 7;

	(void)state;
	for (uint64_t now = 0; n < 1000; now += (dice = dice * 1103515245 + 12345) >> 16 & 255) {
		if (quota_wait_ms(&q, &three, now) > 0)
			continue;
		assert_int_equal(quota_take(&q, &three, now), 0);
		taken[n++] = now;
		if (n > 3)
			assert_true(now - taken[n - 4] >= 1000);
	}
	quota_done(&q);
}

static void
without_a_rate_nothing_is_counted(void **state)
{
	static const struct rate none = {.per_ms = 1000};
	struct quota q = {0};

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(quota_take(&q, &none, 0), 0);
		assert_int_equal(quota_wait_ms(&q, &none, 0), 0);
	}
	assert_null(q.times);
}

/* A reload gives another rate: what was used is used. */
static void
another_rate_keeps_the_newest(void **state)
{
	static const struct rate two = {.calls = 2, .per_ms = 1000},
				 five = {.calls = 5, .per_ms = 1000};
	struct quota q = {0};

	(void)state;
	for (uint64_t at = 0; at < 3; at++)
		assert_int_equal(quota_take(&q, &three, at * 100), 0);
	assert_int_equal(quota_wait_ms(&q, &two, 200), 900);
	assert_int_equal(quota_wait_ms(&q, &five, 200), 0);
	assert_int_equal(quota_take(&q, &five, 300), 0);
	assert_int_equal(quota_take(&q, &five, 400), 0);
	assert_int_equal(quota_wait_ms(&q, &five, 400), 600);
	assert_int_equal(quota_wait_ms(&q, &two, 400), 900);
	assert_int_equal(quota_take(&q, &two, 1300), 0);
	assert_int_equal(quota_wait_ms(&q, &two, 1300), 100);
	quota_done(&q);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_window_slides),
	    cmocka_unit_test(no_window_ever_holds_more),
	    cmocka_unit_test(without_a_rate_nothing_is_counted),
	    cmocka_unit_test(another_rate_keeps_the_newest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
