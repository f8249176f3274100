/* sqlite_segment.c - segments in the file: written, made larger, pruned, made of older tables. */

#include "store/sqlite.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/log.h"
#include "store/pack.h"
#include "store/record.h"

/* Packed when they come in a rush. What is less may yet grow, and is readable for everybody. */
#define PACK_FROM (16 * KIB)

static const char *const segment_sql[SEGMENT_OP__COUNT] = {
    [SEGMENT_LINES] = "INSERT INTO records (lines) VALUES (?)",
    [SEGMENT_LINES_AGAIN] = "UPDATE records SET lines = ? WHERE seq = ?",
    [SEGMENT_LINES_DROP] = "DELETE FROM records WHERE seq = ?",
    [SEGMENT_ADD] = ("INSERT INTO segments (log, first, seq, last, kept, sessions, uses)"
		     " VALUES (?, ?, ?, ?, ?, ?, ?)"),
    [SEGMENT_DROP] = "DELETE FROM segments WHERE log = ? AND first = ? AND seq = ?",
    [SEGMENT_OLD] = ("SELECT seq, first, last FROM segments WHERE log = ? AND first < ? AND"
		     " first >= ? AND kept = 0 ORDER BY first LIMIT 1"),
    [SEGMENT_READ] = "SELECT lines FROM records WHERE seq = ?",
    [SEGMENT_SESSIONS] = "SELECT sessions FROM segments WHERE log = 'calls'",
    [SESSION_OLD] = "SELECT id FROM sessions WHERE id > ? AND id < ? ORDER BY id LIMIT ?",
    [SESSION_DROP] = "DELETE FROM sessions WHERE id = ?",
};

int
segments__init(struct segments *all, sqlite3 *db)
{
	int rc = SQLITE_OK;

	*all = (struct segments){.db = db,
				 .packed = BUF_INIT(LIMIT_STORE_QUEUE_BYTES + LIMIT_STORE_SEGMENT)};
	for (size_t i = 0; i < SEGMENT_OP__COUNT && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v3(db, segment_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
					&all->ops[i], NULL);
	return rc;
}

void
segments__done(struct segments *all)
{
	for (size_t i = 0; i < SEGMENT_OP__COUNT; i++)
		sqlite3_finalize(all->ops[i]);
	buf_done(&all->packed);
	*all = (struct segments){0};
}

static int
op(struct segments *all, enum segment_op which, const struct value *values, size_t count)
{
	return db_run(all->ops[which], values, count);
}

static int
entry_add(struct segments *all, const struct segment *s)
{
	const struct lane_row *lane = &segment__lanes[s->lane];
	const struct value values[] = {
	    value_z(lane->name),
	    value_z(s->first),
	    value_int(s->seq),
	    value_z(s->last),
	    value_int(lane->kept),
	    value_blob(buf_str(&s->sessions)),
	    value_blob(buf_str(&s->uses)),
	};

	return op(all, SEGMENT_ADD, values, ARRAY_LEN(values));
}

static int
entry_drop(struct segments *all, const char *log, const char *first, int64_t seq)
{
	const struct value values[] = {value_z(log), value_z(first), value_int(seq)};

	return op(all, SEGMENT_DROP, values, ARRAY_LEN(values));
}

/* One long record must not keep its room for ever. */
static void
packed_drop(struct segments *all)
{
	if (all->packed.cap > 2 * LIMIT_STORE_SEGMENT)
		buf_done(&all->packed);
}

static struct value
lines_value(struct segments *all, const struct segment *s)
{
	struct str lines = buf_str(&s->lines);

	if (lines.len >= PACK_FROM && pack(lines, &all->packed))
		return value_blob(buf_str(&all->packed));
	return value_str(lines);
}

int
segments__lines(sqlite3_stmt *st, int column, struct buf *unpacked, struct str *ret)
{
	struct err e = ERR_NONE;

	if (sqlite3_column_type(st, column) != SQLITE_BLOB) {
		*ret = db_text(st, column);
		return SQLITE_OK;
	}
	struct str packed = {sqlite3_column_blob(st, column),
			     (size_t)sqlite3_column_bytes(st, column)};
	int code = unpack(packed, LIMIT_STORE_QUEUE_BYTES + LIMIT_STORE_SEGMENT, unpacked, &e);
	*ret = buf_str(unpacked);
	if (code == E_STORE)
		log_line(LOG_ERROR, "records of the journal cannot be read", "error", err_text(&e),
			 NULL);
	return code == 0 ? SQLITE_OK : code == E_NOMEM ? SQLITE_NOMEM : SQLITE_FORMAT;
}

int
segments__insert(struct segments *all, struct segment *s)
{
	const struct value lines = lines_value(all, s);
	int rc = op(all, SEGMENT_LINES, &lines, 1);

	packed_drop(all);
	if (rc != SQLITE_OK)
		return rc;
	s->seq = sqlite3_last_insert_rowid(all->db);
	return entry_add(all, s);
}

/* Its row as it stands now; `first` is what it was called by. SQLITE_NOTFOUND: it is gone. */
int
segments__replace(struct segments *all, const struct segment *s, const char *first)
{
	const struct value values[] = {lines_value(all, s), value_int(s->seq)};
	int rc = op(all, SEGMENT_LINES_AGAIN, values, ARRAY_LEN(values));

	packed_drop(all);
	if (rc == SQLITE_OK && sqlite3_changes(all->db) == 0)
		return SQLITE_NOTFOUND;
	if (rc == SQLITE_OK)
		rc = entry_drop(all, segment__lanes[s->lane].name, first, s->seq);
	return rc == SQLITE_OK ? entry_add(all, s) : rc;
}

/* Pruning */

struct old {
	int64_t seq;
	char first[SEGMENT_ID], last[SEGMENT_ID];
};

/* SQLITE_ROW with a segment that begins before this id, or SQLITE_DONE. *o is the last one found.
 */
static int
old_find(struct segments *all, enum lane lane, const char *before, struct old *o)
{
	sqlite3_stmt *st = all->ops[SEGMENT_OLD];
	const struct value values[] = {value_z(segment__lanes[lane].name), value_z(before),
				       value_z(o->first)};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_LEN(values) && rc == SQLITE_OK; i++)
		rc = db_bind(st, (int)i + 1, &values[i]);
	if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		o->seq = sqlite3_column_int64(st, 0);
		db_copy(st, 1, o->first, sizeof(o->first));
		db_copy(st, 2, o->last, sizeof(o->last));
	}
	sqlite3_reset(st);
	return rc;
}

