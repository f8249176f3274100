/* test_access.c - Host, Origin, token and media type let in whom they should. */

#include "unit.h"

#include <unistd.h>

#include "front/visit.h"
#include "minder/proc.h"

#define PORT 8421

static struct proc peer; /* the process behind a local request */

struct asked {
	const char *name;
	const char *value;
};

/* A request over TCP with these headers. */
static struct http_request
request(const struct asked *asked, struct http_header *headers)
{
	struct http_request r = {.port = PORT, .headers = headers};

	for (; asked[r.header_count].name; r.header_count++)
		headers[r.header_count] = (struct http_header){str_of(asked[r.header_count].name),
							       str_of(asked[r.header_count].value)};
	return r;
}

static int
origin_of(const struct asked *asked)
{
	struct http_header headers[4];
	struct http_request r = request(asked, headers);
	struct front f = {0};
	struct err e;

	return access_origin(&f, &r, &e);
}
#define ORIGIN(...) origin_of((const struct asked[]){__VA_ARGS__, {0}})

static void
only_our_own_names_with_our_port_are_a_host(void **state)
{
	static const char *const ours[] = {"127.0.0.1:8421", "localhost:8421", "LocalHost:8421",
					   "[::1]:8421"};
	static const char *const others[] = {
	    "evil.test:8421",
	    "0.0.0.0:8421",
	    "localhost",
	    "localhost:80",
	    "localhost.:8421",
	    "me@localhost:8421",
	    "::1:8421",
	    "[::1%25lo]:8421",
	    "localhost:08421",
	    "localhost:8421.evil",
	    "127.0.0.1:8421@evil",
	    "",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		assert_int_equal(ORIGIN({"Host", ours[i]}), 0);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_equal(ORIGIN({"Host", others[i]}), E_FORBIDDEN);
	assert_int_equal(ORIGIN({"Accept", "*/*"}), E_FORBIDDEN);
	assert_int_equal(ORIGIN({"Host", ours[0]}, {"host", ours[0]}), E_FORBIDDEN);
}

static void
a_web_page_of_another_origin_is_refused(void **state)
{
	static const char *const others[] = {
	    "null",
	    "http://evil.test",
	    "https://localhost:8421",
	    "http://localhost:9999",
	    "http://localhost:8421.evil.test",
	    "http://localhost:8421/",
	    "localhost:8421",
	    "",
	};
	struct asked host = {"Host", "localhost:8421"};

	(void)state;
	assert_int_equal(ORIGIN(host, {"Origin", "http://localhost:8421"}), 0);
	assert_int_equal(ORIGIN(host, {"Origin", "http://127.0.0.1:8421"}), 0);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_equal(ORIGIN(host, {"Origin", others[i]}), E_FORBIDDEN);
	assert_int_equal(ORIGIN(host, {"Origin", "http://localhost:8421"},
				{"Origin", "http://localhost:8421"}),
			 E_FORBIDDEN);
}

static void
a_host_that_is_listened_on_is_a_name_too(void **state)
{
	struct front f = {0};

	(void)state;
	assert_false(access_names_us(&f, S("10.0.0.7:8421"), PORT));
	assert_int_equal(front_allow_host(&f, "10.0.0.7"), 0);
	assert_int_equal(front_allow_host(&f, "fd00::7"), 0);
	assert_int_equal(front_allow_host(&f, "0.0.0.0"), 0);
	assert_true(access_names_us(&f, S("10.0.0.7:8421"), PORT));
	assert_true(access_names_us(&f, S("[fd00::7]:8421"), PORT));
	assert_false(access_names_us(&f, S("0.0.0.0:8421"), PORT));
	assert_true(access_names_us(&f, S("localhost"), 80));
}

static void
the_socket_takes_no_requests_of_web_pages(void **state)
{
	struct http_header headers[4];
	struct http_request r = request((const struct asked[]){{"Host", "x"}, {0}}, headers);
	struct front f = {0};
	struct err e;

	(void)state;
	r.local = true;
	assert_int_equal(access_origin(&f, &r, &e), 0);
	r = request((const struct asked[]){{"Host", "x"}, {"Origin", "http://x"}, {0}}, headers);
	r.local = true;
	assert_int_equal(access_origin(&f, &r, &e), E_FORBIDDEN);
}

static int
enter(enum access access, bool local, const struct asked *asked)
{
	static const struct route open = {.access = ACCESS_OPEN};
	struct route route = open;
	struct http_header headers[4];
	struct http_request r = request(asked, headers);
	static struct gateway gw; /* nobody shares it */
	struct front f = {.gw = &gw, .token = (char[]){"s3cret"}};
	struct visit v = {.front = &f, .http = &r, .route = &route};
	struct err e;

	route.access = access;
	r.local = local;
	if (local) {
		r.peer_pid = peer.pid;
		r.peer_start = peer.start;
	}
	return access_route(&v, &e);
}
#define TCP(access, ...) enter(access, false, (const struct asked[]){__VA_ARGS__, {0}})

static void
only_the_right_token_opens_over_tcp(void **state)
{
	static const char *const wrong[] = {
	    "Bearer s3cre", "Bearer s3crets", "Bearer ", "Bearer",
	    "Basic s3cret", "s3cret",         "",        "Bearer S3CRET"};
	struct asked right = {"Authorization", "Bearer s3cret"};

	(void)state;
	assert_int_equal(TCP(ACCESS_TOKEN, right), 0);
	assert_int_equal(TCP(ACCESS_PERSON, right), 0);
	assert_int_equal(TCP(ACCESS_TOKEN, {"authorization", "bearer s3cret"}), 0);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(TCP(ACCESS_TOKEN, {"Authorization", wrong[i]}), E_UNAUTHORIZED);
	assert_int_equal(TCP(ACCESS_TOKEN, right, right), E_UNAUTHORIZED);
	assert_int_equal(TCP(ACCESS_TOKEN, {"X-Token", "s3cret"}), E_UNAUTHORIZED);
	assert_int_equal(TCP(ACCESS_OPEN, {"X-Token", "s3cret"}), 0);
}

static void
some_routes_are_for_the_socket_alone(void **state)
{
	const struct asked none[] = {{0}};

	(void)state;
	assert_true(proc_read(getpid(), &peer));
	assert_int_equal(TCP(ACCESS_LOCAL, {"Authorization", "Bearer s3cret"}), E_FORBIDDEN);
	assert_int_equal(enter(ACCESS_LOCAL, true, none), 0);
	assert_int_equal(enter(ACCESS_TOKEN, true, none), 0);
	assert_int_equal(enter(ACCESS_PERSON, true, none), 0);
	peer.pid = 0; /* somebody who cannot be told from a tool call */
	assert_int_equal(enter(ACCESS_TOKEN, true, none), 0);
	assert_int_equal(enter(ACCESS_PERSON, true, none), E_FORBIDDEN);
}

/* The process that connected has gone, and its descent with it. */
static void
who_has_the_pid_of_the_peer_by_now_does_not_speak_for_it(void **state)
{
	const struct asked none[] = {{0}};

	(void)state;
	assert_true(proc_read(getpid(), &peer));
	peer.start--;
	assert_int_equal(enter(ACCESS_TOKEN, true, none), 0);
	assert_int_equal(enter(ACCESS_PERSON, true, none), E_FORBIDDEN);
}

static int
media_of(const char *type, bool yaml)
{
	struct http_header header = {S("Content-Type"), str_of(type)};
	struct http_request r = {.headers = &header, .header_count = type != NULL, .body = S("{}")};
	struct err e;

	return access_media(&r, yaml, &e);
}

static int
media(const char *type)
{
	return media_of(type, false);
}

static void
a_body_must_say_that_it_is_json(void **state)
{
	struct http_request none = {0};
	struct err e;

	(void)state;
	assert_int_equal(media("application/json"), 0);
	assert_int_equal(media("Application/JSON; charset=utf-8"), 0);
	assert_int_equal(media("text/plain"), E_MEDIA_TYPE);
	assert_int_equal(media("application/x-www-form-urlencoded"), E_MEDIA_TYPE);
	assert_int_equal(media("application/jsonp"), E_MEDIA_TYPE);
	assert_int_equal(media(NULL), E_MEDIA_TYPE);
	assert_int_equal(access_media(&none, false, &e), 0);
	assert_int_equal(media("application/yaml"), E_MEDIA_TYPE);
	assert_int_equal(media_of("application/yaml", true), 0); /* envelopes */
	assert_int_equal(media_of("application/json", true), 0);
	assert_int_equal(media_of("text/plain", true), E_MEDIA_TYPE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_our_own_names_with_our_port_are_a_host),
	    cmocka_unit_test(a_web_page_of_another_origin_is_refused),
	    cmocka_unit_test(a_host_that_is_listened_on_is_a_name_too),
	    cmocka_unit_test(the_socket_takes_no_requests_of_web_pages),
	    cmocka_unit_test(only_the_right_token_opens_over_tcp),
	    cmocka_unit_test(some_routes_are_for_the_socket_alone),
	    cmocka_unit_test(who_has_the_pid_of_the_peer_by_now_does_not_speak_for_it),
	    cmocka_unit_test(a_body_must_say_that_it_is_json),
	};
	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
