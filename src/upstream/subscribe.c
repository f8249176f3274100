/*
 * subscribe.c - what an upstream tells by itself: changed lists, resources somebody listens to,
 * and how much it is to say.
 *
 * Legacy servers are told resource by resource. Modern ones have one stream for all of it
 * (subscriptions/listen), which is opened anew when the wishes change or it ends.
 */

#include "upstream/inside.h"

#include <stdlib.h>

#define RELISTEN_MS 1000
#define RELISTEN_MAX_MS 60000

/* ---- errands: requests whose answers nobody reads ---- */

static void
errand_over(struct ask *a, const struct reply *r)
{
	if (r->error)
		upstream__complain(a->u, "a server refuses what it says it can do", NULL);
	free(a);
}

static void
errand(struct upstream *u, struct str method, void (*params)(struct jw *, void *), void *arg)
{
	struct ask *a = calloc(1, sizeof(*a));
	struct ask_spec s = {.method = method,
			     .params = params,
			     .arg = arg,
			     .era = u->era,
			     .timeout_ms = u->spec.timeout_ms};
	struct err e;

	if (!a)
		return;
	a->answer = errand_over;
	if (ask__send(u, a, &s, &e) < 0)
		free(a);
}

/* ---- the level of messages ---- */

static void
level_write(struct jw *w, void *arg)
{
	jw_member_z(w, "level", wire__level(*(int *)arg));
}

static void
level_tell(struct upstream *u, int level)
{
	if (!wire__level(level) || level == u->log_level_told || u->era != ERA_LEGACY ||
	    u->phase != PHASE_READY || !upstream__has(u, "logging", NULL))
		return;
	u->log_level_told = level;
	errand(u, S("logging/setLevel"), level_write, &level);
}

/* Legacy servers have one level for all: the lowest that anybody wants. Whoever wants less does
 * not get it from us. */
void
upstream__tell_level(struct upstream *u, const struct behind *b)
{
	if (b && b->log_level < u->log_level_told)
		level_tell(u, b->log_level);
}

void
upstream_log_level(struct upstream *u, int level)
{
	u->log_level = level;
	level_tell(u, level);
}

/* ---- the modern stream ---- */

static void
listen_write(struct jw *w, void *arg)
{
	struct upstream *u = arg;
	static const char *const kinds[][2] = {{"tools", "toolsListChanged"},
					       {"prompts", "promptsListChanged"},
					       {"resources", "resourcesListChanged"}};

	jw_key(w, "notifications"), jw_object(w);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (upstream__has(u, kinds[i][0], "listChanged"))
			jw_member_bool(w, kinds[i][1], true);
	if (u->subscriptions.len > 0 && upstream__has(u, "resources", "subscribe")) {
		jw_key(w, "resourceSubscriptions"), jw_array(w);
		LIST_EACH (&u->subscriptions, n)
			jw_str(w, buf_str(&CONTAINER_OF(n, struct subscription, node)->uri));
		jw_end(w);
	}
	jw_end(w);
}

static bool
listen_wanted(const struct upstream *u)
{
	return upstream__has(u, "tools", "listChanged") ||
	       upstream__has(u, "prompts", "listChanged") ||
	       upstream__has(u, "resources", "listChanged") ||
	       (u->subscriptions.len > 0 && upstream__has(u, "resources", "subscribe"));
}

static void listen_open(void *arg);

static void
listen_later(struct upstream *u)
{
	struct loop *l = u->set->loop;
	uint64_t delay = RELISTEN_MS;

	if (u->listened && loop_now_ms(l) - u->listen_at > RELISTEN_MAX_MS)
		u->listen_fails = 0;
	for (unsigned i = 0; i < u->listen_fails && delay < RELISTEN_MAX_MS; i++)
		delay *= 2;
	u->listen_fails++;
	(void)timer_start(l, &u->relisten, delay < RELISTEN_MAX_MS ? delay : RELISTEN_MAX_MS,
			  listen_open, u);
}

/* It has ended, well or not. What has changed meanwhile nobody will tell: read anew. */
static void
listen_over(struct ask *a, const struct reply *r)
{
	struct upstream *u = CONTAINER_OF(a, struct upstream, listen);

	if (r->error && rpc_error_code(r->error) == RPC_NO_METHOD)
		return;
	u->listen_stale = true;
	if (u->phase == PHASE_READY)
		listen_later(u);
}

static void
listen_open(void *arg)
{
	struct upstream *u = arg;
	struct ask_spec s = {.method = S("subscriptions/listen"),
			     .params = listen_write,
			     .arg = u,
			     .listens = true,
			     .era = ERA_MODERN};
	struct err e;

	if (u->phase != PHASE_READY || u->listen.id || !listen_wanted(u))
		return;
	u->listen.answer = listen_over;
	u->listened = false;
	if (ask__send(u, &u->listen, &s, &e) < 0)
		listen_later(u);
}

