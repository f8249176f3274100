/*
 * mcp_ask.c - what clients are told and asked while their requests run.
 *
 *	legacy   a request of ours on the request's own channel, id "hf-7"; its answer comes by
 *itself modern   the open request is answered `input_required` and parked; a retry with the answers
 *	         and our requestState takes it up again
 *
 * requestState is "v1.PAYLOAD.MAC", both base64url. The payload names the park, its round, its end
 * and the digest of what was asked for; it is good for one retry. What a client could forge decides
 * nothing: everything in it is compared with what we know.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "front/mcp.h"
#include "json/canon.h"
#include "schema/schema.h"

#define ID_PREFIX "hf-"
#define STATE_PREFIX "v1."
#define PARK_ID 16

/* One inquiry that a client has, or will have. */
struct mcp_ask {
	struct inquiry *inquiry;
	struct mcp_request *request;
	uint64_t first;   /* legacy: number of its first item */
	bool shown;       /* modern: in the round that the client has */
	struct node node; /* in client->asked (legacy) or request->asks (modern) */
};

struct mcp_park {
	struct mcp_request *request;
	unsigned char id[PARK_ID];
	uint32_t round;
	int64_t expires_us; /* wall */
	char digest[DIGEST_TEXT];
	struct timer timer;
	bool over;        /* the call has ended meanwhile: */
	int status;       /* what came of it */
	struct buf late;  /* the same: the answer from behind its id on */
	struct node node; /* in front->mcp.parks */
};

static struct mcp_request *
request_of(struct behind *b)
{
	return CONTAINER_OF(b, struct mcp_request, behind);
}

static struct loop *
loop_of(const struct mcp_request *q)
{
	return q->client->front->gw->loop;
}

