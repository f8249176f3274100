/* test_mcp.c - JSON-RPC as MCP wants it, in both eras: which one a message is of, ids as they came,
 * one answer to each request, none to notes (issue 5). */

#define WORLD_EVENTS 8192 /* it makes many calls */
#include "mcp_world.h"

static struct world *world;
static struct peer *peer;

static int
setup(void **state)
{
	(void)state;
	world = world_new(NULL);
	peer = peer_new(world, "all", MCP_2025_11_25);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	peer_free(peer);
	world_free(world);
	return 0;
}

/* What is answered to one message, as a line carries it; "" for nothing. */
static const char *
say(const char *text)
{
	static char kept[8192];
	struct mcp_message m = {0};
	struct mcp_fault f = {0};
	struct json_doc *doc = NULL;
	struct buf b = BUF_INIT(LIMIT_LINE_BYTES);

	buf_done(&peer->text);
	peer->here = false;
	int code = json_parse(str_of(text), &json_door, &doc, &f.err);
	if (code < 0)
		f.code = err_row(code)->rpc;
	else if ((code = mcp_read(doc, &m, &f)) == 0 && m.rpc.kind == RPC_REQUEST &&
		 m.era == ERA_MODERN && (code = mcp_check_envelope(&m, &f)) == 0)
		code = mcp_check_version(&m, &f);
	if (code == 0)
		mcp_take(&peer->client, &peer->channel, &m);
	else if (!doc || m.rpc.kind == RPC_REQUEST)
		mcp_write_fault(&b, doc ? &m : NULL, &f);
	struct str s = b.len ? buf_str(&b) : buf_str(&peer->text);
	assert_true(s.len < sizeof(kept));
	memcpy(kept, s.ptr, s.len);
	kept[s.len] = '\0';
	buf_done(&b);
	json_doc_unref(doc);
	return kept;
}

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define PONG(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"
#define CLAIM "\"_meta\":{\"" META_VERSION "\":\"" MCP_MODERN "\",\"" META_CAPABILITIES "\":{}}"
#define MODERN(method)                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"" method "\",\"params\":{" CLAIM "}}"

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
	static const struct {
		const char *text;
		int code;
		const char *id;
	} rows[] = {
	    {"{oops", -32700, "null"},
	    {"\xff\xfe", -32700, "null"},
	    {"[]", -32600, "null"},
	    {"[" PING("1") "]", -32600, "null"},
	    {"7", -32600, "null"},
	    {PING("null"), -32600, "null"},
	    {PING("{}"), -32600, "null"},
	    {PING("1.5"), -32600, "null"},
	    {"{\"id\":3,\"method\":\"ping\"}", -32600, "3"},
	    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":4}", -32600, "3"},
	    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"nope\"}", -32601, "3"},
	    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"notifications/initialized\"}", -32601,
	     "3"},
	    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":[]}", -32602, "3"},
	    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{}}", -32602, "3"},
	    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\"}", -32602, "3"},
	    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"logging/setLevel\",\"params\":{}}", -32602,
	     "3"},
	    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\"}", -32602, "3"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!is_error(say(rows[i].text), rows[i].code, rows[i].id))
			fail_msg("%s: %s", rows[i].text, say(rows[i].text));
}

static void
notes_and_answers_are_never_answered(void **state)
{
	static const char *const quiet[] = {
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/whatever\"}",
	    ("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	     "cancelled\",\"params\":{\"requestId\":1}}"),
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"shell\"}}",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":[]}",
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":\"hf-1\",\"result\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":\"hf-99999999999999999999\",\"result\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(quiet); i++)
		assert_string_equal(say(quiet[i]), "");
	assert_int_equal(peer->client.requests.len, 0);
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
		assert_string_equal(mcp_revision_name(peer->client.revision), asked[i][1]);
	}
}

