/* tenant.c - who there is: tenants and agents, in memory and in the store. */

#include "tenant/inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

bool
owner_name_fits(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool plain =
		    (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		/* It becomes the name of a directory, and must not mean another one. */
		if (!plain && (i == 0 || (c != '.' && c != '_' && c != '-')))
			return false;
	}
	return name.len > 0 && name.len <= LIMIT_OWNER_NAME;
}

static int
check_name(const char *what, struct str name, struct err *e)
{
	if (owner_name_fits(name))
		return 0;
	return err_set(e, E_VALIDATION,
		       "the name of %s must be of letters, digits, '.', '_' and '-', begin with a "
		       "letter or a digit, and have at most %d of them",
		       what, LIMIT_OWNER_NAME);
}

struct uuid
tool_uuid(struct str name)
{
	return uuid_of(S("tool"), name, (struct str){NULL, 0});
}

/* ---- sorted lists of those that have a name ---- */

struct named {
	struct uuid id;
	char name[LIMIT_OWNER_NAME + 1];
};
_Static_assert(offsetof(struct tenant, name) == offsetof(struct named, name), "see owners_place");
_Static_assert(offsetof(struct agent, name) == offsetof(struct named, name), "see owners_place");

static size_t
owners_place(const struct owners *list, struct str name)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (str_cmp(str_of(((const struct named *)list->at[middle])->name), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* By name or UUID: a name may look like one. NULL = none. */
static void *
owners_find(const struct owners *list, struct str name)
{
	size_t place = owners_place(list, name);
	struct uuid id;

	if (place < list->count && str_is(name, ((const struct named *)list->at[place])->name))
		return list->at[place];
	if (!uuid_read(name, &id))
		return NULL;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(((const struct named *)list->at[i])->id.text, id.text) == 0)
			return list->at[i];
	return NULL;
}

static bool
owners_insert(struct owners *list, void *what)
{
	struct str name = str_of(((const struct named *)what)->name);
	void **grown = realloc(list->at, (list->count + 1) * sizeof(void *));

	if (!grown)
		return false;
	list->at = grown;
	size_t place = owners_place(list, name);
	memmove(grown + place + 1, grown + place, (list->count - place) * sizeof(void *));
	grown[place] = what;
	list->count++;
	return true;
}

static void
owners_remove(struct owners *list, const void *what)
{
	size_t place = 0;

	while (list->at[place] != what)
		place++;
	list->count--;
	memmove(list->at + place, list->at + place + 1, (list->count - place) * sizeof(void *));
}

/* ---- agents ---- */

struct agent *
agent_ref(struct agent *a)
{
	a->refs++;
	return a;
}

void
agent_unref(struct agent *a)
{
	if (!a || --a->refs > 0)
		return;
	for (size_t i = 0; i < a->activation_count; i++)
		activation__free(a->activations[i]);
	free(a->activations);
	patterns__done(&a->disabled);
	agent_forget(a);
	map_done(&a->known);
	free(a);
}

bool
agent_is_default(const struct agent *a)
{
	return !a || (!a->gone && str_eq(str_of(a->name), TENANT_DEFAULT) &&
		      str_eq(str_of(a->tenant->name), TENANT_DEFAULT));
}

struct agent *
agent__new(struct tenant *of, struct str name)
{
	struct agent *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	memcpy(a->name, name.ptr, name.len);
	a->id = uuid_of(S("agent"), str_of(of->name), name);
	a->tenant = of;
	a->created_us = clock_wall_us();
	a->refs = 1;
	a->fresh = true;
	map_init(&a->known, LIMIT_STANDINGS);
	if (!owners_insert(&of->agents, a)) {
		agent_unref(a);
		return NULL;
	}
	return a;
}

void
agent__drop(struct agent *a)
{
	owners_remove(&a->tenant->agents, a);
	a->gone = true;
	a->tenant = NULL;
	agent_unref(a);
}

/* ---- tenants ---- */

struct tenant *
tenant__new(struct tenants *all, struct str name)
{
	struct tenant *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	memcpy(t->name, name.ptr, name.len);
	t->id = uuid_of(S("tenant"), name, (struct str){NULL, 0});
	t->created_us = clock_wall_us();
	t->all = all;
	if (!owners_insert(&all->list, t)) {
		free(t);
		return NULL;
	}
	if (agent__new(t, TENANT_DEFAULT)) /* whoever names none is this one */
		return t;
	tenant__drop(t);
	return NULL;
}

void
tenant__drop(struct tenant *t)
{
	owners_remove(&t->all->list, t);
	while (t->agents.count > 0)
		agent__drop(agent_at(t, t->agents.count - 1));
	free(t->agents.at);
	patterns__done(&t->tools);
	patterns__done(&t->disabled);
	free(t);
}

size_t
tenants_count(const struct tenants *t)
{
	return t->list.count;
}

struct tenant *
tenant_at(const struct tenants *t, size_t i)
{
	return t->list.at[i];
}

struct tenant *
tenant_find(const struct tenants *t, struct str name)
{
	return owners_find(&t->list, name);
}

struct agent *
agent_find(const struct tenant *t, struct str name)
{
	return owners_find(&t->agents, name);
}

uint64_t
tenants_generation(const struct tenants *t)
{
	return t->generation;
}

static bool
tenant_plain(const struct tenant *t)
{
	const struct agent *a = agent_at(t, 0);

	return t->agents.count == 1 && !t->chosen && t->disabled.count == 0 &&
	       a->disabled.count == 0 && a->activation_count == 0;
}

bool
tenants_plain(const struct tenants *t)
{
	return t->list.count == 1 && tenant_plain(tenant_at(t, 0));
}

/* ---- who is meant ---- */

static struct agent *
agent_by_uuid(const struct tenants *t, struct str text)
{
	struct uuid id;

	if (!uuid_read(text, &id))
		return NULL;
	for (size_t i = 0; i < t->list.count; i++)
		for (size_t k = 0; k < tenant_at(t, i)->agents.count; k++)
			if (strcmp(agent_at(tenant_at(t, i), k)->id.text, id.text) == 0)
				return agent_at(tenant_at(t, i), k);
	return NULL;
}

static int
fail_no_agent(struct str tenant, struct str agent, struct err *e)
{
	return err_set(e, E_NO_AGENT, "there is no agent '%.*s' of '%.*s'",
		       STR_ARG(str_utf8_upto(agent, 80)), STR_ARG(str_utf8_upto(tenant, 80)));
}

int
agent_named(const struct tenants *all, struct str tenant, struct str agent, struct agent **ret,
	    struct err *e)
{
	ptrdiff_t cut = str_index(agent, '/');

	if (cut < 0)
		cut = str_index(agent, ':');
	if (cut >= 0) {
		struct str before = str_upto(agent, (size_t)cut);
		agent = str_from(agent, (size_t)cut + 1);
		if (tenant.ptr && !str_eq(before, tenant))
			return err_set(e, E_NO_AGENT, "agent: it says another tenant than tenant");
		tenant = before;
	}
	if (!tenant.ptr && (*ret = agent_by_uuid(all, agent)))
		return 0;
	if (!tenant.ptr)
		tenant = TENANT_DEFAULT;
	if (!agent.ptr || (agent.len == 0 && cut < 0))
		agent = TENANT_DEFAULT;
	const struct tenant *t = tenant_find(all, tenant);
	if (!t)
		return err_set(e, E_NO_TENANT, "there is no tenant '%.*s'",
			       STR_ARG(str_utf8_upto(tenant, 80)));
	*ret = agent_find(t, agent);
	return *ret ? 0 : fail_no_agent(tenant, agent, e);
}

/* ---- making and unmaking ---- */

static int
tenant_keep(struct tenants *all, const struct tenant *t)
{
	struct buf json = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&json);

	jw_object(&w);
	if (t->chosen) {
		jw_key(&w, "tools");
		jw_array(&w);
		for (size_t i = 0; i < t->tools.count; i++)
			jw_z(&w, t->tools.at[i]);
		jw_end(&w);
	}
	jw_end(&w);
	struct store_setting row = {.kind = "tenant",
				    .tenant = str_of(t->name),
				    .agent = S(""),
				    .name = S(""),
				    .id = uuid_str(&t->id),
				    .json = buf_str(&json),
				    .created_us = t->created_us,
				    .updated_us = t->created_us};
	int code = buf_failed(&json) ? E_NOMEM : 0;
	if (code == 0 && all->store)
		code = store_put_setting(all->store, &row);
	buf_done(&json);
	return code;
}

