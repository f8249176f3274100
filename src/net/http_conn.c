/* http_conn.c - the life of a connection: what each state does with what happens to it. */

#include "net/http_conn.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "minder/proc.h"

#define BODY_KEPT (64 * KIB) /* memory an idle connection may hold on to */

/* Reading */

static void
conn_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	struct conn *c = h->data;

	(void)suggested;
	*ret = uv_buf_init(c->server->input, sizeof(c->server->input));
}

static void conn_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b);

void
conn__listen(struct conn *c)
{
	if (c->reading || c->eof || c->state == CONN_CLOSED || c->pending.len >= LIMIT_HTTP_PENDING)
		return;
	if (uv_read_start(&c->uv.stream, conn_alloc, conn_read) < 0)
		conn__close(c);
	else
		c->reading = true;
}

/* Not its turn yet. The peer is still listened to: its going away should be noticed. */
void
conn__hold(struct conn *c, struct str bytes)
{
	buf_add(&c->pending, bytes);
	if (buf_failed(&c->pending)) {
		conn__close(c);
	} else if (c->pending.len >= LIMIT_HTTP_PENDING) {
		uv_read_stop(&c->uv.stream);
		c->reading = false;
	}
}

static void
conn_drop(struct conn *c, struct str bytes)
{
	(void)c;
	(void)bytes;
}

bool
conn__admit(struct conn *c)
{
	struct http_server *s = c->server;

	if (!s->spec.head)
		return true;
	c->owner = OWNER_HANDLER;
	bool admitted = s->spec.head(&c->request, s->spec.arg);
	CHECK(admitted == (c->owner == OWNER_HANDLER)); /* refused is answered */
	c->owner = OWNER_NONE;
	return admitted;
}

static void
conn_dispatch(struct conn *c)
{
	struct http_server *s = c->server;

	c->state = CONN_CALL; /* here no deadline counts; the next answer sets a new one */
	c->owner = OWNER_HANDLER;
	s->spec.handle(&c->request, s->spec.arg);
	if (c->state == CONN_CALL && c->eof)
		conn__close(c);
}

/* Best effort: a client that hears nothing sends its body anyway after a while. */
static void
conn_continue(struct conn *c)
{
	static char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	uv_buf_t b = uv_buf_init(line, sizeof(line) - 1);
	int sent = uv_try_write(&c->uv.stream, &b, 1);

	if (sent > 0 && (size_t)sent < b.len)
		conn__close(c);
}

static void
conn_feed(struct conn *c, struct str bytes)
{
	size_t used = 0;

	switch (parse__feed(c, bytes, &used)) {
	case PARSED_BAD:
		if (c->refusal)
			reply__refuse(c, c->refusal);
		break;
	case PARSED_WHOLE:
		conn__hold(c, str_from(bytes, used));
		if (c->state != CONN_CLOSED)
			conn_dispatch(c);
		break;
	case PARSED_PART:
		if (c->state == CONN_HEAD && c->head_over) {
			c->state = CONN_BODY;
			conn__deadline(c, c->server->spec.limits.body_ms);
			if (c->state == CONN_BODY && parse__expects(c) && !c->body.len)
				conn_continue(c);
		}
		break;
	}
}

static void
conn_begin(struct conn *c, struct str bytes)
{
	if (c->pending.len) { /* older bytes wait for their turn */
		conn__hold(c, bytes);
		return;
	}
	c->state = CONN_HEAD;
	conn_feed(c, bytes);
	if (c->state == CONN_HEAD) /* most are whole already */
		conn__deadline(c, c->server->spec.limits.header_ms);
}

/* Whole requests that came before the end are still answered. */
static void
conn_last(struct conn *c)
{
	c->eof = true;
	if (c->state == CONN_IDLE && !c->pending.len)
		conn__close(c);
}

static bool
conn_is_fat(const struct conn *c)
{
	return c->body.cap > BODY_KEPT || c->flight[0].cap > BODY_KEPT || c->queue.cap > BODY_KEPT;
}

