/*
 * mcp.c - MCP messages, whatever carries them: which era, which method, requests and their ends.
 *
 *	mcp_read --> mcp_check_* --> mcp_take --> a handler of tbl/mcp_methods.def
 *	                                             |
 *	                     mcp_end, mcp_relay, mcp_fail... --> the channel, or the park
 */

#include "front/mcp.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/spare.h"

/* ---- methods ---- */

enum kind { KIND_REQUEST, KIND_CACHED, KIND_NOTE };
enum eras { ERAS_LEGACY, ERAS_MODERN, ERAS_BOTH };

struct method {
	const char *name;
	mcp_handler *handle;
	enum kind kind;
	enum eras eras;
};
static const struct method methods[] = {
#define METHOD(name, handler, kind, eras, sentence) {name, mcp_##handler, KIND_##kind, ERAS_##eras},
#include "../../tbl/mcp_methods.def"
#undef METHOD
};

static bool
method_takes(const struct method *m, enum mcp_era era, bool note)
{
	bool spoken = m->eras == ERAS_BOTH || (m->eras == ERAS_MODERN) == (era == ERA_MODERN);

	return spoken && (m->kind == KIND_NOTE) == note;
}

static const struct method *
method_find(const struct mcp_message *m)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (str_is(m->rpc.method, methods[i].name) &&
		    method_takes(&methods[i], m->era, m->rpc.kind == RPC_NOTE))
			return &methods[i];
	return NULL;
}

/* ---- reading ---- */

/* What goes back with every answer or note: a string, or a number, which may have any digits. */
static bool
is_short(const struct json *v)
{
	struct buf text = BUF_INIT(LIMIT_MCP_ID);
	struct jw w = jw(&text);
	int64_t n;

	if (!json_is(v, JSON_NUMBER))
		return json_str(v).len <= LIMIT_MCP_ID;
	if (json_int(v, &n))
		return true;
	jw_value(&w, v);
	bool fits = !buf_failed(&text);
	buf_done(&text);
	return fits;
}

int
mcp_read(struct json_doc *doc, struct mcp_message *ret, struct mcp_fault *f)
{
	return mcp_read_value(doc, json_root(doc), ret, f);
}

int
mcp_read_value(struct json_doc *doc, const struct json *value, struct mcp_message *ret,
	       struct mcp_fault *f)
{
	*ret = (struct mcp_message){.doc = doc, .http = ret->http};
	int code = rpc_read(value, &ret->rpc, &f->err);

	if (code < 0) {
		f->code = err_row(code)->rpc;
		f->status = 400;
		f->requested = (struct str){NULL, 0};
		f->needs = 0;
		return code;
	}
	if (!is_short(ret->rpc.id)) {
		ret->rpc.id = NULL; /* each answer would carry it */
		return MCP_FAULT(f, RPC_INVALID, 400, "id: may have at most %d bytes",
				 LIMIT_MCP_ID);
	}
	/* A claim is a claim, however odd: it is never taken for the other era. */
	if (json_get(ret->rpc.meta, S(META_VERSION)))
		ret->era = ERA_MODERN;
	return 0;
}

int
mcp_check_envelope(const struct mcp_message *m, struct mcp_fault *f)
{
	const struct json *meta = m->rpc.meta;

	if (!json_is(json_get(meta, S(META_VERSION)), JSON_STRING))
		return MCP_FAULT(f, RPC_PARAMS, 400, "params._meta: \"%s\" must be a string",
				 META_VERSION);
	if (!json_is(json_get(meta, S(META_CAPABILITIES)), JSON_OBJECT))
		return MCP_FAULT(f, RPC_PARAMS, 400, "params._meta: \"%s\" must be an object",
				 META_CAPABILITIES);
	return 0;
}

