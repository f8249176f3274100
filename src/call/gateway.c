/* gateway.c - taking in messages, cancelling, and telling how things stand. */

#include "call/gateway.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "call/compensating.h"
#include "call/stage.h"
#include "effect/ledger.h"

void
gateway_init(struct gateway *gw)
{
	for (size_t i = 0; i < PLACE__COUNT; i++)
		list_init(&gw->at[i]);
	map_init(&gw->calls, LIMIT_CALLS);
	map_init(&gw->leaders, LIMIT_CALLS);
	list_init(&gw->untold);
	map_init(&gw->tool_meters, LIMIT_TOOLS);
	map_init(&gw->server_meters, LIMIT_TOOLS);
	list_init(&gw->stragglers);
	chain_init(gw);
	gw->count = (struct counters){0};
	metrics_init(&gw->metrics);
	gw->watchers = 0;
	gw->stopping = false;
	if (gw->supersede.how == AS_CONFIGURED)
		gw->supersede.how = BY_DEFAULT;
	if (!gw->supersede.decide_ms)
		gw->supersede.decide_ms = LIMIT_DECIDE_MS;
}

void
gateway_done(struct gateway *gw)
{
	CHECK(gw->calls.len == 0);
	timer_stop(gw->loop, &gw->long_calls);
	late_forget(gw);
	meters_done(&gw->tool_meters);
	meters_done(&gw->server_meters);
	metrics_done(&gw->metrics);
	defer_cancel(&gw->idle_soon);
	map_done(&gw->calls);
	map_done(&gw->leaders);
	effects_forget(gw);
	chain_done(gw);
}

void
gateway_stop(struct gateway *gw, void (*idle)(void *arg), void *arg)
{
	gw->stopping = true;
	gw->idle = idle;
	gw->idle_arg = arg;
	size_t at = 0;
	for (struct call *c; (c = map_each(&gw->calls, &at));)
		call_cancel(c);
	if (gateway__is_idle(gw))
		defer(gw->loop, &gw->idle_soon, idle, arg);
}

bool
gateway__is_idle(const struct gateway *gw)
{
	return gw->stopping && gw->idle && gw->calls.len == 0 && gw->undoing == 0;
}

static int
refuse_twins(const struct turn_spec *spec, struct err *e)
{
	for (size_t i = 0; i < spec->count; i++)
		for (size_t k = 0; k < i; k++)
			if (spec->calls[i].tool_use_id.ptr &&
			    str_eq(spec->calls[i].tool_use_id, spec->calls[k].tool_use_id))
				return err_set(e, E_BAD_REQUEST,
					       "the id '%.*s' stands twice in this message",
					       STR_ARG(
						   str_utf8_upto(spec->calls[i].tool_use_id, 100)));
	return 0;
}

/* Whoever took the key of a compensation would keep the effect from being taken back. */
static int
refuse_key(const struct call_spec *c, struct err *e)
{
	struct str key = c->idempotency_key;

	if (key.ptr && (!key.len || key.len > LIMIT_IDEMPOTENCY_KEY))
		return err_set(e, E_BAD_REQUEST, "idempotency_key: 1 to %d characters",
			       LIMIT_IDEMPOTENCY_KEY);
	if (key.ptr && !c->compensates.ptr && str_starts(key, S(COMPENSATION_KEY)))
		return err_set(e, E_BAD_REQUEST,
			       "idempotency_key: what begins with \"" COMPENSATION_KEY
			       "\" is not the caller's to give");
	return 0;
}

static int
may_submit(struct gateway *gw, struct session *s, const struct turn_spec *spec, struct err *e)
{
	int code;

	if (gw->stopping)
		return err_plain(e, E_STOPPING);
	if (s->ended)
		return err_plain(e, E_SESSION_ENDED);
	if (spec->count == 0)
		return err_set(e, E_BAD_REQUEST, "this message holds no call");
	if (spec->count > LIMIT_CALLS_PER_TURN)
		return err_set(e, E_LIMIT, "a message may hold at most %d calls, this has %zu",
			       LIMIT_CALLS_PER_TURN, spec->count);
	for (size_t i = 0; i < spec->count; i++)
		if ((code = refuse_key(&spec->calls[i], e)) < 0)
			return code;
	if (spec->group.len > LIMIT_TURN_GROUP)
		return err_set(e, E_BAD_REQUEST, "turn_group_id: at most %d characters",
			       LIMIT_TURN_GROUP);
	return refuse_twins(spec, e);
}

