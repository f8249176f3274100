/* mcp_job.c - a job of a server's tool is an exchange: there with its arguments, back with a
 * result.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/spare.h"
#include "catalog/refusal.h"
#include "mcp/era.h"
#include "mcp/rpc.h"
#include "provider/mcp_tool.h"

#define BLOCKS_MOST 10000

/* One call on its way. */
struct errand {
	struct behind behind; /* the job's, as long as that has one */
	struct job *job;
	struct exchange *exchange;
};

static struct behind *
further(const struct behind *b)
{
	return CONTAINER_OF(b, struct errand, behind)->job->behind;
}

static void
pass_progress(struct behind *b, const struct json *params)
{
	behind_progress(further(b), params);
}

static void
pass_message(struct behind *b, const struct json *params)
{
	behind_message(further(b), params);
}

static int
pass_inquiry(struct behind *b, struct inquiry *q, struct err *e)
{
	return behind_ask(further(b), q, e);
}

static void
pass_begun(struct behind *b)
{
	CONTAINER_OF(b, struct errand, behind)->job->waits = false;
	behind_begun(further(b));
}

static const struct behind_ops passing = {pass_progress, pass_message, pass_inquiry,
					  NULL,          further,      pass_begun};

/* What belongs to this hop, or asks for a way of answering that we do not have. */
static bool
is_passed_on(struct str key)
{
	static const char *const ours[] = {"name",           "arguments",    "_meta",
					   "inputResponses", "requestState", "task"};

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (str_is(key, ours[i]))
			return false;
	return true;
}

static void
write_params(struct jw *w, void *arg)
{
	const struct errand *r = arg;
	const struct job *j = r->job;

	jw_member(w, "name", j->tool->upstream_name);
	jw_key(w, "arguments");
	jw_value(w, j->input);
	for (struct json_iter it = json_iter(r->behind.params); json_next(&it);)
		if (is_passed_on(it.key))
			jw_key_str(w, it.key), jw_value(w, it.value);
}

/* E_EXECUTION: this is no content. */
static int
check_content(const struct job *j, const struct json *content, struct err *e)
{
	if (json_len(content) > BLOCKS_MOST)
		return err_set(e, E_EXECUTION, "%.*s gave a result of more than %d blocks",
			       STR_ARG(j->tool->server), BLOCKS_MOST);
	for (struct json_iter it = json_iter(content); json_next(&it);)
		if (!json_str(json_get(it.value, S("type"))).ptr)
			return err_set(e, E_EXECUTION, "%.*s gave a result with a block of no type",
				       STR_ARG(j->tool->server));
	return 0;
}

static void
write_meta(struct jw *w, const struct json *meta)
{
	jw_object(w);
	for (struct json_iter it = json_iter(meta); json_next(&it);) {
		if (mcp_meta_is_hop(it.key) || mcp_meta_is_ours(it.key))
			continue;
		jw_key_str(w, it.key);
		jw_value(w, it.value);
	}
	jw_end(w);
}

/* Everything beside content and isError, but what belongs to the hop. */
static void
take_extra(struct output *o, const struct json *result)
{
	for (struct json_iter it = json_iter(result); json_next(&it);) {
		struct jw w = jw(&o->extra);
		if (str_is(it.key, "content") || str_is(it.key, "isError") ||
		    era_drops_member(it.key))
			continue;
		if (o->extra.len)
			buf_addc(&o->extra, ',');
		/* A member outside an object: only the brace is missing. */
		jw_str(&w, it.key);
		buf_addc(&o->extra, ':');
		w = jw(&o->extra);
		if (str_is(it.key, "_meta"))
			write_meta(&w, it.value);
		else
			jw_value(&w, it.value);
	}
}

/* What it promised, it must keep (MCP: servers MUST, clients SHOULD look). */
static int
check_structured(const struct job *j, const struct json *result, struct err *e)
{
	struct mcp_tool *m = j->tool->provider_data;
	const struct json *schema = json_get(j->tool->definition, S("outputSchema"));
	const struct json *value = json_get(result, S("structuredContent"));
	struct buf lines = BUF_INIT(LIMIT_SCHEMA_TEXT);

	if (!schema || !value || m->output_unfit)
		return 0;
	if (!m->output && schema_compile(j->tool->card, schema, NULL, &m->output, NULL) < 0) {
		m->output_unfit = true;
		return 0;
	}
	if (schema_fits(m->output, value))
		return 0;
	schema_validate(m->output, value, SCHEMA_LINES, &lines);
	err_set(e, E_EXECUTION, "%.*s: the result does not fit the tool's output schema: %.*s",
		STR_ARG(j->tool->server), STR_ARG(str_utf8_upto(buf_str(&lines), 600)));
	buf_done(&lines);
	return E_EXECUTION;
}

