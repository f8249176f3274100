/*
 * run.c - files become what they were, newest change first.
 *
 * Each goes through the workspace as a tool's write would: with the lock of the place, never
 * through a link that leads out, and under a witness (ours), who sees the file as it is before
 * anything is done to it. That one decides: is it still what the call left? What is there then is
 * kept as any tool's change is, so that an undo can be undone.
 */

#include "undo/inside.h"

#include <stdio.h>
#include <stdlib.h>

struct rows {
	struct undo_row *at;
	size_t count;
};

/* In a dry run: what a file would be by now. */
struct would_be {
	struct would_be *next;
	const struct undo_row *row; /* that made it so */
};

struct run {
	struct undo *undo;
	const struct undo_ask *ask;
	struct would_be *dry;
	void (*each)(const struct undo_step *step, void *arg);
	void *arg;
};

/* One file on its way back. */
struct way {
	struct witness witness;
	struct run *run;
	const struct undo_row *row;
	struct undo_step *step;
};

/* ---- what is to be undone ---- */

static void
rows_free(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		undo__row_done(&rows->at[i]);
	free(rows->at);
}

static int
rows_add(struct rows *rows, struct undo_row *r, struct err *e)
{
	struct undo_row *more = realloc(rows->at, (rows->count + 1) * sizeof(*more));

	if (more)
		rows->at = more;
	if (!more || rows->count == LIMIT_UNDO_CHANGES) {
		undo__row_done(r);
		return more ? err_set(e, E_LIMIT, "more than %d changes cannot be undone in one go",
				      LIMIT_UNDO_CHANGES)
			    : err_plain(e, E_NOMEM);
	}
	rows->at[rows->count++] = *r;
	return 0;
}

static bool
lies_in(struct str path, struct str dir)
{
	return str_starts(path, dir) &&
	       (path.len == dir.len || path.ptr[dir.len] == '/' || str_is(dir, "/"));
}

static bool
is_here(const struct undo_ask *ask, const struct undo_row *r)
{
	return !ask->workspace.ptr || lies_in(ask->workspace, r->workspace) ||
	       lies_in(r->workspace, ask->workspace);
}

/* The call of the last change that can be undone, in out; "" when there is none. */
static void
last_call(struct undo *u, const struct undo_ask *ask, struct id *out)
{
	struct undo_row r;
	bool found = false;

	out->text[0] = '\0';
	sqlite3_reset(u->ops[OP_LAST]);
	while (!found && undo__row(u, OP_LAST, &r)) {
		found = undo__undoable(&r) && is_here(ask, &r);
		if (found)
			snprintf(out->text, sizeof(out->text), "%.*s", STR_ARG(r.call));
		undo__row_done(&r);
	}
	sqlite3_reset(u->ops[OP_LAST]);
}

static int
rows_read(struct undo *u, enum undo_op op, struct str key, struct rows *rows, struct id *before,
	  struct err *e)
{
	struct undo_row r;
	int code = 0;

	before->text[0] = '\0';
	undo__bind(u, op, "s", key);
	while (code == 0 && undo__row(u, op, &r)) {
		if (!r.undone_by.ptr) {
			code = rows_add(rows, &r, e);
			continue;
		}
		snprintf(before->text, sizeof(before->text), "%.*s", STR_ARG(r.undone_by));
		undo__row_done(&r);
	}
	if (sqlite3_reset(u->ops[op]) != SQLITE_OK && code == 0)
		code = undo__failed(u, "changes", e);
	return code;
}

static int
rows_find(struct undo *u, const struct undo_ask *ask, struct rows *rows, struct err *e)
{
	struct str key = ask->turn.ptr ? ask->turn : ask->call;
	struct id call = {""}, before;

	pthread_mutex_lock(&u->lock);
	if (ask->last) {
		last_call(u, ask, &call);
		key = id_str(&call);
	}
	int code = rows_read(u, ask->turn.ptr ? OP_OF_TURN : OP_OF_CALL, key, rows, &before, e);
	pthread_mutex_unlock(&u->lock);
	if (code < 0 || rows->count > 0)
		return code;
	if (before.text[0])
		return err_set(e, E_EXISTS, "it was undone already, by %s", before.text);
	if (ask->last)
		return err_set(e, E_NO_CALL, "there is no change that could be undone");
	return err_set(e, E_NO_CALL, "no change to a file is known of %.*s",
		       STR_ARG(str_utf8_upto(key, 64)));
}

/* ---- is it still what the call left? ---- */

