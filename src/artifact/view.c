/* view.c - selectors: what they are called, what they take, and how each finds its part. */

#include "artifact/view.h"

#include <stdlib.h>

#include "artifact/lines.h"
#include "artifact/match.h"

/* A selector as it was given. */
struct wanted {
	struct str type, pointer, pattern;
	int64_t chars, start, end, before, after, context, max, offset;
	bool ignore_case;
	const struct json *keys;
};

/* Where the part goes: what is before the offset is passed over, what does not fit ends it. */
struct sink {
	struct buf *out;
	uint64_t skip;
	bool full;
};

struct looking {
	struct artifact_reader *from;
	const struct wanted *wanted;
	struct sink sink;
	struct view *view;
	struct err *e;
};

/* False once there is no room. */
static bool
show(struct looking *l, struct str text)
{
	struct sink *s = &l->sink;
	size_t drop = text.len < s->skip ? text.len : (size_t)s->skip;
	size_t room = s->out->max - s->out->len;

	s->skip -= drop;
	text = str_from(text, drop);
	s->full = s->full || text.len > room;
	buf_add(s->out, str_upto(text, room));
	return !s->full && !buf_failed(s->out);
}

static int
unreadable(struct looking *l)
{
	return err_plain(l->e, E_STORE);
}

/* Everything from a place on, until there is no room or `chars` characters were shown. */
static int
show_from(struct looking *l, uint64_t at, int64_t chars)
{
	char block[16384];
	ptrdiff_t n;

	while ((n = artifact_read(l->from, at, block, sizeof(block))) > 0) {
		size_t len = 0;
		for (; len < (size_t)n; len++) {
			bool begins = ((unsigned char)block[len] & 0xc0) != 0x80;
			if (begins && chars-- == 0)
				break;
		}
		if (!show(l, (struct str){block, len}) || len < (size_t)n)
			return 0;
		at += (size_t)n;
	}
	return n < 0 ? unreadable(l) : 0;
}

static int
view_head(struct looking *l)
{
	return show_from(l, 0, l->wanted->chars);
}

/* Where the last characters begin, looked for from the end. */
static int
view_tail(struct looking *l)
{
	char block[16384];
	uint64_t at = artifact_about(l->from)->bytes;
	int64_t left = l->wanted->chars;

	while (at > 0 && left > 0) {
		size_t len = at < sizeof(block) ? (size_t)at : sizeof(block);
		if (artifact_read(l->from, at - len, block, len) != (ptrdiff_t)len)
			return unreadable(l);
		for (; len > 0 && left > 0; len--, at--)
			left -= ((unsigned char)block[len - 1] & 0xc0) != 0x80;
	}
	return show_from(l, at, INT64_MAX);
}

/* ---- lines ---- */

/* How many lines there are, for counting from the end. */
static int
count_lines(struct looking *l, int64_t *ret)
{
	struct lines *lines = lines_new(l->from);
	struct line_part part;
	int code = lines ? 0 : err_plain(l->e, E_NOMEM);

	*ret = 0;
	while (code == 0 && lines_next(lines, &part))
		*ret += part.ends;
	if (code == 0 && lines_failed(lines))
		code = unreadable(l);
	lines_free(lines);
	return code;
}

static int64_t
from_end(int64_t at, int64_t total)
{
	if (at >= 0)
		return at;
	return at < -total ? 0 : at + total;
}

static int
view_lines(struct looking *l)
{
	int64_t start = l->wanted->start, end = l->wanted->end, total = 0;
	struct line_part part;
	bool first = true;
	int code = 0;

	if (start < 0 || end < 0)
		code = count_lines(l, &total);
	start = from_end(start, total);
	end = from_end(end, total);
	struct lines *lines = code == 0 ? lines_new(l->from) : NULL;
	if (!lines)
		return code < 0 ? code : err_plain(l->e, E_NOMEM);
	while (lines_next(lines, &part) && (int64_t)part.line < end) {
		if ((int64_t)part.line < start)
			continue;
		if (part.begins && !first && !show(l, S("\n")))
			break;
		first = false;
		if (!show(l, part.text))
			break;
	}
	if (lines_failed(lines))
		code = unreadable(l);
	lines_free(lines);
	return code;
}

/* ---- JSON ---- */

