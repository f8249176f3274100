/* gist.h - what can be said of a text that streams by: its ends, its facts. For src/artifact. */

#ifndef ARTIFACT_GIST_H
#define ARTIFACT_GIST_H

#include "base/buf.h"
#include "base/limits.h"
#include "text/secrets.h"

/* "key: value" lines are facts: shorter than LIMIT_FACT_CHARS, the first LIMIT_FACTS of them. */
struct gist {
	uint64_t chars;
	struct buf head; /* the first LIMIT_GIST_CHARS characters */
	struct buf tail; /* the last bytes, at least as many characters */
	struct buf facts[LIMIT_FACTS];
	size_t fact_count;

	/* private */
	bool redact;
	struct secrets secrets;
	struct buf clean;
	struct buf line; /* so far; failed: too long for a fact */
};

void gist_init(struct gist *g, bool redact);
void gist_feed(struct gist *g, struct str piece);
void gist_end(struct gist *g);
void gist_done(struct gist *g);

/* All of a short text; the head; or head and tail with a mark between them. */
void gist_summary(const struct gist *g, bool ends, struct buf *out);

#endif
