/*
 * sqlite_write.c - rows on their way to the disk, and the one thread that writes them.
 *
 * Records of events and calls are put side by side into segments while they wait; all else is a
 * row of its own. The writer takes everything that is queued and commits it as one transaction;
 * what is put meanwhile waits for the next. It begins ten milliseconds after the first row came,
 * at once when somebody waits. What it took stays its own until it is committed, so a failure
 * needs nothing undone: the same is tried again after a while.
 */

#include "store/sqlite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/ulid.h"

#define BACK_OFF_FIRST_MS 50
#define BACK_OFF_MAX_MS 2000
#define LINGER_US 10000
#define LINGER_BYTES (512 * KIB) /* more are not waited for */
#define SMALL_BYTES (12 * KIB)   /* a segment that the next ones are joined to */
#define SPARES 16                /* those of a full group, and of the one being written */
#define ROW_BYTES 64             /* what a record costs besides its text */

static const char *const op_sql[OP__COUNT] = {
    [OP_SESSION] = "INSERT OR REPLACE INTO sessions (id, workspace, kind, client, created_us,"
		   " ended_us, tenant, agent) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [OP_GRANT] = "INSERT OR REPLACE INTO grants (id, workspace, tool, prefix, allow, created_us,"
		 " answered_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [OP_DROP_GRANT] = "DELETE FROM grants WHERE id = ?",
    [OP_SETTING] = "INSERT OR REPLACE INTO settings (kind, tenant, agent, name, id, json,"
		   " created_us, updated_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [OP_DROP_SETTING] = "DELETE FROM settings WHERE kind = ? AND tenant = ? AND agent = ? AND"
			" name = ?",
    [OP_DROP_AGENT] = "DELETE FROM settings WHERE tenant = ? AND agent = ?",
    [OP_DROP_TENANT] = "DELETE FROM settings WHERE tenant = ?",
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

/* The queue */

static void
batch_init(struct batch *b)
{
	*b = (struct batch){.segments_end = &b->segments, .rows_end = &b->rows};
}

/* With the lock held. */
static bool
has_room(const struct writer *w, size_t bytes)
{
	return w->rows < LIMIT_STORE_QUEUE && w->bytes + bytes <= LIMIT_STORE_QUEUE_BYTES;
}

/* With the lock held. The writer is woken for the first row, and when there are many. */
static void
was_put(struct writer *w, size_t bytes)
{
	bool many = w->queued.bytes < LINGER_BYTES && w->queued.bytes + bytes >= LINGER_BYTES;

	w->queued.count++;
	w->queued.bytes += bytes;
	w->rows++;
	w->bytes += bytes;
	w->put++;
	if (w->idle || many)
		pthread_cond_signal(&w->news);
	w->idle = false;
}

int
writer__put(struct writer *w, enum op op, const struct value *values, size_t count)
{
	struct row *r = row_new(op, values, count);
	if (!r)
		return E_NOMEM;

	pthread_mutex_lock(&w->lock);
	bool room = has_room(w, r->bytes);
	if (room) {
		*w->queued.rows_end = r;
		w->queued.rows_end = &r->next;
		was_put(w, r->bytes);
	}
	pthread_mutex_unlock(&w->lock);
	if (!room)
		free(r);
	return room ? 0 : E_LIMIT;
}

/* With the lock held. NULL when out of memory. */
static struct segment *
segment_to_fill(struct writer *w, enum lane lane, struct str id)
{
	struct segment *s = w->filling[lane];

	if (s && segment__takes(s, id))
		return s;
	if ((s = w->spare)) {
		w->spare = s->next;
		w->spares--;
		segment__reset(s, lane);
	} else if (!(s = segment__new(lane))) {
		return NULL;
	}
	*w->queued.segments_end = s;
	w->queued.segments_end = &s->next;
	w->filling[lane] = s;
	return s;
}

int
writer__record(struct writer *w, enum lane lane, const struct record *r)
{
	size_t bytes = r->json.len + ROW_BYTES;
	int code = E_LIMIT;

	pthread_mutex_lock(&w->lock);
	if (has_room(w, bytes)) {
		struct segment *s = segment_to_fill(w, lane, r->id);
		code = s ? segment__add(s, r) : E_NOMEM;
	}
	if (code == 0)
		was_put(w, bytes);
	pthread_mutex_unlock(&w->lock);
	return code;
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
	if (w->wanted < position) {
		w->wanted = position;
		pthread_cond_signal(&w->news);
	}
	while (w->written < position && !w->failures && !w->ended)
		pthread_cond_wait(&w->settled, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

/* The writer */

static struct timespec
moment(uint64_t mono_us)
{
	return (struct timespec){(time_t)(mono_us / 1000000), (long)(mono_us % 1000000 * 1000)};
}

static void
back_off(struct writer *w)
{
	unsigned steps = w->failures < 8 ? w->failures - 1 : 7;
	uint64_t ms = (uint64_t)BACK_OFF_FIRST_MS << steps;
	struct timespec at =
	    moment(clock_mono_us() + (ms < BACK_OFF_MAX_MS ? ms : BACK_OFF_MAX_MS) * 1000);

	while (!w->stopping && pthread_cond_timedwait(&w->news, &w->lock, &at) != ETIMEDOUT)
		;
}

/* Many small transactions cost more than a few large ones, in all that SQLite does for each. */
static void
linger(struct writer *w)
{
	struct timespec at = moment(clock_mono_us() + LINGER_US);

	while (!w->stopping && !w->waiting && w->wanted <= w->written &&
	       w->queued.bytes < LINGER_BYTES &&
	       pthread_cond_timedwait(&w->news, &w->lock, &at) != ETIMEDOUT)
		;
}

/* With the lock held: all that is queued goes behind what is held. */
static void
queue_take(struct writer *w)
{
	struct batch *b = &w->held, *q = &w->queued;

	if (q->segments) {
		*b->segments_end = q->segments;
		b->segments_end = q->segments_end;
	}
	if (q->rows) {
		*b->rows_end = q->rows;
		b->rows_end = q->rows_end;
	}
	b->count += q->count;
	b->bytes += q->bytes;
	batch_init(q);
	memset(w->filling, 0, sizeof(w->filling));
}

/* Waits for something to do; false when all is done and no more will come. */
static bool
work_take(struct writer *w, struct waiter **ret_waiters, bool *ret_final)
{
	pthread_mutex_lock(&w->lock);
	if (w->failures)
		back_off(w);
	while (!w->held.count && !w->queued.count && !w->waiting && !w->stopping) {
		w->idle = true;
		pthread_cond_wait(&w->news, &w->lock);
	}
	w->idle = false;
	if (!w->held.count)
		linger(w);
	queue_take(w);
	*ret_waiters = w->waiting;
	*ret_final = w->stopping; /* nothing can have been put since */
	w->waiting = NULL;
	w->waiting_end = &w->waiting;
	pthread_mutex_unlock(&w->lock);
	return w->held.count || *ret_waiters;
}

static void
open_drop(struct writer *w, enum lane lane)
{
	segment__free(w->open[lane]);
	w->open[lane] = NULL;
}

static void
open_drop_all(struct writer *w)
{
	for (size_t i = 0; i < LANE__COUNT; i++)
		open_drop(w, (enum lane)i);
}

/*
 * While little happens, what comes is joined to the segment before it, so that reading does not
 * walk over thousands of small ones. Only the newest segment grows: of two records with one id
 * the one in the later segment, or later in it, is the one that counts.
 */
static int
segment_write(struct writer *w, struct segment *s)
{
	struct segment *open = w->open[s->lane];
	int rc = SQLITE_NOTFOUND;

	s->seq = 0;
	if (open && open->lines.len < SMALL_BYTES && segment__takes(open, str_of(s->first))) {
		char first[SEGMENT_ID];
		memcpy(first, open->first, sizeof(first));
		if (segment__join(open, s) < 0)
			return SQLITE_NOMEM;
		rc = segments__replace(&w->segments, open, first);
	}
	if (rc != SQLITE_NOTFOUND)
		return rc;
	open_drop(w, s->lane);
	return segments__insert(&w->segments, s);
}

static int
prune_run(struct writer *w, struct str oldest)
{
	char call[SEGMENT_ID], session[SEGMENT_ID];
	struct segments *all = &w->segments;

	open_drop_all(w); /* what is pruned must not grow */
	snprintf(call, sizeof(call), "call_%.*s", STR_ARG(oldest));
	snprintf(session, sizeof(session), "sess_%.*s", STR_ARG(oldest));
	int rc = segments__prune(all, LANE_EVENTS, call + strlen("call_"));
	if (rc == SQLITE_OK)
		rc = segments__prune(all, LANE_CALLS, call);
	if (rc == SQLITE_OK)
		rc = segments__prune_sessions(all, session);
	return rc;
}

static int
row_run(struct writer *w, const struct row *r)
{
	if (r->op == OP_PRUNE)
		return prune_run(w, (struct str){r->values[0].text, (size_t)r->values[0].number});
	return db_run(w->ops[r->op], r->values, r->count);
}

static int
held_write(struct writer *w, struct err *e)
{
	if (w->held.count == 0)
		return 0;
	int rc = db_run(w->ops[OP_BEGIN], NULL, 0);
	for (struct segment *s = w->held.segments; s && rc == SQLITE_OK; s = s->next)
		rc = segment_write(w, s);
	for (const struct row *r = w->held.rows; r && rc == SQLITE_OK; r = r->next)
		rc = row_run(w, r);
	if (rc == SQLITE_OK)
		rc = db_run(w->ops[OP_COMMIT], NULL, 0);
	if (rc == SQLITE_OK)
		return 0;
	db_error(w->db, "write", e);
	open_drop_all(w); /* they may have grown by what is now rolled back */
	if (!sqlite3_get_autocommit(w->db))
		db_run(w->ops[OP_ROLLBACK], NULL, 0);
	return E_STORE;
}

static void
segments_free(struct segment *s)
{
	while (s) {
		struct segment *next = s->next;
		segment__free(s);
		s = next;
	}
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

/* With the lock held: kept to be filled again, unless there are enough or it became large. */
static void
segment_spare(struct writer *w, struct segment *s)
{
	if (w->spares >= SPARES || s->lines.cap > 2 * LIMIT_STORE_SEGMENT) {
		segment__free(s);
		return;
	}
	s->next = w->spare;
	w->spare = s;
	w->spares++;
}

/* With the lock held, after the commit. */
static void
held_drop(struct writer *w)
{
	struct batch *b = &w->held;

	for (struct segment *s = b->segments, *next; s; s = next) {
		next = s->next;
		if (s->seq && s->lines.len < SMALL_BYTES) { /* written as one of its own */
			open_drop(w, s->lane);
			w->open[s->lane] = s;
		} else {
			segment_spare(w, s);
		}
	}
	rows_free(b->rows);
	w->rows -= b->count;
	w->bytes -= b->bytes;
	w->written += b->count;
	w->commits += b->count > 0;
	batch_init(b);
}

static void
work_settle(struct writer *w, struct waiter *waiters, int code, const struct err *e)
{
	pthread_mutex_lock(&w->lock);
	if (code < 0) {
		w->failures++;
		w->failure = *e;
	} else {
		w->failures = 0;
		held_drop(w);
	}
	for (struct waiter *a = waiters; a; a = a->next) {
		a->code = code;
		*w->answered_end = a;
		w->answered_end = &a->next;
	}
	pthread_cond_broadcast(&w->settled);
	pthread_mutex_unlock(&w->lock);
	if (waiters)
		mailbox_post(w->box);
}

static void *
writer_main(void *arg)
{
	struct writer *w = arg;
	struct waiter *waiters;
	bool final = false;

	while (!final && work_take(w, &waiters, &final)) {
		struct err e = ERR_NONE;
		int code = held_write(w, &e);
		work_settle(w, waiters, code, &e);
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
	batch_init(&w->queued);
	batch_init(&w->held);
	w->waiting_end = &w->waiting;
	w->answered_end = &w->answered;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->news, &monotonic);
	pthread_cond_init(&w->settled, &monotonic);
	pthread_condattr_destroy(&monotonic);
	for (size_t i = 0; i < OP__COUNT; i++)
		if (op_sql[i] && sqlite3_prepare_v3(w->db, op_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
						    &w->ops[i], NULL) != SQLITE_OK)
			return db_error(w->db, op_sql[i], e);
	if (segments__init(&w->segments, w->db) != SQLITE_OK)
		return db_error(w->db, "segments", e);
	int errnum = store__thread(&w->thread, "store-writer", writer_main, w);
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

static void *
close_main(void *arg)
{
	sqlite3_close(arg);
	return NULL;
}

/* The last to close a file still writes to it, and a disk that refuses may send a signal. */
static void
close_quietly(sqlite3 *db)
{
	pthread_t thread;

	if (store__thread(&thread, "store-closer", close_main, db) == 0)
		pthread_join(thread, NULL);
	else
		sqlite3_close(db);
}

void
writer__done(struct writer *w)
{
	if (!w->db)
		return;
	/* What the disk refused to the last. */
	segments_free(w->held.segments);
	segments_free(w->queued.segments);
	rows_free(w->held.rows);
	rows_free(w->queued.rows);
	segments_free(w->spare);
	open_drop_all(w);
	segments__done(&w->segments);
	for (size_t i = 0; i < OP__COUNT; i++)
		sqlite3_finalize(w->ops[i]);
	close_quietly(w->db);
	pthread_cond_destroy(&w->settled);
	pthread_cond_destroy(&w->news);
	pthread_mutex_destroy(&w->lock);
	*w = (struct writer){0};
}
