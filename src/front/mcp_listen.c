/*
 * mcp_listen.c - what clients hear without having asked at that moment.
 *
 *	legacy   list_changed to all, once they listen; updates of resources and messages to those
 *	         who said so before
 *	modern   subscriptions/listen: a request that stays open, and hears what it asked for
 *	         (mcp.md 2.7)
 *
 * Lists may change many times in a turn of the loop, or while nobody listens; each client is told
 * once.
 */

#include <stdlib.h>

#include "front/mcp_offer.h"

/* One subscriptions/listen. */
struct listener {
	struct mcp_request *request;
	unsigned wants;   /* enum mcp_changed */
	unsigned changed; /* of these: still to be told */
	struct topics uris;
	struct node node; /* in front->mcp.listeners */
};

static const struct str anybody = {NULL, 0};

static const struct change {
	unsigned bit;
	const char *filter; /* of subscriptions/listen */
	const char *method;
} changes[] = {
    {CHANGED_TOOLS, "toolsListChanged", "notifications/tools/list_changed"},
    {CHANGED_PROMPTS, "promptsListChanged", "notifications/prompts/list_changed"},
    {CHANGED_RESOURCES, "resourcesListChanged", "notifications/resources/list_changed"},
};

static bool
uri_fits(struct str uri)
{
	if (uri.len == 0 || uri.len > LIMIT_MCP_URI)
		return false;
	for (size_t i = 0; i < uri.len; i++)
		if ((unsigned char)uri.ptr[i] < 0x20)
			return false;
	return true;
}

/* ---- who listens to what ---- */

static bool
surface_has(const struct mcp_client *c, const struct upstream *u)
{
	bool there =
	    c->surface.kind != SURFACE_SERVER || str_is(upstream_name(u), c->surface.server);

	return there && agent_has_server(c->session->owner, upstream_name(u));
}

static bool
hears(const struct mcp_client *c, const struct topics *uris, struct str uri,
      const struct upstream *u)
{
	return uris->list.len && topics_find(uris, upstream_name(u), uri) && surface_has(c, u);
}

static int
subscribe(struct topics *uris, struct str uri, struct upstream *u, struct err *e)
{
	if (topics_find(uris, anybody, uri))
		return 0;
	if (!mcp_server_tells(u))
		return err_set(e, E_UNAVAILABLE,
			       "the server of this resource does not tell when it changes");
	int code = topics_add(uris, upstream_name(u), uri, e);
	if (code == 0 && (code = upstream_subscribe(u, uri, true, e)) < 0)
		topics_remove(uris, topics_find(uris, anybody, uri));
	return code;
}

static void
unsubscribe(const struct front *f, struct topics *uris, struct topic *t)
{
	struct upstream *u = f->gw->upstreams ? upstream_find(f->gw->upstreams, t->server) : NULL;
	struct err e;

	if (u)
		(void)upstream_subscribe(u, t->name, false, &e); /* then it tells us in vain */
	topics_remove(uris, t);
}

/* The whole set is given up. */
static void
unsubscribe_all(const struct front *f, struct topics *uris)
{
	LIST_EACH (&uris->list, at)
		unsubscribe(f, uris, topic_of(at));
}

/* What went with its server can be subscribed to again when that is back. */
static void
forget_topics_of(struct topics *uris, struct str server)
{
	LIST_EACH (&uris->list, at)
		if (str_eq(topic_of(at)->server, server))
			topics_remove(uris, topic_of(at));
}

/* ---- notes ---- */

static void
write_subscription(struct jw *w, const struct listener *l)
{
	jw_key(w, "_meta");
	jw_object(w);
	jw_key(w, META_SUBSCRIPTION);
	jw_value(w, l->request->rpc.id);
	jw_end(w);
}

