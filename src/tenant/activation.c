/* activation.c - what a person has said of a tool for one agent, and how it is kept. */

#include <stdlib.h>

#include "base/clock.h"
#include "tenant/inside.h"

void
activation__free(struct activation *of)
{
	if (!of)
		return;
	free(of->prompt);
	free(of->overrides);
	free(of);
}

/* ---- policy_overrides ---- */

static int
read_confirmation(struct activation *of, const struct json *overrides, struct err *e)
{
	const struct json *asks = json_get(overrides, S("requires_confirmation"));
	const struct json *prompt = json_get(overrides, S("confirmation_prompt"));

	if (asks && !json_is(asks, JSON_NULL) && !json_is(asks, JSON_BOOL))
		return err_set(e, E_VALIDATION,
			       "policy_overrides.requires_confirmation: must be true or false");
	if (prompt && !json_is(prompt, JSON_NULL) && !json_is(prompt, JSON_STRING))
		return err_set(e, E_VALIDATION,
			       "policy_overrides.confirmation_prompt: must be a string");
	of->requires_confirmation = json_is(asks, JSON_BOOL) ? json_bool(asks) : -1;
	if (json_is(prompt, JSON_STRING) && !(of->prompt = str_dup(json_str(prompt))))
		return err_plain(e, E_NOMEM);
	return 0;
}

/* Members that mean nothing here are kept for whoever wrote them. */
static int
read_overrides(struct activation *of, const struct json *overrides, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_OVERRIDES);
	struct jw w = jw(&text);

	if (!overrides || json_is(overrides, JSON_NULL))
		return 0;
	if (!json_is(overrides, JSON_OBJECT))
		return err_set(e, E_VALIDATION, "policy_overrides: must be an object");
	jw_value(&w, overrides);
	int code = buf_failed(&text)
		       ? err_set(e, E_LIMIT, "policy_overrides: at most %zu bytes", LIMIT_OVERRIDES)
		       : read_confirmation(of, overrides, e);
	if (code == 0 && !(of->overrides = str_dup(buf_str(&text))))
		code = err_plain(e, E_NOMEM);
	buf_done(&text);
	return code;
}

/* ---- one of them ---- */

static struct activation *
activation_find(const struct agent *a, struct str tool)
{
	for (size_t i = 0; i < a->activation_count; i++)
		if (str_is(tool, a->activations[i]->tool))
			return a->activations[i];
	return NULL;
}

static struct activation *
activation_new(struct str tool)
{
	struct activation *of = calloc(1, sizeof(*of));

	if (!of)
		return NULL;
	memcpy(of->tool, tool.ptr, tool.len);
	of->weight = pattern__weight(tool);
	of->enabled = true;
	of->requires_confirmation = -1;
	of->created_us = of->updated_us = clock_wall_us();
	return of;
}

/* The weightiest first; of equals by their text, so that the order is always the same. */
static bool
comes_before(const struct activation *x, const struct activation *y)
{
	if (x->weight != y->weight)
		return x->weight > y->weight;
	return strcmp(x->tool, y->tool) < 0;
}

/* Instead of the one for the same tool, which is freed. */
static bool
activation_insert(struct agent *a, struct activation *of)
{
	size_t place = 0;

	for (; place < a->activation_count; place++)
		if (strcmp(a->activations[place]->tool, of->tool) == 0) {
			activation__free(a->activations[place]);
			a->activations[place] = of;
			return true;
		}
	struct activation **grown =
	    realloc(a->activations, (a->activation_count + 1) * sizeof(*grown));
	if (!grown)
		return false;
	a->activations = grown;
	for (place = 0; place < a->activation_count && comes_before(grown[place], of);)
		place++;
	memmove(grown + place + 1, grown + place, (a->activation_count - place) * sizeof(*grown));
	grown[place] = of;
	a->activation_count++;
	return true;
}

static void
write_says(struct jw *w, const struct activation *of)
{
	jw_member_bool(w, "enabled", of->enabled);
	jw_key(w, "policy_overrides");
	jw_raw(w, of->overrides ? str_of(of->overrides) : S("{}"));
}

static int
activation_keep(struct tenants *all, const struct agent *a, const struct activation *of)
{
	struct buf json = BUF_INIT(2 * LIMIT_OVERRIDES);
	struct jw w = jw(&json);

	jw_object(&w);
	write_says(&w, of);
	jw_end(&w);
	struct store_setting row = {.kind = "activation",
				    .tenant = str_of(a->tenant->name),
				    .agent = str_of(a->name),
				    .name = str_of(of->tool),
				    .id = uuid_str(&of->id),
				    .json = buf_str(&json),
				    .created_us = of->created_us,
				    .updated_us = of->updated_us};
	int code = buf_failed(&json) ? E_NOMEM : 0;
	if (code == 0 && all->store)
		code = store_put_setting(all->store, &row);
	buf_done(&json);
	return code;
}

/* ---- what people say ---- */

