/*
 * superseding.c - a new message of the user, and a tool next that cannot be taken back.
 *
 * policy and dispatch look here before such a tool. Where the turn has not heard of a message, what
 * becomes of the turn is decided: by the session's word, by a function of the program that holds
 * the gateway, by whoever runs the agent (who is asked, with a deadline), or by the configuration.
 * Calls of one turn that wait for it wait for one decision. A turn that is given up ends like one
 * that is cancelled, but when its last call is over what it did is taken back as far as that goes,
 * before anybody hears that it has ended: whatever comes next finds the world as it was.
 */

#include "call/stage.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"

void
call_stopped(const struct call *c, struct err *e)
{
	err_plain(e, c->turn->superseding ? E_SUPERSEDED : E_CANCELLED);
}

enum verdict
call_fail_stopped(struct call *c)
{
	call_stopped(c, &c->err);
	return FAIL;
}

/* ---- events ---- */

static struct jw *
turn_event(struct gateway *gw, const struct turn *t, enum event_type type, const char *actor)
{
	return bus_begin(gw->bus, &(struct event_draft){
				      .type = type,
				      .session = id_str(&t->session->id),
				      .turn = id_str(&t->id),
				      .parent = str_of(t->event),
				      .actor = actor,
				  });
}

static void
add_unheard(struct jw *w, const struct turn *t)
{
	size_t room = LIMIT_EVENT_TEXT;

	jw_key(w, "messages");
	jw_array(w);
	for (const struct message *m = inbox_unheard(t); m; m = inbox_after(t, m)) {
		message_write(w, m, room);
		room -= m->len < room ? m->len : room;
	}
	jw_end(w);
}

static void
announce_asking(struct call *c, unsigned within_ms)
{
	const struct turn *t = c->turn;
	struct jw *w = call_event(c, EVENT_SUPERSEDE_REQUESTED, NULL);
	char expires[CLOCK_TEXT];

	clock_text(clock_wall_us() + (int64_t)within_ms * 1000, expires);
	jw_member_z(w, "request_id", t->asks.text);
	jw_member_z(w, "turn_group_id", t->group[0] ? t->group : NULL);
	jw_member_bool(w, "commit_reached", t->committed);
	jw_member_int(w, "side_effects", t->effects + t->effects_running);
	jw_member_z(w, "default", supersede_name(supersede_default(t)));
	jw_member_z(w, "expires_at", expires);
	add_unheard(w, t);
	bus_end(c->gw->bus, NULL);
}

static void
announce_decision(struct gateway *gw, const struct turn *t, enum supersede_action a, const char *by,
		  const char *reason)
{
	bool own = strcmp(by, "runtime") == 0;
	struct jw *w = turn_event(gw, t, EVENT_SUPERSEDE_DECISION, own ? NULL : "system");

	metrics_decided(&gw->metrics, a);
	jw_member_z(w, "decision", supersede_name(a));
	jw_member_z(w, "by", by);
	if (reason)
		jw_member_z(w, "reason", reason);
	jw_member_z(w, "request_id", t->asks.text[0] ? t->asks.text : NULL);
	jw_key(w, "message_ids");
	jw_array(w);
	for (const struct message *m = inbox_unheard(t); m; m = inbox_after(t, m))
		jw_z(w, m->id);
	jw_end(w);
	bus_end(gw->bus, NULL);
}

/* ---- what is decided ---- */

static void
absorb(struct gateway *gw, struct turn *t)
{
	for (const struct message *m = inbox_unheard(t); m; m = inbox_after(t, m)) {
		struct jw *w = turn_event(gw, t, EVENT_TURN_MESSAGE_ABSORBED, NULL);
		jw_member_z(w, "message_id", m->id);
		bus_end(gw->bus, NULL);
	}
	inbox_absorb(t);
}

static void
give_up(struct gateway *gw, struct turn *t)
{
	size_t at = 0;

	inbox_hand_on(t);
	t->superseding = true;
	for (struct call *c; (c = map_each(&gw->calls, &at));)
		if (c->turn == t)
			call_cancel(c);
}

static void
wake_waiting(struct gateway *gw, const struct turn *t)
{
	LIST_EACH (&gw->at[PLACE_DECIDING], at) {
		struct call *c = CONTAINER_OF(at, struct call, in_place);
		if (c->turn == t)
			call_wake(c);
	}
}

