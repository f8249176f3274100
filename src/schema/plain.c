/*
 * plain.c - patterns that need no engine, which are most of them: "^[a-z][a-z0-9_]*$",
 * "^https?://".
 *
 * From the beginning of the text, runs of letters one behind the other, to its end or not; or some
 * such lines to choose from, "^(/|~/|[a-z]+$)". A run takes all it can. That is right only where
 * none can take what one behind it wants, so that going back would find nothing more: other
 * patterns are not plain, nor is whatever is not known here for sure, and PCRE2 gets them.
 *
 * Bytes are what is counted. A run of letters beyond ASCII has no number, then.
 */

#include <stdlib.h>

#include "schema/program.h"

#define LINES_MAX 8
#define RUNS_MAX 32
#define REPEAT_MAX 65535u
#define NO_END UINT32_MAX

struct letters {
	uint64_t bits[4]; /* by byte */
};

struct run {
	struct letters any_of;
	uint32_t least, most;
};

struct line {
	size_t first, count; /* of the runs */
	bool whole;          /* to the end of the text */
};

struct plain {
	size_t line_count;
	struct line lines[LINES_MAX];
	size_t run_count;
	struct run runs[]; /* RUNS_MAX while it is being read */
};

/* ---- sets ---- */

static void
letters_add(struct letters *s, unsigned from, unsigned to)
{
	for (unsigned c = from; c <= to; c++)
		s->bits[c / 64] |= UINT64_C(1) << c % 64;
}

static bool
letters_have(const struct letters *s, unsigned char c)
{
	return s->bits[c / 64] >> c % 64 & 1;
}

static bool
letters_meet(const struct letters *a, const struct letters *b)
{
	uint64_t both = 0;

	for (size_t i = 0; i < ARRAY_LEN(a->bits); i++)
		both |= a->bits[i] & b->bits[i];
	return both != 0;
}

/* ---- reading; false: it is not plain ---- */

struct reader {
	struct str in;
	size_t at;
	struct plain *to;
};

static bool
next_is(struct reader *r, char c)
{
	if (r->at >= r->in.len || r->in.ptr[r->at] != c)
		return false;
	r->at++;
	return true;
}

/* How many digits there were. */
static size_t
number_read(struct reader *r, unsigned base, size_t digits, uint32_t *ret)
{
	static const char all[] = "0123456789abcdef";
	size_t count = 0;

	for (*ret = 0; count < digits && r->at < r->in.len; r->at++, count++) {
		char c = r->in.ptr[r->at];
		const char *digit = memchr(all, c >= 'A' && c <= 'F' ? c | 0x20 : c, base);
		if (!digit)
			break;
		*ret = *ret * base + (uint32_t)(digit - all);
	}
	return count;
}

#define MANY (-1)

/* Behind the backslash. *ret_one: the letter that it stands for, or MANY. */
static bool
escape_read(struct reader *r, bool in_class, struct letters *s, int *ret_one)
{
	uint32_t n = 0;

	if (r->at >= r->in.len)
		return false;
	char c = r->in.ptr[r->at++];
	if (c == 'd' || c == 'w') {
		letters_add(s, '0', '9');
		if (c == 'w')
			letters_add(s, 'A', 'Z'), letters_add(s, 'a', 'z'),
			    letters_add(s, '_', '_');
		*ret_one = MANY;
		return true;
	}
	if (c == 'u') {
		if (number_read(r, 16, 4, &n) < 4 || n >= 0x80)
			return false;
	} else {
		if (c == '\0' || (!strchr("^$\\.*+?()[]{}|/", c) && !(in_class && c == '-')))
			return false;
		n = (unsigned char)c;
	}
	letters_add(s, n, n);
	*ret_one = (int)n;
	return true;
}

static bool
class_letter_read(struct reader *r, struct letters *s, int *ret_one)
{
	if (r->at >= r->in.len)
		return false;
	unsigned char c = (unsigned char)r->in.ptr[r->at++];
	if (c == '\\')
		return escape_read(r, true, s, ret_one);
	letters_add(s, c, c);
	*ret_one = c;
	return c < 0x80;
}

/* Behind the bracket. */
static bool
class_read(struct reader *r, struct letters *s, bool *ret_wide)
{
	int from, to;

	*ret_wide = next_is(r, '^');
	if (next_is(r, ']'))
		return false;
	while (!next_is(r, ']')) {
		if (!class_letter_read(r, s, &from))
			return false;
		if (r->in.len - r->at < 2 || r->in.ptr[r->at] != '-' || r->in.ptr[r->at + 1] == ']')
			continue;
		r->at++;
		if (!class_letter_read(r, s, &to) || from == MANY || to < from)
			return false;
		letters_add(s, (unsigned)from, (unsigned)to);
	}
	for (size_t i = 0; *ret_wide && i < ARRAY_LEN(s->bits); i++)
		s->bits[i] = ~s->bits[i];
	return true;
}

