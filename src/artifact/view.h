/*
 * view.h - parts of a kept result, by a selector.
 *
 *	{"type": "head", "chars": 500}              the first characters
 *	{"type": "tail", "chars": 500}              the last ones
 *	{"type": "lines", "start": 10, "end": 20}   a slice of the lines, from 0, as Python slices:
 *	                                            either may be missing, or negative
 *	{"type": "rows", ...}                       the same
 *	{"type": "json_keys", "keys": ["a"]}        these members of a JSON object; "" for others
 *	{"type": "pointer", "pointer": "/a/0"}      what a JSON Pointer leads to
 *	{"type": "grep", "pattern": "E[0-9]+"}      lines that match, "12:text", with those around
 *	                                            (before, after or context), "11-text"; from line
 *	                                            `start` on, at most `max`; "ignore_case"
 *
 * With each, "offset" leaves out that many bytes of the part: what next_offset said where the
 * part did not fit. Lines end as Python's splitlines says. Read in pieces, never whole; JSON is
 * parsed, up to LIMIT_JSON_BYTES.
 */

#ifndef ARTIFACT_VIEW_H
#define ARTIFACT_VIEW_H

#include "artifact/artifact.h"

struct view {
	struct buf text;
	bool more;
	uint64_t next_offset; /* when there is more */
	bool is_grep;
	uint64_t hits;      /* lines that matched */
	uint64_t next_line; /* `start` for the rest, when max were found before the end; else 0 */
};

/* At most max_bytes of the part. E_VIEW with a sentence that helps, E_STORE, E_NOMEM. */
int view_select(struct artifact_reader *r, const struct json *selector, size_t max_bytes,
		struct view *ret, struct err *e);
void view_done(struct view *v); /* zeroed memory too */

/* {"handle", "text", "size_bytes", "next_offset", and of grep "hits", "next_line"} */
void view_write(struct jw *w, const struct view *v, const struct artifact *of);

#endif
