/* rest_tenants.c - who shares the gateway: tenants, agents, and what is said of tools for each. */

#include <stdlib.h>

#include "front/visit.h"

/* ---- answers that wait for the disk ---- */

/* A change holds in memory at once; whoever made it is answered when it is on the disk. */
struct settling {
	struct http_request *http; /* NULL: the peer is gone */
	struct buf body;
	int status;
};

static void
settled(int code, void *arg)
{
	struct settling *s = arg;

	if (s->http) {
		s->http->gone = NULL;
		if (code < 0)
			reply_code(s->http, E_STORE);
		else
			reply_json(s->http, s->status, &s->body);
	}
	buf_done(&s->body);
	free(s);
}

static void
settling_gone(struct http_request *r)
{
	((struct settling *)r->user)->http = NULL;
}

void
reply_settled(const struct visit *v, int status, struct buf *body)
{
	struct store *store = v->front->gw->store;
	struct settling *s = store ? calloc(1, sizeof(*s)) : NULL;

	if (!store) {
		reply_json(v->http, status, body);
		return;
	}
	if (s) {
		*s = (struct settling){v->http, buf_take(body), status};
		v->http->user = s;
		v->http->gone = settling_gone;
	}
	if (s && store_sync(store, settled, s) == 0)
		return;
	v->http->gone = NULL;
	if (s)
		buf_done(&s->body);
	free(s);
	buf_done(body);
	reply_code(v->http, E_STORE);
}

/* ---- who is meant ---- */

static struct tenants *
tenants_of(const struct visit *v)
{
	return v->front->gw->tenants;
}

/* NULL: it is answered for. */
static struct tenant *
visit_tenant(const struct visit *v)
{
	struct tenant *t = tenant_find(tenants_of(v), visit_param(v, "tenant"));

	if (!t)
		reply_code(v->http, E_NO_TENANT);
	return t;
}

static struct agent *
visit_agent(const struct visit *v)
{
	struct tenant *t = visit_tenant(v);
	struct agent *a = t ? agent_find(t, visit_param(v, "agent")) : NULL;

	if (t && !a)
		reply_code(v->http, E_NO_AGENT);
	return a;
}

/* ---- tenants ---- */

static void
write_agents(struct jw *w, const struct tenant *t)
{
	jw_key(w, "agents");
	jw_array(w);
	for (size_t i = 0; i < t->agents.count; i++) {
		const struct agent *a = agent_at(t, i);
		jw_object(w);
		jw_member_z(w, "name", a->name);
		jw_member_z(w, "id", a->id.text);
		jw_member_z(w, "from", a->configured ? "config" : a->kept ? "store" : "default");
		jw_member_int(w, "activations", (int64_t)a->activation_count);
		jw_end(w);
	}
	jw_end(w);
}

static void
write_tenant(struct jw *w, const struct tenant *t)
{
	jw_object(w);
	jw_member_z(w, "name", t->name);
	jw_member_z(w, "id", t->id.text);
	jw_member_z(w, "from", t->configured ? "config" : t->kept ? "store" : "default");
	jw_key(w, "tools");
	if (t->chosen) {
		jw_array(w);
		for (size_t i = 0; i < t->tools.count; i++)
			jw_z(w, t->tools.at[i]);
		jw_end(w);
	} else {
		jw_null(w); /* all */
	}
	write_agents(w, t);
	jw_end(w);
}

void
route_tenants_list(const struct visit *v)
{
	const struct tenants *all = tenants_of(v);
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_key(&w, "tenants");
	jw_array(&w);
	for (size_t i = 0; i < tenants_count(all); i++)
		write_tenant(&w, tenant_at(all, i));
	jw_end(&w);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

static void
reply_tenant(const struct visit *v, int status, const struct tenant *t)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	write_tenant(&w, t);
	reply_settled(v, status, &b);
}

void
route_tenant_show(const struct visit *v)
{
	const struct tenant *t = visit_tenant(v);
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (!t)
		return;
	write_tenant(&w, t);
	reply_json(v->http, 200, &b);
}

struct owner_order {
	struct str name;
	const struct json *tools;
};

static const struct json_field tenant_fields[] = {
    FIELD_REQUIRED(struct owner_order, name, WANT_STR),
    FIELD(struct owner_order, tools, WANT_ANY),
};

static const struct json_field agent_fields[] = {
    FIELD_REQUIRED(struct owner_order, name, WANT_STR),
};

/* What is defined for it comes and goes with it. */
static void
definitions_follow(const struct visit *v, const char *tenant, bool gone)
{
	const struct front_spec *spec = &v->front->spec;

	if (spec->definitions)
		spec->definitions->tenant_changed(spec->arg, str_of(tenant), gone);
}

void
route_tenant_create(const struct visit *v)
{
	struct owner_order order = {0};
	struct json_doc *doc = NULL;
	struct err e;
	int code = body_parse(v->http, &doc, &e);

	if (code == 0)
		code = json_fields(json_root(doc), tenant_fields, ARRAY_LEN(tenant_fields), "",
				   &order, &e);
	if (code == 0 && order.tools && !json_is(order.tools, JSON_ARRAY))
		code = err_set(&e, E_VALIDATION, "tools: must be an array of names or patterns");
	if (code == 0)
		code = tenant_add(tenants_of(v), order.name, order.tools, &e);
	if (code < 0)
		reply_err(v->http, &e);
	else
		definitions_follow(v, tenant_find(tenants_of(v), order.name)->name, false);
	if (code == 0)
		reply_tenant(v, 201, tenant_find(tenants_of(v), order.name));
	json_doc_unref(doc);
}

