/* test_number.c - logarithm and root of whole numbers. */

#include "unit.h"

#include "search/number.h"

static void
logarithms_of_powers_are_exact(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++)
		assert_int_equal(number_log2(1ull << bit), bit * LOG_ONE);
	assert_int_equal(number_log2(3), 6492);        /* 1.58496 * 4096 */
	assert_int_equal(number_log2(1000000), 81639); /* 19.93157 */
}

static void
logarithms_never_fall(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 300000; n++)
		assert_true(number_log2(n) <= number_log2(n + 1));
}

static void
roots_are_rounded_down(void **state)
{
	(void)state;
	assert_int_equal(number_root(UINT64_MAX), UINT32_MAX);
	for (uint64_t n = 0; n < 100000; n++) {
		uint64_t root = number_root(n);
		assert_true(root * root <= n && (root + 1) * (root + 1) > n);
	}
}

static void
what_fewer_have_is_rarer(void **state)
{
	(void)state;
	for (uint64_t some = 0; some < 1000; some++)
		assert_true(number_rarity(some, 1000) > number_rarity(some + 1, 1000));
	assert_true(number_rarity(1000, 1000) > 0);
	assert_int_equal(number_rarity(0, 0), LOG_ONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(logarithms_of_powers_are_exact),
	    cmocka_unit_test(logarithms_never_fall),
	    cmocka_unit_test(roots_are_rounded_down),
	    cmocka_unit_test(what_fewer_have_is_rarer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
