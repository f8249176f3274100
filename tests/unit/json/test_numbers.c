/* test_numbers.c - numbers as they are written: kept, compared, divided. */

#include "unit.h"

#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/parsed.h"
#include "json/write.h"

/* ---- keeping ---- */

static void
check_written(const char *text, const char *expected)
{
	struct json_doc *doc = parsed(text);
	struct buf b = BUF_INIT(MIB);
	struct jw w = jw(&b);

	jw_value(&w, json_root(doc));
	assert_string_equal(buf_z(&b), expected);
	buf_done(&b);
	json_doc_unref(doc);
}

static void
passes_on_what_a_double_might_change(void **state)
{
	static const char *const texts[] = {
	    "3.141592653589793238462643383279",
	    "0.10000000000000001",
	    "0.30000000000000004",
	    "1.7976931348623157e308",
	    "-0.1000000000000000055511151231257827",
	    "9007199254740993.0",
	    "18446744073709551616.0",
	    "123456789.123456789123456789E-3",
	    "1e-400",
	    "-1.25E-9999",
	    "4.9e-324",
	    "5e-324",
	    "1.23456789e-320",
	    "2.2250738585072011e-308",
	    "1e400",
	    "123456789012345678901234567890",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_doc *doc = parsed(texts[i]);
		assert_true(str_is(json_big(json_root(doc)), texts[i]));
		json_doc_unref(doc);
		check_written(texts[i], texts[i]);
	}
}

static void
holds_everything_else_in_a_double(void **state)
{
	static const char *const texts[] = {
	    "0.1",
	    "-0.0",
	    "0.000000000000000000000000000000",
	    "0e-999999999999999999999",
	    "1.0000000000000000000000",
	    "0.300000000000000",
	    "-123456789.012345000000E+3",
	    "100000000000000000000000e0",
	    "1e23",
	    "1.79769313486231e308",
	    "1e-300",
	    "0.00000000000000000000000000000000000000001",
	    "123456789012345e-5",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_doc *doc = parsed(texts[i]);
		if (json_big(json_root(doc)).ptr)
			fail_msg("%s was kept as text", texts[i]);
		json_doc_unref(doc);
	}
}

/* Numbers are found in the text by what stands before them. */
static void
finds_each_number_among_other_values(void **state)
{
	(void)state;
	check_written("[1, -2, true, 0.5, null, 1.00000000000000000001, 7,\n"
		      "\t2.00000000000000000002]",
		      "[1,-2,true,0.5,null,1.00000000000000000001,7,2.00000000000000000002]");
	check_written(
	    "{\"a 1.5 \\\" 2.5\": 3.00000000000000000003, \"\\\\\": 4.00000000000000000004,"
	    "\"5\": \"6.7\", \"\": [8, [], {}, false, 9.00000000000000000009]}",
	    "{\"a 1.5 \\\" 2.5\":3.00000000000000000003,\"\\\\\":4.00000000000000000004,"
	    "\"5\":\"6.7\",\"\":[8,[],{},false,9.00000000000000000009]}");
	check_written("[\"\\u0031\\u0032\\ud83d\\ude00 1\", 99999999999999999999999, 2,"
		      "1.00000000000000000001,1e999,1.00000000000000000002,1.5,-1e-999]",
		      "[\"12\xf0\x9f\x98\x80 1\",99999999999999999999999,2,1.00000000000000000001,"
		      "1e999,1.00000000000000000002,1.5,-1e-999]");
	check_written(" 1.00000000000000000001 ", "1.00000000000000000001");
}

