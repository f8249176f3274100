/*
 * servers.c - the MCP servers behind: made, set by the configuration, and what happens to them told
 * as events.
 *
 * What was told of a server is remembered (its state, its tools), so that each event says what is
 * different from the one before.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/paths.h"
#include "daemon/hf.h"

#define NAMES_TOLD 100 /* of each kind in one event */

struct known_tool {
	char *name;
	char pin[DIGEST_TEXT];
	bool changed;
};

/* What was told of one server. */
struct known_server {
	char *name;
	enum upstream_state state;
	struct known_tool *tools; /* by name */
	size_t count;
	struct node node;
};

struct servers {
	struct hf *hf;
	struct upstream_watch watch;
	struct list known;
};

/* What is remembered */

static void
tools_free(struct known_tool *tools, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(tools[i].name);
	free(tools);
}

static void
known_free(struct known_server *k)
{
	list_remove(&k->node);
	tools_free(k->tools, k->count);
	free(k->name);
	free(k);
}

static struct known_server *
known_find(struct servers *ss, struct str name)
{
	LIST_EACH (&ss->known, n) {
		struct known_server *k = CONTAINER_OF(n, struct known_server, node);
		if (str_is(name, k->name))
			return k;
	}
	return NULL;
}

/* NULL: no memory; then nothing is told of it. */
static struct known_server *
known_add(struct servers *ss, const struct upstream *u)
{
	struct known_server *k = calloc(1, sizeof(*k));
	struct str name = upstream_name(u);

	if (k)
		k->name = str_dup(name);
	if (!k || !k->name) {
		free(k);
		return NULL;
	}
	k->state = upstream_state(u);
	list_push(&ss->known, &k->node);
	return k;
}

/* Its tools as they are now. False: no memory. */
static bool
tools_read(const struct upstream *u, struct known_tool **ret, size_t *ret_count)
{
	size_t count = upstream_tool_count(u);
	struct known_tool *tools = calloc(count + 1, sizeof(*tools));

	for (size_t i = 0; tools && i < count; i++) {
		const struct upstream_tool *t = upstream_tool_at(u, i);
		tools[i].name = str_dup(t->name);
		tools[i].changed = t->changed != NULL;
		memcpy(tools[i].pin, t->pin, sizeof(tools[i].pin));
		if (!tools[i].name) {
			tools_free(tools, i);
			return false;
		}
	}
	*ret = tools;
	*ret_count = count;
	return tools != NULL;
}

/* What is different */

struct difference {
	const struct known_tool *before, *now; /* NULL: it was, or is, not there */
};

static bool
was_added(const struct difference *d)
{
	return d->now && !d->before;
}

static bool
was_removed(const struct difference *d)
{
	return !d->now && d->before;
}

static bool
has_changed(const struct difference *d)
{
	return d->now && d->now->changed && !(d->before && d->before->changed);
}

/* Accepted is what is taken though it is another than the one before. */
static bool
was_accepted(const struct difference *d)
{
	return d->before && d->now && d->before->changed && !d->now->changed &&
	       strcmp(d->before->pin, d->now->pin) != 0;
}

struct both {
	const struct known_tool *before, *now;
	size_t befores, nows;
};

/* The next name of either, in order. */
static bool
difference_next(struct both *b, struct difference *ret)
{
	if (!b->befores && !b->nows)
		return false;
	int order = !b->befores ? 1 : !b->nows ? -1 : strcmp(b->before->name, b->now->name);
	*ret = (struct difference){order <= 0 ? b->before : NULL, order >= 0 ? b->now : NULL};
	if (order <= 0)
		b->before++, b->befores--;
	if (order >= 0)
		b->now++, b->nows--;
	return true;
}

static size_t
count_of(struct both b, bool (*is)(const struct difference *d))
{
	struct difference d;
	size_t n = 0;

	while (difference_next(&b, &d))
		n += is(&d);
	return n;
}

static const char *
name_of(const struct difference *d)
{
	return d->now ? d->now->name : d->before->name;
}

static void
names_write(struct jw *w, const char *key, struct both b, bool (*is)(const struct difference *d))
{
	struct difference d;
	size_t n = 0;

	jw_key(w, key);
	jw_array(w);
	while (n < NAMES_TOLD && difference_next(&b, &d))
		if (is(&d))
			jw_z(w, name_of(&d)), n++;
	jw_end(w);
}

/* Telling */

