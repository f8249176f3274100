/* tools.c - tools that come through the public header. */

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "daemon/hf.h"

struct hf_registered {
	struct hf_tool tool;
	void *arg;
	struct hf *hf;
};

/* How far a job is. */
struct told {
	char label[LIMIT_PROGRESS_LABEL + 1]; /* "": as before */
	double current, total;
};

/* One per job: the factory's product, whose it is, and the input as text. */
struct instance {
	struct hf_registered *from;
	void *inner;
	struct buf input;
	struct job *job;  /* while it runs */
	uint64_t told_ms; /* when it was passed on last; on the loop */

	/* from the worker, under the gateway's lock */
	struct told told;
	struct node node; /* in hf->told while there is something new */
};

static void *
make(void *arg)
{
	struct hf_registered *r = arg;
	struct instance *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->from = r;
	buf_init(&i->input, LIMIT_JSON_BYTES * 6); /* every letter may need an escape */
	if (r->tool.make && !(i->inner = r->tool.make(r->arg))) {
		free(i);
		return NULL;
	}
	return i;
}

static void
unmake(void *instance)
{
	struct instance *i = instance;

	pthread_mutex_lock(&i->from->hf->lock);
	list_remove(&i->node);
	pthread_mutex_unlock(&i->from->hf->lock);
	if (i->from->tool.free)
		i->from->tool.free(i->inner);
	buf_done(&i->input);
	free(i);
}

static int
run(void *instance, struct job *j)
{
	struct instance *i = instance;
	struct jw w = jw(&i->input);

	i->job = j;
	/* Before it runs: a tool must not run on anything else than what was asked about. */
	jw_value(&w, j->input);
	if (!buf_z(&i->input))
		return err_plain(&j->out.err, E_NOMEM);
	return i->from->tool.run(i->inner, (struct hf_job *)j);
}

/* Progress: a worker leaves word, the loop passes it on as a server's would be. */

static void
pass_on(struct instance *i, const struct told *t)
{
	struct buf text = BUF_INIT(4 * KIB);
	struct json_doc *doc = NULL;
	struct jw w = jw(&text);

	i->told_ms = clock_mono_ms();
	jw_object(&w);
	jw_key(&w, "progress"), jw_double(&w, t->current);
	if (t->total > 0)
		jw_key(&w, "total"), jw_double(&w, t->total);
	if (t->label[0])
		jw_member_z(&w, "message", t->label);
	jw_end(&w);
	if (!buf_failed(&text) && json_parse(buf_str(&text), &json_door, &doc, NULL) == 0)
		behind_progress(i->job->behind, json_root(doc));
	json_doc_unref(doc);
	buf_done(&text);
}

/* One that is due, or `only` this one; NULL: none. */
static struct instance *
told_take(struct hf *hf, const struct instance *only, struct told *ret)
{
	struct instance *found = NULL;

	pthread_mutex_lock(&hf->lock);
	LIST_EACH (&hf->told, at) {
		struct instance *i = CONTAINER_OF(at, struct instance, node);
		bool due = clock_mono_ms() >= i->told_ms + LIMIT_PROGRESS_GAP_MS;
		if (only ? i != only : !due)
			continue;
		found = i;
		*ret = i->told;
		list_remove(at);
		break;
	}
	pthread_mutex_unlock(&hf->lock);
	return found;
}

void
hf__tell_progress(void *arg)
{
	struct hf *hf = arg;
	struct instance *i;
	struct told t;

	while ((i = told_take(hf, NULL, &t)))
		pass_on(i, &t);
	pthread_mutex_lock(&hf->lock);
	bool more = hf->told.len > 0;
	pthread_mutex_unlock(&hf->lock);
	/* Without the timer (no memory) it is told with later news, or in the end. */
	if (more && !timer_running(&hf->telling))
		(void)timer_start(hf->loop, &hf->telling, LIMIT_PROGRESS_GAP_MS, hf__tell_progress,
				  hf);
}

/* The last word comes before the result. */
static void
reporting(void *instance, struct job *j)
{
	struct instance *i = instance;
	struct told t;

	(void)j;
	if (told_take(i->from->hf, i, &t))
		pass_on(i, &t);
}

void
hf_job_progress(struct hf_job *job, const char *label, double current, double total)
{
	struct instance *i = ((struct job *)job)->instance;
	struct hf *hf = i->from->hf;
	struct str text = str_utf8_upto(str_of(label ? label : ""), LIMIT_PROGRESS_LABEL);

	pthread_mutex_lock(&hf->lock);
	if (label) {
		memcpy(i->told.label, text.ptr, text.len);
		i->told.label[text.len] = '\0';
	}
	i->told.current = current;
	i->told.total = total;
	bool first = !i->node.list && !hf->closed;
	if (first) {
		list_push(&hf->told, &i->node);
		mailbox_post(&hf->mailbox); /* under the lock: it is open until `closed` */
	}
	pthread_mutex_unlock(&hf->lock);
}

static const struct builtin_ops foreign_ops = {
    .make = make, .free = unmake, .run = run, .reporting = reporting, .forget = free};

int
hf_register(struct hf *hf, const char *card, const struct hf_tool *tool, void *arg)
{
	struct hf_registered *r = calloc(1, sizeof(*r));
	struct err e;

	if (!r) {
		err_plain(&e, E_NOMEM);
		return hf__fail(hf, &e);
	}
	*r = (struct hf_registered){*tool, arg, hf};
	struct builtin_spec spec = {.card = str_of(card),
				    .ops = &foreign_ops,
				    .arg = r,
				    .repair_arguments = tool->repair_arguments};
	if (builtin_register(hf->builtins, hf->catalog, &spec, &e) < 0)
		return hf__fail(hf, &e);
	hf__definitions_functions(hf);
	return 0;
}

int
hf_unregister(struct hf *hf, const char *name)
{
	struct err e;

	if (builtin_unregister(hf->builtins, hf->catalog, str_of(name)) == 0) {
		hf__definitions_functions(hf);
		return 0;
	}
	err_set(&e, E_NOT_FOUND, "there is no tool '%s'", name);
	return hf__fail(hf, &e);
}

const char *
hf_job_input(struct hf_job *job)
{
	const struct instance *i = ((struct job *)job)->instance;

	return i->input.ptr;
}

const char *
hf_job_session(struct hf_job *job)
{
	return ((struct job *)job)->context.session.ptr;
}

const char *
hf_job_id(struct hf_job *job)
{
	return ((struct job *)job)->context.tool_use_id.ptr;
}

const char *
hf_job_workspace(struct hf_job *job)
{
	return workspace_path(((struct job *)job)->context.workspace);
}

bool
hf_job_cancelled(struct hf_job *job)
{
	return atomic_load(&((struct job *)job)->cancelled);
}

void
hf_job_text(struct hf_job *job, const char *text, size_t len)
{
	output_text(&((struct job *)job)->out, (struct str){text, len});
}

void
hf_job_modified(struct hf_job *job, const char *path)
{
	output_modified(&((struct job *)job)->out, str_of(path));
}

int
hf_job_fail(struct hf_job *job, const char *reason)
{
	return err_set(&((struct job *)job)->out.err, E_EXECUTION, "%s", reason);
}
