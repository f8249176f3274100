/*
 * undoing.c - the world becomes what it was before a call, because a person wants it.
 *
 *	plan (the ledger: what did it do?) --> each effect, newest first --> files that are left
 *	                                        files: src/undo, on a worker
 *	                                        else:  compensating.c, a call of its own
 *
 * No agent's call, so it takes no stage of the pipeline; but it changes things, so the journal has
 * it as a call like others (tool "undo"), before it begins and when it is over, with an event for
 * each file and each effect. What cannot be taken back does not keep the rest from it. The gateway
 * does not end before it is over.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "call/compensating.h"
#include "call/stage.h"
#include "effect/ledger.h"
#include "undo/undo.h"

#define EFFECTS_MOST 1000 /* of one order */
#define LAST_LOOK 50      /* effects, to find the last one of a workspace */

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
	size_t undone, failed, irreversible;
	struct effect_step *effects, **effects_end; /* newest first */
	struct effect_step *at;                     /* the next one */
	struct effect_step *busy;                   /* whose files are being undone */
	size_t numbers;
	bool found_last;              /* which call is meant by `last` is known, if any */
	char last_change[CLOCK_TEXT]; /* when the last file was changed there; "": never */
	struct workspace *where;      /* for calls that take effects back; NULL: not yet, or none */
	char where_path[LIMIT_PATH];
	struct err where_err;
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

/* At the end all files are gone through once more, for those the ledger does not know of: what was
 * refused before is told once. */
static bool
was_told(struct undoing *u, const struct undo_step *s)
{
	for (struct step *f = u->first; f; f = f->next) {
		if (!str_eq(f->is.change, s->change))
			continue;
		if (f->is.err.code < 0 && s->err.code == 0) { /* now it could be */
			u->failed--;
			u->undone++;
			f->is.err = s->err;
			f->is.kind = s->kind;
			f->is.size = s->size;
			f->is.note = s->note;
		}
		return true;
	}
	return false;
}

static void
step_done(const struct undo_step *s, void *arg)
{
	struct undoing *u = arg;

	if (was_told(u, s))
		return;
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

	if (u->gw->undo)
		(void)undo_run(u->gw->undo, &u->ask, step_done, u, &u->err);
	else
		err_set(&u->err, E_NO_CALL, "nothing is known that it changed");
}

/* The files of one effect. */
static void
files_there(void *arg)
{
	struct undoing *u = arg;
	struct undo_ask ask = u->ask;

	ask.call = u->busy->call;
	ask.turn = (struct str){NULL, 0};
	(void)undo_run(u->gw->undo, &ask, step_done, u, &u->busy->err);
}

static bool
has_files(struct undoing *u, struct str call)
{
	struct buf rows = BUF_INIT(64 * KIB);
	bool more;
	int code = u->gw->undo
		       ? undo_list(u->gw->undo, &(struct undo_query){.call = call, .limit = 1},
				   &rows, &more, NULL)
		       : E_NO_CALL;
	bool some = code == 0 && rows.len > 0;

	buf_done(&rows);
	return some;
}

/* What the ledger has of one effect, whole. */
static int
effect_read(struct undoing *u, struct str id, struct err *e)
{
	static const char *const names[] = {"id",     "call",  "session",          "tool",
					    "tenant", "agent", "compensation_tool"};
	struct effect_step *s = ARENA_NEW(u->arena, struct effect_step);
	struct buf text = BUF_INIT(LIMIT_ANSWER_BYTES);
	int code = s ? ledger_show(u->gw->ledger, id, &text, e) : err_plain(e, E_NOMEM);

	if (code == 0)
		code = json_parse(buf_str(&text), &json_door, &s->doc, e);
	buf_done(&text);
	if (code < 0)
		return code;
	struct str *const to[] = {&s->id,     &s->call,  &s->session,  &s->tool,
				  &s->tenant, &s->agent, &s->tool_back};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		*to[i] = json_str(json_get(json_root(s->doc), str_of(names[i])));
	s->files = has_files(u, s->call);
	*u->effects_end = s;
	u->effects_end = &s->next;
	return 0;
}

/* Reading, and what was never done, is nothing to be told of. */
static bool
is_of_interest(const struct json *row)
{
	struct str policy = json_str(json_get(row, S("policy")));
	bool harmless = str_is(policy, "pure") || str_is(policy, "idempotent");

	return !str_is(json_str(json_get(row, S("state"))), "failed") &&
	       (!harmless || json_str(json_get(row, S("compensation_tool"))).len > 0);
}

/* The last change to a file there, for comparison. */
static void
last_change_there(struct undoing *u)
{
	struct buf rows = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct json_doc *doc = NULL;
	bool more;

	buf_addc(&rows, '[');
	if (u->gw->undo && undo_list(u->gw->undo, &(struct undo_query){.limit = LAST_LOOK}, &rows,
				     &more, NULL) == 0) {
		buf_addc(&rows, ']');
		(void)json_parse(buf_str(&rows), &json_door, &doc, NULL);
	}
	for (struct json_iter it = json_iter(doc ? json_root(doc) : NULL);
	     !u->last_change[0] && json_next(&it);) {
		struct str where = json_str(json_get(it.value, S("workspace")));
		if (json_bool(json_get(it.value, S("undoable"))) &&
		    (!u->ask.workspace.ptr || str_eq(where, u->ask.workspace)))
			snprintf(u->last_change, sizeof(u->last_change), "%.*s",
				 STR_ARG(json_str(json_get(it.value, S("at")))));
	}
	json_doc_unref(doc);
	buf_done(&rows);
}

