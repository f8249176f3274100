/*
 * undoing.c - files become what they were before a call, because a person wants it.
 *
 * No agent's call, so it takes no stage of the pipeline; but it changes files, so the journal has
 * it as a call like others (tool "undo"), before it begins and when it is over, with an event for
 * each file. The work is done on a worker (src/undo); the gateway does not end before it has.
 */

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "call/stage.h"
#include "undo/undo.h"

#define STEPS_BYTES ((size_t)32 * MIB) /* a thousand long paths */

struct step {
	struct step *next;
	struct undo_step is;
};

struct undoing {
	struct gateway *gw;
	struct arena *arena;
	struct id call;
	struct undo_ask ask;
	struct step *first, **end;
	size_t undone, failed;
	bool cut; /* there was no memory for all steps */
	struct err err;
	int64_t opened_us;
	uint64_t opened_mono_us;
	gateway_answer_fn done;
	void *arg;
	struct work work;
};

/* ---- on a worker ---- */

static bool
texts_copy(struct undoing *u, struct undo_step *s)
{
	struct str *const texts[] = {&s->change, &s->call, &s->session, &s->workspace, &s->path};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i]->ptr && !(*texts[i] = arena_str(u->arena, *texts[i])).ptr)
			return false;
	return true;
}

static void
step_done(const struct undo_step *s, void *arg)
{
	struct undoing *u = arg;
	struct step *one = ARENA_NEW(u->arena, struct step);

	u->undone += s->err.code == 0;
	u->failed += s->err.code < 0;
	if (one)
		one->is = *s;
	if (!one || !texts_copy(u, &one->is)) {
		u->cut = true;
		return;
	}
	*u->end = one;
	u->end = &one->next;
}

static void
undo_there(void *arg)
{
	struct undoing *u = arg;

	(void)undo_run(u->gw->undo, &u->ask, step_done, u, &u->err);
}

/* ---- the journal ---- */

static void
ask_write(struct jw *w, const struct undoing *u)
{
	struct str before = {NULL, 0};

	jw_object(w);
	if (u->ask.call.ptr)
		jw_member(w, "call", u->ask.call);
	if (u->ask.turn.ptr)
		jw_member(w, "turn", u->ask.turn);
	if (u->ask.last)
		jw_member_bool(w, "last", true);
	jw_member_bool(w, "force", u->ask.force);
	jw_key(w, "undone_calls");
	jw_array(w);
	for (const struct step *s = u->first; s; s = s->next) {
		if (!str_eq(s->is.call, before))
			jw_str(w, s->is.call);
		before = s->is.call;
	}
	jw_end(w);
	jw_end(w);
}

static void
paths_write(struct jw *w, const struct undoing *u)
{
	jw_array(w);
	for (const struct step *s = u->first; s; s = s->next)
		if (s->is.err.code == 0)
			jw_str(w, s->is.path);
	jw_end(w);
}

/* Why not all of it is undone; {NULL,0}: all is. */
static struct str
trouble(const struct undoing *u)
{
	if (u->err.code < 0)
		return str_of(err_text(&u->err));
	for (const struct step *s = u->first; s; s = s->next)
		if (s->is.err.code < 0)
			return str_of(err_text(&s->is.err));
	return (struct str){NULL, 0};
}

static void
journal_undo(const struct undoing *u, const char *state)
{
	struct buf input = BUF_INIT(LIMIT_JOURNAL_INPUT_BYTES),
		   paths = BUF_INIT(LIMIT_RESULT_BYTES);
	struct jw in = jw(&input), files = jw(&paths);
	bool over = state[0] != 'r';

	if (!u->gw->store)
		return;
	ask_write(&in, u);
	paths_write(&files, u);
	struct store_call row = {
	    .id = id_str(&u->call),
	    .tool_use_id = id_str(&u->call),
	    .session = u->first ? u->first->is.session : (struct str){NULL, 0},
	    .tool = S("undo"),
	    .capability = "write",
	    .reversibility = "compensatable",
	    .state = state,
	    .message = over ? trouble(u) : (struct str){NULL, 0},
	    .rule = S("asked for by a person"),
	    .input = buf_failed(&input) ? S("null") : buf_str(&input),
	    .input_is_json = true,
	    .files_modified =
		u->undone && !buf_failed(&paths) ? buf_str(&paths) : (struct str){NULL, 0},
	    .opened_us = u->opened_us,
	    .closed_us = over ? clock_wall_us() : 0,
	    .ran_ms = (int64_t)(clock_mono_us() - u->opened_mono_us) / 1000,
	    .attempts = 1,
	    .success = over && u->failed == 0 && u->err.code == 0,
	};
	if (over && u->undone == 0)
		row.error_class = "execution_error";
	if (store_put_call(u->gw->store, &row) < 0)
		log_line(LOG_ERROR, "the journal did not take a row", "call", u->call.text, NULL);
	buf_done(&input);
	buf_done(&paths);
}

