/* loop.c - libuv, wrapped once: three queues of deferred calls, work on other threads. */

#include "loop/timers.h"

#include "base/spare.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct loop {
	uv_loop_t uv;
	uv_idle_t idle; /* runs while something is put off */
	uv_async_t stop;
	size_t busy; /* begun, not ended */
	bool draining;

	struct timers timers;

	/* One is filled while the other is worked off, so nothing put off runs at once. */
	struct list queues[2];
	unsigned filling;
	struct list last; /* at the end of the turn */

	/* Work on other threads */
	uv_async_t works_back; /* has a reference while there is any */
	size_t works;
	pthread_mutex_t works_lock;
	struct work *works_done, **works_last;

	char *scratch; /* LOOP_SCRATCH bytes, once somebody wanted them */
};

/* Deferred calls */

#define IDLE_ROUNDS 8

static void
deferred_run(struct node *n)
{
	struct deferred *d = CONTAINER_OF(n, struct deferred, node);

	list_remove(n);
	d->run(d->arg);
}

static void
idle_turn(uv_idle_t *idle)
{
	struct loop *l = idle->data;
	struct node *n;

	/* What these defer is mostly all that is left to do: a look at the descriptors between two
	 * rounds costs a system call. But nobody may keep the loop from them for long. */
	for (int round = 0; round < IDLE_ROUNDS && l->queues[l->filling].len; round++) {
		struct list *queue = &l->queues[l->filling];
		l->filling ^= 1;
		while ((n = list_first(queue)) != NULL)
			deferred_run(n);
	}
	while ((n = list_first(&l->last)) != NULL)
		deferred_run(n);
	if (l->queues[l->filling].len == 0)
		uv_idle_stop(idle);
}

static void
put_off(struct loop *l, struct list *queue, struct deferred *d, void (*run)(void *), void *arg)
{
	if (d->node.list)
		return;
	d->run = run;
	d->arg = arg;
	list_push(queue, &d->node);
	uv_idle_start(&l->idle, idle_turn);
}

void
defer(struct loop *l, struct deferred *d, void (*run)(void *), void *arg)
{
	put_off(l, &l->queues[l->filling], d, run, arg);
}

void
defer_last(struct loop *l, struct deferred *d, void (*run)(void *), void *arg)
{
	put_off(l, &l->last, d, run, arg);
}

bool
loop_crowded(const struct loop *l)
{
	return l->queues[l->filling ^ 1].len + l->last.len > 0;
}

void
defer_cancel(struct deferred *d)
{
	list_remove(&d->node);
}

/* The loop itself */

static void works_came_back(uv_async_t *back);

static void
stop_asked(uv_async_t *stop)
{
	uv_stop(stop->loop);
}

int
loop_new(struct loop **ret, struct err *e)
{
	struct loop *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return err_plain(e, E_NOMEM);
	if ((rc = uv_loop_init(&l->uv)) < 0)
		goto fail;
	if ((rc = uv_async_init(&l->uv, &l->stop, stop_asked)) < 0) {
		uv_loop_close(&l->uv);
		goto fail;
	}
	/* The first has opened all that handles of this kind need. */
	CHECK(uv_async_init(&l->uv, &l->works_back, works_came_back) == 0);
	uv_unref((uv_handle_t *)&l->works_back);
	pthread_mutex_init(&l->works_lock, NULL);
	l->works_back.data = l;
	l->works_last = &l->works_done;
	timers__init(&l->timers, &l->uv);
	uv_idle_init(&l->uv, &l->idle);
	l->idle.data = l;
	list_init(&l->queues[0]);
	list_init(&l->queues[1]);
	list_init(&l->last);
	*ret = l;
	return 0;
fail:
	free(l);
	return err_errno(e, E_SYSTEM, -rc, "loop");
}

static void
must_be_closing(uv_handle_t *handle, void *arg)
{
	(void)arg;
	CHECK(uv_is_closing(handle));
}

void
loop_free(struct loop *l)
{
	if (!l)
		return;
	while (l->queues[0].len + l->queues[1].len + l->last.len + l->works > 0)
		uv_run(&l->uv, l->works > 0 ? UV_RUN_ONCE : UV_RUN_NOWAIT);
	CHECK(l->timers.len == 0);
	uv_close((uv_handle_t *)&l->timers.alarm, NULL);
	uv_close((uv_handle_t *)&l->idle, NULL);
	uv_close((uv_handle_t *)&l->stop, NULL);
	pthread_mutex_lock(&l->works_lock); /* the last worker has left it */
	pthread_mutex_unlock(&l->works_lock);
	pthread_mutex_destroy(&l->works_lock);
	uv_close((uv_handle_t *)&l->works_back, NULL);
	/* Better to die here than to wait for ever for a handle nobody will close. */
	uv_walk(&l->uv, must_be_closing, NULL);
	while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0)
		;
	CHECK(uv_loop_close(&l->uv) == 0);
	timers__done(&l->timers);
	free(l->scratch);
	free(l);
}

