/* hash.c - the seeds, and text. */

#include "base/hash.h"

#include <pthread.h>

#include "base/ulid.h"

uint64_t hash__seeds[4];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
seeds_make(void)
{
	random_bytes(hash__seeds, sizeof(hash__seeds));
}

void
hash_begin(void)
{
	pthread_once(&once, seeds_make);
}

#define LONG_TEXT ((size_t)512)
#define LANES ((size_t)4)

static uint64_t
word_at(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* A multiplication waits for the one before it: in a long text four go side by side, each for two
 * words. Takes what it has done off the front. */
static uint64_t
hash_long(struct str *s, uint64_t h)
{
	uint64_t lanes[LANES];

	for (size_t i = 0; i < LANES; i++)
		lanes[i] = hash_mix(h, i + 1);
	for (; s->len >= LANES * 16; *s = str_from(*s, LANES * 16))
		for (size_t i = 0; i < LANES; i++)
			lanes[i] = hash_mix(word_at(s->ptr + i * 16),
					    word_at(s->ptr + i * 16 + 8) ^ lanes[i]);
	for (size_t i = 0; i < LANES; i++)
		h = hash_mix(h, lanes[i]);
	return h;
}

uint64_t
hash_text(struct str s, uint64_t h)
{
	uint64_t word = s.len;

	if (s.len >= LONG_TEXT)
		h = hash_long(&s, h);
	for (size_t i = 0; i < s.len; i += sizeof(word)) {
		h = hash_mix(h, word);
		word = 0;
		memcpy(&word, s.ptr + i, s.len - i < sizeof(word) ? s.len - i : sizeof(word));
	}
	return hash_mix(h, word);
}

uint64_t
str_hash_keyed(struct str s)
{
	hash_begin();
	return hash_text(s, 0);
}
