/* test_fetch_h1.c - plain http by ourselves: answers of every kind, connections kept and not. */

#include "visit.h"

#include "unit.h"

#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

/* Answers: each at once, and byte by byte */

struct answer_case {
	struct str words;
	int code, status;
	const char *body;
};

static void
answers_check(struct place *p, const struct answer_case *cases, size_t count)
{
	for (size_t i = 0; i < 2 * count; i++) {
		const struct answer_case *c = &cases[i / 2];
		struct rude r = {.says = &c->words, .count = 1, .drips = i % 2};
		struct visit v;

		rude_open(&r);
		rude_visit(&r, &v, p,
			   (struct fetch_spec){.method = "POST", .stall_ms = PATIENCE_MS});
		if (v.code != c->code || v.status != c->status)
			fail_msg("code %d, status %d: %s\n%s", v.code, v.status, v.err.text,
				 c->words.ptr);
		assert_string_equal(got(&v), c->body);
		assert_true(v.sent);
		assert_int_equal(v.heads, v.status ? 1 : 0);
		visit_done(&v);
		rude_close(&r);
	}
}

static void
every_way_to_say_a_length_is_read(void **state)
{
	static const struct answer_case cases[] = {
	    {S(OK_ANSWER), 0, 200, "ok"},
	    {S("HTTP/1.1 200 OK\r\n\r\nall of it"), 0, 200, "all of it"},
	    {S("HTTP/1.0 200 OK\r\n\r\nall of it"), 0, 200, "all of it"},
	    {S("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), 0, 200, ""},
	    {S("HTTP/1.1 200\r\ncontent-length:2\r\n\r\nok"), 0, 200, "ok"},
	    {S(CHUNKED "2\r\nok\r\n0\r\n\r\n"), 0, 200, "ok"},
	    {S(CHUNKED "1;a=b\r\no\r\n1\r\nk\r\n0\r\nX-Extra: late\r\n\r\n"), 0, 200, "ok"},
	    {S("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"), 0, 200, ""},
	    {S("HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n"), 0, 204, ""},
	    {S("HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n"), 0, 304, ""},
	    {S("HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Hm\r\nContent-Length: 5\r\n\r\n" OK_ANSWER), 0,
	     200, "ok"},
	    {S("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\nok"), 0,
	     200, "ok"},
	};

	answers_check(*state, cases, ARRAY_LEN(cases));
}

static void
what_can_be_read_in_two_ways_is_refused(void **state)
{
	static const struct answer_case cases[] = {
	    {S("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!"), E_EXECUTION,
	     0, ""},
	    {S("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"), E_EXECUTION,
	     0, ""},
	    {S("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok"), E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"), E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"), E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nok"), E_EXECUTION,
	     0, ""},
	    {S("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r"
	       "\n"),
	     E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r"
	       "\n"),
	     E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), E_EXECUTION,
	     0, ""},
	    {S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"), E_EXECUTION,
	     0, ""},
	    {S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
	       "chunked\r\n\r\n0\r\n\r\n"),
	     E_EXECUTION, 0, ""},
	    {S("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), E_EXECUTION, 0,
	     ""},
	    {S("HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"), E_EXECUTION, 0,
	     ""},
	};

	answers_check(*state, cases, ARRAY_LEN(cases));
}

