/*
 * fetch_h1.h - one exchange over plain HTTP/1.1, and the connection it uses; for fetch_h1*.c alone.
 *
 *          a kept connection
 *   begin --------------------> send -> answer -> over
 *      '-> dial -> connected ----^        |
 *            ^                            | a kept connection ended before a byte of an answer:
 *            '----------------------------' once, if nothing was sent or twice is as good as once
 */

#ifndef NET_FETCH_H1_H
#define NET_FETCH_H1_H

#include <llhttp.h>

#include "net/dial.h"
#include "net/fetch_inside.h"

struct h1_conn {
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
	} uv;
	struct fetcher *fetcher;
	struct node node;      /* of those that are idle */
	struct h1_fetch *user; /* NULL: idle, or closing */
	union dial_address peer;
	uint64_t idle_ms; /* since when */
	bool used;        /* it has carried an exchange */
	bool reading;
	bool writing;
	bool closing;
	uv_write_t write;
	struct buf out;  /* what is being written: it outlives the exchange */
	uint16_t port;   /* with the name: whose it is */
	size_t host_len; /* of */
	char host[];
};

struct h1_fetch {
	struct fetch fetch; /* first */
	struct dial *dial;
	struct h1_conn *conn;
	struct buf host; /* the server's name */
	uint16_t port;
	struct buf out; /* head and body */

	llhttp_t parser;
	size_t intro;      /* of "HTTP/", seen */
	size_t skipped;    /* of chunk extensions and trailers */
	struct buf rest;   /* read, not parsed: it is paused */
	const char *wrong; /* what is wrong with the answer */
	bool bodyless;     /* the answer to HEAD */
	bool sent;
	bool again;    /* it has been sent a second time */
	bool answered; /* some byte came */
	bool stopped;  /* not read because it is paused */
	bool interim;  /* what ended was no answer yet */
	bool whole;    /* the answer is here */
	bool keep;     /* its connection can be used again */
};

/* The request */
const struct h1_place *h1__place_of(struct h1_pool *pool, struct str url);
/* All of it to f->out; FETCH_OTHERS when it is for curl. */
int h1__request_write(struct h1_fetch *f, const struct h1_place *to, struct err *e);

/* Connections */
/* One that is kept, stands, and may be used; NULL: none. */
struct h1_conn *h1__conn_take(struct h1_fetch *f);
struct h1_conn *h1__conn_new(struct h1_fetch *f, int fd, const union dial_address *peer);
void h1__conn_keep(struct h1_conn *c);
void h1__conn_close(struct h1_conn *c);
/* All of f->out. False: it is closed, and nothing was sent. */
bool h1__conn_send(struct h1_conn *c, struct h1_fetch *f);
void h1__conn_listen(struct h1_conn *c, bool listen);

/* The answer */
enum h1_fed { H1_PART, H1_WHOLE, H1_PAUSED, H1_BAD };
void h1__answer_expect(struct h1_fetch *f);
enum h1_fed h1__answer_feed(struct h1_fetch *f, struct str bytes, struct str *ret_rest);
bool h1__answer_finish(struct h1_fetch *f); /* the connection has ended: was that its end? */

/* What the connection hears for its exchange; f may be gone then. */
void h1__input(struct h1_fetch *f, struct str bytes);
void h1__input_over(struct h1_fetch *f, int status);

#endif
