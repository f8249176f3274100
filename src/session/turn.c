/* turn.c - collecting results until the last one is in. */

#include "session/turn.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/spare.h"

static const char *const state_names[] = {[TURN_OPEN] = "open",
					  [TURN_COMPLETED] = "completed",
					  [TURN_CANCELLED] = "cancelled",
					  [TURN_SUPERSEDED] = "superseded"};

const char *
turn_state_name(enum turn_state s)
{
	return state_names[s];
}

#define HOLD_SLACK 256 /* not worth another block */

/* Memory */

static size_t
block_bytes(size_t count)
{
	return sizeof(struct turn) + count * sizeof(struct turn_result);
}

static void
turn_free(struct turn *t)
{
	t->session->sessions->turn_bytes -= t->bytes;
	if (t->ended_node.list) {
		t->session->ended_count--;
		t->session->ended_lone -= t->lone;
		t->session->ended_bytes -= t->bytes;
	}
	list_remove(&t->node);
	list_remove(&t->ended_node);
	messages_free(&t->begun_by);
	messages_free(&t->absorbed);
	buf_done(&t->taken_back);
	free(t->stopped_at);
	for (size_t i = 0; i < t->count; i++) {
		spare_put(t->results[i].tool_use_id, t->results[i].names_bytes);
		buf_done(&t->results[i].content);
		buf_done(&t->results[i].modified);
		buf_done(&t->results[i].repairs);
		buf_done(&t->results[i].artifacts);
		buf_done(&t->results[i].unknown);
		buf_done(&t->results[i].extra);
		buf_done(&t->results[i].rpc_data);
	}
	spare_put(t, block_bytes(t->count));
}

static bool
has_room(struct sessions *all, size_t bytes)
{
	for (struct node *n;
	     all->turn_bytes + bytes > LIMIT_TURNS_TOTAL && (n = list_first(&all->ended));)
		turn_free(CONTAINER_OF(n, struct turn, ended_node));
	return all->turn_bytes + bytes <= LIMIT_TURNS_TOTAL;
}

static void
turn_grow(struct turn *t, size_t bytes)
{
	t->bytes += bytes;
	t->session->sessions->turn_bytes += bytes;
}

/* What it takes before it has a result; how many can be open is limited elsewhere. */
static size_t
bare_bytes(const struct turn *t)
{
	size_t bytes = block_bytes(t->count);

	for (size_t i = 0; i < t->count; i++)
		bytes += t->results[i].names_bytes;
	return bytes;
}

static bool
turn_hold(struct turn *t, struct buf *b)
{
	if (b->cap > b->len + HOLD_SLACK || b->len == 0)
		buf_trim(b);
	if (t->bytes + b->cap > LIMIT_TURN_BYTES || !has_room(t->session->sessions, b->cap))
		return false;
	turn_grow(t, b->cap);
	return true;
}

/* Life */

int
turn_open(struct session *s, size_t count, enum turn_shape shape, bool attended, struct turn **ret,
	  struct err *e)
{
	if (count > LIMIT_CALLS_PER_TURN)
		return err_set(e, E_LIMIT, "a message may hold at most %d calls, this has %zu",
			       LIMIT_CALLS_PER_TURN, count);
	struct turn *t = spare_new(block_bytes(count));
	if (!t)
		return err_plain(e, E_NOMEM);
	t->results = (struct turn_result *)(void *)(t + 1); /* one block */
	t->id = id_new("turn_");
	t->session = s;
	t->count = count;
	t->shape = shape;
	t->attended = attended;
	list_init(&t->begun_by);
	list_init(&t->absorbed);
	*ret = t;
	return 0;
}

int
turn_expect(struct turn *t, size_t i, struct id call, struct str tool_use_id, struct str tool)
{
	struct turn_result *r = &t->results[i];

	CHECK(i < t->count && !r->tool);
	r->call = call;
	r->names_bytes = tool_use_id.len + tool.len + 2;
	char *text = spare_get(r->names_bytes);
	if (!text)
		return E_NOMEM;
	r->tool_use_id = text;
	*(char *)mempcpy(text, tool_use_id.ptr ? tool_use_id.ptr : "", tool_use_id.len) = '\0';
	r->tool = text + tool_use_id.len + 1;
	*(char *)mempcpy(r->tool, tool.ptr ? tool.ptr : "", tool.len) = '\0';
	return 0;
}

