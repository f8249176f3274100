/* query.h - what a query asks for: its words, clause by clause, and which way they point. */

#ifndef SEARCH_QUERY_H
#define SEARCH_QUERY_H

#include "search/learned.h"
#include "search/meaning.h"
#include "search/search.h"

#define QUERY_WORDS LEARNED_ASKED /* different ones; the rest is not heard */
#define QUERY_CLAUSES 6           /* the last is all the rest */

struct query_word {
	uint64_t hash;                /* of the stem */
	uint32_t term;                /* in the index, or NAMES_NONE */
	uint32_t row;                 /* of its meaning, or MEANING_NONE */
	uint8_t times[QUERY_CLAUSES]; /* it was said */
};

struct query {
	struct query_word words[QUERY_WORDS];
	uint32_t learned[QUERY_WORDS]; /* their numbers there */
	size_t count;
	unsigned clauses;                       /* 1 or more */
	struct meaning meaning;                 /* of all words, */
	struct meaning meanings[QUERY_CLAUSES]; /* and of each clause if there are several */
	uint16_t verbs;                         /* kinds of them */
};

void query_read(struct query *q, const struct search *s, const struct learned *l, struct str text);

static inline unsigned
query_times(const struct query_word *w)
{
	unsigned times = 0;

	for (unsigned c = 0; c < QUERY_CLAUSES; c++)
		times += w->times[c];
	return times;
}

/* Said twice is more, but not twice as much: 16, 21, 24... */
static inline unsigned
query_weight(unsigned times)
{
	return 32 * times / (times + 1);
}

#endif
