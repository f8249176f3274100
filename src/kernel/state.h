/*
 * state.h - what a kernel session remembers: meta_locus, the ledger, the last moves.
 *
 * Session-local and nowhere else. Tools read it and say what is to become of it (struct effects);
 * only the router changes it, once the result has been found to fit. The JSON form
 * (data/kernel/state.v1.json) goes both ways: a state that was written and read again is the same.
 *
 * fracture_active is not kept: it is that the review queue is not empty.
 */

#ifndef KERNEL_STATE_H
#define KERNEL_STATE_H

#include "base/limits.h"
#include "json/write.h"

enum latency_mode { MODE_LITE, MODE_STANDARD, MODE_STRICT, MODE_UNKNOWN };
enum drift { DRIFT_NONE, DRIFT_DRIFT, DRIFT_EVOLUTION };
enum decision { DECISION_NONE, DECISION_ALLOW, DECISION_REVISE, DECISION_BLOCK };
enum ledger_type { LEDGER_POLICY, LEDGER_ARCHIVE, LEDGER_WAITING, LEDGER_LATENCY };

extern const char *const drift_names[];    /* by enum drift */
extern const char *const decision_names[]; /* by enum decision; "" for none */
extern const char *const ledger_names[];   /* by enum ledger_type */
extern const char *const mode_names[];     /* by enum latency_mode, without the unknown */

#define KERNEL_TIME 33 /* a time as text, with the NUL */
#define KERNEL_CODE 33 /* V_..., with the NUL */
/* Room for so many characters, which is what state.v1.json counts, in bytes. */
#define KERNEL_CHARS(n) (4 * (n) + 1)

struct ledger_entry {
	enum ledger_type type;
	enum decision decision; /* of a policy_event */
	char code[KERNEL_CODE]; /* the same; "": none */
	char id[KERNEL_CHARS(32)];
	char ts[KERNEL_TIME];
	char ref[KERNEL_CHARS(128)]; /* "": null */
	char *meta;                  /* own: JSON object */
};

struct kernel_move {
	char id[KERNEL_CHARS(64)];
	char ts[KERNEL_TIME];
	char ref[KERNEL_CHARS(128)];
};

struct kernel_state {
	bool accepted;
	bool containment;                    /* only ever with a review queue that is not empty */
	char *reviews[LIMIT_KERNEL_REVIEWS]; /* own */
	size_t review_count;
	enum latency_mode mode;
	char aim[KERNEL_CHARS(256)]; /* the last that was scanned for; "": none */
	enum drift drift;
	struct ledger_entry *ledger; /* LIMIT_KERNEL_LEDGER of them, made with the first */
	size_t ledger_len;
	int64_t sequence;                             /* of the last entry */
	struct kernel_move moves[LIMIT_KERNEL_MOVES]; /* the oldest first */
	size_t move_count;
	char clock[KERNEL_TIME]; /* time stands still; "": it does not */
};

void state_init(struct kernel_state *s); /* as a session begins */
void state_done(struct kernel_state *s);

/* What fits data/kernel/state.v1.json; what is not given is as a session begins. E_NOMEM,
 * E_VALIDATION for what a schema cannot tell. On failure *ret is as after state_init. */
int state_read(const struct json *v, struct kernel_state *ret, struct err *e);
void state_write(struct jw *w, const struct kernel_state *s);
void state_write_move(struct jw *w, const struct kernel_move *m);

/* What a tool wants to become of the state. */
struct effects {
	bool enters;               /* an entry for the ledger, */
	struct ledger_entry entry; /* of this type, ref, decision and code; without id, ts, meta */
	struct buf meta;           /* the members of its meta, as JSON */
	bool contains;             /* containment begins */
	bool scanned;              /* aim and drift are known */
	char aim[sizeof(((struct kernel_state *)0)->aim)];
	enum drift drift;
	bool moved; /* it was a move: remembered by this id and reference */
	struct kernel_move move;
};

static inline bool
state_ledger_full(const struct kernel_state *s)
{
	return s->ledger_len >= LIMIT_KERNEL_LEDGER;
}

/* All of it or nothing. E_NOMEM; E_LIMIT: the ledger is full. */
int state_apply(struct kernel_state *s, const struct effects *fx, const char *ts, struct err *e);

#endif
