/* test_read.c - reading values: types, numbers, members, fields. */

#include "unit.h"

#include <math.h>

#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/parsed.h"

static void
tells_types_apart_and_takes_null_pointers(void **state)
{
	struct json_doc *doc = parsed("[null,true,1,\"s\",[],{},1e999]");
	const struct json *v = json_root(doc);
	static const char *const names[] = {"null",  "boolean", "number", "string",
					    "array", "object",  "number"};
	int64_t n;
	double d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(json_type_name(json_type(json_at(v, i))), names[i]);
	assert_true(json_bool(json_at(v, 1)));
	assert_false(json_bool(json_at(v, 3)));
	assert_true(str_is(json_str(json_at(v, 3)), "s"));
	assert_null(json_str(json_at(v, 2)).ptr);
	assert_null(json_at(v, 7));
	assert_false(json_is(NULL, JSON_NULL) || json_bool(NULL) || json_is_integer(NULL));
	assert_false(json_int(NULL, &n) || json_double(NULL, &d));
	assert_null(json_str(NULL).ptr);
	assert_null(json_big(NULL).ptr);
	assert_int_equal(json_len(NULL), 0);
	assert_null(json_get(NULL, S("a")));
	assert_null(json_at(NULL, 0));
	struct json_iter it = json_iter(NULL);
	assert_false(json_next(&it));
	it = json_iter(json_at(v, 3));
	assert_false(json_next(&it));
	json_doc_unref(doc);
}

static void
reads_integers_in_all_their_spellings(void **state)
{
	static const struct {
		const char *text;
		bool integer, fits;
		int64_t value;
	} cases[] = {
	    {"0", true, true, 0},
	    {"-0", true, true, 0},
	    {"1.0", true, true, 1},
	    {"-0.0", true, true, 0},
	    {"1e3", true, true, 1000},
	    {"1.5", false, false, 0},
	    {"9223372036854775807", true, true, INT64_MAX},
	    {"-9223372036854775808", true, true, INT64_MIN},
	    {"9223372036854775808", true, false, 0},
	    {"-9223372036854775809", true, false, 0},
	    {"9223372036854775808.0", true, false, 0},
	    {"18446744073709551616", true, false, 0},
	    {"1e400", true, false, 0},
	    {"1.5e400", true, false, 0},
	    {"\"1\"", false, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].text);
		int64_t n = 0;
		assert_int_equal(json_is_integer(json_root(doc)), cases[i].integer);
		assert_int_equal(json_int(json_root(doc), &n), cases[i].fits);
		assert_int_equal(n, cases[i].value);
		json_doc_unref(doc);
	}
	/* 400 digits with a fraction: large, and yet no integer */
	struct buf b = BUF_INIT(1000);
	for (int i = 0; i < 400; i++)
		buf_addc(&b, '7');
	buf_addz(&b, ".5");
	struct json_doc *doc = parsed(buf_z(&b));
	assert_false(json_is_integer(json_root(doc)));
	json_doc_unref(doc);
	buf_done(&b);
}

static void
keeps_the_digits_of_numbers_nothing_can_hold(void **state)
{
	struct json_doc *doc = parsed("[123456789012345678901, 1e400, 18446744073709551615, 0.5]");
	const struct json *v = json_root(doc);
	double d;

	(void)state;
	assert_true(str_is(json_big(json_at(v, 0)), "123456789012345678901"));
	assert_true(str_is(json_big(json_at(v, 1)), "1e400"));
	assert_null(json_big(json_at(v, 2)).ptr);
	assert_true(json_double(json_at(v, 0), &d) && d == 123456789012345678901.0);
	assert_true(json_double(json_at(v, 1), &d) && isinf(d));
	assert_true(json_double(json_at(v, 2), &d) && d == 0x1p64);
	assert_true(json_double(json_at(v, 3), &d) && d == 0.5);
	json_doc_unref(doc);
}

static bool
equal(const char *a, const char *b)
{
	struct json_doc *x = parsed(a), *y = parsed(b);
	bool yes = json_equal(json_root(x), json_root(y));

	assert_int_equal(yes, json_equal(json_root(y), json_root(x)));
	json_doc_unref(x);
	json_doc_unref(y);
	return yes;
}

static void
finds_values_equal_whatever_the_order_of_keys(void **state)
{
	(void)state;
	assert_true(equal("{\"a\":1,\"b\":[1,{\"x\":null,\"y\":true}],\"c\":\"s\"}",
			  "{\"c\":\"s\",\"b\":[1.0,{\"y\":true,\"x\":null}],\"a\":1e0}"));
	assert_false(equal("{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}"));
	assert_false(equal("{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}"));
	assert_false(equal("{\"a\":1}", "{\"a\":1,\"b\":2}"));
	assert_false(equal("[1,2]", "[2,1]"));
	assert_false(equal("[[1],2]", "[[1,2]]"));
	assert_false(equal("[]", "{}"));
	assert_false(equal("true", "false"));
	assert_false(equal("0", "false"));
	assert_true(equal("\"a\\u0062\"", "\"ab\""));
	assert_true(equal("[[],{},[]]", "[[],{},[]]"));
	assert_false(json_equal(NULL, NULL));
}