char *
loop__scratch(struct loop *l)
{
	if (!l->scratch)
		l->scratch = malloc(LOOP_SCRATCH);
	return l->scratch;
}

void
loop__begins(struct loop *l)
{
	l->busy++;
}

void
loop__ends(struct loop *l)
{
	CHECK(l->busy > 0);
	if (--l->busy == 0 && l->draining)
		uv_stop(&l->uv);
}

void
loop_drain(struct loop *l)
{
	l->draining = true;
	while (l->busy > 0)
		loop_run(l);
	l->draining = false;
}

uv_loop_t *
loop_uv(struct loop *l)
{
	return &l->uv;
}

struct timers *
loop__timers(struct loop *l)
{
	return &l->timers;
}

/*
 * libuv writes without MSG_NOSIGNAL. SIGPIPE of a write goes to the writing thread, so it is
 * enough to block it here, and to take away one that is pending before it is let through. The
 * same with SIGXFSZ: a file that may not grow is an error of the write, here and on workers.
 */
void
loop_run(struct loop *l)
{
	static const int of_writes[] = {SIGPIPE, SIGXFSZ};
	sigset_t blocked, before, ours;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_LEN(of_writes); i++)
		sigaddset(&blocked, of_writes[i]);
	CHECK(pthread_sigmask(SIG_BLOCK, &blocked, &before) == 0);
	spare_keep(true);
	uv_run(&l->uv, UV_RUN_DEFAULT);
	spare_keep(false);
	sigemptyset(&ours);
	for (size_t i = 0; i < ARRAY_LEN(of_writes); i++)
		if (!sigismember(&before, of_writes[i]))
			sigaddset(&ours, of_writes[i]);
	while (sigtimedwait(&ours, NULL, &(struct timespec){0}) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void
loop_stop(struct loop *l)
{
	uv_async_send(&l->stop);
}

uint64_t
loop_now_ms(const struct loop *l)
{
	return uv_now(&l->uv);
}

/* Work on other threads */

/* On a worker. The loop stays until the lock is free: see loop_free. */
void
loop__work_done(struct work *w)
{
	struct loop *l = w->loop;

	pthread_mutex_lock(&l->works_lock);
	w->next = NULL;
	*l->works_last = w;
	l->works_last = &w->next;
	uv_async_send(&l->works_back);
	pthread_mutex_unlock(&l->works_lock);
}

static void
works_came_back(uv_async_t *back)
{
	struct loop *l = back->data;

	pthread_mutex_lock(&l->works_lock);
	struct work *w = l->works_done;
	l->works_done = NULL;
	l->works_last = &l->works_done;
	pthread_mutex_unlock(&l->works_lock);
	while (w) {
		struct work *next = w->next;
		if (--l->works == 0)
			uv_unref((uv_handle_t *)back);
		w->done(w->arg); /* may free w */
		loop__ends(l);
		w = next;
	}
}

int
work_start(struct loop *l, struct work *w, void (*work)(void *), void (*done)(void *), void *arg)
{
	w->work = work;
	w->done = done;
	w->arg = arg;
	w->loop = l;
	if (pool__start(w) < 0)
		return E_SYSTEM;
	if (l->works++ == 0)
		uv_ref((uv_handle_t *)&l->works_back);
	loop__begins(l);
	return 0;
}

/* Messages from other threads */

struct letterbox {
	uv_async_t async; /* first: a mailbox points here */
	void (*wake)(void *arg);
	void *arg;
};

static void
letters_came(uv_async_t *async)
{
	struct letterbox *box = CONTAINER_OF(async, struct letterbox, async);

	box->wake(box->arg);
}

static void
letterbox_free(uv_handle_t *handle)
{
	free(CONTAINER_OF(handle, struct letterbox, async));
}

int
mailbox_init(struct loop *l, struct mailbox *m, void (*wake)(void *), void *arg, struct err *e)
{
	struct letterbox *box = calloc(1, sizeof(*box));

	if (!box)
		return err_plain(e, E_NOMEM);
	box->wake = wake;
	box->arg = arg;
	int rc = uv_async_init(&l->uv, &box->async, letters_came);
	if (rc < 0) {
		free(box);
		return err_errno(e, E_SYSTEM, -rc, "mailbox");
	}
	m->async = &box->async;
	return 0;
}

void
mailbox_post(struct mailbox *m)
{
	uv_async_send(m->async);
}

void
mailbox_done(struct mailbox *m)
{
	if (m->async)
		uv_close((uv_handle_t *)m->async, letterbox_free);
	m->async = NULL;
}
