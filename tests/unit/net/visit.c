/* visit.c - the rooms of a server, requests to it, and servers of few words. */

#include "visit.h"

#include "unit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void
out_of_patience(void *arg)
{
	(void)arg;
	fail_msg("nothing happened for too long");
}

/* Rooms */

static void
room_gone(struct http_request *r)
{
	struct place *p = r->user;

	p->kept = NULL;
}

static void
flow_ready(struct http_stream *st, void *arg)
{
	struct place *p = arg;
	static const char zeroes[16384];
	size_t n = p->streamed < sizeof(zeroes) ? p->streamed : sizeof(zeroes);

	if (n == 0) {
		http_stream_end(st);
		return;
	}
	if (http_stream_write(st, (struct str){zeroes, n}))
		p->streamed -= n;
}

static void
flow_closed(void *arg)
{
	struct place *p = arg;

	p->stream = NULL;
}

static void
room_echo(struct http_request *r)
{
	struct buf b = BUF_INIT(LIMIT_HTTP_BODY + 64 * KIB);

	buf_addf(&b, "%.*s|%.*s|", STR_ARG(r->method), STR_ARG(r->path));
	for (size_t i = 0; i < r->header_count; i++)
		buf_addf(&b, "%.*s=%.*s|", STR_ARG(r->headers[i].name),
			 STR_ARG(r->headers[i].value));
	buf_add(&b, r->body);
	http_reply_take(r, 200, "text/plain", &b, "X-Extra:  yes \r\n");
}

static void
many_headers(struct http_request *r, unsigned count, size_t each)
{
	struct buf b = BUF_INIT(MIB);

	for (unsigned i = 0; i < count; i++)
		buf_addf(&b, "X-%u: %0*d\r\n", i, (int)each, 0);
	http_reply(r, 200, "text/plain", S("hello"), buf_z(&b));
	buf_done(&b);
}

static void
handle(struct http_request *r, void *arg)
{
	static const struct http_stream_spec flow = {.ready = flow_ready, .closed = flow_closed};
	struct place *p = arg;

	p->requests++;
	if (str_is(r->path, "/echo")) {
		room_echo(r);
	} else if (str_is(r->path, "/moved")) {
		http_reply(r, 302, "text/plain", S("there"), "Location: /echo\r\n");
	} else if (str_is(r->path, "/many")) {
		many_headers(r, LIMIT_HTTP_HEADERS + 1, 1);
	} else if (str_is(r->path, "/long")) {
		many_headers(r, 5, LIMIT_HTTP_HEADER_BYTES / 4);
	} else if (str_is(r->path, "/never")) {
		r->user = p;
		r->gone = room_gone;
		p->kept = r;
	} else if (str_is(r->path, "/flow")) {
		struct http_stream_spec spec = flow;

		spec.arg = p;
		p->streamed = 4 * MIB;
		p->stream = http_reply_stream(r, "text/event-stream", &spec);
	} else {
		http_reply(r, 404, "text/plain", S("no"), NULL);
	}
}

static int
place_make(void **state, const char *user)
{
	struct place *p = calloc(1, sizeof(*p));
	struct http_server_spec spec = {.handle = handle, .arg = p};
	struct err e;

	assert_int_equal(loop_new(&p->loop, &e), 0);
	assert_int_equal(http_server_new(p->loop, &spec, &p->server, &e), 0);
	assert_int_equal(http_listen_tcp(p->server, "127.0.0.1", 0, &p->port, &e), 0);
	assert_int_equal(fetcher_new(p->loop, &p->fetcher, &e), 0);
	assert_int_equal(timer_start(p->loop, &p->patience, PATIENCE_MS, out_of_patience, p), 0);
	p->user = user;
	*state = p;
	return 0;
}

int
place_open(void **state)
{
	return place_make(state, "");
}

int
place_open_curl(void **state)
{
	return place_make(state, "x@");
}

static void
place_stopped(void *arg)
{
	struct place *p = arg;

	p->stopped = true;
	loop_stop(p->loop);
}

int
place_close(void **state)
{
	struct place *p = *state;

	http_server_stop(p->server, 0, place_stopped, p);
	while (!p->stopped)
		loop_run(p->loop);
	http_server_free(p->server);
	fetcher_free(p->fetcher);
	timer_stop(p->loop, &p->patience);
	loop_free(p->loop);
	free(p);
	return 0;
}

/* Visits */

static void
on_head(struct fetch *f, int status, void *arg)
{
	struct visit *v = arg;

	assert_false(v->in_call);
	v->heads++;
	v->head_status = status;
	buf_add(&v->header, fetch_header(f, "x-extra"));
	if (v->cancel_in_head)
		fetch_cancel(f);
}

static void
on_piece(struct fetch *f, struct str bytes, void *arg)
{
	struct visit *v = arg;

	assert_false(v->in_call);
	assert_int_equal(v->overs, 0);
	buf_add(&v->got, bytes);
	if (v->cancel_in_piece)
		fetch_cancel(f);
	if (v->pause_after && v->got.len >= v->pause_after) {
		fetch_pause(f, true);
		loop_stop(v->place->loop);
	}
}

