/* test_fetch.c - requests to elsewhere: what is sent, what is taken, and every way to end. */

#include "visit.h"

#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* 64 KiB of '0' */
static const char squeezed[] = "\037\213\010\000\000\000\000\000\002\003\355\301\201\000\000\000"
			       "\000\200\040\245\375\351\026\251\012\000\000\000\000\000\000\000"
			       "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
			       "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
			       "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
			       "\000\000\000\000\000\000\000\000\152\013\121\111\150\000\000\001"
			       "\000";

/* The ordinary */

static void
an_answer_comes_with_status_headers_and_body(void **state)
{
	static const char *const headers[] = {"Content-Type: application/json",
					      "X-Empty: ", "Authorization: Bearer x", NULL};
	struct visit v;

	visit_make(&v, *state,
		   (struct fetch_spec){.method = "POST",
				       .headers = headers,
				       .body = S("{\"a\":1}")},
		   "/echo");
	assert_int_equal(v.code, 0);
	assert_int_equal(v.status, 200);
	assert_int_equal(v.head_status, 200);
	assert_int_equal(v.heads, 1);
	assert_true(v.sent);
	assert_string_equal(buf_z(&v.header), "yes");
	assert_non_null(strstr(got(&v), "POST|/echo|"));
	assert_non_null(strstr(got(&v), "Content-Type=application/json|"));
	assert_non_null(strstr(got(&v), "X-Empty=|"));
	assert_non_null(strstr(got(&v), "Authorization=Bearer x|"));
	assert_non_null(strstr(got(&v), "|{\"a\":1}"));
	assert_null(strstr(got(&v), "Expect"));
	visit_done(&v);
}

static void
every_method_is_sent_as_it_is_named(void **state)
{
	static const struct {
		const char *method, *body, *expected;
	} cases[] = {
	    {"GET", NULL, "GET|/echo|"},    {"DELETE", NULL, "DELETE|/echo|"},
	    {"PUT", "it", "PUT|/echo|"},    {"POST", NULL, "POST|/echo|"},
	    {"PATCH", "x", "PATCH|/echo|"}, {"HEAD", NULL, ""},
	};
	struct visit v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fetch_spec spec = {.method = cases[i].method, .body = str_of(cases[i].body)};

		visit_make(&v, *state, spec, "/echo");
		assert_int_equal(v.code, 0);
		assert_int_equal(v.status, 200);
		assert_true(str_starts(buf_str(&v.got), str_of(cases[i].expected)));
		assert_null(strstr(got(&v), "x-www-form-urlencoded"));
		visit_done(&v);
	}
}

static void
connections_are_used_again(void **state)
{
	struct place *p = *state;
	struct visit v;

	for (int i = 0; i < 50; i++) {
		visit_make(&v, p, (struct fetch_spec){.method = "POST", .body = S("x")}, "/echo");
		assert_int_equal(v.code, 0);
		visit_done(&v);
	}
	assert_int_equal(http_connections(p->server), 1);
}

static void
a_rush_leaves_few_connections_behind(void **state)
{
	static struct visit all[4 * LIMIT_FETCH_KEPT];
	struct place *p = *state;
	struct visit v;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		visit_init(&all[i], p);
		visit_start(&all[i], (struct fetch_spec){.method = "GET"}, "/echo");
	}
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		visit_wait(&all[i]);
		assert_int_equal(all[i].code, 0);
		visit_done(&all[i]);
	}
	/* The server sees their ends while it answers these. */
	for (int i = 0; i < 8; i++) {
		visit_make(&v, p, (struct fetch_spec){.method = "GET"}, "/echo");
		visit_done(&v);
	}
	assert_true(http_connections(p->server) <= 2 * LIMIT_FETCH_KEPT);
}

static void
a_request_may_be_started_when_another_is_over(void **state)
{
	struct visit a, b;

	visit_init(&a, *state);
	visit_init(&b, *state);
	a.next = &b;
	visit_start(&a, (struct fetch_spec){.method = "GET"}, "/echo");
	visit_wait(&b);
	assert_int_equal(a.overs, 1);
	assert_int_equal(b.status, 200);
	visit_done(&a);
	visit_done(&b);
}

