/* config_effects.c - toolbox and tool_gateway.idempotency: how long and where keys are remembered.
 */

#include "daemon/config_inside.h"

int
config__effects(struct config_reading *r, const struct json *root)
{
	const struct json *toolbox = json_get(root, S("toolbox"));
	const struct json *idem = json_get(json_get(root, S("tool_gateway")), S("idempotency"));
	struct str backend = json_str(json_get(idem, S("backend")));
	struct str prefix = json_str(json_get(idem, S("key_prefix")));
	struct config_effects *ret = &r->config->effects;

	*ret = (struct config_effects){.keep_s = LIMIT_EFFECT_KEEP_S};
	/* The more precise one counts. */
	(void)json_int(json_get(toolbox, S("default_idempotency_ttl")), &ret->keep_s);
	(void)json_int(json_get(idem, S("default_ttl")), &ret->keep_s);
	ret->redis = str_is(backend, "redis");
	ret->key_prefix = arena_strz(r->config->arena, prefix.ptr ? prefix : S("tool_idem"));
	return ret->key_prefix ? 0 : err_plain(r->err, E_NOMEM);
}