void
reply_removed(const struct visit *v, struct str name)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	gateway_end_orphans(v->front->gw);
	jw_object(&w);
	jw_member(&w, "name", name);
	jw_member_bool(&w, "removed", true);
	jw_end(&w);
	reply_settled(v, 200, &b);
}

void
route_tenant_delete(const struct visit *v)
{
	struct str word = visit_param(v, "tenant");
	const struct tenant *t = tenant_find(tenants_of(v), word);
	char name[LIMIT_OWNER_NAME + 1] = "";
	struct err e;

	if (t)
		memcpy(name, t->name, sizeof(name));
	if (tenant_remove(tenants_of(v), word, &e) < 0) {
		reply_err(v->http, &e);
		return;
	}
	definitions_follow(v, name, true);
	reply_removed(v, word);
}

void
route_tenant_available(const struct visit *v)
{
	const struct tenant *t = visit_tenant(v);
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (!t)
		return;
	toolbox_write_available(&w, v->front->gw, t);
	reply_json(v->http, 200, &b);
}

/* ---- agents ---- */

void
route_agent_create(const struct visit *v)
{
	struct tenant *t = visit_tenant(v);
	struct owner_order order = {0};
	struct json_doc *doc = NULL;
	struct err e;

	if (!t)
		return;
	int code = body_parse(v->http, &doc, &e);
	if (code == 0)
		code = json_fields(json_root(doc), agent_fields, ARRAY_LEN(agent_fields), "",
				   &order, &e);
	if (code == 0)
		code = agent_add(tenants_of(v), t, order.name, &e);
	if (code < 0)
		reply_err(v->http, &e);
	else
		reply_tenant(v, 201, t);
	json_doc_unref(doc);
}

void
route_agent_delete(const struct visit *v)
{
	struct agent *a = visit_agent(v);
	struct err e;

	if (!a)
		return;
	if (agent_remove(tenants_of(v), a, &e) < 0)
		reply_err(v->http, &e);
	else
		reply_removed(v, visit_param(v, "agent"));
}

/* ---- activations ---- */

/* What the agent may use, a byte for each tool of the catalog; NULL: no memory. */
static unsigned char *
tiers_take(const struct visit *v, struct agent *a)
{
	const struct catalog *c = v->front->gw->catalog;
	unsigned char *tiers = calloc(catalog_count(c) + 1, 1);

	for (size_t i = 0; tiers && i < catalog_count(c); i++)
		tiers[i] = (unsigned char)agent_tier(a, catalog_at(c, i));
	return tiers;
}

/* Its clients hear of it if it is another list now; in doubt they do. */
static void
tell_if_changed(const struct visit *v, struct agent *a, unsigned char *before)
{
	unsigned char *now = tiers_take(v, a);
	size_t count = catalog_count(v->front->gw->catalog);

	if (!before || !now || memcmp(before, now, count) != 0)
		mcp_changed_for(v->front, a);
	free(before);
	free(now);
}

static void
write_activation(const struct visit *v, struct jw *w, const struct agent *a,
		 const struct activation *of)
{
	activation_write(w, a, of, toolbox_tool(v->front->gw, a, str_of(of->tool)));
}

void
route_activations_list(const struct visit *v)
{
	const struct agent *a = visit_agent(v);
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (!a)
		return;
	jw_object(&w);
	jw_key(&w, "activations");
	jw_array(&w);
	for (size_t i = 0; i < a->activation_count; i++)
		write_activation(v, &w, a, a->activations[i]);
	jw_end(&w);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

struct activation_order {
	struct str tool;
	bool enabled;
	const struct json *policy_overrides;
};

static const struct json_field activation_fields[] = {
    FIELD_REQUIRED(struct activation_order, tool, WANT_STR),
    FIELD(struct activation_order, enabled, WANT_BOOL),
    FIELD(struct activation_order, policy_overrides, WANT_ANY),
};

static void
put_activation(const struct visit *v, struct agent *a, const struct json *body)
{
	struct activation_order order = {.enabled = true};
	struct activation *made = NULL;
	struct err e;
	unsigned char *before = tiers_take(v, a);
	int code =
	    json_fields(body, activation_fields, ARRAY_LEN(activation_fields), "", &order, &e);

	struct activation_says says = {order.tool, order.enabled, order.policy_overrides};
	if (code == 0)
		code = activation_put(tenants_of(v), a, &says, &made, &e);
	if (code < 0) {
		free(before);
		reply_err(v->http, &e);
		return;
	}
	tell_if_changed(v, a, before);
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);
	write_activation(v, &w, a, made);
	reply_settled(v, 200, &b);
}

void
route_activation_create(const struct visit *v)
{
	struct agent *a = visit_agent(v);
	struct json_doc *doc = NULL;
	struct err e;

	if (!a)
		return;
	if (body_parse(v->http, &doc, &e) < 0)
		reply_err(v->http, &e);
	else
		put_activation(v, a, json_root(doc));
	json_doc_unref(doc);
}

void
route_activation_delete(const struct visit *v)
{
	struct agent *a = visit_agent(v);
	struct str tool = visit_param(v, "tool");

	if (!a)
		return;
	unsigned char *before = tiers_take(v, a);
	int code = activation_drop(tenants_of(v), a, tool);
	if (code < 0) {
		free(before);
		reply_code(v->http, code);
		return;
	}
	tell_if_changed(v, a, before);
	reply_removed(v, tool);
}
