/* test_route.c - paths find their row of the table, and nothing else does. */

#include "unit.h"

#include "front/visit.h"

static void
a_name_in_braces_takes_one_segment(void **state)
{
	(void)state;
	assert_true(route_matches("/sessions/{id}/turns/{turn}", S("/sessions/a/turns/b")));
	assert_false(route_matches("/sessions/{id}/turns/{turn}", S("/sessions/a/turns")));
	assert_false(route_matches("/sessions/{id}/turns/{turn}", S("/sessions/a/turns/b/c")));
	assert_false(route_matches("/sessions/{id}", S("/sessions/")));
	assert_false(route_matches("/sessions/{id}", S("/sessions/a/")));
	assert_false(route_matches("/sessions", S("/sessions/")));
	assert_false(route_matches("/sessions", S("//sessions")));
	assert_false(route_matches("/sessions", S("sessions")));
	assert_true(route_matches("/", S("/")));
	assert_false(route_matches("/", S("")));
	assert_false(route_matches("/", (struct str){NULL, 0}));
}

static void
values_are_found_by_their_name(void **state)
{
	const char *pattern = "/sessions/{id}/turns/{turn}";
	struct str path = S("/sessions/s1/turns/t2");

	(void)state;
	assert_true(str_is(route_param(pattern, path, "id"), "s1"));
	assert_true(str_is(route_param(pattern, path, "turn"), "t2"));
	assert_null(route_param(pattern, path, "call").ptr);
	assert_null(route_param(pattern, path, "sessions").ptr);
}

static int
find(const char *method, const char *path, struct buf *allow)
{
	const struct route *route;

	buf_reset(allow);
	return route_find(str_of(method), str_of(path), &route, allow);
}

static void
what_is_not_there_and_what_is_not_taken_are_told_apart(void **state)
{
	struct buf allow = BUF_INIT(128);

	(void)state;
	assert_int_equal(find("GET", "/health", &allow), 0);
	assert_int_equal(find("HEAD", "/health", &allow), 0);
	assert_int_equal(find("GET", "/nothing", &allow), E_NO_ROUTE);
	assert_int_equal(find("PUT", "/sessions", &allow), E_METHOD);
	assert_true(str_is(buf_str(&allow), "GET, POST"));
	assert_int_equal(find("GET", "/stop", &allow), E_METHOD);
	assert_true(str_is(buf_str(&allow), "POST"));
	buf_done(&allow);
}

static void
answering_a_question_is_for_persons_wherever_it_is_asked(void **state)
{
	static const char *const paths[] = {"/sessions/s/turns/t/confirmations/q",
					    "/confirmations/q"};
	struct buf allow = BUF_INIT(128);
	const struct route *route;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_int_equal(route_find(S("POST"), str_of(paths[i]), &route, &allow), 0);
		assert_int_equal(route->access, ACCESS_PERSON);
	}
	buf_done(&allow);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_name_in_braces_takes_one_segment),
	    cmocka_unit_test(values_are_found_by_their_name),
	    cmocka_unit_test(what_is_not_there_and_what_is_not_taken_are_told_apart),
	    cmocka_unit_test(answering_a_question_is_for_persons_wherever_it_is_asked),
	};
	return cmocka_run_group_tests_name("route", tests, NULL, NULL);
}
