/*
 * tokens.h - how many tokens a text costs, in the encoding cl100k_base.
 *
 * Exact for any bytes; a byte that is not part of well-formed UTF-8 counts as a symbol. The names
 * of special tokens are ordinary text. Everything needed is read-only and part of the program:
 * nothing is loaded at the start, and any thread may count.
 */

#ifndef TEXT_TOKENS_H
#define TEXT_TOKENS_H

#include "base/str.h"
#include "text/bpe.h"

size_t tokens_count(struct str text);

/* Stops early: more than max means only that there are more than max. */
size_t tokens_upto(struct str text, size_t max);

/*
 * The ids, and the bytes of each in the text; what `each` answers, if not 0, ends it and is the
 * answer. E_NOMEM, because a pre-token over BPE_SHORT bytes takes memory as long as itself.
 */
int tokens_each(struct str text, int (*each)(uint32_t id, struct str bytes, void *arg), void *arg);

/*
 * A text that comes in pieces, cut anywhere: the same count in bounded memory, without allocation,
 * also where a pre-token goes on without end.
 *
 *	tokens_begin(&t, 1000);
 *	while (more(&piece) && tokens_feed(&t, piece))
 *		;
 *	count = tokens_end(&t);
 */
#define TOKENS_HELD 4096 /* of text whose pre-tokens are not yet sure */

struct tokens {
	size_t budget;
	size_t count;
	char held[TOKENS_HELD];
	size_t held_len;
	/* A pre-token too long to be held: what may still belong to it, 0 where there is none. */
	unsigned run;
	struct chain chain;
	/* White space: the tokens up to its last newline, and the chain of what is behind that. */
	size_t lines;
	struct chain line;
};

void tokens_begin(struct tokens *t, size_t budget);   /* SIZE_MAX: any number */
bool tokens_feed(struct tokens *t, struct str piece); /* false: over the budget, stop */
size_t tokens_end(struct tokens *t);                  /* over the budget: only that it is */

#endif
