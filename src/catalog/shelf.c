/* shelf.c - snapshots of the tools, which share what stayed the same. */

#include "catalog/shelf.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/limits.h"
#include "catalog/toolid.h"
#include "text/plain.h"

#define NS_DESCRIPTION_CHARS 512

/* The search index, and which item each of its numbers stands for. */
struct shelf_index {
	struct search *search;
	struct shelf_item **items; /* each counted; NULL: none */
	size_t room;
	const struct shelf *newest;
	unsigned refs;
};

struct shelf {
	const struct path_leaf **by_id;
	struct path_tree tree; /* the same leaves in its own order */
	size_t problems;       /* of how many of them */
	struct shelf_index *index;
	uint64_t generation;
	unsigned refs;
};

/* Items. */

static struct shelf_item *
item_of(const struct path_leaf *leaf)
{
	return CONTAINER_OF(leaf, struct shelf_item, leaf);
}

static void
item_unref(struct shelf_item *item)
{
	if (--item->refs == 0)
		free(item);
}

/* Everything an item will hold, wherever it was made. */
struct draft {
	struct arena *arena;
	struct shelf_item item;
	struct buf texts[6];
};

static struct str
draft_json(struct buf *out, const struct json *v)
{
	struct jw w = jw(out);

	if (!v)
		return (struct str){NULL, 0};
	jw_value(&w, v);
	return buf_str(out);
}

static int
draft_card(struct draft *d, const struct shelf_tool *t, struct str ns, struct err *e)
{
	const struct card_source from = {
	    .id = t->id,
	    .name = t->name,
	    .description = t->description,
	    .ns = ns,
	    .tags = t->tags,
	    .tag_count = t->tag_count,
	    .kind = t->kind,
	    .has_schema = t->input_schema != NULL,
	    .side_effects = !t->read_only,
	    .read_only = t->read_only,
	    .destructive = t->destructive,
	    .cost_hint = t->cost_hint,
	};
	struct err why = ERR_NONE;
	int rc = card_build(d->arena, &from, &d->item.card, &why);

	if (rc < 0 && rc != E_TOO_LARGE) {
		*e = why;
		return rc;
	}
	if (rc < 0) {
		d->item.card = (struct card){.kind = "tool"};
		d->item.problem = arena_str(d->arena, str_of(err_text(&why)));
	}
	return 0;
}

static int
draft_fill(struct draft *d, const struct shelf_tool *t, struct err *e)
{
	struct buf *ns = &d->texts[0], *segment = &d->texts[1], *key = &d->texts[2];
	struct toolid id;
	bool parsed = toolid_parse(t->id, &id, NULL) == 0;

	toolid_namespace(ns, t->ns);
	path_segment(segment, buf_str(ns), parsed ? id.name : t->name);
	path_key(key, buf_str(ns), buf_str(segment));
	d->item.leaf = (struct path_leaf){t->id, buf_str(key), buf_str(segment)};
	if (t->ns_description.len > 0) {
		struct buf line = BUF_INIT(LIMIT_CARD_BYTES);
		plain_line(&line, t->ns_description, NS_DESCRIPTION_CHARS);
		d->item.ns_description = arena_str(d->arena, buf_str(&line));
		buf_done(&line);
	}
	d->item.schema = draft_json(&d->texts[3], t->input_schema);
	d->item.examples = draft_json(&d->texts[4], t->examples);
	d->item.constraints = draft_json(&d->texts[5], t->constraints);
	d->item.unavailable = t->unavailable;
	return draft_card(d, t, buf_str(ns), e);
}

#define DRAFT_STRS 12

/* Every text of an item; its tags are besides. */
static void
item_strs(struct shelf_item *item, struct str *strs[static DRAFT_STRS])
{
	struct str *all[DRAFT_STRS] = {
	    &item->leaf.id,        &item->leaf.key,         &item->leaf.segment, &item->card.id,
	    &item->card.name,      &item->card.description, &item->card.ns,      &item->problem,
	    &item->ns_description, &item->schema,           &item->examples,     &item->constraints,
	};

	memcpy(strs, all, sizeof(all));
}

static void
move_str(char **at, struct str *s)
{
	if (!s->ptr)
		return;
	if (s->len > 0)
		memcpy(*at, s->ptr, s->len);
	s->ptr = *at;
	*at += s->len;
}

