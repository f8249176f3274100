/* test_str.c - text that somebody else owns. */

#include "unit.h"

#include "base/bug.h"
#include "base/str.h"

static const struct str absent = {NULL, 0};

static void
compares_by_bytes(void **state)
{
	(void)state;
	assert_true(str_eq(S("a\0b"), S("a\0b")));
	assert_false(str_eq(S("a\0b"), S("a\0c")));
	assert_true(str_eq(absent, S("")));
	assert_true(str_cmp(S("a"), S("ab")) < 0);
	assert_true(str_cmp(S("b"), S("ab")) > 0);
	assert_true(str_cmp(S("\xff"), S("a")) > 0);
	assert_int_equal(str_cmp(absent, S("")), 0);
	assert_true(str_eq_nocase(S("Content-Type"), S("content-tYPE")));
	assert_false(str_eq_nocase(S("a["), S("a{")));
	for (unsigned x = 0; x < 256; x++)
		for (unsigned y = 0; y < 256; y++) {
			bool letter = (x | 0x20) >= 'a' && (x | 0x20) <= 'z';
			char a[12] = "Mcp-Session", b[12] = "mCP-sESSION";
			size_t at = x % 11; /* in the first eight, in the last, in both */
			a[at] = (char)x;
			b[at] = (char)y;
			assert_int_equal(str_eq_nocase((struct str){a, 11}, (struct str){b, 11}),
					 x == y || (letter && (x ^ y) == 0x20));
		}
	assert_false(str_eq_nocase(S("a"), S("ab")));
	assert_true(str_is(str_of("x"), "x"));
	assert_null(str_of(NULL).ptr);
}

static void
looks_at_both_ends(void **state)
{
	(void)state;
	assert_true(str_starts(S("abc"), S("ab")) && str_starts(S("abc"), S("")));
	assert_false(str_starts(S("a"), S("ab")) || str_starts(S("abc"), S("b")));
	assert_true(str_ends(S("abc"), S("bc")) && str_ends(absent, S("")));
	assert_false(str_ends(S("c"), S("bc")) || str_ends(S("abc"), S("ab")));
	assert_int_equal(str_index(S("abcb"), 'b'), 1);
	assert_int_equal(str_index(S("abc"), 'x'), -1);
	assert_int_equal(str_index(absent, 'x'), -1);
	assert_true(str_is(str_from(S("abc"), 1), "bc"));
	assert_true(str_is(str_from(S("abc"), 9), ""));
	assert_non_null(str_from(S("abc"), 9).ptr);
	assert_null(str_from(absent, 1).ptr);
	assert_true(str_is(str_upto(S("abc"), 2), "ab"));
	assert_true(str_is(str_upto(S("abc"), 9), "abc"));
	assert_true(str_is(str_trim(S(" \t\r\n a b \n")), "a b"));
	assert_true(str_is(str_trim(S(" \n ")), ""));
}

static void
splits_into_parts_the_empty_ones_too(void **state)
{
	struct str rest = S("a,,b,"), part;
	static const char *const parts[] = {"a", "", "b", ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		assert_true(str_split(&rest, ',', &part));
		assert_true(str_is(part, parts[i]));
	}
	assert_false(str_split(&rest, ',', &part));
	rest = S("");
	assert_true(str_split(&rest, ',', &part));
	assert_int_equal(part.len, 0);
	assert_false(str_split(&rest, ',', &part));
}

static void
reads_numbers_without_sign(void **state)
{
	static const char *const bad[] = {"",
					  "-1",
					  "+1",
					  " 1",
					  "1 ",
					  "0x1",
					  "1.0",
					  "18446744073709551616",
					  "99999999999999999999"};
	uint64_t n = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(str_to_u64(str_of(bad[i]), &n));
	assert_int_equal(n, 7);
	assert_true(str_to_u64(S("0"), &n) && n == 0);
	assert_true(str_to_u64(S("007"), &n) && n == 7);
	assert_true(str_to_u64(S("18446744073709551615"), &n) && n == UINT64_MAX);
}

