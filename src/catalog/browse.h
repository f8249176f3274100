/*
 * browse.h - tool_browse: cards for a query, or of what is at a path (seed 001 sections 2.5 and 3).
 *
 * A query's cards come best first, then by id; those of a path by id. What a path leads to that is
 * no tool is a card of kind "internal" whose id is the path to go on with.
 */

#ifndef CATALOG_BROWSE_H
#define CATALOG_BROWSE_H

#include "catalog/seen.h"
#include "catalog/shelf.h"

#define BROWSE_TOP_K 10
#define BROWSE_TOP_K_MOST SEARCH_MOST
#define BROWSE_DISABLED 3

struct browse_args {
	struct str query; /* exactly one of the two; the other is {NULL,0} */
	struct str path;
	int64_t top_k; /* 0: not given. A path then lists all there is. */
};

/* From a call's input. E_VALIDATION or E_BAD_REQUEST, which are both ARGS_INVALID. */
int browse_args_read(const struct json *input, struct browse_args *ret, struct err *e);

struct browse_options {
	const struct learned *learned;                             /* or NULL */
	struct browse_seen *seen;                                  /* NULL: not cache-stable */
	bool (*visible)(const struct shelf_item *item, void *arg); /* NULL: all are */
	void *arg;
};

struct browse_reply {
	struct card *cards;
	size_t count;
	size_t left_out; /* that there was no room for */
	uint32_t best;   /* of a query: the score of the first, as the search has it */
	/* What fits better and is not enabled for whoever asked; their names are all that is shown.
	 */
	struct card *disabled;
	size_t disabled_count; /* at most BROWSE_DISABLED */
	bool stable;           /* made with a seen-set */
	struct arena *arena;   /* of everything */
};

/*
 * Options may be NULL. The shelf must live as long as the reply. E_VALIDATION, E_BAD_PATH,
 * E_NO_PATH, E_NOMEM.
 */
int browse(const struct shelf *s, const struct browse_args *args, const struct browse_options *o,
	   struct browse_reply *ret, struct err *e);
void browse_done(struct browse_reply *r); /* zeroed memory too */

/* {"cards":[...]}, and "left_out" and "not_enabled" when there are. */
void browse_write(struct jw *w, const struct browse_reply *r);

/* A line for each card, at most CARD_CAP tokens each and CARD_PREAMBLE in all besides. */
void browse_render(struct buf *out, const struct browse_reply *r);

#endif