static int
old_drop(struct segments *all, enum lane lane, const struct old *o)
{
	const struct value seq = value_int(o->seq);
	int rc = op(all, SEGMENT_LINES_DROP, &seq, 1);

	return rc == SQLITE_OK ? entry_drop(all, segment__lanes[lane].name, o->first, o->seq) : rc;
}

/* Moves the records from `before` on into *young. */
static int
young_take(enum lane lane, struct str lines, const char *before, struct segment *young)
{
	struct buf decoded = BUF_INIT(LIMIT_STORE_QUEUE_BYTES);
	struct str json, head[HEAD__COUNT];
	int code = 0;

	while (code == 0 && segment__next(&lines, &json)) {
		if (!segment__head(segment__lanes[lane].log, json, &decoded, head) ||
		    str_cmp(head[HEAD_ID], str_of(before)) < 0)
			continue;
		code = segment__add(young, &(struct record){.id = head[HEAD_ID],
							    .session = head[HEAD_SESSION],
							    .use = head[HEAD_USE],
							    .json = json});
	}
	buf_done(&decoded);
	return code;
}

/* A segment that has both old and young records is written anew with the young ones. One that
 * cannot be read goes: pruning must not stand in the way of all that is written. */
static int
old_split(struct segments *all, enum lane lane, const struct old *o, const char *before)
{
	sqlite3_stmt *st = all->ops[SEGMENT_READ];
	struct segment *young = segment__new(lane);
	int code = E_NOMEM, rc = SQLITE_NOMEM;
	struct str lines;

	if (young && sqlite3_bind_int64(st, 1, o->seq) == SQLITE_OK &&
	    (rc = sqlite3_step(st)) == SQLITE_ROW &&
	    (rc = segments__lines(st, 0, &all->packed, &lines)) == SQLITE_OK) {
		rc = SQLITE_ROW;
		code = young_take(lane, lines, before, young);
	}
	sqlite3_reset(st);
	if (code == 0 && young->lines.len > 0) {
		young->seq = o->seq;
		rc = segments__replace(all, young, o->first);
	} else if (code == 0 || rc == SQLITE_DONE || rc == SQLITE_FORMAT) {
		rc = old_drop(all, lane, o);
	}
	segment__free(young);
	return code < 0 && rc == SQLITE_ROW ? SQLITE_NOMEM : rc;
}

