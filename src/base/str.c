/* str.c - reading text. */

#include "base/str.h"

#include <stdlib.h>

int
str_cmp(struct str a, struct str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int d = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return d ? d : (a.len > b.len) - (a.len < b.len);
}

bool
str_starts(struct str s, struct str prefix)
{
	return s.len >= prefix.len && str_eq(str_upto(s, prefix.len), prefix);
}

bool
str_ends(struct str s, struct str suffix)
{
	return s.len >= suffix.len && str_eq(str_from(s, s.len - suffix.len), suffix);
}

static unsigned char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : (unsigned char)c;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight bytes each. Upper and lower case differ in one bit, and only of letters does it not count.
 */
static bool
eight_eq_nocase(const char *a, const char *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	uint64_t low = x | EACH(0x20), seven = low & EACH(0x7f);
	/* The top bit of each byte: from 'a' on, beyond 'z', no ASCII. */
	uint64_t from_a = seven + EACH(0x80 - 'a'), beyond_z = seven + EACH(0x7f - 'z');
	uint64_t letter = from_a & ~beyond_z & ~low & EACH(0x80);

	return ((x ^ y) & ~(letter >> 2)) == 0;
}

bool
str_eq_nocase(struct str a, struct str b)
{
	size_t i = 0;

	if (a.len != b.len)
		return false;
	if (a.len >= 8) {
		for (; i + 8 < a.len; i += 8)
			if (!eight_eq_nocase(a.ptr + i, b.ptr + i))
				return false;
		return eight_eq_nocase(a.ptr + a.len - 8, b.ptr + a.len - 8); /* some once more */
	}
	for (; i < a.len; i++)
		if (a.ptr[i] != b.ptr[i] && lower(a.ptr[i]) != lower(b.ptr[i]))
			return false;
	return true;
}

ptrdiff_t
str_index(struct str s, char c)
{
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;

	return at ? at - s.ptr : -1;
}

struct str
str_from(struct str s, size_t from)
{
	if (from >= s.len)
		return (struct str){s.ptr ? s.ptr + s.len : NULL, 0};
	return (struct str){s.ptr + from, s.len - from};
}

struct str
str_upto(struct str s, size_t len)
{
	return (struct str){s.ptr, len < s.len ? len : s.len};
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str
str_trim(struct str s)
{
	while (s.len && is_blank(s.ptr[0]))
		s = str_from(s, 1);
	while (s.len && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

bool
str_split(struct str *rest, char sep, struct str *ret_part)
{
	if (!rest->ptr)
		return false;
	ptrdiff_t at = str_index(*rest, sep);
	if (at < 0) {
		*ret_part = *rest;
		*rest = (struct str){NULL, 0};
	} else {
		*ret_part = str_upto(*rest, (size_t)at);
		*rest = (struct str){rest->ptr + at + 1, rest->len - (size_t)at - 1};
	}
	return true;
}

bool
str_to_u64(struct str s, uint64_t *ret)
{
	uint64_t n = 0;

	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(s.ptr[i] - '0'), &n))
			return false;
	}
	*ret = n;
	return true;
}

/* Length of the sequence that starts at p, or 0 when it is not well formed. */
static size_t
utf8_sequence(const unsigned char *p, size_t left)
{
	static const struct {
		unsigned char lo, hi;   /* first byte */
		unsigned char lo2, hi2; /* second byte */
		size_t len;
	} forms[] = {
	    {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
	    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, /* no surrogates */
	    {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
	    {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (p[0] < forms[i].lo || p[0] > forms[i].hi)
			continue;
		if (forms[i].len > left)
			return 0;
		if (forms[i].len > 1 && (p[1] < forms[i].lo2 || p[1] > forms[i].hi2))
			return 0;
		for (size_t k = 2; k < forms[i].len; k++)
			if ((p[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

size_t
str_utf8_char(struct str s, uint32_t *ret_code_point)
{
	static const unsigned char first_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t n = s.len ? utf8_sequence(p, s.len) : 0;

	if (n == 0)
		return 0;
	*ret_code_point = p[0] & first_mask[n];
	for (size_t i = 1; i < n; i++)
		*ret_code_point = *ret_code_point << 6 | (p[i] & 0x3f);
	return n;
}

char *
str_dup(struct str s)
{
	char *copy = malloc(s.len + 1);

	if (!copy)
		return NULL;
	if (s.len)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	return copy;
}

bool
str_is_utf8(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;

	for (size_t i = 0; i < s.len;) {
		uint64_t eight; /* most text is ASCII, most of the time */
		if (s.len - i >= sizeof(eight) &&
		    (memcpy(&eight, p + i, sizeof(eight)), (eight & 0x8080808080808080u) == 0)) {
			i += sizeof(eight);
			continue;
		}
		size_t n = p[i] < 0x80 ? 1 : utf8_sequence(p + i, s.len - i);
		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

struct str
str_utf8_whole(struct str s)
{
	for (size_t back = 1; back <= 3 && back <= s.len; back++) {
		unsigned char c = (unsigned char)s.ptr[s.len - back];
		size_t needs = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
		if (c >= 0xc0)
			return needs > back ? str_upto(s, s.len - back) : s;
		if (c < 0x80)
			return s;
	}
	return s;
}

struct str
str_utf8_upto(struct str s, size_t max)
{
	if (s.len <= max)
		return s;
	/* At most three bytes back is where a character begins; further back this is no UTF-8. */
	for (size_t back = 0; back <= 3 && back <= max; back++)
		if (((unsigned char)s.ptr[max - back] & 0xc0) != 0x80)
			return str_upto(s, max - back);
	return str_upto(s, max);
}

uint64_t
str_hash(struct str s)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
	return h;
}

static bool
begins(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

size_t
chars_count(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += begins(s.ptr[i]);
	return n;
}

struct str
chars_upto(struct str s, size_t chars)
{
	size_t i = 0;

	for (; i < s.len; i++)
		if (begins(s.ptr[i]) && chars-- == 0)
			break;
	return str_upto(s, i);
}

struct str
chars_last(struct str s, size_t chars)
{
	size_t i = s.len;

	while (i > 0 && chars > 0)
		chars -= begins(s.ptr[--i]);
	return str_from(s, i);
}
