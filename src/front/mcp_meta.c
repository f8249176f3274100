/*
 * mcp_meta.c - the tools of the gateway's own: find tools, run them, look at what was kept.
 *
 * What each says of itself stands in cards/mcp. Whatever is wrong with a call of one is a result
 * that says so in the shape of seed 001 section 3.4, never an error of the protocol.
 */

#include "base/embedded.h"
#include "catalog/refusal.h"
#include "front/mcp_offer.h"

static const struct str none = {NULL, 0};

/* ---- answers ---- */

/* An object as text for the agent and whole for programs. */
static void
answer(struct mcp_request *q, struct str text, struct str object)
{
	struct buf b;
	struct jw w = mcp_begin(q, &b);

	jw_key(&w, "content");
	jw_array(&w);
	jw_object(&w);
	jw_member_z(&w, "type", "text");
	jw_member(&w, "text", text);
	jw_end(&w);
	jw_end(&w);
	jw_key(&w, "structuredContent");
	jw_raw(&w, object);
	jw_member_bool(&w, "isError", false);
	mcp_write_meta(q, &w, NULL, none);
	mcp_end(q, &w, &b);
}

static struct gateway *
gateway_of(struct mcp_request *q)
{
	return q->client->front->gw;
}

/* ---- tool_browse ---- */

struct browse_input {
	struct browse_args args;
	bool cache_stable;
};

static const struct json_field browse_fields[] = {
    {"query", WANT_STR, offsetof(struct browse_input, args.query), false},
    {"path", WANT_STR, offsetof(struct browse_input, args.path), false},
    {"top_k", WANT_INT, offsetof(struct browse_input, args.top_k), false},
    FIELD(struct browse_input, cache_stable, WANT_BOOL),
};

static void
answer_cards(struct mcp_request *q, const struct browse_reply *reply)
{
	struct buf text = BUF_INIT(LIMIT_BROWSE_BYTES), object = BUF_INIT(LIMIT_BROWSE_BYTES);
	struct jw w = jw(&object);
	struct err e;

	browse_render(&text, reply);
	browse_write(&w, reply);
	if (reply->count == 0 && reply->disabled_count == 0)
		buf_addz(&text,
			 "Nothing was found. Try other words for what it does, or path \"/\" "
			 "to look around.");
	if (buf_failed(&text) || buf_failed(&object)) {
		err_plain(&e, E_NOMEM);
		mcp_refuse(q, &e, none);
	} else {
		answer(q, buf_str(&text), buf_str(&object));
	}
	buf_done(&text);
	buf_done(&object);
}

static void
run_browse(struct mcp_request *q, const struct json *input)
{
	struct browse_input in = {0};
	struct browse_reply reply = {0};
	struct err why;
	int rc = json_fields(input, browse_fields, ARRAY_LEN(browse_fields), "", &in, &why);

	if (json_get(input, S("top_k")) && in.args.top_k == 0)
		in.args.top_k = -1; /* it was given, and 0 stands for "not given" */
	if (rc == 0)
		rc = gateway_browse(gateway_of(q), q->client->session, &in.args, in.cache_stable,
				    &reply, &why);
	if (rc < 0) {
		mcp_refuse(q, &why, in.args.path);
		return;
	}
	answer_cards(q, &reply);
	browse_done(&reply);
}

/* ---- tool_hydrate ---- */

struct hydrate_input {
	struct str tool_id;
};

static const struct json_field hydrate_fields[] = {
    FIELD_REQUIRED(struct hydrate_input, tool_id, WANT_STR),
};

static void
run_hydrate(struct mcp_request *q, const struct json *input)
{
	struct hydrate_input in = {0};
	struct buf object = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&object);
	struct err why;
	int rc = json_fields(input, hydrate_fields, ARRAY_LEN(hydrate_fields), "", &in, &why);

	if (rc == 0)
		rc = gateway_hydrate(gateway_of(q), q->client->session, in.tool_id, &w, &why);
	if (rc == 0 && buf_failed(&object))
		rc = err_plain(&why, E_NOMEM);
	if (rc == 0)
		answer(q, buf_str(&object), buf_str(&object));
	else
		mcp_refuse(q, &why, none);
	buf_done(&object);
}

/* ---- tool_execute ---- */

struct execute_input {
	struct str tool_id;
	const struct json *args;
};

