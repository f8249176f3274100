/*
 * sha256.h - SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), and base64url (RFC 4648 section 5).
 *
 * Of a library of ciphers this is all that would be used, and to have one loaded takes more memory
 * than a catalog of a thousand tools, and a part of every start.
 */

#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include "base/buf.h"

#define SHA256_BYTES 32
#define SHA256_BLOCK 64

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;                    /* so far */
	unsigned char block[SHA256_BLOCK]; /* the last bytes % SHA256_BLOCK of them */
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, struct str bytes);
void sha256_end(struct sha256 *s, unsigned char out[static SHA256_BYTES]);

/* For tests: only in plain C, whatever the processor could do. */
extern bool sha256__plain;

void sha256_mac(struct str key, struct str bytes, unsigned char out[static SHA256_BYTES]);
bool sha256_mac_eq(struct str a, struct str b); /* takes the same time wherever they differ */

void base64_add(struct buf *out, struct str bytes);    /* RFC 4648 section 4, with "=" */
void base64url_add(struct buf *out, struct str bytes); /* without "=" */
/* False: it is none, or has bits that mean nothing. */
bool base64url_read(struct buf *out, struct str text);

#endif
