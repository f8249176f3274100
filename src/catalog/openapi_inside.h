/* openapi_inside.h - what the two halves of the import share: places, and schemas copied. */

#ifndef CATALOG_OPENAPI_INSIDE_H
#define CATALOG_OPENAPI_INSIDE_H

#include "base/limits.h"
#include "catalog/openapi.h"

/* What one operation refers to: each gets a name under $defs. */
struct openapi_refs {
	struct openapi_ref {
		struct str pointer; /* in the document, without '#' */
		char name[80];
	} * at;
	size_t count;
	bool full; /* what comes now is left open */
	bool nomem;
};

void openapi__refs_done(struct openapi_refs *r);

/* What v refers to, if it is a reference, through at most a few; NULL: nowhere. */
const struct json *openapi__resolve(const struct json *root, const struct json *v);

/* A schema of the document as one of Draft 2020-12. */
void openapi__schema(struct jw *w, const struct json *root, const struct json *schema,
		     struct openapi_refs *refs);
/* "$defs" and all that was referred to, and what that refers to. Nothing where nothing was. */
void openapi__defs(struct jw *w, const struct json *root, struct openapi_refs *refs);

#endif
