/*
 * spare.h - blocks of memory that come and go in thousands, kept for the next one.
 *
 * libc keeps seven free blocks of a size at hand. With 64 calls under way there are hundreds, and
 * each then costs a search and a merge with its neighbours. Here a thread that asked for it keeps
 * some of every size, and a few of those that long results are in, which cost a page fault for each
 * four KiB when they are new; for all others this is malloc and free.
 *
 * A block is one of malloc's: whoever does not know its size may free() it, on any thread.
 */

#ifndef BASE_SPARE_H
#define BASE_SPARE_H

#include "base/bug.h"
#include "base/str.h"

#define SPARE_MIN ((size_t)128) /* the sizes there are: this one, doubled four times */
#define SPARE_MAX ((size_t)2048)
#define SPARE_LARGE ((size_t)256 * 1024) /* from here on they are kept again */

void *spare_get(size_t size) MUST_USE; /* NULL when out of memory */
void *spare_new(size_t size) MUST_USE; /* zeroed */

/* The size that it was got with; or, of a block of any origin, one of the sizes that it has room
 * for. Takes NULL. */
void spare_put(void *block, size_t size);

/* One of at least that size, if it is large and one is kept; or NULL. */
void *spare_find(size_t size);

/* Give back the large ones of this thread: nobody has wanted them for a while. */
void spare_tidy(void);

/* Keep blocks of this thread, arenas too, from now on; or no longer, and give back what is kept. */
void spare_keep(bool on);

#endif
