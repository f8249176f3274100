/*
 * fetch.h - HTTP requests to elsewhere, on the loop: plain http by ourselves, the rest by libcurl.
 *
 * Connections are kept and used again. No proxy of the environment, no netrc, no cookies, no
 * redirect is followed, only http and https. Answers are asked for as they are over http; over
 * https they may be compressed, and are decompressed under the same limit. Nothing is called inside
 * these functions. Everything a server says is bounded. A POST leaves us once, and whatever is
 * said to: when a kept connection turns out to be dead after it was sent, that is its end, and not
 * a reason to send it again.
 */

#ifndef NET_FETCH_H
#define NET_FETCH_H

#include "base/buf.h"
#include "loop/loop.h"

struct fetcher; /* one per loop: its connections */
struct fetch;   /* one request */

int fetcher_new(struct loop *l, struct fetcher **ret, struct err *e);
/* No fetch may be left, not even one whose `over` is being called. Takes NULL. */
void fetcher_free(struct fetcher *f);

struct fetch_spec {
	const char *method; /* "POST" */
	const char *url;
	const char *const *headers; /* NULL-terminated "Name: value"; copied. One that is
				       malformed or about framing is E_VALIDATION */
	struct str body;            /* copied; {NULL,0}: none */
	bool once;                  /* never sent twice, whatever the method promises */
	unsigned connect_ms;        /* 0: 10 s */
	unsigned stall_ms; /* nothing came for so long; 0: never (streams have signs of life) */
	size_t max_bytes;  /* of the answer's body, over all pieces; 0: no limit */
	/* May the connection go to this address? NULL: anywhere. For guards against requests forged
	 * by others (issue: private and link-local addresses). */
	bool (*allows)(const struct sockaddr *to, void *arg);
	/* The status line and headers are here: fetch_header reads them. May be NULL. */
	void (*head)(struct fetch *f, int status, void *arg);
	void (*piece)(struct fetch *f, struct str bytes, void *arg);
	/*
	 * Once, and last; the fetch is gone when it has returned. code 0: the answer came whole.
	 * E_UNAVAILABLE: nothing was sent; E_EXECUTION: it broke off, and may have been sent;
	 * E_PERMISSION: `allows` said no; E_TOO_LARGE, E_TIMEOUT, E_CANCELLED, E_NOMEM. status is 0
	 * when no headers came.
	 */
	void (*over)(struct fetch *f, int status, const struct err *e, void *arg);
	void *arg;
};
/* E_VALIDATION, E_LIMIT, E_NOMEM; E_UNAVAILABLE: it needs libcurl, which is not there. */
int fetch_start(struct fetcher *fr, const struct fetch_spec *spec, struct fetch **ret,
		struct err *e);
void fetch_cancel(struct fetch *f); /* `over` comes, with E_CANCELLED; idempotent */
/* Stop reading while the consumer is full, and go on. */
void fetch_pause(struct fetch *f, bool paused);
/* Value of a header of the answer, {NULL,0}: none. Until `over` has returned. */
struct str fetch_header(const struct fetch *f, const char *name);
/* Did the request leave us, as far as can be told? */
bool fetch_sent(const struct fetch *f);

#endif
