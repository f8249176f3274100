/*
 * upstream.c - one server: when it is started, when it is left alone, and who may use it.
 *
 *	down --needed--> ladder --era--> listing --tools--> ready
 *	 ^                  |              |                 |  idle, restart, gone from the
 *	 '---- closed ------+------- closing <---------------'  configuration
 *
 * Requests are only sent in `ready`: what a server asks while it starts never meets a client. At
 * most one child of it is alive: the next begins when the last is over.
 */

#include "upstream/inside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/ulid.h"

#define COMPLAINTS 5 /* a second, to the log */

static const char *
name_z(const struct upstream *u)
{
	return u->spec.name.ptr; /* a copy of ours, NUL-terminated */
}

static uint64_t
now_ms(const struct upstream *u)
{
	return loop_now_ms(u->set->loop);
}

static bool
is_leaving(const struct upstream *u)
{
	return u->retired || u->set->stopping;
}

static size_t
in_flight(const struct upstream *u)
{
	return u->flying.len + u->asking.len;
}

/* ---- news ---- */

static void
news_tell(void *arg)
{
	struct upstream *u = arg;
	unsigned news = u->news;
	uint64_t since = clock_mono_us();

	u->news = 0;
	LIST_EACH (&u->set->watches, n) {
		struct upstream_watch *w = CONTAINER_OF(n, struct upstream_watch, node);
		w->news(u, news, w->arg);
	}
	if (news & (NEWS_TOOLS | NEWS_PROMPTS | NEWS_RESOURCES))
		u->news_cost_us = clock_mono_us() - since;
	if (!u->news)
		known__sweep(&u->known);
	upstreams__settle(u->set);
	upstream_unref(u);
}

void
upstream__news(struct upstream *u, unsigned news)
{
	/* That it has gone was the last they heard: another has its name, or nobody. */
	if (u->retired && !u->news && !(news & NEWS_GONE)) {
		known__sweep(&u->known);
		return;
	}
	if (!u->news)
		defer(u->set->loop, &u->tell, news_tell, upstream_ref(u));
	u->news |= news;
}

static void
move(struct upstream *u, enum upstream_state to)
{
	if (u->state == to)
		return;
	u->state = to;
	upstream__news(u, NEWS_STATE);
}

void
upstream__complain(struct upstream *u, const char *text, const char *detail)
{
	if (faucet__takes(&u->complaints, u->set->loop, COMPLAINTS))
		log_line(LOG_WARN, text, "server", name_z(u), "detail", detail ? detail : "", NULL);
}

/* ---- luck ---- */

/* Half a second, doubled each time, a quarter more or less so that not all come at once. */
static uint64_t
backoff_ms(const struct upstream *u)
{
	uint64_t ms = LIMIT_UPSTREAM_BACKOFF_MS;
	uint16_t chance;

	for (unsigned i = 1; i < u->unlucky && ms < LIMIT_UPSTREAM_BACKOFF_MAX_MS; i++)
		ms *= 2;
	if (ms > LIMIT_UPSTREAM_BACKOFF_MAX_MS)
		ms = LIMIT_UPSTREAM_BACKOFF_MAX_MS;
	random_bytes(&chance, sizeof(chance));
	return ms * 3 / 4 + ms * chance / 2 / UINT16_MAX;
}

/* Nobody asks for what is not known to be there. */
static bool
looks_for_itself(const struct upstream *u)
{
	return !u->known.seen || u->subscriptions.len > 0;
}

static void retry_due(void *arg);

