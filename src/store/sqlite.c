/* sqlite.c - the store in one SQLite file: what store.h promises, on top of writer and reader. */

#include "store/sqlite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/ulid.h"
#include "json/write.h"
#include "store/record.h"

/* Signals are the loop's business; SIGXFSZ must become an error of the write, not our end. */
int
store__thread(pthread_t *ret, const char *name, void *(*main)(void *), void *arg)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int errnum = pthread_create(ret, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errnum == 0)
		(void)pthread_setname_np(*ret, name);
	return errnum;
}

static void
store_wake(void *arg)
{
	struct store *s = arg;

	writer__deliver(&s->writer);
	reader__deliver(&s->reader);
}

static int
store_init(struct store *s, struct loop *l, const char *path, struct err *e)
{
	struct id name = id_new("memory_");
	sqlite3 *writing = NULL, *reading = NULL;

	buf_init(&s->json, LIMIT_STORE_PAGE_BYTES);
	int code = mailbox_init(l, &s->box, store_wake, s, e);
	if (code < 0)
		return code;
	s->boxed = true;
	code = db__open(path, name.text, &writing, e);
	if (code == 0)
		code = db__migrate(writing, e);
	if (code == 0)
		code = db__open(path, name.text, &reading, e);
	if (code == 0)
		code = writer__init(&s->writer, &writing, &s->box, e);
	if (code == 0)
		code = reader__init(&s->reader, &reading, &s->writer, &s->box, e);
	sqlite3_close(writing); /* NULL when they have an owner */
	sqlite3_close(reading);
	return code;
}

int
store_open(struct loop *l, const char *path, struct store **ret, struct err *e)
{
	struct store *s = calloc(1, sizeof(*s));
	if (!s)
		return err_plain(e, E_NOMEM);
	int code = store_init(s, l, path, e);
	if (code < 0)
		store_free(s);
	else
		*ret = s;
	return code;
}

void
store_free(struct store *s)
{
	if (!s)
		return;
	writer__stop(&s->writer);
	reader__stop(&s->reader);
	if (s->writer.db)
		writer__deliver(&s->writer);
	if (s->reader.db)
		reader__deliver(&s->reader);
	reader__done(&s->reader);
	writer__done(&s->writer);
	if (s->boxed)
		mailbox_done(&s->box);
	buf_done(&s->json);
	free(s);
}

int
store_health(struct store *s, struct err *e)
{
	struct writer *w = &s->writer;

	pthread_mutex_lock(&w->lock);
	int code = w->failures ? E_STORE : 0;
	if (code < 0 && e)
		*e = w->failure;
	pthread_mutex_unlock(&w->lock);
	return code;
}

void
store_release(struct store *s)
{
	sqlite3_db_release_memory(s->writer.db);
	sqlite3_db_release_memory(s->reader.db);
}

bool
store_crowded(struct store *s)
{
	struct writer *w = &s->writer;

	pthread_mutex_lock(&w->lock);
	bool crowded = w->rows > LIMIT_STORE_QUEUE / 2 || w->bytes > LIMIT_STORE_QUEUE_BYTES / 2;
	pthread_mutex_unlock(&w->lock);
	return crowded;
}

void
store_backlog(struct store *s, size_t *ret_rows, size_t *ret_bytes)
{
	struct writer *w = &s->writer;

	pthread_mutex_lock(&w->lock);
	*ret_rows = w->rows;
	*ret_bytes = w->bytes;
	pthread_mutex_unlock(&w->lock);
}

/* The record that was written to s->json; one that was large does not keep its memory. */
static int
json_put(struct store *s, enum lane lane, struct record r)
{
	r.json = buf_str(&s->json);
	int code = buf_failed(&s->json) ? E_NOMEM : writer__record(&s->writer, lane, &r);
	if (s->json.cap > LIMIT_STORE_SEGMENT)
		buf_done(&s->json);
	return code;
}

int
store_put_event(struct store *s, const struct store_event *row)
{
	enum lane lane = row->audit ? LANE_AUDIT : LANE_EVENTS;
	struct record r = {.id = row->id, .session = row->session, .json = row->json};

	if (r.json.ptr)
		return writer__record(&s->writer, lane, &r);
	buf_reset(&s->json);
	record_event(&s->json, row);
	return json_put(s, lane, r);
}

int
store_put_call(struct store *s, const struct store_call *row)
{
	buf_reset(&s->json);
	record_call(&s->json, row);
	return json_put(s, LANE_CALLS,
			(struct record){.id = row->id,
					.session = row->session,
					.use = row->tool_use_id});
}

