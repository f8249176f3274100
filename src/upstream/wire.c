/*
 * wire.c - requests to an upstream and their answers, and what it says by itself.
 *
 * Ids are whole numbers of our own, growing, and the progress token of a request is its id. What
 * comes with an id that nobody waits for is late, a duplicate or made up: counted and dropped.
 */

#include "upstream/inside.h"

#include <stdio.h>

#include "base/clock.h"

#define OUT_KEPT (256 * KIB) /* of memory, after a large message */

bool
faucet__takes(struct faucet *f, struct loop *l, unsigned per_second)
{
	uint64_t second = loop_now_ms(l) / 1000;

	if (f->second != second) {
		f->second = second;
		f->used = 0;
	}
	if (f->used < per_second) {
		f->used++;
		return true;
	}
	f->lost++;
	return false;
}

/* ---- sending ---- */

/* What this client can be asked, as it has declared it; extensions are between it and us. */
static void
capabilities_write(struct jw *w, const struct behind *b)
{
	static const char *const keys[] = {"roots", "sampling", "elicitation"};

	const struct json *declared = behind_capabilities(b);
	jw_object(w);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct json *v = json_get(declared, str_of(keys[i]));
		if (json_is(v, JSON_OBJECT))
			jw_key(w, keys[i]), jw_value(w, v);
	}
	jw_end(w);
}

const char *
wire__level(int level)
{
	static const char *const names[] = {"debug", "info",     "notice", "warning",
					    "error", "critical", "alert",  "emergency"};

	return level >= 0 && level < (int)ARRAY_LEN(names) ? names[level] : NULL;
}

static void
envelope_write(struct jw *w, const struct behind *b)
{
	jw_member_z(w, META_VERSION, MCP_MODERN);
	jw_key(w, META_CLIENT), jw_object(w);
	jw_member_z(w, "name", "holdfast");
	jw_member_z(w, "version", HOLDFAST_VERSION);
	jw_end(w);
	jw_key(w, META_CAPABILITIES), capabilities_write(w, b);
	if (wire__level(behind_log_level(b)))
		jw_member_z(w, META_LOG_LEVEL, wire__level(behind_log_level(b)));
}

static void
meta_write(struct jw *w, uint64_t id, const struct ask_spec *s)
{
	const struct json *meta = s->behind ? s->behind->meta : NULL;

	if (s->bare || (s->era == ERA_LEGACY && !s->tracked && json_len(meta) == 0))
		return;
	jw_key(w, "_meta"), jw_object(w);
	if (s->era == ERA_MODERN)
		envelope_write(w, s->behind);
	if (s->tracked)
		jw_member_int(w, META_PROGRESS, (int64_t)id);
	for (struct json_iter it = json_iter(meta); json_next(&it);)
		if (!mcp_meta_is_hop(it.key) && !mcp_meta_is_ours(it.key))
			jw_key_str(w, it.key), jw_value(w, it.value);
	jw_end(w);
}

static uint64_t
id_next(struct upstream *u)
{
	do
		u->last_id++;
	while (u->asks[u->last_id % ASK_SLOTS]);
	return u->last_id;
}

static int
message_send(struct upstream *u, struct link_message *m, struct err *e)
{
	if (buf_failed(&u->out))
		return err_set(e, E_TOO_LARGE, "this is too large for one message to a server");
	m->text = buf_str(&u->out);
	int rc = u->link->ops->send(u->link, m, e);
	if (u->out.cap > OUT_KEPT)
		buf_done(&u->out);
	return rc;
}

static void
ask_late(void *arg)
{
	struct ask *a = arg;
	struct err e;

	err_set(&e, E_TIMEOUT, "the server has not answered in time");
	ask__cancel(a, "timeout");
	a->answer(a, &(struct reply){.code = E_TIMEOUT, .err = &e});
}

int
ask__send(struct upstream *u, struct ask *a, const struct ask_spec *s, struct err *e)
{
	CHECK(a->id == 0 && u->link);
	if (u->asked >= ASK_SLOTS - 1)
		return err_set(e, E_LIMIT, "too many requests to this server are under way");
	uint64_t id = id_next(u);
	buf_reset(&u->out);
	struct jw w = rpc_request(&u->out, id, s->method);
	meta_write(&w, id, s);
	if (s->params)
		s->params(&w, s->arg);
	jw_end(&w);
	jw_end(&w);
	struct link_message m = {
	    .id = id,
	    .method = s->method,
	    .name = s->name,
	    .era = s->era,
	    .revision = s->bare                ? MCP_UNKNOWN
			: s->era == ERA_MODERN ? MCP_2026_07_28
					       : u->revision,
	    .schema = s->schema,
	    .arguments = s->arguments,
	    .listens = s->listens,
	};
	int rc = message_send(u, &m, e);
	if (rc == 0 && s->timeout_ms)
		rc = timer_start(u->set->loop, &a->timer, s->timeout_ms, ask_late, a);
	if (rc < 0)
		return rc == E_NOMEM ? err_plain(e, E_NOMEM) : rc;
	a->id = id;
	a->u = u;
	u->asks[id % ASK_SLOTS] = a;
	u->asked++;
	return 0;
}