void
mcp_ask_init(struct front *f)
{
	random_bytes(f->mcp.key, sizeof(f->mcp.key));
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

static void
write_params(struct jw *w, const struct mcp_request *q, const struct inquiry *inq,
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

static int
check_answer(const struct inquiry_item *item, const struct json *answer, struct err *e)
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

/* With its last answer an inquiry is no longer ours, and may be gone. */
static void
ask_answer(struct mcp_ask *a, size_t i, struct json_doc *doc, const struct json *answer)
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

static void
ask_refuse_all(struct mcp_ask *a, const struct err *e)
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
	write_params(&w, q, inq, item, (struct str){id, (size_t)n});
	jw_end(&w);
	jw_end(&w);
	bool sent = !buf_failed(&text) && q->channel->ops->note(q->channel, buf_str(&text));
	buf_done(&text);
	return sent;
}

static int
ask_legacy(struct mcp_request *q, struct mcp_ask *a, struct err *e)
{
	struct mcp_client *c = q->client;
	struct inquiry *inq = a->inquiry;

	a->first = c->next_id;
	c->next_id += inq->count;
	for (size_t i = 0; i < inq->count; i++)
		if (!inq->items[i].settled && !send_request(q, inq, &inq->items[i], a->first + i))
			return err_set(e, E_UNAVAILABLE, "the client cannot be reached now");
	list_push(&c->asked, &a->node);
	return 0;
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
	} else if (check_answer(&a->inquiry->items[i], m->rpc.result, &e) < 0) {
		ask_refuse(a, i, &e);
	} else {
		ask_answer(a, i, m->doc, m->rpc.result);
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

/* ---- modern: the state a client carries ---- */

static void
put_number(struct buf *out, uint64_t n, size_t bytes)
{
	while (bytes > 0)
		buf_addc(out, (char)(n >> (8 * --bytes) & 255));
}

/* What the state of this park is now: the only one that is taken. */
static void
write_state(struct buf *out, const struct front *f, const struct mcp_park *p)
{
	struct buf payload = BUF_INIT(256);
	unsigned char mac[SHA256_BYTES];

	buf_add(&payload, (struct str){(const char *)p->id, sizeof(p->id)});
	put_number(&payload, p->round, 4);
	put_number(&payload, (uint64_t)p->expires_us, 8);
	buf_addz(&payload, p->digest);
	out->failed = out->failed || buf_failed(&payload);
	sha256_mac((struct str){(const char *)f->mcp.key, sizeof(f->mcp.key)}, buf_str(&payload),
		   mac);
	buf_addz(out, STATE_PREFIX);
	base64url_add(out, buf_str(&payload));
	buf_addc(out, '.');
	base64url_add(out, (struct str){(const char *)mac, sizeof(mac)});
	buf_done(&payload);
}

/* Takes the same time wherever they differ. */
static bool
is_state_of(const struct front *f, const struct mcp_park *p, struct str state)
{
	struct buf now = BUF_INIT(512);

	write_state(&now, f, p);
	bool same = !buf_failed(&now) && sha256_mac_eq(buf_str(&now), state);
	buf_done(&now);
	return same;
}

/* A state can only be one that we would write ourselves now: rounds before, other rounds, other
 * ends and other gateways have others. */
static struct mcp_park *
park_of(const struct front *f, struct str state)
{
	LIST_EACH (&f->mcp.parks, at) {
		struct mcp_park *p = CONTAINER_OF(at, struct mcp_park, node);
		if (!p->request->channel && is_state_of(f, p, state))
			return p;
	}
	return NULL;
}

/* What a retry must repeat: method, name or address, arguments. */
static int
digest_of(const struct rpc *r, char out[static DIGEST_TEXT])
{
	static const char *const members[] = {"name", "uri", "arguments"};
	struct buf text = BUF_INIT(2 * LIMIT_JSON_BYTES);

	buf_add(&text, r->method);
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const struct json *v = json_get(r->params, str_of(members[i]));
		buf_addc(&text, '\n');
		if (v)
			canon_write(&text, v, CANON_JCS);
	}
	if (!buf_failed(&text))
		digest_bytes(buf_str(&text), out);
	int code = buf_failed(&text) ? E_NOMEM : 0;
	buf_done(&text);
	return code;
}

/* ---- modern: parks ---- */

static void
park_free(struct mcp_park *p)
{
	timer_stop(loop_of(p->request), &p->timer);
	list_remove(&p->node);
	p->request->client->front->mcp.kept -= p->late.len;
	buf_done(&p->late);
	free(p);
}

/* Nobody came. */
static void
park_expired(void *arg)
{
	struct mcp_park *p = arg;
	struct mcp_request *q = p->request;

	q->mute = true;
	if (p->over)
		mcp_drop(q);
	else
		mcp_cancel(q);
}

static int
park_new(struct mcp_request *q)
{
	struct mcp_park *p = calloc(1, sizeof(*p));

	if (!p || digest_of(&q->rpc, p->digest) < 0) {
		free(p);
		return E_NOMEM;
	}
	random_bytes(p->id, sizeof(p->id));
	p->request = q;
	buf_init(&p->late, LIMIT_LINE_BYTES);
	list_push(&q->client->front->mcp.parks, &p->node);
	q->park = p;
	return 0;
}

void
mcp_park_keep(struct mcp_request *q, int status, struct buf *message)
{
	struct front *f = q->client->front;
	struct buf head = BUF_INIT(LIMIT_LINE_BYTES);
	struct mcp_park *p = q->park;

	/* Everything up to the id and with it; the retry has another one. */
	(void)rpc_answer(&head, q->rpc.id, "");
	size_t skip = head.len - (sizeof(",\"\":") - 1);
	if (!buf_failed(&head) && f->mcp.kept < LIMIT_MCP_KEPT)
		buf_add(&p->late, str_from(buf_str(message), skip));
	f->mcp.kept += p->late.len;
	p->over = true;
	p->status = status;
	q->turn = NULL;
	q->exchange = NULL;
	q->cancel = NULL;
	buf_done(&head);
	buf_done(message);
}

bool
mcp_parked_is_over(const struct mcp_request *q)
{
	return q->park && q->park->over;
}

/* ---- modern: rounds ---- */

static bool
key_is_taken(const struct mcp_request *q, const struct mcp_ask *before, struct str key)
{
	LIST_EACH (&q->asks, at) {
		const struct mcp_ask *a = CONTAINER_OF(at, struct mcp_ask, node);
		if (a == before)
			return false;
		if (a->shown && inquiry_find(a->inquiry, key))
			return true;
	}
	return false;
}

/* Two inquiries may use one key: then the later one waits for another round. */
static bool
fits_in_round(const struct mcp_request *q, const struct mcp_ask *a)
{
	for (size_t i = 0; i < a->inquiry->count; i++)
		if (key_is_taken(q, a, a->inquiry->items[i].key))
			return false;
	return true;
}

static void
write_item(struct jw *w, const struct mcp_request *q, const struct inquiry *inq,
	   const struct inquiry_item *item)
{
	jw_key_str(w, item->key);
	jw_object(w);
	jw_member(w, "method", item->method);
	jw_key(w, "params");
	jw_object(w);
	write_params(w, q, inq, item, (struct str){NULL, 0});
	jw_end(w);
	jw_end(w);
}

static void
write_asks(struct jw *w, struct mcp_request *q)
{
	LIST_EACH (&q->asks, at) {
		struct mcp_ask *a = CONTAINER_OF(at, struct mcp_ask, node);

		a->shown = false;
		a->shown = fits_in_round(q, a);
		for (size_t i = 0; a->shown && i < a->inquiry->count; i++)
			if (!a->inquiry->items[i].settled)
				write_item(w, q, a->inquiry, &a->inquiry->items[i]);
	}
}

/* {"resultType":"input_required","inputRequests":{...},"requestState":"..."} */
static void
write_round(struct buf *out, struct mcp_request *q)
{
	struct buf state = BUF_INIT(512);
	struct jw w = rpc_answer(out, q->rpc.id, "result");

	jw_object(&w);
	jw_member_z(&w, "resultType", "input_required");
	jw_key(&w, "inputRequests");
	jw_object(&w);
	write_asks(&w, q);
	jw_end(&w);
	write_state(&state, q->client->front, q->park);
	jw_member(&w, "requestState", buf_str(&state));
	mcp_write_meta(q, &w, NULL, (struct str){NULL, 0});
	jw_end(&w);
	jw_end(&w);
	out->failed = out->failed || buf_failed(&state);
	buf_done(&state);
}

/* The open request is answered; from now on it has no channel. */
static void
park(struct mcp_request *q)
{
	struct mcp_channel *ch = q->channel;
	struct mcp_park *p = q->park;
	struct buf b = BUF_INIT(LIMIT_LINE_BYTES);

	p->round++;
	p->expires_us = clock_wall_us() + LIMIT_MCP_PARKED_MS * INT64_C(1000);
	write_round(&b, q);
	if (buf_failed(&b)) {
		struct err e;
		buf_done(&b);
		err_set(&e, E_TOO_LARGE, "what is asked is larger than the limit");
		for (struct node *n; (n = list_first(&q->asks));)
			ask_refuse_all(CONTAINER_OF(n, struct mcp_ask, node), &e);
		return;
	}
	timer_start(loop_of(q), &p->timer, LIMIT_MCP_PARKED_MS, park_expired, p);
	q->channel = NULL;
	q->inputs = NULL;
	ch->request = NULL;
	ch->ops->answer(ch, 200, &b);
}

/* The first open item that there is an answer for. What a client gave before it was asked counts
 * for servers, who asked for it the last time; not for the gateway's own questions. */
static struct mcp_ask *
find_given(const struct mcp_request *q, size_t *ret_item, const struct json **ret)
{
	struct err e;

	LIST_EACH (&q->asks, at) {
		struct mcp_ask *a = CONTAINER_OF(at, struct mcp_ask, node);
		bool counts = q->inputs_asked_for ? a->shown : a->inquiry->from.ptr != NULL;

		for (size_t i = 0; counts && i < a->inquiry->count; i++) {
			const struct inquiry_item *item = &a->inquiry->items[i];
			*ret = json_get(q->inputs, item->key);
			*ret_item = i;
			if (!item->settled && *ret && check_answer(item, *ret, &e) == 0)
				return a;
		}
	}
	return NULL;
}

/* Once the inquiries of this turn of the loop are here: what was given is used, the rest asked. */
static void
round_run(void *arg)
{
	struct mcp_request *q = arg;
	struct json_doc *doc = q->again ? q->again : q->doc;
	const struct json *answer;
	struct mcp_ask *a;
	bool used = false;
	size_t i;

	while (q->inputs && (a = find_given(q, &i, &answer))) {
		used = true;
		ask_answer(a, i, doc, answer);
	}
	if (used)
		q->inputs = NULL;
	if (q->asks.len > 0 && q->channel && !q->mute)
		park(q);
}

static int
ask_modern(struct mcp_request *q, struct mcp_ask *a, struct err *e)
{
	const struct front *f = q->client->front;

	if (!q->park && f->mcp.parks.len >= LIMIT_MCP_PARKED)
		return err_set(e, E_LIMIT, "%d requests wait for their clients already",
			       LIMIT_MCP_PARKED);
	if (!q->park && park_new(q) < 0)
		return err_plain(e, E_NOMEM);
	list_push(&q->asks, &a->node);
	defer(f->gw->loop, &q->round, round_run, q);
	return 0;
}

/* ---- modern: retries ---- */

bool
mcp_is_retry(const struct mcp_message *m)
{
	static const char *const resumable[] = {"tools/call", "prompts/get", "resources/read"};

	if (m->era != ERA_MODERN)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(resumable); i++)
		if (str_is(m->rpc.method, resumable[i]))
			return json_get(m->rpc.params, S("requestState")) != NULL;
	return false;
}

