/* test_dispatcher.c - errors in the words of the dispatcher's contract (seed 000). */

#include "unit.h"

#include "schema/schemas.h"
#include "testdata.h"

static void
check(const struct schema *s, struct str value, const char *expected)
{
	check_words(s, value, SCHEMA_DISPATCHER, expected);
}

static void
check_one(const char *schema, const char *value, const char *expected)
{
	struct schema *s = compiled(schema);

	check(s, str_of(value), expected);
	schema_free(s);
}

static void
says_what_does_not_fit(void **state)
{
	static const struct {
		const char *schema, *value, *errors;
	} cases[] = {
	    {"{}", "{\"anything\":[1]}", ""},
	    {"{\"type\":\"integer\"}", "1.0", ""},
	    {"{\"type\":\"integer\"}", "1e400", ""},
	    {"{\"type\":\"integer\"}", "1.5", "$: 1.5 is not of type 'integer'"},
	    {"{\"type\":\"number\"}", "123456789012345678901", ""},
	    {"{\"type\":\"number\"}", "true", "$: True is not of type 'number'"},
	    {"{\"type\":\"boolean\"}", "null", "$: None is not of type 'boolean'"},
	    {"{\"type\":[\"string\",\"null\"]}", "null", ""},
	    {"{\"type\":[\"string\",\"null\"]}", "{\"a\":[1,\"b\"]}",
	     "$: {'a': [1, 'b']} is not of type 'string', 'null'"},
	    {"{\"enum\":[\"r\",1,null]}", "1.0", ""},
	    {"{\"enum\":[\"r\",1,null]}", "\"q\"", "$: 'q' is not one of ['r', 1, None]"},
	    {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1}", ""},
	    {"{\"const\":null}", "null", ""},
	    {"{\"const\":\"x\"}", "\"y\"", "$: 'x' was expected"},
	    {"{\"minimum\":1,\"maximum\":2.5}", "2.5", ""},
	    {"{\"minimum\":1}", "0", "$: 0 is less than the minimum of 1"},
	    {"{\"maximum\":2.5}", "1e21", "$: 1e+21 is greater than the maximum of 2.5"},
	    {"{\"maximum\":9007199254740992}", "9007199254740993",
	     "$: 9007199254740993 is greater than the maximum of 9007199254740992"},
	    {"{\"maximum\":1e308}", "1e400", "$: 1e400 is greater than the maximum of 1e+308"},
	    {"{\"minimum\":1}", "\"no number\"", ""},
	    {"{\"minLength\":2,\"maxLength\":2}", "\"\xc3\xa9\xf0\x9f\x98\x80\"", ""},
	    {"{\"minLength\":2}", "\"\xf0\x9f\x98\x80\"", "$: '\xf0\x9f\x98\x80' is too short"},
	    {"{\"maxLength\":4.0}", "\"abcde\"", "$: 'abcde' is too long"},
	    {"{\"minItems\":1}", "[]", "$: [] is too short"},
	    {"{\"maxItems\":1}", "[1,2]", "$: [1, 2] is too long"},
	    {"{\"pattern\":\"b+\"}", "\"abc\"", ""},
	    {"{\"pattern\":\"^a\"}", "\"ba\"", "$: 'ba' does not match '^a'"},
	    {"{\"pattern\":\"^a$\"}", "\"a\\n\"", "$: 'a\\n' does not match '^a$'"},
	    {"{\"pattern\":\"^\\\\u00e9.$\"}", "\"\xc3\xa9\xf0\x9f\x98\x80\"", ""},
	    {"{\"pattern\":\"^\\\\d+$\"}", "\"\xd9\xa3\"",
	     "$: '\xd9\xa3' does not match '^\\\\d+$'"},
	    {"{\"required\":[\"b\",\"a\",\"b\"]}", "{}",
	     "$: 'b' is a required property\n$: 'a' is a required property"},
	    {"{\"required\":[\"a\"]}", "{\"a\":null}", ""},
	    {"{\"required\":[\"a\"],\"additionalProperties\":false}", "{\"a\":1}",
	     "$: Additional properties are not allowed ('a' was unexpected)"},
	    {"{\"properties\":{\"a\":{}},\"additionalProperties\":true}", "{\"b\":1}", ""},
	    {"{\"additionalProperties\":false}", "{\"it's\":1,\"b\":2}",
	     "$: Additional properties are not allowed ('b', \"it's\" were unexpected)"},
	    {"{\"items\":{\"items\":{\"type\":\"null\"}}}", "[[null],[null,1]]",
	     "1.1: 1 is not of type 'null'"},
	    {"{\"type\":\"string\"}", "[\"\\u001b[2J\\u009b\"]",
	     "$: ['\\x1b[2J\\x9b'] is not of type 'string'"},
	    {"{\"format\":\"email\",\"title\":\"t\",\"description\":\"d\",\"examples\":[1]}",
	     "\"x\"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_one(cases[i].schema, cases[i].value, cases[i].errors);
}

static void
names_the_members_that_were_not_expected(void **state)
{
	struct schema *s =
	    compiled("{\"properties\":{\"path\":{}},\"additionalProperties\":false}");

	(void)state;
	check(s, S("{\"pathh\":1}"),
	      "$: Additional properties are not allowed ('pathh' was unexpected)");
	check(s, S("{\"a6\":1,\"a5\":1,\"a4\":1,\"a3\":1,\"a2\":1,\"a7\":1,\"a1\":1}"),
	      "$: Additional properties are not allowed ('a1', 'a2', 'a3', 'a4', 'a5' and 2 more "
	      "were unexpected)");
	schema_free(s);
}

static void
sorts_errors_by_path_and_stops_at_enough(void **state)
{
	struct schema *s = compiled("{\"properties\":{\"b\":{\"type\":\"null\"},\"a\":{\"items\":"
				    "{\"type\":\"null\"}}},\"required\":[\"c\"]}");
	struct buf value = BUF_INIT(4 * KIB), errors = BUF_INIT(64 * KIB);

	(void)state;
	check(s, S("{\"b\":1,\"a\":[0,null,null,null,null,null,null,null,null,null,10,11]}"),
	      "$: 'c' is a required property\n"
	      "a.0: 0 is not of type 'null'\n"
	      "a.10: 10 is not of type 'null'\n"
	      "a.11: 11 is not of type 'null'\n"
	      "b: 1 is not of type 'null'");
	check(s, S("{\"c\":1,\"a\":[null,null,2,null,null,null,null,null,null,null,10]}"),
	      "a.2: 2 is not of type 'null'\na.10: 10 is not of type 'null'");
	for (int i = 0; i < 100; i++)
		buf_addf(&value, "%s%d", i ? "," : "{\"a\":[", i);
	buf_addz(&value, "]}");
	struct json_doc *doc = parsed(buf_str(&value));
	assert_int_equal(schema_validate(s, json_root(doc), SCHEMA_DISPATCHER, &errors),
			 E_VALIDATION);
	struct str rest = buf_str(&errors), line;
	size_t lines = 0;
	while (str_split(&rest, '\n', &line))
		lines++;
	assert_int_equal(lines, LIMIT_SCHEMA_ERRORS);
	json_doc_unref(doc);
	schema_free(s);
	buf_done(&value);
	buf_done(&errors);
}

static void
shows_long_values_cut(void **state)
{
	struct schema *s = compiled("{\"type\":\"null\"}");
	static const char *const heads[] = {"\"", "[\"", "{\"k\":\"", "{\""};
	static const char *const tails[] = {"\"", "\"]", "\"}", "\":1}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct buf value = BUF_INIT(MIB), errors = BUF_INIT(64 * KIB);
		buf_addz(&value, heads[i]);
		for (int k = 0; k < 100000; k++)
			buf_addz(&value, "\xc3\xa9");
		buf_addz(&value, tails[i]);
		struct json_doc *doc = parsed(buf_str(&value));
		assert_int_equal(schema_validate(s, json_root(doc), SCHEMA_DISPATCHER, &errors),
				 E_VALIDATION);
		assert_true(errors.len < LIMIT_SCHEMA_SHOWN + 40);
		assert_true(str_is_utf8(buf_str(&errors)));
		assert_true(str_ends(buf_str(&errors), S("... is not of type 'null'")));
		json_doc_unref(doc);
		buf_done(&value);
		buf_done(&errors);
	}
	struct buf big = BUF_INIT(MIB), errors = BUF_INIT(64 * KIB);
	for (int k = 0; k < 100000; k++)
		buf_addc(&big, '7');
	struct json_doc *doc = parsed(buf_str(&big));
	assert_int_equal(schema_validate(s, json_root(doc), SCHEMA_DISPATCHER, &errors),
			 E_VALIDATION);
	assert_true(errors.len < LIMIT_SCHEMA_SHOWN + 40);
	json_doc_unref(doc);
	buf_done(&big);
	buf_done(&errors);
	schema_free(s);
}

static void
agrees_with_the_dispatchers_vectors(void **state)
{
	char path[512];
	struct schema *s = NULL;

	(void)state;
	TESTDATA_OR_SKIP("vectors/metis_validation.json", path);
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text);
	assert_int_equal(schema_compile(doc, json_get(json_root(doc), S("schema")), NULL, &s, NULL),
			 0);
	const struct json *cases = json_get(json_root(doc), S("cases"));
	assert_true(json_len(cases) > 0);
	for (struct json_iter it = json_iter(cases); json_next(&it);) {
		struct buf expected = joined(json_get(it.value, S("errors"))),
			   errors = BUF_INIT(64 * KIB);
		int rc = schema_validate(s, json_get(it.value, S("instance")), SCHEMA_DISPATCHER,
					 &errors);
		assert_int_equal(rc == 0, json_bool(json_get(it.value, S("valid"))));
		assert_string_equal(buf_z(&errors), buf_z(&expected));
		buf_done(&expected);
		buf_done(&errors);
	}
	schema_free(s);
	json_doc_unref(doc);
	free((char *)text.ptr);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(says_what_does_not_fit),
	    cmocka_unit_test(names_the_members_that_were_not_expected),
	    cmocka_unit_test(sorts_errors_by_path_and_stops_at_enough),
	    cmocka_unit_test(shows_long_values_cut),
	    cmocka_unit_test(agrees_with_the_dispatchers_vectors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
