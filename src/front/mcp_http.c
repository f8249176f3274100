/*
 * mcp_http.c - /mcp over HTTP (Streamable HTTP, mcp.md 2.5 and 3.2): headers, sessions, workspaces.
 *
 *	POST --> the body says which era --> modern: headers against body --> the commons
 *	                                     legacy: Mcp-Session-Id       --> its session
 *	GET, DELETE: of a legacy session
 *
 * The commons of a workspace and surface is the one session that all modern requests for these
 * share; it is opened by the first and ends when nobody has come for a while.
 */

#include <stdio.h>
#include <stdlib.h>

#include "front/mcp_flow.h"
#include "front/mcp_offer.h"
#include "mcp/header.h"
#include "schema/schema.h"

#define SESSION_ID 32 /* hex digits: 128 bits of chance */
#define HEADER_WORKSPACE "holdfast-workspace"
#define HEADER_SESSION "mcp-session-id"
#define HEADER_VERSION "mcp-protocol-version"

struct opening;

/* A client over HTTP: a legacy session, or the commons. */
struct guest {
	struct mcp_client client; /* once it is open */
	struct front *front;
	struct mcp_surface surface;
	bool commons;
	bool open;
	char *workspace;         /* own; as it was asked for */
	struct agent *owner;     /* a reference; NULL: nobody but one is known */
	struct opening *opening; /* NULL: it is open */
	struct list waiting;     /* struct flow: until it is */
	struct flow_home home;   /* of a legacy one */
	uint64_t used_ms;
	char greeting[sizeof("Mcp-Session-Id: \r\n") + SESSION_ID];
	struct str id;    /* in it */
	struct node node; /* in front->mcp.guests */
};

/* ---- answers without a request ---- */

static void
reply_fault(const struct visit *v, const struct mcp_message *m, const struct mcp_fault *f)
{
	struct buf b = BUF_INIT(LIMIT_LINE_BYTES + LIMIT_PROBLEM_BYTES);

	mcp_write_fault(&b, m, f);
	if (buf_failed(&b)) {
		buf_done(&b);
		reply_code(v->http, E_NOMEM);
		return;
	}
	http_reply_take(v->http, f->status, "application/json", &b, NULL);
}

static void
reply_accepted(const struct visit *v)
{
	http_reply(v->http, 202, NULL, S(""), NULL);
}

static void
answer_fault(struct flow *f, const struct mcp_message *m, const struct mcp_fault *fault)
{
	struct buf b = BUF_INIT(LIMIT_LINE_BYTES + LIMIT_PROBLEM_BYTES);

	mcp_write_fault(&b, m, fault);
	f->channel.ops->answer(&f->channel, fault->status, &b);
}

static int
fault_from(struct mcp_fault *f, const struct err *e)
{
	*f = (struct mcp_fault){.code = err_row(e->code)->rpc,
				.status = err_row(e->code)->http,
				.err = *e};
	return e->code;
}

/* ---- guests: the end ---- */

static void
guest_free(struct guest *g)
{
	list_remove(&g->node);
	map_remove(&g->front->mcp.sessions, g->id);
	flow_home_end(&g->home);
	free(g->workspace);
	agent_unref(g->owner);
	free(g);
}

static void
client_freed(struct mcp_client *c)
{
	guest_free(CONTAINER_OF(c, struct guest, client));
}

static void
fail_waiting(struct guest *g, const struct err *e)
{
	struct mcp_fault fault;

	fault_from(&fault, e);
	LIST_EACH (&g->waiting, at) {
		struct flow *f = CONTAINER_OF(at, struct flow, node);
		list_remove(&f->node);
		answer_fault(f, &f->message, &fault);
	}
}

static void opening_disown(struct opening *o);

static void
guest_end(struct guest *g)
{
	struct err e;

	CHECK(g);
	list_remove(&g->node);
	map_remove(&g->front->mcp.sessions, g->id);
	g->id = (struct str){NULL, 0};
	if (g->opening) {
		opening_disown(g->opening);
		err_plain(&e, E_STOPPING);
		fail_waiting(g, &e);
		guest_free(g);
		return;
	}
	mcp_client_refuse(&g->client); /* whoever comes later finds no session */
	flow_home_end(&g->home);
	mcp_client_done(&g->client);
}

