/* call.c - making a call, moving it between places, handing its result to the turn. */

#include "call/changes.h"
#include "call/stage.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/crash_at.h"
#include "json/write.h"

#define P(name) (1u << PLACE_##name)
static const struct {
	const char *word;
	unsigned next;
} places[] = {
#define PLACE(name, word, next, sentence) {word, next},
#include "../../tbl/places.def"
#undef PLACE
};
/* Where a call can be for long without an event of its own. */
enum { UNSEEN = P(HOOKING) | P(STAYING) | P(QUEUED) | P(JOINED) };
#undef P

const char *
place_name(enum place p)
{
	return places[p].word;
}

void
call_move(struct call *c, enum place to)
{
	if (c->place == to)
		return;
	CHECK(places[c->place].next & 1u << to);
	if (to == PLACE_RUNNING)
		progressing_begin(c);
	else if (c->progress && to != PLACE_ENDING)
		progressing_end(c);
	list_remove(&c->in_place);
	c->place = to;
	list_push(&c->gw->at[to], &c->in_place);
	if (1u << to & UNSEEN && !c->called_mono_us)
		turn_tell(c->turn); /* or nobody who watches would know of it */
}

/*
 * Readings of the clock are a twentieth of a call's time: in a rush the steps of one call are timed
 * for eight. Which one does not go by turns (the golden ratio), or of two tools that are called by
 * turns one would never be.
 */
static unsigned
weight_next(struct gateway *gw)
{
	enum { FEW = 8, FOR = 8 };

	if (gw->at[PLACE_MOVING].len + gw->at[PLACE_RUNNING].len < FEW)
		return 1;
	return gw->made++ * UINT64_C(0x9e3779b97f4a7c15) >> 61 == 0 ? FOR : 0;
}

int
call_new(struct gateway *gw, struct turn *turn, size_t index, const struct call_spec *spec,
	 struct call **ret, struct err *e)
{
	struct arena *arena = arena_new(LIMIT_CALL_ARENA);
	struct call *c = arena ? ARENA_NEW_UPTO(arena, struct call, out.err) : NULL;
	int code;

	if (!c) {
		arena_free(arena);
		return err_plain(e, E_NOMEM);
	}
	/* The rest is zeroed. */
	err_none(&c->out.err);
	err_none(&c->err);
	c->gw = gw;
	c->arena = arena;
	c->id = id_new("call_");
	c->turn = turn;
	c->index = index;
	c->stage = -1;
	c->weight = weight_next(gw);
	buf_init(&c->repairs, LIMIT_REPAIRS_BYTES);
	buf_init(&c->artifacts, 8 * KIB);
	buf_init(&c->given, LIMIT_EFFECT_GIVEN);
	buf_init(&c->input_text, LIMIT_JSON_BYTES * 6); /* every letter may need an escape */
	buf_init(&c->result_text, LIMIT_RESULT_BYTES);
	c->tool_use_id =
	    arena_str(arena, spec->tool_use_id.ptr ? spec->tool_use_id : id_str(&c->id));
	c->tool_name = arena_str(arena, spec->tool);
	c->wished_ms = spec->usual_ms;
	if (spec->idempotency_key.ptr)
		c->idempotency_key = arena_str(arena, spec->idempotency_key);
	if (spec->compensates.ptr)
		c->compensates = arena_str(arena, spec->compensates);
	c->given_ms = spec->timeout_ms;
	if (!c->tool_use_id.ptr || !c->tool_name.ptr ||
	    (spec->idempotency_key.ptr && !c->idempotency_key.ptr) ||
	    (spec->compensates.ptr && !c->compensates.ptr) ||
	    turn_expect(turn, index, c->id, c->tool_use_id, c->tool_name) < 0) {
		arena_free(arena);
		return err_plain(e, E_NOMEM);
	}
	if ((code = map_put(&gw->calls, id_str(&c->id), c)) < 0) {
		arena_free(arena);
		return err_set(e, code, "the gateway has too many calls already");
	}
	c->session = session_ref(turn->session);
	c->input_doc = spec->input_doc ? json_doc_ref(spec->input_doc) : NULL;
	c->input = spec->input;
	c->showing = spec->showing;
	if (!spec->input && spec->input_error)
		c->err = *spec->input_error;
	list_push(&gw->at[PLACE_MOVING], &c->in_place);
	*ret = c;
	return 0;
}

