/*
 * mcp.c - tools of MCP servers in the catalog.
 *
 *	upstream says NEWS_TOOLS --> server_sync: what stayed stays, what is another is exchanged
 *
 * A tool keeps references to what its definition stands in and to its server: a call in flight has
 * both, whatever the server says meanwhile.
 */

#include "provider/mcp_tool.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "mcp/header.h"
#include "mcp/mcp.h"
#include "mcp/shape.h"

#define PROBLEM_BYTES 256
#define PROBLEMS_MOST 1000
#define PROBLEMS_TOLD 20 /* to the log, each time a server's tools are looked at */
#define LISTS_MOST 8     /* of one server in memory: each tool keeps the list that it came with */
#define LISTS_BYTES (32 * MIB) /* of all of these, when there is more than one */

/* What is kept of the settings of one server, and its tools in the catalog. */
struct mcp_server {
	struct mcp_provider *provider;
	struct mcp_settings settings;
	struct arena *arena; /* of the settings */
	struct tool **tools; /* references, by upstream name */
	size_t count;
	unsigned lists; /* that its tools stand in, at most */
	size_t lists_bytes;
	struct node node;
};

struct mcp_provider {
	struct provider provider; /* what tools point to */
	struct loop *loop;
	struct catalog *catalog;
	struct upstreams *upstreams;
	struct upstream_watch watch;
	struct list servers;
	struct map contested; /* names that more than one server claimed */
	char (*problems)[PROBLEM_BYTES];
	size_t problem_count;
	unsigned told; /* of these, to the log, in this turn */
	void (*changed)(void *arg);
	void *arg;
};

/* ---- problems, for people ---- */

static void PRINTF_LIKE(3, 4)
    problem(struct mcp_provider *p, struct str server, const char *fmt, ...)
{
	char why[PROBLEM_BYTES - 82], who[80];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(who, sizeof(who), "%.*s", STR_ARG(str_utf8_upto(server, 64)));
	if (p->told++ < PROBLEMS_TOLD)
		log_line(LOG_WARN, "a tool of a server is not listed as the server has it",
			 "server", who, "why", why, NULL);
	if (p->problem_count == PROBLEMS_MOST)
		return;
	void *more = realloc(p->problems, (p->problem_count + 1) * sizeof(*p->problems));
	if (!more)
		return;
	p->problems = more;
	snprintf(p->problems[p->problem_count++], PROBLEM_BYTES, "%s: %s", who, why);
}

static void
problems_forget(struct mcp_provider *p, struct str server)
{
	size_t kept = 0;

	for (size_t i = 0; p->problems && i < p->problem_count; i++) {
		struct str line = str_of(p->problems[i]);
		struct str who = str_utf8_upto(server, 64);
		bool theirs = str_starts(line, who) && str_starts(str_from(line, who.len), S(":"));
		if (!theirs && kept++ != i)
			memcpy(p->problems[kept - 1], p->problems[i], PROBLEM_BYTES);
	}
	p->problem_count = kept;
}

size_t
mcp_problem_count(const struct mcp_provider *p)
{
	return p->problem_count;
}

const char *
mcp_problem_at(const struct mcp_provider *p, size_t i)
{
	CHECK(i < p->problem_count);
	return p->problems[i];
}

/* ---- names ---- */

static bool
matches(struct str name, const char *const *patterns)
{
	for (; patterns && *patterns; patterns++) {
		struct str pattern = str_of(*patterns);
		if (str_ends(pattern, S("*")) ? str_starts(name, str_upto(pattern, pattern.len - 1))
					      : str_eq(name, pattern))
			return true;
	}
	return false;
}

static bool
is_wanted(const struct mcp_settings *s, struct str name)
{
	return (!s->enabled || matches(name, s->enabled)) && !matches(name, s->disabled);
}

static bool
is_plain(struct str name)
{
	if (name.len == 0 || name.len > ALIAS_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '-' && c != '.')
			return false;
	}
	return true;
}

/* SERVER__TOOL: nobody else's, because server names are unique. */
static void
long_name(struct buf *out, const struct mcp_settings *s, struct str tool)
{
	toolid_alias(out, s->server, tool, (struct str){NULL, 0});
}