static const struct json_field execute_fields[] = {
    FIELD_REQUIRED(struct execute_input, tool_id, WANT_STR),
    FIELD(struct execute_input, args, WANT_ANY),
};

/* Arguments in a string are taken where the tool lets them be repaired. */
static int
check_args(struct mcp_request *q, struct execute_input *in, struct err *why)
{
	const struct tool *t = catalog_find(gateway_of(q)->catalog, in->tool_id);
	bool mendable = t && t->repair_arguments && json_is(in->args, JSON_STRING);

	if (json_is(in->args, JSON_NULL))
		in->args = NULL;
	if (!name_fits(in->tool_id))
		return err_set(why, E_VALIDATION, "tool_id: must be the id or the name of a tool");
	if (in->args && !json_is(in->args, JSON_OBJECT) && !mendable)
		return err_set(why, E_VALIDATION, "args: must be an object, got %s",
			       json_type_name(json_type(in->args)));
	return 0;
}

/* The gateway shows what fits a prompt; the proxy is as a client that reads results expects it. */
static enum showing
showing_on(enum surface s)
{
	return s == SURFACE_GATEWAY ? SHOW_ENVELOPE : SHOW_ENDS;
}

static void
submit(struct mcp_request *q, struct str tool, const struct json *input, enum showing showing)
{
	struct err why;

	if (mcp_submit(q, tool, input, showing, &why) < 0)
		mcp_refuse(q, &why, none);
}

static void
run_execute(struct mcp_request *q, const struct json *input)
{
	struct execute_input in = {0};
	struct err why;
	int rc = json_fields(input, execute_fields, ARRAY_LEN(execute_fields), "", &in, &why);

	if (rc == 0)
		rc = check_args(q, &in, &why);
	if (rc == 0)
		submit(q, in.tool_id, in.args, showing_on(q->client->surface.kind));
	else
		mcp_refuse(q, &why, none);
}

/* ---- tool_view ---- */

/* A part is short enough as it is. Without arguments the built-in tool says what is missing. */
static void
run_view(struct mcp_request *q, const struct json *input)
{
	submit(q, S("tool_view"), json_len(input) ? input : NULL, SHOW_ENDS);
}

/* ---- the table ---- */

#define ON(surface) (1u << SURFACE_##surface)

static const struct mcp_meta {
	const char *name;
	unsigned surfaces;
	void (*run)(struct mcp_request *q, const struct json *input); /* answers */
} metas[] = {
    {"tool_browse", ON(GATEWAY), run_browse},
    {"tool_execute", ON(GATEWAY) | ON(PROXY), run_execute},
    {"tool_hydrate", ON(PROXY), run_hydrate},
    {"tool_view", ON(GATEWAY), run_view},
};

const struct mcp_meta *
mcp_meta_find(enum surface s, struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(metas); i++)
		if (metas[i].surfaces & 1u << s && str_is(name, metas[i].name))
			return &metas[i];
	return NULL;
}

/* The files are named as the tools are, and stand in order of their names. */
void
mcp_meta_list(struct jw *w, enum surface s)
{
	for (const struct embedded *f = embedded_mcp; f->name; f++) {
		struct str name = str_upto(str_of(f->name), strlen(f->name) - strlen(".json"));
		struct json_doc *doc;
		if (!mcp_meta_find(s, name))
			continue;
		if (json_parse(f->bytes, &json_door, &doc, NULL) < 0) {
			w->out->failed = true;
			return;
		}
		jw_value(w, json_root(doc));
		json_doc_unref(doc);
	}
}

int
mcp_meta_call(struct mcp_request *q, const struct mcp_meta *m, const struct json *arguments,
	      struct err *e)
{
	struct json_doc *empty = NULL;
	struct err why;

	if (arguments && !json_is(arguments, JSON_OBJECT) && !json_is(arguments, JSON_NULL)) {
		err_set(&why, E_VALIDATION, "arguments: must be an object");
		mcp_refuse(q, &why, none);
		return 0;
	}
	if (!json_is(arguments, JSON_OBJECT)) {
		int code = json_parse(S("{}"), &json_door, &empty, e);
		if (code < 0)
			return code;
		arguments = json_root(empty);
	}
	m->run(q, arguments);
	json_doc_unref(empty);
	return 0;
}
