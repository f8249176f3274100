/* standing.c - may this agent use that tool? Found once for each name, and remembered. */

#include <stdlib.h>

#include "base/glob.h"
#include "tenant/inside.h"

/* ---- patterns ---- */

bool
pattern__fits(struct str pattern)
{
	for (size_t i = 0; i < pattern.len; i++) {
		char c = pattern.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || (c != '\0' && strchr("._-*?", c));
		if (!plain)
			return false;
	}
	return pattern.len > 0 && pattern.len <= LIMIT_TOOL_PATTERN;
}

bool
pattern__has(struct str pattern, struct str name)
{
	return str_eq(pattern, name) || glob_path(pattern, name);
}

/* As in policy/tuning.c: a name is more than any pattern. */
size_t
pattern__weight(struct str pattern)
{
	size_t letters = 0;

	for (size_t i = 0; i < pattern.len; i++)
		letters += pattern.ptr[i] != '*' && pattern.ptr[i] != '?';
	return letters == pattern.len ? SIZE_MAX : letters;
}

bool
patterns_have(const struct patterns *p, struct str name)
{
	for (size_t i = 0; i < p->count; i++)
		if (pattern__has(str_of(p->at[i]), name))
			return true;
	return false;
}

void
patterns__done(struct patterns *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->at[i]);
	free(p->at);
	*p = (struct patterns){0};
}

static int
pattern_add(struct patterns *p, struct str pattern, struct err *e)
{
	if (!pattern__fits(pattern))
		return err_set(e, E_VALIDATION,
			       "'%.*s' is no name of a tool, and no pattern of names",
			       STR_ARG(str_utf8_upto(pattern, 80)));
	if (!(p->at[p->count] = str_dup(pattern)))
		return err_plain(e, E_NOMEM);
	p->count++;
	return 0;
}

int
patterns__read(struct patterns *p, const struct json *list, struct err *e)
{
	size_t count = json_len(list);
	int code = 0;

	if (count == 0)
		return 0;
	if (!json_is(list, JSON_ARRAY) || count > LIMIT_TOOL_PATTERNS)
		return err_set(e, E_VALIDATION, "a list of names must be an array of at most %d",
			       LIMIT_TOOL_PATTERNS);
	if (!(p->at = calloc(count, sizeof(char *))))
		return err_plain(e, E_NOMEM);
	for (struct json_iter it = json_iter(list); code == 0 && json_next(&it);)
		code = pattern_add(p, json_str(it.value), e);
	if (code < 0)
		patterns__done(p);
	return code;
}

/* ---- tenants ---- */

bool
tenant_has(const struct tenant *t, const struct tool *tool)
{
	if (tool->tenant.ptr)
		return str_is(tool->tenant, t->name);
	return !t->chosen || patterns_have(&t->tools, tool->name);
}

/* ---- agents ---- */

void
agent_forget(struct agent *a)
{
	size_t at = 0;

	for (struct standing *s; (s = map_each(&a->known, &at));)
		free(s);
	map_done(&a->known);
	map_init(&a->known, LIMIT_STANDINGS);
}

void
tenants_changed(struct tenants *t)
{
	t->generation++;
	for (size_t i = 0; i < t->list.count; i++)
		for (size_t k = 0; k < tenant_at(t, i)->agents.count; k++)
			agent_forget(agent_at(tenant_at(t, i), k));
}

static void
find_out(const struct agent *a, const struct tool *t, struct standing *s)
{
	const struct tenant *of = a->tenant;

	*s = (struct standing){.requires_confirmation = -1};
	if (!tenant_has(of, t))
		return;
	bool disabled =
	    patterns_have(&of->disabled, t->name) || patterns_have(&a->disabled, t->name);
	for (size_t i = 0; i < a->activation_count; i++) {
		const struct activation *one = a->activations[i];
		if (!pattern__has(str_of(one->tool), t->name))
			continue;
		if (!s->activation)
			s->activation = one;
		if (s->requires_confirmation < 0)
			s->requires_confirmation = one->requires_confirmation;
		if (!s->prompt)
			s->prompt = one->prompt;
	}
	disabled = disabled || (s->activation && !s->activation->enabled);
	s->tier = disabled ? TIER_TENANT : TIER_AGENT;
}

/* Nothing is said of any tool. */
static bool
has_all(const struct agent *a)
{
	return !a->tenant->chosen && a->tenant->disabled.count == 0 && a->disabled.count == 0 &&
	       a->activation_count == 0;
}

const struct standing *
agent_standing(struct agent *a, const struct tool *t)
{
	static const struct standing usual = {.tier = TIER_AGENT, .requires_confirmation = -1};
	static const struct standing nothing = {.tier = TIER_CATALOG, .requires_confirmation = -1};
	static struct standing scratch;

	/* Whose a tool is may change with the tool; what is said of its name does not. */
	if (a->gone || (t->tenant.ptr && !str_is(t->tenant, a->tenant->name)))
		return &nothing;
	if (has_all(a))
		return &usual;
	struct standing *s = t->tenant.ptr ? NULL : map_find(&a->known, t->name);
	if (s)
		return s;
	find_out(a, t, &scratch);
	/* Where there is no room to remember it, it is found out again. */
	if (t->tenant.ptr || a->known.len >= LIMIT_STANDINGS ||
	    !(s = malloc(sizeof(*s) + t->name.len)))
		return &scratch;
	memcpy(s, &scratch, sizeof(*s));
	memcpy(s->name, t->name.ptr, t->name.len);
	if (map_put(&a->known, (struct str){s->name, t->name.len}, s) == 0)
		return s;
	free(s);
	return &scratch;
}

enum tier
agent_tier(struct agent *a, const struct tool *t)
{
	if (!a)
		return t->tenant.ptr && !str_eq(t->tenant, TENANT_DEFAULT) ? TIER_CATALOG
									   : TIER_AGENT;
	return agent_standing(a, t)->tier;
}

bool
agent_has_server(const struct agent *a, struct str server)
{
	struct buf all = BUF_INIT(LIMIT_NAME_BYTES + 8);
	bool has = true;

	if (!a)
		return true;
	if (a->gone)
		return false;
	if (has_all(a))
		return true;
	buf_addf(&all, "%.*s__*", STR_ARG(server)); /* the star stands for a name nobody has */
	struct tool stand_in = {.name = buf_str(&all)};
	struct standing s;
	find_out(a, &stand_in, &s);
	has = !buf_failed(&all) && s.tier == TIER_AGENT;
	buf_done(&all);
	return has;
}

bool
agent_lacks(const struct agent *a)
{
	if (!a || a->gone)
		return false;
	for (size_t i = 0; i < a->activation_count; i++)
		if (!a->activations[i]->enabled)
			return true;
	return a->tenant->disabled.count > 0 || a->disabled.count > 0;
}
