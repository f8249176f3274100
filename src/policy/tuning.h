/*
 * tuning.h - how one tool is run: deadlines, retries, how often, how much of its result.
 *
 *	tools:
 *	  defaults: {retry: {attempts: 3}}
 *	  "github__*": {timeout_seconds: 20, rate: {calls: 30, per_seconds: 60}}
 *	  shell: {confinement: strict, track_changes: true}
 *
 * Names may hold * and ?. `defaults` holds for all; of the patterns that fit, the one with the most
 * letters of its own decides for each setting it has, then the next; a name without * and ? before
 * all patterns. What nothing says comes from the tool.
 *
 * Counted by reference: a call keeps the tunings it began with, whatever is read meanwhile. One
 * thread at a time.
 */

#ifndef POLICY_TUNING_H
#define POLICY_TUNING_H

#include "json/yaml.h"
#include "loop/confine.h"
#include "policy/breaker.h"
#include "policy/quota.h"

/* How a tool is tried again. Whether it may be is not said here: its reversibility decides. */
struct retry {
	unsigned attempts; /* in all; 1: never again */
	unsigned initial_ms, max_ms;
	double multiplier;
	double jitter; /* 0..1: the delay lies in [d(1-j), d(1+j)], and never beyond max_ms */
};

struct tuning {
	unsigned timeout_ms, max_ms; /* 0: the tool's own */
	struct retry retry;
	bool attempts_said; /* by the file: then what a gateway has for its tools does not count */
	struct rate rate;
	struct breaker_tuning breaker;
	size_t max_result_bytes; /* 0: `results.max_bytes` for those who see the ends alone */
	unsigned
	    repeat_limit; /* so many times the same in a row, and a person is asked; 0: never */
	enum confinement_profile confinement;
	bool track_changes; /* compare the workspace before and after */

	/* What it does to the world, where that is not in its definition (policy/effect.h). */
	const struct json *side_effect_policy;     /* a string; NULL: nothing is said */
	const struct json *compensation_tool;      /* the same */
	const struct json *compensation_args;      /* an object */
	const struct json *idempotency_key_fields; /* an array of strings */
};

/* Where the configuration says nothing: of tools, and of servers (rate and breaker alone). */
extern const struct tuning tuning_plain, tuning_plain_server;

struct tunings;

#define TUNING_SIDE_EFFECTS "side_effects" /* no tool: how effects are undone */

/* From the value of `tools`, which fits the schema; NULL: nothing is said. E_CONFIG (settings that
 * contradict each other; line and key are named), E_NOMEM. */
int tunings_new(const struct yaml *y, const struct json *section, struct tunings **ret,
		struct err *e);
/* What is said of a server in its own place: `rate` and `breaker`. E_NOMEM. */
int tunings_add_server(struct tunings *t, struct str name, const struct json *server);
struct tunings *tunings_ref(struct tunings *t);
void tunings_unref(struct tunings *t); /* takes NULL */

/* Lives as long as the tunings; t may be NULL. Quick: what fits a name is found once. NULL: there
 * is no room to remember it, and tunings_read has to be asked. */
const struct tuning *tunings_find(struct tunings *t, struct str tool);
void tunings_read(const struct tunings *t, struct str tool, struct tuning *ret);
/* Never NULL; t may be. */
const struct tuning *tunings_server(const struct tunings *t, struct str name);

/* Before the attempt that follows `attempt` (1 is the first). dice: uniform in 0..1. */
unsigned retry_delay_ms(const struct retry *r, unsigned attempt, double dice);

#endif
