/* timer.c - timers: lanes of those that run equally long, and one heap. */

#include <stdlib.h>
#include <time.h>

#include "loop/timers.h"

#define LONG_FROM_MS 1000
#define COARSE_STEP_MS 10 /* the coarse clock lags at most so far behind */

/* ---- the heap ---- */

static bool
timer_before(const struct timer *a, const struct timer *b)
{
	return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void
heap_set(struct timers *ts, size_t i, struct timer *t)
{
	ts->heap[i] = t;
	t->at = i + 1;
}

/* Find the place of t, starting with the hole at i. */
static void
heap_settle(struct timers *ts, size_t i, struct timer *t)
{
	while (i > 0 && timer_before(t, ts->heap[(i - 1) / 2])) {
		heap_set(ts, i, ts->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (size_t child; (child = 2 * i + 1) < ts->len; i = child) {
		if (child + 1 < ts->len && timer_before(ts->heap[child + 1], ts->heap[child]))
			child++;
		if (timer_before(t, ts->heap[child]))
			break;
		heap_set(ts, i, ts->heap[child]);
	}
	heap_set(ts, i, t);
}

static void
heap_remove(struct timers *ts, struct timer *t)
{
	size_t hole = t->at - 1;

	CHECK(hole < ts->len && ts->heap[hole] == t);
	t->at = 0;
	struct timer *last = ts->heap[--ts->len];
	if (last != t)
		heap_settle(ts, hole, last);
}

static int
heap_reserve(struct timers *ts)
{
	if (ts->len < ts->cap)
		return 0;
	size_t cap = ts->cap ? ts->cap * 2 : 64;
	struct timer **p = realloc(ts->heap, cap * sizeof(struct timer *));
	if (!p)
		return E_NOMEM;
	ts->heap = p;
	ts->cap = cap;
	return 0;
}

/* ---- lanes ---- */

static struct timer *
lane_first(const struct lane *lane)
{
	struct node *n = list_first(&lane->timers);

	return n ? CONTAINER_OF(n, struct timer, node) : NULL;
}

/* NULL: all are taken by others. */
static struct lane *
lane_for(struct timers *ts, uint64_t delay_ms)
{
	struct lane *empty = NULL;

	for (size_t i = 0; i < TIMER_LANES; i++) {
		struct lane *lane = &ts->lanes[i];
		if (lane->delay_ms == delay_ms)
			return lane;
		if (lane->timers.len == 0 && !empty)
			empty = lane;
	}
	if (empty)
		empty->delay_ms = delay_ms;
	return empty;
}

static bool
is_bell(const struct timer *t)
{
	return !t->fire;
}

/* The bell rings for the first, now that it may be another. */
static void
bell_set(struct timers *ts, struct lane *lane)
{
	const struct timer *first = lane_first(lane);

	if (!first) {
		heap_remove(ts, &lane->bell);
		return;
	}
	lane->bell.due_ms = first->due_ms;
	lane->bell.order = first->order;
	heap_settle(ts, lane->bell.at - 1, &lane->bell);
}

/* ---- ringing ---- */

static void alarm_rung(uv_timer_t *alarm);

static void
alarm_set(struct timers *ts)
{
	if (ts->len == 0) {
		uv_timer_stop(&ts->alarm);
		return;
	}
	uint64_t now = uv_now(ts->alarm.loop), due = ts->heap[0]->due_ms;
	uv_timer_start(&ts->alarm, alarm_rung, due > now ? due - now : 0, 0);
}

/* The timer that is due first, off its place; NULL: a bell was early, and is set again. */
static struct timer *
take_first(struct timers *ts)
{
	struct timer *t = ts->heap[0];

	if (!is_bell(t)) {
		heap_remove(ts, t);
		return t;
	}
	struct lane *lane = CONTAINER_OF(t, struct lane, bell);
	struct timer *first = lane_first(lane);
	bool early = timer_before(t, first);
	if (!early)
		list_remove(&first->node);
	bell_set(ts, lane);
	return early ? NULL : first;
}

/* Those started from here on wait for the next turn, so a timer of 0 ms cannot spin. */
static void
alarm_rung(uv_timer_t *alarm)
{
	struct timers *ts = alarm->data;
	uint64_t now = uv_now(alarm->loop), order = ts->order;

	while (ts->len > 0 && ts->heap[0]->due_ms <= now && ts->heap[0]->order < order) {
		struct timer *t = take_first(ts);
		if (t)
			t->fire(t->arg);
	}
	alarm_set(ts);
}

/* ---- starting and stopping ---- */

/* Not the loop's clock: that stands still within a turn, and the timer would be early. A coarse one
 * costs a fifth, and will do for a long delay. */
static uint64_t
due_in(uint64_t delay_ms)
{
	struct timespec ts;

	if (delay_ms < LONG_FROM_MS)
		return uv_hrtime() / 1000000 + delay_ms;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	uint64_t now = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000 + COARSE_STEP_MS;
	return delay_ms > UINT64_MAX - now ? UINT64_MAX : now + delay_ms;
}

static void
heap_add(struct timers *ts, struct timer *t)
{
	heap_settle(ts, ts->len++, t);
	if (ts->heap[0] == t)
		alarm_set(ts);
}

int
timer_start(struct loop *l, struct timer *t, uint64_t delay_ms, void (*fire)(void *), void *arg)
{
	struct timers *ts = loop__timers(l);

	CHECK(fire);
	if (heap_reserve(ts) < 0)
		return E_NOMEM;
	timer_stop(l, t);
	t->fire = fire;
	t->arg = arg;
	t->due_ms = due_in(delay_ms);
	t->order = ts->order++;
	struct lane *lane = delay_ms >= LONG_FROM_MS ? lane_for(ts, delay_ms) : NULL;
	if (!lane) {
		heap_add(ts, t);
		return 0;
	}
	list_push(&lane->timers, &t->node);
	if (lane->timers.len == 1) {
		lane->bell = (struct timer){.due_ms = t->due_ms, .order = t->order};
		heap_add(ts, &lane->bell);
	}
	return 0;
}

/* The alarm, or a bell, may now ring too early; it then finds nothing due and is set again. */
void
timer_stop(struct loop *l, struct timer *t)
{
	struct timers *ts = loop__timers(l);

	if (t->at) {
		heap_remove(ts, t);
	} else if (t->node.list) {
		struct lane *lane = CONTAINER_OF(t->node.list, struct lane, timers);
		list_remove(&t->node);
		if (lane->timers.len == 0)
			bell_set(ts, lane);
	}
	if (ts->len == 0)
		uv_timer_stop(&ts->alarm);
}

bool
timer_running(const struct timer *t)
{
	return t->at || t->node.list;
}

void
timers__init(struct timers *ts, uv_loop_t *uv)
{
	uv_timer_init(uv, &ts->alarm);
	ts->alarm.data = ts;
	for (size_t i = 0; i < TIMER_LANES; i++)
		list_init(&ts->lanes[i].timers);
}

void
timers__done(struct timers *ts)
{
	free(ts->heap);
}
