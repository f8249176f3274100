/*
 * asked.h - what a session asked for lately, and which tools it was shown.
 *
 * A tool that is run after it was shown for a query is evidence that the query means it
 * (search/learned.h); anything else is not. Each pair counts once.
 */

#ifndef SESSION_ASKED_H
#define SESSION_ASKED_H

#include "base/str.h"

#define ASKED_LATELY 8 /* queries; an older one is forgotten */
#define ASKED_SHOWN 50 /* tools for one */

struct asked;

struct asked *asked_new(void); /* NULL when out of memory */
void asked_free(struct asked *a);

/* A query was answered; its tools are then named one by one. A query that is too long is cut. */
void asked_begin(struct asked *a, struct str query);
void asked_shown(struct asked *a, struct str tool);

/* The last query this tool was shown for, and that only once; {NULL,0} for none. Valid until the
 * next asked_begin. */
struct str asked_take(struct asked *a, struct str tool);

#endif
