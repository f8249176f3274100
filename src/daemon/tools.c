/* tools.c - tools that come through the public header. */

#include <stdlib.h>

#include "base/limits.h"
#include "daemon/hf.h"

struct hf_registered {
	struct hf_tool tool;
	void *arg;
	struct node node;
};

/* One per job: the factory's product, and whose it is. */
struct instance {
	struct hf_registered *from;
	void *inner;
};

static void *
make(void *arg)
{
	struct hf_registered *r = arg;
	struct instance *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->from = r;
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

	if (i->from->tool.free)
		i->from->tool.free(i->inner);
	free(i);
}

static int
run(void *instance, struct job *j)
{
	struct instance *i = instance;

	j->out.success = true;
	return i->from->tool.run(i->inner, (struct hf_job *)j);
}

static const struct builtin_ops foreign_ops = {.make = make, .free = unmake, .run = run};

int
hf_register(struct hf *hf, const char *card, const struct hf_tool *tool, void *arg)
{
	struct hf_registered *r = calloc(1, sizeof(*r));
	struct err e;

	if (!r) {
		err_plain(&e, E_NOMEM);
		return hf__fail(hf, &e);
	}
	r->tool = *tool;
	r->arg = arg;
	if (builtin_register(hf->builtins, hf->catalog, str_of(card), &foreign_ops, r, &e) < 0) {
		free(r);
		return hf__fail(hf, &e);
	}
	/* Kept to the end: a call that still runs may hold the definition. */
	list_push(&hf->tools, &r->node);
	return 0;
}

int
hf_unregister(struct hf *hf, const char *name)
{
	struct err e;

	if (builtin_unregister(hf->builtins, hf->catalog, str_of(name)) == 0)
		return 0;
	err_set(&e, E_NOT_FOUND, "there is no tool '%s'", name);
	return hf__fail(hf, &e);
}

void
hf__forget_tools(struct hf *hf)
{
	LIST_EACH (&hf->tools, at) {
		list_remove(at);
		free(CONTAINER_OF(at, struct hf_registered, node));
	}
}

const char *
hf_job_input(struct hf_job *job)
{
	struct job *j = (struct job *)job;
	struct buf b = BUF_INIT(LIMIT_JSON_BYTES * 2);
	struct jw w = jw(&b);

	jw_value(&w, j->input);
	const char *text = buf_failed(&b) ? NULL : arena_strz(j->arena, buf_str(&b));
	buf_done(&b);
	return text ? text : "{}";
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
