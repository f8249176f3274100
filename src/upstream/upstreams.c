/* upstreams.c - the set of servers, its configuration, and who wants to know of it. */

#include "upstream/inside.h"

const char *
upstream_state_name(enum upstream_state s)
{
	static const char *const names[] = {"configured", "known", "started", "failed",
					    "quarantined"};

	CHECK((size_t)s < ARRAY_LEN(names));
	return names[s];
}
