/*
 * pretoken.h - text in pieces that no token crosses.
 *
 * The pieces of cl100k_base's regular expression, found by hand:
 *
 *	(?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,3}
 *	| ?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
 *
 * A byte that is not part of well-formed UTF-8 is a symbol.
 */

#ifndef TEXT_PRETOKEN_H
#define TEXT_PRETOKEN_H

#include "base/bug.h"
#include "base/str.h"

/* Sets of these are masks. */
enum {
	CHAR_SYMBOL = 1,
	CHAR_LETTER = 2,
	CHAR_NUMBER = 4,
	CHAR_BLANK = 8,
	CHAR_NEWLINE = 16, /* \r and \n; every other white space is a blank */
};
#define CHAR_BYTES 4 /* at most */

unsigned pretoken__char(const char *p, const char *end, size_t *ret_len); /* p < end */

struct pretoken {
	size_t len;
	size_t seen;    /* the text that decided it, the character there included */
	unsigned chars; /* what it mainly consists of */
};

/* The first one of p to end, p < end, when the text ends there. */
struct pretoken pretoken__next(const char *p, const char *end);

#endif