/* The whole as JSON: 1 when it is none, and why. */
static int
parse(struct looking *l, struct json_doc **ret, struct err *why)
{
	uint64_t bytes = artifact_about(l->from)->bytes;
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
	ptrdiff_t n = 1;

	if (bytes > LIMIT_JSON_BYTES)
		return err_set(l->e, E_VIEW,
			       "%.*s: this has %llu bytes, and JSON is read up to %zu; grep or "
			       "lines show parts of it",
			       STR_ARG(l->wanted->type), (unsigned long long)bytes,
			       LIMIT_JSON_BYTES);
	char *room = buf_room(&text, bytes ? (size_t)bytes : 1);
	while (room && n > 0 && text.len < bytes) {
		n = artifact_read(l->from, text.len, room + text.len, (size_t)bytes - text.len);
		text.len += n > 0 ? (size_t)n : 0;
	}
	if (!room || text.len < bytes) {
		buf_done(&text);
		return room ? unreadable(l) : err_plain(l->e, E_NOMEM);
	}
	int code = json_parse(buf_str(&text), &json_door, ret, why);
	buf_done(&text);
	if (code == E_NOMEM)
		return err_plain(l->e, code);
	return code < 0 ? 1 : 0;
}

static void
new_line(struct buf *out, unsigned depth)
{
	buf_addc(out, '\n');
	for (unsigned i = 0; i < depth; i++)
		buf_addz(out, "  ");
}

/* Compact JSON, spread over lines as Python's json.dumps(indent=2) does. */
static void
spread(struct looking *l, struct str json)
{
	struct buf piece = BUF_INIT(16 * KIB), *out = &piece;
	bool in_string = false;
	unsigned depth = 0;

	/* Blanks may be most of it, so it is shown piece by piece and never whole. */
	for (size_t i = 0; i < json.len; i++) {
		if (piece.len > 8 * KIB) {
			if (!show(l, buf_str(&piece)))
				break;
			buf_reset(&piece);
		}
		char c = json.ptr[i], before = i ? json.ptr[i - 1] : '\0';
		if (in_string) {
			buf_addc(out, c);
			if (c == '\\')
				buf_addc(out, json.ptr[++i]);
			in_string = c != '"';
			continue;
		}
		if (c == '}' || c == ']') {
			depth--;
			if (before != '{' && before != '[')
				new_line(out, depth);
		}
		buf_addc(out, c);
		in_string = c == '"';
		if (c == ':')
			buf_addc(out, ' ');
		if (c == '{' || c == '[') {
			depth++;
			if (json.ptr[i + 1] != '}' && json.ptr[i + 1] != ']')
				new_line(out, depth);
		}
		if (c == ',')
			new_line(out, depth);
	}
	l->sink.out->failed = l->sink.out->failed || buf_failed(&piece);
	if (!l->sink.full)
		show(l, buf_str(&piece));
	buf_done(&piece);
}

static int
show_json(struct looking *l, const struct json *v)
{
	struct buf compact = BUF_INIT(8 * LIMIT_JSON_BYTES);
	int code = 0;

	canon_write(&compact, v, CANON_COMPACT);
	if (buf_failed(&compact))
		code = err_plain(l->e, E_NOMEM);
	else
		spread(l, buf_str(&compact));
	buf_done(&compact);
	return code;
}

static bool
is_wanted(const struct json *keys, struct str key)
{
	for (struct json_iter it = json_iter(keys); json_next(&it);)
		if (str_eq(json_str(it.value), key))
			return true;
	return false;
}

/* An object with the wanted members alone. */
static int
pick(struct looking *l, const struct json *object, struct json_doc **ret)
{
	struct buf text = BUF_INIT(8 * LIMIT_JSON_BYTES);
	struct jw w = jw(&text);

	jw_object(&w);
	for (struct json_iter it = json_iter(object); json_next(&it);) {
		if (!is_wanted(l->wanted->keys, it.key))
			continue;
		jw_key_str(&w, it.key);
		jw_value(&w, it.value);
	}
	jw_end(&w);
	int code = buf_failed(&text) ? E_NOMEM : json_parse(buf_str(&text), &json_door, ret, NULL);
	buf_done(&text);
	if (code == E_NOMEM)
		return err_plain(l->e, code);
	return code < 0 ? err_set(l->e, E_VIEW, "json_keys: this is too much at once") : 0;
}

static int
view_json_keys(struct looking *l)
{
	struct json_doc *doc = NULL, *picked = NULL;
	int code = parse(l, &doc, NULL);

	if (code == 0 && json_is(json_root(doc), JSON_OBJECT)) {
		code = pick(l, json_root(doc), &picked);
		if (code == 0)
			code = show_json(l, json_root(picked));
	}
	json_doc_unref(picked);
	json_doc_unref(doc);
	return code == 1 ? 0 : code; /* what is no object has no members */
}

