/*
 * fetch_inside.h - one request to elsewhere, and the two ways it can travel; for fetch*.c alone.
 *
 *   fetch.c           what every request has: turns, deadlines, limits, its end
 *   fetch_check.c     what may be said in a header
 *   fetch_h1.c        plain http, by ourselves: one exchange
 *   fetch_h1_request.c  what it says
 *   fetch_h1_answer.c   its answer, read
 *   fetch_h1_conn.c     its connections: opened, kept, closed
 *   fetch_curl.c      everything else, by libcurl
 *   fetch_curl_set.c    a request told to curl
 */

#ifndef NET_FETCH_INSIDE_H
#define NET_FETCH_INSIDE_H

#include "base/limits.h"
#include "net/fetch.h"

struct curl_side;

/* Where a request goes. */
struct h1_place {
	struct str host;      /* without brackets */
	struct str authority; /* with them, and the port if it is named */
	struct str target;    /* from the path on; may be empty, or begin with '?' */
	uint16_t port;
};

/* Connections of plain http. */
struct h1_pool {
	struct buf url;        /* the last one: mostly the next is the same... */
	struct h1_place place; /* ...and this is in it */
	struct list idle;      /* the one used last at the end */
	size_t conns;          /* idle or in use */
	struct timer sweep;    /* runs while any is idle */
	struct list spares;    /* requests that are over, for the next */
	char *input;           /* what is read goes here first */
};

struct fetcher {
	struct loop *loop;
	struct list fetches;    /* until they are over */
	struct curl_side *curl; /* NULL: nobody has needed it */
	struct h1_pool h1;
};

/* How it travels. */
struct fetch_ops {
	void (*begin)(struct fetch *f);
	void (*resume)(struct fetch *f); /* it is not paused any more, if it was */
	bool (*sent)(const struct fetch *f);
	void (*end)(struct fetch *f); /* let go of what carried it: the caller is told next */
	void (*free)(struct fetch *f);
};

struct fetch {
	const struct fetch_ops *ops;
	struct fetcher *fetcher;
	struct node node;
	struct fetch_spec spec; /* its strings are not ours; callbacks and figures are read */

	struct deferred turn;
	struct timer stall;
	uint64_t heard_ms; /* when there was a sign of life */

	struct buf head;   /* header lines of the answer, each with its line end */
	size_t head_bytes; /* of all that came as headers, interim answers and trailers too */
	size_t head_lines;
	size_t body_bytes;
	int status;      /* of the answer, once it is headed */
	int fault;       /* why we ended it, as an E_ code; 0: we did not */
	bool repeatable; /* sent twice is as good as sent once */
	bool begun;
	bool headed;  /* the headers are over */
	bool refused; /* an address was not allowed */
	bool cancelled;
	bool paused;
	bool ended; /* `over` is being called */
};

/* For those who carry it. */
bool fetch__done_with(const struct fetch *f); /* nothing more is to be read */
void fetch__heard(struct fetch *f);
/* Header lines and their bytes, as they come. False: too much of them; that is its fault now. */
bool fetch__count(struct fetch *f, size_t lines, size_t bytes);
/* The headers are here; some of the body is. False: the caller wants no more, or may not. */
bool fetch__headed(struct fetch *f, int status);
bool fetch__piece(struct fetch *f, struct str bytes);
/* Its end, and `over`: f is gone. how is NULL when it came whole, or when we ended it. */
void fetch__end(struct fetch *f, const struct err *how);
/* By whether it was sent: E_EXECUTION or E_UNAVAILABLE. */
int fetch__broken(const struct fetch *f);

/* What may be said. */
bool fetch__is_token(struct str s);
int fetch__header_check(const char *line, struct str *ret_name, struct str *ret_value,
			struct err *e);

/* A new request. FETCH_OTHERS: this one is not for us, it is for curl. */
#define FETCH_OTHERS 1
int fetch__h1(struct fetcher *fr, const struct fetch_spec *spec, struct fetch **ret, struct err *e);
void fetch__h1_init(struct fetcher *fr);
void fetch__h1_done(struct fetcher *fr);
int fetch__curl(struct fetcher *fr, const struct fetch_spec *spec, struct fetch **ret,
		struct err *e);
void fetch__curl_done(struct fetcher *fr);

#endif
