/*
 * shelf.h - all tools there are to be found, as they were at one moment.
 *
 * A shelf never changes. When tools come or go there is another one, made from the last at the
 * cost of what is new: tools that stay are shared, counted by reference, and the search index grows
 * in place. The same tools give the same shelf, byte by byte in all it answers, however they came.
 *
 * The index belongs to the newest shelf made from the others. An older one still finds and hydrates
 * all its tools; its queries miss those that have gone.
 *
 * A tool whose card cannot be made small enough stays: it can be found by its id and used, but not
 * browsed, and `problem` says why. One thread.
 */

#ifndef CATALOG_SHELF_H
#define CATALOG_SHELF_H

#include "catalog/card.h"
#include "catalog/path.h"
#include "search/search.h"

/* What is put on it; nothing is kept. */
struct shelf_tool {
	struct str id; /* unique */
	struct str name, description;
	struct str ns; /* as toolid_namespace makes it, or anything that it then is made from */
	struct str ns_description; /* {NULL,0}: none */
	const struct str *tags;
	size_t tag_count;
	const char *kind;                                         /* static; NULL: "tool" */
	const struct json *input_schema, *examples, *constraints; /* NULL: none */
	bool read_only, destructive;
	bool unavailable; /* it is listed, but its upstream has gone */
	double cost_hint;
};

struct shelf_item {
	struct path_leaf leaf;
	struct card card;   /* without a score; empty where there is a problem */
	struct str problem; /* {NULL,0}: none */
	struct str ns_description;
	struct str schema, examples, constraints; /* JSON; {NULL,0}: none */
	bool unavailable;

	/* private */
	unsigned refs;
	bool leaving;
};

struct shelf;

/* E_EXISTS names an id that is there twice: never is one of the two taken. E_LIMIT, E_NOMEM. */
int shelf_new(const struct shelf_tool *tools, size_t count, struct shelf **ret, struct err *e);

/*
 * The old one with these added, or in the place of those of the same id, and without those of the
 * ids in `gone`, which need not be there. It must be the newest, and stays so on failure.
 */
int shelf_next(struct shelf *old, const struct shelf_tool *tools, size_t count,
	       const struct str *gone, size_t gone_count, struct shelf **ret, struct err *e);

struct shelf *shelf_ref(struct shelf *s);
void shelf_unref(struct shelf *s); /* takes NULL */

size_t shelf_count(const struct shelf *s);
size_t shelf_problems(const struct shelf *s);                              /* tools that have one */
const struct shelf_item *shelf_at(const struct shelf *s, size_t i);        /* by id */
const struct shelf_item *shelf_find(const struct shelf *s, struct str id); /* NULL = none */
uint64_t shelf_generation(const struct shelf *s); /* another for every shelf */

/* {"tool_id":...,"args_schema":...,"examples":[...],"constraints":{...}}. E_NOT_FOUND. */
int shelf_hydrate(const struct shelf *s, struct str id, struct jw *w, struct err *e);

const struct path_tree *shelf_tree(const struct shelf *s);
const struct search *shelf_words(const struct shelf *s); /* for learned_note */
static inline const struct shelf_item *
shelf_item_of(const struct path_leaf *leaf)
{
	return (const struct shelf_item *)(const void *)((const char *)leaf -
							 offsetof(struct shelf_item, leaf));
}

struct shelf_hit {
	const struct shelf_item *item;
	uint32_t score;
};

/* Best first, at most SEARCH_MOST; only what has a card. `visible` may be NULL. */
size_t shelf_search(const struct shelf *s, struct str query, size_t k,
		    const struct learned *learned,
		    bool (*visible)(const struct shelf_item *item, void *arg), void *arg,
		    struct shelf_hit *hits);

#endif
