/*
 * mcp_result.c - one call through the pipeline, and what came of it as the surface shows it.
 *
 *                     gateway, proxy          all, one server
 *   a result          as it came              as it came
 *   unknown tool      HYDRATE_FAILED          -32602
 *   an upstream's     refused, with its       its JSON-RPC error
 *     JSON-RPC error    code in the details
 *   other failures    refused (seed 001       isError and a sentence
 *                       section 3.4)
 */

#include "catalog/refusal.h"
#include "front/mcp_offer.h"

#define HANDED (64 * KIB) /* content that is not copied */

static const struct str none = {NULL, 0};

/* ---- reading what came ---- */

/* JSON between two brackets. NULL: it was not. */
static struct json_doc *
read_between(const char *open, const struct buf *json, const char *close)
{
	struct json_limits limits = {json->len + 2, LIMIT_JSON_DOOR_DEPTH + 2};
	struct buf text = BUF_INIT(json->len + 2);
	struct json_doc *doc = NULL;

	buf_addz(&text, open);
	buf_add(&text, buf_str(json));
	buf_addz(&text, close);
	if (buf_failed(&text) || json_parse(buf_str(&text), &limits, &doc, NULL) < 0)
		doc = NULL;
	buf_done(&text);
	return doc;
}

/* The sentence of a failed call: the first of its blocks. */
static struct str
sentence_of(const struct json_doc *blocks, const struct turn_result *r)
{
	struct str text =
	    json_str(json_get(blocks ? json_at(json_root(blocks), 0) : NULL, S("text")));

	return text.len ? text : str_of(err_row(r->code)->sentence);
}

/* ---- writing ---- */

/*
 * Members of _meta: what an upstream said there, and what there is to say of the call. The upstream
 * may be one of us, and then only the nearest is heard.
 */
static void
write_about(struct buf *out, const struct json *upstream, const struct turn_result *r)
{
	struct buf object = BUF_INIT(out->max);
	struct jw w = jw(&object);

	jw_object(&w);
	for (struct json_iter it = json_iter(upstream); json_next(&it);)
		if (!mcp_meta_is_hop(it.key) && !str_is(it.key, META_PROVENANCE) &&
		    !str_is(it.key, META_ARTIFACTS) && !str_is(it.key, META_RETRY_AFTER) &&
		    !str_is(it.key, META_CACHED) && !str_is(it.key, META_EFFECT))
			jw_key_str(&w, it.key), jw_value(&w, it.value);
	if (r->cached)
		jw_member_bool(&w, META_CACHED, true);
	if (r->effect.text[0])
		jw_member_z(&w, META_EFFECT, r->effect.text);
	if (r->repairs.len || r->unrecorded || r->unknown.len) {
		jw_key(&w, META_PROVENANCE);
		turn_write_provenance(&w, r);
	}
	if (r->artifacts.len) {
		jw_key(&w, META_ARTIFACTS);
		turn_write_artifacts(&w, r);
	}
	if (r->retry_after_ms)
		jw_member_int(&w, META_RETRY_AFTER, r->retry_after_ms);
	jw_end(&w);
	if (!buf_failed(&object))
		buf_add(out, (struct str){object.ptr + 1, object.len - 2});
	buf_done(&object);
}

static bool
has_about(const struct turn_result *r)
{
	return r->repairs.len || r->artifacts.len || r->retry_after_ms || r->cached ||
	       r->unrecorded || r->unknown.len;
}

static void
write_meta(struct mcp_request *q, struct jw *w, const struct json *upstream,
	   const struct turn_result *r)
{
	struct buf about = BUF_INIT(LIMIT_JSON_BYTES);

	if (!r || !has_about(r)) {
		mcp_write_meta(q, w, upstream, none);
		return;
	}
	write_about(&about, upstream, r);
	mcp_write_meta(q, w, NULL, buf_str(&about));
	buf_done(&about);
}

/* Blocks from that one on. */
static void
write_blocks(struct mcp_request *q, struct jw *w, const struct json *blocks, size_t from)
{
	for (struct json_iter it = json_iter(blocks); json_next(&it);)
		if (from > 0)
			from--;
		else
			era_write_block(w, it.value, q->revision);
}

static void
write_content(struct mcp_request *q, struct jw *w, const struct turn_result *r)
{
	jw_key(w, "content");
	jw_array(w);
	if (q->revision < MCP_2025_06_18 && r->content.len) {
		struct json_doc *blocks = read_between("[", &r->content, "]");
		write_blocks(q, w, blocks ? json_root(blocks) : NULL, 0);
		json_doc_unref(blocks);
	} else if (r->content.len) {
		jw_raw(w, buf_str(&r->content));
	}
	jw_end(w);
}