static void
take_result(struct job *j, struct json_doc *doc, const struct json *result)
{
	const struct json *content = json_get(result, S("content"));
	struct output *o = &j->out;

	o->success = !json_bool(json_get(result, S("isError")));
	if (check_content(j, content, &o->err) < 0 ||
	    (o->success && check_structured(j, result, &o->err) < 0))
		return;
	take_extra(o, result);
	if (json_is(content, JSON_ARRAY)) {
		o->doc = json_doc_ref(doc);
		o->blocks = content;
	} else if (o->extra.len == 0) {
		err_set(&o->err, E_EXECUTION, "%.*s gave a result without content",
			STR_ARG(j->tool->server));
	}
}

static void
take_error(struct job *j, const struct json *error)
{
	struct buf said = BUF_INIT(8 * REFUSAL_CHARS);
	const struct json *data = json_get(error, S("data"));

	refusal_text(&said, rpc_error_message(error));
	err_set(&j->out.err, E_EXECUTION, "%.*s: %.*s", STR_ARG(j->tool->server),
		STR_ARG(buf_str(&said)));
	j->out.rpc_code = rpc_error_code(error);
	if (data) {
		struct jw w = jw(&j->out.rpc_data);
		jw_value(&w, data);
		if (buf_failed(&j->out.rpc_data))
			buf_done(&j->out.rpc_data);
	}
	buf_done(&said);
}

/* What was begun may have been done: never say it was not. */
static void
add_doubt(struct err *e)
{
	size_t len = strlen(e->text);

	snprintf(e->text + len, sizeof(e->text) - len, " (it may have been done)");
}

static void
errand_over(struct exchange *x, const struct exchange_end *end, void *arg)
{
	struct errand *r = arg;
	struct job *j = r->job;

	(void)x;
	r->exchange = NULL;
	j->out.broke = end->broke;
	j->out.layers = upstream_layers(mcp__upstream(j->tool->provider, j->tool));
	j->out.never_left = !end->sent;
	j->out.refused = end->refused;
	if (end->code < 0) {
		j->out.err = end->err;
		if (end->sent && !end->refused && j->reversibility > REV_IDEMPOTENT &&
		    end->code != E_CANCELLED && end->code != E_TIMEOUT)
			add_doubt(&j->out.err);
	} else if (end->error) {
		take_error(j, end->error);
	} else {
		take_result(j, end->doc, end->result);
	}
	if (j->out.err.code < 0)
		j->out.err.retry_after_ms = end->retry_after_ms;
	job_report(j);
}

static void
provider_start(struct provider *p, struct job *j)
{
	const struct mcp_tool *m = j->tool->provider_data;
	struct errand *r;

	if (j->kind == JOB_PREVIEW) {
		job_report_soon(j);
		return;
	}
	if (!(r = spare_new(sizeof(*r)))) {
		err_plain(&j->out.err, E_NOMEM);
		job_report_soon(j);
		return;
	}
	j->instance = r;
	r->job = j;
	behind_copy(&r->behind, j->behind, &passing);
	struct exchange_spec spec = {
	    .method = S("tools/call"),
	    .params = write_params,
	    .name = j->tool->upstream_name,
	    .schema = tool_in_headers(j->tool) ? j->tool->input_schema : NULL,
	    .arguments = j->input,
	    .pin = m->pin,
	    .behind = &r->behind,
	    .group = j->context.shared ? j->context.turn : j->context.session,
	    .about = j->context.call.len ? j->context.call : (struct str){NULL, 0},
	    .timeout_ms = UINT_MAX, /* the call has the clock */
	    .max_ms = UINT_MAX,
	    .over = errand_over,
	    .arg = r,
	};
	/* params are written from the job, which stays until it is over. */
	j->waits = true;
	int code = exchange_start(mcp__upstream(p, j->tool), &spec, &r->exchange, &j->out.err);
	if (code < 0) {
		j->out.never_left = true;
		j->out.broke = code == E_LIMIT; /* of the others it says itself when it is back */
		job_report_soon(j);
	}
}

static void
provider_cancel(struct provider *p, struct job *j)
{
	struct errand *r = j->instance;

	(void)p;
	if (r && r->exchange && j->late)
		exchange_expire(r->exchange);
	else if (r && r->exchange)
		exchange_cancel(r->exchange);
}

static void
provider_done(struct provider *p, struct job *j)
{
	struct errand *r = j->instance;

	(void)p;
	CHECK(!r->exchange);
	behind_done(&r->behind);
	spare_put(r, sizeof(*r));
	j->instance = NULL;
}

const struct provider mcp__ops = {"mcp", provider_start, provider_cancel, provider_done};
