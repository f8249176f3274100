/* segment.c - records put side by side, and found again. */

#include "store/segment.h"

#include <endian.h>
#include <stdlib.h>

#include "base/limits.h"
#include "json/json.h"

#define RS '\x1e' /* stands in no JSON text */
#define LF '\n'

const struct lane_row segment__lanes[LANE__COUNT] = {
    [LANE_EVENTS] = {LOG_EVENTS, "events", false},
    [LANE_AUDIT] = {LOG_EVENTS, "events", true},
    [LANE_CALLS] = {LOG_CALLS, "calls", false},
};

/* 7 letters of a ULID are 33 seconds; calls have "call_" before it. */
static const size_t prefix_len[LOG__COUNT] = {[LOG_EVENTS] = 7, [LOG_CALLS] = 5 + 7};

struct segment *
segment__new(enum lane lane)
{
	struct segment *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct segment){
	    .lines = BUF_INIT(LIMIT_STORE_QUEUE_BYTES + LIMIT_STORE_SEGMENT),
	    .sessions = BUF_INIT(LIMIT_STORE_QUEUE_BYTES),
	    .uses = BUF_INIT(LIMIT_STORE_QUEUE_BYTES),
	};
	segment__reset(s, lane);
	return s;
}

void
segment__free(struct segment *s)
{
	if (!s)
		return;
	buf_done(&s->lines);
	buf_done(&s->sessions);
	buf_done(&s->uses);
	free(s);
}

void
segment__reset(struct segment *s, enum lane lane)
{
	s->next = NULL;
	s->lane = lane;
	s->seq = 0;
	buf_reset(&s->lines);
	buf_reset(&s->sessions);
	buf_reset(&s->uses);
	memset(s->seen, 0, sizeof(s->seen));
	s->first[0] = s->last[0] = '\0';
}

struct str
segment__prefix(enum log log, struct str id)
{
	return str_upto(id, prefix_len[log]);
}

bool
segment__takes(const struct segment *s, struct str id)
{
	enum log log = segment__lanes[s->lane].log;

	if (s->lines.len == 0)
		return true;
	if (s->lines.len >= LIMIT_STORE_SEGMENT)
		return false;
	if (id.len >= prefix_len[log]) /* and no NUL is in it */
		return memcmp(s->first, id.ptr, prefix_len[log]) == 0;
	return str_is(id, s->first);
}