/* One more failure; when is it tried again? */
static void
bad_luck(struct upstream *u, const struct err *why, bool at_start)
{
	bool steady = !at_start && now_ms(u) - u->ready_at >= LIMIT_UPSTREAM_STEADY_MS;

	u->problem = *why;
	u->away &= at_start;
	u->tried_at = now_ms(u);
	u->unlucky = steady ? 1 : u->unlucky + 1;
	u->fails += at_start && !u->away;
	bool enough = u->fails >= LIMIT_UPSTREAM_FAILS;
	uint64_t delay = enough ? LIMIT_UPSTREAM_QUARANTINE_MS : backoff_ms(u);
	u->retry_at = now_ms(u) + delay;
	log_line(LOG_WARN, at_start ? "a server could not be started" : "a server went away",
		 "server", name_z(u), "why", why->text, "stderr", u->last_words, NULL);
	move(u, enough ? UPSTREAM_QUARANTINED : UPSTREAM_FAILED);
	upstream__news(u, NEWS_STATE); /* also when only its problem is another */
	if (looks_for_itself(u) || enough)
		(void)timer_start(u->set->loop, &u->retry, delay, retry_due, u);
}

/* Those that waited for this start. */
static void
waiting_fail(struct upstream *u, const struct err *why)
{
	struct err e;

	err_set(&e, E_UNAVAILABLE, "the server %s is not available: %.600s", name_z(u), why->text);
	for (size_t left = u->waiting.len; left > 0 && u->waiting.len > 0; left--)
		exchange__broke(exchange__of(list_first(&u->waiting)), &e);
}

/* ---- the start ---- */

static void
begin(void *arg)
{
	struct upstream *u = arg;
	struct link_events ev = wire__events;
	struct err e;

	if (u->phase != PHASE_DOWN || is_leaving(u) || u->spec.problem.ptr)
		return;
	timer_stop(u->set->loop, &u->retry);
	ev.arg = u;
	u->last_words[0] = '\0';
	int (*link)(struct loop *, const struct upstream_spec *, const struct link_events *,
		    struct link **, struct err *) =
	    u->spec.kind == UPSTREAM_STDIO ? link_stdio : link_http;
	u->layers = 0;
	u->spec.house = u->set->house;
	if (link(u->set->loop, &u->spec, &ev, &u->link, &e) < 0) {
		upstream_ref(u);
		bad_luck(u, &e, true);
		waiting_fail(u, &e);
		upstream_unref(u);
		return;
	}
	upstream_ref(u); /* the link's */
	u->restarts += u->was_started;
	u->was_started = true;
	u->phase = PHASE_LADDER;
	ladder__climb(u);
}

static void
retry_due(void *arg)
{
	struct upstream *u = arg;

	if (u->state == UPSTREAM_QUARANTINED) {
		u->fails = LIMIT_UPSTREAM_FAILS - 1; /* one chance */
		move(u, UPSTREAM_FAILED);
	}
	if (u->waiting.len > 0 || looks_for_itself(u))
		begin(u);
}

static void
begin_after(struct upstream *u, uint64_t wait_ms)
{
	if (u->phase != PHASE_DOWN || is_leaving(u) || u->state == UPSTREAM_QUARANTINED)
		return;
	if (wait_ms > 0)
		(void)timer_start(u->set->loop, &u->retry, wait_ms, retry_due, u);
	else
		defer(u->set->loop, &u->begin, begin, u);
}

static uint64_t
backoff_left_ms(const struct upstream *u)
{
	return u->retry_at > now_ms(u) ? u->retry_at - now_ms(u) : 0;
}

/* The same where somebody wants it: one that was not there may be by now. */
static uint64_t
wait_left_ms(const struct upstream *u)
{
	uint64_t left = backoff_left_ms(u), since = now_ms(u) - u->tried_at;
	uint64_t most = since < LIMIT_UPSTREAM_AWAY_MS ? LIMIT_UPSTREAM_AWAY_MS - since : 0;

	return u->away && left > most ? most : left;
}

void
upstream__need(struct upstream *u)
{
	begin_after(u, wait_left_ms(u));
}

void
upstream__climbed(struct upstream *u)
{
	upstream__news(u, NEWS_STATE); /* what it is may be another now */
	u->phase = PHASE_LISTING;
	listing__start(&u->listings[LIST_TOOLS]);
}

