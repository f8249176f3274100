/* effect.c - a tool's effects, out of the two places that may say something of them. */

#include "policy/effect.h"

struct effect
effect_of(const struct tool *t, const struct tuning *u)
{
	struct effect e = {
	    .reversibility = t->reversibility,
	    .compensation_tool = t->compensation_tool,
	    .compensation_args = t->compensation_args,
	    .idempotency_key_fields = t->idempotency_key_fields,
	};

	if (!u)
		return e;
	if (u->side_effect_policy)
		(void)reversibility_parse(json_str(u->side_effect_policy), &e.reversibility);
	if (u->compensation_tool) {
		e.compensation_tool = json_str(u->compensation_tool);
		e.compensation_args = u->compensation_args;
	}
	if (u->idempotency_key_fields)
		e.idempotency_key_fields = u->idempotency_key_fields;
	return e;
}
