/*
 * meaning.h - what words mean, roughly: 64 small numbers for each of ten thousand stems.
 *
 * Words that are used alike lie in the same direction, so that a query finds a tool that says the
 * same in other words. The table is data/search; all arithmetic is of integers, and so the same
 * on every machine.
 */

#ifndef SEARCH_MEANING_H
#define SEARCH_MEANING_H

#include "base/str.h"

#define MEANING_DIMENSIONS 64
#define MEANING_NONE UINT32_MAX
#define MEANING_LENGTH 127 /* of a vector: the square root of its product with itself, nearly */

struct meaning {
	int8_t at[MEANING_DIMENSIONS]; /* all 0: nothing is known */
};

struct meaning_sum {
	int32_t at[MEANING_DIMENSIONS];
};

uint32_t meaning_find(struct str stem); /* its row; MEANING_NONE */

void meaning_add(struct meaning_sum *sum, uint32_t row, int32_t weight); /* |weight| < 2^12 */
struct meaning meaning_of(const struct meaning_sum *sum);                /* brought to length */

/* MEANING_LENGTH squared for the same direction, 0 for unrelated ones. */
int32_t meaning_product(const struct meaning *a, const struct meaning *b);

#endif
