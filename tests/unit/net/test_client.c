/* test_client.c - the blocking client against our own server and against odd ones. */

#include "unit.h"

#include "house.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/limits.h"
#include "net/client.h"

static struct client *
connected(struct house *h)
{
	struct client *c;
	struct err e;

	assert_int_equal(client_connect_unix(h->path, &c, &e), 0);
	return c;
}

static void
expect(struct client *c, const char *method, const char *target, struct str sent, int status,
       const char *text)
{
	struct buf body = BUF_INIT(BIG_BYTES);
	struct err e = ERR_NONE;
	int got = 0;

	if (client_request(c, method, target, sent, &got, &body, &e) < 0)
		print_error("%s (%s)\n", e.text, e.inside);
	assert_int_equal(e.code, 0);
	assert_int_equal(got, status);
	if (text)
		assert_string_equal(buf_z(&body), text);
	buf_done(&body);
}

static void
exchanges_follow_each_other_on_one_connection(void **state)
{
	struct house *h = *state;
	struct client *c = connected(h);

	for (int i = 0; i < 50; i++) {
		expect(c, "GET", "/hello", (struct str){0}, 200, "hello");
		expect(c, "POST", "/echo?a=1", S("{}"), 200, "POST|/echo|a=1|{}");
		expect(c, "POST", "/echo", S(""), 200, "POST|/echo||");
		expect(c, "HEAD", "/hello", (struct str){0}, 200, "");
		expect(c, "DELETE", "/none", (struct str){0}, 204, "");
		expect(c, "GET", "/pieces", (struct str){0}, 200, "one two three");
	}
	assert_int_equal(house_connections(h), 1);
	client_free(c);
}

static void
a_connection_the_server_gave_up_is_made_again(void **state)
{
	struct http_limits limits = {.idle_ms = 20};
	struct house *h = house_open(&limits);
	struct client *c = connected(h);

	(void)state;
	for (int i = 0; i < 3; i++) {
		expect(c, "GET", "/hello", (struct str){0}, 200, "hello");
		house_await_connections(h, 0);
	}
	client_free(c);
	house_close(h);
}

static void
a_big_answer_fits_or_is_refused(void **state)
{
	struct house *h = *state;
	struct client *c = connected(h);
	struct buf small = BUF_INIT(1000), big = BUF_INIT(BIG_BYTES);
	struct err e;
	int status;

	assert_int_equal(client_request(c, "GET", "/big", (struct str){0}, &status, &small, &e),
			 E_TOO_LARGE);
	assert_int_equal(client_request(c, "GET", "/big", (struct str){0}, &status, &big, &e), 0);
	assert_int_equal(big.len, BIG_BYTES);
	buf_done(&small);
	buf_done(&big);
	client_free(c);
}

static void
the_refusal_of_a_big_body_is_read(void **state)
{
	struct house *h = *state;
	struct client *c = connected(h);
	struct buf body = BUF_INIT(2 * LIMIT_HTTP_BODY);

	assert_non_null(buf_room(&body, 2 * LIMIT_HTTP_BODY));
	memset(body.ptr, 'a', 2 * LIMIT_HTTP_BODY);
	body.len = 2 * LIMIT_HTTP_BODY;
	expect(c, "POST", "/echo", buf_str(&body), 413, NULL);
	expect(c, "GET", "/hello", (struct str){0}, 200, "hello");
	buf_done(&body);
	client_free(c);
}

static void
nothing_comes_in_through_the_target(void **state)
{
	struct client *c = connected(*state);
	struct buf body = BUF_INIT(100);
	struct err e;
	int status;

	assert_int_equal(client_request(c, "GET", "/a\r\nX: y", (struct str){0}, &status, &body,
					&e),
			 E_VALIDATION);
	assert_int_equal(client_request(c, "GET", "/a b", (struct str){0}, &status, &body, &e),
			 E_VALIDATION);
	assert_int_equal(client_request(c, "", "/", (struct str){0}, &status, &body, &e),
			 E_VALIDATION);
	client_free(c);
}

static void
nobody_listening_is_an_error(void **state)
{
	struct client *c = NULL;
	struct err e;

	(void)state;
	assert_int_equal(client_connect_unix("/nonexistent/s", &c, &e), E_STOPPING);
	assert_null(c);
}

/* Odd servers: one end of a socket pair says what the test wants. */

static struct client *
facing(int *ret_other)
{
	struct client *c;
	struct err e;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(client_adopt(fds[0], &c, &e), 0);
	*ret_other = fds[1];
	return c;
}

