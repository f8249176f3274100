/* number.c - logarithm and square root, bit by bit. */

#include "search/number.h"

uint32_t
number_log2(uint64_t n)
{
	unsigned whole = 63u - (unsigned)__builtin_clzll(n);
	uint64_t x = whole <= 31 ? n << (31 - whole) : n >> (whole - 31); /* 1 to 2, in 2^31 */
	uint32_t bits = whole;

	for (int i = 0; i < 12; i++) { /* the square of x is over 2: the next bit is 1 */
		x = x * x >> 31;
		bits = bits << 1 | (uint32_t)(x >> 32);
		x >>= x >> 32;
	}
	return bits;
}

uint32_t
number_root(uint64_t n)
{
	uint64_t root = 0;

	for (uint64_t bit = 1ull << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= n)
			root |= bit;
	return (uint32_t)root;
}
