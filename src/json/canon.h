/*
 * canon.h - canonical forms of a value: the same bytes for the same meaning.
 *
 * The documents use four; they come from one writer with flags (decision 15).
 *
 * SPACED and COMPACT are Python's json.dumps(sort_keys=True), numbers included.
 * JCS is RFC 8785, whose numbers are doubles; in two things it goes on where the RFC ends:
 *
 *   - An integer, written as one, that a double would change keeps its digits: two different
 *     ids must never share a digest. (The RFC leaves such numbers to strings.)
 *   - What is too large for a double is written like one: 1e+400.
 *
 * What is written with a point or an exponent is rounded to a double in all three, as it would be
 * elsewhere, also where the same integer would keep its digits: 9007199254740993.0.
 */

#ifndef JSON_CANON_H
#define JSON_CANON_H

#include "base/buf.h"
#include "json/json.h"

enum canon_form {
	CANON_JCS,     /* RFC 8785: the kernel's, and our own digests */
	CANON_SPACED,  /* ", " and ": ", ASCII, keys by code point: metis and FOCAL */
	CANON_COMPACT, /* no blanks, ASCII, keys by code point: contextweaver */
};

#define DIGEST_TEXT 65 /* 64 hex digits and the NUL */

/* Fails only by the buffer. */
void canon_write(struct buf *out, const struct json *v, enum canon_form form);

/* Hex SHA-256 of bytes. */
void digest_bytes(struct str bytes, char out[static DIGEST_TEXT]);

/* Hex SHA-256 of the canonical form. E_NOMEM, E_TOO_LARGE. */
int digest_value(const struct json *v, enum canon_form form, char out[static DIGEST_TEXT],
		 struct err *e);

#endif
