/* test_write.c - what is written is JSON, and what was read comes back. */

#include "unit.h"

#include <math.h>

#include "base/limits.h"
#include "json/parsed.h"
#include "json/write.h"

static void
puts_commas_and_colons_by_itself(void **state)
{
	struct buf b = BUF_INIT(1000);
	struct jw w = jw(&b);

	(void)state;
	jw_object(&w);
	jw_key(&w, "a"), jw_array(&w);
	jw_int(&w, INT64_MIN), jw_bool(&w, true), jw_null(&w), jw_double(&w, 0.1);
	jw_array(&w), jw_end(&w), jw_object(&w), jw_end(&w), jw_raw(&w, S("[7]"));
	jw_end(&w);
	jw_member(&w, "s", S("x")), jw_member_z(&w, "z", NULL), jw_member_int(&w, "n", 5);
	jw_member_bool(&w, "no", false);
	jw_key_str(&w, S("k\"")), jw_str(&w, (struct str){NULL, 0});
	jw_key(&w, "e"), jw_str(&w, S(""));
	jw_end(&w);
	assert_string_equal(buf_z(&b),
			    "{\"a\":[-9223372036854775808,true,null,0.1,[],{},[7]],\"s\":\"x\","
			    "\"z\":null,\"n\":5,\"no\":false,\"k\\\"\":null,\"e\":\"\"}");
	buf_done(&b);
}

static void
goes_sixty_four_levels_deep(void **state)
{
	struct buf b = BUF_INIT(1000);
	struct jw w = jw(&b);

	(void)state;
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		jw_array(&w);
	jw_int(&w, 1), jw_int(&w, 2);
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		jw_end(&w);
	json_doc_unref(parsed(buf_z(&b)));
	buf_done(&b);
}

static void
makes_text_harmless(void **state)
{
	static const struct {
		struct str text;
		const char *json;
	} cases[] = {
	    {S("a\"b\\c/"), "\"a\\\"b\\\\c/\""},
	    {S("\b\t\n\f\r\x01\x1f\x7f\0"), "\"\\b\\t\\n\\f\\r\\u0001\\u001f\x7f\\u0000\""},
	    {S("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\""},
	    {S("a\xff\xc3\xa9\xc3"), "\"a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\""},
	    {S("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf b = BUF_INIT(1000);
		struct jw w = jw(&b);
		jw_str(&w, cases[i].text);
		assert_string_equal(buf_z(&b), cases[i].json);
		json_doc_unref(parsed(buf_z(&b)));
		buf_done(&b);
	}
}

static void
writes_the_shortest_double_that_reads_back(void **state)
{
	static const struct {
		double d;
		const char *json;
	} cases[] = {
	    {0.1, "0.1"},
	    {1, "1.0"},
	    {-0.0, "-0.0"},
	    {5e-324, "5e-324"},
	    {1e21, "1e21"},
	    {NAN, "null"},
	    {-INFINITY, "null"},
	    {1.0 / 3, "0.3333333333333333"},
	    {0x1p-44, "5.684341886080802e-14"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf b = BUF_INIT(100);
		struct jw w = jw(&b);
		jw_double(&w, cases[i].d);
		assert_string_equal(buf_z(&b), cases[i].json);
		buf_done(&b);
	}
}

static void
gives_a_parsed_value_back_as_it_was(void **state)
{
	static const char *const texts[] = {
	    "{\"z\":[1,-2,{\"y\":[],\"x\":{}}],\"a\":\"\\u0000\xc3\xa9\",\"b\":[[[null]],true]}",
	    "[123456789012345678901234567890,1e400,-0.0,18446744073709551615,1.5]",
	    "\"s\"",
	    "[]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_doc *doc = parsed(texts[i]);
		struct buf b = BUF_INIT(1000);
		struct jw w = jw(&b);
		jw_value(&w, json_root(doc));
		assert_string_equal(buf_z(&b), texts[i]);
		buf_done(&b);
		json_doc_unref(doc);
	}
}

static void
puts_values_of_any_depth_inside_others(void **state)
{
	struct buf deep = BUF_INIT(1000), b = BUF_INIT(1000);
	struct jw w = jw(&b);

	(void)state;
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		buf_addc(&deep, '[');
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		buf_addc(&deep, ']');
	struct json_doc *doc = parsed(buf_z(&deep));
	jw_array(&w);
	jw_value(&w, json_root(doc));
	jw_value(&w, NULL);
	jw_end(&w);
	assert_int_equal(b.len, deep.len + sizeof("[,null]") - 1);
	json_doc_unref(doc);
	buf_done(&deep);
	buf_done(&b);
}

static void
a_full_buffer_is_told_once_at_the_end(void **state)
{
	struct buf b = BUF_INIT(8);
	struct jw w = jw(&b);

	(void)state;
	jw_array(&w);
	for (int i = 0; i < 100; i++)
		jw_z(&w, "text");
	jw_end(&w);
	assert_true(buf_failed(&b));
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(puts_commas_and_colons_by_itself),
	    cmocka_unit_test(goes_sixty_four_levels_deep),
	    cmocka_unit_test(makes_text_harmless),
	    cmocka_unit_test(writes_the_shortest_double_that_reads_back),
	    cmocka_unit_test(gives_a_parsed_value_back_as_it_was),
	    cmocka_unit_test(puts_values_of_any_depth_inside_others),
	    cmocka_unit_test(a_full_buffer_is_told_once_at_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