int
gateway_submit(struct gateway *gw, struct session *s, const struct turn_spec *spec,
	       struct turn **ret, struct err *e)
{
	struct call *calls[LIMIT_CALLS_PER_TURN];
	struct turn *turn;
	size_t made = 0;
	int code;

	if ((code = may_submit(gw, s, spec, e)) < 0)
		return code;
	if ((code = turn_open(s, spec->count, spec->shape, spec->attended, &turn, e)) < 0)
		return code;
	for (; made < spec->count; made++)
		if ((code = call_new(gw, turn, made, &spec->calls[made], &calls[made], e)) < 0)
			goto undo;
	turn->behind = spec->behind;
	turn->lone = spec->lone;
	memcpy(turn->group, spec->group.ptr ? spec->group.ptr : "", spec->group.len);
	turn->done = spec->done;
	turn->arg = spec->arg;
	turn_begin(turn);
	for (size_t i = 0; i < made; i++)
		call_start(calls[i]);
	*ret = turn;
	return 0;
undo:
	while (made > 0)
		call_free(calls[--made]);
	turn_discard(turn);
	return code;
}

int
gateway_cancel_call(struct gateway *gw, struct str id)
{
	struct call *c = map_find(&gw->calls, id);

	if (!c)
		return E_NO_CALL;
	call_cancel(c);
	return 0;
}

/* One walk serves turn and session: the unused one is NULL. */
static size_t
cancel_matching(struct gateway *gw, const struct session *s, const struct turn *t)
{
	size_t n = 0, at = 0;

	for (struct call *c; (c = map_each(&gw->calls, &at));) {
		if ((s && c->session != s) || (t && c->turn != t))
			continue;
		c->turn->cancelling = true;
		call_cancel(c);
		n++;
	}
	return n;
}

size_t
gateway_cancel_turn(struct gateway *gw, struct turn *t)
{
	return cancel_matching(gw, NULL, t);
}

size_t
gateway_cancel_session(struct gateway *gw, struct session *s)
{
	return cancel_matching(gw, s, NULL);
}

void
gateway_end_session(struct gateway *gw, struct session *s)
{
	gateway_cancel_session(gw, s);
	grants_end_session(gw->grants, id_str(&s->id));
	session_end(s);
}

void
gateway_watch(struct gateway *gw, bool begins)
{
	CHECK(begins || gw->watchers > 0);
	gw->watchers += begins ? 1u : -1u;
}

/* The three tiers of seed 004 section 3 meet here: what is not the tenant's is not there at all. */
static enum tier
tier_of(const struct tool *t, const struct session *s)
{
	if (t->memory && s->kind == SESSION_WORKER)
		return TIER_CATALOG;
	return agent_tier(s->owner, t);
}

bool
tool_visible(const struct tool *t, const struct session *s)
{
	return tier_of(t, s) == TIER_AGENT;
}

bool
tool_disabled(const struct tool *t, const struct session *s)
{
	return tier_of(t, s) == TIER_TENANT;
}

int
tool_say_disabled(const struct tool *t, const struct session *s, struct err *e)
{
	bool single = agent_is_default(s->owner);

	return err_set(e, E_DISABLED,
		       "%.*s is known, but not enabled for this agent; a person can enable it: "
		       "holdfast enable %.*s%s%s%s%s",
		       STR_ARG(t->name), STR_ARG(t->name), single ? "" : " --tenant ",
		       single ? "" : s->tenant, single ? "" : " --agent ", single ? "" : s->agent);
}

/* What servers there are is not for everybody who shares the gateway to know. */
static struct str
whose(const struct gateway *gw, const struct session *s, struct str name, struct err *why)
{
	bool tells = gw->why_missing && (!s || agent_is_default(s->owner));

	return tells ? gw->why_missing(name, why, gw->why_missing_arg) : (struct str){NULL, 0};
}

