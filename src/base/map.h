/*
 * map.h - text to pointer, for names and ids.
 *
 * Keys are borrowed: they must live as long as the entry, normally inside the value.
 */

#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/bug.h"
#include "base/str.h"

struct map_slot;

struct map {
	struct map_slot *slots;
	size_t len;  /* entries */
	size_t cap;  /* slots, a power of two */
	size_t used; /* slots that are not virgin, tombstones too */
	size_t max;
};

void map_init(struct map *m, size_t max_entries);
void map_done(struct map *m); /* frees the table, not the values */

void *map_find(const struct map *m, struct str key);     /* NULL = none */
int map_put(struct map *m, struct str key, void *value); /* E_EXISTS, E_LIMIT, E_NOMEM */
void *map_remove(struct map *m, struct str key);         /* the value, or NULL */

/* In no particular order: start with *at = 0; NULL at the end. Do not change the map meanwhile. */
void *map_each(const struct map *m, size_t *at);

#endif
