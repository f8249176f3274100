/* test_http_stream.c - answers without a length, slow readers, and leaving HTTP. */

#include "unit.h"

#include "house.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define UPGRADE "GET /wire HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n\r\n"

static void
a_stream_is_chunked_and_the_connection_goes_on(void **state)
{
	struct house *h = *state;
	struct answer a;
	int fd = raw_tcp(h);

	for (unsigned i = 1; i <= 3; i++) {
		raw_sendz(fd, GET("/pieces"));
		answer_read(fd, &a);
		assert_int_equal(a.status, 200);
		assert_string_equal(buf_z(&a.body), "one two three");
		assert_true(answer_has(&a, "Transfer-Encoding: chunked\r\n"));
		assert_true(answer_has(&a, "Content-Type: text/event-stream\r\n"));
		assert_true(answer_has(&a, "X-Content-Type-Options: nosniff\r\n"));
		assert_false(answer_has(&a, "Content-Length"));
		house_await(&h->closed, i);
		answer_done(&a);
	}
	raw_sendz(fd, GET("/hello"));
	assert_int_equal(raw_status(fd), 200);
	assert_int_equal(atomic_load(&h->closed), 3);
	close(fd);
}

static void
an_older_peer_gets_a_stream_that_ends_with_the_connection(void **state)
{
	struct house *h = *state;
	struct buf all = BUF_INIT(4096);
	int fd = raw_tcp(h);

	raw_sendz(fd, "GET /pieces HTTP/1.0\r\n\r\n");
	raw_rest(fd, &all);
	assert_true(str_ends(buf_str(&all), S("\r\n\r\none two three")));
	assert_null(strstr(buf_z(&all), "chunked"));
	house_await(&h->closed, 1);
	buf_done(&all);
	close(fd);
}

