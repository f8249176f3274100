/*
 * sqlite_read.c - pages of rows as JSON, read on a thread of their own.
 *
 * What a row looks like is a table of columns; which rows is a table of filters. Each
 * combination of filters is a statement, prepared at its first use and kept.
 */

#include "store/sqlite.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/write.h"

enum as {
	AS_TEXT,
	AS_INT,
	AS_BOOL,
	AS_TIME,
	AS_JSON,
	AS_INPUT, /* JSON, unless it was cut */
};

struct column {
	const char *name; /* in the table */
	const char *key;  /* in the JSON */
	enum as as;
};

/* The order is the envelope's: an event read back is the same bytes as on the bus. */
static const struct column event_columns[] = {
    {"id", "id", AS_TEXT},
    {"timestamp_us", "timestamp", AS_TIME},
    {"session_id", "session_id", AS_TEXT},
    {"turn_id", "turn_id", AS_TEXT},
    {"parent_event_id", "parent_event_id", AS_TEXT},
    {"type", "type", AS_TEXT},
    {"actor", "actor", AS_TEXT},
    {"payload_json", "payload", AS_JSON},
    {"sensitivity", "sensitivity", AS_TEXT},
};
#define EVENT_TYPE_COLUMN 5

static const struct column call_columns[] = {
    {"id", "call_id", AS_TEXT},
    {"tool_use_id", "tool_use_id", AS_TEXT},
    {"session_id", "session_id", AS_TEXT},
    {"turn_id", "turn_id", AS_TEXT},
    {"tool", "tool_name", AS_TEXT},
    {"capability", "capability", AS_TEXT},
    {"reversibility", "reversibility", AS_TEXT},
    {"state", "state", AS_TEXT},
    {"success", "success", AS_BOOL},
    {"error_class", "error_class", AS_TEXT},
    {"message", "message", AS_TEXT},
    {"inside", "inside", AS_TEXT},
    {"rule", "rule", AS_TEXT},
    {"input", "input", AS_INPUT},
    {"input_hash", "input_hash", AS_TEXT},
    {"input_bytes", "input_bytes", AS_INT},
    {"output_bytes", "output_bytes", AS_INT},
    {"files_modified", "files_modified", AS_JSON},
    {"command", "command", AS_TEXT},
    {"opened_us", "opened_at", AS_TIME},
    {"closed_us", "closed_at", AS_TIME},
    {"waited_ms", "waited_ms", AS_INT},
    {"ran_ms", "ran_ms", AS_INT},
    {"attempts", "attempts", AS_INT},
};

static const struct column session_columns[] = {
    {"id", "session_id", AS_TEXT},
    {"workspace", "workspace_path", AS_TEXT},
    {"kind", "kind", AS_TEXT},
    {"client", "client", AS_TEXT},
    {"created_us", "created_at", AS_TIME},
    {"ended_us", "ended_at", AS_TIME},
};

/* A filter without a clause does not concern the table. ?n is 1 + its place in enum filter. */
static const struct table_row {
	const char *name;
	const struct column *columns;
	size_t count;
	const char *clauses[FILTER__COUNT];
} tables[TABLE__COUNT] = {
    [TABLE_EVENTS] = {"events",
		      event_columns,
		      ARRAY_LEN(event_columns),
		      {"session_id = ?1", "turn_id = ?2", "id > ?3", "id <= ?4",
		       "instr(',' || ?5 || ',', ',' || type || ',') > 0", "id = ?6"}},
    [TABLE_CALLS] = {"calls",
		     call_columns,
		     ARRAY_LEN(call_columns),
		     {"session_id = ?1", "turn_id = ?2", "id > ?3", "id <= ?4", NULL,
		      "(id = ?6 OR tool_use_id = ?6)"}},
    [TABLE_SESSIONS] = {"sessions",
			session_columns,
			ARRAY_LEN(session_columns),
			{"id = ?1", NULL, "id > ?3", "id <= ?4", NULL, "id = ?6"}},
};
#define LIMIT_PARAMETER (FILTER__COUNT + 1)
#define SHAPE_NEWEST (1u << FILTER__COUNT)

