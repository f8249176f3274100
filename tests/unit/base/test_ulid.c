/* test_ulid.c - ids only go up. */

#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/ulid.h"

static void
each_is_greater_than_the_one_before(void **state)
{
	char before[ULID_LEN + 1], now[ULID_LEN + 1];

	(void)state;
	ulid_new(before);
	for (int i = 0; i < 20000; i++) {
		ulid_new(now);
		assert_true(strcmp(now, before) > 0);
		assert_true(ulid_valid(str_of(now)));
		memcpy(before, now, sizeof(now));
	}
}

#define EACH 5000

static void *
take_many(void *arg)
{
	char(*out)[ULID_LEN + 1] = arg;

	for (int i = 0; i < EACH; i++)
		ulid_new(out[i]);
	return NULL;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
no_two_threads_get_the_same(void **state)
{
	static char ids[4 * EACH][ULID_LEN + 1];
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_create(&threads[i], NULL, take_many, ids[i * EACH]);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	qsort(ids, ARRAY_LEN(ids), sizeof(ids[0]), by_text);
	for (size_t i = 1; i < ARRAY_LEN(ids); i++)
		assert_string_not_equal(ids[i - 1], ids[i]);
}

static void
knows_an_id_when_it_sees_one(void **state)
{
	(void)state;
	assert_true(ulid_valid(S("01ARZ3NDEKTSV4RRFFQ69G5FAV")));
	assert_true(ulid_valid(S("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")));
	assert_false(ulid_valid(S("8ZZZZZZZZZZZZZZZZZZZZZZZZZ"))); /* more than 128 bits */
	assert_false(ulid_valid(S("01ARZ3NDEKTSV4RRFFQ69G5FA")));
	assert_false(ulid_valid(S("01ARZ3NDEKTSV4RRFFQ69G5FAVX")));
	assert_false(ulid_valid(S("01arz3ndektsv4rrffq69g5fav")));
	assert_false(ulid_valid(S("01ARZ3NDEKTSV4RRFFQ69G5FAU"))); /* no U, I, L, O */
	assert_false(ulid_valid(S("01ARZ3NDEKTSV4RRFFQ69G5F\0V")));
	assert_false(ulid_valid((struct str){NULL, 0}));
}

static void
carries_its_prefix(void **state)
{
	struct id id = id_new("sess_"), cut = id_new("much_too_long_");

	(void)state;
	assert_true(str_starts(id_str(&id), S("sess_")));
	assert_true(ulid_valid(str_from(id_str(&id), 5)));
	assert_int_equal(id_str(&cut).len, 8 + ULID_LEN);
}

/* Last, for it takes the process far ahead of the clock. */
static void
goes_on_from_an_earlier_run(void **state)
{
	char now[ULID_LEN + 1];

	(void)state;
	ulid_advance(S("7000000000ZZZZZZZZZZZZZZZY"));
	ulid_new(now);
	assert_string_equal(now, "7000000000ZZZZZZZZZZZZZZZZ");
	ulid_new(now);
	assert_string_equal(now, "70000000010000000000000000");
	ulid_advance(S("01ARZ3NDEKTSV4RRFFQ69G5FAV")); /* older: nothing happens */
	ulid_advance(S("nonsense"));
	ulid_new(now);
	assert_string_equal(now, "70000000010000000000000001");
}

static void
random_bytes_differ(void **state)
{
	unsigned char a[1000] = {0}, b[1000] = {0};

	(void)state;
	random_bytes(a, sizeof(a));
	random_bytes(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(a + 900, (unsigned char[100]){0}, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_is_greater_than_the_one_before),
	    cmocka_unit_test(no_two_threads_get_the_same),
	    cmocka_unit_test(knows_an_id_when_it_sees_one),
	    cmocka_unit_test(carries_its_prefix),
	    cmocka_unit_test(random_bytes_differ),
	    cmocka_unit_test(goes_on_from_an_earlier_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
