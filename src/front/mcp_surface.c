/* mcp_surface.c - the four surfaces: their names, what they hold, what they say of themselves. */

#include "front/mcp_offer.h"

#define BUILTIN "builtin" /* the tools of our own, as a server */

static const struct {
	const char *name;
	enum surface kind;
} named[] = {
    {"gateway", SURFACE_GATEWAY},
    {"proxy", SURFACE_PROXY},
    {"all", SURFACE_ALL},
};

static const struct gateway *
gateway_of(const struct mcp_client *c)
{
	return c->front->gw;
}

/* ---- which ---- */

static int
fail_unknown(const struct upstreams *us, struct str text, struct err *e)
{
	struct buf names = BUF_INIT(512);
	size_t count = us ? upstreams_count(us) : 0;

	buf_addz(&names, "gateway, proxy, all, " BUILTIN);
	for (size_t i = 0; i < count; i++) {
		buf_addz(&names, ", ");
		buf_add(&names, upstream_name(upstream_at(us, i)));
	}
	err_set(e, E_NO_ROUTE, "there is no surface or server '%.*s'; there are %.*s%s",
		STR_ARG(str_utf8_upto(text, 100)), STR_ARG(str_utf8_whole(buf_str(&names))),
		buf_failed(&names) ? "..." : "");
	buf_done(&names);
	return E_NO_ROUTE;
}

int
mcp_surface_parse(const struct front *f, struct str text, struct mcp_surface *ret, struct err *e)
{
	const struct upstreams *us = f->gw->upstreams;

	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		if (str_is(text, named[i].name)) {
			*ret = (struct mcp_surface){.kind = named[i].kind};
			return 0;
		}
	bool known = str_is(text, BUILTIN) || (us && text.len && upstream_find(us, text));
	if (!known || text.len >= sizeof(ret->server))
		return fail_unknown(us, text, e);
	*ret = (struct mcp_surface){.kind = SURFACE_SERVER};
	memcpy(ret->server, text.ptr, text.len);
	return 0;
}

/* ---- tools ---- */

struct str
mcp_plain_name(const struct tool *t)
{
	return t->upstream_name.ptr ? t->upstream_name : t->name;
}

bool
mcp_tool_is_of(const struct tool *t, const char *server)
{
	return t->server.ptr ? str_is(t->server, server) : strcmp(server, BUILTIN) == 0;
}

static bool
is_it(const struct tool *t, const char *server, struct str name)
{
	return t && mcp_tool_is_of(t, server) && str_eq(mcp_plain_name(t), name);
}

/* Nearly always its name in the catalog is the usual one, or the plain one. */
static struct tool *
tool_of_server(const struct catalog *catalog, const char *server, struct str name)
{
	struct buf alias = BUF_INIT(2 * ALIAS_MAX);

	toolid_alias(&alias, str_of(server), name, (struct str){NULL, 0});
	struct tool *t = catalog_find(catalog, buf_str(&alias));
	buf_done(&alias);
	if (is_it(t, server, name))
		return t;
	if (is_it(t = catalog_find(catalog, name), server, name))
		return t;
	for (size_t i = 0; i < catalog_count(catalog); i++)
		if (is_it(t = catalog_at(catalog, i), server, name))
			return t;
	return NULL;
}

struct tool *
mcp_tool_of(const struct mcp_client *c, struct str name)
{
	const struct catalog *catalog = gateway_of(c)->catalog;
	struct tool *t = NULL;

	if (c->surface.kind == SURFACE_ALL)
		t = catalog_find(catalog, name);
	else if (c->surface.kind == SURFACE_SERVER)
		t = tool_of_server(catalog, c->surface.server, name);
	/* One that is disabled is told so by the pipeline, and the journal shows it. */
	return t && (tool_visible(t, c->session) || tool_disabled(t, c->session)) ? t : NULL;
}

/* ---- servers ---- */

static struct upstream *
own_server(const struct mcp_client *c)
{
	const struct upstreams *us = gateway_of(c)->upstreams;

	return us ? upstream_find(us, str_of(c->surface.server)) : NULL;
}

size_t
mcp_server_count(const struct mcp_client *c)
{
	const struct upstreams *us = gateway_of(c)->upstreams;

	if (c->surface.kind == SURFACE_SERVER)
		return own_server(c) ? 1 : 0;
	return us ? upstreams_count(us) : 0;
}

struct upstream *
mcp_server_at(const struct mcp_client *c, size_t i)
{
	if (c->surface.kind == SURFACE_SERVER)
		return own_server(c);
	return upstream_at(gateway_of(c)->upstreams, i);
}

bool
mcp_server_has(const struct mcp_client *c, const struct upstream *u, const char *capability)
{
	const struct json *said = upstream_capabilities(u);

	if (!agent_has_server(c->session->owner, upstream_name(u)))
		return false;
	return !said || json_get(said, str_of(capability));
}

/* ---- lists ---- */