void
guests_end(struct front *f)
{
	struct node *n;

	while ((n = list_first(&f->mcp.guests)))
		guest_end(CONTAINER_OF(n, struct guest, node));
	timer_stop(f->gw->loop, &f->mcp.sweep);
}

static bool
guest_is_busy(const struct guest *g)
{
	if (!g->open)
		return true;
	return g->client.requests.len > 0 || g->home.flows.len > 0;
}

static bool
guest_is_idle(const struct guest *g, uint64_t now)
{
	uint64_t patience = g->commons ? LIMIT_MCP_COMMONS_MS : LIMIT_SESSION_IDLE_MS;

	if (g->open && g->client.session->ended)
		return true;
	return !guest_is_busy(g) && now - g->used_ms >= patience;
}

static void
sweep(void *arg)
{
	struct front *f = arg;
	uint64_t now = loop_now_ms(f->gw->loop);

	LIST_EACH (&f->mcp.guests, at) {
		struct guest *g = CONTAINER_OF(at, struct guest, node);
		if (guest_is_idle(g, now))
			guest_end(g);
		else if (g->open) /* a stream that is only listened to is a use, too */
			g->client.session->attached = guest_is_busy(g);
	}
	if (f->mcp.guests.len > 0)
		timer_start(f->gw->loop, &f->mcp.sweep, LIMIT_MCP_SWEEP_MS, sweep, f);
}

/* ---- guests: the beginning ---- */

/* The workspace is opened on a worker: a slow disk holds up nobody else. */
struct opening {
	struct guest *guest; /* NULL: nobody waits for it any more */
	const char *const *shut;
	struct workspace *workspace;
	struct err err;
	struct work work;
	char path[LIMIT_PATH];
};

static void
opening_disown(struct opening *o)
{
	o->guest = NULL;
}

static void
opening_work(void *arg)
{
	struct opening *o = arg;

	workspace_open(o->path, o->shut, &o->workspace, &o->err);
}

static void guest_serve(struct guest *g, struct flow *f, const struct mcp_message *m);

static bool
tell(struct mcp_client *c, struct str message)
{
	struct guest *g = CONTAINER_OF(c, struct guest, client);

	return g->home.unasked && flow_put(g->home.unasked, message);
}

static bool
listens(const struct mcp_client *c)
{
	const struct flow *unasked = CONTAINER_OF(c, struct guest, client)->home.unasked;

	return unasked && unasked->stream;
}

static int
guest_open(struct guest *g, struct opening *o, struct err *e)
{
	struct session_spec spec = {.workspace = o->workspace,
				    .client = S("mcp"),
				    .owner = g->owner};
	struct gateway *gw = g->front->gw;
	struct session *s;

	if (o->err.code < 0) {
		*e = o->err;
		return o->err.code;
	}
	if (gw->stopping)
		return err_plain(e, E_STOPPING);
	if (g->owner && g->owner->gone)
		return err_plain(e, E_NO_AGENT);
	int code = session_open(gw->sessions, &spec, &s, e);
	if (code < 0)
		return code;
	if (g->commons) {
		s->slots = LIMIT_MCP_COMMONS_SLOTS;
		s->shared = true;
	}
	mcp_client_init(&g->client, g->front, s, &g->surface);
	g->client.shared = g->commons;
	g->client.may_answer = true; /* who asks is looked at each time */
	g->client.tell = g->commons ? NULL : tell;
	g->client.listens = listens;
	g->client.freed = client_freed;
	g->open = true;
	return 0;
}

/* An initialize that was refused has made no session. */
static void
guest_check_greeted(struct guest *g)
{
	if (!g->commons && !g->client.hello)
		guest_end(g);
}

static void
serve_waiting(struct guest *g)
{
	struct node *n;

	while ((n = list_first(&g->waiting))) {
		struct flow *f = CONTAINER_OF(n, struct flow, node);
		struct json_doc *doc = f->doc;
		struct mcp_message m = f->message;

		list_remove(&f->node);
		f->doc = NULL;
		m.http = f->peer;
		guest_serve(g, f, &m);
		json_doc_unref(doc);
	}
	guest_check_greeted(g);
}

