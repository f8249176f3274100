/* truncate.c - sentences that fit, or else as much as fits. */

#include "text/truncate.h"

#include "text/cl100k.h"
#include "text/plain.h"
#include "text/tokens.h"

#define ELLIPSIS "\xe2\x80\xa6"

/*
 * Tokens of a beginning are those of the whole text up to its last word, which may be cut and then
 * be made of others: rarely fewer, and never many fewer. So what fits ends at most this many
 * tokens behind the budget, and a hostile text costs no more than another.
 */
#define SLACK 4

/* The bytes of the first so many tokens. */
struct reach {
	size_t left;
	size_t bytes;
};

static int
reach_each(uint32_t token, struct str bytes, void *arg)
{
	struct reach *r = arg;

	(void)token;
	if (r->left == 0)
		return 1;
	r->left--;
	r->bytes += bytes.len;
	return 0;
}

static size_t
bytes_of_tokens(struct str text, size_t count)
{
	struct reach r = {.left = count};

	tokens_each(text, reach_each, &r);
	return r.bytes;
}

static bool
fits(struct str text, size_t budget)
{
	return tokens_upto(text, budget) <= budget;
}

static bool
is_terminator(char c)
{
	return c == '.' || c == '!' || c == '?';
}

/* Does a sentence of the text end before this byte? */
static bool
is_sentence_end(struct str text, size_t at)
{
	uint32_t c;

	if (at == 0 || !is_terminator(text.ptr[at - 1]))
		return false;
	return at == text.len || (str_utf8_char(str_from(text, at), &c) > 0 && plain_is_blank(c));
}

static size_t
sentences_that_fit(struct str text, size_t budget)
{
	for (size_t at = bytes_of_tokens(text, budget + SLACK); at > 0; at--)
		if (is_sentence_end(text, at) && fits(str_upto(text, at), budget))
			return at;
	return 0;
}

/* The largest place at or before this one that is not inside a character. */
static size_t
char_start(struct str text, size_t at)
{
	while (at > 0 && at < text.len && ((unsigned char)text.ptr[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static bool
add_cut(struct buf *out, struct str text, size_t at, size_t budget)
{
	size_t start = out->len;

	if (!fits(str_upto(text, at), budget - 1))
		return false;
	buf_add(out, plain_trim_end(str_upto(text, at)));
	buf_addz(out, ELLIPSIS);
	if (buf_failed(out) || fits(str_from(buf_str(out), start), budget))
		return true;
	out->len = start;
	return false;
}

/*
 * One token less is what the whole text has there, or up to the end of a word that is cut there;
 * behind a blank another word begins, and with it another token.
 */
static void
add_longest_cut(struct buf *out, struct str text, size_t budget)
{
	size_t at = bytes_of_tokens(text, budget - 1);

	if (at < text.len && !plain_is_blank((unsigned char)text.ptr[at]))
		at = bytes_of_tokens(text, budget - 1 + SLACK);
	for (at = char_start(text, at); !add_cut(out, text, at, budget);)
		at = char_start(text, at - 1);
}

void
truncate_tokens(struct buf *out, struct str text, size_t budget)
{
	/* What lies beyond can be in no answer, and need not be read. */
	struct str near = str_utf8_upto(text, (budget + SLACK + 1) * CL100K_LONGEST);

	if (budget == 0)
		return;
	if (near.len == text.len && fits(text, budget)) {
		buf_add(out, text);
		return;
	}
	text = near;
	size_t sentences = sentences_that_fit(text, budget);
	if (sentences > 0)
		buf_add(out, str_upto(text, sentences));
	else
		add_longest_cut(out, text, budget);
}
