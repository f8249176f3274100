/* test_rpc.c - messages: which are taken, which are not and why, and how ours look. */

#include "unit.h"

#include "json/parsed.h"
#include "mcp/rpc.h"

#define V "\"jsonrpc\":\"2.0\""

static void
reads_each_kind(void **state)
{
	static const struct {
		const char *text;
		enum rpc_kind kind;
		bool id, params, meta;
		const char *method;
	} cases[] = {
	    {"{" V ",\"id\":1,\"method\":\"ping\"}", RPC_REQUEST, true, false, false, "ping"},
	    {"{" V ",\"id\":\"a\",\"method\":\"x\",\"params\":{\"_meta\":{}}}", RPC_REQUEST, true,
	     true, true, "x"},
	    {"{\"method\":\"x\",\"id\":-7,\"more\":[1]," V "}", RPC_REQUEST, true, false, false,
	     "x"},
	    {"{" V ",\"id\":123456789012345678901234567890,\"method\":\"x\"}", RPC_REQUEST, true,
	     false, false, "x"},
	    {"{" V ",\"id\":\"\",\"method\":\"x\"}", RPC_REQUEST, true, false, false, "x"},
	    {"{" V ",\"method\":\"n\",\"params\":{\"a\":1}}", RPC_NOTE, false, true, false, "n"},
	    {"{" V ",\"id\":1,\"result\":{}}", RPC_RESULT, true, false, false, NULL},
	    {"{" V ",\"id\":1,\"result\":{},\"params\":7}", RPC_RESULT, true, false, false, NULL},
	    {"{" V ",\"id\":1,\"error\":{}}", RPC_ERROR, true, false, false, NULL},
	    {"{" V ",\"id\":null,\"error\":{\"code\":1}}", RPC_ERROR, false, false, false, NULL},
	    {"{" V ",\"error\":{\"code\":1}}", RPC_ERROR, false, false, false, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].text);
		struct rpc r;
		struct err e = ERR_NONE;
		if (rpc_read(json_root(doc), &r, &e) < 0)
			fail_msg("%s: %s", cases[i].text, e.text);
		assert_int_equal(r.kind, cases[i].kind);
		assert_int_equal(r.id != NULL, cases[i].id);
		assert_int_equal(r.params != NULL, cases[i].params);
		assert_int_equal(r.meta != NULL, cases[i].meta);
		assert_true(str_eq(r.method, str_of(cases[i].method)));
		assert_int_equal(r.result != NULL, r.kind == RPC_RESULT);
		assert_int_equal(r.error != NULL, r.kind == RPC_ERROR);
		json_doc_unref(doc);
	}
}