/* Back from an answer: give big memory back, go on with what has already come. */
static void
conn_resume(struct conn *c)
{
	if (c->body.cap > BODY_KEPT)
		buf_done(&c->body);
	if (c->flight[0].cap > BODY_KEPT)
		buf_done(&c->flight[0]);
	if (c->queue.cap > BODY_KEPT)
		buf_done(&c->queue);
	if (c->pending.len) {
		struct buf bytes = buf_take(&c->pending);
		conn_begin(c, buf_str(&bytes));
		buf_done(&bytes);
	}
	if (c->eof && c->state <= CONN_BODY && !c->pending.len)
		conn__close(c);
	conn__listen(c);
}

/* Deadlines */

static void
conn_slow(struct conn *c)
{
	reply__refuse(c, 408);
}

static void
conn_stalled(struct conn *c)
{
	size_t unsent = uv_stream_get_write_queue_size(&c->uv.stream);

	if (!c->sending)
		return; /* at the end of this turn */
	if (unsent >= c->unsent) {
		conn__close(c);
		return;
	}
	c->unsent = unsent;
	conn__deadline(c, c->server->spec.limits.stall_ms);
}

/* The table */

static const struct conn_rule {
	void (*input)(struct conn *c, struct str bytes);
	void (*eof)(struct conn *c);  /* the peer sends no more */
	void (*late)(struct conn *c); /* the deadline has passed */
	void (*turn)(struct conn *c); /* was put off by conn__soon */
	void (*sent)(struct conn *c); /* flight[] is with the peer */
} rules[] = {
    [CONN_IDLE] = {conn_begin, conn_last, conn__close, conn_resume, NULL},
    [CONN_HEAD] = {conn_feed, conn__close, conn_slow, NULL, NULL},
    [CONN_BODY] = {conn_feed, conn__close, conn_slow, NULL, NULL},
    [CONN_CALL] = {conn__hold, conn__close, NULL, NULL, NULL},
    [CONN_REPLY] = {conn__hold, conn_last, conn_stalled, conn__send, conn__answered},
    [CONN_STREAM] = {conn__hold, conn__close, conn_stalled, stream__turn, stream__sent},
    [CONN_WIRE] = {wire__input, wire__eof, conn_stalled, wire__turn, wire__turn},
    [CONN_LINGER] = {conn_drop, conn__close, conn__close, NULL, NULL},
};

static void
conn_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
	struct conn *c = stream->data;

	if (c->state == CONN_CLOSED || n == 0)
		return;
	if (n > 0) {
		rules[c->state].input(c, (struct str){b->base, (size_t)n});
		return;
	}
	uv_read_stop(stream);
	c->reading = false;
	if (n == UV_EOF)
		rules[c->state].eof(c);
	else
		conn__close(c); /* reset: nobody reads an answer either */
}

static void
conn_late(void *arg)
{
	struct conn *c = arg;

	if (rules[c->state].late)
		rules[c->state].late(c);
}

static void
conn_turn(void *arg)
{
	struct conn *c = arg;

	if (rules[c->state].turn)
		rules[c->state].turn(c);
}

void
conn__deadline(struct conn *c, unsigned delay_ms)
{
	if (delay_ms == 0)
		timer_stop(c->server->loop, &c->deadline);
	else if (timer_start(c->server->loop, &c->deadline, delay_ms, conn_late, c) < 0)
		conn__close(c); /* without a deadline it might stay for ever */
}

void
conn__soon(struct conn *c)
{
	if (c->state != CONN_CLOSED)
		defer(c->server->loop, &c->turn, conn_turn, c);
}

/* Writing */

static void
conn_all_sent(struct conn *c)
{
	if (c->state != CONN_REPLY) /* it sets another */
		conn__deadline(c, 0);
	buf_reset(&c->flight[0]);
	buf_done(&c->flight[1]);
	buf_done(&c->flight[2]);
	if (c->state != CONN_CLOSED)
		rules[c->state].sent(c);
}