/* What does not get through is not repeated: the client sees it with the next list. */
static void
listener_send(const struct listener *l, struct buf *text, struct jw *w)
{
	struct mcp_channel *ch = l->request->channel;

	jw_end(w);
	jw_end(w);
	if (ch && !buf_failed(text))
		ch->ops->note(ch, buf_str(text));
	buf_done(text);
}

static void
listener_tell(struct listener *l)
{
	unsigned changed = l->changed & l->wants;

	l->changed = 0;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct buf text = BUF_INIT(LIMIT_LINE_BYTES);

		if (!(changed & changes[i].bit))
			continue;
		struct jw w = rpc_note(&text, changes[i].method);
		write_subscription(&w, l);
		listener_send(l, &text, &w);
	}
}

static bool
client_tell(struct mcp_client *c, const struct change *what)
{
	struct buf text = BUF_INIT(LIMIT_PROBLEM_BYTES);

	buf_addf(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}", what->method);
	bool told = !buf_failed(&text) && c->tell(c, buf_str(&text));
	buf_done(&text);
	return told;
}

void
mcp_tell_changes(struct mcp_client *c)
{
	if (!c->tell || !c->hello || c->gone) {
		c->changed = 0; /* it has no list that could be old */
		return;
	}
	if (c->listens && !c->listens(c))
		return;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++)
		if ((c->changed & changes[i].bit) && client_tell(c, &changes[i]))
			c->changed &= ~changes[i].bit;
}

static void
tell_all(void *arg)
{
	struct front *f = arg;

	LIST_EACH (&f->mcp.clients, at)
		mcp_tell_changes(CONTAINER_OF(at, struct mcp_client, node));
	LIST_EACH (&f->mcp.listeners, at)
		listener_tell(CONTAINER_OF(at, struct listener, node));
}

static unsigned
seen_by(const struct mcp_client *c, unsigned what)
{
	return mcp_seen_on(c->surface.kind, what);
}

static void
mark(struct front *f, unsigned what, const struct upstream *u)
{
	LIST_EACH (&f->mcp.clients, at) {
		struct mcp_client *c = CONTAINER_OF(at, struct mcp_client, node);
		if (!u || surface_has(c, u))
			c->changed |= seen_by(c, what);
	}
	LIST_EACH (&f->mcp.listeners, at) {
		struct listener *l = CONTAINER_OF(at, struct listener, node);
		if (!u || surface_has(l->request->client, u))
			l->changed |= seen_by(l->request->client, what);
	}
	defer(f->gw->loop, &f->mcp.tell, tell_all, f);
}

void
mcp_changed(struct front *f, unsigned what)
{
	mark(f, what, NULL);
}

void
mcp_changed_for(struct front *f, const struct agent *a)
{
	const unsigned what = CHANGED_TOOLS | CHANGED_PROMPTS | CHANGED_RESOURCES;

	LIST_EACH (&f->mcp.clients, at) {
		struct mcp_client *c = CONTAINER_OF(at, struct mcp_client, node);
		if (c->session->owner == a)
			c->changed |= seen_by(c, what);
	}
	LIST_EACH (&f->mcp.listeners, at) {
		struct listener *l = CONTAINER_OF(at, struct listener, node);
		if (l->request->client->session->owner == a)
			l->changed |= seen_by(l->request->client, what);
	}
	defer(f->gw->loop, &f->mcp.tell, tell_all, f);
}

/* ---- what servers say ---- */

static bool
has_any(const struct upstream *u, enum upstream_list which)
{
	return json_len(upstream_list(u, which)) > 0;
}

static void
server_gone(const struct front *f, struct str name)
{
	if (upstream_find(f->gw->upstreams, name))
		return; /* another has its name, and what was subscribed to */
	LIST_EACH (&f->mcp.clients, at) {
		struct mcp_client *c = CONTAINER_OF(at, struct mcp_client, node);
		forget_topics_of(&c->uris, name);
		forget_topics_of(&c->errands, name);
	}
	LIST_EACH (&f->mcp.listeners, at)
		forget_topics_of(&CONTAINER_OF(at, struct listener, node)->uris, name);
}

