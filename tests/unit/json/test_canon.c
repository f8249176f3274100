/* test_canon.c - the same bytes for the same meaning. */

#include "unit.h"

#include "base/limits.h"
#include "json/canon.h"
#include "json/parsed.h"
#include "testdata.h"

static void
check(const char *text, enum canon_form form, const char *expected)
{
	struct json_doc *doc = parsed(text);
	struct buf b = BUF_INIT(MIB);

	canon_write(&b, json_root(doc), form);
	assert_string_equal(buf_z(&b), expected);
	buf_done(&b);
	json_doc_unref(doc);
}

static void
writes_as_python_does_with_sorted_keys(void **state)
{
	const char *text = "{\"b\":[1,{},[],{\"y\":true,\"x\":null}],\"\xc3\xa9\":"
			   "\"\x7f\\u0001\\n\xf0\x9f\x98\x80\","
			   "\"\xef\xbf\xbf\":1,\"\xf0\x90\x80\x80\":2,\"a\":\"/\\\"\"}";

	(void)state;
	check(text, CANON_SPACED,
	      "{\"a\": \"/\\\"\", \"b\": [1, {}, [], {\"x\": null, \"y\": true}], "
	      "\"\\u00e9\": \"\\u007f\\u0001\\n\\ud83d\\ude00\", \"\\uffff\": 1, "
	      "\"\\ud800\\udc00\": 2}");
	check(
	    text, CANON_COMPACT,
	    "{\"a\":\"/\\\"\",\"b\":[1,{},[],{\"x\":null,\"y\":true}],"
	    "\"\\u00e9\":\"\\u007f\\u0001\\n\\ud83d\\ude00\",\"\\uffff\":1,\"\\ud800\\udc00\":2}");
	check(text, CANON_JCS,
	      "{\"a\":\"/\\\"\",\"b\":[1,{},[],{\"x\":null,\"y\":true}],"
	      "\"\xc3\xa9\":\"\x7f\\u0001\\n\xf0\x9f\x98\x80\",\"\xf0\x90\x80\x80\":2,"
	      "\"\xef\xbf\xbf\":1}");
	check("\"s\"", CANON_SPACED, "\"s\"");
	check("[]", CANON_JCS, "[]");
	check("[[[]],{\"a\":{}}]", CANON_SPACED, "[[[]], {\"a\": {}}]");
}

static void
writes_numbers_in_the_manner_of_each_form(void **state)
{
	static const struct {
		const char *text, *python, *jcs;
	} cases[] = {
	    {"1", "1", "1"},
	    {"1.0", "1.0", "1"},
	    {"-0", "0", "0"},
	    {"-0.0", "-0.0", "0"},
	    {"0.0", "0.0", "0"},
	    {"1e15", "1000000000000000.0", "1000000000000000"},
	    {"1e16", "1e+16", "10000000000000000"},
	    {"123456789012345680.0", "1.2345678901234568e+17", "123456789012345680"},
	    {"1e20", "1e+20", "100000000000000000000"},
	    {"1e21", "1e+21", "1e+21"},
	    {"1.5e300", "1.5e+300", "1.5e+300"},
	    {"0.0001", "0.0001", "0.0001"},
	    {"0.00001", "1e-05", "0.00001"},
	    {"0.000001", "1e-06", "0.000001"},
	    {"0.0000001", "1e-07", "1e-7"},
	    {"-123.456e-10", "-1.23456e-08", "-1.23456e-8"},
	    {"1.7976931348623157e308", "1.7976931348623157e+308", "1.7976931348623157e+308"},
	    {"5e-324", "5e-324", "5e-324"},
	    {"333333333.33333329", "333333333.3333333", "333333333.3333333"},
	    {"9007199254740993", "9007199254740993", "9007199254740993"},
	    {"100000000000000000000", "100000000000000000000", "100000000000000000000"},
	    {"10000000000000000000000", "10000000000000000000000", "1e+22"},
	    {"10000000000000000000001", "10000000000000000000001", "10000000000000000000001"},
	    {"1e400", "1e400", "1e400"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check(cases[i].text, CANON_SPACED, cases[i].python);
		check(cases[i].text, CANON_COMPACT, cases[i].python);
		check(cases[i].text, CANON_JCS, cases[i].jcs);
	}
}

static void
sorts_more_keys_than_fit_the_small_room(void **state)
{
	struct buf in = BUF_INIT(MIB), sorted = BUF_INIT(MIB);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		buf_addf(&in, "%c\"%04d\":{\"b\":1,\"a\":2}", i ? ',' : '{', 999 - i);
		buf_addf(&sorted, "%c\"%04d\":{\"a\":2,\"b\":1}", i ? ',' : '{', i);
	}
	buf_addc(&in, '}');
	buf_addc(&sorted, '}');
	check(buf_z(&in), CANON_JCS, buf_z(&sorted));
	buf_done(&in);
	buf_done(&sorted);
}

static void
fails_by_the_buffer_and_leaks_nothing(void **state)
{
	struct buf in = BUF_INIT(MIB), small = BUF_INIT(50);

	(void)state;
	buf_addc(&in, '[');
	for (int i = 0; i < 100; i++)
		buf_addf(&in, "%c\"key %d\":1", i ? ',' : '{', i);
	buf_addz(&in, "}]");
	struct json_doc *doc = parsed(buf_z(&in));
	canon_write(&small, json_root(doc), CANON_SPACED);
	assert_true(buf_failed(&small));
	json_doc_unref(doc);
	buf_done(&in);
	buf_done(&small);
}