int
mcp_check_version(const struct mcp_message *m, struct mcp_fault *f)
{
	struct str asked = json_str(json_get(m->rpc.meta, S(META_VERSION)));

	if (str_is(asked, MCP_MODERN))
		return 0;
	int code = MCP_FAULT(f, RPC_VERSION, 400, "protocol version %.*s is not spoken here",
			     STR_ARG(str_utf8_upto(asked, 40)));
	f->requested = asked;
	return code;
}

/* {"supported":[...],"requested":"..."} */
static void
write_versions(struct buf *out, struct str requested)
{
	struct jw w = jw(out);

	jw_object(&w);
	jw_key(&w, "supported");
	jw_array(&w);
	jw_z(&w, MCP_MODERN);
	jw_end(&w);
	jw_member(&w, "requested", str_utf8_upto(requested, LIMIT_NAME_BYTES));
	jw_end(&w);
}

/* {"requiredCapabilities":{...}} */
static void
write_needs(struct buf *out, unsigned needs)
{
	struct jw w = jw(out);

	jw_object(&w);
	jw_key(&w, "requiredCapabilities");
	mcp_write_can(&w, needs);
	jw_end(&w);
}

void
mcp_write_fault(struct buf *out, const struct mcp_message *m, const struct mcp_fault *f)
{
	struct buf data = BUF_INIT(LIMIT_PROBLEM_BYTES);
	const struct json *id = m && m->rpc.kind == RPC_REQUEST ? m->rpc.id : NULL;

	if (f->requested.ptr)
		write_versions(&data, f->requested);
	else if (f->needs)
		write_needs(&data, f->needs);
	rpc_write_error(out, id, f->code, str_of(err_text(&f->err)),
			data.len ? buf_str(&data) : (struct str){NULL, 0});
	buf_done(&data);
}

/* ---- clients ---- */

void
mcp_client_init(struct mcp_client *c, struct front *f, struct session *s,
		const struct mcp_surface *surface)
{
	c->front = f;
	c->session = session_ref(s);
	c->surface = *surface;
	c->log_level = MCP_LOG_NONE;
	c->next_id = 1;
	list_init(&c->requests);
	list_init(&c->asked);
	topics_init(&c->uris);
	topics_init(&c->errands);
	list_push(&f->mcp.clients, &c->node);
}

static void
client_free(struct mcp_client *c)
{
	struct front *f = c->front;

	list_remove(&c->node);
	session_unref(c->session);
	json_doc_unref(c->hello);
	topics_done(&c->uris);
	topics_done(&c->errands);
	c->freed(c);
	front_client_gone(f);
}

/* Nobody hears of it any more. */
static void
request_let_go(struct mcp_request *q)
{
	struct mcp_channel *ch = q->channel;

	q->channel = NULL;
	if (!ch)
		return;
	ch->request = NULL;
	ch->ops->drop(ch);
}

/* A turn goes on without us until its calls are cancelled; an exchange says when it is over. */
static void
request_abandon(struct mcp_request *q)
{
	q->mute = true;
	request_let_go(q);
	if (q->turn) {
		turn_orphan(q->turn);
		mcp_drop(q);
	} else if (q->exchange || q->cancel) {
		mcp_cancel(q);
	} else {
		mcp_drop(q);
	}
}

void
mcp_client_refuse(struct mcp_client *c)
{
	bool stopping = c->front->stopping;

	LIST_EACH (&c->requests, at) {
		struct mcp_request *q = CONTAINER_OF(at, struct mcp_request, node);
		struct mcp_channel *ch = q->channel;
		struct buf b = BUF_INIT(LIMIT_LINE_BYTES + LIMIT_PROBLEM_BYTES);

		if (!ch)
			continue;
		q->channel = NULL;
		ch->request = NULL;
		rpc_write_error(&b, q->rpc.id, stopping ? RPC_INTERNAL : RPC_NO_SESSION,
				stopping ? S("the gateway is shutting down")
					 : S("the session has ended"),
				(struct str){NULL, 0});
		ch->ops->answer(ch, stopping ? 503 : 404, &b);
	}
}