void
call_free(struct call *c)
{
	defer_cancel(&c->waking);
	map_remove(&c->gw->calls, id_str(&c->id));
	list_remove(&c->in_place);
	behind_done(&c->behind);
	output_done(&c->out);
	if (c->spool)
		spool_done(c->spool);
	buf_done(&c->artifacts);
	buf_done(&c->given);
	buf_done(&c->input_text);
	buf_done(&c->result_text);
	buf_done(&c->repairs);
	json_doc_unref(c->input_doc);
	changes_drop(c);
	tool_unref(c->tool);
	tunings_unref(c->tunings);
	session_unref(c->session);
	arena_free(c->arena);
}

/* Before what the tool gave, if it gave anything: what went wrong. */
static void
render_error(struct call *c, struct buf *content)
{
	struct jw w = jw(content);

	jw_object(&w);
	jw_member_z(&w, "type", "text");
	jw_member(&w, "text", c->wrong.ptr ? c->wrong : str_of(err_text(&c->err)));
	jw_end(&w);
	if (c->out.content.len) {
		size_t whole = content->len;
		buf_addc(content, ',');
		buf_add(content, buf_str(&c->out.content));
		if (buf_failed(content)) { /* the reason matters more than the rest */
			content->len = whole;
			content->failed = false;
		}
	}
}

/* The last thing a call does. The turn may end here, and with it whoever waited. */
void
call__finish(struct call *c)
{
	struct gateway *gw = c->gw;
	struct turn *turn = c->turn;
	size_t index = c->index;
	bool failed = c->err.code < 0;
	struct turn_result came = {
	    .is_error = failed || !c->out.success,
	    .error_class = failed ? err_class_name(err_row(c->err.code)->class) : NULL,
	    .code = failed ? c->err.code : 0,
	    .retry_after_ms = failed ? c->err.retry_after_ms : 0,
	    .twice = call_may_have_happened(c) && call_reversibility(c) > REV_IDEMPOTENT,
	    .rpc_code = failed ? c->out.rpc_code : 0,
	    .rpc_data = buf_take(&c->out.rpc_data),
	    .extra = buf_take(&c->out.extra),
	    .content = BUF_INIT(LIMIT_RESULT_BYTES + 8 * KIB),
	    .modified = buf_take(&c->out.modified),
	    .repairs = buf_take(&c->repairs),
	    .artifacts = buf_take(&c->artifacts),
	    .latency_ms = (int64_t)(c->since_us - c->opened_mono_us) / 1000,
	    .cached = c->cached,
	    .unrecorded = c->unrecorded,
	    .unknown = BUF_INIT(LIMIT_EFFECTS_TOLD * 512),
	};
	struct session *s = session_ref(c->session);

	if (c->taken)
		came.effect = c->effect;
	effects_mention(gw, s, &came.unknown);
	crash_at(CRASH_BEFORE_ANSWER);
	if (failed)
		render_error(c, &came.content);
	else
		came.content = buf_take(&c->out.content);
	call_free(c);
	superseding_settle(gw, turn, index, &came);
	session_unref(s);
	if (gateway__is_idle(gw))
		defer(gw->loop, &gw->idle_soon, gw->idle, gw->idle_arg);
}

struct jw *
call_event(struct call *c, enum event_type type, const char *parent)
{
	return call_event_by(c, type, parent, NULL);
}

struct jw *
call_event_by(struct call *c, enum event_type type, const char *parent, const char *actor)
{
	struct jw *w =
	    bus_begin(c->gw->bus,
		      &(struct event_draft){
			  .type = type,
			  .session = id_str(&c->session->id),
			  .turn = id_str(&c->turn->id),
			  .parent = str_of(parent && parent[0] ? parent : c->turn->event),
			  .actor = actor,
		      });
	jw_member(w, "tool_use_id", c->tool_use_id);
	jw_member(w, "tool_name", c->tool_name);
	jw_member_z(w, "call_id", c->id.text);
	return w;
}

void
call_add_repairs(const struct call *c, struct jw *w)
{
	if (c->repairs.len == 0)
		return;
	jw_key(w, "arg_repairs");
	jw_array(w);
	jw_raw(w, buf_str(&c->repairs));
	jw_end(w);
}