/* The answer is there before the question, save that client_ready wants a silent line: so it is
 * sent by a child once the question has come. */
static struct client *
facing_answer(const char *answer, pid_t *ret_child)
{
	int other;
	struct client *c = facing(&other);

	*ret_child = fork();
	if (*ret_child == 0) {
		char byte;
		struct buf question = BUF_INIT(4096);

		while (!str_ends(buf_str(&question), S("\r\n\r\n")) && read(other, &byte, 1) == 1)
			buf_addc(&question, byte);
		raw_sendz(other, answer);
		_exit(0);
	}
	close(other);
	return c;
}

static const struct odd {
	const char *answer;
	int rc;
	int status;
	const char *body;
} odds[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0, 200, "ok"},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
     "2\r\n\r\nok",
     0, 200, "ok"},
    {"HTTP/1.0 200 OK\r\n\r\nuntil the end", 0, 200, "until the end"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 0, 200, "ok"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ncut", E_STOPPING, 0, ""},
    {"HTTP/1.1 200 OK\r\nContent-Le", E_STOPPING, 0, ""},
    {"", E_STOPPING, 0, ""},
    {"garbage\r\n\r\n", E_SYSTEM, 0, ""},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", E_SYSTEM, 0, ""},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n", E_STOPPING, 0, ""},
};

static void
odd_answers_are_understood_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odds); i++) {
		struct buf body = BUF_INIT(1000);
		struct err e = ERR_NONE;
		int status = 0;
		pid_t child;
		struct client *c = facing_answer(odds[i].answer, &child);

		int rc = client_request(c, "GET", "/", (struct str){0}, &status, &body, &e);
		if (rc != odds[i].rc)
			print_error("odd answer %zu: %d, %s\n", i, rc, e.text);
		assert_int_equal(rc, odds[i].rc);
		if (rc == 0) {
			assert_int_equal(status, odds[i].status);
			assert_string_equal(buf_z(&body), odds[i].body);
		}
		buf_done(&body);
		client_free(c);
	}
}

static void
headers_without_end_are_refused(void **state)
{
	struct buf answer = BUF_INIT(MIB), body = BUF_INIT(100);
	struct err e;
	int status;
	pid_t child;

	(void)state;
	buf_addz(&answer, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 10000; i++)
		buf_addz(&answer, "A: bbbbbbbbbbbbbb\r\n");
	struct client *c = facing_answer(buf_z(&answer), &child);
	assert_int_equal(client_request(c, "GET", "/", (struct str){0}, &status, &body, &e),
			 E_TOO_LARGE);
	/* And nothing can be made of that connection any more. */
	assert_int_equal(client_request(c, "GET", "/", (struct str){0}, &status, &body, &e),
			 E_STOPPING);
	buf_done(&answer);
	client_free(c);
}

/* Events */

static void
events_are_read_one_by_one_to_the_end(void **state)
{
	struct client_event ev;
	struct buf problem = BUF_INIT(100);
	struct err e;
	int status;
	pid_t child;

	(void)state;
	struct client *c = facing_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
					 "5\r\ndata:\r\n1\r\n \r\n18\r\n"
					 "a\n\nid: 7\nevent: x\ndata:b\r\n1\r\n\n\r\n1\r\n\n\r\n"
					 "0\r\n\r\n",
					 &child);
	assert_int_equal(client_events(c, "/e", &status, &problem, &e), 0);
	assert_int_equal(status, 200);
	assert_int_equal(client_event(c, -1, &ev, &e), 1);
	assert_true(str_is(ev.type, "message") && str_is(ev.text, "a"));
	assert_int_equal(client_event(c, -1, &ev, &e), 1);
	assert_true(str_is(ev.id, "7") && str_is(ev.type, "x") && str_is(ev.text, "b"));
	assert_int_equal(client_event(c, -1, &ev, &e), E_STOPPING);
	assert_int_equal(client_event(c, -1, &ev, &e), E_STOPPING);
	client_free(c);
}

static void
a_refused_stream_gives_its_problem(void **state)
{
	struct client *c;
	struct buf problem = BUF_INIT(100);
	struct err e;
	int status;
	pid_t child;

	(void)state;
	c = facing_answer("HTTP/1.1 404 No\r\nContent-Length: 7\r\n\r\nnothing", &child);
	assert_int_equal(client_events(c, "/e", &status, &problem, &e), 0);
	assert_int_equal(status, 404);
	assert_string_equal(buf_z(&problem), "nothing");
	buf_done(&problem);
	client_free(c);
}

