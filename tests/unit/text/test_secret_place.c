/* test_secret_place.c - 32 bytes at a time find the same places as one at a time. */

#include "unit.h"

#include <stdlib.h>

#include "text/secret_place.h"

#define TEXT 150

static bool
is_word(char c)
{
	return strchr("0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", c) && c;
}

/* Of two bytes nobody makes 32. */
static const char *
one_by_one(const char *at, const char *end, bool in_word)
{
	for (; at < end; at++) {
		if (secret_place(at, at + 1 < end ? at + 2 : end, in_word) == at)
			return at;
		in_word = is_word(*at);
	}
	return end;
}

static void
expect_the_same(const char *text, size_t len)
{
	for (const char *at = text; at < text + len; at++) {
		bool in_word = at > text && is_word(at[-1]);
		const char *found = secret_place(at, text + len, in_word);
		assert_ptr_equal(found, one_by_one(at, text + len, in_word));
		at = found;
	}
}

static void
every_pair_is_found_where_it_begins_a_word(void **state)
{
	char text[TEXT];

	(void)state;
	for (int pair = 0; pair < 65536; pair++) {
		memset(text, pair % 3 ? ' ' : 'q', sizeof(text));
		size_t at = 30 + (size_t)pair % 7; /* on both sides of a border, too */
		text[at] = (char)(pair >> 8);
		text[at + 1] = (char)pair;
		expect_the_same(text, sizeof(text));
	}
}

static void
any_text_has_the_same_places_both_ways(void **state)
{
	static const char letters[] = "ghp_ sk-=:\\%[AKIASG beEyJ\nxo.0";
	char text[TEXT];

	(void)state;
	srand(5);
	for (int round = 0; round < 20000; round++) {
		size_t len = (size_t)rand() % TEXT;
		for (size_t i = 0; i < len; i++)
			text[i] = round & 1 ? (char)rand()
					    : letters[(size_t)rand() % (sizeof(letters) - 1)];
		expect_the_same(text, len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_pair_is_found_where_it_begins_a_word),
	    cmocka_unit_test(any_text_has_the_same_places_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
