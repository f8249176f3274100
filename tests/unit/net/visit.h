/*
 * visit.h - a server of ours and a fetcher on one loop, requests and what became of them, and
 * servers of few words on threads of their own; for tests of net/fetch.h.
 */

#ifndef TESTS_NET_VISIT_H
#define TESTS_NET_VISIT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "net/fetch.h"
#include "net/http.h"

#define PATIENCE_MS 20000

/* One loop with a server of ours and a fetcher. */
struct place {
	struct loop *loop;
	struct http_server *server;
	struct fetcher *fetcher;
	uint16_t port;
	struct timer patience;
	unsigned requests;
	struct http_request *kept;
	struct http_stream *stream;
	size_t streamed; /* bytes of /flow still to come */
	bool stopped;
	const char *user; /* "x@": curl carries all of it, because such an address is unusual */
};

/* One fetch and what became of it. */
struct visit {
	struct place *place;
	struct fetch *fetch;
	int head_status, status, code;
	struct err err;
	struct buf got;
	struct buf header; /* X-Extra */
	unsigned heads, overs;
	bool sent, in_call;
	bool cancel_in_head, cancel_in_piece, again_in_over;
	size_t pause_after;
	struct visit *next;
};

int place_open(void **state); /* for cmocka */
int place_open_curl(void **state);
int place_close(void **state);

void visit_init(struct visit *v, struct place *p);
void visit_done(struct visit *v);
int visit_try(struct visit *v, struct fetch_spec spec, const char *path, struct err *e);
void visit_start(struct visit *v, struct fetch_spec spec, const char *path);
void visit_wait(struct visit *v);
/* All of these, until it is over. */
void visit_make(struct visit *v, struct place *p, struct fetch_spec spec, const char *path);

static inline const char *
got(struct visit *v)
{
	return buf_z(&v->got);
}

/* A port on which nobody listens: bound, so that nobody else takes it. */
int deaf_port(uint16_t *ret_port);

/*
 * A server of few words: for each request whose head it reads, the next thing to say. An empty word
 * closes the connection; the next request comes over another. After the last it is gone.
 */
struct rude {
	const struct str *says;
	size_t count;
	bool drips;       /* byte by byte */
	bool lingers;     /* after the last word it waits for the other to close */
	bool once;        /* one request for each connection */
	struct str extra; /* said after the first word, when `go` is posted; then `done` is */

	int fd; /* from here on its own */
	uint16_t port;
	pthread_t thread;
	sem_t go, done;
	atomic_uint requests, conns, closed;
};

void rude_open(struct rude *r); /* the first fields are set */
void rude_close(struct rude *r);
void rude_start(struct rude *r, struct visit *v, struct place *p, struct fetch_spec spec);
void rude_visit(struct rude *r, struct visit *v, struct place *p, struct fetch_spec spec);

#endif
