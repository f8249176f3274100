/* number.h - arithmetic of whole numbers, which is the same on every machine. */

#ifndef SEARCH_NUMBER_H
#define SEARCH_NUMBER_H

#include <stdint.h>

#define LOG_ONE 4096              /* what log2(2) is */
uint32_t number_log2(uint64_t n); /* n > 0 */
uint32_t number_root(uint64_t n); /* rounded down */

/* How rare it is that `some` of `all` have a thing: BM25's log((all + 1) / (some + 1/2)). */
static inline uint32_t
number_rarity(uint64_t some, uint64_t all)
{
	return number_log2(2 * all + 2) - number_log2(2 * some + 1);
}

#endif
