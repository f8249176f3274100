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

#include "call/undoing.h"

#include "call/stage.h"
#include "effect/ledger.h"

#define STEPS_BYTES ((size_t)32 * MIB) /* a thousand long paths */

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

static void
plan_there(void *arg)
{
	undo_plan(arg);
}

static void
where_there(void *arg)
{
	struct undoing *u = arg;

	(void)workspace_open(u->where_path, u->gw->shut, &u->where, &u->where_err);
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
		effect_step_done(s);
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

	if (!u->ask.dry_run) {
		undo_tell(u);
		undo_journal(u, u->undone ? "completed" : "failed");
	}
	gw->undoing--;
	undo_answer_write(&answer, u);
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
			u->irreversible += !s->before && !s->unread;
			u->failed += s->unread;
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
		effect_step_done(s);
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
		effect_judge(u, s);
		if (s->files || s->err.code < 0 || !in_workspace(u, s))
			continue;
		struct str at = json_str(json_get(json_root(s->doc), S("executed_at")));
		if (str_cmp(at, str_of(u->last_change)) <= 0 &&
		    !str_eq(s->call, id_str(&u->last_call))) /* or it is both */
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
	u->most = o->most;
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
		undo_journal(u, "running");
	if (plan_start(u) < 0) {
		err_plain(&u->err, E_SYSTEM);
		if (!o->dry_run)
			undo_journal(u, "failed");
		undoing_free(u);
		return err_plain(e, E_SYSTEM);
	}
	gw->undoing++;
	return 0;
}
