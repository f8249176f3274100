/* test_repair.c - what is repaired in an input, what is left alone, and the report of it. */

#include "unit.h"

#include "json/write.h"
#include "schema/repair.h"
#include "schemas.h"
#include "testdata.h"

#define SCHEMA                                                                                     \
	"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},"                       \
	"\"f\":{\"type\":\"number\"},\"i_f\":{\"type\":[\"number\",\"integer\"]},"                 \
	"\"b\":{\"type\":\"boolean\"},\"z\":{\"type\":\"null\"},\"s\":{\"type\":\"string\"},"      \
	"\"any\":{\"minimum\":1},\"b_z\":{\"type\":[\"boolean\",\"null\"]},"                       \
	"\"a\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"                             \
	"\"o\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}},"               \
	"\"\\u001b\\\"\":{\"type\":\"integer\"}}}"

/* Repairs against the schema and compares both texts; expected NULL: nothing is repaired. */
static void
check_with(const char *schema_text, struct str input, const char *expected, const char *reported)
{
	struct json_doc *schema = parsed(str_of(schema_text)), *doc = parsed(input), *fixed = NULL;
	struct buf repairs = BUF_INIT(LIMIT_REPAIRS_BYTES), text = BUF_INIT(LIMIT_JSON_BYTES);
	struct err e = ERR_NONE;

	assert_int_equal(schema_repair(json_root(schema), json_root(doc), &fixed, &repairs, &e), 0);
	assert_int_equal(e.code, 0);
	assert_string_equal(buf_z(&repairs), reported);
	if (!expected) {
		assert_null(fixed);
	} else {
		struct jw w = jw(&text);
		assert_non_null(fixed);
		jw_value(&w, json_root(fixed));
		assert_string_equal(buf_z(&text), expected);
	}
	buf_done(&repairs);
	buf_done(&text);
	json_doc_unref(fixed);
	json_doc_unref(doc);
	json_doc_unref(schema);
}

static void
check(const char *input, const char *expected, const char *reported)
{
	check_with(SCHEMA, str_of(input), expected, reported);
}

static void
untouched(const char *input)
{
	check(input, NULL, "");
}

#define REPAIR(name, rule) "{\"path\":\"$" name "\",\"rule\":\"" rule "\"}"
#define INTEGER(name) REPAIR("." name, "str_to_integer")
#define NUMBER(name) REPAIR("." name, "str_to_number")

static void
agrees_with_the_gateways_vectors(void **state)
{
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_arg_repair.json", path);
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text);
	const struct json *schema = json_get(json_root(doc), S("schema"));
	const struct json *cases = json_get(json_root(doc), S("cases"));
	assert_true(json_len(cases) > 0);
	for (struct json_iter it = json_iter(cases); json_next(&it);) {
		const struct json *args = json_get(it.value, S("args"));
		struct buf list = BUF_INIT(LIMIT_REPAIRS_BYTES), repairs = BUF_INIT(64 * KIB);
		struct json_doc *fixed = NULL, *report;
		struct err e;
		assert_int_equal(schema_repair(schema, args, &fixed, &list, &e), 0);
		assert_true(
		    json_equal(fixed ? json_root(fixed) : args, json_get(it.value, S("result"))));
		buf_addf(&repairs, "[%s]", buf_z(&list));
		report = parsed(buf_str(&repairs));
		assert_true(json_equal(json_root(report), json_get(it.value, S("repairs"))));
		assert_int_equal(fixed != NULL, list.len > 0);
		json_doc_unref(report);
		json_doc_unref(fixed);
		buf_done(&list);
		buf_done(&repairs);
	}
	json_doc_unref(doc);
	free((char *)text.ptr);
}

static void
a_scalar_in_a_string_becomes_what_the_schema_asks_for(void **state)
{
	(void)state;
	check("{\"n\":\"42\"}", "{\"n\":42}", INTEGER("n"));
	check("{\"n\":\"-0\"}", "{\"n\":0}", INTEGER("n"));
	check("{\"f\":\"\\n 1.5e3\\t\"}", "{\"f\":1500.0}", NUMBER("f"));
	check("{\"f\":\"7\"}", "{\"f\":7}", NUMBER("f"));
	check("{\"i_f\":\"7\"}", "{\"i_f\":7}", INTEGER("i_f"));
	check("{\"i_f\":\"7.5\"}", "{\"i_f\":7.5}", NUMBER("i_f"));
	check("{\"b\":\"false\"}", "{\"b\":false}", REPAIR(".b", "str_to_boolean"));
	check("{\"z\":\"null\"}", "{\"z\":null}", REPAIR(".z", "str_to_null"));
	check("{\"b_z\":\"null\"}", "{\"b_z\":null}", REPAIR(".b_z", "str_to_null"));
}

