/*
 * quota.h - so many calls in so much time, over a window that slides.
 *
 * The times of the last calls are kept, as many as are allowed: so it is known to the millisecond
 * when the next one may come. Pure: the time is given.
 */

#ifndef POLICY_QUOTA_H
#define POLICY_QUOTA_H

#include <stddef.h>
#include <stdint.h>

struct rate {
	unsigned calls; /* 0: as many as come */
	unsigned per_ms;
};

struct quota {
	uint64_t *times; /* a ring; the newest is before `next` */
	unsigned cap, len, next;
};

void quota_done(struct quota *q); /* zeroed memory too */

/* How long until one more may come; 0: now. */
uint64_t quota_wait_ms(const struct quota *q, const struct rate *r, uint64_t now_ms);
/* One more has come. E_NOMEM. */
int quota_take(struct quota *q, const struct rate *r, uint64_t now_ms);

#endif
