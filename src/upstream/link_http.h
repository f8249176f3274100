/*
 * link_http.h - MCP over Streamable HTTP: one link and its streams; for link_http*.c alone.
 *
 * A message is a POST. The answer to a request is a body, or a stream of events with the answer as
 * its last: a struct stream, from the request to its end. The legacy era has more of it: a session,
 * a stream that belongs to no request (the ear), and streams that are taken up again by a GET where
 * they broke off.
 *
 *	POST -> head -> body ------------------> message | failed
 *	           '--> events -> message ... -> end
 *	                  ^                       | legacy, no answer yet, an event's id is known
 *	                  '- GET, Last-Event-ID <-'
 *
 *   link_http.c         the link: send, drop, listen, close
 *   link_http_send.c    what a request says in its headers
 *   link_http_read.c    what comes back: sessions, events, messages
 *   link_http_stream.c  a stream's life: broken, taken up again, over
 *   link_http_old.c     servers of 2024-11-05, which answer on one stream for all
 */

#ifndef UPSTREAM_LINK_HTTP_H
#define UPSTREAM_LINK_HTTP_H

#include "base/limits.h"
#include "net/fetch.h"
#include "net/sse.h"
#include "upstream/inside.h"

struct web {
	struct link link; /* first */
	struct link_events ev;
	struct loop *loop;
	struct fetcher *fetcher;
	char *url;
	char **headers; /* the configured ones, NULL-terminated; never shown */
	size_t header_count;
	bool named; /* one of them is User-Agent */
	struct list streams;
	size_t requests; /* of these, with an id */
	struct stream *ear;
	size_t held;              /* bytes of messages that are not here whole */
	struct buf session;       /* its id; empty: none */
	unsigned sessions;        /* how many there were */
	bool session_lost;        /* the server no longer knows it */
	enum mcp_revision spoken; /* last used, for the farewell */
	bool closing;
	struct err why; /* it ends by itself */
	struct deferred gone;

	/* link_http_old.c */
	struct buf hello;     /* the last initialize */
	struct stream *first; /* in which it was refused, while it waits for the line */
	struct stream *line;  /* NULL: there is none */
	char *endpoint;       /* where messages go; NULL: not told yet */
};

enum stream_kind {
	STREAM_REQUEST,
	STREAM_NOTE,
	STREAM_EAR,
	STREAM_FAREWELL,
	STREAM_LINE, /* everything comes by it */
	STREAM_POST, /* a message to its server */
};
enum stream_content { CONTENT_NONE, CONTENT_JSON, CONTENT_EVENTS, CONTENT_OTHER };

struct stream {
	struct web *web;
	struct node node;
	enum stream_kind kind;
	uint64_t id; /* of its request; 0: it has none, or has its answer */
	enum mcp_era era;
	enum mcp_revision revision;
	unsigned session;    /* which of the link's it belongs to */
	bool with_session;   /* it named one */
	bool initializes;    /* its answer brings the session's id */
	struct fetch *fetch; /* NULL: it waits to be taken up again, or is ending */

	int status;              /* of the answer being read, 0: none yet */
	unsigned retry_after_ms; /* as it says; 0: it does not */
	enum stream_content content;
	struct buf body; /* JSON, or what came instead of an answer */
	char moved[128]; /* where it says that it is: a path, or another host; "": it does not */
	struct sse_reader events;
	size_t held;        /* its share of the link's */
	struct buf last_id; /* of the last whole event */
	unsigned retries;   /* since then */
	uint64_t opened_ms;
	struct timer clock; /* the one it needs: until it is taken up again, until it must end */

	int fault; /* why we ended it */
	const char *fault_text;
	bool answered;
	bool heard;   /* a listening stream: it was open once */
	bool ending;  /* its end is being told: not to be freed by others */
	bool dropped; /* nobody is to hear of it any more */
};

/* A message whose answer, if it has one, comes by another stream. */
static inline bool
stream_is_one_way(const struct stream *s)
{
	return s->kind == STREAM_NOTE || s->kind == STREAM_POST;
}

/* Its life */
struct stream *stream__new(struct web *w, enum stream_kind kind, uint64_t id); /* NULL: no memory */
void stream__free(struct stream *s);
/* Nothing more is heard of it; it may be gone when this returns. */
void stream__drop(struct stream *s);
/* We have had enough of it: its end comes, with this. */
void stream__break(struct stream *s, int code, const char *text);
/* The answer is here. */
void stream__answered(struct stream *s);
void stream__over(struct fetch *f, int status, const struct err *e, void *arg);

/* The answer is a status that says no. */
void stream__refused(struct stream *s);

/* The line. open: for an initialize that was refused; true: it waits. over: as in overs. */
bool line__open(struct stream *first);
void line__endpoint(struct stream *line, struct str text);
bool line__over(struct stream *line, const struct err *e);

/* Sending: on failure there is no fetch. */
int stream__post(struct stream *s, const struct link_message *m, struct err *e);
int stream__get(struct stream *s, struct err *e);
int stream__delete(struct stream *s, struct err *e);

/* Reading */
void stream__head(struct fetch *f, int status, void *arg);
void stream__piece(struct fetch *f, struct str bytes, void *arg);
void stream__take(struct stream *s, struct buf *text); /* one message, or an array; may be taken */
void stream__count(struct stream *s);                  /* after its buffers changed */

/* For the last stream of a link that is being closed. */
void web__over(void *arg);

#endif
