/* metrics.c - the figures of calls, and the two lines the log has of each. */

#include "call/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "call/stage.h"

_Static_assert((int)METRIC_POLICIES == (int)REV__COUNT, "a policy for each reversibility");

const struct metric_bucket metric_buckets[METRIC_BUCKETS] = {
    {500, "0.0005"},      {1000, "0.001"},    {2500, "0.0025"},   {5000, "0.005"},
    {10000, "0.01"},      {25000, "0.025"},   {50000, "0.05"},    {100000, "0.1"},
    {250000, "0.25"},     {500000, "0.5"},    {1000000, "1.0"},   {2500000, "2.5"},
    {5000000, "5.0"},     {10000000, "10.0"}, {30000000, "30.0"}, {60000000, "60.0"},
    {300000000, "300.0"},
};

const char *
metric_status_name(size_t status)
{
	if (status == 0)
		return "success";
	/* The word of seed 004 section 3.2 for a tool that failed. */
	return status - 1 == CLASS_EXECUTION_ERROR ? "error"
						   : err_class_name((enum err_class)(status - 1));
}

const char *
metric_check_name(enum metric_check c)
{
	static const char *const names[] = {
	    [CHECK_STARTED] = "processing_started",
	    [CHECK_TWIN] = "duplicate_processing",
	    [CHECK_DONE] = "duplicate_completed",
	    [CHECK_MISMATCH] = "fingerprint_mismatch",
	    [CHECK_UNKNOWN] = "unknown",
	    [CHECK_FAILED] = "unavailable",
	};

	return names[c];
}

_Static_assert(QUEUE - SUPERSEDE + 1 == METRIC_DECISIONS, "the four stand together");

const char *
metric_decision_name(size_t i)
{
	return supersede_name((enum supersede_action)(SUPERSEDE + i));
}

void
metrics_decided(struct metrics *m, enum supersede_action a)
{
	if (supersede_is_decision(a))
		m->supersedes[a - SUPERSEDE]++;
}

/* ---- sets of labels ---- */

#define KEY_MAX (3 * (LIMIT_NAME_BYTES + 1))

/* Parts that each end with a NUL; none holds one. Too long a key is {NULL,0}. */
static struct str
key_of(char out[static KEY_MAX], const struct str *parts, size_t count)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].len > LIMIT_NAME_BYTES || memchr(parts[i].ptr, '\0', parts[i].len))
			return (struct str){NULL, 0};
		memcpy(out + len, parts[i].ptr, parts[i].len);
		len += parts[i].len;
		out[len++] = '\0';
	}
	return (struct str){out, len};
}

static const char *
after(const char *part)
{
	return part + strlen(part) + 1;
}

void
metrics_init(struct metrics *m)
{
	*m = (struct metrics){0};
	map_init(&m->tools, LIMIT_METRIC_SERIES);
	map_init(&m->owners, LIMIT_METRIC_SERIES);
	map_init(&m->shared, LIMIT_METRIC_SERIES);
	m->other_owner.tenant = m->other_owner.agent = METRIC_OTHER;
	m->other_shared.tenant = m->other_shared.tool = METRIC_OTHER;
	m->other.owner = &m->other_owner;
	m->other.shared = &m->other_shared;
	m->other.tenant = m->other.agent = m->other.tool = METRIC_OTHER;
	strcpy(m->other.gateway, METRIC_OTHER);
}

static void
map_free_values(struct map *m)
{
	size_t at = 0;

	for (void *value; (value = map_each(m, &at));)
		free(value);
	map_done(m);
}

void
metrics_done(struct metrics *m)
{
	map_free_values(&m->tools);
	map_free_values(&m->owners);
	map_free_values(&m->shared);
}

/* A new value of `size` with the key behind it, in the map; NULL: no room. */
static void *
adopt(struct map *map, struct str key, size_t size)
{
	char *made = key.ptr && map->len < map->max ? calloc(1, size + key.len) : NULL;

	if (!made)
		return NULL;
	memcpy(made + size, key.ptr, key.len);
	if (map_put(map, (struct str){made + size, key.len}, made) < 0) {
		free(made);
		return NULL;
	}
	return made;
}

static bool
are_other(struct str a, struct str b)
{
	return str_is(a, METRIC_OTHER) && str_is(b, METRIC_OTHER);
}

/* Somebody who is really called that is counted there: no two series have the same labels. */
static struct owner_figures *
owner_get(struct metrics *m, struct str tenant, struct str agent)
{
	char bytes[KEY_MAX];
	struct str key = key_of(bytes, (struct str[]){tenant, agent}, 2);
	struct owner_figures *o = map_find(&m->owners, key);

	if (o)
		return o;
	if (are_other(tenant, agent) || !(o = adopt(&m->owners, key, sizeof(*o))))
		return &m->other_owner;
	o->tenant = (const char *)(o + 1);
	o->agent = after(o->tenant);
	return o;
}

