/*
 * mcp_ask.c - what clients are told and asked while their requests run.
 *
 *	legacy   a request of ours on the request's own channel, id "hf-7"; its answer comes by
 *	         itself
 *	modern   the request is parked (mcp_park.c)
 */

#include <stdio.h>
#include <stdlib.h>

#include "front/mcp_ask.h"
#include "schema/schema.h"

#define ID_PREFIX "hf-"

static struct mcp_request *
request_of(struct behind *b)
{
	return CONTAINER_OF(b, struct mcp_request, behind);
}

/* ---- progress and messages ---- */

static void
send_note(struct mcp_request *q, struct buf *b, struct jw *w)
{
	jw_end(w);
	jw_end(w);
	/* One that does not fit is not worth the call. */
	if (!buf_failed(b))
		q->channel->ops->note(q->channel, buf_str(b));
	buf_done(b);
}

/* _meta of a note or a request of ours: what may be passed on. */
static void
write_own_meta(struct jw *w, const struct json *meta)
{
	if (!json_is(meta, JSON_OBJECT))
		return;
	jw_key(w, "_meta");
	jw_object(w);
	era_write_meta(w, meta);
	jw_end(w);
}

static void
tell_progress(struct behind *b, const struct json *params)
{
	struct mcp_request *q = request_of(b);
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES);

	if (!q->channel || q->mute || !q->progress_token)
		return;
	struct jw w = rpc_note(&text, "notifications/progress");
	jw_key(&w, "progressToken");
	jw_value(&w, q->progress_token);
	for (struct json_iter it = json_iter(params); json_next(&it);)
		if (!str_is(it.key, "progressToken") && !str_is(it.key, "_meta"))
			jw_key_str(&w, it.key), jw_value(&w, it.value);
	write_own_meta(&w, json_get(params, S("_meta")));
	send_note(q, &text, &w);
}

static void
tell_message(struct behind *b, const struct json *params)
{
	struct mcp_request *q = request_of(b);
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES);

	if (!q->channel || q->mute)
		return;
	struct jw w = rpc_note(&text, "notifications/message");
	for (struct json_iter it = json_iter(params); json_next(&it);)
		if (!str_is(it.key, "_meta"))
			jw_key_str(&w, it.key), jw_value(&w, it.value);
	write_own_meta(&w, json_get(params, S("_meta")));
	send_note(q, &text, &w);
}

/* ---- what is asked, in the words of the client's era ---- */

static bool
is_elicitation(const struct inquiry_item *item)
{
	return str_is(item->method, "elicitation/create");
}

static bool
is_by_url(const struct inquiry_item *item)
{
	return str_is(json_str(json_get(item->params, S("mode"))), "url");
}

static struct str
elicitation_id(const struct inquiry_item *item)
{
	return json_str(json_get(item->params, S("elicitationId")));
}

/* A person must know who asks, where several could. */
static void
write_question(struct jw *w, const struct mcp_request *q, const struct inquiry *inq,
	       struct str message)
{
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES);

	if (inq->from.ptr && q->client->surface.kind != SURFACE_SERVER)
		buf_addf(&text, "%.*s asks: ", STR_ARG(inq->from));
	buf_add(&text, message);
	jw_key(w, "message");
	jw_str(w, buf_str(&text));
	w->out->failed = w->out->failed || buf_failed(&text);
	buf_done(&text);
}

/* Members the client's revision does not have. */
static bool
is_unknown_there(const struct mcp_request *q, const struct inquiry_item *item, struct str key)
{
	if (str_is(key, "_meta"))
		return true; /* written apart */
	if (!is_elicitation(item))
		return false;
	if (str_is(key, "elicitationId"))
		return q->era == ERA_MODERN;
	return str_is(key, "mode") && q->revision < MCP_2025_11_25;
}

void
mcp_ask_write_params(struct jw *w, const struct mcp_request *q, const struct inquiry *inq,
		     const struct inquiry_item *item, struct str id)
{
	bool elicits = is_elicitation(item);

	for (struct json_iter it = json_iter(item->params); json_next(&it);) {
		if (is_unknown_there(q, item, it.key))
			continue;
		if (elicits && str_is(it.key, "message"))
			write_question(w, q, inq, json_str(it.value));
		else
			jw_key_str(w, it.key), jw_value(w, it.value);
	}
	if (elicits && is_by_url(item) && q->era == ERA_LEGACY &&
	    !json_get(item->params, S("elicitationId")))
		jw_member(w, "elicitationId", id);
	write_own_meta(w, json_get(item->params, S("_meta")));
}

