/* terms.c - the postings of a word: short lists, and rows where a block is full of them. */

#include <stdlib.h>

#include "search/inside.h"

static struct posting *
postings(struct chunk *c)
{
	return c->cap ? c->list : c->few;
}

/* The first chunk of the block or behind it. */
static uint32_t
chunk_at(const struct term *t, uint32_t block)
{
	uint32_t low = 0, high = t->chunk_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (t->chunks[middle].block < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct chunk *
chunk_find(const struct term *t, uint32_t block)
{
	uint32_t at = chunk_at(t, block);

	return at < t->chunk_count && t->chunks[at].block == block ? &t->chunks[at] : NULL;
}

static struct chunk *
chunk_new(struct term *t, uint32_t block)
{
	uint32_t at = chunk_at(t, block);

	if (t->chunk_count == t->chunk_cap) {
		uint16_t cap = (uint16_t)(t->chunk_cap ? t->chunk_cap * 2 : 1);
		struct chunk *more = realloc(t->chunks, cap * sizeof(*more));
		if (!more)
			return NULL;
		t->chunks = more;
		t->chunk_cap = cap;
	}
	memmove(&t->chunks[at + 1], &t->chunks[at], (t->chunk_count - at) * sizeof(*t->chunks));
	t->chunk_count++;
	t->chunks[at] = (struct chunk){.block = (uint16_t)block};
	return &t->chunks[at];
}

static void
chunk_done(struct chunk *c)
{
	if (c->dense)
		free(c->row);
	else if (c->cap)
		free(c->list);
}

static void
chunk_drop(struct term *t, struct chunk *c)
{
	size_t at = (size_t)(c - t->chunks);

	chunk_done(c);
	t->chunk_count--;
	memmove(c, c + 1, (t->chunk_count - at) * sizeof(*c));
	if (t->chunk_count == 0)
		term_done(t);
}

static bool
make_dense(struct chunk *c)
{
	uint8_t *row = calloc(BLOCK, 1);

	if (!row)
		return false;
	for (uint16_t i = 0; i < c->count; i++)
		row[postings(c)[i].tool] = postings(c)[i].impact;
	chunk_done(c);
	*c = (struct chunk){
	    .block = c->block, .count = c->count, .dense = true, .most = c->most, .row = row};
	return true;
}

/* A row that has become thin. Without memory it stays one, which is as right. */
static void
make_sparse(struct chunk *c)
{
	struct posting *list = malloc(DENSE * sizeof(*list));
	uint16_t count = 0;

	if (!list)
		return;
	for (unsigned i = 0; i < BLOCK; i++)
		if (c->row[i])
			list[count++] = (struct posting){(uint16_t)i, c->row[i]};
	CHECK(count == c->count);
	chunk_done(c);
	*c = (struct chunk){
	    .block = c->block, .count = count, .cap = DENSE, .most = c->most, .list = list};
}

static bool
list_room(struct chunk *c)
{
	if (c->count < (c->cap ? c->cap : ARRAY_LEN(c->few)))
		return true;
	uint16_t cap = (uint16_t)(c->count * 2);
	struct posting *list = malloc(cap * sizeof(*list));
	if (!list)
		return false;
	memcpy(list, postings(c), c->count * sizeof(*list));
	if (c->cap)
		free(c->list);
	c->list = list;
	c->cap = cap;
	return true;
}

bool
term_add(struct term *t, uint32_t tool, uint8_t impact)
{
	struct chunk *c = chunk_find(t, tool / BLOCK);
	uint16_t within = (uint16_t)(tool % BLOCK);

	CHECK(impact > 0);
	if (!c && !(c = chunk_new(t, tool / BLOCK)))
		return false;
	if (!c->dense && c->count == DENSE && !make_dense(c))
		return false;
	if (c->dense) {
		CHECK(c->row[within] == 0);
		c->row[within] = impact;
	} else if (list_room(c)) {
		postings(c)[c->count] = (struct posting){within, impact};
	} else {
		return false;
	}
	c->count++;
	c->most = impact > c->most ? impact : c->most;
	t->tools++;
	return true;
}

static bool
chunk_remove(struct chunk *c, uint16_t within)
{
	if (c->dense) {
		bool was = c->row[within] != 0;
		c->row[within] = 0;
		return was;
	}
	for (uint16_t i = 0; i < c->count; i++)
		if (postings(c)[i].tool == within) {
			postings(c)[i] = postings(c)[c->count - 1]; /* their order is nothing */
			return true;
		}
	return false;
}

void
term_remove(struct term *t, uint32_t tool)
{
	struct chunk *c = chunk_find(t, tool / BLOCK);

	if (!c || !chunk_remove(c, (uint16_t)(tool % BLOCK)))
		return;
	t->tools--;
	if (--c->count == 0)
		chunk_drop(t, c);
	else if (c->dense && c->count < DENSE / 2)
		make_sparse(c);
}

void
term_done(struct term *t)
{
	for (uint32_t i = 0; i < t->chunk_count; i++)
		chunk_done(&t->chunks[i]);
	free(t->chunks);
	t->chunks = NULL;
	t->chunk_count = t->chunk_cap = 0;
}

size_t
term_bytes(const struct term *t)
{
	size_t bytes = t->chunk_cap * sizeof(*t->chunks);

	for (uint32_t i = 0; i < t->chunk_count; i++)
		bytes += t->chunks[i].dense ? BLOCK : t->chunks[i].cap * sizeof(struct posting);
	return bytes;
}
