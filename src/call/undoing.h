/* undoing.h - an order to undo, while it is carried out. For src/call only. */

#ifndef CALL_UNDOING_H
#define CALL_UNDOING_H

#include "base/clock.h"
#include "call/compensating.h"
#include "undo/undo.h"

struct step {
	struct step *next;
	struct undo_step is;
};

struct undoing {
	struct gateway *gw;
	struct arena *arena;
	struct id call;
	struct undo_ask ask;
	struct step *first, **end;
	size_t undone, failed, irreversible;
	struct effect_step *effects, **effects_end; /* newest first */
	struct effect_step *at;                     /* the next one */
	struct effect_step *busy;                   /* whose files are being undone */
	size_t numbers;
	bool found_last;              /* which call is meant by `last` is known, if any */
	char last_change[CLOCK_TEXT]; /* when the last file was changed there; "": never */
	struct id last_call;          /* by whom */
	struct workspace *where;      /* for calls that take effects back; NULL: not yet, or none */
	char where_path[LIMIT_PATH];
	struct err where_err;
	bool cut;    /* there was no memory for all steps */
	size_t most; /* of the answer; 0: all of it */
	struct err err;
	int64_t opened_us;
	uint64_t opened_mono_us;
	gateway_answer_fn done;
	void *arg;
	struct work work;
};

/* undo_plan.c, on a worker: what the ledger has of it, newest first, in u->effects; or u->err. */
void undo_plan(struct undoing *u);

/* undo_told.c: its row of the journal, its events when it is over, and the answer. */
void undo_journal(const struct undoing *u, const char *state);
void undo_tell(const struct undoing *u);
void undo_answer_write(struct buf *out, const struct undoing *u);

#endif