static void
news(struct upstream *u, unsigned what, void *arg)
{
	unsigned changed = 0;

	if (what & NEWS_GONE)
		server_gone(arg, upstream_name(u));
	/* Of tools we hear when the catalog has them. With a server goes what it had. */
	if (what & NEWS_PROMPTS || (what & NEWS_GONE && has_any(u, LIST_PROMPTS)))
		changed |= CHANGED_PROMPTS;
	if (what & NEWS_RESOURCES ||
	    (what & NEWS_GONE && (has_any(u, LIST_RESOURCES) || has_any(u, LIST_TEMPLATES))))
		changed |= CHANGED_RESOURCES;
	if (changed)
		mark(arg, changed, u);
}

static void
client_hear_update(struct mcp_client *c, struct str uri)
{
	struct buf text = BUF_INIT(LIMIT_PROBLEM_BYTES + 6 * LIMIT_MCP_URI);
	struct jw w = rpc_note(&text, "notifications/resources/updated");

	jw_member(&w, "uri", uri);
	jw_end(&w);
	jw_end(&w);
	if (!buf_failed(&text))
		c->tell(c, buf_str(&text));
	buf_done(&text);
}

static void
listener_hear_update(const struct listener *l, struct str uri)
{
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES);
	struct jw w = rpc_note(&text, "notifications/resources/updated");

	jw_member(&w, "uri", uri);
	write_subscription(&w, l);
	listener_send(l, &text, &w);
}

static void
updated(struct upstream *u, struct str uri, void *arg)
{
	struct front *f = arg;

	if (!uri_fits(uri))
		return;
	LIST_EACH (&f->mcp.clients, at) {
		struct mcp_client *c = CONTAINER_OF(at, struct mcp_client, node);
		if (c->tell && !c->gone && hears(c, &c->uris, uri, u))
			client_hear_update(c, uri);
	}
	LIST_EACH (&f->mcp.listeners, at) {
		const struct listener *l = CONTAINER_OF(at, struct listener, node);
		if (hears(l->request->client, &l->uris, uri, u))
			listener_hear_update(l, uri);
	}
}

static void
completed(struct upstream *u, struct str elicitation, void *arg)
{
	struct front *f = arg;

	LIST_EACH (&f->mcp.clients, at) {
		struct mcp_client *c = CONTAINER_OF(at, struct mcp_client, node);
		if (!c->gone)
			mcp_errand_done(c, upstream_name(u), elicitation);
	}
}

/* Messages that belong to no request are for legacy clients; the modern era has none. */
static void
message(struct upstream *u, const struct json *params, void *arg)
{
	struct front *f = arg;
	int level = mcp_log_level(json_str(json_get(params, S("level"))));
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES);
	struct jw w = rpc_note(&text, "notifications/message");

	for (struct json_iter it = json_iter(params); json_next(&it);)
		if (!str_is(it.key, "_meta"))
			jw_key_str(&w, it.key), jw_value(&w, it.value);
	jw_end(&w);
	jw_end(&w);
	LIST_EACH (&f->mcp.clients, at) {
		struct mcp_client *c = CONTAINER_OF(at, struct mcp_client, node);
		if (c->tell && !c->gone && surface_has(c, u) && level >= c->log_level &&
		    level >= 0 && !buf_failed(&text))
			c->tell(c, buf_str(&text));
	}
	buf_done(&text);
}

void
mcp_listen_init(struct front *f)
{
	list_init(&f->mcp.listeners);
	f->mcp.watch = (struct upstream_watch){
	    .news = news, .updated = updated, .completed = completed, .message = message, .arg = f};
	f->mcp.watching = f->gw->upstreams != NULL;
	if (f->mcp.watching)
		upstreams_watch(f->gw->upstreams, &f->mcp.watch);
}