void
mcp_look(const struct mcp_client *c)
{
	for (size_t i = 0; i < mcp_server_count(c); i++)
		upstream_look(mcp_server_at(c, i));
}

struct mcp_hint
mcp_list_hint(const struct mcp_client *c, enum upstream_list which)
{
	static const char *const capabilities[LIST__COUNT] = {"tools", "prompts", "resources",
							      "resources"};
	struct mcp_hint hint = {LIMIT_MCP_TTL_MS, true};
	size_t servers = 0;

	for (size_t i = 0; i < mcp_server_count(c); i++) {
		const struct upstream *u = mcp_server_at(c, i);
		if (!mcp_server_has(c, u, capabilities[which]))
			continue;
		hint = mcp_hint_both(hint, upstream_hint(u, which));
		servers++;
	}
	return servers ? hint : (struct mcp_hint){0};
}

struct mcp_hint
mcp_hint_here(const struct mcp_client *c, struct mcp_hint said)
{
	const struct front *f = c->front;
	bool alike = !f->gw->tenants || tenants_plain(f->gw->tenants);

	return (struct mcp_hint){.ttl_ms = said.ttl_ms,
				 .everybody = said.everybody && alike && !f->token};
}

/* ---- what it says of itself ---- */

static const struct promise {
	const char *name;
	unsigned changes; /* enum mcp_changed: its list; 0: it has none */
} capabilities[] = {
    {"tools", CHANGED_TOOLS},
    {"resources", CHANGED_RESOURCES},
    {"prompts", CHANGED_PROMPTS},
    {"completions", 0},
    {"logging", 0},
};

/* Of one server only what it has itself. Tools are ours to list in any case. */
static bool
has_capability(const struct mcp_client *c, const struct promise *row)
{
	if (row->changes == CHANGED_TOOLS || c->surface.kind != SURFACE_SERVER)
		return true;
	const struct upstream *u = own_server(c);
	return u && mcp_server_has(c, u, row->name);
}

unsigned
mcp_changing(const struct mcp_client *c)
{
	unsigned changing = 0;

	for (size_t i = 0; i < ARRAY_LEN(capabilities); i++)
		if (has_capability(c, &capabilities[i]))
			changing |= capabilities[i].changes;
	return mcp_seen_on(c->surface.kind, changing);
}

bool
mcp_server_tells(const struct upstream *u)
{
	const struct json *said = upstream_capabilities(u);

	return !said || json_bool(json_get(json_get(said, S("resources")), S("subscribe")));
}

static bool
can_subscribe(const struct mcp_client *c)
{
	return c->surface.kind != SURFACE_SERVER || mcp_server_tells(own_server(c));
}

void
mcp_write_capabilities(struct jw *w, const struct mcp_client *c, enum mcp_era era)
{
	(void)era; /* both have the same names for the same things */
	jw_key(w, "capabilities");
	jw_object(w);
	for (size_t i = 0; i < ARRAY_LEN(capabilities); i++) {
		const struct promise *row = &capabilities[i];
		if (!has_capability(c, row))
			continue;
		jw_key(w, row->name);
		jw_object(w);
		if (row->changes == CHANGED_RESOURCES && can_subscribe(c))
			jw_member_bool(w, "subscribe", true);
		if (row->changes & mcp_changing(c))
			jw_member_bool(w, "listChanged", true);
		jw_end(w);
	}
	jw_end(w);
}

#define APPROVAL                                                                                   \
	" Calls that write, execute or reach the network may wait for a person's approval, up to " \
	"some minutes. A refused or failed call says why in its result."

static const char *const instructions[] = {
    [SURFACE_GATEWAY] =
	"Many tools stand behind these three. Find one with tool_browse: a query of verb, object "
	"and product, one capability per query (\"create issue github\"), or a path, from \"/\" "
	"on. Run it with tool_execute, by the id on its card; its arguments are checked before "
	"anything happens, and what is wrong with them is told with the schema's own words. A "
	"long result is kept under a handle: look at parts of it with tool_view." APPROVAL,
    [SURFACE_PROXY] =
	"The tools listed here are shown without their schemas and are not called directly. Get "
	"the schema of one with tool_hydrate, and run it with tool_execute; both take its name or "
	"its id." APPROVAL,
    [SURFACE_ALL] = "Tools of several servers; each is named SERVER__TOOL. Those without a server "
		    "act inside one workspace directory, and paths are relative to it." APPROVAL,
};

static const char builtin_instructions[] =
    "Tools act inside one workspace directory; paths are relative to it." APPROVAL;

void
mcp_write_instructions(struct jw *w, const struct mcp_client *c)
{
	struct str text = {NULL, 0};

	if (c->surface.kind != SURFACE_SERVER)
		text = str_of(instructions[c->surface.kind]);
	else if (strcmp(c->surface.server, BUILTIN) == 0)
		text = str_of(builtin_instructions);
	else if (own_server(c))
		text = upstream_instructions(own_server(c));
	if (text.len)
		jw_member(w, "instructions", text);
}
