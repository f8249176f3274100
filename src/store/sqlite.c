/* sqlite.c - the store in one SQLite file: what store.h promises, on top of writer and reader. */

#include "store/sqlite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/ulid.h"

/* Signals are the loop's business; SIGXFSZ must become an error of the write, not our end. */
int
store__thread(pthread_t *ret, void *(*main)(void *), void *arg)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int errnum = pthread_create(ret, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
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

bool
store_crowded(struct store *s)
{
	struct writer *w = &s->writer;

	pthread_mutex_lock(&w->lock);
	bool crowded = w->rows > LIMIT_STORE_QUEUE / 2 || w->bytes > LIMIT_STORE_QUEUE_BYTES / 2;
	pthread_mutex_unlock(&w->lock);
	return crowded;
}

int
store_put_event(struct store *s, const struct store_event *row)
{
	const struct value values[] = {
	    value_str(row->id),    value_int(row->wall_us),   value_str(row->session),
	    value_str(row->turn),  value_str(row->parent),    value_z(row->type),
	    value_z(row->actor),   value_z(row->sensitivity), value_str(row->payload),
	    value_int(row->audit),
	};

	return writer__put(&s->writer, OP_EVENT, values, ARRAY_LEN(values));
}

/* An input too long for the journal is kept as text that says so. */
static int
input_cut(struct str input, struct buf *ret)
{
	struct str head = str_utf8_upto(input, LIMIT_JOURNAL_INPUT_BYTES);

	buf_add(ret, head);
	buf_addf(ret, "... [cut, %zu bytes in all]", input.len);
	return buf_failed(ret) ? E_NOMEM : 0;
}

int
store_put_call(struct store *s, const struct store_call *row)
{
	struct buf cut = BUF_INIT(LIMIT_JOURNAL_INPUT_BYTES + 64);
	bool open = row->closed_us == 0;
	bool whole = row->input.len <= LIMIT_JOURNAL_INPUT_BYTES;

	if (!whole && input_cut(row->input, &cut) < 0) {
		buf_done(&cut);
		return E_NOMEM;
	}
	const struct value values[] = {
	    value_str(row->id),
	    value_str(row->tool_use_id),
	    value_str(row->session),
	    value_str(row->turn),
	    value_str(row->tool),
	    value_z(row->capability),
	    value_z(row->reversibility),
	    value_z(row->state),
	    open ? (struct value){0} : value_int(row->success),
	    value_z(row->error_class),
	    value_str(row->message),
	    value_str(row->inside),
	    value_str(row->rule),
	    value_str(whole ? row->input : buf_str(&cut)),
	    value_str(row->input_hash),
	    value_int(row->input_bytes),
	    value_int(row->output_bytes),
	    value_str(row->files_modified),
	    value_str(row->command),
	    value_int(row->opened_us),
	    value_time(row->closed_us),
	    value_int(row->waited_ms),
	    value_int(row->ran_ms),
	    value_int(row->attempts),
	};
	int code = writer__put(&s->writer, OP_CALL, values, ARRAY_LEN(values));
	buf_done(&cut);
	return code;
}

int
store_put_session(struct store *s, const struct store_session *row)
{
	const struct value values[] = {
	    value_str(row->id),     value_str(row->workspace),  value_z(row->kind),
	    value_str(row->client), value_int(row->created_us), value_time(row->ended_us),
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
	static const enum op ops[] = {OP_PRUNE_EVENTS, OP_PRUNE_CALLS, OP_PRUNE_SESSIONS};
	char oldest[ULID_LEN + 1];
	int code = 0;

	ulid_at(before_us, oldest);
	const struct value value = value_z(oldest);
	for (size_t i = 0; i < ARRAY_LEN(ops) && code == 0; i++)
		code = writer__put(&s->writer, ops[i], &value, 1);
	return code;
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
	    .id = db__text(st, 0),
	    .workspace = db__text(st, 1),
	    .tool = db__text(st, 2),
	    .prefix = db__text(st, 3),
	    .allow = sqlite3_column_int(st, 4) != 0,
	    .created_us = sqlite3_column_int64(st, 5),
	    .by = db__text(st, 6),
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
	int code = rc == SQLITE_DONE ? 0 : db__error(db, "grants", e);
	sqlite3_finalize(st);
	return code;
}

int
store_last_event_id(struct store *s, char ret[27], struct err *e)
{
	sqlite3 *db = s->reader.db;
	sqlite3_stmt *st = NULL;

	writer__pass(&s->writer, writer__position(&s->writer));
	int rc = sqlite3_prepare_v2(db, "SELECT max(id) FROM events", -1, &st, NULL);
	if (st)
		rc = sqlite3_step(st);
	int code = rc == SQLITE_ROW ? 0 : db__error(db, "last event", e);
	if (code == 0)
		snprintf(ret, ULID_LEN + 1, "%.*s", STR_ARG(db__text(st, 0)));
	sqlite3_finalize(st);
	return code;
}
