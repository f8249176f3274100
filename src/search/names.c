/* names.c - a row of texts, and open addressing with linear probing over their numbers. */

#include "search/names.h"

#include <stdlib.h>

#include "base/ulid.h"

void
names_init(struct names *n, uint32_t max)
{
	*n = (struct names){.max = max, .free = NAMES_NONE};
	random_bytes(&n->seed, sizeof(n->seed));
}

void
names_done(struct names *n)
{
	for (uint32_t i = 0; i < n->top; i++)
		free(n->rows[i].text);
	free(n->rows);
	free(n->slots);
	*n = (struct names){.max = n->max, .free = NAMES_NONE, .seed = n->seed};
}

static uint64_t
mix(uint64_t a, uint64_t b)
{
	__uint128_t p = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint32_t
hash_of(const struct names *n, struct str text)
{
	uint64_t h = n->seed ^ text.len, piece;

	for (; text.len >= 8; text = str_from(text, 8)) {
		memcpy(&piece, text.ptr, 8);
		h = mix(h, piece ^ n->seed);
	}
	piece = 0;
	if (text.len > 0)
		memcpy(&piece, text.ptr, text.len);
	return (uint32_t)mix(h, piece ^ n->seed);
}

/* Where the text is, or where it would be. */
static uint32_t
probe(const struct names *n, struct str text, uint32_t hash)
{
	for (uint32_t i = hash & (n->cap - 1);; i = (i + 1) & (n->cap - 1)) {
		if (n->slots[i] == 0)
			return i;
		const struct name *row = &n->rows[n->slots[i] - 1];
		if (row->hash == hash && str_eq((struct str){row->text, row->len}, text))
			return i;
	}
}

uint32_t
names_find(const struct names *n, struct str text)
{
	if (n->cap == 0)
		return NAMES_NONE;
	return n->slots[probe(n, text, hash_of(n, text))] - 1; /* 0 - 1 is NAMES_NONE */
}

static bool
grow_slots(struct names *n)
{
	uint32_t cap = n->cap ? n->cap * 2 : 64, *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t i = 0; i < n->cap; i++) {
		if (n->slots[i] == 0)
			continue;
		uint32_t at = n->rows[n->slots[i] - 1].hash & (cap - 1);
		while (slots[at] != 0)
			at = (at + 1) & (cap - 1);
		slots[at] = n->slots[i];
	}
	free(n->slots);
	n->slots = slots;
	n->cap = cap;
	return true;
}

static bool
grow_rows(struct names *n)
{
	uint32_t room = n->room ? n->room + n->room / 2 : 32;
	struct name *rows = realloc(n->rows, room * sizeof(*rows));

	if (!rows)
		return false;
	n->rows = rows;
	n->room = room;
	return true;
}

uint32_t
names_add(struct names *n, struct str text)
{
	uint32_t hash = hash_of(n, text),
		 number = n->cap ? n->slots[probe(n, text, hash)] - 1 : NAMES_NONE;

	if (number != NAMES_NONE || n->count >= n->max)
		return number;
	if ((n->count + 1) * 4ull > n->cap * 3ull && !grow_slots(n))
		return NAMES_NONE;
	if (n->free == NAMES_NONE && n->top == n->room && !grow_rows(n))
		return NAMES_NONE;
	char *copy = malloc(text.len + 1);
	if (!copy)
		return NAMES_NONE;
	if (text.len > 0)
		memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	number = n->free == NAMES_NONE ? n->top++ : n->free;
	if (number == n->free)
		n->free = n->rows[number].hash;
	n->rows[number] = (struct name){copy, (uint32_t)text.len, hash};
	n->slots[probe(n, text, hash)] = number + 1;
	n->count++;
	return number;
}

/* Leaves no grave: what follows in the row of taken slots moves up where it may. */
static void
empty_slot(struct names *n, uint32_t hole)
{
	uint32_t mask = n->cap - 1;

	for (uint32_t i = (hole + 1) & mask; n->slots[i] != 0; i = (i + 1) & mask) {
		uint32_t home = n->rows[n->slots[i] - 1].hash & mask;
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		n->slots[hole] = n->slots[i];
		hole = i;
	}
	n->slots[hole] = 0;
}

void
names_remove(struct names *n, uint32_t number)
{
	struct str text = names_text(n, number);
	struct name *row = &n->rows[number];

	CHECK(text.ptr);
	empty_slot(n, probe(n, text, row->hash));
	free(row->text);
	*row = (struct name){.hash = n->free};
	n->free = number;
	n->count--;
}

size_t
names_bytes(const struct names *n)
{
	size_t bytes = n->room * sizeof(*n->rows) + n->cap * sizeof(*n->slots);

	for (uint32_t i = 0; i < n->top; i++)
		bytes += n->rows[i].text ? n->rows[i].len + 1 : 0;
	return bytes;
}