/* The front itself may be gone by now if the guest is: it is not touched then. */
static void
opening_done(void *arg)
{
	struct opening *o = arg;
	struct guest *g = o->guest;
	struct err e;

	if (g) {
		g->opening = NULL;
		if (guest_open(g, o, &e) == 0) {
			serve_waiting(g);
		} else {
			fail_waiting(g, &e);
			guest_free(g);
		}
	}
	workspace_unref(o->workspace);
	free(o);
}

static int
guest_start(struct guest *g, struct err *e)
{
	struct opening *o = calloc(1, sizeof(*o));
	struct gateway *gw = g->front->gw;

	if (!o)
		return err_plain(e, E_NOMEM);
	o->guest = g;
	o->shut = gw->shut;
	int code = path_absolute(str_of(g->workspace), o->path, e);
	if (code == 0 && work_start(gw->loop, &o->work, opening_work, opening_done, o) < 0)
		code = err_plain(e, E_SYSTEM);
	if (code < 0)
		free(o);
	else
		g->opening = o;
	return code;
}

/* A name nobody can guess. */
static int
guest_name(struct guest *g)
{
	static const char head[] = "Mcp-Session-Id: ";
	unsigned char chance[SESSION_ID / 2];
	char *at = g->greeting + sizeof(head) - 1;

	memcpy(g->greeting, head, sizeof(head) - 1);
	random_bytes(chance, sizeof(chance));
	for (size_t i = 0; i < sizeof(chance); i++)
		snprintf(at + 2 * i, 3, "%02x", chance[i]);
	memcpy(at + SESSION_ID, "\r\n", 3);
	g->id = (struct str){at, SESSION_ID};
	return map_put(&g->front->mcp.sessions, g->id, g);
}

const char *
guest_greeting(const struct guest *g)
{
	return g->client.hello ? g->greeting : NULL;
}

static size_t
commons_count(const struct front *f)
{
	return f->mcp.guests.len - f->mcp.sessions.len;
}

/* The one that nobody has used for longest. NULL: all are in use. */
static struct guest *
guest_stalest(const struct front *f, bool commons)
{
	struct guest *stalest = NULL;

	LIST_EACH (&f->mcp.guests, at) {
		struct guest *g = CONTAINER_OF(at, struct guest, node);
		if (g->commons == commons && !guest_is_busy(g) &&
		    (!stalest || g->used_ms < stalest->used_ms))
			stalest = g;
	}
	return stalest;
}

static int
guests_make_room(struct front *f, bool commons, struct err *e)
{
	size_t count = commons ? commons_count(f) : f->mcp.sessions.len;
	size_t most = commons ? LIMIT_MCP_COMMONS : LIMIT_MCP_SESSIONS;

	if (count < most)
		return 0;
	struct guest *stale = guest_stalest(f, commons);
	if (!stale)
		return err_set(e, E_LIMIT, "%zu %s are in use", most,
			       commons ? "workspaces" : "sessions");
	guest_end(stale);
	return 0;
}

/* What somebody comes for, and who it is. */
struct coming {
	const struct mcp_surface *surface;
	struct str workspace;
	struct agent *owner;
};

static int
guest_new(struct front *f, const struct coming *as, bool commons, struct guest **ret, struct err *e)
{
	struct str workspace = as->workspace;
	int code = guests_make_room(f, commons, e);
	struct guest *g;

	if (code < 0)
		return code;
	g = calloc(1, sizeof(*g));
	if (!g || !(g->workspace = calloc(1, workspace.len + 1))) {
		free(g);
		return err_plain(e, E_NOMEM);
	}
	memcpy(g->workspace, workspace.ptr, workspace.len);
	g->front = f;
	g->surface = *as->surface;
	g->owner = as->owner ? agent_ref(as->owner) : NULL;
	g->commons = commons;
	g->used_ms = loop_now_ms(f->gw->loop);
	list_init(&g->waiting);
	list_init(&g->home.flows);
	list_push(&f->mcp.guests, &g->node);
	if (!commons && (code = guest_name(g)) < 0)
		err_plain(e, code);
	if (code == 0)
		code = guest_start(g, e);
	if (code < 0) {
		guest_free(g);
		return code;
	}
	if (!timer_running(&f->mcp.sweep))
		timer_start(f->gw->loop, &f->mcp.sweep, LIMIT_MCP_SWEEP_MS, sweep, f);
	*ret = g;
	return 0;
}

