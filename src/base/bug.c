/* bug.c - the last words of a process whose invariant broke. */

#include "base/bug.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void
bug_at(const char *file, int line, const char *text)
{
	fprintf(stderr, "holdfast: bug at %s:%d: %s\n", file, line, text);
	abort();
}
