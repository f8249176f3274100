/* breaker.c - counting failures in slices of time, and what follows from them. */

#include "policy/breaker.h"

#include <string.h>

static uint64_t
slice_number(const struct breaker_tuning *t, uint64_t now_ms)
{
	uint64_t length = t->window_ms / BREAKER_SLICES;

	return now_ms / (length ? length : 1);
}

static void
note(struct breaker *b, const struct breaker_tuning *t, bool good, uint64_t now_ms)
{
	uint64_t number = slice_number(t, now_ms);
	size_t i = number % BREAKER_SLICES;

	if (b->slices[i].number != number) {
		memset(&b->slices[i], 0, sizeof(b->slices[i]));
		b->slices[i].number = number;
	}
	b->slices[i].good += good;
	b->slices[i].bad += !good;
}

static bool
is_too_much(const struct breaker *b, const struct breaker_tuning *t, uint64_t now_ms)
{
	uint64_t number = slice_number(t, now_ms), good = 0, bad = 0;

	for (size_t i = 0; i < BREAKER_SLICES; i++) {
		if (b->slices[i].number + BREAKER_SLICES <= number)
			continue;
		good += b->slices[i].good;
		bad += b->slices[i].bad;
	}
	return bad >= t->failures && bad >= good;
}

uint64_t
breaker_wait_ms(const struct breaker *b, const struct breaker_tuning *t, uint64_t now_ms)
{
	if (t->failures == 0 || b->state == BREAKER_CLOSED)
		return 0;
	if (b->state == BREAKER_TRYING)
		return BREAKER_TRYING_MS;
	uint64_t due_ms = b->opened_ms + t->rest_ms;
	return due_ms > now_ms ? due_ms - now_ms : 0;
}

bool
breaker_begin(struct breaker *b)
{
	if (b->state != BREAKER_OPEN)
		return false;
	b->state = BREAKER_TRYING;
	return true;
}

static bool
close_it(struct breaker *b)
{
	bool was = b->state != BREAKER_CLOSED;

	memset(b, 0, sizeof(*b));
	return was;
}

bool
breaker_end(struct breaker *b, const struct breaker_tuning *t, bool tried,
	    enum breaker_outcome outcome, uint64_t now_ms)
{
	if (t->failures == 0)
		return close_it(b);
	if (b->state == BREAKER_TRYING && tried) {
		if (outcome == BREAKER_GOOD)
			return close_it(b);
		b->state = BREAKER_OPEN;
		if (outcome == BREAKER_BAD)
			b->opened_ms = now_ms; /* of one that nothing is known of, the next tries */
		return false;
	}
	/* What was under way when it opened says nothing new. */
	if (b->state != BREAKER_CLOSED || outcome == BREAKER_UNKNOWN)
		return false;
	note(b, t, outcome == BREAKER_GOOD, now_ms);
	if (outcome == BREAKER_GOOD || !is_too_much(b, t, now_ms))
		return false;
	b->state = BREAKER_OPEN;
	b->opened_ms = now_ms;
	return true;
}

const char *
breaker_word(const struct breaker *b, const struct breaker_tuning *t, uint64_t now_ms)
{
	if (t->failures == 0 || b->state == BREAKER_CLOSED)
		return "closed";
	return b->state == BREAKER_OPEN && breaker_wait_ms(b, t, now_ms) > 0 ? "open" : "half_open";
}
