/*
 * fuzz_sse.c - any bytes as a stream of events, and any text as an event: reading never fails
 * otherwise than by size, and one event written is one event read.
 *
 * clang -g -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Isrc tests/fuzz/fuzz_sse.c
 *       src/net/sse.c src/base/{buf,bug,err,str}.c
 */

#include "base/err.h"
#include "base/limits.h"
#include "net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* How many events there are, read in pieces. */
static unsigned
count_events(struct str bytes, size_t piece)
{
	struct sse_reader r;
	unsigned count = 0;

	sse_reader_init(&r, MIB);
	while (bytes.len) {
		size_t used;
		bool event;

		int rc = sse_reader_feed(&r, str_upto(bytes, piece), &used, &event);
		CHECK(rc == 0 || rc == E_TOO_LARGE);
		if (rc < 0)
			break;
		CHECK(used > 0);
		count += event;
		bytes = str_from(bytes, used);
	}
	sse_reader_done(&r);
	return count;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str all = {(const char *)bytes, size};
	struct buf out = BUF_INIT(4 * MIB);

	if (size > 64 * KIB)
		return 0;
	CHECK(count_events(all, size) == count_events(all, 1));
	size_t third = size / 3;
	sse_write(&out, str_upto(all, third), str_upto(str_from(all, third), third),
		  str_from(all, 2 * third));
	CHECK(!buf_failed(&out));
	CHECK(count_events(buf_str(&out), out.len) == 1);
	buf_done(&out);
	return 0;
}
