/*
 * stage.h - what a stage is, and what it may do to a call. For src/call only.
 *
 * enter runs once on the way in; wake each time something the stage waits for may have
 * happened; leave once on the way out, in reverse order, always: on success, failure, denial
 * and cancel alike. What must always happen hangs on leave.
 */

#ifndef CALL_STAGE_H
#define CALL_STAGE_H

#include "call/call.h"

enum verdict {
	NEXT, /* go on */
	WAIT, /* call_wake comes later */
	DONE, /* the result is here, go back up */
	FAIL, /* c->err is set, go back up */
};

struct stage {
	const char *name;
	const char *sentence;
	enum verdict (*enter)(struct call *c);
	enum verdict (*wake)(struct call *c); /* NULL: never waits */
	void (*leave)(struct call *c);        /* NULL: nothing to do */
};

extern const struct stage call_stages[];
extern const size_t call_stage_count;

enum verdict call_fail(struct call *c, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* With the error somebody else wrote. */
enum verdict call_fail_with(struct call *c, const struct err *e);

/* Rest in a place; the only way to move. */
void call_move(struct call *c, enum place to);

/* After this time c->overdue is set and the stage is woken. One alarm at a time. E_NOMEM. */
int call_alarm(struct call *c, uint64_t delay_ms);
void call_calm(struct call *c);

/* Something happened: the stage will be woken, soon and once for many. */
void call_wake(struct call *c);

/* browsing.c: a tool has been run; whoever looked for it has found it. */
void browsing_ran(struct call *c);

/* behind.c: the same whoever made it, for its job and its questions; valid as long as the call. */
struct behind *call_behind(struct call *c);
/* A running call may run so much longer from now, up to what its tool is given in all. */
void call_extend(struct call *c, uint64_t by_ms);

/* form.c: a question shown in the client, if that can; and taken back. */
void form_show(struct call *c, const struct question_text *t);
void form_drop(struct call *c); /* no-op without one */

/* Events of this call. parent NULL: the turn's. actor NULL: the table's. */
struct jw *call_event(struct call *c, enum event_type type, const char *parent);
struct jw *call_event_by(struct call *c, enum event_type type, const char *parent,
			 const char *actor);

/* arg_repairs, if there were any: for events that tell of the input. */
void call_add_repairs(const struct call *c, struct jw *w);

/* Over: the turn gets the result, the call is freed. */
void call__finish(struct call *c);

/* The row as it stands now. E_STORE, E_LIMIT, E_NOMEM: it could not be taken. */
int journal_put(struct call *c, const char *state);

/* The promise that the journal holds "running" before an effect begins (claim.c). */
bool claim_needed(const struct call *c);
int claim_start(struct call *c, struct err *e); /* call_wake comes when it is settled */
bool claim_settled(const struct call *c, int *ret_code);
void claim_drop(struct call *c); /* settled or not; no-op without one */

struct grant_ask call__grant_ask(const struct call *c);
/* What was answered before: NEXT, FAIL, or WAIT when a person has to be asked. */
enum verdict call__remembered(struct call *c);

#define NO NULL
#define STAGE(name, sentence, wake, leave) enum verdict name##_enter(struct call *c);
#include "../../tbl/stages.def"
#undef STAGE
void record_leave(struct call *c);
enum verdict admit_wake(struct call *c);
enum verdict scope_wake(struct call *c);
void scope_leave(struct call *c);
enum verdict confirm_wake(struct call *c);
void confirm_leave(struct call *c);
enum verdict slot_wake(struct call *c);
void slot_leave(struct call *c);
enum verdict dispatch_wake(struct call *c);
void dispatch_leave(struct call *c);
enum verdict result_wake(struct call *c);
void result_leave(struct call *c);

#endif
