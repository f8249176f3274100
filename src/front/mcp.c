/*
 * mcp.c - MCP methods of the era with `initialize` (2024-11-05 to 2025-11-25).
 *
 * The agent's own channel can ask for calls and cancel them. It cannot answer questions: there
 * is no method for that, and there must not be one.
 */

#include "front/mcp.h"

#include <stdlib.h>

#include "base/limits.h"
#include "front/visit.h"

/* Newest first: what a client gets whose version we do not know. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

#define META_PROVENANCE "holdfast/provenance" /* keys of ours in _meta */
#define META_ARTIFACTS "holdfast/artifacts"

static const char instructions[] =
    "Tools act inside one workspace directory; paths are relative to it. Calls that write or "
    "execute may wait for a person's approval, up to some minutes. A refused or failed call says "
    "why in its result.";

/* A message that was understood as far as its envelope. */
struct message {
	struct mcp *mcp;
	struct json_doc *doc;
	struct str method;
	const struct json *id;     /* NULL: a note */
	const struct json *params; /* an object, or NULL */
};

/* Answers */

static struct jw
answer_begin(struct buf *b, const struct json *id, const char *key)
{
	buf_init(b, LIMIT_LINE_BYTES);
	struct jw w = jw(b);
	jw_object(&w);
	jw_member_z(&w, "jsonrpc", "2.0");
	jw_key(&w, "id");
	jw_value(&w, id); /* as it came, null for none */
	jw_key(&w, key);
	return w;
}

static void
answer_error(struct mcp *m, const struct json *id, const struct err *e)
{
	struct buf b;
	struct jw w = answer_begin(&b, id, "error");

	jw_object(&w);
	jw_member_int(&w, "code", err_row(e->code)->rpc);
	jw_member_z(&w, "message", err_text(e));
	jw_end(&w);
	jw_end(&w);
	if (!buf_failed(&b))
		m->send(m, buf_str(&b));
	buf_done(&b);
}

static void
answer_end(struct mcp *m, const struct json *id, struct jw *w, struct buf *b)
{
	struct err e;

	jw_end(w);
	if (!buf_failed(b)) {
		m->send(m, buf_str(b));
	} else {
		err_set(&e, E_SYSTEM, "the answer is larger than the limit");
		answer_error(m, id, &e);
	}
	buf_done(b);
}

void
mcp_complain(struct mcp *m, const struct err *e)
{
	answer_error(m, NULL, e);
}

/* Methods */

static int
mcp_ping(struct message *q, struct err *e)
{
	struct buf b;
	struct jw w = answer_begin(&b, q->id, "result");

	(void)e;
	jw_object(&w);
	jw_end(&w);
	answer_end(q->mcp, q->id, &w, &b);
	return 0;
}

static const char *
version_for(struct str asked)
{
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		if (str_is(asked, versions[i]))
			return versions[i];
	return versions[0];
}

/* "NAME VERSION", as the client calls itself. */
static void
take_client(struct message *q)
{
	const struct json *client = json_get(q->params, S("clientInfo"));
	struct str name = str_trim(json_str(json_get(client, S("name"))));
	struct str version = str_trim(json_str(json_get(client, S("version"))));
	struct buf both = BUF_INIT(2 * LIMIT_NAME_BYTES + 1);

	buf_add(&both, str_utf8_upto(name, LIMIT_NAME_BYTES));
	if (name.len && version.len) {
		buf_addc(&both, ' ');
		buf_add(&both, str_utf8_upto(version, LIMIT_NAME_BYTES));
	}
	if (q->mcp->session && !buf_failed(&both))
		session_rename(q->mcp->session, buf_str(&both));
	buf_done(&both);
}