static void
knows_utf8(void **state)
{
	static const struct {
		struct str text;
		uint32_t code_point;
	} good[] = {
	    {S("a"), 'a'},
	    {S("\0"), 0},
	    {S("\x7f"), 0x7f},
	    {S("\xc2\x80"), 0x80},
	    {S("\xdf\xbf"), 0x7ff},
	    {S("\xe0\xa0\x80"), 0x800},
	    {S("\xed\x9f\xbf"), 0xd7ff},
	    {S("\xee\x80\x80"), 0xe000},
	    {S("\xef\xbf\xbf"), 0xffff},
	    {S("\xf0\x90\x80\x80"), 0x10000},
	    {S("\xf4\x8f\xbf\xbf"), 0x10ffff},
	};
	static const struct str bad[] = {
	    S("\x80"),
	    S("\xc0\x80"),
	    S("\xc1\xbf"),
	    S("\xc3"),
	    S("\xc3("),
	    S("\xe0\x9f\xbf"),
	    S("\xed\xa0\x80"),
	    S("\xe2\x82"),
	    S("\xe2\x82("),
	    S("\xf0\x8f\xbf\xbf"),
	    S("\xf4\x90\x80\x80"),
	    S("\xf5\x80\x80\x80"),
	    S("\xf0\x9f\x98"),
	    S("\xff"),
	};
	uint32_t c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_true(str_is_utf8(good[i].text));
		assert_int_equal(str_utf8_char(good[i].text, &c), good[i].text.len);
		assert_int_equal(c, good[i].code_point);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_false(str_is_utf8(bad[i]));
		assert_int_equal(str_utf8_char(bad[i], &c), 0);
	}
	assert_true(str_is_utf8(absent));
	assert_int_equal(str_utf8_char(absent, &c), 0);
}

static void
cuts_between_characters(void **state)
{
	struct str s = S("a\xc3\xa9\xf0\x9f\x98\x80");
	static const size_t lengths[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};

	(void)state;
	for (size_t max = 0; max < ARRAY_LEN(lengths); max++)
		assert_int_equal(str_utf8_upto(s, max).len, lengths[max]);
	/* What is no UTF-8 is cut where it was asked: a loop over parts must get on. */
	assert_int_equal(str_utf8_upto(S("\x80\x80\x80\x80\x80\x80"), 5).len, 5);
}

static void
hashes_as_fnv_1a(void **state)
{
	(void)state;
	assert_true(str_hash(S("")) == 0xcbf29ce484222325u);
	assert_true(str_hash(S("a")) == 0xaf63dc4c8601ec8cu);
	assert_true(str_hash(S("foobar")) == 0x85944171f73967e8u);
}

static void
leaves_off_a_character_that_has_only_begun(void **state)
{
	(void)state;
	assert_int_equal(str_utf8_whole(S("abc")).len, 3);
	assert_int_equal(str_utf8_whole(S("ab\xc3")).len, 2);
	assert_int_equal(str_utf8_whole(S("ab\xc3\xa9")).len, 4);
	assert_int_equal(str_utf8_whole(S("a\xf0\x9f\x98")).len, 1);
	assert_int_equal(str_utf8_whole(S("a\xf0\x9f\x98\x80")).len, 5);
	assert_int_equal(str_utf8_whole(S("\x80\x80\x80\x80")).len,
			 4); /* no text at all: as it is */
	assert_int_equal(str_utf8_whole(S("")).len, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(leaves_off_a_character_that_has_only_begun),
	    cmocka_unit_test(compares_by_bytes),
	    cmocka_unit_test(looks_at_both_ends),
	    cmocka_unit_test(splits_into_parts_the_empty_ones_too),
	    cmocka_unit_test(reads_numbers_without_sign),
	    cmocka_unit_test(knows_utf8),
	    cmocka_unit_test(cuts_between_characters),
	    cmocka_unit_test(hashes_as_fnv_1a),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