static void
digests_bytes_and_values(void **state)
{
	char out[DIGEST_TEXT], other[DIGEST_TEXT];

	(void)state;
	digest_bytes(S(""), out);
	assert_string_equal(out,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	digest_bytes((struct str){NULL, 0}, other);
	assert_string_equal(out, other);
	struct json_doc *doc = parsed("{\"path\":\"README.md\"}");
	assert_int_equal(digest_value(json_root(doc), CANON_SPACED, out, NULL), 0);
	assert_string_equal(out,
			    "19b4e2f4c9a2ed43afc86e1b6ec5ab348ad83d1407b08122436a948943be83b2");
	json_doc_unref(doc);
	doc = parsed("{\"a\":1,\"b\":2}");
	assert_int_equal(digest_value(json_root(doc), CANON_JCS, out, NULL), 0);
	json_doc_unref(doc);
	doc = parsed("{\"b\":2.0,\"a\":1e0}");
	assert_int_equal(digest_value(json_root(doc), CANON_JCS, other, NULL), 0);
	assert_string_equal(out, other);
	json_doc_unref(doc);
}

/* Six times as long: what just fits the door can still be digested. */
static void
digests_the_longest_escapes(void **state)
{
	struct buf b = BUF_INIT(LIMIT_JSON_BYTES);
	char out[DIGEST_TEXT];

	(void)state;
	memset(buf_room(&b, LIMIT_JSON_BYTES), 0x7f, LIMIT_JSON_BYTES);
	b.len = LIMIT_JSON_BYTES;
	b.ptr[0] = b.ptr[b.len - 1] = '"';
	struct json_doc *doc;
	assert_int_equal(json_parse(buf_str(&b), &json_door, &doc, NULL), 0);
	assert_int_equal(digest_value(json_root(doc), CANON_SPACED, out, NULL), 0);
	json_doc_unref(doc);
	buf_done(&b);
}

static void
agrees_with_the_dispatchers_input_hashes(void **state)
{
	char path[512], out[DIGEST_TEXT];

	(void)state;
	TESTDATA_OR_SKIP("vectors/metis_input_hash.json", path);
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text.ptr);
	assert_true(json_len(json_root(doc)) > 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		struct buf b = BUF_INIT(MIB);
		canon_write(&b, json_get(it.value, S("input")), CANON_SPACED);
		assert_true(str_eq(buf_str(&b), json_str(json_get(it.value, S("canonical")))));
		digest_value(json_get(it.value, S("input")), CANON_SPACED, out, NULL);
		assert_true(str_is(json_str(json_get(it.value, S("input_hash"))), out));
		buf_done(&b);
	}
	json_doc_unref(doc);
	free((char *)text.ptr);
}

static void
agrees_with_the_files_of_rfc_8785(void **state)
{
	static const char *const names[] = {"arrays",  "french", "structures",
					    "unicode", "values", "weird"};
	char folder[512], path[600];

	(void)state;
	TESTDATA_OR_SKIP("batteries/jcs/testdata", folder);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/input/%s.json", folder, names[i]);
		struct str in = testdata_read(path);
		snprintf(path, sizeof(path), "%s/output/%s.json", folder, names[i]);
		struct str expected = testdata_read(path);
		assert_true(in.ptr && expected.ptr);
		check(in.ptr, CANON_JCS, expected.ptr);
		free((char *)in.ptr);
		free((char *)expected.ptr);
	}
}

static void
agrees_with_the_number_lines_of_rfc_8785(void **state)
{
	char path[512], number[64];
	struct str line, hex;
	unsigned count = 0;

	(void)state;
	TESTDATA_OR_SKIP("batteries/jcs/es6-numbers-20k.txt", path);
	struct str text = testdata_read(path), rest = text;
	while (str_split(&rest, '\n', &line) && line.len) {
		str_split(&line, ',', &hex);
		union {
			uint64_t bits;
			double d;
		} u = {.bits = strtoull(hex.ptr, NULL, 16)};
		snprintf(number, sizeof(number), "%.17e", u.d); /* never an integer's spelling */
		char *expected = strndup(line.ptr, line.len);
		check(number, CANON_JCS, expected);
		free(expected);
		count++;
	}
	assert_true(count > 1000);
	free((char *)text.ptr);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(writes_as_python_does_with_sorted_keys),
	    cmocka_unit_test(writes_numbers_in_the_manner_of_each_form),
	    cmocka_unit_test(sorts_more_keys_than_fit_the_small_room),
	    cmocka_unit_test(fails_by_the_buffer_and_leaks_nothing),
	    cmocka_unit_test(digests_bytes_and_values),
	    cmocka_unit_test(digests_the_longest_escapes),
	    cmocka_unit_test(agrees_with_the_dispatchers_input_hashes),
	    cmocka_unit_test(agrees_with_the_files_of_rfc_8785),
	    cmocka_unit_test(agrees_with_the_number_lines_of_rfc_8785),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
