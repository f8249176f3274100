/* front.c - the server behind all doors, and the way in for every request. */

#include "front/visit.h"

#include <stdio.h>
#include <stdlib.h>

/* Whoever is not let in has no body read. The route waits in r->user. */
static bool
admit(struct http_request *r, void *arg)
{
	struct visit v = {.front = arg, .http = r};
	struct buf allow = BUF_INIT(128);
	char extra[160] = "";
	struct err e = ERR_NONE;
	int code = access_origin(v.front, r, &e);

	if (code == 0 && (code = route_find(r->method, r->path, &v.route, &allow)) < 0)
		err_plain(&e, code);
	if (code == 0)
		code = access_route(&v, &e);
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

	if (access_media(r, &e) < 0)
		reply_err(r, &e);
	else
		v.route->handle(&v);
}

int
front_new(const struct front_spec *spec, struct front **ret, struct err *e)
{
	struct front *f = calloc(1, sizeof(*f));

	if (!f)
		return err_plain(e, E_NOMEM);
	f->spec = *spec;
	f->gw = spec->gw;
	list_init(&f->feeds);
	list_init(&f->lines);
	struct http_server_spec doors = {.head = admit, .handle = handle, .arg = f};
	int code = http_server_new(f->gw->loop, &doors, &f->server, e);
	if (code < 0) {
		free(f);
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

void
front_stop(struct front *f, unsigned grace_ms, void (*done)(void *arg), void *arg)
{
	feeds_end(f);
	lines_end(f);
	http_server_stop(f->server, grace_ms, done, arg);
}

void
front_free(struct front *f)
{
	if (!f)
		return;
	CHECK(f->feeds.len == 0 && f->lines.len == 0);
	http_server_free(f->server);
	free(f->token);
	free(f);
}