static void
short_name(struct buf *out, const struct mcp_settings *s, struct str tool)
{
	if (s->prefix.ptr && s->prefix.len == 0 && is_plain(tool))
		buf_add(out, tool);
	else if (s->prefix.len)
		toolid_alias(out, s->prefix, tool, (struct str){NULL, 0});
	else
		long_name(out, s, tool);
}

/* ---- tools ---- */

static void
tool_data_free(void *data)
{
	struct mcp_tool *m = data;

	upstream_unref(m->upstream);
	schema_free(m->output);
	free(m);
}

static const struct mcp_tool *
data_of(const struct tool *t)
{
	return t->provider_data;
}

struct upstream *
mcp__upstream(struct provider *p, const struct tool *t)
{
	struct mcp_provider *mcp = CONTAINER_OF(p, struct mcp_provider, provider);
	struct upstream *now = upstream_find(mcp->upstreams, t->server);

	return now ? now : data_of(t)->upstream;
}

static int
adopt(struct mcp_server *s, struct upstream *u, const struct json *definition, struct json_doc *doc,
      struct str name, const char *pin, bool changed, struct tool **ret, struct err *e)
{
	struct mcp_tool *m = calloc(1, sizeof(*m));
	struct tool_origin origin = {
	    .server = s->settings.server,
	    .ns = s->settings.ns.len ? s->settings.ns : s->settings.server,
	    .name = name,
	    .definition = definition,
	    .doc = doc,
	    .trusted = s->settings.trust,
	    .timeout_ms = s->settings.timeout_ms,
	    .max_ms = s->settings.max_ms,
	};

	if (!m)
		return err_plain(e, E_NOMEM);
	int rc = tool_adopt(&origin, ret, e);
	if (rc < 0) {
		free(m);
		return rc;
	}
	m->upstream = upstream_ref(u);
	memcpy(m->pin, pin, sizeof(m->pin));
	(*ret)->changed = changed;
	(*ret)->confirm = s->settings.confirm;
	(*ret)->repair_arguments = s->settings.repair_arguments;
	(*ret)->provider = &s->provider->provider;
	(*ret)->provider_data = m;
	(*ret)->provider_free = tool_data_free;
	return 0;
}

static struct mcp_server *
server_find(const struct mcp_provider *p, struct str name)
{
	LIST_EACH (&p->servers, at) {
		struct mcp_server *s = CONTAINER_OF(at, struct mcp_server, node);
		if (str_eq(s->settings.server, name))
			return s;
	}
	return NULL;
}

static void
contest(struct mcp_provider *p, struct str name)
{
	char *key = str_dup(name);

	/* Only a mark: whether it could be made or not, this time neither gets the name. */
	if (key && map_put(&p->contested, str_of(key), key) < 0)
		free(key);
}

/* The other server's tool that has the name gets its long one. */
static void
rename_holder(struct mcp_provider *p, struct tool *holder)
{
	struct mcp_server *s = server_find(p, holder->server);
	struct buf name = BUF_INIT(ALIAS_MAX);
	struct tool *t = NULL;
	struct err e = ERR_NONE;

	long_name(&name, &s->settings, holder->upstream_name);
	for (size_t i = 0; i < s->count; i++) {
		if (s->tools[i] != holder)
			continue;
		catalog_remove(p->catalog, holder->name);
		if (!buf_failed(&name) &&
		    adopt(s, data_of(holder)->upstream, holder->definition, holder->card,
			  buf_str(&name), data_of(holder)->pin, holder->changed, &t, &e) == 0 &&
		    catalog_add(p->catalog, t, &e) == 0) {
			s->tools[i] = t;
			t = NULL;
			tool_unref(holder);
		} else {
			problem(p, s->settings.server, "tool '%.*s': %s",
				STR_ARG(str_utf8_upto(holder->upstream_name, 64)), err_text(&e));
		}
		break;
	}
	tool_unref(t);
	buf_done(&name);
}

/* Whose the name is: nobody's, so that it can be taken. */
static bool
name_is_free(struct mcp_provider *p, const struct mcp_server *s, struct str name)
{
	struct tool *holder = catalog_find(p->catalog, name);

	if (mcp_is_own_tool(name) || map_find(&p->contested, name))
		return false;
	if (!holder)
		return true;
	if (holder->provider == &p->provider && !str_eq(holder->server, s->settings.server)) {
		contest(p, name);
		rename_holder(p, holder);
	}
	return false;
}