/* One question to the tables, and later its answer. */
struct read {
	struct read *next;
	enum table table;
	unsigned shape; /* bit per filter given, and SHAPE_NEWEST */
	struct str given[FILTER__COUNT];
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
	*job = (struct read){.table = table, .shape = q->newest ? SHAPE_NEWEST : 0};
	job->limit = q->limit && q->limit < LIMIT_EVENT_PAGE ? q->limit : LIMIT_EVENT_PAGE;
	char *text = job->text;
	for (size_t i = 0; i < FILTER__COUNT; i++) {
		if (!given[i].ptr || !tables[table].clauses[i])
			continue;
		job->shape |= 1u << i;
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

/* The statement for a table and a combination of filters; NULL when it cannot be prepared. */
static sqlite3_stmt *
statement_get(struct reader *r, enum table table, unsigned shape)
{
	const struct table_row *t = &tables[table];
	sqlite3_stmt **kept = &r->kept[table][shape];
	struct buf sql = BUF_INIT(2 * KIB);
	const char *word = "WHERE";

	if (*kept)
		return *kept;
	for (size_t i = 0; i < t->count; i++)
		buf_addf(&sql, "%s %s", i ? "," : "SELECT", t->columns[i].name);
	buf_addf(&sql, " FROM %s", t->name);
	for (size_t i = 0; i < FILTER__COUNT; i++) {
		if (!(shape & (1u << i)))
			continue;
		buf_addf(&sql, " %s %s", word, t->clauses[i]);
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
input_write(struct jw *w, struct str input)
{
	struct json_doc *doc = NULL;

	if (json_parse(input, &json_door, &doc, NULL) == 0)
		jw_raw(w, input);
	else
		jw_str(w, input);
	json_doc_unref(doc);
}

static void
column_write(struct jw *w, const struct column *c, sqlite3_stmt *st, int at)
{
	char time[CLOCK_TEXT];

	jw_key(w, c->key);
	if (sqlite3_column_type(st, at) == SQLITE_NULL) {
		jw_null(w);
		return;
	}
	switch (c->as) {
	case AS_TEXT: jw_str(w, db__text(st, at)); break;
	case AS_INT: jw_int(w, sqlite3_column_int64(st, at)); break;
	case AS_BOOL: jw_bool(w, sqlite3_column_int64(st, at) != 0); break;
	case AS_JSON: jw_raw(w, db__text(st, at)); break;
	case AS_INPUT: input_write(w, db__text(st, at)); break;
	case AS_TIME:
		clock_text(sqlite3_column_int64(st, at), time);
		jw_z(w, time);
		break;
	}
}

/* False when the page is full. */
static bool
row_add(struct read *job, sqlite3_stmt *st, struct buf *scratch)
{
	const struct table_row *t = &tables[job->table];
	struct jw w = jw(scratch);
	struct store_row row = {.id = arena_str(job->arena, db__text(st, 0))};

	if (job->table == TABLE_EVENTS)
		row.type = arena_str(job->arena, db__text(st, EVENT_TYPE_COLUMN));
	buf_reset(scratch);
	jw_object(&w);
	for (size_t i = 0; i < t->count; i++)
		column_write(&w, &t->columns[i], st, (int)i);
	jw_end(&w);
	row.json = arena_str(job->arena, buf_str(scratch));
	if (buf_failed(scratch) || !row.json.ptr || !row.id.ptr)
		return false;
	job->rows[job->page.count++] = row;
	return true;
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
page_fill(struct read *job, sqlite3_stmt *st)
{
	struct buf scratch = BUF_INIT(LIMIT_STORE_PAGE_BYTES);
	int rc;

	/* One more than wanted is asked for, to know whether there is more. */
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		job->page.more = job->page.count == job->limit || !row_add(job, st, &scratch);
		if (job->page.more)
			break;
	}
	buf_done(&scratch);
	if (job->shape & SHAPE_NEWEST)
		rows_reverse(job->rows, job->page.count);
	job->page.rows = job->rows;
	bool stuck = job->page.more && job->page.count == 0; /* no room for a single row */
	return (rc == SQLITE_ROW || rc == SQLITE_DONE) && !stuck ? 0 : E_STORE;
}

static int
read_run(struct reader *r, struct read *job)
{
	job->arena = arena_new(LIMIT_STORE_PAGE_BYTES);
	if (!job->arena)
		return E_STORE;
	job->rows = arena_alloc(job->arena, job->limit * sizeof(*job->rows));
	sqlite3_stmt *st = statement_get(r, job->table, job->shape);
	if (!job->rows || !st)
		return E_STORE;
	int rc = sqlite3_bind_int64(st, LIMIT_PARAMETER, (sqlite3_int64)job->limit + 1);
	for (size_t i = 0; i < FILTER__COUNT && rc == SQLITE_OK; i++) {
		struct value v = value_str(job->given[i]);
		if (job->given[i].ptr)
			rc = db__bind(st, (int)i + 1, &v);
	}
	int code = rc == SQLITE_OK ? page_fill(job, st) : E_STORE;
	sqlite3_reset(st); /* ends the read transaction: an open one would hold up checkpoints */
	sqlite3_clear_bindings(st);
	return code;
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
		return db__error(r->db, "query_only", e);
	int errnum = store__thread(&r->thread, reader_main, r);
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
	for (size_t i = 0; i < TABLE__COUNT; i++)
		for (size_t j = 0; j < SHAPES; j++)
			sqlite3_finalize(r->kept[i][j]);
	sqlite3_close(r->db);
	pthread_cond_destroy(&r->news);
	pthread_mutex_destroy(&r->lock);
	*r = (struct reader){0};
}