static void
redirects_are_not_followed(void **state)
{
	struct place *p = *state;
	struct visit v;

	visit_make(&v, p, (struct fetch_spec){.method = "GET"}, "/moved");
	assert_int_equal(v.code, 0);
	assert_int_equal(v.status, 302);
	assert_string_equal(got(&v), "there");
	assert_int_equal(p->requests, 1);
	visit_done(&v);
}

static void
proxies_of_the_environment_are_not_used(void **state)
{
	struct visit v;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	visit_make(&v, *state, (struct fetch_spec){.method = "GET"}, "/echo");
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	assert_int_equal(v.status, 200);
	visit_done(&v);
}

static void
localhost_is_tried_on_both_addresses(void **state)
{
	struct place *p = *state;
	char url[64];
	struct visit v;

	snprintf(url, sizeof(url), "http://%slocalhost:%u/echo", p->user, p->port);
	visit_make(&v, p, (struct fetch_spec){.method = "GET", .url = url}, "");
	assert_int_equal(v.code, 0);
	assert_int_equal(v.status, 200);
	visit_done(&v);
}

static void
answers_are_read_under_a_pause(void **state)
{
	struct place *p = *state;
	struct visit v;

	visit_init(&v, p);
	v.pause_after = 1;
	visit_start(&v, (struct fetch_spec){.method = "GET", .stall_ms = PATIENCE_MS}, "/flow");
	loop_run(p->loop);
	size_t before = v.got.len;
	assert_true(before > 0 && before < 4 * MIB);
	/* Turns of the loop go by, and nothing comes. */
	struct visit other;
	visit_make(&other, p, (struct fetch_spec){.method = "GET"}, "/echo");
	visit_done(&other);
	assert_int_equal(v.got.len, before);
	v.pause_after = 0;
	fetch_pause(v.fetch, false);
	visit_wait(&v);
	assert_int_equal(v.code, 0);
	assert_int_equal(v.got.len, 4 * MIB);
	visit_done(&v);
}

/* Too much, too slow, not there */

static void
a_body_past_its_limit_ends_the_request(void **state)
{
	struct visit v;

	visit_make(&v, *state, (struct fetch_spec){.method = "GET", .max_bytes = 1 * MIB}, "/flow");
	assert_int_equal(v.code, E_TOO_LARGE);
	assert_int_equal(v.status, 200);
	assert_true(v.got.len <= 1 * MIB);
	visit_done(&v);
}

static void
headers_past_their_limits_end_the_request(void **state)
{
	static const char *const paths[] = {"/many", "/long"};
	struct visit v;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		visit_make(&v, *state, (struct fetch_spec){.method = "GET"}, paths[i]);
		assert_int_equal(v.code, E_TOO_LARGE);
		assert_int_equal(v.heads, 0);
		assert_int_equal(v.got.len, 0);
		visit_done(&v);
	}
}

static void
silence_ends_the_request(void **state)
{
	struct visit v;

	visit_make(&v, *state, (struct fetch_spec){.method = "GET", .stall_ms = 20}, "/never");
	assert_int_equal(v.code, E_TIMEOUT);
	assert_int_equal(v.status, 0);
	assert_true(v.sent);
	visit_done(&v);
}

static void
a_server_that_is_not_there_was_sent_nothing(void **state)
{
	uint16_t port;
	int fd = deaf_port(&port);
	char url[64];
	struct visit v;

	snprintf(url, sizeof(url), "http://%s127.0.0.1:%u/", ((struct place *)*state)->user, port);
	visit_make(&v, *state, (struct fetch_spec){.method = "POST", .url = url, .body = S("x")},
		   "");
	assert_int_equal(v.code, E_UNAVAILABLE);
	assert_int_equal(v.status, 0);
	assert_int_equal(v.heads, 0);
	assert_false(v.sent);
	visit_done(&v);
	close(fd);
}

