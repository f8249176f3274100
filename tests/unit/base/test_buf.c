/* test_buf.c - buffers keep to their maximum. */

#include "unit.h"

#include "base/buf.h"

static void
grows_to_its_maximum_and_no_further(void **state)
{
	struct buf b = BUF_INIT(10);

	(void)state;
	buf_addz(&b, "12345");
	buf_addz(&b, "67890");
	assert_false(buf_failed(&b));
	buf_addc(&b, 'x');
	assert_true(buf_failed(&b));
	assert_int_equal(b.len, 10);
	buf_addz(&b, "");
	assert_true(buf_failed(&b));
	buf_done(&b);
}

static void
formats_eats_and_moves_out(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)state;
	buf_addf(&b, "%d-%s", 7, "seven");
	assert_string_equal(buf_z(&b), "7-seven");
	buf_eat(&b, 2);
	assert_true(str_is(buf_str(&b), "seven"));
	struct buf other = buf_take(&b);
	assert_int_equal(b.len, 0);
	assert_true(str_is(buf_str(&other), "seven"));
	buf_done(&other);
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(grows_to_its_maximum_and_no_further),
	    cmocka_unit_test(formats_eats_and_moves_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