void
ask__forget(struct ask *a)
{
	if (a->id == 0)
		return;
	struct upstream *u = a->u;
	timer_stop(u->set->loop, &a->timer);
	CHECK(u->asks[a->id % ASK_SLOTS] == a);
	u->asks[a->id % ASK_SLOTS] = NULL;
	u->asked--;
	a->id = 0;
}

struct cancelled {
	uint64_t id;
	const char *reason;
};

static void
cancelled_write(struct jw *w, void *arg)
{
	const struct cancelled *c = arg;

	jw_member_int(w, "requestId", (int64_t)c->id);
	jw_member_z(w, "reason", c->reason);
}

static void
given_up_note(struct upstream *u, const struct ask *a)
{
	struct given_up *g = &u->given_up[u->given_up_count % GIVEN_UP];

	if (!a->x || !a->x->spec.about.ptr)
		return;
	u->given_up_count++;
	*g = (struct given_up){.id = a->id, .since_us = clock_mono_us()};
	snprintf(g->about, sizeof(g->about), "%.*s", STR_ARG(a->x->spec.about));
}

/* Modern, over HTTP: to let go of the stream is to cancel. */
void
ask__cancel(struct ask *a, const char *reason)
{
	struct cancelled c = {a->id, reason};
	struct upstream *u = a->u;

	if (a->id == 0)
		return;
	if (u->link && u->phase != PHASE_CLOSING && a != &u->climb) {
		if (u->era == ERA_LEGACY || u->spec.kind == UPSTREAM_STDIO)
			wire__note(u, "notifications/cancelled", cancelled_write, &c);
		u->link->ops->drop(u->link, a->id);
	}
	given_up_note(u, a);
	ask__forget(a);
}

void
wire__note(struct upstream *u, const char *method, void (*params)(struct jw *w, void *arg),
	   void *arg)
{
	struct link_message m = {.method = str_of(method), .era = u->era, .revision = u->revision};
	struct err e;

	if (!u->link)
		return;
	buf_reset(&u->out);
	struct jw w = rpc_note(&u->out, method);
	if (params)
		params(&w, arg);
	jw_end(&w);
	jw_end(&w);
	if (message_send(u, &m, &e) < 0)
		upstream__complain(u, "a notification could not be sent to a server", e.text);
}

/* An answer has been written to u->out. */
static void
answer_send(struct upstream *u)
{
	struct link_message m = {.era = u->era, .revision = u->revision};
	struct err e;

	if (u->link && message_send(u, &m, &e) < 0)
		upstream__complain(u, "an answer could not be sent to a server", e.text);
}

void
wire__answer(struct upstream *u, const struct json *id, void (*result)(struct jw *w, void *arg),
	     void *arg)
{
	buf_reset(&u->out);
	struct jw w = rpc_answer(&u->out, id, "result");
	result(&w, arg);
	jw_end(&w);
	answer_send(u);
}

void
wire__refuse(struct upstream *u, const struct json *id, int64_t code, const char *text)
{
	buf_reset(&u->out);
	rpc_write_error(&u->out, id, code, str_of(text), (struct str){NULL, 0});
	answer_send(u);
}

/* ---- answers ---- */

static struct ask *
ask_find(const struct upstream *u, uint64_t id)
{
	struct ask *a = u->asks[id % ASK_SLOTS];

	return a && a->id == id ? a : NULL;
}

static struct ask *
ask_of(const struct upstream *u, const struct json *id)
{
	int64_t n;

	return json_int(id, &n) && n > 0 ? ask_find(u, (uint64_t)n) : NULL;
}

static void
ask_settle(struct ask *a, const struct reply *r)
{
	ask__forget(a);
	a->answer(a, r); /* and it may be gone */
}

static void
late_tell(struct upstream *u, uint64_t id)
{
	struct given_up *g = NULL;

	for (size_t i = 0; !g && i < GIVEN_UP; i++)
		g = u->given_up[i].id == id ? &u->given_up[i] : NULL;
	if (!g)
		return;
	g->id = 0; /* once */
	uint64_t after_ms = (clock_mono_us() - g->since_us) / 1000;
	LIST_EACH (&u->set->watches, n) {
		struct upstream_watch *w = CONTAINER_OF(n, struct upstream_watch, node);
		if (w->late)
			w->late(u, str_of(g->about), after_ms, w->arg);
	}
}

