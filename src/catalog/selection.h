/*
 * selection.h - which of some ids an agent meant.
 *
 * Models copy ids with a blank too many, in other case, or cut short. What can mean only one of
 * the candidates is taken for it, and the repair is told; what could mean two is refused.
 */

#ifndef CATALOG_SELECTION_H
#define CATALOG_SELECTION_H

#include "base/str.h"

enum selection_status { SELECTION_ACCEPTED, SELECTION_REPAIRED, SELECTION_REJECTED };

struct selection {
	enum selection_status status;
	size_t candidate;   /* which; only when not rejected */
	const char *repair; /* "strip", "case_fold" or "prefix"; NULL: none */
	const char *reason; /* of a rejection: "empty_selection", "not_a_candidate",
			       "ambiguous_case_fold", "ambiguous_prefix"; else NULL */
};

struct selection selection_of(struct str selected, const struct str *candidates, size_t count);

const char *selection_status_name(enum selection_status status);

#endif
