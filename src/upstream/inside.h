/*
 * inside.h - how the parts of src/upstream hold together; for src/upstream alone.
 *
 *   upstreams.c  the set, its configuration, watchers
 *   upstream.c   one: states, start, back-off, idle, queue, lists
 *   exchange.c   one request: progress, messages, inquiries, retries of the modern era, clocks
 *   ladder.c     which era: server/discover, else initialize
 *   known.c      what is remembered of one, on disk; pins
 *   link_stdio.c, link_http.c   how messages travel
 *
 * A link carries whole JSON messages and knows nothing of what they mean. It is made for one start
 * and dies with it.
 */

#ifndef UPSTREAM_INSIDE_H
#define UPSTREAM_INSIDE_H

#include "upstream/upstream.h"

struct link;

/* One message to send, and what the transport needs to know of it. */
struct link_message {
	struct str text;      /* JSON without a line break; copied */
	uint64_t id;          /* of a request, 0 for notes and answers */
	struct str method;    /* of a request or a note; {NULL,0} for answers */
	struct str name;      /* Mcp-Name, or {NULL,0} */
	enum mcp_era era;     /* whose headers it gets */
	enum mcp_revision revision; /* for MCP-Protocol-Version; MCP_UNKNOWN: none yet */
	const struct json *schema, *arguments; /* Mcp-Param-*, or NULL */
	bool listens; /* its answer is a stream that stays open: no deadline of the transport */
};

struct link_events {
	/* A message came. of: the request on whose stream it came (http), or 0. */
	void (*message)(void *arg, struct json_doc *doc, uint64_t of);
	/* That request will get no answer: the transport says why. HTTP statuses as E_ codes; status
	 * is the HTTP status or 0; body: what came instead of a message, JSON or not. */
	void (*failed)(void *arg, uint64_t id, int status, struct str body, const struct err *e);
	/* The end of it, once, whoever wanted it; then the link is gone. how: for people. */
	void (*closed)(void *arg, const struct err *how);
	void *arg;
};

struct link_ops {
	/* Never calls back inside. E_LIMIT: too much is waiting to be sent. */
	int (*send)(struct link *l, const struct link_message *m, struct err *e);
	/* The request is given up: http closes its stream, stdio does nothing. */
	void (*drop)(struct link *l, uint64_t id);
	/* Legacy http: open the stream of what belongs to no request, if the server has one. */
	void (*listen)(struct link *l, enum mcp_revision revision);
	void (*close)(struct link *l); /* `closed` comes; idempotent */
	int (*pid)(const struct link *l); /* of a child, or 0 */
};
struct link {
	const struct link_ops *ops;
};

int link_stdio(struct loop *l, const struct upstream_spec *spec, const struct link_events *ev,
	       struct link **ret, struct err *e);
int link_http(struct loop *l, const struct upstream_spec *spec, const struct link_events *ev,
	      struct link **ret, struct err *e);

#endif
