/* test_spare.c - blocks are whole, and never given to two. */

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/spare.h"

#define BLOCKS 600 /* more than are kept of one size */

static const size_t sizes[] = {0, 1, 127, 128, 129, 256, 700, 1024, 1025, 2047, 2048, 2049, 70000};

static void
is_filled(const unsigned char *p, size_t size, unsigned char with)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(p[i], with);
}

/* Each is written to the end while all others live: two in one place would show. */
static void
every_block_is_its_own(void **state)
{
	static unsigned char *blocks[BLOCKS];
	bool keep = *state != NULL;

	if (keep)
		spare_keep(true);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < BLOCKS; i++) {
			size_t size = sizes[i % ARRAY_LEN(sizes)];
			assert_non_null(blocks[i] = spare_get(size));
			memset(blocks[i], (int)(i % 251), size);
		}
		for (size_t i = 0; i < BLOCKS; i++) {
			size_t size = sizes[i % ARRAY_LEN(sizes)];
			is_filled(blocks[i], size, (unsigned char)(i % 251));
			spare_put(blocks[i], size);
		}
	}
	if (keep)
		spare_keep(false);
}

static void
new_ones_are_zeroed(void **state)
{
	(void)state;
	spare_keep(true);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		unsigned char *p = spare_get(sizes[i]);
		assert_non_null(p);
		memset(p, 0xff, sizes[i]);
		spare_put(p, sizes[i]);
		assert_non_null(p = spare_new(sizes[i]));
		is_filled(p, sizes[i], 0);
		spare_put(p, sizes[i]);
	}
	spare_keep(false);
	spare_put(NULL, 128);
}

/* Whoever took a buffer's memory frees it as ever; small buffers leave none that is too small. */
static void
buffers_share_them(void **state)
{
	(void)state;
	spare_keep(true);
	for (size_t max = 0; max < 1100; max += 31) {
		struct buf small = BUF_INIT(max), large = BUF_INIT(5000);
		for (size_t i = 0; i < max; i++)
			buf_addc(&small, 's');
		for (size_t i = 0; i < 4000; i++)
			buf_addc(&large, 'l');
		assert_false(buf_failed(&small) || buf_failed(&large));
		is_filled((unsigned char *)large.ptr, large.len, 'l');
		buf_trim(&small);
		buf_done(&small);
		free(buf_take(&large).ptr);
	}
	spare_keep(false);
}

/* Kept or new, a large one has all the bytes it was asked for, and is nobody else's. */
static void
large_ones_come_again_whole(void **state)
{
	static const size_t large[] = {SPARE_LARGE, 1 << 20, 3 << 20, 300001, 12 << 20, 1 << 20};
	unsigned char *at[ARRAY_LEN(large)];
	struct buf text = BUF_INIT(4 << 20);

	(void)state;
	spare_keep(true);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_LEN(large); i++) {
			assert_non_null(at[i] = spare_get(large[i]));
			memset(at[i], (int)i + 1, large[i]);
		}
		for (size_t i = 0; i < ARRAY_LEN(large); i++) {
			assert_true(at[i][0] == i + 1 && at[i][large[i] - 1] == i + 1);
			spare_put(at[i], large[i]);
		}
		while (!buf_failed(&text))
			buf_add(&text, S("holdfast"));
		assert_int_equal(text.len, 4 << 20);
		for (size_t i = 0; i < text.len; i += 8)
			assert_memory_equal(text.ptr + i, "holdfast", 8);
		buf_done(&text);
		if (round == 1)
			spare_tidy();
	}
	spare_keep(false);
	assert_null(spare_find(SPARE_LARGE));
}

int
main(void)
{
	static bool keeping = true;
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_block_is_its_own),
	    {"every_block_is_its_own, kept", every_block_is_its_own, NULL, NULL, &keeping},
	    cmocka_unit_test(new_ones_are_zeroed),
	    cmocka_unit_test(buffers_share_them),
	    cmocka_unit_test(large_ones_come_again_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