/* ---- which workspace, which surface ---- */

static int
surface_of(const struct visit *v, struct mcp_surface *ret, struct err *e)
{
	static const struct {
		const char *pattern;
		enum surface kind;
	} rows[] = {
	    {"/mcp", SURFACE_GATEWAY},
	    {"/mcp/proxy", SURFACE_PROXY},
	    {"/mcp/all", SURFACE_ALL},
	};
	struct str server = visit_param(v, "server");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(v->route->pattern, rows[i].pattern) == 0) {
			*ret = (struct mcp_surface){.kind = rows[i].kind};
			return 0;
		}
	int code = mcp_surface_parse(v->front, server, ret, e);
	if (code == 0 && ret->kind != SURFACE_SERVER)
		code =
		    err_set(e, E_NO_ROUTE, "there is no server '%.*s'; that surface is /mcp/%.*s",
			    STR_ARG(server), STR_ARG(server));
	return code;
}

/* By the address, else by the header, else the gateway's own. given: memory for the first. */
static int
workspace_of(const struct visit *v, struct buf *given, struct str *ret, struct err *e)
{
	struct str header = http_header(v->http, HEADER_WORKSPACE);

	if (http_query(v->http, "workspace", given))
		*ret = buf_str(given);
	else if (header.len)
		*ret = header;
	else if (v->front->workspace)
		*ret = str_of(v->front->workspace);
	else
		return err_set(e, E_NO_WORKSPACE,
			       "this gateway has no workspace of its own: name a directory by its "
			       "absolute path, as ?workspace=DIR in the address or in the header "
			       "Holdfast-Workspace");
	if (ret->len == 0 || ret->ptr[0] != '/' || ret->len >= LIMIT_PATH)
		return err_set(e, E_NO_WORKSPACE, "workspace: must be an absolute path");
	return 0;
}

static int
who_comes(const struct visit *v, struct buf *given, struct coming *ret, struct err *e)
{
	const struct str none = {NULL, 0};
	int code = workspace_of(v, given, &ret->workspace, e);

	return code < 0 ? code : access_owner(v, none, none, &ret->owner, e);
}

static bool
same_surface(const struct mcp_surface *a, const struct mcp_surface *b)
{
	return a->kind == b->kind && strcmp(a->server, b->server) == 0;
}

/* NULL = none. One whose session was ended from elsewhere is none any more. */
static struct guest *
commons_find(struct front *f, const struct coming *as)
{
	LIST_EACH (&f->mcp.guests, at) {
		struct guest *g = CONTAINER_OF(at, struct guest, node);
		if (!g->commons || !same_surface(&g->surface, as->surface) ||
		    g->owner != as->owner || !str_is(as->workspace, g->workspace))
			continue;
		if (!g->open || !g->client.session->ended)
			return g;
		guest_end(g);
		return NULL;
	}
	return NULL;
}

static int
commons_get(const struct visit *v, const struct mcp_surface *surface, struct guest **ret,
	    struct mcp_fault *f)
{
	struct buf given = BUF_INIT(LIMIT_HTTP_FIELD);
	struct coming as = {.surface = surface};
	struct err e;
	int code = who_comes(v, &given, &as, &e);

	if (code == 0 && !(*ret = commons_find(v->front, &as)))
		code = guest_new(v->front, &as, true, ret, &e);
	buf_done(&given);
	if (code < 0)
		fault_from(f, &e);
	return code;
}

/* ---- serving ---- */