static int
view_pointer(struct looking *l)
{
	struct str pointer = l->wanted->pointer;
	struct json_doc *doc = NULL;
	struct err why;
	int code = parse(l, &doc, &why);

	if (code == 1)
		return err_set(l->e, E_VIEW, "pointer: %s", err_text(&why));
	if (code == 0) {
		const struct json *v = json_pointer(json_root(doc), pointer);
		code = v ? show_json(l, v)
			 : err_set(l->e, E_VIEW, "pointer: there is nothing at '%.*s'",
				   STR_ARG(str_utf8_upto(pointer, 200)));
	}
	json_doc_unref(doc);
	return code;
}

/* ---- grep ---- */

static bool
show_line(struct looking *l, uint64_t line, bool hit, struct str text)
{
	struct buf head = BUF_INIT(32);

	buf_addf(&head, "%s%llu%c", l->view->next_line ? "\n" : "", (unsigned long long)line,
		 hit ? ':' : '-');
	bool room = show(l, buf_str(&head)) && show(l, text);
	buf_done(&head);
	l->view->next_line = line + 1;
	return room;
}

static bool
matched(const struct match_line *m, void *arg)
{
	struct looking *l = arg;

	l->view->hits += m->hit;
	/* A gap between two groups; next_line is the line behind the last one shown. */
	if (l->view->next_line && m->line > l->view->next_line && !show(l, S("\n--")))
		return false;
	return show_line(l, m->line, m->hit, m->text);
}

static int
view_grep(struct looking *l)
{
	const struct wanted *w = l->wanted;
	struct match_spec spec = {
	    .pattern = w->pattern,
	    .ignore_case = w->ignore_case,
	    .start = (uint64_t)w->start,
	    .before = (size_t)(w->before ? w->before : w->context),
	    .after = (size_t)(w->after ? w->after : w->context),
	    .max = (size_t)w->max,
	    .cpu_ms = LIMIT_VIEW_CPU_MS,
	    .found = matched,
	    .arg = l,
	};
	uint64_t next = 0;

	if (w->start < 0)
		return err_set(l->e, E_VIEW, "grep: start counts from 0");
	l->view->is_grep = true;
	int code = match_lines(l->from, &spec, &next, l->e);
	l->view->next_line = next;
	return code;
}

/* ---- the selector ---- */

static const struct selector {
	const char *type;
	const char *takes; /* beside type and offset */
	const char *needs; /* or NULL */
	int (*view)(struct looking *l);
} selectors[] = {
    {"head", "chars", NULL, view_head},
    {"tail", "chars", NULL, view_tail},
    {"lines", "start end", NULL, view_lines},
    {"rows", "start end", NULL, view_lines},
    {"json_keys", "keys", "keys", view_json_keys},
    {"pointer", "pointer", "pointer", view_pointer},
    {"grep", "pattern start before after context max ignore_case", "pattern", view_grep},
};

static bool
has_word(const char *words, struct str word)
{
	struct str rest = str_of(words), one;

	while (str_split(&rest, ' ', &one))
		if (str_eq(one, word))
			return true;
	return false;
}

static int
unknown_selector(struct str type, struct err *e)
{
	struct buf names = BUF_INIT(256);

	for (size_t i = 0; i < ARRAY_LEN(selectors); i++)
		buf_addf(&names, "%s%s", i ? ", " : "", selectors[i].type);
	err_set(e, E_VIEW, "type: there is no selector '%.*s' (there are: %.*s)",
		STR_ARG(str_utf8_upto(type, 64)), STR_ARG(buf_str(&names)));
	buf_done(&names);
	return E_VIEW;
}

static int
selector_find(const struct json *given, const struct selector **ret, struct err *e)
{
	struct str type = json_str(json_get(given, S("type")));
	const struct selector *s = NULL;

	for (size_t i = 0; i < ARRAY_LEN(selectors) && !s; i++)
		if (str_is(type, selectors[i].type))
			s = &selectors[i];
	if (!s)
		return unknown_selector(type, e);
	for (struct json_iter it = json_iter(given); json_next(&it);)
		if (!has_word("type offset", it.key) && !has_word(s->takes, it.key))
			return err_set(e, E_VIEW, "%s: takes no '%.*s' (it takes: %s)", s->type,
				       STR_ARG(str_utf8_upto(it.key, 64)), s->takes);
	if (s->needs && !json_get(given, str_of(s->needs)))
		return err_set(e, E_VIEW, "%s: needs %s", s->type, s->needs);
	*ret = s;
	return 0;
}