/* ---- are these answers? ---- */

/* The form's schema stands in somebody else's document: read once more, it is our own. */
static struct schema *
form_schema(const struct inquiry_item *item)
{
	const struct json *schema = json_get(item->params, S("requestedSchema"));
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&text);
	struct json_doc *doc = NULL;
	struct schema *s = NULL;

	if (schema)
		jw_value(&w, schema);
	if (schema && !buf_failed(&text) &&
	    json_parse(buf_str(&text), &json_door, &doc, NULL) == 0 &&
	    schema_compile(doc, json_root(doc), NULL, &s, NULL) < 0)
		s = NULL;
	json_doc_unref(doc);
	buf_done(&text);
	return s;
}

static int
check_form(const struct inquiry_item *item, const struct json *content, struct err *e)
{
	struct schema *s = is_by_url(item) ? NULL : form_schema(item);
	struct buf wrong = BUF_INIT(LIMIT_SCHEMA_TEXT);
	int code = 0;

	/* A form with nothing to fill in is answered with nothing. */
	struct json_doc *nothing = NULL;
	if (s && !content)
		code = json_parse(S("{}"), &json_door, &nothing, e);
	const struct json *said = content ? content : nothing ? json_root(nothing) : NULL;
	if (said && !json_is(said, JSON_OBJECT))
		code = err_set(e, E_VALIDATION, "content: must be an object");
	else if (s && said && schema_validate(s, said, SCHEMA_LINES, &wrong) < 0)
		code = err_set(e, E_VALIDATION, "content %s: %.*s",
			       content ? "does not fit" : "is missing",
			       STR_ARG(str_utf8_upto(buf_str(&wrong), 400)));
	json_doc_unref(nothing);
	buf_done(&wrong);
	schema_free(s);
	return code;
}

int
mcp_ask_check_answer(const struct inquiry_item *item, const struct json *answer, struct err *e)
{
	struct str action = json_str(json_get(answer, S("action")));

	if (!json_is(answer, JSON_OBJECT))
		return err_set(e, E_VALIDATION, "must be an object");
	if (str_is(item->method, "roots/list") &&
	    !json_is(json_get(answer, S("roots")), JSON_ARRAY))
		return err_set(e, E_VALIDATION, "roots: must be an array");
	if (!is_elicitation(item))
		return 0;
	if (str_is(action, "accept"))
		return check_form(item, json_get(answer, S("content")), e);
	if (str_is(action, "decline") || str_is(action, "cancel"))
		return 0;
	return err_set(e, E_VALIDATION, "action: must be accept, decline or cancel");
}

/* ---- inquiries ---- */

static void
ask_free(struct mcp_ask *a)
{
	a->inquiry->held = NULL;
	list_remove(&a->node);
	free(a);
}

static size_t
unsettled(const struct inquiry *inq)
{
	size_t n = 0;

	for (size_t i = 0; i < inq->count; i++)
		n += !inq->items[i].settled;
	return n;
}

void
mcp_ask_answer(struct mcp_ask *a, size_t i, struct json_doc *doc, const struct json *answer)
{
	struct inquiry *inq = a->inquiry;

	if (unsettled(inq) == 1)
		ask_free(a);
	inquiry_answer(inq, i, doc, answer);
}

static void
ask_refuse(struct mcp_ask *a, size_t i, const struct err *e)
{
	struct inquiry *inq = a->inquiry;

	if (unsettled(inq) == 1)
		ask_free(a);
	inquiry_refuse(inq, i, e);
}

void
mcp_ask_refuse_all(struct mcp_ask *a, const struct err *e)
{
	struct inquiry *inq = a->inquiry;
	size_t open = unsettled(inq);

	ask_free(a);
	/* With the last one inq may be gone. */
	for (size_t i = 0; open > 0 && i < inq->count; i++) {
		if (inq->items[i].settled)
			continue;
		open--;
		inquiry_refuse(inq, i, e);
	}
}

/* ---- legacy ---- */