/* What this retry leaves open is asked again, and only of a client that says that it can. */
static int
check_declared(const struct mcp_request *q, const struct mcp_message *m, const struct json *inputs,
	       struct mcp_fault *f)
{
	unsigned can = mcp_can(json_get(m->rpc.meta, S(META_CAPABILITIES))), needs = 0;

	LIST_EACH (&q->asks, at) {
		const struct mcp_ask *a = CONTAINER_OF(at, struct mcp_ask, node);

		for (size_t i = 0; i < a->inquiry->count; i++) {
			const struct inquiry_item *item = &a->inquiry->items[i];
			bool answered = a->shown && json_get(inputs, item->key);
			if (!item->settled && !answered)
				needs |= mcp_needs(item->method, item->params);
		}
	}
	if (!(needs & ~can))
		return 0;
	int code = MCP_FAULT(f, RPC_CAPABILITY, 400,
			     "this request does not declare what is still asked of it");
	f->needs = needs & ~can;
	return code;
}

/* Before anything is used: one wrong answer, and the client can try again with the same state. */
static int
check_inputs(const struct mcp_request *q, struct mcp_channel *ch, const struct json *inputs,
	     struct mcp_fault *f)
{
	struct err e;

	if (inputs && !json_is(inputs, JSON_OBJECT))
		return MCP_FAULT(f, RPC_PARAMS, 200, "inputResponses: must be an object");
	LIST_EACH (&q->asks, at) {
		const struct mcp_ask *a = CONTAINER_OF(at, struct mcp_ask, node);

		for (size_t i = 0; a->shown && i < a->inquiry->count; i++) {
			const struct inquiry_item *item = &a->inquiry->items[i];
			const struct json *given = json_get(inputs, item->key);
			if (!given || item->settled)
				continue;
			if (!a->inquiry->from.ptr && ch->ops->from_tool(ch))
				return MCP_FAULT(f, RPC_INVALID, 403,
						 "a tool call cannot answer questions");
			if (check_answer(item, given, &e) < 0)
				return MCP_FAULT(f, RPC_PARAMS, 200, "inputResponses.%.*s: %s",
						 STR_ARG(str_utf8_upto(item->key, 100)),
						 err_text(&e));
		}
	}
	return 0;
}

