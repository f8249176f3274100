/*
 * gateway.h - everything a call meets on its way, in one place, and what fronts may do with it.
 *
 * Fronts (REST, MCP, the command line) submit turns, cancel, answer questions and read; they
 * see neither providers nor the store.
 */

#ifndef CALL_GATEWAY_H
#define CALL_GATEWAY_H

#include "artifact/artifact.h"
#include "call/toolbox.h"
#include "base/limits.h"
#include "call/metrics.h"
#include "catalog/browse.h"
#include "catalog/catalog.h"
#include "effect/claims.h"
#include "event/bus.h"
#include "event/progress.h"
#include "event/toast.h"
#include "policy/grant.h"
#include "policy/policy.h"
#include "policy/question.h"
#include "policy/tuning.h"
#include "search/learned.h"
#include "session/session.h"
#include "session/turn.h"
#include "store/store.h"
#include "tenant/tenant.h"
#include "upstream/upstream.h"

struct call;
struct claims;
struct ledger;
struct undo;
struct guest;
struct hf_call;
struct hook;
struct hooks;
struct stage;

/* One stage of the chain, and what it has cost so far. */
struct link {
	const struct stage *stage;
	struct guest *guest; /* whose it is; NULL: everybody has it */
	uint64_t entries;
	/* Of calls in it, what they wait there too; in a rush by those that are timed. */
	uint64_t total_us, max_us;
};

enum place {
#define PLACE(name, word, next, sentence) PLACE_##name,
#include "../../tbl/places.def"
#undef PLACE
	PLACE__COUNT
};
const char *place_name(enum place p);

struct counters {
	uint64_t calls; /* taken in */
	uint64_t completed;
	uint64_t failed;
	uint64_t asked;
	uint64_t abandoned; /* tools that ignored cancel */
};

/* What a program is told that decides what becomes of a turn. */
struct supersede_ask {
	const char *session, *turn, *tool; /* the tool that is next */
	const char *message_id, *message;  /* the oldest it has not heard of */
	bool committed;
	unsigned effects;
};

/* How it is decided what becomes of a turn when a new message has come (superseding.c). */
struct superseding {
	enum supersede_action how; /* the configuration's word */
	unsigned decide_ms;        /* whoever runs the agent has so long; 0: LIMIT_DECIDE_MS */
	bool keep_compensatable; /* a turn whose effects would have to be taken back is not given up
				  */
	enum supersede_action (*asks)(const struct supersede_ask *ask, void *arg); /* or NULL */
	void *asks_arg;
	uint64_t decided[QUEUE + 1]; /* how often each, so far */
};

struct gateway {
	/* Borrowed from whoever wired it; all but store must be there. */
	struct loop *loop;
	struct catalog *catalog;
	struct policy *policy;
	struct tunings *tunings; /* how tools are run; NULL: as they say themselves */
	struct grants *grants;
	struct questions *questions;
	struct bus *bus;
	struct store *store;   /* NULL: nothing is kept */
	struct claims *claims; /* who may do what once; NULL: nobody asks */
	struct ledger *ledger; /* behind them; or NULL */
	unsigned keep_keys_s;  /* how long what a key gave is given again; 0: a day */
	struct artifacts *artifacts;
	struct sessions *sessions;
	struct toolbox_settings toolbox;
	struct tenants *tenants;     /* who there is; NULL: nobody but the default agent */
	struct upstreams *upstreams; /* the MCP servers behind; or NULL */
	/* Whose a name is that no tool has, and why if that is known; {NULL,0}: nobody's. NULL:
	 * that is never known. */
	struct str (*why_missing)(struct str tool, struct err *why, void *arg);
	void *why_missing_arg;
	struct learned *learned;     /* or NULL */
	struct progresses *progress; /* or NULL */
	struct toasts *toasts;       /* or NULL */
	struct undo *undo;           /* what files were before; or NULL */
	void (*taught)(void *arg);   /* it has changed, and should be kept; may be NULL */
	void *taught_arg;
	unsigned patience_ms;      /* with jobs that were told to stop; 0: LIMIT_ABANDON_MS */
	void (*left_behind)(void); /* one did not; may be NULL */
	const char *const *shut;   /* directories no workspace opens, NULL-terminated */
	struct superseding supersede;
	unsigned compensate_ms;      /* for one effect to be taken back; 0: LIMIT_COMPENSATE_MS */
	struct confine_house *house; /* of hooks that are programs; NULL: they are open */

	/* private to src/call */
	struct timer long_calls; /* looks for calls that have been running for long */

