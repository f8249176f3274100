/*
 * card.h - what an agent sees of a tool before it asks for more (seed 001 section 2).
 *
 * A card has these fields and no others, and never a schema, an example, an address or a map of
 * any kind. In a prompt it is one line,
 *
 *	[1/10] github:create_issue#e020fcd8 (tool) — Create an issue. [issues, mcp]
 *
 * of CARD_TARGET tokens where its description can be cut so far, and never more than CARD_CAP.
 * All texts come from strangers: they are one line of plain text (text/plain.h), and a tag that
 * holds brackets, quotes or an address is no tag and is left out.
 */

#ifndef CATALOG_CARD_H
#define CATALOG_CARD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/write.h"

#define CARD_TARGET 60 /* tokens of a rendered card */
#define CARD_CAP 80
#define CARD_PREAMBLE 32 /* of a list of them, besides */
#define CARD_NAME 64     /* characters */
#define CARD_TAGS 5
#define CARD_TAG 24 /* characters */

struct card {
	struct str id, name, description, ns;
	const struct str *tags; /* by their bytes */
	size_t tag_count;
	const char *kind; /* "tool", "agent", "skill" or "internal" */
	bool has_schema;
	bool side_effects;
	double cost_hint;
	double score;
	bool has_score;
	unsigned tokens; /* of the rendered line */
};

struct card_source {
	struct str id, name, description, ns;
	const struct str *tags;
	size_t tag_count;
	const char *kind; /* NULL: "tool" */
	bool has_schema;
	bool side_effects;
	bool read_only;   /* each is a tag, */
	bool destructive; /* and these are kept first when there are too many */
	double cost_hint;
};

/*
 * Everything in the arena but the kind. Only the description is ever cut to make it fit:
 * E_TOO_LARGE when that is not enough. E_NOMEM.
 */
int card_build(struct arena *a, const struct card_source *from, struct card *ret, struct err *e);

/*
 * The line of a prompt, without its end and without a score. n is 0 where the number of cards may
 * change and what stood before must not.
 */
void card_render(struct buf *out, const struct card *c, size_t i, size_t n);

int card_by_id(const void *a, const void *b); /* for qsort */

/* The JSON form, with the score if it has one. */
void card_write(struct jw *w, const struct card *c);

#endif
