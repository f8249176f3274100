/*
 * pool.c - threads for work that blocks: begun when they are needed, gone when they are not.
 *
 * libuv's begins all it may ever have with the first piece of work, which is in everybody's way at
 * the start, and keeps them. These are shared by all loops of the process, as libuv's are.
 */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/limits.h"
#include "loop/loop.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct work *first, **last;
	unsigned queued, threads, idle;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

unsigned pool__most = LIMIT_WORKERS;

static struct work *
queue_take(void)
{
	struct work *w = pool.first;

	pool.first = w->next;
	pool.queued--;
	return w;
}

static void
queue_put(struct work *w)
{
	w->next = NULL;
	if (!pool.first)
		pool.last = &pool.first;
	*pool.last = w;
	pool.last = &w->next;
	pool.queued++;
}

/* False: nothing came for long. Called and left with the lock. */
static bool
wait_for_more(void)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LIMIT_WORKER_IDLE_MS / 1000;
	pool.idle++;
	while (!pool.first && rc != ETIMEDOUT)
		rc = pthread_cond_clockwait(&pool.more, &pool.lock, CLOCK_MONOTONIC, &until);
	pool.idle--;
	return pool.first != NULL;
}

static void *
worker(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&pool.lock);
	while (pool.first || wait_for_more()) {
		struct work *w = queue_take();
		pthread_mutex_unlock(&pool.lock);
		w->work(w->arg);
		loop__work_done(w);
		pthread_mutex_lock(&pool.lock);
	}
	pool.threads--;
	pthread_mutex_unlock(&pool.lock);
	return NULL;
}

/* Signals are for the host's threads; but what a worker does wrong is told to whoever listens for
 * that, and would end the process unheard. */
static void
worker_signals(sigset_t *ret)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

	sigfillset(ret);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		sigdelset(ret, own[i]);
}

static bool
worker_start(void)
{
	sigset_t blocked, before;
	pthread_attr_t how;
	pthread_t thread;

	if (pthread_attr_init(&how) != 0)
		return false;
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	worker_signals(&blocked);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	int rc = pthread_create(&thread, &how, worker, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&how);
	return rc == 0;
}

/* A host may fork and open a gateway there: the threads did not come along, and what is queued is
 * the parent's. */
static void
pool_forking(void)
{
	pthread_mutex_lock(&pool.lock);
}

static void
pool_parent(void)
{
	pthread_mutex_unlock(&pool.lock);
}

static void
pool_child(void)
{
	pool.first = NULL;
	pool.queued = pool.threads = pool.idle = 0;
	pthread_cond_init(&pool.more, NULL);
	pthread_mutex_init(&pool.lock, NULL);
}

static void
pool_begin(void)
{
	pthread_atfork(pool_forking, pool_parent, pool_child);
}

/* Without a thread of its own it waits for another's; there must be one, then. */
int
pool__start(struct work *w)
{
	static pthread_once_t begun = PTHREAD_ONCE_INIT;
	int rc = 0;

	pthread_once(&begun, pool_begin);
	pthread_mutex_lock(&pool.lock);
	bool crowded = pool.idle <= pool.queued && pool.threads < pool__most;
	if (crowded && worker_start())
		pool.threads++;
	if (pool.threads > 0)
		queue_put(w);
	else
		rc = E_SYSTEM;
	pthread_cond_signal(&pool.more);
	pthread_mutex_unlock(&pool.lock);
	return rc;
}
