/*
 * catalog.h - the tools there are, by name or id, always listed in the same order.
 *
 * What is browsed is a shelf: all of them as they were at one moment. A new one is made when it is
 * asked for and something has changed since the last.
 */

#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include "catalog/shelf.h"
#include "catalog/tool.h"

struct catalog;

struct catalog *catalog_new(size_t max_tools);
void catalog_free(struct catalog *c);

/* Takes a reference of its own. E_EXISTS names the tool, whether its name or its id is taken;
 * E_LIMIT. */
int catalog_add(struct catalog *c, struct tool *t, struct err *e);
int catalog_remove(struct catalog *c,
		   struct str name); /* E_NOT_FOUND; calls in flight keep theirs */

/* By name or id. Borrowed; NULL = none. */
struct tool *catalog_find(const struct catalog *c, struct str name);
/* The nearest name, for "did you mean"; NULL when none is near. */
const struct tool *catalog_near(const struct catalog *c, struct str name);

/* Another with every tool that comes or goes: as long as it is the same, so is what is listed. */
uint64_t catalog_version(const struct catalog *c);
size_t catalog_count(const struct catalog *c);
struct tool *catalog_at(const struct catalog *c, size_t i); /* sorted by name */

/* The newest shelf; borrowed, take a reference to keep it. E_NOMEM. */
int catalog_shelf(struct catalog *c, struct shelf **ret, struct err *e);

#endif
