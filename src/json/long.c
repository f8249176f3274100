/* long.c - long strings that need no parser are kept from it. */

#include "json/inside.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define WIDE_FROM 256

static bool
is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

#ifdef __x86_64__
/* A bit for each of sixteen bytes that is not plain. Those beyond ASCII are negative. */
static unsigned
odd_in(__m128i v)
{
	__m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
	__m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
	__m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
	__m128i del = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));

	return (unsigned)_mm_movemask_epi8(
	    _mm_or_si128(_mm_or_si128(low, quote), _mm_or_si128(slash, del)));
}

static unsigned
odd_bytes(const char *p)
{
	return odd_in(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* The same of 32, for processors that can. */
__attribute__((target("avx2"))) static uint32_t
odd_bytes_wide(const char *p)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
	__m256i low = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), v);
	__m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
	__m256i slash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
	__m256i del = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(0x7f));

	return (uint32_t)_mm256_movemask_epi8(
	    _mm256_or_si256(_mm256_or_si256(low, quote), _mm256_or_si256(slash, del)));
}

/* Stops where something is odd, or fewer than 32 bytes are left. */
__attribute__((target("avx2"))) static size_t
plain_run_wide(struct str s)
{
	size_t i = 0;

	while (s.len - i >= 32 && odd_bytes_wide(s.ptr + i) == 0)
		i += 32;
	return i;
}

size_t
json__plain_run(struct str s)
{
	size_t i = s.len >= WIDE_FROM && __builtin_cpu_supports("avx2") ? plain_run_wide(s) : 0;

	for (; s.len - i >= 16; i += 16) {
		unsigned odd = odd_bytes(s.ptr + i);
		if (odd)
			return i + (unsigned)__builtin_ctz(odd);
	}
	while (i < s.len && is_plain(s.ptr[i]))
		i++;
	return i;
}

/* From both ends, as much as is left in the middle twice. */
static unsigned
copy_few(char *out, struct str s)
{
	uint64_t front = UINT64_C(0x2020202020202020), back = front;

	if (s.len >= 8) {
		memcpy(&front, s.ptr, 8);
		memcpy(&back, s.ptr + s.len - 8, 8);
		memcpy(out, &front, 8);
		memcpy(out + s.len - 8, &back, 8);
	} else if (s.len >= 4) {
		memcpy(&front, s.ptr, 4);
		memcpy(&back, s.ptr + s.len - 4, 4);
		memcpy(out, &front, 4);
		memcpy(out + s.len - 4, &back, 4);
	} else {
		for (size_t i = 0; i < s.len; i++)
			((char *)&front)[i] = out[i] = s.ptr[i];
	}
	return odd_in(_mm_set_epi64x((int64_t)back, (int64_t)front));
}

bool
json__plain_copy(char *out, struct str s)
{
	unsigned odd = 0;
	size_t i = 0;

	if (s.len < 16)
		return copy_few(out, s) == 0;
	for (; i < s.len - 16; i += 16) {
		odd |= odd_bytes(s.ptr + i);
		memcpy(out + i, s.ptr + i, 16);
	}
	odd |= odd_bytes(s.ptr + s.len - 16); /* some of them once more */
	memcpy(out + s.len - 16, s.ptr + s.len - 16, 16);
	return odd == 0;
}
#else
bool
json__plain_copy(char *out, struct str s)
{
	bool plain = true;

	for (size_t i = 0; i < s.len; i++)
		plain &= is_plain(out[i] = s.ptr[i]);
	return plain;
}

size_t
json__plain_run(struct str s)
{
	size_t i = 0;

	while (i < s.len && is_plain(s.ptr[i]))
		i++;
	return i;
}
#endif

/* Behind the quote that ends the string that begins at `at`; *ret_plain: nothing in it is odd. */
static size_t
string_end(struct str text, size_t at, bool *ret_plain)
{
	*ret_plain = true;
	for (;;) {
		at += json__plain_run(str_from(text, at));
		if (at >= text.len)
			return text.len; /* the parser says what is wrong */
		if (text.ptr[at] == '"')
			return at + 1;
		*ret_plain = false;
		at += text.ptr[at] == '\\' ? 2 : 1;
		if (at >= text.len)
			return text.len;
	}
}

bool
json__long_take_out(struct long_strings *ls, struct str text)
{
	size_t from = 0, at = 0, left = text.len;
	bool plain;

	*ls = (struct long_strings){.rest = BUF_INIT(text.len)};
	for (size_t number = 0; at < text.len; number++) {
		const char *quote = memchr(text.ptr + at, '"', text.len - at);
		if (!quote)
			break;
		size_t start = (size_t)(quote - text.ptr) + 1;
		at = string_end(text, start, &plain);
		size_t len = at - 1 - start;
		if (!plain || at == start || len < LONG_STRING || ls->count == LONG_STRINGS ||
		    text.ptr[at - 1] != '"')
			continue;
		ls->at[ls->count].number = number;
		ls->at[ls->count++].text = (struct str){text.ptr + start, len};
		left -= len;
	}
	if (ls->count == 0 || left > text.len / 4)
		return false;
	for (size_t i = 0; i < ls->count; i++) {
		size_t start = (size_t)(ls->at[i].text.ptr - text.ptr);
		buf_add(&ls->rest, (struct str){text.ptr + from, start - from});
		from = start + ls->at[i].text.len;
	}
	buf_add(&ls->rest, str_from(text, from));
	return !buf_failed(&ls->rest);
}

void
json__long_put_back(const struct long_strings *ls, yyjson_val *row, size_t count)
{
	size_t number = 0, i = 0;

	for (yyjson_val *v = row; v < row + count && i < ls->count; v++) {
		if (!unsafe_yyjson_is_str(v) || number++ != ls->at[i].number)
			continue;
		CHECK(unsafe_yyjson_get_len(v) == 0);
		v->tag = (uint64_t)ls->at[i].text.len << YYJSON_TAG_BIT | YYJSON_TYPE_STR |
			 YYJSON_SUBTYPE_NOESC;
		v->uni.str = ls->at[i++].text.ptr;
	}
	CHECK(i == ls->count);
}
