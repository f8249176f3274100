/*
 * config.h - the one configuration file.
 *
 * YAML (and so JSON). Its form is data/config.schema.json, which is published and checked here by
 * our own engine. Unknown keys are errors with their line, and a near name if there is one: a
 * setting that is silently ignored is worse than none. Keys that other clients have in the same
 * files are taken with a warning.
 *
 *   config.c          the file; settings of our own; the schema
 *   config_servers.c  mcpServers and servers: what becomes of each
 *   config_defined.c  definitions, tool_gateway and openapi
 *   config_hooks.c    programs that look at calls
 *   config_kernel.c   the index envelopes are held to
 *   config_vars.c     ${VAR} and its like
 *   config_env.c      the environment of a server that is started here
 *   config_turns.c    acf, tools.side_effects: how turns are given up, and effects taken back
 *   config_confine.c  confinement: what is started here may reach
 *   config_tenants.c  tenants and toolbox: who there is, and what each may use
 *
 * What is wrong with one server beyond the form (a variable that is not set) disables that server
 * alone. Values of variables are never in a message.
 */

#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include "base/arena.h"
#include "base/limits.h"
#include "json/canon.h"
#include "kernel/kernels.h"
#include "loop/confine.h"
#include "policy/policy.h"
#include "policy/tuning.h"
#include "provider/defined.h"
#include "provider/mcp.h"
#include "session/supersede.h"
#include "call/toolbox.h"
#include "tenant/tenant.h"

struct hook;

/* What can be said of a group of tools; the built-in ones are such a group. */
struct config_tools {
	bool repair_arguments;
};

/* What becomes of results. */
struct config_results {
	int64_t max_bytes; /* of text that are shown */
	bool redact;
	int64_t keep_hours, keep_mib;
};

/* How long and how much is kept of what files were before they were changed. */
struct config_undo {
	int64_t keep_mib, keep_days;
};

/* How a turn is given up for a message, and its effects are taken back. */
struct config_turns {
	enum supersede_action supersede;
	unsigned decide_ms, compensate_ms;
	bool keep_compensatable; /* what could be taken back is not, and the turn goes on */
};

/* A tool that is defined in the file, or why it cannot be. */
struct config_definition {
	struct definition *definition; /* a reference, or NULL */
	const char *problem;           /* NULL: none */
	unsigned line;
};

/* A document of OpenAPI. */
struct config_import {
	struct str name;
	const char *from; /* file or url, as it is written */
	bool is_url;
	const char *problem;             /* NULL: none */
	struct definition **definitions; /* references */
	size_t count, left_out;
	const char *notes; /* what was left out, line by line; NULL: nothing */
	int confirm;       /* enum policy_mode, or -1 */
};

/* What is done once: how long a key is remembered, and by whom. */
struct config_effects {
	int64_t keep_s;
	bool redis;
	const char *key_prefix; /* of the claims in Redis */
	const char *url;        /* of Redis, variables filled in: a secret; NULL: none */
};

struct config {
	struct policy *policy;
	struct tunings *tunings; /* a reference */
	struct config_tools builtin;
	struct config_results results;
	struct config_undo undo;
	struct config_effects effects;
	struct config_turns turns;
	struct confine_settings confinement;
	int64_t retention_days;
	const char *workspace; /* of clients that name none; NULL: there is none */

	/* The servers that are to be used, each once in both; NULL where there are none. */
	struct upstream_spec *servers;
	struct mcp_settings *settings;
	size_t server_count;
	struct kinds_settings gateways; /* its guard is a reference */
	struct config_definition *definitions;
	size_t definition_count;
	struct config_import *imports;
	size_t import_count;
	const char *const *variables; /* patterns: what definitions from elsewhere may name */
	const char *home;             /* NULL: not known */

	const char *const *disabled; /* names of those that are not, by the file's own word */
	size_t disabled_count;

	struct kernels_rules kernel; /* its index is a reference */

	const struct tenant_says *tenants;
	size_t tenant_count;
	struct json_doc *tenants_doc; /* a reference, or NULL: what they say stands in it */
	struct toolbox_settings toolbox;

	const char *warnings[LIMIT_CONFIG_WARNINGS]; /* whole sentences, with line and key */
	size_t warning_count;

	struct hook **hooks; /* references; in the file's order */
	size_t hook_count;

	char digest[DIGEST_TEXT]; /* of the file's bytes; "": there is no file */
	struct arena *arena;      /* all of the above that is text */
};

struct config_source {
	const char *path; /* NULL: the usual place, where it may be missing */
	const char
	    *workspace;    /* absolute: the default workspace unless the file names one; or NULL */
	const char *state; /* the state directory, where copies of documents are; or NULL */
};

/* E_CONFIG; *ret is to be done with in any case. May be called on a worker. */
int config_load(const struct config_source *from, struct config *ret, struct err *e);
/* The same of a text that is here already. */
int config_read(struct str text, const char *workspace, struct config *ret, struct err *e);
void config_done(struct config *c); /* zeroed memory too */

/* The digest of the file as it is now: "" when it is not there or cannot be read. */
void config_digest(const char *path, char out[static DIGEST_TEXT]);

/* ${VAR} and its like for definitions of the file itself, and for others. Borrow c. */
struct variables config_variables(const struct config *c);
struct variables config_variables_foreign(const struct config *c);

struct str config_schema(void); /* data/config.schema.json */

#endif