static void
what_cannot_be_sent_is_refused_at_once(void **state)
{
	static const struct {
		const char *method, *url, *header;
	} cases[] = {
	    {"GET", "file:///etc/passwd", "A: b"},
	    {"GET", "gopher://127.0.0.1/", "A: b"},
	    {"GET", "127.0.0.1", "A: b"},
	    {"GET", "", "A: b"},
	    {"GET", "http://", "A: b"},
	    {"G T", NULL, "A: b"},
	    {"", NULL, "A: b"},
	    {"GET", NULL, "A: b\r\nC: d"},
	    {"GET", NULL, "A: b\x01"},
	    {"GET", NULL, "A: b\x7f"},
	    {"GET", NULL, "no colon"},
	    {"GET", NULL, ": no name"},
	    {"GET", NULL, "A b: c"},
	    {"GET", NULL, "content-length: 3"},
	    {"GET", NULL, "Transfer-Encoding: chunked"},
	    {"GET", NULL, "Expect: 100-continue"},
	};
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *const headers[] = {cases[i].header, NULL};
		struct fetch_spec spec = {.method = cases[i].method,
					  .url = cases[i].url,
					  .headers = headers};
		struct err e = ERR_NONE;
		struct visit v;

		visit_init(&v, p);
		assert_int_equal(visit_try(&v, spec, "/echo", &e), E_VALIDATION);
		assert_int_equal(e.code, E_VALIDATION);
		visit_done(&v);
	}
	assert_int_equal(p->requests, 0);
}

/* Cancelling */

static void
a_request_can_be_cancelled_at_any_time(void **state)
{
	struct place *p = *state;
	struct visit v;

	/* before it began */
	visit_init(&v, p);
	visit_start(&v, (struct fetch_spec){.method = "GET"}, "/echo");
	v.in_call = true;
	fetch_cancel(v.fetch);
	fetch_cancel(v.fetch);
	v.in_call = false;
	visit_wait(&v);
	assert_int_equal(v.code, E_CANCELLED);
	assert_false(v.sent);
	assert_int_equal(p->requests, 0);
	visit_done(&v);
	/* at its headers */
	visit_init(&v, p);
	v.cancel_in_head = true;
	visit_start(&v, (struct fetch_spec){.method = "GET"}, "/flow");
	visit_wait(&v);
	assert_int_equal(v.code, E_CANCELLED);
	assert_int_equal(v.got.len, 0);
	visit_done(&v);
	/* in its body */
	visit_init(&v, p);
	v.cancel_in_piece = true;
	visit_start(&v, (struct fetch_spec){.method = "GET"}, "/flow");
	visit_wait(&v);
	assert_int_equal(v.code, E_CANCELLED);
	assert_true(v.got.len > 0);
	visit_done(&v);
	/* while it is paused */
	visit_init(&v, p);
	v.pause_after = 1;
	visit_start(&v, (struct fetch_spec){.method = "GET"}, "/flow");
	loop_run(p->loop);
	fetch_cancel(v.fetch);
	visit_wait(&v);
	assert_int_equal(v.code, E_CANCELLED);
	visit_done(&v);
}

/* Guards */

static bool
allows_nothing(const struct sockaddr *to, void *arg)
{
	(void)arg;
	assert_int_equal(to->sa_family, AF_INET);
	return false;
}

static void
an_address_that_is_not_allowed_is_not_connected_to(void **state)
{
	struct place *p = *state;
	struct visit v;

	visit_make(&v, p, (struct fetch_spec){.method = "GET", .allows = allows_nothing}, "/echo");
	assert_int_equal(v.code, E_PERMISSION);
	assert_false(v.sent);
	assert_int_equal(http_connections(p->server), 0);
	visit_done(&v);
}

