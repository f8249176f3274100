/*
 * sqlite.h - the inside of the SQLite store; for src/store and its tests only.
 *
 *   loop thread              writer thread                reader thread
 *   store_put_*  --rows-->   one transaction for
 *     (into segments)        all that is queued
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

#include "base/embedded.h"
#include "db/db.h"
#include "store/segment.h"
#include "store/store.h"

extern const struct embedded embedded_sql[]; /* the migrations, in order */

/* sqlite_db.c - a connection to the file of the store. path NULL: the memory database called
 * `name`. */
int db__open(const char *path, const char *name, sqlite3 **ret, struct err *e);
int db__migrate(sqlite3 *db, struct err *e);

/* sqlite_segment.c - segments in the file. All answer with SQLite's codes. */
enum segment_op {
	SEGMENT_LINES,
	SEGMENT_LINES_AGAIN,
	SEGMENT_LINES_DROP,
	SEGMENT_ADD,
	SEGMENT_DROP,
	SEGMENT_OLD,
	SEGMENT_READ,
	SEGMENT_SESSIONS,
	SESSION_OLD,
	SESSION_DROP,
	SEGMENT_OP__COUNT
};
struct segments {
	sqlite3 *db; /* borrowed */
	sqlite3_stmt *ops[SEGMENT_OP__COUNT];
	struct buf packed; /* the records that are being written */
};
/* The records of a row, in *unpacked where they were packed. Valid until st is reset. */
int segments__lines(sqlite3_stmt *st, int column, struct buf *unpacked, struct str *ret);
int segments__init(struct segments *all, sqlite3 *db);
void segments__done(struct segments *all);
int segments__insert(struct segments *all, struct segment *s); /* gives it its seq */
int segments__replace(struct segments *all, const struct segment *s, const char *first);
int segments__prune(struct segments *all, enum lane lane, const char *before);
int segments__prune_sessions(struct segments *all, const char *before);
int segments__adopt(sqlite3 *db); /* what was written before there were segments */

/* sqlite_write.c - the queue and the thread that empties it. */
enum op {
	OP_SESSION,
	OP_GRANT,
	OP_DROP_GRANT,
	OP_SETTING,
	OP_DROP_SETTING,
	OP_DROP_AGENT,
	OP_DROP_TENANT,
	OP_BEGIN,
	OP_COMMIT,
	OP_ROLLBACK,
	OP_PRUNE, /* no statement */
	OP__COUNT
};

struct row;
struct waiter;

/* What is to be written, in one transaction: segments first, then rows. */
struct batch {
	struct segment *segments, **segments_end;
	struct row *rows, **rows_end;
	size_t count, bytes; /* of records and rows */
};

struct writer {
	sqlite3 *db; /* own */
	sqlite3_stmt *ops[OP__COUNT];
	struct segments segments;
	struct segment *open[LANE__COUNT]; /* own: the last written, while it is small */
	struct batch held;                 /* own: taken from the queue, not yet committed */
	struct mailbox *box;               /* borrowed: told when a waiter has its answer */
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;   /* for all below */
	pthread_cond_t news;    /* to the writer: something to do, or no time to lose */
	pthread_cond_t settled; /* from the writer: a batch was tried */
	struct batch queued;
	struct segment *filling[LANE__COUNT]; /* in the queue: where the next record goes */
	struct segment *spare;                /* own: empty ones, to be filled again */
	size_t spares;
	size_t rows, bytes; /* queued and held: they count until they are committed */
	struct waiter *waiting, **waiting_end;
	struct waiter *answered, **answered_end;
	size_t waiters;
	uint64_t put, written; /* rows so far */
	uint64_t wanted;       /* a reader waits for the rows up to here */
	uint64_t commits;
	unsigned failures; /* in a row */
	struct err failure;
	bool idle; /* the writer waits for a first row */
	bool stopping, ended;
};

int writer__init(struct writer *w, sqlite3 **db, struct mailbox *box, struct err *e);
void writer__stop(struct writer *w); /* after a last try at what is queued */
void writer__done(struct writer *w);
int writer__put(struct writer *w, enum op op, const struct value *values, size_t count);
int writer__record(struct writer *w, enum lane lane, const struct record *r);
int writer__sync(struct writer *w, void (*done)(int code, void *arg), void *arg);
void writer__deliver(struct writer *w); /* on the loop */
uint64_t writer__position(struct writer *w);
/* Until everything up to this position is written, or the disk refuses. Any thread. */
void writer__pass(struct writer *w, uint64_t position);

/* sqlite_walk.c - records that are wanted, in the order of their ids. */
enum filter {
	FILTER_SESSION,
	FILTER_TURN,
	FILTER_SINCE,
	FILTER_UNTIL,
	FILTER_TYPES,
	FILTER_ID,
	FILTER__COUNT
};

enum walk_op { WALK_UP, WALK_DOWN, WALK_LINES, WALK_OP__COUNT };
struct walker {
	sqlite3_stmt *ops[WALK_OP__COUNT];
};

struct walk {
	enum log log;
	struct str given[FILTER__COUNT]; /* {NULL,0}: any */
	bool newest;                     /* from the greatest id down */
	/* False: enough. The texts are valid inside only. */
	bool (*each)(const struct store_row *row, void *arg);
	void *arg;
};

int walker__init(struct walker *w, sqlite3 *db);
void walker__done(struct walker *w);
int walker__run(struct walker *w, const struct walk *walk);

/* sqlite_read.c - queries, and the thread that runs them. */
enum table { TABLE_EVENTS, TABLE_CALLS, TABLE_SESSIONS, TABLE__COUNT };
#define SHAPES (1u << (FILTER__COUNT + 1)) /* which filters, and newest or not */

struct read;

struct reader {
	sqlite3 *db; /* own */
	struct walker walker;
	sqlite3_stmt *kept[SHAPES]; /* of sessions */
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
	struct buf json; /* the record that is being put */
	struct writer writer;
	struct reader reader;
};

/* A thread that leaves every signal to others. */
int store__thread(pthread_t *ret, const char *name, void *(*main)(void *), void *arg);

#endif
