/* rest_catalog.c - finding tools: browsing, hydrating, and what use has taught. */

#include "catalog/refusal.h"
#include "front/visit.h"

/* As the gateway surface says no (seed 001 section 3.4). */
static void
reply_refusal(const struct visit *v, const struct err *e, struct str path)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	refusal_write(&w, e, false, path, (struct str){NULL, 0});
	reply_json(v->http, err_row(e->code)->http, &b);
}

/* NULL for {NULL,0}. E_NO_SESSION. */
static int
session_of(const struct visit *v, struct str id, struct session **ret, struct err *e)
{
	*ret = id.ptr ? session_find(v->front->gw->sessions, id) : NULL;
	if (id.ptr && !*ret)
		return err_set(e, E_NO_SESSION, "session: there is no open session of this id");
	return 0;
}

/* ---- browsing ---- */

struct browse_body {
	struct browse_args args;
	struct str session;
	bool cache_stable;
};

static const struct json_field browse_fields[] = {
    {"query", WANT_STR, offsetof(struct browse_body, args.query), false},
    {"path", WANT_STR, offsetof(struct browse_body, args.path), false},
    {"top_k", WANT_INT, offsetof(struct browse_body, args.top_k), false},
    FIELD(struct browse_body, session, WANT_STR),
    FIELD(struct browse_body, cache_stable, WANT_BOOL),
};

static int
browse_run(const struct visit *v, const struct json *body, struct browse_body *b,
	   struct browse_reply *reply, struct err *e)
{
	struct session *s = NULL;
	int rc = json_fields(body, browse_fields, ARRAY_LEN(browse_fields), "", b, e);

	if (rc == 0)
		rc = session_of(v, b->session, &s, e);
	if (json_get(body, S("top_k")) && b->args.top_k == 0)
		b->args.top_k = -1; /* it was given, and 0 stands for "not given" */
	return rc == 0 ? gateway_browse(v->front->gw, s, &b->args, b->cache_stable, reply, e) : rc;
}

void
route_browse(const struct visit *v)
{
	struct browse_body b = {0};
	struct browse_reply reply;
	struct json_doc *doc;
	struct err e;

	if (body_parse(v->http, &doc, &e) < 0) {
		reply_err(v->http, &e);
		return;
	}
	if (browse_run(v, json_root(doc), &b, &reply, &e) < 0) {
		reply_refusal(v, &e, b.args.path);
	} else {
		struct buf out = BUF_INIT(LIMIT_BROWSE_BYTES);
		struct jw w = jw(&out);
		browse_write(&w, &reply);
		browse_done(&reply);
		reply_json(v->http, 200, &out);
	}
	json_doc_unref(doc);
}

void
route_tool_show(const struct visit *v)
{
	struct buf session = BUF_INIT(LIMIT_PATH), out = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&out);
	struct session *s = NULL;
	struct err e = ERR_NONE;
	int rc = 0;

	if (http_query(v->http, "session", &session))
		rc = session_of(v, buf_str(&session), &s, &e);
	if (rc == 0)
		rc = gateway_hydrate(v->front->gw, s, visit_param(v, "id"), &w, &e);
	if (rc == 0) {
		reply_json(v->http, 200, &out);
	} else {
		reply_refusal(v, &e, (struct str){NULL, 0});
		buf_done(&out);
	}
	buf_done(&session);
}

/* ---- what use has taught ---- */

static void
reply_learned(const struct visit *v)
{
	struct buf out = BUF_INIT(LIMIT_LEARNED_BYTES);
	struct jw w = jw(&out);

	learned_write(v->front->gw->learned, &w);
	reply_json(v->http, 200, &out);
}

static void
learned_changed(const struct visit *v)
{
	struct gateway *gw = v->front->gw;

	if (gw->taught)
		gw->taught(gw->taught_arg);
	reply_learned(v);
}

void
route_learned_show(const struct visit *v)
{
	reply_learned(v);
}

struct switch_body {
	bool on;
};

void
route_learned_switch(const struct visit *v)
{
	static const struct json_field fields[] = {
	    FIELD_REQUIRED(struct switch_body, on, WANT_BOOL)};
	struct switch_body b = {0};
	struct json_doc *doc;
	struct err e;

	if (body_parse(v->http, &doc, &e) < 0) {
		reply_err(v->http, &e);
		return;
	}
	if (json_fields(json_root(doc), fields, ARRAY_LEN(fields), "", &b, &e) < 0) {
		reply_err(v->http, &e);
	} else {
		learned_switch(v->front->gw->learned, b.on);
		learned_changed(v);
	}
	json_doc_unref(doc);
}

void
route_learned_forget(const struct visit *v)
{
	struct buf tool = BUF_INIT(LIMIT_PATH);
	bool one = http_query(v->http, "tool", &tool);
	bool found =
	    learned_forget(v->front->gw->learned, one ? buf_str(&tool) : (struct str){NULL, 0});

	if (one && !found) {
		struct err e;
		err_set(&e, E_NOT_FOUND, "nothing was learned of this tool");
		reply_err(v->http, &e);
	} else {
		learned_changed(v);
	}
	buf_done(&tool);
}
