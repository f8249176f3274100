/*
 * router.h - the strict door: an envelope goes in, exactly one emission comes out.
 *
 * The steps are a table in router.c, in the order of the document:
 *
 *	envelope  namespace  index  caps  payload  preconditions  idempotency  quota  execute
 *
 * and then, before anything leaves: the result's schema, the latency check, the emission's schema.
 * A kernel is a function of (index, state, clock, envelope) to (emission, state): no loop, no
 *files, no randomness. Only a tool of the catalog is run elsewhere, between kernel_take and
 * kernel_settle; whoever holds the kernel sees to it that nothing else is taken meanwhile.
 */

#ifndef KERNEL_ROUTER_H
#define KERNEL_ROUTER_H

#include "kernel/index.h"
#include "kernel/latency.h"

struct kernel;

/* Both are asked once when an envelope comes, the second once more before its emission leaves. */
struct kernel_clock {
	int64_t (*wall_us)(void *arg);
	uint64_t (*mono_us)(void *arg);
	void *arg;
};

struct kernel_spec {
	struct kernel_index *index;       /* a reference is taken */
	const struct json *state;         /* NULL: as a session begins */
	const struct kernel_clock *clock; /* NULL: the system's; copied */
};

/* E_VALIDATION: the state does not fit; E_NOMEM. */
int kernel_new(const struct kernel_spec *spec, struct kernel **ret, struct err *e);
void kernel_free(struct kernel *k); /* takes NULL */

struct emission {
	struct str text; /* one line of JSON, without its end; valid until the next is taken */
	bool ok;         /* it is a tool.emit */
	struct latency latency;
};

/* A tool of the catalog that is to be run, through the whole pipeline. */
struct kernel_order {
	struct str tool;            /* its id */
	struct json_doc *input_doc; /* borrowed, until kernel_settle */
	const struct json *input;
};

/* True: the emission is here. False: *order is to be run, and what came of it given to
 * kernel_settle. */
bool kernel_take(struct kernel *k, struct str envelope, struct emission *ret,
		 struct kernel_order *order);

/* What came of an order: the result as a JSON object, or an error of tbl/errors.def. */
struct kernel_outcome {
	struct str result;
	int error;         /* 0: there is a result */
	struct str reason; /* why there is none */
};
void kernel_settle(struct kernel *k, const struct kernel_outcome *came, struct emission *ret);

const struct kernel_state *kernel_state(const struct kernel *k);
const struct kernel_index *kernel_index(const struct kernel *k);

#endif