static void
stray(struct upstream *u, const struct json *id)
{
	int64_t n;

	if (json_int(id, &n) && n > 0 && (uint64_t)n <= u->last_id) {
		u->late++;
		late_tell(u, (uint64_t)n);
		return;
	}
	u->strays++;
	upstream__complain(u, "a server answered what it was not asked", NULL);
}

static void
hear_answer(struct upstream *u, struct json_doc *doc, const struct rpc *r, uint64_t of)
{
	struct ask *a = ask_of(u, r->id);

	/* An error without an id on the stream of a request, or where only one is, answers that. */
	if (r->kind == RPC_ERROR && !r->id)
		a = of ? ask_find(u, of) : u->probing && u->climb.id ? &u->climb : NULL;
	if (!a) {
		stray(u, r->id);
		return;
	}
	ask_settle(a, &(struct reply){.doc = doc, .result = r->result, .error = r->error});
}

/* What should be an answer and is none must not leave its request waiting. */
static void
hear_nonsense(struct upstream *u, const struct rpc *r, const struct err *why)
{
	struct ask *a = r->id && !r->method.ptr ? ask_of(u, r->id) : NULL;
	struct err e;

	upstream__complain(u, "a server sent a message that is not valid", why->text);
	if (!a)
		return;
	err_set(&e, E_EXECUTION, "the server's answer is not valid: %.300s", why->text);
	ask_settle(a, &(struct reply){.code = E_EXECUTION, .err = &e});
}

/* ---- notes ---- */

struct heard {
	struct json_doc *doc;
	const struct rpc *rpc;
	uint64_t of;
};

static void
note_progress(struct upstream *u, const struct heard *h)
{
	struct ask *a = ask_of(u, json_get(h->rpc->params, S(META_PROGRESS)));

	if (a && a->x)
		exchange__progress(a->x, h->rpc->params);
}

/* Legacy servers over stdio do not say whose it is: clear only when there is one. */
static struct exchange *
exchange_alone(const struct upstream *u)
{
	const struct list *l = u->flying.len ? &u->flying : &u->asking;

	return u->flying.len + u->asking.len == 1 ? exchange__of(list_first(l)) : NULL;
}

static void
note_message(struct upstream *u, const struct heard *h)
{
	struct ask *a = h->of ? ask_find(u, h->of) : NULL;
	struct exchange *x = h->of ? (a ? a->x : NULL) : exchange_alone(u);

	if (!h->rpc->params || !faucet__takes(&u->messages, u->set->loop, LIMIT_UPSTREAM_MESSAGES))
		return;
	if (x) {
		exchange__message(x, h->rpc->params);
		return;
	}
	LIST_EACH (&u->set->watches, n) {
		struct upstream_watch *w = CONTAINER_OF(n, struct upstream_watch, node);
		if (w->message)
			w->message(u, h->rpc->params, w->arg);
	}
}

static void
note_tools(struct upstream *u, const struct heard *h)
{
	(void)h;
	listing__changed(&u->listings[LIST_TOOLS]);
}

static void
note_prompts(struct upstream *u, const struct heard *h)
{
	(void)h;
	listing__changed(&u->listings[LIST_PROMPTS]);
}

static void
note_resources(struct upstream *u, const struct heard *h)
{
	(void)h;
	listing__changed(&u->listings[LIST_RESOURCES]);
	listing__changed(&u->listings[LIST_TEMPLATES]);
}

static void
note_updated(struct upstream *u, const struct heard *h)
{
	struct str uri = json_str(json_get(h->rpc->params, S("uri")));

	if (!uri.ptr || !subscriptions__has(u, uri) ||
	    !faucet__takes(&u->updates, u->set->loop, LIMIT_UPSTREAM_MESSAGES))
		return;
	LIST_EACH (&u->set->watches, n) {
		struct upstream_watch *w = CONTAINER_OF(n, struct upstream_watch, node);
		if (w->updated)
			w->updated(u, uri, w->arg);
	}
}

static void
note_completed(struct upstream *u, const struct heard *h)
{
	struct str id = json_str(json_get(h->rpc->params, S("elicitationId")));

	if (!id.len || !faucet__takes(&u->updates, u->set->loop, LIMIT_UPSTREAM_MESSAGES))
		return;
	LIST_EACH (&u->set->watches, n) {
		struct upstream_watch *w = CONTAINER_OF(n, struct upstream_watch, node);
		if (w->completed)
			w->completed(u, id, w->arg);
	}
}

static void
note_acknowledged(struct upstream *u, const struct heard *h)
{
	(void)h;
	subscriptions__acknowledged(u);
}

/* Legacy: it no longer wants to know what it asked. Modern: a subscription has ended. */
static void
note_cancelled(struct upstream *u, const struct heard *h)
{
	const struct json *id = json_get(h->rpc->params, S("requestId"));

	if (u->era == ERA_LEGACY) {
		plea__forget(u, id);
		return;
	}
	struct ask *a = ask_of(u, id);
	if (a == &u->listen)
		ask_settle(a, &(struct reply){.doc = h->doc, .result = h->rpc->params});
}

