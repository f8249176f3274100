/*
 * claims.h - who may do a keyed thing, and what came of it: one answer for all who share them.
 *
 *	look ---> nothing, or what stands under the key
 *	take ---> it is ours now, durably; or what stands there
 *	settle -> what came of it: only by whoever took it
 *
 * A key is started by one owner. What it was started with (the digest of the arguments) never
 * changes. A claim that was started and whose owner is gone is unknown: nobody may take it, unless
 * it is settled first. Presence decides: a result of {} is a result.
 *
 * Backends are siblings: claims_sqlite.c, the ledger's own table, for all processes of this
 * machine; claims_redis.c, for many machines. Every answer comes later, on the loop, exactly once.
 */

#ifndef EFFECT_CLAIMS_H
#define EFFECT_CLAIMS_H

#include "base/err.h"
#include "base/str.h"

enum claim_state {
	CLAIM_NONE,    /* nothing stands there */
	CLAIM_STARTED, /* its owner is at work */
	CLAIM_DONE,    /* with a result */
	CLAIM_FAILED,  /* nothing was done: it may be taken again */
	CLAIM_UNKNOWN, /* started, and nobody knows what came of it */
};

/* What stands under a key. Valid inside the answer only. */
struct claim_found {
	enum claim_state state;
	struct str digest; /* of the arguments it was started with */
	struct str owner;  /* who started it */
	struct str effect; /* the id of its record, in the ledger of whoever started it */
	struct str result; /* JSON, of one that is done */
	int64_t at_us;     /* wall: when it came into this state */
};

/*
 * 0 with what was found (look, take: CLAIM_NONE of take means that it is the asker's now), or
 * E_STORE, with the reason, when the claims cannot be reached: an effect that needs one does not
 * begin then.
 */
typedef void (*claims_fn)(const struct err *e, const struct claim_found *found, void *arg);

struct claim_ask {
	struct str key, digest, effect;
	uint64_t keep_ms; /* how long what comes of it is remembered */
};

struct claims {
	const struct claims_ops *ops;
};

struct claims_ops {
	const char *name;
	int (*look)(struct claims *c, struct str key, claims_fn done, void *arg);
	int (*take)(struct claims *c, const struct claim_ask *ask, claims_fn done, void *arg);
	/* `state` is not STARTED; NONE lets go of it. A claim of somebody else is left as it is
	 * and shown in the answer. */
	int (*settle)(struct claims *c, const struct claim_ask *ask, enum claim_state state,
		      struct str result, claims_fn done, void *arg);
	void (*free)(struct claims *c); /* answers under way are given first, or E_STORE */
};

#endif
