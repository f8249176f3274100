/* test_log.c - one whole and harmless line per event. */

#include "unit.h"

#include "base/buf.h"
#include "base/log.h"

static struct buf line;
static int lines;

static void
keep(const char *text, size_t len, void *arg)
{
	assert_ptr_equal(arg, &line);
	buf_reset(&line);
	buf_add(&line, (struct str){text, len});
	lines++;
}

static int
set_up(void **state)
{
	(void)state;
	line = BUF_INIT(64 * 1024);
	lines = 0;
	log_set_sink(keep, &line);
	log_set_level(LOG_INFO);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	log_set_sink(NULL, NULL);
	log_set_form(LOG_FORM_AUTO);
	buf_done(&line);
	return 0;
}

/* What stands behind the time. */
static const char *
said(const char *from)
{
	const char *at = strstr(buf_z(&line), from);

	return at ? at : buf_z(&line);
}

static void
writes_json_for_machines(void **state)
{
	(void)state;
	log_set_form(LOG_FORM_JSON);
	log_line(LOG_WARN, "tool ignored \"cancel\"", "call", "c1", "n", NULL, NULL);
	assert_true(str_starts(buf_str(&line), S("{\"time\":\"2")));
	assert_string_equal(said("\"level\""), "\"level\":\"warn\",\"text\":\"tool ignored "
					       "\\\"cancel\\\"\",\"call\":\"c1\",\"n\":\"\"}\n");
}

static void
writes_text_for_people(void **state)
{
	(void)state;
	log_set_form(LOG_FORM_TEXT);
	log_line(LOG_ERROR, "it's \"bad\"", "why", "a \"b\"", NULL);
	assert_string_equal(said(" error"), " error it's \"bad\" why=\"a \\\"b\\\"\"\n");
}

static void
nothing_breaks_out_of_its_line(void **state)
{
	static const enum log_form forms[] = {LOG_FORM_TEXT, LOG_FORM_JSON};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		log_set_form(forms[i]);
		log_line(LOG_INFO, "a\nb\x1b[2J", "k\ney", "v\r\x01\x7f\xff\xc3\xa9", NULL);
		for (size_t k = 0; k + 1 < line.len; k++)
			assert_true((unsigned char)line.ptr[k] >= 0x20 && line.ptr[k] != 0x7f);
		assert_int_equal(line.ptr[line.len - 1], '\n');
		assert_true(str_is_utf8(buf_str(&line)));
		assert_non_null(strstr(buf_z(&line), "a\\nb\\u001b[2J"));
	}
}

static void
a_long_line_is_cut_but_still_ends_well(void **state)
{
	static char controls[20000], letters[20000];

	(void)state;
	memset(controls, '\x01', sizeof(controls) - 1);
	memset(letters, 'x', sizeof(letters) - 1);
	log_set_form(LOG_FORM_JSON);
	log_line(LOG_INFO, controls, "a", controls, "b", "never shown", NULL);
	assert_true(line.len <= 16 * 1024);
	assert_true(str_ends(buf_str(&line), S("\",\"cut\":true}\n")));
	assert_null(strstr(buf_z(&line), "never shown"));
	log_line(LOG_INFO, "short", "a", letters, "b", "shown", NULL);
	assert_true(str_ends(buf_str(&line), S("x\",\"b\":\"shown\"}\n")));
	log_set_form(LOG_FORM_TEXT);
	log_line(LOG_INFO, controls, "a", controls, NULL);
	assert_true(str_ends(buf_str(&line), S(" (cut)\n")));
}

static void
keeps_silent_below_its_level(void **state)
{
	enum log_level level;

	(void)state;
	log_line(LOG_DEBUG, "not said", NULL);
	assert_int_equal(lines, 0);
	assert_true(log_level_parse("debug", &level));
	log_set_level(level);
	assert_int_equal(log_level_get(), LOG_DEBUG);
	log_line(LOG_DEBUG, "said", NULL);
	assert_int_equal(lines, 1);
	assert_false(log_level_parse("loud", &level));
	assert_true(log_level_parse("error", &level) && level == LOG_ERROR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(writes_json_for_machines, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(writes_text_for_people, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(nothing_breaks_out_of_its_line, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_long_line_is_cut_but_still_ends_well, set_up,
					    tear_down),
	    cmocka_unit_test_setup_teardown(keeps_silent_below_its_level, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
