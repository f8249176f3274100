/*
 * plea.c - what an upstream asks while it works for us: a form, a model, the roots.
 *
 * Legacy servers send a request and wait for its answer; modern ones end the request with
 * input_required and want it again with the answers. Either becomes an inquiry to whoever stands
 * behind the exchange. Over stdio a legacy server does not say for which of its requests it asks:
 * when those under way belong to different clients, it gets an error, also when only one of these
 * could be asked. A person must not answer for another.
 *
 * A legacy server may also end a request with an error that sends a person to an address first
 * (-32042). Its own era knows that; a modern client is asked as by a modern server.
 */

#include "upstream/inside.h"

#include <stdlib.h>

/* ---- one ---- */

static struct plea *
plea_new(struct exchange *x, struct json_doc *doc, size_t count, void (*settled)(struct inquiry *))
{
	struct plea *p = calloc(1, sizeof(*p) + count * sizeof(p->items[0]));

	if (!p)
		return NULL;
	p->x = x;
	p->doc = json_doc_ref(doc);
	p->inquiry = (struct inquiry){
	    .items = p->items,
	    .count = count,
	    .settled = settled,
	    .owner = p,
	    .from = x->u->spec.name,
	};
	return p;
}

static void
plea_freed(void *arg)
{
	struct plea *p = arg;

	json_doc_unref(p->doc);
	free(p);
}

/* Whoever settles it may still look at it. */
void
plea__free(struct plea *p)
{
	if (!p)
		return;
	list_remove(&p->node);
	inquiry_withdraw(&p->inquiry);
	defer(p->x->u->set->loop, &p->gone, plea_freed, p);
	p->x = NULL;
}

void
plea__end(struct exchange *x)
{
	while (x->pleas.len > 0)
		plea__free(CONTAINER_OF(list_first(&x->pleas), struct plea, node));
}

static int
plea_ask(struct plea *p, struct err *e)
{
	struct exchange *x = p->x;
	int rc = behind_ask(x->spec.behind, &p->inquiry, e);

	if (rc < 0)
		return rc;
	list_push(&x->pleas, &p->node);
	exchange__asking(x);
	return 0;
}

/* ---- legacy ---- */

static void
item_write(struct jw *w, void *arg)
{
	const struct inquiry_item *item = arg;

	if (item->answer)
		jw_value(w, item->answer);
	else
		jw_raw(w, S("{\"action\":\"cancel\"}"));
}

static void
legacy_settled(struct inquiry *q)
{
	struct plea *p = q->owner;
	struct exchange *x = p->x;
	struct inquiry_item *item = &p->items[0];

	if (item->answer || str_is(item->method, "elicitation/create"))
		wire__answer(x->u, p->id, item_write, item);
	else
		wire__refuse(x->u, p->id, RPC_INTERNAL, err_text(&item->err));
	plea__free(p);
	exchange__answered(x);
}