static void
the_rest_of_the_input_stays_in_its_place(void **state)
{
	(void)state;
	check("{\"s\":\"1\",\"n\":\"2\",\"x\":[\"3\",{\"n\":\"4\"}],\"f\":\"5\",\"any\":\"6\"}",
	      "{\"s\":\"1\",\"n\":2,\"x\":[\"3\",{\"n\":\"4\"}],\"f\":5,\"any\":\"6\"}",
	      INTEGER("n") "," NUMBER("f"));
	check("{\"\\u001b\\\"\":\"1\"}", "{\"\\u001b\\\"\":1}", INTEGER("\\u001b\\\""));
}

static void
what_would_need_a_guess_stays_as_it_is(void **state)
{
	static const char *const texts[] = {
	    "",     " ",   "+1", "01",       "-",        "-01", "1.0", "1e3", "1_000", "1,000",
	    "0x10", "1 2", "٤٢", "\u00a042", "1\\u0000", "[1]", "{}",  "1//", "--1",   "4,2",
	};
	char input[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		snprintf(input, sizeof(input), "{\"n\":\"%s\"}", texts[i]);
		untouched(input);
	}
	untouched("{\"f\":\".5\"}");
	untouched("{\"f\":\"5.\"}");
	untouched("{\"f\":\"NaN\"}");
	untouched("{\"f\":\"Infinity\"}");
	untouched("{\"f\":\"true\"}");
	untouched("{\"f\":\"[1]\"}");
	untouched("{\"b\":\"True\"}");
	untouched("{\"b\":\"yes\"}");
	untouched("{\"b\":\"1\"}");
	untouched("{\"z\":\"\"}");
	untouched("{\"z\":\"None\"}");
	untouched("{\"s\":\"42\",\"any\":\"42\",\"unknown\":\"42\"}");
	untouched("{\"n\":42.5,\"b\":0,\"z\":[]}");
}

static void
only_the_inputs_own_members_are_looked_at(void **state)
{
	(void)state;
	untouched("{\"o\":{\"n\":\"1\"},\"a\":[\"1\"]}");
	untouched("{\"o\":\"{}\",\"a\":\"[1]\"}");
	untouched("[\"1\"]");
	untouched("null");
	check_with("{}", S("{\"n\":\"1\"}"), NULL, "");
	check_with("true", S("{\"n\":\"1\"}"), NULL, "");
	check_with("{\"properties\":[1]}", S("{\"n\":\"1\"}"), NULL, "");
	check_with("{\"properties\":{\"n\":true,\"m\":{\"type\":7}}}",
		   S("{\"n\":\"1\",\"m\":\"1\"}"), NULL, "");
}

static void
no_digit_is_lost(void **state)
{
	(void)state;
	check("{\"n\":\"12345678901234567890123\"}", "{\"n\":12345678901234567890123}",
	      INTEGER("n"));
	check("{\"n\":\"-9223372036854775809\"}", "{\"n\":-9223372036854775809}", INTEGER("n"));
	check("{\"f\":\"18446744073709551616\"}", "{\"f\":18446744073709551616}", NUMBER("f"));
	check("{\"f\":\"0.1\",\"x\":9007199254740993}", "{\"f\":0.1,\"x\":9007199254740993}",
	      NUMBER("f"));
	/* Beyond every double: the tool would read something else. */
	untouched("{\"f\":\"1e999\"}");
	untouched("{\"f\":\"-1e999\"}");
}

static void
an_object_in_a_string_is_read_by_the_strict_door(void **state)
{
	(void)state;
	check("\"{\\\"s\\\":\\\"x\\\"}\"", "{\"s\":\"x\"}", REPAIR("", "parse_stringified_object"));
	check("\"\\ufeff\\ufeff \\n{\\\"n\\\":\\\"5\\\"} \"", "{\"n\":5}",
	      REPAIR("", "parse_stringified_object") "," INTEGER("n"));
	untouched("\"not json\"");
	untouched("\"\"");
	untouched("\"\\ufeff\"");
	untouched("\"[1]\"");
	untouched("\"\\\"{}\\\"\""); /* twice a string */
	untouched("\"{\\\"n\\\":1,}\"");
	untouched("\"{\\\"n\\\":1} {}\"");
	untouched("\"{\\\"n\\\":1,\\\"n\\\":2}\"");
	check_with("{\"type\":[\"object\",\"string\"]}", S("\"{}\""), NULL, "");
}