void
mcp_client_done(struct mcp_client *c)
{
	CHECK(!c->gone);
	LIST_EACH (&c->requests, at)
		mcp_ask_done(CONTAINER_OF(at, struct mcp_request, node));
	LIST_EACH (&c->requests, at)
		request_abandon(CONTAINER_OF(at, struct mcp_request, node));
	gateway_end_session(c->front->gw, c->session);
	mcp_listen_forget(c);
	c->gone = true;
	if (c->requests.len == 0)
		client_free(c);
}

/* ---- requests ---- */

/* What this message says of its client; a legacy one did so before. */
static void
request_bind(struct mcp_request *q, const struct mcp_message *m)
{
	const struct json *token = json_get(m->rpc.meta, S(META_PROGRESS));
	struct mcp_client *c = q->client;
	bool modern = q->era == ERA_MODERN;

	q->rpc.id = m->rpc.id;
	q->progress_token =
	    (json_is(token, JSON_STRING) || json_is(token, JSON_NUMBER)) && is_short(token) ? token
											    : NULL;
	json_doc_unref(q->declared);
	q->declared = modern ? json_doc_ref(m->doc) : c->hello ? json_doc_ref(c->hello) : NULL;
	q->behind.capabilities =
	    modern ? json_get(m->rpc.meta, S(META_CAPABILITIES)) : c->capabilities;
	if (!modern)
		q->behind.log_level = c->log_level;
	else if (json_get(m->rpc.meta, S(META_LOG_LEVEL)))
		q->behind.log_level =
		    mcp_log_level(json_str(json_get(m->rpc.meta, S(META_LOG_LEVEL))));
	else
		q->behind.log_level = MCP_LOG_NONE;
}

static struct mcp_request *
request_new(struct mcp_client *c, struct mcp_channel *ch, const struct mcp_message *m)
{
	struct mcp_request *q = spare_new(sizeof(*q));
	bool modern = m->era == ERA_MODERN;

	if (!q)
		return NULL;
	q->client = c;
	q->channel = ch;
	q->era = m->era;
	q->revision = modern                       ? MCP_2026_07_28
		      : c->revision == MCP_UNKNOWN ? MCP_2025_11_25
						   : c->revision;
	q->doc = json_doc_ref(m->doc);
	q->rpc = m->rpc;
	q->inputs = modern ? json_get(m->rpc.params, S("inputResponses")) : NULL;
	list_init(&q->asks);
	request_bind(q, m);
	q->behind.ops = &mcp_behind_ops;
	q->behind.meta = m->rpc.meta;
	q->behind.meta_doc = json_doc_ref(m->doc);
	q->behind.revision = q->revision;
	list_push(&c->requests, &q->node);
	c->front->mcp.open++;
	ch->request = q;
	return q;
}

void
mcp_rebind(struct mcp_request *q, struct mcp_channel *ch, const struct mcp_message *m)
{
	json_doc_unref(q->again);
	q->again = json_doc_ref(m->doc);
	q->channel = ch;
	ch->request = q;
	request_bind(q, m);
}

void
mcp_drop(struct mcp_request *q)
{
	struct mcp_client *c = q->client;

	request_let_go(q);
	mcp_ask_done(q);
	if (q->own_free)
		q->own_free(q);
	list_remove(&q->node);
	c->front->mcp.open--;
	behind_done(&q->behind);
	json_doc_unref(q->doc);
	json_doc_unref(q->again);
	json_doc_unref(q->declared);
	spare_put(q, sizeof(*q));
	if (c->gone && c->requests.len == 0)
		client_free(c);
}

void
mcp_cancel(struct mcp_request *q)
{
	q->mute = true;
	if (q->cancel)
		q->cancel(q);
	else if (q->turn)
		gateway_cancel_call(q->client->front->gw, id_str(&q->turn->results[0].call));
	else if (q->exchange)
		exchange_cancel(q->exchange);
}

void
mcp_hang_up(struct mcp_request *q)
{
	q->channel->request = NULL;
	q->channel = NULL;
	mcp_cancel(q);
}