static int
mcp_initialize(struct message *q, struct err *e)
{
	struct str asked = json_str(json_get(q->params, S("protocolVersion")));
	struct buf b;

	if (!asked.ptr)
		return err_set(e, E_VALIDATION, "protocolVersion: must be a string");
	take_client(q);
	struct jw w = answer_begin(&b, q->id, "result");
	jw_object(&w);
	jw_member_z(&w, "protocolVersion", version_for(asked));
	jw_key(&w, "capabilities");
	jw_raw(&w, S("{\"tools\":{}}"));
	jw_key(&w, "serverInfo");
	jw_object(&w);
	jw_member_z(&w, "name", "holdfast");
	jw_member_z(&w, "version", HOLDFAST_VERSION);
	jw_end(&w);
	jw_member_z(&w, "instructions", instructions);
	jw_end(&w);
	answer_end(q->mcp, q->id, &w, &b);
	return 0;
}

static int
mcp_initialized(struct message *q, struct err *e)
{
	(void)q;
	(void)e;
	return 0;
}

/* The two axes of effect in MCP's words. */
static void
write_hints(struct jw *w, const struct tool *t)
{
	bool reads = t->capability <= CAP_READ;

	jw_object(w);
	jw_member_bool(w, "readOnlyHint", reads);
	/* Whether it may overwrite or delete, not whether we could bring that back. */
	jw_member_bool(w, "destructiveHint", !reads && t->reversibility >= REV_COMPENSATABLE);
	jw_member_bool(w, "idempotentHint", t->reversibility <= REV_IDEMPOTENT);
	jw_member_bool(w, "openWorldHint", t->capability >= CAP_EXECUTE);
	jw_end(w);
}

static void
write_tool(struct jw *w, const struct tool *t)
{
	jw_object(w);
	jw_member(w, "name", t->name);
	if (t->title.ptr)
		jw_member(w, "title", t->title);
	jw_member(w, "description", t->description);
	jw_key(w, "inputSchema");
	jw_value(w, t->input_schema);
	jw_key(w, "annotations");
	write_hints(w, t);
	jw_end(w);
}

static int
mcp_tools_list(struct message *q, struct err *e)
{
	const struct catalog *c = q->mcp->gw->catalog;
	struct buf b;

	if (json_get(q->params, S("cursor")))
		return err_set(e, E_VALIDATION, "cursor: none was given out");
	struct jw w = answer_begin(&b, q->id, "result");
	jw_object(&w);
	jw_key(&w, "tools");
	jw_array(&w);
	for (size_t i = 0; i < catalog_count(c); i++)
		if (tool_visible(catalog_at(c, i), q->mcp->session))
			write_tool(&w, catalog_at(c, i));
	jw_end(&w);
	jw_end(&w);
	answer_end(q->mcp, q->id, &w, &b);
	return 0;
}

/* Calls */

struct mcp_call {
	struct mcp *mcp;
	struct node node;
	struct json_doc *doc;  /* a reference: the id stands in it */
	const struct json *id; /* of the request */
	struct turn *turn;
	bool unknown; /* there is no such tool: an error of the protocol, not a result */
	bool mute;    /* the client no longer wants an answer */
};

static void
call_forget(struct mcp_call *c)
{
	list_remove(&c->node);
	json_doc_unref(c->doc);
	free(c);
}

static struct mcp_call *
call_of(const struct mcp *m, const struct json *id)
{
	LIST_EACH (&m->calls, at) {
		struct mcp_call *c = CONTAINER_OF(at, struct mcp_call, node);
		if (json_equal(c->id, id))
			return c;
	}
	return NULL;
}

/* What there is to say beside the result; no member where there is nothing. */
static void
write_meta(struct jw *w, const struct turn_result *r)
{
	if (!r->repairs.len && !r->artifacts.len)
		return;
	jw_key(w, "_meta");
	jw_object(w);
	if (r->repairs.len) {
		jw_key(w, META_PROVENANCE);
		turn_write_provenance(w, r);
	}
	if (r->artifacts.len) {
		jw_key(w, META_ARTIFACTS);
		turn_write_artifacts(w, r);
	}
	jw_end(w);
}

