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
what_fits_exactly_fits(void **state)
{
	struct buf b = BUF_INIT(10), none = BUF_INIT(0);

	(void)state;
	buf_addf(&b, "%s", "1234567890");
	assert_string_equal(buf_z(&b), "1234567890");
	assert_false(buf_failed(&b));
	assert_string_equal(buf_z(&none), "");
	assert_false(buf_failed(&none));
	buf_addf(&none, "%d", 1);
	assert_true(buf_failed(&none));
	assert_null(buf_z(&none));
	buf_done(&b);
	buf_done(&none);
	assert_false(buf_failed(&none));
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
	buf_trim(&b);
	assert_int_equal(b.cap, 5);
	buf_addc(&b, '!');
	assert_string_equal(buf_z(&b), "seven!");
	struct buf other = buf_take(&b);
	assert_int_equal(b.len, 0);
	assert_true(str_is(buf_str(&other), "seven!"));
	buf_done(&other);
	buf_trim(&b);
	assert_null(b.ptr);
	buf_done(&b);
}

static void
writes_numbers_to_their_ends(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)state;
	buf_add_i64(&b, INT64_MIN);
	buf_addc(&b, ' ');
	buf_add_i64(&b, -7);
	buf_addc(&b, ' ');
	buf_add_u64(&b, 0);
	buf_addc(&b, ' ');
	buf_add_u64(&b, UINT64_MAX);
	assert_string_equal(buf_z(&b), "-9223372036854775808 -7 0 18446744073709551615");
	buf_done(&b);
}

static void
room_before_it_is_used_and_given_back(void **state)
{
	struct buf b = BUF_INIT(1000);

	(void)state;
	buf_addz(&b, "0123456789abcdef");
	/* As if the first ten bytes had been of no use. */
	b.ptr += 10;
	b.len -= 10;
	b.cap -= 10;
	b.before = 10;
	const char *at = b.ptr;
	buf_add_front(&b, S("xyz"));
	assert_ptr_equal(b.ptr, at - 3);
	assert_string_equal(buf_z(&b), "xyzabcdef");
	buf_add_front(&b, S("more than there is room for, "));
	assert_string_equal(buf_z(&b), "more than there is room for, xyzabcdef");
	buf_addz(&b, "!");
	buf_trim(&b);
	for (int i = 0; i < 90; i++)
		buf_addz(&b, "0123456789");
	assert_int_equal(b.len, 939);
	assert_true(str_starts(buf_str(&b), S("more than there")));
	buf_done(&b);
	buf_addz(&b, "empty");
	buf_add_front(&b, S("not "));
	assert_string_equal(buf_z(&b), "not empty");
	b.max = 10;
	buf_add_front(&b, S("no room"));
	assert_true(buf_failed(&b));
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(grows_to_its_maximum_and_no_further),
	    cmocka_unit_test(what_fits_exactly_fits),
	    cmocka_unit_test(formats_eats_and_moves_out),
	    cmocka_unit_test(writes_numbers_to_their_ends),
	    cmocka_unit_test(room_before_it_is_used_and_given_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
