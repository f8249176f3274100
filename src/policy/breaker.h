/*
 * breaker.h - whoever keeps failing is left alone for a while, then tried once.
 *
 *	closed --too many failures in the window--> open --its rest is over, a call comes--> trying
 *	  ^                                          ^                                        |
 *	  '------------------- it went well ---------'-------------- it failed ---------------'
 *
 * Too many: as many as the tuning says, and at least half of what was tried in the window. What
 * counts as a failure is for the caller to say. Pure: the time is given.
 */

#ifndef POLICY_BREAKER_H
#define POLICY_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

/* After so many failures in the window nothing is sent for a while; then one call tries. */
struct breaker_tuning {
	unsigned failures; /* 0: never */
	unsigned window_ms, rest_ms;
};

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_TRYING };
enum breaker_outcome { BREAKER_GOOD, BREAKER_BAD, BREAKER_UNKNOWN };

#define BREAKER_SLICES 8       /* of the window, which slides by one */
#define BREAKER_TRYING_MS 1000 /* while one tries, others are told to come back after this */

struct breaker {
	enum breaker_state state;
	uint64_t opened_ms;
	struct {
		uint64_t number;
		unsigned good, bad;
	} slices[BREAKER_SLICES];
};

/* How long until one may be sent; 0: now. */
uint64_t breaker_wait_ms(const struct breaker *b, const struct breaker_tuning *t, uint64_t now_ms);

/* One is sent now; breaker_wait_ms is 0. True: it is the one that tries. */
bool breaker_begin(struct breaker *b);
/* What came of it, and whether it was the one that tried. True: it is open now and was not before,
 * or the other way round. */
bool breaker_end(struct breaker *b, const struct breaker_tuning *t, bool tried,
		 enum breaker_outcome outcome, uint64_t now_ms);

/* "closed", "open", "half_open". */
const char *breaker_word(const struct breaker *b, const struct breaker_tuning *t, uint64_t now_ms);

#endif