	struct link chain[LIMIT_STAGES]; /* the way of a call, in order */
	size_t chain_len;
	struct hooks *hooks; /* a reference; NULL: there are none */
	struct list at[PLACE__COUNT];
	struct map calls;                      /* by id */
	struct list untold;                    /* unknown effects (effects.c) */
	struct map leaders;                    /* by key: the call that goes on (st_replay.c) */
	struct map tool_meters, server_meters; /* struct meter (meter.c) */
	struct list stragglers;                /* jobs that were left behind (late.c) */
	struct counters count;
	uint64_t made; /* calls, where not all are timed */
	struct metrics metrics;
	bool catching_up;  /* held calls wait for the journal */
	unsigned watchers; /* people who would see a question */
	unsigned undoing;  /* undos under way (undoing.c) */
	bool stopping;
	void (*idle)(void *arg); /* after gateway_stop, once no call is left */
	void *idle_arg;
	struct deferred idle_soon;
};

void gateway_init(struct gateway *gw); /* the borrowed members are set */
void gateway_done(struct gateway *gw); /* no call may be left */

/* Refuse new calls and cancel the rest; idle is called when the last one is over, never inside. */
void gateway_stop(struct gateway *gw, void (*idle)(void *arg), void *arg);

/* How much of a result whoever asked gets to see. */
enum showing {
	SHOW_ENDS,     /* text beyond `results.max_bytes` is kept, its ends are shown */
	SHOW_WHOLE,    /* all of it */
	SHOW_ENVELOPE, /* a ResultEnvelope (artifact/envelope.h), as the gateway surface has it */
};

/* One call of a message. */
struct call_spec {
	struct str tool_use_id; /* {NULL,0}: one is made */
	struct str tool;
	struct json_doc *input_doc; /* borrowed; a reference is taken */
	const struct json
	    *input; /* NULL: the agent's input could not be read; input_error says why */
	const struct err *input_error;
	enum showing showing;
	struct str idempotency_key; /* the caller's own; {NULL,0}: none */
	unsigned timeout_ms;        /* in all; 0: the tool's own */
	struct str compensates;     /* the effect it takes back; {NULL,0}: none */
	unsigned usual_ms;          /* where nothing is said of the tool; 0: its own */
};
struct turn_spec {
	const struct call_spec *calls;
	size_t count;
	enum turn_shape shape;
	struct str group;      /* turn_group_id: the same call in it is done once; {NULL,0}: none */
	bool attended;         /* false: nobody behind this can be asked; only watchers could */
	bool lone;             /* no message, but one call: its own events say all there is */
	struct behind *behind; /* who made it; NULL: nobody that can be told anything. Borrowed
				  until done: whoever goes away earlier calls turn_orphan */
	void (*done)(struct turn *t, void *arg); /* may be NULL */
	void *arg;
};
/*
 * All calls of one message. They run together as far as the session's slots go, results come in
 * the order given. `done` is never called inside. E_BAD_REQUEST (no call, an id twice), E_LIMIT,
 * E_SESSION_ENDED, E_STOPPING, E_NOMEM.
 */
int gateway_submit(struct gateway *gw, struct session *s, const struct turn_spec *spec,
		   struct turn **ret, struct err *e);

/* Cancel: what waits ends at once, what runs is told to stop. All are idempotent. */
int gateway_cancel_call(struct gateway *gw, struct str id); /* E_NO_CALL */
size_t gateway_cancel_turn(struct gateway *gw,
			   struct turn *t); /* how many calls were still alive */
size_t gateway_cancel_session(struct gateway *gw, struct session *s);
void gateway_end_session(struct gateway *gw, struct session *s); /* cancel, then end */

/*
 * superseding.c. Whoever runs the agent has decided what becomes of the turn that asks; of the one
 * with this request, where several do. E_NOT_ASKED, E_BAD_REQUEST.
 */
int gateway_decide(struct gateway *gw, struct session *s, struct str request,
		   enum supersede_action action, struct turn **ret, struct err *e);

/*
 * browsing.c. What a session may see of the tools; all of them, without one. A session's queries
 * teach: `learned` hears of them when it runs what it was shown. stable: the cards a session has
 * seen come first and unchanged (seed 001 section 5). The shelf lives as long as the reply, which
 * is over before control goes back to the loop.
 */
int gateway_browse(struct gateway *gw, struct session *s, const struct browse_args *args,
		   bool stable, struct browse_reply *ret, struct err *e);
/* E_NOT_FOUND: there is no such tool, or not for this session. */
int gateway_hydrate(struct gateway *gw, struct session *s, struct str tool, struct jw *w,
		    struct err *e);

/*
 * chain.c. A stage of the program that holds the gateway, beside one that is there. Functions may
 * be missing; verdicts are those of holdfast.h. Everything is called on the loop. E_EXISTS,
 * E_NOT_FOUND (no such neighbour), E_FORBIDDEN (not there, or a call is alive), E_VALIDATION,
 * E_LIMIT, E_NOMEM.
 */
