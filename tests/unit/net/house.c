/* house.c - see house.h. */

#include "unit.h"

#include "house.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

/* Rooms */

static void
room_hello(struct house *h, struct http_request *r)
{
	(void)h;
	http_reply(r, 200, "text/plain", S("hello"), NULL);
}

static void
room_echo(struct house *h, struct http_request *r)
{
	struct buf b = BUF_INIT(LIMIT_HTTP_BODY + 64 * KIB);

	(void)h;
	buf_addf(&b, "%.*s|%.*s|%.*s|", STR_ARG(r->method), STR_ARG(r->path), STR_ARG(r->query));
	buf_add(&b, r->body);
	http_reply_take(r, 200, "text/plain", &b, "X-Extra: yes\r\n");
	CHECK(!b.ptr);
}

static void
room_headers(struct house *h, struct http_request *r)
{
	struct buf b = BUF_INIT(64 * KIB), q = BUF_INIT(KIB);

	(void)h;
	buf_addf(&b, "%zu of x-a, first [%.*s]", http_header_times(r, "x-a"),
		 STR_ARG(http_header(r, "X-A")));
	if (http_query(r, "q", &q))
		buf_addf(&b, ", q [%.*s]", STR_ARG(buf_str(&q)));
	http_reply(r, 200, "text/plain", buf_str(&b), NULL);
	buf_done(&b);
	buf_done(&q);
}

static void
room_who(struct house *h, struct http_request *r)
{
	char text[96];

	(void)h;
	snprintf(text, sizeof(text), "%d %d %" PRIu64 " %d", r->local, r->peer_pid, r->peer_start,
		 r->port);
	http_reply(r, 200, "text/plain", str_of(text), NULL);
}

static void
visitor_gone(struct http_request *r)
{
	struct house *h = r->user;

	h->kept = NULL;
	atomic_fetch_add(&h->gone, 1);
}

static void
room_later(struct house *h, struct http_request *r)
{
	r->user = h;
	r->gone = visitor_gone;
	h->kept = r;
}

static void
reply_zeroes(struct http_request *r, size_t len)
{
	struct buf b = BUF_INIT(len);

	char *p = buf_room(&b, len);
	CHECK(p);
	memset(p, '0', len);
	b.len = len;
	http_reply_take(r, 200, "text/plain", &b, NULL);
}

static void
room_big(struct house *h, struct http_request *r)
{
	(void)h;
	reply_zeroes(r, BIG_BYTES);
}

static void
room_huge(struct house *h, struct http_request *r)
{
	(void)h;
	reply_zeroes(r, HUGE_BYTES);
}

static void
room_none(struct house *h, struct http_request *r)
{
	(void)h;
	http_reply(r, 204, NULL, S(""), NULL);
}

static void
part_closed(void *arg)
{
	struct house *h = arg;

	h->stream = NULL;
	h->wire = NULL;
	atomic_fetch_add(&h->closed, 1);
}

/* As much as it takes, for ever. */
static void
flood_ready(struct http_stream *st, void *arg)
{
	static char piece[1000];
	struct house *h = arg;

	while (http_stream_write(st, (struct str){piece, sizeof(piece)}))
		atomic_fetch_add(&h->written, 1);
	atomic_fetch_add(&h->refused, 1);
	if (http_stream_queued(st) > atomic_load(&h->most_queued))
		atomic_store(&h->most_queued, http_stream_queued(st));
}

static void
room_flood(struct house *h, struct http_request *r)
{
	struct http_stream_spec spec = {.ready = flood_ready, .closed = part_closed, .arg = h};
	unsigned before = atomic_load(&h->written);

	h->stream = http_reply_stream(r, "text/event-stream", &spec);
	CHECK(atomic_load(&h->written) == before); /* nothing is called inside */
}

/* Three pieces, the last two in one turn, then the end. */
static void
pieces_ready(struct http_stream *st, void *arg)
{
	struct house *h = arg;

	if (atomic_fetch_add(&h->written, 1) == 0) {
		http_stream_write(st, S("one "));
		return;
	}
	http_stream_write(st, S("two "));
	http_stream_write(st, S(""));
	http_stream_write(st, S("three"));
	http_stream_end(st);
	http_stream_write(st, S("too late"));
}

