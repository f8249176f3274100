/* config_turns.c - how turns are given up for a message, and effects are taken back. */

#include "daemon/config.h"
#include "daemon/config_inside.h"

/* Seconds of the file; what is there fits the schema. */
static unsigned
read_ms(const struct json *v, unsigned otherwise)
{
	double n;

	if (!json_double(v, &n))
		return otherwise;
	n *= 1000;
	return n < 1 ? 1 : (unsigned)n;
}

void
config__turns(struct config *c, const struct json *root)
{
	const struct json *acf = json_get(root, S("acf"));
	const struct json *effects = json_get(json_get(root, S("tools")), S(TUNING_SIDE_EFFECTS));
	const struct json *allowed = json_get(effects, S("allow_compensatable_supersede"));
	struct str word = json_str(json_get(acf, S("supersede")));
	struct config_turns *to = &c->turns;

	to->supersede = BY_DEFAULT;
	if (word.ptr)
		(void)supersede_parse(word, &to->supersede);
	to->decide_ms = read_ms(json_get(acf, S("decision_timeout_seconds")), LIMIT_DECIDE_MS);
	to->compensate_ms =
	    read_ms(json_get(effects, S("compensation_timeout_seconds")), LIMIT_COMPENSATE_MS);
	to->keep_compensatable = json_is(allowed, JSON_BOOL) && !json_bool(allowed);
}
