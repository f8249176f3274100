/* match.h - the lines of an artifact that match a pattern, and those around them. For src/artifact.
 */

#ifndef ARTIFACT_MATCH_H
#define ARTIFACT_MATCH_H

#include "artifact/artifact.h"

struct match_line {
	uint64_t line;
	bool hit; /* or one around */
	struct str text;
};

struct match_spec {
	struct str pattern; /* as PCRE2 reads it */
	bool ignore_case;
	uint64_t start; /* the first line that is looked at */
	size_t before, after, max;
	int64_t cpu_ms;                                       /* of this thread */
	bool (*found)(const struct match_line *m, void *arg); /* false: enough */
	void *arg;
};

/*
 * Every line once, in order. Of a long one LIMIT_VIEW_LINE bytes are looked at and given.
 * *ret_next is the line after the last one given if `max` were found before the end, otherwise 0:
 * going on from there gives no line twice and leaves none out. Bounded work, whatever the pattern:
 * E_VIEW when it is wrong or takes too long. E_STORE, E_NOMEM.
 */
int match_lines(struct artifact_reader *r, const struct match_spec *spec, uint64_t *ret_next,
		struct err *e);

#endif
