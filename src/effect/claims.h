/*
 * claims.h - who may do a keyed thing, and what came of it: one answer for all who share them.
 *
 *	look ---> nothing, or what stands under the key
 *	take ---> it is ours now, durably; or what stands there
 *	settle -> what came of it: only of the effect that took it
 *
 * A key is started by one owner. What it was started with (the digest of the arguments) never
 * changes. A claim that was started and whose owner is gone is unknown: nobody may take it, unless
 * it is settled first, or doing it twice does no harm. Presence decides: a result of {} is a
 *result.
 *
 * Backends are siblings: claims_sqlite.c, the ledger's own table, for all processes of this
 * machine; claims_redis.c, for many machines, with the ledger of this machine behind it: whatever
 * is taken is in the ledger, too, before `take` answers, and what comes of it before `settle` does.
 * Every answer comes later, on the loop, exactly once, unless the function itself fails.
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
	CLAIM__COUNT
};
const char *claim_state_name(enum claim_state s); /* "started"; "none" of none */
bool claim_state_parse(struct str name, enum claim_state *ret);

/* What stands under a key. Valid inside the answer only. */
struct claim_found {
	enum claim_state state;
	struct str digest; /* of the arguments it was started with */
	struct str owner;  /* who started it */
	struct str effect; /* the id of its record, in the ledger of whoever started it */
	struct str result; /* of one that is done (emission.h); {NULL,0}: it was not kept */
	int64_t at_us;     /* wall: when it came into this state */
};

/*
 * 0 with what was found (look: FAILED and what is too old are NONE; take: NONE means that it is the
 * asker's now), or E_STORE, with the reason, when the claims cannot be reached: an effect that
 * needs one does not begin then.
 */
typedef void (*claims_fn)(const struct err *e, const struct claim_found *found, void *arg);

/* What the ledger writes down of an effect that begins. {NULL,0} where there is nothing. */
struct effect_record {
	struct str call, session, turn, group, tenant, agent, tool;
	const char *policy; /* its reversibility */
	struct str args;    /* JSON; too long ones are known by their digest alone */
	struct str compensation_tool, compensates;
};

struct claim_ask {
	struct str key;    /* {NULL,0}: it stands for itself, and is only written down */
	struct str digest; /* of the arguments */
	struct str effect; /* eff_..., the caller's to make */
	uint64_t keep_ms;  /* how long what comes of it is remembered */
	bool twice;        /* doing it again does no harm: an unknown one may be taken */
	const struct effect_record *record;
};

/* What came of an effect. */
struct claim_end {
	struct str key, effect;
	enum claim_state state; /* DONE, FAILED or UNKNOWN */
	struct str result;      /* of one that is done; {NULL,0}: not kept */
	struct str error;       /* of others, a sentence */
	struct str given; /* JSON, what its tool gave, for taking it back: the ledger's alone */
	const char *by;   /* who found out later: "late", "person"...; NULL: the call */
	struct str note;  /* theirs, or {NULL,0} */
	/* Of a pure one, that nobody took before it ran: all about it. It is put there if the key
	 * is free, and nobody waits for the disk. */
	const struct claim_ask *untaken;
};

struct claims {
	const struct claims_ops *ops;
};

/* done may be NULL for settle. */
struct claims_ops {
	const char *name;
	int (*look)(struct claims *c, struct str key, claims_fn done, void *arg);
	int (*take)(struct claims *c, const struct claim_ask *ask, claims_fn done, void *arg);
	/* Of one that is started, or unknown when somebody found out later (`by`). Otherwise what
	 * stands there is left as it is, and shown in the answer; NONE: there is no such effect. */
	int (*settle)(struct claims *c, const struct claim_end *end, claims_fn done, void *arg);
	void (*free)(struct claims *c); /* answers under way are given first, or E_STORE */
};

#endif
