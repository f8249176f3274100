/*
 * pipeline.c - START READING HERE. The way of a call, and what drives it.
 *
 *        record  admit  resolve  args  scope  policy  confirm  slot  dispatch  result
 *  in     -------------------------------------------------------------------------->
 *  out   <--------------------------------------------------------------------------
 *
 * The table (tbl/stages.def) is the architecture; the driver below knows no stage by name.
 * A stage answers NEXT, WAIT, DONE or FAIL. Waiting is an answer like any other, so a person
 * who thinks for four minutes and a tool that answers in four milliseconds are the same here.
 *
 * Invariants:
 *  1. leave runs exactly once for each stage that was entered, in reverse order.
 *  2. A call rests in a place (tbl/places.def) exactly while it waits.
 *  3. Stages are entered, woken and left from the loop only, never from inside each other.
 */

#include "call/stage.h"

#include <stdarg.h>
#include <stdio.h>

const struct stage call_stages[] = {
#define STAGE(name, sentence, wake, leave) {#name, sentence, name##_enter, wake, leave},
#include "../../tbl/stages.def"
#undef STAGE
};
const size_t call_stage_count = ARRAY_LEN(call_stages);

static void
go_up(struct call *c)
{
	for (; c->stage >= 0; c->stage--)
		if (call_stages[c->stage].leave)
			call_stages[c->stage].leave(c);
	call_move(c, PLACE_OVER);
	call__finish(c);
}

static void
advance(struct call *c, enum verdict v)
{
	for (;;) {
		if (v == NEXT && (size_t)c->stage + 1 == call_stage_count)
			v = DONE;
		switch (v) {
		case NEXT:
			c->stage++;
			v = call_stages[c->stage].enter(c);
			continue;
		case WAIT: CHECK(c->place != PLACE_MOVING); return;
		case FAIL:
			CHECK(c->err.code < 0);
			go_up(c);
			return;
		case DONE: go_up(c); return;
		}
		BUG("a stage gave no verdict");
	}
}

static void
wake_now(void *arg)
{
	struct call *c = arg;

	if (c->stage < 0)
		advance(c, NEXT);
	else
		advance(c, call_stages[c->stage].wake(c));
}

void
call_wake(struct call *c)
{
	defer(c->gw->loop, &c->waking, wake_now, c);
}

void
call_start(struct call *c)
{
	call_wake(c);
}

/* admit looks at c->cancelled, and each stage that waits does when it is woken. */
void
call_cancel(struct call *c)
{
	if (c->cancelled)
		return;
	c->cancelled = true;
	call_wake(c);
}

enum verdict
call_fail(struct call *c, int code, const char *fmt, ...)
{
	char text[sizeof(c->err.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(&c->err, code, "%s", text);
	return FAIL;
}

enum verdict
call_fail_with(struct call *c, const struct err *e)
{
	CHECK(e->code < 0);
	c->err = *e;
	return FAIL;
}

static void
overdue(void *arg)
{
	struct call *c = arg;

	c->overdue = true;
	call_wake(c);
}

int
call_alarm(struct call *c, uint64_t delay_ms)
{
	c->overdue = false;
	return timer_start(c->gw->loop, &c->timer, delay_ms, overdue, c);
}

void
call_calm(struct call *c)
{
	timer_stop(c->gw->loop, &c->timer);
	c->overdue = false;
}