/* ---- answers ---- */

/* Takes b; q is gone. */
static void
request_answer(struct mcp_request *q, int status, struct buf *b)
{
	struct mcp_channel *ch = q->channel;

	if (!q->mute && !ch && q->park) {
		mcp_park_keep(q, status, b);
		return;
	}
	if (q->mute || !ch) {
		buf_done(b);
	} else {
		ch->request = NULL;
		q->channel = NULL;
		ch->ops->answer(ch, status, b);
	}
	mcp_drop(q);
}

/* What a modern client is told by HTTP too (mcp.md 2.5); all else is in the body alone. A method
 * that we do not know is a 404; one that a server behind does not know is not our door's. */
static int
status_of(enum mcp_era era, int64_t code)
{
	if (era != ERA_MODERN)
		return 200;
	return code == RPC_HEADER || code == RPC_CAPABILITY || code == RPC_VERSION ? 400 : 200;
}

struct jw
mcp_begin(struct mcp_request *q, struct buf *b)
{
	buf_init(b, LIMIT_LINE_BYTES);
	struct jw w = rpc_answer(b, q->rpc.id, "result");
	jw_object(&w);
	if (q->era != ERA_MODERN)
		return w;
	jw_member_z(&w, "resultType", "complete");
	if (q->method->kind == KIND_CACHED) {
		struct mcp_hint hint = mcp_hint_here(q->client, q->hint);
		jw_member_int(&w, "ttlMs", (int64_t)hint.ttl_ms);
		jw_member_z(&w, "cacheScope", hint.everybody ? "public" : "private");
	}
	return w;
}

static bool
has_own(const struct json *meta)
{
	for (struct json_iter it = json_iter(meta); json_next(&it);)
		if (!mcp_meta_is_hop(it.key))
			return true;
	return false;
}

void
mcp_write_meta(struct mcp_request *q, struct jw *w, const struct json *upstream, struct str more)
{
	bool modern = q->era == ERA_MODERN;

	if (!modern && !more.len && !has_own(upstream))
		return;
	jw_key(w, "_meta");
	jw_object(w);
	if (modern) {
		jw_key(w, META_SERVER);
		jw_object(w);
		jw_member_z(w, "name", "holdfast");
		jw_member_z(w, "version", HOLDFAST_VERSION);
		jw_end(w);
	}
	era_write_meta(w, upstream);
	if (more.len && (modern || has_own(upstream)))
		buf_addc(w->out, ',');
	buf_add(w->out, more); /* members as they are, and the last ones */
	jw_end(w);
}

void
mcp_end(struct mcp_request *q, struct jw *w, struct buf *b)
{
	jw_end(w);
	jw_end(w);
	if (!buf_failed(b)) {
		request_answer(q, 200, b);
		return;
	}
	buf_done(b);
	mcp_fail(q, RPC_INTERNAL, S("the answer is larger than the limit"), (struct str){NULL, 0});
}

void
mcp_join(struct buf *message, size_t at, struct buf *part)
{
	struct buf whole = BUF_INIT(message->max);

	whole.failed = buf_failed(message);
	if (buf_room(&whole, message->len + part->len)) {
		buf_add(&whole, str_upto(buf_str(message), at));
		buf_add(&whole, buf_str(part));
		buf_add(&whole, str_from(buf_str(message), at));
	}
	buf_done(message);
	buf_done(part);
	*message = whole;
}

void
mcp_end_around(struct mcp_request *q, struct jw *w, struct buf *b, size_t at, struct buf *part)
{
	struct mcp_channel *ch = q->channel;

	if (q->mute || !ch || !ch->ops->answer_around || buf_failed(b) ||
	    part->len > b->max - b->len) {
		mcp_join(b, at, part);
		mcp_end(q, w, b);
		return;
	}
	jw_end(w);
	jw_end(w);
	ch->request = NULL;
	q->channel = NULL;
	ch->ops->answer_around(ch, 200, b, at, part);
	mcp_drop(q);
}

