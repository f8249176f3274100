/* test_meaning.c - the word table, and which way words point. */

#include "unit.h"

#include "search/meaning_table.h"

#define ROWS 10000

static void
finds_every_word_of_the_table(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < ROWS; row++) {
		uint32_t begin = meaning_begins[row];
		struct str word = {meaning_text + begin, meaning_begins[row + 1] - begin};
		assert_int_equal(meaning_find(word), row);
	}
	assert_int_equal(meaning_find(S("get")), 0);
	assert_int_equal(meaning_find(S("")), MEANING_NONE);
	assert_int_equal(meaning_find(S("xyzzyx")), MEANING_NONE);
}

static struct meaning
meaning_of_word(const char *stem)
{
	struct meaning_sum sum = {0};
	uint32_t row = meaning_find(str_of(stem));

	assert_int_not_equal(row, MEANING_NONE);
	meaning_add(&sum, row, 16);
	return meaning_of(&sum);
}

static int32_t
nearness(const char *a, const char *b)
{
	struct meaning x = meaning_of_word(a), y = meaning_of_word(b);

	return meaning_product(&x, &y);
}

static void
related_words_are_nearer_than_others(void **state)
{
	(void)state;
	assert_true(nearness("delet", "remov") > 2 * nearness("delet", "weather"));
	assert_true(nearness("weather", "forecast") > 2 * nearness("weather", "user"));
}

static void
all_vectors_have_the_same_length(void **state)
{
	const int32_t square = MEANING_LENGTH * MEANING_LENGTH;

	(void)state;
	for (uint32_t row = 0; row < ROWS; row++) {
		struct meaning_sum sum = {0};
		meaning_add(&sum, row, 32);
		struct meaning m = meaning_of(&sum);
		assert_in_range(meaning_product(&m, &m), square * 95 / 100, square * 105 / 100);
	}
}

static void
no_words_point_nowhere(void **state)
{
	struct meaning m = meaning_of(&(struct meaning_sum){0}), get = meaning_of_word("get");

	(void)state;
	assert_int_equal(meaning_product(&m, &get), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_every_word_of_the_table),
	    cmocka_unit_test(related_words_are_nearer_than_others),
	    cmocka_unit_test(all_vectors_have_the_same_length),
	    cmocka_unit_test(no_words_point_nowhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
