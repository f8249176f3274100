/* library.h - shared libraries that are loaded when they are first needed, and not before. */

#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

#include "base/err.h"

struct library_function {
	const char *name;
	size_t at; /* of the pointer to it, in a struct of the caller's */
};

/*
 * The first of the names (NULL-terminated) that is there; its functions are put into *ret. For
 * dlclose, or to stay. NULL: E_UNAVAILABLE, e says what is missing, and the pointers are NULL.
 */
void *library_load(const char *const *names, const struct library_function *functions, size_t count,
		   void *ret, struct err *e);

#endif