static void
compares_large_objects_in_opposite_order(void **state)
{
	struct buf up = BUF_INIT(8 * MIB), down = BUF_INIT(8 * MIB);
	const int count = 50000; /* the square of it would never end */

	(void)state;
	for (int i = 0; i < count; i++) {
		buf_addf(&up, "%c\"k%d\":[%d]", i ? ',' : '{', i, i);
		buf_addf(&down, "%c\"k%d\":[%d]", i ? ',' : '{', count - 1 - i, count - 1 - i);
	}
	buf_addc(&up, '}');
	buf_addc(&down, '}');
	assert_true(equal(buf_z(&up), buf_z(&down)));
	down.ptr[down.len - 3] = '7'; /* "k0":[0] */
	assert_false(equal(buf_z(&up), buf_z(&down)));
	buf_done(&up);
	buf_done(&down);
}

static void
walks_members_in_order_and_knows_their_position(void **state)
{
	struct json_doc *doc = parsed("{\"a\":[10,[20]],\"b\":{\"c\":30},\"\":40}");
	const struct json *v = json_root(doc);
	struct json_iter it = json_iter(v);

	(void)state;
	assert_int_equal(json_len(v), 3);
	assert_true(json_next(&it));
	assert_true(str_is(it.key, "a"));
	assert_int_equal(json_order(doc, v), 0);
	assert_int_equal(json_order(doc, it.value), 2);
	assert_int_equal(json_order(doc, json_at(json_at(it.value, 1), 0)), 5);
	assert_true(json_next(&it));
	assert_true(str_is(it.key, "b"));
	assert_int_equal(json_order(doc, json_get(it.value, S("c"))), 9);
	assert_true(json_next(&it));
	assert_true(it.key.ptr && it.key.len == 0);
	assert_ptr_equal(it.value, json_get(v, S("")));
	assert_false(json_next(&it));
	assert_false(json_next(&it));
	assert_null(json_get(v, S("z")));
	assert_null(json_get(json_get(v, S("a")), S("a")));
	json_doc_unref(doc);
}

struct order {
	struct str name;
	int64_t count;
	bool gift;
	const struct json *to, *lines, *note;
};

static const struct json_field order_fields[] = {
    FIELD_REQUIRED(struct order, name, WANT_STR), FIELD(struct order, count, WANT_INT),
    FIELD(struct order, gift, WANT_BOOL),         FIELD(struct order, to, WANT_OBJECT),
    FIELD(struct order, lines, WANT_ARRAY),       FIELD(struct order, note, WANT_ANY),
};

static void
reads_an_object_by_a_table(void **state)
{
	struct json_doc *doc = parsed("{\"note\":null,\"count\":3.0,\"name\":\"n\",\"gift\":true,"
				      "\"to\":{},\"lines\":[1]}");
	struct order o = {.count = 7};
	struct err e;

	(void)state;
	assert_int_equal(json_fields(json_root(doc), order_fields, ARRAY_LEN(order_fields), "", &o,
				     &e),
			 0);
	assert_true(str_is(o.name, "n") && o.count == 3 && o.gift);
	assert_true(json_is(o.to, JSON_OBJECT) && json_len(o.lines) == 1 &&
		    json_is(o.note, JSON_NULL));
	json_doc_unref(doc);

	doc = parsed("{\"name\":\"n\"}");
	o = (struct order){.count = 7};
	assert_int_equal(json_fields(json_root(doc), order_fields, ARRAY_LEN(order_fields), "", &o,
				     &e),
			 0);
	assert_true(o.count == 7 && !o.to);
	json_doc_unref(doc);
}

static void
names_the_field_that_is_wrong(void **state)
{
	static const struct {
		const char *text, *where, *error;
	} cases[] = {
	    {"{\"name\":1}", "", "name: must be a string, got number"},
	    {"{\"name\":null}", "order", "order.name: must be a string, got null"},
	    {"{\"name\":\"n\",\"count\":1.5}", "", "count: must be an integer, got another number"},
	    {"{\"name\":\"n\",\"count\":1e99}", "",
	     "count: must be an integer, got another number"},
	    {"{\"name\":\"n\",\"count\":\"1\"}", "", "count: must be an integer, got string"},
	    {"{\"name\":\"n\",\"gift\":1}", "", "gift: must be a boolean, got number"},
	    {"{\"name\":\"n\",\"to\":[]}", "a.b", "a.b.to: must be an object, got array"},
	    {"{\"name\":\"n\",\"lines\":{}}", "", "lines: must be an array, got object"},
	    {"{\"name\":\"n\",\"x\\n\":1}", "", "x\\n: is not a known field"},
	    {"{}", "order", "order.name: is required"},
	    {"[]", "", "must be an object, got array"},
	    {"3", "order", "order: must be an object, got number"},
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].text);
		struct order o = {0};
		assert_int_equal(json_fields(json_root(doc), order_fields, ARRAY_LEN(order_fields),
					     cases[i].where, &o, &e),
				 E_BAD_REQUEST);
		assert_string_equal(e.text, cases[i].error);
		json_doc_unref(doc);
	}
	assert_int_equal(json_fields(NULL, order_fields, 1, "order", NULL, &e), E_BAD_REQUEST);
	assert_string_equal(e.text, "order: must be an object");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tells_types_apart_and_takes_null_pointers),
	    cmocka_unit_test(reads_integers_in_all_their_spellings),
	    cmocka_unit_test(keeps_the_digits_of_numbers_nothing_can_hold),
	    cmocka_unit_test(finds_values_equal_whatever_the_order_of_keys),
	    cmocka_unit_test(compares_large_objects_in_opposite_order),
	    cmocka_unit_test(walks_members_in_order_and_knows_their_position),
	    cmocka_unit_test(reads_an_object_by_a_table),
	    cmocka_unit_test(names_the_field_that_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
