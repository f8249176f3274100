/* compare.c - when two values are the same, and which number is greater. */

#include "json/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- numbers ---- */

bool
json_is_integer(const struct json *v)
{
	yyjson_val *n = json__val(v);

	if (yyjson_is_raw(n))
		return json__decimal_is_integer(json__text(n));
	return yyjson_is_int(n) || (yyjson_is_real(n) && n->uni.f64 == trunc(n->uni.f64));
}

/* Of one that is held as an integer. */
static __int128
whole(const yyjson_val *n)
{
	return unsafe_yyjson_is_uint((void *)n) ? (__int128)n->uni.u64 : (__int128)n->uni.i64;
}

struct str
json__number_text(const yyjson_val *n, char room[static REAL_TEXT])
{
	if (unsafe_yyjson_is_raw((void *)n))
		return json__text(n);
	if (unsafe_yyjson_is_real((void *)n))
		json__real(n->uni.f64, REAL_SHORT, room);
	else if (unsafe_yyjson_is_uint((void *)n))
		snprintf(room, REAL_TEXT, "%llu", (unsigned long long)n->uni.u64);
	else
		snprintf(room, REAL_TEXT, "%lld", (long long)n->uni.i64);
	return str_of(room);
}

static int
cmp_whole_real(__int128 n, double d)
{
	__int128 t = (__int128)d;

	if (n != t)
		return n < t ? -1 : 1;
	double rest = d - (double)t;
	return rest > 0 ? -1 : rest < 0;
}

int
json_number_cmp(const struct json *a, const struct json *b)
{
	yyjson_val *x = json__val(a), *y = json__val(b);
	char x_room[REAL_TEXT], y_room[REAL_TEXT];

	CHECK(json_is(a, JSON_NUMBER) && json_is(b, JSON_NUMBER));
	if (yyjson_is_real(x) && yyjson_is_real(y))
		return (x->uni.f64 > y->uni.f64) - (x->uni.f64 < y->uni.f64);
	if (json__is_wide(x) || json__is_wide(y))
		return json__decimal_cmp(json__number_text(x, x_room),
					 json__number_text(y, y_room));
	if (yyjson_is_real(x))
		return -cmp_whole_real(whole(y), x->uni.f64);
	if (yyjson_is_real(y))
		return cmp_whole_real(whole(x), y->uni.f64);
	return (whole(x) > whole(y)) - (whole(x) < whole(y));
}

static uint64_t
magnitude(const yyjson_val *n)
{
	bool negative = unsafe_yyjson_is_sint((void *)n) && n->uni.i64 < 0;

	return negative ? -n->uni.u64 : n->uni.u64;
}

bool
json_is_multiple(const struct json *v, const struct json *of)
{
	yyjson_val *x = json__val(v), *y = json__val(of);
	char x_room[REAL_TEXT], y_room[REAL_TEXT];

	CHECK(json_is(v, JSON_NUMBER) && json_is(of, JSON_NUMBER));
	if (yyjson_is_int(x) && yyjson_is_int(y) && y->uni.u64 != 0)
		return magnitude(x) % magnitude(y) == 0;
	return json__decimal_is_multiple(json__number_text(x, x_room),
					 json__number_text(y, y_room));
}

/* ---- whole values ---- */

/* Two containers of the same length being compared. */
struct pair {
	struct json_iter a, b;
	const struct json *b_object;
	struct members b_sorted; /* once the order of keys was found to differ */
	bool sorted;
};

static const struct json *
member_find(const struct members *m, struct str key)
{
	yyjson_val wanted = {.tag = (uint64_t)key.len << YYJSON_TAG_BIT | YYJSON_TYPE_STR,
			     .uni.str = key.ptr};
	yyjson_val *at = &wanted,
		   **found = bsearch(&at, m->keys, m->count, sizeof(*m->keys), json__quick_order);

	return found ? json__of(*found + 1) : NULL;
}

/*
 * The value in b that belongs to a's current one. Keys mostly come in the same order;
 * where they do not, b's are sorted once, lest two large objects cost the square.
 */
static const struct json *
partner(struct pair *p)
{
	if (!p->sorted && json_next(&p->b) && (!p->a.object || str_eq(p->a.key, p->b.key)))
		return p->b.value;
	if (!p->sorted &&
	    json__members(&p->b_sorted, json__val(p->b_object), json__quick_order) < 0)
		return json_get(p->b_object, p->a.key);
	p->sorted = true;
	return member_find(&p->b_sorted, p->a.key);
}

static bool
scalar_equal(const struct json *a, const struct json *b)
{
	switch (json_type(a)) {
	case JSON_BOOL: return json_bool(a) == json_bool(b);
	case JSON_NUMBER: return json_number_cmp(a, b) == 0;
	case JSON_STRING: return str_eq(json_str(a), json_str(b));
	default: return true;
	}
}

bool
json_equal(const struct json *a, const struct json *b)
{
	struct pair open[LIMIT_JSON_DEPTH];
	size_t depth = 0;
	bool equal;

	for (;;) {
		equal = a && b && json_type(a) == json_type(b) && json_len(a) == json_len(b) &&
			scalar_equal(a, b);
		if (!equal)
			break;
		if (json_len(a) > 0) {
			CHECK(depth < ARRAY_LEN(open));
			struct pair *p = &open[depth++];
			p->a = json_iter(a);
			p->b = json_iter(b);
			p->b_object = b;
			p->sorted = false;
		}
		while (depth > 0 && !json_next(&open[depth - 1].a))
			if (open[--depth].sorted)
				json__members_done(&open[depth].b_sorted);
		if (depth == 0)
			break;
		a = open[depth - 1].a.value;
		b = partner(&open[depth - 1]);
	}
	while (depth-- > 0)
		if (open[depth].sorted)
			json__members_done(&open[depth].b_sorted);
	return equal;
}
