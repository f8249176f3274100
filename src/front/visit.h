/*
 * visit.h - one request on its way through the front; for src/front alone.
 *
 *   admit (front.c) --> access.c: Host, Origin --> route.c: which row of tbl/routes.def
 *          --> access.c: token, descent; only then the body is read
 *   handle (front.c) --> access.c: media type --> route_* (rest_*.c, feed.c, mcp_*.c)
 *
 * A handler answers at once, or keeps a copy of the visit and answers later; then it sets
 * http->gone, because the peer may go away first.
 */

#ifndef FRONT_VISIT_H
#define FRONT_VISIT_H

#include "base/limits.h"
#include "front/front.h"
#include "json/write.h"
#include "upstream/upstream.h"

/* What MCP clients share. */
struct front_mcp {
	struct list clients;   /* struct mcp_client */
	struct list guests;    /* struct guest: clients over HTTP, those being opened too */
	struct map sessions;   /* the legacy ones of them, by Mcp-Session-Id */
	struct list listeners; /* struct listener: open subscriptions/listen */
	struct list parks;     /* struct mcp_park: modern requests that wait for a retry */
	size_t open;           /* requests that are not answered */
	size_t kept;           /* bytes kept for streams that may be taken up again */
	unsigned char key[32]; /* signs requestState */
	struct deferred tell;  /* what has changed */
	struct timer sweep;    /* ends guests that nobody uses */
	struct upstream_watch watch;
	bool watching;
};

struct front {
	struct front_spec spec;
	struct gateway *gw;
	struct http_server *server;
	char *token;                                     /* own; NULL: none is asked for */
	char hosts[LIMIT_FRONT_HOSTS][LIMIT_HOST_BYTES]; /* taken beside the loopback names */
	size_t host_count;
	char page[LIMIT_HOST_BYTES + 16]; /* its address, "" = no TCP listener */
	struct list feeds;                /* struct feed */
	struct list lines;                /* struct line: MCP over stdio framing */
	char *workspace;                  /* own; see front_spec */
	struct front_mcp mcp;
	double process_began_s; /* as first told: two clocks make it, and no two readings agree */
	/* The end: told when the server has stopped and no MCP client is left. */
	void (*stopped)(void *arg);
	void *stopped_arg;
	bool stopping, doors_closed;
	struct deferred over;
};
void front_client_gone(struct front *f); /* one less; see stopped */

enum access { ACCESS_OPEN, ACCESS_TOKEN, ACCESS_PERSON, ACCESS_LOCAL };

struct visit;

struct route {
	const char *method;
	const char *pattern;
	void (*handle)(const struct visit *v);
	enum access access;
};

struct visit {
	struct front *front;
	struct http_request *http;
	const struct route *route;
	void (*next)(const struct visit *v); /* see visit_known_session */
};

/* route.c. A pattern's {name} takes one segment that is not empty. */
bool route_matches(const char *pattern, struct str path);
/* E_NO_ROUTE; E_METHOD with the methods there are in allow ("GET, POST"). HEAD goes where GET does.
 */
int route_find(struct str method, struct str path, const struct route **ret, struct buf *allow);
struct str route_param(const char *pattern, struct str path, const char *name);

static inline struct str
visit_param(const struct visit *v, const char *name) /* {NULL,0}: the pattern has none */
{
	return route_param(v->route->pattern, v->http->path, name);
}

/* access.c */
int access_origin(const struct front *f, const struct http_request *r, struct err *e);
int access_route(const struct visit *v, struct err *e);
/* yaml: application/yaml is taken, too. */
int access_media(const struct http_request *r, bool yaml, struct err *e);
/* Is `authority` ("localhost:8421") a name of ours on that port? */
bool access_names_us(const struct front *f, struct str authority, uint16_t port);
/*
 * Whose tools the peer wants: by `tenant` and `agent` ({NULL,0}: nothing is said there), and by the
 * header X-Holdfast-Agent; both, if both say it. Nobody is ever taken for somebody else, and a tool
 * call says nothing here where there is anybody but one. NULL in *ret: nobody else is known.
 * E_NO_TENANT, E_NO_AGENT, E_BAD_REQUEST, E_FORBIDDEN.
 */
int access_owner(const struct visit *v, struct str tenant, struct str agent, struct agent **ret,
		 struct err *e);
