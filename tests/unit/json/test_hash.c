/* test_hash.c - equal values have equal hashes, others hardly ever. */

#include "unit.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/parsed.h"

static uint64_t
hash(const char *text)
{
	struct json_doc *doc = parsed(text);
	uint64_t h = json_hash(json_root(doc));

	json_doc_unref(doc);
	return h;
}

static void
is_the_same_for_all_spellings_of_a_value(void **state)
{
	static const char *const same[][4] = {
	    {"1", "1.0", "1e0", "10e-1"},
	    {"0", "-0", "-0.0", "0e99"},
	    {"-5", "-5.0", "-0.5e1", "-50E-1"},
	    {"0.1", "1e-1", "0.10", "0.01e1"},
	    {"9007199254740993", "9007199254740993.0", "9007199254740993000e-3",
	     "9.007199254740993e15"},
	    {"9223372036854776000", "9.223372036854776e18", "9223372036854776000.0",
	     "9223372036854776e3"},
	    {"18446744073709551615", "18446744073709551615.0", "1844674407370955161.5e1",
	     "18446744073709551615"},
	    {"100000000000000000000", "1e20", "100000000000000000000.0", "10E19"},
	    {"100000000000000000000000", "1e23", "0.1e24", "100000000000000000000000.0"},
	    {"-123456789012345678901", "-123456789012345678901.0", "-12345678901234567890.1e1",
	     "-1234567890123456789010e-1"},
	    {"1e400", "10e399", "0.1E+401", "1.000e400"},
	    {"1e-400", "10e-401", "0.1E-399", "1.000e-400"},
	    {"\"ab\"", "\"\\u0061b\"", "\"a\\u0062\"", "\"\\u0061\\u0062\""},
	    {"{\"a\":1,\"b\":[2,{\"c\":3,\"d\":{}}]}", "{\"b\":[2,{\"d\":{},\"c\":3}],\"a\":1}",
	     "{\"b\":[2.0,{\"d\":{},\"c\":3e0}],\"a\":1}",
	     " {\"\\u0061\": 1, \"b\": [2, {\"c\": 3, \"d\": {}}]}"},
	    {"[]", "[ ]", "[\n]", "[\t]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		for (size_t k = 1; k < ARRAY_LEN(same[i]); k++)
			if (hash(same[i][0]) != hash(same[i][k]))
				fail_msg("%s and %s", same[i][0], same[i][k]);
}

static void
tells_different_values_apart(void **state)
{
	static const char *const texts[] = {
	    "null",
	    "true",
	    "false",
	    "0",
	    "1",
	    "-1",
	    "18446744073709551615",
	    "0.5",
	    "-0.5",
	    "5e-324",
	    "1e400",
	    "-1e400",
	    "1e401",
	    "1e-400",
	    "9007199254740992",
	    "9007199254740993",
	    "18446744073709551616",
	    "18446744073709551617",
	    "36893488147419103231", /* 2^65 - 1, as 2^64 - 1 in its lower half */
	    "\"\"",
	    "\"\\u0000\"",
	    "\"\\u0000\\u0000\"",
	    "\"1\"",
	    "\"12345678\"",
	    "\"12345678\\u0000\"",
	    "\"123456789\"",
	    "[]",
	    "{}",
	    "[[]]",
	    "[{}]",
	    "[[],[]]",
	    "[[[]]]",
	    "[0]",
	    "[0,0]",
	    "[null]",
	    "[1,2]",
	    "[2,1]",
	    "[[1],2]",
	    "[[1,2]]",
	    "[1,[2]]",
	    "{\"a\":1,\"b\":2}",
	    "{\"a\":2,\"b\":1}",
	    "{\"b\":1,\"c\":2}",
	    "{\"a\":{\"b\":1}}",
	    "{\"b\":{\"a\":1}}",
	    "{\"a\":{\"b\":1},\"c\":1}",
	    "{\"a\":{\"b\":1,\"c\":1}}",
	    "[\"a\",1]",
	    "{\"a\":1}",
	    "{\"\":1}",
	    "{\"a\":1,\"b\":1}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		for (size_t k = 0; k < i; k++)
			if (hash(texts[i]) == hash(texts[k]))
				fail_msg("%s and %s", texts[i], texts[k]);
}

static int
by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* 2^64 hashes for 10^5 values: that two are equal happens once in four thousand million runs. */
static void
spreads_neighbours(void **state)
{
	enum { COUNT = 100000 };
	static const struct {
		const char *before, *after;
	} rows[] = {
	    {"", ""},         {"18446744073700", ""},       {"\"", "\""}, {"[0,", "]"},
	    {"{\"a\":", "}"}, {"12345678901234567890", ""}, {"0.", "1"},
	};
	uint64_t *hashes = calloc(COUNT, sizeof(*hashes));

	(void)state;
	assert_non_null(hashes);
	for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
		struct buf b = BUF_INIT(8 * MIB);
		for (int i = 0; i < COUNT; i++)
			buf_addf(&b, "%c%s%d%s", i ? ',' : '[', rows[r].before, COUNT + i,
				 rows[r].after);
		buf_addc(&b, ']');
		struct json_doc *doc = parsed(buf_z(&b));
		size_t n = 0;
		uint64_t low = 0;
		for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);)
			hashes[n++] = json_hash(it.value);
		for (size_t i = 0; i < n; i++)
			low += hashes[i] & 1;
		assert_in_range(low, COUNT * 48 / 100, COUNT * 52 / 100);
		qsort(hashes, n, sizeof(*hashes), by_number);
		for (size_t i = 1; i < n; i++)
			assert_true(hashes[i - 1] != hashes[i]);
		json_doc_unref(doc);
		buf_done(&b);
	}
	free(hashes);
}

static void
goes_as_deep_as_a_value_may(void **state)
{
	struct buf b = BUF_INIT(KIB), other = BUF_INIT(KIB);

	(void)state;
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		buf_addz(&b, i % 2 ? "[" : "{\"a\":"), buf_addz(&other, i % 2 ? "[" : "{\"a\":");
	buf_addz(&b, "1"), buf_addz(&other, "2");
	for (int i = LIMIT_JSON_DEPTH; i-- > 0;)
		buf_addc(&b, i % 2 ? ']' : '}'), buf_addc(&other, i % 2 ? ']' : '}');
	assert_true(hash(buf_z(&b)) == hash(buf_z(&b)));
	assert_true(hash(buf_z(&b)) != hash(buf_z(&other)));
	buf_done(&b);
	buf_done(&other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(is_the_same_for_all_spellings_of_a_value),
	    cmocka_unit_test(tells_different_values_apart),
	    cmocka_unit_test(spreads_neighbours),
	    cmocka_unit_test(goes_as_deep_as_a_value_may),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
