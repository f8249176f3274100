/*
 * hash.h - hashes that are others in every process: who chooses what is hashed cannot choose what
 * collides. Not to be stored; str_hash is the same everywhere.
 */

#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/str.h"

extern uint64_t hash__seeds[4]; /* private */

/* Before the first of the others; any thread, any number of times. */
void hash_begin(void);

static inline uint64_t
hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ hash__seeds[0]) * (b ^ hash__seeds[1]);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Numbers nobody else knows, for what needs one. */
static inline uint64_t
hash_secret(unsigned which) /* 0 or 1 */
{
	return hash__seeds[2 + which];
}

uint64_t hash_text(struct str s, uint64_t h); /* goes on from h */
uint64_t str_hash_keyed(struct str s);        /* begins by itself */

#endif
