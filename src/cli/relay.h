/*
 * relay.h - lines of JSON-RPC from here to the gateway and back, untouched.
 *
 *	stdin --> up ---> wire
 *	stdout <- down <- wire
 *
 * Requests without an answer are known. So a client that closes its side after the last request
 * still gets the answers that are on their way; and when the gateway is lost, each of them is
 * answered with an error, those of a batch together, and the relay can go on over another wire:
 * what a client of the older protocol began with is said there again.
 */

#ifndef CLI_RELAY_H
#define CLI_RELAY_H

#include "base/buf.h"
#include "base/list.h"

struct lane {
	int from, to;
	bool owned;      /* `to` is ours, and does not block */
	bool ended;      /* nothing more comes from `from` */
	struct buf held; /* read, not yet written */
	size_t begun;    /* so many bytes of a line that is not yet whole were read */
	struct buf line; /* these, if they have to be looked at; of an answer, its id alone */
	bool answers;    /* that line is the answer to a request */
	bool skipping;   /* it is too long to be looked at */
};

struct relay {
	struct lane up, down;
	struct list waiting; /* struct waiting: requests of the client */
	bool takes_batches;  /* its revision has them (2025-03-26) */
	unsigned batch;      /* the one that is being looked at; 0: none */
	unsigned batches;    /* so far */
	struct buf hello;    /* the line of its initialize; empty: it sent none */
	struct buf hello_id;
	bool hello_answered;
	bool greeted; /* it has said notifications/initialized */
	int signals;
};

void relay_init(struct relay *r, int in, int out);
int relay_done(struct relay *r); /* an exit code: which signal ended it, or EXIT_FINE */

enum relay_end {
	RELAY_OVER, /* the client has ended, or a signal came */
	RELAY_LOST, /* the gateway has: whoever waited was told so */
};

/* Until one side ends or a signal comes. early: bytes of the gateway that were read already; it is
 * empty then. The wire is the caller's to close. */
enum relay_end relay_run(struct relay *r, int wire, struct buf *early);

/* After RELAY_LOST: whether it can go on over another wire, waiting before that (false: the client
 * ended or a signal came), and the first words on it. */
bool relay_can_go_on(const struct relay *r);
bool relay_rest(const struct relay *r, int ms);
bool relay_resume(struct relay *r, int wire, struct buf *early);

#endif
