/* claims_redis_inside.h - claims in Redis from inside; for claims_redis*.c alone. */

#ifndef EFFECT_CLAIMS_REDIS_INSIDE_H
#define EFFECT_CLAIMS_REDIS_INSIDE_H

#include "base/limits.h"
#include "base/list.h"
#include "base/ulid.h"
#include "effect/claims_redis.h"
#include "net/redis.h"

#define CLAIMS_TOKEN (2 * ULID_LEN + 2) /* HOME.PROCESS */

struct claims_redis {
	struct claims claims;
	struct loop *loop;
	struct claims *ledger;
	struct redis_address address;
	struct redis *redis;
	char *file; /* NULL: nothing is kept */
	char *prefix;
	char where[LIMIT_HOST_BYTES + 16];
	char home[ULID_LEN + 1];
	char token[CLAIMS_TOKEN];
	char epoch[ULID_LEN + 1]; /* that was met; "": none yet */

	bool up, ready, lost, accepting;
	struct err problem; /* while it is not ready */
	char warning[160];  /* "": there is none */
	bool warned;
	struct timer beat;
	struct list waiting; /* struct errand (claims_redis.c): to be settled in Redis when it is
				there again */
	size_t errands;      /* under way, waiting or not */
	struct work saving;
	bool saves, closing;
	unsigned holds; /* what still comes back to us */
};

static inline struct claims_redis *
claims__of(struct claims *c)
{
	return CONTAINER_OF(c, struct claims_redis, claims);
}

/* claims_redis.c */
extern const struct claims_ops claims__redis_ops;
int claims__run(struct claims_redis *c, const char *script, const struct str *keys,
		size_t key_count, const struct str *args, size_t arg_count, redis_fn done,
		void *arg);
void claims__settle_waiting(struct claims_redis *c); /* what Redis has not heard yet */
void claims__drop_waiting(struct claims_redis *c);
void claims__look_for_left(struct claims_redis *c); /* by processes that are gone */

/* claims_redis_server.c */
static inline void
claims__hold(struct claims_redis *c)
{
	c->holds++;
}
void claims__release(struct claims_redis *c);
void claims__not_ready(struct claims_redis *c, const char *why);
void claims__lost(struct claims_redis *c); /* the server has forgotten */
void claims__free(struct claims *claims);

#endif
