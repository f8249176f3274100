/*
 * ledger.h - what was done to the world, written down before it was: one SQLite file, effects.db.
 *
 *	started --> done      with its result
 *	   |   '--> failed    surely nothing was done; the key may be used again
 *	   '------> unknown   begun, and nobody knows: never run again by itself, until a person,
 *	                      a late report or the files themselves tell
 *
 * Two tables say the same. `log` is appended to and never changed: each record carries the hash of
 * the one before it, so what is changed or taken out later shows (ledger_verify). `effects` is what
 * it comes to, one row for each effect, by which keys are looked up.
 *
 * One thread writes. All that is queued goes into one transaction (synchronous=FULL), and whoever
 * waits is answered on the loop after the commit. Several processes may share the file. Each holds
 * a lock on a byte of its own in effects.lock for as long as it lives; what was started by one
 * whose byte nobody holds was interrupted, and is looked into by whoever comes across it.
 */

#ifndef EFFECT_LEDGER_H
#define EFFECT_LEDGER_H

#include "base/buf.h"
#include "effect/claims.h"
#include "loop/loop.h"

struct ledger;

/* An effect whose process died under it. */
struct effect_orphan {
	struct str effect, call, session, turn, tenant, agent, tool, key;
	const char *policy;
};

struct ledger_spec {
	struct loop *loop;
	const char *path; /* its directory is there; NULL: in memory */
	/* What came of an orphan: DONE, FAILED or UNKNOWN. May block; called while it opens, and by
	 * the writer. NULL: nobody knows. */
	enum claim_state (*judge)(const struct effect_orphan *o, void *arg);
	/* It was found, and is now in that state. On the loop. May be NULL. */
	void (*recovered)(const struct effect_orphan *o, enum claim_state state, void *arg);
	void *arg;
};
int ledger_open(const struct ledger_spec *spec, struct ledger **ret, struct err *e);
/* Writes out everything that is queued; answers under way are given in here. Takes NULL. */
void ledger_free(struct ledger *l);

/* The claims of all processes that share the file. Live as long as the ledger. */
struct claims *ledger_claims(struct ledger *l);

/* 0, or E_STORE with the reason while writing fails. It recovers by itself. */
int ledger_health(struct ledger *l, struct err *e);
/* How many are unknown and wait for somebody to tell. */
uint64_t ledger_unknown(const struct ledger *l);

/* Orphans of processes that died since; soon. */
void ledger_sweep(struct ledger *l);
/* Records from before that time are forgotten, but for effects that are not over; soon. */
void ledger_prune(struct ledger *l, int64_t before_us);

/* Memory that only makes the next look faster is given back. May block; any thread. */
void ledger_release(struct ledger *l);

/* ---- compensation ---- */

/* How far it is that an effect is taken back. */
enum compensation_step { COMPENSATION_BEGIN, COMPENSATION_DONE, COMPENSATION_FAILED };
struct compensation {
	struct str effect; /* that is taken back */
	enum compensation_step step;
	struct str by;     /* BEGIN: the effect that does it */
	struct str result; /* JSON or a sentence, or {NULL,0} */
};
/*
 * BEGIN is answered with NONE exactly once for each effect that is done, unless it FAILED in
 * between; with what stands there otherwise.
 */
int ledger_compensate(struct ledger *l, const struct compensation *c, claims_fn done, void *arg);

/* ---- reading: these block, and may be called from any thread ---- */

struct effects_query {
	struct str state;                    /* {NULL,0}: any */
	struct str session, turn, call, key; /* the same */
	struct str tenant, agent;            /* the same */
	struct str before;                   /* an id: those before it */
	bool unresolved;                     /* unknown, and nobody has told */
	bool compensatable;                  /* done, and not taken back */
	size_t limit;
};
/* Newest first, JSON objects with commas between, without arguments and results; *ret_more: there
 * are more. E_STORE, E_NOMEM. */
int ledger_list(struct ledger *l, const struct effects_query *q, struct buf *out, bool *ret_more,
		struct err *e);
/* One, with all that is known and its part of the log. E_NO_EFFECT. */
int ledger_show(struct ledger *l, struct str id, struct buf *out, struct err *e);
/* The same for taking it back: without its result and the log; *given: what its tool gave, JSON, as
 * it was, which nobody is shown; empty where that was not kept. */
int ledger_recall(struct ledger *l, struct str id, struct buf *out, struct buf *given,
		  struct err *e);
/* The log from `after` on, as JSON lines; *ret_last: the last of them, 0 at the end. */
int ledger_export(struct ledger *l, int64_t after, size_t limit, struct buf *out, int64_t *ret_last,
		  struct err *e);
/* Does the chain hold, and is what effects say what the log comes to? A JSON object that says so:
 * {"ok", "records", "effects", "anchor", "problems": [...]}. */
int ledger_verify(struct ledger *l, struct buf *out, bool *ret_ok, struct err *e);

#endif