int
tenant_add(struct tenants *all, struct str name, const struct json *tools, struct err *e)
{
	int code = check_name("a tenant", name, e);

	if (code < 0)
		return code;
	if (tenant_find(all, name))
		return err_set(e, E_EXISTS, "there is a tenant '%.*s' already", STR_ARG(name));
	if (all->list.count >= LIMIT_TENANTS)
		return err_set(e, E_LIMIT, "there are %d tenants already", LIMIT_TENANTS);
	struct tenant *t = tenant__new(all, name);
	if (!t)
		return err_plain(e, E_NOMEM);
	t->kept = true;
	agent_at(t, 0)->fresh = false;
	t->chosen = tools != NULL;
	if ((code = patterns__read(&t->tools, tools, e)) == 0 && (code = tenant_keep(all, t)) < 0)
		err_plain(e, code);
	if (code < 0)
		tenant__drop(t);
	else
		tenants_changed(all);
	return code;
}

int
tenant_remove(struct tenants *all, struct str name, struct err *e)
{
	struct tenant *t = tenant_find(all, name);

	if (!t)
		return err_set(e, E_NO_TENANT, "there is no tenant '%.*s'",
			       STR_ARG(str_utf8_upto(name, 80)));
	if (str_eq(str_of(t->name), TENANT_DEFAULT))
		return err_set(e, E_FORBIDDEN, "the default tenant stays");
	if (t->configured)
		return err_set(e, E_FORBIDDEN,
			       "the configuration has this tenant: take it out there");
	int code = all->store ? store_drop_tenant(all->store, str_of(t->name)) : 0;
	if (code < 0)
		return err_plain(e, code);
	tenant__drop(t);
	tenants_changed(all);
	return 0;
}

