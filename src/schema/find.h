/*
 * find.h - which schema a reference means.
 *
 * Before a document is compiled it is walked once: every schema in it becomes a spot, every
 * $id a resource, every anchor a name. Then a reference is a look-up.
 */

#ifndef SCHEMA_FIND_H
#define SCHEMA_FIND_H

#include "base/arena.h"
#include "base/map.h"
#include "schema/program.h"

/* A schema with a URI of its own. */
struct resource {
	struct str uri;
	const struct json *root;
	enum draft draft;
	unsigned vocabularies; /* bits of enum vocabulary */
};

/* A schema, by where it stands. */
struct spot {
	const struct json *at; /* NULL: free */
	uint32_t resource;
	uint32_t rule; /* RULE_NONE: not compiled */
};

struct anchor {
	const struct json *at;
	bool dynamic;
};

struct finder {
	struct schema *s; /* its docs are kept here */
	const struct schema_registry *registry;
	const struct json *forced; /* the schema whose $schema does not count, or NULL */
	struct arena *texts;
	ROW(struct resource) resources;
	struct map uris;    /* to the number of a resource */
	struct map anchors; /* "uri#name" to struct anchor */
	struct spot *spots; /* open addressing by address */
	size_t spot_len, spot_cap;
	struct buf uri; /* the last one that was resolved */
	size_t search;  /* members that may still be passed on the way to what is referred to */
	bool nomem;     /* something was not found because there was no memory to look for it */
};

int finder_init(struct finder *f, struct schema *s, const struct schema_registry *registry,
		struct err *e);
void finder_done(struct finder *f);

/* A document that was added to s->docs, as resource `uri`. */
int finder_walk(struct finder *f, const struct json *schema, struct str uri, enum draft draft,
		struct err *e);

/* NULL: not walked. Valid until the next walk. */
struct spot *finder_spot(const struct finder *f, const struct json *schema);

/*
 * What the reference `said` (a string) means in a resource. Documents of the registry are
 * walked as they are met. *ret_dynamic: it names a dynamic anchor. E_VALIDATION, E_NOMEM,
 * E_TOO_LARGE.
 */
int finder_ref(struct finder *f, uint32_t resource, const struct json *said,
	       const struct json **ret, bool *ret_dynamic, struct err *e);

/* The schema with this dynamic anchor in a resource, or NULL. */
const struct json *finder_dynamic(struct finder *f, uint32_t resource, struct str name);

/* E_VALIDATION with the place of `at` before the reason. */
int finder_refuse(const struct finder *f, const struct json *at, struct err *e, const char *reason,
		  ...) PRINTF_LIKE(4, 5);

#endif
