/* undo_told.c - what was undone, as the journal, the events and whoever asked hear of it. */

#include "base/log.h"
#include "call/stage.h"
#include "call/undoing.h"

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
	for (const struct effect_step *s = u->effects; s; s = s->next)
		if (!s->files && s->number && s->err.code == 0)
			jw_str(w, s->call);
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
	for (const struct effect_step *s = u->effects; s; s = s->next)
		if (s->err.code < 0 && !s->before)
			return str_of(err_text(&s->err));
	return (struct str){NULL, 0};
}

void
undo_journal(const struct undoing *u, const char *state)
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
	    .session = u->first     ? u->first->is.session
		       : u->effects ? u->effects->session
				    : (struct str){NULL, 0},
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
tell_compensated(const struct undoing *u, const struct effect_step *s)
{
	struct jw *w =
	    bus_begin(u->gw->bus, &(struct event_draft){.type = EVENT_EFFECT_COMPENSATED,
							.session = s->session,
							.turn = json_str(json_get(json_root(s->doc),
										  S("turn")))});

	jw_member(w, "effect_id", s->id);
	jw_member(w, "tool_name", s->tool);
	jw_member_z(w, "call_id", u->call.text);
	jw_member(w, "undone_call_id", s->call);
	jw_member_z(w, "compensation_call_id", s->by_call.text);
	bus_end(u->gw->bus, NULL);
}

void
undo_tell(const struct undoing *u)
{
	for (const struct effect_step *s = u->effects; s; s = s->next)
		if (!s->files && s->number && s->err.code == 0)
			tell_compensated(u, s);
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
numbers_write(struct jw *w, const struct undoing *u)
{
	jw_member_z(w, "call_id", u->ask.dry_run ? NULL : u->call.text);
	jw_member_bool(w, "dry_run", u->ask.dry_run);
	jw_member_int(w, "undone", (int64_t)u->undone);
	jw_member_int(w, "failed", (int64_t)u->failed);
	jw_member_int(w, "irreversible", (int64_t)u->irreversible);
}

static void
steps_write(struct jw *w, const struct undoing *u)
{
	jw_key(w, "files");
	jw_array(w);
	for (const struct step *s = u->first; s; s = s->next)
		step_write(w, &s->is);
	jw_end(w);
	jw_key(w, "effects");
	jw_array(w);
	for (const struct effect_step *s = u->effects; s; s = s->next)
		if (!s->files && !s->before)
			effect_step_write(w, s);
	jw_end(w);
}

static void
answer_write(struct buf *out, const struct undoing *u, bool whole)
{
	struct jw w = jw(out);

	jw_object(&w);
	numbers_write(&w, u);
	if (whole)
		steps_write(&w, u);
	if (u->cut || !whole)
		jw_member_bool(&w, "truncated", true);
	jw_end(&w);
}

void
undo_answer_write(struct buf *out, const struct undoing *u)
{
	answer_write(out, u, true);
	if (!u->most || (!buf_failed(out) && out->len <= u->most))
		return;
	buf_reset(out);
	answer_write(out, u, false);
}