static void
on_over(struct fetch *f, int status, const struct err *e, void *arg)
{
	struct visit *v = arg;

	assert_false(v->in_call);
	v->overs++;
	v->status = status;
	v->code = e->code;
	v->err = *e;
	v->sent = fetch_sent(f);
	fetch_cancel(f); /* too late, and harmless */
	if (v->next) {
		visit_start(v->next, (struct fetch_spec){.method = "GET"}, "/echo");
		return;
	}
	loop_stop(v->place->loop);
}

void
visit_init(struct visit *v, struct place *p)
{
	*v = (struct visit){.place = p, .got = BUF_INIT(64 * MIB), .header = BUF_INIT(4096)};
}

void
visit_done(struct visit *v)
{
	buf_done(&v->got);
	buf_done(&v->header);
}

int
visit_try(struct visit *v, struct fetch_spec spec, const char *path, struct err *e)
{
	char url[256];

	snprintf(url, sizeof(url), "http://%s127.0.0.1:%u%s", v->place->user, v->place->port, path);
	if (!spec.url)
		spec.url = url;
	spec.head = on_head;
	spec.piece = on_piece;
	spec.over = on_over;
	spec.arg = v;
	v->in_call = true;
	int r = fetch_start(v->place->fetcher, &spec, &v->fetch, e);
	v->in_call = false;
	return r;
}

void
visit_start(struct visit *v, struct fetch_spec spec, const char *path)
{
	struct err e;

	assert_int_equal(visit_try(v, spec, path, &e), 0);
}

void
visit_wait(struct visit *v)
{
	while (!v->overs)
		loop_run(v->place->loop);
	assert_int_equal(v->overs, 1);
}

void
visit_make(struct visit *v, struct place *p, struct fetch_spec spec, const char *path)
{
	visit_init(v, p);
	visit_start(v, spec, path);
	visit_wait(v);
}

int
deaf_port(uint16_t *ret_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

/* Servers of few words */

static bool
rude_read(int fd)
{
	char head[4096];
	size_t len = 0;

	while (len < sizeof(head) - 1) {
		ssize_t n = recv(fd, head + len, 1, 0);

		if (n <= 0)
			return false;
		len++;
		if (len >= 4 && memcmp(head + len - 4, "\r\n\r\n", 4) == 0)
			return true;
	}
	return false;
}

static void
rude_say(struct rude *r, int fd, struct str words)
{
	size_t piece = r->drips ? 1 : words.len;

	for (; words.len; words = str_from(words, piece))
		send(fd, words.ptr, piece, MSG_NOSIGNAL);
}

static void
rude_add(struct rude *r, int fd)
{
	sem_wait(&r->go);
	rude_say(r, fd, r->extra);
	sem_post(&r->done);
}

static void
rude_linger(int fd)
{
	char bytes[4096];

	shutdown(fd, SHUT_WR);
	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
}

/* One connection; how much has been said after it. */
static size_t
rude_talk(struct rude *r, int fd, size_t i)
{
	while (i < r->count && rude_read(fd)) {
		atomic_fetch_add(&r->requests, 1);
		struct str words = r->says[i++];
		if (words.len == 0)
			break;
		rude_say(r, fd, words);
		if (i == 1 && r->extra.len)
			rude_add(r, fd);
		if (r->once)
			break;
	}
	if (r->lingers && i == r->count)
		rude_linger(fd);
	return i;
}

static void *
rude_serve(void *arg)
{
	struct rude *r = arg;
	int yes = 1;

	for (size_t i = 0; i < r->count;) {
		int fd = accept4(r->fd, NULL, NULL, SOCK_CLOEXEC);

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		atomic_fetch_add(&r->conns, 1);
		i = rude_talk(r, fd, i);
		shutdown(fd, SHUT_RDWR);
		close(fd);
		atomic_fetch_add(&r->closed, 1);
	}
	return NULL;
}

void
rude_open(struct rude *r)
{
	r->fd = deaf_port(&r->port);
	sem_init(&r->go, 0, 0);
	sem_init(&r->done, 0, 0);
	assert_int_equal(listen(r->fd, 16), 0);
	assert_int_equal(pthread_create(&r->thread, NULL, rude_serve, r), 0);
}

void
rude_close(struct rude *r)
{
	pthread_join(r->thread, NULL);
	close(r->fd);
	sem_destroy(&r->go);
	sem_destroy(&r->done);
}

void
rude_start(struct rude *r, struct visit *v, struct place *p, struct fetch_spec spec)
{
	char url[64];

	snprintf(url, sizeof(url), "http://%s127.0.0.1:%u/", p->user, r->port);
	spec.url = url;
	visit_init(v, p);
	visit_start(v, spec, "");
}

void
rude_visit(struct rude *r, struct visit *v, struct place *p, struct fetch_spec spec)
{
	rude_start(r, v, p, spec);
	visit_wait(v);
}
