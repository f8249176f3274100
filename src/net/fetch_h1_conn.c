/* fetch_h1_conn.c - connections of plain http: written to, read from, kept for the next. */

#include "net/fetch_h1.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* The end */

static void
conn_closed(uv_handle_t *h)
{
	struct h1_conn *c = h->data;

	buf_done(&c->out);
	free(c);
}

void
h1__conn_close(struct h1_conn *c)
{
	if (c->closing)
		return;
	c->closing = true;
	c->user = NULL;
	list_remove(&c->node);
	c->fetcher->h1.conns--;
	uv_close(&c->uv.handle, conn_closed);
}

/* Reading */

static void
conn_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	struct h1_conn *c = h->data;
	struct h1_pool *pool = &c->fetcher->h1;

	(void)suggested;
	if (!pool->input)
		pool->input = malloc(LIMIT_FETCH_INPUT);
	*ret = uv_buf_init(pool->input, pool->input ? LIMIT_FETCH_INPUT : 0);
}

/* An idle connection has nothing to say: it is at its end, or says what nobody asked. */
static void
conn_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
	struct h1_conn *c = stream->data;

	if (n == 0 || c->closing)
		return;
	if (!c->user)
		h1__conn_close(c);
	else if (n > 0)
		h1__input(c->user, (struct str){b->base, (size_t)n});
	else
		h1__input_over(c->user, (int)n);
}

/* Between exchanges it is still listened to: that saves arming it again. */
void
h1__conn_listen(struct h1_conn *c, bool listen)
{
	if (c->reading == listen)
		return;
	c->reading = listen;
	if (listen)
		uv_read_start(&c->uv.stream, conn_alloc, conn_read);
	else
		uv_read_stop(&c->uv.stream);
}

/* Writing */

/* A server that stops listening may have answered already: reading tells how it ended. */
static void
conn_written(uv_write_t *w, int status)
{
	struct h1_conn *c = w->data;

	(void)status;
	c->writing = false;
	buf_done(&c->out);
}

static bool
conn_send_rest(struct h1_conn *c, struct buf *out, size_t sent)
{
	c->out = buf_take(out);
	uv_buf_t rest = uv_buf_init(c->out.ptr + sent, (unsigned)(c->out.len - sent));
	c->write.data = c;
	c->writing = uv_write(&c->write, &c->uv.stream, &rest, 1, conn_written) == 0;
	return c->writing || sent > 0;
}

bool
h1__conn_send(struct h1_conn *c, struct h1_fetch *f)
{
	uv_buf_t all = uv_buf_init(f->out.ptr, (unsigned)f->out.len);
	int sent = uv_try_write(&c->uv.stream, &all, 1);
	bool good = sent >= 0 || sent == UV_EAGAIN;

	if (good && (sent < 0 || (size_t)sent < f->out.len))
		good = conn_send_rest(c, &f->out, sent < 0 ? 0 : (size_t)sent);
	if (!good) {
		h1__conn_close(c);
		return false;
	}
	c->user = f;
	h1__conn_listen(c, true);
	return true;
}

/* Keeping */

static void
pool_swept(void *arg)
{
	struct fetcher *fr = arg;
	uint64_t now = loop_now_ms(fr->loop), kept_ms = LIMIT_FETCH_KEPT_S * UINT64_C(1000);
	struct node *n;

	while ((n = list_first(&fr->h1.idle)) != NULL) {
		struct h1_conn *c = CONTAINER_OF(n, struct h1_conn, node);
		uint64_t age = now - c->idle_ms;

		if (age < kept_ms &&
		    timer_start(fr->loop, &fr->h1.sweep, kept_ms - age, pool_swept, fr) == 0)
			return;
		h1__conn_close(c);
	}
}

/* So that what a rush of requests opened is closed again as it passes. */
static void
pool_trim(struct fetcher *fr)
{
	struct h1_pool *pool = &fr->h1;

	while (pool->idle.len && pool->conns > fr->fetches.len + LIMIT_FETCH_KEPT)
		h1__conn_close(CONTAINER_OF(list_first(&pool->idle), struct h1_conn, node));
}

void
h1__conn_keep(struct h1_conn *c)
{
	struct fetcher *fr = c->fetcher;

	c->user = NULL;
	c->used = true;
	c->idle_ms = loop_now_ms(fr->loop);
	list_push(&fr->h1.idle, &c->node);
	pool_trim(fr);
	if (!timer_running(&fr->h1.sweep))
		pool_swept(fr);
}

/* What the loop has not looked at yet: the end is there, or what nobody asked for. */
static bool
conn_stands(const struct h1_conn *c)
{
	char byte;
	uv_os_fd_t fd;

	return uv_fileno(&c->uv.handle, &fd) == 0 &&
	       recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static bool
conn_is_for(const struct h1_conn *c, const struct h1_fetch *f)
{
	return c->port == f->port &&
	       str_eq_nocase((struct str){c->host, c->host_len}, buf_str(&f->host));
}

/* It may have been opened for another, who may go where this one may not. */
static bool
conn_allowed(const struct h1_conn *c, const struct h1_fetch *f)
{
	const struct fetch_spec *spec = &f->fetch.spec;

	return !spec->allows || spec->allows(&c->peer.any, spec->arg);
}

struct h1_conn *
h1__conn_take(struct h1_fetch *f)
{
	struct fetcher *fr = f->fetch.fetcher;
	uint64_t now = loop_now_ms(fr->loop);

	for (struct node *n = list_last(&fr->h1.idle), *before; n; n = before) {
		struct h1_conn *c = CONTAINER_OF(n, struct h1_conn, node);

		before = n->prev == &fr->h1.idle.head ? NULL : n->prev;
		if (!conn_is_for(c, f) || !conn_allowed(c, f))
			continue;
		if (now - c->idle_ms < LIMIT_FETCH_KEPT_S * UINT64_C(1000) && conn_stands(c)) {
			list_remove(&c->node);
			return c;
		}
		h1__conn_close(c);
	}
	return NULL;
}

/* Consumes fd. NULL: out of memory. */
struct h1_conn *
h1__conn_new(struct h1_fetch *f, int fd, const union dial_address *peer)
{
	struct fetcher *fr = f->fetch.fetcher;
	struct h1_conn *c = calloc(1, sizeof(*c) + f->host.len);

	if (!c) {
		close(fd);
		return NULL;
	}
	c->fetcher = fr;
	c->peer = *peer;
	c->port = f->port;
	c->host_len = f->host.len;
	memcpy(c->host, f->host.ptr, f->host.len);
	buf_init(&c->out, SIZE_MAX);
	uv_tcp_init(loop_uv(fr->loop), &c->uv.tcp);
	c->uv.handle.data = c;
	fr->h1.conns++;
	if (uv_tcp_open(&c->uv.tcp, fd) < 0) {
		close(fd);
		h1__conn_close(c);
		return NULL;
	}
	uv_tcp_nodelay(&c->uv.tcp, 1);
	uv_tcp_keepalive(&c->uv.tcp, 1, 60);
	return c;
}
