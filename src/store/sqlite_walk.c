/*
 * sqlite_walk.c - records that are wanted, in the order of their ids, out of segments that overlap.
 *
 * Segments that overlap begin alike. So the walk takes all entries that begin alike, sorts them,
 * and reads one after the other; a hit waits until no segment is left that could have one before
 * it. Of hits with one id the last written counts.
 */

#include "store/sqlite.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/ulid.h"

#define ENTRIES                                                                                    \
	"SELECT first, seq, last, sessions, uses FROM segments WHERE log = ? AND first >= ? AND "  \
	"first <= ?"

static const char *const walk_sql[WALK_OP__COUNT] = {
    [WALK_UP] = ENTRIES " ORDER BY first",
    [WALK_DOWN] = ENTRIES " ORDER BY first DESC",
    [WALK_LINES] = "SELECT lines FROM records WHERE seq = ?",
};

int
walker__init(struct walker *w, sqlite3 *db)
{
	int rc = SQLITE_OK;

	*w = (struct walker){{NULL}};
	for (size_t i = 0; i < WALK_OP__COUNT && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v3(db, walk_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &w->ops[i],
					NULL);
	return rc;
}

void
walker__done(struct walker *w)
{
	for (size_t i = 0; i < WALK_OP__COUNT; i++)
		sqlite3_finalize(w->ops[i]);
	*w = (struct walker){{NULL}};
}

struct entry {
	int64_t seq;
	char first[SEGMENT_ID], last[SEGMENT_ID];
};

/* One block: the hit, its id, type and text. */
struct hit {
	struct store_row row;
	int64_t seq;
	size_t place;
	char text[];
};

struct step {
	struct walker *walker;
	const struct walk *walk;
	uint32_t session, id;  /* keys of what is wanted */
	char from[SEGMENT_ID]; /* nothing wanted is below it */
	struct str upto;       /* or above; {NULL,0}: no end */
	bool found;

	struct entry *entries;
	size_t count, room;
	struct hit **hits;
	size_t hit_count, hit_room;
	struct buf decoded, shown, unpacked;
	bool enough;
};

static bool
is_given(const struct walk *walk, enum filter f)
{
	return walk->given[f].ptr != NULL;
}

static void
from_raise(struct step *s, struct str id)
{
	struct str prefix = segment__prefix(s->walk->log, id);

	if (str_cmp(prefix, str_of(s->from)) > 0)
		*(char *)mempcpy(s->from, prefix.ptr, prefix.len) = '\0';
}

/* What belongs to a session or a turn is younger than its id. */
static void
born_after(struct step *s, struct str owner)
{
	ptrdiff_t prefix = str_index(owner, '_');
	struct str ulid = str_from(owner, (size_t)(prefix + 1));
	char born[SEGMENT_ID];

	if (prefix < 0 || !ulid_valid(ulid))
		return;
	snprintf(born, sizeof(born), "%s%.*s", s->walk->log == LOG_CALLS ? "call_" : "",
		 STR_ARG(ulid));
	from_raise(s, str_of(born));
}

/* Entries */

static bool
entry_is_wanted(const struct step *s, sqlite3_stmt *st)
{
	const struct walk *walk = s->walk;
	struct str first = db_text(st, 0), last = db_text(st, 2), id = walk->given[FILTER_ID];
	struct str sessions = {sqlite3_column_blob(st, 3), (size_t)sqlite3_column_bytes(st, 3)};
	struct str uses = {sqlite3_column_blob(st, 4), (size_t)sqlite3_column_bytes(st, 4)};

	if (walk->given[FILTER_SINCE].ptr && str_cmp(last, walk->given[FILTER_SINCE]) <= 0)
		return false;
	if (is_given(walk, FILTER_SESSION) && !segment__has(sessions, s->session))
		return false;
	return !id.ptr || (str_cmp(first, id) <= 0 && str_cmp(id, last) <= 0) ||
	       segment__has(uses, s->id);
}

static int
entry_add(struct step *s, sqlite3_stmt *st)
{
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		struct entry *entries = reallocarray(s->entries, room, sizeof(*entries));
		if (!entries)
			return SQLITE_NOMEM;
		s->entries = entries;
		s->room = room;
	}
	struct entry *e = &s->entries[s->count++];
	e->seq = sqlite3_column_int64(st, 1);
	db_copy(st, 0, e->first, sizeof(e->first));
	db_copy(st, 2, e->last, sizeof(e->last));
	return SQLITE_OK;
}

static int
entries_up(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return strcmp(x->first, y->first);
}

static int
entries_down(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return strcmp(y->last, x->last);
}

