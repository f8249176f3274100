/*
 * config.h - the one configuration file.
 *
 * YAML (and so JSON). Unknown keys are errors with their line, and a near name if there is
 * one: a setting that is silently ignored is worse than none.
 */

#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include "policy/policy.h"

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

struct config {
	struct policy *policy;
	struct config_tools builtin;
	struct config_results results;
	int64_t retention_days;
};

/* A missing file at the default place is the defaults; a named one must be there. E_CONFIG. */
int config_load(const char *path, struct config *ret, struct err *e);
void config_done(struct config *c);

#endif
