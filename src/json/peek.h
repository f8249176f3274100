/*
 * peek.h - reading values without a call, for loops that run per value of every request.
 *
 * The same answers as json.h. The price is that yyjson's layout is seen here; only the schema
 * engine needs it.
 */

#ifndef JSON_PEEK_H
#define JSON_PEEK_H

#include <yyjson.h>

#include "json/json.h"

static inline enum json_type
peek_type(const struct json *v)
{
	unsigned t = (unsigned)(((const yyjson_val *)v)->tag & YYJSON_TYPE_MASK);

	/* NULL BOOL NUM STR ARR OBJ follow each other in both; a number kept as text is before. */
	_Static_assert(YYJSON_TYPE_NULL == 2 && YYJSON_TYPE_OBJ == 7 && YYJSON_TYPE_RAW == 1,
		       "yyjson counts its types differently");
	return t == YYJSON_TYPE_RAW ? JSON_NUMBER : (enum json_type)(t - YYJSON_TYPE_NULL);
}

static inline size_t
peek_len(const struct json *v) /* members, items or bytes */
{
	return (size_t)(((const yyjson_val *)v)->tag >> YYJSON_TAG_BIT);
}

static inline struct str
peek_str(const struct json *v) /* of a string or a key */
{
	return (struct str){((const yyjson_val *)v)->uni.str, peek_len(v)};
}

static inline bool
peek_true(const struct json *v)
{
	return ((const yyjson_val *)v)->tag & YYJSON_SUBTYPE_TRUE;
}

/* A number that is held as a whole one of 64 bits; false for 1.0 too. */
static inline bool
peek_int(const struct json *v, int64_t *ret)
{
	const yyjson_val *n = (const yyjson_val *)v;
	unsigned t = (unsigned)(n->tag & YYJSON_TAG_MASK);

	*ret = n->uni.i64;
	return t == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT) ||
	       (t == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT) && n->uni.i64 >= 0);
}

/* The first key or item inside a container; what stands behind a value. */
static inline const struct json *
peek_first(const struct json *container)
{
	return (const struct json *)((const yyjson_val *)container + 1);
}

static inline const struct json *
peek_value(const struct json *key)
{
	return (const struct json *)((const yyjson_val *)key + 1);
}

static inline const struct json *
peek_key(const struct json *value) /* of a member */
{
	return (const struct json *)((const yyjson_val *)value - 1);
}

static inline const struct json *
peek_next(const struct json *v)
{
	const yyjson_val *n = (const yyjson_val *)v;
	bool container = (n->tag & 6) == 6; /* ARR, OBJ */

	return (const struct json *)((const char *)n + (container ? n->uni.ofs : sizeof(*n)));
}

/* How many values there are in a value, itself and the keys among them. */
static inline size_t
peek_size(const struct json *v)
{
	return (size_t)((const yyjson_val *)peek_next(v) - (const yyjson_val *)v);
}

#endif
