/*
 * pipeline.c - START READING HERE. The way of a call, and what drives it.
 *
 *    record  admit  resolve  hooks  args  scope  replay  policy  confirm  slot  dispatch  result
 *  in     --------------------------------------------------------------------------------->
 *  out   <---------------------------------------------------------------------------------
 *
 * The table (tbl/stages.def) is the architecture; the driver below knows no stage by name. A
 * gateway has a chain of its own (chain.c): the table, and stages of the program that holds it. A
 * stage answers NEXT, WAIT, BACK, DONE or FAIL. Waiting is an answer like any other, so a person
 * who thinks for four minutes and a tool that answers in four milliseconds are the same here.
 *
 * Invariants:
 *  1. leave runs exactly once for each stage that was entered, in reverse order; after, where there
 *     is one, before it.
 *  2. A call rests in a place (tbl/places.def) exactly while it waits.
 *  3. Stages are entered, woken and left from the loop only, never from inside each other.
 */

#include "call/stage.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"

const struct stage call_stages[] = {
#define STAGE(name, sentence, wake, after, leave)                                                  \
	{#name, sentence, name##_enter, wake, after, leave},
#include "../../tbl/stages.def"
#undef STAGE
};
const size_t call_stage_count = ARRAY_LEN(call_stages);

static const struct stage *
stage_of(const struct call *c)
{
	return c->gw->chain[c->stage].stage;
}

/* The time since the last look belongs to the stage the call is in, for so many calls. */
static void
look(struct call *c, unsigned weight)
{
	struct link *l = &c->gw->chain[c->stage];
	uint64_t now = clock_mono_us(), spent = now - c->since_us;

	c->since_us = now;
	if (weight == 0)
		return;
	l->total_us += spent * weight;
	l->max_us = spent > l->max_us ? spent : l->max_us;
}

/* A step takes little longer than the look: not every call is timed. What it waits is, of all. */
static void
charge(struct call *c)
{
	if (c->weight)
		look(c, c->weight);
}

static void
rest(struct call *c)
{
	CHECK(c->place != PLACE_MOVING);
	look(c, c->weight);
}

static enum verdict
enter(struct call *c)
{
	if (c->stage >= 0)
		charge(c);
	c->stage++;
	c->gw->chain[c->stage].entries++;
	return stage_of(c)->enter(c);
}

static void
leave(struct call *c)
{
	if (stage_of(c)->leave)
		stage_of(c)->leave(c);
	if (c->stage == 0)
		charge(c); /* closing the journal entry */
	c->stage--;
}

/* Also called to go on, when a stage waits on the way out. */
static void
go_up(struct call *c)
{
	for (; c->stage >= 0; leave(c)) {
		if (!stage_of(c)->after)
			continue;
		if (stage_of(c)->after(c) == WAIT) {
			rest(c);
			return;
		}
		charge(c);
	}
	call_move(c, PLACE_OVER);
	call__finish(c);
}

static void
turn_round(struct call *c)
{
	look(c, c->weight); /* how long it ran is told of every call */
	c->returning = true;
	go_up(c);
}

/* What was shown to a person is no longer so: everything from there on once more. */
static void
go_back(struct call *c)
{
	int confirm = (int)chain_find(c->gw, S("confirm"));

	CHECK(c->stage >= confirm);
	charge(c);
	while (c->stage >= confirm)
		leave(c);
}

static void
advance(struct call *c, enum verdict v)
{
	for (;;) {
		if (v == NEXT && (size_t)c->stage + 1 == c->gw->chain_len)
			v = DONE;
		switch (v) {
		case BACK:
			go_back(c);
			v = enter(c);
			continue;
		case NEXT: v = enter(c); continue;
		case WAIT: rest(c); return;
		case FAIL:
			CHECK(c->err.code < 0);
			turn_round(c);
			return;
		case DONE: turn_round(c); return;
		}
		BUG("a stage gave no verdict");
	}
}

static void
wake_now(void *arg)
{
	struct call *c = arg;

	if (c->stage >= 0)
		look(c, 1);
	if (c->returning) {
		go_up(c);
	} else if (c->stage < 0) {
		c->since_us = clock_mono_us();
		advance(c, NEXT);
	} else {
		advance(c, stage_of(c)->wake(c));
	}
}

void
call_wake(struct call *c)
{
	defer(c->gw->loop, &c->waking, wake_now, c);
}

void
call_go_on(struct call *c)
{
	defer_cancel(&c->waking);
	wake_now(c);
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
