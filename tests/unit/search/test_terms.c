/* test_terms.c - postings, in all three forms they have. */

#include "unit.h"

#include <stdlib.h>

#include "search/inside.h"

/* The impact of a tool, 0 where it is none. */
static uint8_t
impact_in(const struct term *t, uint32_t tool)
{
	for (uint32_t i = 0; i < t->chunk_count; i++) {
		const struct chunk *c = &t->chunks[i];
		if (c->block != tool / BLOCK)
			continue;
		if (c->dense)
			return c->row[tool % BLOCK];
		const struct posting *p = c->cap ? c->list : c->few;
		for (uint16_t j = 0; j < c->count; j++)
			if (p[j].tool == tool % BLOCK)
				return p[j].impact;
	}
	return 0;
}

static void
a_list_becomes_a_row_and_a_list_again(void **state)
{
	struct term t = {0};

	(void)state;
	for (uint32_t tool = 0; tool <= DENSE; tool++)
		assert_true(term_add(&t, tool * 3, (uint8_t)(1 + tool % 255)));
	assert_int_equal(t.chunk_count, 1);
	assert_true(t.chunks[0].dense);
	assert_int_equal(impact_in(&t, 30), 11);
	for (uint32_t tool = DENSE; tool > 2; tool--)
		term_remove(&t, tool * 3);
	assert_false(t.chunks[0].dense);
	assert_int_equal(t.tools, 3);
	assert_int_equal(impact_in(&t, 6), 3);
	assert_int_equal(impact_in(&t, 9), 0);
	term_remove(&t, 9); /* is not there */
	assert_int_equal(t.tools, 3);
	for (uint32_t tool = 0; tool < 3; tool++)
		term_remove(&t, tool * 3);
	assert_int_equal(t.tools, 0);
	assert_int_equal(t.chunk_count, 0);
	term_done(&t);
}

static void
blocks_stay_in_order_whatever_comes_first(void **state)
{
	static const uint32_t blocks[] = {3, 1, 2, 0, 5};
	struct term t = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
		assert_true(term_add(&t, blocks[i] * BLOCK + 7, 9));
	for (uint32_t i = 1; i < t.chunk_count; i++)
		assert_true(t.chunks[i - 1].block < t.chunks[i].block);
	term_remove(&t, 2 * BLOCK + 7);
	assert_int_equal(t.chunk_count, 4);
	assert_int_equal(impact_in(&t, 5 * BLOCK + 7), 9);
	term_done(&t);
}

#define TOOLS (2 * BLOCK)

static void
agrees_with_a_plain_array_after_many_changes(void **state)
{
	static uint8_t plain[TOOLS];
	struct term t = {0};
	uint32_t count = 0;

	(void)state;
	srand(1);
	for (int step = 0; step < 20000; step++) {
		/* More come at first, more go later. */
		uint32_t tool = (uint32_t)rand() % TOOLS,
			 wanted = (uint32_t)rand() % 3 < (step < 8000 ? 2u : 1u);
		if (wanted && plain[tool] == 0) {
			plain[tool] = (uint8_t)(1 + rand() % 255);
			assert_true(term_add(&t, tool, plain[tool]));
			count++;
		} else if (!wanted && plain[tool] != 0) {
			plain[tool] = 0;
			term_remove(&t, tool);
			count--;
		}
		assert_int_equal(t.tools, count);
	}
	for (uint32_t i = 0; i < t.chunk_count; i++)
		for (uint32_t tool = 0; tool < BLOCK; tool++)
			assert_true(plain[t.chunks[i].block * BLOCK + tool] <= t.chunks[i].most);
	for (uint32_t tool = 0; tool < TOOLS; tool += 7)
		assert_int_equal(impact_in(&t, tool), plain[tool]);
	term_done(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_list_becomes_a_row_and_a_list_again),
	    cmocka_unit_test(blocks_stay_in_order_whatever_comes_first),
	    cmocka_unit_test(agrees_with_a_plain_array_after_many_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
