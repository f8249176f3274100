/* test_caps.c - at, below and above each cap of a payload, and of the envelope. */

#include "kernel_unit.h"

#include "kernel/caps.h"

static int
check(const char *text)
{
	struct json_doc *doc = parsed(text);
	struct err e;
	int code = caps_check(json_root(doc), &e);

	json_doc_unref(doc);
	return code;
}

/* before, n times `unit`, behind */
static int
check_many(const char *before, const char *unit, size_t n, const char *behind)
{
	struct buf b = BUF_INIT(64 * KIB);

	buf_addz(&b, before);
	for (size_t i = 0; i < n; i++)
		buf_addz(&b, unit);
	buf_addz(&b, behind);
	int code = check(buf_z(&b));
	buf_done(&b);
	return code;
}

static void
depth(void **state)
{
	(void)state;
	assert_int_equal(check("{}"), 0);
	assert_int_equal(check("{\"a\":{\"b\":1}}"), 0);
	assert_int_equal(check("{\"a\":{\"b\":{\"c\":1}}}"), 0);
	assert_int_equal(check("{\"a\":[[1]]}"), 0);
	assert_int_equal(check("{\"a\":{\"b\":{\"c\":{}}}}"), E_VALIDATION);
	assert_int_equal(check("{\"a\":[[[]]]}"), E_VALIDATION);
}

static void
keys_and_strings_and_items(void **state)
{
	(void)state;
	assert_int_equal(check_many("{\"", "k", 63, "\":1}"), 0);
	assert_int_equal(check_many("{\"", "k", 64, "\":1}"), 0);
	assert_int_equal(check_many("{\"", "\xc3\xa9", 64, "\":1}"), 0); /* characters, not bytes */
	assert_int_equal(check_many("{\"", "k", 65, "\":1}"), E_VALIDATION);
	assert_int_equal(check_many("{\"a\":\"", "x", 2047, "\"}"), 0);
	assert_int_equal(check_many("{\"a\":\"", "x", 2048, "\"}"), 0);
	assert_int_equal(check_many("{\"a\":\"", "x", 2049, "\"}"), E_VALIDATION);
	assert_int_equal(check_many("{\"a\":\"", "\xc3\xa9", 1025, "\"}"), E_VALIDATION);
	assert_int_equal(check_many("{\"a\":[0", ",1", 30, "]}"), 0);
	assert_int_equal(check_many("{\"a\":[0", ",1", 31, "]}"), 0);
	assert_int_equal(check_many("{\"a\":[0", ",1", 32, "]}"), E_VALIDATION);
}

/* An envelope of exactly so many bytes; blanks count. */
static bool
takes_bytes(struct bench *b, size_t bytes)
{
	static const char call[] = "{\"tool.call\":{\"id\":\"closure.spiral\",\"payload\":{}}}";
	struct buf text = BUF_INIT(64 * KIB);

	buf_addz(&text, call);
	while (text.len < bytes)
		buf_addc(&text, ' ');
	bench_take_text(b, buf_str(&text));
	buf_done(&text);
	return b->last.ok;
}

static void
bytes_of_an_envelope(void **state)
{
	struct bench *b = bench_new(NULL);

	(void)state;
	assert_true(takes_bytes(b, 8191));
	assert_true(takes_bytes(b, 8192));
	assert_false(takes_bytes(b, 8193));
	assert_code(b, "E_PAYLOAD");
	assert_str(bench_reason(b), "caps: 8193 bytes, at most 8192 are taken");
	bench_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(depth),
	    cmocka_unit_test(keys_and_strings_and_items),
	    cmocka_unit_test(bytes_of_an_envelope),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
