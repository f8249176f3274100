/* test_era.c - results, tools and blocks for clients of each revision. */

#include "unit.h"

#include "json/parsed.h"
#include "mcp/era.h"

static void
result_is(const char *result, enum mcp_revision to, const char *want)
{
	struct json_doc *doc = parsed(result);
	struct buf out = BUF_INIT(10000);
	struct jw w = jw(&out);

	jw_object(&w);
	era_write_result(&w, json_root(doc), to);
	jw_end(&w);
	assert_string_equal(buf_z(&out), want);
	buf_done(&out);
	json_doc_unref(doc);
}

static void
block_is(const char *block, enum mcp_revision to, const char *want)
{
	struct json_doc *doc = parsed(block);
	struct buf out = BUF_INIT(100000);
	struct jw w = jw(&out);

	era_write_block(&w, json_root(doc), to);
	assert_string_equal(buf_z(&out), want);
	buf_done(&out);
	json_doc_unref(doc);
}

static void
tool_is(const char *definition, enum mcp_revision to, const char *want)
{
	struct json_doc *doc = parsed(definition);
	struct buf out = BUF_INIT(10000);
	struct jw w = jw(&out);

	era_write_tool(&w, json_root(doc), S("s__t"), to);
	assert_string_equal(buf_z(&out), want);
	buf_done(&out);
	json_doc_unref(doc);
}

/* ---- results ---- */

static void
drops_what_belongs_to_an_era(void **state)
{
	(void)state;
	assert_true(era_drops_member(S("resultType")));
	assert_true(era_drops_member(S("ttlMs")));
	assert_true(era_drops_member(S("cacheScope")));
	assert_false(era_drops_member(S("content")));
	assert_false(era_drops_member(S("_meta")));
	assert_false(era_drops_member(S("nextCursor")));
	for (enum mcp_revision to = MCP_UNKNOWN; to <= MCP_2026_07_28; to++)
		result_is("{\"resultType\":\"complete\",\"a\":{\"ttlMs\":1},\"ttlMs\":5,"
			  "\"cacheScope\":\"private\"}",
			  to, "{\"a\":{\"ttlMs\":1}}");
}

/* Unknown members, their order, and every digit. */
static void
keeps_everything_else(void **state)
{
	static const char *const same[] = {
	    "{}",
	    "{\"z\":1,\"a\":[null,true,{\"x\":[]}],\"\":\"\"}",
	    "{\"n\":[123456789012345678901234567890,0.1000000000000000000001,-0.0,1e400]}",
	    "{\"s\":\"\\u0000\xc3\xa9\\\"\"}",
	    "{\"content\":[{\"type\":\"text\",\"text\":\"x\",\"more\":1}],\"isError\":true}",
	    "{\"content\":[]}",
	    "{\"content\":\"text\"}",
	    "{\"messages\":{\"content\":1}}",
	    "{\"content\":[7,null,[]]}",
	    "{\"contents\":[{\"uri\":\"u\",\"blob\":\"\"}]}",
	    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"x\"}},7]}",
	    "{\"structuredContent\":{\"a\":1.50000000000000000000001}}",
	    "{\"description\":\"d\",\"messages\":[]}",
	};

	(void)state;
	for (enum mcp_revision to = MCP_UNKNOWN; to <= MCP_2026_07_28; to++) {
		for (size_t i = 0; i < ARRAY_LEN(same); i++)
			result_is(same[i], to, same[i]);
	}
}

static void
passes_on_meta_of_no_hop(void **state)
{
	const char *result = "{\"_meta\":{\"" META_SERVER "\":{\"name\":\"s\"},\"x/y\":[1],"
			     "\"progressToken\":1},\"a\":1}";

	(void)state;
	result_is(result, MCP_2025_11_25, "{\"_meta\":{\"x/y\":[1]},\"a\":1}");
	result_is(result, MCP_UNKNOWN, "{\"_meta\":{\"x/y\":[1]},\"a\":1}");
	result_is("{\"_meta\":{\"" META_SERVER "\":{}},\"a\":1}", MCP_2025_06_18, "{\"a\":1}");
	result_is("{\"_meta\":7,\"a\":1}", MCP_2025_06_18, "{\"a\":1}");
	result_is("{\"_meta\":[1,{}],\"a\":1}", MCP_2025_06_18, "{\"a\":1}");
	result_is("[1,2]", MCP_2025_06_18, "{}");
	/* A modern one's is written by the caller, with what this gives. */
	result_is(result, MCP_2026_07_28, "{\"a\":1}");
}