static bool
letters_read(struct reader *r, struct letters *s, bool *ret_wide)
{
	unsigned char c = (unsigned char)r->in.ptr[r->at++];
	int one;

	*ret_wide = false;
	if (c == '[')
		return class_read(r, s, ret_wide);
	if (c == '\\')
		return escape_read(r, false, s, &one);
	letters_add(s, c, c);
	return c > 0 && c < 0x80 && !strchr("^$.*+?()[]{}|", c);
}

static bool
braces_read(struct reader *r, uint32_t *ret_least, uint32_t *ret_most)
{
	if (number_read(r, 10, 5, ret_least) == 0)
		return false;
	*ret_most = *ret_least;
	if (next_is(r, ',') && number_read(r, 10, 5, ret_most) == 0)
		*ret_most = NO_END;
	return next_is(r, '}') && *ret_least <= REPEAT_MAX && *ret_least <= *ret_most &&
	       (*ret_most <= REPEAT_MAX || *ret_most == NO_END);
}

/* Where it is lazy, its question mark is left, and begins no run. */
static bool
times_read(struct reader *r, uint32_t *ret_least, uint32_t *ret_most)
{
	*ret_least = *ret_most = 1;
	if (next_is(r, '{'))
		return braces_read(r, ret_least, ret_most);
	if (next_is(r, '?'))
		*ret_least = 0;
	else if (next_is(r, '*'))
		*ret_least = 0, *ret_most = NO_END;
	else if (next_is(r, '+'))
		*ret_most = NO_END;
	return true;
}

static bool
run_read(struct reader *r)
{
	bool wide;

	if (r->to->run_count == RUNS_MAX)
		return false;
	struct run *run = &r->to->runs[r->to->run_count];
	*run = (struct run){0};
	if (!letters_read(r, &run->any_of, &wide) || !times_read(r, &run->least, &run->most) ||
	    (wide && (run->least > 1 || run->most != NO_END)))
		return false;
	r->to->run_count++;
	return true;
}

/* Does no run take what one behind it wants? */
static bool
line_is_plain(const struct plain *p, const struct line *l)
{
	const struct run *end = p->runs + l->first + l->count;

	for (const struct run *a = p->runs + l->first; a < end; a++)
		for (const struct run *b = a + 1; a->least != a->most && b < end; b++) {
			if (letters_meet(&a->any_of, &b->any_of))
				return false;
			if (b->least > 0)
				break;
		}
	return true;
}

static bool
line_read(struct reader *r, bool grouped)
{
	struct plain *p = r->to;

	if (p->line_count == LINES_MAX)
		return false;
	struct line *l = &p->lines[p->line_count++];
	*l = (struct line){.first = p->run_count};
	while (r->at < r->in.len) {
		char c = r->in.ptr[r->at];
		if (grouped && (c == '|' || c == ')'))
			break;
		if (l->whole)
			return false; /* nothing can be behind the end */
		if (next_is(r, '$'))
			l->whole = true;
		else if (!run_read(r))
			return false;
	}
	l->count = p->run_count - l->first;
	return line_is_plain(p, l);
}

static bool
pattern_read(struct reader *r)
{
	if (!next_is(r, '^'))
		return false;
	if (!next_is(r, '('))
		return line_read(r, false);
	if (next_is(r, '?') && !next_is(r, ':'))
		return false;
	do
		if (!line_read(r, true))
			return false;
	while (next_is(r, '|'));
	if (!next_is(r, ')'))
		return false;
	bool whole = next_is(r, '$');
	for (size_t i = 0; i < r->to->line_count; i++)
		r->to->lines[i].whole |= whole;
	return r->at == r->in.len;
}

struct plain *
schema__plain_new(struct str pattern)
{
	_Alignas(struct plain) char room[sizeof(struct plain) + RUNS_MAX * sizeof(struct run)];
	struct plain *read = (struct plain *)(void *)room;
	struct reader r = {.in = pattern, .to = read};

	read->line_count = read->run_count = 0;
	if (!pattern_read(&r))
		return NULL;
	struct plain *p = malloc(schema__plain_bytes(read));
	return p ? memcpy(p, read, schema__plain_bytes(read)) : NULL;
}

size_t
schema__plain_bytes(const struct plain *p)
{
	return sizeof(*p) + p->run_count * sizeof(struct run);
}

/* ---- matching ---- */

static bool
line_matches(const struct plain *p, const struct line *l, struct str text)
{
	size_t at = 0;

	for (const struct run *r = p->runs + l->first; r < p->runs + l->first + l->count; r++) {
		uint32_t n = 0;
		while (n < r->most && at < text.len &&
		       letters_have(&r->any_of, (unsigned char)text.ptr[at]))
			n++, at++;
		if (n < r->least)
			return false;
	}
	return !l->whole || at == text.len;
}

bool
schema__plain_match(const struct plain *p, struct str text)
{
	for (size_t i = 0; i < p->line_count; i++)
		if (line_matches(p, &p->lines[i], text))
			return true;
	return false;
}
