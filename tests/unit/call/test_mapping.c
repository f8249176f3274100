/* test_mapping.c - arguments of a compensation, out of what was recorded. */

#include "unit.h"

#include "call/mapping.h"

static struct json_doc *
parse(const char *text)
{
	struct json_doc *doc;
	struct err e;

	assert_int_equal(json_parse(str_of(text), &json_door, &doc, &e), 0);
	return doc;
}

static void
test_7_arguments_come_from_the_record(void **state)
{
	static const struct {
		const char *mapping; /* NULL: none */
		const char *gives;   /* NULL: an error with... */
		const char *says;
	} rows[] = {
	    {NULL, "{\"seat\":\"1A\",\"n\":[1,2]}", NULL},
	    {"{}", "{}", NULL},
	    {"{\"s\":\"/args/seat\"}", "{\"s\":\"1A\"}", NULL},
	    {"{\"s\":\"/args/n/1\"}", "{\"s\":2}", NULL},
	    {"{\"all\":\"/args\"}", "{\"all\":{\"seat\":\"1A\",\"n\":[1,2]}}", NULL},
	    {"{\"i\":\"/result/b~1c/id\",\"w\":{\"const\":null}}", "{\"i\":7,\"w\":null}", NULL},
	    {"{\"i\":\"/result/none\"}", NULL,
	     "compensation_args.i: /result/none leads to nothing"},
	    {"{\"i\":\"/argsx/seat\"}", NULL, "leads to nothing"},
	    {"{\"i\":\"seat\"}", NULL, "leads to nothing"},
	    {"{\"i\":3}", NULL, "compensation_args.i: must be a JSON Pointer"},
	    {"{\"i\":{\"value\":1}}", NULL, "compensation_args.i: must be"},
	};
	struct json_doc *args = parse("{\"seat\":\"1A\",\"n\":[1,2]}");
	struct json_doc *result = parse("{\"b/c\":{\"id\":7}}");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_doc *mapping = rows[i].mapping ? parse(rows[i].mapping) : NULL;
		struct buf out = BUF_INIT(1024);
		struct err e;
		int code = mapping_fill(mapping ? json_root(mapping) : NULL, json_root(args),
					json_root(result), &out, &e);
		if (rows[i].gives) {
			assert_int_equal(code, 0);
			assert_string_equal(buf_z(&out), rows[i].gives);
		} else {
			assert_int_equal(code, E_VALIDATION);
			assert_non_null(strstr(err_text(&e), rows[i].says));
		}
		buf_done(&out);
		json_doc_unref(mapping);
	}
	struct buf small = BUF_INIT(4);
	struct err e;
	assert_int_equal(mapping_fill(NULL, json_root(args), NULL, &small, &e), E_LIMIT);
	buf_done(&small);
	json_doc_unref(args);
	json_doc_unref(result);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_7_arguments_come_from_the_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
