/* test_yaml.c - YAML becomes the same values, and every value knows its line. */

#include "unit.h"

#include "base/limits.h"
#include "json/write.h"
#include "json/yaml.h"

static void
check(const char *text, const char *expected)
{
	struct yaml y;
	struct err e = ERR_NONE;
	struct buf b = BUF_INIT(MIB);
	struct jw w = jw(&b);

	if (yaml_parse(str_of(text), LIMIT_CONFIG_BYTES, &y, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	jw_value(&w, json_root(y.doc));
	assert_string_equal(buf_z(&b), expected);
	buf_done(&b);
	yaml_done(&y);
}

static void
reads_block_and_flow_style(void **state)
{
	(void)state;
	check("default: prompt\nper_tool:\n  shell: deny\n  \"read_file\": 'auto'\nlist:\n- a\n- "
	      "[b, {c: d}]\n",
	      "{\"default\":\"prompt\",\"per_tool\":{\"shell\":\"deny\",\"read_file\":\"auto\"},"
	      "\"list\":[\"a\",[\"b\",{\"c\":\"d\"}]]}");
	check("text: |\n  one\n  two\nfold: >\n  a\n  b\n",
	      "{\"text\":\"one\\ntwo\\n\",\"fold\":\"a b\\n\"}");
	check("# nothing but a comment\n", "null");
	check("", "null");
	check("---\n", "null");
	check("a:\nb: ~\n", "{\"a\":null,\"b\":null}");
	check("1: x\ntrue: y\n", "{\"1\":\"x\",\"true\":\"y\"}");
}

static void
resolves_plain_scalars_as_the_core_schema_does(void **state)
{
	static const struct {
		const char *plain, *json;
	} cases[] = {
	    {"null", "null"},
	    {"~", "null"},
	    {"NULL", "null"},
	    {"nUll", "\"nUll\""},
	    {"true", "true"},
	    {"True", "true"},
	    {"FALSE", "false"},
	    {"yes", "\"yes\""},
	    {"off", "\"off\""},
	    {"0", "0"},
	    {"-17", "-17"},
	    {"+17", "17"},
	    {"007", "7"},
	    {"0o17", "15"},
	    {"0xfF", "255"},
	    {"0o8", "\"0o8\""},
	    {"0x", "\"0x\""},
	    {"0xffffffffffffffff", "18446744073709551615"},
	    {"1.5", "1.5"},
	    {".5", "0.5"},
	    {"-.5", "-0.5"},
	    {"1.", "1.0"},
	    {"1e3", "1000.0"},
	    {"1.e-2", "0.01"},
	    {"+1.5E+2", "150.0"},
	    {"1e", "\"1e\""},
	    {".", "\".\""},
	    {"-", "[null]"},
	    {"+", "\"+\""},
	    {"1.2.3", "\"1.2.3\""},
	    {"1_000", "\"1_000\""},
	    {"12:30", "\"12:30\""},
	    {"2026-05-08", "\"2026-05-08\""},
	    {"'1'", "\"1\""},
	    {"\"true\"", "\"true\""},
	    {"''", "\"\""},
	    {"123456789012345678901234567890", "123456789012345678901234567890"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(cases[i].plain, cases[i].json);
}

static void
reads_json_of_all_kinds(void **state)
{
	(void)state;
	check("{\"a\": [1, 2.50, \"\\ud83d\\ude00\\/\"],\n\t\"b\": {}}",
	      "{\"a\":[1,2.5,\"\xf0\x9f\x98\x80/\"],\"b\":{}}");
	check("{\"a\": 1, # a comment, as people write them\n \"b\": [true,],}",
	      "{\"a\":1,\"b\":[true]}");
}

static void
knows_the_line_of_every_value(void **state)
{
	static const char *const texts[] = {
	    "a: 1\nb:\n  - x\n\n  - {c: 2,\n     d: 3}\n",
	    "{\"a\": 1,\n\"b\": [\n\"\\\"x\", \n\n{\"c\": 2,\n\"d\": 3}\n]}",
	};
	/* the root, a, 1, b, the list, x, the map, c, 2, d, 3 */
	static const unsigned lines[] = {1, 1, 1, 2, 3, 3, 5, 5, 5, 6, 6};
	static const unsigned json_lines[] = {1, 1, 1, 2, 2, 3, 5, 5, 5, 6, 6};

	(void)state;
	for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
		struct yaml y;
		assert_int_equal(yaml_parse(str_of(texts[t]), LIMIT_CONFIG_BYTES, &y, NULL), 0);
		assert_int_equal(y.count, ARRAY_LEN(lines));
		assert_memory_equal(y.lines, t ? json_lines : lines, sizeof(lines));
		const struct json *b = json_get(json_root(y.doc), S("b"));
		assert_int_equal(yaml_line(&y, json_get(json_at(b, 1), S("d"))), 6);
		yaml_done(&y);
	}
}

static void
refuses_with_the_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
	    {"a: 1\nb: 2\na: 3\n", "line 3: the key \"a\" is given twice"},
	    {"{\"a\": 1,\n\"a\": 2}", "line 2: the key \"a\" is given twice"},
	    {"x:\n  a: &here 1\n", "line 2: anchors and aliases are not supported"},
	    {"a: 1\nb: *here\n", "line 2: anchors and aliases are not supported"},
	    {"a: !!str 1\n", "line 1: tags are not supported"},
	    {"a: 1\nb: !x [1]\n", "line 2: tags are not supported"},
	    {"a: 1\n---\nb: 2\n", "line 2: there may be only one document"},
	    {"? [a]\n: b\n", "line 1: a key must be plain text"},
	    {"a: 1\nb: .inf\n", "line 2: infinite numbers and .nan cannot be used here"},
	    {"a: 1\n b: 2\n", "line 2: mapping values are not allowed in this context"},
	    {"a:\n\tb: 1\n", "line 2: is indented with a tab; YAML takes spaces only"},
	    {"a:\n  - x\n  \t- y: 1\n    z: @\n", "line 3: "},
	    {"a: @b\n", "line 1: found character that cannot start any token"},
	    {"a: [1,\n", "line 2: "},
	    {"a: 1\nb: \"\x01\"\n", "line 2: control characters are not allowed"},
	    {"a: 1\n\nb: \xff\n", "line 3: invalid leading UTF-8 octet"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct yaml y;
		struct err e;
		assert_int_equal(yaml_parse(str_of(cases[i].text), LIMIT_CONFIG_BYTES, &y, &e),
				 E_CONFIG);
		if (!str_starts(str_of(e.text), str_of(cases[i].error)))
			fail_msg("\"%s\" should be \"%s\"", e.text, cases[i].error);
	}
}

static void
bears_hostile_input(void **state)
{
	struct buf b = BUF_INIT(MIB);
	struct yaml y;
	struct err e;

	(void)state;
	for (int i = 0; i < 10000; i++)
		buf_addc(&b, '[');
	assert_int_equal(yaml_parse(buf_str(&b), MIB, &y, &e), E_CONFIG);
	buf_reset(&b);
	for (int i = 0; i <= LIMIT_JSON_DEPTH; i++)
		buf_addz(&b, "- ");
	assert_int_equal(yaml_parse(buf_str(&b), MIB, &y, &e), E_CONFIG);
	assert_string_equal(e.text, "line 1: nested too deep");
	assert_int_equal(yaml_parse(S("a: 1"), 3, &y, &e), E_TOO_LARGE);
	assert_int_equal(yaml_parse(S("a: \0"), 100, &y, &e), E_CONFIG);
	buf_reset(&b);
	for (int i = 0; i < 100000; i++)
		buf_addz(&b, "-\n"); /* the shortest value there is */
	assert_int_equal(yaml_parse(buf_str(&b), MIB, &y, &e), 0);
	assert_int_equal(json_len(json_root(y.doc)), 100000);
	assert_int_equal(yaml_line(&y, json_at(json_root(y.doc), 99999)), 100000);
	yaml_done(&y);
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_block_and_flow_style),
	    cmocka_unit_test(resolves_plain_scalars_as_the_core_schema_does),
	    cmocka_unit_test(reads_json_of_all_kinds),
	    cmocka_unit_test(knows_the_line_of_every_value),
	    cmocka_unit_test(refuses_with_the_line),
	    cmocka_unit_test(bears_hostile_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
