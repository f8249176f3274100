/* tools.c - tools that come through the public header. */

#include <stdlib.h>

#include "base/limits.h"
#include "daemon/hf.h"

struct hf_registered {
	struct hf_tool tool;
	void *arg;
};

/* One per job: the factory's product, whose it is, and the input as text. */
struct instance {
	struct hf_registered *from;
	void *inner;
	struct buf input;
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

	/* Before it runs: a tool must not run on anything else than what was asked about. */
	jw_value(&w, j->input);
	if (!buf_z(&i->input))
		return err_plain(&j->out.err, E_NOMEM);
	return i->from->tool.run(i->inner, (struct hf_job *)j);
}

static const struct builtin_ops foreign_ops = {.make = make,
					       .free = unmake,
					       .run = run,
					       .forget = free};

int
hf_register(struct hf *hf, const char *card, const struct hf_tool *tool, void *arg)
{
	struct hf_registered *r = calloc(1, sizeof(*r));
	struct err e;

	if (!r) {
		err_plain(&e, E_NOMEM);
		return hf__fail(hf, &e);
	}
	*r = (struct hf_registered){*tool, arg};
	struct builtin_spec spec = {.card = str_of(card),
				    .ops = &foreign_ops,
				    .arg = r,
				    .repair_arguments = tool->repair_arguments};
	if (builtin_register(hf->builtins, hf->catalog, &spec, &e) < 0)
		return hf__fail(hf, &e);
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
