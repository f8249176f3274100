/* test_plain.c - one line, nothing hidden in it. */

#include "unit.h"

#include "text/plain.h"

static void
check(struct str text, size_t max, const char *expected, bool more)
{
	struct buf out = BUF_INIT(1000);

	assert_int_equal(plain_line(&out, text, max), more);
	assert_string_equal(buf_z(&out), expected);
	buf_done(&out);
}

static void
blanks_and_control_characters_become_one_blank(void **state)
{
	(void)state;
	check(S("plain"), 100, "plain", false);
	check(S("  a\n\r\tb  "), 100, "a b", false);
	check(S("a\x1b[31mb\x7f\0c"), 100, "a [31mb c", false);
	check(S("a\xc2\x85\xe2\x80\xa8\xe3\x80\x80z"), 100, "a z", false);
	check(S(" \n "), 100, "", false);
}

static void
what_cannot_be_seen_goes(void **state)
{
	(void)state;
	check(S("a\xe2\x80\xae"
		"b\xe2\x80\x8b"
		"c\xef\xbb\xbf"
		"d"),
	      100, "abcd", false);
	check(S("ok\xf3\xa0\x81\xa9\xf3\xa0\x81\xae"), 100, "ok", false); /* tag letters */
	check(S("a\xe3\x85\xa4"
		"b\xcd\x8f"
		"c\xef\xb8\x80"
		"d\xef\xbe\xa0"),
	      100, "abcd", false); /* fillers, and selectors of variants */
}

#define EMOJI "\xef\xb8\x8f"
#define JOINER "\xe2\x80\x8d"
#define NON_JOINER "\xe2\x80\x8c"

static void
joiners_stay_only_where_they_join(void **state)
{
	static const char heart[] = "\xe2\x9d\xa4" EMOJI JOINER "\xf0\x9f\x94\xa5";

	(void)state;
	check(str_of(heart), 100, heart, false);
	check(S("می" NON_JOINER "خواهم"), 100, "می" NON_JOINER "خواهم", false);
	check(S(JOINER "a" JOINER NON_JOINER JOINER JOINER "b"), 100, "a" JOINER "b", false);
	check(S("a" EMOJI EMOJI EMOJI "b " JOINER EMOJI "c"), 100, "a" EMOJI "b c", false);
}

static void
bad_bytes_become_a_character(void **state)
{
	(void)state;
	check(S("a\xff\xe2\x80"), 100, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", false);
}

static void
it_is_cut_between_characters_and_says_so(void **state)
{
	(void)state;
	check(S("日本語"), 3, "日本語", false);
	check(S("日本語"), 2, "日本", true);
	check(S("ab cd"), 3, "ab", true); /* no blank at the end */
	check(S("ab   "), 2, "ab", false);
	check(S("ab"), 0, "", true);
}

static void
blanks_at_the_end_are_taken_off(void **state)
{
	(void)state;
	assert_true(str_is(plain_trim_end(S("a b \xe3\x80\x80\n")), "a b"));
	assert_true(str_is(plain_trim_end(S("é")), "é"));
	assert_true(str_is(plain_trim_end(S(" \t")), ""));
	assert_int_equal(plain_trim_end(S("a\x80")).len, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(blanks_and_control_characters_become_one_blank),
	    cmocka_unit_test(what_cannot_be_seen_goes),
	    cmocka_unit_test(joiners_stay_only_where_they_join),
	    cmocka_unit_test(bad_bytes_become_a_character),
	    cmocka_unit_test(it_is_cut_between_characters_and_says_so),
	    cmocka_unit_test(blanks_at_the_end_are_taken_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
