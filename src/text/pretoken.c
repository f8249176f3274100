/* pretoken.c - where a pre-token ends. */

#include "text/pretoken.h"

#include "text/cl100k.h"

#define CHAR_WIDE 0 /* of more than one byte, or a bad one */

static const uint8_t byte_chars[256] = {
    [0 ... 8] = CHAR_SYMBOL,      ['\t'] = CHAR_BLANK,         ['\n'] = CHAR_NEWLINE,
    ['\v' ... '\f'] = CHAR_BLANK, ['\r'] = CHAR_NEWLINE,       [14 ... 31] = CHAR_SYMBOL,
    [' '] = CHAR_BLANK,           ['!' ... '/'] = CHAR_SYMBOL, ['0' ... '9'] = CHAR_NUMBER,
    [':' ... '@'] = CHAR_SYMBOL,  ['A' ... 'Z'] = CHAR_LETTER, ['[' ... '`'] = CHAR_SYMBOL,
    ['a' ... 'z'] = CHAR_LETTER,  ['{' ... 127] = CHAR_SYMBOL, [128 ... 255] = CHAR_WIDE,
};

static unsigned
wide_char(const char *p, const char *end, size_t *ret_len)
{
	uint32_t c;

	*ret_len = str_utf8_char((struct str){p, (size_t)(end - p)}, &c);
	if (*ret_len == 0) {
		*ret_len = 1;
		return CHAR_SYMBOL;
	}
	if (c >= class_end)
		return CHAR_SYMBOL;
	return 1u << class_blocks[class_index[c / CLASS_BLOCK] * CLASS_BLOCK + c % CLASS_BLOCK];
}

unsigned
pretoken__char(const char *p, const char *end, size_t *ret_len)
{
	unsigned chars = byte_chars[(uint8_t)*p];

	*ret_len = 1;
	return chars == CHAR_WIDE ? wide_char(p, end, ret_len) : chars;
}

/* The end of the characters of a set that begin at p. */
static inline const char *
run(const char *p, const char *end, unsigned set)
{
	size_t n;

	for (;;) {
		while (p < end && byte_chars[(uint8_t)*p] & set)
			p++;
		if (p == end || byte_chars[(uint8_t)*p] != CHAR_WIDE ||
		    !(wide_char(p, end, &n) & set))
			return p;
		p += n;
	}
}

/* Bytes of the contraction at an apostrophe, or 0. */
static size_t
contraction(const char *p, const char *end)
{
	static const char singles[] = {'s', 't', 'm', 'd'};
	static const char pairs[][2] = {{'r', 'e'}, {'v', 'e'}, {'l', 'l'}};
	size_t left = (size_t)(end - p);

	if (left >= 2 && memchr(singles, p[1] | 32, sizeof(singles)))
		return 2;
	if (left >= 3 && memcmp(p + 1, "\xc5\xbf", 2) == 0) /* U+017F, also a small S */
		return 3;
	for (size_t i = 0; left >= 3 && i < ARRAY_LEN(pairs); i++)
		if ((p[1] | 32) == pairs[i][0] && (p[2] | 32) == pairs[i][1])
			return 3;
	return 0;
}

static const char *
numbers(const char *p, const char *end)
{
	size_t n;

	for (int i = 0; i < 3 && p < end && pretoken__char(p, end, &n) == CHAR_NUMBER; i++)
		p += n;
	return p;
}

/* White space from p to end, which is the end of the text or not. */
static const char *
blanks(const char *p, const char *end, bool last)
{
	const char *q = end;

	while (q > p && q[-1] != '\n' && q[-1] != '\r')
		q--;
	if (q > p) /* up to the last newline */
		return q;
	if (last)
		return end;
	/* The last one belongs to what follows, unless it is the only one. */
	q = end;
	do
		q--;
	while ((*q & 0xc0) == 0x80);
	return q > p ? q : end;
}

static struct pretoken
found(unsigned chars, const char *start, const char *p, const char *seen)
{
	return (struct pretoken){(size_t)(p - start), (size_t)(seen - start), chars};
}

struct pretoken
pretoken__next(const char *p, const char *end)
{
	size_t n, more;
	unsigned first = pretoken__char(p, end, &n);
	unsigned next = p + n < end ? pretoken__char(p + n, end, &more) : 0;
	const char *q;

	if (*p == '\'' && next == CHAR_LETTER && (more = contraction(p, end)))
		return found(CHAR_LETTER, p, p + more, p + more);
	if (first == CHAR_LETTER || (next == CHAR_LETTER && first & (CHAR_SYMBOL | CHAR_BLANK))) {
		q = run(p + n, end, CHAR_LETTER);
		return found(CHAR_LETTER, p, q, q);
	}
	if (first == CHAR_NUMBER) {
		q = numbers(p, end);
		return found(CHAR_NUMBER, p, q, q);
	}
	if (first == CHAR_SYMBOL || (*p == ' ' && next == CHAR_SYMBOL)) {
		q = run(run(p + n, end, CHAR_SYMBOL), end, CHAR_NEWLINE);
		return found(CHAR_SYMBOL, p, q, q);
	}
	q = run(p, end, CHAR_BLANK | CHAR_NEWLINE);
	return found(CHAR_BLANK, p, blanks(p, q, q == end), q);
}