void
mcp_listen_done(struct front *f)
{
	if (f->mcp.watching)
		upstreams_unwatch(f->gw->upstreams, &f->mcp.watch);
	defer_cancel(&f->mcp.tell);
}

/* ---- subscriptions/listen ---- */

static void
listener_free(struct mcp_request *q)
{
	struct listener *l = q->own;

	list_remove(&l->node);
	unsubscribe_all(q->client->front, &l->uris);
	free(l);
}

static int
read_uris(struct listener *l, const struct json *uris, struct err *e)
{
	const struct mcp_client *c = l->request->client;

	if (uris && !json_is(uris, JSON_ARRAY))
		return err_set(e, E_VALIDATION,
			       "notifications.resourceSubscriptions: must be an array");
	for (struct json_iter it = json_iter(uris); json_next(&it);) {
		struct str uri = json_str(it.value);
		struct err why;

		if (!uri_fits(uri))
			return err_set(e, E_VALIDATION,
				       "notifications.resourceSubscriptions: must be addresses");
		/* What nobody has, or who has it does not tell, is not honoured. */
		struct upstream *u = c->front->gw->upstreams ? mcp_upstream_of_uri(c, uri) : NULL;
		if (u)
			(void)subscribe(&l->uris, uri, u, &why);
	}
	return 0;
}

static int
read_filter(struct listener *l, const struct json *filter, struct err *e)
{
	if (!json_is(filter, JSON_OBJECT))
		return err_set(e, E_VALIDATION, "notifications: must be an object");
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		const struct json *wanted = json_get(filter, str_of(changes[i].filter));
		if (wanted && !json_is(wanted, JSON_BOOL))
			return err_set(e, E_VALIDATION, "notifications.%s: must be true or false",
				       changes[i].filter);
		if (json_bool(wanted))
			l->wants |= changes[i].bit;
	}
	l->wants &= mcp_changing(l->request->client);
	return read_uris(l, json_get(filter, S("resourceSubscriptions")), e);
}

/* The first thing on the stream: what it will hear, of what it wants. */
static bool
acknowledge(const struct listener *l)
{
	struct mcp_channel *ch = l->request->channel;
	struct buf text = BUF_INIT(LIMIT_LINE_BYTES);
	struct jw w = rpc_note(&text, "notifications/subscriptions/acknowledged");

	write_subscription(&w, l);
	jw_key(&w, "notifications");
	jw_object(&w);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++)
		if (l->wants & changes[i].bit)
			jw_member_bool(&w, changes[i].filter, true);
	if (l->uris.list.len > 0) {
		jw_key(&w, "resourceSubscriptions");
		jw_array(&w);
		LIST_EACH (&l->uris.list, at)
			jw_str(&w, topic_of(at)->name);
		jw_end(&w);
	}
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	bool sent = !buf_failed(&text) && ch->ops->note(ch, buf_str(&text));
	buf_done(&text);
	return sent;
}

int
mcp_listen(struct mcp_request *q, struct err *e)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (!l)
		return err_plain(e, E_NOMEM);
	l->request = q;
	topics_init(&l->uris);
	q->own = l;
	q->own_free = listener_free;
	list_push(&q->client->front->mcp.listeners, &l->node);
	int code = read_filter(l, json_get(q->rpc.params, S("notifications")), e);
	if (code == 0 && !acknowledge(l))
		code =
		    err_set(e, E_UNAVAILABLE, "listening needs a stream: Accept text/event-stream");
	if (code == 0)
		q->cancel = mcp_drop;
	return code;
}

/* Graceful: the request gets its result. */
static void
listener_end(struct listener *l)
{
	struct mcp_request *q = l->request;
	struct buf more = BUF_INIT(LIMIT_LINE_BYTES), b;
	struct jw w = jw(&more);

	jw_object(&w);
	jw_key(&w, META_SUBSCRIPTION);
	jw_value(&w, q->rpc.id);
	jw_end(&w);
	w = mcp_begin(q, &b);
	mcp_write_meta(q, &w, NULL,
		       buf_failed(&more) ? (struct str){NULL, 0}
					 : (struct str){more.ptr + 1, more.len - 2});
	buf_done(&more);
	mcp_end(q, &w, &b);
}

