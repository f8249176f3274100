/*
 * stage.h - what a stage is, and what it may do to a call. For src/call only.
 *
 * enter runs once on the way in; wake each time something the stage waits for may have
 * happened; leave once on the way out, in reverse order, always: on success, failure, denial
 * and cancel alike. What must always happen hangs on leave. What has to wait on the way out is in
 * after: it runs before leave, and again when it is woken, until it no longer says WAIT.
 */

#ifndef CALL_STAGE_H
#define CALL_STAGE_H

#include "call/call.h"
#include "policy/effect.h"

enum verdict {
	NEXT, /* go on */
	WAIT, /* call_wake comes later */
	BACK, /* what was approved is not what would run: up to confirm, and come again */
	DONE, /* the result is here, go back up */
	FAIL, /* c->err is set, go back up */
};

struct stage {
	const char *name;
	const char *sentence;
	enum verdict (*enter)(struct call *c);
	enum verdict (*wake)(struct call *c); /* NULL: never waits */
	enum verdict (*after)(
	    struct call *c);           /* what lies behind it is over; NULL: nothing to do */
	void (*leave)(struct call *c); /* NULL: nothing to do */
};

/* The stages everybody has, to begin with; those of a gateway are gw->chain. */
extern const struct stage call_stages[];
extern const size_t call_stage_count;

/* chain.c */
void chain_init(struct gateway *gw);
void chain_done(struct gateway *gw);                          /* and the hooks */
size_t chain_find(const struct gateway *gw, struct str name); /* chain_len: there is none */
/* guest.c: a stage of these functions; NULL: out of memory. */
struct guest *guest_new(const struct guest_stage *from);
const struct stage *guest_stage(const struct guest *g);
void guest_free(struct guest *g);