static struct shared_figures *
shared_get(struct metrics *m, struct str tenant, struct str tool)
{
	char bytes[KEY_MAX];
	struct str key = key_of(bytes, (struct str[]){tenant, tool}, 2);
	struct shared_figures *s = map_find(&m->shared, key);

	if (s)
		return s;
	if (are_other(tenant, tool) || !(s = adopt(&m->shared, key, sizeof(*s))))
		return &m->other_shared;
	s->tenant = (const char *)(s + 1);
	s->tool = after(s->tenant);
	return s;
}

static struct tool_figures *
tool_new_figures(struct metrics *m, const struct metric_labels *l, struct str key)
{
	bool other = str_is(l->tool, METRIC_OTHER) && are_other(l->tenant, l->agent);
	struct tool_figures *f = key.ptr && !other ? adopt(&m->tools, key, sizeof(*f)) : NULL;

	if (!f)
		return NULL;
	f->owner = owner_get(m, l->tenant, l->agent);
	f->shared = shared_get(m, l->tenant, l->tool);
	f->tenant = (const char *)(f + 1);
	f->agent = after(f->tenant);
	f->tool = after(f->agent);
	snprintf(f->gateway, sizeof(f->gateway), "%.*s", STR_ARG(l->gateway));
	return f;
}

struct tool_figures *
metrics_get(struct metrics *m, const struct metric_labels *l)
{
	char bytes[KEY_MAX];
	struct str key = key_of(bytes, (struct str[]){l->tenant, l->agent, l->tool}, 3);
	struct tool_figures *f = map_find(&m->tools, key);

	if (f || (f = tool_new_figures(m, l, key)))
		return f;
	m->overflowed++;
	return &m->other;
}

/* *at goes on from a map's own end to one more: "other". */
static const void *
each(const struct map *map, size_t *at, const void *other, bool counted)
{
	const void *found = *at == SIZE_MAX ? NULL : map_each(map, at);

	if (found || *at == SIZE_MAX)
		return found;
	*at = SIZE_MAX;
	return counted ? other : NULL;
}

const struct tool_figures *
metrics_each_tool(const struct metrics *m, size_t *at)
{
	return each(&m->tools, at, &m->other, m->overflowed > 0);
}

const struct owner_figures *
metrics_each_owner(const struct metrics *m, size_t *at)
{
	uint64_t n = 0;

	for (size_t i = 0; i < METRIC_POLICIES; i++)
		n += m->other_owner.effects[i];
	return each(&m->owners, at, &m->other_owner, n > 0);
}

const struct shared_figures *
metrics_each_shared(const struct metrics *m, size_t *at)
{
	return each(&m->shared, at, &m->other_shared, m->other_shared.hits > 0);
}

void
tool_figures_time(struct tool_figures *f, uint64_t took_us)
{
	size_t i = 0;

	while (i < METRIC_BUCKETS && took_us > metric_buckets[i].most_us)
		i++;
	f->within[i]++;
	f->timed++;
	f->total_us += took_us;
}

/* ---- calls ---- */

static struct metric_labels
labels_of(const struct call *c)
{
	const struct tool *t = c->tool;

	return (struct metric_labels){
	    .tenant = str_of(c->session->tenant),
	    .agent = str_of(c->session->agent),
	    .tool = t ? t->name : S("(unknown)"), /* no name of a tool */
	    .gateway = t && t->provider ? str_of(t->provider->name) : S("none"),
	};
}

static size_t
status_of(const struct call *c)
{
	return c->err.code < 0  ? 1 + (size_t)err_row(c->err.code)->class
	       : c->out.success ? 0
				: 1 + (size_t)CLASS_EXECUTION_ERROR;
}

void
metrics_call_begins(const struct call *c)
{
	if (!log_calls())
		return;
	log_line(LOG_INFO, "tool_execution_started", "tenant_id", c->session->tenant, "agent_id",
		 c->session->agent, "tool_name", c->tool->name.ptr, "side_effect_policy",
		 reversibility_name(c->tool->reversibility), "call_id", c->id.text, NULL);
}

static void
log_over(const struct call *c, bool cached, uint64_t took_us)
{
	char ms[24];

	snprintf(ms, sizeof(ms), "%llu", (unsigned long long)(took_us / 1000));
	log_line(LOG_INFO, "tool_execution_completed", "tenant_id", c->session->tenant, "agent_id",
		 c->session->agent, "tool_name", c->tool->name.ptr, "status",
		 metric_status_name(status_of(c)), "cached", cached ? "true" : "false",
		 "execution_time_ms", ms, "call_id", c->id.text, NULL);
}

void
metrics_call_over(struct call *c)
{
	struct metric_labels labels = labels_of(c);
	struct tool_figures *f = metrics_get(&c->gw->metrics, &labels);
	bool cached = c->cached, ran = c->called_mono_us != 0;
	uint64_t took_us = ran ? c->since_us - c->called_mono_us : 0;

	f->ended[status_of(c)]++;
	f->shared->hits += cached;
	if (ran)
		tool_figures_time(f, took_us);
	if (ran && c->tool->reversibility != REV_PURE)
		f->owner->effects[c->tool->reversibility]++;
	if ((ran || cached) && log_calls())
		log_over(c, cached, took_us);
}