static void
says_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *says;
		int code;
		bool id; /* it can be answered */
		const char *method;
	} cases[] = {
	    {"[]", "this batch is not taken", E_BAD_REQUEST, false, NULL},
	    {"[{" V ",\"id\":1,\"method\":\"x\"}]", "this batch", E_BAD_REQUEST, false, NULL},
	    {"7", "must be an object", E_BAD_REQUEST, false, NULL},
	    {"null", "must be an object", E_BAD_REQUEST, false, NULL},
	    {"{}", "jsonrpc", E_BAD_REQUEST, false, NULL},
	    {"{\"id\":1,\"method\":\"x\"}", "jsonrpc", E_BAD_REQUEST, true, "x"},
	    {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", "jsonrpc", E_BAD_REQUEST, true, "x"},
	    {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}", "jsonrpc", E_BAD_REQUEST, true,
	     "x"},
	    {"{" V ",\"id\":null,\"method\":\"x\"}", "id:", E_BAD_REQUEST, false, "x"},
	    {"{" V ",\"id\":1.5,\"method\":\"x\"}", "id:", E_BAD_REQUEST, false, "x"},
	    {"{" V ",\"id\":{},\"method\":\"x\"}", "id:", E_BAD_REQUEST, false, "x"},
	    {"{" V ",\"id\":true,\"method\":\"x\"}", "id:", E_BAD_REQUEST, false, "x"},
	    {"{" V ",\"id\":null,\"result\":{}}", "id:", E_BAD_REQUEST, false, NULL},
	    {"{" V ",\"result\":{}}", "id:", E_BAD_REQUEST, false, NULL},
	    {"{" V ",\"id\":[],\"error\":{}}", "id:", E_BAD_REQUEST, false, NULL},
	    {"{" V ",\"id\":1}", "this has none", E_BAD_REQUEST, true, NULL},
	    {"{" V ",\"id\":1,\"method\":7}", "method:", E_BAD_REQUEST, true, NULL},
	    {"{" V ",\"id\":1,\"method\":\"\"}", "method:", E_BAD_REQUEST, true, ""},
	    {"{" V ",\"id\":1,\"method\":null,\"result\":{}}", "method:", E_BAD_REQUEST, true,
	     NULL},
	    {"{" V ",\"id\":1,\"result\":{},\"error\":{}}", "both", E_BAD_REQUEST, true, NULL},
	    {"{" V ",\"id\":1,\"method\":\"x\",\"result\":{}}", "a request or an answer",
	     E_BAD_REQUEST, true, "x"},
	    {"{" V ",\"id\":1,\"result\":[]}", "result:", E_BAD_REQUEST, true, NULL},
	    {"{" V ",\"id\":1,\"result\":null}", "result:", E_BAD_REQUEST, true, NULL},
	    {"{" V ",\"id\":1,\"error\":\"no\"}", "error:", E_BAD_REQUEST, true, NULL},
	    {"{" V ",\"id\":1,\"method\":\"x\",\"params\":[]}", "params:", E_VALIDATION, true, "x"},
	    {"{" V ",\"id\":1,\"method\":\"x\",\"params\":null}", "params:", E_VALIDATION, true,
	     "x"},
	    {"{" V ",\"id\":1,\"method\":\"x\",\"params\":{\"_meta\":1}}",
	     "params._meta:", E_VALIDATION, true, "x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].text);
		struct rpc r;
		struct err e = ERR_NONE;
		if (rpc_read(json_root(doc), &r, &e) != cases[i].code)
			fail_msg("%s: %d, %s", cases[i].text, e.code, e.text);
		if (!strstr(e.text, cases[i].says))
			fail_msg("%s: %s", cases[i].text, e.text);
		assert_int_equal(r.id != NULL, cases[i].id);
		assert_true(str_eq(r.method, str_of(cases[i].method)));
		assert_null(r.params);
		json_doc_unref(doc);
	}
}

/* Who gets E_VALIDATION must know whether there is anybody to answer. */
static void
knows_a_note_that_is_wrong(void **state)
{
	struct json_doc *doc = parsed("{" V ",\"method\":\"n\",\"params\":7}");
	struct rpc r;

	(void)state;
	assert_int_equal(rpc_read(json_root(doc), &r, NULL), E_VALIDATION);
	assert_int_equal(r.kind, RPC_NOTE);
	json_doc_unref(doc);
	assert_int_equal(rpc_read(NULL, &r, NULL), E_BAD_REQUEST);
}

static void
reads_errors_whatever_they_are(void **state)
{
	static const struct {
		const char *error, *message;
		int64_t code;
	} cases[] = {
	    {"{\"code\":-32601,\"message\":\"no\"}", "no", -32601},
	    {"{\"code\":-32601.0}", "", -32601},
	    {"{\"code\":\"1\",\"message\":7}", "", RPC_INTERNAL},
	    {"{\"code\":1.5}", "", RPC_INTERNAL},
	    {"{\"code\":1e99}", "", RPC_INTERNAL},
	    {"{}", "", RPC_INTERNAL},
	    {"[]", "", RPC_INTERNAL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].error);
		assert_int_equal(rpc_error_code(json_root(doc)), cases[i].code);
		assert_true(str_is(rpc_error_message(json_root(doc)), cases[i].message));
		json_doc_unref(doc);
	}
	assert_int_equal(rpc_error_code(NULL), RPC_INTERNAL);
	assert_true(str_is(rpc_error_message(NULL), ""));
}

