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
#include "json/canon.h"
#include "json/json.h"
#include "json/write.h"
#include "schema/schema.h"

enum capability { CAP_NONE, CAP_READ, CAP_WRITE, CAP_EXECUTE, CAP_NETWORK, CAP__COUNT };
enum reversibility { REV_PURE, REV_IDEMPOTENT, REV_COMPENSATABLE, REV_IRREVERSIBLE, REV__COUNT };

const char *capability_name(enum capability c);               /* "write" */
bool capability_parse(struct str name, enum capability *ret); /* any case */
const char *reversibility_name(enum reversibility r);
bool reversibility_parse(struct str name, enum reversibility *ret); /* as it is written */

struct provider;

#define UUID_TEXT 37 /* 36 characters and the NUL */

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

	/* Of tools that come from elsewhere; {NULL,0} and NULL for native ones. */
	struct str server;             /* as the configuration calls it */
	struct str upstream_name;      /* as the server calls it */
	const struct json *definition; /* as the server gave it, whole */
	bool differs[2];               /* from what clients of an era get of it (mcp/era.h) */
	unsigned max_ms;               /* however much progress it makes; 0: timeout_ms is all */
	bool changed;  /* it is no longer what was accepted: a person has to look first */
	bool stranger; /* its server is not trusted: nobody knows what it does */

	/* Of tools that were defined (definition.h); {NULL,0} and NULL for others, but what the
	 * configuration may say of any tool is merged by effect_of (policy/effect.h). */
	struct str tenant;                    /* whose it is; {NULL,0}: everybody's */
	struct str gateway;                   /* "http", "composio", "internal" */
	const struct json *categories;        /* array of strings */
	struct str confirmation_prompt;       /* for the question, if one is asked */
	struct str compensation_tool;         /* name or id of the one that takes it back */
	const struct json *compensation_args; /* name -> "/args/..", "/result/.." or {"const"} */
	const struct json *idempotency_key_fields; /* array of argument names */
	bool requires_confirmation;                /* whatever the policy has for its kind */
	char uuid[UUID_TEXT];                      /* of the definition; "": it has none */
	char digest[DIGEST_TEXT];                  /* of all it says; "": the same */
	unsigned attempts; /* as its gateway's settings say; 0: they do not */

	/* Set by whoever brings the tool, before it is in a catalog. */
	bool repair_arguments;                      /* see schema/repair.h */
	struct provider *provider;                  /* who runs it */
	void *provider_data;                        /* the provider's own */
	void (*provider_free)(void *provider_data); /* with the last reference; may be NULL */
	int confirm; /* enum policy_mode the server's settings ask for; -1: the policy decides */
	struct tool *inner; /* the one that does its work, whose schema counts too; a reference */

	/* private */
	char *texts[3];          /* id; name and server of one that was adopted */
	struct json_doc *card;   /* or where the definition stands */
	struct json_doc *spare;  /* the schema of one whose definition has none */
	struct err *unfit;       /* why its schema cannot be compiled */
	struct schema *compiled; /* when it is first needed */
	signed char in_headers;  /* tool_in_headers: 1 or -1; 0: nobody has asked */
	struct buf listing;      /* the same */
	unsigned refs;
};

/*
 * From a card (cards/README.md says what is in one): a native tool, of the namespace "builtin".
 * Every refusal names the field: "write_file: capability: must be one of none, read, write,
 * execute, network". Schemas of native tools must keep to the portable subset. E_VALIDATION,
 * E_NOMEM.
 */
int tool_new(struct str card, struct tool **ret, struct err *e);

/*
 * From what a server says of one of its tools. Nothing is refused for odd names or a missing
 * description (decision 4); only what is no definition at all. Annotations are hints of strangers:
 * they count where `trusted`, else it is network + irreversible. The schema is compiled when it is
 * first used. E_VALIDATION, E_NOMEM.
 */
struct tool_origin {
	struct str server;             /* its name */
	struct str ns;                 /* namespace of the id */
	struct str name;               /* what clients call it: [A-Za-z0-9_.-]{1,64} */
	const struct json *definition; /* {name, inputSchema, ...} */
	struct json_doc *doc;          /* that it stands in; a reference is taken */
	bool trusted;
	unsigned timeout_ms, max_ms;
};
int tool_adopt(const struct tool_origin *from, struct tool **ret, struct err *e);

/* From a definition, which has been checked. The texts stand in doc, but name, server and ns. */
struct tool_outline {
	struct str name, description, ns, server; /* server {NULL,0}: it came with none */
	const struct json *schema;                /* NULL: it takes any object */
	struct json_doc *doc;                     /* a reference is taken */
	enum capability capability;
	enum reversibility reversibility;
};
int tool_outlined(const struct tool_outline *o, struct tool **ret, struct err *e); /* E_NOMEM */

/*
 * How a tool is taken back: what its other tool is called with. A value is a JSON Pointer into
 * {"args": ..., "result": ...}, or {"const": v}. compensation_check: E_VALIDATION names the
 * argument, behind `where`.
 */
bool compensation_is_pointer(struct str s);
int compensation_check(const struct json *args, const char *where, struct err *e);

/* Does its schema name arguments that stand in HTTP headers, too (x-mcp-header)? */
bool tool_in_headers(struct tool *t);

/* Why its schema cannot be compiled, when tool_schema has said so. */
const char *tool_unfit(const struct tool *t);

/* The compiled schema of its input. E_VALIDATION: it cannot be compiled, so the tool cannot be
 * called. */
int tool_schema(struct tool *t, const struct schema **ret, struct err *e);

/* As MCP lists it, whatever the name there: members beside `name`, comma-separated. {NULL,0}: out
 * of memory. */
struct str tool_listing(struct tool *t);
void tool_unlist(struct tool *t); /* forgets that text: it is made again when it is wanted */

/* readOnlyHint and so on, of a native tool. */
void tool_write_hints(struct jw *w, const struct tool *t);

struct tool *tool_ref(struct tool *t);
void tool_unref(struct tool *t); /* takes NULL */

/* As lists show it: name, title, description, side_effects (the capability), reversibility,
 * requires_workspace, timeout_ms, input_schema, examples if there are. */
void tool_write(struct jw *w, const struct tool *t);

#endif
