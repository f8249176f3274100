/*
 * cl100k.h - the vocabulary and the character classes as read-only tables.
 *
 * script/lib/embed-cl100k makes them of data/cl100k when the program is built. A token is known
 * by its rank, which is also its id; those below CL100K_BYTES are the single bytes.
 */

#ifndef TEXT_CL100K_H
#define TEXT_CL100K_H

#include <stddef.h>
#include <stdint.h>

#define CL100K_BYTES 256
#define CL100K_LONGEST 128 /* bytes of a token */

/*
 * All tokens as a trie in one array. The child for a byte, if there is one, is the cell base +
 *byte, and has this cell as its parent. The root is cell 0.
 *
 *	base, parent, rank + 1 (0: only the beginning of tokens), from the lowest bits on
 */
#define CL100K_CELL_BITS 20
#define CL100K_CELL ((1u << CL100K_CELL_BITS) - 1)
extern const uint64_t cl100k_cells[];

/*
 * By rank: the two tokens that one is merged from, the longest other one that it begins with, and
 * its length. Single bytes have only that.
 */
#define CL100K_ID_BITS 17
#define CL100K_ID ((1u << CL100K_ID_BITS) - 1)
extern const uint64_t cl100k_tokens[];

static inline uint32_t
token_left(uint32_t id)
{
	return (uint32_t)cl100k_tokens[id] & CL100K_ID;
}

static inline uint32_t
token_right(uint32_t id)
{
	return (uint32_t)(cl100k_tokens[id] >> CL100K_ID_BITS) & CL100K_ID;
}

static inline uint32_t
token_shorter(uint32_t id)
{
	return (uint32_t)(cl100k_tokens[id] >> 2 * CL100K_ID_BITS) & CL100K_ID;
}

static inline size_t
token_len(uint32_t id)
{
	return (size_t)(cl100k_tokens[id] >> 3 * CL100K_ID_BITS);
}

/*
 * Pairs that merge: a hash table with open addressing, and in front of it a bit for each of many
 * more hashes, which says at once that most pairs do not. A slot is the rank of what they become
 * and 15 bits of the hash; 0 is a free one.
 */
#define CL100K_PAIR_BITS 17
#define CL100K_FILTER_BITS 21
extern const uint32_t cl100k_pairs[1 << CL100K_PAIR_BITS];
extern const uint32_t cl100k_pair_filter[1 << (CL100K_FILTER_BITS - 5)];

static inline uint64_t
pair_hash(uint32_t left, uint32_t right)
{
	return ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
}

/* The classes of characters below class_end, in blocks; above there are only symbols. */
enum { CLASS_SYMBOL, CLASS_LETTER, CLASS_NUMBER, CLASS_BLANK };
#define CLASS_BLOCK 128
extern const uint8_t class_blocks[];
extern const uint8_t class_index[];
extern const uint32_t class_end;

#endif
