/* test_canon.c - the same bytes for the same meaning. */

#include "unit.h"

#include <dirent.h>

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
	    {"333333333.33333333333333333333", "333333333.3333333", "333333333.3333333"},
	    {"0.10000000000000001", "0.1", "0.1"},
	    {"1e-400", "0.0", "0"},
	    {"-1e-400", "-0.0", "0"},
	    /* integers around what a double holds */
	    {"9007199254740991", "9007199254740991", "9007199254740991"},
	    {"9007199254740992", "9007199254740992", "9007199254740992"},
	    {"9007199254740993", "9007199254740993", "9007199254740993"},
	    {"-9007199254740993", "-9007199254740993", "-9007199254740993"},
	    {"9007199254740993.0", "9007199254740992.0", "9007199254740992"},
	    {"9223372036854775808", "9223372036854775808", "9223372036854775808"},
	    {"18446744073709551615", "18446744073709551615", "18446744073709551615"},
	    {"18446744073709551616", "18446744073709551616", "18446744073709551616"},
	    {"18446744073709551616.0", "1.8446744073709552e+19", "18446744073709552000"},
	    {"999999999999999999999", "999999999999999999999", "999999999999999999999"},
	    {"1000000000000000000000", "1000000000000000000000", "1e+21"},
	    {"-1000000000000000000000", "-1000000000000000000000", "-1e+21"},
	    {"100000000000000000000", "100000000000000000000", "100000000000000000000"},
	    {"10000000000000000000000", "10000000000000000000000", "1e+22"},
	    {"10000000000000000000001", "10000000000000000000001", "10000000000000000000001"},
	    /* beyond what a double holds */
	    {"1E400", "1e+400", "1e+400"},
	    {"10e399", "1e+400", "1e+400"},
	    {"-123.4500e400", "-1.2345e+402", "-1.2345e+402"},
	    {"0.0012e999", "1.2e+996", "1.2e+996"},
	    {"793e9658196864147311", "7.93e+999999999999999", "7.93e+999999999999999"},
	    {"7.93e+999999999999999", "7.93e+999999999999999", "7.93e+999999999999999"},
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

/* The file of vectors, to be unref'ed. */
static struct json_doc *
vectors(const char *name)
{
	char path[512];

	TESTDATA_OR_SKIP(name, path);
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text.ptr);
	free((char *)text.ptr);
	return doc;
}

static void
check_vector(const struct json *value, enum canon_form form, struct str canonical,
	     struct str digest)
{
	struct buf b = BUF_INIT(MIB);
	char out[DIGEST_TEXT];

	assert_true(value && canonical.len);
	canon_write(&b, value, form);
	assert_true(str_eq(buf_str(&b), canonical));
	assert_int_equal(digest_value(value, form, out, NULL), 0);
	assert_true(str_starts(str_of(out), digest));
	buf_done(&b);
}

static void
agrees_with_the_dispatchers_input_hashes(void **state)
{
	struct json_doc *doc = vectors("vectors/metis_input_hash.json");

	(void)state;
	assert_true(json_len(json_root(doc)) > 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);)
		check_vector(json_get(it.value, S("input")), CANON_SPACED,
			     json_str(json_get(it.value, S("canonical"))),
			     json_str(json_get(it.value, S("input_hash"))));
	json_doc_unref(doc);
}

/* A tool without fields for its key is known by its arguments' digest. */
static void
agrees_with_the_toolbox_on_arguments(void **state)
{
	struct json_doc *doc = vectors("vectors/focal_vectors.json");
	unsigned digests = 0;

	(void)state;
	for (struct json_iter it = json_iter(json_get(json_root(doc), S("cases")));
	     json_next(&it);) {
		bool by_digest = json_len(json_get(it.value, S("idempotency_key_fields"))) == 0;
		check_vector(json_get(it.value, S("args")), CANON_SPACED,
			     json_str(json_get(it.value, S("canonical_args"))),
			     by_digest ? json_str(json_get(it.value, S("business_key"))) : S(""));
		digests += by_digest;
	}
	assert_true(digests > 0);
	json_doc_unref(doc);
}

/* The eight digits in a tool id: of its name and the canonical shape of its schema. */
static void
agrees_with_the_gateway_on_shapes(void **state)
{
	struct json_doc *doc = vectors("vectors/cw_hash8.json");
	char out[DIGEST_TEXT];

	(void)state;
	assert_true(json_len(json_root(doc)) > 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		struct str shape = json_str(json_get(it.value, S("canonical_shape")));
		struct str name = json_str(json_get(it.value, S("upstream_name")));
		struct buf b = BUF_INIT(MIB);
		buf_add(&b, shape);
		struct json_doc *value = parsed(buf_z(&b));
		buf_reset(&b);
		buf_add(&b, name);
		buf_addc(&b, '\n');
		size_t start = b.len;
		canon_write(&b, json_root(value), CANON_COMPACT);
		assert_true(str_eq(str_from(buf_str(&b), start), shape));
		digest_bytes(buf_str(&b), out);
		assert_true(str_starts(str_of(out), json_str(json_get(it.value, S("hash8")))));
		json_doc_unref(value);
		buf_done(&b);
	}
	json_doc_unref(doc);
}

static struct str
file_of(const char *folder, const char *kind, const char *name)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s/%s", folder, kind, name);
	struct str text = testdata_read(path);
	if (!text.ptr)
		fail_msg("%s", path);
	return text;
}

static void
agrees_with_the_files_of_rfc_8785(void **state)
{
	char folder[512], input[600];
	unsigned count = 0;

	(void)state;
	TESTDATA_OR_SKIP("batteries/jcs/testdata", folder);
	snprintf(input, sizeof(input), "%s/input", folder);
	DIR *dir = opendir(input);
	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir));) {
		if (!str_ends(str_of(d->d_name), S(".json")))
			continue;
		struct str in = file_of(folder, "input", d->d_name);
		struct str expected = file_of(folder, "output", d->d_name);
		check(in.ptr, CANON_JCS, expected.ptr);
		check(expected.ptr, CANON_JCS, expected.ptr);
		free((char *)in.ptr);
		free((char *)expected.ptr);
		count++;
	}
	closedir(dir);
	assert_true(count >= 6);
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
		check(expected, CANON_JCS, expected);
		free(expected);
		count++;
	}
	assert_true(count >= 20000);
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
	    cmocka_unit_test(agrees_with_the_toolbox_on_arguments),
	    cmocka_unit_test(agrees_with_the_gateway_on_shapes),
	    cmocka_unit_test(agrees_with_the_files_of_rfc_8785),
	    cmocka_unit_test(agrees_with_the_number_lines_of_rfc_8785),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