static void
room_pieces(struct house *h, struct http_request *r)
{
	struct http_stream_spec spec = {.ready = pieces_ready, .closed = part_closed, .arg = h};

	atomic_store(&h->written, 0);
	h->stream = http_reply_stream(r, "text/event-stream", &spec);
}

static void
wire_input(struct wire *w, struct str bytes, void *arg)
{
	(void)arg;
	if (str_is(bytes, "bye")) {
		wire_write(w, S("bye to you"));
		wire_close(w);
		return;
	}
	wire_write(w, S("<"));
	wire_write(w, bytes);
	wire_write(w, S(">"));
}

static void
room_wire(struct house *h, struct http_request *r)
{
	struct wire_spec spec = {.input = wire_input, .closed = part_closed, .arg = h};

	h->wire = http_upgrade(r, "mcp", &spec);
}

static const struct room {
	const char *path;
	void (*enter)(struct house *h, struct http_request *r);
} rooms[] = {
    {"/hello", room_hello},   {"/echo", room_echo},   {"/headers", room_headers},
    {"/who", room_who},       {"/later", room_later}, {"/big", room_big},
    {"/huge", room_huge},     {"/none", room_none},   {"/flood", room_flood},
    {"/pieces", room_pieces}, {"/wire", room_wire},
};

static bool
house_head(struct http_request *r, void *arg)
{
	CHECK(r->body.len == 0);
	r->user = arg;
	if (!str_is(r->path, "/private"))
		return true;
	http_reply(r, 403, "text/plain", S("private"), NULL);
	return false;
}

static void
house_handle(struct http_request *r, void *arg)
{
	struct house *h = arg;

	CHECK(r->user == h);
	atomic_fetch_add(&h->requests, 1);
	for (size_t i = 0; i < ARRAY_LEN(rooms); i++)
		if (str_is(r->path, rooms[i].path)) {
			rooms[i].enter(h, r);
			return;
		}
	room_echo(h, r);
}

/* The house */

static void
house_wake(void *arg)
{
	struct house *h = arg;

	if (h->leaving) {
		mailbox_done(&h->mailbox);
		loop_stop(h->loop);
		return;
	}
	h->job(h);
	sem_post(&h->job_done);
}

static void *
house_live(void *arg)
{
	struct house *h = arg;

	loop_run(h->loop);
	return NULL;
}

struct house *
house_open(const struct http_limits *limits)
{
	struct house *h = calloc(1, sizeof(*h));
	struct http_server_spec spec = {.head = house_head, .handle = house_handle, .arg = h};
	struct err e;

	assert_non_null(h);
	if (limits)
		spec.limits = *limits;
	snprintf(h->dir, sizeof(h->dir), "/tmp/house-XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	snprintf(h->path, sizeof(h->path), "%s/s", h->dir);
	assert_int_equal(loop_new(&h->loop, &e), 0);
	assert_int_equal(http_server_new(h->loop, &spec, &h->server, &e), 0);
	assert_int_equal(http_listen_tcp(h->server, "127.0.0.1", 0, &h->port, &e), 0);
	assert_int_equal(http_listen_unix(h->server, h->path, &e), 0);
	assert_int_equal(mailbox_init(h->loop, &h->mailbox, house_wake, h, &e), 0);
	sem_init(&h->job_done, 0, 0);
	assert_int_equal(pthread_create(&h->thread, NULL, house_live, h), 0);
	return h;
}

static void
house_stopped(void *arg)
{
	atomic_store(&((struct house *)arg)->stopped, true);
}

static void
job_stop(struct house *h)
{
	http_server_stop(h->server, h->grace_ms, house_stopped, h);
	CHECK(!atomic_load(&h->stopped)); /* never inside */
}

void
house_stop(struct house *h, unsigned grace_ms)
{
	h->grace_ms = grace_ms;
	h->stopping = true;
	house_do(h, job_stop);
}

static void
job_nothing(struct house *h)
{
	(void)h;
}

void
house_close(struct house *h)
{
	if (!h->stopping)
		house_stop(h, 0);
	while (!atomic_load(&h->stopped))
		house_do(h, job_nothing);
	h->leaving = true;
	mailbox_post(&h->mailbox);
	pthread_join(h->thread, NULL);
	http_server_free(h->server);
	loop_free(h->loop);
	sem_destroy(&h->job_done);
	rmdir(h->dir);
	free(h);
}

void
house_do(struct house *h, void (*job)(struct house *h))
{
	h->job = job;
	mailbox_post(&h->mailbox);
	while (sem_wait(&h->job_done) < 0)
		assert_int_equal(errno, EINTR);
}

static size_t counted;

static void
job_count(struct house *h)
{
	counted = http_connections(h->server);
}

size_t
house_connections(struct house *h)
{
	house_do(h, job_count);
	return counted;
}

static void
breathe(uint64_t since_ms)
{
	assert_true(clock_mono_ms() - since_ms < HOUSE_MS);
	poll(NULL, 0, 1);
}

void
house_await_connections(struct house *h, size_t count)
{
	for (uint64_t start = clock_mono_ms(); house_connections(h) != count;)
		breathe(start);
}

void
house_await(atomic_uint *figure, unsigned value)
{
	for (uint64_t start = clock_mono_ms(); atomic_load(figure) < value;)
		breathe(start);
}

/* Raw sockets */

static int
tcp_connect(struct house *h, int buffer)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(h->port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (buffer)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int
raw_tcp(struct house *h)
{
	return tcp_connect(h, 0);
}

int
raw_tcp_small(struct house *h)
{
	return tcp_connect(h, 4096);
}

int
raw_unix(struct house *h)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", h->path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* The server may end the connection in the middle; what matters is then what it said. */
void
raw_send(int fd, struct str bytes)
{
	while (bytes.len) {
		ssize_t n = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

		if (n < 0)
			return;
		bytes = str_from(bytes, (size_t)n);
	}
}

void
raw_sendz(int fd, const char *z)
{
	raw_send(fd, str_of(z));
}

/* At most n bytes; 0 at the end. */
static size_t
raw_recv(int fd, char *out, size_t n)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, HOUSE_MS), 1);
	ssize_t got = recv(fd, out, n, 0);
	if (got < 0)
		assert_true(errno == ECONNRESET || errno == EPIPE);
	return got > 0 ? (size_t)got : 0;
}