static void
conn_written(uv_write_t *w, int status)
{
	struct conn *c = w->data;

	c->sending = false;
	if (c->state == CONN_CLOSED)
		return;
	if (status < 0)
		conn__close(c);
	else
		conn_all_sent(c);
}

/* Drop from the front what is already written. */
static unsigned
bufs_advance(uv_buf_t *bufs, unsigned count, size_t sent)
{
	unsigned left = 0;

	for (unsigned i = 0; i < count; i++) {
		size_t n = sent < bufs[i].len ? sent : bufs[i].len;

		sent -= n;
		if (n < bufs[i].len)
			bufs[left++] = uv_buf_init(bufs[i].base + n, (unsigned)(bufs[i].len - n));
	}
	return left;
}

void
conn__send(struct conn *c)
{
	uv_buf_t bufs[ARRAY_LEN(c->flight)];
	unsigned count = 0;

	CHECK(!c->sending);
	for (size_t i = 0; i < ARRAY_LEN(c->flight); i++)
		if (c->flight[i].len)
			bufs[count++] = uv_buf_init(c->flight[i].ptr, (unsigned)c->flight[i].len);
	/* Nearly always the socket takes all of it here, which saves a turn of the loop. */
	int sent = count ? uv_try_write(&c->uv.stream, bufs, count) : 0;
	if (sent < 0 && sent != UV_EAGAIN) {
		conn__close(c);
		return;
	}
	count = bufs_advance(bufs, count, sent > 0 ? (size_t)sent : 0);
	if (count == 0) {
		conn_all_sent(c);
		return;
	}
	c->write.data = c;
	if (uv_write(&c->write, &c->uv.stream, bufs, count, conn_written) < 0) {
		conn__close(c);
		return;
	}
	c->sending = true;
	c->unsent = uv_stream_get_write_queue_size(&c->uv.stream);
	conn__deadline(c, c->server->spec.limits.stall_ms);
}

void
conn__finish(struct conn *c)
{
	c->state = CONN_REPLY;
	defer_cancel(&c->turn); /* of the answer before; here it would send this one again */
	if (!loop_crowded(c->server->loop)) {
		conn__send(c);
		return;
	}
	/* All that are made in this turn go out one behind the other: a client that is woken for
	 * each of them costs more than its answer. */
	defer_last(c->server->loop, &c->turn, conn_turn, c);
}

/* The end */

static void
conn_shut(uv_shutdown_t *shutdown, int status)
{
	(void)shutdown;
	(void)status; /* when it failed, the peer is gone and reading says so */
}

/* To close with unread input would reset the connection and could destroy the answer on its way. */
static void
conn_linger(struct conn *c)
{
	if (c->eof || uv_shutdown(&c->shutdown, &c->uv.stream, conn_shut) < 0) {
		conn__close(c);
		return;
	}
	c->state = CONN_LINGER;
	buf_done(&c->pending);
	conn__deadline(c, LIMIT_HTTP_LINGER_MS);
	conn__listen(c);
}

void
conn__answered(struct conn *c)
{
	c->owner = OWNER_NONE;
	if (!c->keep) {
		conn_linger(c);
		return;
	}
	c->state = CONN_IDLE;
	conn__deadline(c, c->server->spec.limits.idle_ms);
	conn__listen(c);
	if (c->pending.len || c->eof || conn_is_fat(c)) /* mostly not: a turn costs something */
		conn__soon(c);
}

void
conn__stop(struct conn *c)
{
	if (c->state <= CONN_BODY || c->state == CONN_LINGER)
		conn__close(c);
	else
		c->keep = false;
}

static void
conn_tell_owner(struct conn *c)
{
	switch (c->owner) {
	case OWNER_NONE: break;
	case OWNER_HANDLER:
		if (c->request.gone)
			c->request.gone(&c->request);
		break;
	case OWNER_STREAM: c->stream.spec.closed(c->stream.spec.arg); break;
	case OWNER_WIRE: c->wire.spec.closed(c->wire.spec.arg); break;
	}
}