int
segments__prune(struct segments *all, enum lane lane, const char *before)
{
	struct old o = {.first = ""};
	int rc;

	while ((rc = old_find(all, lane, before, &o)) == SQLITE_ROW) {
		if (strcmp(o.last, before) < 0)
			rc = old_drop(all, lane, &o);
		else
			rc = old_split(all, lane, &o, before);
		if (rc != SQLITE_OK)
			return rc;
	}
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

#define SESSIONS_PAGE 4096

struct old_session {
	uint32_t key;
	bool has_calls;
	char id[SEGMENT_ID];
};

static int
by_key(const void *a, const void *b)
{
	const struct old_session *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static int
sessions_read(struct segments *all, const char *after, const char *before, struct old_session *ret,
	      size_t *ret_count)
{
	sqlite3_stmt *st = all->ops[SESSION_OLD];
	const struct value values[] = {value_z(after), value_z(before), value_int(SESSIONS_PAGE)};
	int rc = SQLITE_OK;

	*ret_count = 0;
	for (size_t i = 0; i < ARRAY_LEN(values) && rc == SQLITE_OK; i++)
		rc = db_bind(st, (int)i + 1, &values[i]);
	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct old_session *s = &ret[(*ret_count)++];
		s->has_calls = false;
		s->key = segment__key(db_copy(st, 0, s->id, sizeof(s->id)));
	}
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Those of equal key stand side by side: all of them are marked. */
static void
key_mark(struct old_session *sessions, size_t count, uint32_t key)
{
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (sessions[middle].key < key)
			from = middle + 1;
		else
			to = middle;
	}
	for (; from < count && sessions[from].key == key; from++)
		sessions[from].has_calls = true;
}

static int
sessions_mark(struct segments *all, struct old_session *sessions, size_t count)
{
	sqlite3_stmt *st = all->ops[SEGMENT_SESSIONS];
	int rc;

	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *keys = sqlite3_column_blob(st, 0);
		size_t len = (size_t)sqlite3_column_bytes(st, 0);
		for (size_t i = 0; i + sizeof(uint32_t) <= len; i += sizeof(uint32_t))
			key_mark(sessions, count, segment__key_at(keys + i));
	}
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* All sessions before this id that have no call left. `page` has room for SESSIONS_PAGE. */
static int
sessions_prune(struct segments *all, const char *before, struct old_session *page)
{
	char after[SEGMENT_ID] = "";
	size_t count = SESSIONS_PAGE;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && count == SESSIONS_PAGE) {
		rc = sessions_read(all, after, before, page, &count);
		if (rc != SQLITE_OK || count == 0)
			break;
		memcpy(after, page[count - 1].id, sizeof(after));
		qsort(page, count, sizeof(*page), by_key);
		rc = sessions_mark(all, page, count);
		for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
			const struct value id = value_z(page[i].id);
			if (!page[i].has_calls)
				rc = op(all, SESSION_DROP, &id, 1);
		}
	}
	return rc;
}

int
segments__prune_sessions(struct segments *all, const char *before)
{
	struct old_session *page = malloc(SESSIONS_PAGE * sizeof(*page));
	int rc = page ? sessions_prune(all, before, page) : SQLITE_NOMEM;

	free(page);
	return rc;
}

/* The tables of version 1 */

static struct store_event
event_of(sqlite3_stmt *st)
{
	return (struct store_event){
	    .id = db_text(st, 0),
	    .wall_us = sqlite3_column_int64(st, 1),
	    .session = db_text(st, 2),
	    .turn = db_text(st, 3),
	    .parent = db_text(st, 4),
	    .type = db_text(st, 5).ptr,
	    .actor = db_text(st, 6).ptr,
	    .sensitivity = db_text(st, 7).ptr,
	    .payload = db_text(st, 8),
	    .audit = sqlite3_column_int(st, 9) != 0,
	};
}

