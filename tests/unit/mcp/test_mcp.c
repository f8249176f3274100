/* test_mcp.c - revisions, keys of _meta, levels, and what a client can be asked. */

#include "unit.h"

#include "json/parsed.h"
#include "base/limits.h"
#include "mcp/mcp.h"

static void
knows_the_revisions(void **state)
{
	(void)state;
	for (enum mcp_revision r = MCP_2024_10_07; r <= MCP_2026_07_28; r++)
		assert_int_equal(mcp_revision(str_of(mcp_revision_name(r))), r);
	assert_int_equal(mcp_revision(S("2026-07-2")), MCP_UNKNOWN);
	assert_int_equal(mcp_revision(S("unknown")), MCP_UNKNOWN);
	assert_int_equal(mcp_revision(S("")), MCP_UNKNOWN);
	assert_int_equal(mcp_revision((struct str){NULL, 0}), MCP_UNKNOWN);
	assert_string_equal(mcp_revision_name(MCP_UNKNOWN), "unknown");
	assert_string_equal(mcp_era_name(ERA_LEGACY), "legacy");
	assert_string_equal(mcp_era_name(ERA_MODERN), "modern");
}

static void
offers_what_was_asked_for_or_the_newest_of_that_era(void **state)
{
	static const struct {
		const char *asked;
		enum mcp_revision get;
	} cases[] = {
	    {"2024-10-07", MCP_2024_10_07}, {"2024-11-05", MCP_2024_11_05},
	    {"2025-03-26", MCP_2025_03_26}, {"2025-06-18", MCP_2025_06_18},
	    {"2025-11-25", MCP_2025_11_25}, {"2026-07-28", MCP_2025_11_25},
	    {"1999-01-01", MCP_2025_11_25}, {"", MCP_2025_11_25},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(mcp_negotiate(str_of(cases[i].asked)), cases[i].get);
}

static void
tells_what_belongs_to_a_hop(void **state)
{
	static const char *const hop[] = {META_VERSION, META_CAPABILITIES, META_CLIENT,
					  META_SERVER,  META_LOG_LEVEL,    META_SUBSCRIPTION,
					  META_PROGRESS};
	static const char *const not_hop[] = {"traceparent",
					      "tracestate",
					      "baggage",
					      "",
					      "com.example/x",
					      "io.modelcontextprotocol/related-task"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hop); i++)
		assert_true(mcp_meta_is_hop(str_of(hop[i])));
	for (size_t i = 0; i < ARRAY_LEN(not_hop); i++)
		assert_false(mcp_meta_is_hop(str_of(not_hop[i])));
}

static void
orders_the_levels(void **state)
{
	(void)state;
	assert_int_equal(mcp_log_level(S("debug")), 0);
	assert_int_equal(mcp_log_level(S("warning")), 3);
	assert_int_equal(mcp_log_level(S("emergency")), MCP_LOG_NONE - 1);
	assert_int_equal(mcp_log_level(S("Debug")), -1);
	assert_int_equal(mcp_log_level((struct str){NULL, 0}), -1);
}

static void
reads_what_a_client_can(void **state)
{
	static const struct {
		const char *capabilities;
		unsigned can;
	} cases[] = {
	    {"{}", 0},
	    {"[]", 0},
	    {"{\"elicitation\":{}}", CAN_ELICIT_FORM},
	    {"{\"elicitation\":{\"form\":{}}}", CAN_ELICIT_FORM},
	    {"{\"elicitation\":{\"url\":{}}}", CAN_ELICIT_URL},
	    {"{\"elicitation\":{\"form\":{},\"url\":{}}}", CAN_ELICIT_FORM | CAN_ELICIT_URL},
	    {"{\"elicitation\":true,\"sampling\":1,\"roots\":null}", 0},
	    {"{\"sampling\":{\"context\":{}}}", CAN_SAMPLE},
	    {"{\"sampling\":{\"tools\":{}},\"roots\":{\"listChanged\":true}}",
	     CAN_SAMPLE | CAN_SAMPLE_TOOLS | CAN_ROOTS},
	};

	(void)state;
	assert_int_equal(mcp_can(NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].capabilities);
		assert_int_equal(mcp_can(json_root(doc)), cases[i].can);
		json_doc_unref(doc);
	}
}

