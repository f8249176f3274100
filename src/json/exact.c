/* exact.c - numbers that a double might change keep their text instead. */

#include "json/inside.h"

#include <math.h>

#define DIGITS_SAFE 15       /* that many always survive a double... */
#define SMALLEST_SAFE 1e-300 /* ...which is not among the smallest: those have fewer */

static bool
is_behind_number(char c)
{
	return c == ',' || c == ']' || c == '}' || (unsigned char)c <= ' ';
}

/* The next number of the text, and *at behind it. Only blanks, commas and words are before it. */
static struct str
number_next(struct str text, size_t *at)
{
	size_t start = *at;

	while (text.ptr[start] != '-' && (text.ptr[start] < '0' || text.ptr[start] > '9'))
		start++;
	for (*at = start; *at < text.len && !is_behind_number(text.ptr[*at]);)
		(*at)++;
	return (struct str){text.ptr + start, *at - start};
}

/* Behind the quote that ends a string. */
static size_t
string_end(struct str text, size_t at)
{
	for (; text.ptr[at] != '"'; at++)
		at += text.ptr[at] == '\\';
	return at + 1;
}

static bool
is_safe(struct str written, double d)
{
	if (fabs(d) < SMALLEST_SAFE)
		return json__decimal(written).sign == 0;
	/* A point or an e is among the characters. */
	return written.len <= DIGITS_SAFE + 1 || json__decimal(written).count <= DIGITS_SAFE;
}

/*
 * yyjson does not say where a number stood. Strings do, since they stay in their place; from the
 * last one before it a double is found by counting the numbers between them.
 */
void
json__keep_exact(yyjson_val *row, size_t count, const char *copy, struct str text)
{
	size_t at = 0, numbers = 0;
	bool in_string = false;

	for (yyjson_val *v = row; v < row + count; v++) {
		if (unsafe_yyjson_is_str(v) || unsafe_yyjson_is_raw(v)) {
			in_string = unsafe_yyjson_is_str(v);
			at = (size_t)(v->uni.str - copy) + (in_string ? 0 : json__text(v).len);
			numbers = 0;
		}
		if (!unsafe_yyjson_is_num(v))
			continue;
		numbers++;
		if (!unsafe_yyjson_is_real(v))
			continue;
		if (in_string)
			at = string_end(text, at);
		in_string = false;
		for (; numbers > 1; numbers--)
			number_next(text, &at);
		struct str written = number_next(text, &at);
		numbers = 0;
		if (!is_safe(written, v->uni.f64)) {
			v->tag = (uint64_t)written.len << YYJSON_TAG_BIT | YYJSON_TYPE_RAW;
			v->uni.str = copy + (written.ptr - text.ptr);
		}
	}
}