/* Hits */

static int
hits_up(const void *a, const void *b)
{
	const struct hit *x = *(struct hit *const *)a, *y = *(struct hit *const *)b;
	int order = str_cmp(x->row.id, y->row.id);

	if (order == 0)
		order = (x->seq > y->seq) - (x->seq < y->seq);
	return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int
hits_down(const void *a, const void *b)
{
	const struct hit *x = *(struct hit *const *)a, *y = *(struct hit *const *)b;
	int order = str_cmp(y->row.id, x->row.id);

	return order ? order : hits_up(a, b); /* the last of one id stands last both ways */
}

static struct str
text_put(char **at, struct str s)
{
	struct str put = {*at, s.len};

	if (s.len)
		*at = mempcpy(*at, s.ptr, s.len);
	return put;
}

static int
hit_add(struct step *s, const struct entry *e, size_t place, struct str json,
	const struct str head[HEAD__COUNT])
{
	if (s->hit_count == s->hit_room) {
		size_t room = s->hit_room ? 2 * s->hit_room : 64;
		struct hit **hits = reallocarray(s->hits, room, sizeof(struct hit *));
		if (!hits)
			return SQLITE_NOMEM;
		s->hits = hits;
		s->hit_room = room;
	}
	buf_reset(&s->shown);
	record_show(&s->shown, s->walk->log, json);
	json = buf_str(&s->shown);
	struct hit *h = malloc(sizeof(*h) + head[HEAD_ID].len + head[HEAD_TYPE].len + json.len);
	if (buf_failed(&s->shown)) {
		free(h);
		h = NULL;
	}
	if (!h)
		return SQLITE_NOMEM;
	*h = (struct hit){.seq = e->seq, .place = place};
	char *at = h->text;
	h->row.id = text_put(&at, head[HEAD_ID]);
	h->row.type = text_put(&at, head[HEAD_TYPE]);
	h->row.json = text_put(&at, json);
	s->hits[s->hit_count++] = h;
	return SQLITE_OK;
}

static bool
types_have(struct str types, struct str type)
{
	struct str each;

	while (str_split(&types, ',', &each))
		if (str_eq(each, type))
			return true;
	return false;
}

static bool
is_wanted(const struct walk *walk, const struct str head[HEAD__COUNT])
{
	const struct str *given = walk->given;
	struct str id = head[HEAD_ID];

	return (!given[FILTER_SINCE].ptr || str_cmp(id, given[FILTER_SINCE]) > 0) &&
	       (!given[FILTER_UNTIL].ptr || str_cmp(id, given[FILTER_UNTIL]) <= 0) &&
	       (!given[FILTER_SESSION].ptr || str_eq(head[HEAD_SESSION], given[FILTER_SESSION])) &&
	       (!given[FILTER_TURN].ptr || str_eq(head[HEAD_TURN], given[FILTER_TURN])) &&
	       (!given[FILTER_TYPES].ptr || walk->log == LOG_CALLS ||
		types_have(given[FILTER_TYPES], head[HEAD_TYPE])) &&
	       (!given[FILTER_ID].ptr || str_eq(id, given[FILTER_ID]) ||
		(head[HEAD_USE].ptr && str_eq(head[HEAD_USE], given[FILTER_ID])));
}

static int
lines_read(struct step *s, const struct entry *e, struct str lines)
{
	struct str json, head[HEAD__COUNT];
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && segment__next(&lines, &json); i++)
		if (segment__head(s->walk->log, json, &s->decoded, head) &&
		    is_wanted(s->walk, head))
			rc = hit_add(s, e, i, json, head);
	return rc;
}

static int
entry_read(struct step *s, const struct entry *e)
{
	sqlite3_stmt *st = s->walker->ops[WALK_LINES];
	int rc = sqlite3_bind_int64(st, 1, e->seq);

	struct str lines;

	if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW &&
	    (rc = segments__lines(st, 0, &s->unpacked, &lines)) == SQLITE_OK)
		rc = lines_read(s, e, lines);
	sqlite3_reset(st);
	/* What is damaged must not hide the rest. */
	return rc == SQLITE_DONE || rc == SQLITE_FORMAT ? SQLITE_OK : rc;
}

