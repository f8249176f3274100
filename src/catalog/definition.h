/*
 * definition.h - a tool as a person or a program defines it (seed 004 section 2.1): what it is
 * called, what it takes, whose it is, who carries it out and whether that can be taken back.
 *
 *	{"name": "refund_payment", "description": "Pays an order back.", "gateway": "http",
 *	 "gateway_config": {"url": "https://shop.example/orders/{order_id}/refund",
 *	                    "idempotency_key_fields": ["order_id"]},
 *	 "side_effect_policy": "compensatable", "compensation_tool_id": "charge_payment",
 *	 "compensation_args": {"order_id": "/args/order_id", "amount": "/result/amount"},
 *	 "parameter_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}}}
 *
 * What is in gateway_config is the gateway's to read (provider/kinds.h). Immutable, and counted by
 * reference. Two things are ours and not the seed's: `compensation_args`, without which nobody
 * could know what to call the other tool with, and that a tool whose side_effect_policy is not
 * given is irreversible: the seed's "pure" would repeat what nobody said may be repeated.
 */

#ifndef CATALOG_DEFINITION_H
#define CATALOG_DEFINITION_H

#include "catalog/tool.h"

#define DEFINITION_TENANT "default" /* of those that name none */

struct definition {
	char id[UUID_TEXT]; /* as given, or made of tenant and name: the same each time */
	struct str tenant;
	struct str name; /* [A-Za-z0-9_-]{1,64} */
	struct str description;
	struct str gateway;                /* not looked at here; provider/kinds.h knows which */
	const struct json *gateway_config; /* an object, or NULL */
	enum reversibility reversibility;
	bool policy_said;             /* by side_effect_policy */
	struct str compensation_tool; /* name or id, or {NULL,0} */
	const struct json *compensation_args;
	bool requires_confirmation;
	struct str confirmation_prompt;            /* or {NULL,0} */
	const struct json *parameter_schema;       /* an object, or NULL: it takes anything */
	const struct json *categories;             /* array of strings, or NULL */
	struct str created_at, updated_at;         /* RFC 3339, or {NULL,0} */
	const struct json *idempotency_key_fields; /* in gateway_config; or NULL */
	char digest[DIGEST_TEXT];                  /* of all it says but the two times */

	/* private */
	struct json_doc *doc; /* all of the texts stand in it */
	unsigned refs;
};

/*
 * Strictly: unknown and mistyped fields are refused by name ("gateway: must be a string, got
 * number"), and the tool's name stands before it where it has one. A reference to doc is taken.
 * E_VALIDATION, E_NOMEM.
 */
int definition_parse(struct json_doc *doc, const struct json *object, struct definition **ret,
		     struct err *e);
struct definition *definition_ref(struct definition *d);
void definition_unref(struct definition *d); /* takes NULL */

/* All fields of the seed, null where there is nothing. Variables stay as they were written. */
void definition_write(struct jw *w, const struct definition *d);
void definition_write_members(struct jw *w, const struct definition *d); /* of an open object */

/*
 * What can be called: not yet with a provider, which is kinds_fit's. `ns` is the namespace of its
 * id and may be {NULL,0}: the gateway's name, or the tenant's where that is not the default one.
 * `server` too: the import it came with. E_VALIDATION: its schema is none. E_NOMEM.
 */
int definition_tool(struct definition *d, struct str ns, struct str server, struct tool **ret,
		    struct err *e);

#endif