static void
head_of_a_stream_is_over_at_once(void **state)
{
	struct house *h = *state;
	struct buf all = BUF_INIT(4096);
	int fd = raw_tcp(h);

	raw_sendz(fd, "HEAD /flood HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	raw_rest(fd, &all);
	assert_true(str_ends(buf_str(&all), S("\r\n\r\n")));
	house_await(&h->closed, 1);
	assert_int_equal(atomic_load(&h->written), 0);
	buf_done(&all);
	close(fd);
}

/* The flood stops at a quarter of the limit; others are served; reading sets it going again. */
static void
a_slow_reader_is_bounded_and_disturbs_nobody(void **state)
{
	struct house *h = *state;
	struct buf got = BUF_INIT(64 * MIB);
	int slow = raw_tcp_small(h), other = raw_tcp(h);

	raw_sendz(slow, GET("/flood"));
	house_await(&h->refused, 1);
	unsigned rounds = 0, written = 0;
	while (written != atomic_load(&h->written) && rounds++ < 10000) {
		written = atomic_load(&h->written);
		house_connections(h);
		raw_sendz(other, GET("/hello"));
		assert_int_equal(raw_status(other), 200);
	}
	assert_true(atomic_load(&h->most_queued) <= LIMIT_HTTP_QUEUED / 4 + 16 * KIB);
	assert_true(atomic_load(&h->most_queued) > LIMIT_HTTP_QUEUED / 8);
	while (atomic_load(&h->written) == written) {
		char piece[65536];

		assert_true(recv(slow, piece, sizeof(piece), 0) > 0);
	}
	assert_int_equal(atomic_load(&h->closed), 0);
	close(slow);
	house_await(&h->closed, 1);
	close(other);
	house_await_connections(h, 0);
	assert_int_equal(atomic_load(&h->closed), 1);
	buf_done(&got);
}

static void
a_reader_that_has_stopped_is_closed(void **state)
{
	struct http_limits limits = {.stall_ms = 30};
	struct house *h = house_open(&limits);
	int fd = raw_tcp_small(h);

	(void)state;
	raw_sendz(fd, GET("/flood"));
	house_await(&h->closed, 1);
	house_await_connections(h, 0);
	close(fd);
	house_close(h);
}

static void
job_write_and_end(struct house *h)
{
	if (!h->stream)
		return;
	http_stream_write(h->stream, S("late"));
	http_stream_end(h->stream);
	http_stream_end(h->stream);
}

static void
ending_may_cross_the_peers_leaving(void **state)
{
	struct house *h = *state;

	for (unsigned i = 1; i <= 100; i++) {
		int fd = raw_unix(h);

		raw_sendz(fd, GET("/flood"));
		house_await(&h->requests, i);
		close(fd);
		house_do(h, job_write_and_end);
		house_await_connections(h, 0);
		assert_int_equal(atomic_load(&h->closed), i);
	}
}

/* Wires */

static void
expect_bytes(int fd, const char *z)
{
	for (const char *p = z; *p; p++) {
		char c;

		assert_int_equal(recv(fd, &c, 1, 0), 1);
		assert_int_equal(c, *p);
	}
}

static int
upgraded(struct house *h, const char *early)
{
	struct answer a;
	int fd = raw_unix(h);

	raw_sendz(fd, UPGRADE);
	raw_sendz(fd, early);
	answer_read(fd, &a);
	assert_int_equal(a.status, 101);
	assert_true(answer_has(&a, "Connection: Upgrade\r\nUpgrade: mcp\r\n"));
	assert_false(answer_has(&a, "Connection: close"));
	answer_done(&a);
	return fd;
}

static void
a_wire_carries_bytes_both_ways(void **state)
{
	struct house *h = *state;
	int fd = upgraded(h, "");

	raw_sendz(fd, "GET / HTTP/1.1\r\n\r\n"); /* only bytes now */
	expect_bytes(fd, "<GET / HTTP/1.1\r\n\r\n>");
	raw_sendz(fd, "again");
	expect_bytes(fd, "<again>");
	close(fd);
	house_await(&h->closed, 1);
	assert_int_equal(atomic_load(&h->requests), 1);
}

static void
bytes_that_came_with_the_request_are_not_lost(void **state)
{
	struct house *h = *state;
	struct buf got = BUF_INIT(4096);
	int fd = raw_unix(h);

	raw_sendz(fd, UPGRADE "early");
	shutdown(fd, SHUT_WR);
	raw_rest(fd, &got);
	assert_true(str_ends(buf_str(&got), S("\r\n\r\n<early>")));
	house_await(&h->closed, 1);
	buf_done(&got);
	close(fd);
}

#define EARLY_BYTES (150 * KIB) /* more than may be pending; the socket takes it at once */

static int early_fd;

/* On the loop's thread, so that all of it is there when the request is read. */
static void
job_send_early(struct house *h)
{
	static char text[sizeof(UPGRADE) - 1 + EARLY_BYTES];

	(void)h;
	memset(text, 'x', sizeof(text));
	memcpy(text, UPGRADE, sizeof(UPGRADE) - 1);
	CHECK(send(early_fd, text, sizeof(text), MSG_DONTWAIT) == (ssize_t)sizeof(text));
}

static void
much_that_came_with_the_request_is_not_lost_either(void **state)
{
	struct house *h = *state;
	struct buf got = BUF_INIT(4 * EARLY_BYTES);
	size_t count = 0;

	early_fd = raw_unix(h);
	house_await_connections(h, 1);
	house_do(h, job_send_early);
	shutdown(early_fd, SHUT_WR);
	raw_rest(early_fd, &got);
	assert_true(str_starts(buf_str(&got), S("HTTP/1.1 101 ")));
	for (const char *p = strstr(buf_z(&got), "\r\n\r\n"); *p; p++)
		count += *p == 'x';
	assert_int_equal(count, EARLY_BYTES);
	house_await(&h->closed, 1);
	buf_done(&got);
	close(early_fd);
}

static void
closing_a_wire_sends_what_is_queued(void **state)
{
	struct house *h = *state;
	int fd = upgraded(h, "");

	raw_sendz(fd, "bye");
	expect_bytes(fd, "bye to you");
	assert_true(raw_at_end(fd));
	house_await(&h->closed, 1);
	close(fd);
}

static bool overrun;

static void
job_overrun_wire(struct house *h)
{
	static char line[MIB];

	overrun = false;
	for (int i = 0; i < 100 && !overrun; i++)
		overrun = !wire_write(h->wire, (struct str){line, sizeof(line)});
}

static void
a_wire_whose_peer_is_too_far_behind_is_closed(void **state)
{
	struct house *h = *state;
	int fd = upgraded(h, "");

	house_do(h, job_overrun_wire);
	assert_true(overrun);
	house_await(&h->closed, 1);
	close(fd);
}

static struct wire *wires[3];

static void
job_keep_wire(struct house *h)
{
	for (size_t i = 0; i < ARRAY_LEN(wires); i++)
		if (!wires[i]) {
			wires[i] = h->wire;
			return;
		}
}

/* All in one turn of the loop: nothing is sent in between. */
static void
job_fill_wires(struct house *h)
{
	static const size_t sizes[ARRAY_LEN(wires)] = {400 * KIB, 500 * KIB, 200 * KIB};
	static char line[500 * KIB];

	(void)h;
	for (size_t i = 0; i < ARRAY_LEN(wires); i++)
		CHECK(wire_write(wires[i], (struct str){line, sizes[i]}));
	wire_write(wires[1], S("nobody will see it"));
}

/* Not the one that brings the drop, but the one that has left most unread (issue 5). */
static void
of_all_wires_the_furthest_behind_is_closed(void **state)
{
	struct http_limits limits = {.wires_bytes = MIB};
	struct house *h = house_open(&limits);
	struct buf got = BUF_INIT(MIB);
	int fds[ARRAY_LEN(wires)];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wires); i++) {
		wires[i] = NULL;
		fds[i] = upgraded(h, "");
		house_do(h, job_keep_wire);
	}
	house_do(h, job_fill_wires);
	house_await(&h->closed, 1);
	raw_rest(fds[1], &got);
	assert_int_equal(got.len, 0);
	for (size_t i = 0; i < ARRAY_LEN(wires); i += 2) {
		raw_sendz(fds[i], "bye");
		raw_rest(fds[i], &got);
	}
	assert_int_equal(got.len, 600 * KIB + 2 * strlen("bye to you"));
	house_await(&h->closed, 3);
	for (size_t i = 0; i < ARRAY_LEN(wires); i++)
		close(fds[i]);
	buf_done(&got);
	house_close(h);
}

int
main(void)
{
#define IN_HOUSE(f) cmocka_unit_test_setup_teardown(f, house_setup, house_teardown)
	const struct CMUnitTest tests[] = {
	    IN_HOUSE(a_stream_is_chunked_and_the_connection_goes_on),
	    IN_HOUSE(an_older_peer_gets_a_stream_that_ends_with_the_connection),
	    IN_HOUSE(head_of_a_stream_is_over_at_once),
	    IN_HOUSE(a_slow_reader_is_bounded_and_disturbs_nobody),
	    cmocka_unit_test(a_reader_that_has_stopped_is_closed),
	    IN_HOUSE(ending_may_cross_the_peers_leaving),
	    IN_HOUSE(a_wire_carries_bytes_both_ways),
	    IN_HOUSE(bytes_that_came_with_the_request_are_not_lost),
	    IN_HOUSE(much_that_came_with_the_request_is_not_lost_either),
	    IN_HOUSE(closing_a_wire_sends_what_is_queued),
	    IN_HOUSE(a_wire_whose_peer_is_too_far_behind_is_closed),
	    cmocka_unit_test(of_all_wires_the_furthest_behind_is_closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