static void
ready(struct upstream *u)
{
	u->phase = PHASE_READY;
	u->fails = 0;
	u->away = false;
	u->deaf = 0;
	u->probe_cleared = u->patience_spent = false;
	u->retry_at = 0;
	u->problem = ERR_NONE;
	u->ready_at = now_ms(u);
	u->sessions++;
	u->started_us = clock_wall_us();
	timer_stop(u->set->loop, &u->retry);
	move(u, UPSTREAM_STARTED);
	upstreams__save(u);
	for (int i = LIST_PROMPTS; i < LIST__COUNT; i++)
		listing__start(&u->listings[i]);
	subscriptions__begin(u);
	upstream__busy(u);
	upstream__pump(u);
}

void
upstream__listed(struct upstream *u, enum upstream_list which)
{
	if (which != LIST_TOOLS)
		return;
	if (u->phase == PHASE_LISTING)
		ready(u);
	if (u->phase == PHASE_READY)
		exchange__relisted(u);
}

/* The era, or the session, is in question again; what flies flies on. */
void
upstream__reladder(struct upstream *u)
{
	if (u->phase != PHASE_READY)
		return;
	u->phase = PHASE_LADDER;
	u->skip_probe = u->era == ERA_LEGACY;
	ask__cancel(&u->listen, "renewed");
	subscriptions__end(u);
	ladder__climb(u);
}

/* ---- is our session still there? (legacy, http) ---- */

static bool
has_sessions(const struct upstream *u)
{
	return u->era == ERA_LEGACY && u->spec.kind == UPSTREAM_HTTP;
}

bool
upstream__lost_session(const struct upstream *u, const struct reply *r)
{
	return has_sessions(u) && r->status == 404;
}

bool
upstream__doubts_session(const struct upstream *u, const struct reply *r)
{
	return has_sessions(u) && r->status == 400;
}

static void
knocked(struct ask *a, const struct reply *r)
{
	struct upstream *u = CONTAINER_OF(a, struct upstream, knock);
	bool lost = r->status == 404 || r->status == 400;

	if (lost && u->knocked_at == u->sessions)
		upstream__reladder(u);
	exchange__knocked(u, lost);
}

bool
upstream__knock(struct upstream *u)
{
	struct ask_spec s = {.method = S("ping"),
			     .era = ERA_LEGACY,
			     .timeout_ms = LIMIT_UPSTREAM_PING_MS};
	struct err e;

	if (u->knock.id)
		return true;
	if (u->phase != PHASE_READY || !has_sessions(u))
		return false;
	u->knocked_at = u->sessions;
	u->knock.answer = knocked;
	return ask__send(u, &u->knock, &s, &e) == 0;
}

/* ---- the end ---- */

/* Requests of our own are forgotten: an answer that still comes must not go on with the start. */
static void
own_asks_end(struct upstream *u)
{
	ask__forget(&u->climb);
	ask__forget(&u->ping);
	ask__forget(&u->knock);
	subscriptions__end(u);
	for (int i = 0; i < LIST__COUNT; i++)
		listing__stop(&u->listings[i]);
}

static void
close_link(struct upstream *u)
{
	u->phase = PHASE_CLOSING;
	u->probing = false;
	own_asks_end(u);
	timer_stop(u->set->loop, &u->idle);
	u->link->ops->close(u->link);
}

void
upstream__failed(struct upstream *u, const struct err *e)
{
	struct err why = *e;

	upstream_ref(u);
	bad_luck(u, &why, true);
	close_link(u);
	waiting_fail(u, &why);
	upstream_unref(u);
}

void
upstream__close(struct upstream *u, const struct err *why)
{
	if (u->phase == PHASE_DOWN || u->phase == PHASE_CLOSING)
		return;
	if (why)
		bad_luck(u, why, false);
	else if (!is_leaving(u))
		move(u, u->known.seen ? UPSTREAM_KNOWN : UPSTREAM_CONFIGURED);
	close_link(u);
}