/* One piece of memory: the item, its tags, all texts. */
static struct shelf_item *
item_pack(const struct shelf_item *draft)
{
	struct shelf_item copy = *draft;
	struct str *strs[DRAFT_STRS];
	size_t tags = draft->card.tag_count, bytes = sizeof(copy) + tags * sizeof(struct str);

	item_strs(&copy, strs);
	for (size_t i = 0; i < DRAFT_STRS; i++)
		bytes += strs[i]->len;
	for (size_t i = 0; i < tags; i++)
		bytes += draft->card.tags[i].len;
	struct shelf_item *item = malloc(bytes);
	if (!item)
		return NULL;
	struct str *tag = (struct str *)(item + 1);
	char *at = (char *)(tag + tags);
	for (size_t i = 0; i < DRAFT_STRS; i++)
		move_str(&at, strs[i]);
	for (size_t i = 0; i < tags; i++) {
		tag[i] = draft->card.tags[i];
		move_str(&at, &tag[i]);
	}
	copy.card.tags = tag;
	copy.refs = 1;
	*item = copy;
	return item;
}

static int
item_new(const struct shelf_tool *t, struct shelf_item **ret, struct err *e)
{
	struct draft d = {.arena = arena_new(MIB)};
	int rc = d.arena ? 0 : err_plain(e, E_NOMEM);

	for (size_t i = 0; i < ARRAY_LEN(d.texts); i++)
		buf_init(&d.texts[i], 8 * LIMIT_JSON_BYTES);
	if (rc == 0)
		rc = draft_fill(&d, t, e);
	for (size_t i = 0; i < ARRAY_LEN(d.texts); i++)
		if (rc == 0 && buf_failed(&d.texts[i]))
			rc = err_plain(e, E_NOMEM);
	if (rc == 0 && !(*ret = item_pack(&d.item)))
		rc = err_plain(e, E_NOMEM);
	for (size_t i = 0; i < ARRAY_LEN(d.texts); i++)
		buf_done(&d.texts[i]);
	arena_free(d.arena);
	return rc;
}

/* Orders. */

typedef int leaf_cmp(const struct path_leaf *a, const struct path_leaf *b);

static int
id_cmp(const struct path_leaf *a, const struct path_leaf *b)
{
	return str_cmp(a->id, b->id);
}

static int
sort_by_id(const void *a, const void *b)
{
	return id_cmp(*(const struct path_leaf *const *)a, *(const struct path_leaf *const *)b);
}

static int
sort_by_path(const void *a, const void *b)
{
	return path_leaf_cmp(*(const struct path_leaf *const *)a,
			     *(const struct path_leaf *const *)b);
}

