/* catalog.c - tools in order of their names, and a map to find one. */

#include "catalog/catalog.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/near.h"

struct catalog {
	struct tool **tools; /* sorted by name */
	size_t count, cap, max;
	struct map by_name;
};

struct catalog *
catalog_new(size_t max_tools)
{
	struct catalog *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->max = max_tools;
	map_init(&c->by_name, max_tools);
	return c;
}

void
catalog_free(struct catalog *c)
{
	if (!c)
		return;
	map_done(&c->by_name);
	for (size_t i = 0; i < c->count; i++)
		tool_unref(c->tools[i]);
	free(c->tools);
	free(c);
}

/* Where the name stands, or would stand. */
static size_t
place_of(const struct catalog *c, struct str name)
{
	size_t low = 0, high = c->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (str_cmp(c->tools[middle]->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int
grow(struct catalog *c)
{
	if (c->count < c->cap)
		return 0;
	size_t cap = c->cap ? c->cap * 2 : 16;
	struct tool **tools = realloc(c->tools, cap * sizeof(struct tool *));
	if (!tools)
		return E_NOMEM;
	c->tools = tools;
	c->cap = cap;
	return 0;
}

int
catalog_add(struct catalog *c, struct tool *t, struct err *e)
{
	if (catalog_find(c, t->name))
		return err_set(e, E_EXISTS, "%.*s: there is a tool of this name already",
			       STR_ARG(t->name));
	if (c->count >= c->max)
		return err_set(e, E_LIMIT, "%.*s: there are %zu tools already", STR_ARG(t->name),
			       c->count);
	if (grow(c) < 0 || map_put(&c->by_name, t->name, t) < 0)
		return err_plain(e, E_NOMEM);
	size_t at = place_of(c, t->name);
	memmove(c->tools + at + 1, c->tools + at, (c->count - at) * sizeof(struct tool *));
	c->tools[at] = tool_ref(t);
	c->count++;
	return 0;
}

int
catalog_remove(struct catalog *c, struct str name)
{
	struct tool *t = map_remove(&c->by_name, name);

	if (!t)
		return E_NOT_FOUND;
	size_t at = place_of(c, name);
	CHECK(c->tools[at] == t);
	c->count--;
	memmove(c->tools + at, c->tools + at + 1, (c->count - at) * sizeof(struct tool *));
	tool_unref(t);
	return 0;
}

struct tool *
catalog_find(const struct catalog *c, struct str name)
{
	return map_find(&c->by_name, name);
}

const struct tool *
catalog_near(const struct catalog *c, struct str name)
{
	const struct tool *nearest = NULL;
	unsigned best = NEAR_NONE;

	for (size_t i = 0; i < c->count; i++)
		if (near_better(name, c->tools[i]->name, &best))
			nearest = c->tools[i];
	return nearest;
}

size_t
catalog_count(const struct catalog *c)
{
	return c->count;
}

struct tool *
catalog_at(const struct catalog *c, size_t i)
{
	CHECK(i < c->count);
	return c->tools[i];
}