void
listeners_end(struct front *f)
{
	struct node *n;

	while ((n = list_first(&f->mcp.listeners)))
		listener_end(CONTAINER_OF(n, struct listener, node));
}

/* ---- legacy ---- */

static void
answer_empty(struct mcp_request *q)
{
	struct buf b;
	struct jw w = mcp_begin(q, &b);

	mcp_end(q, &w, &b);
}

static void
fail_no_resource(struct mcp_request *q, struct str uri)
{
	struct buf data = BUF_INIT(LIMIT_PROBLEM_BYTES + 6 * LIMIT_MCP_URI);
	struct jw w = jw(&data);

	jw_object(&w);
	jw_member(&w, "uri", uri);
	jw_end(&w);
	mcp_fail(q, RPC_LEGACY_NO_RESOURCE, S("there is no such resource"), buf_str(&data));
	buf_done(&data);
}

int
mcp_resources_subscribe(struct mcp_request *q, struct err *e)
{
	struct mcp_client *c = q->client;
	struct str uri = json_str(json_get(q->rpc.params, S("uri")));

	if (!uri_fits(uri))
		return err_set(e, E_VALIDATION, "uri: must be the address of a resource");
	struct upstream *u = c->front->gw->upstreams ? mcp_upstream_of_uri(c, uri) : NULL;
	if (!u) {
		fail_no_resource(q, uri);
		return 0;
	}
	int code = subscribe(&c->uris, uri, u, e);
	if (code == 0)
		answer_empty(q);
	return code;
}

int
mcp_resources_unsubscribe(struct mcp_request *q, struct err *e)
{
	struct mcp_client *c = q->client;
	struct str uri = json_str(json_get(q->rpc.params, S("uri")));

	if (!uri_fits(uri))
		return err_set(e, E_VALIDATION, "uri: must be the address of a resource");
	struct topic *t = topics_find(&c->uris, anybody, uri);
	if (t)
		unsubscribe(c->front, &c->uris, t);
	answer_empty(q);
	return 0;
}

/* The lowest level that anybody wants of it. */
static void
set_levels(const struct front *f)
{
	const struct upstreams *us = f->gw->upstreams;

	for (size_t i = 0; us && i < upstreams_count(us); i++) {
		struct upstream *u = upstream_at(us, i);
		int level = MCP_LOG_NONE;

		LIST_EACH (&f->mcp.clients, at) {
			const struct mcp_client *c = CONTAINER_OF(at, struct mcp_client, node);
			if (!c->gone && c->log_level < level && surface_has(c, u))
				level = c->log_level;
		}
		upstream_log_level(u, level);
	}
}

int
mcp_set_level(struct mcp_request *q, struct err *e)
{
	int level = mcp_log_level(json_str(json_get(q->rpc.params, S("level"))));
	struct mcp_client *c = q->client;

	if (level < 0)
		return err_set(e, E_VALIDATION,
			       "level: must be one of debug, info, notice, "
			       "warning, error, critical, alert, emergency");
	c->log_level = level;
	LIST_EACH (&c->requests, at) {
		struct mcp_request *open = CONTAINER_OF(at, struct mcp_request, node);
		if (open->era == ERA_LEGACY)
			open->behind.log_level = level;
	}
	set_levels(c->front);
	answer_empty(q);
	return 0;
}

void
mcp_listen_forget(struct mcp_client *c)
{
	bool heard = c->log_level < MCP_LOG_NONE;

	c->log_level = MCP_LOG_NONE;
	unsubscribe_all(c->front, &c->uris);
	if (heard)
		set_levels(c->front);
}
