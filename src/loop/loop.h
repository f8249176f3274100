/*
 * loop.h - the one thread that owns all calls: timers, things put off, work for others.
 *
 * libuv is wrapped here once. Timers and deferred calls are intrusive and cost no
 * allocation; starting and stopping them is free of close callbacks, so they may live
 * in a call's arena. Whoever starts can cancel. Unless said otherwise everything here is
 * for the loop's own thread.
 */

#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <uv.h>

#include "base/err.h"
#include "base/list.h"

struct loop;

int loop_new(struct loop **ret, struct err *e);
/* Everything started on it must be over; runs close callbacks until nothing is left. */
void loop_free(struct loop *l);

/* Until all work and all children that were left behind on it are over, however long. */
void loop_drain(struct loop *l);
void loop__begins(struct loop *l); /* for src/loop: one that is waited for... */
void loop__ends(struct loop *l);   /* ...and its end */

/* For src/loop: room to read into, until control goes back to the loop. NULL: out of memory. */
#define LOOP_SCRATCH ((size_t)256 * 1024)
char *loop__scratch(struct loop *l);

uv_loop_t *loop_uv(struct loop *l); /* for src/loop and src/net */
/* Until loop_stop. This thread takes no SIGPIPE meanwhile: a peer that is gone is an error
 * of the write, and the host's own handling of the signal stays as it is. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);             /* any thread; loop_run returns soon */
uint64_t loop_now_ms(const struct loop *l); /* monotonic, once per turn of the loop */

/*
 * A timer fires once, never early; those due at the same time in the order of their start.
 * Zeroed memory is a timer that does not run.
 */
struct timer {
	void (*fire)(void *arg); /* the timer is already stopped here; it may be started again */
	void *arg;
	uint64_t due_ms;  /* private */
	uint64_t order;   /* private: of its start, among those of the same time */
	size_t at;        /* private: 1 + place in the heap, 0 = not there */
	struct node node; /* private: in a lane (timers.h) */
};
/* Starts, or starts again with the new delay. E_NOMEM. */
int timer_start(struct loop *l, struct timer *t, uint64_t delay_ms, void (*fire)(void *),
		void *arg);
void timer_stop(struct loop *l, struct timer *t); /* no-op when it does not run */
bool timer_running(const struct timer *t);

/*
 * Soon, but not now and not inside the caller: what may free things belongs here. What is
 * put off while others run comes after them, in the next turn. Zeroed memory is idle.
 */
struct deferred {
	void (*run)(void *arg);
	void *arg;
	struct node node; /* private */
};
void defer(struct loop *l, struct deferred *d, void (*run)(void *),
	   void *arg); /* no-op if already put off */
/* The same, at the end of the turn. */
void defer_last(struct loop *l, struct deferred *d, void (*run)(void *), void *arg);
/* Others have something to do in this turn. */
bool loop_crowded(const struct loop *l);
void defer_cancel(struct deferred *d);

/*
 * Blocking work on another thread. `work` runs there, `done` on the loop after it, always
 * and once. The memory of w must stay until then.
 */
struct work {
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
	struct loop *loop; /* private */
	struct work *next; /* the same: in a queue */
};
int work_start(struct loop *l, struct work *w, void (*work)(void *), void (*done)(void *),
	       void *arg);
/* For src/loop: pool.c, and what it calls from a worker when w->work has returned. */
int pool__start(struct work *w); /* E_SYSTEM: no thread could be begun */
void loop__work_done(struct work *w);
/* For tests: how many threads there may be, set before there is any; LIMIT_WORKERS. */
extern unsigned pool__most;

/*
 * Messages from other threads. post() may be called from anywhere between mailbox_init and
 * mailbox_done; many posts may become one call of `wake` on the loop.
 */
struct mailbox {
	uv_async_t *async; /* private */
};
int mailbox_init(struct loop *l, struct mailbox *m, void (*wake)(void *), void *arg, struct err *e);
void mailbox_post(struct mailbox *m);
void mailbox_done(struct mailbox *m);

#endif
