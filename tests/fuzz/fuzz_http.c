/*
 * fuzz_http.c - any bytes at all on a connection: no crash, no leak, and nothing handed to the
 * handler that breaks the promises of http.h.
 *
 * clang -g -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Isrc tests/fuzz/fuzz_http.c
 *       src/net/{http,sse}*.c src/loop/loop.c src/base/{buf,bug,clock,err,list,str}.c
 *       -luv -lllhttp
 */

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "net/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct loop *loop;
static struct http_server *server;

static void
check_promises(const struct http_request *r)
{
	CHECK(r->method.len > 0);
	CHECK(!r->path.ptr || (r->path.len > 0 && r->path.ptr[0] == '/'));
	CHECK(!r->path.ptr || (!memchr(r->path.ptr, 0, r->path.len) && str_is_utf8(r->path)));
	CHECK(r->body.len <= LIMIT_HTTP_BODY);
	CHECK(r->header_count <= LIMIT_HTTP_HEADERS);
	CHECK(http_header_times(r, "host") <= 1);
	CHECK(http_header_times(r, "content-length") <= 1);
	CHECK(!http_header_times(r, "content-length") ||
	      !http_header_times(r, "transfer-encoding"));
	for (size_t i = 0; i < r->header_count; i++) {
		CHECK(r->headers[i].name.len > 0);
		CHECK(str_index(r->headers[i].value, '\n') < 0);
		CHECK(str_index(r->headers[i].value, '\0') < 0);
	}
}

static void
wire_input(struct wire *w, struct str bytes, void *arg)
{
	(void)arg;
	wire_write(w, bytes);
}

static void
ready(struct http_stream *st, void *arg)
{
	(void)arg;
	http_stream_write(st, S("once"));
	http_stream_end(st);
}

static void
closed(void *arg)
{
	(void)arg;
}

static void
handle(struct http_request *r, void *arg)
{
	struct http_stream_spec stream = {.ready = ready, .closed = closed};
	struct wire_spec wire = {.input = wire_input, .closed = closed};
	struct buf q = BUF_INIT(64 * KIB);

	(void)arg;
	check_promises(r);
	http_query(r, "q", &q);
	buf_done(&q);
	if (str_is(r->path, "/s"))
		http_reply_stream(r, "text/plain", &stream);
	else if (str_is(r->path, "/w"))
		http_upgrade(r, "x", &wire);
	else
		http_reply(r, 200, "text/plain", r->body, NULL);
}

static void
start(void)
{
	struct http_server_spec spec = {.handle = handle};

	CHECK(loop_new(&loop, NULL) == 0);
	CHECK(http_server_new(loop, &spec, &server, NULL) == 0);
}

static void
drain(int fd)
{
	char answers[65536];

	while (recv(fd, answers, sizeof(answers), MSG_DONTWAIT) > 0)
		;
}

/* The first byte says how the rest is cut into pieces. */
int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fds[2];

	if (size < 2 || size > 100 * KIB)
		return 0;
	if (!loop)
		start();
	size_t piece = bytes[0] ? bytes[0] * 7u : size;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	CHECK(http_adopt(server, fds[0], NULL) == 0);
	for (size_t at = 1; at < size;) {
		size_t n = size - at < piece ? size - at : piece;
		ssize_t sent =
		    send(fds[1], bytes + at, n, MSG_DONTWAIT | MSG_NOSIGNAL); /* NOLINT */

		if (sent > 0)
			at += (size_t)sent;
		else if (http_connections(server) == 0)
			break;
		uv_run(loop_uv(loop), UV_RUN_NOWAIT);
		drain(fds[1]);
	}
	shutdown(fds[1], SHUT_WR);
	while (http_connections(server) > 0) {
		uv_run(loop_uv(loop), UV_RUN_NOWAIT);
		drain(fds[1]);
	}
	close(fds[1]);
	return 0;
}
