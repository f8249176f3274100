/* near.h - "did you mean": the one rule by which a name counts as a misspelling of another. */

#ifndef BASE_NEAR_H
#define BASE_NEAR_H

#include <limits.h>

#include "base/str.h"

#define NEAR_NONE UINT_MAX

/*
 * Is candidate probably what was meant by name, and nearer than what *best stands for? Then *best
 * is brought up to date. Start with NEAR_NONE. Near is what begins like it, what is the same behind
 * a prefix (files__read_file), or what differs, case aside, in at most a third of its letters; two
 * neighbours swapped are one difference. Names over 64 bytes are nobody's misspelling.
 */
bool near_better(struct str name, struct str candidate, unsigned *best);

#endif