static void
nor_is_a_connection_of_another_used(void **state)
{
	struct place *p = *state;
	struct visit v;

	visit_make(&v, p, (struct fetch_spec){.method = "GET"}, "/echo");
	assert_int_equal(v.status, 200);
	visit_done(&v);
	visit_make(&v, p, (struct fetch_spec){.method = "GET", .allows = allows_nothing}, "/echo");
	assert_int_equal(v.code, E_PERMISSION);
	assert_int_equal(p->requests, 1);
	visit_done(&v);
}

/* Of the place in `arg` alone. */
static bool
allows_one_port(const struct sockaddr *to, void *arg)
{
	const struct visit *v = arg;

	return ((const struct sockaddr_in *)(const void *)to)->sin_port == htons(v->place->port);
}

/* Curl asks once more when it is connected: about the same address, its port included. */
static void
test_7_an_address_that_is_allowed_by_its_port_is_reached(void **state)
{
	struct visit v;

	for (int i = 0; i < 2; i++) { /* anew, and kept */
		visit_make(&v, *state,
			   (struct fetch_spec){.method = "GET", .allows = allows_one_port},
			   "/echo");
		assert_int_equal(v.code, 0);
		assert_int_equal(v.status, 200);
		visit_done(&v);
	}
}

static void
what_is_no_answer_is_an_error(void **state)
{
	static const struct {
		struct str words;
		int code, status;
	} cases[] = {
	    {S("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), E_EXECUTION, 200},
	    {S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort"), E_EXECUTION,
	     200},
	    {S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), E_EXECUTION, 200},
	    {S("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip at all"), E_EXECUTION,
	     200},
	    {S("HTTP/1.1 200 OK\r\nContent-"), E_EXECUTION, 0},
	    {S("garbage\r\n\r\n"), E_EXECUTION, 0},
	    {S(""), E_EXECUTION, 0},
	};
	struct rude r;
	struct visit v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		r = (struct rude){.says = &cases[i].words, .count = 1};
		rude_open(&r);
		rude_visit(&r, &v, *state, (struct fetch_spec){.method = "POST"});
		assert_int_equal(v.code, cases[i].code);
		assert_int_equal(v.status, cases[i].status);
		assert_true(v.sent);
		visit_done(&v);
		rude_close(&r);
	}
}

static void
interim_answers_are_passed_over(void **state)
{
	static const struct str words =
	    S("HTTP/1.1 103 Early Hints\r\nX-Extra: early\r\n\r\n"
	      "HTTP/1.1 200 OK\r\nX-Extra: late\r\nContent-Length: 2\r\n\r\nok");
	struct rude r;
	struct visit v;

	r = (struct rude){.says = &words, .count = 1};
	rude_open(&r);
	rude_visit(&r, &v, *state, (struct fetch_spec){.method = "GET"});
	assert_int_equal(v.code, 0);
	assert_int_equal(v.heads, 1);
	assert_string_equal(buf_z(&v.header), "late");
	assert_string_equal(got(&v), "ok");
	visit_done(&v);
	rude_close(&r);
}

