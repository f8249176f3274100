/* decimal.c - exact arithmetic on numbers as they are written, however long. */

#include "json/inside.h"

#define POINT_MAX INT64_C(1000000000000000) /* beyond that all are alike */

static int64_t
exponent_of(struct str s) /* with its sign; empty is 0 */
{
	bool negative = str_starts(s, S("-"));
	int64_t n = 0;

	for (size_t i = 0; i < s.len && n < 2 * POINT_MAX; i++)
		if (s.ptr[i] >= '0' && s.ptr[i] <= '9')
			n = n * 10 + (s.ptr[i] - '0');
	return negative ? -n : n;
}

/* The digit at *i, stepping over the point; 0 behind the end. */
static unsigned
digit_next(struct str digits, size_t *i)
{
	if (*i < digits.len && digits.ptr[*i] == '.')
		(*i)++;
	return *i < digits.len ? (unsigned)(digits.ptr[(*i)++] - '0') : 0;
}

/* Without the zeros at the end, and the point among them. */
static struct str
digits_trimmed(struct str digits)
{
	while (digits.len > 0 &&
	       (digits.ptr[digits.len - 1] == '0' || digits.ptr[digits.len - 1] == '.'))
		digits.len--;
	return digits;
}

struct decimal
json__decimal(struct str s)
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
	d.point = d.point > POINT_MAX ? POINT_MAX : d.point < -POINT_MAX ? -POINT_MAX : d.point;
	d.digits = digits_trimmed(str_from(s, first));
	d.count = d.digits.len - (str_index(d.digits, '.') >= 0);
	return d;
}

static int
digits_cmp(struct str a, struct str b)
{
	size_t i = 0, k = 0;

	while (i < a.len || k < b.len) {
		unsigned x = digit_next(a, &i), y = digit_next(b, &k);
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

int
json__decimal_cmp(struct str a, struct str b)
{
	struct decimal x = json__decimal(a), y = json__decimal(b);

	if (x.sign != y.sign)
		return x.sign < y.sign ? -1 : 1;
	if (x.point != y.point)
		return x.point < y.point ? -x.sign : x.sign;
	return x.sign * digits_cmp(x.digits, y.digits);
}

bool
json__decimal_is_integer(struct str s)
{
	struct decimal d = json__decimal(s);

	return (int64_t)d.count <= d.point || d.sign == 0;
}

bool
json__decimal_int(struct str s, __int128 *ret)
{
	struct decimal d = json__decimal(s);
	__int128 n = 0;
	size_t at = 0;

	if (d.point > 20 || (d.sign != 0 && (int64_t)d.count > d.point))
		return false;
	for (int64_t i = 0; i < d.point; i++)
		n = n * 10 + digit_next(d.digits, &at);
	*ret = d.sign * n;
	return n <= UINT64_MAX;
}

uint64_t
json__decimal_modulo(const struct decimal *d, uint64_t m)
{
	unsigned __int128 rest = 0;
	size_t at = 0;

	/* Eighteen digits at a time: with the rest before them 128 bits hold that. */
	for (size_t left = d->count; left > 0;) {
		uint64_t part = 0, scale = 1;
		for (unsigned n = 0; n < 18 && left > 0; n++, left--, scale *= 10)
			part = part * 10 + digit_next(d->digits, &at);
		rest = (rest * scale + part) % m;
	}
	return (uint64_t)rest;
}

#define DIVISOR_DIGITS 19 /* what 64 bits hold */

/*
 * Both numbers are whole ones without a zero at the end, times a power of ten: a*10^x and
 * b*10^y. The first is a multiple when b divides a*10^(x-y). For x < y it never does: a would
 * have to end in a zero.
 */
bool
json__decimal_is_multiple(struct str v, struct str of)
{
	struct decimal a = json__decimal(v), b = json__decimal(of);
	int64_t shift = (a.point - (int64_t)a.count) - (b.point - (int64_t)b.count);

	if (a.sign == 0 || b.sign == 0)
		return a.sign == 0;
	if (shift < 0)
		return false;
	if (b.count > DIVISOR_DIGITS)
		return digits_cmp(a.digits, b.digits) == 0;
	uint64_t m = json__decimal_modulo(&b, UINT64_MAX); /* itself, being smaller */
	CHECK(m > 0);
	unsigned __int128 rest = json__decimal_modulo(&a, m);
	/* 64 bits have fewer than 64 twos and fives: further tens would meet none. */
	for (int64_t i = 0; i < shift && i < 64 && rest != 0; i++)
		rest = rest * 10 % m;
	return rest == 0;
}
