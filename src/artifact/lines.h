/*
 * lines.h - the lines of an artifact, read in pieces. For src/artifact.
 *
 * A line ends where Python's splitlines ends it: \n \r \r\n \v \f FS GS RS NEL LS PS. A last line
 * without an end is one too, unless it is empty.
 */

#ifndef ARTIFACT_LINES_H
#define ARTIFACT_LINES_H

#include "artifact/artifact.h"

struct lines;

/* A line, or a piece of a long one; the text without its end. */
struct line_part {
	uint64_t line; /* from 0 */
	struct str text;
	bool begins, ends;
};

struct lines *lines_new(struct artifact_reader *r); /* NULL: no memory */
/* False at the end. The text is valid until the next call. */
bool lines_next(struct lines *l, struct line_part *ret);
bool lines_failed(const struct lines *l); /* the end came because reading failed */
void lines_free(struct lines *l);         /* takes NULL */

#endif
