/*
 * wire.h - what the programs of this benchmark share: peers on one epoll, messages in their bytes.
 *
 * Between friends on one machine: what is written here must be fast, and may trust the other end.
 * A peer is a socket that speaks HTTP/1.1, or a pair of pipes that carry a message per line.
 */

#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "base/buf.h"

enum framing { LINES, HTTP };

struct peer {
	int in_fd;
	int out_fd; /* the same for a socket */
	enum framing framing;
	bool full;      /* the other end takes no more for now */
	unsigned since; /* differs for each peer that had this place */
	struct buf in;
	size_t eaten;   /* of in: messages that were handed out */
	size_t scanned; /* of in: no end of a line before this */
	size_t need;    /* bytes from eaten on, before it is worth looking again */
	struct buf out;
	size_t sent; /* of out */
};

struct message {
	struct str head; /* first line and header fields; of HTTP only */
	struct str body;
};

/* All of them end the program with a sentence when they cannot. */
void wire_pin(int cpu); /* -1: stay where we are */
int wire_listen(int port);
int wire_connect(int port); /* -1 when nobody listens */

/* One epoll; what is a key for the caller. */
void wire_watch(int fd, void *key, uint32_t events);
void wire_change(int fd, void *key, uint32_t events);
int wire_wait(int timeout_ms, void **ret_keys, uint32_t *ret_events, int max);

void peer_open(struct peer *p, int in_fd, int out_fd, enum framing framing);
void peer_close(struct peer *p);
/* One read. False: the other end is gone. Messages handed out before are no longer valid. */
bool peer_read(struct peer *p);
/* The next whole message, or false. */
bool peer_next(struct peer *p, struct message *ret);
/* Write what is in out, as far as it goes. False: the other end is gone. */
bool peer_flush(struct peer *p);

/* The value of a header field, or {NULL,0}. */
struct str head_field(struct str head, const char *name);
/* The bytes of a member's value, or {NULL,0}: nothing is parsed that does not stand before it. */
struct str json_member(struct str object, const char *key);

#endif