static struct store_call
call_of(sqlite3_stmt *st)
{
	return (struct store_call){
	    .id = db_text(st, 0),
	    .tool_use_id = db_text(st, 1),
	    .session = db_text(st, 2),
	    .turn = db_text(st, 3),
	    .tool = db_text(st, 4),
	    .capability = db_text(st, 5).ptr,
	    .reversibility = db_text(st, 6).ptr,
	    .state = db_text(st, 7).ptr,
	    .success = sqlite3_column_int(st, 8) != 0,
	    .error_class = db_text(st, 9).ptr,
	    .message = db_text(st, 10),
	    .inside = db_text(st, 11),
	    .rule = db_text(st, 12),
	    .input = db_text(st, 13),
	    .input_hash = db_text(st, 14),
	    .input_bytes = sqlite3_column_int64(st, 15),
	    .output_bytes = sqlite3_column_int64(st, 16),
	    .files_modified = db_text(st, 17),
	    .command = db_text(st, 18),
	    .opened_us = sqlite3_column_int64(st, 19),
	    .closed_us = sqlite3_column_int64(st, 20),
	    .waited_ms = sqlite3_column_int64(st, 21),
	    .ran_ms = sqlite3_column_int64(st, 22),
	    .attempts = sqlite3_column_int64(st, 23),
	};
}

static enum lane
event_record(sqlite3_stmt *st, struct buf *json, struct record *ret)
{
	struct store_event row = event_of(st);

	record_event(json, &row);
	*ret = (struct record){.id = row.id, .session = row.session};
	return row.audit ? LANE_AUDIT : LANE_EVENTS;
}

static enum lane
call_record(sqlite3_stmt *st, struct buf *json, struct record *ret)
{
	struct store_call row = call_of(st);

	record_call(json, &row);
	*ret = (struct record){.id = row.id, .session = row.session, .use = row.tool_use_id};
	return LANE_CALLS;
}

static const struct former {
	const char *sql;
	enum lane (*record)(sqlite3_stmt *st, struct buf *json, struct record *ret);
} formers[] = {
    {"SELECT id, timestamp_us, session_id, turn_id, parent_event_id, type, actor, sensitivity,"
     " payload_json, audit FROM events_001 ORDER BY id",
     event_record},
    {"SELECT id, tool_use_id, session_id, turn_id, tool, capability, reversibility, state,"
     " success, error_class, message, inside, rule, input, input_hash, input_bytes,"
     " output_bytes, files_modified, command, opened_us, closed_us, waited_ms, ran_ms, attempts"
     " FROM calls_001 ORDER BY id",
     call_record},
};

static int
fill_add(struct segments *all, struct segment *fill, const struct record *r)
{
	int rc = r->id.len < SEGMENT_ID ? SQLITE_OK : SQLITE_MISMATCH; /* not written by us */

	if (rc == SQLITE_OK && !segment__takes(fill, r->id)) {
		rc = segments__insert(all, fill);
		segment__reset(fill, fill->lane);
	}
	if (rc == SQLITE_OK && segment__add(fill, r) < 0)
		rc = SQLITE_NOMEM;
	return rc;
}

static int
former_move(struct segments *all, const struct former *f, struct segment *fill[LANE__COUNT])
{
	struct buf json = BUF_INIT(LIMIT_STORE_PAGE_BYTES);
	sqlite3_stmt *st = NULL;
	struct record r;

	int rc = sqlite3_prepare_v2(all->db, f->sql, -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	while (rc == SQLITE_ROW) {
		buf_reset(&json);
		enum lane lane = f->record(st, &json, &r);
		r.json = buf_str(&json);
		rc = buf_failed(&json) ? SQLITE_NOMEM : fill_add(all, fill[lane], &r);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(st);
	}
	sqlite3_finalize(st);
	buf_done(&json);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int
segments__adopt(sqlite3 *db)
{
	struct segment *fill[LANE__COUNT] = {NULL};
	struct segments all;
	int rc = segments__init(&all, db);

	for (size_t i = 0; i < LANE__COUNT && rc == SQLITE_OK; i++)
		rc = (fill[i] = segment__new((enum lane)i)) ? SQLITE_OK : SQLITE_NOMEM;
	for (size_t i = 0; i < ARRAY_LEN(formers) && rc == SQLITE_OK; i++)
		rc = former_move(&all, &formers[i], fill);
	for (size_t i = 0; i < LANE__COUNT; i++) {
		if (rc == SQLITE_OK && fill[i]->lines.len)
			rc = segments__insert(&all, fill[i]);
		segment__free(fill[i]);
	}
	segments__done(&all);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "DROP TABLE events_001; DROP TABLE calls_001", NULL, NULL,
				  NULL);
	return rc;
}