static void
conn_closed(uv_handle_t *h)
{
	struct conn *c = h->data;
	struct http_server *s = c->server;

	conn_tell_owner(c);
	list_remove(&c->node);
	s->tcp_count -= !c->request.local;
	buf_done(&c->head);
	buf_done(&c->body);
	buf_done(&c->pending);
	buf_done(&c->queue);
	buf_done(&c->flight[0]);
	buf_done(&c->flight[1]);
	buf_done(&c->flight[2]);
	free(c);
	server__conn_gone(s);
}

void
conn__close(struct conn *c)
{
	if (c->state == CONN_CLOSED)
		return;
	c->state = CONN_CLOSED;
	wire__count(c);
	timer_stop(c->server->loop, &c->deadline);
	defer_cancel(&c->turn);
	uv_close(&c->uv.handle, conn_closed);
}

/* The beginning */

static int
conn_open(struct conn *c, int fd, bool local_domain)
{
	uv_loop_t *uv = loop_uv(c->server->loop);
	int r;

	if (local_domain) {
		uv_pipe_init(uv, &c->uv.pipe, 0);
		r = uv_pipe_open(&c->uv.pipe, fd);
	} else {
		uv_tcp_init(uv, &c->uv.tcp);
		r = uv_tcp_open(&c->uv.tcp, fd);
		if (r == 0)
			uv_tcp_nodelay(&c->uv.tcp, 1);
	}
	c->uv.handle.data = c;
	return r;
}

static void
note_unix_peer(int fd, struct http_request *r)
{
	struct ucred cred;
	struct proc p;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 || !proc_read(cred.pid, &p))
		return;
	r->peer_pid = p.pid;
	r->peer_start = p.start;
}

/* A peer with a loopback address, or with the one it reached us at, is on this machine. */
static bool
is_same_host(const union address *peer, const union address *ours)
{
	if (address_is_loopback(peer))
		return true;
	if (peer->any.sa_family == AF_INET)
		return peer->v4.sin_addr.s_addr == ours->v4.sin_addr.s_addr;
	return memcmp(&peer->v6.sin6_addr, &ours->v6.sin6_addr, sizeof(ours->v6.sin6_addr)) == 0;
}

static void
note_tcp_peer(int fd, struct http_request *r)
{
	union address peer = {.v6 = {0}}, ours = {.v6 = {0}};
	socklen_t peer_len = sizeof(peer), ours_len = sizeof(ours);

	r->same_host = true; /* until it is known better: what is asked of such a peer is more */
	if (getpeername(fd, &peer.any, &peer_len) < 0 || getsockname(fd, &ours.any, &ours_len) < 0)
		return;
	r->same_host = is_same_host(&peer, &ours);
	r->peer_port = address_port(&peer);
}

static bool
is_local_domain(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

/* Consumes fd, also on failure. */
int
conn__start(struct http_server *s, int fd, bool local, uint16_t port, struct err *e)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return err_plain(e, E_NOMEM);
	}
	c->server = s;
	buf_init(&c->head, LIMIT_HTTP_HEADER_BYTES + LIMIT_HTTP_FIELD);
	buf_init(&c->body, s->spec.limits.body_bytes);
	buf_init(&c->pending, LIMIT_HTTP_PENDING + sizeof(s->input));
	buf_init(&c->queue, LIMIT_HTTP_QUEUED + LIMIT_LINE_BYTES + KIB);
	buf_init(&c->flight[0], LIMIT_HTTP_QUEUED + LIMIT_LINE_BYTES + KIB);
	parse__init(c);
	bool local_domain = is_local_domain(fd);
	c->request.local = local;
	c->request.port = port;
	if (local_domain)
		note_unix_peer(fd, &c->request);
	else
		note_tcp_peer(fd, &c->request);
	list_push(&s->conns, &c->node);
	s->tcp_count += !local;
	int r = conn_open(c, fd, local_domain);
	if (r < 0) {
		close(fd);
		conn__close(c);
		return err_errno(e, E_SYSTEM, -r, "open connection");
	}
	conn__deadline(c, s->spec.limits.idle_ms);
	conn__listen(c);
	return 0;
}
