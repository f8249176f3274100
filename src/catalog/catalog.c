/* catalog.c - tools in order of their names, and a map to find one. */

#include "catalog/catalog.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/near.h"

struct catalog {
	struct tool **tools; /* sorted by name */
	size_t count, cap, max;
	uint64_t version;
	struct map by_name, by_id;
	struct shelf *shelf; /* NULL: nobody has asked */
	struct tool **fresh; /* since then; references */
	struct tool **gone;
	size_t fresh_count, gone_count;
};

struct catalog *
catalog_new(size_t max_tools)
{
	struct catalog *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->max = max_tools;
	map_init(&c->by_name, max_tools);
	map_init(&c->by_id, max_tools);
	return c;
}

/* ---- what the shelf does not know yet ---- */

static void
changes_forget(struct catalog *c)
{
	while (c->fresh_count > 0)
		tool_unref(c->fresh[--c->fresh_count]);
	while (c->gone_count > 0)
		tool_unref(c->gone[--c->gone_count]);
}

/* Room for one more in both rows. */
static int
changes_room(struct catalog *c)
{
	/* Doubled whenever a power of two is reached. */
	size_t count = c->fresh_count > c->gone_count ? c->fresh_count : c->gone_count;

	if (c->fresh && (count & (count - 1)) != 0)
		return 0;
	size_t room = count ? 2 * count : 1;
	struct tool **fresh = realloc(c->fresh, room * sizeof(struct tool *));
	if (fresh)
		c->fresh = fresh;
	struct tool **gone = realloc(c->gone, room * sizeof(struct tool *));
	if (gone)
		c->gone = gone;
	return fresh && gone ? 0 : E_NOMEM;
}

/* Without a shelf everything is new. */
static int
change_added(struct catalog *c, struct tool *t)
{
	if (!c->shelf)
		return 0;
	if (changes_room(c) < 0)
		return E_NOMEM;
	c->fresh[c->fresh_count++] = tool_ref(t);
	return 0;
}

static void
change_removed(struct catalog *c, struct tool *t)
{
	for (size_t i = 0; i < c->fresh_count; i++)
		if (c->fresh[i] == t) {
			tool_unref(t);
			c->fresh[i] = c->fresh[--c->fresh_count];
			return;
		}
	if (c->shelf && changes_room(c) == 0) {
		c->gone[c->gone_count++] = tool_ref(t);
	} else {
		/* Begin again from nothing: better slow than wrong. */
		changes_forget(c);
		shelf_unref(c->shelf);
		c->shelf = NULL;
	}
}

void
catalog_free(struct catalog *c)
{
	if (!c)
		return;
	changes_forget(c);
	shelf_unref(c->shelf);
	map_done(&c->by_name);
	map_done(&c->by_id);
	for (size_t i = 0; i < c->count; i++)
		tool_unref(c->tools[i]);
	free(c->tools);
	free(c->fresh);
	free(c->gone);
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
	if (catalog_find(c, t->id))
		return err_set(e, E_EXISTS, "%.*s: there is a tool with the id %.*s already",
			       STR_ARG(t->name), STR_ARG(t->id));
	if (c->count >= c->max)
		return err_set(e, E_LIMIT, "%.*s: there are %zu tools already", STR_ARG(t->name),
			       c->count);
	if (grow(c) < 0 || map_put(&c->by_name, t->name, t) < 0)
		return err_plain(e, E_NOMEM);
	if (map_put(&c->by_id, t->id, t) < 0 || change_added(c, t) < 0) {
		map_remove(&c->by_name, t->name);
		map_remove(&c->by_id, t->id);
		return err_plain(e, E_NOMEM);
	}
	size_t at = place_of(c, t->name);
	memmove(c->tools + at + 1, c->tools + at, (c->count - at) * sizeof(struct tool *));
	c->tools[at] = tool_ref(t);
	c->count++;
	c->version++;
	return 0;
}

int
catalog_remove(struct catalog *c, struct str name)
{
	struct tool *t = map_remove(&c->by_name, name);

	if (!t)
		return E_NOT_FOUND;
	map_remove(&c->by_id, t->id);
	change_removed(c, t);
	size_t at = place_of(c, name);
	CHECK(c->tools[at] == t);
	c->count--;
	c->version++;
	memmove(c->tools + at, c->tools + at + 1, (c->count - at) * sizeof(struct tool *));
	tool_unref(t);
	return 0;
}

struct tool *
catalog_find(const struct catalog *c, struct str name)
{
	struct tool *t = map_find(&c->by_name, name);

	return t ? t : map_find(&c->by_id, name);
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

uint64_t
catalog_version(const struct catalog *c)
{
	return c->version;
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

/* ---- the shelf ---- */

static struct shelf_tool
shelf_tool_of(const struct tool *t)
{
	struct toolid id;

	CHECK(toolid_parse(t->id, &id, NULL) == 0);
	return (struct shelf_tool){
	    .id = t->id,
	    .name = t->name,
	    .description = t->description,
	    .ns = id.ns,
	    .input_schema = t->input_schema,
	    .examples = t->examples,
	    .read_only = t->capability <= CAP_READ,
	    .destructive = t->reversibility == REV_IRREVERSIBLE,
	};
}

int
catalog_shelf(struct catalog *c, struct shelf **ret, struct err *e)
{
	struct tool *const *from = c->shelf ? c->fresh : c->tools;
	size_t count = c->shelf ? c->fresh_count : c->count;
	struct shelf *next = NULL;
	int rc = 0;

	*ret = c->shelf;
	if (c->shelf && c->fresh_count == 0 && c->gone_count == 0)
		return 0;
	struct shelf_tool *tools = calloc(count + 1, sizeof(*tools));
	struct str *gone = calloc(c->gone_count + 1, sizeof(*gone));
	if (!tools || !gone) {
		rc = err_plain(e, E_NOMEM);
	} else {
		for (size_t i = 0; i < count; i++)
			tools[i] = shelf_tool_of(from[i]);
		for (size_t i = 0; i < c->gone_count; i++)
			gone[i] = c->gone[i]->id;
		rc = c->shelf ? shelf_next(c->shelf, tools, count, gone, c->gone_count, &next, e)
			      : shelf_new(tools, count, &next, e);
	}
	free(tools);
	free(gone);
	if (rc < 0)
		return rc;
	shelf_unref(c->shelf);
	changes_forget(c);
	*ret = c->shelf = next;
	return 0;
}