void
turn_discard(struct turn *t)
{
	CHECK(t->settled == 0 && !t->node.list);
	turn_free(t);
}

void
turn_begin(struct turn *t)
{
	inbox_begin(t);
	list_push(&t->session->turns, &t->node);
	turn_grow(t, bare_bytes(t) + messages_bytes(&t->begun_by));
	(void)has_room(t->session->sessions, 0); /* the oldest go */
	t->session->turn_count++;
	t->session->used_ms = clock_mono_ms();
	t->started_us = clock_wall_us();
	memcpy(t->event, t->session->event, sizeof(t->event));
	if (!t->lone || t->group[0] || t->superseded_from.text[0])
		turn_tell(t);
}

void
turn_tell(struct turn *t)
{
	struct bus *bus = t->session->sessions->bus;

	if (t->told)
		return;
	t->told = true;
	struct jw *w = bus_begin(bus, &(struct event_draft){
					  .type = EVENT_TURN_STARTED,
					  .session = id_str(&t->session->id),
					  .turn = id_str(&t->id),
					  .parent = str_of(t->session->event),
				      });
	jw_member_int(w, "tool_call_count", (int64_t)t->count);
	if (t->group[0])
		jw_member_z(w, "turn_group_id", t->group);
	if (t->superseded_from.text[0])
		jw_member_z(w, "superseded_from", t->superseded_from.text);
	bus_end(bus, t->event);
}

struct turn *
turn_find(const struct session *s, struct str id)
{
	LIST_EACH (&s->turns, at) {
		struct turn *t = CONTAINER_OF(at, struct turn, node);
		if (str_eq(id_str(&t->id), id))
			return t;
	}
	return NULL;
}

void
turn_orphan(struct turn *t)
{
	t->done = NULL;
	t->behind = NULL;
}

static void
tell_end(const struct turn *t, bool given_up)
{
	struct bus *bus = t->session->sessions->bus;
	size_t failed = 0;

	for (size_t i = 0; i < t->count; i++)
		failed += t->results[i].is_error;
	struct jw *w =
	    bus_begin(bus, &(struct event_draft){
			       .type = given_up ? EVENT_TURN_CANCELLED : EVENT_TURN_COMPLETED,
			       .session = id_str(&t->session->id),
			       .turn = id_str(&t->id),
			       .parent = str_of(t->event),
			   });
	if (given_up)
		jw_member_z(w, "reason", t->superseding ? "superseded" : "user_cancel");
	jw_member_int(w, "tool_call_count", (int64_t)t->count);
	jw_member_int(w, "failed", (int64_t)failed);
	jw_key(w, "wall_time_seconds");
	jw_double(w, (double)(clock_wall_us() - t->started_us) / 1e6);
	bus_end(bus, NULL);
}

/* Who made a lone one has its result: a few are kept, and messages are not forgotten for them. */
static void
lone_forget(struct session *s)
{
	LIST_EACH (&s->turns, at) {
		struct turn *t = CONTAINER_OF(at, struct turn, node);
		if (s->ended_lone <= LIMIT_TURNS_KEPT_LONE)
			return;
		if (t->lone && t->ended_node.list)
			turn_free(t);
	}
}

static void
turn_end(struct turn *t)
{
	t->state = t->superseding  ? TURN_SUPERSEDED
		   : t->cancelling ? TURN_CANCELLED
				   : TURN_COMPLETED;
	bool given_up = t->state != TURN_COMPLETED;
	t->session->used_ms = clock_mono_ms();
	if (given_up || t->told)
		tell_end(t, given_up);
	if (t->done)
		t->done(t, t->arg);
	turn_orphan(t);
	/* Kept by the order of ending: a long turn is not forgotten the moment it is over. */
	list_remove(&t->node);
	list_push(&t->session->turns, &t->node);
	list_push(&t->session->sessions->ended, &t->ended_node);
	t->session->ended_count++;
	t->session->ended_lone += t->lone;
	t->session->ended_bytes += t->bytes;
	turns_forget(t->session, LIMIT_TURNS_KEPT);
	lone_forget(t->session);
}

