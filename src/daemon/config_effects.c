/* config_effects.c - toolbox and tool_gateway.idempotency: how long and where keys are remembered.
 */

#include "daemon/config_inside.h"
#include "net/redis.h"

/* Nothing of the URL is told: it may hold a password. */
static int
read_url(struct config_reading *r, const struct json *url)
{
	static const char key[] = "tool_gateway.idempotency.url";
	struct vars vars = {.workspace = r->config->workspace, .home = r->home};
	struct buf text = BUF_INIT(LIMIT_VARIABLES_BYTES), problem = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct redis_address address;
	struct err why = ERR_NONE;
	int code = 0;

	if (!url)
		code = err_set(r->err, E_CONFIG, "%s: must say where Redis is", key);
	else if (!vars_fill(&vars, json_str(url), &text, &problem))
		code = err_set(r->err, E_CONFIG, "line %u: %s: %.*s", config__line(r, url), key,
			       STR_ARG(buf_str(&problem)));
	else if (redis_address_read(buf_str(&text), &address, &why) < 0)
		code = err_set(r->err, E_CONFIG, "line %u: %s: %s", config__line(r, url), key,
			       err_text(&why));
	else
		redis_address_done(&address);
	r->config->effects.url = code == 0 ? arena_strz(r->config->arena, buf_str(&text)) : NULL;
	buf_done(&text);
	buf_done(&problem);
	return code == 0 && !r->config->effects.url ? err_plain(r->err, E_NOMEM) : code;
}

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
	if (!ret->key_prefix)
		return err_plain(r->err, E_NOMEM);
	return ret->redis ? read_url(r, json_get(idem, S("url"))) : 0;
}
