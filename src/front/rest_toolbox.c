/* rest_toolbox.c - the toolbox of an agent (seed 004 section 4.1): what it has, and running it. */

#include <stdio.h>
#include <stdlib.h>

#include "front/visit.h"

/* Whose toolbox the path names; NULL: it is answered for. */
static struct agent *
visit_toolbox(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_HTTP_FIELD);
	struct str tenant;
	struct agent *a = NULL;
	struct err e;
	int code = query_owner(v->http, "tenant", &b, &tenant, &e);

	if (code == 0)
		code = access_owner(v, tenant, visit_param(v, "agent"), &a, &e);
	if (code < 0)
		reply_err(v->http, &e);
	buf_done(&b);
	return code < 0 ? NULL : a;
}

/* ---- what it has ---- */

static void
reply_list(const struct visit *v,
	   void (*write)(struct jw *w, const struct gateway *gw, struct agent *a))
{
	struct agent *a = visit_toolbox(v);
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (!a)
		return;
	write(&w, v->front->gw, a);
	reply_json(v->http, 200, &b);
}

static void
write_enabled(struct jw *w, const struct gateway *gw, struct agent *a)
{
	toolbox_write_definitions(w, gw, a, true);
}

static void
write_unavailable(struct jw *w, const struct gateway *gw, struct agent *a)
{
	toolbox_write_definitions(w, gw, a, false);
}

void
route_toolbox_available(const struct visit *v)
{
	reply_list(v, toolbox_write_names);
}

void
route_toolbox_enabled(const struct visit *v)
{
	reply_list(v, write_enabled);
}

void
route_toolbox_unavailable(const struct visit *v)
{
	reply_list(v, write_unavailable);
}

static void
reply_no_tool(const struct visit *v)
{
	struct err e;

	err_set(&e, E_NOT_FOUND, "Tool '%.*s' not found or not enabled",
		STR_ARG(str_utf8_upto(visit_param(v, "tool"), 100)));
	reply_err(v->http, &e);
}

void
route_toolbox_is_available(const struct visit *v)
{
	struct agent *a = visit_toolbox(v);
	struct str name = visit_param(v, "tool");
	const struct tool *t = a ? toolbox_tool(v->front->gw, a, name) : NULL;
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	if (!a)
		return;
	jw_object(&w);
	jw_member(&w, "tool_name", name);
	jw_member_bool(&w, "available", t && agent_tier(a, t) == TIER_AGENT);
	jw_member_bool(&w, "tenant_available", t != NULL);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_toolbox_metadata(const struct visit *v)
{
	struct agent *a = visit_toolbox(v);
	const struct tool *t = a ? toolbox_tool(v->front->gw, a, visit_param(v, "tool")) : NULL;
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (!a)
		return;
	if (!t || agent_tier(a, t) != TIER_AGENT) {
		reply_no_tool(v);
		return;
	}
	toolbox_write_metadata(&w, v->front->gw, a, t);
	reply_json(v->http, 200, &b);
}

void
route_toolbox_definition(const struct visit *v)
{
	struct agent *a = visit_toolbox(v);
	const struct tool *t = a ? toolbox_tool(v->front->gw, a, visit_param(v, "tool")) : NULL;
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (!a)
		return;
	if (!t) {
		reply_no_tool(v);
		return;
	}
	toolbox_write_definition(&w, v->front->gw, a->tenant, t);
	reply_json(v->http, 200, &b);
}

/* ---- running ---- */

/* A request for executions, until it is answered. */
struct errand {
	struct http_request *http; /* NULL: the peer is gone */
	struct gateway *gw;
	struct json_doc *doc;
	struct planned planned[LIMIT_TOOLBOX_MOST];
	size_t count;
	struct str group;
	bool attended;
	bool batch;
	struct session *session; /* a reference; NULL: it is being opened */
	bool own;                /* opened for this alone */
	struct toolbox_run *run;
};

static void
errand_free(struct errand *x)
{
	if (x->own && x->session)
		gateway_end_session(x->gw, x->session);
	session_unref(x->session);
	json_doc_unref(x->doc);
	free(x);
}

static void
errand_gone(struct http_request *r)
{
	struct errand *x = r->user;

	toolbox_leave(x->run);
	errand_free(x);
}

/* {"results": [...]}, or the one result alone. */
static void
errand_done(struct buf *results, void *arg)
{
	struct errand *x = arg;
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);

	x->http->gone = NULL;
	if (x->batch)
		buf_addf(&b, "{\"results\":%.*s}", STR_ARG(buf_str(results)));
	else if (results->len > 2)
		buf_add(&b, (struct str){results->ptr + 1, results->len - 2});
	b.failed = b.failed || buf_failed(results);
	reply_json(x->http, 200, &b);
	errand_free(x);
}

static void
errand_run(struct errand *x)
{
	struct toolbox_order order = {
	    .doc = x->doc,
	    .planned = x->planned,
	    .count = x->count,
	    .group = x->group,
	    .attended = x->attended,
	    .done = errand_done,
	    .arg = x,
	};
	struct err e;

	if (toolbox_start(x->gw, x->session, &order, &x->run, &e) < 0) {
		reply_err(x->http, &e);
		errand_free(x);
		return;
	}
	x->http->user = x;
	x->http->gone = errand_gone;
}

struct errand_order {
	struct str session, workspace, turn_group_id;
	const struct json *tools;
	bool attended;
};

