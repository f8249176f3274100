/* timers.h - for src/loop: what of the loop the timers need (timer.c). */

#ifndef LOOP_TIMERS_H
#define LOOP_TIMERS_H

#include "loop/loop.h"

/*
 * Most timers run for one of a few long times and are stopped before that: those of one length
 * stand in a lane, in the order they are due. The heap has the lanes, each by its first timer, and
 * all other timers.
 */
#define TIMER_LANES 16
struct lane {
	uint64_t delay_ms;
	struct list timers;
	struct timer bell; /* in the heap while there are any; due no later than the first */
};

struct timers {
	uv_timer_t alarm;    /* set to the first of the heap */
	struct timer **heap; /* the least first; a timer knows its place */
	size_t len, cap;
	uint64_t order;
	struct lane lanes[TIMER_LANES];
};

void timers__init(struct timers *ts, uv_loop_t *uv);
void timers__done(struct timers *ts); /* none runs; the alarm was closed */
struct timers *loop__timers(struct loop *l);

#endif
