/* read.c - what the ledger holds, for people: lists, one effect, the log as lines. */

#include "effect/inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "json/write.h"

#define SHOWN                                                                                      \
	"id, state, tool, policy, key, digest, call, session, turn, turn_group, tenant, agent,"    \
	" error, resolved_by, note, compensation_tool, compensation_id, compensation_state,"       \
	" compensation_result, compensates, started_us, ended_us, expires_us"
static const char *const texts[] = {
    "id",
    "state",
    "tool",
    "policy",
    "idempotency_key",
    "digest",
    "call",
    "session",
    "turn",
    "turn_group_id",
    "tenant",
    "agent",
    "error",
    "resolved_by",
    "note",
    "compensation_tool",
    "compensation_id",
    "compensation_state",
    "compensation_result",
    "compensates",
};
static const char *const times[] = {"executed_at", "ended_at", "expires_at"};

int
ledger__reader(struct ledger *l, struct err *e)
{
	pthread_mutex_lock(&l->read_lock);
	int code = l->reader ? 0 : ledger__connect(l, &l->reader, e);
	if (code < 0)
		pthread_mutex_unlock(&l->read_lock);
	return code;
}

void
ledger__read_end(struct ledger *l)
{
	pthread_mutex_unlock(&l->read_lock);
}

static void
row_write(struct jw *w, sqlite3_stmt *st)
{
	char at[CLOCK_TEXT];
	int column = 0;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++, column++)
		if (db_text(st, column).ptr)
			jw_member(w, texts[i], db_text(st, column));
	for (size_t i = 0; i < ARRAY_LEN(times); i++, column++) {
		if (sqlite3_column_type(st, column) == SQLITE_NULL)
			continue;
		clock_text(sqlite3_column_int64(st, column), at);
		jw_member_z(w, times[i], at);
	}
}

/* ---- lists ---- */

static int
query_prepare(struct ledger *l, const struct effects_query *q, sqlite3_stmt **ret)
{
	const struct {
		const char *sql;
		struct str value;
	} filters[] = {
	    {" AND state = ?", q->state}, {" AND session = ?", q->session},
	    {" AND turn = ?", q->turn},   {" AND call = ?", q->call},
	    {" AND key = ?", q->key},     {" AND tenant = ?", q->tenant},
	    {" AND agent = ?", q->agent}, {" AND id < ?", q->before},
	};
	struct buf sql = BUF_INIT(2 * KIB);
	int at = 1;

	buf_addz(&sql, "SELECT " SHOWN " FROM effects WHERE 1");
	for (size_t i = 0; i < ARRAY_LEN(filters); i++)
		buf_addz(&sql, filters[i].value.ptr ? filters[i].sql : "");
	if (q->unresolved)
		buf_addz(&sql, " AND state = 'unknown' AND resolved_by IS NULL");
	if (q->compensatable)
		buf_addz(&sql, " AND state = 'done' AND (compensation_state IS NULL"
			       " OR compensation_state = 'failed')");
	buf_addz(&sql, " ORDER BY id DESC LIMIT ?");
	int rc = buf_failed(&sql) ? SQLITE_NOMEM
				  : sqlite3_prepare_v2(l->reader, sql.ptr, (int)sql.len, ret, NULL);
	for (size_t i = 0; i < ARRAY_LEN(filters) && rc == SQLITE_OK; i++) {
		struct value v = value_str(filters[i].value);
		if (filters[i].value.ptr)
			rc = db_bind(*ret, at++, &v);
	}
	struct value limit = value_int((int64_t)q->limit + 1);
	if (rc == SQLITE_OK)
		rc = db_bind(*ret, at, &limit);
	buf_done(&sql);
	return rc;
}

int
ledger_list(struct ledger *l, const struct effects_query *q, struct buf *out, bool *ret_more,
	    struct err *e)
{
	sqlite3_stmt *st = NULL;
	size_t n = 0;
	int code = ledger__reader(l, e);

	if (code < 0)
		return code;
	*ret_more = false;
	int rc = query_prepare(l, q, &st);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		if (n++ == q->limit) {
			*ret_more = true;
			break;
		}
		struct jw w = jw(out);
		buf_addz(out, n > 1 ? "," : "");
		jw_object(&w);
		row_write(&w, st);
		jw_end(&w);
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_DONE && rc != SQLITE_ROW && rc != SQLITE_OK)
		code = db_error(l->reader, "list", e);
	else if (buf_failed(out))
		code = err_plain(e, E_NOMEM);
	sqlite3_finalize(st);
	ledger__read_end(l);
	return code;
}

/* ---- the log ---- */

static void
hash_write(struct jw *w, const char *name, const unsigned char *hash)
{
	char hex[2 * SHA256_BYTES + 1];

	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", hash[i]);
	jw_member_z(w, name, hex);
}