static int
tool_make(struct mcp_server *s, struct upstream *u, const struct upstream_tool *from,
	  struct tool **ret, struct err *e)
{
	const struct json *schema = json_get(from->definition, S("inputSchema"));
	struct buf name = BUF_INIT(ALIAS_MAX);
	struct header_param params[LIMIT_MCP_PARAMS];
	size_t count;
	int rc = shape_check(SHAPE_TOOL, from->definition, e);

	if (rc == 0 && upstream_kind(u) == UPSTREAM_HTTP && header_has_params(schema))
		rc = header_params(schema, NULL, params, ARRAY_LEN(params), &count, e);
	short_name(&name, &s->settings, from->name);
	if (!name_is_free(s->provider, s, buf_str(&name))) {
		if (rc == 0)
			problem(s->provider, s->settings.server,
				"tool '%.*s': the name %.*s is taken; it is called by its long one",
				STR_ARG(str_utf8_upto(from->name, 64)), STR_ARG(buf_str(&name)));
		buf_reset(&name);
		long_name(&name, &s->settings, from->name);
	}
	if (rc == 0 && buf_failed(&name))
		rc = err_plain(e, E_NOMEM);
	if (rc == 0)
		rc = adopt(s, u, from->definition, upstream_tools_doc(u), buf_str(&name), from->pin,
			   from->changed != NULL, ret, e);
	buf_done(&name);
	return rc;
}

/* The same as it was? Then calls that wait for a person keep their tool. */
static bool
is_same(const struct tool *t, const struct upstream_tool *from, const struct upstream *u)
{
	return str_eq(t->upstream_name, from->name) && data_of(t)->upstream == u &&
	       strcmp(data_of(t)->pin, from->pin) == 0 && t->changed == (from->changed != NULL);
}

static bool
is_offered(const struct mcp_server *s, const struct upstream_tool *from)
{
	return is_wanted(&s->settings, from->name);
}

static void
drop_tool(struct mcp_server *s, struct tool *t)
{
	catalog_remove(s->provider->catalog, t->name);
	tool_unref(t);
}

static void
add_tool(struct mcp_server *s, struct upstream *u, const struct upstream_tool *from)
{
	struct tool *t = NULL;
	struct err e = ERR_NONE;

	if (tool_make(s, u, from, &t, &e) == 0 && catalog_add(s->provider->catalog, t, &e) == 0) {
		s->tools[s->count++] = t;
		return;
	}
	tool_unref(t);
	problem(s->provider, s->settings.server, "tool '%.*s': %s",
		STR_ARG(str_utf8_upto(from->name, 64)), err_text(&e));
}

static int
by_upstream_name(const void *a, const void *b)
{
	return str_cmp((*(struct tool *const *)a)->upstream_name,
		       (*(struct tool *const *)b)->upstream_name);
}

/* Both rows are sorted by name: one walk finds what stays. u NULL: none is left. */
static void
server_sync(struct mcp_server *s, struct upstream *u)
{
	size_t offered = u ? upstream_tool_count(u) : 0, was = s->count, i = 0;
	struct tool **tools = calloc(offered + 1, sizeof(struct tool *)), **before = s->tools;
	struct err e = ERR_NONE;
	bool *stays = calloc(offered + 1, sizeof(*stays));

	if (!tools || !stays) {
		free(tools);
		free(stays);
		err_plain(&e, E_NOMEM);
		problem(s->provider, s->settings.server, "%s", err_text(&e));
		return;
	}
	problems_forget(s->provider, s->settings.server);
	s->provider->told = 0;
	size_t bytes = u ? json_doc_bytes(upstream_tools_doc(u)) : 0;
	bool afresh = s->lists == LISTS_MOST || s->lists_bytes + bytes > LISTS_BYTES;
	s->lists = afresh ? 1 : s->lists + 1;
	s->lists_bytes = afresh ? bytes : s->lists_bytes + bytes;
	s->tools = tools;
	s->count = 0;
	for (size_t k = 0; k < offered; k++) {
		const struct upstream_tool *from = upstream_tool_at(u, k);
		while (i < was && str_cmp(before[i]->upstream_name, from->name) < 0)
			drop_tool(s, before[i++]);
		stays[k] = !afresh && i < was && is_offered(s, from) && is_same(before[i], from, u);
		if (stays[k])
			s->tools[s->count++] = before[i++];
	}
	while (i < was)
		drop_tool(s, before[i++]);
	/* Names that went are free now. */
	for (size_t k = 0; k < offered; k++)
		if (!stays[k] && is_offered(s, upstream_tool_at(u, k)))
			add_tool(s, u, upstream_tool_at(u, k));
	qsort(s->tools, s->count, sizeof(struct tool *), by_upstream_name);
	if (u)
		upstream_tell_offered(u, s->count);
	free(before);
	free(stays);
}

