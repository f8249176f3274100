/*
 * index.h - the tool index of a kernel session: what can be called, and within which bounds.
 *
 * It is read once, checked whole, and never changes: a session keeps a reference to the one it
 * began with. What it is made of is a *bundle*, one JSON object that holds all it means:
 *
 *	{"tool.index": [{"id": "lens.edge", "payload_schema_ref": "spec/...", ...}],
 *	 "namespaces": ["lens"],                       which may be called; the usual ones if
 *missing "schemas": {"spec/...": {...}}}               each of them closed (closed.h)
 *
 * An entry is one of the kernel's own tools by its id, or, with `tool`, one of the catalog by its
 * whole tool id. Pins (payload_schema_sha256...) are digests of the schemas' canonical form (JCS).
 */

#ifndef KERNEL_INDEX_H
#define KERNEL_INDEX_H

#include "base/map.h"
#include "json/canon.h"
#include "json/write.h"
#include "kernel/condition.h"
#include "schema/schema.h"

struct kernel_tool;

/* A payload or a result: its schema, and which one that was. One for each ref, however many entries
 * share it. */
struct index_form {
	struct str ref;
	struct schema *schema;
	char digest[DIGEST_TEXT];
};

struct index_entry {
	struct str id, ns;
	const struct kernel_tool *own;             /* one of the kernel's; or NULL and */
	struct str tool;                           /* the tool id of one of the catalog's */
	const struct index_form *payload, *result; /* of the index */
	bool validated;                            /* by a validator, which is: */
	const struct index_form *validator_payload, *validator_result;
	struct condition conditions[LIMIT_KERNEL_CONDITIONS];
	size_t condition_count;
	bool quota; /* of the ledger: nothing runs when it is full */
	bool disabled;
	bool heavy; /* see latency.h */
};

struct kernel_index {
	unsigned refs;
	struct json_doc *bundle;
	struct index_entry *entries;
	size_t count;
	struct map by_id;
	struct map forms; /* own: struct index_form, by ref */
	char namespaces[LIMIT_KERNEL_NAMESPACES][LIMIT_KERNEL_KEY + 1];
	size_t namespace_count;
	/* the router's own forms */
	struct schema *envelope, *emission, *error, *state;
	char digest[DIGEST_TEXT]; /* of the whole bundle */
};

/* What whoever runs the gateway allows. An index keeps nothing of it. */
struct index_rules {
	const char *const *namespaces; /* an index may have no others; NULL: any */
	size_t count;
};

/* rules may be NULL. E_VALIDATION names the entry and what is wrong with it; E_LIMIT, E_NOMEM. */
int kernel_index_new(struct json_doc *bundle, const struct index_rules *rules,
		     struct kernel_index **ret, struct err *e);
struct kernel_index *kernel_index_ref(struct kernel_index *x);
void kernel_index_unref(struct kernel_index *x); /* takes NULL */

const struct index_entry *index_find(const struct kernel_index *x, struct str id);
bool index_allows(const struct kernel_index *x, struct str ns);
/* Its tools with their digests, its namespaces, its own digest: members of an open object. */
void index_write(struct jw *w, const struct kernel_index *x);

/* bundle.c. The index in a YAML file, with the schemas it refers to, from the file's folder. */
int bundle_read(const char *path, struct json_doc **ret, struct err *e); /* may block */
/* The pack that is part of the program. */
int bundle_standard(struct json_doc **ret, struct err *e);

#endif