struct guest_stage {
	const char *name, *sentence;
	int (*enter)(struct hf_call *call, void *arg);
	int (*wake)(struct hf_call *call, void *arg);
	void (*leave)(struct hf_call *call, void *arg);
	void *arg;
};
int gateway_use(struct gateway *gw, const struct guest_stage *s, bool after, struct str neighbour,
		struct err *e);
/* {"stages": [...], "hooks": [...]}: the chain as it is, and what hangs on it. */
void gateway_write_pipeline(struct jw *w, const struct gateway *gw);
const char *gateway_stage_name(const struct gateway *gw, size_t i); /* i < gw->chain_len */
/* Everything that rests in such a stage looks again. */
void gateway_wake_guests(struct gateway *gw);
void gateway_wake_call(struct gateway *gw, struct str id); /* the same of one; no-op without it */

/* hooks.c. One more function, or other programs instead of those before; calls that are past them
 * keep theirs. References are taken. E_LIMIT, E_NOMEM: all stays as it was. */
int gateway_hook(struct gateway *gw, struct hook *h, struct err *e);
int gateway_set_programs(struct gateway *gw, struct hook *const *programs, size_t count,
			 struct err *e);

/*
 * undoing.c. What a call or a turn did to files is taken back, or what the last did in a workspace
 * (in it, above or below it; {NULL,0}: anywhere). `answer` is JSON, to be taken or not; with an
 * error it means nothing. Called once, on the loop, never inside, unless these fail at once.
 */
typedef void (*gateway_answer_fn)(const struct err *e, struct buf *answer, void *arg);
struct undo_order {
	struct str call, turn; /* {NULL,0}: not by this */
	bool last;
	struct str workspace;
	bool force, dry_run;
	size_t most; /* of the answer: a longer one has its numbers alone. 0: all of it */
};
int gateway_undo(struct gateway *gw, const struct undo_order *o, gateway_answer_fn done, void *arg,
		 struct err *e);
/* history.c. Newest first. */
struct changes_query {
	struct str session, call; /* {NULL,0}: all */
	struct str pattern;       /* base/glob.h; "": all */
	size_t limit;
};
int gateway_changes(struct gateway *gw, const struct changes_query *q, gateway_answer_fn done,
		    void *arg, struct err *e);

/*
 * effects.c. The ledger (effect/ledger.h), for people. Answers as above. resolve: a person has
 * looked what became of an unknown one; E_NO_EFFECT, E_ANSWERED, E_IN_FLIGHT.
 */
struct effects_query;
struct effect_orphan;
int gateway_effects(struct gateway *gw, const struct effects_query *q, gateway_answer_fn done,
		    void *arg, struct err *e);
int gateway_effect_show(struct gateway *gw, struct str id, gateway_answer_fn done, void *arg,
			struct err *e);
int gateway_effects_export(struct gateway *gw, int64_t after, size_t limit, gateway_answer_fn done,
			   void *arg, struct err *e);
int gateway_effects_verify(struct gateway *gw, gateway_answer_fn done, void *arg, struct err *e);
int gateway_effect_resolve(struct gateway *gw, struct str id, bool was_done, struct str note,
			   gateway_answer_fn done, void *arg, struct err *e);
/* The ledger found one whose process had died: its agent is told with the next result. */
void gateway_recovered(struct gateway *gw, const struct effect_orphan *o, enum claim_state state);

/* A person is looking at this gateway's events and could answer. */
void gateway_watch(struct gateway *gw, bool begins);

/* It can be listed and called: the agent may use it. */
bool tool_visible(const struct tool *t, const struct session *s);
/* Its tenant has it, but it is disabled for the agent; what is to be said then. */
bool tool_disabled(const struct tool *t, const struct session *s);
int tool_say_disabled(const struct tool *t, const struct session *s, struct err *e);
/* There is none of that name: whose it would be and why it is missing, or one that is near. */
int tool_say_unknown(const struct gateway *gw, const struct session *s, struct str name,
		     struct err *e);
/* After agents were removed: their sessions end. */
void gateway_end_orphans(struct gateway *gw);

/* Members of an open object: how the breaker of a server stands, and when it is tried again. */
void gateway_write_breaker(struct jw *w, const struct gateway *gw, struct str server);

/* Counts per place, sessions, questions, totals. */
void gateway_write_status(struct jw *w, const struct gateway *gw); /* members of an open object */
/* One call that is alive, by its id or tool_use_id; false when there is none. */
bool gateway_write_call(struct jw *w, const struct gateway *gw, struct str id);
/* Calls that are alive, as the journal shows them. */
void gateway_write_live(struct jw *w, const struct gateway *gw, struct str session);

#endif
