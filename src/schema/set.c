/* set.c - names found by a hash that, for the names of a small set, has no collisions. */

#include <stdlib.h>

#include "base/hash.h"
#include "schema/program.h"
#include "schema/row.h"

#define SEEDS 32 /* tried before a collision is put up with: the search then looks on */

/* How many names did not get the first slot they asked for. */
static size_t
place_all(const struct schema *s, struct set *set, uint16_t *slots)
{
	size_t late = 0;

	memset(slots, 0, ((size_t)set->mask + 1) * sizeof(*slots));
	for (uint32_t i = 0; i < set->len; i++) {
		uint32_t at = schema__set_hash(s->names.row[set->at + i].text, set->seed);
		late += slots[at & set->mask] != 0;
		while (slots[at & set->mask])
			at++;
		slots[at & set->mask] = (uint16_t)(i + 1);
	}
	return late;
}

int
schema__set_build(struct schema *s, struct set *set)
{
	uint32_t size = 4;

	if (set->len == 0)
		return 0;
	while (size < set->len * 4)
		size *= 2;
	if (row_room(&s->slots, size) < 0)
		return E_NOMEM;
	uint16_t *slots = s->slots.row + s->slots.len;
	set->slot_at = (uint32_t)s->slots.len;
	set->mask = size - 1;
	s->slots.len += size;
	/* Large sets rarely have a perfect seed, and do not need one. */
	size_t least = SIZE_MAX;
	uint32_t first = (uint32_t)str_hash_keyed(S("")), best = first; /* nobody can know it */
	for (uint32_t i = 0; i < (set->len <= 64 ? SEEDS : 1) && least > 0; i++) {
		set->seed = first + i;
		size_t late = place_all(s, set, slots);
		if (late < least) {
			least = late;
			best = set->seed;
		}
	}
	set->seed = best;
	place_all(s, set, slots);
	return 0;
}
