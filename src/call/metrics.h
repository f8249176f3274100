/*
 * metrics.h - what calls have come to: figures by tenant, agent and tool.
 *
 *	tool_figures (tenant, agent, tool) --> owner_figures (tenant, agent)
 *	                                   '-> shared_figures (tenant, tool)
 *
 * A call that is over finds its figures with one look and adds to them; names and numbers are
 * written down when somebody asks (front/metrics.c). There are LIMIT_METRIC_SERIES of each kind at
 * most; whatever comes then is counted together, as "other". Words of an agent that name no tool
 * are no label: it could make up any number of them.
 */

#ifndef CALL_METRICS_H
#define CALL_METRICS_H

#include "base/err.h"
#include "base/map.h"
#include "session/supersede.h"

/* Success, or a class of errors. */
#define METRIC_STATUSES (CLASS_CONFIRMATION_TIMEOUT + 2)
const char *metric_status_name(size_t status);

/* Upper bounds of the histogram's buckets, in microseconds and as they are shown. */
#define METRIC_BUCKETS 17
struct metric_bucket {
	uint64_t most_us;
	const char *text;
};
extern const struct metric_bucket metric_buckets[METRIC_BUCKETS];

#define METRIC_POLICIES 4 /* enum reversibility */
#define METRIC_OTHER "other"

struct owner_figures {
	const char *tenant, *agent;
	uint64_t effects[METRIC_POLICIES];
};

struct shared_figures {
	const char *tenant, *tool;
	uint64_t hits;
};

struct tool_figures {
	struct owner_figures *owner;
	struct shared_figures *shared;
	const char *tenant, *agent, *tool;
	char gateway[16]; /* who ran it first */
	uint64_t ended[METRIC_STATUSES];
	uint64_t within[METRIC_BUCKETS + 1]; /* of the last: longer than all; not cumulative */
	uint64_t timed, total_us;
};

/* What stood under a key that an effect wanted to begin with. */
enum metric_check {
	CHECK_STARTED,  /* nothing: it begins */
	CHECK_TWIN,     /* the same is under way */
	CHECK_DONE,     /* its result */
	CHECK_MISMATCH, /* other arguments */
	CHECK_UNKNOWN,  /* it was begun, and nobody knows what came of it */
	CHECK_FAILED,   /* it could not be looked up: the effect does not begin */
	CHECK__COUNT
};
const char *metric_check_name(enum metric_check c);

/* The four decisions about a message that comes while a turn is at work. */
#define METRIC_DECISIONS 4
const char *metric_decision_name(size_t i);

struct metrics {
	struct map tools, owners, shared;
	struct tool_figures other;
	struct owner_figures other_owner;
	struct shared_figures other_shared;
	uint64_t overflowed;
	uint64_t checks[CHECK__COUNT];
	uint64_t compensations[2]; /* that failed; that were done */
	uint64_t supersedes[METRIC_DECISIONS];
};

void metrics_init(struct metrics *m);
void metrics_done(struct metrics *m);

struct metric_labels {
	struct str tenant, agent, tool, gateway;
};
/* Never NULL: those of "other", when there is no room. */
struct tool_figures *metrics_get(struct metrics *m, const struct metric_labels *l);
/* The next in no particular order, "other" last if anything was counted there; NULL at the end.
 * Start with *at = 0. */
const struct tool_figures *metrics_each_tool(const struct metrics *m, size_t *at);
const struct owner_figures *metrics_each_owner(const struct metrics *m, size_t *at);
const struct shared_figures *metrics_each_shared(const struct metrics *m, size_t *at);

void tool_figures_time(struct tool_figures *f, uint64_t took_us);

void metrics_decided(struct metrics *m, enum supersede_action a);

/* A call is over, or its tool begins: counted, and told to the log where that is wanted. */
struct call;
void metrics_call_begins(const struct call *c);
void metrics_call_over(struct call *c);

#endif