static int
agent_keep(struct tenants *all, const struct agent *a)
{
	struct store_setting row = {.kind = "agent",
				    .tenant = str_of(a->tenant->name),
				    .agent = str_of(a->name),
				    .name = S(""),
				    .id = uuid_str(&a->id),
				    .json = S("{}"),
				    .created_us = a->created_us,
				    .updated_us = a->created_us};

	return all->store ? store_put_setting(all->store, &row) : 0;
}

int
agent_add(struct tenants *all, struct tenant *of, struct str name, struct err *e)
{
	int code = check_name("an agent", name, e);

	if (code < 0)
		return code;
	if (agent_find(of, name))
		return err_set(e, E_EXISTS, "there is an agent '%.*s' already", STR_ARG(name));
	if (of->agents.count >= LIMIT_AGENTS)
		return err_set(e, E_LIMIT, "there are %d agents already", LIMIT_AGENTS);
	struct agent *a = agent__new(of, name);
	if (!a)
		return err_plain(e, E_NOMEM);
	a->kept = true;
	a->fresh = false;
	if ((code = agent_keep(all, a)) < 0) {
		agent__drop(a);
		return err_plain(e, code);
	}
	tenants_changed(all);
	return 0;
}

int
agent_remove(struct tenants *all, struct agent *a, struct err *e)
{
	if (str_eq(str_of(a->name), TENANT_DEFAULT))
		return err_set(e, E_FORBIDDEN, "the default agent stays");
	if (a->configured)
		return err_set(e, E_FORBIDDEN,
			       "the configuration has this agent: take it out there");
	int code =
	    all->store ? store_drop_agent(all->store, str_of(a->tenant->name), str_of(a->name)) : 0;
	if (code < 0)
		return err_plain(e, code);
	agent__drop(a);
	tenants_changed(all);
	return 0;
}

