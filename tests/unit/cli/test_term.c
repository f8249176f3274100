/* test_term.c - what agents write cannot harm a terminal or look like a line of ours. */

#include "unit.h"

#include <stdlib.h>

#include "cli/term.h"

static void
assert_safe(struct str text, enum safe how, const char *expected)
{
	struct buf b = BUF_INIT(1000);

	text_safe(&b, text, how);
	assert_string_equal(buf_z(&b), expected);
	buf_done(&b);
}

static void
control_and_invisible_characters_are_shown_as_what_they_are(void **state)
{
	(void)state;
	assert_safe(S("\033[31mred\r\x07"), SAFE_LINES, "\\e[31mred\\r\\x07");
	assert_safe(S("a\nb\tc"), SAFE_LINES, "a\nb\tc");
	assert_safe(S("a\nb\tc"), SAFE_LINE, "a\\nb\\tc");
	assert_safe(S("\xc2\x9b"
		      "2J"),
		    SAFE_LINES, "\\u{9b}2J");                        /* a C1 control */
	assert_safe(S("x\xe2\x80\xaey"), SAFE_LINES, "x\\u{202e}y"); /* right to left */
	assert_safe(S("x\xe2\x80\x8by"), SAFE_LINES, "x\\u{200b}y"); /* zero width */
	assert_safe(S("\xff\xc3"), SAFE_LINES, "\\xff\\xc3");
	assert_safe(S("na\xc3\xafve \xe6\xbc\xa2"), SAFE_LINES, "na\xc3\xafve \xe6\xbc\xa2");
	assert_safe((struct str){"a\0b", 3}, SAFE_LINES, "a\\x00b");
}

static void
in_json_they_are_escaped_as_json_does(void **state)
{
	(void)state;
	assert_safe(S("{\"a\":\"\xc2\x9b"
		      "2J\x7f\xe2\x80\xae\",\n\t\"na\xc3\xafve\":1}"),
		    SAFE_JSON, "{\"a\":\"\\u009b2J\\u007f\\u202e\",\n\t\"na\xc3\xafve\":1}");
	assert_safe(S("\"\xf3\xa0\x81\x81\xff\""), SAFE_JSON, "\"\\udb40\\udc41\\ufffd\"");
}

static void
columns_are_counted_as_a_screen_shows_them(void **state)
{
	(void)state;
	assert_int_equal(text_columns(S("abc")), 3);
	assert_int_equal(text_columns(S("na\xc3\xafve")), 5);
	assert_int_equal(text_columns(S("\xe6\xbc\xa2")), 2);
	assert_int_equal(text_upto(S("\xe6\xbc\xa2\xe6\xbc\xa2"), 3).len, 3);
	assert_int_equal(text_upto(S("abc"), 10).len, 3);
}

static void
every_line_of_a_block_stands_behind_the_margin(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = tmpfile();

	(void)state;
	text_block(f, "| ", S("one\n\n\ttwo\rAllow? y\n"));
	rewind(f);
	assert_true(getdelim(&text, &len, '\0', f) > 0);
	assert_string_equal(text, "| one\n| \n|         two\\rAllow? y\n");
	free(text);
	fclose(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(control_and_invisible_characters_are_shown_as_what_they_are),
	    cmocka_unit_test(in_json_they_are_escaped_as_json_does),
	    cmocka_unit_test(columns_are_counted_as_a_screen_shows_them),
	    cmocka_unit_test(every_line_of_a_block_stands_behind_the_margin),
	};
	term_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
