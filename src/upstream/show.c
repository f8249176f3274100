/* show.c - what can be read of a server: its state, its lists, how it goes. */

#include "upstream/inside.h"

#include <stdlib.h>

#include "base/clock.h"

const char *
upstream_state_name(enum upstream_state s)
{
	static const char *const names[] = {"configured", "known", "started", "failed",
					    "quarantined"};

	CHECK((size_t)s < ARRAY_LEN(names));
	return names[s];
}

struct str
upstream_name(const struct upstream *u)
{
	return u->spec.name;
}

enum upstream_kind
upstream_kind(const struct upstream *u)
{
	return u->spec.kind;
}

enum upstream_state
upstream_state(const struct upstream *u)
{
	return u->state;
}

const struct json *
upstream_capabilities(const struct upstream *u)
{
	return json_get(u->known.about.value, S("capabilities"));
}

bool
upstream__has(const struct upstream *u, const char *capability, const char *flag)
{
	const struct json *c = json_get(upstream_capabilities(u), str_of(capability));

	return json_is(c, JSON_OBJECT) && (!flag || json_bool(json_get(c, str_of(flag))));
}

struct mcp_hint
upstream_hint(const struct upstream *u, enum upstream_list which)
{
	const struct listing *ls = &u->listings[which];
	struct mcp_hint h = ls->held;

	if (!u->set || u->phase != PHASE_READY || !ls->read || ls->fails)
		return (struct mcp_hint){0};
	uint64_t age = loop_now_ms(u->set->loop) - ls->read_at;
	h.ttl_ms = h.ttl_ms > age ? h.ttl_ms - age : 0;
	return h;
}

struct str
upstream_instructions(const struct upstream *u)
{
	return json_str(json_get(u->known.about.value, S("instructions")));
}

uint32_t
upstream_layers(struct upstream *u)
{
	if (u->link && u->link->ops->layers)
		u->layers = u->link->ops->layers(u->link);
	return u->layers;
}

bool
upstream_known(const struct upstream *u)
{
	return u->known.seen;
}

const struct json *
upstream_list(const struct upstream *u, enum upstream_list which)
{
	const struct json *list = which == LIST_TOOLS ? json_get(u->known.shelf.value, S("tools"))
						      : u->known.lists[which].value;

	return list ? list : json_root(u->nothing);
}

size_t
upstream_tool_count(const struct upstream *u)
{
	return u->known.count;
}

void
upstream_tell_offered(struct upstream *u, size_t count)
{
	u->offered = count;
}

struct json_doc *
upstream_tools_doc(const struct upstream *u)
{
	return u->known.shelf.doc;
}

const struct upstream_tool *
upstream_tool_at(const struct upstream *u, size_t i)
{
	CHECK(i < u->known.count);
	return &u->known.tools[i];
}

const struct upstream_tool *
upstream_tool(struct upstream *u, struct str name)
{
	return known__tool(&u->known, name);
}

static int
latency_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
latency_write(struct jw *w, const struct upstream *u)
{
	size_t n = u->latencies < LATENCIES ? u->latencies : LATENCIES;
	size_t middle = n / 2, most = n * 99 / 100;
	uint32_t sorted[LATENCIES];

	if (n == 0)
		return;
	memcpy(sorted, u->latency_us, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), latency_order);
	jw_key(w, "latency_ms"), jw_object(w);
	jw_key(w, "p50"), jw_double(w, sorted[middle] / 1000.0);
	jw_key(w, "p99"), jw_double(w, sorted[most] / 1000.0);
	jw_end(w);
}

struct str
upstream_problem(const struct upstream *u)
{
	if (u->spec.problem.ptr)
		return u->spec.problem;
	return u->problem.code ? str_of(u->problem.text) : (struct str){NULL, 0};
}

static void
problem_write(struct jw *w, const struct upstream *u)
{
	struct str problem = upstream_problem(u);

	if (problem.ptr)
		jw_member(w, "problem", problem);
	if (u->problem.code && u->last_words[0])
		jw_member_z(w, "last_words", u->last_words);
}

static void
running_write(struct jw *w, const struct upstream *u)
{
	char when[CLOCK_TEXT];
	int pid = u->link ? u->link->ops->pid(u->link) : 0;

	char layers[CONFINE_TEXT];

	if (pid)
		jw_member_int(w, "pid", pid);
	if (pid && u->link->ops->layers)
		jw_member_z(w, "confinement", confine_text(u->link->ops->layers(u->link), layers));
	if (u->state != UPSTREAM_STARTED)
		return;
	clock_text(u->started_us, when);
	jw_member_z(w, "started_at", when);
}

void
upstream_write_members(struct jw *w, const struct upstream *u)
{
	const struct json *about = u->known.about.value;

	jw_member(w, "name", u->spec.name);
	jw_member_z(w, "state", upstream_state_name(u->state));
	jw_member_z(w, "kind", u->spec.kind == UPSTREAM_STDIO ? "stdio" : "http");
	if (about) {
		struct str version = json_str(json_get(about, S("protocol")));
		bool modern = mcp_revision(version) == MCP_2026_07_28;
		jw_member_z(w, "era", mcp_era_name(modern ? ERA_MODERN : ERA_LEGACY));
		jw_member(w, "version", version);
		if (json_get(about, S("server")))
			jw_key(w, "server"), jw_value(w, json_get(about, S("server")));
	}
	jw_member_int(w, "tools", (int64_t)u->known.count);
	jw_member_int(w, "offered", (int64_t)u->offered);
	jw_member_int(w, "changed", (int64_t)u->known.changed);
	if (u->known.left_out > 0)
		jw_member_int(w, "no_room", (int64_t)u->known.left_out);
	problem_write(w, u);
	running_write(w, u);
	jw_member_int(w, "restarts", u->restarts);
	latency_write(w, u);
	jw_member_int(w, "in_flight", (int64_t)(u->flying.len + u->asking.len));
	jw_member_int(w, "waiting", (int64_t)u->waiting.len);
	jw_member_int(w, "calls", (int64_t)u->calls);
	jw_member_int(w, "failures", (int64_t)u->failures);
	jw_member_int(w, "late", (int64_t)u->late);
}

void
upstream_write(struct jw *w, const struct upstream *u)
{
	jw_object(w);
	upstream_write_members(w, u);
	jw_end(w);
}
