/* test_http.c - requests and answers over real sockets: the ordinary, the late and the too much. */

#include "unit.h"

#include "house.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

/* One request on a connection of its own; the body of the answer is compared when given. */
static void
expect(struct house *h, const char *request, int status, const char *body)
{
	struct answer a;
	int fd = raw_tcp(h);

	raw_sendz(fd, request);
	answer_read(fd, &a);
	assert_int_equal(a.status, status);
	if (body)
		assert_string_equal(buf_z(&a.body), body);
	answer_done(&a);
	close(fd);
}

static void
answers_get_and_post(void **state)
{
	expect(*state, GET("/hello"), 200, "hello");
	expect(*state, "POST /echo?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody", 200,
	       "POST|/echo|a=1|body");
}

static void
every_answer_has_its_length_and_the_security_headers(void **state)
{
	struct answer a;
	int fd = raw_tcp(*state);

	raw_sendz(fd, GET("/echo"));
	answer_read(fd, &a);
	assert_true(answer_has(&a, "\r\nContent-Length: 11\r\n"));
	assert_true(answer_has(&a, "\r\nContent-Type: text/plain\r\n"));
	assert_true(answer_has(&a, "\r\nX-Content-Type-Options: nosniff\r\n"));
	assert_true(answer_has(&a, "\r\nCache-Control: no-store\r\n"));
	assert_true(answer_has(&a, "\r\nReferrer-Policy: no-referrer\r\n"));
	assert_true(answer_has(&a, "\r\nX-Extra: yes\r\n"));
	assert_false(answer_has(&a, "Connection: close"));
	answer_done(&a);
	close(fd);
}

static void
paths_are_decoded_or_absent(void **state)
{
	expect(*state, GET("/a%20b%2fc?x=%41"), 200, "GET|/a b/c|x=%41|");
	expect(*state, GET("/a%2"), 200, "GET|||");
	expect(*state, GET("/a%zz"), 200, "GET|||");
	expect(*state, GET("/a%00b"), 200, "GET|||");
	expect(*state, GET("/a%ff"), 200, "GET|||");
	expect(*state, GET("/a#b"), 200, "GET|||");
	expect(*state, GET("http://x/a"), 200, "GET|||");
	expect(*state, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 200, "OPTIONS|||");
}

static void
headers_and_queries_are_found(void **state)
{
	expect(
	    *state,
	    "GET /headers?p=1&q=a%26b+c&q=2 HTTP/1.1\r\nHost: x\r\nx-A: \t one \t\r\nX-a:\r\n\r\n",
	    200, "2 of x-a, first [one], q [a&b c]");
	expect(*state, GET("/headers?qq=1"), 200, "0 of x-a, first []");
	expect(*state, GET("/headers?q=%0"), 200, "0 of x-a, first []");
	expect(*state, GET("/headers?q"), 200, "0 of x-a, first [], q []");
}

static void
one_connection_serves_many_requests(void **state)
{
	struct house *h = *state;
	int fd = raw_tcp(h);

	for (int i = 0; i < 500; i++) {
		raw_sendz(fd, GET("/hello"));
		assert_int_equal(raw_status(fd), 200);
	}
	assert_int_equal(house_connections(h), 1);
	close(fd);
}

static void
job_answer(struct house *h)
{
	http_reply(h->kept, 201, "text/plain", S("done"), NULL);
}

static void
pipelined_requests_are_answered_in_order(void **state)
{
	struct house *h = *state;
	int fd = raw_tcp(h);
	struct answer a;

	raw_sendz(fd, GET("/later") GET("/first") GET("/second"));
	house_await(&h->requests, 1);
	house_connections(h);
	assert_int_equal(atomic_load(&h->requests), 1); /* one at a time */
	house_do(h, job_answer);
	assert_int_equal(raw_status(fd), 201);
	answer_read(fd, &a);
	assert_string_equal(buf_z(&a.body), "GET|/first||");
	answer_done(&a);
	answer_read(fd, &a);
	assert_string_equal(buf_z(&a.body), "GET|/second||");
	answer_done(&a);
	close(fd);
}

