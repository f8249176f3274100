/*
 * http_conn.h - one HTTP connection, from accept to close; for src/net/http_*.c alone.
 *
 *            bytes                 headers            body, or none
 *   IDLE ------------> HEAD ------------------> BODY ---------------> CALL
 *     ^                  `-- malformed, too much, too late, ---.        | handler
 *     |                      refused by spec.head              |        |
 *     |                                                        v        v answers
 *     '---------------- keep-alive ------------------------- REPLY, STREAM, WIRE
 *                                                              |
 *                              CLOSED <------- LINGER <--------'
 *
 * What happens on bytes, end of bytes, a deadline and so on is a table by state (http_conn.c).
 * Any state may go to CLOSED. The connection is freed in libuv's close callback and nowhere
 * else; that is also where a handler, stream or wire learns that its peer is gone, so no
 * callback ever comes out of a function the handler called.
 */

#ifndef NET_HTTP_CONN_H
#define NET_HTTP_CONN_H

#include <llhttp.h>
#include <netinet/in.h>

#include "base/limits.h"
#include "net/http.h"

/* What the kernel fills in for a TCP socket. */
union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static inline uint16_t
address_port(const union address *a)
{
	return ntohs(a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
}

static inline bool
address_is_loopback(const union address *a)
{
	return a->any.sa_family == AF_INET ? ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
					   : IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

enum conn_state {
	CONN_IDLE,   /* between requests */
	CONN_HEAD,   /* a request line and headers are coming */
	CONN_BODY,   /* the body is coming */
	CONN_CALL,   /* the handler has the request */
	CONN_REPLY,  /* an answer is being written */
	CONN_STREAM, /* an answer without a known length */
	CONN_WIRE,   /* no longer HTTP */
	CONN_LINGER, /* all is said; the peer may still read it */
	CONN_CLOSED,
};

/* Who must hear of the end. */
enum conn_owner { OWNER_NONE, OWNER_HANDLER, OWNER_STREAM, OWNER_WIRE };

struct http_stream {
	struct http_stream_spec spec;
};

struct wire {
	struct wire_spec spec;
};

/* A piece of conn.head, which may still move while it grows. */
struct span {
	uint32_t at;
	uint32_t len;
};

struct field {
	struct span name;
	struct span value;
};

struct conn {
	struct http_server *server;
	struct node node; /* in server->conns */
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	} uv;
	enum conn_state state;
	enum conn_owner owner;
	struct timer deadline; /* what passing it means depends on the state */
	struct deferred turn;
	bool reading;
	bool eof;    /* the peer sends nothing more */
	bool keep;   /* another request may follow this one */
	bool ending; /* the stream or wire goes once its queue is sent */

	/* The request (http_parse.c) */
	llhttp_t parser;
	struct buf head; /* target, names, values, and the decoded path behind them */
	struct buf body;
	struct span target;
	struct field fields[LIMIT_HTTP_HEADERS];
	size_t field_count;
	size_t head_bytes; /* as they came, blanks and all */
	size_t skipped;    /* trailers and chunk extensions */
	bool head_over;
	bool version_seen;
	const char *piece; /* being parsed */
	char before[3];    /* the last bytes of the pieces before it */
	int refusal;       /* the status a callback of the parser decided on; 0: it is answered */
	struct http_header headers[LIMIT_HTTP_HEADERS];
	struct http_request request;
	struct buf pending; /* what came behind it */

	/* The answer (http_reply.c, http_stream.c) */
	struct buf
	    flight[3];    /* being written: head, body and what is behind; or a piece of stream */
	struct buf queue; /* to be written next */
	uv_write_t write;
	uv_shutdown_t shutdown;
	bool sending;
	bool chunked;
	size_t unsent; /* when the deadline last looked */
	struct http_stream stream;
	struct wire wire;
	size_t waiting; /* of a wire: its part of server->waiting */
};

struct http_server {
	struct loop *loop;
	struct http_server_spec spec;
	struct list conns;
	size_t tcp_count; /* of conns */
	size_t waiting;   /* bytes, for all wires */
	struct list listeners;
	int reserve_fd; /* given up for a moment when there are no more descriptors */
	bool stopping;
	struct timer grace;
	struct deferred over;
	void (*done)(void *arg);
	void *done_arg;
	char input[64 * 1024]; /* libuv reads into it; used up inside the callback */
};

/* http_conn.c */
int conn__start(struct http_server *s, int fd, bool local, uint16_t port, struct err *e);
void conn__close(struct conn *c);
void conn__listen(struct conn *c);                 /* go on reading, unless too much is pending */
void conn__hold(struct conn *c, struct str bytes); /* pending: not their turn yet */
bool conn__admit(struct conn *c);                  /* what spec.head says; false: answered */
void conn__deadline(struct conn *c, unsigned delay_ms); /* 0: none */
void conn__finish(struct conn *c);   /* flight[] is the answer, now or when the turn ends */
void conn__send(struct conn *c);     /* flight[], then the state's `sent` */
void conn__soon(struct conn *c);     /* the state's `turn`, not now */
void conn__answered(struct conn *c); /* the next request, or the end */
void conn__stop(struct conn *c);     /* unless it is answering */

/* http_parse.c */
enum parsed { PARSED_PART, PARSED_WHOLE, PARSED_BAD };
void parse__init(struct conn *c);
enum parsed parse__feed(struct conn *c, struct str bytes, size_t *ret_used);
bool parse__expects(const struct conn *c); /* 100-continue */

/* http_request.c */
bool http__unescape(struct str escaped, bool plus_is_blank, struct buf *out);

/* http_reply.c */
void reply__refuse(struct conn *c, int status);
void reply__head(struct conn *c, struct buf *out, int status, const char *type, const char *extra);
struct str reply__turned_away(void); /* a whole answer for a peer there is no place for */

/* http_stream.c */
void stream__turn(struct conn *c);
void stream__sent(struct conn *c);
void wire__input(struct conn *c, struct str bytes);
void wire__eof(struct conn *c);
void wire__turn(struct conn *c);
void wire__count(struct conn *c); /* what waits for it may be another */

/* http_server.c */
void server__conn_gone(struct http_server *s);

#endif