static bool
undone_meanwhile(struct undo *u, const struct undo_row *r)
{
	pthread_mutex_lock(&u->lock);
	undo__bind(u, OP_UNDONE_BY, "s", r->id);
	bool gone = sqlite3_step(u->ops[OP_UNDONE_BY]) != SQLITE_ROW;
	bool undone = gone || undo__text(u->ops[OP_UNDONE_BY], 0).ptr;
	sqlite3_reset(u->ops[OP_UNDONE_BY]);
	pthread_mutex_unlock(&u->lock);
	return undone;
}

/* By whom, if that is known: a call that left it as it is now. */
static int
refuse_changed(struct undo *u, const struct undo_row *r, const char *now, struct err *e)
{
	struct undo_row later;
	struct id call = {""};

	pthread_mutex_lock(&u->lock);
	undo__bind(u, OP_LATER, "ssss", r->path, r->id, r->workspace, str_of(now));
	if (undo__row(u, OP_LATER, &later)) {
		snprintf(call.text, sizeof(call.text), "%.*s", STR_ARG(later.call));
		undo__row_done(&later);
	}
	sqlite3_reset(u->ops[OP_LATER]);
	pthread_mutex_unlock(&u->lock);
	if (call.text[0])
		return err_set(e, E_CHANGED,
			       "it was changed again by %s; undo that first, or use force",
			       call.text);
	return err_set(e, E_CHANGED,
		       "it is no longer what the call left; use force to undo it anyway");
}

static int
judge(struct run *run, const struct undo_row *r, const char *now, struct err *e)
{
	if (str_is(r->after, now) && r->after.ptr)
		return 0;
	/* Of a process that died before it could: there is nothing to take back. */
	if (!r->made && str_is(r->before, now))
		return err_set(e, E_EXISTS, "the call was interrupted before it changed this file");
	return run->ask->force ? 0 : refuse_changed(run->undo, r, now, e);
}

static void
digest_now(int fd, char out[static DIGEST_TEXT])
{
	struct buf bytes = BUF_INIT(LIMIT_UNDO_FILE);

	if (!undo__content(fd, &bytes, out))
		strcpy(out, fd < 0 ? UNDO_ABSENT : "?");
	buf_done(&bytes);
}

static int
way_about(struct witness *w, const struct file_change *ch, struct err *e)
{
	struct way *way = CONTAINER_OF(w, struct way, witness);
	const struct undo_row *r = way->row;
	struct undo_author by = {.call = way->run->ask->by,
				 .session = r->session,
				 .tool = S("undo"),
				 .workspace = r->workspace};
	char now[DIGEST_TEXT];

	if (!str_eq(ch->path, r->path))
		return err_set(e, E_CHANGED, "this path leads elsewhere now: %.*s",
			       STR_ARG(str_utf8_upto(ch->path, 400)));
	if (undone_meanwhile(way->run->undo, r))
		return err_set(e, E_EXISTS, "it was undone already");
	digest_now(ch->before, now);
	if (ch->before < 0 && ch->kind != CHANGE_CREATED)
		strcpy(now, "?"); /* a link, or not to be read: not what any call left */
	int code = judge(way->run, r, now, e);
	if (code < 0)
		return code;
	way->step->kind = ch->kind;
	way->step->size = ch->after.len;
	undo__note(way->run->undo, &by, ch, r, &way->step->note);
	return 0;
}

static void
way_made(struct witness *w, const struct file_change *ch)
{
	struct way *way = CONTAINER_OF(w, struct way, witness);

	(void)ch;
	undo__done(way->run->undo, &way->step->note, way->row, way->run->ask->by);
}

static void
way_missed(struct witness *w, const struct file_change *ch)
{
	struct way *way = CONTAINER_OF(w, struct way, witness);

	(void)ch;
	undo_not_made(way->run->undo, &way->step->note);
}

/* ---- one file ---- */

static int
image_get(struct undo *u, struct str digest, struct buf *out, struct err *e)
{
	pthread_mutex_lock(&u->lock);
	undo__bind(u, OP_IMAGE_GET, "s", digest);
	sqlite3_stmt *st = u->ops[OP_IMAGE_GET];
	bool there = sqlite3_step(st) == SQLITE_ROW;
	if (there)
		buf_add(out, (struct str){sqlite3_column_blob(st, 0),
					  (size_t)sqlite3_column_bytes(st, 0)});
	sqlite3_reset(st);
	pthread_mutex_unlock(&u->lock);
	if (buf_failed(out))
		return err_plain(e, E_NOMEM);
	return there ? 0 : err_set(e, E_UNAVAILABLE, "what was there before is not kept any more");
}

