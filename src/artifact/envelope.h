/*
 * envelope.h - a tool's result as an agent with little room wants it: what came of it, the gist,
 * and handles to the rest (seed 001; the origin's ResultEnvelope, to its schema).
 *
 * Text longer than `shown` is kept as an artifact; so are structured content, images, audio and
 * resources, whatever their size. Unlike the origin's, every handle is that of the bytes.
 */

#ifndef ARTIFACT_ENVELOPE_H
#define ARTIFACT_ENVELOPE_H

#include "artifact/artifact.h"

struct envelope_spec {
	struct artifacts *artifacts;
	struct str tenant;
	struct str tool;      /* as the upstream calls it */
	struct str tool_id;   /* or {NULL,0} */
	const char *protocol; /* "mcp"; "native" for our own tools */
	bool whole;           /* text that need not be kept is the summary, all of it */
};

/* result: {"content": [blocks], "structuredContent"?, "isError"?}. E_STORE, E_NOMEM. */
int envelope_write(struct jw *w, const struct envelope_spec *spec, const struct json *result,
		   struct err *e);

/*
 * Head and tail of a text that was kept, with the handle and how to see the rest between them; kept
 * is NULL where that failed. Each end has at most `ends` bytes and whole lines if it can.
 */
void preview_write(struct buf *out, struct str text, size_t ends, const struct artifact *kept);

#endif
