/* test_http_server.c - listening: sockets and their modes, too many peers, stopping. */

#include "unit.h"

#include "house.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "minder/proc.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

/* A server without a thread, for what is decided at once. */
struct shed {
	struct loop *loop;
	struct http_server *server;
	char dir[64];
	char path[96];
};

static void
shed_handle(struct http_request *r, void *arg)
{
	(void)arg;
	http_reply(r, 200, NULL, S(""), NULL);
}

static void
shed_open(struct shed *s)
{
	struct http_server_spec spec = {.handle = shed_handle};
	struct err e;

	snprintf(s->dir, sizeof(s->dir), "/tmp/shed-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/s", s->dir);
	assert_int_equal(loop_new(&s->loop, &e), 0);
	assert_int_equal(http_server_new(s->loop, &spec, &s->server, &e), 0);
}

static void
shed_stopped(void *arg)
{
	loop_stop(arg);
}

static void
shed_close(struct shed *s)
{
	http_server_stop(s->server, 0, shed_stopped, s->loop);
	loop_run(s->loop);
	http_server_free(s->server);
	loop_free(s->loop);
	rmdir(s->dir);
}

static void
the_unix_socket_is_for_its_owner_alone(void **state)
{
	struct shed s;
	struct stat st;
	mode_t mask = umask(0);

	(void)state;
	shed_open(&s);
	assert_int_equal(http_listen_unix(s.server, s.path, NULL), 0);
	umask(mask);
	assert_int_equal(stat(s.path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	shed_close(&s);
	assert_int_equal(stat(s.path, &st), -1); /* and leaves with its server */
}

static void
a_directory_others_can_write_is_refused(void **state)
{
	struct shed s;
	struct err e = ERR_NONE;

	(void)state;
	shed_open(&s);
	chmod(s.dir, 0777);
	assert_int_equal(http_listen_unix(s.server, s.path, &e), E_PERMISSION);
	assert_int_equal(e.code, E_PERMISSION);
	assert_int_equal(http_listen_unix(s.server, "/no/such/place/s", NULL), E_SYSTEM);
	shed_close(&s);
}

static void
a_stale_socket_is_replaced_a_live_one_and_a_file_are_not(void **state)
{
	struct shed a, b;
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct err e;
	struct stat st;

	(void)state;
	shed_open(&a);
	shed_open(&b);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", a.path);
	int stale = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(stale, (struct sockaddr *)&name, sizeof(name)), 0);
	close(stale);
	assert_int_equal(http_listen_unix(a.server, a.path, &e), 0);
	assert_int_equal(http_listen_unix(b.server, a.path, &e), E_EXISTS);
	close(open(b.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(http_listen_unix(b.server, b.path, &e), E_EXISTS);
	assert_int_equal(stat(b.path, &st), 0);
	unlink(b.path);
	/* Somebody took the name over meanwhile: it is not ours to remove. */
	unlink(a.path);
	assert_int_equal(http_listen_unix(b.server, a.path, &e), 0);
	shed_close(&a);
	assert_int_equal(stat(name.sun_path, &st), 0);
	shed_close(&b);
	assert_int_equal(stat(name.sun_path, &st), -1);
	rmdir(a.dir);
}

static void
addresses_are_checked(void **state)
{
	struct shed s;
	struct err e;
	uint16_t port = 0;
	char longish[200];

	(void)state;
	shed_open(&s);
	assert_int_equal(http_listen_tcp(s.server, "localhost", 0, NULL, &e), E_VALIDATION);
	assert_int_equal(http_listen_tcp(s.server, "127.0.0.1", 0, &port, &e), 0);
	assert_true(port > 0);
	assert_int_equal(http_listen_tcp(s.server, "127.0.0.1", port, NULL, &e), E_EXISTS);
	memset(longish, 'a', sizeof(longish));
	longish[sizeof(longish) - 1] = '\0';
	assert_int_equal(http_listen_unix(s.server, longish, &e), E_VALIDATION);
	shed_close(&s);
}

static void
loopback_is_known_by_its_number(void **state)
{
	static const struct {
		const char *host;
		bool loopback;
	} rows[] = {
	    {"127.0.0.1", true}, {"127.9.9.9", true},          {"::1", true},
	    {"0.0.0.0", false},  {"10.0.0.1", false},          {"::", false},
	    {"", false},         {"127.0.0.1.example", false}, {"localhost", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(http_is_loopback(rows[i].host), rows[i].loopback);
}

static void
the_peer_is_known(void **state)
{
	struct house *h = *state;
	struct answer a;
	struct proc self;
	char expected[96];
	int fd = raw_unix(h);

	assert_true(proc_read(getpid(), &self));
	raw_sendz(fd, GET("/who"));
	answer_read(fd, &a);
	snprintf(expected, sizeof(expected), "1 %d %" PRIu64 " 0", self.pid, self.start);
	assert_string_equal(buf_z(&a.body), expected);
	answer_done(&a);
	close(fd);
	fd = raw_tcp(h);
	raw_sendz(fd, GET("/who"));
	answer_read(fd, &a);
	snprintf(expected, sizeof(expected), "0 0 0 %d", h->port);
	assert_string_equal(buf_z(&a.body), expected);
	answer_done(&a);
	close(fd);
}

static int adopted[2];

static void
job_adopt(struct house *h)
{
	CHECK(http_adopt(h->server, adopted[0], NULL) == 0);
}

static void
one_end_of_a_socket_pair_is_served(void **state)
{
	struct house *h = *state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, adopted), 0);
	house_do(h, job_adopt);
	raw_sendz(adopted[1], GET("/hello"));
	assert_int_equal(raw_status(adopted[1]), 200);
	close(adopted[1]);
	house_await_connections(h, 0);
}

static void
too_many_connections_are_turned_away_with_an_answer(void **state)
{
	struct http_limits limits = {.connections = 3};
	struct house *h = house_open(&limits);
	int fds[3];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = raw_tcp(h);
		raw_sendz(fds[i], GET("/hello"));
		assert_int_equal(raw_status(fds[i]), 200);
	}
	for (int i = 0; i < 50; i++) {
		int fd = raw_tcp(h);

		assert_int_equal(raw_status(fd), 503);
		assert_true(raw_at_end(fd));
		close(fd);
	}
	assert_int_equal(house_connections(h), 3);
	close(fds[0]);
	house_await_connections(h, 2);
	fds[0] = raw_tcp(h);
	raw_sendz(fds[0], GET("/hello"));
	assert_int_equal(raw_status(fds[0]), 200);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	house_close(h);
}

static int
hello_status(int fd)
{
	raw_sendz(fd, GET("/hello"));
	return raw_status(fd);
}

static void
local_peers_have_places_that_tcp_cannot_take(void **state)
{
	struct http_limits limits = {.connections = 2};
	struct house *h = house_open(&limits);
	int tcp[3], local[LIMIT_HTTP_LOCAL];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tcp); i++) {
		tcp[i] = raw_tcp(h);
		assert_int_equal(hello_status(tcp[i]), i < 2 ? 200 : 503);
	}
	for (size_t i = 0; i < ARRAY_LEN(local); i++) {
		local[i] = raw_unix(h);
		assert_int_equal(hello_status(local[i]), 200);
	}
	int beyond = raw_unix(h);
	assert_int_equal(raw_status(beyond), 503);
	close(beyond);
	close(tcp[0]); /* a place of theirs is counted back */
	house_await_connections(h, LIMIT_HTTP_LOCAL + 1);
	tcp[0] = raw_tcp(h);
	assert_int_equal(hello_status(tcp[0]), 200);
	for (size_t i = 0; i < ARRAY_LEN(tcp); i++)
		close(tcp[i]);
	for (size_t i = 0; i < ARRAY_LEN(local); i++)
		close(local[i]);
	house_close(h);
}