static void
gives_the_members_of_meta(void **state)
{
	struct json_doc *doc = parsed("{\"" META_SERVER "\":{},\"x/y\":[1],\"traceparent\":\"0\"}");
	struct buf out = BUF_INIT(1000);
	struct jw w = jw(&out);

	(void)state;
	jw_object(&w);
	jw_member_int(&w, "ours", 1);
	era_write_meta(&w, json_root(doc));
	era_write_meta(&w, NULL);
	jw_end(&w);
	assert_string_equal(buf_z(&out), "{\"ours\":1,\"x/y\":[1],\"traceparent\":\"0\"}");
	buf_done(&out);
	json_doc_unref(doc);
}

static void
gives_structured_content_that_is_understood(void **state)
{
	struct json_doc *list = parsed("[1]"), *object = parsed("{}");

	(void)state;
	for (enum mcp_revision to = MCP_2024_10_07; to <= MCP_2025_11_25; to++) {
		assert_false(era_takes_structured(json_root(list), to));
		assert_true(era_takes_structured(json_root(object), to));
		result_is("{\"content\":[],\"structuredContent\":[1]}", to, "{\"content\":[]}");
		result_is("{\"structuredContent\":null,\"content\":[]}", to, "{\"content\":[]}");
	}
	assert_true(era_takes_structured(json_root(list), MCP_2026_07_28));
	assert_true(era_takes_structured(json_root(list), MCP_UNKNOWN));
	assert_false(era_takes_structured(NULL, MCP_2026_07_28));
	result_is("{\"structuredContent\":null}", MCP_2026_07_28, "{\"structuredContent\":null}");
	json_doc_unref(list);
	json_doc_unref(object);
}

/* ---- blocks ---- */

#define AUDIO                                                                                      \
	"{\"type\":\"audio\",\"data\":\"AAAAAAAA\",\"mimeType\":\"audio/wav\",\"annotations\":"    \
	"{\"priority\":1},\"x\":2}"
#define AUDIO_TEXT                                                                                 \
	"{\"type\":\"text\",\"text\":\"audio: audio/wav, 6 bytes of it are left out: this client " \
	"does not take audio\",\"annotations\":{\"priority\":1}}"
#define LINK                                                                                       \
	"{\"type\":\"resource_link\",\"uri\":\"file:///a\",\"name\":\"a\",\"title\":\"A\","        \
	"\"mimeType\":\"text/plain\",\"size\":3,\"_meta\":{\"k\":1}}"
#define LINK_TEXT                                                                                  \
	"{\"type\":\"text\",\"text\":\"resource: file:///a, name: a, title: A, mimeType: "         \
	"text/plain\",\"_meta\":{\"k\":1}}"

static void
says_what_an_older_client_does_not_know(void **state)
{
	(void)state;
	for (enum mcp_revision to = MCP_UNKNOWN; to <= MCP_2026_07_28; to++) {
		bool audio = to == MCP_UNKNOWN || to >= MCP_2025_03_26;
		bool link = to == MCP_UNKNOWN || to >= MCP_2025_06_18;
		block_is(AUDIO, to, audio ? AUDIO : AUDIO_TEXT);
		block_is(LINK, to, link ? LINK : LINK_TEXT);
		block_is("{\"type\":\"image\",\"data\":\"\"}", to,
			 "{\"type\":\"image\",\"data\":\"\"}");
		block_is("{\"type\":\"hologram\"}", to, "{\"type\":\"hologram\"}");
	}
	result_is("{\"content\":[" AUDIO "," LINK "]}", MCP_2024_11_05,
		  "{\"content\":[" AUDIO_TEXT "," LINK_TEXT "]}");
	result_is("{\"messages\":[{\"role\":\"user\",\"content\":" LINK "}]}", MCP_2025_03_26,
		  "{\"messages\":[{\"role\":\"user\",\"content\":" LINK_TEXT "}]}");
	/* Blocks with nothing in them. */
	block_is(
	    "{\"type\":\"audio\"}", MCP_2024_11_05,
	    "{\"type\":\"text\",\"text\":\"audio: 0 bytes of it are left out: this client does "
	    "not take audio\"}");
	block_is("{\"type\":\"resource_link\",\"uri\":7}", MCP_2024_11_05,
		 "{\"type\":\"text\",\"text\":\"a link to a resource, which does not say to "
		 "which\"}");
}

