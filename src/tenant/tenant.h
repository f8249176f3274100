/*
 * tenant.h - whose tools there are: tenants, their agents, and what each may use (seed 004
 * sections 2 and 3).
 *
 *	catalog       every tool there is
 *	  tenant      of these: what its `tools` name (all, where it has none), and its own
 *	    agent     of these: what nobody has disabled for it
 *
 * A single person is the agent "default" of the tenant "default", which are always there and have
 * everything. Others come from the configuration (tenants_configure) or are made while the gateway
 * runs, and are then in the store. All of them are in memory: whether an agent may use a tool is
 * found by its name, once, and remembered until something changes.
 *
 * An activation is for a tool's name or a pattern with * and ?; a name is more than any pattern, of
 * two patterns the one with more letters of its own is. No activation is enabled. What the
 * configuration disables no activation enables.
 *
 * Agents are counted by reference: a session keeps its own after that was removed (`gone`).
 * One thread.
 */

#ifndef TENANT_TENANT_H
#define TENANT_TENANT_H

#include "base/limits.h"
#include "base/map.h"
#include "base/uuid.h"
#include "catalog/tool.h"
#include "store/store.h"

struct tenants;
struct agent;

#define TENANT_DEFAULT S("default")

/* Names of tools, or patterns with * and ?. */
struct patterns {
	char **at;
	size_t count;
};
bool patterns_have(const struct patterns *p, struct str name);

/* Tenants or agents, by name. */
struct owners {
	void **at;
	size_t count;
};

struct tenant {
	struct uuid id;
	char name[LIMIT_OWNER_NAME + 1];
	int64_t created_us;
	bool configured, kept; /* by whose word it is there: the configuration's, the store's */
	bool chosen;           /* only some of the shared tools are its: */
	bool tools_said;       /* private: by the configuration; else by the store */
	struct patterns tools;
	struct patterns disabled; /* for all its agents, by the configuration */
	struct owners agents;
	struct tenants *all;
};

/* What a person has said of a tool, or of some, for one agent. */
struct activation {
	struct uuid id;
	char tool[LIMIT_TOOL_PATTERN + 1];
	size_t weight;
	bool enabled;
	int requires_confirmation; /* 0 or 1; -1: nothing is said */
	char *prompt;              /* confirmation_prompt; NULL: nothing is said */
	char *overrides;           /* policy_overrides, JSON; NULL: {} */
	int64_t created_us, updated_us;
};

struct agent {
	struct uuid id;
	char name[LIMIT_OWNER_NAME + 1];
	struct tenant *tenant; /* NULL once it is gone */
	int64_t created_us;
	bool configured, kept;
	bool gone;  /* it was removed */
	bool fresh; /* private: what is kept of it is still to be loaded */
	struct patterns disabled;
	struct activation **activations; /* the weightiest first */
	size_t activation_count;

	/* private */
	struct map known; /* struct standing, by the tool's name */
	unsigned refs;
};
struct agent *agent_ref(struct agent *a);
void agent_unref(struct agent *a);            /* takes NULL */
bool agent_is_default(const struct agent *a); /* of the default tenant, too; NULL is */

/* Loads what is kept. E_STORE, E_LIMIT, E_NOMEM. store NULL: nothing is. */
int tenants_new(struct store *store, struct tenants **ret, struct err *e);
void tenants_free(struct tenants *t); /* takes NULL; sessions may still hold agents */

size_t tenants_count(const struct tenants *t);
struct tenant *tenant_at(const struct tenants *t, size_t i); /* by name */
static inline struct agent *
agent_at(const struct tenant *t, size_t i)
{
	return t->agents.at[i];
}
/* By name or UUID; NULL = none. */
struct tenant *tenant_find(const struct tenants *t, struct str name);
struct agent *agent_find(const struct tenant *t, struct str name);
/*
 * As clients say who they are: "tenant/agent" or "tenant:agent", an agent of `tenant` ({NULL,0}:
 * "default"), or an agent's UUID; "" is the agent "default". E_NO_AGENT: there is none. Never
 * somebody else.
 */
