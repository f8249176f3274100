/*
 * turn.h - the calls of one message of the agent, and their results in the order asked.
 *
 * A turn is over when every call has its result. The last LIMIT_TURNS_KEPT ended turns of a
 * session keep their results, so that a client that lost its connection can fetch them (but for
 * long ones of a client that has no way to: it takes them); of lone ones, which have no message,
 * LIMIT_TURNS_KEPT_LONE; fewer where they pass LIMIT_TURNS_BYTES together, or those of all sessions
 * LIMIT_TURNS_TOTAL. The oldest are forgotten first, and none before its `done` has returned.
 */

#ifndef SESSION_TURN_H
#define SESSION_TURN_H

#include "mcp/behind.h"
#include "session/session.h"

enum turn_state { TURN_OPEN, TURN_COMPLETED, TURN_CANCELLED, TURN_SUPERSEDED };
const char *turn_state_name(enum turn_state s);

/* How the agent's message was shaped; the results go back in the same shape. */
enum turn_shape { SHAPE_ANTHROPIC, SHAPE_OPENAI };

struct turn_result {
	bool settled;
	struct id call;
	char *tool_use_id;  /* owned */
	char *tool;         /* stands behind it */
	size_t names_bytes; /* of both */
	bool is_error;
	const char *error_class; /* NULL when none */
	int code;                /* of tbl/errors.def; 0 when none */
	unsigned retry_after_ms; /* it is worth another try after this; 0: nothing is known */
	bool twice;              /* to do it again may be to do it twice */
	int64_t rpc_code;        /* a JSON-RPC error of an upstream; 0: none */
	struct buf rpc_data;     /* JSON, or empty */
	struct buf extra;        /* JSON members beside content and isError */
	struct buf content;      /* JSON content blocks, comma-separated */
	struct buf modified;     /* JSON strings, comma-separated */
	struct buf repairs;      /* of the input, as schema/repair.h reports them */
	struct buf artifacts;    /* JSON, comma-separated: what was kept of the result */
	int64_t latency_ms;
	bool cached;        /* it is one that was kept under its key */
	struct id effect;   /* its record in the ledger; "": there is none */
	bool unrecorded;    /* the ledger could not be told what came of it */
	struct buf unknown; /* JSON, comma-separated: effects of this agent that nobody knows the
			       outcome of, told once */
};

struct turn {
	struct id id;
	struct session *session;
	enum turn_state state;
	enum turn_shape shape;
	/* What its effects are done once in (seed 004 section 6): the caller's word, kept when a
	 * turn takes another's place; "": each of its calls stands for itself. */
	char group[LIMIT_TURN_GROUP + 1];
	bool attended;         /* somebody who can be asked stands behind this message */
	struct behind *behind; /* who made it; NULL: nobody, or gone. Borrowed */
	bool cancelling;
	bool lone; /* one call by itself: its own events say all there is */
	bool told; /* by turn.started */

	/* Messages of the user (inbox.h): what it knows of, what it has, and what came of them. */
	uint64_t heard;
	struct list begun_by, absorbed; /* struct message */
	struct id superseded_from, superseded_by;
	bool superseding;      /* given up for a message */
	bool forced;           /* to its end, whatever comes */
	struct id asks;        /* what becomes of it is being decided; "": not */
	char *stopped_at;      /* the tool that was not run for it; owned, or NULL */
	struct buf taken_back; /* JSON: what giving it up has undone, or empty */

	/* What it did so far that others can see: done (or nobody knows), and under way. */
	unsigned effects, effects_running;
	unsigned compensatable_running; /* of these */
	bool committed;                 /* one of them cannot be taken back */
	bool compensatable;             /* one of them can */

	size_t count;
	size_t settled;
	struct turn_result *results;
	int64_t started_us;
	char event[ULID_LEN + 1];                /* turn.started, or the session's */
	void (*done)(struct turn *t, void *arg); /* once, when it is over; NULL when nobody waits */
	void *arg;
	struct node node;       /* private: in the session's list */
	struct node ended_node; /* private: in the list of all sessions, once it is over */
	size_t bytes;           /* private: that it takes in memory */
};

/* tool_use_id and tool of each result are copied by turn_expect. E_NOMEM, E_LIMIT. */
int turn_open(struct session *s, size_t count, enum turn_shape shape, bool attended,
	      struct turn **ret, struct err *e);
int turn_expect(struct turn *t, size_t i, struct id call, struct str tool_use_id, struct str tool);
/* A turn that never began (its calls could not be made). */
void turn_discard(struct turn *t);
void turn_begin(struct turn *t); /* announces it, unless it is lone */
void turn_tell(struct turn *t);  /* announces it, if nobody did: others should know */
/* Whoever made it is gone: `done` is not called, nobody is told anything. */
void turn_orphan(struct turn *t);

struct turn *turn_find(const struct session *s, struct str id); /* NULL = none */

/* There is a message it has not heard of, and it may be asked what to do. */
static inline bool
turn_interrupted(const struct turn *t)
{
	return t->heard != t->session->inbox.came && !t->forced;
}

/* What came of a call, from is_error on; the buffers' contents move into the turn. The last one
 * ends the turn. A content that passes LIMIT_TURN_BYTES with those before it, or finds no room at
 * all, becomes an error that says so. */
void turn_settle(struct turn *t, size_t i, struct turn_result *came);

/* For `done`: the content moves out, and a sentence in its place says so. */
struct buf turn_take_content(struct turn *t, size_t i);

void turn_write_result(struct jw *w, const struct turn *t, size_t i); /* one, in the turn's shape */
void turn_write(struct jw *w, const struct turn *t); /* state, and results once it is over */
/* {"arg_repairs":[...], "not_recorded":true, "unknown_effects":[...]}: what there is of them. It
 * stands beside the result, not in it: providers' APIs refuse members they do not know. */
void turn_write_provenance(struct jw *w, const struct turn_result *r);
/* The array of artifacts. */
void turn_write_artifacts(struct jw *w, const struct turn_result *r);

/* Keep only the newest `keep` ended turns, and of these no more than fit. */
void turns_forget(struct session *s, size_t keep);

#endif
