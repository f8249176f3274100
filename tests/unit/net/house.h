/*
 * house.h - a server on a loop of its own thread, with rooms that do typical things, and raw
 * sockets to knock with. Every wait in here is bounded and ends the test when it runs out.
 */

#ifndef TESTS_NET_HOUSE_H
#define TESTS_NET_HOUSE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "net/http.h"

#define HOUSE_MS 20000 /* patience with what must happen */
#define BIG_BYTES (4 * MIB)
#define HUGE_BYTES (32 * MIB)

struct house {
	struct loop *loop;
	struct http_server *server;
	uint16_t port;
	char dir[64];
	char path[96];

	/* What the rooms saw */
	atomic_uint requests; /* let in; /private never is */
	atomic_uint gone;
	atomic_uint closed; /* streams and wires */
	atomic_uint written;
	atomic_uint refused; /* stream writes */
	atomic_size_t most_queued;
	atomic_bool stopped;
	struct http_request *kept; /* of /later */
	struct http_stream *stream;
	struct wire *wire;

	/* Jobs for the loop's thread */
	pthread_t thread;
	struct mailbox mailbox;
	void (*job)(struct house *h);
	sem_t job_done;
	unsigned grace_ms;
	bool stopping;
	bool leaving;
};

/* limits may be NULL. TCP on loopback and a Unix socket in a directory of its own. */
struct house *house_open(const struct http_limits *limits);
void house_stop(struct house *h,
		unsigned grace_ms); /* the server; `stopped` tells when it is over */
void house_close(struct house *h);

/* Run on the loop's thread and wait for it. */
void house_do(struct house *h, void (*job)(struct house *h));
size_t house_connections(struct house *h);
void house_await_connections(struct house *h, size_t count);
void house_await(atomic_uint *figure, unsigned value);

/* Raw sockets */
int raw_tcp(struct house *h);
int raw_tcp_small(struct house *h); /* takes little before it is read */
int raw_unix(struct house *h);
void raw_send(int fd, struct str bytes);
void raw_sendz(int fd, const char *z);

struct answer {
	int status; /* 0: the connection ended without one */
	struct buf head;
	struct buf body; /* by Content-Length, or the chunks put together */
};
void answer_read(int fd, struct answer *ret); /* read no byte more than it has */
void answer_done(struct answer *a);
bool answer_has(struct answer *a, const char *header_line);

/* Status of the next answer, which is thrown away. */
int raw_status(int fd);
/* Everything up to the end; a reset counts as one. */
void raw_rest(int fd, struct buf *out);
bool raw_at_end(int fd); /* waits for the end; false when bytes come instead */

/* For cmocka. */
static inline int
house_setup(void **state)
{
	*state = house_open(NULL);
	return 0;
}

static inline int
house_teardown(void **state)
{
	house_close(*state);
	return 0;
}

#endif
