/*
 * secret_place.c - places by their first two bytes, 32 at a time where the processor can.
 *
 * The wide way is a sieve. The pairs that are looked for are put into eight groups, and each byte
 * tells by two small tables, one for each half of it, in which groups it may stand first, and in
 * which second. What is in one group both ways is rare, and held against the exact table.
 */

#include "text/secret_place.h"

#include <pthread.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/*
 * What can stand second where somebody looks, by the first: most words are passed over here. As
 * many bits as there are letters of one case; the test holds it against the table of tokens.
 */
#define AT(c) (UINT64_C(1) << ((c)&63))
static const uint64_t seconds[256] = {
    ['A'] = AT('K') | AT('S') | AT('B') | AT('I') | AT('G'),
    ['B'] = AT('e') | AT('E') | AT('a') | AT('A'),
    ['G'] = AT('O'),
    ['L'] = AT('S'),
    ['S'] = AT('G'),
    ['b'] = AT('e') | AT('E') | AT('a') | AT('A'),
    ['d'] = AT('a') | AT('o'),
    ['e'] = AT('y'),
    ['g'] = AT('h') | AT('i') | AT('l'),
    ['h'] = AT('f') | AT('v'),
    ['n'] = AT('p'),
    ['p'] = AT('y'),
    ['r'] = AT('k'),
    ['s'] = AT('h') | AT('k'),
    ['w'] = AT('h'),
    ['x'] = AT('a') | AT('o'),
    ['y'] = AT('a'),
    [':'] = ~UINT64_C(0),
    ['='] = ~UINT64_C(0),
    ['-'] = AT('-'),
    ['%'] = ~UINT64_C(0),
    ['['] = ~UINT64_C(0),
    ['\\'] = ~UINT64_C(0),
};

static bool
is_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

/* Does anybody look at this place, or is it an escape? What is not there yet may be anything. */
static bool
is_place(const char *at, const char *end)
{
	uint64_t wanted = seconds[(unsigned char)*at];

	return wanted && (at + 1 == end || (wanted & AT(at[1])));
}

#ifdef __x86_64__
#define WIDE __attribute__((target("avx2"))) static

/* Letters whose seconds are alike share a group; the last is of those that are in no other. */
static const char *const groups[] = {"AGLS", "Bb", "dx", "enpy", "gw", "rs", "h", ""};
#define GROUPS ARRAY_LEN(groups)

/* By the low and the high half of a byte: the groups that it may stand in. */
struct halves {
	uint8_t low[16], high[16];
};
static struct {
	struct halves first, second;
} sieve;
static pthread_once_t sieve_made = PTHREAD_ONCE_INIT;

static uint8_t
group_of(int letter)
{
	size_t i = 0;

	while (i < GROUPS - 1 && !strchr(groups[i], letter))
		i++;
	return (uint8_t)(1u << i);
}

static void
halves_add(struct halves *h, int byte, uint8_t group)
{
	h->low[byte & 15] |= group;
	h->high[byte >> 4] |= group;
}

/* Of words only: signs are few, and found by themselves. */
static void
sieve_make(void)
{
	for (int first = 1; first < 256; first++) {
		if (!seconds[first] || !is_word((char)first))
			continue;
		halves_add(&sieve.first, first, group_of(first));
		for (int second = 0; second < 256; second++)
			if (seconds[first] & AT(second))
				halves_add(&sieve.second, second, group_of(first));
	}
}

WIDE __m256i
bytes_are(__m256i v, char c)
{
	return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}

/* Unsigned: the smaller of the two is the byte itself. */
WIDE __m256i
bytes_within(__m256i v, char first, char most)
{
	__m256i beyond = _mm256_sub_epi8(v, _mm256_set1_epi8(first));

	return _mm256_cmpeq_epi8(_mm256_min_epu8(beyond, _mm256_set1_epi8(most)), beyond);
}

/* A bit for each byte that belongs to a word. */
WIDE uint32_t
words_of(__m256i v)
{
	__m256i letter = bytes_within(_mm256_or_si256(v, _mm256_set1_epi8(0x20)), 'a', 25);
	__m256i digit = bytes_within(v, '0', 9);

	return (uint32_t)_mm256_movemask_epi8(
	    _mm256_or_si256(_mm256_or_si256(letter, digit), bytes_are(v, '_')));
}

/* A bit for each byte that is looked at and no word. */
WIDE uint32_t
signs_of(__m256i v)
{
	__m256i sign = _mm256_or_si256(bytes_are(v, ':'), bytes_are(v, '='));
	__m256i dash = _mm256_or_si256(bytes_are(v, '-'), bytes_are(v, '%'));
	__m256i slash = bytes_within(v, '[', 1); /* and the backslash */

	return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(sign, dash), slash));
}

WIDE __m256i
table_of(const uint8_t *half)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)half));
}

/* The groups that each byte is in. */
WIDE __m256i
groups_of(__m256i v, __m256i low, __m256i high)
{
	const __m256i half = _mm256_set1_epi8(15);
	__m256i by_low = _mm256_shuffle_epi8(low, _mm256_and_si256(v, half));
	__m256i by_high =
	    _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(v, 4), half));

	return _mm256_and_si256(by_low, by_high);
}

/* As secret_place, but stops where fewer than 33 bytes are left, and tells whether in a word. */
WIDE const char *
place_wide(const char *at, const char *end, bool *in_word)
{
	const __m256i first_low = table_of(sieve.first.low),
		      first_high = table_of(sieve.first.high);
	const __m256i next_low = table_of(sieve.second.low),
		      next_high = table_of(sieve.second.high);

	for (; end - at > 32; at += 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)at);
		uint32_t words = words_of(v);
		if (*in_word && words == UINT32_MAX)
			continue;
		__m256i next = _mm256_loadu_si256((const __m256i *)(const void *)(at + 1));
		__m256i both = _mm256_and_si256(groups_of(v, first_low, first_high),
						groups_of(next, next_low, next_high));
		uint32_t others = (uint32_t)_mm256_movemask_epi8(bytes_are(both, 0));
		uint32_t places = (words & ~(words << 1 | *in_word | others)) | signs_of(v);
		for (; places; places &= places - 1)
			if (is_place(at + __builtin_ctz(places), end)) {
				*in_word = false;
				return at + __builtin_ctz(places);
			}
		*in_word = words >> 31;
	}
	return at;
}
#endif

const char *
secret_place(const char *at, const char *end, bool in_word)
{
#ifdef __x86_64__
	if (end - at > 32 && __builtin_cpu_supports("avx2")) {
		pthread_once(&sieve_made, sieve_make);
		at = place_wide(at, end, &in_word);
	}
#endif
	for (; at < end; at++) {
		bool word = is_word(*at);
		if (!(word && in_word) && is_place(at, end))
			return at;
		in_word = word;
	}
	return end;
}