static void
tell_tools(struct hf *hf, const char *server, struct both b)
{
	static const struct {
		const char *key;
		bool (*is)(const struct difference *d);
	} kinds[] = {{"added", was_added}, {"removed", was_removed}, {"changed", has_changed}};
	size_t all = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		all += count_of(b, kinds[i].is);
	if (all == 0)
		return;
	struct jw *w =
	    bus_begin(hf->bus, &(struct event_draft){.type = EVENT_SERVER_TOOLS_CHANGED});
	jw_member_z(w, "server", server);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		names_write(w, kinds[i].key, b, kinds[i].is);
	bus_end(hf->bus, NULL);
}

static void
tell_tool(struct hf *hf, enum event_type type, const char *server, const struct known_tool *t)
{
	struct jw *w = bus_begin(hf->bus, &(struct event_draft){.type = type});

	jw_member_z(w, "server", server);
	jw_member_z(w, "tool", t->name);
	jw_member_z(w, "pin", t->pin);
	bus_end(hf->bus, NULL);
	log_line(LOG_WARN, event_row(type)->sentence, "server", server, "tool", t->name, NULL);
}

static void
tell_definitions(struct hf *hf, const char *server, struct both b)
{
	struct difference d;

	while (difference_next(&b, &d)) {
		if (has_changed(&d))
			tell_tool(hf, EVENT_TOOL_DEFINITION_CHANGED, server, d.now);
		else if (was_accepted(&d))
			tell_tool(hf, EVENT_TOOL_DEFINITION_ACCEPTED, server, d.now);
	}
}

/* Why it is as it is, out of what upstream_write says. */
static void
reason_of(const struct upstream *u, struct buf *out)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct json_doc *doc = NULL;
	struct jw w = jw(&text);

	upstream_write(&w, u);
	if (json_parse(buf_str(&text), &json_door, &doc, NULL) == 0)
		buf_add(out, json_str(json_get(json_root(doc), S("problem"))));
	json_doc_unref(doc);
	buf_done(&text);
}

static void
tell_state(struct hf *hf, const struct upstream *u, const char *server)
{
	struct buf reason = BUF_INIT(4 * KIB);
	const char *state = upstream_state_name(upstream_state(u));
	bool logged = upstream_state(u) >= UPSTREAM_FAILED; /* where it happened, with details */

	reason_of(u, &reason);
	const char *why = reason.len ? buf_z(&reason) : NULL;
	struct jw *w =
	    bus_begin(hf->bus, &(struct event_draft){.type = EVENT_SERVER_STATE_CHANGED});
	jw_member_z(w, "server", server);
	jw_member_z(w, "state", state);
	jw_member_z(w, "reason", why);
	bus_end(hf->bus, NULL);
	if (!logged)
		log_line(LOG_INFO, "server", "name", server, "state", state, NULL);
	buf_done(&reason);
}

static void
state_news(struct servers *ss, struct known_server *k, const struct upstream *u)
{
	if (k->state == upstream_state(u))
		return;
	k->state = upstream_state(u);
	tell_state(ss->hf, u, k->name);
}

static void
tools_news(struct servers *ss, struct known_server *k, const struct upstream *u)
{
	struct known_tool *tools;
	size_t count;

	if (!tools_read(u, &tools, &count))
		return;
	struct both b = {k->tools, tools, k->count, count};
	tell_tools(ss->hf, k->name, b);
	tell_definitions(ss->hf, k->name, b);
	tools_free(k->tools, k->count);
	k->tools = tools;
	k->count = count;
}

static void
on_news(struct upstream *u, unsigned news, void *arg)
{
	struct servers *ss = arg;
	struct known_server *k = known_find(ss, upstream_name(u));

	if (news & NEWS_GONE) { /* one that follows it goes on where it was */
		if (k && !upstream_find(ss->hf->upstreams, upstream_name(u)))
			known_free(k);
		return;
	}
	if (!k && !(k = known_add(ss, u)))
		return;
	if (news & NEWS_STATE)
		state_news(ss, k, u);
	if (news & NEWS_TOOLS)
		tools_news(ss, k, u);
}

static void
on_late(struct upstream *u, struct str call, uint64_t after_ms, void *arg)
{
	const struct servers *ss = arg;
	struct bus *bus = ss->hf->bus;
	struct jw *w = bus_begin(bus, &(struct event_draft){.type = EVENT_TOOL_LATE_REPORT});

	jw_member(w, "call_id", call);
	jw_member(w, "server", upstream_name(u));
	jw_member_int(w, "after_ms", (int64_t)after_ms);
	bus_end(bus, NULL);
}

