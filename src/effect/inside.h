/* inside.h - the ledger from inside; for src/effect and its tests only. */

#ifndef EFFECT_INSIDE_H
#define EFFECT_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "base/sha256.h"
#include "db/db.h"
#include "effect/ledger.h"

/* The texts of a thing to be written; not every thing has each. */
enum text {
	T_EFFECT,
	T_KEY,
	T_DIGEST,
	T_CALL,
	T_SESSION,
	T_TURN,
	T_GROUP,
	T_TENANT,
	T_AGENT,
	T_TOOL,
	T_POLICY,
	T_ARGS,
	T_COMPENSATION_TOOL,
	T_COMPENSATES,
	T_RESULT,
	T_ERROR,
	T_GIVEN,
	T_BY,
	T_NOTE,
	T__COUNT
};

enum op_kind {
	OP_LOOK,
	OP_TAKE,
	OP_SETTLE,
	OP_PUT, /* one that is done and was never taken */
	OP_COMPENSATE,
	OP_SWEEP,
	OP_PRUNE,
};

/* Something for the writer to do, in one block with its texts. */
struct op {
	struct op *next;
	enum op_kind kind;
	struct str texts[T__COUNT];
	enum claim_state state; /* SETTLE */
	enum compensation_step step;
	int64_t at_us; /* PRUNE: before this */
	uint64_t keep_ms;
	bool twice;
	size_t bytes;
	claims_fn done; /* NULL: nobody waits */
	void *arg;

	/* the answer */
	struct err err;
	struct claim_found found; /* texts in found_text */
	struct buf found_text;
};

enum statement {
	ST_BEGIN,
	ST_COMMIT,
	ST_ROLLBACK,
	ST_BY_CLAIM,
	ST_BY_ID,
	ST_INSERT,
	ST_RELEASE,
	ST_SETTLE,
	ST_SETTLE_OWN,
	ST_REPEATED,
	ST_COMPENSATION,
	ST_GIVEN_PUT,
	ST_GIVEN_DROP,
	ST_OWNERS,
	ST_ORPHANS,
	ST_COUNT_UNKNOWN,
	ST_LOG_LAST,
	ST_LOG_ADD,
	ST_ANCHOR,
	ST_ANCHOR_SET,
	ST_PRUNE_LAST,
	ST_PRUNE_LOG,
	ST_PRUNE_EFFECTS,
	ST_PRUNE_GIVEN,
	ST_CARRY,
	ST__COUNT
};

/* The end of the chain, while a transaction appends to it. */
struct chain {
	int64_t seq; /* 0: there is nothing yet */
	unsigned char hash[SHA256_BYTES];
};

/* An orphan that was found; told on the loop. In one block with its texts. */
struct recovered {
	struct recovered *next;
	enum claim_state state;
	struct effect_orphan orphan;
};
void recovered__free(struct recovered *all); /* takes NULL */

struct ledger {
	struct claims claims; /* the ledger's own */
	struct ledger_spec spec;
	char *path;    /* own; NULL: in memory */
	char name[40]; /* of the memory */
	int64_t owner; /* our number */
	int lock_fd;   /* holds our byte; -1 in memory */
	struct mailbox box;
	bool boxed;

	/* the loop's */
	struct op *telling; /* answered, and some of them told */
	struct deferred more;

	/* the writer's */
	sqlite3 *db;
	sqlite3_stmt *st[ST__COUNT];
	struct chain chain;
	struct buf body;
	bool in_write;                        /* a transaction is open */
	bool must_write;                      /* what only looks found something to write */
	struct op *again;                     /* could not be written, and has to be */
	struct recovered *fresh, **fresh_end; /* found in this transaction */
	pthread_t thread;
	bool started;
	atomic_uint_fast64_t unknown;

	pthread_mutex_t lock; /* for all below */
	pthread_cond_t news;
	struct op *queue, **queue_end;
	struct op *answered, **answered_end;
	struct recovered *recovered, **recovered_end;
	size_t queued, queued_bytes; /* until they are answered */
	unsigned failures;           /* in a row */
	struct err failure;
	bool stopping;
	bool idle; /* the writer waits for news */

	/* readers'; one at a time */
	pthread_mutex_t read_lock;
	sqlite3 *reader; /* opened when it is first needed */
};

/* owner.c */
int ledger__own(struct ledger *l, struct err *e); /* a number of our own, and its lock */
bool ledger__alive(const struct ledger *l, int64_t owner);
void ledger__disown(struct ledger *l);

/* write.c */
int ledger__put(struct ledger *l, enum op_kind kind, const struct op *like);
int ledger__start(struct ledger *l, struct err *e);
void ledger__stop(struct ledger *l);
void ledger__deliver(void *l); /* on the loop; the rest soon */
void ledger__deliver_all(struct ledger *l);
void op__free(struct op *op);

/* act.c - each of them in the writer's transaction. All answer with SQLite's codes. */
int ledger__act(struct ledger *l, struct op *op);
int ledger__sweep_now(struct ledger *l);
int ledger__commit(struct ledger *l);
extern const char *const ledger__sql[ST__COUNT];

/* chain.c */
struct link_text {
	struct str effect;
	int64_t at_us;
	struct str kind, body;
};
void ledger__hash(const struct chain *before, int64_t seq, const struct link_text *t,
		  unsigned char out[static SHA256_BYTES]);
int ledger__chain_load(struct ledger *l); /* where it ends now, in this transaction */
int ledger__chain_add(struct ledger *l, const struct link_text *t);

/* read.c - the readers' connection, locked: for read_end. */
int ledger__reader(struct ledger *l, struct err *e);
void ledger__read_end(struct ledger *l);

/* claims_sqlite.c */
void claims__sqlite_init(struct ledger *l);

/* ledger.c */
int ledger__connect(const struct ledger *l, sqlite3 **ret, struct err *e);

#endif
