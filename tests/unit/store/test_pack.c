/* test_pack.c - records made short, and what is made of bytes that never were. */

#include "unit.h"

#include <stdlib.h>

#include "base/limits.h"
#include "store/pack.h"

static struct buf text, packed, back;
static struct err e;

static int
setup(void **state)
{
	(void)state;
	text = packed = back = BUF_INIT(4 * MIB);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	buf_done(&text);
	buf_done(&packed);
	buf_done(&back);
	return 0;
}

static void
what_repeats_becomes_short_and_whole_again(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_addf(&text, "{\"session_id\":\"sess_01M7KJHZD5RHNBJ0TNH06VHF0D\",\"n\":%d}\n",
			 i);
	assert_true(pack(buf_str(&text), &packed));
	assert_true(packed.len < text.len / 4);
	assert_int_equal(unpack(buf_str(&packed), text.len, &back, &e), 0);
	assert_true(str_eq(buf_str(&back), buf_str(&text)));
	/* Longer than whoever reads it allows. */
	assert_int_equal(unpack(buf_str(&packed), text.len - 1, &back, &e), E_STORE);
}

static void
what_does_not_become_shorter_is_left_alone(void **state)
{
	(void)state;
	assert_false(pack(S("abcd"), &packed));
	srand(7);
	for (int i = 0; i < 4096; i++)
		buf_addc(&text, (char)rand());
	assert_false(pack(buf_str(&text), &packed));
	packed.max = 64;
	buf_reset(&text);
	for (int i = 0; i < 4096; i++)
		buf_addc(&text, 'a');
	assert_false(pack(buf_str(&text), &packed)); /* no room: it stays text */
}

static void
any_bytes_are_refused_or_bounded(void **state)
{
	(void)state;
	assert_int_equal(unpack(S(""), 100, &back, &e), E_STORE);
	assert_int_equal(unpack(S("\x01\0\0\0"), 100, &back, &e), E_STORE);
	assert_int_equal(unpack(S("\xff\xff\xff\xff"
				  "abc"),
				4 * MIB, &back, &e),
			 E_STORE);
	for (int i = 0; i < 1000; i++)
		buf_addf(&text, "the same again, %d. ", i / 3);
	assert_true(pack(buf_str(&text), &packed));
	srand(11);
	for (int i = 0; i < 5000; i++) {
		size_t at = (size_t)rand() % packed.len;
		char was = packed.ptr[at];
		packed.ptr[at] = (char)rand();
		if (unpack(buf_str(&packed), MIB, &back, &e) == 0)
			assert_true(back.len <= MIB);
		packed.ptr[at] = was;
		(void)unpack((struct str){packed.ptr, at}, MIB, &back, &e);
	}
	assert_int_equal(unpack(buf_str(&packed), MIB, &back, &e), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(what_repeats_becomes_short_and_whole_again, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_does_not_become_shorter_is_left_alone, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(any_bytes_are_refused_or_bounded, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