/* Whoever waits for an answer gets none. */
static void
asks_end(struct upstream *u, const struct err *how)
{
	struct err e;

	err_set(&e, u->set->stopping ? E_STOPPING : E_UNAVAILABLE,
		"the server %s went away while it worked: %.600s", name_z(u), how->text);
	if (how->inside[0])
		err_inside(&e, "%s", how->inside); /* its last words: for people, not for agents */
	own_asks_end(u);
	while (in_flight(u) > 0) {
		struct list *l = u->flying.len ? &u->flying : &u->asking;
		if (u->set->stopping)
			exchange__fail(exchange__of(list_first(l)), &e);
		else
			exchange__broke(exchange__of(list_first(l)), &e);
	}
	for (size_t i = 0; i < ASK_SLOTS; i++) {
		struct ask *a = u->asks[i];
		if (!a || a->x)
			continue;
		ask__forget(a);
		a->answer(a, &(struct reply){.code = e.code, .err = &e});
	}
}

void
upstream__closed(struct upstream *u, const struct err *how)
{
	enum phase was = u->phase;
	bool again = u->again;

	u->link = NULL;
	u->phase = PHASE_DOWN;
	u->again = false;
	snprintf(u->last_words, sizeof(u->last_words), "%.*s",
		 STR_ARG(str_utf8_upto(str_of(how->inside), sizeof(u->last_words) - 1)));
	timer_stop(u->set->loop, &u->idle);
	bool by_probe = was == PHASE_LADDER && ladder__lost(u);
	asks_end(u, how);
	if (is_leaving(u)) {
		upstreams__settle(u->set);
	} else if (by_probe || again) {
		defer(u->set->loop, &u->begin, begin, u);
	} else if (was == PHASE_LADDER || was == PHASE_LISTING) {
		bad_luck(u, how, true);
		waiting_fail(u, how);
	} else if (was == PHASE_READY) {
		bad_luck(u, how, false);
	} else if (u->state == UPSTREAM_FAILED && looks_for_itself(u)) {
		begin_after(u, backoff_left_ms(u)); /* its end may have taken longer than that */
	}
	upstream__pump(u);
	upstream_unref(u); /* the link's */
}

static void
idle_due(void *arg)
{
	struct upstream *u = arg;

	if (in_flight(u) + u->waiting.len + u->subscriptions.len == 0 && u->phase == PHASE_READY)
		upstream__close(u, NULL);
}

void
upstream__busy(struct upstream *u)
{
	if (u->spec.kind == UPSTREAM_STDIO && u->spec.idle_ms < UINT_MAX && u->phase == PHASE_READY)
		(void)timer_start(u->set->loop, &u->idle, u->spec.idle_ms, idle_due, u);
}

/* An answer of any kind has been heard as a word before; of HTTP a status is one, too. */
static void
ping_over(struct ask *a, const struct reply *r)
{
	struct upstream *u = CONTAINER_OF(a, struct upstream, ping);
	struct err e;

	if (r->status)
		u->deaf = 0;
	if (u->deaf < LIMIT_UPSTREAM_DEAF || u->phase != PHASE_READY)
		return;
	err_set(&e, E_UNAVAILABLE, "it has not said a word to the last %u requests", u->deaf);
	upstream__close(u, &e);
}

/* One that is slow with a tool answers this meanwhile; one that hangs does not. The modern era has
 * no ping, but a question that every server answers. */
static void
ping(struct upstream *u)
{
	struct ask_spec s = {
	    .method = u->era == ERA_MODERN ? S("server/discover") : S("ping"),
	    .era = u->era,
	    .timeout_ms = u->spec.timeout_ms < LIMIT_UPSTREAM_PING_MS ? u->spec.timeout_ms
								      : LIMIT_UPSTREAM_PING_MS,
	};
	struct err e;

	u->ping.answer = ping_over;
	(void)ask__send(u, &u->ping, &s, &e); /* or with the next that it lets down */
}

