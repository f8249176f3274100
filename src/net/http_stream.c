/* http_stream.c - answers that go on: streams of a known form, and wires that are no longer HTTP.
 */

#include "net/http_conn.h"

static size_t
conn_queued(const struct conn *c)
{
	size_t sending = c->sending ? uv_stream_get_write_queue_size(&c->uv.stream) : 0;

	return c->queue.len + sending;
}

/* The queue takes off, and the memory of the last flight becomes the queue. */
static bool
conn_take_off(struct conn *c)
{
	struct buf next = c->queue;

	if (c->sending || next.len == 0)
		return false;
	c->queue = c->flight[0];
	c->flight[0] = next;
	buf_reset(&c->queue);
	conn__send(c);
	return true;
}

/* Put the head of the answer into the queue and let the next turn send it. */
static void
conn_launch(struct conn *c, enum conn_state state, enum conn_owner owner)
{
	c->owner = owner;
	if (c->state == CONN_CLOSED)
		return; /* the peer is gone already; `closed` is on its way */
	c->state = state;
	conn__deadline(c, 0); /* that of the request */
	c->ending = false;
	if (buf_failed(&c->queue))
		conn__close(c);
	conn__soon(c);
}

/* Streams */

struct http_stream *
http_reply_stream(struct http_request *r, const char *type, const struct http_stream_spec *spec)
{
	struct conn *c = CONTAINER_OF(r, struct conn, request);

	CHECK(c->owner == OWNER_HANDLER);
	c->stream.spec = *spec;
	c->chunked = c->parser.http_minor == 1;
	reply__head(c, &c->queue, 200, type, spec->extra);
	buf_addz(&c->queue, c->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
	conn_launch(c, CONN_STREAM, OWNER_STREAM);
	if (str_is(r->method, "HEAD")) { /* over with its head, and no last chunk either */
		c->chunked = false;
		c->ending = true;
	}
	return &c->stream;
}

bool
http_stream_write(struct http_stream *st, struct str bytes)
{
	struct conn *c = CONTAINER_OF(st, struct conn, stream);
	size_t queued = conn_queued(c);

	if (c->state != CONN_STREAM || c->ending || bytes.len == 0)
		return true; /* nobody will see it; an empty chunk would end the answer */
	if (bytes.len > LIMIT_HTTP_QUEUED || (queued && queued + bytes.len > LIMIT_HTTP_QUEUED / 4))
		return false;
	if (c->chunked)
		buf_addf(&c->queue, "%zx\r\n", bytes.len);
	buf_add(&c->queue, bytes);
	if (c->chunked)
		buf_addz(&c->queue, "\r\n");
	if (buf_failed(&c->queue))
		conn__close(c);
	conn__soon(c);
	return true;
}

size_t
http_stream_queued(const struct http_stream *st)
{
	return conn_queued(CONTAINER_OF(st, struct conn, stream));
}

void
http_stream_end(struct http_stream *st)
{
	struct conn *c = CONTAINER_OF(st, struct conn, stream);

	if (c->state != CONN_STREAM || c->ending)
		return;
	c->ending = true;
	if (c->chunked)
		buf_addz(&c->queue, "0\r\n\r\n");
	if (buf_failed(&c->queue))
		conn__close(c);
	conn__soon(c);
}

static void
nobody_ready(struct http_stream *st, void *arg)
{
	(void)st;
	(void)arg;
}

static void
nobody_closed(void *arg)
{
	(void)arg;
}

void
http_stream_disown(struct http_stream *st)
{
	st->spec.ready = nobody_ready;
	st->spec.closed = nobody_closed;
	http_stream_end(st);
}

void
stream__turn(struct conn *c)
{
	if (!c->sending && !conn_take_off(c) && c->ending)
		stream__sent(c);
}

void
stream__sent(struct conn *c)
{
	struct http_stream_spec spec = c->stream.spec;

	if (conn_take_off(c))
		return;
	if (!c->ending) {
		spec.ready(&c->stream, spec.arg);
		return;
	}
	conn__answered(c);
	spec.closed(spec.arg);
}

/* Wires */

/* What it holds for a peer that has not read it; a wire that is closed holds nothing for long. */
void
wire__count(struct conn *c)
{
	size_t now = c->state == CONN_WIRE ? c->queue.len + c->flight[0].len : 0;

	c->server->waiting += now - c->waiting;
	c->waiting = now;
}

static struct conn *
wire_furthest_behind(const struct http_server *s)
{
	struct conn *worst = NULL;

	LIST_EACH (&s->conns, n) {
		struct conn *c = CONTAINER_OF(n, struct conn, node);
		if (!worst || c->waiting > worst->waiting)
			worst = c;
	}
	CHECK(worst);
	return worst;
}

struct wire *
http_upgrade(struct http_request *r, const char *protocol, const struct wire_spec *spec)
{
	struct conn *c = CONTAINER_OF(r, struct conn, request);

	CHECK(c->owner == OWNER_HANDLER);
	c->wire.spec = *spec;
	c->queue.max = c->flight[0].max = LIMIT_WIRE_QUEUED + LIMIT_LINE_BYTES + KIB;
	reply__head(c, &c->queue, 101, NULL, NULL);
	buf_addf(&c->queue, "Connection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol);
	conn_launch(c, CONN_WIRE, OWNER_WIRE);
	return &c->wire;
}

bool
wire_write(struct wire *w, struct str bytes)
{
	struct conn *c = CONTAINER_OF(w, struct conn, wire);

	if (c->state != CONN_WIRE || c->ending)
		return true;
	if (bytes.len > LIMIT_LINE_BYTES + 1 || conn_queued(c) > LIMIT_WIRE_QUEUED) {
		conn__close(c);
		return false;
	}
	buf_add(&c->queue, bytes);
	if (buf_failed(&c->queue)) {
		conn__close(c);
		return false;
	}
	wire__count(c);
	while (c->server->waiting > c->server->spec.limits.wires_bytes)
		conn__close(wire_furthest_behind(c->server));
	conn__soon(c);
	return c->state == CONN_WIRE;
}

void
wire_close(struct wire *w)
{
	struct conn *c = CONTAINER_OF(w, struct conn, wire);

	if (c->state != CONN_WIRE)
		return;
	c->ending = true;
	conn__soon(c);
}

void
wire__input(struct conn *c, struct str bytes)
{
	if (c->pending.len) { /* came with the request; its turn is near */
		conn__hold(c, bytes);
	} else if (!c->ending) {
		c->wire.spec.input(&c->wire, bytes, c->wire.spec.arg);
	}
}

void
wire__eof(struct conn *c)
{
	c->eof = true;
	conn__soon(c);
}

void
wire__turn(struct conn *c)
{
	if (c->pending.len) {
		struct buf early = buf_take(&c->pending);
		wire__input(c, buf_str(&early));
		buf_done(&early);
		conn__listen(c); /* there may have been too much of it */
	}
	if (c->eof)
		c->ending = true;
	if (c->state == CONN_WIRE && !c->sending && !conn_take_off(c) && c->ending)
		conn__close(c);
	wire__count(c);
}
