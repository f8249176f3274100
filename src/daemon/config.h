/*
 * config.h - the one configuration file.
 *
 * YAML (and so JSON). Unknown keys are errors with their line, and a near name if there is
 * one: a setting that is silently ignored is worse than none.
 */

#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include "policy/policy.h"

struct config {
	struct policy *policy;
	int64_t retention_days;
};

/* A missing file at the default place is the defaults; a named one must be there. E_CONFIG. */
int config_load(const char *path, struct config *ret, struct err *e);
void config_done(struct config *c);

#endif
