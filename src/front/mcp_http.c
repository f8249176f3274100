/*
 * mcp_http.c - /mcp over HTTP (Streamable HTTP, mcp.md 2.5 and 3.2): which era, headers, whose
 * request it is.
 *
 *	POST --> the body says which era --> modern: headers against body --> the commons
 *	                                     legacy: Mcp-Session-Id       --> its session
 *	GET, DELETE: of a legacy session
 *
 * Both are guests (mcp_guest.h).
 */

#include "front/mcp_guest.h"
#include "mcp/header.h"

#define HEADER_WORKSPACE "holdfast-workspace"
#define HEADER_SESSION "mcp-session-id"
#define HEADER_VERSION "mcp-protocol-version"

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

static int
commons_get(const struct visit *v, const struct mcp_surface *surface, struct guest **ret,
	    struct mcp_fault *f)
{
	struct buf given = BUF_INIT(LIMIT_HTTP_FIELD);
	struct coming as = {.surface = surface};
	struct err e;
	int code = who_comes(v, &given, &as, &e);

	if (code == 0 && !(*ret = mcp_commons_find(v->front, &as)))
		code = mcp_guest_new(v->front, &as, true, ret, &e);
	buf_done(&given);
	if (code < 0)
		mcp_fault_from(f, &e);
	return code;
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
	mcp_guest_take(g, f, m);
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
		mcp_guest_end(g);
		g = NULL;
	}
	if (!g || !g->open || !mcp_guest_is_on(g, surface) || !is_its_owner(v, g))
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
		code = mcp_guest_new(v->front, &as, false, ret, &e);
	buf_done(&given);
	if (code < 0)
		mcp_fault_from(f, &e);
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
		mcp_guest_end(g);
		return MCP_FAULT(fault, RPC_INTERNAL, 500, "out of memory");
	}
	flow_stay_plain(f);
	f->greets = g;
	mcp_guest_take(g, f, m);
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
		mcp_guest_touch(g);
		mcp_take(&g->client, NULL, m);
		reply_accepted(v);
		return 0;
	}
	struct flow *f = flow_new(v->front, v->http);
	if (!f)
		return MCP_FAULT(fault, RPC_INTERNAL, 500, "out of memory");
	mcp_guest_take(g, f, m);
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
		mcp_fault_from(&fault, &e);
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
	mcp_guest_touch(*ret);
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
	mcp_guest_end(g);
	http_reply(v->http, 204, NULL, S(""), NULL);
}
