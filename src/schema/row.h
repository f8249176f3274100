/* row.h - growing the rows of a program. */

#ifndef SCHEMA_ROW_H
#define SCHEMA_ROW_H

#include <stdlib.h>

#include "base/err.h"

/* The row with room for more, moved perhaps; NULL when there is no memory. */
static inline void *
row__grow(void *row, size_t len, size_t *cap, size_t more, size_t size)
{
	size_t want = *cap ? *cap : 8;

	if (row && len + more <= *cap)
		return row;
	while (want < len + more)
		want *= 2;
	void *bigger = reallocarray(row, want, size);
	if (bigger)
		*cap = want;
	return bigger;
}

/* Room for n more. 0 or E_NOMEM. */
#define row_room(r, n)                                                                             \
	({                                                                                         \
		void *row_ = row__grow((r)->row, (r)->len, &(r)->cap, n, sizeof(*(r)->row));       \
		if (row_)                                                                          \
			(r)->row = row_;                                                           \
		row_ ? 0 : (int)E_NOMEM;                                                           \
	})

/* One more. 0 or E_NOMEM. */
#define row_add(r, ...)                                                                            \
	(row_room(r, 1) < 0 ? (int)E_NOMEM : ((void)((r)->row[(r)->len++] = __VA_ARGS__), 0))

#endif
