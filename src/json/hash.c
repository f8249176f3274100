/* hash.c - one number for a value, the same for all its spellings. */

#include "json/inside.h"

#include <math.h>

#include "base/hash.h"

static uint64_t
hash_whole(__int128 n)
{
	return hash_mix((uint64_t)n, (uint64_t)(n >> 64));
}

static uint64_t
hash_decimal(struct str text)
{
	__int128 n;

	if (json__decimal_int(text, &n))
		return hash_whole(n);
	struct decimal d = json__decimal(text);
	uint64_t digits = json__decimal_modulo(&d, hash_secret(0) | UINT64_C(1) << 63);
	return hash_mix(hash_mix(digits, (uint64_t)d.point), (uint64_t)d.sign);
}

/*
 * A fraction in a double has one spelling that counts; a whole number may also be held as an
 * integer, and a large one as text.
 */
static uint64_t
hash_number(const yyjson_val *v)
{
	char room[REAL_TEXT];
	double d = v->uni.f64;

	if (json__is_wide(v))
		return hash_decimal(json__number_text(v, room));
	if (unsafe_yyjson_is_uint((void *)v))
		return hash_whole(v->uni.u64);
	if (!unsafe_yyjson_is_real((void *)v))
		return hash_whole(v->uni.i64);
	return d == trunc(d) ? hash_whole((int64_t)d) : hash_mix(v->uni.u64, YYJSON_TYPE_NUM);
}

static uint64_t
hash_scalar(const yyjson_val *v) /* or an empty container */
{
	switch (unsafe_yyjson_get_type((void *)v)) {
	case YYJSON_TYPE_RAW:
	case YYJSON_TYPE_NUM: return hash_number(v);
	case YYJSON_TYPE_STR: return hash_text(json__text(v), YYJSON_TYPE_STR);
	default: return hash_mix(v->tag & YYJSON_TAG_MASK, hash_secret(1));
	}
}

/* A container whose end is still ahead. Its values stand in reading order behind it. */
struct open {
	size_t left; /* values */
	uint64_t hash;
	uint64_t key; /* the hash of the one before */
	bool object, at_key;
};

static struct open
open_of(const yyjson_val *v)
{
	bool object = unsafe_yyjson_is_obj((void *)v);

	return (struct open){.left = unsafe_yyjson_get_len((void *)v),
			     .hash = unsafe_yyjson_get_len((void *)v),
			     .object = object,
			     .at_key = object};
}

/* The order of items matters; that of members does not, so theirs are summed up. */
static void
open_add(struct open *o, uint64_t hash)
{
	if (o->object)
		o->hash += hash_mix(o->key, hash);
	else
		o->hash = hash_mix(o->hash, hash);
	o->at_key = o->object;
	o->left--;
}

uint64_t
json_hash(const struct json *value)
{
	struct open open[LIMIT_JSON_DEPTH];
	size_t depth = 0;

	hash_begin();
	for (const yyjson_val *v = json__val(value);; v++) {
		if (depth > 0 && open[depth - 1].at_key) {
			open[depth - 1].key = hash_text(json__text(v), 0);
			open[depth - 1].at_key = false;
			continue;
		}
		if (json__is_full(v)) {
			CHECK(depth < ARRAY_LEN(open));
			open[depth++] = open_of(v);
			continue;
		}
		uint64_t hash = hash_scalar(v);
		for (; depth > 0; depth--) {
			open_add(&open[depth - 1], hash);
			if (open[depth - 1].left > 0)
				break;
			hash = hash_mix(open[depth - 1].hash, open[depth - 1].object);
		}
		if (depth == 0)
			return hash;
	}
}
