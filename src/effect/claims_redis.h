/*
 * claims_redis.h - claims that many machines share, in Redis or Valkey.
 *
 *	take    Redis: is it ours? --> ledger of this machine: started --> answer
 *	settle  ledger: what came of it --> Redis: the same, until it is through
 *
 * What was begun is in the ledger of whoever began it; Redis says who may begin. Under
 * PREFIX:KEY stands a hash: s(tate), d(igest), o(wner), e(ffect), r(esult), t (when, in us).
 *
 * Invariants:
 *  1. Nothing is taken unless PREFIX:epoch is what it was when this state directory first met the
 *     server: one that has forgotten its claims is not believed until a person says so.
 *  2. A started claim does not run out. Its owner shows that it lives by PREFIX:alive:OWNER, a few
 *     seconds at a time; a claim of one that does not is unknown.
 *  3. Whoever got a claim begins within LIMIT_CLAIM_LEASE_MS, or not at all. A claim that no
 *     ledger knows of is let go of by the same state directory, and later than that.
 */

#ifndef EFFECT_CLAIMS_REDIS_H
#define EFFECT_CLAIMS_REDIS_H

#include "effect/claims.h"
#include "json/write.h"
#include "loop/loop.h"

struct claims_redis_spec {
	struct loop *loop;
	struct claims *ledger; /* of this machine; borrowed, and freed after it */
	const char *file;      /* where it keeps who it is and what it met; NULL: nowhere */
	struct str url;        /* net/redis.h; without variables */
	struct str prefix;
};
/* Connects by itself. E_CONFIG: the URL or the file. E_UNAVAILABLE: hiredis is not there. */
int claims_redis_open(const struct claims_redis_spec *spec, struct claims **ret, struct err *e);

bool claims_redis_is(const struct claims *c);
/* 0, or E_STORE and why claims are refused now. */
int claims_redis_health(struct claims *c, struct err *e);
/* A person says: begin anew with the server as it is. E_FORBIDDEN: it has forgotten nothing. */
int claims_redis_accept(struct claims *c, struct err *e);
/* A whole object: {backend, server, key_prefix, state, problem, waiting, warning}. */
void claims_redis_write(struct jw *w, struct claims *c);

#endif