static int
wanted_read(const struct json *given, struct wanted *w, struct err *e)
{
	static const struct json_field fields[] = {
	    FIELD(struct wanted, type, WANT_STR),         FIELD(struct wanted, pointer, WANT_STR),
	    FIELD(struct wanted, pattern, WANT_STR),      FIELD(struct wanted, chars, WANT_INT),
	    FIELD(struct wanted, start, WANT_INT),        FIELD(struct wanted, end, WANT_INT),
	    FIELD(struct wanted, before, WANT_INT),       FIELD(struct wanted, after, WANT_INT),
	    FIELD(struct wanted, context, WANT_INT),      FIELD(struct wanted, max, WANT_INT),
	    FIELD(struct wanted, offset, WANT_INT),       FIELD(struct wanted, keys, WANT_ARRAY),
	    FIELD(struct wanted, ignore_case, WANT_BOOL),
	};
	static const struct {
		const char *name;
		size_t offset;
		int64_t least, most;
	} ranges[] = {
	    {"chars", offsetof(struct wanted, chars), 0, INT64_MAX},
	    {"offset", offsetof(struct wanted, offset), 0, INT64_MAX},
	    {"before", offsetof(struct wanted, before), 0, LIMIT_VIEW_AROUND},
	    {"after", offsetof(struct wanted, after), 0, LIMIT_VIEW_AROUND},
	    {"context", offsetof(struct wanted, context), 0, LIMIT_VIEW_AROUND},
	    {"max", offsetof(struct wanted, max), 1, LIMIT_VIEW_HITS},
	};

	*w = (struct wanted){.chars = LIMIT_GIST_CHARS, .end = INT64_MAX, .max = 100};
	if (json_fields(given, fields, ARRAY_LEN(fields), "", w, e) < 0) {
		e->code = E_VIEW;
		return E_VIEW;
	}
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		int64_t n = *(const int64_t *)(const void *)((const char *)w + ranges[i].offset);
		if (n < ranges[i].least || n > ranges[i].most)
			return err_set(e, E_VIEW, "%s: must be from %lld to %lld", ranges[i].name,
				       (long long)ranges[i].least, (long long)ranges[i].most);
	}
	return 0;
}

int
view_select(struct artifact_reader *r, const struct json *given, size_t max_bytes, struct view *ret,
	    struct err *e)
{
	const struct selector *s;
	struct wanted w;
	int code;

	if (!json_is(given, JSON_OBJECT))
		return err_set(e, E_VIEW, "a selector is an object with a type");
	if ((code = selector_find(given, &s, e)) < 0 || (code = wanted_read(given, &w, e)) < 0)
		return code;
	struct view v = {.text =
			     BUF_INIT(max_bytes < LIMIT_VIEW_BYTES ? max_bytes : LIMIT_VIEW_BYTES)};
	struct looking l = {
	    .from = r,
	    .wanted = &w,
	    .sink = {.out = &v.text, .skip = (uint64_t)w.offset},
	    .view = &v,
	    .e = e,
	};
	code = s->view(&l);
	if (code == 0 && buf_failed(&v.text))
		code = err_plain(e, E_NOMEM);
	if (code < 0) {
		view_done(&v);
		return code;
	}
	if (l.sink.full) {
		v.text.len = str_utf8_whole(buf_str(&v.text)).len;
		v.more = true;
		v.next_offset = (uint64_t)w.offset + v.text.len;
	}
	*ret = v;
	return 0;
}

void
view_done(struct view *v)
{
	buf_done(&v->text);
}

void
view_write(struct jw *w, const struct view *v, const struct artifact *of)
{
	jw_object(w);
	jw_member_z(w, "handle", of->handle);
	jw_member_int(w, "size_bytes", (int64_t)of->bytes);
	jw_member(w, "text", buf_str(&v->text));
	jw_key(w, "next_offset");
	if (v->more)
		jw_int(w, (int64_t)v->next_offset);
	else
		jw_null(w);
	if (v->is_grep) {
		jw_member_int(w, "hits", (int64_t)v->hits);
		jw_key(w, "next_line");
		if (v->next_line)
			jw_int(w, (int64_t)v->next_line);
		else
			jw_null(w);
	}
	jw_end(w);
}
