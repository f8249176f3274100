/* job.c - one piece of work for a provider, from start to report. */

#include "provider/provider.h"

#include <stdlib.h>

#include "base/limits.h"

/* Output. */

static void
output_none(struct output *o)
{
	memset(o, 0, offsetof(struct output, err));
	err_none(&o->err);
}

void
output_init(struct output *o)
{
	output_none(o);
	o->success = true;
	buf_init(&o->content, LIMIT_RESULT_BYTES);
	buf_init(&o->modified, LIMIT_RESULT_BYTES);
	buf_init(&o->command, LIMIT_COMMAND_BYTES);
	buf_init(&o->metadata, 64 * KIB);
	buf_init(&o->diff, LIMIT_DIFF_BYTES);
	buf_init(&o->extra, LIMIT_RESULT_BYTES);
	buf_init(&o->rpc_data, 64 * KIB);
}

void
output_done(struct output *o)
{
	json_doc_unref(o->doc);
	o->doc = NULL;
	buf_done(&o->content);
	buf_done(&o->modified);
	buf_done(&o->command);
	buf_done(&o->metadata);
	buf_done(&o->diff);
	buf_done(&o->extra);
	buf_done(&o->rpc_data);
}

void
output_move(struct output *to, struct output *from)
{
	memcpy(to, from, offsetof(struct output, err));
	if (from->err.code < 0)
		to->err = from->err;
	else
		err_none(&to->err);
	output_none(from);
}

void
output_text(struct output *o, struct str text)
{
	struct jw w = jw(&o->content);

	if (o->content.len)
		buf_addc(&o->content, ',');
	jw_object(&w);
	jw_member_z(&w, "type", "text");
	jw_member(&w, "text", text);
	jw_end(&w);
}

void
output_textf(struct output *o, const char *fmt, ...)
{
	struct buf text = BUF_INIT(LIMIT_RESULT_BYTES);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	output_text(o, buf_str(&text));
	o->content.failed = o->content.failed || buf_failed(&text);
	buf_done(&text);
}

void
output_modified(struct output *o, struct str path)
{
	struct jw w = jw(&o->modified);

	if (o->modified.len)
		buf_addc(&o->modified, ',');
	jw_str(&w, path);
}

/* Life. */

static void
job_destroy(struct job *j)
{
	if (j->instance && j->tool->provider->done)
		j->tool->provider->done(j->tool->provider, j);
	defer_cancel(&j->deferred);
	output_done(&j->out);
	track_free(j);
	tool_unref(j->tool);
	json_doc_unref(j->input_doc);
	workspace_unref(j->context.workspace);
	if (j->context.witness)
		j->context.witness->drop(j->context.witness);
	arena_free(j->arena); /* and with it the job */
}

static bool
context_copy(struct job *j, const struct job_context *from)
{
	j->context = (struct job_context){
	    .session = arena_str(j->arena, from->session),
	    .turn = arena_str(j->arena, from->turn),
	    .call = arena_str(j->arena, from->call.ptr ? from->call : S("")),
	    .tool_use_id = arena_str(j->arena, from->tool_use_id),
	    .tenant = arena_str(j->arena, from->tenant.ptr ? from->tenant : S("")),
	    .effect_key = arena_str(j->arena, from->effect_key.ptr ? from->effect_key : S("")),
	    .shared = from->shared,
	    .profile = from->profile,
	    .track = from->track && from->witness && from->workspace,
	};
	return j->context.session.ptr && j->context.turn.ptr && j->context.call.ptr &&
	       j->context.tool_use_id.ptr && j->context.effect_key.ptr && j->context.tenant.ptr;
}

int
job_start(struct loop *l, const struct job_spec *spec, struct job **ret, struct err *e)
{
	struct arena *arena = arena_new(LIMIT_CALL_ARENA);
	struct job *j = arena ? ARENA_NEW_UPTO(arena, struct job, out) : NULL;

	CHECK(spec->tool->provider);
	if (j)
		j->arena = arena;
	if (!j || !context_copy(j, &spec->context)) {
		if (spec->context.witness)
			spec->context.witness->drop(spec->context.witness);
		arena_free(arena);
		return err_plain(e, E_NOMEM);
	}
	j->kind = spec->kind;
	j->tool = tool_ref(spec->tool);
	j->reversibility = spec->policy ? *spec->policy : spec->tool->reversibility;
	j->input_doc = spec->input_doc ? json_doc_ref(spec->input_doc) : NULL;
	j->input = spec->input;
	if (spec->context.workspace)
		j->context.workspace = workspace_ref(spec->context.workspace);
	j->context.witness = spec->context.witness;
	j->behind = spec->behind;
	atomic_init(&j->cancelled, false);
	output_init(&j->out);
	j->loop = l;
	j->report = spec->report;
	j->stream = spec->stream;
	j->owner = spec->owner;
	*ret = j;
	if (!track_begin(j))
		j->tool->provider->start(j->tool->provider, j);
	return 0;
}

/* Nobody waits for it, or wants it: then it does not begin. */
void
job__go(struct job *j)
{
	if (!j->report || j->cancel_sent) {
		err_plain(&j->out.err, E_CANCELLED);
		job__reported(j);
		return;
	}
	j->tool->provider->start(j->tool->provider, j);
}

void
job_cancel(struct job *j)
{
	if (j->cancel_sent || j->reported)
		return;
	j->cancel_sent = true;
	atomic_store(&j->cancelled, true);
	if (j->tool->provider->cancel && !track_is_under_way(j))
		j->tool->provider->cancel(j->tool->provider, j);
}

void
job_expire(struct job *j)
{
	j->late |= !j->cancel_sent;
	job_cancel(j);
}

void
job_free(struct job **at)
{
	struct job *j = *at;

	*at = NULL;
	if (!j)
		return;
	j->report = NULL;
	j->stream = NULL;
	j->owner = NULL;
	j->behind = NULL;
	if (j->reported)
		job_destroy(j);
}

void
job_leave(struct job *j, void (*report)(struct job *j, void *owner), void *owner)
{
	CHECK(!j->reported);
	j->report = report;
	j->stream = NULL;
	j->owner = owner;
	j->behind = NULL;
}

void
job_report(struct job *j)
{
	CHECK(!j->reported);
	if (!track_end(j))
		job__reported(j);
}

/* The owner may free the job inside its report: j is not touched after that. */
void
job__reported(struct job *j)
{
	j->reported = true;
	if (j->out.err.code < 0)
		j->out.success = false;
	if (j->report)
		j->report(j, j->owner);
	else
		job_destroy(j);
}

static void
report_now(void *arg)
{
	job_report(arg);
}

void
job_report_soon(struct job *j)
{
	defer(j->loop, &j->deferred, report_now, j);
}