static void
reads_integers_that_were_kept_as_text(void **state)
{
	static const struct {
		const char *text;
		bool integer, fits;
		int64_t value;
	} cases[] = {
	    {"9007199254740993.0", true, true, INT64_C(9007199254740993)},
	    {"-9007199254740993000e-3", true, true, -INT64_C(9007199254740993)},
	    {"9223372036854775807.0", true, true, INT64_MAX},
	    {"-9223372036854775808.00", true, true, INT64_MIN},
	    {"9223372036854775807.5", false, false, 0},
	    {"9223372036854775809.0", true, false, 0},
	    {"1e-400", false, false, 0},
	    {"123456789012345678901234567890", true, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].text);
		int64_t n = 0;
		assert_int_equal(json_is_integer(json_root(doc)), cases[i].integer);
		assert_int_equal(json_int(json_root(doc), &n), cases[i].fits);
		if (cases[i].fits)
			assert_int_equal(n, cases[i].value);
		json_doc_unref(doc);
	}
}

/* ---- order ---- */

static int
compared(const char *a, const char *b)
{
	struct json_doc *x = parsed(a), *y = parsed(b);
	int order = json_number_cmp(json_root(x), json_root(y));

	assert_int_equal(order, -json_number_cmp(json_root(y), json_root(x)));
	assert_int_equal(order == 0, json_equal(json_root(x), json_root(y)));
	json_doc_unref(x);
	json_doc_unref(y);
	return order;
}