/* Far more than is read ahead: the rest waits in the kernel and nothing is lost. */
static void
a_long_pipeline_is_bounded_and_complete(void **state)
{
	struct house *h = *state;
	struct buf all = BUF_INIT(4 * MIB);
	int fd = raw_tcp(h);
	const unsigned count = 6000;

	for (unsigned i = 0; i < count; i++)
		buf_addf(&all, "POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
	pid_t child = fork();
	if (child == 0) {
		raw_send(fd, buf_str(&all));
		_exit(0);
	}
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(raw_status(fd), 204);
	assert_int_equal(atomic_load(&h->requests), count);
	assert_int_equal(waitpid(child, NULL, 0), child);
	buf_done(&all);
	close(fd);
}

static struct {
	int fd;
	struct str text;
} pipelined;

static void
job_send_pipelined(struct house *h)
{
	(void)h;
	raw_send(pipelined.fd, pipelined.text);
}

/* Both are in the socket before the first is read, and the first ends where a read does: so the
 * second is answered before the connection has had the turn that the first left it. */
static void
test_5_a_long_answer_right_behind_a_long_request(void **state)
{
	struct house *h = *state;
	struct buf all = BUF_INIT(MIB);
	struct answer a;

	buf_addz(&all, "POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: ");
	buf_addf(&all, "%zu\r\n\r\n", 128 * KIB - all.len - strlen("123456\r\n\r\n"));
	while (all.len < 128 * KIB)
		buf_addc(&all, 'x');
	buf_addz(&all, GET("/huge"));
	pipelined.fd = raw_unix(h);
	pipelined.text = buf_str(&all);
	house_await_connections(h, 1);
	house_do(h, job_send_pipelined);
	assert_int_equal(raw_status(pipelined.fd), 204);
	answer_read(pipelined.fd, &a);
	assert_int_equal(a.body.len, HUGE_BYTES);
	answer_done(&a);
	buf_done(&all);
	close(pipelined.fd);
}

static const char chunked_request[] =
    "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    "\r\n4;ext=1\r\nWiki\r\n5\r\npedia\r\n0\r\nTrail: er\r\n\r\n";

static void
chunks_are_put_together(void **state)
{
	expect(*state, chunked_request, 200, "POST|/echo||Wikipedia");
}

static void
requests_may_be_split_at_every_byte(void **state)
{
	struct house *h = *state;
	const char *both[] = {chunked_request, GET("/hello")};
	int fd = raw_tcp(h);

	for (size_t which = 0; which < ARRAY_LEN(both); which++)
		for (size_t at = 1; at < strlen(both[which]); at++) {
			raw_send(fd, (struct str){both[which], at});
			house_connections(h); /* the loop had a turn */
			raw_sendz(fd, both[which] + at);
			assert_int_equal(raw_status(fd), 200);
		}
	for (const char *p = chunked_request; *p; p++) {
		raw_send(fd, (struct str){p, 1});
		house_connections(h);
	}
	assert_int_equal(raw_status(fd), 200);
	for (const char *p = "GET / RTSP/1.0\r\n"; *p; p++) {
		raw_send(fd, (struct str){p, 1});
		house_connections(h);
	}
	assert_int_equal(raw_status(fd), 505);
	close(fd);
}

static void
head_has_the_length_but_no_body(void **state)
{
	struct answer a;
	int fd = raw_tcp(*state);

	raw_sendz(fd, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
	shutdown(fd, SHUT_WR);
	a.head = BUF_INIT(4096);
	raw_rest(fd, &a.head);
	assert_true(answer_has(&a, "Content-Length: 5\r\n"));
	assert_true(str_ends(buf_str(&a.head), S("\r\n\r\n")));
	buf_done(&a.head);
	close(fd);
}

static void
no_content_has_no_length(void **state)
{
	struct answer a;
	int fd = raw_tcp(*state);

	raw_sendz(fd, GET("/none") GET("/hello"));
	answer_read(fd, &a);
	assert_int_equal(a.status, 204);
	assert_false(answer_has(&a, "Content-Length"));
	answer_done(&a);
	assert_int_equal(raw_status(fd), 200);
	close(fd);
}

static void
closes_where_the_request_says_so(void **state)
{
	const char *requests[] = {
	    "GET /hello HTTP/1.0\r\n\r\n",
	    "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	    "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
	    "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		struct answer a;
		int fd = raw_tcp(*state);

		raw_sendz(fd, requests[i]);
		answer_read(fd, &a);
		assert_int_equal(a.status, 200);
		assert_true(answer_has(&a, "Connection: close\r\n"));
		assert_true(raw_at_end(fd));
		answer_done(&a);
		close(fd);
	}
}

static void
who_expects_to_continue_is_told_so(void **state)
{
	int fd = raw_tcp(*state);

	raw_sendz(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
		      "Expect: 100-continue\r\n\r\n");
	assert_int_equal(raw_status(fd), 100);
	raw_sendz(fd, "ok");
	assert_int_equal(raw_status(fd), 200);
	close(fd);
}

static void
who_is_refused_by_the_head_is_not_asked_for_the_body(void **state)
{
	static const char *const heads[] = {
	    "Content-Length: 8000000\r\n\r\n",
	    "Content-Length: 8000000\r\nExpect: 100-continue\r\n\r\n",
	    "Transfer-Encoding: chunked\r\n\r\n",
	    "Content-Length: 2\r\n\r\n{}GET /hello HTTP/1.1\r\nHost: x\r\n\r\n",
	    "\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n",
	};
	struct house *h = *state;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct answer a;
		int fd = raw_tcp(h);

		raw_sendz(fd, "POST /private HTTP/1.1\r\nHost: x\r\n");
		raw_sendz(fd, heads[i]);
		answer_read(fd, &a);
		assert_int_equal(a.status, 403);
		assert_string_equal(buf_z(&a.body), "private");
		assert_true(answer_has(&a, "Connection: close\r\n"));
		assert_true(raw_at_end(fd));
		answer_done(&a);
		close(fd);
	}
	assert_int_equal(atomic_load(&h->requests), 0);
	house_await_connections(h, 0);
}

/* What is refused, with one answer and then the end. */

static char *
repeated(const char *before, char c, size_t times, const char *after)
{
	char *z = malloc(strlen(before) + times + strlen(after) + 1);

	assert_non_null(z);
	strcpy(z, before);
	memset(z + strlen(before), c, times);
	strcpy(z + strlen(before) + times, after);
	return z;
}

static void
expect_refusal(struct house *h, const char *request, int status)
{
	unsigned before = atomic_load(&h->requests);
	struct answer a;
	int fd = raw_tcp(h);

	raw_sendz(fd, request);
	answer_read(fd, &a);
	if (a.status != status)
		print_error("%d instead of %d for %.200s\n", a.status, status, request);
	assert_int_equal(a.status, status);
	assert_true(answer_has(&a, "Connection: close\r\n"));
	assert_true(answer_has(&a, "Content-Type: application/json\r\n"));
	assert_true(str_starts(buf_str(&a.body), S("{\"error\":{\"code\":\"")));
	assert_true(raw_at_end(fd));
	assert_int_equal(atomic_load(&h->requests), before);
	answer_done(&a);
	close(fd);
}

#define POST_WITH(headers) "POST / HTTP/1.1\r\nHost: x\r\n" headers "\r\n"

static const struct refused {
	int status;
	const char *request;
} refused[] = {
    {400, "nonsense\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\n\r\n"}, /* no Host */
    {400, "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"},
    {400, "GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n"},
    {400, "GET / HTTP/1.1\nHost: x\n\n"},
    {400, "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"},
    {400, "GET / HTTP/1.1\r\nHost: x\r\nA: b\001c\r\n\r\n"},
    {400, POST_WITH("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n") "0\r\n\r\n"},
    {400, POST_WITH("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n") "0\r\n\r\n"},
    {400, POST_WITH("Content-Length: 1\r\nContent-Length: 1\r\n") "a"},
    {400, POST_WITH("Content-Length: +1\r\n") "a"},
    {400, POST_WITH("Content-Length: -1\r\n") "a"},
    {400, POST_WITH("Content-Length: 0x1\r\n") "a"},
    {400, POST_WITH("Content-Length: 1_0\r\n") "a"},
    {400, POST_WITH("Content-Length: 1,1\r\n") "a"},
    {400, POST_WITH("Content-Length: 99999999999999999999\r\n") "a"},
    {400, POST_WITH("Transfer-Encoding: chunked\r\n") "g\r\n"},
    {400, POST_WITH("Transfer-Encoding: chunked\r\n") "ffffffffffffffff1\r\n"},
    {400, POST_WITH("Transfer-Encoding: chunked\r\n") "1\r\nab\r\n"},
    {400, "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {501, POST_WITH("Transfer-Encoding: gzip, chunked\r\n") "0\r\n\r\n"},
    {501, POST_WITH("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n") "0\r\n\r\n"},
    {413, POST_WITH("Content-Length: 1000000000000\r\n")},
    {413, POST_WITH("Transfer-Encoding: chunked\r\n") "3fffffff\r\n"},
    {413, POST_WITH("Transfer-Encoding: chunked\r\n") "ffffffffffffffff\r\n"},
    {415, POST_WITH("Content-Encoding: gzip\r\nContent-Length: 1\r\n") "a"},
    {417, POST_WITH("Expect: miracles\r\nContent-Length: 1\r\n") "a"},
    {505, "GET / RTSP/1.1\r\nHost: x\r\n\r\n"},
    {505, "SOURCE / ICE/1.0\r\nHost: x\r\n\r\n"},
    {505, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"},
};

static void
malformed_requests_are_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		expect_refusal(*state, refused[i].request, refused[i].status);
}

static void
too_long_things_are_refused(void **state)
{
	struct too_long {
		const char *before;
		char c;
		size_t times;
		const char *after;
		int status;
	} cases[] = {
	    {"GET /", 'a', LIMIT_HTTP_FIELD, " HTTP/1.1\r\nHost: x\r\n\r\n", 414},
	    {"GET /", 'a', 10 * MIB, "", 414},
	    {"GET / HTTP/1.1\r\nHost: x\r\nA: ", 'a', LIMIT_HTTP_FIELD + 1, "\r\n\r\n", 431},
	    {"GET / HTTP/1.1\r\nHost: x\r\n", 'a', LIMIT_HTTP_FIELD + 1, ": b\r\n\r\n", 431},
	    {"GET / HTTP/1.1\r\nHost: x\r\nA: ", ' ', 200 * KIB, "b\r\n\r\n", 431},
	    {"", '\n', 200 * KIB, GET("/"), 431},
	    {POST_WITH("Transfer-Encoding: chunked\r\n") "1;", 'a', 40 * KIB, "\r\na\r\n", 431},
	    {POST_WITH("Transfer-Encoding: chunked\r\n") "0\r\nA: ", 'a', 40 * KIB, "\r\n\r\n",
	     431},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *z = repeated(cases[i].before, cases[i].c, cases[i].times, cases[i].after);
		expect_refusal(*state, z, cases[i].status);
		free(z);
	}
}

static void
headers_add_up(void **state)
{
	struct buf many = BUF_INIT(MIB), fat = BUF_INIT(MIB);

	buf_addz(&many, "GET / HTTP/1.1\r\nHost: x\r\n");
	buf_addz(&fat, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (int i = 0; i < LIMIT_HTTP_HEADERS - 1; i++)
		buf_addz(&many, "A: b\r\n");
	for (int i = 0; i < 5; i++)
		buf_addf(&fat, "A: %0*d\r\n", 8000, 0);
	struct buf enough = BUF_INIT(MIB);
	buf_add(&enough, buf_str(&many));
	buf_addz(&enough, "\r\n");
	expect(*state, buf_z(&enough), 200, NULL);
	buf_addz(&many, "A: b\r\n\r\n");
	expect_refusal(*state, buf_z(&many), 431);
	buf_addz(&fat, "\r\n");
	expect_refusal(*state, buf_z(&fat), 431);
	buf_done(&many);
	buf_done(&fat);
	buf_done(&enough);
}

static void
a_body_at_the_limit_is_taken_and_one_beyond_is_not(void **state)
{
	struct http_limits limits = {.body_bytes = 10};
	struct house *h = house_open(&limits);

	(void)state;
	expect(h, POST_WITH("Content-Length: 10\r\n") "0123456789", 200, "POST|/||0123456789");
	expect_refusal(h, POST_WITH("Content-Length: 11\r\n"), 413);
	expect(h,
	       POST_WITH("Transfer-Encoding: chunked\r\n") "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n",
	       200, "POST|/||0123456789");
	expect_refusal(h, POST_WITH("Transfer-Encoding: chunked\r\n") "5\r\n01234\r\n6\r\n", 413);
	house_close(h);
}

/* An upload that goes on after its refusal must not destroy the answer by a reset. */
static void
the_refusal_reaches_a_peer_that_keeps_sending(void **state)
{
	struct house *h = *state;
	int fd = raw_tcp(h);
	char *body = repeated(POST_WITH("Content-Length: 20000000\r\n"), 'a', 20000000, "");

	raw_sendz(fd, body);
	assert_int_equal(raw_status(fd), 413);
	free(body);
	close(fd);
}

/* Deadlines */

static void
slow_requests_are_told_and_idle_ones_closed(void **state)
{
	struct http_limits limits = {.header_ms = 30, .body_ms = 30, .idle_ms = 30};
	struct house *h = house_open(&limits);
	const char *slow[] = {"G", "\r\n", "GET / HTTP/1.1\r\nHo",
			      POST_WITH("Content-Length: 5\r\n") "abc",
			      POST_WITH("Transfer-Encoding: chunked\r\n") "5\r\nabc"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		expect_refusal(h, slow[i], 408);
	int fd = raw_tcp(h);
	assert_true(raw_at_end(fd));
	close(fd);
	fd = raw_tcp(h);
	raw_sendz(fd, GET("/hello"));
	assert_int_equal(raw_status(fd), 200);
	assert_true(raw_at_end(fd));
	close(fd);
	house_close(h);
}

static void
a_handler_may_take_longer_than_any_deadline_of_the_door(void **state)
{
	struct http_limits limits = {.header_ms = 1, .body_ms = 1, .idle_ms = 1, .stall_ms = 1};
	struct house *h = house_open(&limits);
	int fd = -1;

	(void)state;
	while (atomic_load(&h->requests) == 0) { /* such a door is often too quick for us */
		if (fd >= 0)
			close(fd);
		house_await_connections(h, 0);
		fd = raw_tcp(h);
		raw_sendz(fd, GET("/later"));
		house_connections(h);
	}
	for (uint64_t start = clock_mono_ms(); clock_mono_ms() - start < 20;)
		assert_int_equal(house_connections(h), 1);
	house_do(h, job_answer);
	assert_int_equal(raw_status(fd), 201);
	close(fd);
	house_close(h);
}

static void
a_peer_that_reads_nothing_is_closed(void **state)
{
	struct http_limits limits = {.stall_ms = 30};
	struct house *h = house_open(&limits);
	struct buf got = BUF_INIT(HUGE_BYTES + MIB);
	int fd = raw_tcp_small(h);

	(void)state;
	raw_sendz(fd, GET("/huge"));
	house_await(&h->requests, 1);
	house_await_connections(h, 0);
	raw_rest(fd, &got);
	assert_true(got.len < HUGE_BYTES);
	buf_done(&got);
	close(fd);
	house_close(h);
}

/* Answers later, and peers that do not wait */

static void
a_handler_may_answer_later(void **state)
{
	struct house *h = *state;
	int fd = raw_unix(h);

	raw_sendz(fd, GET("/later"));
	house_await(&h->requests, 1);
	house_do(h, job_answer);
	assert_int_equal(raw_status(fd), 201);
	close(fd);
	house_await_connections(h, 0);
	assert_int_equal(atomic_load(&h->gone), 0);
}

static void
a_peer_that_leaves_before_the_answer_is_reported_once(void **state)
{
	struct house *h = *state;
	int (*const doors[])(struct house *) = {raw_tcp, raw_unix};

	for (unsigned i = 0; i < ARRAY_LEN(doors); i++) {
		int fd = doors[i](h);

		raw_sendz(fd, GET("/later"));
		house_await(&h->requests, i + 1);
		close(fd);
		house_await_connections(h, 0);
		assert_int_equal(atomic_load(&h->gone), i + 1);
	}
}

static void
job_answer_and_check(struct house *h)
{
	if (h->kept)
		http_reply(h->kept, 200, NULL, S("nobody hears"), NULL);
}

/* The peer's leaving and the answer may meet in the same turn: never both, never neither. */
static void
an_answer_may_cross_the_peers_leaving(void **state)
{
	struct house *h = *state;

	for (unsigned i = 1; i <= 200; i++) {
		int fd = raw_unix(h);

		raw_sendz(fd, GET("/later"));
		house_await(&h->requests, i);
		close(fd);
		house_do(h, job_answer_and_check);
		house_await_connections(h, 0);
	}
	assert_true(atomic_load(&h->gone) <= 200);
}

static void
a_big_answer_arrives_whole(void **state)
{
	int fds[] = {raw_tcp(*state), raw_unix(*state)};

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		struct answer a;

		raw_sendz(fds[i], GET("/big") GET("/hello"));
		answer_read(fds[i], &a);
		assert_int_equal(a.body.len, BIG_BYTES);
		answer_done(&a);
		assert_int_equal(raw_status(fds[i]), 200);
		close(fds[i]);
	}
}

static void
test_7_a_query_can_be_read_whole(void **state)
{
	static const char *const fine[] = {"", "a=1&b=%20+&c", "&&a=1&", "tenant=acme&agent=b%6ft"};
	static const char *const wrong[] = {"a=%",         "a=1&b=%2", "a=%zz",     "a=x%00",
					    "a=1&b=2&a=1", "a&a",      "ten%61nt=x"};
	struct buf many = BUF_INIT(4 * KIB);
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		if (http_query_check(&(struct http_request){.query = str_of(fine[i])}, &e) < 0)
			fail_msg("'%s': %s", fine[i], err_text(&e));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (http_query_check(&(struct http_request){.query = str_of(wrong[i])}, &e) !=
		    E_BAD_REQUEST)
			fail_msg("taken: '%s'", wrong[i]);
	for (int i = 0; i <= LIMIT_HTTP_QUERY; i++)
		buf_addf(&many, "k%d=&", i);
	assert_int_equal(http_query_check(&(struct http_request){.query = buf_str(&many)}, &e),
			 E_BAD_REQUEST);
	buf_done(&many);
}

int
main(void)
{
#define IN_HOUSE(f) cmocka_unit_test_setup_teardown(f, house_setup, house_teardown)
	const struct CMUnitTest tests[] = {
	    IN_HOUSE(answers_get_and_post),
	    IN_HOUSE(every_answer_has_its_length_and_the_security_headers),
	    IN_HOUSE(paths_are_decoded_or_absent),
	    IN_HOUSE(headers_and_queries_are_found),
	    IN_HOUSE(one_connection_serves_many_requests),
	    IN_HOUSE(pipelined_requests_are_answered_in_order),
	    IN_HOUSE(a_long_pipeline_is_bounded_and_complete),
	    IN_HOUSE(chunks_are_put_together),
	    IN_HOUSE(requests_may_be_split_at_every_byte),
	    IN_HOUSE(head_has_the_length_but_no_body),
	    IN_HOUSE(no_content_has_no_length),
	    IN_HOUSE(closes_where_the_request_says_so),
	    IN_HOUSE(who_expects_to_continue_is_told_so),
	    IN_HOUSE(who_is_refused_by_the_head_is_not_asked_for_the_body),
	    IN_HOUSE(malformed_requests_are_refused),
	    IN_HOUSE(too_long_things_are_refused),
	    IN_HOUSE(headers_add_up),
	    cmocka_unit_test(a_body_at_the_limit_is_taken_and_one_beyond_is_not),
	    IN_HOUSE(the_refusal_reaches_a_peer_that_keeps_sending),
	    cmocka_unit_test(slow_requests_are_told_and_idle_ones_closed),
	    cmocka_unit_test(a_handler_may_take_longer_than_any_deadline_of_the_door),
	    cmocka_unit_test(a_peer_that_reads_nothing_is_closed),
	    IN_HOUSE(a_handler_may_answer_later),
	    IN_HOUSE(a_peer_that_leaves_before_the_answer_is_reported_once),
	    IN_HOUSE(an_answer_may_cross_the_peers_leaving),
	    IN_HOUSE(a_big_answer_arrives_whole),
	    IN_HOUSE(test_5_a_long_answer_right_behind_a_long_request),
	    cmocka_unit_test(test_7_a_query_can_be_read_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