static bool
send_request(struct mcp_request *q, const struct inquiry *inq, const struct inquiry_item *item,
	     uint64_t number)
{
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES);
	struct jw w = jw(&text);
	char id[32];
	int n = snprintf(id, sizeof(id), ID_PREFIX "%llu", (unsigned long long)number);

	jw_object(&w);
	jw_member_z(&w, "jsonrpc", "2.0");
	jw_member_z(&w, "id", id);
	jw_member(&w, "method", item->method);
	jw_key(&w, "params");
	jw_object(&w);
	mcp_ask_write_params(&w, q, inq, item, (struct str){id, (size_t)n});
	jw_end(&w);
	jw_end(&w);
	bool sent = !buf_failed(&text) && q->channel->ops->note(q->channel, buf_str(&text));
	buf_done(&text);
	return sent;
}

/* The client's person is sent elsewhere; the server may say later that this is done, and the client
 * knows it by this id. */
static bool
errand_note(struct mcp_client *c, struct str server, struct str id)
{
	struct topics *errands = &c->errands;
	struct err e;

	if (!server.ptr || !id.len)
		return false;
	if (errands->list.len >= LIMIT_MCP_ASKS)
		topics_remove(errands, topic_of(list_first(&errands->list)));
	return topics_add(errands, server, id, &e) == 0;
}

void
mcp_errands_note(struct mcp_client *c, struct str server, const struct json *data)
{
	for (struct json_iter it = json_iter(json_get(data, S("elicitations"))); json_next(&it);)
		errand_note(c, server, json_str(json_get(it.value, S("elicitationId"))));
}

static int
ask_legacy(struct mcp_request *q, struct mcp_ask *a, struct err *e)
{
	struct mcp_client *c = q->client;
	struct inquiry *inq = a->inquiry;

	a->first = c->next_id;
	c->next_id += inq->count;
	for (size_t i = 0; i < inq->count; i++) {
		if (inq->items[i].settled)
			continue;
		if (!send_request(q, inq, &inq->items[i], a->first + i))
			return err_set(e, E_UNAVAILABLE, "the client cannot be reached now");
		if (is_elicitation(&inq->items[i]) && is_by_url(&inq->items[i]) &&
		    errand_note(c, inq->from, elicitation_id(&inq->items[i])))
			q->sent_elsewhere = true;
	}
	list_push(&c->asked, &a->node);
	return 0;
}

/* Where its request is still open the note belongs to that, else to none. */
static void
errand_tell(struct mcp_client *c, struct str message)
{
	LIST_EACH (&c->requests, at) {
		struct mcp_request *q = CONTAINER_OF(at, struct mcp_request, node);
		if (q->sent_elsewhere && q->channel && !q->mute &&
		    q->channel->ops->note(q->channel, message))
			return;
	}
	if (c->tell)
		c->tell(c, message);
}

void
mcp_errand_done(struct mcp_client *c, struct str server, struct str elicitation)
{
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES);
	struct topic *t = topics_find(&c->errands, server, elicitation);

	if (!t)
		return;
	topics_remove(&c->errands, t);
	struct jw w = rpc_note(&text, "notifications/elicitation/complete");
	jw_member(&w, "elicitationId", elicitation);
	jw_end(&w);
	jw_end(&w);
	if (!buf_failed(&text))
		errand_tell(c, buf_str(&text));
	buf_done(&text);
}

/* "hf-7"; false: it is none of ours. */
static bool
parse_id(const struct json *id, uint64_t *ret)
{
	struct str text = json_str(id);

	return str_starts(text, S(ID_PREFIX)) &&
	       str_to_u64(str_from(text, sizeof(ID_PREFIX) - 1), ret);
}

static struct mcp_ask *
ask_of(const struct mcp_client *c, uint64_t number, size_t *ret_item)
{
	LIST_EACH (&c->asked, at) {
		struct mcp_ask *a = CONTAINER_OF(at, struct mcp_ask, node);
		if (number < a->first || number - a->first >= a->inquiry->count)
			continue;
		*ret_item = (size_t)(number - a->first);
		return a->inquiry->items[*ret_item].settled ? NULL : a;
	}
	return NULL;
}

/* A tool must never approve its own call, whatever it sends. */
static bool
may_settle(const struct mcp_client *c, const struct mcp_ask *a, const struct mcp_message *m)
{
	if (a->inquiry->from.ptr)
		return true;
	return m->http ? !access_from_tool(m->http) : c->may_answer;
}

