/*
 * tool.h - what is known of a tool: its card, read and checked once.
 *
 * A definition is immutable and counted by reference; a call holds the one it started
 * with. Effects have two axes (decision 1): capability, what it can touch, drives
 * confirmation; reversibility drives retry, replay and undo.
 */

#ifndef CATALOG_TOOL_H
#define CATALOG_TOOL_H

#include "catalog/toolid.h"
#include "json/json.h"
#include "json/write.h"
#include "schema/schema.h"

enum capability { CAP_NONE, CAP_READ, CAP_WRITE, CAP_EXECUTE, CAP_NETWORK, CAP__COUNT };
enum reversibility { REV_PURE, REV_IDEMPOTENT, REV_COMPENSATABLE, REV_IRREVERSIBLE, REV__COUNT };

const char *capability_name(enum capability c);               /* "write" */
bool capability_parse(struct str name, enum capability *ret); /* any case */
const char *reversibility_name(enum reversibility r);

struct provider;

struct tool {
	struct str id;    /* builtin:read_file#0123abcd (toolid.h) */
	struct str name;  /* [A-Za-z0-9_-]{1,64} */
	struct str title; /* or {NULL,0} */
	struct str description;
	enum capability capability;
	enum reversibility reversibility;
	bool requires_workspace;
	bool memory; /* hidden from worker sessions */
	unsigned timeout_ms;
	unsigned max_running; /* of this tool at once in a session, 0 = only the session's cap */
	struct str command_argument;       /* the argument that is a command line, or {NULL,0} */
	const struct json *path_arguments; /* array of argument names that are paths */
	const struct json *input_schema;
	const struct json *examples; /* array or NULL */
	const struct schema *input;  /* compiled */

	/* Set by whoever brings the tool, before it is in a catalog. */
	bool repair_arguments;                      /* see schema/repair.h */
	struct provider *provider;                  /* who runs it */
	void *provider_data;                        /* the provider's own */
	void (*provider_free)(void *provider_data); /* with the last reference; may be NULL */

	/* private */
	char id_text[TOOLID_MAX + 1];
	struct json_doc *card;
	struct schema *compiled;
	unsigned refs;
};

/*
 * From a card (cards/README.md says what is in one): a native tool, of the namespace "builtin".
 * Every refusal names the field: "write_file: capability: must be one of none, read, write,
 * execute, network". Schemas of native tools must keep to the portable subset. E_VALIDATION,
 * E_NOMEM.
 */
int tool_new(struct str card, struct tool **ret, struct err *e);
struct tool *tool_ref(struct tool *t);
void tool_unref(struct tool *t); /* takes NULL */

/* As lists show it: name, title, description, side_effects (the capability), reversibility,
 * requires_workspace, timeout_ms, input_schema, examples if there are. */
void tool_write(struct jw *w, const struct tool *t);

#endif
