/*
 * sqlite.h - the inside of the SQLite store; for src/store and its tests only.
 *
 *   loop thread              writer thread                reader thread
 *   store_put_*  --rows-->   one transaction for
 *                            all that is queued
 *   store_sync   ----------> after its batch  --.
 *   store_find_* --reads--------------------------------> waits until the writer has
 *                                               |         passed what was put before
 *   done()       <--mailbox---------------------+---------page
 *
 * Each thread has a connection of its own.
 */

#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include <pthread.h>
#include <sqlite3.h>

#include "base/embedded.h"
#include "store/store.h"

extern const struct embedded embedded_sql[]; /* the migrations, in order */

/* What is bound to a statement. */
enum value_type { VALUE_NULL, VALUE_INT, VALUE_TEXT };
struct value {
	enum value_type type;
	int64_t number; /* or the length of text */
	const char *text;
};

static inline struct value
value_int(int64_t n)
{
	return (struct value){VALUE_INT, n, NULL};
}

static inline struct value
value_str(struct str s)
{
	return s.ptr ? (struct value){VALUE_TEXT, (int64_t)s.len, s.ptr} : (struct value){0};
}

static inline struct value
value_z(const char *z)
{
	return value_str(str_of(z));
}

static inline struct value
value_time(int64_t wall_us) /* 0 is "not yet" */
{
	return wall_us ? value_int(wall_us) : (struct value){0};
}

/* sqlite_db.c - one connection. path NULL: the memory database called `name`. */
int db__open(const char *path, const char *name, sqlite3 **ret, struct err *e);
int db__migrate(sqlite3 *db, struct err *e);
int db__error(sqlite3 *db, const char *what, struct err *e);   /* E_STORE with the reason inside */
int db__bind(sqlite3_stmt *st, int at, const struct value *v); /* text must stay until reset */
struct str db__text(sqlite3_stmt *st, int column);             /* until the next step */

/* sqlite_write.c - the queue and the thread that empties it. */
enum op {
	OP_EVENT,
	OP_CALL,
	OP_SESSION,
	OP_GRANT,
	OP_DROP_GRANT,
	OP_PRUNE_EVENTS,
	OP_PRUNE_CALLS,
	OP_PRUNE_SESSIONS,
	OP_BEGIN,
	OP_COMMIT,
	OP_ROLLBACK,
	OP__COUNT
};

struct row;
struct waiter;

struct writer {
	sqlite3 *db; /* own */
	sqlite3_stmt *ops[OP__COUNT];
	struct mailbox *box; /* borrowed: told when a waiter has its answer */
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;   /* for all below */
	pthread_cond_t news;    /* to the writer: a row, a waiter, or the end */
	pthread_cond_t settled; /* from the writer: a batch was tried */
	struct row *first, **end;
	size_t rows, bytes; /* queued, with the batch at work: they stay until committed */
	struct waiter *waiting, **waiting_end;
	struct waiter *answered, **answered_end;
	size_t waiters;
	uint64_t put, written; /* rows so far */
	uint64_t commits;
	unsigned failures; /* in a row */
	struct err failure;
	bool stopping, ended;
};

int writer__init(struct writer *w, sqlite3 **db, struct mailbox *box, struct err *e);
void writer__stop(struct writer *w); /* after a last try at what is queued */
void writer__done(struct writer *w);
int writer__put(struct writer *w, enum op op, const struct value *values, size_t count);
int writer__sync(struct writer *w, void (*done)(int code, void *arg), void *arg);
void writer__deliver(struct writer *w); /* on the loop */
uint64_t writer__position(struct writer *w);
/* Until everything up to this position is written, or the disk refuses. Any thread. */
void writer__pass(struct writer *w, uint64_t position);

/* sqlite_read.c - queries, and the thread that runs them. */
enum table { TABLE_EVENTS, TABLE_CALLS, TABLE_SESSIONS, TABLE__COUNT };
enum filter {
	FILTER_SESSION,
	FILTER_TURN,
	FILTER_SINCE,
	FILTER_UNTIL,
	FILTER_TYPES,
	FILTER_ID,
	FILTER__COUNT
};
#define SHAPES (1u << (FILTER__COUNT + 1)) /* which filters, and newest or not */

struct read;

struct reader {
	sqlite3 *db; /* own */
	sqlite3_stmt *kept[TABLE__COUNT][SHAPES];
	struct writer *writer;
	struct mailbox *box;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock; /* for all below */
	pthread_cond_t news;
	struct read *first, **end;
	struct read *finished, **finished_end;
	size_t reads; /* not yet delivered */
	bool stopping;
};

int reader__init(struct reader *r, sqlite3 **db, struct writer *w, struct mailbox *box,
		 struct err *e);
void reader__stop(struct reader *r); /* after everything asked for */
void reader__done(struct reader *r);
int reader__find(struct reader *r, enum table table, const struct store_query *q,
		 store_page_fn done, void *arg);
void reader__deliver(struct reader *r);

/* sqlite.c */
struct store {
	struct mailbox box;
	bool boxed;
	struct writer writer;
	struct reader reader;
};

/* A thread that leaves every signal to others. */
int store__thread(pthread_t *ret, void *(*main)(void *), void *arg);

#endif
