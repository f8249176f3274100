/* sse.h - server-sent events: text that cannot forge another event. */

#ifndef NET_SSE_H
#define NET_SSE_H

#include "base/buf.h"

/* id and type may be {NULL,0}. CR, LF and CRLF inside text become several data lines;
 * in id and type they are dropped, NUL too. */
void sse_write(struct buf *out, struct str id, struct str type, struct str text);

/* Reading: feed bytes, get events. Lines end with LF, CRLF or CR as the standard says. */
struct sse_reader {
	struct buf line;
	struct buf id;   /* stays until another one comes, as the standard says */
	struct buf type; /* empty: "message" */
	struct buf text;
	uint64_t retry_ms; /* how long to wait before coming again; 0: never said. Stays too */
	bool begun;        /* past a byte order mark */
	bool skip_lf;
	bool has_text; /* no: it only says where to begin again */
	bool has_id;   /* it says so itself */
	bool complete; /* an event was given; the next feed starts afresh */
};
void sse_reader_init(struct sse_reader *r, size_t max_event_bytes);
void sse_reader_done(struct sse_reader *r);
/* Consumes up to the end of the first complete event: returns the bytes used, *ret_event tells
 * whether one is complete (its strings stay until the next feed). One that has an id and no text is
 * given, too: the id counts, as the standard says. E_TOO_LARGE. */
int sse_reader_feed(struct sse_reader *r, struct str bytes, size_t *ret_used, bool *ret_event);

#endif
