/*
 * fuzz_fetch.c - any bytes at all as an answer: no crash, no leak, one end, and nothing handed on
 * that breaks the promises of fetch.h.
 *
 * The first byte says how the rest is cut into pieces, and what is done meanwhile.
 */

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "net/fetch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define MOST_BYTES (64 * KIB)

static struct loop *loop;
static int listener;
static char url[64];

struct seen {
	struct fetch *fetch; /* NULL: over */
	unsigned heads;
	size_t bytes;
	int status, code;
	bool pauses;
};

static void
on_head(struct fetch *f, int status, void *arg)
{
	struct seen *s = arg;
	struct str type = fetch_header(f, "Content-Type");

	CHECK(s->heads++ == 0 && s->bytes == 0);
	CHECK(status >= 200 && status <= 999);
	CHECK(str_index(type, '\n') < 0 && str_index(type, '\0') < 0);
	CHECK(!fetch_header(f, "Content-Length").ptr || !fetch_header(f, "Transfer-Encoding").ptr ||
	      status == 204 || status == 304);
	s->status = status;
}

static void
on_piece(struct fetch *f, struct str piece, void *arg)
{
	struct seen *s = arg;

	CHECK(s->heads == 1 && piece.len > 0);
	s->bytes += piece.len;
	CHECK(s->bytes <= MOST_BYTES);
	if (s->pauses)
		fetch_pause(f, true);
}

static void
on_over(struct fetch *f, int status, const struct err *e, void *arg)
{
	struct seen *s = arg;

	(void)f;
	CHECK(s->fetch && status == s->status);
	CHECK(e->code == 0 || e->text[0]);
	CHECK(e->code != 0 || s->heads == 1);
	s->code = e->code;
	s->fetch = NULL;
}

static void
start(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);

	CHECK(loop_new(&loop, NULL) == 0);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK(bind(listener, (struct sockaddr *)&a, len) == 0 && listen(listener, 16) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&a, &len) == 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(a.sin_port));
}

static void
turn(struct seen *s)
{
	uv_run(loop_uv(loop), UV_RUN_NOWAIT);
	if (s->fetch && s->pauses)
		fetch_pause(s->fetch, false);
}

/* The connection of the request that is on its way. */
static int
taken(struct seen *s)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
		turn(s);
	return fd;
}

static void
answer(struct seen *s, int fd, const uint8_t *bytes, size_t size, size_t piece)
{
	for (size_t at = 0; at < size && s->fetch;) {
		size_t n = size - at < piece ? size - at : piece;
		ssize_t sent = send(fd, bytes + at, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0)
			at += (size_t)sent;
		turn(s);
	}
	shutdown(fd, SHUT_WR);
	while (s->fetch)
		turn(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct seen s = {0};
	struct fetch_spec spec = {.url = url,
				  .max_bytes = MOST_BYTES,
				  .head = on_head,
				  .piece = on_piece,
				  .over = on_over,
				  .arg = &s};
	struct fetcher *fetcher;

	if (size < 2 || size > 100 * KIB)
		return 0;
	if (!loop)
		start();
	spec.method = bytes[0] & 1 ? "HEAD" : "POST";
	s.pauses = bytes[0] & 2;
	size_t piece = bytes[0] >> 2 ? (bytes[0] >> 2) * 7u : size;
	CHECK(fetcher_new(loop, &fetcher, NULL) == 0);
	CHECK(fetch_start(fetcher, &spec, &s.fetch, NULL) == 0);
	int fd = taken(&s);
	answer(&s, fd, bytes + 1, size - 1, piece);
	fetcher_free(fetcher);
	close(fd);
	uv_run(loop_uv(loop), UV_RUN_NOWAIT);
	return 0;
}
