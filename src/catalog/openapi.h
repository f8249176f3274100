/*
 * openapi.h - a document of OpenAPI 3.x becomes definitions of tools: one for each operation.
 *
 *	operationId, or method and path   -> name, with the import's name before it
 *	parameters and request body       -> parameter_schema and gateway_config (provider/http.h)
 *	#/components/...                  -> $defs of each that refers to them, however they refer
 *	                                     to each other
 *	GET, HEAD | PUT, DELETE | others  -> pure | idempotent | irreversible
 *
 * Documents are strangers': everything is bounded, nothing is fetched. What one operation needs
 * and cannot be had (a body that is neither JSON nor a form) leaves out that operation, and says
 * where in the document.
 */

#ifndef CATALOG_OPENAPI_H
#define CATALOG_OPENAPI_H

#include "catalog/definition.h"

struct openapi_options {
	struct str name;            /* of the import: before every name */
	struct str origin;          /* the address the document came from, or {NULL,0} */
	struct str base_url;        /* instead of its servers; {NULL,0}: theirs */
	struct str policy;          /* side_effect_policy of all; {NULL,0}: by method */
	const struct json *headers; /* of every request: an object, or NULL */
	const struct json *extras;  /* members for every gateway_config: an object, or NULL */
	const struct json *only;    /* patterns of names, or of "GET /path"; an array, or NULL */
	const struct json *never;   /* the same, left out */
};

struct openapi {
	struct definition **definitions; /* references */
	size_t count;
	struct str title;    /* in doc */
	struct buf problems; /* a line for each operation that was left out */
	size_t problem_count;
	struct json_doc *doc;
};

/* text is JSON or YAML. E_VALIDATION names the place: "/paths/~1orders/get: ...". E_TOO_LARGE,
 * E_LIMIT, E_NOMEM; also then *ret is to be done with. */
int openapi_import(struct str text, const struct openapi_options *options, struct openapi *ret,
		   struct err *e);
void openapi_done(struct openapi *o); /* zeroed memory too */

/* Where the copy of a document from this address is kept. False: no room. */
bool openapi_copy_path(const char *state, struct str url, struct buf *out);

#endif