static void
news(struct upstream *u, unsigned what, void *arg)
{
	struct mcp_provider *p = arg;
	struct mcp_server *s = server_find(p, upstream_name(u));

	if (!s || !(what & (NEWS_TOOLS | NEWS_GONE)))
		return;
	server_sync(s, what & NEWS_GONE ? NULL : u);
	if (p->changed)
		p->changed(p->arg);
}

/* ---- names that no tool has ---- */

static size_t
names_of(const struct mcp_settings *s, struct str name)
{
	const struct str said[] = {s->server, s->prefix, s->ns};
	size_t most = 0;

	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		size_t n = said[i].len ? toolid_names(name, said[i]) : 0;
		most = n > most ? n : most;
	}
	return most;
}

static const struct mcp_server *
server_meant(const struct mcp_provider *p, struct str name)
{
	const struct mcp_server *found = NULL;
	size_t most = 0;

	LIST_EACH (&p->servers, at) {
		const struct mcp_server *s = CONTAINER_OF(at, struct mcp_server, node);
		size_t n = names_of(&s->settings, name);
		if (n > most) {
			most = n;
			found = s;
		}
	}
	return found;
}

/* The tool that it has and does not offer. */
static const struct upstream_tool *
tool_meant(const struct mcp_settings *s, const struct upstream *u, struct str name)
{
	struct toolid id = {0};
	struct buf alias = BUF_INIT(ALIAS_MAX);
	bool by_id = toolid_parse(name, &id, NULL) == 0;
	const struct upstream_tool *found = NULL;

	for (size_t i = 0; !found && i < upstream_tool_count(u); i++) {
		const struct upstream_tool *t = upstream_tool_at(u, i);
		buf_reset(&alias);
		short_name(&alias, s, t->name);
		if (by_id ? str_eq(id.name, t->name) : str_eq(buf_str(&alias), name))
			found = t;
	}
	buf_done(&alias);
	return found;
}

static void
why_not_offered(const struct mcp_settings *s, const struct upstream_tool *t, struct err *why)
{
	struct err unfit = ERR_NONE;

	if (!is_wanted(s, t->name))
		err_set(why, E_NOT_FOUND,
			"the tool '%.*s' of the server '%.*s' is disabled in the "
			"configuration",
			STR_ARG(str_utf8_upto(t->name, 100)),
			STR_ARG(str_utf8_upto(s->server, 100)));
	else if (shape_check(SHAPE_TOOL, t->definition, &unfit) < 0)
		err_set(why, E_NOT_FOUND, "the tool '%.*s' of the server '%.*s' is not offered: %s",
			STR_ARG(str_utf8_upto(t->name, 100)),
			STR_ARG(str_utf8_upto(s->server, 100)), unfit.text);
}

struct str
mcp_why_missing(const struct mcp_provider *p, struct str name, struct err *why)
{
	const struct mcp_server *s = server_meant(p, name);
	const struct upstream *u = s ? upstream_find(p->upstreams, s->settings.server) : NULL;

	if (!u)
		return (struct str){NULL, 0};
	struct str server = str_utf8_upto(s->settings.server, 100);
	struct str problem = str_utf8_upto(upstream_problem(u), 400);
	const struct upstream_tool *t = tool_meant(&s->settings, u, name);
	if (t)
		why_not_offered(&s->settings, t, why);
	else if (!upstream_known(u) && problem.len)
		err_set(why, E_UNAVAILABLE,
			"the server '%.*s' cannot be used (%.*s), so its tools are not known; a "
			"person can look: holdfast servers",
			STR_ARG(server), STR_ARG(problem));
	else if (!upstream_known(u))
		err_set(why, E_UNAVAILABLE,
			"the server '%.*s' is being started, so its tools are not known yet",
			STR_ARG(server));
	return s->settings.server;
}

/* ---- the set ---- */