static int
find_parked(struct mcp_client *c, const struct mcp_message *m, struct mcp_request **ret,
	    struct mcp_fault *f)
{
	struct str state = json_str(json_get(m->rpc.params, S("requestState")));
	const struct json *level = json_get(m->rpc.meta, S(META_LOG_LEVEL));
	struct mcp_park *p = state.ptr ? park_of(c->front, state) : NULL;
	char digest[DIGEST_TEXT];

	if (level && mcp_log_level(json_str(level)) < 0)
		return MCP_FAULT(f, RPC_PARAMS, 200, "params._meta: \"%s\" is no level",
				 META_LOG_LEVEL);
	if (!p || p->request->mute || p->request->client != c || p->expires_us <= clock_wall_us())
		return MCP_FAULT(f, RPC_PARAMS, 200,
				 "requestState: is not valid here, or not any more");
	if (digest_of(&m->rpc, digest) < 0)
		return MCP_FAULT(f, RPC_INTERNAL, 200, "out of memory");
	if (strcmp(digest, p->digest) != 0)
		return MCP_FAULT(f, RPC_PARAMS, 200,
				 "requestState: belongs to a request with other parameters");
	*ret = p->request;
	return 0;
}

/* It ended while nobody was there: the answer waits already. */
static void
answer_late(struct mcp_request *q)
{
	struct mcp_park *p = q->park;
	struct mcp_channel *ch = q->channel;
	struct buf b = BUF_INIT(2 * LIMIT_LINE_BYTES);

	(void)rpc_answer(&b, q->rpc.id, "");
	b.len -= sizeof(",\"\":") - 1;
	if (p->late.len == 0 || buf_failed(&p->late)) {
		buf_done(&b);
		rpc_write_error(&b, q->rpc.id, RPC_INTERNAL, S("the answer was lost"),
				(struct str){NULL, 0});
	} else {
		buf_add(&b, buf_str(&p->late));
	}
	q->channel = NULL;
	ch->request = NULL;
	ch->ops->answer(ch, p->status, &b);
	mcp_drop(q);
}

int
mcp_retry(struct mcp_client *c, struct mcp_channel *ch, const struct mcp_message *m,
	  struct mcp_fault *f)
{
	const struct json *inputs = json_get(m->rpc.params, S("inputResponses"));
	struct mcp_request *q;
	int code = find_parked(c, m, &q, f);

	if (code < 0 || (code = check_inputs(q, ch, inputs, f)) < 0 ||
	    (code = check_declared(q, m, inputs, f)) < 0)
		return code;
	timer_stop(c->front->gw->loop, &q->park->timer);
	q->park->round++; /* this state is used up */
	mcp_rebind(q, ch, m);
	if (q->park->over) {
		answer_late(q);
		return 0;
	}
	q->inputs = inputs;
	q->inputs_asked_for = true;
	defer(c->front->gw->loop, &q->round, round_run, q);
	return 0;
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
	code = (q->era == ERA_MODERN ? ask_modern : ask_legacy)(q, a, e);
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
		ask_refuse_all(a, &e);
	defer_cancel(&q->round);
	if (q->park)
		park_free(q->park);
	q->park = NULL;
}
