/*
 * tool.h - the kernel's own tools: functions of a payload and a state, with no model behind them.
 *
 *   tool_policy.c   policy.query, policy.enforce, policy.report
 *   tool_closure.c  closure.spiral, closure.archive, closure.waiting_with
 *   tool_lens.c     lens.edge, move.align_scan: words looked at, nothing understood
 *   tool_recap.c    recap.spec and its validator
 *
 * They change nothing: what is to become of the state they say in run->fx.
 */

#ifndef KERNEL_TOOL_H
#define KERNEL_TOOL_H

#include "kernel/state.h"

struct tool_run {
	const struct kernel_state *state;
	const struct json *payload; /* it fits its schema */
	const char *now;            /* as text */
	struct jw *w;               /* an open object: the result's members */
	struct effects *fx;         /* zeroed */
};

struct kernel_tool {
	const char *id;
	void (*run)(struct tool_run *t);
	bool moves;  /* its results are remembered as moves */
	bool enters; /* it appends to the ledger */
	/* What is wrong with a result, as members of violations: {field, reason}; NULL: there is no
	 * validator. */
	void (*validate)(struct jw *violations, const struct json *payload,
			 const struct json *result);
};

const struct kernel_tool *kernel_tool_find(struct str id); /* NULL = none */

void tool_policy_query(struct tool_run *t);
void tool_policy_enforce(struct tool_run *t);
void tool_policy_report(struct tool_run *t);
void tool_closure_spiral(struct tool_run *t);
void tool_closure_archive(struct tool_run *t);
void tool_closure_waiting_with(struct tool_run *t);
void tool_lens_edge(struct tool_run *t);
void tool_move_align_scan(struct tool_run *t);
void tool_recap_spec(struct tool_run *t);
void tool_recap_validate(struct jw *violations, const struct json *payload,
			 const struct json *result);

#define KERNEL_VERSION "1.6.0-dev" /* of the document */

/* A member of at most so many characters. */
static inline void
tool_line(struct jw *w, const char *key, struct str text, size_t chars)
{
	jw_member(w, key, chars_upto(text, chars));
}

#endif
