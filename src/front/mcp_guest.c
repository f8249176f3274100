/* mcp_guest.c - clients over HTTP, from the opening of their workspace to their end. */

#include "front/mcp_guest.h"

#include <stdio.h>
#include <stdlib.h>

#include "front/mcp_offer.h"
#include "mcp/header.h"

static void
answer_fault(struct flow *f, const struct mcp_message *m, const struct mcp_fault *fault)
{
	struct buf b = BUF_INIT(LIMIT_LINE_BYTES + LIMIT_PROBLEM_BYTES);

	mcp_write_fault(&b, m, fault);
	f->channel.ops->answer(&f->channel, fault->status, &b);
}

int
mcp_fault_from(struct mcp_fault *f, const struct err *e)
{
	*f = (struct mcp_fault){.code = err_row(e->code)->rpc,
				.status = err_row(e->code)->http,
				.err = *e};
	return e->code;
}

/* ---- the end ---- */

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

	mcp_fault_from(&fault, e);
	LIST_EACH (&g->waiting, at) {
		struct flow *f = CONTAINER_OF(at, struct flow, node);
		list_remove(&f->node);
		answer_fault(f, &f->message, &fault);
	}
}

static void opening_disown(struct opening *o);

void
mcp_guest_end(struct guest *g)
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
		mcp_guest_end(CONTAINER_OF(n, struct guest, node));
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
			mcp_guest_end(g);
		else if (g->open) /* a stream that is only listened to is a use, too */
			g->client.session->attached = guest_is_busy(g);
	}
	if (f->mcp.guests.len > 0)
		timer_start(f->gw->loop, &f->mcp.sweep, LIMIT_MCP_SWEEP_MS, sweep, f);
}

/* ---- the beginning ---- */

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
		mcp_guest_end(g);
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
	mcp_guest_end(stale);
	return 0;
}

int
mcp_guest_new(struct front *f, const struct coming *as, bool commons, struct guest **ret,
	      struct err *e)
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

bool
mcp_guest_is_on(const struct guest *g, const struct mcp_surface *surface)
{
	return g->surface.kind == surface->kind && strcmp(g->surface.server, surface->server) == 0;
}

struct guest *
mcp_commons_find(struct front *f, const struct coming *as)
{
	LIST_EACH (&f->mcp.guests, at) {
		struct guest *g = CONTAINER_OF(at, struct guest, node);
		if (!g->commons || !mcp_guest_is_on(g, as->surface) || g->owner != as->owner ||
		    !str_is(as->workspace, g->workspace))
			continue;
		if (!g->open || !g->client.session->ended)
			return g;
		mcp_guest_end(g);
		return NULL;
	}
	return NULL;
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
	struct tool *t = mcp_tool_of(&g->client, name);
	if (!t || !tool_in_headers(t))
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

void
mcp_guest_touch(struct guest *g)
{
	CHECK(g);
	g->used_ms = loop_now_ms(g->front->gw->loop);
	if (g->open)
		g->client.session->used_ms = g->used_ms;
}

void
mcp_guest_take(struct guest *g, struct flow *f, const struct mcp_message *m)
{
	mcp_guest_touch(g);
	if (g->open) {
		guest_serve(g, f, m);
		return;
	}
	f->message = *m;
	f->doc = json_doc_ref(m->doc);
	list_push(&g->waiting, &f->node);
}