static uint64_t
key_mix(uint64_t h, uint64_t part)
{
	h = (h ^ le64toh(part)) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* Kept in the file: it must be the same everywhere and for ever. */
uint32_t
segment__key(struct str text)
{
	uint64_t h = text.len, part;

	for (; text.len >= sizeof(part); text.ptr += sizeof(part), text.len -= sizeof(part)) {
		memcpy(&part, text.ptr, sizeof(part));
		h = key_mix(h, part);
	}
	if (text.len > 0) {
		part = 0;
		memcpy(&part, text.ptr, text.len);
		h = key_mix(h, part);
	}
	h *= 0xbf58476d1ce4e5b9u; /* ids differ in their last letters only: once more for these */
	return (uint32_t)(h >> 32);
}

uint32_t
segment__key_at(const char *keys)
{
	uint32_t key;

	memcpy(&key, keys, sizeof(key));
	return le32toh(key);
}

bool
segment__has(struct str keys, uint32_t key)
{
	for (size_t i = 0; i + sizeof(key) <= keys.len; i += sizeof(key))
		if (segment__key_at(keys.ptr + i) == key)
			return true;
	return false;
}

static bool
key_add(struct buf *keys, uint32_t key)
{
	key = htole32(key);
	buf_add(keys, (struct str){(const char *)&key, sizeof(key)});
	return !buf_failed(keys);
}

static bool
session_note(struct segment *s, struct str session)
{
	uint32_t key = segment__key(session);
	uint32_t *seen = &s->seen[key % SEGMENT_SEEN];

	if (*seen == key && key)
		return true;
	*seen = key;
	return key_add(&s->sessions, key);
}

/* By bytes; a NUL is less than any that an id has. */
static int
id_cmp(struct str id, const char with[static SEGMENT_ID])
{
	int d = id.len ? memcmp(id.ptr, with, id.len) : 0;

	return d ? d : -(with[id.len] != '\0');
}

static void
range_widen(struct segment *s, struct str first, struct str last)
{
	CHECK(first.len < SEGMENT_ID && last.len < SEGMENT_ID);
	if (s->lines.len == 0 || id_cmp(first, s->first) < 0)
		*(char *)mempcpy(s->first, first.ptr ? first.ptr : "", first.len) = '\0';
	if (s->lines.len == 0 || id_cmp(last, s->last) > 0)
		*(char *)mempcpy(s->last, last.ptr ? last.ptr : "", last.len) = '\0';
}

/* A failure leaves nothing behind but keys too many. */
int
segment__add(struct segment *s, const struct record *r)
{
	bool noted = (!r->session.ptr || session_note(s, r->session)) &&
		     (!r->use.ptr || key_add(&s->uses, segment__key(r->use)));
	char *p = noted ? buf_room(&s->lines, r->json.len + 2) : NULL;

	if (!p) {
		s->lines.failed = s->sessions.failed = s->uses.failed = false;
		return E_NOMEM;
	}
	range_widen(s, r->id, r->id);
	*p++ = RS;
	p = mempcpy(p, r->json.ptr, r->json.len);
	*p = LF;
	s->lines.len += r->json.len + 2;
	return 0;
}

int
segment__join(struct segment *s, const struct segment *with)
{
	range_widen(s, str_of(with->first), str_of(with->last));
	buf_add(&s->sessions, buf_str(&with->sessions));
	buf_add(&s->uses, buf_str(&with->uses));
	buf_add(&s->lines, buf_str(&with->lines));
	return buf_failed(&s->sessions) || buf_failed(&s->uses) || buf_failed(&s->lines) ? E_NOMEM
											 : 0;
}

bool
segment__next(struct str *lines, struct str *ret_json)
{
	if (lines->len == 0)
		return false;
	struct str from = str_from(*lines, lines->ptr[0] == RS);
	const char *end = memchr(from.ptr, RS, from.len);
	size_t len = end ? (size_t)(end - from.ptr) : from.len;

	*lines = str_from(from, len);
	*ret_json = str_upto(from, len && from.ptr[len - 1] == LF ? len - 1 : len);
	return true;
}

/* What the first keys of a record are, in the order of their marks. HEAD__COUNT: not looked for. */
static const struct heads {
	size_t count;
	enum head at[6];
} heads[LOG__COUNT] = {
    [LOG_EVENTS] = {6, {HEAD_ID, HEAD__COUNT, HEAD_SESSION, HEAD_TURN, HEAD__COUNT, HEAD_TYPE}},
    [LOG_CALLS] = {4, {HEAD_ID, HEAD_USE, HEAD_SESSION, HEAD_TURN}},
};

/* Takes a key off the front of *rest: its mark, or all of it, as it once was. */
static bool
key_take(struct str *rest, enum log log, unsigned char mark)
{
	bool marked = rest->len > 0 && (unsigned char)rest->ptr[0] == mark;
	struct str key = record_key(log, (struct str){(const char *)&mark, 1});

	if (!marked && !str_starts(*rest, key))
		return false;
	*rest = str_from(*rest, marked ? 1 : key.len);
	return true;
}

/* The text of a quoted one with escapes in it. */
static bool
text_decode(struct str quoted, struct buf *decoded, struct str *ret)
{
	struct json_doc *doc = NULL;
	size_t from = decoded->len;

	if (json_parse(quoted, &json_door, &doc, NULL) == 0)
		buf_add(decoded, json_str(json_root(doc)));
	*ret = (struct str){decoded->ptr + from, decoded->len - from};
	bool ok = doc && !buf_failed(decoded);
	json_doc_unref(doc);
	return ok;
}

/* Takes null or a string off the front of *rest; a mark stands there when null is not written. */
static bool
text_take(struct str *rest, enum log log, struct buf *decoded, struct str *ret)
{
	bool escaped = false;
	size_t i = 1;

	*ret = (struct str){NULL, 0};
	if (str_starts(*rest, S("null"))) {
		*rest = str_from(*rest, 4);
		return true;
	}
	if (record_key(log, *rest).ptr)
		return true;
	if (rest->len == 0 || rest->ptr[0] != '"')
		return false;
	for (; i < rest->len && rest->ptr[i] != '"'; i++)
		if (rest->ptr[i] == '\\')
			escaped = true, i++;
	if (i >= rest->len)
		return false;
	struct str quoted = str_upto(*rest, i + 1);
	*rest = str_from(*rest, i + 1);
	*ret = str_upto(str_from(quoted, 1), i - 1);
	return !escaped || text_decode(quoted, decoded, ret);
}

bool
segment__head(enum log log, struct str json, struct buf *decoded, struct str ret[HEAD__COUNT])
{
	struct str text;

	for (size_t i = 0; i < HEAD__COUNT; i++)
		ret[i] = (struct str){NULL, 0};
	buf_reset(decoded);
	if (!buf_room(decoded, json.len)) /* now: what points into it must not move */
		return false;
	for (size_t i = 0; i < heads[log].count; i++) {
		enum head head = heads[log].at[i];
		if (!key_take(&json, log, (unsigned char)(i + 1)) ||
		    !text_take(&json, log, decoded, &text))
			return false;
		if (head < HEAD__COUNT)
			ret[head] = text;
	}
	return ret[HEAD_ID].ptr != NULL;
}