/* ---- events ---- */

static void
tell_changed(const struct undoing *u, const struct undo_step *s)
{
	struct jw *w = bus_begin(u->gw->bus, &(struct event_draft){.type = EVENT_FILE_CHANGED,
								   .session = s->session});

	jw_member_z(w, "tool_name", "undo");
	jw_member_z(w, "call_id", u->call.text);
	jw_member_z(w, "type", change_kind_name(s->kind));
	jw_member(w, "path", s->path);
	jw_member(w, "workspace", s->workspace);
	jw_member_int(w, "size", (int64_t)s->size);
	jw_member_z(w, "change_id", s->note.id.text[0] ? s->note.id.text : NULL);
	jw_member_bool(w, "undoable", s->note.undoable);
	bus_end(u->gw->bus, NULL);
}

static void
tell_undone(const struct undoing *u, const struct undo_step *s)
{
	struct jw *w = bus_begin(u->gw->bus, &(struct event_draft){.type = EVENT_FILE_UNDONE,
								   .session = s->session});

	jw_member(w, "path", s->path);
	jw_member(w, "workspace", s->workspace);
	jw_member_z(w, "call_id", u->call.text);
	jw_member(w, "undone_call_id", s->call);
	jw_member(w, "undone_change_id", s->change);
	jw_member_bool(w, "forced", u->ask.force);
	bus_end(u->gw->bus, NULL);
}

static void
tell(const struct undoing *u)
{
	for (const struct step *s = u->first; s; s = s->next) {
		if (s->is.err.code < 0)
			continue;
		tell_changed(u, &s->is);
		tell_undone(u, &s->is);
	}
}

/* ---- the answer ---- */

static void
step_write(struct jw *w, const struct undo_step *s)
{
	jw_object(w);
	jw_member(w, "path", s->path);
	jw_member(w, "workspace", s->workspace);
	jw_member_z(w, "type", change_kind_name(s->kind));
	jw_member(w, "change_id", s->change);
	jw_member(w, "call_id", s->call);
	jw_member_bool(w, "ok", s->err.code == 0);
	if (s->err.code < 0)
		jw_member_z(w, "error", err_text(&s->err));
	jw_end(w);
}

static void
answer_write(struct jw *w, const struct undoing *u)
{
	jw_object(w);
	jw_member_z(w, "call_id", u->ask.dry_run ? NULL : u->call.text);
	jw_member_bool(w, "dry_run", u->ask.dry_run);
	jw_member_int(w, "undone", (int64_t)u->undone);
	jw_member_int(w, "failed", (int64_t)u->failed);
	jw_key(w, "files");
	jw_array(w);
	for (const struct step *s = u->first; s; s = s->next)
		step_write(w, &s->is);
	jw_end(w);
	if (u->cut)
		jw_member_bool(w, "truncated", true);
	jw_end(w);
}

static void
undo_over(void *arg)
{
	struct undoing *u = arg;
	struct gateway *gw = u->gw;
	struct buf answer = BUF_INIT(2 * STEPS_BYTES);
	struct jw w = jw(&answer);

	if (!u->ask.dry_run) {
		tell(u);
		journal_undo(u, u->undone ? "completed" : "failed");
	}
	gw->undoing--;
	answer_write(&w, u);
	u->done(&u->err, &answer, u->arg);
	buf_done(&answer);
	arena_free(u->arena); /* and with it u */
	if (gateway__is_idle(gw))
		defer(gw->loop, &gw->idle_soon, gw->idle, gw->idle_arg);
}

/* ---- the order ---- */