static void
decide(struct gateway *gw, struct turn *t, enum supersede_action a, const char *by)
{
	const char *reason = NULL;

	if (!supersede_is_decision(a)) {
		a = supersede_default(t);
		reason = a == QUEUE ? "the turn has had effects" : "the turn has had no effect";
	}
	bool takes_back = t->compensatable || t->compensatable_running > 0;
	if (a == SUPERSEDE && takes_back && gw->supersede.keep_compensatable) {
		a = QUEUE;
		reason = "effects of the turn would have to be taken back "
			 "(tools.side_effects.allow_compensatable_supersede)";
	}
	announce_decision(gw, t, a, by, reason);
	gw->supersede.decided[a]++;
	switch (a) {
	case SUPERSEDE: give_up(gw, t); break;
	case ABSORB: absorb(gw, t); break;
	case FORCE_COMPLETE: t->forced = true; break;
	default: break; /* QUEUE: it waits where it is */
	}
	t->heard = t->session->inbox.came;
	t->asks.text[0] = '\0';
	wake_waiting(gw, t);
}

/* ---- asking ---- */

static enum verdict
wait_for_it(struct call *c)
{
	unsigned within_ms = c->gw->supersede.decide_ms;

	if (!c->turn->asks.text[0]) {
		c->turn->asks = id_new("sup_");
		announce_asking(c, within_ms);
	}
	if (call_alarm(c, within_ms) < 0)
		return call_fail(c, E_NOMEM, "out of memory");
	call_move(c, PLACE_DECIDING);
	return WAIT;
}

/* By a function of the program that holds the gateway: BY_ASKING means later. */
static enum supersede_action
ask_program(struct call *c)
{
	const struct superseding *how = &c->gw->supersede;
	const struct message *m = inbox_unheard(c->turn);

	return how->asks(&(struct supersede_ask){.session = c->session->id.text,
						 .turn = c->turn->id.text,
						 .tool = c->tool->name.ptr,
						 .message_id = m->id,
						 .message = m->text,
						 .committed = c->turn->committed,
						 .effects =
						     c->turn->effects + c->turn->effects_running},
			 how->asks_arg);
}

static enum verdict
consider(struct call *c)
{
	const struct superseding *how = &c->gw->supersede;
	enum supersede_action a = c->session->inbox.how;
	const char *by = "session";

	if (c->turn->asks.text[0])
		return wait_for_it(c); /* a sister has asked */
	if (a == AS_CONFIGURED && how->asks) {
		a = ask_program(c);
		by = "runtime";
	} else if (a == AS_CONFIGURED) {
		a = how->how;
		by = "config";
	}
	if (a == BY_ASKING)
		return wait_for_it(c);
	decide(c->gw, c->turn, a, supersede_is_decision(a) ? by : "default");
	return NEXT;
}

/* What is so now: it may go on, or not; whoever decided it, and however long that took. */
enum verdict
superseding_look(struct call *c)
{
	struct turn *t = c->turn;

	if (t->superseding)
		return call_fail_stopped(c);
	if (call_reversibility(c) != REV_IRREVERSIBLE || !turn_interrupted(t))
		return NEXT;
	if (!inbox_unheard(t)) { /* another turn has it */
		t->heard = t->session->inbox.came;
		return NEXT;
	}
	enum verdict v = consider(c);
	if (v != NEXT || !t->superseding)
		return v;
	if (!t->stopped_at)
		t->stopped_at = str_dup(c->tool->name);
	return call_fail_stopped(c);
}

/* Nobody else of the turn waits: the question is no more. */
static void
withdraw(struct call *c)
{
	LIST_EACH (&c->gw->at[PLACE_DECIDING], at) {
		const struct call *other = CONTAINER_OF(at, struct call, in_place);
		if (other != c && other->turn == c->turn)
			return;
	}
	c->turn->asks.text[0] = '\0';
}

enum verdict
superseding_wake(struct call *c)
{
	struct turn *t = c->turn;

	if (!c->cancelled && !c->overdue && t->asks.text[0])
		return WAIT;
	if (!c->cancelled && c->overdue && t->asks.text[0])
		decide(c->gw, t, BY_DEFAULT, "deadline");
	if (c->cancelled && !t->superseding)
		withdraw(c);
	call_calm(c);
	call_move(c, PLACE_MOVING);
	if (t->superseding && !t->stopped_at)
		t->stopped_at = str_dup(c->tool->name);
	return c->cancelled ? call_fail_stopped(c) : superseding_look(c);
}

/* ---- from outside ---- */

static struct turn *
find_asking(struct session *s, struct str request, size_t *ret_count)
{
	struct turn *found = NULL;

	*ret_count = 0;
	LIST_EACH (&s->turns, at) {
		struct turn *t = CONTAINER_OF(at, struct turn, node);
		if (t->state != TURN_OPEN || !t->asks.text[0] ||
		    (request.ptr && !str_eq(request, id_str(&t->asks))))
			continue;
		found = t;
		++*ret_count;
	}
	return found;
}

int
gateway_decide(struct gateway *gw, struct session *s, struct str request,
	       enum supersede_action action, struct turn **ret, struct err *e)
{
	size_t count;
	struct turn *t = find_asking(s, request, &count);

