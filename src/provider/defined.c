/* defined.c - sources of definitions, and their tools in the catalog. */

#include "provider/defined.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/map.h"

/* One that was defined. */
struct entry {
	struct definition *definition; /* a reference */
	struct tool *tool;             /* the same; NULL: it could not be */
	char *problem;                 /* then why; NULL also where there was no memory for it */
};

struct source {
	char *name;
	struct entry *entries;
	size_t count;
	struct node node;
};

struct defined {
	struct catalog *catalog;
	struct kinds *kinds;
	struct list sources;
};

int
defined_new(struct catalog *c, struct kinds *k, struct defined **ret, struct err *e)
{
	struct defined *d = calloc(1, sizeof(*d));

	if (!d)
		return err_plain(e, E_NOMEM);
	d->catalog = c;
	d->kinds = k;
	list_init(&d->sources);
	*ret = d;
	return 0;
}

/* ---- one ---- */

static void
entry_done(struct entry *en)
{
	definition_unref(en->definition);
	tool_unref(en->tool);
	free(en->problem);
}

static void
entry_fail(struct entry *en, const struct err *e)
{
	struct str name = en->definition->name, text = str_of(err_text(e));
	bool named = str_starts(text, name) && str_starts(str_from(text, name.len), S(": "));

	tool_unref(en->tool);
	en->tool = NULL;
	if (asprintf(&en->problem, "%.*s%s%s", named ? 0 : (int)name.len, name.ptr,
		     named ? "" : ": ", text.ptr) < 0)
		en->problem = NULL;
}

static void
entry_make(struct defined *d, struct entry *en, const struct defined_source *from,
	   const struct kinds_settings *settings, const struct variables *vars)
{
	struct err e = ERR_NONE;
	int code = definition_tool(en->definition, from->ns, from->server, &en->tool, &e);

	if (code == 0)
		code = kinds_fit(d->kinds, en->tool, en->definition, settings, vars, &e);
	if (code < 0)
		entry_fail(en, &e);
	else
		en->tool->confirm = from->confirm;
}

/* An internal one takes the place of the function that has its name. */
static void
entry_show(struct defined *d, struct entry *en)
{
	struct err e = ERR_NONE;
	struct tool *inner = en->tool->inner;
	bool replaces = inner && catalog_find(d->catalog, en->tool->name) == inner;

	if (replaces)
		catalog_remove(d->catalog, inner->name);
	if (catalog_add(d->catalog, en->tool, &e) == 0)
		return;
	if (replaces)
		(void)catalog_add(d->catalog, inner, NULL);
	entry_fail(en, &e);
}

static void
entry_hide(struct defined *d, struct entry *en)
{
	struct tool *t = en->tool;

	if (!t || catalog_find(d->catalog, t->name) != t)
		return;
	catalog_remove(d->catalog, t->name);
	/* Its function has its name back, as long as there is one. */
	if (t->inner && str_eq(t->inner->name, t->name) &&
	    kinds_function(d->kinds, t->name) == t->inner)
		(void)catalog_add(d->catalog, t->inner, NULL);
}

/* ---- sources ---- */

static struct source *
source_find(const struct defined *d, struct str name)
{
	LIST_EACH (&d->sources, at) {
		struct source *s = CONTAINER_OF(at, struct source, node);
		if (str_is(name, s->name))
			return s;
	}
	return NULL;
}

static struct source *
source_get(struct defined *d, struct str name)
{
	struct source *s = source_find(d, name);

	if (s || !(s = calloc(1, sizeof(*s))))
		return s;
	if (!(s->name = str_dup(name))) {
		free(s);
		return NULL;
	}
	list_push(&d->sources, &s->node);
	return s;
}

static void
source_free(struct source *s)
{
	for (size_t i = 0; i < s->count; i++)
		entry_done(&s->entries[i]);
	free(s->entries);
	list_remove(&s->node);
	free(s->name);
	free(s);
}

void
defined_free(struct defined *d)
{
	struct node *n;

	while (d && (n = list_first(&d->sources)))
		source_free(CONTAINER_OF(n, struct source, node));
	free(d);
}