/* In a child: open connections until there is no descriptor, then give them back. */
static void
exhaust(void)
{
	struct house *h = house_open(NULL);
	int probe = open("/dev/null", O_RDONLY);
	struct rlimit limit = {.rlim_cur = (rlim_t)probe + 20, .rlim_max = (rlim_t)probe + 20};
	int fds[64], count = 0, last = 0, status = 0;

	close(probe);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	while (count < 64 && (last = raw_tcp(h)) >= 0) {
		fds[count++] = last;
		raw_sendz(last, GET("/hello"));
		if ((status = raw_status(last)) != 200)
			break;
	}
	if (last < 0) { /* ours ran out first: take one away, so that theirs does */
		close(fds[--count]);
		house_await_connections(h, (size_t)count);
		int taken = open("/dev/null", O_RDONLY);
		last = raw_tcp(h);
		CHECK(taken >= 0 && last >= 0);
		raw_sendz(last, GET("/hello"));
		status = raw_status(last);
		close(taken);
		close(last);
	}
	CHECK(status == 503 || status == 0); /* told, or at least not left waiting */
	while (count > 0)
		close(fds[--count]);
	house_await_connections(h, 0);
	last = raw_tcp(h);
	raw_sendz(last, GET("/hello"));
	CHECK(raw_status(last) == 200);
	close(last);
	house_close(h);
}

