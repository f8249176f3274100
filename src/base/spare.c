/* spare.c - free blocks by size, per thread. */

#include "base/spare.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/arena.h"

#define CLASSES 5
#define KEPT 256 /* of each */

_Static_assert(SPARE_MIN << (CLASSES - 1) == SPARE_MAX, "the last class is the largest");

struct block {
	struct block *next;
};

static _Thread_local struct shelf {
	struct block *first;
	unsigned count;
} shelves[CLASSES];
static _Thread_local bool keeping;

/* Large ones, whatever their sizes. */
#define LARGE_KEPT 4
#define LARGE_BYTES ((size_t)8 * 1024 * 1024) /* all of them together */

static _Thread_local struct {
	void *block[LARGE_KEPT];
	size_t bytes;
} large;

static bool
large_keep(void *block)
{
	size_t size = malloc_usable_size(block);

	if (size < SPARE_LARGE || size > LARGE_BYTES - large.bytes)
		return false;
	for (size_t i = 0; i < LARGE_KEPT; i++) {
		if (large.block[i])
			continue;
		large.block[i] = block;
		large.bytes += size;
		return true;
	}
	return false;
}

/* The smallest that will do. */
void *
spare_find(size_t size)
{
	void **best = NULL;

	for (size_t i = 0; size >= SPARE_LARGE && i < LARGE_KEPT; i++) {
		void **at = &large.block[i];
		if (*at && malloc_usable_size(*at) >= size &&
		    (!best || malloc_usable_size(*at) < malloc_usable_size(*best)))
			best = at;
	}
	void *found = best ? *best : NULL;
	if (found) {
		large.bytes -= malloc_usable_size(found);
		*best = NULL;
	}
	return found;
}

void
spare_tidy(void)
{
	for (size_t i = 0; i < LARGE_KEPT; i++) {
		free(large.block[i]);
		large.block[i] = NULL;
	}
	large.bytes = 0;
}

/* That has blocks of this size or the next larger. */
static unsigned
shelf_for(size_t size)
{
	return size <= SPARE_MIN ? 0 : 57 - (unsigned)__builtin_clzl(size - 1);
}

void *
spare_get(size_t size)
{
	if (size > SPARE_MAX) {
		void *kept = spare_find(size);
		return kept ? kept : malloc(size);
	}
	unsigned i = shelf_for(size);
	struct block *b = shelves[i].first;
	if (!b)
		return malloc(SPARE_MIN << i);
	shelves[i].first = b->next;
	shelves[i].count--;
	return b;
}

void *
spare_new(size_t size)
{
	void *p = spare_get(size);

	return p ? memset(p, 0, size) : NULL;
}

void
spare_put(void *block, size_t size)
{
	struct block *b = block;

	/* Whoever gets it next believes this; nothing is kept where it is looked at. */
#ifdef __SANITIZE_ADDRESS__
	CHECK(!block || size > SPARE_MAX ||
	      malloc_usable_size(block) >= SPARE_MIN << shelf_for(size));
#endif
	if (block && keeping && size >= SPARE_LARGE && large_keep(block))
		return;
	if (!block || !keeping || size > SPARE_MAX || shelves[shelf_for(size)].count >= KEPT) {
		free(block);
		return;
	}
	struct shelf *s = &shelves[shelf_for(size)];
	b->next = s->first;
	s->first = b;
	s->count++;
}

static void
shelf_clear(struct shelf *s)
{
	for (struct block *b; (b = s->first);) {
		s->first = b->next;
		free(b);
	}
	s->count = 0;
}

void
spare_keep(bool on)
{
#ifndef __SANITIZE_ADDRESS__ /* which finds the use of freed memory only if it is freed */
	keeping = on;
#endif
	for (size_t i = 0; !on && i < CLASSES; i++)
		shelf_clear(&shelves[i]);
	if (!on)
		spare_tidy();
	arena_recycle(on);
}