static bool
was_absent(const struct undo_row *r)
{
	return str_is(r->before, UNDO_ABSENT);
}

static int
restore(struct way *way, struct workspace *ws, struct err *e)
{
	const struct undo_row *r = way->row;
	struct buf bytes = BUF_INIT(LIMIT_UNDO_FILE);
	int code;

	if (was_absent(r)) {
		code = workspace_delete(ws, r->path, &way->witness, e);
	} else if ((code = image_get(way->run->undo, r->before, &bytes, e)) == 0) {
		code = workspace_restore(ws, r->path, buf_str(&bytes), (uint32_t)r->mode,
					 &way->witness, e);
	}
	/* Somebody else was faster, and it is as it should be. */
	if (code < 0 && was_absent(r) && way->run->ask->force && !workspace_exists(ws, r->path)) {
		undo__done(way->run->undo, &way->step->note, r, way->run->ask->by);
		code = 0;
	}
	buf_done(&bytes);
	return code;
}

/* In a dry run nothing is held, and changes of one file stand on one another. */
static const struct would_be *
would_be(const struct run *run, const struct undo_row *r)
{
	const struct would_be *d = run->dry;

	while (d && !(str_eq(d->row->path, r->path) && str_eq(d->row->workspace, r->workspace)))
		d = d->next;
	return d;
}

static int
look_now(struct run *run, struct workspace *ws, const struct undo_row *r,
	 char now[static DIGEST_TEXT], struct err *e)
{
	const struct would_be *d = would_be(run, r);
	struct buf bytes = BUF_INIT(LIMIT_FILE_READ);
	bool there = false;
	int code = 0;

	if (d)
		snprintf(now, DIGEST_TEXT, "%.*s", STR_ARG(d->row->before));
	else if ((code = workspace_peek(ws, r->path, &bytes, &there, e)) == 0 && there)
		digest_bytes(buf_str(&bytes), now);
	else if (code == 0)
		strcpy(now, UNDO_ABSENT);
	buf_done(&bytes);
	return code;
}

static int
rehearse(struct way *way, struct workspace *ws, struct err *e)
{
	char now[DIGEST_TEXT];
	int code = look_now(way->run, ws, way->row, now, e);

	if (code == 0)
		code = judge(way->run, way->row, now, e);
	if (code < 0)
		return code;
	way->step->kind = was_absent(way->row)       ? CHANGE_DELETED
			  : strcmp(now, UNDO_ABSENT) ? CHANGE_MODIFIED
						     : CHANGE_CREATED;
	struct would_be *d = malloc(sizeof(*d));
	if (!d)
		return err_plain(e, E_NOMEM);
	*d = (struct would_be){way->run->dry, way->row};
	way->run->dry = d;
	return 0;
}

static int
step_do(struct run *run, const struct undo_row *r, struct undo_step *step)
{
	struct way way = {{way_about, way_made, way_missed, NULL}, run, r, step};
	struct workspace *ws = NULL;
	struct err *e = &step->err;

	if (!r->before.ptr)
		return err_set(e, E_UNAVAILABLE, "what was there before was not kept");
	if (!r->kept)
		return err_set(e, E_UNAVAILABLE, "what was there before is not kept any more");
	char *root = str_dup(r->workspace);
	int code = root ? workspace_open(root, run->ask->shut, &ws, e) : err_plain(e, E_NOMEM);
	free(root);
	if (code == 0)
		code = run->ask->dry_run ? rehearse(&way, ws, e) : restore(&way, ws, e);
	workspace_unref(ws);
	return code;
}

int
undo_run(struct undo *u, const struct undo_ask *ask,
	 void (*each)(const struct undo_step *step, void *arg), void *arg, struct err *e)
{
	struct run run = {.undo = u, .ask = ask, .each = each, .arg = arg};
	struct rows rows = {0};
	int code = rows_find(u, ask, &rows, e);

	for (size_t i = 0; code == 0 && i < rows.count; i++) {
		const struct undo_row *r = &rows.at[i];
		struct undo_step step = {.change = r->id,
					 .call = r->call,
					 .session = r->session,
					 .workspace = r->workspace,
					 .path = r->path,
					 .kind = was_absent(r) ? CHANGE_DELETED : CHANGE_MODIFIED};
		(void)step_do(&run, r, &step); /* step.err has it */
		each(&step, arg);
	}
	while (run.dry) {
		struct would_be *next = run.dry->next;
		free(run.dry);
		run.dry = next;
	}
	rows_free(&rows);
	return code;
}
