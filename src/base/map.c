/* map.c - open addressing with linear probing. */

#include "base/map.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"

struct map_slot {
	struct str key;
	void *value; /* NULL with a key: a tombstone */
	uint64_t hash;
};

void
map_init(struct map *m, size_t max_entries)
{
	*m = (struct map){.max = max_entries};
}

void
map_done(struct map *m)
{
	free(m->slots);
	*m = (struct map){.max = m->max};
}

/* The slot of the key, or the first free one on its way. */
static struct map_slot *
probe(const struct map *m, struct str key, uint64_t hash)
{
	struct map_slot *grave = NULL;

	for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct map_slot *s = &m->slots[i];
		if (!s->key.ptr)
			return grave ? grave : s;
		if (!s->value)
			grave = grave ? grave : s;
		else if (s->hash == hash && str_eq(s->key, key))
			return s;
	}
}

void *
map_find(const struct map *m, struct str key)
{
	if (!m->cap || !key.ptr)
		return NULL;
	return probe(m, key, str_hash_keyed(key))->value;
}

static int
resize(struct map *m)
{
	size_t cap = 16;
	while (cap < (m->len + 1) * 2)
		cap *= 2;
	struct map bigger = {.max = m->max, .cap = cap, .slots = calloc(cap, sizeof(*m->slots))};

	if (!bigger.slots)
		return E_NOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].value)
			*probe(&bigger, m->slots[i].key, m->slots[i].hash) = m->slots[i];
	bigger.len = bigger.used = m->len;
	free(m->slots);
	*m = bigger;
	return 0;
}

int
map_put(struct map *m, struct str key, void *value)
{
	uint64_t hash = str_hash_keyed(key);

	CHECK(key.ptr && value);
	if (m->cap && probe(m, key, hash)->value)
		return E_EXISTS;
	if (m->len >= m->max)
		return E_LIMIT;
	if ((m->used + 1) * 4 > m->cap * 3 && resize(m) < 0)
		return E_NOMEM;
	struct map_slot *s = probe(m, key, hash);
	if (!s->key.ptr)
		m->used++;
	*s = (struct map_slot){key, value, hash};
	m->len++;
	return 0;
}

void *
map_remove(struct map *m, struct str key)
{
	if (!m->cap)
		return NULL;
	struct map_slot *s = probe(m, key, str_hash_keyed(key));
	void *value = s->value;
	if (value) {
		s->value = NULL;
		s->key = S("");
		m->len--;
	}
	return value;
}

void *
map_each(const struct map *m, size_t *at)
{
	while (*at < m->cap) {
		void *value = m->slots[(*at)++].value;
		if (value)
			return value;
	}
	return NULL;
}
