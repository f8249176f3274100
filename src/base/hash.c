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

/* Up to sixteen bytes as two words: from both ends, what is in the middle perhaps in both. */
static void
words_of(struct str s, uint64_t out[static 2])
{
	uint32_t half[2];

	out[0] = out[1] = 0;
	if (s.len >= sizeof(*out)) {
		out[0] = word_at(s.ptr);
		out[1] = word_at(s.ptr + s.len - sizeof(*out));
	} else if (s.len >= sizeof(*half)) {
		memcpy(&half[0], s.ptr, sizeof(*half));
		memcpy(&half[1], s.ptr + s.len - sizeof(*half), sizeof(*half));
		out[0] = half[0], out[1] = half[1];
	} else {
		for (size_t i = 0; i < s.len; i++)
			out[0] = out[0] << 8 | (unsigned char)s.ptr[i];
	}
}

uint64_t
hash_text(struct str s, uint64_t h)
{
	size_t len = s.len;
	uint64_t words[2];

	if (len >= LONG_TEXT)
		h = hash_long(&s, h);
	for (; s.len > 16; s = str_from(s, 16))
		h = hash_mix(word_at(s.ptr), word_at(s.ptr + 8) ^ h);
	words_of(s, words);
	return hash_mix(len, hash_mix(words[0], words[1] ^ h));
}

uint64_t
str_hash_keyed(struct str s)
{
	hash_begin();
	return hash_text(s, 0);
}
