/* test_map.c - names find their things. */

#include "unit.h"

#include <stdio.h>

#include "base/err.h"
#include "base/map.h"

struct thing {
	char name[16];
};

static struct thing things[5000];

static struct str
name_of(int i)
{
	snprintf(things[i].name, sizeof(things[i].name), "thing-%d", i);
	return str_of(things[i].name);
}

static void
finds_what_was_put(void **state)
{
	struct map m;

	(void)state;
	map_init(&m, ARRAY_LEN(things));
	assert_null(map_find(&m, S("x")));
	assert_null(map_remove(&m, S("x")));
	for (int i = 0; i < 5000; i++)
		assert_int_equal(map_put(&m, name_of(i), &things[i]), 0);
	assert_int_equal(m.len, 5000);
	for (int i = 0; i < 5000; i++)
		assert_ptr_equal(map_find(&m, name_of(i)), &things[i]);
	assert_null(map_find(&m, S("thing-5000")));
	assert_null(map_find(&m, (struct str){NULL, 0}));
	assert_int_equal(map_put(&m, name_of(7), &things[8]), E_EXISTS);
	assert_int_equal(map_put(&m, S("one more"), &things[0]), E_LIMIT);
	map_done(&m);
	assert_int_equal(m.len, 0);
	assert_null(map_find(&m, S("thing-1")));
}

static void
forgets_what_was_removed(void **state)
{
	struct map m;
	size_t at = 0, count = 0;

	(void)state;
	map_init(&m, ARRAY_LEN(things));
	for (int i = 0; i < 5000; i++)
		assert_int_equal(map_put(&m, name_of(i), &things[i]), 0);
	for (int i = 0; i < 5000; i += 2)
		assert_ptr_equal(map_remove(&m, name_of(i)), &things[i]);
	assert_null(map_remove(&m, name_of(0)));
	for (int i = 0; i < 5000; i++)
		assert_ptr_equal(map_find(&m, name_of(i)), i % 2 ? &things[i] : NULL);
	for (struct thing *t; (t = map_each(&m, &at)); count++)
		assert_int_equal((t - things) % 2, 1);
	assert_int_equal(count, 2500);
	map_done(&m);
}

static void
coming_and_going_does_not_make_it_grow(void **state)
{
	struct map m;

	(void)state;
	map_init(&m, 10);
	for (int round = 0; round < 5000; round++) {
		assert_int_equal(map_put(&m, name_of(round), &things[round]), 0);
		if (round >= 10 - 1)
			assert_ptr_equal(map_remove(&m, name_of(round - 9)), &things[round - 9]);
	}
	assert_int_equal(m.len, 9);
	assert_true(m.cap <= 64);
	map_done(&m);
}

static void
the_empty_name_is_a_name(void **state)
{
	struct map m;

	(void)state;
	map_init(&m, 10);
	assert_int_equal(map_put(&m, S(""), &things[0]), 0);
	assert_int_equal(map_put(&m, S("x"), &things[1]), 0);
	assert_ptr_equal(map_remove(&m, S("x")), &things[1]);
	assert_ptr_equal(map_find(&m, S("")), &things[0]);
	assert_ptr_equal(map_remove(&m, S("")), &things[0]);
	assert_null(map_find(&m, S("")));
	map_done(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_what_was_put),
	    cmocka_unit_test(forgets_what_was_removed),
	    cmocka_unit_test(coming_and_going_does_not_make_it_grow),
	    cmocka_unit_test(the_empty_name_is_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