void
mcp_relay(struct mcp_request *q, const struct json *result)
{
	struct buf b;

	/* What was answered for it is for this one alone. */
	if (!q->park && !json_get(q->rpc.params, S("inputResponses")))
		q->hint = mcp_hint(result);
	struct jw w = mcp_begin(q, &b);
	era_write_result(&w, result, q->revision);
	if (q->era == ERA_MODERN)
		mcp_write_meta(q, &w, json_get(result, S("_meta")), (struct str){NULL, 0});
	mcp_end(q, &w, &b);
}

void
mcp_fail(struct mcp_request *q, int64_t code, struct str message, struct str data)
{
	struct buf b = BUF_INIT(LIMIT_LINE_BYTES);

	rpc_write_error(&b, q->rpc.id, code, message, data);
	if (buf_failed(&b)) { /* of a stranger's data, or for lack of memory */
		buf_done(&b);
		rpc_write_error(&b, q->rpc.id, code, S("an error too long to be told"),
				(struct str){NULL, 0});
	}
	request_answer(q, status_of(q->era, code), &b);
}

void
mcp_fail_err(struct mcp_request *q, const struct err *e)
{
	const struct err_row *row = err_row(e->code);

	if (row->http >= 500 && e->inside[0])
		log_line(LOG_ERROR, "a request failed inside", "error", err_text(e), "inside",
			 e->inside, NULL);
	mcp_fail(q, row->rpc, str_of(err_text(e)), (struct str){NULL, 0});
}

/* {"uri":"..."}, of a resource that is not there. */
static void
fail_no_resource(struct mcp_request *q, struct str message)
{
	struct buf data = BUF_INIT(LIMIT_PROBLEM_BYTES + 6 * LIMIT_MCP_URI);
	struct jw w = jw(&data);

	jw_object(&w);
	jw_member(&w, "uri",
		  str_utf8_upto(json_str(json_get(q->rpc.params, S("uri"))), LIMIT_MCP_URI));
	jw_end(&w);
	mcp_fail(q, q->era == ERA_MODERN ? RPC_PARAMS : RPC_LEGACY_NO_RESOURCE, message,
		 buf_str(&data));
	buf_done(&data);
}

/* Each era has its own way to say that there is no such resource. */
static bool
is_no_resource(const struct mcp_request *q, int64_t code, const struct json *error)
{
	return str_is(q->rpc.method, "resources/read") &&
	       (code == RPC_LEGACY_NO_RESOURCE ||
		(code == RPC_PARAMS && json_get(json_get(error, S("data")), S("uri"))));
}

/* Codes that mean something on the other hop alone, or to the other era alone. */
static int64_t
code_here(const struct mcp_request *q, int64_t code)
{
	if (code == RPC_CAPABILITY)
		return q->era == ERA_MODERN ? code : RPC_INTERNAL;
	if (code == RPC_LEGACY_URL_NEEDED)
		return q->revision == MCP_2025_11_25 ? code : RPC_INTERNAL;
	return code <= RPC_HEADER && code >= -32099 ? RPC_INTERNAL : code;
}

void
mcp_fail_exchange(struct mcp_request *q, const struct exchange_end *end)
{
	if (end->code < 0 || !end->error) {
		mcp_fail_err(q, &end->err);
		return;
	}
	int64_t code = rpc_error_code(end->error);
	const struct json *data = json_get(end->error, S("data"));
	struct str message = rpc_error_message(end->error);
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES / 2);
	struct jw w = jw(&text);

	if (is_no_resource(q, code, end->error)) {
		fail_no_resource(q, message);
		return;
	}
	if (data)
		jw_value(&w, data);
	bool told = data && !buf_failed(&text);
	if (code_here(q, code) == RPC_LEGACY_URL_NEEDED)
		mcp_errands_note(q->client, end->server, data);
	mcp_fail(q, code_here(q, code), message, told ? buf_str(&text) : (struct str){NULL, 0});
	buf_done(&text);
}