	if (!t)
		return err_set(e, E_NOT_ASKED, "no decision is asked for%s",
			       request.ptr ? " by this id: it was made, or is too late" : "");
	if (count > 1)
		return err_set(e, E_BAD_REQUEST,
			       "request: %zu turns of this session wait for a decision; say which",
			       count);
	decide(gw, t, action, "runtime");
	*ret = t;
	return 0;
}

/* ---- effects of a turn ---- */

void
superseding_effect_begins(struct call *c)
{
	if (call_reversibility(c) == REV_PURE || c->effect_begun)
		return;
	c->effect_begun = true;
	c->turn->effects_running++;
	c->turn->compensatable_running += call_reversibility(c) == REV_COMPENSATABLE;
}

void
superseding_effect_ends(struct call *c)
{
	struct turn *t = c->turn;

	if (!c->effect_begun)
		return;
	c->effect_begun = false;
	t->effects_running--;
	t->compensatable_running -= call_reversibility(c) == REV_COMPENSATABLE;
	if (!call_may_have_happened(c))
		return;
	t->effects++;
	if (call_reversibility(c) == REV_COMPENSATABLE)
		t->compensatable = true;
	if (call_reversibility(c) != REV_IRREVERSIBLE || t->committed)
		return;
	t->committed = true;
	if (!t->group[0] && t->session->inbox.came == 0)
		return; /* nobody here speaks of turns */
	call_event(c, EVENT_COMMIT_REACHED, c->called_event);
	bus_end(c->gw->bus, NULL);
}

/* ---- the end of a turn that was given up ---- */

/* The last result, until what the turn did is taken back. */
struct ending {
	struct gateway *gw;
	struct session *session; /* a reference */
	struct turn *turn;
	size_t index;
	struct turn_result came;
};

static void
announce_executed(struct gateway *gw, struct turn *t, const struct json *undone)
{
	struct jw *w = turn_event(gw, t, EVENT_SUPERSEDE_EXECUTED, NULL);
	int64_t n;

	jw_member_z(w, "interrupt_point", t->stopped_at);
	jw_member_z(w, "turn_group_id", t->group[0] ? t->group : NULL);
	jw_member_bool(w, "commit_reached", t->committed);
	if (json_int(json_get(undone, S("undone")), &n))
		jw_member_int(w, "compensated", n);
	if (json_int(json_get(undone, S("failed")), &n))
		jw_member_int(w, "failed", n);
	bus_end(gw->bus, NULL);
}

static void
end_now(struct gateway *gw, struct turn *t, size_t index, struct turn_result *came)
{
	struct json_doc *doc = NULL;

	if (t->taken_back.len)
		(void)json_parse(buf_str(&t->taken_back), &json_door, &doc, NULL);
	announce_executed(gw, t, doc ? json_root(doc) : NULL);
	json_doc_unref(doc);
	turn_settle(t, index, came);
}

static void
not_taken_back(struct turn *t, const struct err *e)
{
	struct jw w = jw(&t->taken_back);

	buf_init(&t->taken_back, LIMIT_MESSAGE_BYTES);
	jw_object(&w);
	jw_member_z(&w, "error", err_text(e));
	jw_end(&w);
}

static void
taken_back(const struct err *e, struct buf *answer, void *arg)
{
	struct ending *end = arg;
	struct gateway *gw = end->gw;
	struct turn *t = end->turn;

	if (e->code == 0)
		t->taken_back = buf_take(answer);
	else if (e->code != E_NO_CALL && e->code != E_NO_TURN && e->code != E_NOT_FOUND)
		not_taken_back(t, e);
	end_now(gw, t, end->index, &end->came);
	session_unref(end->session);
	free(end);
	gw->undoing--;
	if (gateway__is_idle(gw))
		defer(gw->loop, &gw->idle_soon, gw->idle, gw->idle_arg);
}

void
superseding_settle(struct gateway *gw, struct turn *t, size_t index, struct turn_result *came)
{
	bool last = t->superseding && t->settled + 1 == t->count;
	struct ending *end = NULL;
	struct err e;

	if (!last) {
		turn_settle(t, index, came);
		return;
	}
	if (t->effects > 0 && !(end = malloc(sizeof(*end)))) {
		err_plain(&e, E_NOMEM);
		not_taken_back(t, &e);
	}
	if (!end) {
		end_now(gw, t, index, came);
		return;
	}
	*end = (struct ending){gw, session_ref(t->session), t, index, *came};
	gw->undoing++;
	struct undo_order order = {.turn = id_str(&t->id), .most = LIMIT_MESSAGE_BYTES};
	int code = gateway_undo(gw, &order, taken_back, end, &e);
	if (code < 0)
		taken_back(&e, &(struct buf){0}, end);
}
