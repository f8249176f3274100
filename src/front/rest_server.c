/* rest_server.c - the gateway itself: is it well, what is it, what does it know. */

#include <unistd.h>

#include "front/visit.h"

static void
reply_pair(const struct visit *v, int status, const char *key, const char *value)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_member_z(&w, key, value);
	jw_end(&w);
	reply_json(v->http, status, &b);
}

void
route_health(const struct visit *v)
{
	reply_pair(v, 200, "status", "ok");
}

void
route_ready(const struct visit *v)
{
	struct store *store = v->front->gw->store;
	struct err e;

	if (v->front->gw->stopping)
		err_plain(&e, E_STOPPING);
	else if (store && store_health(store, &e) < 0)
		err_set(&e, E_UNAVAILABLE, "%s", err_row(E_STORE)->sentence);
	else {
		reply_pair(v, 200, "status", "ready");
		return;
	}
	reply_err(v->http, &e);
}

void
route_version(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_member_z(&w, "name", "holdfast");
	jw_member_z(&w, "version", HOLDFAST_VERSION);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_status(const struct visit *v)
{
	const struct front *f = v->front;
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_member_z(&w, "version", HOLDFAST_VERSION);
	jw_member_int(&w, "pid", getpid());
	jw_member_z(&w, "page", f->page[0] ? f->page : NULL);
	gateway_write_status(&w, f->gw);
	if (f->spec.about)
		f->spec.about(&w, f->spec.arg);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_pipeline(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	gateway_write_pipeline(&w, v->front->gw);
	reply_json(v->http, 200, &b);
}

/* Which tools of the catalog are meant. */
struct choice {
	const struct session *session; /* those it sees; NULL: not by this */
	struct agent *agent;           /* those of one tier; NULL: not by this */
	enum tier tier;
};

static bool
is_chosen(const struct choice *by, const struct tool *t)
{
	if (by->session)
		return tool_visible(t, by->session);
	return !by->agent || agent_tier(by->agent, t) == by->tier;
}

static void
reply_tools(const struct visit *v, const struct choice *by)
{
	const struct catalog *c = v->front->gw->catalog;
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_key(&w, "tools");
	jw_array(&w);
	for (size_t i = 0; i < catalog_count(c); i++)
		if (is_chosen(by, catalog_at(c, i)))
			tool_write(&w, catalog_at(c, i));
	jw_end(&w);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_tools_list(const struct visit *v)
{
	struct buf bufs[2] = {BUF_INIT(LIMIT_HTTP_FIELD), BUF_INIT(LIMIT_HTTP_FIELD)};
	struct str tenant, agent;
	bool unavailable = query_flag(v->http, "unavailable");
	struct choice by = {.tier = unavailable ? TIER_TENANT : TIER_AGENT};
	struct err e;
	int code = query_owner(v->http, "tenant", &bufs[0], &tenant, &e);

	if (code == 0)
		code = query_owner(v->http, "agent", &bufs[1], &agent, &e);
	if (code == 0 && (tenant.ptr || agent.ptr || unavailable))
		code = access_owner(v, tenant, agent, &by.agent, &e);
	upstreams_look(v->front->gw->upstreams); /* for the next time */
	if (code < 0)
		reply_err(v->http, &e);
	else
		reply_tools(v, &by);
	buf_done(&bufs[0]);
	buf_done(&bufs[1]);
}

void
route_session_tools(const struct visit *v)
{
	struct session *s = visit_session(v);

	if (s)
		reply_tools(v, &(struct choice){.session = s});
}

void
route_stop(const struct visit *v)
{
	struct front *f = v->front;
	struct err e;

	if (access_from_tool(v->http)) {
		err_set(&e, E_FORBIDDEN, "a tool call cannot stop the gateway");
		reply_err(v->http, &e);
		return;
	}
	reply_pair(v, 202, "status", "stopping");
	f->spec.stop(f->spec.arg);
}
