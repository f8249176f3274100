/*
 * bpe.h - byte-pair encoding of one pre-token, exactly and without memory of its own.
 *
 * Merging is not simulated. Three facts about byte-pair encoding make it unnecessary:
 *
 * 1. a part of an encoding, cut at tokens, is the encoding of its bytes;
 * 2. a row of tokens is an encoding exactly when each two neighbours are one;
 * 3. bytes have only one encoding.
 *
 * So an encoding can be searched for from left to right: any row of tokens whose neighbours stand
 * beside each other is the one. And the encoding of each beginning of a text is that of a shorter
 * beginning and one token more, so that any text is counted with a memory no longer than a token.
 */

#ifndef TEXT_BPE_H
#define TEXT_BPE_H

#include "base/str.h"
#include "text/cl100k.h"

#define BPE_SHORT 512 /* bytes that are encoded in one go */

/* The ids of 1 to BPE_SHORT bytes; how many. */
size_t bpe__encode(struct str text, uint32_t ids[static BPE_SHORT]);

/*
 * Any text, byte by byte. Of each beginning of it that ends within the last CL100K_LONGEST bytes
 * the last token of its encoding and the number of tokens are kept, and where in the trie the
 * bytes behind it have led.
 */
#define CHAIN_RING 256 /* a power of two that holds positions 0 to CL100K_LONGEST back */

struct chain {
	size_t len;
	size_t counts[CHAIN_RING];
	uint32_t lasts[CHAIN_RING];
	struct {
		size_t start;
		uint32_t at;        /* the cell */
	} open[CL100K_LONGEST + 1]; /* oldest first */
	size_t open_count;
};

void chain__begin(struct chain *c);
uint32_t chain__add(struct chain *c, char byte); /* the last token of the text so far */
size_t chain__count(const struct chain *c);      /* of the text so far */
size_t chain__least(const struct chain *c);      /* of it and whatever may follow */

#endif
