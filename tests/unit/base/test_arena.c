/* test_arena.c - an arena gives up to its maximum and takes all back at once. */

#include "unit.h"

#include "base/arena.h"

static void
gives_zeroed_and_aligned_memory(void **state)
{
	struct arena *a = arena_new(100000);

	(void)state;
	for (size_t size = 1; size < 200; size++) {
		unsigned char *p = arena_alloc(a, size);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size); /* must not show up in the next one */
	}
	assert_true(arena_used(a) >= 199 * 200 / 2);
	arena_free(a);
}

static void
zeroes_as_much_as_is_asked_for(void **state)
{
	struct pair {
		char first[100], second[100];
	} * p;
	struct arena *a = arena_new(100000);

	(void)state;
	arena_recycle(true);
	memset(arena_alloc(a, 3000), 0xff, 3000);
	arena_free(a);
	a = arena_new(100000); /* of the same memory, if it was kept */
	assert_non_null(p = ARENA_NEW_UPTO(a, struct pair, second));
	for (size_t i = 0; i < sizeof(p->first); i++)
		assert_int_equal(p->first[i], 0);
	memset(p->second, 'x', sizeof(p->second)); /* it is there */
	assert_string_equal(arena_strz(a, S("text")), "text");
	arena_free(a);
	arena_recycle(false);
}

static void
stops_at_its_maximum(void **state)
{
	static const size_t maxima[] = {0, 1, 100, 4096, 5000, 100000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(maxima); i++) {
		struct arena *a = arena_new(maxima[i]);
		while (arena_alloc(a, 40))
			assert_true(arena_used(a) <= maxima[i]);
		assert_true(arena_used(a) <= maxima[i]);
		assert_null(arena_alloc(a, maxima[i] + 1));
		assert_null(arena_alloc(a, SIZE_MAX));
		arena_free(a);
	}
}

static void
gives_one_large_piece(void **state)
{
	struct arena *a = arena_new(1000000);
	char *p = arena_alloc(a, 900000);

	(void)state;
	assert_non_null(p);
	memset(p, 'x', 900000);
	assert_non_null(arena_alloc(a, 10));
	arena_free(a);
	arena_free(NULL);
}

static void
copies_and_formats_text(void **state)
{
	struct arena *a = arena_new(10000);
	struct str s = arena_str(a, S("abc"));

	(void)state;
	assert_true(str_is(s, "abc"));
	assert_int_equal(s.ptr[3], '\0');
	assert_string_equal(arena_strz(a, (struct str){NULL, 0}), "");
	assert_string_equal(arena_printf(a, "%s-%d", "seven", 7), "seven-7");
	arena_free(a);
	a = arena_new(1);
	assert_null(arena_str(a, S("abc")).ptr);
	assert_null(arena_strz(a, S("abc")));
	assert_null(arena_printf(a, "%d", 12345));
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gives_zeroed_and_aligned_memory),
	    cmocka_unit_test(zeroes_as_much_as_is_asked_for),
	    cmocka_unit_test(stops_at_its_maximum),
	    cmocka_unit_test(gives_one_large_piece),
	    cmocka_unit_test(copies_and_formats_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