bool access_names_agent(const struct http_request *r); /* by the header */
/* The peer is a process inside a tool call, or cannot be told from one. */
bool access_from_tool(const struct http_request *r);

/* reply.c. The body is taken over; one that did not fit becomes an error. */
void reply_json(struct http_request *r, int status, struct buf *body);
void reply_err(struct http_request *r, const struct err *e);
void reply_code(struct http_request *r, int code);
/* details: a whole JSON object; extra: whole header lines or NULL. */
void reply_problem(struct http_request *r, const struct err *e, struct str details,
		   const char *extra);

/* Query parameters. A number out of 1..max is E_BAD_REQUEST and names the parameter. */
bool query_flag(const struct http_request *r, const char *name); /* "1" or "true" */
/* Who is meant, in *b, which has room for a whole field; {NULL,0}: it is not there. E_NOMEM is not
 * taken for that. */
int query_owner(const struct http_request *r, const char *name, struct buf *b, struct str *ret,
		struct err *e);
int query_number(const struct http_request *r, const char *name, size_t max, size_t *ret,
		 struct err *e);

/* body.c. NULL body: E_BAD_REQUEST. */
int body_parse(const struct http_request *r, struct json_doc **ret, struct err *e);
/* Text that can be an id or a name: not empty, not long, no control characters. */
bool name_fits(struct str s);
/* A path as the system wants it, in out (LIMIT_PATH). E_BAD_REQUEST unless absolute. */
int path_absolute(struct str s, char out[static LIMIT_PATH], struct err *e);

/* rest_journal.c: ask the store, answer when it has. `answer` is not called if the peer is gone or
 * the store failed. */
typedef int (*journal_find_fn)(struct store *s, const struct store_query *q, store_page_fn done,
			       void *arg);
typedef void (*journal_answer_fn)(const struct visit *v, const struct store_page *page);
void journal_ask(const struct visit *v, journal_find_fn find, const struct store_query *q,
		 journal_answer_fn answer);
/* {"NAME": [rows], "more": bool, "last_id": the last row's id or null} */
void journal_reply(const struct visit *v, const char *name, const struct store_page *page);
/* What a journal page or a feed is asked for; strings are its own. */
struct wanted {
	struct buf since, until, types;
	struct store_query query; /* without session and turn */
	uint64_t mask;            /* of event types */
};
int wanted_read(const struct http_request *r, struct wanted *ret, struct err *e);
void wanted_done(struct wanted *w);

/* rest_session.c: the session the path names, or NULL: then it is being answered for. */
struct session *visit_session(const struct visit *v);
/* Goes on with `next` if the session exists or has existed, at once or later. */
void visit_known_session(const struct visit *v, void (*next)(const struct visit *v));
/* Opens the workspace and then a session for it, later. `begun` then answers; it is not called when
 * the peer is gone or has got an error. Fails at once for what is wrong with the order itself. */
typedef void (*session_begun_fn)(const struct visit *v, struct session *s);
struct session_wish {
	struct str workspace, kind, client;
	struct agent *owner; /* NULL: the default one */
	/* http->user when `begun` is called; dropped where it never will be, unless session_begin
	 * itself has failed. */
	void *arg;
	void (*drop)(void *arg);
};
int session_begin(const struct visit *v, const struct session_wish *wish, session_begun_fn begun,
		  struct err *e);

/* rest_tenants.c: the answer to a change, when that is on the disk; the body is taken over. */
void reply_settled(const struct visit *v, int status, struct buf *body);
void reply_removed(const struct visit *v, struct str name); /* the same: it is no more */

/* metrics.c */
void metrics_write(struct front *front, struct buf *b);

/* later.c: an answer of the gateway that comes later (gateway_answer_fn); arg is the struct later.
 * new NULL: it has been answered for. */
struct later;
struct later *later_new(const struct visit *v);
void later_begun(const struct visit *v, struct later *l, int code, const struct err *e);
void later_answer(const struct err *e, struct buf *answer, void *arg);
/* {NULL,0}: it is not there, or empty. */
struct str query_text(const struct http_request *r, const char *name, struct buf *b);

/* feed.c */
void feed_open(const struct visit *v, struct str session);
void feeds_end(struct front *f);

/* mcp_stdio.c */
void lines_end(struct front *f);

#define ROUTE(method, pattern, handler, access, sentence)                                          \
	void route_##handler(const struct visit *v);
#include "../../tbl/routes.def"
#undef ROUTE

#endif