/* An activation that would have no effect is no answer to "enable it". */
static int
check_configuration(const struct agent *a, const struct activation_says *says, struct err *e)
{
	const struct tenant *t = a->tenant;
	bool by_tenant = patterns_have(&t->disabled, says->tool);

	if (!says->enabled || (!by_tenant && !patterns_have(&a->disabled, says->tool)))
		return 0;
	return err_set(e, E_FORBIDDEN,
		       "the configuration disables '%.*s' (tenants.%s.%s%s%sdisabled): it can be "
		       "enabled there alone",
		       STR_ARG(says->tool), t->name, by_tenant ? "" : "agents.",
		       by_tenant ? "" : a->name, by_tenant ? "" : ".");
}

static int
check_says(const struct agent *a, const struct activation_says *says, struct err *e)
{
	if (!pattern__fits(says->tool))
		return err_set(e, E_VALIDATION,
			       "tool: must be the name of a tool, or a pattern of names");
	if (!activation_find(a, says->tool) && a->activation_count >= LIMIT_ACTIVATIONS)
		return err_set(e, E_LIMIT, "this agent has %d activations already",
			       LIMIT_ACTIVATIONS);
	return check_configuration(a, says, e);
}

/* What is not said anew stays. */
static int
carry_over(struct activation *of, const struct activation *old, const struct activation_says *says,
	   struct err *e)
{
	of->id = old ? old->id : uuid_new();
	if (old)
		of->created_us = old->created_us;
	if (says->overrides)
		return read_overrides(of, says->overrides, e);
	if (!old)
		return 0;
	of->requires_confirmation = old->requires_confirmation;
	of->prompt = old->prompt ? str_dup(str_of(old->prompt)) : NULL;
	of->overrides = old->overrides ? str_dup(str_of(old->overrides)) : NULL;
	return !of->prompt == !old->prompt && !of->overrides == !old->overrides
		   ? 0
		   : err_plain(e, E_NOMEM);
}

int
activation_put(struct tenants *all, struct agent *a, const struct activation_says *says,
	       struct activation **ret, struct err *e)
{
	int code = check_says(a, says, e);

	if (code < 0)
		return code;
	struct activation *of = activation_new(says->tool);
	if (!of)
		return err_plain(e, E_NOMEM);
	of->enabled = says->enabled;
	code = carry_over(of, activation_find(a, says->tool), says, e);
	if (code == 0 && (code = activation_keep(all, a, of)) < 0)
		err_plain(e, code);
	if (code == 0 && !activation_insert(a, of))
		code = err_plain(e, E_NOMEM);
	if (code < 0) {
		activation__free(of);
		return code;
	}
	*ret = of;
	tenants_changed(all);
	return 0;
}

int
activation_drop(struct tenants *all, struct agent *a, struct str tool)
{
	size_t place = 0;

	while (place < a->activation_count && !str_is(tool, a->activations[place]->tool))
		place++;
	if (place == a->activation_count)
		return E_NOT_FOUND;
	struct store_setting key = {.kind = "activation",
				    .tenant = str_of(a->tenant->name),
				    .agent = str_of(a->name),
				    .name = tool};
	int code = all->store ? store_drop_setting(all->store, &key) : 0;
	if (code < 0)
		return code;
	activation__free(a->activations[place]);
	a->activation_count--;
	memmove(a->activations + place, a->activations + place + 1,
		(a->activation_count - place) * sizeof(struct activation *));
	tenants_changed(all);
	return 0;
}

int
activation__load(struct agent *a, const struct store_setting *row, struct err *e)
{
	struct json_doc *doc = NULL;

	if (!pattern__fits(row->name) ||
	    (a->activation_count >= LIMIT_ACTIVATIONS && !activation_find(a, row->name)))
		return err_plain(e, E_LIMIT);
	struct activation *of = activation_new(row->name);
	int code = of ? json_parse(row->json, &json_door, &doc, e) : err_plain(e, E_NOMEM);
	const struct json *root = code == 0 ? json_root(doc) : NULL;
	if (code == 0) {
		of->enabled = json_bool(json_get(root, S("enabled")));
		of->created_us = row->created_us;
		of->updated_us = row->updated_us;
		if (!uuid_read(row->id, &of->id))
			of->id = uuid_new();
		code = read_overrides(of, json_get(root, S("policy_overrides")), e);
	}
	if (code == 0 && !activation_insert(a, of))
		code = err_plain(e, E_NOMEM);
	if (code != 0)
		activation__free(of);
	json_doc_unref(doc);
	return code;
}

static void
write_time(struct jw *w, const char *key, int64_t wall_us)
{
	char when[CLOCK_TEXT];

	clock_text(wall_us, when);
	jw_member_z(w, key, when);
}

void
activation_write(struct jw *w, const struct agent *a, const struct activation *of,
		 const struct tool *tool)
{
	struct uuid made = tool_uuid(str_of(of->tool));

	jw_object(w);
	jw_member_z(w, "id", of->id.text);
	jw_member_z(w, "tenant_id", a->tenant->id.text);
	jw_member_z(w, "agent_id", a->id.text);
	jw_member_z(w, "tool_id", tool && tool->uuid[0] ? tool->uuid : made.text);
	jw_member_z(w, "tool_name", of->tool);
	write_says(w, of);
	write_time(w, "created_at", of->created_us);
	write_time(w, "updated_at", of->updated_us);
	jw_end(w);
}
