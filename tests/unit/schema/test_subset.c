/* test_subset.c - which schemas a native tool may have. */

#include "unit.h"

#include "schema/schemas.h"
#include "testdata.h"

static void
check(const struct json *schema, const char *expected)
{
	struct buf problems = BUF_INIT(64 * KIB);

	assert_int_equal(schema_subset(schema, &problems), *expected ? E_VALIDATION : 0);
	assert_string_equal(buf_z(&problems), expected);
	buf_done(&problems);
}

static void
names_what_is_outside_with_its_path(void **state)
{
	static const struct {
		const char *schema, *problems;
	} cases[] = {
	    {"{}", ""},
	    {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":[\"string\",\"null\"],"
	     "\"format\":\"uri\"}}}",
	     ""},
	    {"{\"additionalProperties\":false,\"default\":{\"anyOf\":1},\"const\":{\"not\":2}}",
	     ""},
	    {"{\"properties\":{\"x\":{\"anyOf\":[]}}}",
	     "$.properties.x: disallowed JSON Schema keyword 'anyOf'"},
	    {"{\"items\":{\"items\":{\"$ref\":\"#\",\"uniqueItems\":true}}}",
	     "$.items.items: disallowed JSON Schema keyword '$ref'\n"
	     "$.items.items: unknown JSON Schema keyword 'uniqueItems'"},
	    {"{\"type\":5}",
	     "$.type: 5 not in allowed types ['array', 'boolean', 'integer', 'null', "
	     "'number', 'object', 'string']"},
	    {"{\"additionalProperties\":{}}",
	     "$.additionalProperties: must be boolean, got schema"},
	    {"{\"additionalProperties\":1}", "$.additionalProperties: must be boolean, got number"},
	    {"{\"properties\":{\"x\":true}}", "$.properties.x: must be an object"},
	    {"{\"items\":[{}]}", "$.items: must be an object"},
	    {"[]", "$: must be an object"},
	    {"{\"properties\":{\"a\\nb\\u001b\":{\"not\":{}}}}",
	     "$.properties.a?b?: disallowed JSON Schema keyword 'not'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(str_of(cases[i].schema));
		check(json_root(doc), cases[i].problems);
		json_doc_unref(doc);
	}
}

static void
refuses_what_is_nested_too_deep(void **state)
{
	struct buf b = BUF_INIT(KIB), problems = BUF_INIT(4 * KIB);

	(void)state;
	for (int i = 0; i <= LIMIT_SCHEMA_DEPTH; i++)
		buf_addz(&b, "{\"items\":");
	buf_addz(&b, "{}");
	for (int i = 0; i <= LIMIT_SCHEMA_DEPTH; i++)
		buf_addc(&b, '}');
	struct json_doc *doc = parsed(buf_str(&b));
	assert_int_equal(schema_subset(json_root(doc), &problems), E_VALIDATION);
	assert_true(str_ends(buf_str(&problems), S(".items: nested too deep")));
	json_doc_unref(doc);
	buf_done(&b);
	buf_done(&problems);
}

static void
a_full_buffer_does_not_make_a_bad_schema_good(void **state)
{
	struct json_doc *doc = parsed(S("{\"not\":{}}"));
	struct buf none = BUF_INIT(0);

	(void)state;
	assert_int_equal(schema_subset(json_root(doc), &none), E_VALIDATION);
	json_doc_unref(doc);
}

static void
agrees_with_the_dispatchers_vectors(void **state)
{
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/metis_schema_subset.json", path);
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text);
	const struct json *cases = json_get(json_root(doc), S("cases"));
	assert_true(json_len(cases) > 0);
	for (struct json_iter it = json_iter(cases); json_next(&it);) {
		struct buf expected = joined(json_get(it.value, S("errors")));
		assert_int_equal(json_bool(json_get(it.value, S("ok"))), expected.len == 0);
		check(json_get(it.value, S("schema")), buf_z(&expected));
		buf_done(&expected);
	}
	/* and its lists of keywords */
	static const char *const lists[][2] = {{"disallowed_keywords", "disallowed"},
					       {"allowed_keywords", NULL}};
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const struct json *names = json_get(json_root(doc), str_of(lists[i][0]));
		assert_true(json_len(names) > 0);
		for (struct json_iter it = json_iter(names); json_next(&it);) {
			struct buf schema = BUF_INIT(KIB), problems = BUF_INIT(4 * KIB);
			buf_addf(&schema, "{\"%.*s\":{}}", STR_ARG(json_str(it.value)));
			struct json_doc *one = parsed(buf_str(&schema));
			schema_subset(json_root(one), &problems);
			const char *said = buf_z(&problems);
			if (lists[i][1])
				assert_non_null(strstr(said, lists[i][1]));
			else
				assert_null(strstr(said, "keyword"));
			json_doc_unref(one);
			buf_done(&schema);
			buf_done(&problems);
		}
	}
	json_doc_unref(doc);
	free((char *)text.ptr);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_what_is_outside_with_its_path),
	    cmocka_unit_test(refuses_what_is_nested_too_deep),
	    cmocka_unit_test(a_full_buffer_does_not_make_a_bad_schema_good),
	    cmocka_unit_test(agrees_with_the_dispatchers_vectors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