static void
plan_there(void *arg)
{
	struct undoing *u = arg;
	struct buf rows = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct json_doc *doc = NULL;
	struct effects_query q = {.call = u->ask.call,
				  .turn = u->ask.turn,
				  .compensatable = u->ask.last,
				  .limit = u->ask.last ? LAST_LOOK : EFFECTS_MOST};
	bool more;

	buf_addc(&rows, '[');
	int code = ledger_list(u->gw->ledger, &q, &rows, &more, &u->err);
	buf_addc(&rows, ']');
	if (code == 0)
		code = json_parse(buf_str(&rows), &json_door, &doc, &u->err);
	for (struct json_iter it = json_iter(doc ? json_root(doc) : NULL);
	     code == 0 && json_next(&it);)
		if (is_of_interest(it.value))
			code = effect_read(u, json_str(json_get(it.value, S("id"))), &u->err);
	json_doc_unref(doc);
	buf_done(&rows);
	if (u->ask.last)
		last_change_there(u);
}

static void
where_there(void *arg)
{
	struct undoing *u = arg;

	(void)workspace_open(u->where_path, u->gw->shut, &u->where, &u->where_err);
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

static void
tell(const struct undoing *u)
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
answer_write(struct jw *w, const struct undoing *u)
{
	jw_object(w);
	jw_member_z(w, "call_id", u->ask.dry_run ? NULL : u->call.text);
	jw_member_bool(w, "dry_run", u->ask.dry_run);
	jw_member_int(w, "undone", (int64_t)u->undone);
	jw_member_int(w, "failed", (int64_t)u->failed);
	jw_member_int(w, "irreversible", (int64_t)u->irreversible);
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
	if (u->cut)
		jw_member_bool(w, "truncated", true);
	jw_end(w);
}

/* Files are one part of it: that there are none left is no error where there is something else. */
static void
judge_all(struct undoing *u)
{
	bool all_before = u->effects != NULL, some = u->undone || u->failed || u->irreversible;

	for (const struct effect_step *s = u->effects; s; s = s->next)
		all_before = all_before && s->before;
	if (u->err.code != E_NO_CALL && u->err.code != E_EXISTS)
		return;
	if (some)
		u->err = ERR_NONE;
	else if (all_before)
		err_set(&u->err, E_EXISTS, "all of it was undone already");
}

static void
undoing_free(struct undoing *u)
{
	for (struct effect_step *s = u->effects; s; s = s->next)
		json_doc_unref(s->doc);
	workspace_unref(u->where);
	arena_free(u->arena); /* and with it u */
}

static void
undo_over(void *arg)
{
	struct undoing *u = arg;
	struct gateway *gw = u->gw;

	judge_all(u);
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
	undoing_free(u);
	if (gateway__is_idle(gw))
		defer(gw->loop, &gw->idle_soon, gw->idle, gw->idle_arg);
}

/* ---- one effect after the other ---- */

static void next_step(struct undoing *u);

static void
start_work(struct undoing *u, void (*there)(void *), void (*over)(void *))
{
	if (work_start(u->gw->loop, &u->work, there, over, u) == 0)
		return;
	err_plain(&u->err, E_SYSTEM);
	undo_over(u);
}

static void
noted(const struct err *e, const struct claim_found *found, void *arg)
{
	(void)e, (void)found, (void)arg;
}

/* The ledger knows of it as well; that it could not be told is no reason to say it is not so. */
static void
note_files(struct undoing *u, const struct effect_step *s)
{
	struct compensation c = {.effect = s->id, .by = id_str(&u->call)};

	if (ledger_compensate(u->gw->ledger, &c, noted, NULL) < 0)
		return;
	c.step = COMPENSATION_DONE;
	(void)ledger_compensate(u->gw->ledger, &c, noted, NULL);
}

static void
files_over(void *arg)
{
	struct undoing *u = arg;
	struct effect_step *s = u->busy;

	u->busy = NULL;
	bool all = s->err.code == 0;
	for (const struct step *f = u->first; f; f = f->next)
		all = all && !(str_eq(f->is.call, s->call) && f->is.err.code < 0);
	if (all)
		note_files(u, s);
	next_step(u);
}

static void
effect_over(struct effect_step *s, void *arg)
{
	struct undoing *u = arg;

	u->undone += s->err.code == 0;
	u->failed += s->err.code < 0;
	next_step(u);
}

static void
effect_start(struct undoing *u, struct effect_step *s)
{
	if (u->ask.dry_run)
		compensate_rehearse(u->gw, s);
	else if (!u->where)
		s->err = u->where_err;
	if (u->ask.dry_run || s->err.code < 0)
		effect_over(s, u);
	else
		compensate_start(u->gw, s, u->where, effect_over, u);
}

static void
next_step(struct undoing *u)
{
	struct effect_step *s;

	while ((s = u->at)) {
		u->at = s->next;
		if (s->err.code < 0) {
			u->irreversible += !s->before;
			s->number = s->before ? 0 : ++u->numbers;
			continue;
		}
		if (s->files && u->ask.dry_run)
			continue; /* with all the others */
		s->number = ++u->numbers;
		if (!s->files) {
			effect_start(u, s);
			return;
		}
		u->busy = s;
		start_work(u, files_there, files_over);
		return;
	}
	start_work(u, undo_there, undo_over);
}

/* ---- where ---- */

static bool
needs_where(const struct undoing *u)
{
	for (const struct effect_step *s = u->effects; s; s = s->next)
		if (!s->files && s->err.code == 0)
			return !u->ask.dry_run;
	return false;
}

static void
where_over(void *arg)
{
	next_step(arg);
}

static void
where_found(const struct store_page *page, void *arg)
{
	struct undoing *u = arg;
	struct json_doc *doc = NULL;
	struct str path = {NULL, 0};

	if (page->code == 0 && page->count > 0 &&
	    json_parse(page->rows[0].json, &json_door, &doc, NULL) == 0)
		path = json_str(json_get(json_root(doc), S("workspace_path")));
	if (path.len > 0 && path.len < sizeof(u->where_path)) {
		memcpy(u->where_path, path.ptr, path.len);
		json_doc_unref(doc);
		start_work(u, where_there, where_over);
		return;
	}
	json_doc_unref(doc);
	err_set(&u->where_err, E_NO_WORKSPACE,
		"where its call was made is not known any more, so none can be made there");
	next_step(u);
}

/* All effects of one order are of one session; it may be gone. */
static void
find_where(struct undoing *u)
{
	struct session *s = u->effects ? session_find(u->gw->sessions, u->effects->session) : NULL;
	struct store_query q = {.limit = 1};

	if (!needs_where(u)) {
		next_step(u);
	} else if (s) {
		u->where = workspace_ref(s->workspace);
		next_step(u);
	} else {
		q.id = u->effects->session;
		if (!u->gw->store || store_find_sessions(u->gw->store, &q, where_found, u) < 0)
			where_found(&(struct store_page){.code = E_STORE}, u);
	}
}

/* ---- the plan ---- */

/* What is said of tools may change while effects are being taken back: the name is kept. */
static void
effect_judge(struct undoing *u, struct effect_step *s)
{
	effect_step_judge(u->gw, s, s->files);
	if (s->tool_back.ptr)
		s->tool_back = arena_str(u->arena, s->tool_back);
}

static void
steps_forget(struct undoing *u)
{
	for (struct effect_step *s = u->effects; s; s = s->next)
		json_doc_unref(s->doc);
	u->effects = NULL;
	u->effects_end = &u->effects;
}

static bool
in_workspace(const struct undoing *u, const struct effect_step *s)
{
	const struct session *of = session_find(u->gw->sessions, s->session);

	return !u->ask.workspace.ptr ||
	       (of && str_is(u->ask.workspace, workspace_path(of->workspace)));
}

/* The last thing that was done there may be no file: then its call is meant. */
static void
settle_last(struct undoing *u)
{
	for (struct effect_step *s = u->effects; s; s = s->next) {
		struct str at = json_str(json_get(json_root(s->doc), S("executed_at")));
		effect_judge(u, s);
		if (s->files || s->err.code < 0 || !in_workspace(u, s))
			continue;
		if (str_cmp(at, str_of(u->last_change)) <= 0)
			break;
		u->ask.call = arena_str(u->arena, s->call);
		u->ask.last = !u->ask.call.ptr;
		break;
	}
	steps_forget(u);
}

static void
plan_over(void *arg)
{
	struct undoing *u = arg;

	if (u->err.code < 0) {
		undo_over(u);
		return;
	}
	if (u->ask.last && !u->found_last) {
		u->found_last = true;
		settle_last(u);
		if (!u->ask.last) {
			start_work(u, plan_there, plan_over);
			return;
		}
	}
	for (struct effect_step *s = u->effects; s; s = s->next)
		effect_judge(u, s);
	u->at = u->effects;
	find_where(u);
}

/* What is on its way to the ledger is there by now. */
static void
caught_up(const struct err *e, const struct claim_found *found, void *arg)
{
	struct undoing *u = arg;

	(void)e, (void)found; /* reading tells what is wrong */
	start_work(u, plan_there, plan_over);
}

static int
plan_start(struct undoing *u)
{
	struct claims *claims = u->gw->ledger ? ledger_claims(u->gw->ledger) : NULL;

	if (!claims)
		return work_start(u->gw->loop, &u->work, undo_there, undo_over, u);
	return claims->ops->look(claims, S("undo"), caught_up, u);
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
	u->effects_end = &u->effects;
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
	if (!gw->undo && !gw->ledger)
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
	if (plan_start(u) < 0) {
		err_plain(&u->err, E_SYSTEM);
		if (!o->dry_run)
			journal_undo(u, "failed");
		undoing_free(u);
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