static size_t
place_of(const struct path_leaf *const *by_id, size_t count, struct str id)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (str_cmp(by_id[middle]->id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Both are in order; those of the old that leave are left out. */
static void
merge(const struct path_leaf **out, const struct path_leaf **old, size_t old_count,
      const struct path_leaf **added, size_t added_count, leaf_cmp *cmp)
{
	size_t i = 0, j = 0;

	while (i < old_count || j < added_count) {
		if (i < old_count && item_of(old[i])->leaving)
			i++;
		else if (j == added_count || (i < old_count && cmp(old[i], added[j]) < 0))
			*out++ = old[i++];
		else
			*out++ = added[j++];
	}
}

/* What comes. */

struct arrivals {
	const struct path_leaf **leaves;
	size_t count;
};

static void
arrivals_done(struct arrivals *a)
{
	for (size_t i = 0; i < a->count; i++)
		item_unref(item_of(a->leaves[i]));
	free(a->leaves);
}

static int
arrivals_make(struct arrivals *a, const struct shelf_tool *tools, size_t count, struct err *e)
{
	struct shelf_item *item = NULL;
	int rc = 0;

	*a = (struct arrivals){.leaves = calloc(count + 1, sizeof(*a->leaves))};
	if (!a->leaves)
		return err_plain(e, E_NOMEM);
	while (rc == 0 && a->count < count)
		if ((rc = item_new(&tools[a->count], &item, e)) == 0)
			a->leaves[a->count++] = &item->leaf;
	qsort(a->leaves, a->count, sizeof(*a->leaves), sort_by_id);
	for (size_t i = 1; rc == 0 && i < a->count; i++)
		if (id_cmp(a->leaves[i - 1], a->leaves[i]) == 0)
			rc = err_set(e, E_EXISTS, "two tools have the id %.*s",
				     STR_ARG(str_utf8_upto(a->leaves[i]->id, TOOLID_MAX)));
	return rc;
}

/* The index. */

static struct shelf_index *
index_new(void)
{
	struct shelf_index *x = calloc(1, sizeof(*x));

	if (x && !(x->search = search_new())) {
		free(x);
		return NULL;
	}
	return x;
}

static void
index_free(struct shelf_index *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->room; i++)
		if (x->items[i])
			item_unref(x->items[i]);
	search_free(x->search);
	free(x->items);
	free(x);
}

static void
index_remove(struct shelf_index *x, struct str id)
{
	uint32_t number = search_find(x->search, id);

	if (number == SEARCH_NONE)
		return;
	search_remove(x->search, id);
	if (number < x->room && x->items[number]) {
		item_unref(x->items[number]);
		x->items[number] = NULL;
	}
}

static int
index_note(struct shelf_index *x, struct shelf_item *item)
{
	uint32_t number = search_find(x->search, item->leaf.id);

	CHECK(number != SEARCH_NONE);
	if (number >= x->room) {
		size_t room = (size_t)number * 2 + 64;
		struct shelf_item **items = realloc(x->items, room * sizeof(*items));
		if (!items)
			return E_NOMEM;
		memset(items + x->room, 0, (room - x->room) * sizeof(*items));
		x->items = items;
		x->room = room;
	}
	x->items[number] = item;
	item->refs++;
	return 0;
}

static int
index_add(struct shelf_index *x, const struct shelf_tool *tools, size_t count, struct err *e)
{
	struct search_tool *rows = calloc(count + 1, sizeof(*rows));

	if (!rows)
		return err_plain(e, E_NOMEM);
	for (size_t i = 0; i < count; i++) {
		const struct shelf_tool *t = &tools[i];
		rows[i] = (struct search_tool){
		    .id = t->id,
		    .name = t->name,
		    .description = t->description,
		    .ns = t->ns,
		    .ns_description = t->ns_description,
		    .tags = t->tags,
		    .tag_count = t->tag_count,
		    .input_schema = t->input_schema,
		};
	}
	int rc = search_add(x->search, rows, count, e);
	free(rows);
	return rc;
}

/*
 * Out with what leaves, in with what comes. When memory runs out in between, queries miss what
 * was to leave; nothing worse.
 */
static int
index_change(struct shelf_index *x, const struct shelf *old, const struct shelf_tool *tools,
	     const struct arrivals *new, struct err *e)
{
	int rc;

	for (size_t i = 0; old && i < old->tree.count; i++)
		if (item_of(old->by_id[i])->leaving)
			index_remove(x, old->by_id[i]->id);
	if ((rc = index_add(x, tools, new->count, e)) < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < new->count; i++)
		rc = index_note(x, item_of(new->leaves[i]));
	if (rc == 0)
		return 0;
	for (size_t i = 0; i < new->count; i++)
		index_remove(x, new->leaves[i]->id);
	return err_plain(e, rc);
}

/* Shelves. */

/* Marks those that leave the old shelf, or takes the marks off again; how many. */
static size_t
mark(const struct shelf *old, const struct arrivals *new, const struct str *gone, size_t gone_count,
     bool leaving)
{
	size_t marked = 0;

	for (size_t i = 0; old && i < new->count + gone_count; i++) {
		struct str id = i < new->count ? new->leaves[i]->id : gone[i - new->count];
		size_t at = place_of(old->by_id, old->tree.count, id);
		if (at == old->tree.count || !str_eq(old->by_id[at]->id, id))
			continue;
		marked += item_of(old->by_id[at])->leaving != leaving;
		item_of(old->by_id[at])->leaving = leaving;
	}
	return marked;
}

static void
shelf_free(struct shelf *s)
{
	if (!s)
		return;
	free(s->by_id);
	free(s->tree.leaves);
	free(s);
}

static struct shelf *
shelf_alloc(size_t count)
{
	static _Atomic uint64_t generations;
	struct shelf *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->by_id = calloc(count + 1, sizeof(*s->by_id));
	s->tree.leaves = calloc(count + 1, sizeof(*s->tree.leaves));
	s->tree.count = count;
	s->refs = 1;
	s->generation = atomic_fetch_add(&generations, 1) + 1;
	if (s->by_id && s->tree.leaves)
		return s;
	shelf_free(s);
	return NULL;
}

/* The new shelf's lists; new->leaves is in order of ids before and of paths after. */
static void
shelf_fill(struct shelf *s, const struct shelf *old, struct arrivals *new)
{
	const struct path_leaf **by_id = old ? old->by_id : NULL;
	const struct path_leaf **by_path = old ? old->tree.leaves : NULL;
	size_t count = old ? old->tree.count : 0;

	merge(s->by_id, by_id, count, new->leaves, new->count, id_cmp);
	qsort(new->leaves, new->count, sizeof(*new->leaves), sort_by_path);
	merge(s->tree.leaves, by_path, count, new->leaves, new->count, path_leaf_cmp);
	for (size_t i = 0; i < s->tree.count; i++) {
		item_of(s->by_id[i])->refs++;
		s->problems += item_of(s->by_id[i])->problem.ptr != NULL;
	}
}

static int
shelf_make(struct shelf *old, const struct shelf_tool *tools, struct arrivals *new,
	   const struct str *gone, size_t gone_count, struct shelf **ret, struct err *e)
{
	size_t leaving = mark(old, new, gone, gone_count, true);
	size_t count = (old ? old->tree.count : 0) - leaving + new->count;
	struct shelf_index *x = old ? old->index : index_new();
	struct shelf *s = NULL;
	int rc = 0;

	CHECK(!old || x->newest == old);
	if (count > LIMIT_TOOLS)
		rc = err_set(e, E_LIMIT, "there would be %zu tools, and %d are the most", count,
			     LIMIT_TOOLS);
	else if (!x || !(s = shelf_alloc(count)))
		rc = err_plain(e, E_NOMEM);
	if (rc == 0)
		rc = index_change(x, old, tools, new, e);
	if (rc == 0) {
		shelf_fill(s, old, new);
		s->index = x;
		x->refs++;
		x->newest = s;
		*ret = s;
	} else {
		shelf_free(s);
		if (!old)
			index_free(x);
	}
	mark(old, new, gone, gone_count, false);
	return rc;
}

int
shelf_next(struct shelf *old, const struct shelf_tool *tools, size_t count, const struct str *gone,
	   size_t gone_count, struct shelf **ret, struct err *e)
{
	struct arrivals new;
	int rc = arrivals_make(&new, tools, count, e);

	if (rc == 0)
		rc = shelf_make(old, tools, &new, gone, gone_count, ret, e);
	arrivals_done(&new);
	return rc;
}

int
shelf_new(const struct shelf_tool *tools, size_t count, struct shelf **ret, struct err *e)
{
	return shelf_next(NULL, tools, count, NULL, 0, ret, e);
}

struct shelf *
shelf_ref(struct shelf *s)
{
	s->refs++;
	return s;
}

void
shelf_unref(struct shelf *s)
{
	if (!s || --s->refs > 0)
		return;
	if (s->index->newest == s)
		s->index->newest = NULL;
	if (--s->index->refs == 0)
		index_free(s->index);
	for (size_t i = 0; i < s->tree.count; i++)
		item_unref(item_of(s->by_id[i]));
	shelf_free(s);
}

size_t
shelf_count(const struct shelf *s)
{
	return s->tree.count;
}

size_t
shelf_problems(const struct shelf *s)
{
	return s->problems;
}

const struct shelf_item *
shelf_at(const struct shelf *s, size_t i)
{
	CHECK(i < s->tree.count);
	return item_of(s->by_id[i]);
}

const struct shelf_item *
shelf_find(const struct shelf *s, struct str id)
{
	size_t at = place_of(s->by_id, s->tree.count, id);

	return at < s->tree.count && str_eq(s->by_id[at]->id, id) ? item_of(s->by_id[at]) : NULL;
}

uint64_t
shelf_generation(const struct shelf *s)
{
	return s->generation;
}

const struct search *
shelf_words(const struct shelf *s)
{
	return s->index->search;
}

const struct path_tree *
shelf_tree(const struct shelf *s)
{
	return &s->tree;
}

int
shelf_hydrate(const struct shelf *s, struct str id, struct jw *w, struct err *e)
{
	const struct shelf_item *item = shelf_find(s, id);

	if (!item)
		return err_set(e, E_NOT_FOUND, "there is no tool %.*s",
			       STR_ARG(str_utf8_upto(id, TOOLID_MAX)));
	jw_object(w);
	jw_member(w, "tool_id", item->leaf.id);
	jw_key(w, "args_schema"), jw_raw(w, item->schema.ptr ? item->schema : S("{}"));
	jw_key(w, "examples"), jw_raw(w, item->examples.ptr ? item->examples : S("[]"));
	jw_key(w, "constraints"), jw_raw(w, item->constraints.ptr ? item->constraints : S("{}"));
	jw_end(w);
	return 0;
}

/* Searching. */

struct view {
	const struct shelf *shelf;
	bool (*visible)(const struct shelf_item *item, void *arg);
	void *arg;
};

static bool
is_visible(uint32_t number, void *arg)
{
	const struct view *v = arg;
	const struct shelf_item *item = v->shelf->index->items[number];

	if (v->shelf->index->newest != v->shelf && shelf_find(v->shelf, item->leaf.id) != item)
		return false;
	return !item->problem.ptr && (!v->visible || v->visible(item, v->arg));
}

size_t
shelf_search(const struct shelf *s, struct str query, size_t k, const struct learned *learned,
	     bool (*visible)(const struct shelf_item *item, void *arg), void *arg,
	     struct shelf_hit *hits)
{
	struct search_hit found[SEARCH_MOST];
	struct view view = {s, visible, arg};
	bool all = !visible && s->problems == 0 && s->index->newest == s;
	struct search_options options = {all ? NULL : is_visible, &view, learned};
	size_t count = search_query(s->index->search, query, k, &options, found);

	for (size_t i = 0; i < count; i++)
		hits[i] = (struct shelf_hit){s->index->items[found[i].tool], found[i].score};
	return count;
}
