/*
 * mcp_flow.h - the answer to one POST or GET of /mcp; for the files of /mcp over HTTP alone.
 *
 *	PLAIN   the peer waits; a JSON answer ends it
 *	  | something precedes the answer, or it takes long
 *	STREAM  events; the answer is the last one
 *	  | the peer is gone, and may come back (legacy): GET with Last-Event-ID
 *	LOOSE   events are kept for a while
 *
 * A modern stream has no event ids and dies with its peer, and so does its request.
 */

#ifndef FRONT_MCP_FLOW_H
#define FRONT_MCP_FLOW_H

#include "front/mcp.h"

struct guest; /* mcp_guest.h: a client */

#define FLOW_UNASKED "0" /* the number of that stream; the others count from 1 */

/* The streams of one legacy session. */
struct flow_home {
	struct list flows;    /* struct flow */
	struct flow *unasked; /* the one of GET, that belongs to no request; NULL: none yet */
	uint64_t last;        /* number of the newest */
};

struct flow {
	struct mcp_channel channel;
	struct front *front;
	struct flow_home *home;    /* of a legacy session; NULL: it cannot be taken up again */
	struct node node;          /* in home->flows, or with those who wait for a guest */
	uint64_t number;           /* in its session */
	struct http_request *peer; /* NULL once it is gone */
	struct http_stream *stream;
	enum mcp_revision revision;
	bool streams;  /* the peer takes event streams */
	bool numbered; /* its events have had ids: somebody may come back */
	bool over;     /* the answer is among the events */
	bool ended;    /* all is said, the stream goes when it is sent */
	struct list events;
	struct flow_event *next; /* to be written; NULL: all are */
	size_t written;          /* bytes of it that are */
	uint64_t last_event;
	size_t bytes; /* of all events */
	struct timer timer;
	struct guest *greets; /* this is its initialize; NULL: it is another request */
	/* While its guest is being opened. */
	struct mcp_message message;
	struct json_doc *doc; /* a reference, or NULL */
};

/* The peer waits for an answer from now on. NULL: no memory; nothing is answered then. */
struct flow *flow_new(struct front *f, struct http_request *http);
void flow_stay_plain(struct flow *f); /* it becomes no stream, however long it takes */
void flow_live_in(struct flow *f, struct flow_home *home, enum mcp_revision revision);
/* Answers the GET: the stream of what belongs to no request. */
void flow_open_unasked(struct front *f, struct flow_home *home, enum mcp_revision revision,
		       struct http_request *http);
bool flow_put(struct flow *f, struct str message); /* false: no room */
/* Takes up the stream behind that event. E_NOT_FOUND: there is no such stream any more. */
int flow_resume(struct flow_home *home, struct str last_event, struct http_request *http);
/* The session ends: streams end, what is kept goes. Those with an open request stay until that is
 * answered. */
void flow_home_end(struct flow_home *home);

/* ---- mcp_guest.c ---- */

/* The header line that gives a new session its id; NULL: there is none. */
const char *guest_greeting(const struct guest *g);

#endif
