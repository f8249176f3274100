/*
 * sqlite_read.c - pages of rows as JSON, read on a thread of their own.
 *
 * Events and calls are kept as the JSON they are shown as, and walked over (sqlite_walk.c). What a
 * session looks like is a table of columns, which ones a table of filters; each combination of
 * filters is a statement, prepared at its first use and kept.
 */

#include "store/sqlite.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"
#include "json/write.h"

enum as { AS_TEXT, AS_TIME, AS_OWNER };

static const struct column {
	const char *name; /* in the table */
	const char *key;  /* in the JSON */
	enum as as;
} columns[] = {
    {"id", "session_id", AS_TEXT},
    {"workspace", "workspace_path", AS_TEXT},
    {"kind", "kind", AS_TEXT},
    {"client", "client", AS_TEXT},
    {"created_us", "created_at", AS_TIME},
    {"ended_us", "ended_at", AS_TIME},
    {"tenant", "tenant", AS_OWNER},
    {"agent", "agent", AS_OWNER},
};

/* A filter without a clause does not concern sessions. ?n is 1 + its place in enum filter. */
static const char *const clauses[FILTER__COUNT] = {
    [FILTER_SESSION] = "id = ?1",
    [FILTER_SINCE] = "id > ?3",
    [FILTER_UNTIL] = "id <= ?4",
    [FILTER_ID] = "id = ?6",
};
#define LIMIT_PARAMETER (FILTER__COUNT + 1)
#define SHAPE_NEWEST (1u << FILTER__COUNT)

/* One question to the tables, and later its answer. */
struct read {
	struct read *next;
	enum table table;
	struct str given[FILTER__COUNT];
	bool newest;
	size_t limit;
	uint64_t position; /* of the writer, when it was asked */
	store_page_fn done;
	void *arg;

	struct arena *arena; /* own: rows and their texts */
	struct store_row *rows;
	struct store_page page;
	char text[]; /* of `given` */
};

static void
read_free(struct read *job)
{
	arena_free(job->arena);
	free(job);
}

static struct read *
read_new(enum table table, const struct store_query *q)
{
	const struct str given[FILTER__COUNT] = {
	    [FILTER_SESSION] = q->session, [FILTER_TURN] = q->turn,   [FILTER_SINCE] = q->since,
	    [FILTER_UNTIL] = q->until,     [FILTER_TYPES] = q->types, [FILTER_ID] = q->id,
	};
	size_t bytes = 0;

	for (size_t i = 0; i < FILTER__COUNT; i++)
		bytes += given[i].len;
	struct read *job = malloc(sizeof(*job) + bytes);
	if (!job)
		return NULL;
	*job = (struct read){.table = table, .newest = q->newest};
	job->limit = q->limit && q->limit < LIMIT_EVENT_PAGE ? q->limit : LIMIT_EVENT_PAGE;
	char *text = job->text;
	for (size_t i = 0; i < FILTER__COUNT; i++) {
		if (!given[i].ptr)
			continue;
		job->given[i] = (struct str){text, given[i].len};
		memcpy(text, given[i].ptr, given[i].len);
		text += given[i].len;
	}
	return job;
}

int
reader__find(struct reader *r, enum table table, const struct store_query *q, store_page_fn done,
	     void *arg)
{
	struct read *job = read_new(table, q);
	if (!job)
		return E_NOMEM;
	job->done = done;
	job->arg = arg;
	job->position = writer__position(r->writer);

	pthread_mutex_lock(&r->lock);
	bool room = r->reads < LIMIT_STORE_READS;
	if (room) {
		*r->end = job;
		r->end = &job->next;
		r->reads++;
		pthread_cond_signal(&r->news);
	}
	pthread_mutex_unlock(&r->lock);
	if (!room)
		read_free(job);
	return room ? 0 : E_LIMIT;
}