/* ---- dispatch ---- */

/* For what is not taken as a request: the answer goes out at once. */
static void
turn_away(struct mcp_channel *ch, const struct mcp_message *m, const struct mcp_fault *f)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES + LIMIT_LINE_BYTES);

	mcp_write_fault(&b, m, f);
	ch->ops->answer(ch, f->status, &b);
}

static const struct mcp_request *
request_of(const struct mcp_client *c, const struct json *id)
{
	LIST_EACH (&c->requests, at) {
		const struct mcp_request *q = CONTAINER_OF(at, struct mcp_request, node);
		if (q->channel && json_equal(q->rpc.id, id))
			return q;
	}
	return NULL;
}

static int
has_room(const struct mcp_client *c, struct mcp_fault *f)
{
	bool many = !c->shared && c->requests.len >= LIMIT_MCP_CALLS;

	if (c->front->mcp.open < LIMIT_MCP_OPEN && !many)
		return 0;
	return MCP_FAULT(f, RPC_INTERNAL, 429, "%d requests are unanswered already",
			 many ? LIMIT_MCP_CALLS : LIMIT_MCP_OPEN);
}

static void
handle(struct mcp_request *q)
{
	struct err e;
	int code = 0;

	if (q->behind.log_level < 0)
		code =
		    err_set(&e, E_VALIDATION, "params._meta: \"%s\" is no level", META_LOG_LEVEL);
	if (q->inputs && !json_is(q->inputs, JSON_OBJECT))
		code = err_set(&e, E_VALIDATION, "inputResponses: must be an object");
	if (code == 0)
		code = q->method->handle(q, &e);
	if (code < 0)
		mcp_fail_err(q, &e);
}

/* Answered under that id it could be taken for the answer to the other. */
static void
refuse_twin(struct mcp_channel *ch, const struct mcp_message *m)
{
	struct mcp_message nameless = *m;
	struct mcp_fault f;

	nameless.rpc.id = NULL;
	MCP_FAULT(&f, RPC_INVALID, 400, "id: a request with this id is not answered yet");
	turn_away(ch, &nameless, &f);
}

static int
begin_request(struct mcp_client *c, struct mcp_channel *ch, const struct mcp_message *m,
	      struct mcp_fault *f)
{
	const struct method *method = method_find(m);
	struct mcp_request *q;

	if (!method)
		return MCP_FAULT(f, RPC_NO_METHOD, m->era == ERA_MODERN ? 404 : 200,
				 "there is no method '%.*s'",
				 STR_ARG(str_utf8_upto(m->rpc.method, 100)));
	/* A retry is no new request: the one it carries on has its place. */
	if (mcp_is_retry(m))
		return mcp_retry(c, ch, m, f);
	int code = has_room(c, f);
	if (code < 0)
		return code;
	q = request_new(c, ch, m);
	if (!q)
		return MCP_FAULT(f, RPC_INTERNAL, 200, "out of memory");
	q->method = method;
	handle(q);
	return 0;
}

static void
take_request(struct mcp_client *c, struct mcp_channel *ch, const struct mcp_message *m)
{
	struct mcp_fault f;

	if (!c->shared && request_of(c, m->rpc.id))
		refuse_twin(ch, m);
	else if (begin_request(c, ch, m, &f) < 0)
		turn_away(ch, m, &f);
}

/* A note is a request that nobody waits for; its handler answers nothing. */
static void
take_note(struct mcp_client *c, const struct mcp_message *m)
{
	const struct method *method = method_find(m);
	struct mcp_request q = {.client = c, .era = m->era, .doc = m->doc, .rpc = m->rpc};
	struct err e;

	if (method)
		(void)method->handle(&q, &e); /* what is wrong with a note is nobody's concern */
}