/* What an upstream said beside its content. */
static void
write_extra(struct mcp_request *q, struct jw *w, const struct json *extra)
{
	static const char *const ours[] = {"content", "isError", "_meta"};

	for (struct json_iter it = json_iter(extra); json_next(&it);) {
		bool skip = era_drops_member(it.key);
		for (size_t i = 0; i < ARRAY_LEN(ours); i++)
			skip = skip || str_is(it.key, ours[i]);
		if (str_is(it.key, "structuredContent"))
			skip = !era_takes_structured(it.value, q->revision);
		if (!skip)
			jw_key_str(w, it.key), jw_value(w, it.value);
	}
}

/* A long content goes out as it is, and is not kept: no such client can ask for it again. */
static bool
is_handed_over(const struct mcp_request *q, const struct turn_result *r)
{
	return q->channel && !q->mute && q->revision >= MCP_2025_06_18 && r->content.len >= HANDED;
}

static void
answer_result(struct mcp_request *q, struct turn *t)
{
	const struct turn_result *r = &t->results[0];
	struct json_doc *doc = r->extra.len ? read_between("{", &r->extra, "}") : NULL;
	const struct json *extra = doc ? json_root(doc) : NULL;
	struct buf b, content = BUF_INIT(0);
	struct jw w = mcp_begin(q, &b);

	if (is_handed_over(q, r)) {
		content = turn_take_content(t, 0);
		jw_key(&w, "content");
		jw_array(&w);
	} else {
		write_content(q, &w, r);
	}
	size_t at = b.len;
	if (content.len)
		jw_end(&w);
	write_extra(q, &w, extra);
	jw_member_bool(&w, "isError", r->is_error);
	write_meta(q, &w, json_get(extra, S("_meta")), r);
	if (content.len)
		mcp_end_around(q, &w, &b, at, &content);
	else
		mcp_end(q, &w, &b);
	json_doc_unref(doc);
}

/* ---- refusals ---- */

/* What was wrong, a line each; or what the upstream's error had beside its words. */
static void
write_details(struct buf *out, const struct turn_result *r, struct str lines)
{
	struct jw w = jw(out);
	struct str line;

	if (r->code != E_VALIDATION && r->rpc_code == 0 && !r->retry_after_ms)
		return;
	jw_object(&w);
	if (r->retry_after_ms)
		jw_member_int(&w, "retry_after", (r->retry_after_ms + 999) / 1000);
	if (r->rpc_code) {
		jw_member_int(&w, "rpc_code", r->rpc_code);
		if (r->rpc_data.len)
			jw_key(&w, "data"), jw_raw(&w, buf_str(&r->rpc_data));
	} else if (r->code == E_VALIDATION) {
		jw_key(&w, "errors");
		jw_array(&w);
		while (str_split(&lines, '\n', &line))
			jw_str(&w, line);
		jw_end(&w);
	}
	jw_end(&w);
}

/* The refusal is text for the agent and an object for programs; what the tool had given before it
 * failed comes behind. */
static void
refuse(struct mcp_request *q, struct str refusal, const struct json *blocks,
       const struct turn_result *r)
{
	struct buf b;
	struct jw w = mcp_begin(q, &b);

	jw_key(&w, "content");
	jw_array(&w);
	jw_object(&w);
	jw_member_z(&w, "type", "text");
	jw_member(&w, "text", refusal);
	jw_end(&w);
	write_blocks(q, &w, blocks, 1);
	jw_end(&w);
	jw_key(&w, "structuredContent");
	jw_raw(&w, refusal);
	jw_member_bool(&w, "isError", true);
	write_meta(q, &w, NULL, r);
	mcp_end(q, &w, &b);
}

void
mcp_refuse(struct mcp_request *q, const struct err *why, struct str path)
{
	struct buf refusal = BUF_INIT(LIMIT_PROBLEM_BYTES + 6 * LIMIT_MCP_URI);
	struct jw w = jw(&refusal);

	refusal_write(&w, why, false, str_utf8_upto(path, LIMIT_MCP_URI), none);
	refuse(q, buf_str(&refusal), NULL, NULL);
	buf_done(&refusal);
}

