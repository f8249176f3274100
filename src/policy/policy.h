/*
 * policy.h - the confirmation policy: auto, prompt, prompt_once or deny, and which rule says so.
 *
 *	tool_confirmation:
 *	  default: {NONE: auto, READ: auto, WRITE: prompt, EXECUTE: prompt, NETWORK: prompt}
 *	  per_tool: {git_status: auto}
 *	  trusted_workspaces: [~/code/myproject]
 *	  trusted_workspace_overrides: {EXECUTE: prompt}
 *
 * (seed 000 section 5.2.) Order: per_tool; then, in a trusted workspace, the override of the
 * class, or auto where the class would prompt (NETWORK is not lowered: trust in a directory says
 * nothing about the world outside it); then default. deny is never lowered by trust.
 *
 * Also confirmation_timeout_seconds: 1 to 86400, and secret_files (secret.h). Classes are spelled
 *exactly so; a tool of no known class is denied.
 */

#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "catalog/tool.h"
#include "json/yaml.h"
#include "policy/secret.h"

enum policy_mode { MODE_AUTO, MODE_PROMPT, MODE_PROMPT_ONCE, MODE_DENY };
const char *policy_mode_name(enum policy_mode m);

struct policy;

/* The defaults above. NULL when out of memory. */
struct policy *policy_default(void);
/*
 * From the value of `tool_confirmation` in a configuration file (NULL: the defaults). Errors
 * name line and key: "line 4: tool_confirmation.default.WRITE: 'maybe' is not one of auto,
 * prompt, prompt_once, deny". "~" is home (may be NULL when there is none); a trusted path that
 * exists is taken as the real one. E_CONFIG, E_NOMEM.
 */
int policy_new(const struct yaml *y, const struct json *section, const char *home,
	       struct policy **ret, struct err *e);
void policy_free(struct policy *p); /* takes NULL */

struct ruling {
	enum policy_mode mode;
	struct str
	    rule; /* "default.WRITE", "per_tool.git_status", ...; lives as long as the policy */
};
/* workspace: absolute and real, or NULL. Trusted when it is one of trusted_workspaces or below. */
struct ruling policy_decide(const struct policy *p, struct str tool, enum capability cap,
			    const char *workspace);

/* The files that are asked about each time; borrowed. */
const struct secrets_list *policy_secrets(const struct policy *p);

/* The names under per_tool, in no order. */
void policy_each_tool(const struct policy *p, void (*each)(struct str tool, void *arg), void *arg);

/* How long people have to answer. */
unsigned policy_confirm_ms(const struct policy *p); /* confirmation_timeout_seconds, default 300 */

#endif
