/* sha256.c - digests by the processor's own instructions where it has them. */

#include "base/sha256.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#endif

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t
turned(uint32_t x, unsigned by)
{
	return x >> by | x << (32 - by);
}

static uint32_t
read_big(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void
write_big(unsigned char *p, uint64_t n, unsigned bytes)
{
	while (bytes > 0)
		*p++ = (unsigned char)(n >> 8 * --bytes);
}

/* FIPS 180-4 section 6.2.2, with its letters. */
static void
blocks_plain(uint32_t h[8], const unsigned char *p, size_t count)
{
	uint32_t w[64], v[8];

	for (; count > 0; count--, p += SHA256_BLOCK) {
		for (size_t t = 0; t < 16; t++)
			w[t] = read_big(p + 4 * t);
		for (size_t t = 16; t < 64; t++) {
			uint32_t a = w[t - 15], b = w[t - 2];
			w[t] = w[t - 16] + w[t - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) +
			       (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
		}
		memcpy(v, h, sizeof(v));
		for (size_t t = 0; t < 64; t++) {
			uint32_t a = v[0], e = v[4];
			uint32_t t1 = v[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
				      ((e & v[5]) ^ (~e & v[6])) + rounds[t] + w[t];
			uint32_t t2 = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
				      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
			memmove(v + 1, v, 7 * sizeof(*v));
			v[4] += t1;
			v[0] = t1 + t2;
		}
		for (size_t i = 0; i < 8; i++)
			h[i] += v[i];
	}
}

#ifdef __x86_64__
/*
 * The instructions keep the state as {a,b,e,f} and {c,d,g,h}, highest first, do two rounds at once
 * and four words of the schedule.
 */
__attribute__((target("sha,sse4.1"))) static void
blocks_quick(uint32_t h[8], const unsigned char *p, size_t count)
{
	const __m128i big = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i low = _mm_loadu_si128((const __m128i *)(const void *)h);
	__m128i high = _mm_loadu_si128((const __m128i *)(const void *)(h + 4));
	__m128i dcba = _mm_shuffle_epi32(low, 0x1b), hgfe = _mm_shuffle_epi32(high, 0x1b);
	__m128i abef = _mm_unpackhi_epi64(hgfe, dcba), cdgh = _mm_unpacklo_epi64(hgfe, dcba);

	for (; count > 0; count--, p += SHA256_BLOCK) {
		__m128i before_abef = abef, before_cdgh = cdgh, w[4];

		for (size_t i = 0; i < 4; i++)
			w[i] = _mm_shuffle_epi8(_mm_loadu_si128(
						    (const __m128i *)(const void *)(p + 16 * i)),
						big);
		for (size_t t = 0; t < 16; t++) {
			__m128i now = w[t % 4], next = w[(t + 1) % 4];
			__m128i sum =
			    _mm_add_epi32(now, _mm_loadu_si128((
						   const __m128i *)(const void *)(rounds + 4 * t)));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
			/* w[t+4] of w[t], w[t+1], w[t+2], w[t+3] */
			__m128i seven = _mm_alignr_epi8(w[(t + 3) % 4], w[(t + 2) % 4], 4);
			w[t % 4] = _mm_sha256msg2_epu32(
			    _mm_add_epi32(_mm_sha256msg1_epu32(now, next), seven), w[(t + 3) % 4]);
		}
		abef = _mm_add_epi32(abef, before_abef);
		cdgh = _mm_add_epi32(cdgh, before_cdgh);
	}
	dcba = _mm_unpackhi_epi64(cdgh, abef);
	hgfe = _mm_unpacklo_epi64(cdgh, abef);
	_mm_storeu_si128((__m128i *)(void *)h, _mm_shuffle_epi32(dcba, 0x1b));
	_mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_shuffle_epi32(hgfe, 0x1b));
}

/* GCC 12 does not know "sha" as something a processor supports; the bit is from Intel's manual. */
static bool
is_quick(void)
{
	static atomic_int known; /* 1: no, 2: yes */
	unsigned a, b = 0, c, d;

	if (known == 0)
		known = __builtin_cpu_supports("sse4.1") &&
				__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1)
			    ? 2
			    : 1;
	return known == 2;
}
#endif

bool sha256__plain;

static void
blocks(uint32_t h[8], const unsigned char *p, size_t count)
{
#ifdef __x86_64__
	if (!sha256__plain && is_quick()) {
		blocks_quick(h, p, count);
		return;
	}
#endif
	blocks_plain(h, p, count);
}

void
sha256_begin(struct sha256 *s)
{
	*s = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
				       0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void
sha256_add(struct sha256 *s, struct str bytes)
{
	size_t held = s->bytes % SHA256_BLOCK;

	s->bytes += bytes.len;
	if (held > 0) {
		struct str part = str_upto(bytes, SHA256_BLOCK - held);
		memcpy(s->block + held, part.ptr, part.len);
		bytes = str_from(bytes, part.len);
		if (held + part.len < SHA256_BLOCK)
			return;
		blocks(s->state, s->block, 1);
	}
	size_t whole = bytes.len / SHA256_BLOCK;
	if (whole > 0)
		blocks(s->state, (const unsigned char *)bytes.ptr, whole);
	bytes = str_from(bytes, whole * SHA256_BLOCK);
	if (bytes.len > 0)
		memcpy(s->block, bytes.ptr, bytes.len);
}

void
sha256_end(struct sha256 *s, unsigned char out[static SHA256_BYTES])
{
	size_t held = s->bytes % SHA256_BLOCK;
	unsigned char last[2 * SHA256_BLOCK] = {0};
	size_t count = held + 9 > SHA256_BLOCK ? 2 : 1;

	memcpy(last, s->block, held);
	last[held] = 0x80;
	write_big(last + count * SHA256_BLOCK - 8, s->bytes * 8, 8);
	blocks(s->state, last, count);
	for (size_t i = 0; i < 8; i++)
		write_big(out + 4 * i, s->state[i], 4);
}

/* ---- HMAC ---- */

static void
mac_half(struct sha256 *s, const unsigned char key[static SHA256_BLOCK], unsigned char with)
{
	char pad[SHA256_BLOCK];

	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] = (char)(key[i] ^ with);
	sha256_begin(s);
	sha256_add(s, (struct str){pad, sizeof(pad)});
}

void
sha256_mac(struct str key, struct str bytes, unsigned char out[static SHA256_BYTES])
{
	unsigned char block[SHA256_BLOCK] = {0};
	struct sha256 s;

	if (key.len > sizeof(block)) {
		sha256_begin(&s);
		sha256_add(&s, key);
		sha256_end(&s, block);
	} else if (key.len > 0) {
		memcpy(block, key.ptr, key.len);
	}
	mac_half(&s, block, 0x36);
	sha256_add(&s, bytes);
	sha256_end(&s, out);
	mac_half(&s, block, 0x5c);
	sha256_add(&s, (struct str){(char *)out, SHA256_BYTES});
	sha256_end(&s, out);
}

bool
sha256_mac_eq(struct str a, struct str b)
{
	volatile unsigned char differ = 0; /* or a compiler might stop at the first */

	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		differ = (unsigned char)(differ | (a.ptr[i] ^ b.ptr[i]));
	return differ == 0;
}

/* ---- base64 ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_add(struct buf *out, struct str in)
{
	for (; in.len; in = str_from(in, 3)) {
		const unsigned char *p = (const unsigned char *)in.ptr;
		unsigned bits = (unsigned)p[0] << 16 | (in.len > 1 ? (unsigned)p[1] << 8 : 0) |
				(in.len > 2 ? p[2] : 0);
		const char text[] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63],
				     in.len > 1 ? alphabet[bits >> 6 & 63] : '=',
				     in.len > 2 ? alphabet[bits & 63] : '='};
		buf_add(out, (struct str){text, sizeof(text)});
	}
}

/* ---- base64url ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void
base64url_add(struct buf *out, struct str bytes)
{
	const unsigned char *p = (const unsigned char *)bytes.ptr;

	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
		uint32_t v = (uint32_t)p[i] << 16;

		v |= n > 1 ? (uint32_t)p[i + 1] << 8 : 0;
		v |= n > 2 ? p[i + 2] : 0;
		for (size_t k = 0; k <= n; k++)
			buf_addc(out, letters[v >> (18 - 6 * k) & 63]);
	}
}

bool
base64url_read(struct buf *out, struct str text)
{
	uint32_t v = 0;
	unsigned bits = 0;

	for (size_t i = 0; i < text.len; i++) {
		const char *at = text.ptr[i] ? strchr(letters, text.ptr[i]) : NULL;
		if (!at)
			return false;
		v = v << 6 | (uint32_t)(at - letters);
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		buf_addc(out, (char)(v >> bits));
		v &= (1u << bits) - 1;
	}
	return bits < 6 && v == 0 && !buf_failed(out);
}