void
mcp_answered(struct mcp_client *c, const struct mcp_message *m)
{
	uint64_t number;
	size_t i;
	struct mcp_ask *a = parse_id(m->rpc.id, &number) ? ask_of(c, number, &i) : NULL;
	struct err e;

	if (!a || !may_settle(c, a, m))
		return; /* it crossed the end of what was asked, or is nobody's */
	if (m->rpc.kind == RPC_ERROR) {
		struct str why = rpc_error_message(m->rpc.error);
		err_set(&e, E_UNAVAILABLE, "the client refused: %.*s",
			STR_ARG(str_utf8_upto(why, 400)));
		ask_refuse(a, i, &e);
	} else if (mcp_ask_check_answer(&a->inquiry->items[i], m->rpc.result, &e) < 0) {
		ask_refuse(a, i, &e);
	} else {
		mcp_ask_answer(a, i, m->doc, m->rpc.result);
	}
}

/* Its form can be closed: somebody else has answered, or nobody waits. */
static void
take_back(struct mcp_request *q, const struct mcp_ask *a)
{
	for (size_t i = 0; i < a->inquiry->count; i++) {
		struct buf text = BUF_INIT(LIMIT_PROBLEM_BYTES);
		unsigned long long number = a->first + i;
		char id[32];

		if (a->inquiry->items[i].settled || !q->channel || q->mute)
			continue;
		snprintf(id, sizeof(id), ID_PREFIX "%llu", number);
		struct jw w = rpc_note(&text, "notifications/cancelled");
		jw_member_z(&w, "requestId", id);
		jw_member_z(&w, "reason", "it is no longer needed");
		send_note(q, &text, &w);
	}
}

/* ---- as behind_ops ---- */

/* The gateway's own questions are for a person at the client: never for a tool. */
static int
may_be_asked(const struct mcp_request *q, const struct inquiry *inq, struct err *e)
{
	const struct mcp_client *c = q->client;

	if (q->mute || c->gone)
		return err_set(e, E_UNAVAILABLE, "the client no longer waits for this");
	if (c->asked.len + q->asks.len >= LIMIT_MCP_ASKS)
		return err_set(e, E_LIMIT, "the client is asked %d things already", LIMIT_MCP_ASKS);
	if (!inq->from.ptr &&
	    (!c->may_answer || !q->channel || q->channel->ops->from_tool(q->channel)))
		return err_set(e, E_UNAVAILABLE, "whoever made this call cannot approve it");
	if (q->era == ERA_LEGACY && !q->channel)
		return err_set(e, E_UNAVAILABLE, "the client cannot be reached now");
	return 0;
}

static int
ask(struct behind *b, struct inquiry *inq, struct err *e)
{
	struct mcp_request *q = request_of(b);
	struct mcp_ask *a;
	int code = may_be_asked(q, inq, e);

	if (code < 0)
		return code;
	a = calloc(1, sizeof(*a));
	if (!a)
		return err_plain(e, E_NOMEM);
	a->inquiry = inq;
	a->request = q;
	code = (q->era == ERA_MODERN ? mcp_ask_modern : ask_legacy)(q, a, e);
	if (code < 0) {
		free(a);
		return code;
	}
	inq->at = b;
	inq->held = a;
	return 0;
}

static void
unask(struct behind *b, struct inquiry *inq)
{
	struct mcp_ask *a = inq->held;

	if (!a)
		return;
	if (a->node.list == &request_of(b)->client->asked)
		take_back(request_of(b), a);
	ask_free(a);
}

const struct behind_ops mcp_behind_ops = {
    .progress = tell_progress,
    .message = tell_message,
    .ask = ask,
    .unask = unask,
};

/* ---- the end of a request ---- */

static struct mcp_ask *
first_ask(const struct mcp_request *q)
{
	LIST_EACH (&q->asks, at)
		return CONTAINER_OF(at, struct mcp_ask, node);
	LIST_EACH (&q->client->asked, at) {
		struct mcp_ask *a = CONTAINER_OF(at, struct mcp_ask, node);
		if (a->request == q)
			return a;
	}
	return NULL;
}

void
mcp_ask_done(struct mcp_request *q)
{
	struct mcp_ask *a;
	struct err e;

	q->mute = true; /* what is refused now must not ask again */
	if (first_ask(q))
		err_set(&e, E_CANCELLED, "the client is gone");
	while ((a = first_ask(q)))
		mcp_ask_refuse_all(a, &e);
	defer_cancel(&q->round);
	if (q->park)
		mcp_park_free(q->park);
	q->park = NULL;
}
