/* toolbox_know.c - what is known of an agent's tools: metadata, definitions, and the three lists of
 * seed 004 section 5.3. */

#include "call/gateway.h"
#include "call/stage.h"
#include "call/toolbox.h"

const struct tool *
toolbox_tool(const struct gateway *gw, const struct agent *a, struct str name)
{
	const struct tool *t = catalog_find(gw->catalog, name);

	return t && !a->gone && tenant_has(a->tenant, t) ? t : NULL;
}

/* Who carries it out, in the seed's words where it has one. */
static struct str
gateway_name(const struct tool *t)
{
	if (t->gateway.ptr)
		return t->gateway;
	return t->server.ptr ? S("mcp") : S("internal");
}

/* As the policy stage has it, in a workspace nobody trusts. */
static enum policy_mode
mode_of(const struct gateway *gw, const struct tool *t)
{
	return call__ruling(gw->policy, t, NULL).mode;
}

/* Somebody is asked, or it is denied. */
static bool
asks(const struct gateway *gw, const struct tool *t)
{
	return mode_of(gw, t) != MODE_AUTO;
}

static void
write_categories(struct jw *w, const struct tool *t)
{
	jw_key(w, "categories");
	if (t->categories)
		jw_value(w, t->categories);
	else
		jw_raw(w, S("[]"));
}

static void
write_schema(struct jw *w, const struct tool *t)
{
	jw_key(w, "parameter_schema");
	if (t->input_schema)
		jw_value(w, t->input_schema);
	else
		jw_raw(w, S("{}"));
}

static void
write_name(struct jw *w, const struct tool *t)
{
	jw_member(w, "name", t->name);
	jw_member(w, "description", t->description.ptr ? t->description : S(""));
}

void
toolbox_write_metadata(struct jw *w, const struct gateway *gw, struct agent *a,
		       const struct tool *t)
{
	int said = agent_standing(a, t)->requires_confirmation;
	bool denied = mode_of(gw, t) == MODE_DENY;
	bool safe = t->reversibility == REV_PURE || t->reversibility == REV_IDEMPOTENT;

	jw_object(w);
	jw_member(w, "name", t->name);
	jw_member_z(w, "side_effect_policy", reversibility_name(t->reversibility));
	jw_member_bool(w, "requires_confirmation", said < 0 || denied ? asks(gw, t) : said);
	jw_member(w, "compensation_tool", t->compensation_tool);
	write_categories(w, t);
	jw_member_bool(w, "is_irreversible", t->reversibility == REV_IRREVERSIBLE);
	jw_member_bool(w, "is_safe_to_retry", safe);
	jw_end(w);
}

void
toolbox_write_definition(struct jw *w, const struct gateway *gw, const struct tenant *of,
			 const struct tool *t)
{
	struct uuid made = tool_uuid(t->name);

	jw_object(w);
	jw_member_z(w, "id", t->uuid[0] ? t->uuid : made.text);
	jw_member_z(w, "tenant_id", of->id.text);
	write_name(w, t);
	jw_member(w, "gateway", gateway_name(t));
	jw_member_z(w, "side_effect_policy", reversibility_name(t->reversibility));
	jw_member(w, "compensation_tool_id", t->compensation_tool);
	jw_member_bool(w, "requires_confirmation", asks(gw, t));
	jw_member(w, "confirmation_prompt", t->confirmation_prompt);
	write_schema(w, t);
	write_categories(w, t);
	jw_end(w);
}

/* ---- lists, by name ---- */

typedef void (*write_fn)(struct jw *w, const struct gateway *gw, const struct tenant *of,
			 const struct tool *t);

static void
write_one_name(struct jw *w, const struct gateway *gw, const struct tenant *of,
	       const struct tool *t)
{
	(void)gw, (void)of;
	jw_str(w, t->name);
}

static void
write_one_available(struct jw *w, const struct gateway *gw, const struct tenant *of,
		    const struct tool *t)
{
	(void)of;
	jw_object(w);
	write_name(w, t);
	write_categories(w, t);
	jw_member(w, "gateway", gateway_name(t));
	jw_member_bool(w, "requires_confirmation", asks(gw, t));
	jw_member_z(w, "side_effect_policy", reversibility_name(t->reversibility));
	write_schema(w, t);
	jw_end(w);
}

static void
write_one_enabled(struct jw *w, const struct gateway *gw, const struct tenant *of,
		  const struct tool *t)
{
	(void)gw, (void)of;
	jw_object(w);
	write_name(w, t);
	write_categories(w, t);
	write_schema(w, t);
	jw_end(w);
}

static void
write_one_unavailable(struct jw *w, const struct gateway *gw, const struct tenant *of,
		      const struct tool *t)
{
	(void)gw, (void)of;
	jw_object(w);
	write_name(w, t);
	write_categories(w, t);
	jw_member_z(w, "why_unavailable", "disabled_for_agent");
	jw_end(w);
}

/* {"tools": [...]} of one tier. */
static void
write_tier(struct jw *w, const struct gateway *gw, struct agent *a, enum tier tier, write_fn write)
{
	jw_object(w);
	jw_key(w, "tools");
	jw_array(w);
	for (size_t i = 0; i < catalog_count(gw->catalog); i++) {
		const struct tool *t = catalog_at(gw->catalog, i);
		if (agent_tier(a, t) == tier)
			write(w, gw, a->tenant, t);
	}
	jw_end(w);
	jw_end(w);
}

void
toolbox_write_names(struct jw *w, const struct gateway *gw, struct agent *a)
{
	write_tier(w, gw, a, TIER_AGENT, write_one_name);
}

void
toolbox_write_definitions(struct jw *w, const struct gateway *gw, struct agent *a, bool enabled)
{
	write_tier(w, gw, a, enabled ? TIER_AGENT : TIER_TENANT, toolbox_write_definition);
}

void
toolbox_write_enabled(struct jw *w, const struct gateway *gw, struct agent *a)
{
	write_tier(w, gw, a, TIER_AGENT, write_one_enabled);
}

void
toolbox_write_unavailable(struct jw *w, const struct gateway *gw, struct agent *a)
{
	write_tier(w, gw, a, TIER_TENANT, write_one_unavailable);
}

void
toolbox_write_available(struct jw *w, const struct gateway *gw, const struct tenant *of)
{
	jw_object(w);
	jw_key(w, "tools");
	jw_array(w);
	for (size_t i = 0; i < catalog_count(gw->catalog); i++)
		if (tenant_has(of, catalog_at(gw->catalog, i)))
			write_one_available(w, gw, of, catalog_at(gw->catalog, i));
	jw_end(w);
	jw_end(w);
}