static void
the_era_is_the_bodys_and_each_message_has_its_own(void **state)
{
	static const char *const modern_only[] = {MODERN("server/discover"), MODERN("tools/list")};
	static const char *const not_modern[] = {MODERN("ping"), MODERN("initialize"),
						 MODERN("logging/setLevel"),
						 MODERN("resources/subscribe")};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modern_only); i++) {
		const char *answer = say(modern_only[i]);
		assert_non_null(strstr(answer, "\"resultType\":\"complete\""));
		assert_non_null(strstr(answer, "\"ttlMs\":0,\"cacheScope\":\"private\""));
		assert_non_null(strstr(answer, "\"" META_SERVER "\":{\"name\":\"holdfast\""));
	}
	for (size_t i = 0; i < ARRAY_LEN(not_modern); i++)
		assert_true(is_error(say(not_modern[i]), -32601, "3"));
	/* And in between, as if nothing had been. */
	assert_string_equal(say(PING("1")), PONG("1"));
	const char *legacy = say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	assert_null(strstr(legacy, "resultType"));
	assert_null(strstr(legacy, "ttlMs"));
	assert_true(is_error(say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"server/discover\"}"),
			     -32601, "3"));
}

static void
a_claim_must_be_whole_and_of_a_version_spoken_here(void **state)
{
	static const char *const broken[] = {
	    "\"" META_VERSION "\":7,\"" META_CAPABILITIES "\":{}",
	    "\"" META_VERSION "\":null,\"" META_CAPABILITIES "\":{}",
	    "\"" META_VERSION "\":\"2026-07-28\"",
	    "\"" META_VERSION "\":\"2026-07-28\",\"" META_CAPABILITIES "\":[]",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		snprintf(text, sizeof(text),
			 "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{"
			 "\"_meta\":{%s}}}",
			 broken[i]);
		assert_true(is_error(say(text), -32602, "3"));
	}
	const char *answer =
	    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
		"\"" META_VERSION "\":\"2031-01-01\",\"" META_CAPABILITIES "\":{}}}}");
	assert_true(is_error(answer, -32022, "3"));
	assert_non_null(
	    strstr(answer,
		   "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"2031-01-01\"}"));
	answer =
	    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
		"\"" META_VERSION "\":\"2026-07-28\",\"" META_CAPABILITIES "\":{},\"" META_LOG_LEVEL
		"\":\"loud\"}}}");
	assert_true(is_error(answer, -32602, "3"));
}

/* A call that waits for a person stays open. */
#define WRITE(id)                                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":"       \
	"\"write_file\",\"arguments\":{\"path\":\"a\",\"content\":\"x\"}}}"

static void
an_id_in_use_is_refused_and_a_cancelled_one_is_free(void **state)
{
	(void)state;
	assert_string_equal(say(WRITE("7")), "");
	UNTIL(world, questions_count(world->hf->questions) == 1);
	assert_true(is_error(say(PING("7")), -32600, "null"));
	assert_string_equal(say(PING("\"7\"")), PONG("\"7\""));
	say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "cancelled\",\"params\":{\"requestId\":7}}");
	UNTIL(world, questions_count(world->hf->questions) == 0 && peer->client.requests.len == 0);
	assert_int_equal(peer->text.len, 0); /* it got no answer */
	assert_string_equal(say(PING("7")), PONG("7"));
}

static void
a_client_has_only_so_many_open_requests(void **state)
{
	char text[300];

	(void)state;
	for (int i = 0; i < LIMIT_MCP_CALLS; i++) {
		snprintf(
		    text, sizeof(text),
		    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
		    "\"name\":\"write_file\",\"arguments\":{\"path\":\"a\",\"content\":\"x\"}}}",
		    i);
		assert_string_equal(say(text), "");
	}
	assert_true(is_error(say(PING("\"x\"")), -32603, "\"x\""));
	assert_int_equal(world->hf->front->mcp.open, LIMIT_MCP_CALLS);
	/* Its end takes them all along, at once. */
	peer_free(peer);
	peer = peer_new(world, "all", MCP_2025_11_25);
	assert_int_equal(world->hf->front->mcp.open, 0);
	UNTIL(world, questions_count(world->hf->questions) == 0);
}