/* What is known from former days is nothing new. */
static void
remember_all(struct servers *ss)
{
	for (size_t i = 0; i < upstreams_count(ss->hf->upstreams); i++) {
		const struct upstream *u = upstream_at(ss->hf->upstreams, i);
		struct known_server *k = known_find(ss, upstream_name(u));
		if (!k && (k = known_add(ss, u)) && !tools_read(u, &k->tools, &k->count))
			k->count = 0;
	}
}

/* Their life */

/* Whoever says that it may be another: clients hear of it once, and only if it is. */
void
hf__catalog_changed(void *arg)
{
	struct hf *hf = arg;
	uint64_t now = catalog_version(hf->catalog);

	if (hf->front && hf->catalog_told != now)
		mcp_changed(hf->front, CHANGED_TOOLS);
	hf->catalog_told = now;
}

static int
servers_dir(const struct hf *hf, struct path *out, struct err *e)
{
	int n = snprintf(out->text, sizeof(out->text), "%s/servers", hf->state_dir);

	return n > 0 && (size_t)n < sizeof(out->text)
		   ? 0
		   : err_set(e, E_CONFIG, "the state directory's path is too long");
}

struct str
hf__why_missing(struct str tool, struct err *why, void *arg)
{
	const struct hf *hf = arg;
	struct str server = mcp_why_missing(hf->mcp, tool, why);

	for (size_t i = 0; !server.ptr && i < hf->config.disabled_count; i++) {
		struct str name = str_of(hf->config.disabled[i]);
		if (!toolid_names(tool, name))
			continue;
		err_set(why, E_NOT_FOUND,
			"the server '%.*s' is disabled in the configuration, and its tools with it",
			STR_ARG(str_utf8_upto(name, 100)));
		server = name;
	}
	return server;
}

int
hf__servers_open(struct hf *hf, struct err *e)
{
	struct path dir;
	struct upstreams_spec spec = {.loop = hf->loop,
				      .dir = hf->ephemeral ? NULL : dir.text,
				      .house = &hf->house};
	int code;

	if (!(hf->servers = calloc(1, sizeof(*hf->servers))))
		return err_plain(e, E_NOMEM);
	hf->servers->hf = hf;
	list_init(&hf->servers->known);
	if ((code = servers_dir(hf, &dir, e)) < 0 ||
	    (code = upstreams_new(&spec, &hf->upstreams, e)) < 0 ||
	    (code = mcp_provider_new(hf->loop, hf->catalog, hf->upstreams, hf__catalog_changed, hf,
				     &hf->mcp, e)) < 0)
		return code;
	hf->servers->watch =
	    (struct upstream_watch){.news = on_news, .late = on_late, .arg = hf->servers};
	upstreams_watch(hf->upstreams, &hf->servers->watch);
	return 0;
}

int
hf__servers_set(struct hf *hf, const struct config *c, struct err *e)
{
	size_t count = hf->no_servers ? 0 : c->server_count;
	int code = mcp_provider_set(hf->mcp, c->settings, count, e);

	if (code == 0)
		code = upstreams_set(hf->upstreams, c->servers, count, e);
	if (code == 0)
		remember_all(hf->servers);
	return code;
}

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool
same_list(const char *const *a, const char *const *b)
{
	for (; a && b && *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return !(a && *a) && !(b && *b);
}

/* Would the same be started, or spoken to? */
static bool
same_server(const struct upstream_spec *a, const struct upstream_spec *b)
{
	return a->kind == b->kind && same_list(a->argv, b->argv) && same_list(a->env, b->env) &&
	       same_text(a->cwd, b->cwd) && same_text(a->url, b->url) &&
	       same_list(a->headers, b->headers);
}

void
hf__servers_refresh(struct hf *hf, const struct config *old)
{
	const struct config *c = &hf->config;

	for (size_t i = 0; i < c->server_count; i++) {
		struct upstream *u = upstream_find(hf->upstreams, c->servers[i].name);
		bool same = false;
		for (size_t k = 0; !same && k < old->server_count; k++)
			same = str_eq(old->servers[k].name, c->servers[i].name) &&
			       same_server(&old->servers[k], &c->servers[i]);
		if (u && !same && upstream_state(u) == UPSTREAM_KNOWN)
			upstream_restart(u);
	}
}

void
hf__servers_close(struct hf *hf)
{
	struct servers *ss = hf->servers;

	if (ss && ss->watch.news)
		upstreams_unwatch(hf->upstreams, &ss->watch);
	mcp_provider_free(hf->mcp);
	upstreams_free(hf->upstreams);
	while (ss && ss->known.len)
		known_free(CONTAINER_OF(list_first(&ss->known), struct known_server, node));
	free(ss);
}
