/*
 * str.h - a piece of text somebody else owns.
 *
 * Passed by value, never NUL-terminated by promise. To build text use buf.h.
 * An absent string is {NULL, 0}; an empty one has a pointer.
 */

#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *ptr;
	size_t len;
};

/* For printf: "%.*s", STR_ARG(s) */
#define STR_ARG(s) (int)(s).len, (s).ptr ? (s).ptr : ""
#define S(literal) ((struct str){"" literal, sizeof(literal) - 1})

static inline struct str
str_of(const char *z)
{
	return (struct str){z, z ? strlen(z) : 0};
}

static inline bool
str_eq(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool
str_is(struct str a, const char *z)
{
	return str_eq(a, str_of(z));
}

/* Order by bytes; a prefix comes before what it is a prefix of. */
int str_cmp(struct str a, struct str b);

bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
bool str_eq_nocase(struct str a, struct str b); /* ASCII */

/* Index of the first c, or -1. */
ptrdiff_t str_index(struct str s, char c);

/* From (inclusive) to the end; past the end is empty. */
struct str str_from(struct str s, size_t from);
struct str str_upto(struct str s, size_t len);
struct str str_trim(struct str s); /* ASCII blanks at both ends */

/* Take what stands before the first sep off the front of *rest. False when *rest is used up. */
bool str_split(struct str *rest, char sep, struct str *ret_part);

/* The whole text must be a decimal number without sign in range. */
bool str_to_u64(struct str s, uint64_t *ret);

/* A copy that is NUL-terminated, to be freed; NULL when out of memory. */
char *str_dup(struct str s);

bool str_is_utf8(struct str s); /* strict: no surrogates, no overlong forms */

/* Length of the character that s starts with; 0 when s is empty or it is not well formed. */
size_t str_utf8_char(struct str s, uint32_t *ret_code_point);

/* The text without a UTF-8 sequence that has begun at its end but is not complete. */
struct str str_utf8_whole(struct str s);

/* The longest prefix of at most max bytes that does not cut a UTF-8 sequence. */
struct str str_utf8_upto(struct str s, size_t max);

/* Characters of UTF-8: every byte that begins one. */
size_t chars_count(struct str s);
struct str chars_upto(struct str s, size_t chars); /* the first ones */
struct str chars_last(struct str s, size_t chars);

/* FNV-1a, the same everywhere: for keys that are ours or bounded; for others base/hash.h. */
uint64_t str_hash(struct str s);

#endif
