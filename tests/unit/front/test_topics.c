/* test_topics.c - names with the server each belongs to, and no more than there is room for (issue
 * 5). */

#include "unit.h"

#include <stdio.h>

#include "front/topics.h"

static const struct str anybody = {NULL, 0};

static void
a_topic_is_found_by_its_name_and_its_server(void **state)
{
	struct topics ts;
	struct err e;

	(void)state;
	topics_init(&ts);
	assert_int_equal(topics_add(&ts, S("one"), S("mem://a"), &e), 0);
	assert_int_equal(topics_add(&ts, S("two"), S("mem://a"), &e), 0);
	struct topic *t = topics_find(&ts, S("two"), S("mem://a"));
	assert_true(t && str_is(t->server, "two") && str_is(t->name, "mem://a"));
	assert_true(str_is(topics_find(&ts, anybody, S("mem://a"))->server, "one"));
	assert_null(topics_find(&ts, S("three"), S("mem://a")));
	assert_null(topics_find(&ts, anybody, S("mem://")));
	topics_remove(&ts, t);
	assert_null(topics_find(&ts, S("two"), S("mem://a")));
	assert_int_equal(ts.list.len, 1);
	topics_done(&ts);
	assert_int_equal(ts.bytes, 0);
}

static void
there_is_an_end_to_them(void **state)
{
	struct topics ts;
	struct err e;
	char name[32];
	int code = 0;

	(void)state;
	topics_init(&ts);
	for (unsigned i = 0; code == 0; i++) {
		snprintf(name, sizeof(name), "mem://%u", i);
		code = topics_add(&ts, S("s"), str_of(name), &e);
		assert_true(ts.bytes <= LIMIT_MCP_URIS);
	}
	assert_int_equal(code, E_LIMIT);
	topics_remove(&ts, topic_of(list_first(&ts.list)));
	assert_int_equal(topics_add(&ts, S("s"), S("mem://x"), &e), 0);
	topics_done(&ts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_topic_is_found_by_its_name_and_its_server),
	    cmocka_unit_test(there_is_an_end_to_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
