/* test_hash.c - equal text, equal hash; every byte counts. */

#include "unit.h"

#include "base/hash.h"

static void
every_byte_and_the_length_count(void **state)
{
	char text[64] = {0}, other[64] = {0};

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		struct str a = {text, len}, b = {other, len};
		assert_true(str_hash_keyed(a) == str_hash_keyed(b));
		assert_true(str_hash_keyed(a) != str_hash_keyed((struct str){text, len + 1}));
		for (size_t i = 0; i < len; i++) {
			other[i] = 1;
			assert_true(str_hash_keyed(a) != str_hash_keyed(b));
			other[i] = 0;
		}
	}
}

/* From some length on it is another way through the text. */
static void
every_byte_of_a_long_one_counts(void **state)
{
	static char text[2048], other[sizeof(text)];

	(void)state;
	for (size_t len = 480; len < sizeof(text) - 64; len += 61) {
		struct str a = {text, len}, b = {other, len};
		assert_true(str_hash_keyed(a) == str_hash_keyed(b));
		assert_true(str_hash_keyed(a) != str_hash_keyed((struct str){text, len + 64}));
		for (size_t i = 0; i < len; i++) {
			other[i] = 1;
			assert_true(str_hash_keyed(a) != str_hash_keyed(b));
			other[i] = 0;
		}
	}
	/* Nor can two parts change places. */
	memset(text, 'a', 16), memset(text + 16, 'b', 16);
	memset(other, 'b', 16), memset(other + 16, 'a', 16);
	assert_true(str_hash_keyed((struct str){text, 1024}) !=
		    str_hash_keyed((struct str){other, 1024}));
}

static void
a_hash_goes_on_from_another(void **state)
{
	(void)state;
	hash_begin();
	assert_true(hash_text(S("a"), 1) == hash_text(S("a"), 1));
	assert_true(hash_text(S("a"), 1) != hash_text(S("a"), 2));
	assert_true(hash_secret(0) != hash_secret(1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_byte_and_the_length_count),
	    cmocka_unit_test(every_byte_of_a_long_one_counts),
	    cmocka_unit_test(a_hash_goes_on_from_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
