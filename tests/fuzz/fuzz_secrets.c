/*
 * fuzz_secrets.c - any text, cut anywhere: what comes out is what the whole gives, and what is no
 * secret passes as it is.
 */

#include "base/limits.h"
#include "text/secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* In pieces whose lengths the input itself says. */
static size_t
in_pieces(struct str text, const uint8_t *lengths, size_t count, struct buf *out)
{
	struct secrets s;

	secrets_begin(&s);
	for (size_t i = 0; text.len; i++) {
		struct str piece = str_upto(text, 1 + (count ? lengths[i % count] : 0));
		secrets_feed(&s, piece, out);
		text = str_from(text, piece.len);
	}
	secrets_end(&s, out);
	return secrets_total(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct buf whole = BUF_INIT(4 * MIB), cut = BUF_INIT(4 * MIB);
	size_t split = size ? bytes[0] % 16 : 0;

	if (size < split + 1 || size > 64 * KIB)
		return 0;
	struct str text = {(const char *)bytes + split, size - split};
	size_t found = secrets_redact(text, &whole);
	CHECK(!buf_failed(&whole));
	CHECK(found > 0 || str_eq(buf_str(&whole), text));
	CHECK(in_pieces(text, bytes, split, &cut) == found);
	CHECK(str_eq(buf_str(&whole), buf_str(&cut)));
	buf_done(&whole);
	buf_done(&cut);
	return 0;
}
