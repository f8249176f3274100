/* test_refusal.c - errors of the gateway surface. */

#include "unit.h"

#include "catalog/refusal.h"
#include "vectors.h"

static void
strangers_errors_become_one_short_line(void **state)
{
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_errors.json", path);
	struct json_doc *doc = vectors(path);
	const struct json *rows = json_get(json_root(doc), S("redact"));
	assert_true(json_len(rows) > 0);
	for (struct json_iter it = json_iter(rows); json_next(&it);) {
		struct buf out = BUF_INIT(4096);
		refusal_text(&out, text_of(it.value, "in"));
		assert_true(str_eq(buf_str(&out), text_of(it.value, "out")));
		buf_done(&out);
	}
	json_doc_unref(doc);
}

/* The rows with an exception of a kind of its own are decided by the kind, which a code has here.
 */
static const char *
code_of(struct str exception, struct str message)
{
	if (str_is(exception, "TimeoutError"))
		return err_row(E_TIMEOUT)->gateway;
	if (str_is(exception, "ConnectionError"))
		return err_row(E_UNAVAILABLE)->gateway;
	return refusal_code(message);
}

static void
strangers_errors_are_named_by_their_words(void **state)
{
	char path[512];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_errors.json", path);
	struct json_doc *doc = vectors(path);
	const struct json *rows = json_get(json_root(doc), S("classify"));
	assert_true(json_len(rows) > 0);
	for (struct json_iter it = json_iter(rows); json_next(&it);) {
		const char *code =
		    code_of(text_of(it.value, "exception"), text_of(it.value, "message"));
		assert_true(str_is(text_of(it.value, "code"), code));
		assert_int_equal(refusal_retryable(code),
				 json_bool(json_get(it.value, S("retryable"))));
	}
	json_doc_unref(doc);
	assert_string_equal(refusal_code(S("port 4010 and 14291")), "UPSTREAM_ERROR");
	assert_string_equal(refusal_code(S("HTTP 429")), "RATE_LIMITED");
	assert_string_equal(refusal_code(S("(403)")), "PERMISSION_DENIED");
	assert_string_equal(refusal_code(S("")), "UPSTREAM_ERROR");
}

static void
check_written(int code, struct str path, struct str details, const char *expected)
{
	struct buf out = BUF_INIT(4096);
	struct jw w = jw(&out);
	struct err e;

	err_set(&e, code, "why");
	refusal_write(&w, &e, false, path, details);
	assert_string_equal(buf_z(&out), expected);
	buf_done(&out);
}

static void
has_the_shape_of_the_document(void **state)
{
	(void)state;
	check_written(
	    E_BAD_PATH, S("//"), (struct str){NULL, 0},
	    "{\"error\":\"PATH_INVALID\",\"message\":\"why\",\"path\":\"//\",\"retryable\":false}");
	check_written(E_NO_PATH, S("/a"), (struct str){NULL, 0},
		      "{\"error\":\"PATH_NOT_FOUND\",\"message\":\"why\",\"path\":\"/"
		      "a\",\"retryable\":false}");
	check_written(
	    E_VALIDATION, (struct str){NULL, 0}, S("{\"a\":1}"),
	    "{\"error\":\"ARGS_INVALID\",\"message\":\"why\",\"path\":\"\",\"retryable\":false,"
	    "\"details\":{\"a\":1}}");
	check_written(E_UNAVAILABLE, S(""), (struct str){NULL, 0},
		      "{\"error\":\"UPSTREAM_UNAVAILABLE\",\"message\":\"why\",\"path\":\"\","
		      "\"retryable\":true}");
}

/* Issue 5: what may have been done is nothing to try again. */
static void
what_may_have_been_done_is_not_retryable(void **state)
{
	struct buf out = BUF_INIT(1000);
	struct jw w = jw(&out);
	struct err e;

	(void)state;
	err_set(&e, E_UNAVAILABLE, "why");
	refusal_write(&w, &e, true, S(""), (struct str){NULL, 0});
	assert_string_equal(buf_z(&out),
			    "{\"error\":\"UPSTREAM_UNAVAILABLE\",\"message\":\"why\",\"path\":\"\","
			    "\"retryable\":false}");
	buf_done(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(strangers_errors_become_one_short_line),
	    cmocka_unit_test(strangers_errors_are_named_by_their_words),
	    cmocka_unit_test(what_may_have_been_done_is_not_retryable),
	    cmocka_unit_test(has_the_shape_of_the_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
