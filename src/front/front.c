/* front.c - the server behind all doors, and the way in for every request. */

#include "front/mcp.h"

#include <stdio.h>
#include <stdlib.h>

/* Whoever is not let in has no body read. The route waits in r->user. */
static bool
admit(struct http_request *r, void *arg)
{
	struct visit v = {.front = arg, .http = r};
	struct buf allow = BUF_INIT(128);
	char extra[160] = "";
	struct err e;
	int code = access_origin(v.front, r, &e);

	if (code == 0 && (code = route_find(r->method, r->path, &v.route, &allow)) < 0)
		err_plain(&e, code);
	if (code == 0)
		code = access_route(&v, &e);
	if (code == 0)
		code = http_query_check(r, &e);
	if (code == E_METHOD)
		snprintf(extra, sizeof(extra), "Allow: %.*s\r\n", STR_ARG(buf_str(&allow)));
	if (code == E_UNAUTHORIZED)
		snprintf(extra, sizeof(extra), "WWW-Authenticate: Bearer\r\n");
	buf_done(&allow);
	if (code < 0)
		reply_problem(r, &e, S("{}"), extra);
	r->user = (void *)v.route;
	return code == 0;
}

static void
handle(struct http_request *r, void *arg)
{
	struct visit v = {.front = arg, .http = r, .route = r->user};
	struct err e;

	/* Envelopes may be YAML. */
	if (access_media(r, v.route->handle == route_kernel_envelope, &e) < 0)
		reply_err(r, &e);
	else
		v.route->handle(&v);
}

static int
front_fill(struct front *f, const struct front_spec *spec)
{
	f->spec = *spec;
	f->gw = spec->gw;
	f->spec.workspace = NULL;
	if (spec->workspace && !(f->workspace = strdup(spec->workspace)))
		return E_NOMEM;
	list_init(&f->feeds);
	list_init(&f->lines);
	list_init(&f->mcp.clients);
	list_init(&f->mcp.guests);
	list_init(&f->mcp.parks);
	map_init(&f->mcp.sessions, LIMIT_MCP_SESSIONS);
	mcp_park_init(f);
	mcp_listen_init(f);
	return 0;
}

int
front_new(const struct front_spec *spec, struct front **ret, struct err *e)
{
	struct front *f = calloc(1, sizeof(*f));
	struct http_server_spec doors = {.head = admit, .handle = handle, .arg = f};

	if (!f || front_fill(f, spec) < 0) {
		free(f);
		return err_plain(e, E_NOMEM);
	}
	int code = http_server_new(f->gw->loop, &doors, &f->server, e);
	if (code < 0) {
		front_free(f);
		return code;
	}
	*ret = f;
	return 0;
}

struct http_server *
front_server(struct front *f)
{
	return f->server;
}

int
front_set_token(struct front *f, const char *token)
{
	char *copy = token ? strdup(token) : NULL;

	if (token && !copy)
		return E_NOMEM;
	free(f->token);
	f->token = copy;
	return 0;
}

int
front_allow_host(struct front *f, const char *host)
{
	if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
		return 0; /* every address is no name */
	if (f->host_count == LIMIT_FRONT_HOSTS || strlen(host) + sizeof("[]") > LIMIT_HOST_BYTES)
		return E_LIMIT;
	snprintf(f->hosts[f->host_count++], LIMIT_HOST_BYTES, strchr(host, ':') ? "[%s]" : "%s",
		 host);
	return 0;
}

/* Every address is none that could be opened: its loopback is. */
static const char *
host_to_open(const char *host)
{
	if (strcmp(host, "0.0.0.0") == 0)
		return "127.0.0.1";
	return strcmp(host, "::") == 0 ? "::1" : host;
}

void
front_page_at(struct front *f, const char *host, uint16_t port)
{
	if (f->page[0])
		return;
	host = host_to_open(host);
	snprintf(f->page, sizeof(f->page),
		 strchr(host, ':') ? "http://[%.*s]:%u/" : "http://%.*s:%u/", LIMIT_HOST_BYTES - 3,
		 host, port);
}

static void
front_over(void *arg)
{
	struct front *f = arg;

	f->stopped(f->stopped_arg);
}

void
front_client_gone(struct front *f)
{
	if (f->doors_closed && f->mcp.clients.len == 0)
		defer(f->gw->loop, &f->over, front_over, f);
}

static void
doors_closed(void *arg)
{
	struct front *f = arg;

	f->doors_closed = true;
	front_client_gone(f);
}

void
front_stop(struct front *f, unsigned grace_ms, void (*done)(void *arg), void *arg)
{
	f->stopping = true;
	f->stopped = done;
	f->stopped_arg = arg;
	feeds_end(f);
	listeners_end(f);
	guests_end(f);
	lines_end(f);
	http_server_stop(f->server, grace_ms, doors_closed, f);
}

void
front_free(struct front *f)
{
	if (!f)
		return;
	CHECK(f->feeds.len == 0 && f->lines.len == 0 && f->mcp.clients.len == 0);
	mcp_listen_done(f);
	guests_end(f);
	http_server_free(f->server);
	map_done(&f->mcp.sessions);
	free(f->workspace);
	free(f->token);
	free(f);
}
