/* canon.c - one writer for all canonical forms. */

#include "json/canon.h"
#include "json/inside.h"

#include <math.h>
#include <stdlib.h>

#include "base/sha256.h"

/* ---- the order of keys ---- */

static int
by_code_point(const void *a, const void *b)
{
	/* UTF-8 sorts by its bytes as its code points do. */
	return str_cmp(json__text(*(yyjson_val *const *)a), json__text(*(yyjson_val *const *)b));
}

/* In UTF-16 what lies beyond U+FFFF (bytes F0 to F4 here) comes before U+E000 (EE). */
static int
utf16_rank(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 0xf0 ? 0xed00 + u : u << 8;
}

static int
by_utf16(const void *a, const void *b)
{
	struct str x = json__text(*(yyjson_val *const *)a), y = json__text(*(yyjson_val *const *)b);

	for (size_t i = 0; i < x.len && i < y.len; i++)
		if (x.ptr[i] != y.ptr[i])
			return utf16_rank(x.ptr[i]) - utf16_rank(y.ptr[i]);
	return (x.len > y.len) - (x.len < y.len);
}

static const struct form {
	key_order *order;
	const char *comma, *colon;
	bool ascii;
	enum real_form real;
} forms[] = {
    [CANON_JCS] = {by_utf16, ",", ":", false, REAL_ES6},
    [CANON_SPACED] = {by_code_point, ", ", ": ", true, REAL_PYTHON},
    [CANON_COMPACT] = {by_code_point, ",", ":", true, REAL_PYTHON},
};

/* ---- tokens ---- */

/* Beyond the range of a double, 1E400 and 10e399 alike: 1e+400. */
static void
add_beyond(struct buf *out, struct str written)
{
	struct decimal d = json__decimal(written);
	ptrdiff_t point = str_index(d.digits, '.');

	buf_addz(out, d.sign < 0 ? "-" : "");
	buf_addc(out, d.digits.ptr[0]);
	if (d.count > 1)
		buf_addc(out, '.');
	buf_add(out, str_from(str_upto(d.digits, point < 0 ? d.digits.len : (size_t)point), 1));
	if (point >= 0)
		buf_add(out, str_from(d.digits, (size_t)point + 1));
	buf_addf(out, "e+%lld", (long long)d.point - 1);
}

/*
 * A number kept as text. Written as an integer it keeps its digits, but for the great round ones
 * that ES6 has another text for, such as 1e+22. Otherwise it is the double it would be elsewhere.
 */
static void
add_kept(struct buf *out, const struct form *f, yyjson_val *v)
{
	struct str written = json__text(v);
	bool integer = str_index(written, '.') < 0 && str_index(written, 'e') < 0 &&
		       str_index(written, 'E') < 0;
	double d = strtod(written.ptr, NULL);
	char text[REAL_TEXT];

	if (integer && f->real == REAL_PYTHON) {
		buf_add(out, written);
	} else if (!isfinite(d)) {
		add_beyond(out, written);
	} else {
		json__real(d, f->real, text);
		bool same = !integer || json__decimal_cmp(str_of(text), written) == 0;
		buf_add(out, same ? str_of(text) : written);
	}
}

static void
add_number(struct buf *out, const struct form *f, yyjson_val *v)
{
	char text[REAL_TEXT];

	if (unsafe_yyjson_is_real(v)) {
		json__real(v->uni.f64, f->real, text);
		buf_addz(out, text);
	} else if (unsafe_yyjson_is_uint(v)) {
		buf_add_u64(out, v->uni.u64);
	} else {
		buf_add_i64(out, v->uni.i64);
	}
}

static void
add_scalar(struct buf *out, const struct form *f, yyjson_val *v)
{
	switch (unsafe_yyjson_get_type(v)) {
	case YYJSON_TYPE_NULL: buf_addz(out, "null"); return;
	case YYJSON_TYPE_BOOL: buf_addz(out, unsafe_yyjson_get_bool(v) ? "true" : "false"); return;
	case YYJSON_TYPE_STR: json__quote(out, json__text(v), f->ascii); return;
	case YYJSON_TYPE_RAW: add_kept(out, f, v); return;
	case YYJSON_TYPE_NUM: add_number(out, f, v); return;
	}
	BUG("a scalar that is none");
}

/* ---- containers ---- */

struct level {
	struct members members; /* of an object, sorted */
	yyjson_val *item;       /* of an array: the next one */
	size_t count, left;
	bool object;
};

static int
level_open(struct level *l, const struct form *f, yyjson_val *v)
{
	l->object = unsafe_yyjson_is_obj(v);
	l->count = l->left = unsafe_yyjson_get_len(v);
	l->item = unsafe_yyjson_get_first(v);
	return l->object ? json__members(&l->members, v, f->order) : 0;
}

static void
level_close(struct level *l)
{
	if (l->object)
		json__members_done(&l->members);
}

/* Writes what stands before the next value, and answers that. */
static yyjson_val *
level_next(struct level *l, struct buf *out, const struct form *f)
{
	size_t i = l->count - l->left--;

	if (i > 0)
		buf_addz(out, f->comma);
	if (!l->object) {
		yyjson_val *v = l->item;
		l->item = unsafe_yyjson_get_next(v);
		return v;
	}
	yyjson_val *key = l->members.keys[i];
	json__quote(out, json__text(key), f->ascii);
	buf_addz(out, f->colon);
	return key + 1;
}

void
canon_write(struct buf *out, const struct json *value, enum canon_form form)
{
	const struct form *f = &forms[form];
	struct level open[LIMIT_JSON_DEPTH];
	size_t depth = 0;
	yyjson_val *v = json__val(value);

	for (;;) {
		if (unsafe_yyjson_is_ctn(v)) {
			CHECK(depth < ARRAY_LEN(open));
			if (level_open(&open[depth], f, v) < 0) {
				out->failed = true;
				break;
			}
			buf_addc(out, open[depth++].object ? '{' : '[');
		} else {
			add_scalar(out, f, v);
		}
		while (depth > 0 && open[depth - 1].left == 0) {
			struct level *l = &open[--depth];
			buf_addc(out, l->object ? '}' : ']');
			level_close(l);
		}
		if (depth == 0 || buf_failed(out))
			break;
		v = level_next(&open[depth - 1], out, f);
	}
	while (depth-- > 0)
		level_close(&open[depth]);
}

/* ---- digests ---- */

void
digest_bytes(struct str bytes, char out[static DIGEST_TEXT])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char bin[SHA256_BYTES];
	struct sha256 sha;

	sha256_begin(&sha);
	sha256_add(&sha, bytes);
	sha256_end(&sha, bin);
	for (size_t i = 0; i < sizeof(bin); i++) {
		out[2 * i] = hex[bin[i] >> 4];
		out[2 * i + 1] = hex[bin[i] & 15];
	}
	out[DIGEST_TEXT - 1] = '\0';
}

int
digest_value(const struct json *v, enum canon_form form, char out[static DIGEST_TEXT],
	     struct err *e)
{
	/* Escapes make a text six times as long at most, so what came through the door fits. */
	struct buf b = BUF_INIT(8 * LIMIT_JSON_BYTES);
	int rc = 0;

	canon_write(&b, v, form);
	if (buf_failed(&b))
		rc = err_plain(e, b.len > LIMIT_JSON_BYTES ? E_TOO_LARGE : E_NOMEM);
	else
		digest_bytes(buf_str(&b), out);
	buf_done(&b);
	return rc;
}