/* What headers repeat of the arguments must be so; policy looks at the body alone. */
static int
check_param(const struct http_request *r, const struct header_param *p, struct mcp_fault *f)
{
	char name[LIMIT_NAME_BYTES];
	int n = snprintf(name, sizeof(name), "Mcp-Param-%.*s", STR_ARG(p->name));

	if (n < 0 || (size_t)n >= sizeof(name))
		return 0; /* no header can be so long a name */
	struct str said = http_header(r, name);
	if (!p->value && !said.ptr)
		return 0;
	if (!said.ptr)
		return MCP_FAULT(f, RPC_HEADER, 400,
				 "the header %s is missing: the body has this argument", name);
	if (!p->value || http_header_times(r, name) > 1 || !header_param_says(said, p->value))
		return MCP_FAULT(f, RPC_HEADER, 400,
				 "the header %s does not say what the body says", name);
	return 0;
}

static int
check_params(const struct guest *g, const struct mcp_message *m, struct mcp_fault *f)
{
	struct str name = json_str(json_get(m->rpc.params, S("name")));
	struct header_param rows[LIMIT_MCP_PARAMS];
	size_t count;

	if (m->era != ERA_MODERN || !str_is(m->rpc.method, "tools/call") || !m->http)
		return 0;
	const struct tool *t = mcp_tool_of(&g->client, name);
	if (!t || !header_has_params(t->input_schema))
		return 0;
	/* A schema that breaks the rules is for clients to drop; it promises no header. */
	if (header_params(t->input_schema, json_get(m->rpc.params, S("arguments")), rows,
			  ARRAY_LEN(rows), &count, NULL) < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		int code = check_param(m->http, &rows[i], f);
		if (code < 0)
			return code;
	}
	return 0;
}

static void
guest_serve(struct guest *g, struct flow *f, const struct mcp_message *m)
{
	struct mcp_fault fault;

	if (check_params(g, m, &fault) < 0) {
		answer_fault(f, m, &fault);
		return;
	}
	if (!g->commons && !f->greets)
		flow_live_in(f, &g->home, g->client.revision);
	mcp_take(&g->client, &f->channel, m);
}

static void
guest_touch(struct guest *g)
{
	CHECK(g);
	g->used_ms = loop_now_ms(g->front->gw->loop);
	if (g->open)
		g->client.session->used_ms = g->used_ms;
}

/* A request of this guest, now or once it is open. */
static void
guest_take(struct guest *g, struct flow *f, const struct mcp_message *m)
{
	guest_touch(g);
	if (g->open) {
		guest_serve(g, f, m);
		return;
	}
	f->message = *m;
	f->doc = json_doc_ref(m->doc);
	list_push(&g->waiting, &f->node);
}

/* ---- modern ---- */

static bool
header_is(const struct http_request *r, const char *name, struct str wanted)
{
	return http_header_times(r, name) == 1 && header_says(http_header(r, name), wanted);
}

static int
check_headers_fit(const struct http_request *r, const struct mcp_message *m, struct mcp_fault *f)
{
	struct str version = json_str(json_get(m->rpc.meta, S(META_VERSION)));

	if (http_header_times(r, HEADER_VERSION) && !header_is(r, HEADER_VERSION, version))
		return MCP_FAULT(f, RPC_HEADER, 400,
				 "the header MCP-Protocol-Version does not say what the body says");
	if (http_header_times(r, "mcp-method") && !header_is(r, "mcp-method", m->rpc.method))
		return MCP_FAULT(f, RPC_HEADER, 400,
				 "the header Mcp-Method does not say what the body says");
	return 0;
}

static int
check_headers_there(const struct http_request *r, const struct mcp_message *m, struct mcp_fault *f)
{
	struct str name = header_name_of(m->rpc.method, m->rpc.params);

	if (!http_header_times(r, HEADER_VERSION))
		return MCP_FAULT(f, RPC_HEADER, 400, "the header MCP-Protocol-Version is missing");
	if (!http_header_times(r, "mcp-method"))
		return MCP_FAULT(f, RPC_HEADER, 400, "the header Mcp-Method is missing");
	if (name.ptr && !http_header_times(r, "mcp-name"))
		return MCP_FAULT(f, RPC_HEADER, 400, "the header Mcp-Name is missing");
	if (name.ptr && !header_is(r, "mcp-name", name))
		return MCP_FAULT(f, RPC_HEADER, 400,
				 "the header Mcp-Name does not say what the body says");
	return 0;
}

