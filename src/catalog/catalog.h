/* catalog.h - the tools there are, by name, always listed in the same order. */

#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include "catalog/tool.h"

struct catalog;

struct catalog *catalog_new(size_t max_tools);
void catalog_free(struct catalog *c);

/* Takes a reference of its own. E_EXISTS names the tool; E_LIMIT. */
int catalog_add(struct catalog *c, struct tool *t, struct err *e);
int catalog_remove(struct catalog *c,
		   struct str name); /* E_NOT_FOUND; calls in flight keep theirs */

/* Borrowed; NULL = none. */
struct tool *catalog_find(const struct catalog *c, struct str name);
/* The nearest name, for "did you mean"; NULL when none is near. */
const struct tool *catalog_near(const struct catalog *c, struct str name);

size_t catalog_count(const struct catalog *c);
struct tool *catalog_at(const struct catalog *c, size_t i); /* sorted by name */

#endif
