/*
 * secret_place.c - places by their first two bytes, 32 at a time where the processor can.
 *
 * The wide way is a sieve. A byte is looked up in two small tables at once, one for each half of
 * it: whether it belongs to a word or is a sign; and in which of eight groups of the pairs that are
 * looked for it may stand first, in which second. What is in one group both ways is rare, and held
 * against the exact table.
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
#define ANY (~UINT64_C(0))
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
    [':'] = ANY,
    ['='] = ANY,
    ['-'] = AT('-'),
    ['%'] = ANY,
    ['['] = ANY,
    ['\\'] = ANY,
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

	if (!wanted || at + 1 == end || wanted == ANY)
		return wanted != 0;
	return (unsigned char)at[1] < 128 && (wanted & AT(at[1]));
}

#ifdef __x86_64__
#define WIDE __attribute__((target("avx2"))) static

/*
 * Each is a set of upper times a set of lower halves, so that two small tables tell exactly whether
 * a byte is in it: of words first, then of the signs that are looked at.
 */
static const char *const kinds[] = {
    "0123456789", "ABCDEFGHIJKLMNOabcdefghijklmno", "PQRSTUVWXYZ_", "pqrstuvwxyz", ":=", "%-",
    "[\\",
};
#define WORDS_MOST 0x0f /* the first four */

/* Letters whose seconds are alike share a group; the last is of those that are in no other. */
static const char *const groups[] = {"AGLS", "Bb", "dx", "enpy", "gw", "rs", "h", ""};
#define GROUPS ARRAY_LEN(groups)

/* By the low and the high half of a byte: what it may be, a bit each. */
struct halves {
	uint8_t low[16], high[16];
};
static struct {
	struct halves kind, first, second;
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
halves_add(struct halves *h, int byte, uint8_t bit)
{
	h->low[byte & 15] |= bit;
	h->high[byte >> 4] |= bit;
}

/* Pairs of words only: signs are few, and found by themselves. */
static void
sieve_make(void)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (const char *c = kinds[i]; *c; c++)
			halves_add(&sieve.kind, *c, (uint8_t)(1u << i));
	for (int first = 1; first < 128; first++) {
		if (!seconds[first] || !is_word((char)first))
			continue;
		halves_add(&sieve.first, first, group_of(first));
		for (int second = 0; second < 128; second++)
			if (seconds[first] & AT(second))
				halves_add(&sieve.second, second, group_of(first));
	}
}

struct tables {
	__m256i low, high;
};

WIDE struct tables
tables_of(const struct halves *h)
{
	return (struct tables){
	    _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)h->low)),
	    _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)h->high)),
	};
}

WIDE __m256i
upper_halves(__m256i v)
{
	return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
}

/* What each byte is; beyond ASCII, nothing: the shuffle gives 0 where the top bit is set. */
WIDE __m256i
tables_find(struct tables t, __m256i v, __m256i upper)
{
	return _mm256_and_si256(_mm256_shuffle_epi8(t.low, v), _mm256_shuffle_epi8(t.high, upper));
}

WIDE uint32_t
bits_of(__m256i v)
{
	return (uint32_t)_mm256_movemask_epi8(v);
}

/* As secret_place, but stops where fewer than 33 bytes are left, and tells whether in a word. */
WIDE const char *
place_wide(const char *at, const char *end, bool *in_word)
{
	const struct tables kind = tables_of(&sieve.kind), first = tables_of(&sieve.first),
			    second = tables_of(&sieve.second);
	const __m256i zero = _mm256_setzero_si256(), words_most = _mm256_set1_epi8(WORDS_MOST);

	for (; end - at > 32; at += 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)at);
		__m256i upper = upper_halves(v), is = tables_find(kind, v, upper);
		uint32_t signs = bits_of(_mm256_cmpgt_epi8(is, words_most));
		uint32_t words = ~(bits_of(_mm256_cmpeq_epi8(is, zero)) | signs);
		if (*in_word && words == UINT32_MAX)
			continue;
		__m256i next = _mm256_loadu_si256((const __m256i *)(const void *)(at + 1));
		__m256i both = _mm256_and_si256(tables_find(first, v, upper),
						tables_find(second, next, upper_halves(next)));
		uint32_t others = bits_of(_mm256_cmpeq_epi8(both, zero));
		uint32_t places = (words & ~(words << 1 | *in_word | others)) | signs;
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