/* What an exchange ended with, as a client of that revision hears it. */
static const char *
fails_as(bool modern, const char *method, const char *error)
{
	static char kept[2048];
	struct json_doc *doc, *message;
	struct mcp_message m = {0};
	struct mcp_fault f;
	struct err e;
	char text[400];

	/* subscriptions/listen and write_file stay open: any request that is not answered will do.
	 */
	snprintf(
	    text, sizeof(text),
	    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":"
	    "\"write_file\",\"uri\":\"x://1\",\"arguments\":{\"path\":\"a\",\"content\":\"x\"}%s}}",
	    modern ? "," CLAIM : "");
	assert_int_equal(json_parse(str_of(text), &json_door, &message, &e), 0);
	assert_int_equal(mcp_read(message, &m, &f), 0);
	mcp_take(&peer->client, &peer->channel, &m);
	json_doc_unref(message);
	struct mcp_request *q =
	    CONTAINER_OF(list_first(&peer->client.requests), struct mcp_request, node);
	turn_orphan(q->turn);
	gateway_cancel_call(&world->hf->gw, id_str(&q->turn->results[0].call));
	q->rpc.method = str_of(method);
	assert_int_equal(json_parse(str_of(error), &json_door, &doc, &e), 0);
	peer->here = false;
	mcp_fail_exchange(q, &(struct exchange_end){.error = json_root(doc)});
	json_doc_unref(doc);
	snprintf(kept, sizeof(kept), "%d %.*s", peer->status, STR_ARG(buf_str(&peer->text)));
	return kept;
}

static void
errors_of_servers_are_told_in_the_clients_era(void **state)
{
	static const struct {
		bool modern;
		const char *method, *error, *told;
	} rows[] = {
	    {true, "tools/call", "{\"code\":-31999,\"message\":\"m\",\"data\":[1.5]}",
	     "200 "
	     "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-31999,\"message\":\"m\",\"data\":["
	     "1.5]}}"},
	    {true, "tools/call",
	     "{\"code\":-32021,\"message\":\"m\",\"data\":{\"requiredCapabilities\":{\"sampling\":{"
	     "}}}}",
	     "400 "
	     "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32021,\"message\":\"m\",\"data\":{"
	     "\"requiredCapabilities\":{\"sampling\":{}}}}}"},
	    {false, "tools/call", "{\"code\":-32021,\"message\":\"m\"}",
	     "200 {\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,\"message\":\"m\"}}"},
	    {true, "tools/call", "{\"code\":-32020,\"message\":\"m\"}",
	     "200 {\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,\"message\":\"m\"}}"},
	    {true, "resources/read", "{\"code\":-32002,\"message\":\"m\"}",
	     "200 "
	     "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32602,\"message\":\"m\",\"data\":{"
	     "\"uri\":\"x://1\"}}}"},
	    {false, "resources/read",
	     "{\"code\":-32602,\"message\":\"m\",\"data\":{\"uri\":\"x://1\"}}",
	     "200 "
	     "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32002,\"message\":\"m\",\"data\":{"
	     "\"uri\":\"x://1\"}}}"},
	    {true, "prompts/get", "{\"code\":-32042,\"message\":\"m\"}",
	     "200 {\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,\"message\":\"m\"}}"},
	    {true, "prompts/get", "{\"code\":\"odd\"}",
	     "200 {\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,\"message\":\"\"}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(fails_as(rows[i].modern, rows[i].method, rows[i].error),
				    rows[i].told);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_id_comes_back_with_its_type),
	    cmocka_unit_test(what_is_wrong_gets_its_code_and_finds_its_request),
	    cmocka_unit_test(notes_and_answers_are_never_answered),
	    cmocka_unit_test(the_version_asked_for_is_agreed_on_if_known),
	    cmocka_unit_test(the_era_is_the_bodys_and_each_message_has_its_own),
	    cmocka_unit_test(a_claim_must_be_whole_and_of_a_version_spoken_here),
	    cmocka_unit_test(an_id_in_use_is_refused_and_a_cancelled_one_is_free),
	    cmocka_unit_test(a_client_has_only_so_many_open_requests),
	    cmocka_unit_test(errors_of_servers_are_told_in_the_clients_era),
	};
	return cmocka_run_group_tests_name("mcp", tests, setup, teardown);
}