void
mcp_take(struct mcp_client *c, struct mcp_channel *ch, const struct mcp_message *m)
{
	switch (m->rpc.kind) {
	case RPC_REQUEST: take_request(c, ch, m); break;
	case RPC_NOTE: take_note(c, m); break;
	case RPC_RESULT:
	case RPC_ERROR: mcp_answered(c, m); break;
	}
}

/* ---- methods that are about the client itself ---- */

/* "NAME VERSION", as the client calls itself. */
static void
take_name(struct mcp_client *c, const struct json *info)
{
	struct str name = str_trim(json_str(json_get(info, S("name"))));
	struct str version = str_trim(json_str(json_get(info, S("version"))));
	struct buf both = BUF_INIT(2 * LIMIT_NAME_BYTES + 1);

	buf_add(&both, str_utf8_upto(name, LIMIT_NAME_BYTES));
	if (name.len && version.len) {
		buf_addc(&both, ' ');
		buf_add(&both, str_utf8_upto(version, LIMIT_NAME_BYTES));
	}
	if (!buf_failed(&both))
		session_rename(c->session, buf_str(&both));
	buf_done(&both);
}

int
mcp_initialize(struct mcp_request *q, struct err *e)
{
	struct str asked = json_str(json_get(q->rpc.params, S("protocolVersion")));
	const struct json *capabilities = json_get(q->rpc.params, S("capabilities"));
	struct mcp_client *c = q->client;
	struct buf b;

	if (!asked.ptr)
		return err_set(e, E_VALIDATION, "protocolVersion: must be a string");
	json_doc_unref(c->hello);
	c->hello = json_doc_ref(q->doc);
	c->capabilities = json_is(capabilities, JSON_OBJECT) ? capabilities : NULL;
	c->revision = mcp_negotiate(asked);
	take_name(c, json_get(q->rpc.params, S("clientInfo")));
	struct jw w = mcp_begin(q, &b);
	jw_member_z(&w, "protocolVersion", mcp_revision_name(c->revision));
	mcp_write_capabilities(&w, c, q->era);
	jw_key(&w, "serverInfo");
	jw_object(&w);
	jw_member_z(&w, "name", "holdfast");
	jw_member_z(&w, "version", HOLDFAST_VERSION);
	jw_end(&w);
	mcp_write_instructions(&w, c);
	mcp_end(q, &w, &b);
	return 0;
}

int
mcp_discover(struct mcp_request *q, struct err *e)
{
	struct buf b;
	struct jw w = mcp_begin(q, &b);

	(void)e;
	jw_key(&w, "supportedVersions");
	jw_array(&w);
	jw_z(&w, MCP_MODERN);
	jw_end(&w);
	mcp_write_capabilities(&w, q->client, q->era);
	mcp_write_instructions(&w, q->client);
	mcp_write_meta(q, &w, NULL, (struct str){NULL, 0});
	mcp_end(q, &w, &b);
	return 0;
}

int
mcp_ping(struct mcp_request *q, struct err *e)
{
	struct buf b;
	struct jw w = mcp_begin(q, &b);

	(void)e;
	mcp_end(q, &w, &b);
	return 0;
}

int
mcp_initialized(struct mcp_request *q, struct err *e)
{
	(void)q;
	(void)e;
	return 0;
}

int
mcp_roots_changed(struct mcp_request *q, struct err *e)
{
	(void)q;
	(void)e;
	return 0;
}

int
mcp_cancelled(struct mcp_request *q, struct err *e)
{
	const struct json *id = json_get(q->rpc.params, S("requestId"));
	struct mcp_client *c = q->client;

	(void)e;
	/* One who shares ids with strangers cancels by hanging up. */
	if (!id || c->shared)
		return 0;
	LIST_EACH (&c->requests, at) {
		struct mcp_request *meant = CONTAINER_OF(at, struct mcp_request, node);
		if (meant->channel && json_equal(meant->rpc.id, id)) {
			request_let_go(meant);
			mcp_cancel(meant);
			return 0;
		}
	}
	return 0; /* it crossed the answer */
}
