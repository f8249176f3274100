/* test_mcp.c - JSON-RPC as MCP wants it: ids as they came, one answer to each request, none to
 * notes. */

#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "front/mcp.h"

static struct buf sent;
static size_t answers;

static void
keep(struct mcp *m, struct str message)
{
	(void)m;
	buf_reset(&sent);
	buf_add(&sent, message);
	answers++;
}

/* What is answered to one message; "" for nothing. */
static const char *
say(const char *text)
{
	struct mcp m;

	buf_init(&sent, LIMIT_LINE_BYTES);
	answers = 0;
	mcp_init(&m, NULL, NULL, keep);
	mcp_take(&m, str_of(text));
	mcp_done(&m);
	assert_true(answers <= 1);
	static char kept[4096];
	struct str s = str_upto(buf_str(&sent), sizeof(kept) - 1);
	memcpy(kept, s.ptr, s.len);
	kept[s.len] = '\0';
	buf_done(&sent);
	return kept;
}

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define PONG(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"

static void
an_id_comes_back_with_its_type(void **state)
{
	(void)state;
	assert_string_equal(say(PING("1")), PONG("1"));
	assert_string_equal(say(PING("\"1\"")), PONG("\"1\""));
	assert_string_equal(say(PING("0")), PONG("0"));
	assert_string_equal(say(PING("-7")), PONG("-7"));
	assert_string_equal(say(PING("\"\"")), PONG("\"\""));
	assert_string_equal(say(PING("9007199254740993")), PONG("9007199254740993"));
	assert_string_equal(say(PING("123456789012345678901234567890")),
			    PONG("123456789012345678901234567890"));
	assert_string_equal(say(PING("\"a\\n\\u0000b\"")), PONG("\"a\\n\\u0000b\""));
}

static bool
is_error(const char *answer, int code, const char *id)
{
	char begin[160];

	snprintf(begin, sizeof(begin), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,", id,
		 code);
	return str_starts(str_of(answer), str_of(begin));
}

static void
what_is_wrong_gets_its_code_and_finds_its_request(void **state)
{
	(void)state;
	assert_true(is_error(say("{oops"), -32700, "null"));
	assert_true(is_error(say("\xff\xfe"), -32700, "null"));
	assert_true(is_error(say("[]"), -32600, "null"));
	assert_true(is_error(say("[" PING("1") "]"), -32600, "null"));
	assert_true(is_error(say("7"), -32600, "null"));
	assert_true(is_error(say(PING("null")), -32600, "null"));
	assert_true(is_error(say(PING("{}")), -32600, "null"));
	assert_true(is_error(say("{\"id\":3,\"method\":\"ping\"}"), -32600, "3"));
	assert_true(is_error(say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":4}"), -32600, "3"));
	assert_true(
	    is_error(say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"nope\"}"), -32601, "3"));
	assert_true(
	    is_error(say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"notifications/initialized\"}"),
		     -32601, "3"));
	assert_true(
	    is_error(say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":[]}"),
		     -32602, "3"));
	assert_true(
	    is_error(say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{}}"),
		     -32602, "3"));
	assert_true(
	    is_error(say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\"}"), -32602, "3"));
}

static void
notes_and_answers_are_never_answered(void **state)
{
	(void)state;
	assert_string_equal(say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
			    "");
	assert_string_equal(say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/whatever\"}"), "");
	assert_string_equal(say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
				"cancelled\",\"params\":{\"requestId\":1}}"),
			    "");
	assert_string_equal(
	    say("{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"shell\"}}"),
	    "");
	assert_string_equal(say("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), "");
	assert_string_equal(say("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}"), "");
}

static void
the_version_asked_for_is_agreed_on_if_known(void **state)
{
	static const char *const asked[][2] = {
	    {"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"},
	    {"2025-06-18", "2025-06-18"}, {"2025-11-25", "2025-11-25"},
	    {"2026-07-28", "2025-11-25"}, {"1", "2025-11-25"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		char text[200], wanted[60];
		snprintf(text, sizeof(text),
			 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
			 "\"protocolVersion\":\"%s\"}}",
			 asked[i][0]);
		snprintf(wanted, sizeof(wanted), "\"protocolVersion\":\"%s\"", asked[i][1]);
		assert_non_null(strstr(say(text), wanted));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_id_comes_back_with_its_type),
	    cmocka_unit_test(what_is_wrong_gets_its_code_and_finds_its_request),
	    cmocka_unit_test(notes_and_answers_are_never_answered),
	    cmocka_unit_test(the_version_asked_for_is_agreed_on_if_known),
	};
	return cmocka_run_group_tests_name("mcp", tests, NULL, NULL);
}