/* Would the same tool be made? What variables and settings mean is seen in what was made. */
static bool
is_same(const struct entry *old, const struct entry *fresh)
{
	const struct tool *a = old->tool, *b = fresh->tool;

	if (!a || !b || a->inner != b->inner || a->confirm != b->confirm ||
	    a->attempts != b->attempts || a->timeout_ms != b->timeout_ms ||
	    strcmp(a->digest, b->digest) != 0 || !str_eq(a->id, b->id) ||
	    !str_eq(a->server, b->server))
		return false;
	return a->inner || http_same(a, b);
}

static void
entries_free(struct entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		entry_done(&entries[i]);
	free(entries);
}

static struct entry *
entries_make(struct defined *d, const struct defined_source *from,
	     const struct kinds_settings *settings)
{
	struct entry *entries = calloc(from->count + 1, sizeof(*entries));

	for (size_t i = 0; entries && i < from->count; i++) {
		entries[i].definition = definition_ref(from->specs[i].definition);
		entry_make(d, &entries[i], from, settings, from->specs[i].vars);
	}
	return entries;
}

/* By name, for those that were there before. E_NOMEM. */
static int
index_tools(const struct source *s, struct map *ret)
{
	map_init(ret, s->count + 1);
	for (size_t i = 0; i < s->count; i++) {
		struct entry *en = &s->entries[i];
		int code = en->tool ? map_put(ret, en->tool->name, en) : 0;
		if (code < 0 && code != E_EXISTS)
			return code;
	}
	return 0;
}

/* What stays keeps its tool; it is taken out of the old row, which is hidden then. */
static bool
exchange(struct defined *d, struct source *s, struct entry *fresh, size_t count, struct map *before)
{
	bool changed = false;

	for (size_t i = 0; i < count; i++) {
		struct entry *old = fresh[i].tool ? map_find(before, fresh[i].tool->name) : NULL;
		if (!old || !old->tool || !is_same(old, &fresh[i]))
			continue;
		map_remove(before, old->tool->name);
		tool_unref(fresh[i].tool);
		fresh[i].tool = old->tool;
		old->tool = NULL;
	}
	for (size_t i = 0; i < s->count; i++) {
		changed = changed || s->entries[i].tool;
		entry_hide(d, &s->entries[i]);
	}
	for (size_t i = 0; i < count; i++) {
		struct tool *t = fresh[i].tool;
		if (!t || catalog_find(d->catalog, t->name) == t)
			continue;
		entry_show(d, &fresh[i]);
		changed = changed || fresh[i].tool;
	}
	return changed;
}

int
defined_set(struct defined *d, const struct defined_source *from,
	    const struct kinds_settings *settings, bool *changed, struct err *e)
{
	struct source *s = source_get(d, from->name);
	struct entry *fresh = s ? entries_make(d, from, settings) : NULL;
	struct map before = {0};

	if (!fresh || index_tools(s, &before) < 0) {
		map_done(&before);
		entries_free(fresh, fresh ? from->count : 0);
		return err_plain(e, E_NOMEM);
	}
	*changed = exchange(d, s, fresh, from->count, &before);
	map_done(&before);
	entries_free(s->entries, s->count);
	s->entries = fresh;
	s->count = from->count;
	if (s->count == 0)
		source_free(s);
	return 0;
}

size_t
defined_problems(const struct defined *d, struct str source,
		 void (*each)(void *arg, struct str source, const char *problem), void *arg)
{
	size_t n = 0;

	LIST_EACH (&d->sources, at) {
		const struct source *s = CONTAINER_OF(at, struct source, node);
		for (size_t i = 0; i < s->count; i++) {
			if ((source.ptr && !str_is(source, s->name)) || s->entries[i].tool)
				continue;
			n++;
			if (each)
				each(arg, str_of(s->name),
				     s->entries[i].problem ? s->entries[i].problem
							   : "out of memory");
		}
	}
	return n;
}

size_t
defined_count(const struct defined *d, struct str source)
{
	const struct source *s = source_find(d, source);
	size_t n = 0;

	for (size_t i = 0; s && i < s->count; i++)
		n += s->entries[i].tool != NULL;
	return n;
}
