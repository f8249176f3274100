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

uint64_t
hash_text(struct str s, uint64_t h)
{
	uint64_t word = s.len;

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