void
upstream__timed_out(struct upstream *u)
{
	u->deaf++;
	if (u->deaf >= LIMIT_UPSTREAM_DEAF && u->phase == PHASE_READY && !u->ping.id)
		ping(u);
}

/* ---- requests ---- */

int
upstream__takes(const struct upstream *u, struct err *e)
{
	if (!u->set || u->set->stopping)
		return err_plain(e, E_STOPPING);
	uint64_t wait = wait_left_ms(u);
	if (u->retired)
		return err_set(e, E_UNAVAILABLE, "the server %s is no longer configured",
			       name_z(u));
	if (u->spec.problem.ptr)
		return err_set(e, E_UNAVAILABLE, "the server %s cannot be used: %.*s", name_z(u),
			       STR_ARG(str_utf8_upto(u->spec.problem, 600)));
	if (u->state == UPSTREAM_QUARANTINED)
		err_set(e, E_UNAVAILABLE,
			"the server %s has failed too often and is left alone for %u s: %.600s",
			name_z(u), (unsigned)(wait / 1000), u->problem.text);
	else if (u->phase == PHASE_DOWN && wait > LIMIT_UPSTREAM_PATIENCE_MS)
		err_set(e, E_UNAVAILABLE,
			"the server %s is not available, and is tried again in %u s: %.600s",
			name_z(u), (unsigned)(wait / 1000), u->problem.text);
	else if (u->waiting.len >= LIMIT_UPSTREAM_WAITING)
		return err_set(e, E_LIMIT, "too many requests wait for the server %s", name_z(u));
	else
		return 0;
	if (e)
		e->retry_after_ms = (unsigned)wait;
	return E_UNAVAILABLE;
}

bool
upstream__has_place(const struct upstream *u)
{
	return u->flying.len < u->spec.concurrency && u->asked < ASK_SLOTS - 16;
}

static void
pump(void *arg)
{
	struct upstream *u = arg;

	while (u->phase == PHASE_READY && u->waiting.len > 0 && upstream__has_place(u))
		exchange__send(exchange__of(list_first(&u->waiting)));
	if (u->waiting.len > 0)
		upstream__need(u);
	if (!is_leaving(u))
		return;
	if (in_flight(u) + u->waiting.len + u->ending.len == 0)
		upstream__close(u, NULL);
	upstreams__settle(u->set);
}

void
upstream__pump(struct upstream *u)
{
	if (u->waiting.len > 0 || is_leaving(u))
		defer(u->set->loop, &u->pump, pump, u);
}

/* ---- leaving ---- */

static void
fail_list(struct list *l, int code, const char *text)
{
	while (l->len > 0)
		exchange__fail_soon(exchange__of(list_first(l)), code, text);
}

void
upstream__retire(struct upstream *u)
{
	u->retired = true;
	timer_stop(u->set->loop, &u->retry);
	fail_list(&u->waiting, E_UNAVAILABLE, "the server is no longer configured");
	upstream__news(u, NEWS_GONE);
	upstream__pump(u);
}

void
upstream__stop(struct upstream *u)
{
	const char *text = err_row(E_STOPPING)->sentence;

	timer_stop(u->set->loop, &u->retry);
	fail_list(&u->waiting, E_STOPPING, text);
	fail_list(&u->flying, E_STOPPING, text);
	fail_list(&u->asking, E_STOPPING, text);
	upstream__close(u, NULL);
	upstream__pump(u);
}

bool
upstream__is_over(const struct upstream *u)
{
	return u->phase == PHASE_DOWN && !u->news && !u->saving && !u->dirty &&
	       in_flight(u) + u->waiting.len + u->ending.len == 0;
}

