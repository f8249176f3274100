/* compare.c - when two values are the same, and which number is greater. */

#include "json/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- decimal text: what fits neither 64 bits nor a double is compared as it is written ---- */

struct decimal {
	int sign;          /* -1, 0, 1 */
	struct str digits; /* from the first that is not 0, with the point if it comes later */
	int64_t point;     /* value = 0.digits * 10^point */
};

#define EXPONENT_MAX INT64_C(1000000000000000) /* beyond that all are alike */

static int64_t
exponent_of(struct str s) /* with its sign; empty is 0 */
{
	bool negative = str_starts(s, S("-"));
	int64_t n = 0;

	for (size_t i = 0; i < s.len && n < EXPONENT_MAX; i++)
		if (s.ptr[i] >= '0' && s.ptr[i] <= '9')
			n = n * 10 + (s.ptr[i] - '0');
	return negative ? -n : n;
}

static struct decimal
decimal_of(struct str s)
{
	struct decimal d = {.sign = 1};

	if (str_starts(s, S("-"))) {
		d.sign = -1;
		s = str_from(s, 1);
	}
	size_t mantissa = 0;
	while (mantissa < s.len && s.ptr[mantissa] != 'e' && s.ptr[mantissa] != 'E')
		mantissa++;
	struct str exponent = str_from(s, mantissa + 1);
	s = str_upto(s, mantissa);

	size_t first = 0;
	while (first < s.len && (s.ptr[first] == '0' || s.ptr[first] == '.'))
		first++;
	if (first == s.len)
		return (struct decimal){.sign = 0};
	ptrdiff_t at = str_index(s, '.');
	int64_t point = at < 0 ? (int64_t)s.len : at, lead = (int64_t)first;
	d.point = exponent_of(exponent) + (lead < point ? point - lead : point + 1 - lead);
	d.digits = str_from(s, first);
	return d;
}

/* The digit at *i, stepping over the point; '0' behind the end. */
static char
digit_next(struct str digits, size_t *i)
{
	if (*i < digits.len && digits.ptr[*i] == '.')
		(*i)++;
	return *i < digits.len ? digits.ptr[(*i)++] : '0';
}

int
json__decimal_cmp(struct str a, struct str b)
{
	struct decimal x = decimal_of(a), y = decimal_of(b);
	size_t i = 0, k = 0;

	if (x.sign != y.sign)
		return x.sign < y.sign ? -1 : 1;
	if (x.point != y.point)
		return x.point < y.point ? -x.sign : x.sign;
	while (i < x.digits.len || k < y.digits.len) {
		char c = digit_next(x.digits, &i), d = digit_next(y.digits, &k);
		if (c != d)
			return c < d ? -x.sign : x.sign;
	}
	return 0;
}

static bool
decimal_is_integer(struct str s)
{
	struct decimal d = decimal_of(s);
	int64_t significant = 0, count = 0;

	for (size_t i = 0; i < d.digits.len;) {
		count++;
		if (digit_next(d.digits, &i) != '0')
			significant = count;
	}
	return significant <= d.point;
}

bool
json_is_integer(const struct json *v)
{
	yyjson_val *n = json__val(v);

	if (yyjson_is_raw(n))
		return decimal_is_integer(json__text(n));
	return yyjson_is_int(n) || (yyjson_is_real(n) && n->uni.f64 == trunc(n->uni.f64));
}

/* ---- numbers ---- */

static __int128
whole(const yyjson_val *n)
{
	return unsafe_yyjson_is_uint((void *)n) ? (__int128)n->uni.u64 : (__int128)n->uni.i64;
}

static int
cmp_whole_real(__int128 n, double d)
{
	if (fabs(d) >= 0x1p100)
		return d > 0 ? -1 : 1;
	__int128 t = (__int128)d;
	if (n != t)
		return n < t ? -1 : 1;
	double rest = d - (double)t;
	return rest > 0 ? -1 : rest < 0;
}

/* A number kept as text lies beyond 64 bits, so a fraction in the other cannot matter. */
static struct str
digits_of(yyjson_val *n, char room[static 400])
{
	if (yyjson_is_raw(n))
		return json__text(n);
	int len = yyjson_is_real(n)   ? snprintf(room, 400, "%.0f", n->uni.f64)
		  : yyjson_is_uint(n) ? snprintf(room, 400, "%llu", (unsigned long long)n->uni.u64)
				      : snprintf(room, 400, "%lld", (long long)n->uni.i64);
	return (struct str){room, (size_t)len};
}

int
json_number_cmp(const struct json *a, const struct json *b)
{
	yyjson_val *x = json__val(a), *y = json__val(b);
	char x_room[400], y_room[400];

	CHECK(json_is(a, JSON_NUMBER) && json_is(b, JSON_NUMBER));
	if (yyjson_is_raw(x) || yyjson_is_raw(y))
		return json__decimal_cmp(digits_of(x, x_room), digits_of(y, y_room));
	if (yyjson_is_real(x) && yyjson_is_real(y))
		return (x->uni.f64 > y->uni.f64) - (x->uni.f64 < y->uni.f64);
	if (yyjson_is_real(x))
		return -cmp_whole_real(whole(y), x->uni.f64);
	if (yyjson_is_real(y))
		return cmp_whole_real(whole(x), y->uni.f64);
	return (whole(x) > whole(y)) - (whole(x) < whole(y));
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