/* However much there is to be said, the result stays whole, and no character is cut. */
static void
says_it_within_bounds(void **state)
{
	static const char *const keys[] = {"uri", "name", "title", "description", "mimeType"};
	struct buf block = BUF_INIT(LIMIT_JSON_BYTES), out = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&out);

	(void)state;
	buf_addz(&block, "{\"type\":\"resource_link\"");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		buf_addf(&block, ",\"%s\":\"x", keys[i]);
		for (size_t n = 0; n < 10 * LIMIT_MCP_BLOCK_TEXT; n++)
			buf_addz(&block, "\xc3\xa9");
		buf_addz(&block, "\"");
	}
	buf_addz(&block, "}");
	struct json_doc *doc = parsed(buf_z(&block));
	era_write_block(&w, json_root(doc), MCP_2025_03_26);
	assert_false(buf_failed(&out));
	assert_true(out.len > 5 * (LIMIT_MCP_BLOCK_TEXT - 2) && out.len < 6 * LIMIT_MCP_BLOCK_TEXT);
	assert_null(strstr(buf_z(&out), "\xef\xbf\xbd"));
	json_doc_unref(doc);
	doc = parsed(buf_z(&out));
	assert_true(str_is(json_str(json_get(json_root(doc), S("type"))), "text"));
	json_doc_unref(doc);
	buf_done(&block), buf_done(&out);
}

/* ---- tools ---- */

#define TOOL                                                                                       \
	"{\"title\":\"T\",\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"x-a\":1."          \
	"0000000000000000000001},"                                                                 \
	"\"execution\":{\"taskSupport\":\"optional\"},\"outputSchema\":%s,\"_meta\":{\"k\":1}}"

static void
lists_tools_for_each_era(void **state)
{
	static const struct {
		const char *schema;
		bool legacy, modern; /* is it shown to them? */
	} cases[] = {
	    {"{\"type\":\"object\"}", true, true},
	    {"{\"type\":\"array\"}", false, true},
	    {"{\"type\":[\"object\"]}", false, true},
	    {"{}", false, true},
	    {"true", false, false}, /* a schema, but no object */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf tool = BUF_INIT(1000), old = BUF_INIT(1000), new = BUF_INIT(1000);
		buf_addf(&tool, TOOL, cases[i].schema);
		buf_addz(&old, "{\"name\":\"s__t\",\"title\":\"T\",\"inputSchema\":{\"type\":"
			       "\"object\",\"x-a\":"
			       "1.0000000000000000000001}");
		buf_add(&new, buf_str(&old));
		buf_addz(&old, ",\"execution\":{\"taskSupport\":\"optional\"}");
		if (cases[i].legacy)
			buf_addf(&old, ",\"outputSchema\":%s", cases[i].schema);
		if (cases[i].modern)
			buf_addf(&new, ",\"outputSchema\":%s", cases[i].schema);
		buf_addz(&old, ",\"_meta\":{\"k\":1}}"), buf_addz(&new, ",\"_meta\":{\"k\":1}}");
		for (enum mcp_revision to = MCP_2024_10_07; to <= MCP_2025_11_25; to++)
			tool_is(buf_z(&tool), to, buf_z(&old));
		tool_is(buf_z(&tool), MCP_2026_07_28, buf_z(&new));
		buf_done(&tool), buf_done(&old), buf_done(&new);
	}
	tool_is("[{},1]", MCP_2026_07_28, "{\"name\":\"s__t\"}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(drops_what_belongs_to_an_era),
	    cmocka_unit_test(keeps_everything_else),
	    cmocka_unit_test(passes_on_meta_of_no_hop),
	    cmocka_unit_test(gives_the_members_of_meta),
	    cmocka_unit_test(gives_structured_content_that_is_understood),
	    cmocka_unit_test(says_what_an_older_client_does_not_know),
	    cmocka_unit_test(says_it_within_bounds),
	    cmocka_unit_test(lists_tools_for_each_era),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