static void
add_sentence(struct buf *content, const char *text)
{
	struct jw w = jw(content);

	jw_object(&w);
	jw_member_z(&w, "type", "text");
	jw_member_z(&w, "text", text);
	jw_end(&w);
}

struct buf
turn_take_content(struct turn *t, size_t i)
{
	struct turn_result *r = &t->results[i];
	struct buf content = buf_take(&r->content);
	char text[80];

	t->bytes -= content.cap;
	t->session->sessions->turn_bytes -= content.cap;
	snprintf(text, sizeof(text), "the %zu bytes of this result went to the client",
		 content.len);
	add_sentence(&r->content, text);
	turn_grow(t, r->content.cap);
	return content;
}

/* The call is over and cannot be taken back; only what it said is lost. */
static void
result_lost(struct turn_result *r, size_t bytes)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "the call %s, but its result of %zu bytes is lost: there is no room for it "
		 "beside the other results",
		 r->is_error ? "failed" : "succeeded", bytes);
	buf_done(&r->repairs);
	buf_done(&r->modified);
	buf_done(&r->content);
	buf_done(&r->extra);
	add_sentence(&r->content, text);
	r->is_error = true;
	r->code = E_LIMIT;
	r->twice = true;
	r->error_class = err_class_name(err_row(E_LIMIT)->class);
}

void
turn_settle(struct turn *t, size_t i, struct turn_result *came)
{
	struct turn_result *r = &t->results[i];

	CHECK(i < t->count && !r->settled);
	r->settled = true;
	r->is_error = came->is_error;
	r->error_class = came->error_class;
	r->code = came->code;
	r->retry_after_ms = came->retry_after_ms;
	r->twice = came->twice;
	r->rpc_code = came->rpc_code;
	r->rpc_data = buf_take(&came->rpc_data);
	r->extra = buf_take(&came->extra);
	r->content = buf_take(&came->content);
	r->modified = buf_take(&came->modified);
	r->repairs = buf_take(&came->repairs);
	r->artifacts = buf_take(&came->artifacts);
	r->latency_ms = came->latency_ms;
	r->cached = came->cached;
	r->unrecorded = came->unrecorded;
	r->effect = came->effect;
	r->unknown = buf_take(&came->unknown);
	size_t bytes = r->content.len + r->modified.len + r->extra.len;
	if (!turn_hold(t, &r->rpc_data) || !turn_hold(t, &r->extra) || !turn_hold(t, &r->repairs) ||
	    !turn_hold(t, &r->modified) || !turn_hold(t, &r->artifacts) ||
	    !turn_hold(t, &r->unknown) || !turn_hold(t, &r->content))
		result_lost(r, bytes);
	if (++t->settled == t->count)
		turn_end(t);
}

static void
content_array(struct jw *w, const struct buf *content)
{
	/* Only the array's brackets are missing. */
	jw_array(w);
	if (content->len)
		jw_raw(w, buf_str(content));
	jw_end(w);
}

static void
anthropic_result(struct jw *w, const struct turn_result *r)
{
	jw_object(w);
	jw_member_z(w, "type", "tool_result");
	jw_member_z(w, "tool_use_id", r->tool_use_id);
	jw_key(w, "content");
	content_array(w, &r->content);
	jw_member_bool(w, "is_error", r->is_error);
	jw_end(w);
}

static void
openai_result(struct jw *w, const struct turn_result *r)
{
	jw_object(w);
	jw_member_z(w, "role", "tool");
	jw_member_z(w, "tool_call_id", r->tool_use_id);
	jw_key(w, "content");
	content_array(w, &r->content);
	jw_end(w);
}

