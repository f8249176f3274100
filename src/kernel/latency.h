/*
 * latency.h - the latency check before every emission (contract 85 of the document's validator).
 *
 *	mode       p50  p95      over p95                    a heavy check
 *	lite       2 s  4 s      error: nothing leaves       error
 *	standard   4 s  6 s      warning                     warning
 *	strict     8 s  12 s     warning                     fine
 *
 * To reach a ceiling is not to pass it. Time comes from outside, so this is a function.
 */

#ifndef KERNEL_LATENCY_H
#define KERNEL_LATENCY_H

#include "kernel/state.h"

enum latency_status { LATENCY_OK, LATENCY_WARNING, LATENCY_ERROR };

struct latency {
	enum latency_status status;
	const char *code; /* E_LATENCY_INVARIANT, W_LATENCY_EXTRA...; NULL: fine */
	bool breach;      /* the ceiling was passed, or a heavy check made: it is entered */
	enum latency_mode mode;
	uint64_t observed_us;
	unsigned ceiling_s; /* 0: there is no such mode */
};

/* MODE_UNKNOWN for what is no mode. */
enum latency_mode latency_mode_parse(struct str name);
struct latency latency_check(enum latency_mode mode, uint64_t observed_us, bool heavy);
/* The entry of a breach in the ledger. */
void latency_enter(const struct latency *l, struct effects *fx);

#endif