/* seq, effect, at_us, kind, body, hash, and the hash before. */
static void
link_write(struct jw *w, sqlite3_stmt *st)
{
	static const unsigned char none[SHA256_BYTES];
	char at[CLOCK_TEXT];

	clock_text(sqlite3_column_int64(st, 2), at);
	jw_object(w);
	jw_member_int(w, "seq", sqlite3_column_int64(st, 0));
	jw_member(w, "effect", db_text(st, 1));
	jw_member_int(w, "at_us", sqlite3_column_int64(st, 2));
	jw_member_z(w, "at", at);
	jw_member(w, "kind", db_text(st, 3));
	jw_key(w, "body");
	jw_raw(w, db_text(st, 4));
	if (sqlite3_column_bytes(st, 6) == SHA256_BYTES)
		hash_write(w, "previous", sqlite3_column_blob(st, 6));
	else
		hash_write(w, "previous", none);
	if (sqlite3_column_bytes(st, 5) == SHA256_BYTES)
		hash_write(w, "hash", sqlite3_column_blob(st, 5));
	jw_end(w);
}

#define LINKS                                                                                      \
	"SELECT seq, effect, at_us, kind, body, hash,"                                             \
	" COALESCE((SELECT hash FROM log AS b WHERE b.seq = log.seq - 1),"                         \
	" (SELECT hash FROM anchor WHERE seq = log.seq - 1)) FROM log WHERE "

int
ledger_export(struct ledger *l, int64_t after, size_t limit, struct buf *out, int64_t *ret_last,
	      struct err *e)
{
	sqlite3_stmt *st = NULL;
	int code = ledger__reader(l, e);

	if (code < 0)
		return code;
	*ret_last = 0;
	int rc = sqlite3_prepare_v2(l->reader, LINKS "seq > ? ORDER BY seq LIMIT ?", -1, &st, NULL);
	struct value values[] = {value_int(after), value_int((int64_t)limit)};
	if (rc == SQLITE_OK)
		rc = db_bind_all(st, values, 2);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct jw w = jw(out);
		link_write(&w, st);
		buf_addc(out, '\n');
		*ret_last = sqlite3_column_int64(st, 0);
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_DONE)
		code = db_error(l->reader, "export", e);
	else if (buf_failed(out))
		code = err_plain(e, E_NOMEM);
	sqlite3_finalize(st);
	ledger__read_end(l);
	return code;
}

/* ---- one ---- */

static int
show_log(struct ledger *l, struct jw *w, struct str id)
{
	sqlite3_stmt *st = NULL;
	struct value v = value_str(id);
	int rc = sqlite3_prepare_v2(l->reader, LINKS "effect = ? ORDER BY seq", -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = db_bind(st, 1, &v);
	jw_key(w, "log");
	jw_array(w);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		link_write(w, st);
		rc = SQLITE_OK;
	}
	jw_end(w);
	sqlite3_finalize(st);
	return rc;
}

static void
json_member(struct jw *w, const char *name, struct str text)
{
	if (!text.ptr)
		return;
	jw_key(w, name);
	jw_raw(w, text);
}

/* The statement on the row of one. E_NO_EFFECT, E_STORE. */
static int
row_find(struct ledger *l, const char *sql, struct str id, sqlite3_stmt **ret, struct err *e)
{
	struct value v = value_str(id);
	int rc = sqlite3_prepare_v2(l->reader, sql, -1, ret, NULL);

	if (rc == SQLITE_OK)
		rc = db_bind(*ret, 1, &v);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(*ret);
	if (rc == SQLITE_DONE)
		return err_plain(e, E_NO_EFFECT);
	return rc == SQLITE_ROW ? 0 : db_error(l->reader, "show", e);
}

#define BEHIND ((int)(ARRAY_LEN(texts) + ARRAY_LEN(times))) /* those of SHOWN */

int
ledger_show(struct ledger *l, struct str id, struct buf *out, struct err *e)
{
	sqlite3_stmt *st = NULL;
	int code = ledger__reader(l, e);

	if (code < 0)
		return code;
	code = row_find(l, "SELECT " SHOWN ", args, result FROM effects WHERE id = ?", id, &st, e);
	if (code == 0) {
		struct jw w = jw(out);
		jw_object(&w);
		row_write(&w, st);
		json_member(&w, "args", db_text(st, BEHIND));
		json_member(&w, "result", db_text(st, BEHIND + 1));
		if (show_log(l, &w, id) != SQLITE_DONE)
			code = db_error(l->reader, "log", e);
		jw_end(&w);
		if (buf_failed(out))
			code = err_plain(e, E_NOMEM);
	}
	sqlite3_finalize(st);
	ledger__read_end(l);
	return code;
}

int
ledger_recall(struct ledger *l, struct str id, struct buf *out, struct buf *given, struct err *e)
{
	sqlite3_stmt *st = NULL;
	int code = ledger__reader(l, e);

	if (code < 0)
		return code;
	code =
	    row_find(l,
		     "SELECT " SHOWN ", args, (SELECT given FROM given WHERE effect = effects.id)"
		     " FROM effects WHERE id = ?",
		     id, &st, e);
	if (code == 0) {
		struct jw w = jw(out);
		jw_object(&w);
		row_write(&w, st);
		json_member(&w, "args", db_text(st, BEHIND));
		jw_end(&w);
		buf_add(given, db_text(st, BEHIND + 1));
		if (buf_failed(out) || buf_failed(given))
			code = err_plain(e, E_NOMEM);
	}
	sqlite3_finalize(st);
	ledger__read_end(l);
	return code;
}