void
upstream__detach(struct upstream *u)
{
	struct loop *l = u->set->loop;

	timer_stop(l, &u->retry);
	timer_stop(l, &u->idle);
	timer_stop(l, &u->save);
	timer_stop(l, &u->relisten);
	defer_cancel(&u->begin);
	defer_cancel(&u->pump);
	defer_cancel(&u->resubscribe);
	subscriptions__done(u);
	u->set = NULL;
}

/* ---- making one ---- */

static void
upstream_free(struct upstream *u)
{
	if (u->set)
		upstream__detach(u);
	CHECK(!u->link && u->asked == 0);
	known__done(&u->known);
	json_doc_unref(u->nothing);
	buf_done(&u->out);
	arena_free(u->arena);
	free(u);
}

int
upstream__new(struct upstreams *us, const struct upstream_spec *spec, struct upstream **ret,
	      struct err *e)
{
	struct upstream *u = calloc(1, sizeof(*u));
	struct list *lists[] = {&u->waiting, &u->flying, &u->asking, &u->ending, &u->subscriptions};

	if (!u)
		return err_plain(e, E_NOMEM);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_init(lists[i]);
	u->refs = 1;
	u->set = us;
	u->nothing = json_doc_ref(us->nothing);
	u->out = BUF_INIT(LIMIT_UPSTREAM_MESSAGE);
	u->log_level = u->log_level_told = MCP_LOG_NONE;
	for (int i = 0; i < LIST__COUNT; i++) {
		u->listings[i].u = u;
		u->listings[i].which = (enum upstream_list)i;
	}
	u->arena = arena_new(LIMIT_UPSTREAM_SPEC);
	int rc = u->arena ? spec__copy(u->arena, spec, &u->spec, e) : err_plain(e, E_NOMEM);
	if (rc < 0) {
		upstream_free(u);
		return rc;
	}
	spec__digest(&u->spec, u->of);
	*ret = u;
	return 0;
}

struct upstream *
upstream_ref(struct upstream *u)
{
	u->refs++;
	return u;
}

void
upstream_unref(struct upstream *u)
{
	if (u && --u->refs == 0)
		upstream_free(u);
}

/* ---- what people ask of it ---- */

void
upstream_look(struct upstream *u)
{
	bool asleep = u->state == UPSTREAM_KNOWN || (u->state == UPSTREAM_FAILED && u->away);

	if (!u->set || is_leaving(u) || u->spec.problem.ptr)
		return;
	for (int i = 0; u->phase == PHASE_READY && i < LIST__COUNT; i++)
		listing__look(&u->listings[i]);
	if (u->phase == PHASE_DOWN && u->spec.kind == UPSTREAM_HTTP && asleep)
		upstream__need(u);
}

void
upstreams_look(struct upstreams *us)
{
	for (size_t i = 0; us && i < upstreams_count(us); i++)
		upstream_look(upstream_at(us, i));
}

int
upstream_accept(struct upstream *u, struct str tool, struct err *e)
{
	int rc = known__accept(&u->known, tool, e);

	if (rc < 0 || !u->set)
		return rc;
	upstream__news(u, NEWS_TOOLS);
	upstreams__save(u);
	return 0;
}

void
upstream_restart(struct upstream *u)
{
	if (!u->set || is_leaving(u) || u->spec.problem.ptr)
		return;
	u->fails = u->unlucky = 0;
	u->retry_at = 0;
	u->skip_probe = u->probe_cleared = u->wait_probe = u->patience_spent = false;
	ladder__forget(u); /* it may have been brought up to date */
	if (u->state == UPSTREAM_QUARANTINED || u->state == UPSTREAM_FAILED)
		move(u, u->known.seen ? UPSTREAM_KNOWN : UPSTREAM_CONFIGURED);
	u->again = u->phase != PHASE_DOWN;
	upstream__close(u, NULL);
	upstream__need(u);
}
