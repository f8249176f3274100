/*
 * http.h - an HTTP/1.1 server on the loop: strict, bounded, small.
 *
 * llhttp parses in its strict mode. One request at a time on a connection; keep-alive;
 * pipelined bytes wait. Limits and deadlines stand in limits.h: too many or too long
 * headers 431, too long a target 414, too large a body 413 as soon as that is known,
 * too slow 408, malformed 400 - always one answer and then the end of the connection.
 *
 * A handler answers at once or later, exactly once. If the peer goes away before that,
 * `gone` is called and the request must not be touched again. A peer that only ends its
 * sending side counts as gone too: nobody can tell the two apart.
 */

#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/buf.h"
#include "loop/loop.h"

struct http_server;
struct http_stream;
struct wire;

struct http_header {
	struct str name;  /* as sent */
	struct str value; /* trimmed */
};

struct http_request {
	struct str method; /* "GET" */
	/* Percent-decoded, begins with '/', UTF-8 without NUL. {NULL,0} if the target is no such
	 * path: '*', a whole URL, a fragment, a bad escape. */
	struct str path;
	struct str query; /* raw, without '?' */
	struct str body;
	const struct http_header *headers;
	size_t header_count;
	bool local;                           /* came over a Unix socket or an adopted descriptor */
	int peer_pid;                         /* of a Unix socket's peer, 0 when unknown */
	uint64_t peer_start;                  /* its start (minder/proc.h): a pid is used again */
	uint16_t peer_port;                   /* of a TCP peer */
	bool same_host;                       /* a TCP peer on this machine */
	uint16_t port;                        /* local TCP port, 0 for others */
	void *user;                           /* the handler's own */
	void (*gone)(struct http_request *r); /* set by the handler when it answers later */
};

/* Zero means the figure of limits.h. */
struct http_limits {
	size_t body_bytes;
	size_t connections; /* over TCP; others have LIMIT_HTTP_LOCAL more */
	unsigned header_ms;
	unsigned body_ms;
	unsigned idle_ms;
	unsigned stall_ms;
	size_t wires_bytes; /* that wait for all wires together */
};

struct http_server_spec {
	/*
	 * Called before the body is read; NULL lets everybody in. False: it has refused, by
	 * http_reply, and the connection ends without the body. What it leaves in r->user is there
	 * for `handle`, and nobody is told if that is never called.
	 */
	bool (*head)(struct http_request *r, void *arg);
	void (*handle)(struct http_request *r, void *arg);
	void *arg;
	struct http_limits limits;
};

int http_server_new(struct loop *l, const struct http_server_spec *spec, struct http_server **ret,
		    struct err *e);
/* Numeric host ("127.0.0.1", "::1"). Port 0 takes a free one. */
int http_listen_tcp(struct http_server *s, const char *host, uint16_t port, uint16_t *ret_port,
		    struct err *e);
/* Could one listen there now? E_EXISTS: somebody does. */
int http_try_tcp(const char *host, uint16_t port, struct err *e);
/* Only this machine reaches what listens there. What is no numeric host is not. */
bool http_is_loopback(const char *host);
/* Mode 0600, in a directory that is ours alone to write (E_PERMISSION otherwise). A stale socket
 * nobody answers on is replaced; E_EXISTS when somebody does or it is no socket. */
int http_listen_unix(struct http_server *s, const char *path, struct err *e);
/* Serve one end of a socket pair; consumed. */
int http_adopt(struct http_server *s, int fd, struct err *e);
/* Stop listening, finish what is being answered for at most grace_ms, then close; then done. */
void http_server_stop(struct http_server *s, unsigned grace_ms, void (*done)(void *arg), void *arg);
void http_server_free(struct http_server *s); /* after done */
size_t http_connections(const struct http_server *s);

/* Value of the first header of that name, {NULL,0} when there is none. */
struct str http__header(const struct http_request *r, struct str name);
INLINE_WORDS struct str
http_header(const struct http_request *r, const char *name)
{
	return http__header(r, str_of(name));
}
size_t http__header_times(const struct http_request *r, struct str name);
INLINE_WORDS size_t
http_header_times(const struct http_request *r, const char *name)
{
	return http__header_times(r, str_of(name));
}
/* Percent-decoded value ('+' is a blank) of the first query parameter of that name, added to out;
 * false when there is none or it is malformed. */
bool http_query(const struct http_request *r, const char *name, struct buf *out);
/* Each parameter can be read, and is there once: none that was meant goes for one that is missing.
 * E_BAD_REQUEST, E_NOMEM. */
int http_query_check(const struct http_request *r, struct err *e);

/* The answer. extra is NULL or whole header lines ("Allow: GET\r\n"). The body is copied. */
void http_reply(struct http_request *r, int status, const char *type, struct str body,
		const char *extra);
/* The same, but takes the buffer's memory: no copy of a big result. */
void http_reply_take(struct http_request *r, int status, const char *type, struct buf *body,
		     const char *extra);
/* The same, with a little before and behind it (copied). */
void http_reply_around(struct http_request *r, int status, const char *type, struct str before,
		       struct buf *body, struct str behind, const char *extra);

/*
 * A body without a known length (SSE). `ready` is called when all that was written is with
 * the peer, and once at the start: the place to write more. `closed` is called once, whoever
 * ended it; afterwards the stream is gone. Nothing is called inside these functions.
 */
struct http_stream_spec {
	void (*ready)(struct http_stream *st, void *arg);
	void (*closed)(void *arg);
	void *arg;
	const char *extra; /* whole header lines, or NULL */
};
struct http_stream *http_reply_stream(struct http_request *r, const char *type,
				      const struct http_stream_spec *spec);
/* False when the peer is too far behind (LIMIT_HTTP_QUEUED / 4): nothing was queued. With nothing
 * waiting, one write may be as long as LIMIT_HTTP_QUEUED. */
bool http_stream_write(struct http_stream *st, struct str bytes);
size_t http_stream_queued(const struct http_stream *st);
void http_stream_end(struct http_stream *st);
/* The same, and the owner hears nothing of it any more, neither `ready` nor `closed`. */
void http_stream_disown(struct http_stream *st);

/*
 * Leave HTTP: 101 Switching Protocols, then raw bytes both ways (MCP over stdio, relayed).
 * What is queued is still sent when either side ends it. Nothing is called inside these
 * functions.
 */
struct wire_spec {
	void (*input)(struct wire *w, struct str bytes, void *arg);
	void (*closed)(void *arg); /* once; the wire is gone afterwards */
	void *arg;
};
struct wire *http_upgrade(struct http_request *r, const char *protocol,
			  const struct wire_spec *spec);
/* False: LIMIT_WIRE_QUEUED was waiting already (or bytes pass a line's), and the wire is
 * being closed. Where too much waits for all of them, the wire for which most does is closed,
 * which may be another. */
bool wire_write(struct wire *w, struct str bytes);
void wire_close(struct wire *w);

#endif
