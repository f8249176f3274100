/*
 * effect.h - what one tool does to the world: as it was defined, or as the configuration says in
 * `tools`, which comes first.
 */

#ifndef POLICY_EFFECT_H
#define POLICY_EFFECT_H

#include "catalog/tool.h"
#include "policy/tuning.h"

struct effect {
	enum reversibility reversibility;
	struct str compensation_tool;              /* name or id, or {NULL,0} */
	const struct json *compensation_args;      /* or NULL */
	const struct json *idempotency_key_fields; /* or NULL: all arguments count */
};

/* u may be NULL. Borrowed from both. */
struct effect effect_of(const struct tool *t, const struct tuning *u);

#endif