/* Hands out the hits that nothing of this entry can come before; all of them for NULL. */
static void
hits_give(struct step *s, const struct entry *next)
{
	bool down = s->walk->newest;
	size_t given = 0;

	if (s->hit_count)
		qsort(s->hits, s->hit_count, sizeof(struct hit *), down ? hits_down : hits_up);
	for (; given < s->hit_count; given++) {
		const struct hit *h = s->hits[given];
		struct str id = h->row.id;
		if (next && (down ? str_cmp(id, str_of(next->last)) <= 0
				  : str_cmp(id, str_of(next->first)) >= 0))
			break;
		bool replaced = given + 1 < s->hit_count && str_eq(id, s->hits[given + 1]->row.id);
		s->found = true;
		if (!s->enough && !replaced)
			s->enough = !s->walk->each(&h->row, s->walk->arg);
		free(s->hits[given]);
	}
	s->hit_count -= given;
	memmove(s->hits, s->hits + given, s->hit_count * sizeof(struct hit *));
}

/* All entries that begin alike. */
static int
entries_walk(struct step *s)
{
	int rc = SQLITE_OK;

	if (s->count)
		qsort(s->entries, s->count, sizeof(*s->entries),
		      s->walk->newest ? entries_down : entries_up);
	for (size_t i = 0; i < s->count && rc == SQLITE_OK && !s->enough; i++) {
		if (s->hit_count)
			hits_give(s, &s->entries[i]);
		if (!s->enough)
			rc = entry_read(s, &s->entries[i]);
	}
	if (s->hit_count)
		hits_give(s, NULL);
	s->count = 0;
	return rc;
}

static bool
begins_alike(const struct step *s, sqlite3_stmt *st)
{
	enum log log = s->walk->log;

	return s->count == 0 || str_eq(segment__prefix(log, db_text(st, 0)),
				       segment__prefix(log, str_of(s->entries[0].first)));
}

static int
entries_find(struct step *s, sqlite3_stmt *st)
{
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && !s->enough && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		if (!entry_is_wanted(s, st))
			continue;
		if (!begins_alike(s, st))
			rc = entries_walk(s);
		if (rc == SQLITE_OK && !s->enough)
			rc = entry_add(s, st);
	}
	if (rc == SQLITE_DONE)
		rc = entries_walk(s);
	return rc;
}

static int
entries_bind(const struct step *s, sqlite3_stmt *st)
{
	/* Any blob is greater than any text. */
	const struct value values[] = {
	    value_z(s->walk->log == LOG_CALLS ? "calls" : "events"),
	    value_z(s->from),
	    s->upto.ptr ? value_str(s->upto) : value_blob(S("")),
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_LEN(values) && rc == SQLITE_OK; i++)
		rc = db_bind(st, (int)i + 1, &values[i]);
	return rc;
}

/* Where an id is looked for: among those that begin like it, or everywhere. */
static int
walk_run(struct walker *w, const struct walk *walk, bool everywhere, bool *ret_found)
{
	const struct str *given = walk->given;
	sqlite3_stmt *st = w->ops[walk->newest ? WALK_DOWN : WALK_UP];
	struct step s = {
	    .walker = w,
	    .walk = walk,
	    .session = segment__key(given[FILTER_SESSION]),
	    .id = segment__key(given[FILTER_ID]),
	    .upto = everywhere ? given[FILTER_UNTIL] : given[FILTER_ID],
	    .decoded = BUF_INIT(LIMIT_STORE_QUEUE_BYTES),
	    .unpacked = BUF_INIT(LIMIT_STORE_QUEUE_BYTES + LIMIT_STORE_SEGMENT),
	    .shown = BUF_INIT(2 * LIMIT_STORE_QUEUE_BYTES),
	};

	from_raise(&s, given[FILTER_SINCE]);
	born_after(&s, given[FILTER_SESSION]);
	born_after(&s, given[FILTER_TURN]);
	if (!everywhere)
		from_raise(&s, given[FILTER_ID]);
	int rc = entries_bind(&s, st);
	if (rc == SQLITE_OK)
		rc = entries_find(&s, st);
	sqlite3_reset(st); /* ends the read transaction: an open one would hold up checkpoints */
	sqlite3_clear_bindings(st);
	for (size_t i = 0; i < s.hit_count; i++)
		free(s.hits[i]);
	free(s.hits);
	free(s.entries);
	buf_done(&s.decoded);
	buf_done(&s.unpacked);
	buf_done(&s.shown);
	*ret_found = s.found;
	return rc;
}

int
walker__run(struct walker *w, const struct walk *walk)
{
	bool found = false;
	int rc = SQLITE_OK;

	if (is_given(walk, FILTER_ID))
		rc = walk_run(w, walk, false, &found);
	/* An agent's own id of a call says nothing of its time. */
	bool left = !is_given(walk, FILTER_ID) || walk->log == LOG_CALLS;
	return rc == SQLITE_OK && !found && left ? walk_run(w, walk, true, &found) : rc;
}
