/* write.c - JSON text, token by token. */

#include "json/write.h"
#include "json/inside.h"

#include <math.h>

/* ---- strings ---- */

#define EACH_BYTE (~(uint64_t)0 / 255)

/* Is each of eight bytes an ASCII character that needs no escape? */
static bool
is_plain_word(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	uint64_t quote = w ^ EACH_BYTE * '"', backslash = w ^ EACH_BYTE * '\\',
		 del = w ^ EACH_BYTE * 0x7f;
	/* A byte that borrows when its limit is taken away was below it. */
	uint64_t odd = (w - EACH_BYTE * 0x20) | (quote - EACH_BYTE) | (backslash - EACH_BYTE) |
		       (del - EACH_BYTE) | w;
	return (odd & EACH_BYTE * 0x80) == 0;
}

/* How many bytes from i on can be written as they are. */
static size_t
plain_run(struct str s, size_t i, unsigned char last_plain)
{
	size_t from = i;

	while (i < s.len) {
		if (s.len - i >= sizeof(uint64_t) && is_plain_word(s.ptr + i)) {
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

/* Nothing to be escaped, eight bytes at once: no control, no quote, no backslash, all ASCII. */
static bool
all_plain(struct str s)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
	uint64_t odd = 0, v;
	size_t i = 0;

	for (; i + 8 <= s.len; i += 8) {
		memcpy(&v, s.ptr + i, 8);
		uint64_t quote = v ^ (ones * '"'), slash = v ^ (ones * '\\'),
			 del = v ^ (ones * 0x7f);
		odd |= v | (v - ones * 0x20) | (quote - ones) | (slash - ones) | (del - ones);
		if (odd & tops)
			return false;
	}
	for (; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			return false;
	}
	return true;
}

void
json__quote(struct buf *out, struct str s, bool ascii)
{
	if (all_plain(s)) {
		char *p = buf_room(out, s.len + 2);
		if (!p)
			return;
		p[0] = '"';
		memcpy(p + 1, s.len ? s.ptr : "", s.len);
		p[s.len + 1] = '"';
		out->len += s.len + 2;
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
	case YYJSON_TYPE_STR: json__quote(out, json__text(v), false); return;
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
jw_key(struct jw *w, const char *key)
{
	struct str k = str_of(key);

	CHECK((w->object & level(w)) && !w->after_key);
	comma(w);
	w->after_key = true;
	char *p = buf_room(w->out, k.len + 3);
	if (!p)
		return;
	p[0] = '"';
	memcpy(p + 1, k.ptr, k.len); /* our own words: nothing to escape */
	p[k.len + 1] = '"';
	p[k.len + 2] = ':';
	w->out->len += k.len + 3;
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
jw_z(struct jw *w, const char *z)
{
	jw_str(w, str_of(z));
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

void
jw_member(struct jw *w, const char *key, struct str s)
{
	jw_key(w, key);
	jw_str(w, s);
}

void
jw_member_z(struct jw *w, const char *key, const char *z)
{
	jw_key(w, key);
	jw_z(w, z);
}

void
jw_member_int(struct jw *w, const char *key, int64_t n)
{
	jw_key(w, key);
	jw_int(w, n);
}

void
jw_member_bool(struct jw *w, const char *key, bool yes)
{
	jw_key(w, key);
	jw_bool(w, yes);
}
