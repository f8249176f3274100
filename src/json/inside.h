/* inside.h - what the files of src/json share; the only header that shows yyjson. */

#ifndef JSON_INSIDE_H
#define JSON_INSIDE_H

#include <yyjson.h>

#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"

/* yyjson reads through pointers that are not const; nothing here ever writes to a value. */
static inline yyjson_val *
json__val(const struct json *v)
{
	return (yyjson_val *)v;
}

static inline const struct json *
json__of(const yyjson_val *v)
{
	return (const struct json *)v;
}

static inline struct str
json__text(const yyjson_val *v) /* of a string, a key or a number kept as text */
{
	return (struct str){v->uni.str, unsafe_yyjson_get_len((void *)v)};
}

/* Is there something inside? */
static inline bool
json__is_full(const yyjson_val *v)
{
	return unsafe_yyjson_is_ctn((void *)v) && unsafe_yyjson_get_len((void *)v) > 0;
}

/* Kept as text, or a double that may be written 1e23 and is in truth not quite that. */
static inline bool
json__is_wide(const yyjson_val *v)
{
	return unsafe_yyjson_is_raw((void *)v) || (unsafe_yyjson_is_real((void *)v) &&
						   (v->uni.f64 >= 0x1p53 || v->uni.f64 <= -0x1p53));
}

/* The first half of json_parse: syntax only. */
int json__read(struct str text, struct json_doc **ret, struct err *e);

/*
 * The second half: depth and duplicate keys. E_TOO_LARGE; E_BAD_JSON with the second
 * of the two keys in *ret_twice; E_NOMEM.
 */
int json__check(const struct json_doc *doc, unsigned max_depth, const struct json **ret_twice);

/* The keys of an object in some order. Few of them need no memory. */
struct members {
	yyjson_val **keys; /* each value stands behind its key */
	size_t count;
	yyjson_val *few[16];
};
typedef int key_order(const void *, const void *); /* of pointers to yyjson_val pointers */

int json__members(struct members *m, yyjson_val *obj, key_order *order); /* 0 or E_NOMEM */
void json__members_done(struct members *m);
int json__quick_order(const void *a,
		      const void *b); /* no meaning, but fast; equal only for equals */

/* How a double is written. */
enum real_form { REAL_SHORT, REAL_ES6, REAL_PYTHON };
#define REAL_TEXT 64 /* holds every form, with the NUL */
void json__real(double d, enum real_form form, char out[static REAL_TEXT]);

/* A number as it is written. */
struct decimal {
	int sign;          /* -1, 0, 1 */
	struct str digits; /* no zeros at either end, but perhaps a point in the middle */
	size_t count;      /* of the digits */
	int64_t point;     /* value = 0.digits * 10^point */
};
struct decimal json__decimal(struct str s);
uint64_t json__decimal_modulo(const struct decimal *d, uint64_t m); /* of the digits, as a whole */
int json__decimal_cmp(struct str a, struct str b);
bool json__decimal_is_integer(struct str s);
bool json__decimal_int(struct str s, __int128 *ret); /* false: no integer, or beyond 64 bits */
/* A divisor of more than 19 digits has only itself and its ten-, hundredfold... as multiples. */
bool json__decimal_is_multiple(struct str v, struct str of);

/*
 * Of a row of values, just parsed in place in copy, those doubles that may not be what the text
 * says become numbers kept as text: of more than 15 digits, or among the smallest.
 */
void json__keep_exact(yyjson_val *row, size_t count, const char *copy, struct str text);

/* How a number is written, if it is not kept as text then in as few digits as tell it apart. */
struct str json__number_text(const yyjson_val *n, char room[static REAL_TEXT]);

/*
 * Long strings of a long text (long.c). A string without escapes, controls or anything beyond ASCII
 * needs no parser, which would only find that out more slowly: in the text that is parsed it is
 * "", and its value gets it back.
 */
#define LONG_TEXT (64 * KIB)
#define LONG_STRING (4 * KIB)
#define LONG_STRINGS 16

struct long_strings {
	struct buf rest; /* the text without them */
	size_t count;
	struct {
		size_t number; /* of all strings and keys, by the order they stand in */
		struct str text;
	} at[LONG_STRINGS];
};
/* False: there is none, or too much is left. */
bool json__long_take_out(struct long_strings *ls, struct str text);
void json__long_put_back(const struct long_strings *ls, yyjson_val *row, size_t count);

#define EACH_BYTE (~(uint64_t)0 / 255)

/* Is each of eight bytes an ASCII character that needs no escape? */
static inline bool
json__plain_word(const char *p)
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

/* How many bytes at the front are ASCII and can stand in a string as they are. */
size_t json__plain_run(struct str s);
/* Copies it if all of it is such; false: it is not, and *out has been written to. */
bool json__plain_copy(char *out, struct str s);

/* A string with its quotes; ascii: everything beyond is \uXXXX, as Python does. */
void json__quote(struct buf *out, struct str s, bool ascii);

#endif
