/*
 * write.c - what is to be written, and the one thread that writes it.
 *
 * The writer takes everything that is queued and commits it as one transaction, in the order it
 * came; what comes meanwhile waits for the next. Nothing is answered before it is on the disk.
 * Where there is nothing but looks, there is no transaction and nothing is waited for.
 *
 * When the disk refuses, everybody is told so. What came of an effect is not given up by that: it
 * is tried again until it can be written, or the process ends (and the effect is unknown then).
 */

#include "effect/inside.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/crash_at.h"

#define BACK_OFF_FIRST_MS 50
#define BACK_OFF_MAX_MS 2000
#define AT_ONCE 4

/* ---- the queue ---- */

static struct op *
op_copy(const struct op *like)
{
	size_t bytes = sizeof(struct op);

	for (size_t i = 0; i < T__COUNT; i++)
		bytes += like->texts[i].len;
	struct op *op = malloc(bytes);
	if (!op)
		return NULL;
	*op = *like;
	op->next = NULL;
	op->bytes = bytes;
	op->err = ERR_NONE;
	op->found = (struct claim_found){0};
	op->found_text = BUF_INIT(LIMIT_EFFECT_FOUND);
	char *at = (char *)(op + 1);
	for (size_t i = 0; i < T__COUNT; i++) {
		if (!like->texts[i].ptr)
			continue;
		memcpy(at, like->texts[i].ptr, like->texts[i].len);
		op->texts[i].ptr = at;
		at += like->texts[i].len;
	}
	return op;
}

void
op__free(struct op *op)
{
	buf_done(&op->found_text);
	free(op);
}

int
ledger__put(struct ledger *l, enum op_kind kind, const struct op *like)
{
	struct op *op = op_copy(like);

	if (!op)
		return E_NOMEM;
	op->kind = kind;
	pthread_mutex_lock(&l->lock);
	/* What came of an effect always finds room: those that began are counted. */
	bool room = kind == OP_SETTLE || (l->queued < LIMIT_LEDGER_QUEUE &&
					  l->queued_bytes + op->bytes <= LIMIT_LEDGER_QUEUE_BYTES);
	if (room) {
		*l->queue_end = op;
		l->queue_end = &op->next;
		l->queued++;
		l->queued_bytes += op->bytes;
		if (l->idle)
			pthread_cond_signal(&l->news);
		l->idle = false;
	}
	pthread_mutex_unlock(&l->lock);
	if (!room)
		op__free(op);
	return room ? 0 : E_LIMIT;
}

/* ---- answers, on the loop ---- */

static bool
tell_one(struct ledger *l)
{
	if (!l->telling) {
		pthread_mutex_lock(&l->lock);
		l->telling = l->answered;
		l->answered = NULL;
		l->answered_end = &l->answered;
		pthread_mutex_unlock(&l->lock);
	}
	struct op *op = l->telling;
	if (!op)
		return false;
	l->telling = op->next;
	if (op->done)
		op->done(&op->err, &op->found, op->arg);
	op__free(op);
	return true;
}

/* A few at a time: what these begin reaches the writer while the others are told. */
void
ledger__deliver(void *arg)
{
	struct ledger *l = arg;

	for (int i = 0; i < AT_ONCE; i++)
		if (!tell_one(l))
			return;
	defer(l->spec.loop, &l->more, ledger__deliver, l);
}

void
ledger__deliver_all(struct ledger *l)
{
	defer_cancel(&l->more);
	while (tell_one(l))
		;
}

/* ---- the writer ---- */

static void
back_off(struct ledger *l)
{
	unsigned steps = l->failures < 8 ? l->failures - 1 : 7;
	uint64_t ms = (uint64_t)BACK_OFF_FIRST_MS << steps;
	uint64_t at_us = clock_mono_us() + (ms < BACK_OFF_MAX_MS ? ms : BACK_OFF_MAX_MS) * 1000;
	struct timespec at = {(time_t)(at_us / 1000000), (long)(at_us % 1000000 * 1000)};

	l->idle = true;
	while (!l->stopping && !l->queue &&
	       pthread_cond_timedwait(&l->news, &l->lock, &at) != ETIMEDOUT)
		;
}

/* Waits for something to do; what has to be tried again comes first. NULL: no more will come. */
static struct op *
work_take(struct ledger *l, bool *ret_final)
{
	pthread_mutex_lock(&l->lock);
	if (l->again)
		back_off(l);
	while (!l->queue && !l->again && !l->stopping) {
		l->idle = true;
		pthread_cond_wait(&l->news, &l->lock);
	}
	struct op *first = l->again, **end = &first;
	while (*end)
		end = &(*end)->next;
	*end = l->queue;
	l->again = NULL;
	l->queue = NULL;
	l->queue_end = &l->queue;
	*ret_final = l->stopping;
	pthread_mutex_unlock(&l->lock);
	return first;
}

