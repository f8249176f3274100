/* fetch_inside.h - one request to elsewhere, as fetch.c and fetch_set.c share it. */

#ifndef NET_FETCH_INSIDE_H
#define NET_FETCH_INSIDE_H

#include "net/curl.h"

#include "base/limits.h"
#include "net/fetch.h"

struct fetcher {
	struct loop *loop;
	CURLM *multi;
	struct timer clock;     /* curl's */
	struct list fetches;    /* until they are over */
	struct watch **watches; /* by descriptor: what curl waits for */
	size_t watch_cap;
	CURL *spare[LIMIT_FETCH_SPARE];
	size_t spares;
};

struct fetch {
	struct fetcher *fetcher;
	struct node node;
	struct fetch_spec spec; /* its strings are not ours; callbacks and figures are read */
	CURL *easy;
	struct curl_slist *headers;
	char *body;

	struct deferred turn;
	struct timer stall;
	uint64_t heard_ms; /* when there was a sign of life */

	struct buf head;   /* header lines of the answer, each with its line end */
	size_t head_bytes; /* of all that came as headers, interim answers and trailers too */
	size_t head_lines;
	size_t body_bytes;
	unsigned attempts; /* to send it: curl tries again when a kept connection was dead */
	int fault;         /* why we ended it, as an E_ code; 0: we did not */
	bool repeatable;   /* sent twice is as good as sent once */
	bool added;        /* curl has it */
	bool headed;       /* the headers are over */
	bool refused;      /* an address was not allowed */
	bool cancelled;
	bool paused;
	bool stopped; /* curl has been told to pause */
	bool ended;   /* `over` is being called */
	char problem[CURL_ERROR_SIZE];
};

/* What the request says and how it travels, told to curl: all but its callbacks. */
int fetch__set(struct fetch *f, struct err *e);

#endif