/* ---- loading ---- */

static int
load_tenant(struct tenants *all, const struct store_setting *row, struct err *e)
{
	struct tenant *t = tenant_find(all, row->tenant);
	struct json_doc *doc = NULL;

	if (!t && owner_name_fits(row->tenant) && all->list.count < LIMIT_TENANTS)
		t = tenant__new(all, row->tenant);
	if (!t)
		return err_plain(e, E_LIMIT);
	t->kept = true;
	t->created_us = row->created_us;
	int code = json_parse(row->json, &json_door, &doc, e);
	const struct json *tools = code == 0 ? json_get(json_root(doc), S("tools")) : NULL;
	if (code == 0 && !t->tools_said) {
		patterns__done(&t->tools);
		t->chosen = tools != NULL;
		code = patterns__read(&t->tools, tools, e);
	}
	json_doc_unref(doc);
	return code;
}

/* Made while the gateway ran, of a tenant that may be the configuration's. */
static int
load_agent(struct tenants *all, const struct store_setting *row, struct err *e)
{
	struct tenant *t = tenant_find(all, row->tenant);
	struct agent *a = t ? agent_find(t, row->agent) : NULL;

	if (!t)
		return 0;
	if (!a && owner_name_fits(row->agent) && t->agents.count < LIMIT_AGENTS)
		a = agent__new(t, row->agent);
	if (!a)
		return err_plain(e, E_LIMIT);
	a->kept = true;
	a->created_us = row->created_us;
	return 0;
}

static int
load_activation(struct tenants *all, const struct store_setting *row, struct err *e)
{
	const struct tenant *t = tenant_find(all, row->tenant);
	struct agent *a = t ? agent_find(t, row->agent) : NULL;

	return a && a->fresh ? activation__load(a, row, e) : 0;
}

static void
load_row(const struct store_setting *row, void *arg)
{
	static const struct {
		const char *kind;
		int (*load)(struct tenants *all, const struct store_setting *row, struct err *e);
	} kinds[] = {
	    {"tenant", load_tenant},
	    {"agent", load_agent},
	    {"activation", load_activation},
	};
	struct tenants *all = arg;

	for (size_t i = 0; i < ARRAY_LEN(kinds) && all->wrong.code == 0; i++)
		if (strcmp(row->kind, kinds[i].kind) == 0)
			all->wrong.code = kinds[i].load(all, row, &all->wrong);
}

/* Something disabled that is forgotten would be enabled: all of it, or none. */
int
tenants__load_fresh(struct tenants *all, struct err *e)
{
	all->wrong = ERR_NONE;
	int code = all->store ? store_load_settings(all->store, load_row, all, e) : 0;
	if (code == 0 && all->wrong.code < 0)
		code = err_set(e, all->wrong.code, "what is kept of tenants cannot be loaded: %s",
			       err_text(&all->wrong));
	for (size_t i = 0; code == 0 && i < all->list.count; i++)
		for (size_t k = 0; k < tenant_at(all, i)->agents.count; k++)
			agent_at(tenant_at(all, i), k)->fresh = false;
	return code;
}

int
tenants_new(struct store *store, struct tenants **ret, struct err *e)
{
	struct tenants *t = calloc(1, sizeof(*t));

	if (!t)
		return err_plain(e, E_NOMEM);
	t->store = store;
	int code = tenant__new(t, TENANT_DEFAULT) ? 0 : err_plain(e, E_NOMEM);
	if (code == 0)
		code = tenants__load_fresh(t, e);
	if (code < 0)
		tenants_free(t);
	else
		*ret = t;
	return code;
}

void
tenants_free(struct tenants *t)
{
	if (!t)
		return;
	while (t->list.count > 0)
		tenant__drop(tenant_at(t, t->list.count - 1));
	free(t->list.at);
	free(t);
}
