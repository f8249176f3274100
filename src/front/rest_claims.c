/* rest_claims.c - who decides what is done once, and how that one is. */

#include "effect/claims_redis.h"
#include "front/visit.h"

static void
claims_reply(const struct visit *v, int status)
{
	struct claims *c = v->front->gw->claims;
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	if (claims_redis_is(c)) {
		claims_redis_write(&w, c);
	} else {
		jw_object(&w);
		jw_member_z(&w, "backend", c ? c->ops->name : "none");
		jw_member_z(&w, "state", "ready");
		jw_end(&w);
	}
	reply_json(v->http, status, &b);
}

void
route_claims(const struct visit *v)
{
	claims_reply(v, 200);
}

void
route_claims_accept(const struct visit *v)
{
	struct claims *c = v->front->gw->claims;
	struct err e;

	if (!claims_redis_is(c))
		err_set(&e, E_FORBIDDEN, "claims are kept on this machine: nothing was forgotten");
	else if (claims_redis_accept(c, &e) == 0) {
		claims_reply(v, 202);
		return;
	}
	reply_err(v->http, &e);
}
