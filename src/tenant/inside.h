/* inside.h - what the files of this folder share; for them alone. */

#ifndef TENANT_INSIDE_H
#define TENANT_INSIDE_H

#include "tenant/tenant.h"

struct tenants {
	struct store *store; /* or NULL: nothing is kept */
	struct owners list;  /* struct tenant */
	uint64_t generation;
	struct err wrong; /* what could not be loaded */
};

/* There is none of this name. The name fits. NULL when out of memory; E_LIMIT is for the caller. */
struct tenant *tenant__new(struct tenants *t, struct str name);
struct agent *agent__new(struct tenant *of, struct str name);
void tenant__drop(struct tenant *t); /* with its agents; out of the list */
void agent__drop(struct agent *a);   /* the same */

/* From an array of strings; NULL: none. *p must be empty. E_VALIDATION, E_LIMIT, E_NOMEM. */
int patterns__read(struct patterns *p, const struct json *list, struct err *e);
void patterns__done(struct patterns *p);

bool pattern__fits(struct str pattern); /* can be a tool's name or a pattern of such */
bool pattern__has(struct str pattern, struct str name);
size_t pattern__weight(struct str pattern);

/* Activations of agents that are fresh; what belongs to nobody is passed over. */
int tenants__load_fresh(struct tenants *t, struct err *e);

void activation__free(struct activation *of);
/* As it is in the store. E_VALIDATION, E_LIMIT, E_NOMEM. */
int activation__load(struct agent *a, const struct store_setting *row, struct err *e);

#endif