static void
answer_result(const struct mcp_call *c, const struct turn_result *r)
{
	struct buf b;
	struct jw w = answer_begin(&b, c->id, "result");

	jw_object(&w);
	jw_key(&w, "content");
	jw_array(&w);
	if (r->content.len)
		jw_raw(&w, buf_str(&r->content));
	jw_end(&w);
	jw_member_bool(&w, "isError", r->is_error);
	write_meta(&w, r);
	jw_end(&w);
	answer_end(c->mcp, c->id, &w, &b);
}

/* In the words of the pipeline: they are the only block of the result. */
static void
answer_unknown(const struct mcp_call *c, const struct turn_result *r)
{
	struct json_doc *block = NULL;
	struct err e;

	err_plain(&e, E_NOT_FOUND);
	if (json_parse(buf_str(&r->content), &json_door, &block, NULL) == 0)
		err_set(&e, E_NOT_FOUND, "%.*s",
			STR_ARG(json_str(json_get(json_root(block), S("text")))));
	answer_error(c->mcp, c->id, &e);
	json_doc_unref(block);
}

static void
call_over(struct turn *t, void *arg)
{
	struct mcp_call *c = arg;

	if (!c->mute)
		(c->unknown ? answer_unknown : answer_result)(c, &t->results[0]);
	call_forget(c);
}

static int
call_submit(struct message *q, struct mcp_call *c, struct str name, struct err *e)
{
	struct json_doc *none = NULL;
	struct call_spec call = {
	    .tool = name,
	    .input_doc = q->doc,
	    .input = json_get(q->params, S("arguments")),
	};

	if (!call.input) {
		int code = json_parse(S("{}"), &json_door, &none, e);
		if (code < 0)
			return code;
		call.input_doc = none;
		call.input = json_root(none);
	}
	/* Somebody sits at the client, and could use the status page or the command line. */
	struct turn_spec turn = {
	    .calls = &call, .count = 1, .attended = true, .done = call_over, .arg = c};
	int code = gateway_submit(q->mcp->gw, q->mcp->session, &turn, &c->turn, e);
	json_doc_unref(none);
	return code;
}

static int
mcp_tools_call(struct message *q, struct err *e)
{
	struct mcp *m = q->mcp;
	struct str name = json_str(json_get(q->params, S("name")));
	const struct json *arguments = json_get(q->params, S("arguments"));

	if (!name_fits(name))
		return err_set(e, E_VALIDATION, "name: must be the name of a tool");
	const struct tool *tool = catalog_find(m->gw->catalog, name);
	bool mendable = tool && tool->repair_arguments && json_is(arguments, JSON_STRING);
	if (arguments && !json_is(arguments, JSON_OBJECT) && !mendable)
		return err_set(e, E_VALIDATION, "arguments: must be an object");
	if (m->calls.len >= LIMIT_MCP_CALLS)
		return err_set(e, E_LIMIT, "%d calls are unanswered already", LIMIT_MCP_CALLS);
	struct mcp_call *c = calloc(1, sizeof(*c));
	if (!c)
		return err_plain(e, E_NOMEM);
	*c = (struct mcp_call){
	    .mcp = m,
	    .doc = json_doc_ref(q->doc),
	    .id = q->id,
	    .unknown = !tool || !tool_visible(tool, m->session),
	};
	list_push(&m->calls, &c->node);
	int code = call_submit(q, c, name, e);
	if (code < 0)
		call_forget(c);
	return code;
}

static int
mcp_cancelled(struct message *q, struct err *e)
{
	const struct json *id = json_get(q->params, S("requestId"));
	struct mcp_call *c = id ? call_of(q->mcp, id) : NULL;

	(void)e;
	if (!c)
		return 0; /* it crossed the answer */
	c->mute = true;
	gateway_cancel_call(q->mcp->gw, id_str(&c->turn->results[0].call));
	return 0;
}

