/*
 * arena.h - memory that is given back all at once.
 *
 * Everything of a call lives in the call's arena and dies with it. An arena has
 * a maximum; asking for more gives NULL, which is an ordinary error.
 */

#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/bug.h"
#include "base/str.h"

struct arena;

struct arena *arena_new(size_t max_bytes); /* NULL when out of memory */
void arena_free(struct arena *a);          /* takes NULL */

/* Zeroed, aligned for anything. NULL at the maximum. */
void *arena_alloc(struct arena *a, size_t size) MUST_USE;
#define ARENA_NEW(a, type) ((type *)arena_alloc(a, sizeof(type)))

/* The same, but only the first so many bytes are zeroed: the rest is filled in by hand, or where it
 * is needed. */
void *arena_alloc_upto(struct arena *a, size_t size, size_t zeroed) MUST_USE;
#define ARENA_NEW_UPTO(a, type, member)                                                            \
	((type *)arena_alloc_upto(a, sizeof(type), offsetof(type, member)))

/* Copies that are NUL-terminated; {NULL,0} or NULL when the arena is full. */
struct str arena_str(struct arena *a, struct str s);
char *arena_strz(struct arena *a, struct str s);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* What spare_keep does for arenas. */
void arena_recycle(bool on);

size_t arena_used(const struct arena *a);

#endif
