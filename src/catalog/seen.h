/*
 * seen.h - the cards a session has been shown, so that it is shown the same bytes again
 * (seed 001 section 5).
 *
 * In a cache-stable list come first the cards that were seen before, ordered by id and exactly as
 * they were then; behind them a marker, where a client puts its cache breakpoint; then the new
 * ones, ordered by id. There is no marker where one of the two sides is empty.
 *
 * Whoever owns the session's handle owns one of these. It is bounded: when it is full, cards stay
 * new, and only those. It empties itself when the shelf is another one.
 */

#ifndef CATALOG_SEEN_H
#define CATALOG_SEEN_H

#include "catalog/shelf.h"

#define SEEN_MARKER "__cache_breakpoint__"

struct browse_seen;

struct browse_seen *browse_seen_new(void); /* NULL when out of memory */
void browse_seen_free(struct browse_seen *seen);
size_t browse_seen_count(const struct browse_seen *seen);

/*
 * The tool was hydrated or executed, with success: it counts as seen, and its card is kept at the
 * first list that has it. No-op for an id that is not on the shelf.
 */
void browse_seen_note(struct browse_seen *seen, const struct shelf *s, struct str id);

/*
 * Puts *count cards, best first, in their stable order, which has at most `limit` with the marker:
 * the worst of the new ones are left out, and added to *left_out. There is room for one more at
 * cards[*count]. What is written lives in the arena. E_NOMEM.
 */
int browse_seen_arrange(struct browse_seen *seen, const struct shelf *s, struct arena *a,
			struct card *cards, size_t *count, size_t limit, size_t *left_out,
			struct err *e);

#endif