/* Messages */

enum kind { KIND_REQUEST, KIND_NOTE };

static const struct method {
	const char *name;
	int (*handle)(struct message *q, struct err *e); /* answers, or fails */
	enum kind kind;
} methods[] = {
#define METHOD(name, handler, kind, sentence) {name, mcp_##handler, KIND_##kind},
#include "../../tbl/mcp_methods.def"
#undef METHOD
};

static const struct method *
method_find(struct str name, enum kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (methods[i].kind == kind && str_is(name, methods[i].name))
			return &methods[i];
	return NULL;
}

static int
dispatch(struct message *q, struct err *e)
{
	const struct method *method = method_find(q->method, q->id ? KIND_REQUEST : KIND_NOTE);

	if (!method && q->id)
		return err_set(e, E_NO_ROUTE, "there is no method '%.*s'",
			       STR_ARG(str_utf8_upto(q->method, 100)));
	return method ? method->handle(q, e) : 0;
}

/* Fills *q; the id as soon as it can be trusted, so that the error finds its request. */
static int
read_envelope(struct message *q, struct err *e)
{
	const struct json *root = json_root(q->doc);
	const struct json *id = json_get(root, S("id"));

	if (json_is(root, JSON_ARRAY))
		return err_set(e, E_BAD_REQUEST, "batches are not taken");
	if (!json_is(root, JSON_OBJECT))
		return err_set(e, E_BAD_REQUEST, "a message must be an object");
	if (id && !json_is(id, JSON_STRING) && !json_is(id, JSON_NUMBER))
		return err_set(e, E_BAD_REQUEST, "id: must be a string or a number");
	if (id && call_of(q->mcp, id))
		return err_set(e, E_BAD_REQUEST, "id: a request with this id is not answered yet");
	q->id = id;
	if (!str_is(json_str(json_get(root, S("jsonrpc"))), "2.0"))
		return err_set(e, E_BAD_REQUEST, "jsonrpc: must be \"2.0\"");
	q->method = json_str(json_get(root, S("method")));
	if (!q->method.ptr)
		return err_set(e, E_BAD_REQUEST, "method: must be a string");
	q->params = json_get(root, S("params"));
	if (q->params && !json_is(q->params, JSON_OBJECT))
		return err_set(e, E_VALIDATION, "params: must be an object");
	return 0;
}

/* An answer to a request of ours; we make none in this era. */
static bool
is_answer(const struct json *root)
{
	return !json_get(root, S("method")) &&
	       (json_get(root, S("result")) || json_get(root, S("error")));
}

void
mcp_take(struct mcp *m, struct str text)
{
	struct message q = {.mcp = m};
	struct err e;
	int code = json_parse(text, &json_door, &q.doc, &e);

	if (code == 0 && is_answer(json_root(q.doc))) {
		json_doc_unref(q.doc);
		return;
	}
	if (code == 0)
		code = read_envelope(&q, &e);
	if (code == 0)
		code = dispatch(&q, &e);
	/* Notes are never answered, but what is no message at all is complained about. */
	if (code < 0 && (q.id || !q.method.ptr))
		answer_error(m, q.id, &e);
	json_doc_unref(q.doc);
}

void
mcp_init(struct mcp *m, struct gateway *gw, struct session *s,
	 void (*send)(struct mcp *m, struct str message))
{
	*m = (struct mcp){.gw = gw, .session = s ? session_ref(s) : NULL, .send = send};
	list_init(&m->calls);
}

void
mcp_done(struct mcp *m)
{
	LIST_EACH (&m->calls, at) {
		struct mcp_call *c = CONTAINER_OF(at, struct mcp_call, node);
		c->turn->done = NULL;
		call_forget(c);
	}
	if (m->session)
		gateway_end_session(m->gw, m->session);
	session_unref(m->session);
}