void
turn_write_provenance(struct jw *w, const struct turn_result *r)
{
	jw_object(w);
	if (r->repairs.len) {
		jw_key(w, "arg_repairs");
		content_array(w, &r->repairs);
	}
	if (r->unrecorded)
		jw_member_bool(w, "not_recorded", true);
	if (r->unknown.len) {
		jw_key(w, "unknown_effects");
		content_array(w, &r->unknown);
	}
	jw_end(w);
}

void
turn_write_artifacts(struct jw *w, const struct turn_result *r)
{
	content_array(w, &r->artifacts);
}

/* What neither shape has room for. */
static void
call_outcome(struct jw *w, const struct turn_result *r)
{
	jw_object(w);
	jw_member_z(w, "call_id", r->call.text);
	jw_member_z(w, "tool_use_id", r->tool_use_id);
	jw_member_z(w, "tool_name", r->tool);
	jw_member_bool(w, "settled", r->settled);
	if (r->settled) {
		jw_member_bool(w, "is_error", r->is_error);
		jw_member_z(w, "error_class", r->error_class);
		if (r->retry_after_ms)
			jw_member_int(w, "retry_after", (r->retry_after_ms + 999) / 1000);
		jw_member_int(w, "latency_ms", r->latency_ms);
		jw_key(w, "files_modified");
		content_array(w, &r->modified);
	}
	if (r->artifacts.len) {
		jw_key(w, "artifacts");
		turn_write_artifacts(w, r);
	}
	if (r->cached)
		jw_member_bool(w, "cached", true);
	if (r->effect.text[0])
		jw_member_z(w, "effect_id", r->effect.text);
	if (r->repairs.len || r->unrecorded || r->unknown.len) {
		jw_key(w, "provenance");
		turn_write_provenance(w, r);
	}
	jw_end(w);
}

void
turn_write_result(struct jw *w, const struct turn *t, size_t i)
{
	(t->shape == SHAPE_OPENAI ? openai_result : anthropic_result)(w, &t->results[i]);
}

/* Only where somebody spoke, or asked for groups: others see what they always saw. */
static void
write_group(struct jw *w, const struct turn *t)
{
	if (t->group[0])
		jw_member_z(w, "turn_group_id", t->group);
	if (t->superseded_from.text[0])
		jw_member_z(w, "superseded_from", t->superseded_from.text);
	if (t->superseding) {
		jw_member_z(w, "superseded_by",
			    t->superseded_by.text[0] ? t->superseded_by.text : NULL);
		jw_member_z(w, "interrupt_point", t->stopped_at);
	}
	if (t->taken_back.len) {
		jw_key(w, "compensation");
		jw_raw(w, buf_str(&t->taken_back));
	}
	if (t->committed)
		jw_member_bool(w, "committed", true);
	if (t->begun_by.len)
		jw_key(w, "messages_taken"), messages_write(w, &t->begun_by);
	if (t->absorbed.len)
		jw_key(w, "absorbed_messages"), messages_write(w, &t->absorbed);
}

void
turn_write(struct jw *w, const struct turn *t)
{
	jw_object(w);
	jw_member_z(w, "turn_id", t->id.text);
	jw_member_z(w, "session_id", t->session->id.text);
	jw_member_z(w, "state", turn_state_name(t->state));
	write_group(w, t);
	jw_key(w, "calls");
	jw_array(w);
	for (size_t i = 0; i < t->count; i++)
		call_outcome(w, &t->results[i]);
	jw_end(w);
	if (t->state != TURN_OPEN) {
		jw_key(w, t->shape == SHAPE_OPENAI ? "messages" : "content");
		jw_array(w);
		for (size_t i = 0; i < t->count; i++)
			turn_write_result(w, t, i);
		jw_end(w);
	}
	jw_end(w);
}

void
turns_forget(struct session *s, size_t keep)
{
	/* The oldest come first; before them are only those that are still open. */
	LIST_EACH (&s->turns, at) {
		struct turn *t = CONTAINER_OF(at, struct turn, node);
		if (s->ended_count <= keep && s->ended_bytes <= LIMIT_TURNS_BYTES)
			return;
		if (t->ended_node.list)
			turn_free(t);
	}
}
