/*
 * mcp_park.c - modern clients are asked by the answer to their request: `input_required`. The
 * request is parked; a retry with the answers and our requestState takes it up again.
 *
 * requestState is "v1.PAYLOAD.MAC", both base64url. The payload names the park, its round, its end
 * and the digest of what was asked for; it is good for one retry. What a client could forge decides
 * nothing: everything in it is compared with what we know.
 */

#include <stdlib.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "front/mcp_ask.h"
#include "json/canon.h"

#define STATE_PREFIX "v1."
#define PARK_ID 16

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

static struct loop *
loop_of(const struct mcp_request *q)
{
	return q->client->front->gw->loop;
}

void
mcp_park_init(struct front *f)
{
	random_bytes(f->mcp.key, sizeof(f->mcp.key));
}

/* ---- the state a client carries ---- */

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

/* ---- parks ---- */

void
mcp_park_free(struct mcp_park *p)
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

/* ---- rounds ---- */

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
	mcp_ask_write_params(w, q, inq, item, (struct str){NULL, 0});
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
			mcp_ask_refuse_all(CONTAINER_OF(n, struct mcp_ask, node), &e);
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
			if (!item->settled && *ret && mcp_ask_check_answer(item, *ret, &e) == 0)
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
		mcp_ask_answer(a, i, doc, answer);
	}
	if (used)
		q->inputs = NULL;
	if (q->asks.len > 0 && q->channel && !q->mute)
		park(q);
}

int
mcp_ask_modern(struct mcp_request *q, struct mcp_ask *a, struct err *e)
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

/* ---- retries ---- */

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
			if (mcp_ask_check_answer(item, given, &e) < 0)
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