static void
what_is_not_http_is_refused(void **state)
{
	static const struct answer_case cases[] = {
	    {S("RTSP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), E_EXECUTION, 0, ""},
	    {S("ICE/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), E_EXECUTION, 0, ""},
	    {S("HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 101 Other\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nok"), E_EXECUTION, 0,
	     ""},
	    {S("HTTP/1.1 020 Odd\r\nContent-Length: 2\r\n\r\nok"), E_EXECUTION, 0, ""},
	    {S("\r\n" OK_ANSWER), E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok"), E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 2\r\n\r\nok"), E_EXECUTION, 0, ""},
	    {S("HTTP/1.1 200 OK\r\nno colon\r\n\r\nok"), E_EXECUTION, 0, ""},
	};

	answers_check(*state, cases, ARRAY_LEN(cases));
}

static void
chunks_that_are_none_end_the_answer(void **state)
{
	static const struct answer_case cases[] = {
	    {S(CHUNKED "zz\r\n"), E_EXECUTION, 200, ""},
	    {S(CHUNKED "-1\r\n"), E_EXECUTION, 200, ""},
	    {S(CHUNKED "fffffffffffffffff\r\n"), E_EXECUTION, 200, ""},
	    {S(CHUNKED "2\r\nokX"), E_EXECUTION, 200, "ok"},
	    {S(CHUNKED "2\r\nok\r\n"), E_EXECUTION, 200, "ok"},
	    {S(CHUNKED "2\r\nok\r\n0\r\n"), E_EXECUTION, 200, "ok"},
	    {S("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), E_EXECUTION, 200, "ok"},
	};

	answers_check(*state, cases, ARRAY_LEN(cases));
}

static void
an_answer_compressed_unasked_is_an_error(void **state)
{
	static const struct answer_case cases[] = {
	    {S("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok"),
	     E_EXECUTION, 200, ""},
	};

	answers_check(*state, cases, ARRAY_LEN(cases));
}

/* Whatever keeps coming without ever being an answer. */
static void
there_is_an_end_to_what_comes_before_a_body(void **state)
{
	static const struct {
		struct str before, again, after;
	} cases[] = {
	    {S(""), S("HTTP/1.1 100 Go\r\n\r\n"), S(OK_ANSWER)},
	    {S("HTTP/1.1 200 "), S("long "), S("\r\n\r\n")},
	    {S("HTTP/1.1 200 OK\r\nA:"), S("        "), S("b\r\n\r\n")},
	    {S("HTTP/1.1 200 OK\r\nA: "), S("long"), S("\r\n\r\n")},
	    {S("HTTP/1.1 200 OK\r\n"), S("A: b\r\n"), S("\r\n")},
	    {S(CHUNKED "2;a="), S("long"), S("\r\nok\r\n0\r\n\r\n")},
	    {S(CHUNKED "2\r\nok\r\n0\r\n"), S("A: b\r\n"), S("\r\n")},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf words = BUF_INIT(4 * MIB);
		struct visit v;

		buf_add(&words, cases[i].before);
		while (words.len < 8 * LIMIT_HTTP_HEADER_BYTES)
			buf_add(&words, cases[i].again);
		buf_add(&words, cases[i].after);
		struct str all = buf_str(&words);
		struct rude r = {.says = &all, .count = 1};
		rude_open(&r);
		rude_visit(&r, &v, *state, (struct fetch_spec){.method = "POST"});
		assert_int_equal(v.code, E_TOO_LARGE);
		visit_done(&v);
		rude_close(&r);
		buf_done(&words);
	}
}

/* Requests */

/* Of "METHOD|PATH|..." */
static struct str
path_seen(struct visit *v)
{
	struct str rest = buf_str(&v->got), part = S("");

	for (int i = 0; i < 2; i++)
		str_split(&rest, '|', &part);
	return part;
}

/* What curl makes of an address, we make of it too. */
static void
addresses_mean_what_they_mean_to_curl(void **state)
{
	static const char *const targets[] = {
	    "/echo",   "/echo?a=b", "/echo#x",    "/echo?a=/./b",
	    "/echo//", "/echo%20b", "/a/../echo", "/./echo",
	};
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		struct visit ours, curls;
		static const char *const headers[] = {"Authorization: x", NULL};
		struct fetch_spec spec = {.method = "GET", .headers = headers};

		p->user = "";
		visit_make(&ours, p, spec, targets[i]);
		p->user = "x@";
		visit_make(&curls, p, spec, targets[i]);
		p->user = "";
		assert_int_equal(ours.status, curls.status);
		assert_true(str_eq(path_seen(&ours), path_seen(&curls)));
		if (ours.status == 200) {
			char host[64];
			snprintf(host, sizeof(host), "Host=127.0.0.1:%u|", p->port);
			assert_non_null(strstr(got(&ours), host));
			assert_non_null(strstr(got(&curls), host));
		}
		visit_done(&ours);
		visit_done(&curls);
	}
}

static void
what_the_caller_says_is_not_said_twice(void **state)
{
	static const char *const headers[] = {"host: elsewhere", "ACCEPT: text/plain", NULL};
	struct visit v;

	visit_make(&v, *state, (struct fetch_spec){.method = "GET", .headers = headers}, "/echo");
	assert_int_equal(v.status, 200);
	assert_non_null(strstr(got(&v), "host=elsewhere|ACCEPT=text/plain|"));
	assert_null(strstr(got(&v), "Host="));
	assert_null(strstr(got(&v), "Accept="));
	assert_non_null(strstr(got(&v), "Accept-Encoding=identity|"));
	assert_null(strstr(got(&v), "Content-Length"));
	visit_done(&v);
}

static void
a_body_larger_than_a_socket_takes_arrives_whole(void **state)
{
	struct buf body = BUF_INIT(LIMIT_HTTP_BODY);
	struct visit v;

	while (body.len < LIMIT_HTTP_BODY - 64)
		buf_addf(&body, "%zu,", body.len);
	visit_make(&v, *state, (struct fetch_spec){.method = "POST", .body = buf_str(&body)},
		   "/echo");
	assert_int_equal(v.code, 0);
	assert_true(str_ends(buf_str(&v.got), buf_str(&body)));
	visit_done(&v);
	/* and the connection is as good as before */
	visit_make(&v, *state, (struct fetch_spec){.method = "POST", .body = S("x")}, "/echo");
	assert_int_equal(v.status, 200);
	assert_int_equal(http_connections(((struct place *)*state)->server), 1);
	visit_done(&v);
	buf_done(&body);
}

/* It answers and reads on only then: its answer counts, and the rest is not sent. */
static void
an_answer_before_the_request_is_read_is_one(void **state)
{
	static const struct str says = S("HTTP/1.1 413 Much\r\nContent-Length: 2\r\n\r\nno");
	struct buf body = BUF_INIT(32 * MIB);
	struct rude r = {.says = &says, .count = 1, .lingers = true};
	struct visit v;

	memset(buf_room(&body, 16 * MIB), 'x', 16 * MIB);
	body.len = 16 * MIB;
	rude_open(&r);
	rude_visit(&r, &v, *state, (struct fetch_spec){.method = "POST", .body = buf_str(&body)});
	assert_int_equal(v.code, 0);
	assert_int_equal(v.status, 413);
	assert_string_equal(got(&v), "no");
	visit_done(&v);
	rude_close(&r);
	buf_done(&body);
}

/* Connections */

static void
rude_await_closed(struct rude *r, unsigned count)
{
	while (atomic_load(&r->closed) < count)
		sched_yield();
}

/* Also a POST: nothing of it was sent. */
static void
a_kept_connection_that_was_closed_is_not_used(void **state)
{
	static const struct str says[] = {S(OK_ANSWER), S(OK_ANSWER), S(OK_ANSWER)};
	struct rude r = {.says = says, .count = 3, .once = true};
	struct visit v;

	rude_open(&r);
	for (unsigned i = 0; i < 3; i++) {
		rude_visit(&r, &v, *state, (struct fetch_spec){.method = "POST", .body = S("x")});
		assert_int_equal(v.code, 0);
		assert_string_equal(got(&v), "ok");
		visit_done(&v);
		rude_await_closed(&r, i + 1);
	}
	rude_close(&r);
	assert_int_equal(atomic_load(&r.requests), 3);
	assert_int_equal(atomic_load(&r.conns), 3);
}

/* An answer to what was not asked is not the answer to what is asked next. */
static void
nor_is_one_that_spoke_unasked(void **state)
{
	static const struct str says[] = {S(OK_ANSWER), S(OK_ANSWER)};
	struct rude r = {.says = says,
			 .count = 2,
			 .extra = S("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")};
	struct visit v;

	rude_open(&r);
	rude_visit(&r, &v, *state, (struct fetch_spec){.method = "POST"});
	assert_string_equal(got(&v), "ok");
	visit_done(&v);
	sem_post(&r.go);
	sem_wait(&r.done);
	rude_visit(&r, &v, *state, (struct fetch_spec){.method = "POST"});
	assert_int_equal(v.code, 0);
	assert_string_equal(got(&v), "ok");
	visit_done(&v);
	rude_close(&r);
	assert_int_equal(atomic_load(&r.conns), 2);
}

static void
nor_one_whose_answer_says_so_or_leaves_doubt(void **state)
{
	static const struct str firsts[] = {
	    S("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"),
	    S("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok"),
	    S(OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
	    S(OK_ANSWER "\r\n"),
	    S("HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nok"),
	};

	for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
		const struct str says[] = {firsts[i], S(OK_ANSWER)};
		struct rude r = {.says = says, .count = 2};
		struct visit v;

		rude_open(&r);
		rude_visit(&r, &v, *state, (struct fetch_spec){.method = "POST"});
		assert_int_equal(v.code, 0);
		visit_done(&v);
		rude_visit(&r, &v, *state, (struct fetch_spec){.method = "POST"});
		assert_int_equal(v.code, 0);
		assert_string_equal(got(&v), "ok");
		visit_done(&v);
		rude_close(&r);
		assert_int_equal(atomic_load(&r.conns), 2);
	}
}

static void
each_server_has_its_own(void **state)
{
	static const struct str says[2][2] = {
	    {S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"), S(OK_ANSWER)},
	    {S("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb"), S(OK_ANSWER)},
	};
	struct rude r[2] = {{.says = says[0], .count = 2}, {.says = says[1], .count = 2}};
	struct visit v;

	for (int i = 0; i < 2; i++)
		rude_open(&r[i]);
	for (int i = 0; i < 4; i++) {
		rude_visit(&r[i % 2], &v, *state, (struct fetch_spec){.method = "POST"});
		assert_int_equal(v.code, 0);
		assert_string_equal(got(&v), i >= 2 ? "ok" : i ? "b" : "a");
		visit_done(&v);
	}
	for (int i = 0; i < 2; i++) {
		rude_close(&r[i]);
		assert_int_equal(atomic_load(&r[i].conns), 1);
	}
}

/* It was read, and an answer had begun: not even a GET is asked again. */
static void
an_answer_that_broke_off_is_not_asked_for_again(void **state)
{
	static const struct str says[] = {S(OK_ANSWER), S("HTTP/1.1 2")};
	struct rude r = {.says = says, .count = 2};
	struct visit v;

	rude_open(&r);
	rude_visit(&r, &v, *state, (struct fetch_spec){.method = "GET"});
	assert_int_equal(v.code, 0);
	visit_done(&v);
	rude_visit(&r, &v, *state, (struct fetch_spec){.method = "GET"});
	assert_int_equal(v.code, E_EXECUTION);
	assert_true(v.sent);
	visit_done(&v);
	rude_close(&r);
	assert_int_equal(atomic_load(&r.requests), 2);
}

/* A new connection that ends without an answer is the end, also of a GET. */
static void
a_new_connection_is_tried_once(void **state)
{
	static const struct str says = S("");
	struct rude r = {.says = &says, .count = 1};
	struct visit v;

	rude_open(&r);
	rude_visit(&r, &v, *state, (struct fetch_spec){.method = "GET"});
	assert_int_equal(v.code, E_EXECUTION);
	assert_true(v.sent);
	visit_done(&v);
	rude_close(&r);
	assert_int_equal(atomic_load(&r.requests), 1);
}

/* Pauses */

static void
pause_turn(void *arg)
{
	struct visit *v = arg;

	fetch_pause(v->fetch, false);
}

/* Every piece is followed by a pause, the last one too. */
static void
each_piece_waits_until_it_is_wanted(void **state)
{
	static const struct str words[] = {
	    S(CHUNKED "2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n"),
	    S("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde"),
	    S("HTTP/1.1 200 OK\r\n\r\nabcde"),
	};
	struct place *p = *state;

	for (size_t i = 0; i < 2 * ARRAY_LEN(words); i++) {
		struct rude r = {.says = &words[i / 2], .count = 1, .drips = i % 2};
		struct deferred soon = {0};
		struct visit v;

		rude_open(&r);
		rude_start(&r, &v, p, (struct fetch_spec){.method = "GET"});
		v.pause_after = 1;
		while (!v.overs) {
			size_t before = v.got.len;
			loop_run(p->loop);
			/* one piece for each time it goes on: chunks are not put together */
			assert_true(v.overs || v.got.len > before);
			if (i < 2 && !v.overs)
				assert_true(v.got.len - before <= 2);
			if (!v.overs)
				defer(p->loop, &soon, pause_turn, &v);
		}
		assert_int_equal(v.code, 0);
		assert_string_equal(got(&v), "abcde");
		visit_done(&v);
		rude_close(&r);
	}
}

/* Paused before anything came: nothing is handed on, neither headers nor body. */
static void
a_pause_may_come_before_the_answer(void **state)
{
	struct place *p = *state;
	struct visit v, other;

	visit_init(&v, p);
	visit_start(&v, (struct fetch_spec){.method = "GET", .stall_ms = PATIENCE_MS}, "/echo");
	fetch_pause(v.fetch, true);
	for (int i = 0; i < 3; i++) {
		visit_make(&other, p, (struct fetch_spec){.method = "GET"}, "/echo");
		visit_done(&other);
	}
	assert_int_equal(p->requests, 4);
	assert_int_equal(v.heads, 0);
	assert_int_equal(v.got.len, 0);
	fetch_pause(v.fetch, false);
	visit_wait(&v);
	assert_int_equal(v.code, 0);
	assert_true(str_starts(buf_str(&v.got), S("GET|/echo|")));
	visit_done(&v);
}

/* Cancelling, and deadlines */

static void
cancel_rung(void *arg)
{
	struct visit *v = arg;

	fetch_cancel(v->fetch);
}

static void
cancelled_soon(struct visit *v)
{
	struct place *p = v->place;
	struct timer t = {0};

	assert_int_equal(timer_start(p->loop, &t, 20, cancel_rung, v), 0);
	visit_wait(v);
	timer_stop(p->loop, &t);
	assert_int_equal(v->code, E_CANCELLED);
}

static void
an_exchange_can_be_cancelled_in_its_middle(void **state)
{
	static const struct str words[] = {
	    S("HTT"),
	    S("HTTP/1.1 200 OK\r\nContent-"),
	    S("HTTP/1.1 100 Go\r\n\r\n"),
	    S("HTTP/1.1 200 OK\r\n\r\n"),
	    S(CHUNKED "5\r\nab"),
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		/* it waits for more requests, and its side stays open */
		const struct str says[] = {words[i], S(OK_ANSWER)};
		struct rude r = {.says = says, .count = 2};
		struct visit v;

		rude_open(&r);
		rude_start(&r, &v, *state, (struct fetch_spec){.method = "GET"});
		cancelled_soon(&v);
		visit_done(&v);
		/* a connection in the middle of an answer is of no use to the next */
		rude_visit(&r, &v, *state, (struct fetch_spec){.method = "GET"});
		assert_string_equal(got(&v), "ok");
		visit_done(&v);
		rude_close(&r);
		assert_int_equal(atomic_load(&r.conns), 2);
	}
}

/* Its queue is full: it neither takes a connection nor refuses one. */
struct busy {
	int fd, fillers[4];
	char url[64];
};

static void
busy_open(struct busy *b, const char *host)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint16_t port;

	b->fd = deaf_port(&port);
	a.sin_port = htons(port);
	assert_int_equal(listen(b->fd, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(b->fillers); i++) {
		b->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(b->fillers[i], (struct sockaddr *)&a, sizeof(a));
	}
	snprintf(b->url, sizeof(b->url), "http://%s:%u/", host, port);
}

static void
busy_close(struct busy *b)
{
	for (size_t i = 0; i < ARRAY_LEN(b->fillers); i++)
		close(b->fillers[i]);
	close(b->fd);
}

static void
a_connection_that_is_not_taken_has_an_end(void **state)
{
	static const char *const hosts[] = {"127.0.0.1", "localhost"};
	struct fetch_spec spec = {.method = "POST", .connect_ms = 30};

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct busy b;
		struct visit v;

		busy_open(&b, hosts[i]);
		spec.url = b.url;
		visit_make(&v, *state, spec, "");
		assert_int_equal(v.code, E_UNAVAILABLE);
		assert_false(v.sent);
		visit_done(&v);
		busy_close(&b);
	}
}

static void
connecting_can_be_cancelled(void **state)
{
	struct busy b;
	struct visit v;

	busy_open(&b, "127.0.0.1");
	visit_init(&v, *state);
	visit_start(&v, (struct fetch_spec){.method = "POST", .url = b.url}, "");
	cancelled_soon(&v);
	assert_false(v.sent);
	visit_done(&v);
	busy_close(&b);
}

/* Connected by the kernel, and then nobody is there. */
static void
sending_can_be_cancelled(void **state)
{
	struct buf body = BUF_INIT(32 * MIB);
	uint16_t port;
	int fd = deaf_port(&port);
	char url[64];
	struct visit v;

	assert_int_equal(listen(fd, 4), 0);
	memset(buf_room(&body, 16 * MIB), 'x', 16 * MIB);
	body.len = 16 * MIB;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	visit_init(&v, *state);
	visit_start(&v, (struct fetch_spec){.method = "POST", .url = url, .body = buf_str(&body)},
		    "");
	cancelled_soon(&v);
	assert_true(v.sent);
	visit_done(&v);
	close(fd);
	buf_done(&body);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(every_way_to_say_a_length_is_read),
	    TEST(what_can_be_read_in_two_ways_is_refused),
	    TEST(what_is_not_http_is_refused),
	    TEST(chunks_that_are_none_end_the_answer),
	    TEST(an_answer_compressed_unasked_is_an_error),
	    TEST(there_is_an_end_to_what_comes_before_a_body),
	    TEST(addresses_mean_what_they_mean_to_curl),
	    TEST(what_the_caller_says_is_not_said_twice),
	    TEST(a_body_larger_than_a_socket_takes_arrives_whole),
	    TEST(an_answer_before_the_request_is_read_is_one),
	    TEST(a_kept_connection_that_was_closed_is_not_used),
	    TEST(nor_is_one_that_spoke_unasked),
	    TEST(nor_one_whose_answer_says_so_or_leaves_doubt),
	    TEST(each_server_has_its_own),
	    TEST(an_answer_that_broke_off_is_not_asked_for_again),
	    TEST(a_new_connection_is_tried_once),
	    TEST(each_piece_waits_until_it_is_wanted),
	    TEST(a_pause_may_come_before_the_answer),
	    TEST(an_exchange_can_be_cancelled_in_its_middle),
	    TEST(a_connection_that_is_not_taken_has_an_end),
	    TEST(connecting_can_be_cancelled),
	    TEST(sending_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
