/*
 * meter.c - how a tool, and the server it comes from, have done lately: breakers and quotas.
 *
 * A tool that nothing is said of in the configuration has none; a server always has one. They stay
 * for as long as the gateway, whatever is configured meanwhile: what was used is used.
 */

#include "base/clock.h"
#include "base/log.h"
#include "call/stage.h"

#include <stdlib.h>

struct meter {
	struct breaker breaker;
	struct quota quota;
	bool is_server;
	char name[];
};

/* NULL: no memory, or too many. */
static struct meter *
meter_get(struct map *meters, struct str name, bool is_server)
{
	struct meter *m = map_find(meters, name);

	if (m || !(m = calloc(1, sizeof(*m) + name.len + 1)))
		return m;
	m->is_server = is_server;
	memcpy(m->name, name.ptr, name.len);
	if (map_put(meters, (struct str){m->name, name.len}, m) < 0) {
		free(m);
		return NULL;
	}
	return m;
}

void
meters_done(struct map *meters)
{
	size_t at = 0;

	for (struct meter *m; (m = map_each(meters, &at));) {
		quota_done(&m->quota);
		free(m);
	}
	map_done(meters);
}

/* ---- may it be called? ---- */

static enum verdict
fail_until(struct call *c, int code, uint64_t wait_ms, const char *why)
{
	call_fail(c, code, "%s; try again in %llu s", why,
		  (unsigned long long)(wait_ms + 999) / 1000);
	c->err.retry_after_ms = wait_ms > INT32_MAX ? INT32_MAX : (unsigned)wait_ms;
	return FAIL;
}

static const char *
kind_of(const struct meter *m)
{
	return m->is_server ? "the server" : "the tool";
}

static enum verdict
check_breaker(struct call *c, const struct metered *at)
{
	char why[200];

	if (!at->meter)
		return NEXT;
	uint64_t wait_ms =
	    breaker_wait_ms(&at->meter->breaker, &at->tuning->breaker, clock_mono_ms());
	if (wait_ms == 0)
		return NEXT;
	snprintf(why, sizeof(why), "%s %.80s has failed too often and is left alone for a while",
		 kind_of(at->meter), at->meter->name);
	return fail_until(c, E_UNAVAILABLE, wait_ms, why);
}

static enum verdict
check_quota(struct call *c, const struct metered *at, uint64_t now_ms)
{
	char why[200];

	if (!at->meter || !at->tuning)
		return NEXT;
	const struct rate *rate = &at->tuning->rate;
	uint64_t wait_ms = quota_wait_ms(&at->meter->quota, rate, now_ms);
	if (wait_ms == 0)
		return NEXT;
	snprintf(why, sizeof(why), "%s %.80s may be called %u times in %g s", kind_of(at->meter),
		 at->meter->name, rate->calls, rate->per_ms / 1000.0);
	return fail_until(c, E_RATE, wait_ms, why);
}

/* Which there are. */
static enum verdict
find_meters(struct call *c)
{
	const struct tuning *t = c->tuning;
	struct metered *tool = &c->metered[0], *server = &c->metered[1];
	bool counts = t->rate.calls > 0 || t->breaker.failures > 0;

	tool->tuning = t;
	server->tuning = c->tool->server.ptr ? tunings_server(c->tunings, c->tool->server) : NULL;
	if (counts && !(tool->meter = meter_get(&c->gw->tool_meters, c->tool->name, false)))
		return call_fail(c, E_LIMIT, "too many tools are being counted");
	if (server->tuning &&
	    !(server->meter = meter_get(&c->gw->server_meters, c->tool->server, true)))
		return call_fail(c, E_LIMIT, "too many servers are being counted");
	return NEXT;
}

/* Of all that is asked nothing is charged before all have agreed. */
enum verdict
meters_admit(struct call *c)
{
	enum verdict v = find_meters(c);

	if (v != NEXT || (!c->metered[0].meter && !c->metered[1].meter))
		return v;
	uint64_t now_ms = clock_mono_ms();
	for (size_t i = 0; v == NEXT && i < ARRAY_LEN(c->metered); i++)
		if ((v = check_breaker(c, &c->metered[i])) == NEXT)
			v = check_quota(c, &c->metered[i], now_ms);
	for (size_t i = 0; v == NEXT && i < ARRAY_LEN(c->metered); i++) {
		struct metered *at = &c->metered[i];
		if (at->meter && quota_take(&at->meter->quota, &at->tuning->rate, now_ms) < 0)
			return call_fail(c, E_NOMEM, "out of memory");
	}
	return v;
}

/* ---- an attempt ---- */

enum verdict
meters_begin(struct call *c)
{
	enum verdict v = NEXT;

	for (size_t i = 0; v == NEXT && i < ARRAY_LEN(c->metered); i++)
		v = check_breaker(c, &c->metered[i]);
	for (size_t i = 0; v == NEXT && i < ARRAY_LEN(c->metered); i++) {
		struct metered *at = &c->metered[i];
		at->begun = at->meter != NULL;
		at->tries = at->meter && breaker_begin(&at->meter->breaker);
	}
	return v;
}

static void
tell(struct call *c, const struct metered *at)
{
	bool open = at->meter->breaker.state == BREAKER_OPEN;
	struct event_draft draft = {.type = open ? EVENT_BREAKER_OPENED : EVENT_BREAKER_CLOSED};
	struct jw *w = bus_begin(c->gw->bus, &draft);

	jw_member_z(w, at->meter->is_server ? "server" : "tool", at->meter->name);
	if (open)
		jw_member_int(w, "retry_after_ms", at->tuning->breaker.rest_ms);
	bus_end(c->gw->bus, NULL);
	log_line(open ? LOG_WARN : LOG_INFO, event_row(draft.type)->sentence,
		 at->meter->is_server ? "server" : "tool", at->meter->name, NULL);
}

void
meters_end(struct call *c, enum breaker_outcome outcome)
{
	for (size_t i = 0; i < ARRAY_LEN(c->metered); i++) {
		struct metered *at = &c->metered[i];
		if (!at->begun)
			continue;
		at->begun = false;
		if (breaker_end(&at->meter->breaker, &at->tuning->breaker, at->tries, outcome,
				clock_mono_ms()))
			tell(c, at);
	}
}

bool
meters_closed(const struct call *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->metered); i++) {
		const struct metered *at = &c->metered[i];
		if (at->meter &&
		    breaker_wait_ms(&at->meter->breaker, &at->tuning->breaker, clock_mono_ms()) > 0)
			return false;
	}
	return true;
}

void
gateway_write_breaker(struct jw *w, const struct gateway *gw, struct str server)
{
	const struct meter *m = map_find(&gw->server_meters, server);
	const struct breaker_tuning *t = &tunings_server(gw->tunings, server)->breaker;
	uint64_t now_ms = clock_mono_ms();

	jw_member_z(w, "breaker", m ? breaker_word(&m->breaker, t, now_ms) : "closed");
	if (m && breaker_wait_ms(&m->breaker, t, now_ms) > 0)
		jw_member_int(w, "retry_after_ms",
			      (int64_t)breaker_wait_ms(&m->breaker, t, now_ms));
}