static void
answer_refused(struct mcp_request *q, const struct turn_result *r)
{
	struct json_doc *blocks = read_between("[", &r->content, "]");
	struct buf details = BUF_INIT(LIMIT_JSON_BYTES), refusal = BUF_INIT(2 * LIMIT_JSON_BYTES);
	struct str said = sentence_of(blocks, r);
	struct jw w = jw(&refusal);
	struct err why;

	err_set(&why, r->code, "%.*s", STR_ARG(str_utf8_upto(said, sizeof(why.text) - 1)));
	write_details(&details, r, said);
	bool has_details = details.len && !buf_failed(&details);
	refusal_write(&w, &why, r->twice, none, has_details ? buf_str(&details) : none);
	refuse(q, buf_str(&refusal), blocks ? json_root(blocks) : NULL, r);
	buf_done(&details);
	buf_done(&refusal);
	json_doc_unref(blocks);
}

/* ---- errors of the protocol ---- */

/* Some codes speak of the hop between us and the upstream, some mean nothing to the other era. */
static bool
is_passed_on(const struct mcp_request *q, int64_t code)
{
	if (code == RPC_CAPABILITY)
		return q->era == ERA_MODERN;
	if (code == RPC_LEGACY_URL_NEEDED)
		return q->revision == MCP_2025_11_25;
	return code > RPC_HEADER || code < -32099;
}

static void
note_errands(struct mcp_request *q, const struct turn_result *r)
{
	const struct tool *t = catalog_find(q->client->front->gw->catalog, str_of(r->tool));
	struct json_doc *doc = read_between("", &r->rpc_data, "");

	if (t && doc)
		mcp_errands_note(q->client, t->server, json_root(doc));
	json_doc_unref(doc);
}

static void
answer_error(struct mcp_request *q, const struct turn_result *r)
{
	struct json_doc *blocks = read_between("[", &r->content, "]");
	int64_t code = r->rpc_code ? r->rpc_code : err_row(r->code)->rpc;

	if (code == RPC_LEGACY_URL_NEEDED)
		note_errands(q, r);
	mcp_fail(q, code, sentence_of(blocks, r), r->rpc_data.len ? buf_str(&r->rpc_data) : none);
	json_doc_unref(blocks);
}

/* ---- the call ---- */

static void
turn_over(struct turn *t, void *arg)
{
	struct mcp_request *q = arg;
	const struct turn_result *r = &t->results[0];
	enum surface kind = q->client->surface.kind;
	bool refuses = kind == SURFACE_GATEWAY || kind == SURFACE_PROXY;

	q->turn = NULL;
	if (refuses && r->code < 0)
		answer_refused(q, r);
	else if (!refuses && r->rpc_code && is_passed_on(q, r->rpc_code))
		answer_error(q, r);
	else if (!refuses && r->code == E_NOT_FOUND)
		answer_error(q, r);
	else
		answer_result(q, t);
}

/* Of the request's _meta: the caller's own word for the call. */
static int
read_key(const struct mcp_request *q, const char *name, size_t most, struct str *ret, struct err *e)
{
	const struct json *v = json_get(q->rpc.meta, str_of(name));
	struct str s = json_str(v);

	if (!v)
		return 0;
	if (!s.len || s.len > most)
		return err_set(e, E_BAD_REQUEST, "_meta %s: must be a string of 1 to %zu bytes",
			       name, most);
	*ret = s;
	return 0;
}

int
mcp_submit(struct mcp_request *q, struct str tool, const struct json *input, enum showing showing,
	   struct err *e)
{
	struct json_doc *empty = NULL;

	if (!input) {
		int code = json_parse(S("{}"), &json_door, &empty, e);
		if (code < 0)
			return code;
	}
	struct call_spec call = {
	    .tool = tool,
	    .input_doc = input ? q->doc : empty,
	    .input = input ? input : json_root(empty),
	    .showing = showing,
	};
	struct str group = none;
	int code = read_key(q, META_KEY, LIMIT_IDEMPOTENCY_KEY, &call.idempotency_key, e);
	if (code == 0)
		code = read_key(q, META_GROUP, LIMIT_TURN_GROUP, &group, e);
	if (code < 0) {
		json_doc_unref(empty);
		return code;
	}
	/* Somebody sits at the client, and could use the status page or the command line. */
	struct turn_spec turn = {
	    .calls = &call,
	    .count = 1,
	    .group = group,
	    .attended = true,
	    .lone = true,
	    .behind = &q->behind,
	    .done = turn_over,
	    .arg = q,
	};
	code = gateway_submit(q->client->front->gw, q->client->session, &turn, &q->turn, e);
	json_doc_unref(empty);
	return code;
}