static void
knows_what_a_question_needs(void **state)
{
	static const struct {
		const char *method, *params;
		unsigned needs;
	} cases[] = {
	    {"elicitation/create", "{\"message\":\"?\"}", CAN_ELICIT_FORM},
	    {"elicitation/create", "{\"mode\":\"form\"}", CAN_ELICIT_FORM},
	    {"elicitation/create", "{\"mode\":\"url\"}", CAN_ELICIT_URL},
	    {"sampling/createMessage", "{\"messages\":[]}", CAN_SAMPLE},
	    {"sampling/createMessage", "{\"tools\":[]}", CAN_SAMPLE | CAN_SAMPLE_TOOLS},
	    {"sampling/createMessage", "{\"toolChoice\":{}}", CAN_SAMPLE | CAN_SAMPLE_TOOLS},
	    {"roots/list", "{}", CAN_ROOTS},
	    {"tools/call", "{}", 0},
	    {"", "{}", 0},
	};

	(void)state;
	assert_int_equal(mcp_needs(S("roots/list"), NULL), CAN_ROOTS);
	assert_int_equal(mcp_needs((struct str){NULL, 0}, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].params);
		assert_int_equal(mcp_needs(str_of(cases[i].method), json_root(doc)),
				 cases[i].needs);
		json_doc_unref(doc);
	}
}

/* Whatever is written is read as the same, so nobody is told to declare something else. */
static void
writes_what_it_reads(void **state)
{
	(void)state;
	for (unsigned can = 0; can < 2 * CAN_ROOTS; can++) {
		struct buf out = BUF_INIT(1000);
		struct jw w = jw(&out);
		mcp_write_can(&w, can);
		struct json_doc *doc = parsed(buf_z(&out));
		unsigned implied = can & CAN_SAMPLE_TOOLS ? CAN_SAMPLE : 0;
		assert_int_equal(mcp_can(json_root(doc)), can | implied);
		if (can == CAN_SAMPLE)
			assert_string_equal(buf_z(&out), "{\"sampling\":{}}");
		json_doc_unref(doc);
		buf_done(&out);
	}
}

static void
reads_how_long_a_result_may_be_held(void **state)
{
	static const struct {
		const char *result;
		struct mcp_hint hint;
	} cases[] = {
	    {"{\"ttlMs\":5000,\"cacheScope\":\"public\"}", {5000, true}},
	    {"{\"ttlMs\":5000,\"cacheScope\":\"private\"}", {5000, false}},
	    {"{\"ttlMs\":5000}", {5000, false}},
	    {"{\"ttlMs\":0,\"cacheScope\":\"public\"}", {0, true}},
	    {"{\"ttlMs\":9000000000000,\"cacheScope\":\"PUBLIC\"}", {LIMIT_MCP_TTL_MS, false}},
	    {"{\"ttlMs\":-1,\"cacheScope\":\"public\"}", {0, false}},
	    {"{\"ttlMs\":1.5,\"cacheScope\":\"public\"}", {0, false}},
	    {"{\"ttlMs\":\"5\",\"cacheScope\":\"public\"}", {0, false}},
	    {"{\"cacheScope\":\"public\"}", {0, false}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].result);
		struct mcp_hint hint = mcp_hint(json_root(doc));
		if (hint.ttl_ms != cases[i].hint.ttl_ms ||
		    hint.everybody != cases[i].hint.everybody)
			fail_msg("%s: %llu", cases[i].result, (unsigned long long)hint.ttl_ms);
		json_doc_unref(doc);
	}
	struct mcp_hint both =
	    mcp_hint_both((struct mcp_hint){5, true}, (struct mcp_hint){7, false});
	assert_int_equal(both.ttl_ms, 5);
	assert_false(both.everybody);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(knows_the_revisions),
	    cmocka_unit_test(offers_what_was_asked_for_or_the_newest_of_that_era),
	    cmocka_unit_test(tells_what_belongs_to_a_hop),
	    cmocka_unit_test(orders_the_levels),
	    cmocka_unit_test(reads_what_a_client_can),
	    cmocka_unit_test(knows_what_a_question_needs),
	    cmocka_unit_test(writes_what_it_reads),
	    cmocka_unit_test(reads_how_long_a_result_may_be_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
