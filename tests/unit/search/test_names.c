/* test_names.c - texts and their numbers. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "search/names.h"

static void
gives_each_text_one_number(void **state)
{
	struct names n;

	(void)state;
	names_init(&n, 10);
	uint32_t a = names_add(&n, S("a")), empty = names_add(&n, S(""));
	assert_int_not_equal(a, empty);
	assert_int_equal(names_add(&n, S("a")), a);
	assert_int_equal(names_find(&n, S("a")), a);
	assert_int_equal(names_find(&n, S("")), empty);
	assert_int_equal(names_find(&n, S("b")), NAMES_NONE);
	assert_true(str_is(names_text(&n, a), "a"));
	assert_int_equal(n.count, 2);
	names_done(&n);
}

static void
takes_no_more_than_its_maximum(void **state)
{
	struct names n;

	(void)state;
	names_init(&n, 1);
	assert_int_equal(names_add(&n, S("a")), 0);
	assert_int_equal(names_add(&n, S("b")), NAMES_NONE);
	assert_int_equal(names_add(&n, S("a")), 0);
	names_remove(&n, 0);
	assert_int_equal(names_add(&n, S("b")), 0);
	names_done(&n);
}

static void
uses_numbers_again(void **state)
{
	struct names n;

	(void)state;
	names_init(&n, 10);
	names_add(&n, S("a"));
	uint32_t b = names_add(&n, S("b"));
	names_add(&n, S("c"));
	names_remove(&n, b);
	assert_null(names_text(&n, b).ptr);
	assert_int_equal(names_find(&n, S("b")), NAMES_NONE);
	assert_int_equal(names_add(&n, S("d")), b);
	assert_int_equal(n.top, 3);
	names_done(&n);
}

#define KEYS 500

static void
agrees_with_a_plain_list_after_many_changes(void **state)
{
	uint32_t numbers[KEYS];
	struct names n;
	char text[16];

	(void)state;
	srand(1);
	names_init(&n, KEYS);
	for (size_t i = 0; i < KEYS; i++)
		numbers[i] = NAMES_NONE;
	for (int step = 0; step < 20000; step++) {
		size_t key = (size_t)rand() % KEYS;
		snprintf(text, sizeof(text), "key%zu", key);
		assert_int_equal(names_find(&n, str_of(text)), numbers[key]);
		if (numbers[key] == NAMES_NONE) {
			numbers[key] = names_add(&n, str_of(text));
			assert_true(numbers[key] < KEYS);
		} else {
			assert_true(str_is(names_text(&n, numbers[key]), text));
			names_remove(&n, numbers[key]);
			numbers[key] = NAMES_NONE;
		}
	}
	names_done(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gives_each_text_one_number),
	    cmocka_unit_test(takes_no_more_than_its_maximum),
	    cmocka_unit_test(uses_numbers_again),
	    cmocka_unit_test(agrees_with_a_plain_list_after_many_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
