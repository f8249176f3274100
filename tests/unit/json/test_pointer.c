/* test_pointer.c - JSON Pointer (RFC 6901). */

#include "unit.h"

#include "json/json.h"
#include "json/parsed.h"

/* Section 5 of the RFC, and around it. */
static const char text[] =
    "{\"foo\":[\"bar\",\"baz\",[10,{\"x\":11}]],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,"
    "\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8,\"~1\":9,\"0\":12,\"01\":13,\"-\":14,"
    "\"o\":{\"\":{\"\":15}},\"~\":16,\"z\\u0000z\":17}";

static void
leads_to_a_value(void **state)
{
	static const struct {
		struct str pointer;
		int64_t value;
	} cases[] = {
	    {S("/"), 0},     {S("/a~1b"), 1},  {S("/c%d"), 2},      {S("/e^f"), 3},
	    {S("/g|h"), 4},  {S("/i\\j"), 5},  {S("/k\"l"), 6},     {S("/ "), 7},
	    {S("/m~0n"), 8}, {S("/~01"), 9},   {S("/foo/2/0"), 10}, {S("/foo/2/1/x"), 11},
	    {S("/0"), 12},   {S("/01"), 13},   {S("/-"), 14},       {S("/o//"), 15},
	    {S("/~0"), 16},  {S("/z\0z"), 17},
	};
	struct json_doc *doc = parsed(text);
	const struct json *root = json_root(doc);
	int64_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (!json_int(json_pointer(root, cases[i].pointer), &n) || n != cases[i].value)
			fail_msg("%s", cases[i].pointer.ptr);
	assert_ptr_equal(json_pointer(root, S("")), root);
	assert_ptr_equal(json_pointer(root, (struct str){NULL, 0}), root);
	assert_true(str_is(json_str(json_pointer(root, S("/foo/0"))), "bar"));
	json_doc_unref(doc);
}

static void
leads_nowhere_when_nothing_is_there(void **state)
{
	static const char *const nowhere[] = {
	    "foo",
	    "#",
	    "foo/0",
	    "/nope",
	    "/foo/3",
	    "/foo/-",
	    "/foo/00",
	    "/foo/01",
	    "/foo/-1",
	    "/foo/+1",
	    "/foo/1.0",
	    "/foo/",
	    "/foo/ 1",
	    "/foo/1e0",
	    "/foo/0/",
	    "/foo/0/0",
	    "/a/b",
	    "/m~n",
	    "/~",
	    "/~2",
	    "/m~0n~",
	    "/~1~0",
	    "/o///",
	    "//",
	    "/foo/99999999999999999999",
	    "/foo/18446744073709551616",
	};
	struct json_doc *doc = parsed(text);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(nowhere); i++)
		if (json_pointer(json_root(doc), str_of(nowhere[i])))
			fail_msg("%s", nowhere[i]);
	assert_null(json_pointer(NULL, S("")));
	assert_null(json_pointer(NULL, S("/a")));
	json_doc_unref(doc);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(leads_to_a_value),
	    cmocka_unit_test(leads_nowhere_when_nothing_is_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
