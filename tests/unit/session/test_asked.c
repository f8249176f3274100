/* test_asked.c - which query a tool that is run was shown for. */

#include "unit.h"

#include "base/limits.h"
#include "session/asked.h"

static void
check(struct asked *a, const char *tool, const char *query)
{
	struct str got = asked_take(a, str_of(tool));

	assert_int_equal(got.ptr != NULL, query != NULL);
	if (query)
		assert_memory_equal(got.ptr, query, got.len);
}

static void
the_last_query_counts_and_once(void **state)
{
	struct asked *a = asked_new();

	(void)state;
	check(a, "x:y", NULL);
	asked_begin(a, S("first"));
	asked_shown(a, S("x:y"));
	asked_shown(a, S("x:z"));
	asked_begin(a, S("second"));
	asked_shown(a, S("x:y"));
	check(a, "x:y", "second");
	check(a, "x:y", "first");
	check(a, "x:y", NULL);
	check(a, "x:z", "first");
	check(a, "x:other", NULL);
	asked_free(a);
	asked_free(NULL);
}

static void
what_is_long_ago_is_forgotten(void **state)
{
	struct asked *a = asked_new();
	char query[2 * LIMIT_ASKED_BYTES];

	(void)state;
	asked_begin(a, S("old"));
	asked_shown(a, S("x:y"));
	memset(query, 'q', sizeof(query));
	for (int i = 0; i < ASKED_LATELY; i++)
		asked_begin(a, (struct str){query, sizeof(query)});
	check(a, "x:y", NULL);
	asked_shown(a, S("x:y"));
	assert_int_equal(asked_take(a, S("x:y")).len, LIMIT_ASKED_BYTES);
	asked_begin(a, S("many"));
	for (int i = 0; i < 2 * ASKED_SHOWN; i++)
		asked_shown(a, S("x:z"));
	check(a, "x:z", "many");
	asked_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_last_query_counts_and_once),
	    cmocka_unit_test(what_is_long_ago_is_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
