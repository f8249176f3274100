/*
 * schema.h - JSON Schema compiled once, run at every call.
 *
 * Draft 2020-12 and Draft-07, whole. A schema becomes a flat program (program.h); running it on
 * a value that fits allocates nothing, very large values aside. Nothing is ever fetched: what a
 * schema may refer to stands in itself, in a registry the caller filled, or is a meta-schema of one
 * of the drafts.
 *
 * This folder needs only src/base, src/json and PCRE2.
 */

#ifndef SCHEMA_SCHEMA_H
#define SCHEMA_SCHEMA_H

#include "base/buf.h"
#include "json/json.h"

struct schema;

/* Documents a schema may refer to by URI. */
struct schema_registry;

struct schema_registry *schema_registry_new(void); /* NULL: no memory */
/* Keeps a reference to doc. E_EXISTS for a URI that is taken, E_LIMIT, E_NOMEM. */
int schema_registry_add(struct schema_registry *r, struct str uri, struct json_doc *doc,
			struct err *e);
void schema_registry_free(struct schema_registry *r); /* takes NULL */

struct schema_options {
	const struct schema_registry *registry; /* NULL: none; must outlive only the compilation */
	unsigned draft;                         /* 7 or 2020; 0: as $schema says, else 2020 */
	bool assert_formats;                    /* "format" refuses, instead of being a remark */
	bool seldom; /* used: no machine code is made of patterns, which takes memory to make */
};

/*
 * options may be NULL. E_VALIDATION with the JSON Pointer of what is wrong in the schema
 * ("/properties/a/$ref: refers to http://x/y, which is not known here"), E_TOO_LARGE, E_NOMEM.
 * Keeps references to the documents it needs.
 */
int schema_compile(struct json_doc *doc, const struct json *schema,
		   const struct schema_options *options, struct schema **ret, struct err *e);
void schema_free(struct schema *s); /* takes NULL */

/* Yes or no. Any thread. Too much work (LIMIT_SCHEMA_WORK) is a no. */
bool schema_fits(const struct schema *s, const struct json *value);

/* How errors are written. */
enum schema_form {
	SCHEMA_LINES, /* "/items/3/qty: must be at least 1, got 0", in document order */
	SCHEMA_JSON,  /* [{"path":"/items/3/qty","keyword":"minimum","message":"must be..."}]; the
		       * keyword is null where none is to blame, as for the schema false */
	SCHEMA_DISPATCHER, /* "items.3.qty: 0 is less than the minimum of 1", by path (seed 000) */
};

/*
 * Every error, at most LIMIT_SCHEMA_ERRORS; lines have newlines only between them. A value that
 * fits adds nothing to errors. 0 or E_VALIDATION. Any thread.
 */
int schema_validate(const struct schema *s, const struct json *value, enum schema_form form,
		    struct buf *errors);

/*
 * Does the schema keep to the portable subset, which every model provider's API understands
 * (seed 000 section 7.1)? Each violation is a line
 * "$.properties.x: disallowed JSON Schema keyword 'anyOf'" in *problems, newlines only between
 * them. 0 or E_VALIDATION.
 */
int schema_subset(const struct json *schema, struct buf *problems);

#endif