/* In the order of mcp.md 2.5. */
static int
check_modern(const struct mcp_message *m, struct mcp_fault *f)
{
	int code;

	if ((code = mcp_check_envelope(m, f)) < 0 ||
	    (code = check_headers_fit(m->http, m, f)) < 0 || (code = mcp_check_version(m, f)) < 0)
		return code;
	return check_headers_there(m->http, m, f);
}

static int
take_modern(const struct visit *v, const struct mcp_surface *surface, const struct mcp_message *m,
	    struct mcp_fault *fault)
{
	struct guest *g = NULL;
	int code;

	if (m->rpc.kind == RPC_NOTE) {
		reply_accepted(v); /* cancelling is done by hanging up */
		return 0;
	}
	if ((code = check_modern(m, fault)) < 0 || (code = commons_get(v, surface, &g, fault)) < 0)
		return code;
	struct flow *f = flow_new(v->front, v->http);
	if (!f)
		return MCP_FAULT(fault, RPC_INTERNAL, 500, "out of memory");
	guest_take(g, f, m);
	return 0;
}

/* ---- legacy ---- */

/* What the header says without a body that claims so: it never makes a body modern. */
static bool
header_is_modern(const struct http_request *r)
{
	return str_cmp(http_header(r, HEADER_VERSION), S(MCP_LEGACY)) > 0;
}

/* Who says who they are must be whose session it is; whoever says nothing knows its id. */
static bool
is_its_owner(const struct visit *v, const struct guest *g)
{
	const struct str none = {NULL, 0};
	struct agent *said;

	return http_header_times(v->http, "x-holdfast-agent") == 0 ||
	       (access_owner(v, none, none, &said, NULL) == 0 && said == g->owner);
}

static int
session_of(const struct visit *v, const struct mcp_surface *surface, struct guest **ret,
	   struct mcp_fault *f)
{
	struct str id = http_header(v->http, HEADER_SESSION);
	struct str version = http_header(v->http, HEADER_VERSION);

	if (http_header_times(v->http, HEADER_SESSION) != 1)
		return MCP_FAULT(f, RPC_INVALID, 400,
				 "the header Mcp-Session-Id is missing: begin with initialize");
	if (version.ptr && mcp_revision(version) == MCP_UNKNOWN)
		return MCP_FAULT(f, RPC_INVALID, 400,
				 "MCP-Protocol-Version: %.*s is not spoken here",
				 STR_ARG(str_utf8_upto(version, 40)));
	struct guest *g = map_find(&v->front->mcp.sessions, id);
	if (g && g->open && g->client.session->ended) {
		guest_end(g);
		g = NULL;
	}
	if (!g || !g->open || !same_surface(&g->surface, surface) || !is_its_owner(v, g))
		return MCP_FAULT(f, RPC_NO_SESSION, 404, "there is no such session");
	*ret = g;
	return 0;
}

static int
session_new(const struct visit *v, const struct mcp_surface *surface, struct guest **ret,
	    struct mcp_fault *f)
{
	struct buf given = BUF_INIT(LIMIT_HTTP_FIELD);
	struct coming as = {.surface = surface};
	struct err e;
	int code = who_comes(v, &given, &as, &e);

	if (code == 0)
		code = guest_new(v->front, &as, false, ret, &e);
	buf_done(&given);
	if (code < 0)
		fault_from(f, &e);
	return code;
}

static int
take_initialize(const struct visit *v, const struct mcp_surface *surface,
		const struct mcp_message *m, struct mcp_fault *fault)
{
	struct guest *g = NULL;
	int code = session_new(v, surface, &g, fault);

	if (code < 0)
		return code;
	struct flow *f = flow_new(v->front, v->http);
	if (!f) {
		guest_end(g);
		return MCP_FAULT(fault, RPC_INTERNAL, 500, "out of memory");
	}
	flow_stay_plain(f);
	f->greets = g;
	guest_take(g, f, m);
	return 0;
}