static void
orders_numbers_by_their_exact_value(void **state)
{
	static const struct {
		const char *a;
		int order;
		const char *b;
	} cases[] = {
	    {"1", 0, "1.0"},
	    {"-1", -1, "1"},
	    {"-0.0", 0, "0"},
	    {"1", -1, "1.5"},
	    {"-1", 1, "-1.5"},
	    {"9007199254740993", 1, "9007199254740992.0"},
	    {"9007199254740993", 0, "9007199254740993.0"},
	    {"18446744073709551615", -1, "18446744073709551616.0"},
	    {"18446744073709551615", -1, "18446744073709551616"},
	    {"18446744073709551616", 0, "18446744073709551616.0"},
	    {"18446744073709551616", -1, "18446744073709552000.0"},
	    {"9223372036854775900", -1, "9.223372036854776e18"},
	    {"9223372036854776000", 0, "9.223372036854776e18"},
	    {"-9223372036854775809", -1, "-9223372036854775808"},
	    {"10000000000000000000000", 0, "1e22"},
	    {"100000000000000000000000", 0, "1e23"},
	    {"10000000000000000000001", 1, "1e22"},
	    {"1e400", 1, "1.7976931348623157e308"},
	    {"-1e400", -1, "-1.7976931348623157e308"},
	    {"1e400", 0, "10E+399"},
	    {"1e400", 0, "0.001e403"},
	    {"1.0001e400", 1, "1e400"},
	    {"-1.0001e400", -1, "-1e400"},
	    {"123456789012345678901", -1, "123456789012345678902"},
	    {"99999999999999999999", -1, "100000000000000000000"},
	    {"1e400", 1, "0.0"},
	    {"1e400", 1, "-5"},
	    {"1e300", 1, "5"},
	    {"-1e300", -1, "5"},
	    {"0.1", -1, "0.10000000000000001"},
	    {"0.10000000000000001", -1, "0.10000000000000002"},
	    {"1.00000000000000000001", 1, "1"},
	    {"-1.00000000000000000001", -1, "-1.0"},
	    {"0", -1, "1e-400"},
	    {"0.0", 1, "-1e-400"},
	    {"1e-400", 0, "0.1e-399"},
	    {"1e2000000000000000", 0, "1e10000000000000000"}, /* beyond what is told apart */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (compared(cases[i].a, cases[i].b) != cases[i].order)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
}

/* ---- multiples ---- */

static bool
multiple(const char *v, const char *of)
{
	struct json_doc *x = parsed(v), *y = parsed(of);
	bool yes = json_is_multiple(json_root(x), json_root(y));

	json_doc_unref(x);
	json_doc_unref(y);
	return yes;
}

static void
divides_as_it_is_written(void **state)
{
	static const struct {
		const char *v, *of;
		bool yes;
	} cases[] = {
	    {"0.3", "0.1", true},
	    {"0.35", "0.1", false},
	    {"4.02", "0.01", true},
	    {"19.99", "0.01", true},
	    {"19.999", "0.01", false},
	    {"0.0075", "0.0001", true},
	    {"0.00751", "0.0001", false},
	    {"12391239123", "1e-8", true},
	    {"1e308", "0.5", true},
	    {"1e308", "0.123456789", false},
	    {"1e308", "3", false},
	    {"3e308", "3", true},
	    {"1e400", "10", true},
	    {"1e400", "1e399", true},
	    {"1e399", "1e400", false},
	    {"1e400", "7", false},
	    {"7e400", "7", true},
	    {"1e-7", "1e-8", true},
	    {"1e-400", "1e-401", true},
	    {"3e-400", "2e-401", true},
	    {"3e-400", "7e-401", false},
	    {"0", "7", true},
	    {"0.0", "1e-300", true},
	    {"-0.0", "123456789012345678901234567890", true},
	    {"0", "0", true},
	    {"1", "0", false},
	    {"0.5", "0", false},
	    {"-6", "3", true},
	    {"-7", "3", false},
	    {"6", "-3", true},
	    {"-0.3", "0.1", true},
	    {"6.0", "3", true},
	    {"6", "3.0", true},
	    {"6", "1.5", true},
	    {"7", "1.5", false},
	    {"-9223372036854775808", "2", true},
	    {"-9223372036854775808", "-9223372036854775808", true},
	    {"-9223372036854775808", "-1", true},
	    {"18446744073709551615", "5", true},
	    {"18446744073709551615", "7", false},
	    {"18446744073709551616", "4294967296", true},
	    {"18446744073709551617", "4294967296", false},
	    {"18446744073709551617", "274177", true},                /* the sixth Fermat number */
	    {"1180591620717411303424", "9223372036854775808", true}, /* 2^70, 2^63 */
	    {"1e70", "9223372036854775808", true},
	    {"1e62", "9223372036854775808", false},
	    {"1e63", "9223372036854775808", true},
	    {"9999999999999999999", "9999999999999999999", true},
	    {"10000000000000000001", "10000000000000000001", true},
	    {"100000000000000000010", "10000000000000000001", true},
	    {"30000000000000000003", "1000000000000000001", false},
	    {"30000000000000000030", "1000000000000000001", true},
	    /* more digits than can be divided by */
	    {"123456789012345678901", "123456789012345678901", true},
	    {"-123456789012345678901", "123456789012345678901.0", true},
	    {"12345678901234567890100", "123456789012345678901", true},
	    {"246913578024691357802", "123456789012345678901", false},
	    {"2.00000000000000000002", "0.00000000000000000001", true},
	    {"2.00000000000000000002", "2", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (multiple(cases[i].v, cases[i].of) != cases[i].yes)
			fail_msg("%s / %s", cases[i].v, cases[i].of);
}

static void
divides_numbers_of_a_million_digits(void **state)
{
	struct buf b = BUF_INIT(2 * MIB);

	(void)state;
	for (int i = 0; i < 999999; i++)
		buf_addc(&b, '3');
	buf_addz(&b, ".3");
	assert_true(multiple(buf_z(&b), "0.3"));
	assert_true(multiple(buf_z(&b), "1.1")); /* an even number of digits in all */
	assert_false(multiple(buf_z(&b), "0.7"));
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(passes_on_what_a_double_might_change),
	    cmocka_unit_test(holds_everything_else_in_a_double),
	    cmocka_unit_test(finds_each_number_among_other_values),
	    cmocka_unit_test(reads_integers_that_were_kept_as_text),
	    cmocka_unit_test(orders_numbers_by_their_exact_value),
	    cmocka_unit_test(divides_as_it_is_written),
	    cmocka_unit_test(divides_numbers_of_a_million_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
