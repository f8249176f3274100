/*
 * track.c - what became of the workspace while a job ran, for tools that do not say it themselves.
 *
 *	job_start --> before --> the provider starts ... reports --> after, compared --> the owner
 *
 * Two looks at the names and numbers of all files, on a worker. What others did meanwhile is told
 * as the job's; nothing here could tell them apart.
 */

#include <stdlib.h>

#include "provider/provider.h"
#include "workspace/snapshot.h"

struct tracking {
	struct work work;
	struct snapshot *before; /* NULL: not yet, or it could not be taken */
	struct err err;          /* why */
	bool under_way;          /* a look */
	bool over;
};

static void
take_before(void *arg)
{
	struct job *j = arg;
	struct tracking *t = j->tracking;

	(void)snapshot_take(j->context.workspace, &j->cancelled, &t->before, &t->err);
}

static void
before_taken(void *arg)
{
	struct job *j = arg;

	j->tracking->under_way = false;
	job__go(j);
}

bool
track_begin(struct job *j)
{
	if (!j->context.track || j->kind != JOB_RUN)
		return false;
	struct tracking *t = j->tracking = ARENA_NEW(j->arena, struct tracking);
	if (!t)
		return false;
	t->under_way = work_start(j->loop, &t->work, take_before, before_taken, j) == 0;
	t->over = !t->under_way;
	return t->under_way;
}

static void
tell(const struct file_change *ch, void *arg)
{
	struct job *j = arg;

	j->context.witness->made(j->context.witness, ch);
}

/* Also of a job that was cancelled: what it did until then it did. */
static void
take_after(void *arg)
{
	struct job *j = arg;
	struct snapshot *after = NULL;

	if (snapshot_take(j->context.workspace, NULL, &after, &j->tracking->err) == 0)
		snapshot_compare(j->tracking->before, after, tell, j);
	snapshot_free(after);
}

/* Whoever reads the result should not take silence for "nothing has changed". */
static void
say_unknown(struct job *j)
{
	struct buf text = BUF_INIT(sizeof(j->tracking->err.text) * 2);

	buf_addf(&text, "[what has changed in the workspace is not known: %s]",
		 err_text(&j->tracking->err));
	output_text(&j->out, buf_str(&text));
	buf_done(&text);
}

static void
after_taken(void *arg)
{
	struct job *j = arg;

	j->tracking->under_way = false;
	if (j->tracking->err.code < 0 && !j->out.doc)
		say_unknown(j);
	job__reported(j);
}

bool
track_end(struct job *j)
{
	struct tracking *t = j->tracking;

	if (!t || t->over)
		return false;
	t->over = true;
	if (!t->before) {
		if (t->err.code < 0 && t->err.code != E_CANCELLED && !j->out.doc)
			say_unknown(j);
		return false;
	}
	t->under_way = work_start(j->loop, &t->work, take_after, after_taken, j) == 0;
	return t->under_way;
}

bool
track_is_under_way(const struct job *j)
{
	return j->tracking && j->tracking->under_way;
}

void
track_free(struct job *j)
{
	if (j->tracking)
		snapshot_free(j->tracking->before);
}
