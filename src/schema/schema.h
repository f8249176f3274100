/*
 * schema.h - JSON Schema compiled once, run at every call.
 *
 * Native tools are held to a portable subset (seed 000 section 7.1, restored list in
 * schema_subset): what every provider's API understands.
 */

#ifndef SCHEMA_SCHEMA_H
#define SCHEMA_SCHEMA_H

#include "base/buf.h"
#include "json/json.h"

struct schema;

/*
 * Does the schema keep to the portable subset? Each violation is a line
 * "$.properties.x: disallowed JSON Schema keyword 'anyOf'" in *problems, newlines only
 * between them. 0 or E_VALIDATION.
 */
int schema_subset(const struct json *schema, struct buf *problems);

/*
 * E_VALIDATION with the JSON path of what is wrong, E_NOMEM. Keeps a reference to doc.
 * What is beyond the subset is refused: a keyword nobody enforces is no protection.
 */
int schema_compile(struct json_doc *doc, const struct json *schema, struct schema **ret,
		   struct err *e);
void schema_free(struct schema *s); /* takes NULL */

/*
 * Each error is a line "dotted.path: sentence" ("$" for the root), sorted by path, at most
 * LIMIT_SCHEMA_ERRORS, newlines only between them. 0 or E_VALIDATION. Allocates nothing when
 * the value is valid, but for what PCRE2 needs to match a pattern. Any thread.
 */
int schema_validate(const struct schema *s, const struct json *value, struct buf *errors);

#endif