void
reader__deliver(struct reader *r)
{
	pthread_mutex_lock(&r->lock);
	struct read *job = r->finished;
	r->finished = NULL;
	r->finished_end = &r->finished;
	for (struct read *i = job; i; i = i->next)
		r->reads--;
	pthread_mutex_unlock(&r->lock);

	while (job) {
		struct read *next = job->next;
		job->done(&job->page, job->arg);
		read_free(job);
		job = next;
	}
}

/* False when the page is full. */
static bool
page_add(const struct store_row *row, void *arg)
{
	struct read *job = arg;
	struct store_row *kept = &job->rows[job->page.count];

	if (job->page.count < job->limit) {
		*kept = (struct store_row){.id = arena_str(job->arena, row->id),
					   .type = arena_str(job->arena, row->type),
					   .json = arena_str(job->arena, row->json)};
		if (kept->id.ptr && kept->json.ptr) {
			job->page.count++;
			return true;
		}
	}
	job->page.more = true;
	return false;
}

static int
records_read(struct reader *r, struct read *job)
{
	struct walk walk = {
	    .log = job->table == TABLE_CALLS ? LOG_CALLS : LOG_EVENTS,
	    .newest = job->newest,
	    .each = page_add,
	    .arg = job,
	};

	memcpy(walk.given, job->given, sizeof(walk.given));
	return walker__run(&r->walker, &walk);
}

/* Sessions */

/* The statement for a combination of filters; NULL when it cannot be prepared. */
static sqlite3_stmt *
statement_get(struct reader *r, unsigned shape)
{
	sqlite3_stmt **kept = &r->kept[shape];
	struct buf sql = BUF_INIT(2 * KIB);
	const char *word = "WHERE";

	if (*kept)
		return *kept;
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		buf_addf(&sql, "%s %s", i ? "," : "SELECT", columns[i].name);
	buf_addz(&sql, " FROM sessions");
	for (size_t i = 0; i < FILTER__COUNT; i++) {
		if (!(shape & (1u << i)))
			continue;
		buf_addf(&sql, " %s %s", word, clauses[i]);
		word = "AND";
	}
	buf_addf(&sql, " ORDER BY id%s LIMIT ?%d", shape & SHAPE_NEWEST ? " DESC" : "",
		 LIMIT_PARAMETER);
	const char *z = buf_z(&sql);
	if (!z ||
	    sqlite3_prepare_v3(r->db, z, -1, SQLITE_PREPARE_PERSISTENT, kept, NULL) != SQLITE_OK)
		*kept = NULL;
	buf_done(&sql);
	return *kept;
}

static void
column_write(struct jw *w, const struct column *c, sqlite3_stmt *st, int at)
{
	char time[CLOCK_TEXT];

	if (c->as == AS_OWNER && sqlite3_column_type(st, at) == SQLITE_NULL)
		return;
	jw_key(w, c->key);
	if (c->as == AS_OWNER || c->as == AS_TEXT || sqlite3_column_type(st, at) == SQLITE_NULL) {
		jw_str(w, db_text(st, at));
		return;
	}
	clock_text(sqlite3_column_int64(st, at), time);
	jw_z(w, time);
}

static void
session_write(struct buf *b, sqlite3_stmt *st)
{
	struct jw w = jw(b);

	buf_reset(b);
	jw_object(&w);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		column_write(&w, &columns[i], st, (int)i);
	jw_end(&w);
}

static int
sessions_page(struct read *job, sqlite3_stmt *st)
{
	struct buf json = BUF_INIT(LIMIT_STORE_PAGE_BYTES);
	int rc;

	/* One more than wanted is asked for, to know whether there is more. */
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		session_write(&json, st);
		if (buf_failed(&json)) {
			rc = SQLITE_NOMEM;
			break;
		}
		if (!page_add(&(struct store_row){.id = db_text(st, 0), .json = buf_str(&json)},
			      job))
			break;
	}
	buf_done(&json);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int