static bool
read_line(int fd, struct buf *out)
{
	char c;

	while (raw_recv(fd, &c, 1) == 1) {
		buf_addc(out, c);
		if (c == '\n')
			return true;
	}
	return false;
}

static void
read_bytes(int fd, struct buf *out, size_t n)
{
	while (n) {
		char *p = buf_room(out, n);
		assert_non_null(p);
		size_t got = raw_recv(fd, p, n);
		assert_true(got > 0);
		out->len += got;
		n -= got;
	}
}

static void
read_chunks(int fd, struct buf *out)
{
	for (size_t size = 1; size > 0;) {
		struct buf line = BUF_INIT(100);

		assert_true(read_line(fd, &line));
		size = strtoul(buf_z(&line), NULL, 16);
		read_bytes(fd, out, size);
		buf_reset(&line);
		assert_true(read_line(fd, &line));
		assert_true(str_is(buf_str(&line), "\r\n"));
		buf_done(&line);
	}
}

void
answer_read(int fd, struct answer *ret)
{
	*ret = (struct answer){.head = BUF_INIT(64 * KIB), .body = BUF_INIT(2 * HUGE_BYTES)};
	while (read_line(fd, &ret->head))
		if (str_ends(buf_str(&ret->head), S("\r\n\r\n")))
			break;
	if (ret->head.len == 0)
		return;
	const char *head = buf_z(&ret->head);
	assert_int_equal(sscanf(head, "HTTP/1.1 %d", &ret->status), 1);
	const char *length = strstr(head, "Content-Length: ");
	if (strstr(head, "Transfer-Encoding: chunked"))
		read_chunks(fd, &ret->body);
	else if (length)
		read_bytes(fd, &ret->body, strtoul(length + 16, NULL, 10));
}

void
answer_done(struct answer *a)
{
	buf_done(&a->head);
	buf_done(&a->body);
}

bool
answer_has(struct answer *a, const char *header_line)
{
	return a->head.len && strstr(buf_z(&a->head), header_line);
}

int
raw_status(int fd)
{
	struct answer a;

	answer_read(fd, &a);
	int status = a.status;
	answer_done(&a);
	return status;
}

void
raw_rest(int fd, struct buf *out)
{
	char piece[16384];
	size_t n;

	while ((n = raw_recv(fd, piece, sizeof(piece))) > 0)
		buf_add(out, (struct str){piece, n});
}

bool
raw_at_end(int fd)
{
	char c;

	return raw_recv(fd, &c, 1) == 0;
}
