/*
 * defined.h - tools that were defined, in the catalog: from the configuration, from imports, from
 * the store; each of these is a source, and set as a whole.
 *
 * What stayed the same stays the same tool, so that calls in flight and questions to people keep
 * theirs. One that cannot be is left out, with its problem told; the others are there. An internal
 * one that is called as its function stands in the catalog instead of it.
 */

#ifndef PROVIDER_DEFINED_H
#define PROVIDER_DEFINED_H

#include "catalog/catalog.h"
#include "provider/kinds.h"

struct defined;

struct defined_spec {
	struct definition *definition; /* a reference is taken */
	const struct variables *vars;  /* NULL: it may name none. Not kept */
};

/* One source of them. */
struct defined_source {
	struct str name;   /* "config", "store", "openapi:shop" */
	struct str ns;     /* of ids; {NULL,0}: as definition_tool has it */
	struct str server; /* what they came with; {NULL,0}: nothing that has a name */
	int confirm;       /* enum policy_mode, or -1 */
	const struct defined_spec *specs;
	size_t count;
};

/* All borrowed. E_NOMEM. */
int defined_new(struct catalog *c, struct kinds *k, struct defined **ret, struct err *e);
void defined_free(struct defined *d); /* before the catalog; takes NULL */

/* Replaces all of this source; with a count of 0 it is gone. E_NOMEM: it is as it was. True in
 * *changed: the catalog is another. */
int defined_set(struct defined *d, const struct defined_source *source,
		const struct kinds_settings *settings, bool *changed, struct err *e);

/* What could not be, "name: why"; of one source or of all ({NULL,0}). */
size_t defined_problems(const struct defined *d, struct str source,
			void (*each)(void *arg, struct str source, const char *problem), void *arg);
/* How many of this source are in the catalog. */
size_t defined_count(const struct defined *d, struct str source);

#endif
