/* write.c - JSON text, token by token. */

#include "json/write.h"
#include "json/inside.h"

#include <math.h>

/* ---- strings ---- */

/* How many bytes from i on can be written as they are. */
static size_t
plain_run(struct str s, size_t i, unsigned char last_plain)
{
	size_t from = i;

	while (i < s.len) {
		if (s.len - i >= sizeof(uint64_t) && json__plain_word(s.ptr + i)) {
			i += sizeof(uint64_t);
			continue;
		}
		/* Something in the next eight may be odd: look one by one. */
		for (size_t end = s.len - i > 8 ? i + 8 : s.len; i < end; i++) {
			unsigned char c = (unsigned char)s.ptr[i];
			if (c < 0x20 || c == '"' || c == '\\' || c > last_plain)
				return i - from;
		}
	}
	return i - from;
}

static void
add_code_unit(struct buf *out, unsigned unit)
{
	static const char hex[] = "0123456789abcdef";
	const char text[] = {
	    '\\',          'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
	    hex[unit & 15]};

	buf_add(out, (struct str){text, sizeof(text)});
}

/* Writes the character that s starts with so that it is harmless; answers its length. */
static size_t
add_special(struct buf *out, struct str s, bool ascii)
{
	static const char letters[128] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
					  ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
	uint32_t c;
	size_t len = str_utf8_char(s, &c);

	if (len == 0) {
		buf_addz(out, "\xef\xbf\xbd");
		return 1;
	}
	if (c < 0x80 && letters[c])
		buf_add(out, (struct str){(char[]){'\\', letters[c]}, 2});
	else if (c >= 0x80 && !ascii)
		buf_add(out, str_upto(s, len));
	else if (c < 0x10000)
		add_code_unit(out, c);
	else
		add_code_unit(out, 0xd800 + ((c - 0x10000) >> 10)),
		    add_code_unit(out, 0xdc00 + (c & 0x3ff));
	return len;
}

static void
add_plain(struct buf *out, struct str s)
{
	char *p = buf_room(out, s.len + 2);

	if (!p)
		return;
	p[0] = '"';
	memcpy(p + 1, s.len ? s.ptr : "", s.len);
	p[s.len + 1] = '"';
	out->len += s.len + 2;
}

/* A quick look, without a call: buf_room says the same, and makes some. */
static inline bool
has_room(const struct buf *b, size_t n)
{
	return !b->failed && n < b->cap - b->len;
}

/* Ids, names and the like are most of what is written: they are copied while they are looked at. */
#define SHORT 64

static bool
add_short(struct buf *out, struct str s)
{
	char *p = has_room(out, s.len + 2) ? out->ptr + out->len : NULL;

	if (!p || !json__plain_copy(p + 1, s))
		return false;
	p[0] = p[s.len + 1] = '"';
	out->len += s.len + 2;
	return true;
}

void
json__quote(struct buf *out, struct str s, bool ascii)
{
	if (s.len <= SHORT && add_short(out, s))
		return;
	if (json__plain_run(s) == s.len) {
		add_plain(out, s);
		return;
	}
	unsigned char last_plain = ascii ? 0x7e : str_is_utf8(s) ? 0xff : 0x7f;

	buf_addc(out, '"');
	for (size_t i = 0; i < s.len;) {
		size_t run = plain_run(s, i, last_plain);
		buf_add(out, (struct str){s.ptr + i, run});
		i += run;
		if (i < s.len)
			i += add_special(out, str_from(s, i), ascii);
	}
	buf_addc(out, '"');
}

void
json_quote(struct buf *out, struct str s)
{
	if (s.ptr)
		json__quote(out, s, false);
	else
		buf_add(out, S("null"));
}

/* ---- parsed values ---- */

static void
add_whole(struct buf *out, const yyjson_val *v)
{
	if (unsafe_yyjson_is_uint((void *)v))
		buf_add_u64(out, v->uni.u64);
	else
		buf_add_i64(out, v->uni.i64);
}

static void
add_real(struct buf *out, double d)
{
	char text[REAL_TEXT];

	json__real(d, REAL_SHORT, text);
	buf_addz(out, text);
}

