/* test_latency.c - the latency check, by the vectors of the document's validator. */

#include "kernel_unit.h"

static const char *const statuses[] = {"ok", "warning", "error"};

static void
check_vector(const struct json *v)
{
	enum latency_mode mode = latency_mode_parse(json_str(json_get(v, S("mode"))));
	const struct json *ceiling = json_get(v, S("ceiling")), *code = json_get(v, S("code"));
	double observed = 0;
	int64_t expected = 0;

	assert_true(json_double(json_get(v, S("observed")), &observed));
	struct latency l = latency_check(mode, (uint64_t)(observed * 1e6 + 0.5), false);
	assert_str(json_str(json_get(v, S("status"))), statuses[l.status]);
	if (json_is(code, JSON_NULL))
		assert_null(l.code);
	else
		assert_str(json_str(code), l.code);
	if (json_int(ceiling, &expected))
		assert_int_equal(l.ceiling_s, expected);
	/* It is entered where the vector has a severity. */
	assert_int_equal(l.breach, json_is(json_get(v, S("ledger_severity")), JSON_STRING));
}

static void
keeps_to_the_vectors(void **state)
{
	char path[512];
	size_t count = 0;

	(void)state;
	TESTDATA_OR_SKIP("vectors/potm_vectors.json", path);
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text.ptr);
	const struct json *list = json_get(json_root(doc), S("latency_60_validator"));
	for (struct json_iter it = json_iter(list); json_next(&it); count++)
		check_vector(it.value);
	assert_true(count >= 4);
	json_doc_unref(doc);
	free((void *)text.ptr);
}

static void
a_breach_has_an_entry_of_its_own(void **state)
{
	struct latency l = latency_check(MODE_STANDARD, 7200000, false);
	struct effects fx = {.meta = BUF_INIT(KIB)};

	(void)state;
	latency_enter(&l, &fx);
	assert_true(fx.enters);
	assert_int_equal(fx.entry.type, LEDGER_LATENCY);
	assert_str(buf_str(&fx.meta),
		   "\"mode\":\"standard\",\"observed_latency\":7.2,\"ceiling\":6,"
		   "\"severity\":\"warning\"");
	buf_done(&fx.meta);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keeps_to_the_vectors),
	    cmocka_unit_test(a_breach_has_an_entry_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
