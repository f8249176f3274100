/* quota.c - a ring of the times of the last calls. */

#include "policy/quota.h"

#include <stdlib.h>

#include "base/err.h"

void
quota_done(struct quota *q)
{
	free(q->times);
	*q = (struct quota){0};
}

/* 1 is the newest; there are that many. */
static uint64_t
newest(const struct quota *q, unsigned nth)
{
	return q->times[(q->next + q->cap - nth) % q->cap];
}

uint64_t
quota_wait_ms(const struct quota *q, const struct rate *r, uint64_t now_ms)
{
	if (r->calls == 0 || q->len < r->calls)
		return 0;
	uint64_t due_ms = newest(q, r->calls) + r->per_ms;
	return due_ms > now_ms ? due_ms - now_ms : 0;
}

/* Another rate holds: the newest that fit stay. */
static int
fit(struct quota *q, unsigned cap)
{
	uint64_t *times = calloc(cap, sizeof(*times));
	unsigned len = q->len < cap ? q->len : cap;

	if (!times)
		return E_NOMEM;
	for (unsigned i = 0; i < len; i++)
		times[i] = newest(q, len - i);
	free(q->times);
	*q = (struct quota){.times = times, .cap = cap, .len = len, .next = len % cap};
	return 0;
}

int
quota_take(struct quota *q, const struct rate *r, uint64_t now_ms)
{
	int code;

	if (r->calls == 0)
		return 0;
	if (q->cap != r->calls && (code = fit(q, r->calls)) < 0)
		return code;
	q->times[q->next] = now_ms;
	q->next = (q->next + 1) % q->cap;
	q->len += q->len < q->cap;
	return 0;
}