enum verdict call_fail(struct call *c, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* With the error somebody else wrote. */
enum verdict call_fail_with(struct call *c, const struct err *e);

/* It was cancelled, or its turn was given up. */
enum verdict call_fail_stopped(struct call *c);
void call_stopped(const struct call *c, struct err *e);

/* Rest in a place; the only way to move. */
void call_move(struct call *c, enum place to);

/* After this time c->overdue is set and the stage is woken. One alarm at a time. E_NOMEM. */
int call_alarm(struct call *c, uint64_t delay_ms);
void call_calm(struct call *c);

/* Something happened: the stage will be woken, soon and once for many. */
void call_wake(struct call *c);
/* The same at once: from the loop, with nothing of the call on the stack. */
void call_go_on(struct call *c);

/* What its tool does to the world, and what makes two of its calls the same. */
static inline enum reversibility
call_reversibility(const struct call *c)
{
	return c->does.reversibility;
}
/* Did it happen, or a part of it, as far as anybody knows? By what the ledger goes by (claim.c). */
static inline bool
call_may_have_happened(const struct call *c)
{
	return c->left_behind || c->ran_well || c->ran_badly || c->doubt;
}
static inline const struct json *
call_key_fields(const struct call *c)
{
	return c->does.idempotency_key_fields;
}

/* browsing.c: a tool has been run; whoever looked for it has found it. */
void browsing_ran(struct call *c);

/* behind.c: the same whoever made it, for its job and its questions; valid as long as the call. */
struct behind *call_behind(struct call *c);
/* How long it may be quiet, and how long it may take with all its attempts and progress. */
unsigned call_timeout_ms(const struct call *c);
unsigned call_max_ms(const struct call *c);
/* A running call may run so much longer from now, up to what its tool is given in all. */
void call_extend(struct call *c, uint64_t by_ms);

/* progressing.c: how far a call is. It is at work from now on; it said so; it no longer is. */
void progressing_begin(struct call *c);
void progressing_tell(struct call *c, const struct json *params); /* of notifications/progress */
void progressing_end(struct call *c);

/* form.c: a question shown in the client, if that can; and taken back. */
void form_show(struct call *c, const struct question_text *t);
bool form_put_away(const struct call *c); /* that was what answered the question */
void form_drop(struct call *c);           /* no-op without one */

/* Events of this call. parent NULL: the turn's. actor NULL: the table's. */
struct jw *call_event(struct call *c, enum event_type type, const char *parent);
struct jw *call_event_by(struct call *c, enum event_type type, const char *parent,
			 const char *actor);

/* arg_repairs, if there were any: for events that tell of the input. */
void call_add_repairs(const struct call *c, struct jw *w);

/* It is to end, and nothing is left that it waits for. */
bool gateway__is_idle(const struct gateway *gw);

/* Over: the turn gets the result, the call is freed. */
void call__finish(struct call *c);

/* The row as it stands now. E_STORE, E_LIMIT, E_NOMEM: it could not be taken. */
int journal_put(struct call *c, const char *state);

/*
 * claim.c: what is asked of the claims, one thing at a time. call_wake comes with the answer; look
 * at it, then drop it. Without claims (gw->claims) nothing is needed.
 */
struct claim_found;
bool claim_needed(const struct call *c); /* it changes the world: the ledger has to know first */
int claim_digest(struct call *c, struct err *e); /* of the arguments, once */
int claim_look(struct call *c, struct err *e);
int claim_take(struct call *c, struct err *e);   /* and the journal's row "running" */
int claim_settle(struct call *c, struct err *e); /* what came of it */
void claim_put(struct call *c);                  /* a pure one's result; nobody waits */
bool claim_answered(const struct call *c);
const struct claim_found *claim_found(const struct call *c, struct err *e); /* NULL: e */
void claim_drop(struct call *c);                          /* answered or not; no-op without one */
void claim_begun(struct call *c);                         /* it is ours, and on the disk */
void claim_ran(struct call *c, const struct output *out); /* an attempt is over */
/* An error of a tool that was told to stop: does it say that nothing was done? */
bool claim_tells(const struct tool *t, const struct output *out);
/* st_replay.c: NEXT when what was to be taken is ours; else the result, or why not. */
enum verdict replay_taken(struct call *c, const struct claim_found *f);

/* given.c: what a tool gave is kept as it was where a tool is known that takes its effect back. */
bool given_is_wanted(const struct call *c);
void given_take(const struct output *out, struct buf *to); /* JSON; empty: it gave none, or more */

/* effects.c: unknown ones this agent was not told of, as JSON objects; once. */
void effects_mention(struct gateway *gw, const struct session *s, struct buf *out);
void effects_forget(struct gateway *gw);

/* meter.c: breakers and quotas of the tool and its server. NEXT, or FAIL with when to come back. */
enum verdict meters_admit(struct call *c);                     /* before anything is done */
enum verdict meters_begin(struct call *c);                     /* each attempt */
void meters_end(struct call *c, enum breaker_outcome outcome); /* no-op when none has begun */
bool meters_closed(const struct call *c);                      /* one more may be tried */
void meters_done(struct map *meters);

/* late.c: the job is left behind; what it reports is told as an event. */
void late_leave(struct call *c);
void late_forget(struct gateway *gw);

/* repeat.c: is it the same again, as often as a person should know? And: it has ended. */
void repeat_look(struct call *c);
void repeat_ended(struct call *c);

/* superseding.c: may a tool that cannot be taken back run, with a message the turn does not know?
 * NEXT, WAIT (in PLACE_DECIDING, until superseding_wake says otherwise) or FAIL. */
enum verdict superseding_look(struct call *c);
enum verdict superseding_wake(struct call *c);
/* An attempt begins that changes something; the call leaves its tool. */
void superseding_effect_begins(struct call *c);
void superseding_effect_ends(struct call *c);
/* turn_settle; where that ends a turn that was given up, what it did is taken back before. */
void superseding_settle(struct gateway *gw, struct turn *t, size_t index, struct turn_result *came);

struct grant_ask call__grant_ask(const struct call *c);
/* What is said of a tool for all: by the policy, by the server or document it came with, by its
 * definition. A name under per_tool goes before the others. */
struct tool_ruling {
	enum policy_mode mode;
	enum { RULED_BY_POLICY, RULED_BY_SERVER, RULED_BY_DEFINITION } by;
	struct str rule; /* of the policy */
};
struct tool_ruling call__ruling(const struct policy *p, const struct tool *t,
				const char *workspace); /* as policy_decide */
/* What was answered before: NEXT, FAIL, or WAIT when a person has to be asked. */
enum verdict call__remembered(struct call *c);

#define NO NULL
#define STAGE(name, sentence, wake, after, leave) enum verdict name##_enter(struct call *c);
#include "../../tbl/stages.def"
#undef STAGE
void record_leave(struct call *c);
enum verdict admit_wake(struct call *c);
enum verdict hooks_wake(struct call *c);
enum verdict hooks_after(struct call *c);
void hooks_leave(struct call *c);
enum verdict policy_wake(struct call *c);
enum verdict scope_wake(struct call *c);
void scope_leave(struct call *c);
enum verdict replay_wake(struct call *c);
enum verdict replay_after(struct call *c);
void replay_leave(struct call *c);
enum verdict confirm_wake(struct call *c);
void confirm_leave(struct call *c);
enum verdict slot_wake(struct call *c);
void slot_leave(struct call *c);
enum verdict dispatch_wake(struct call *c);
void dispatch_leave(struct call *c);
enum verdict result_wake(struct call *c);
void result_leave(struct call *c);

#endif
