/* rest_session.c - opening, showing and ending sessions. */

#include "front/visit.h"

#include <stdlib.h>

static void
reply_session(const struct visit *v, int status, const struct session *s)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	session_write(&w, s);
	reply_json(v->http, status, &b);
}

/* A session that is not open: it has ended, or there never was one. */
static void
reply_not_open(const struct visit *v, const struct store_page *page)
{
	reply_code(v->http, page->count ? E_SESSION_ENDED : E_NO_SESSION);
}

static void
ask_session(const struct visit *v, journal_answer_fn answer)
{
	struct store_query q = {.id = visit_param(v, "id"), .limit = 1};

	if (v->front->gw->store)
		journal_ask(v, store_find_sessions, &q, answer);
	else
		reply_code(v->http, E_NO_SESSION);
}

struct session *
visit_session(const struct visit *v)
{
	struct session *s = session_find(v->front->gw->sessions, visit_param(v, "id"));

	if (!s)
		ask_session(v, reply_not_open);
	return s;
}

static void
go_on_if_kept(const struct visit *v, const struct store_page *page)
{
	if (page->count)
		v->next(v);
	else
		reply_code(v->http, E_NO_SESSION);
}

void
visit_known_session(const struct visit *v, void (*next)(const struct visit *v))
{
	struct visit waiting = *v;

	waiting.next = next;
	if (session_find(v->front->gw->sessions, visit_param(v, "id")))
		next(v);
	else
		ask_session(&waiting, go_on_if_kept);
}

/* A session to be: its workspace is opened on a worker, a slow disk holds up nobody else. */
struct opening {
	struct visit visit; /* http is NULL once the peer is gone */
	session_begun_fn begun;
	enum session_kind kind;
	enum supersede_action supersede;
	bool groups;
	struct agent *owner; /* a reference, or NULL */
	void *arg;           /* as in session_wish; NULL once it is handed on */
	void (*drop)(void *arg);
	char client[sizeof(((struct session *)0)->client)];
	char path[LIMIT_PATH];
	const char *const *shut;
	struct workspace *workspace;
	struct err err;
	struct work work;
};

static void
opening_gone(struct http_request *r)
{
	struct opening *o = r->user;

	o->visit.http = NULL;
}

static void
opening_work(void *arg)
{
	struct opening *o = arg;

	workspace_open(o->path, o->shut, &o->workspace, &o->err);
}

static int
opening_finish(struct opening *o, struct session **ret)
{
	struct session_spec spec = {.workspace = o->workspace,
				    .kind = o->kind,
				    .owner = o->owner,
				    .client = str_of(o->client)};
	struct gateway *gw = o->visit.front->gw;

	if (o->err.code < 0)
		return o->err.code;
	if (gw->stopping)
		return err_plain(&o->err, E_STOPPING);
	if (o->owner && o->owner->gone)
		return err_plain(&o->err, E_NO_AGENT);
	int code = session_open(gw->sessions, &spec, ret, &o->err);
	if (code == 0) {
		(*ret)->inbox.how = o->supersede;
		(*ret)->inbox.groups = o->groups;
	}
	return code;
}

/* The front itself may be gone by now if the peer is: it is not touched then. */
static void
opening_done(void *arg)
{
	struct opening *o = arg;
	struct session *s;

	if (o->visit.http) {
		o->visit.http->gone = NULL;
		if (opening_finish(o, &s) < 0)
			reply_err(o->visit.http, &o->err);
		else {
			o->visit.http->user = o->arg;
			o->arg = NULL;
			o->begun(&o->visit, s);
		}
	}
	if (o->arg && o->drop)
		o->drop(o->arg);
	workspace_unref(o->workspace);
	agent_unref(o->owner);
	free(o);
}

static int
opening_fill(struct opening *o, const struct session_wish *wish, struct err *e)
{
	struct str kind = wish->kind, client = wish->client;
	int code = path_absolute(wish->workspace, o->path, e);

	if (code < 0)
		return code;
	if (kind.ptr && !session_kind_parse(kind, &o->kind))
		return err_set(e, E_BAD_REQUEST, "kind: must be main or worker");
	client = str_utf8_upto(client, sizeof(o->client) - 1);
	if (client.len)
		memcpy(o->client, client.ptr, client.len);
	return 0;
}

int
session_begin(const struct visit *v, const struct session_wish *wish, session_begun_fn begun,
	      struct err *e)
{
	struct opening *o = calloc(1, sizeof(*o));

	if (!o)
		return err_plain(e, E_NOMEM);
	o->visit = *v;
	o->begun = begun;
	o->shut = v->front->gw->shut;
	o->owner = wish->owner ? agent_ref(wish->owner) : NULL;
	o->arg = wish->arg;
	o->drop = wish->drop;
	int code = opening_fill(o, wish, e);
	if (code == 0 &&
	    work_start(v->front->gw->loop, &o->work, opening_work, opening_done, o) < 0)
		code = err_plain(e, E_SYSTEM);
	if (code < 0) {
		agent_unref(o->owner);
		free(o);
		return code;
	}
	v->http->user = o;
	v->http->gone = opening_gone;
	return 0;
}

