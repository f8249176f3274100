/* tokens.c - counting tokens: pre-tokens in a row, each encoded on its own. */

#include "text/tokens.h"

#include <stdlib.h>

#include "base/err.h"
#include "text/pretoken.h"

/* ---- a text that is there ---- */

/* Of one pre-token; stops where it is sure that there are more than max. */
static size_t
pretoken_count(struct str text, size_t max)
{
	struct chain c;
	uint32_t ids[BPE_SHORT];

	if (text.len <= BPE_SHORT)
		return bpe__encode(text, ids);
	chain__begin(&c);
	for (size_t i = 0; i < text.len; i++) {
		chain__add(&c, text.ptr[i]);
		if (i % TOKENS_HELD == 0 && chain__least(&c) > max)
			return chain__least(&c);
	}
	return chain__count(&c);
}

size_t
tokens_upto(struct str text, size_t max)
{
	const char *p = text.ptr ? text.ptr : "", *end = p + text.len;
	size_t count = 0;

	while (p < end && count <= max) {
		size_t len = pretoken__next(p, end).len;
		count += pretoken_count((struct str){p, len}, max - count);
		p += len;
	}
	return count;
}

size_t
tokens_count(struct str text)
{
	return tokens_upto(text, SIZE_MAX);
}

/* ---- ids ---- */

static int
each_of_short(struct str text, int (*each)(uint32_t, struct str, void *), void *arg)
{
	uint32_t ids[BPE_SHORT];
	size_t count = bpe__encode(text, ids);
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = each(ids[i], str_upto(text, token_len(ids[i])), arg);
		text = str_from(text, token_len(ids[i]));
	}
	return rc;
}

static int
each_of_long(struct str text, int (*each)(uint32_t, struct str, void *), void *arg)
{
	struct chain c;
	uint32_t *ids = calloc(text.len + 1, sizeof(*ids));
	int rc = 0;

	if (!ids)
		return E_NOMEM;
	chain__begin(&c);
	for (size_t i = 0; i < text.len; i++) /* the token that ends at each place */
		ids[i + 1] = chain__add(&c, text.ptr[i]);
	uint32_t id = ids[text.len];
	for (size_t at = text.len; at > 0;) { /* those of the encoding, where they begin */
		at -= token_len(id);
		uint32_t before = ids[at];
		ids[at] = id;
		id = before;
	}
	for (size_t at = 0; at < text.len && rc == 0; at += token_len(id)) {
		id = ids[at];
		rc = each(id, (struct str){text.ptr + at, token_len(id)}, arg);
	}
	free(ids);
	return rc;
}

int
tokens_each(struct str text, int (*each)(uint32_t, struct str, void *), void *arg)
{
	const char *p = text.ptr ? text.ptr : "", *end = p + text.len;
	int rc = 0;

	while (p < end && rc == 0) {
		struct str part = {p, pretoken__next(p, end).len};
		rc = (part.len <= BPE_SHORT ? each_of_short : each_of_long)(part, each, arg);
		p += part.len;
	}
	return rc;
}

/* ---- a text in pieces ---- */

void
tokens_begin(struct tokens *t, size_t budget)
{
	t->budget = budget;
	t->count = t->held_len = 0;
	t->run = 0;
}

/* A pre-token of these characters is too long to be held; how much of it has been taken. */
static size_t
run_begin(struct tokens *t, unsigned chars, const char *p, const char *end)
{
	size_t n;

	chain__begin(&t->chain);
	if (chars == CHAR_BLANK) {
		t->run = CHAR_BLANK | CHAR_NEWLINE;
		t->lines = 0;
		chain__begin(&t->line);
		return 0;
	}
	t->run = chars == CHAR_SYMBOL ? CHAR_SYMBOL | CHAR_NEWLINE : chars;
	pretoken__char(p, end, &n); /* may be another kind: " letters", " symbols" */
	for (size_t i = 0; i < n; i++)
		chain__add(&t->chain, p[i]);
	return n;
}

static bool
run_is_blank(const struct tokens *t)
{
	return t->run & CHAR_BLANK;
}

static void
run_end(struct tokens *t)
{
	t->count += run_is_blank(t) ? t->lines + chain__count(&t->line) : chain__count(&t->chain);
	t->run = 0;
}

/* At least so many tokens will come of it. */
static size_t
run_least(const struct tokens *t)
{
	size_t least = chain__least(&t->chain), of_line;

	if (!run_is_blank(t))
		return least;
	of_line = t->lines + chain__least(&t->line);
	return of_line < least ? of_line : least;
}

/*
 * Does the character at p belong to it? White space before something else does not, but for
 * a newline: it begins the next pre-token.
 */
static bool
run_holds(const struct tokens *t, unsigned chars, const char *after, const char *end)
{
	size_t n;

	if (!(chars & t->run))
		return false;
	return chars != CHAR_BLANK || after == end || pretoken__char(after, end, &n) & t->run;
}

static void
run_add(struct tokens *t, unsigned chars, struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		chain__add(&t->chain, bytes.ptr[i]);
		if (run_is_blank(t))
			chain__add(&t->line, bytes.ptr[i]);
	}
	if (chars != CHAR_NEWLINE)
		return;
	if (run_is_blank(t)) {
		t->lines = chain__count(&t->chain);
		chain__begin(&t->line);
	} else {
		t->run = CHAR_NEWLINE; /* no symbols behind it */
	}
}

/* How much of p to end belongs to it. Two characters must be there, unless the text ends. */
static size_t
run_go_on(struct tokens *t, const char *p, const char *end, bool last)
{
	const char *start = p;

	while (p < end && (last || end - p >= 2 * CHAR_BYTES)) {
		size_t n;
		unsigned chars = pretoken__char(p, end, &n);
		if (!run_holds(t, chars, p + n, end)) {
			run_end(t);
			break;
		}
		run_add(t, chars, (struct str){p, n});
		p += n;
	}
	return (size_t)(p - start);
}

/* Count what is sure of the text that is held, which is the end of all or fills its place. */
static void
held_take(struct tokens *t, bool last)
{
	const char *p = t->held, *end = p + t->held_len;

	while (p < end && t->count <= t->budget) {
		if (t->run) {
			p += run_go_on(t, p, end, last);
			if (t->run)
				break;
			continue;
		}
		struct pretoken next = pretoken__next(p, end);
		if (last || (size_t)(end - p) >= next.seen + CHAR_BYTES) {
			t->count += pretoken_count((struct str){p, next.len}, t->budget - t->count);
			p += next.len;
		} else if (p > t->held) {
			break;
		} else {
			p += run_begin(t, next.chars, p, end);
		}
	}
	t->held_len = (size_t)(end - p);
	memmove(t->held, p, t->held_len);
	if (t->run && run_least(t) > t->budget - t->count)
		t->count += run_least(t);
}

bool
tokens_feed(struct tokens *t, struct str piece)
{
	while (piece.len > 0 && t->count <= t->budget) {
		size_t room = TOKENS_HELD - t->held_len, n = piece.len < room ? piece.len : room;
		memcpy(t->held + t->held_len, piece.ptr, n);
		t->held_len += n;
		piece = str_from(piece, n);
		if (t->held_len == TOKENS_HELD)
			held_take(t, false);
	}
	return t->count <= t->budget;
}

size_t
tokens_end(struct tokens *t)
{
	held_take(t, true);
	if (t->run && t->count <= t->budget)
		run_end(t);
	return t->count;
}
