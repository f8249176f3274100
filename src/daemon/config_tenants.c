/* config_tenants.c - the sections `tenants` and `toolbox`: who there is, and what each may use. */

#include "daemon/config_inside.h"

static int
read_agent(struct config_reading *r, const struct json_iter *it, struct agent_says *ret)
{
	if (!owner_name_fits(it->key))
		return err_set(r->err, E_CONFIG, "line %u: agents: '%.*s' is no name of an agent",
			       config__line(r, it->value), STR_ARG(str_utf8_upto(it->key, 60)));
	*ret = (struct agent_says){it->key, json_get(it->value, S("disabled"))};
	return 0;
}

static int
read_tenant(struct config_reading *r, const struct json_iter *it, struct tenant_says *ret)
{
	const struct json *agents = json_get(it->value, S("agents"));
	size_t count = 0;
	int code = 0;

	if (!owner_name_fits(it->key))
		return err_set(r->err, E_CONFIG, "line %u: tenants: '%.*s' is no name of a tenant",
			       config__line(r, it->value), STR_ARG(str_utf8_upto(it->key, 60)));
	struct agent_says *says =
	    arena_alloc(r->config->arena, (json_len(agents) + 1) * sizeof(*says));
	if (!says)
		return err_plain(r->err, E_NOMEM);
	for (struct json_iter at = json_iter(agents); code == 0 && json_next(&at);)
		code = read_agent(r, &at, &says[count++]);
	*ret = (struct tenant_says){.name = it->key,
				    .tools = json_get(it->value, S("tools")),
				    .disabled = json_get(it->value, S("disabled")),
				    .agents = says,
				    .agent_count = count};
	if (json_is(ret->tools, JSON_NULL))
		ret->tools = NULL;
	return code;
}

int
config__tenants(struct config_reading *r, const struct json *section)
{
	struct config *c = r->config;
	struct tenant_says *says;
	int code = 0;

	if (json_len(section) == 0)
		return 0;
	says = arena_alloc(c->arena, (json_len(section) + 1) * sizeof(*says));
	if (!says)
		return err_plain(r->err, E_NOMEM);
	for (struct json_iter it = json_iter(section); code == 0 && json_next(&it);)
		code = read_tenant(r, &it, &says[c->tenant_count++]);
	c->tenants = says;
	c->tenants_doc = json_doc_ref(r->yaml->doc); /* names and lists stand in it */
	return code;
}

/* It fits the schema. */
void
config__toolbox(struct config *c, const struct json *section)
{
	double seconds = 0;

	c->toolbox = (struct toolbox_settings){.max_batch_size = LIMIT_TOOLBOX_BATCH};
	(void)json_int(json_get(section, S("max_batch_size")), &c->toolbox.max_batch_size);
	if (json_double(json_get(section, S("default_timeout")), &seconds))
		c->toolbox.timeout_ms = (unsigned)(seconds * 1000);
}