/* A scalar, an empty container, or the opening of a full one. */
static void
add_token(struct buf *out, yyjson_val *v)
{
	bool full = json__is_full(v);

	switch (unsafe_yyjson_get_type(v)) {
	case YYJSON_TYPE_NULL: buf_addz(out, "null"); return;
	case YYJSON_TYPE_BOOL: buf_addz(out, unsafe_yyjson_get_bool(v) ? "true" : "false"); return;
	case YYJSON_TYPE_STR:
		if (unsafe_yyjson_get_subtype(v) == YYJSON_SUBTYPE_NOESC)
			add_plain(out, json__text(v)); /* long.c has looked */
		else
			json__quote(out, json__text(v), false);
		return;
	case YYJSON_TYPE_RAW: buf_add(out, json__text(v)); return;
	case YYJSON_TYPE_ARR: buf_addz(out, full ? "[" : "[]"); return;
	case YYJSON_TYPE_OBJ: buf_addz(out, full ? "{" : "{}"); return;
	case YYJSON_TYPE_NUM:
		if (unsafe_yyjson_is_real(v))
			add_real(out, v->uni.f64);
		else
			add_whole(out, v);
		return;
	}
	BUG("a value of no type");
}

/* The values of a document stand in reading order, so the next token is always the next value. */
static void
add_value(struct buf *out, yyjson_val *v)
{
	struct {
		size_t left; /* tokens: keys and values */
		bool object;
	} open[LIMIT_JSON_DEPTH];
	size_t depth = 0;

	for (;; v++) {
		add_token(out, v);
		if (json__is_full(v)) {
			bool object = unsafe_yyjson_is_obj(v);
			CHECK(depth < ARRAY_LEN(open));
			open[depth].object = object;
			open[depth++].left = unsafe_yyjson_get_len(v) * (object ? 2 : 1);
			continue;
		}
		while (depth > 0 && --open[depth - 1].left == 0)
			buf_addc(out, open[--depth].object ? '}' : ']');
		if (depth == 0)
			return;
		bool key_before = open[depth - 1].object && open[depth - 1].left % 2 == 1;
		buf_addc(out, key_before ? ':' : ',');
	}
}

/* ---- the writer ---- */

struct jw
jw(struct buf *out)
{
	return (struct jw){.out = out};
}

static uint64_t
level(const struct jw *w)
{
	return w->depth ? UINT64_C(1) << (w->depth - 1) : 0;
}

static void
comma(struct jw *w)
{
	if (w->comma & level(w))
		buf_addc(w->out, ',');
	w->comma |= level(w);
}

/* Before every value. */
static void
begin(struct jw *w)
{
	CHECK(w->after_key || !(w->object & level(w)));
	if (!w->after_key)
		comma(w);
	w->after_key = false;
}

static void
open_level(struct jw *w, bool object)
{
	begin(w);
	CHECK(w->depth < LIMIT_JSON_DEPTH);
	w->depth++;
	w->comma &= ~level(w);
	w->object = object ? w->object | level(w) : w->object & ~level(w);
	buf_addc(w->out, object ? '{' : '[');
}

void
jw_object(struct jw *w)
{
	open_level(w, true);
}

void
jw_array(struct jw *w)
{
	open_level(w, false);
}

void
jw_end(struct jw *w)
{
	CHECK(w->depth > 0 && !w->after_key);
	buf_addc(w->out, w->object & level(w) ? '}' : ']');
	w->depth--;
}

void
jw_key_str(struct jw *w, struct str key)
{
	CHECK((w->object & level(w)) && !w->after_key);
	comma(w);
	json__quote(w->out, key, false);
	buf_addc(w->out, ':');
	w->after_key = true;
}

void
jw__key(struct jw *w, const char *key, size_t len)
{
	struct buf *out = w->out;
	bool more = w->comma & level(w);

	CHECK((w->object & level(w)) && !w->after_key);
	w->comma |= level(w);
	w->after_key = true;
	if (!has_room(out, len + 4) && !buf_room(out, len + 4))
		return;
	char *p = out->ptr + out->len;
	out->len += len + 3 + more;
	if (more)
		*p++ = ',';
	*p++ = '"';
	p = mempcpy(p, key, len); /* our own words: nothing to escape */
	p[0] = '"';
	p[1] = ':';
}

void
jw_raw(struct jw *w, struct str json)
{
	begin(w);
	buf_add(w->out, json);
}

void
jw_null(struct jw *w)
{
	jw_raw(w, S("null"));
}

void
jw_str(struct jw *w, struct str s)
{
	if (!s.ptr) {
		jw_null(w);
		return;
	}
	begin(w);
	json__quote(w->out, s, false);
}

void
jw_int(struct jw *w, int64_t n)
{
	begin(w);
	buf_add_i64(w->out, n);
}

void
jw_double(struct jw *w, double d)
{
	if (!isfinite(d)) {
		jw_null(w);
		return;
	}
	begin(w);
	add_real(w->out, d);
}

void
jw_bool(struct jw *w, bool yes)
{
	jw_raw(w, yes ? S("true") : S("false"));
}

void
jw_value(struct jw *w, const struct json *v)
{
	if (!v) {
		jw_null(w);
		return;
	}
	begin(w);
	add_value(w->out, json__val(v));
}