static const struct {
	const char *method;
	void (*hear)(struct upstream *u, const struct heard *h);
} notes[] = {
    {"notifications/progress", note_progress},
    {"notifications/message", note_message},
    {"notifications/tools/list_changed", note_tools},
    {"notifications/prompts/list_changed", note_prompts},
    {"notifications/resources/list_changed", note_resources},
    {"notifications/resources/updated", note_updated},
    {"notifications/subscriptions/acknowledged", note_acknowledged},
    {"notifications/cancelled", note_cancelled},
    {"notifications/elicitation/complete", note_completed},
};

static void
hear_note(struct upstream *u, const struct heard *h)
{
	for (size_t i = 0; i < ARRAY_LEN(notes); i++)
		if (str_is(h->rpc->method, notes[i].method)) {
			notes[i].hear(u, h);
			return;
		}
	upstream__complain(u, "a server sent a notification that is not known", NULL);
}

/* ---- requests of the upstream ---- */

static void
nothing_write(struct jw *w, void *arg)
{
	(void)arg;
	jw_object(w);
	jw_end(w);
}

/* Modern servers send none. */
static void
hear_request(struct upstream *u, const struct heard *h)
{
	struct ask *a = h->of ? ask_find(u, h->of) : NULL;

	if (u->era == ERA_MODERN && u->phase >= PHASE_LISTING)
		upstream__complain(u, "a server of the modern era sent a request", NULL);
	else if (str_is(h->rpc->method, "ping"))
		wire__answer(u, h->rpc->id, nothing_write, NULL);
	else
		plea__legacy(u, a ? a->x : NULL, h->of == 0, h->doc, h->rpc);
}

/* ---- the link ---- */

static void
hear_one(struct upstream *u, struct json_doc *doc, const struct json *root, uint64_t of)
{
	struct rpc r;
	struct err e;
	const struct heard h = {doc, &r, of};

	if (rpc_read(root, &r, &e) < 0) {
		hear_nonsense(u, &r, &e);
		return;
	}
	switch (r.kind) {
	case RPC_REQUEST: hear_request(u, &h); break;
	case RPC_NOTE: hear_note(u, &h); break;
	case RPC_RESULT:
	case RPC_ERROR: hear_answer(u, doc, &r, of); break;
	}
}

/* 2025-03-26 has batches; others never send one, and nothing is lost by reading it. */
static void
hear(void *arg, struct json_doc *doc, uint64_t of)
{
	struct upstream *u = upstream_ref(arg);
	const struct json *root = json_root(doc);

	if (json_is(root, JSON_ARRAY)) {
		for (struct json_iter it = json_iter(root); u->link && json_next(&it);)
			hear_one(u, doc, it.value, of);
	} else {
		hear_one(u, doc, root, of);
	}
	upstream_unref(u);
}

/* NULL: there is none, or there are several, and it could be any. */
static struct ask *
ask_only(const struct upstream *u)
{
	for (size_t i = 0; u->asked == 1 && i < ASK_SLOTS; i++)
		if (u->asks[i])
			return u->asks[i];
	return NULL;
}

/* Whatever the status: an error of JSON-RPC in the body says more, also without an id. */
static void
hear_failed(void *arg, uint64_t id, int status, struct str body, const struct err *e)
{
	struct upstream *u = upstream_ref(arg);
	struct ask *a = id || u->spec.kind == UPSTREAM_HTTP ? ask_find(u, id) : ask_only(u);
	struct json_doc *doc = NULL;
	struct err bad;
	struct rpc r;
	struct reply reply = {.code = e->code, .err = e, .status = status};

	if (a && body.len > 0 && json_parse(body, &json_door, &doc, &bad) == 0 &&
	    rpc_read(json_root(doc), &r, &bad) == 0 && r.kind == RPC_ERROR)
		reply = (struct reply){.status = status,
				       .retry_after_ms = e->retry_after_ms,
				       .doc = doc,
				       .error = r.error};
	if (a)
		ask_settle(a, &reply);
	json_doc_unref(doc);
	upstream_unref(u);
}

static void
hear_anything(void *arg)
{
	struct upstream *u = arg;

	u->deaf = 0;
}

static void
hear_closed(void *arg, const struct err *how)
{
	upstream__closed(arg, how);
}

static void
hear_no_more(void *arg, int status)
{
	if (status == 400 || status == 404)
		(void)upstream__knock(arg);
}

const struct link_events wire__events = {.message = hear,
					 .failed = hear_failed,
					 .alive = hear_anything,
					 .closed = hear_closed,
					 .unheard = hear_no_more};