static struct undoing *
undoing_new(struct gateway *gw, const struct undo_order *o)
{
	struct arena *arena = arena_new(STEPS_BYTES);
	struct undoing *u = arena ? ARENA_NEW(arena, struct undoing) : NULL;

	if (!u) {
		arena_free(arena);
		return NULL;
	}
	u->gw = gw;
	u->arena = arena;
	u->end = &u->first;
	u->call = id_new("call_");
	u->opened_us = clock_wall_us();
	u->opened_mono_us = clock_mono_us();
	u->ask = (struct undo_ask){
	    .call = o->call.ptr ? arena_str(arena, o->call) : o->call,
	    .turn = o->turn.ptr ? arena_str(arena, o->turn) : o->turn,
	    .workspace = o->workspace.ptr ? arena_str(arena, o->workspace) : o->workspace,
	    .last = o->last,
	    .force = o->force,
	    .dry_run = o->dry_run,
	    .by = id_str(&u->call),
	    .shut = gw->shut,
	};
	return u;
}

int
gateway_undo(struct gateway *gw, const struct undo_order *o, gateway_answer_fn done, void *arg,
	     struct err *e)
{
	int code;

	if (gw->stopping)
		return err_plain(e, E_STOPPING);
	if (!gw->undo)
		return err_set(e, E_UNAVAILABLE, "this gateway keeps nothing to undo");
	if (!o->dry_run && gw->store && (code = store_health(gw->store, e)) < 0)
		return code;
	struct undoing *u = undoing_new(gw, o);
	if (!u)
		return err_plain(e, E_NOMEM);
	u->done = done;
	u->arg = arg;
	if (!o->dry_run)
		journal_undo(u, "running");
	if (work_start(gw->loop, &u->work, undo_there, undo_over, u) < 0) {
		err_plain(&u->err, E_SYSTEM);
		if (!o->dry_run)
			journal_undo(u, "failed");
		arena_free(u->arena);
		return err_plain(e, E_SYSTEM);
	}
	gw->undoing++;
	return 0;
}

/* ---- the history ---- */

struct reading {
	struct undo *undo;
	struct undo_query query; /* texts in `texts` */
	struct buf texts, rows;
	bool more;
	struct err err;
	gateway_answer_fn done;
	void *arg;
	struct work work;
};

static void
read_there(void *arg)
{
	struct reading *r = arg;

	(void)undo_list(r->undo, &r->query, &r->rows, &r->more, &r->err);
}

static void
reading_free(struct reading *r)
{
	buf_done(&r->texts);
	buf_done(&r->rows);
	free(r);
}

static void
read_over(void *arg)
{
	struct reading *r = arg;
	struct buf answer = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&answer);

	jw_object(&w);
	jw_key(&w, "changes");
	jw_array(&w);
	if (r->rows.len)
		jw_raw(&w, buf_str(&r->rows));
	jw_end(&w);
	jw_member_bool(&w, "more", r->more);
	jw_end(&w);
	r->done(&r->err, &answer, r->arg);
	buf_done(&answer);
	reading_free(r);
}

/* One after the other, so that their place is known when all are here. */
static void
texts_fill(struct reading *r, const struct changes_query *q)
{
	struct str parts[] = {q->session, q->call, q->pattern};
	struct str *to[] = {&r->query.session, &r->query.call, &r->query.pattern};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		buf_add(&r->texts, parts[i]);
	for (size_t i = 0, at = 0; i < ARRAY_LEN(parts); at += parts[i++].len)
		if (parts[i].ptr && !buf_failed(&r->texts))
			*to[i] = (struct str){buf_str(&r->texts).ptr + at, parts[i].len};
	r->query.limit = q->limit;
}

int
gateway_changes(struct gateway *gw, const struct changes_query *q, gateway_answer_fn done,
		void *arg, struct err *e)
{
	if (!gw->undo)
		return err_set(e, E_UNAVAILABLE, "this gateway keeps no history of changes");
	struct reading *r = calloc(1, sizeof(*r));
	if (!r)
		return err_plain(e, E_NOMEM);
	r->undo = gw->undo;
	r->done = done;
	r->arg = arg;
	buf_init(&r->texts, 2 * LIMIT_PATH);
	buf_init(&r->rows, LIMIT_ANSWER_BYTES / 2);
	texts_fill(r, q);
	int code = buf_failed(&r->texts) ? err_set(e, E_BAD_REQUEST, "the pattern is too long") : 0;
	if (code == 0 && work_start(gw->loop, &r->work, read_there, read_over, r) < 0)
		code = err_plain(e, E_SYSTEM);
	if (code < 0)
		reading_free(r);
	return code;
}