/*
 * What came meanwhile goes into the same transaction: a commit costs as much as many of them. They
 * are counted until they are answered, so there is an end to it.
 */
static struct op *
more_take(struct ledger *l)
{
	pthread_mutex_lock(&l->lock);
	struct op *more = l->queue;
	l->queue = NULL;
	l->queue_end = &l->queue;
	pthread_mutex_unlock(&l->lock);
	return more;
}

static int
act_all(struct ledger *l, struct op *first)
{
	int rc = SQLITE_OK;

	if (l->in_write) {
		rc = db_run(l->st[ST_BEGIN], NULL, 0);
		if (rc == SQLITE_OK)
			rc = ledger__chain_load(l);
	}
	for (struct op *op = first; op && rc == SQLITE_OK; op = op->next) {
		rc = ledger__act(l, op);
		if (!op->next && l->in_write)
			op->next = more_take(l);
	}
	return rc;
}

static bool
only_looks(const struct op *first)
{
	for (const struct op *op = first; op; op = op->next)
		if (op->kind != OP_LOOK)
			return false;
	return true;
}

static int
batch_write(struct ledger *l, struct op *first, struct err *e)
{
	l->in_write = !only_looks(first);
	l->must_write = false;
	int rc = act_all(l, first);
	if (rc == SQLITE_OK && !l->in_write && l->must_write) {
		l->in_write = true;
		rc = act_all(l, first);
	}
	if (l->in_write)
		crash_at(CRASH_BEFORE_COMMIT);
	if (rc == SQLITE_OK && l->in_write)
		rc = ledger__commit(l);
	if (rc == SQLITE_OK && l->in_write)
		crash_at(CRASH_AFTER_COMMIT);
	if (rc == SQLITE_OK)
		return 0;
	db_error(l->db, "write", e);
	if (!sqlite3_get_autocommit(l->db))
		db_run(l->st[ST_ROLLBACK], NULL, 0);
	return E_STORE;
}

/* What must not be given up, of a batch that could not be written. */
static void
keep_again(struct ledger *l, struct op *first)
{
	struct op **end = &l->again;

	for (struct op *op = first; op; op = op->next) {
		if (op->kind != OP_SETTLE && op->kind != OP_COMPENSATE)
			continue;
		struct op *copy = op_copy(op);
		if (!copy)
			continue; /* unknown, when this process ends */
		copy->done = NULL;
		*end = copy;
		end = &copy->next;
	}
}

static void
recovered_move(struct ledger *l, bool committed)
{
	struct recovered *r = l->fresh;

	l->fresh = NULL;
	l->fresh_end = &l->fresh;
	if (committed && r) {
		*l->recovered_end = r;
		while (*l->recovered_end)
			l->recovered_end = &(*l->recovered_end)->next;
		return;
	}
	recovered__free(r);
}

static void
batch_answer(struct ledger *l, struct op *first, int code, const struct err *e)
{
	bool told = false;

	if (code < 0)
		keep_again(l, first);
	pthread_mutex_lock(&l->lock);
	l->failures = code < 0 ? l->failures + 1 : 0;
	if (code < 0)
		l->failure = *e;
	recovered_move(l, code == 0);
	told = l->recovered != NULL;
	for (struct op *op = first, *next; op; op = next) {
		next = op->next;
		op->next = NULL;
		if (code < 0)
			op->err = *e;
		if (l->queued > 0) {
			l->queued--;
			l->queued_bytes -=
			    op->bytes < l->queued_bytes ? op->bytes : l->queued_bytes;
		}
		*l->answered_end = op;
		l->answered_end = &op->next;
		told = true;
	}
	pthread_mutex_unlock(&l->lock);
	if (told)
		mailbox_post(&l->box);
}

static void *
writer_main(void *arg)
{
	struct ledger *l = arg;
	bool final = false;

	while (!final) {
		struct err e = ERR_NONE;
		struct op *first = work_take(l, &final);
		if (!first)
			continue;
		int code = batch_write(l, first, &e);
		batch_answer(l, first, code, &e);
	}
	return NULL;
}

/* A thread that leaves every signal to others. */
static int
thread_start(struct ledger *l)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int errnum = pthread_create(&l->thread, NULL, writer_main, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errnum == 0)
		(void)pthread_setname_np(l->thread, "ledger");
	return errnum;
}

int
ledger__start(struct ledger *l, struct err *e)
{
	int errnum = thread_start(l);

	if (errnum)
		return err_errno(e, E_STORE, errnum, "thread of the ledger");
	l->started = true;
	return 0;
}

void
ledger__stop(struct ledger *l)
{
	if (!l->started)
		return;
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	pthread_cond_signal(&l->news);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	l->started = false;
	for (struct op *op = l->again, *next; op; op = next) {
		next = op->next;
		op__free(op);
	}
	l->again = NULL;
}
