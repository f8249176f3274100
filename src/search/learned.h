/*
 * learned.h - what use has taught: who asked in these words ran that tool.
 *
 * Evidence is a query of a session that was answered by browsing, and the tool of that answer
 * which the same session then ran. Nothing else counts and nothing else gets in: no text of a
 * server, no tool that was not shown, no call that did not follow a question. Each piece is a
 * word of a query, a tool, and how often, fading by the day. It is a part of a tool's score of
 * its own, so that it can be looked at, forgotten, and switched off.
 *
 * One for each tenant. All of it is bounded, and so is what a single day can teach about a tool:
 * an agent in a loop convinces nobody. Days are counted since 1970.
 */

#ifndef SEARCH_LEARNED_H
#define SEARCH_LEARNED_H

#include "base/err.h"
#include "json/write.h"

struct learned;
struct search;

struct learned *learned_new(void); /* NULL when out of memory */
void learned_free(struct learned *l);

/*
 * The tool was run after this query. Learned are the words that it does not say itself: the others
 * find it already. Nothing is learned of a tool that is not there, or without memory.
 */
void learned_note(struct learned *l, const struct search *in, struct str query, struct str tool,
		  uint32_t day);

/* One tool, or {NULL,0} for all. False: there was nothing. */
bool learned_forget(struct learned *l, struct str tool);

/* Off: nothing is learned, nothing counts, nothing is lost. */
void learned_switch(struct learned *l, bool on);
bool learned_is_on(const struct learned *l);

size_t learned_tools(const struct learned *l); /* there is evidence for */
size_t learned_pieces(const struct learned *l);

/* {"on":true,"tools":[{"id":"x:y","uses":3,"day":20500,"words":[{"word":"weather","weight":48,"day":20500}]}]}
 */
void learned_write(const struct learned *l, struct jw *out);
/* Replaces everything, or nothing: E_BAD_REQUEST (names the field), E_LIMIT, E_NOMEM. */
int learned_read(struct learned *l, const struct json *from, struct err *e);

/*
 * What it says about a query, by the numbers of its different words: the tools with the most
 * evidence, best first. A score is how much of the query speaks for the tool, LEARNED_WHOLE at
 * most; words that were never heard before speak for none.
 */
#define LEARNED_WHOLE 65536
#define LEARNED_ASKED 128 /* words of a query */
#define LEARNED_BEST 16
#define LEARNED_UNKNOWN UINT32_MAX
struct learned_hit {
	struct str tool;
	uint32_t score;
};
uint32_t learned_word(const struct learned *l, struct str stem); /* LEARNED_UNKNOWN: never heard */
size_t learned_best(const struct learned *l, const uint32_t *words, size_t count,
		    struct learned_hit hits[static LEARNED_BEST]);

#endif