static const char *const *
copy_list(struct arena *a, const char *const *list)
{
	size_t n = 0;

	if (!list)
		return NULL;
	while (list[n])
		n++;
	const char **copy = arena_alloc(a, (n + 1) * sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++)
		if (!(copy[i] = arena_strz(a, str_of(list[i]))))
			return NULL;
	return copy;
}

static bool
settings_copy(struct mcp_server *s, const struct mcp_settings *from)
{
	struct arena *a = s->arena = arena_new(MIB);

	if (!a)
		return false;
	s->settings = *from;
	s->settings.server = arena_str(a, from->server);
	s->settings.ns = from->ns.ptr ? arena_str(a, from->ns) : from->ns;
	s->settings.prefix = from->prefix.ptr ? arena_str(a, from->prefix) : from->prefix;
	s->settings.enabled = copy_list(a, from->enabled);
	s->settings.disabled = copy_list(a, from->disabled);
	return s->settings.server.ptr && !s->settings.enabled == !from->enabled &&
	       !s->settings.disabled == !from->disabled;
}

static void
server_free(struct mcp_server *s)
{
	server_sync(s, NULL);
	list_remove(&s->node);
	arena_free(s->arena);
	free(s->tools);
	free(s);
}

static bool
list_same(const char *const *a, const char *const *b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return *a == *b;
}

static bool
text_same(struct str a, struct str b)
{
	return a.ptr && b.ptr ? str_eq(a, b) : a.ptr == b.ptr;
}

static bool
settings_same(const struct mcp_settings *a, const struct mcp_settings *b)
{
	return text_same(a->server, b->server) && text_same(a->ns, b->ns) &&
	       text_same(a->prefix, b->prefix) && a->trust == b->trust &&
	       a->repair_arguments == b->repair_arguments && a->confirm == b->confirm &&
	       a->timeout_ms == b->timeout_ms && a->max_ms == b->max_ms &&
	       list_same(a->enabled, b->enabled) && list_same(a->disabled, b->disabled);
}

static bool
is_among(const struct mcp_settings *s, const struct mcp_settings *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (settings_same(s, &all[i]))
			return true;
	return false;
}

static int
server_add(struct mcp_provider *p, const struct mcp_settings *settings, struct err *e)
{
	struct mcp_server *s = calloc(1, sizeof(*s));
	struct upstream *u = upstream_find(p->upstreams, settings->server);

	if (!s || !settings_copy(s, settings)) {
		if (s)
			arena_free(s->arena);
		free(s);
		return err_plain(e, E_NOMEM);
	}
	s->provider = p;
	list_push(&p->servers, &s->node);
	if (u) /* only its settings have changed */
		server_sync(s, u);
	return 0;
}

int
mcp_provider_set(struct mcp_provider *p, const struct mcp_settings *settings, size_t count,
		 struct err *e)
{
	int rc = 0;

	LIST_EACH (&p->servers, at) {
		struct mcp_server *s = CONTAINER_OF(at, struct mcp_server, node);
		if (!is_among(&s->settings, settings, count))
			server_free(s);
	}
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (!server_find(p, settings[i].server))
			rc = server_add(p, &settings[i], e);
	if (p->changed)
		p->changed(p->arg);
	return rc;
}

int
mcp_provider_new(struct loop *l, struct catalog *c, struct upstreams *us,
		 void (*changed)(void *arg), void *arg, struct mcp_provider **ret, struct err *e)
{
	struct mcp_provider *p = calloc(1, sizeof(*p));

	if (!p)
		return err_plain(e, E_NOMEM);
	*p = (struct mcp_provider){
	    .provider = mcp__ops,
	    .loop = l,
	    .catalog = c,
	    .upstreams = us,
	    .watch = {.news = news, .arg = p},
	    .changed = changed,
	    .arg = arg,
	};
	list_init(&p->servers);
	map_init(&p->contested, LIMIT_TOOLS);
	upstreams_watch(us, &p->watch);
	*ret = p;
	return 0;
}

void
mcp_provider_free(struct mcp_provider *p)
{
	size_t at = 0;

	if (!p)
		return;
	upstreams_unwatch(p->upstreams, &p->watch);
	p->changed = NULL;
	LIST_EACH (&p->servers, n)
		server_free(CONTAINER_OF(n, struct mcp_server, node));
	for (char *key; (key = map_each(&p->contested, &at));)
		free(key);
	map_done(&p->contested);
	free(p->problems);
	free(p);
}