static void
a_string_that_nests_too_deep_is_left_alone(void **state)
{
	struct buf b = BUF_INIT(4096);

	(void)state;
	buf_addz(&b, "\"{\\\"x\\\":");
	for (int i = 0; i < LIMIT_JSON_DOOR_DEPTH; i++)
		buf_addc(&b, '[');
	for (int i = 0; i < LIMIT_JSON_DOOR_DEPTH; i++)
		buf_addc(&b, ']');
	buf_addz(&b, "}\"");
	untouched(buf_z(&b));
	buf_done(&b);
}

static void
a_repair_that_cannot_be_reported_is_not_made(void **state)
{
	struct buf schema = BUF_INIT(MIB), input = BUF_INIT(MIB), repairs = BUF_INIT(200);
	struct json_doc *fixed = NULL;
	struct err e;

	(void)state;
	buf_addz(&schema, "{\"properties\":{");
	for (int i = 0; i < 9; i++) {
		buf_addf(&schema, "%s\"n%d\":{\"type\":\"integer\"}", i ? "," : "", i);
		buf_addf(&input, "%s\"n%d\":\"%d\"", i ? "," : "{", i, i);
	}
	buf_addz(&schema, "}}");
	buf_addz(&input, "}");
	struct json_doc *rules = parsed(buf_str(&schema)), *doc = parsed(buf_str(&input));
	assert_int_equal(schema_repair(json_root(rules), json_root(doc), &fixed, &repairs, &e), 0);
	assert_string_equal(buf_z(&repairs), INTEGER("n0") "," INTEGER("n1") "," INTEGER(
						 "n2") "," INTEGER("n3") "," INTEGER("n4"));
	assert_true(json_is(json_get(json_root(fixed), S("n4")), JSON_NUMBER));
	assert_true(json_is(json_get(json_root(fixed), S("n5")), JSON_STRING));
	assert_true(json_is(json_get(json_root(fixed), S("n8")), JSON_STRING));
	json_doc_unref(fixed);
	json_doc_unref(doc);
	json_doc_unref(rules);
	buf_done(&schema);
	buf_done(&input);
	buf_done(&repairs);
}

static void
what_is_too_much_work_is_left_alone(void **state)
{
	struct buf b = BUF_INIT(MIB);

	(void)state;
	buf_addz(&b, "{\"n\":\"1\"");
	for (int i = 1; i < LIMIT_REPAIR_MEMBERS; i++)
		buf_addf(&b, ",\"x%d\":0", i);
	size_t fits = b.len;
	buf_addz(&b, ",\"one more\":0}");
	untouched(buf_z(&b));
	b.len = fits;
	buf_addc(&b, '}');
	struct buf fixed = BUF_INIT(MIB);
	buf_addf(&fixed, "{\"n\":1%s", buf_z(&b) + strlen("{\"n\":\"1\""));
	check(buf_z(&b), buf_z(&fixed), INTEGER("n"));
	buf_reset(&b);

	buf_addz(&b, "{\"n\":\"1");
	for (size_t i = 0; i < LIMIT_REPAIR_TEXT; i++)
		buf_addc(&b, '0');
	buf_addz(&b, "\"}");
	untouched(buf_z(&b));
	buf_done(&b);
	buf_done(&fixed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(agrees_with_the_gateways_vectors),
	    cmocka_unit_test(a_scalar_in_a_string_becomes_what_the_schema_asks_for),
	    cmocka_unit_test(the_rest_of_the_input_stays_in_its_place),
	    cmocka_unit_test(what_would_need_a_guess_stays_as_it_is),
	    cmocka_unit_test(only_the_inputs_own_members_are_looked_at),
	    cmocka_unit_test(no_digit_is_lost),
	    cmocka_unit_test(an_object_in_a_string_is_read_by_the_strict_door),
	    cmocka_unit_test(a_string_that_nests_too_deep_is_left_alone),
	    cmocka_unit_test(a_repair_that_cannot_be_reported_is_not_made),
	    cmocka_unit_test(what_is_too_much_work_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