struct session_order {
	struct str workspace, kind, client, supersede, tenant, agent;
	bool turn_groups;
};
static const struct json_field session_fields[] = {
    FIELD_REQUIRED(struct session_order, workspace, WANT_STR),
    FIELD(struct session_order, kind, WANT_STR),
    FIELD(struct session_order, client, WANT_STR),
    FIELD(struct session_order, supersede, WANT_STR),
    FIELD(struct session_order, turn_groups, WANT_BOOL),
    FIELD(struct session_order, tenant, WANT_STR),
    FIELD(struct session_order, agent, WANT_STR),
};

static void
reply_created(const struct visit *v, struct session *s)
{
	reply_session(v, 201, s);
}

void
route_session_create(const struct visit *v)
{
	struct session_order order = {.client = S("rest")};
	enum supersede_action supersede = AS_CONFIGURED;
	struct json_doc *doc = NULL;
	struct err e;

	int code = body_parse(v->http, &doc, &e);
	if (code == 0)
		code = json_fields(json_root(doc), session_fields, ARRAY_LEN(session_fields), "",
				   &order, &e);
	if (code == 0 && order.supersede.ptr && !supersede_mode_parse(order.supersede, &supersede))
		code = err_set(&e, E_BAD_REQUEST, "supersede: must be %s", SUPERSEDE_MODES);
	struct session_wish wish = {.workspace = order.workspace,
				    .kind = order.kind,
				    .client = order.client};
	if (code == 0)
		code = access_owner(v, order.tenant, order.agent, &wish.owner, &e);
	if (code == 0)
		code = session_begin(v, &wish, reply_created, &e);
	if (code < 0) {
		reply_err(v->http, &e);
	} else {
		struct opening *o = v->http->user;
		o->supersede = supersede;
		o->groups = order.turn_groups;
	}
	json_doc_unref(doc);
}

struct listed {
	const struct session *session;
};

static int
by_id(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return strcmp(x->session->id.text, y->session->id.text);
}

static void
reply_open_sessions(const struct visit *v)
{
	const struct sessions *all = v->front->gw->sessions;
	size_t count = sessions_count(all), at = 0, n = 0;
	struct listed *rows = calloc(count + 1, sizeof(*rows));
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (!rows) {
		reply_code(v->http, E_NOMEM);
		return;
	}
	while (n < count && (rows[n].session = session_each(all, &at)))
		n++;
	qsort(rows, n, sizeof(*rows), by_id); /* ids are in order of time */
	jw_object(&w);
	jw_key(&w, "sessions");
	jw_array(&w);
	for (size_t i = 0; i < n; i++)
		session_write(&w, rows[i].session);
	jw_end(&w);
	jw_end(&w);
	free(rows);
	reply_json(v->http, 200, &b);
}

static void
reply_kept_sessions(const struct visit *v, const struct store_page *page)
{
	journal_reply(v, "sessions", page);
}

void
route_sessions_list(const struct visit *v)
{
	struct store_query q = {.newest = true, .limit = 100};
	struct err e;

	if (!query_flag(v->http, "all"))
		reply_open_sessions(v);
	else if (query_number(v->http, "limit", LIMIT_EVENT_PAGE, &q.limit, &e) < 0)
		reply_err(v->http, &e);
	else
		journal_ask(v, store_find_sessions, &q, reply_kept_sessions);
}

static void
reply_kept_session(const struct visit *v, const struct store_page *page)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);

	if (page->count == 0) {
		reply_code(v->http, E_NO_SESSION);
		return;
	}
	buf_add(&b, page->rows[0].json);
	reply_json(v->http, 200, &b);
}

void
route_session_show(const struct visit *v)
{
	struct session *s = session_find(v->front->gw->sessions, visit_param(v, "id"));

	if (s)
		reply_session(v, 200, s);
	else
		ask_session(v, reply_kept_session);
}

void
route_session_delete(const struct visit *v)
{
	struct session *s = visit_session(v);
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	if (!s)
		return;
	jw_object(&w);
	jw_member_z(&w, "session_id", s->id.text);
	jw_member_bool(&w, "ended", true);
	jw_end(&w);
	gateway_end_session(v->front->gw, s);
	reply_json(v->http, 200, &b);
}

void
route_session_cancel(const struct visit *v)
{
	struct session *s = visit_session(v);
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	if (!s)
		return;
	jw_object(&w);
	jw_member_z(&w, "session_id", s->id.text);
	jw_member_int(&w, "cancelled", (int64_t)gateway_cancel_session(v->front->gw, s));
	jw_end(&w);
	reply_json(v->http, 202, &b);
}