int
store_put_call_state(struct store *s, struct str row, const char *state, int64_t closed_us)
{
	struct json_doc *doc = NULL;
	char at[CLOCK_TEXT];

	if (json_parse(row, &json_door, &doc, NULL) < 0)
		return E_BAD_JSON;
	clock_text(closed_us, at);
	buf_reset(&s->json);
	struct jw w = jw(&s->json);
	jw_object(&w);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		jw_key_str(&w, it.key);
		if (str_is(it.key, "state"))
			jw_z(&w, state);
		else if (str_is(it.key, "closed_at"))
			jw_z(&w, at);
		else
			jw_value(&w, it.value);
	}
	jw_end(&w);
	const struct json *root = json_root(doc);
	int code = json_put(s, LANE_CALLS,
			    (struct record){.id = json_str(json_get(root, S("call_id"))),
					    .session = json_str(json_get(root, S("session_id"))),
					    .use = json_str(json_get(root, S("tool_use_id")))});
	json_doc_unref(doc);
	return code;
}

int
store_put_session(struct store *s, const struct store_session *row)
{
	const struct value values[] = {
	    value_str(row->id),     value_str(row->workspace),  value_z(row->kind),
	    value_str(row->client), value_int(row->created_us), value_time(row->ended_us),
	    value_str(row->tenant), value_str(row->agent),
	};

	return writer__put(&s->writer, OP_SESSION, values, ARRAY_LEN(values));
}

int
store_put_grant(struct store *s, const struct store_grant *row)
{
	const struct value values[] = {
	    value_str(row->id),     value_str(row->workspace), value_str(row->tool),
	    value_str(row->prefix), value_int(row->allow),     value_int(row->created_us),
	    value_str(row->by),
	};

	return writer__put(&s->writer, OP_GRANT, values, ARRAY_LEN(values));
}

int
store_delete_grant(struct store *s, struct str id)
{
	const struct value value = value_str(id);

	return writer__put(&s->writer, OP_DROP_GRANT, &value, 1);
}

int
store_prune(struct store *s, int64_t before_us)
{
	char oldest[ULID_LEN + 1];

	ulid_at(before_us, oldest);
	const struct value value = value_z(oldest);
	return writer__put(&s->writer, OP_PRUNE, &value, 1);
}

int
store_sync(struct store *s, void (*done)(int code, void *arg), void *arg)
{
	return writer__sync(&s->writer, done, arg);
}

int
store_find_events(struct store *s, const struct store_query *q, store_page_fn done, void *arg)
{
	return reader__find(&s->reader, TABLE_EVENTS, q, done, arg);
}

int
store_find_calls(struct store *s, const struct store_query *q, store_page_fn done, void *arg)
{
	return reader__find(&s->reader, TABLE_CALLS, q, done, arg);
}

int
store_find_sessions(struct store *s, const struct store_query *q, store_page_fn done, void *arg)
{
	return reader__find(&s->reader, TABLE_SESSIONS, q, done, arg);
}

static struct store_grant
grant_of(sqlite3_stmt *st)
{
	return (struct store_grant){
	    .id = db_text(st, 0),
	    .workspace = db_text(st, 1),
	    .tool = db_text(st, 2),
	    .prefix = db_text(st, 3),
	    .allow = sqlite3_column_int(st, 4) != 0,
	    .created_us = sqlite3_column_int64(st, 5),
	    .by = db_text(st, 6),
	};
}

int
store_load_grants(struct store *s, void (*each)(const struct store_grant *g, void *arg), void *arg,
		  struct err *e)
{
	static const char sql[] = "SELECT id, workspace, tool, prefix, allow, created_us,"
				  " answered_by FROM grants ORDER BY id";
	sqlite3 *db = s->reader.db;
	sqlite3_stmt *st = NULL;

	writer__pass(&s->writer, writer__position(&s->writer));
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	while (st && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct store_grant g = grant_of(st);
		each(&g, arg);
	}
	int code = rc == SQLITE_DONE ? 0 : db_error(db, "grants", e);
	sqlite3_finalize(st);
	return code;
}

int
store_last_event_id(struct store *s, char ret[27], struct err *e)
{
	/* Segments overlap only where they begin alike. */
	static const char sql[] = "SELECT max(last) FROM segments WHERE log = 'events' AND first >="
				  " substr((SELECT max(first) FROM segments WHERE"
				  " log = 'events'), 1, 7)";
	sqlite3 *db = s->reader.db;
	sqlite3_stmt *st = NULL;

	writer__pass(&s->writer, writer__position(&s->writer));
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	if (st)
		rc = sqlite3_step(st);
	int code = rc == SQLITE_ROW ? 0 : db_error(db, "last event", e);
	if (code == 0)
		snprintf(ret, ULID_LEN + 1, "%.*s", STR_ARG(db_text(st, 0)));
	sqlite3_finalize(st);
	return code;
}