sessions_read(struct reader *r, struct read *job)
{
	unsigned shape = job->newest ? SHAPE_NEWEST : 0;

	for (size_t i = 0; i < FILTER__COUNT; i++)
		if (job->given[i].ptr && clauses[i])
			shape |= 1u << i;
	sqlite3_stmt *st = statement_get(r, shape);
	if (!st)
		return SQLITE_NOMEM;
	int rc = sqlite3_bind_int64(st, LIMIT_PARAMETER, (sqlite3_int64)job->limit + 1);
	for (size_t i = 0; i < FILTER__COUNT && rc == SQLITE_OK; i++) {
		struct value v = value_str(job->given[i]);
		if (shape & (1u << i))
			rc = db_bind(st, (int)i + 1, &v);
	}
	if (rc == SQLITE_OK)
		rc = sessions_page(job, st);
	sqlite3_reset(st); /* ends the read transaction: an open one would hold up checkpoints */
	sqlite3_clear_bindings(st);
	return rc;
}

static void
rows_reverse(struct store_row *rows, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct store_row row = rows[i];
		rows[i] = rows[count - 1 - i];
		rows[count - 1 - i] = row;
	}
}

static int
read_run(struct reader *r, struct read *job)
{
	job->arena = arena_new(LIMIT_STORE_PAGE_BYTES);
	if (!job->arena)
		return E_STORE;
	job->rows = arena_alloc(job->arena, job->limit * sizeof(*job->rows));
	if (!job->rows)
		return E_STORE;
	int rc = job->table == TABLE_SESSIONS ? sessions_read(r, job) : records_read(r, job);
	if (job->newest)
		rows_reverse(job->rows, job->page.count);
	job->page.rows = job->rows;
	bool stuck = job->page.more && job->page.count == 0; /* no room for a single row */
	return rc == SQLITE_OK && !stuck ? 0 : E_STORE;
}

static void *
reader_main(void *arg)
{
	struct reader *r = arg;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		while (!r->first && !r->stopping)
			pthread_cond_wait(&r->news, &r->lock);
		struct read *job = r->first;
		if (!job)
			break;
		r->first = job->next;
		if (!r->first)
			r->end = &r->first;
		pthread_mutex_unlock(&r->lock);

		writer__pass(r->writer, job->position);
		job->page.code = read_run(r, job);
		if (job->page.code < 0)
			job->page = (struct store_page){.code = job->page.code};
		job->next = NULL;

		pthread_mutex_lock(&r->lock);
		*r->finished_end = job;
		r->finished_end = &job->next;
		mailbox_post(r->box);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

int
reader__init(struct reader *r, sqlite3 **db, struct writer *w, struct mailbox *box, struct err *e)
{
	*r = (struct reader){.db = *db, .writer = w, .box = box};
	*db = NULL;
	r->end = &r->first;
	r->finished_end = &r->finished;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->news, NULL);
	if (sqlite3_exec(r->db, "PRAGMA query_only = ON", NULL, NULL, NULL) != SQLITE_OK)
		return db_error(r->db, "query_only", e);
	if (walker__init(&r->walker, r->db) != SQLITE_OK)
		return db_error(r->db, "segments", e);
	int errnum = store__thread(&r->thread, "store-reader", reader_main, r);
	if (errnum)
		return err_errno(e, E_STORE, errnum, "reader thread");
	r->started = true;
	return 0;
}

void
reader__stop(struct reader *r)
{
	if (!r->started)
		return;
	pthread_mutex_lock(&r->lock);
	r->stopping = true;
	pthread_cond_signal(&r->news);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	r->started = false;
}

void
reader__done(struct reader *r)
{
	if (!r->db)
		return;
	walker__done(&r->walker);
	for (size_t i = 0; i < SHAPES; i++)
		sqlite3_finalize(r->kept[i]);
	sqlite3_close(r->db);
	pthread_cond_destroy(&r->news);
	pthread_mutex_destroy(&r->lock);
	*r = (struct reader){0};
}