static int
take_in_session(const struct visit *v, const struct mcp_surface *surface,
		const struct mcp_message *m, struct mcp_fault *fault)
{
	struct guest *g = NULL;
	int code = session_of(v, surface, &g, fault);

	if (code < 0)
		return code;
	if (m->rpc.kind != RPC_REQUEST) {
		guest_touch(g);
		mcp_take(&g->client, NULL, m);
		reply_accepted(v);
		return 0;
	}
	struct flow *f = flow_new(v->front, v->http);
	if (!f)
		return MCP_FAULT(fault, RPC_INTERNAL, 500, "out of memory");
	guest_take(g, f, m);
	return 0;
}

static int
take_legacy(const struct visit *v, const struct mcp_surface *surface, const struct mcp_message *m,
	    struct mcp_fault *f)
{
	bool greets = m->rpc.kind == RPC_REQUEST && str_is(m->rpc.method, "initialize");

	if (!header_is_modern(v->http))
		return (greets ? take_initialize : take_in_session)(v, surface, m, f);
	if (greets)
		return MCP_FAULT(f, RPC_HEADER, 400,
				 "the header MCP-Protocol-Version does not fit initialize");
	if (m->rpc.kind == RPC_REQUEST)
		return MCP_FAULT(f, RPC_PARAMS, 400, "params._meta: \"%s\" is missing",
				 META_VERSION);
	if (m->rpc.kind != RPC_NOTE)
		return MCP_FAULT(f, RPC_INVALID, 400, "answers are not taken in this version");
	reply_accepted(v);
	return 0;
}

/* ---- routes ---- */

void
route_mcp_post(const struct visit *v)
{
	struct mcp_message m = {.http = v->http};
	struct mcp_surface surface;
	struct json_doc *doc = NULL;
	struct mcp_fault fault;
	struct err e;

	if (surface_of(v, &surface, &e) < 0) {
		reply_err(v->http, &e);
		return;
	}
	int code = json_parse(v->http->body, &json_door, &doc, &e);
	if (code < 0) {
		fault_from(&fault, &e);
		reply_fault(v, NULL, &fault);
		return;
	}
	code = mcp_read(doc, &m, &fault);
	if (code == 0)
		code = (m.era == ERA_MODERN ? take_modern : take_legacy)(v, &surface, &m, &fault);
	if (code < 0)
		reply_fault(v, &m, &fault);
	json_doc_unref(doc);
}

/* GET and DELETE are for legacy sessions; the modern era has neither. */
static bool
is_of_session(const struct visit *v, struct guest **ret)
{
	struct mcp_surface surface;
	struct mcp_fault fault;
	struct err e;

	if (surface_of(v, &surface, &e) < 0) {
		reply_err(v->http, &e);
		return false;
	}
	bool legacy = http_header_times(v->http, HEADER_SESSION) ||
		      (http_header(v->http, HEADER_VERSION).ptr && !header_is_modern(v->http));
	if (!legacy || header_is_modern(v->http) || str_is(v->http->method, "HEAD")) {
		err_plain(&e, E_METHOD);
		reply_problem(v->http, &e, S("{}"), "Allow: POST\r\n");
		return false;
	}
	if (session_of(v, &surface, ret, &fault) < 0) {
		reply_fault(v, NULL, &fault);
		return false;
	}
	guest_touch(*ret);
	return true;
}

void
route_mcp_get(const struct visit *v)
{
	struct str last = http_header(v->http, "last-event-id");
	struct guest *g = NULL;
	struct err e;

	if (!is_of_session(v, &g))
		return;
	if (last.len && flow_resume(&g->home, last, v->http) == 0) {
		mcp_tell_changes(&g->client);
		return;
	}
	/* Of what was told unasked, what is forgotten is forgotten; the rest goes on. */
	if (!last.len || str_starts(last, S(FLOW_UNASKED "-"))) {
		flow_open_unasked(v->front, &g->home, g->client.revision, v->http);
		mcp_tell_changes(&g->client);
	} else {
		err_set(&e, E_BAD_REQUEST, "Last-Event-ID: there is nothing more of this stream");
		reply_err(v->http, &e);
	}
}

void
route_mcp_delete(const struct visit *v)
{
	struct guest *g = NULL;

	if (!is_of_session(v, &g))
		return;
	guest_end(g);
	http_reply(v->http, 204, NULL, S(""), NULL);
}
