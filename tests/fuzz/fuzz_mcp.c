/*
 * fuzz_mcp.c - any JSON as a message, a schema, a result, a tool and a block; any bytes as a
 * header: what is refused says why, what is written is JSON, and nothing is lost that has to stay.
 */

#include "fuzz.h"
#include "mcp/era.h"
#include "mcp/header.h"
#include "mcp/rpc.h"

/* ---- messages ---- */

static void
check_message(const struct json *root)
{
	struct rpc r;
	struct err e = ERR_NONE;
	int rc = rpc_read(root, &r, &e);

	CHECK(!r.id || json_is(r.id, JSON_STRING) || json_is_integer(r.id));
	if (rc < 0) {
		CHECK((rc == E_BAD_REQUEST || rc == E_VALIDATION) && e.text[0]);
		check_harmless(str_of(e.text));
		return;
	}
	CHECK((r.kind == RPC_REQUEST || r.kind == RPC_NOTE) == (r.method.len > 0));
	CHECK((r.kind == RPC_RESULT) == json_is(r.result, JSON_OBJECT));
	CHECK((r.kind == RPC_ERROR) == json_is(r.error, JSON_OBJECT));
	CHECK(r.id || r.kind == RPC_NOTE || r.kind == RPC_ERROR);
	CHECK(!r.params || json_is(r.params, JSON_OBJECT));
	CHECK(!r.meta || json_is(r.meta, JSON_OBJECT));
	CHECK(rpc_error_message(r.error).ptr);
	header_name_of(r.method, r.params);
	mcp_needs(r.method, r.params);
}

static void
check_answer(const struct json *id, struct str text)
{
	struct buf out = BUF_INIT(LIMIT_JSON_BYTES);

	rpc_write_error(&out, id, RPC_INTERNAL, text, (struct str){NULL, 0});
	struct json_doc *doc = fuzz_parse(buf_str(&out));
	if (doc) /* an id may be as deep as what is taken, and is one deeper here */
		CHECK(json_equal(json_get(json_root(doc), S("id")), id));
	json_doc_unref(doc);
	buf_done(&out);
}

/* What a client is said to need is what it is then found to have. */
static void
check_capabilities(const struct json *root)
{
	struct buf out = BUF_INIT(KIB);
	struct jw w = jw(&out);
	unsigned can = mcp_can(root);

	mcp_write_can(&w, can);
	struct json_doc *doc = fuzz_parse(buf_str(&out));
	CHECK(doc && mcp_can(json_root(doc)) == can);
	json_doc_unref(doc);
	buf_done(&out);
}

/* ---- headers ---- */

static void
check_value(struct str text)
{
	struct buf out = BUF_INIT(LIMIT_JSON_BYTES), back = BUF_INIT(LIMIT_JSON_BYTES);

	header_decode(text, &back);
	buf_reset(&back);
	header_encode(&out, text);
	for (size_t i = 0; i < out.len; i++)
		CHECK(out.ptr[i] >= 0x20 && out.ptr[i] <= 0x7e);
	CHECK(str_eq(str_trim(buf_str(&out)), buf_str(&out)));
	bool utf8 = str_is_utf8(text);
	CHECK(header_decode(buf_str(&out), &back) == utf8);
	CHECK(!utf8 || (str_eq(buf_str(&back), text) && header_says(buf_str(&out), text)));
	buf_done(&out);
	buf_done(&back);
}

static void
check_params(const struct json *root)
{
	struct header_param params[LIMIT_MCP_PARAMS];
	struct err e = ERR_NONE;
	size_t count = 0;
	int rc = header_params(root, root, params, ARRAY_LEN(params), &count, &e);

	CHECK(header_has_params(root) == (rc < 0 || count > 0));
	if (rc < 0) {
		CHECK(rc == E_VALIDATION && e.text[0]);
		check_harmless(str_of(e.text));
	}
	for (size_t i = 0; i < count; i++) {
		struct buf out = BUF_INIT(LIMIT_JSON_BYTES);
		if (params[i].value) {
			header_param_value(&out, params[i].value);
			CHECK(out.len > 0 && header_param_says(buf_str(&out), params[i].value));
		}
		buf_done(&out);
	}
}

/* ---- eras ---- */

static struct json_doc *
reread(struct buf *out)
{
	CHECK(!buf_failed(out));
	struct json_doc *doc = fuzz_parse(buf_str(out));
	CHECK(doc);
	buf_reset(out);
	return doc;
}

static void
check_result(const struct json *before, const struct json *after, enum mcp_revision to)
{
	for (struct json_iter it = json_iter(after); json_next(&it);) {
		CHECK(!era_drops_member(it.key));
		if (to == MCP_UNKNOWN && !str_is(it.key, "_meta"))
			CHECK(json_equal(it.value, json_get(before, it.key)));
	}
	if (to != MCP_UNKNOWN || !json_is(before, JSON_OBJECT))
		return;
	for (struct json_iter it = json_iter(before); json_next(&it);)
		CHECK(json_get(after, it.key) || era_drops_member(it.key) ||
		      str_is(it.key, "_meta"));
}

static void
check_era(const struct json *root, enum mcp_revision to, struct buf *out)
{
	struct jw w = jw(out);

	jw_object(&w);
	era_write_result(&w, root, to);
	jw_end(&w);
	struct json_doc *doc = reread(out);
	check_result(root, json_root(doc), to);
	json_doc_unref(doc);

	w = jw(out);
	era_write_block(&w, root, to);
	json_doc_unref(reread(out));

	w = jw(out);
	era_write_tool(&w, root, S("t"), to);
	doc = reread(out);
	CHECK(str_is(json_str(json_get(json_root(doc), S("name"))), "t"));
	json_doc_unref(doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = {(const char *)bytes, size};

	if (size > 64 * KIB)
		return 0;
	check_value(text);
	struct json_doc *doc = fuzz_parse(text);
	if (!doc)
		return 0;
	const struct json *root = json_root(doc);
	struct buf out = BUF_INIT(LIMIT_JSON_BYTES);
	check_message(root);
	check_answer(root, text);
	check_capabilities(root);
	check_params(root);
	header_param_says(text, root);
	for (enum mcp_revision to = MCP_UNKNOWN; to <= MCP_2026_07_28; to++)
		check_era(root, to, &out);
	buf_done(&out);
	json_doc_unref(doc);
	return 0;
}
