/*
 * sqlite_write.c - rows on their way to the disk, and the one thread that writes them.
 *
 * The writer takes everything that is queued and commits it as one transaction; what is put
 * meanwhile waits for the next. Rows leave the queue only when they are committed, so a
 * failure needs nothing undone: the same rows are tried again after a while.
 */

#include "store/sqlite.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"

#define BACK_OFF_FIRST_MS 50
#define BACK_OFF_MAX_MS 2000

static const char *const op_sql[OP__COUNT] = {
    [OP_EVENT] = "INSERT OR IGNORE INTO events (id, timestamp_us, session_id, turn_id,"
		 " parent_event_id, type, actor, sensitivity, payload_json, audit)"
		 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [OP_CALL] = "INSERT OR REPLACE INTO calls (id, tool_use_id, session_id, turn_id, tool,"
		" capability, reversibility, state, success, error_class, message, inside, rule,"
		" input, input_hash, input_bytes, output_bytes, files_modified, command, opened_us,"
		" closed_us, waited_ms, ran_ms, attempts)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [OP_SESSION] = "INSERT OR REPLACE INTO sessions (id, workspace, kind, client, created_us,"
		   " ended_us) VALUES (?, ?, ?, ?, ?, ?)",
    [OP_GRANT] = "INSERT OR REPLACE INTO grants (id, workspace, tool, prefix, allow, created_us,"
		 " answered_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [OP_DROP_GRANT] = "DELETE FROM grants WHERE id = ?",
    /* By id, which is by time and has an index. */
    [OP_PRUNE_EVENTS] = "DELETE FROM events WHERE id < ? AND audit = 0",
    [OP_PRUNE_CALLS] = "DELETE FROM calls WHERE id < 'call_' || ?",
    [OP_PRUNE_SESSIONS] = "DELETE FROM sessions WHERE id < 'sess_' || ? AND NOT EXISTS"
			  " (SELECT 1 FROM calls WHERE calls.session_id = sessions.id)",
    [OP_BEGIN] = "BEGIN IMMEDIATE",
    [OP_COMMIT] = "COMMIT",
    [OP_ROLLBACK] = "ROLLBACK",
};

/* One block: the row, its values, their texts. */
struct row {
	struct row *next;
	size_t bytes;
	enum op op;
	size_t count;
	struct value values[];
};

struct waiter {
	struct waiter *next;
	void (*done)(int code, void *arg);
	void *arg;
	int code;
};

static struct row *
row_new(enum op op, const struct value *values, size_t count)
{
	size_t bytes = sizeof(struct row) + count * sizeof(struct value);

	for (size_t i = 0; i < count; i++)
		bytes += values[i].type == VALUE_TEXT ? (size_t)values[i].number : 0;
	struct row *r = malloc(bytes);
	if (!r)
		return NULL;
	*r = (struct row){.bytes = bytes, .op = op, .count = count};
	char *text = (char *)&r->values[count];
	for (size_t i = 0; i < count; i++) {
		r->values[i] = values[i];
		if (values[i].type != VALUE_TEXT)
			continue;
		memcpy(text, values[i].text, (size_t)values[i].number);
		r->values[i].text = text;
		text += values[i].number;
	}
	return r;
}

int
writer__put(struct writer *w, enum op op, const struct value *values, size_t count)
{
	struct row *r = row_new(op, values, count);
	if (!r)
		return E_NOMEM;

	pthread_mutex_lock(&w->lock);
	bool room = w->rows < LIMIT_STORE_QUEUE && w->bytes + r->bytes <= LIMIT_STORE_QUEUE_BYTES;
	if (room) {
		*w->end = r;
		w->end = &r->next;
		w->rows++;
		w->bytes += r->bytes;
		w->put++;
		pthread_cond_signal(&w->news);
	}
	pthread_mutex_unlock(&w->lock);
	if (!room)
		free(r);
	return room ? 0 : E_LIMIT;
}

int
writer__sync(struct writer *w, void (*done)(int code, void *arg), void *arg)
{
	struct waiter *a = malloc(sizeof(*a));
	if (!a)
		return E_NOMEM;
	*a = (struct waiter){.done = done, .arg = arg};

	pthread_mutex_lock(&w->lock);
	bool room = w->waiters < LIMIT_STORE_WAITERS;
	if (room) {
		*w->waiting_end = a;
		w->waiting_end = &a->next;
		w->waiters++;
		pthread_cond_signal(&w->news);
	}
	pthread_mutex_unlock(&w->lock);
	if (!room)
		free(a);
	return room ? 0 : E_LIMIT;
}

void
writer__deliver(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	struct waiter *a = w->answered;
	w->answered = NULL;
	w->answered_end = &w->answered;
	for (struct waiter *i = a; i; i = i->next)
		w->waiters--;
	pthread_mutex_unlock(&w->lock);

	while (a) {
		struct waiter *next = a->next;
		a->done(a->code, a->arg);
		free(a);
		a = next;
	}
}

uint64_t
writer__position(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	uint64_t put = w->put;
	pthread_mutex_unlock(&w->lock);
	return put;
}

/* Reading goes on when writing cannot: what is on the disk is better than no answer. */
void
writer__pass(struct writer *w, uint64_t position)
{
	pthread_mutex_lock(&w->lock);
	while (w->written < position && !w->failures && !w->ended)
		pthread_cond_wait(&w->settled, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

/* What one transaction writes: the queue's first rows, which stay where they are meanwhile. */
struct batch {
	struct row *first, *last;
	size_t count;
	struct waiter *waiters;
	bool final; /* nothing can have been put since */
};

static void
back_off(struct writer *w)
{
	unsigned steps = w->failures < 8 ? w->failures - 1 : 7;
	uint64_t ms = (uint64_t)BACK_OFF_FIRST_MS << steps;
	uint64_t until_us = clock_mono_us() + (ms < BACK_OFF_MAX_MS ? ms : BACK_OFF_MAX_MS) * 1000;
	struct timespec at = {(time_t)(until_us / 1000000), (long)(until_us % 1000000 * 1000)};

	while (!w->stopping && pthread_cond_timedwait(&w->news, &w->lock, &at) != ETIMEDOUT)
		;
}

/* Waits for something to do; false when all is done and no more will come. */
static bool
batch_take(struct writer *w, struct batch *ret)
{
	pthread_mutex_lock(&w->lock);
	if (w->failures)
		back_off(w);
	while (!w->first && !w->waiting && !w->stopping)
		pthread_cond_wait(&w->news, &w->lock);
	*ret = (struct batch){.first = w->first,
			      .count = w->rows,
			      .waiters = w->waiting,
			      .final = w->stopping};
	ret->last = w->first ? CONTAINER_OF(w->end, struct row, next) : NULL;
	w->waiting = NULL;
	w->waiting_end = &w->waiting;
	pthread_mutex_unlock(&w->lock);
	return ret->first || ret->waiters;
}

static int
op_run(struct writer *w, enum op op, const struct value *values, size_t count)
{
	sqlite3_stmt *st = w->ops[op];
	int rc = SQLITE_OK;

	for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
		rc = db__bind(st, (int)i + 1, &values[i]);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_step(st);
	return sqlite3_reset(st); /* says what the step said */
}

static int
batch_write(struct writer *w, const struct batch *b, struct err *e)
{
	if (b->count == 0)
		return 0;
	int rc = op_run(w, OP_BEGIN, NULL, 0);
	const struct row *r = b->first;
	for (size_t i = 0; i < b->count && rc == SQLITE_OK; i++) {
		CHECK(r);
		rc = op_run(w, r->op, r->values, r->count);
		if (i + 1 < b->count) /* the last one's `next` belongs to those who put */
			r = r->next;
	}
	if (rc == SQLITE_OK)
		rc = op_run(w, OP_COMMIT, NULL, 0);
	if (rc == SQLITE_OK)
		return 0;
	db__error(w->db, "write", e);
	if (!sqlite3_get_autocommit(w->db))
		op_run(w, OP_ROLLBACK, NULL, 0);
	return E_STORE;
}

/* With the lock held. Returns the rows that may be freed. */
static struct row *
batch_drop(struct writer *w, const struct batch *b)
{
	size_t bytes = 0;

	w->first = b->last->next;
	b->last->next = NULL;
	if (!w->first)
		w->end = &w->first;
	for (const struct row *r = b->first; r; r = r->next)
		bytes += r->bytes;
	w->rows -= b->count;
	w->bytes -= bytes;
	w->written += b->count;
	w->commits++;
	return b->first;
}

static void
rows_free(struct row *r)
{
	while (r) {
		struct row *next = r->next;
		free(r);
		r = next;
	}
}

static void
batch_settle(struct writer *w, const struct batch *b, int code, const struct err *e)
{
	struct row *written = NULL;

	pthread_mutex_lock(&w->lock);
	if (code < 0) {
		w->failures++;
		w->failure = *e;
	} else {
		w->failures = 0;
		if (b->count)
			written = batch_drop(w, b);
	}
	for (struct waiter *a = b->waiters; a; a = a->next) {
		a->code = code;
		*w->answered_end = a;
		w->answered_end = &a->next;
	}
	pthread_cond_broadcast(&w->settled);
	pthread_mutex_unlock(&w->lock);
	if (b->waiters)
		mailbox_post(w->box);
	rows_free(written);
}

static void *
writer_main(void *arg)
{
	struct writer *w = arg;
	struct batch b = {.final = false};

	while (!b.final && batch_take(w, &b)) {
		struct err e = ERR_NONE;
		int code = batch_write(w, &b, &e);
		batch_settle(w, &b, code, &e);
	}
	pthread_mutex_lock(&w->lock);
	w->ended = true;
	pthread_cond_broadcast(&w->settled);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int
writer__init(struct writer *w, sqlite3 **db, struct mailbox *box, struct err *e)
{
	pthread_condattr_t monotonic;

	*w = (struct writer){.db = *db, .box = box};
	*db = NULL;
	w->end = &w->first;
	w->waiting_end = &w->waiting;
	w->answered_end = &w->answered;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->news, &monotonic);
	pthread_cond_init(&w->settled, &monotonic);
	pthread_condattr_destroy(&monotonic);
	for (size_t i = 0; i < OP__COUNT; i++)
		if (sqlite3_prepare_v3(w->db, op_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &w->ops[i],
				       NULL) != SQLITE_OK)
			return db__error(w->db, op_sql[i], e);
	int errnum = store__thread(&w->thread, writer_main, w);
	if (errnum)
		return err_errno(e, E_STORE, errnum, "writer thread");
	w->started = true;
	return 0;
}

void
writer__stop(struct writer *w)
{
	if (!w->started)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_signal(&w->news);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->started = false;
}

void
writer__done(struct writer *w)
{
	if (!w->db)
		return;
	rows_free(w->first); /* what the disk refused to the last */
	for (size_t i = 0; i < OP__COUNT; i++)
		sqlite3_finalize(w->ops[i]);
	sqlite3_close(w->db);
	pthread_cond_destroy(&w->settled);
	pthread_cond_destroy(&w->news);
	pthread_mutex_destroy(&w->lock);
	*w = (struct writer){0};
}
