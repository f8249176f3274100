/*
 * fuzz_tokens.c - any text: its ids are all of its bytes in a row, a stream of it in pieces has as
 * many, and a budget is passed exactly when there are more. The first bytes say where it is cut
 * and how often a part of it is repeated, so that there are runs longer than what is held.
 */

#include "base/buf.h"
#include "base/limits.h"
#include "text/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct seen {
	struct str rest;
	size_t count;
};

static int
see(uint32_t id, struct str bytes, void *arg)
{
	struct seen *seen = arg;

	CHECK(id < 100256);
	CHECK(bytes.len > 0 && bytes.len == token_len(id) && bytes.ptr == seen->rest.ptr);
	seen->rest = str_from(seen->rest, bytes.len);
	seen->count++;
	return 0;
}

static size_t
streamed(struct str text, size_t budget, unsigned seed)
{
	static struct tokens t;

	tokens_begin(&t, budget);
	for (bool more = true; text.len && more;) {
		seed = seed * 1103515245u + 12345u;
		size_t n = 1 + (seed >> 16) % (seed & 64 ? 9000 : 5);
		more = tokens_feed(&t, str_upto(text, n));
		text = str_from(text, n);
	}
	return tokens_end(&t);
}

static void
check(struct str text, unsigned seed)
{
	struct seen seen = {text, 0};

	CHECK(tokens_each(text, see, &seen) == 0);
	CHECK(seen.rest.len == 0);
	CHECK(tokens_count(text) == seen.count);
	CHECK(streamed(text, SIZE_MAX, seed) == seen.count);
	CHECK(streamed(text, seen.count, seed) == seen.count);
	CHECK(tokens_upto(text, seen.count) == seen.count);
	if (seen.count) {
		CHECK(streamed(text, seen.count - 1, seed) >= seen.count);
		CHECK(tokens_upto(text, seen.count - 1) >= seen.count);
		CHECK(streamed(text, seen.count / 2, seed) > seen.count / 2);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct buf text = BUF_INIT(MIB);

	if (size < 4 || size > 16 * KIB)
		return 0;
	struct str rest = {(const char *)bytes + 4, size - 4};
	struct str part = str_upto(str_from(rest, bytes[2]), 1 + bytes[3] % 16);
	size_t times = bytes[1] < 224 ? bytes[1] : (size_t)bytes[1] * 32;

	buf_add(&text, str_upto(rest, bytes[2]));
	for (size_t i = 0; i < times && text.len < 10 * KIB; i++)
		buf_add(&text, part);
	buf_add(&text, str_from(rest, bytes[2]));
	check(buf_str(&text), bytes[0]);
	buf_done(&text);
	return 0;
}