/* A kept connection ends with the second request read: it may have been done already. */
static void
check_sent_once(void **state, struct fetch_spec spec)
{
	static const struct str says[] = {S("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
					  S("")};
	struct rude r;
	struct visit v;

	r = (struct rude){.says = says, .count = 2};
	rude_open(&r);
	rude_visit(&r, &v, *state, spec);
	assert_int_equal(v.code, 0);
	visit_done(&v);
	rude_visit(&r, &v, *state, spec);
	assert_int_equal(v.code, E_EXECUTION);
	assert_true(v.sent);
	visit_done(&v);
	rude_close(&r);
	assert_int_equal(atomic_load(&r.requests), 2);
}

static void
a_post_is_never_sent_twice(void **state)
{
	check_sent_once(state, (struct fetch_spec){.method = "POST"});
}

static void
a_get_is(void **state)
{
	static const struct str says[] = {S("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
					  S(""),
					  S("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")};
	struct rude r;
	struct visit v;

	r = (struct rude){.says = says, .count = 3};
	rude_open(&r);
	for (int i = 0; i < 2; i++) {
		rude_visit(&r, &v, *state, (struct fetch_spec){.method = "GET"});
		assert_int_equal(v.code, 0);
		visit_done(&v);
	}
	rude_close(&r);
	assert_int_equal(atomic_load(&r.requests), 3);
}

/* Unless it is said that it does something. */
static void
test_7_what_is_said_to_be_sent_once_is(void **state)
{
	check_sent_once(state, (struct fetch_spec){.method = "GET", .once = true});
}

static void
decompressed_bytes_count(void **state)
{
	struct buf words = BUF_INIT(4096);
	struct rude r;
	struct visit v;

	buf_addf(&words, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
		 sizeof(squeezed) - 1);
	buf_add(&words, (struct str){squeezed, sizeof(squeezed) - 1});
	struct str one = buf_str(&words);
	r = (struct rude){.says = &one, .count = 1};
	rude_open(&r);
	rude_visit(&r, &v, *state, (struct fetch_spec){.method = "GET", .max_bytes = 65536});
	assert_int_equal(v.code, 0);
	assert_int_equal(v.got.len, 65536);
	visit_done(&v);
	rude_close(&r);
	r = (struct rude){.says = &one, .count = 1};
	rude_open(&r);
	rude_visit(&r, &v, *state, (struct fetch_spec){.method = "GET", .max_bytes = 65535});
	assert_int_equal(v.code, E_TOO_LARGE);
	visit_done(&v);
	rude_close(&r);
	buf_done(&words);
}

static void
too_many_at_once_are_refused(void **state)
{
	static struct visit all[LIMIT_FETCHES];
	struct place *p = *state;
	struct err e;
	struct visit more;

	for (size_t i = 0; i < LIMIT_FETCHES; i++) {
		visit_init(&all[i], p);
		visit_start(&all[i], (struct fetch_spec){.method = "GET"}, "/echo");
	}
	visit_init(&more, p);
	assert_int_equal(visit_try(&more, (struct fetch_spec){.method = "GET"}, "/echo", &e),
			 E_LIMIT);
	for (size_t i = 0; i < LIMIT_FETCHES; i++)
		fetch_cancel(all[i].fetch);
	for (size_t i = 0; i < LIMIT_FETCHES; i++) {
		visit_wait(&all[i]);
		visit_done(&all[i]);
	}
	visit_done(&more);
}

/* By ourselves, and by curl. */
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, place_open, place_close),                            \
	{                                                                                          \
#name " by curl", name, place_open_curl, place_close, NULL                         \
	}
#define TEST_CURL(name) cmocka_unit_test_setup_teardown(name, place_open_curl, place_close)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(an_answer_comes_with_status_headers_and_body),
	    TEST(every_method_is_sent_as_it_is_named),
	    TEST(connections_are_used_again),
	    TEST(a_rush_leaves_few_connections_behind),
	    TEST(a_request_may_be_started_when_another_is_over),
	    TEST(redirects_are_not_followed),
	    TEST(proxies_of_the_environment_are_not_used),
	    TEST(localhost_is_tried_on_both_addresses),
	    TEST(answers_are_read_under_a_pause),
	    TEST(a_body_past_its_limit_ends_the_request),
	    TEST(headers_past_their_limits_end_the_request),
	    TEST(silence_ends_the_request),
	    TEST(a_server_that_is_not_there_was_sent_nothing),
	    TEST(what_cannot_be_sent_is_refused_at_once),
	    TEST(a_request_can_be_cancelled_at_any_time),
	    TEST(an_address_that_is_not_allowed_is_not_connected_to),
	    TEST(nor_is_a_connection_of_another_used),
	    TEST(test_7_an_address_that_is_allowed_by_its_port_is_reached),
	    TEST(what_is_no_answer_is_an_error),
	    TEST(interim_answers_are_passed_over),
	    TEST(a_post_is_never_sent_twice),
	    TEST(a_get_is),
	    TEST(test_7_what_is_said_to_be_sent_once_is),
	    TEST_CURL(decompressed_bytes_count),
	    TEST(too_many_at_once_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
