/* confine_inside.h - from a confinement to what the minder is given; for src/loop only. */

#ifndef LOOP_CONFINE_INSIDE_H
#define LOOP_CONFINE_INSIDE_H

#include "loop/confine.h"
#include "minder/minder.h"

/*
 * Orders for the minder, and the ruleset it is to put on: *ret_rules is the caller's, -1 when there
 * is none. c may be NULL: open. E_UNAVAILABLE (strict, and the kernel lacks something), E_LIMIT
 * (too much lies around what is shut), E_SYSTEM, E_NOMEM.
 */
int confine__orders(const struct confinement *c, const char *program, struct arena *a,
		    const struct minder_orders **ret, int *ret_rules, struct err *e);

/* rules.c: 0 when there is no Landlock. */
int rules__abi(void);
/* program: a path that may be read and run; or NULL. */
int rules__new(const struct confinement *c, const char *program, struct arena *a, int *ret_fd,
	       struct err *e);

void rules__forget(struct confine_kept *k); /* zeroed memory too */

/* filter.c: fills orders->filter. */
bool filter__available(void);
int filter__make(enum confinement_profile p, bool tcp, struct minder_orders *orders, struct err *e);

#endif