/* The id goes back as it came: its type, and every digit of it. */
static void
answers_under_the_same_id(void **state)
{
	static const char *const ids[] = {
	    "1", "-5", "\"1\"", "\"a\\\"\\u0001\"", "123456789012345678901234567890", "0"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		struct json_doc *doc = parsed(ids[i]);
		struct buf out = BUF_INIT(1000), want = BUF_INIT(1000);
		struct jw w = rpc_answer(&out, json_root(doc), "result");
		jw_object(&w), jw_end(&w);
		jw_end(&w);
		buf_addf(&want, "{" V ",\"id\":%s,\"result\":{}}", ids[i]);
		assert_string_equal(buf_z(&out), buf_z(&want));
		json_doc_unref(doc);
		buf_done(&out), buf_done(&want);
	}
}

static void
writes_requests_and_notes(void **state)
{
	struct buf out = BUF_INIT(1000);
	struct jw w = rpc_request(&out, INT64_MAX, S("tools/call"));

	(void)state;
	jw_member_int(&w, "a", 1);
	jw_end(&w), jw_end(&w);
	assert_string_equal(buf_z(&out), "{" V ",\"id\":9223372036854775807,\"method\":"
					 "\"tools/call\",\"params\":{\"a\":1}}");
	buf_reset(&out);
	w = rpc_note(&out, "notifications/initialized");
	jw_end(&w), jw_end(&w);
	assert_string_equal(buf_z(&out),
			    "{" V ",\"method\":\"notifications/initialized\",\"params\":{}}");
	buf_done(&out);
}

static void
writes_errors(void **state)
{
	struct buf out = BUF_INIT(1000);

	(void)state;
	rpc_write_error(&out, NULL, RPC_PARSE, S("no\n"), (struct str){NULL, 0});
	assert_string_equal(buf_z(&out), "{" V ",\"id\":null,\"error\":{\"code\":-32700,"
					 "\"message\":\"no\\n\"}}");
	buf_reset(&out);
	rpc_write_error(&out, NULL, RPC_VERSION, (struct str){NULL, 0}, S("{\"a\":[1]}"));
	assert_string_equal(buf_z(&out), "{" V ",\"id\":null,\"error\":{\"code\":-32022,"
					 "\"message\":\"\",\"data\":{\"a\":[1]}}}");
	buf_done(&out);
}

/* Issue 5 */
static void
an_answer_that_is_too_large_says_at_its_ends_whose_it_is(void **state)
{
	static const struct {
		const char *head, *tail;
		bool answer;
		uint64_t id;
	} rows[] = {
	    {"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"id\":8", "", true, 7},
	    {" { \"jsonrpc\" : \"2.0\" , \"id\" : 70 , \"error\" : {", "", true, 70},
	    {"{\"id\":7,\"result\":[", "x\"id\":9}", true, 7},
	    {"{\"jsonrpc\":\"2.0\",\"result\":{\"id\":8", "}],\"id\":12}\r", true, 12},
	    {"{\"result\":{", "{\"id\":8}},\"id\":12,\"jsonrpc\":\"2.0\"}", true, 12},
	    {"{\"result\":{", "{\"id\":8}}", true, 0},
	    {"{\"result\":{", "\\\"id\\\":8}\"}", true, 0},
	    {"{\"result\":{", "", true, 0},
	    {"{\"result\":{", "\"id\":\"8\"}", true, 0},
	    /* of others */
	    {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"", "", false, 0},
	    {"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\"", "\"id\":7}", false, 0},
	    {"{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":", "", false, 0},
	    {"{\"jsonrpc\":\"2.0\",\"id\":7", "", false, 0},
	    {"garbage", "\"id\":7}", false, 0},
	    {"", "", false, 0},
	};
	uint64_t id;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(rpc_peek(str_of(rows[i].head), str_of(rows[i].tail), &id),
				 rows[i].answer);
		if (rows[i].answer)
			assert_int_equal(id, rows[i].id);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_each_kind),
	    cmocka_unit_test(says_what_is_wrong),
	    cmocka_unit_test(knows_a_note_that_is_wrong),
	    cmocka_unit_test(reads_errors_whatever_they_are),
	    cmocka_unit_test(answers_under_the_same_id),
	    cmocka_unit_test(writes_requests_and_notes),
	    cmocka_unit_test(writes_errors),
	    cmocka_unit_test(an_answer_that_is_too_large_says_at_its_ends_whose_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
