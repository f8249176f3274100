/*
 * access.c - who may come in.
 *
 * A web page the user looks at can send requests to 127.0.0.1 too, and by a name that it makes
 * resolve to it even read the answers. So over TCP the Host must be ours, and so must the Origin,
 * whatever the path. No CORS header is ever sent: no other origin is let in.
 */

#include <stdio.h>

#include "front/visit.h"
#include "loop/child.h"
#include "minder/proc.h"

/* ":8080", and in no other spelling. */
static bool
is_port(struct str given, uint16_t port)
{
	char text[sizeof(":65535")], *at = text + sizeof(text);
	unsigned left = port;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	*--at = ':';
	return str_eq(given, (struct str){at, (size_t)(text + sizeof(text) - at)});
}

static bool
is_authority(struct str given, const char *name, uint16_t port)
{
	struct str host = str_of(name);

	if (!str_eq_nocase(str_upto(given, host.len), host))
		return false;
	given = str_from(given, host.len);
	return given.len ? is_port(given, port) : port == 80;
}

bool
access_names_us(const struct front *f, struct str authority, uint16_t port)
{
	static const char *const loopback[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; i < ARRAY_LEN(loopback); i++)
		if (is_authority(authority, loopback[i], port))
			return true;
	for (size_t i = 0; i < f->host_count; i++)
		if (is_authority(authority, f->hosts[i], port))
			return true;
	return false;
}

int
access_origin(const struct front *f, const struct http_request *r, struct err *e)
{
	size_t origins = http_header_times(r, "origin");
	struct str origin = http_header(r, "origin");

	/* No browser comes over a Unix socket, unless somebody forwards it: then for no page. */
	if (r->local)
		return origins == 0
			   ? 0
			   : err_set(e, E_FORBIDDEN, "requests from web pages are not taken here");
	if (http_header_times(r, "host") != 1 ||
	    !access_names_us(f, http_header(r, "host"), r->port))
		return err_set(e, E_FORBIDDEN, "the Host is not a name of this gateway");
	if (origins == 0)
		return 0;
	if (origins > 1 || !str_starts(origin, S("http://")) ||
	    !access_names_us(f, str_from(origin, sizeof("http://") - 1), r->port))
		return err_set(e, E_FORBIDDEN, "the Origin is not this gateway");
	return 0;
}

/* Takes the same time wherever they differ; only the length shows. */
static bool
same_secret(struct str a, struct str b)
{
	volatile unsigned char differ = a.len != b.len;

	for (size_t i = 0; i < a.len && i < b.len; i++)
		differ |= (unsigned char)(a.ptr[i] ^ b.ptr[i]);
	return differ == 0;
}

static int
check_token(const struct front *f, const struct http_request *r, struct err *e)
{
	struct str given = http_header(r, "authorization");
	struct str scheme = S("Bearer ");

	if (r->local || !f->token)
		return 0;
	if (http_header_times(r, "authorization") != 1 ||
	    !str_eq_nocase(str_upto(given, scheme.len), scheme))
		return err_plain(e, E_UNAUTHORIZED);
	if (!same_secret(str_trim(str_from(given, scheme.len)), str_of(f->token)))
		return err_set(e, E_UNAUTHORIZED, "the bearer token is not the right one");
	return 0;
}

static bool
unix_peer_is_tool(const struct http_request *r)
{
	struct proc now;

	/* In this order: who is still there after the walk was there all the while. */
	return child_is_ours(r->peer_pid) || !proc_read(r->peer_pid, &now) ||
	       now.start != r->peer_start;
}

/*
 * A tool may have read the token, and can connect like anybody. Its descent gives it away, over the
 * Unix socket and over TCP within this machine; whoever cannot be told is taken for one.
 */
bool
access_from_tool(const struct http_request *r)
{
	if (r->local)
		return unix_peer_is_tool(r);
	return r->same_host && child_tcp_peer(r->peer_port, r->port) != PEER_STRANGER;
}

#define HEADER_AGENT "x-holdfast-agent"

bool
access_names_agent(const struct http_request *r)
{
	return http_header_times(r, HEADER_AGENT) > 0;
}

int
access_owner(const struct visit *v, struct str tenant, struct str agent, struct agent **ret,
	     struct err *e)
{
	const struct tenants *all = v->front->gw->tenants;
	size_t times = http_header_times(v->http, HEADER_AGENT);
	struct str header = http_header(v->http, HEADER_AGENT), none = {NULL, 0};
	bool said = tenant.ptr || agent.ptr;
	struct agent *by_header = NULL;
	int code = 0;

	*ret = NULL;
	if (!all)
		return said || times ? err_plain(e, E_NO_AGENT) : 0;
	if (times > 1 || (times && str_trim(header).len == 0))
		return err_set(e, E_BAD_REQUEST, "X-Holdfast-Agent: must be one tenant/agent");
	if (!tenants_plain(all) && access_from_tool(v->http))
		return err_set(e, E_FORBIDDEN, "a tool call cannot say whose tools it wants");
	if (times)
		code = agent_named(all, none, str_trim(header), &by_header, e);
	if (code == 0 && (said || !times))
		code = agent_named(all, tenant, agent, ret, e);
	if (code == 0 && said && times && *ret != by_header)
		return err_set(e, E_BAD_REQUEST,
			       "X-Holdfast-Agent: somebody else is named beside it");
	if (code == 0 && !said && times)
		*ret = by_header;
	return code;
}

/* The session, the effects, the journal of somebody else would do as well as his name. */
static int
check_shared(const struct visit *v, struct err *e)
{
	const struct tenants *all = v->front->gw->tenants;

	if (!all || tenants_plain(all) || !access_from_tool(v->http))
		return 0;
	return err_set(e, E_FORBIDDEN, "a tool call cannot say whose tools it wants");
}

int
access_route(const struct visit *v, struct err *e)
{
	int code;

	switch (v->route->access) {
	case ACCESS_OPEN: return 0;
	case ACCESS_TOKEN:
		code = check_token(v->front, v->http, e);
		return code < 0 ? code : check_shared(v, e);
	case ACCESS_PERSON:
		if (access_from_tool(v->http))
			return err_set(e, E_FORBIDDEN, "a tool call cannot answer questions");
		return check_token(v->front, v->http, e);
	case ACCESS_LOCAL:
		if (v->http->local)
			return 0;
		return err_set(e, E_FORBIDDEN, "this is served over the Unix socket only");
	}
	BUG("a route without an access rule");
}

int
access_media(const struct http_request *r, bool yaml, struct err *e)
{
	struct str type = http_header(r, "content-type");
	ptrdiff_t end = str_index(type, ';');

	if (r->body.len == 0)
		return 0;
	if (end >= 0)
		type = str_upto(type, (size_t)end);
	type = str_trim(type);
	if (str_eq_nocase(type, S("application/json")))
		return 0;
	if (yaml && str_eq_nocase(type, S("application/yaml")))
		return 0;
	/* A form or text/plain could be sent by any page without asking first. */
	return yaml ? err_set(e, E_MEDIA_TYPE,
			      "the body must be application/json or application/yaml")
		    : err_plain(e, E_MEDIA_TYPE);
}