static void
running_out_of_descriptors_is_survived(void **state)
{
	int status;

	(void)state;
	pid_t child = fork();
	if (child == 0) {
		alarm(60);
		exhaust();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Stopping */

static void
job_answer(struct house *h)
{
	http_reply(h->kept, 200, NULL, S("last words"), NULL);
}

static void
stopping_finishes_what_is_being_answered(void **state)
{
	struct house *h = *state;
	struct answer a;
	int idle = raw_tcp(h), half = raw_tcp(h), busy = raw_tcp(h);

	raw_sendz(idle, GET("/hello"));
	assert_int_equal(raw_status(idle), 200);
	raw_sendz(half, "GET / HT");
	raw_sendz(busy, GET("/later"));
	house_await(&h->requests, 2);
	house_stop(h, HOUSE_MS);
	assert_true(raw_at_end(idle));
	assert_true(raw_at_end(half));
	assert_int_equal(raw_tcp(h), -1); /* nobody listens */
	assert_int_equal(access(h->path, F_OK), -1);
	house_connections(h);
	assert_false(atomic_load(&h->stopped));
	house_do(h, job_answer);
	answer_read(busy, &a);
	assert_string_equal(buf_z(&a.body), "last words");
	assert_true(answer_has(&a, "Connection: close\r\n"));
	assert_true(raw_at_end(busy));
	answer_done(&a);
	close(busy);
	close(idle);
	close(half);
}

static void
stopping_does_not_wait_for_ever(void **state)
{
	struct house *h = *state;
	int fd = raw_tcp(h);

	raw_sendz(fd, GET("/later"));
	house_await(&h->requests, 1);
	house_stop(h, 10);
	assert_true(raw_at_end(fd));
	house_await(&h->gone, 1);
	close(fd);
}

int
main(void)
{
#define IN_HOUSE(f) cmocka_unit_test_setup_teardown(f, house_setup, house_teardown)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_unix_socket_is_for_its_owner_alone),
	    cmocka_unit_test(a_directory_others_can_write_is_refused),
	    cmocka_unit_test(a_stale_socket_is_replaced_a_live_one_and_a_file_are_not),
	    cmocka_unit_test(addresses_are_checked),
	    cmocka_unit_test(loopback_is_known_by_its_number),
	    IN_HOUSE(the_peer_is_known),
	    IN_HOUSE(one_end_of_a_socket_pair_is_served),
	    cmocka_unit_test(too_many_connections_are_turned_away_with_an_answer),
	    cmocka_unit_test(local_peers_have_places_that_tcp_cannot_take),
	    cmocka_unit_test(running_out_of_descriptors_is_survived),
	    IN_HOUSE(stopping_finishes_what_is_being_answered),
	    IN_HOUSE(stopping_does_not_wait_for_ever),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