static void
on_alarm(int signum)
{
	(void)signum;
}

/* A server that says only its headers, and stays until this end is closed. */
static struct client *
facing_silence(void)
{
	int other;
	struct client *c = facing(&other);

	if (fork() == 0) {
		char byte;

		close(client_fd(c));
		if (read(other, &byte, 1) != 1)
			_exit(1);
		raw_sendz(other, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
		while (read(other, &byte, 1) == 1)
			;
		_exit(0);
	}
	close(other);
	return c;
}

static void
waiting_for_events_ends_with_time_or_a_signal(void **state)
{
	struct client *c = facing_silence();
	struct client_event ev;
	struct buf problem = BUF_INIT(100);
	struct sigaction act = {.sa_handler = on_alarm}, before; /* without SA_RESTART */
	struct itimerval soon = {.it_value.tv_usec = 10000, .it_interval.tv_usec = 10000};
	struct itimerval never = {0};
	struct err e;
	int status;

	(void)state;
	assert_int_equal(client_events(c, "/e", &status, &problem, &e), 0);
	assert_int_equal(client_event(c, 0, &ev, &e), 0);
	assert_int_equal(client_event(c, 10, &ev, &e), 0);
	sigaction(SIGALRM, &act, &before);
	setitimer(ITIMER_REAL, &soon, NULL); /* again and again: the first may come too early */
	assert_int_equal(client_event(c, -1, &ev, &e), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	client_free(c);
}

/* Another protocol */

static void
the_wire_is_handed_over(void **state)
{
	struct house *h = *state;
	struct client *c = connected(h);
	struct buf early = BUF_INIT(1000);
	struct err e;
	char back[7];
	int fd = -1;

	assert_int_equal(client_upgrade(c, "/wire", "mcp", &fd, &early, &e), 0);
	client_free(c);
	assert_int_equal(early.len, 0);
	raw_sendz(fd, "ping!");
	for (size_t n = 0; n < sizeof(back);)
		n += (size_t)recv(fd, back + n, sizeof(back) - n, 0);
	assert_memory_equal(back, "<ping!>", 7);
	close(fd);
	house_await(&h->closed, 1);
}

static void
what_came_early_is_handed_over_too(void **state)
{
	struct buf early = BUF_INIT(1000);
	struct err e;
	pid_t child;
	int fd;

	(void)state;
	struct client *c = facing_answer("HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: mcp\r\n"
					 "\r\nearly",
					 &child);
	assert_int_equal(client_upgrade(c, "/", "mcp", &fd, &early, &e), 0);
	assert_string_equal(buf_z(&early), "early");
	buf_done(&early);
	close(fd);
	client_free(c);
}

static void
a_refused_upgrade_is_an_error(void **state)
{
	struct client *c = connected(*state);
	struct buf early = BUF_INIT(1000);
	struct err e;
	int fd = -1;

	assert_int_equal(client_upgrade(c, "/hello", "mcp", &fd, &early, &e), E_STOPPING);
	assert_int_equal(fd, -1);
	expect(c, "GET", "/hello", (struct str){0}, 200, "hello");
	client_free(c);
}

int
main(void)
{
#define IN_HOUSE(f) cmocka_unit_test_setup_teardown(f, house_setup, house_teardown)
	const struct CMUnitTest tests[] = {
	    IN_HOUSE(exchanges_follow_each_other_on_one_connection),
	    cmocka_unit_test(a_connection_the_server_gave_up_is_made_again),
	    IN_HOUSE(a_big_answer_fits_or_is_refused),
	    IN_HOUSE(the_refusal_of_a_big_body_is_read),
	    IN_HOUSE(nothing_comes_in_through_the_target),
	    cmocka_unit_test(nobody_listening_is_an_error),
	    cmocka_unit_test(odd_answers_are_understood_or_refused),
	    cmocka_unit_test(headers_without_end_are_refused),
	    cmocka_unit_test(events_are_read_one_by_one_to_the_end),
	    cmocka_unit_test(a_refused_stream_gives_its_problem),
	    cmocka_unit_test(waiting_for_events_ends_with_time_or_a_signal),
	    IN_HOUSE(the_wire_is_handed_over),
	    cmocka_unit_test(what_came_early_is_handed_over_too),
	    IN_HOUSE(a_refused_upgrade_is_an_error),
	};
	signal(SIGCHLD, SIG_IGN); /* nobody waits for the odd servers */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
