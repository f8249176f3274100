/*
 * scan.h - a query's words against all tools, block by block, and the best of them.
 *
 * Words that few tools of a block have are summed first. Those that many have are rows, and a row
 * is only added where it can still make a difference: that is no estimate, the best are the best.
 */

#ifndef SEARCH_SCAN_H
#define SEARCH_SCAN_H

#include "search/inside.h"
#include "search/query.h"

#define SCAN_BEST 64 /* SEARCH_MOST at least */

struct candidate {
	uint32_t tool;
	int32_t sum;
};

/* The best: more than are wanted, until there is no room and the worse are cut off. */
struct best {
	size_t count;
	int32_t floor; /* less is not among them, */
	uint32_t edge; /* nor as much with an id behind this tool's; or NAMES_NONE */
	struct candidate list[4 * SCAN_BEST];
};

struct use { /* of a word */
	const struct query_word *word;
	const struct chunk *at, *end; /* those the scan has not passed */
	uint64_t rare;                /* how rare it is, times how often it was said */
	uint16_t weight;              /* the same in 8 bits */
};

struct scan {
	const struct search *search;
	const struct search_options *options; /* or NULL */
	const struct query *query;
	struct use uses[QUERY_WORDS];
	size_t use_count;
	struct best by_words;
	struct best by_meaning;
};

/* What stands before uses has been set. */
void scan_prepare(struct scan *s);
void scan_words(struct scan *s);
/* The nearest by meaning, of those that have no word of the query. */
void scan_meanings(struct scan *s);

/* What one word adds to a sum. */
static inline int
scan_product(unsigned impact, unsigned weight)
{
	return (int)(impact * weight >> SUM_SHIFT);
}

bool scan_sees(const struct scan *s, uint32_t tool);

#endif
