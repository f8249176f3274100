/* configured.c - tenants and agents of the configuration file, instead of those it had before. */

#include <stdlib.h>

#include "tenant/inside.h"

/* A UUID stands for a name, and so one may be said twice. The second would undo the first. */
static int
fail_twice(const char *what, struct str key, struct err *e)
{
	return err_set(e, E_CONFIG,
		       "tenants: the %s '%.*s' is there twice: by its name and by its UUID", what,
		       STR_ARG(key));
}

static struct tenant *
get_tenant(struct tenants *all, struct str name, struct err *e)
{
	struct tenant *t = tenant_find(all, name);

	if (t)
		return t;
	if (all->list.count >= LIMIT_TENANTS)
		err_set(e, E_LIMIT, "there are %d tenants already", LIMIT_TENANTS);
	else if (!(t = tenant__new(all, name)))
		err_plain(e, E_NOMEM);
	return t;
}

static struct agent *
get_agent(struct tenant *t, struct str name, struct err *e)
{
	struct agent *a = agent_find(t, name);

	if (a)
		return a;
	if (t->agents.count >= LIMIT_AGENTS)
		err_set(e, E_LIMIT, "'%s' has %d agents already", t->name, LIMIT_AGENTS);
	else if (!(a = agent__new(t, name)))
		err_plain(e, E_NOMEM);
	return a;
}

static int
apply_agent(struct tenant *t, const struct agent_says *says, struct err *e)
{
	struct agent *a = get_agent(t, says->name, e);

	if (!a)
		return e->code;
	if (a->configured || agent_find(t, uuid_str(&a->id)) != a)
		return fail_twice("agent", says->name, e);
	a->configured = true;
	return patterns__read(&a->disabled, says->disabled, e);
}

static int
apply_tenant(struct tenants *all, const struct tenant_says *says, struct err *e)
{
	struct tenant *t = get_tenant(all, says->name, e);
	int code = 0;

	if (!t)
		return e->code;
	if (t->configured || tenant_find(all, uuid_str(&t->id)) != t)
		return fail_twice("tenant", says->name, e);
	t->configured = true;
	if (says->tools) {
		patterns__done(&t->tools);
		t->chosen = t->tools_said = true;
		code = patterns__read(&t->tools, says->tools, e);
	}
	if (code == 0)
		code = patterns__read(&t->disabled, says->disabled, e);
	for (size_t i = 0; code == 0 && i < says->agent_count; i++)
		code = apply_agent(t, &says->agents[i], e);
	return code;
}

/* Of what the file said before nothing is left; what is kept comes from the store again. */
static void
forget_agent(struct agent *a)
{
	a->configured = false;
	patterns__done(&a->disabled);
}

static void
forget_tenant(struct tenant *t)
{
	if (t->tools_said) {
		patterns__done(&t->tools);
		t->chosen = false;
	}
	t->configured = t->tools_said = false;
	patterns__done(&t->disabled);
	for (size_t i = 0; i < t->agents.count; i++)
		forget_agent(agent_at(t, i));
}

static bool
is_default(const char *name)
{
	return str_eq(str_of(name), TENANT_DEFAULT);
}

bool
tenant_stays(const struct tenant *t)
{
	return t->configured || t->kept || is_default(t->name);
}

void
tenants_drop_unsaid(struct tenants *all)
{
	for (size_t i = all->list.count; i-- > 0;) {
		struct tenant *t = tenant_at(all, i);
		if (!tenant_stays(t)) {
			tenant__drop(t);
			continue;
		}
		for (size_t k = t->agents.count; k-- > 0;) {
			struct agent *a = agent_at(t, k);
			if (!a->configured && !a->kept && !is_default(a->name))
				agent__drop(a);
		}
	}
	tenants_changed(all);
}

int
tenants_configure(struct tenants *all, const struct tenant_says *says, size_t count, struct err *e)
{
	int code = 0;

	for (size_t i = 0; i < all->list.count; i++)
		forget_tenant(tenant_at(all, i));
	for (size_t i = 0; code == 0 && i < count; i++)
		code = apply_tenant(all, &says[i], e);
	if (code == 0)
		code = tenants__load_fresh(all, e);
	tenants_changed(all);
	return code;
}
