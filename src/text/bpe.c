/* bpe.c - the encoding of a pre-token. */

#include "text/bpe.h"

#include "base/bug.h"

#define NO_TOKEN UINT32_MAX

/* What the two merge to, or NO_TOKEN. */
static inline uint32_t
pair_merged(uint32_t left, uint32_t right)
{
	uint64_t hash = pair_hash(left, right), bit = hash >> (64 - CL100K_FILTER_BITS);
	size_t at = (size_t)(hash >> (64 - CL100K_PAIR_BITS));

	if (!(cl100k_pair_filter[bit / 32] >> bit % 32 & 1))
		return NO_TOKEN;
	for (uint32_t slot; (slot = cl100k_pairs[at]); at = (at + 1) % ARRAY_LEN(cl100k_pairs)) {
		uint32_t id = slot & CL100K_ID;
		if (slot >> CL100K_ID_BITS == (hash >> 20 & 0x7fff) && token_left(id) == left &&
		    token_right(id) == right)
			return id;
	}
	return NO_TOKEN;
}

/*
 * Do the two stand beside each other, or would some merge across have come first? The merges that
 * made them are taken back, the last one first. What then touches could have merged before
 * the one just taken back if its rank is lower or, as equal ones go from left to right, if it is
 * equal and that one was on the right.
 */
static bool
pair_stands(uint32_t left, uint32_t right)
{
	uint32_t limit = NO_TOKEN;

	while (pair_merged(left, right) >= limit) {
		bool on_left = left > right; /* no branch: nobody could foretell it */
		uint32_t latest = on_left ? left : right;
		if (latest < CL100K_BYTES)
			return true;
		limit = on_left ? latest : latest + 1;
		uint32_t inner = on_left ? token_right(latest) : token_left(latest);
		left = on_left ? inner : left;
		right = on_left ? right : inner;
	}
	return false;
}

/* A place in the trie; the cell is there twice, so as not to be fetched again. */
struct place {
	uint32_t at;
	uint64_t cell;
};

static inline struct place
place_of(uint32_t at)
{
	return (struct place){at, cl100k_cells[at]};
}

/* One byte further down; false where nothing goes on so. */
static inline bool
place_go(struct place *p, char byte)
{
	struct place child = place_of((uint32_t)(p->cell & CL100K_CELL) + (uint8_t)byte);

	if ((child.cell >> CL100K_CELL_BITS & CL100K_CELL) != p->at)
		return false;
	*p = child;
	return true;
}

static inline uint32_t
place_token(const struct place *p) /* or NO_TOKEN */
{
	return (uint32_t)(p->cell >> 2 * CL100K_CELL_BITS) - 1;
}

/* The longest token that the text begins with. */
static uint32_t
token_longest(const char *text, size_t len)
{
	struct place p = place_of(0);
	uint32_t longest = NO_TOKEN;

	for (size_t i = 0; i < len && place_go(&p, text[i]); i++)
		longest = place_token(&p) != NO_TOKEN ? place_token(&p) : longest;
	return longest;
}

/*
 * The longest token each time, if it stands beside the one before; otherwise a shorter one, and if
 * none does, a shorter one before. Where the text could not be gone on with once it never can,
 * because there is only one way to get there.
 */
static size_t
encode_rest(struct str text, uint32_t first, uint32_t *ids)
{
	uint64_t dead[BPE_SHORT / 64 + 1] = {0};
	size_t at = 0, count = 0;

	for (uint32_t id = first;;) {
		size_t to = at + token_len(id);
		if (!(dead[to / 64] >> to % 64 & 1) &&
		    (count == 0 || pair_stands(ids[count - 1], id))) {
			ids[count++] = id;
			if (to == text.len)
				return count;
			at = to;
			id = token_longest(text.ptr + at, text.len - at);
			continue;
		}
		while (token_len(id) == 1) {
			CHECK(count > 0);
			dead[at / 64] |= (uint64_t)1 << at % 64;
			id = ids[--count];
			at -= token_len(id);
		}
		id = token_shorter(id);
	}
}

size_t
bpe__encode(struct str text, uint32_t ids[static BPE_SHORT])
{
	CHECK(text.len > 0 && text.len <= BPE_SHORT);
	ids[0] = token_longest(text.ptr, text.len);
	return token_len(ids[0]) == text.len ? 1 : encode_rest(text, ids[0], ids);
}

void
chain__begin(struct chain *c)
{
	c->len = c->open_count = 0;
	c->counts[0] = 0;
}

/* Is the token that has begun there the last one of the text so far? */
static bool
chain_try(struct chain *c, size_t i)
{
	size_t start = c->open[i].start, from = start % CHAIN_RING, to = c->len % CHAIN_RING;
	struct place p = place_of(c->open[i].at);
	uint32_t id = place_token(&p);

	if (id == NO_TOKEN || (start > 0 && !pair_stands(c->lasts[from], id)))
		return false;
	c->lasts[to] = id;
	c->counts[to] = c->counts[from] + 1;
	return true;
}

uint32_t
chain__add(struct chain *c, char byte)
{
	/* Mostly the last token only grows: that one is tried first. */
	size_t likely_start = c->len, likely = 0, kept = 0;

	if (c->len > 0)
		likely_start -= token_len(c->lasts[c->len % CHAIN_RING]);
	c->open[c->open_count].start = c->len++;
	c->open[c->open_count++].at = 0;
	for (size_t i = 0; i < c->open_count; i++) {
		struct place p = place_of(c->open[i].at);
		if (!place_go(&p, byte))
			continue;
		if (c->open[i].start == likely_start)
			likely = kept;
		c->open[kept].start = c->open[i].start;
		c->open[kept++].at = p.at;
	}
	c->open_count = kept;
	if (!chain_try(c, likely))
		for (size_t i = 0; !chain_try(c, i); i++)
			CHECK(i + 1 < kept);
	return c->lasts[c->len % CHAIN_RING];
}

size_t
chain__count(const struct chain *c)
{
	return c->counts[c->len % CHAIN_RING];
}

/* Whatever the whole encoding will be, a token of it ends within any CL100K_LONGEST bytes. */
size_t
chain__least(const struct chain *c)
{
	size_t least = SIZE_MAX;

	for (size_t back = 0; back < CL100K_LONGEST && back <= c->len; back++) {
		size_t count = c->counts[(c->len - back) % CHAIN_RING];
		least = count < least ? count : least;
	}
	return least;
}