static const struct json_field errand_fields[] = {
    FIELD(struct errand_order, session, WANT_STR_OR_NULL),
    FIELD(struct errand_order, workspace, WANT_STR_OR_NULL),
    FIELD(struct errand_order, turn_group_id, WANT_STR_OR_NULL),
    FIELD(struct errand_order, attended, WANT_BOOL),
    FIELD_REQUIRED(struct errand_order, tools, WANT_ANY),
};

/* The members of an errand, and the plan itself among them. */
static bool
is_of_errand(struct str key)
{
	static const char *const keys[] = {"session", "workspace", "turn_group_id", "attended"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (str_is(key, keys[i]))
			return true;
	return false;
}

/* {tool_name, args, ..., session} as a batch of one: {tools: [{tool_name, args, ...}], session}. */
static int
wrap_single(const struct json *body, struct json_doc **ret, struct err *e)
{
	struct buf text = BUF_INIT(2 * LIMIT_JSON_BYTES);
	struct json_limits limits = {2 * LIMIT_JSON_BYTES, LIMIT_JSON_DEPTH};
	struct jw w = jw(&text);

	if (!json_is(body, JSON_OBJECT))
		return err_set(e, E_BAD_REQUEST, "the body must be an object");
	jw_object(&w);
	for (struct json_iter it = json_iter(body); json_next(&it);)
		if (is_of_errand(it.key))
			jw_key_str(&w, it.key), jw_value(&w, it.value);
	jw_key(&w, "tools");
	jw_array(&w);
	jw_object(&w);
	for (struct json_iter it = json_iter(body); json_next(&it);)
		if (!is_of_errand(it.key))
			jw_key_str(&w, it.key), jw_value(&w, it.value);
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	int code =
	    buf_failed(&text) ? err_plain(e, E_NOMEM) : json_parse(buf_str(&text), &limits, ret, e);
	buf_done(&text);
	return code;
}

static int
read_plans(struct errand *x, const struct json *tools, struct err *e)
{
	size_t most = (size_t)x->gw->toolbox.max_batch_size;
	char where[32];
	int code = 0;

	if (!json_is(tools, JSON_ARRAY) || json_len(tools) == 0)
		return err_set(e, E_BAD_REQUEST, "tools: must be an array of planned executions");
	if (json_len(tools) > most || json_len(tools) > LIMIT_TOOLBOX_MOST)
		return err_set(e, E_LIMIT, "a batch may have at most %zu tools, this has %zu", most,
			       json_len(tools));
	for (struct json_iter it = json_iter(tools); code == 0 && json_next(&it);) {
		snprintf(where, sizeof(where), "tools[%zu]", x->count);
		code = planned_read(it.value, x->batch ? where : "", &x->planned[x->count], e);
		x->count++;
	}
	return code;
}

static int
errand_read(struct errand *x, const struct visit *v, struct errand_order *order, struct err *e)
{
	struct json_doc *body = NULL;
	int code = body_parse(v->http, &body, e);

	if (code == 0 && x->batch)
		x->doc = json_doc_ref(body);
	else if (code == 0)
		code = wrap_single(json_root(body), &x->doc, e);
	json_doc_unref(body);
	if (code == 0)
		code = json_fields(json_root(x->doc), errand_fields, ARRAY_LEN(errand_fields), "",
				   order, e);
	if (code < 0)
		return code;
	x->group = order->turn_group_id;
	x->attended = order->attended;
	return read_plans(x, order->tools, e);
}

static void
session_here(const struct visit *v, struct session *s)
{
	struct errand *x = v->http->user;

	v->http->user = NULL;
	x->session = session_ref(s);
	x->own = true;
	errand_run(x);
}

static void
drop(void *arg)
{
	errand_free(arg);
}

/* One that is open and the agent's own, or another for this alone. */
static int
find_session(struct errand *x, const struct visit *v, const struct errand_order *order,
	     struct agent *a, struct err *e)
{
	struct session *s =
	    order->session.ptr ? session_find(x->gw->sessions, order->session) : NULL;

	if (order->session.ptr && (!s || s->owner != a))
		return err_set(e, E_NO_SESSION, "session: this agent has no open one of this id");
	if (s) {
		x->session = session_ref(s);
		errand_run(x);
		return 0;
	}
	struct str workspace =
	    order->workspace.ptr ? order->workspace : str_of(v->front->workspace);
	if (!workspace.ptr)
		return err_set(e, E_NO_WORKSPACE, "workspace: is required, or session");
	struct session_wish wish = {
	    .workspace = workspace, .client = S("toolbox"), .owner = a, .arg = x, .drop = drop};
	return session_begin(v, &wish, session_here, e);
}

static void
run(const struct visit *v, bool batch)
{
	struct agent *a = visit_toolbox(v);
	struct errand *x = a ? calloc(1, sizeof(*x)) : NULL;
	struct errand_order order = {.attended = true};
	struct err e;

	if (!a)
		return;
	if (!x) {
		reply_code(v->http, E_NOMEM);
		return;
	}
	x->http = v->http;
	x->gw = v->front->gw;
	x->batch = batch;
	int code = errand_read(x, v, &order, &e);
	if (code == 0)
		code = find_session(x, v, &order, a, &e);
	if (code < 0) {
		errand_free(x);
		reply_err(v->http, &e);
	}
}

void
route_toolbox_execute(const struct visit *v)
{
	run(v, false);
}

void
route_toolbox_batch(const struct visit *v)
{
	run(v, true);
}
