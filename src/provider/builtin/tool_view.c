/* tool_view.c - a part of a result that was kept; what it works on belongs to the gateway. */

#include "artifact/view.h"
#include "provider/builtin/tools.h"

/* The set of artifacts is all the state there is. */
static void *
view_make(void *arg)
{
	return arg;
}

static void
view_free(void *instance)
{
	(void)instance;
}

/* The part stays alone in its block; how to go on stands in another. */
static void
show(struct output *o, const struct view *v)
{
	if (v->text.len)
		output_text(o, buf_str(&v->text));
	else
		output_text(o, v->is_grep ? S("(no line matches)") : S("(empty)"));
	if (v->more)
		output_textf(o, "[there is more; continue with offset=%llu]",
			     (unsigned long long)v->next_offset);
	else if (v->next_line)
		output_textf(o, "[%llu lines matched; continue with start=%llu]",
			     (unsigned long long)v->hits, (unsigned long long)v->next_line);
}

static struct str
job_tenant(const struct job *j)
{
	return j->context.tenant.len ? j->context.tenant : ARTIFACT_TENANT;
}

/* Less than what is shown of a result, or the part itself would be kept again. */
static int
view_run(void *instance, struct job *j)
{
	struct artifacts *artifacts = instance;
	struct artifact_reader *r = NULL;
	struct view v = {0};
	int code =
	    artifact_open(artifacts, job_tenant(j), argument_str(j, S("handle")), &r, &j->out.err);

	if (code == 0)
		code = view_select(r, json_get(j->input, S("selector")),
				   artifacts_shown(artifacts) / 4 * 3, &v, &j->out.err);
	if (code == 0)
		show(&j->out, &v);
	view_done(&v);
	artifact_close(r);
	return code;
}

const struct builtin_ops tool_view_ops = {
    .make = view_make,
    .free = view_free,
    .run = view_run,
};