int agent_named(const struct tenants *t, struct str tenant, struct str agent, struct agent **ret,
		struct err *e);
/* There is nobody but the default ones, and nothing is said of these. */
bool tenants_plain(const struct tenants *t);
/* One more for each change of anything. */
uint64_t tenants_generation(const struct tenants *t);

/*
 * Making and unmaking, kept in the store: durable after store_sync. E_VALIDATION (the name),
 * E_EXISTS, E_LIMIT, E_NOMEM; of removing E_NO_TENANT, E_NO_AGENT, E_FORBIDDEN (a default one, or
 * of the configuration). What is removed takes along all it has.
 */
int tenant_add(struct tenants *t, struct str name, const struct json *tools, struct err *e);
int tenant_remove(struct tenants *t, struct str name, struct err *e);
int agent_add(struct tenants *t, struct tenant *of, struct str name, struct err *e);
int agent_remove(struct tenants *t, struct agent *a, struct err *e);
/* Letters, digits and . _ - of which none of the three comes first, at most LIMIT_OWNER_NAME. */
bool owner_name_fits(struct str name);

/* activation.c */
struct activation_says {
	struct str tool;
	bool enabled;
	const struct json *overrides; /* an object; NULL: as it was, or none */
};
/* Instead of the one for the same name or pattern. E_VALIDATION, E_LIMIT, E_NOMEM; E_FORBIDDEN:
 * the configuration disables it. */
int activation_put(struct tenants *t, struct agent *a, const struct activation_says *says,
		   struct activation **ret, struct err *e);
int activation_drop(struct tenants *t, struct agent *a, struct str tool); /* E_NOT_FOUND */
/* All fields of section 2.2; `tool_name` stands beside the id, which is the tool's own where it was
 * defined. tool: the agent's of this name; NULL: it has none, or `of` is for a pattern. */
void activation_write(struct jw *w, const struct agent *a, const struct activation *of,
		      const struct tool *tool);

/* standing.c - may this agent use that tool? */
enum tier {
	TIER_CATALOG, /* its tenant does not have it: for the agent it is not there */
	TIER_TENANT,  /* the tenant has it, the agent may not use it */
	TIER_AGENT,   /* it may */
};
struct standing {
	enum tier tier;
	int requires_confirmation;           /* what an activation says: 0 or 1; -1: nothing */
	const char *prompt;                  /* confirmation_prompt of one; NULL: nothing is said */
	const struct activation *activation; /* that decides; NULL: none does */
	char name[];                         /* private */
};
/* Quick. Valid until anything changes, or is asked of this agent again. */
const struct standing *agent_standing(struct agent *a, const struct tool *t);
enum tier agent_tier(struct agent *a, const struct tool *t); /* NULL may use all shared ones */
bool tenant_has(const struct tenant *t, const struct tool *tool);
/* Resources and prompts of a server come with all its tools. */
bool agent_has_server(const struct agent *a, struct str server);
/* Something is disabled for it. */
bool agent_lacks(const struct agent *a);
void agent_forget(struct agent *a);      /* private: what was found */
void tenants_changed(struct tenants *t); /* all of it */

/*
 * configured.c: what the file says, instead of what it said before. E_LIMIT, E_NOMEM, E_CONFIG
 * (somebody is there twice, by name and by UUID): say what was said before again, and it is as it
 * was. Whom nobody speaks of any more is there until tenants_drop_unsaid: sessions would not find
 * their way back to an agent that went.
 */
struct agent_says {
	struct str name;
	const struct json *disabled; /* arrays of strings; NULL: nothing is said */
};
struct tenant_says {
	struct str name;
	const struct json *tools, *disabled;
	const struct agent_says *agents;
	size_t agent_count;
};
int tenants_configure(struct tenants *t, const struct tenant_says *says, size_t count,
		      struct err *e);
void tenants_drop_unsaid(struct tenants *t);
bool tenant_stays(const struct tenant *t); /* then */

/* UUID of a tool that is no definition and so has none of its own. */
struct uuid tool_uuid(struct str name);

#endif