static void
roots_write(struct jw *w, void *arg)
{
	const struct upstream *u = arg;

	jw_object(w);
	jw_key(w, "roots"), jw_array(w);
	for (const char *const *r = u->spec.roots; r && *r; r++) {
		struct buf uri = BUF_INIT(LIMIT_PATH * 4);
		buf_addz(&uri, "file://");
		for (const char *c = *r; *c; c++) {
			if (strchr("-._~/", *c) || (*c >= '0' && *c <= '9') ||
			    (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z'))
				buf_addc(&uri, *c);
			else
				buf_addf(&uri, "%%%02X", (unsigned char)*c);
		}
		jw_object(w);
		jw_member(w, "uri", buf_str(&uri));
		jw_end(w);
		buf_done(&uri);
	}
	jw_end(w);
	jw_end(w);
}

/* There is nobody to ask. */
static void
legacy_alone(struct upstream *u, const struct rpc *r)
{
	if (str_is(r->method, "roots/list"))
		wire__answer(u, r->id, roots_write, u);
	else
		wire__refuse(u, r->id, RPC_NO_METHOD, "there is no client that could be asked");
}

struct choice {
	struct exchange *x;    /* the newest that can be asked */
	struct exchange *last; /* that was looked at */
	bool unclear;
};

static void
choose(struct choice *c, const struct list *l, unsigned needs)
{
	LIST_EACH (l, n) {
		struct exchange *x = exchange__of(n);
		c->unclear |= c->last && !str_eq(c->last->spec.group, x->spec.group);
		c->last = x;
		if (needs & ~behind_can(x->spec.behind))
			continue;
		if (!c->x || x->ask.id > c->x->ask.id)
			c->x = x;
	}
}

static void
legacy_ask(struct exchange *x, struct json_doc *doc, const struct rpc *r)
{
	bool fits = x->pleas.len < LIMIT_UPSTREAM_INQUIRIES && x->rounds < LIMIT_UPSTREAM_QUESTIONS;
	struct plea *p = fits ? plea_new(x, doc, 1, legacy_settled) : NULL;
	struct err e;

	if (!p) {
		wire__refuse(x->u, r->id, RPC_INTERNAL, "too much is asked in one request");
		return;
	}
	x->rounds++;
	p->id = r->id;
	p->items[0] =
	    (struct inquiry_item){.key = S("0"), .method = r->method, .params = r->params};
	if (plea_ask(p, &e) < 0) {
		wire__refuse(x->u, r->id, RPC_INTERNAL, err_text(&e));
		plea__free(p);
	}
}

void
plea__legacy(struct upstream *u, struct exchange *x, bool any, struct json_doc *doc,
	     const struct rpc *r)
{
	unsigned needs = mcp_needs(r->method, r->params);
	struct choice c = {0};

	if (needs == 0) {
		wire__refuse(u, r->id, RPC_NO_METHOD, "there is no such method here");
		return;
	}
	if (x && !(needs & ~behind_can(x->spec.behind))) {
		c.x = x;
	} else if (!x && any) {
		choose(&c, &u->flying, needs);
		choose(&c, &u->asking, needs);
	}
	if (c.x && c.unclear)
		wire__refuse(u, r->id, RPC_INTERNAL,
			     "it is not clear whose request this belongs to: several clients use "
			     "this server now");
	else if (c.x)
		legacy_ask(c.x, doc, r);
	else
		legacy_alone(u, r);
}

void
plea__forget(struct upstream *u, const struct json *id)
{
	LIST_EACH (&u->asking, n) {
		struct exchange *x = exchange__of(n);
		LIST_EACH (&x->pleas, m) {
			struct plea *p = CONTAINER_OF(m, struct plea, node);
			if (!p->id || !id || !json_equal(p->id, id))
				continue;
			plea__free(p);
			exchange__answered(x);
			return;
		}
	}
}

/* ---- modern ---- */

/* An elicitation nobody could be shown is one that was cancelled; the others have no such word. */
static const struct inquiry_item *
item_refused(const struct plea *p)
{
	for (size_t i = 0; i < p->inquiry.count; i++)
		if (!p->items[i].answer && !str_is(p->items[i].method, "elicitation/create"))
			return &p->items[i];
	return NULL;
}

static void
modern_settled(struct inquiry *q)
{
	struct plea *p = q->owner;
	struct exchange *x = p->x;
	const struct inquiry_item *refused = item_refused(p);

	list_remove(&p->node);
	if (refused) {
		exchange__fail_soon(x, refused->err.code ? refused->err.code : E_UNAVAILABLE,
				    err_text(&refused->err));
		plea__free(p);
		return;
	}
	x->answers = p;
	exchange__answered(x);
	exchange__send(x);
}

void
plea__write_responses(struct jw *w, const struct plea *p)
{
	jw_object(w);
	for (size_t i = 0; i < p->inquiry.count; i++) {
		jw_key_str(w, p->items[i].key);
		item_write(w, (void *)&p->items[i]);
	}
	jw_end(w);
}

static int
item_read(struct inquiry_item *item, struct str key, const struct json *v, struct err *e)
{
	const struct json *params = json_get(v, S("params"));

	*item = (struct inquiry_item){.key = key,
				      .method = json_str(json_get(v, S("method"))),
				      .params = params};
	if (!item->method.ptr || (params && !json_is(params, JSON_OBJECT)) ||
	    mcp_needs(item->method, params) == 0)
		return err_set(e, E_EXECUTION,
			       "the server asks something that cannot be understood");
	return 0;
}

static int
modern_ask(struct exchange *x, struct json_doc *doc, const struct json *requests, struct err *e)
{
	size_t count = json_len(requests), i = 0;
	struct plea *p = plea_new(x, doc, count, modern_settled);
	int rc = p ? 0 : err_plain(e, E_NOMEM);

	for (struct json_iter it = json_iter(requests); rc == 0 && json_next(&it); i++)
		rc = item_read(&p->items[i], it.key, it.value, e);
	if (rc == 0)
		rc = plea_ask(p, e);
	if (rc < 0)
		plea__free(p);
	return rc;
}

static bool
may_ask(struct str method)
{
	return str_is(method, "tools/call") || str_is(method, "prompts/get") ||
	       str_is(method, "resources/read");
}

int
plea__modern(struct exchange *x, struct json_doc *doc, const struct json *result, struct err *e)
{
	const struct json *requests = json_get(result, S("inputRequests"));
	const struct json *state = json_get(result, S("requestState"));
	size_t count = json_len(requests);

	if (!may_ask(x->spec.method) || (requests && !json_is(requests, JSON_OBJECT)) ||
	    (state && !json_is(state, JSON_STRING)) || (count == 0 && !state))
		return err_set(e, E_EXECUTION,
			       "the server asks for input where or how it must not");
	if (count > LIMIT_UPSTREAM_INQUIRIES || ++x->rounds > LIMIT_UPSTREAM_ROUNDS)
		return err_set(e, E_LIMIT, "the server asks too much");
	x->state = state;
	x->state_doc = state ? json_doc_ref(doc) : NULL;
	if (count > 0)
		return modern_ask(x, doc, requests, e);
	exchange__send(x); /* "retry immediately" */
	return 0;
}

/* ---- legacy: an error that sends a person elsewhere first (-32042) ---- */

static bool
is_accepted(const struct inquiry_item *item)
{
	return str_is(json_str(json_get(item->answer, S("action"))), "accept");
}

static void
elsewhere_settled(struct inquiry *q)
{
	struct plea *p = q->owner;
	struct exchange *x = p->x;
	bool accepted = true;

	for (size_t i = 0; i < q->count; i++)
		accepted &= is_accepted(&p->items[i]);
	plea__free(p);
	exchange__answered(x);
	if (accepted)
		exchange__send(x);
	else
		exchange__fail_soon(x, E_EXECUTION,
				    "the server wants somebody to go to an address first, and "
				    "nobody did");
}

static bool
elsewhere_read(struct plea *p, const struct json *list)
{
	static const char *const keys[LIMIT_UPSTREAM_INQUIRIES] = {"0",  "1",  "2",  "3",
								   "4",  "5",  "6",  "7",
								   "8",  "9",  "10", "11",
								   "12", "13", "14", "15"};
	size_t i = 0;

	for (struct json_iter it = json_iter(list); json_next(&it); i++) {
		p->items[i] = (struct inquiry_item){.key = str_of(keys[i]),
						    .method = S("elicitation/create"),
						    .params = it.value};
		if (mcp_needs(p->items[i].method, it.value) != CAN_ELICIT_URL ||
		    !json_str(json_get(it.value, S("url"))).len ||
		    !json_str(json_get(it.value, S("message"))).ptr)
			return false;
	}
	return true;
}

bool
plea__elsewhere(struct exchange *x, struct json_doc *doc, const struct json *error)
{
	const struct json *list = json_get(json_get(error, S("data")), S("elicitations"));
	size_t count = json_is(list, JSON_ARRAY) ? json_len(list) : 0;
	const struct behind *b = x->spec.behind;
	struct err e;

	/* Legacy clients know this error. */
	if (!b || b->revision < MCP_2026_07_28 || x->u->era != ERA_LEGACY ||
	    !may_ask(x->spec.method) || count == 0 || count > LIMIT_UPSTREAM_INQUIRIES ||
	    x->rounds >= LIMIT_UPSTREAM_ROUNDS)
		return false;
	struct plea *p = plea_new(x, doc, count, elsewhere_settled);
	if (!p)
		return false;
	if (!elsewhere_read(p, list) || plea_ask(p, &e) < 0) {
		plea__free(p);
		return false;
	}
	x->rounds++;
	return true;
}