void
subscriptions__acknowledged(struct upstream *u)
{
	if (!u->listen.id || u->listened)
		return;
	u->listened = true;
	u->listen_at = loop_now_ms(u->set->loop);
	for (int i = 0; u->listen_stale && i < LIST__COUNT; i++)
		listing__changed(&u->listings[i]);
	u->listen_stale = false;
}

/* The wishes have changed. */
static void
listen_anew(void *arg)
{
	struct upstream *u = arg;

	if (u->phase != PHASE_READY || u->era != ERA_MODERN)
		return;
	ask__cancel(&u->listen, "renewed");
	timer_stop(u->set->loop, &u->relisten);
	listen_open(u);
}

/* ---- resources ---- */

static struct subscription *
find(const struct upstream *u, struct str uri)
{
	LIST_EACH (&u->subscriptions, n) {
		struct subscription *s = CONTAINER_OF(n, struct subscription, node);
		if (str_eq(buf_str(&s->uri), uri))
			return s;
	}
	return NULL;
}

bool
subscriptions__has(const struct upstream *u, struct str uri)
{
	return find(u, uri) != NULL;
}

static void
uri_write(struct jw *w, void *arg)
{
	jw_member(w, "uri", buf_str(&((struct subscription *)arg)->uri));
}

static void
tell(struct upstream *u, struct subscription *s, bool on)
{
	if (u->phase != PHASE_READY || !upstream__has(u, "resources", "subscribe"))
		return;
	if (u->era == ERA_MODERN)
		defer(u->set->loop, &u->resubscribe, listen_anew, u);
	else
		errand(u, on ? S("resources/subscribe") : S("resources/unsubscribe"), uri_write, s);
}

static void
subscription_free(struct subscription *s)
{
	list_remove(&s->node);
	buf_done(&s->uri);
	free(s);
}

static int
subscription_new(struct upstream *u, struct str uri, struct subscription **ret, struct err *e)
{
	if (uri.len == 0 || uri.len > LIMIT_HTTP_FIELD)
		return err_set(e, E_VALIDATION, "the URI is empty or too long");
	if (u->subscriptions.len >= LIMIT_UPSTREAM_SUBSCRIPTIONS)
		return err_set(e, E_LIMIT, "too many resources of this server are listened to");
	struct subscription *s = calloc(1, sizeof(*s));
	if (!s)
		return err_plain(e, E_NOMEM);
	s->uri = BUF_INIT(LIMIT_HTTP_FIELD);
	buf_add(&s->uri, uri);
	if (buf_failed(&s->uri)) {
		free(s);
		return err_plain(e, E_NOMEM);
	}
	list_push(&u->subscriptions, &s->node);
	*ret = s;
	return 0;
}

int
upstream_subscribe(struct upstream *u, struct str uri, bool on, struct err *e)
{
	struct subscription *s = find(u, uri);
	int rc = 0;

	if (!u->set || u->set->stopping)
		return err_plain(e, E_STOPPING);
	if (on && s) {
		s->users++;
	} else if (on) {
		if ((rc = subscription_new(u, uri, &s, e)) < 0)
			return rc;
		s->users = 1;
		tell(u, s, true);
		upstream__need(u);
	} else if (s && --s->users == 0) {
		tell(u, s, false);
		subscription_free(s);
		upstream__busy(u);
	}
	return 0;
}

void
subscriptions__inherit(struct upstream *u, struct upstream *from)
{
	while (from->subscriptions.len > 0) {
		struct node *n = list_first(&from->subscriptions);

		list_remove(n);
		list_push(&u->subscriptions, n);
	}
	u->log_level = from->log_level;
}

void
subscriptions__begin(struct upstream *u)
{
	u->log_level_told = MCP_LOG_NONE;
	level_tell(u, u->log_level);
	if (u->era == ERA_MODERN) {
		if (!u->listen.id)
			listen_open(u);
		return;
	}
	LIST_EACH (&u->subscriptions, n)
		tell(u, CONTAINER_OF(n, struct subscription, node), true);
}

void
subscriptions__end(struct upstream *u)
{
	ask__forget(&u->listen);
	timer_stop(u->set->loop, &u->relisten);
	defer_cancel(&u->resubscribe);
	u->listen_stale = u->listened = false;
	u->listen_fails = 0;
}

void
subscriptions__done(struct upstream *u)
{
	while (u->subscriptions.len > 0)
		subscription_free(
		    CONTAINER_OF(list_first(&u->subscriptions), struct subscription, node));
}