int
tool_say_unknown(const struct gateway *gw, const struct session *s, struct str name, struct err *e)
{
	struct err why = ERR_NONE;
	struct str server = whose(gw, s, name, &why), shown = str_utf8_upto(name, 100);
	const struct tool *near = catalog_near(gw->catalog, name);

	if (why.code < 0) {
		*e = why;
		return why.code;
	}
	/* Another server's tool is another tool, however much its name is like this one. */
	if (near && (!s || tool_visible(near, s)) && (!server.ptr || str_eq(near->server, server)))
		return err_set(e, E_NOT_FOUND, "there is no tool '%.*s'; did you mean '%.*s'?",
			       STR_ARG(shown), STR_ARG(near->name));
	return err_set(e, E_NOT_FOUND, "there is no tool '%.*s'", STR_ARG(shown));
}

void
gateway_end_orphans(struct gateway *gw)
{
	struct session *s;
	size_t at = 0;

	/* The map changes with each that ends: the walk begins again. */
	while ((s = session_each(gw->sessions, &at)))
		if (s->owner && s->owner->gone) {
			gateway_end_session(gw, s);
			at = 0;
		}
}

void
gateway_write_status(struct jw *w, const struct gateway *gw)
{
	jw_member_int(w, "tools", (int64_t)catalog_count(gw->catalog));
	jw_member_int(w, "sessions", (int64_t)sessions_count(gw->sessions));
	jw_member_int(w, "questions", (int64_t)questions_count(gw->questions));
	jw_member_int(w, "watchers", gw->watchers);
	jw_key(w, "calls");
	jw_object(w);
	for (size_t i = 0; i < PLACE_OVER; i++)
		jw_member_int(w, place_name((enum place)i), (int64_t)gw->at[i].len);
	jw_end(w);
	jw_key(w, "totals");
	jw_object(w);
	jw_member_int(w, "calls", (int64_t)gw->count.calls);
	jw_member_int(w, "completed", (int64_t)gw->count.completed);
	jw_member_int(w, "failed", (int64_t)gw->count.failed);
	jw_member_int(w, "asked", (int64_t)gw->count.asked);
	jw_member_int(w, "abandoned", (int64_t)gw->count.abandoned);
	jw_end(w);
	if (!gw->ledger)
		return;
	jw_key(w, "effects");
	jw_object(w);
	jw_member_int(w, "unknown", (int64_t)ledger_unknown(gw->ledger));
	jw_end(w);
}

static void
write_live_call(struct jw *w, const struct call *c)
{
	char when[CLOCK_TEXT];

	clock_text(c->opened_us, when);
	jw_object(w);
	jw_member_z(w, "call_id", c->id.text);
	jw_member(w, "tool_use_id", c->tool_use_id);
	jw_member_z(w, "session_id", c->session->id.text);
	jw_member_z(w, "turn_id", c->turn->id.text);
	jw_member(w, "tool_name", c->tool_name);
	jw_member_z(w, "state", place_name(c->place));
	jw_member(w, "input_summary", c->input_summary);
	jw_member_z(w, "client", c->session->client);
	jw_member_z(w, "opened_at", when);
	jw_key(w, "progress"), progress_write(w, c->progress);
	jw_end(w);
}

bool
gateway_write_call(struct jw *w, const struct gateway *gw, struct str id)
{
	const struct call *c = map_find(&gw->calls, id);
	size_t at = 0;

	/* Our own id first: an agent chooses its tool_use_ids. */
	while (!c && (c = map_each(&gw->calls, &at)))
		if (!str_eq(c->tool_use_id, id))
			c = NULL;
	if (c)
		write_live_call(w, c);
	return c != NULL;
}

void
gateway_write_live(struct jw *w, const struct gateway *gw, struct str session)
{
	jw_array(w);
	for (size_t i = 0; i < PLACE_OVER; i++)
		LIST_EACH (&gw->at[i], at) {
			const struct call *c = CONTAINER_OF(at, struct call, in_place);
			if (!session.ptr || str_eq(id_str(&c->session->id), session))
				write_live_call(w, c);
		}
	jw_end(w);
}
