/*
 * yaml.h - YAML read into the same values, with the lines they came from.
 *
 * One document, no aliases or tags of its own; plain scalars become null, booleans,
 * numbers or strings as in YAML's core schema. JSON is YAML, so the same door takes it.
 */

#ifndef JSON_YAML_H
#define JSON_YAML_H

#include "json/json.h"

struct yaml {
	struct json_doc *doc; /* an empty file is null */
	unsigned *lines;      /* by json_order() */
	size_t count;
};

/* E_CONFIG with "line 3: ..." in the text, E_TOO_LARGE, E_NOMEM. */
int yaml_parse(struct str text, size_t max_bytes, struct yaml *ret, struct err *e);
void yaml_done(struct yaml *y);

/*
 * A file that is JSON (it begins with a brace) may have // and block comments, as editors keep it:
 * out is the text with blanks in their place, so that lines stay. Not yaml_parse's work, because
 * most JSON is no file that people write. False: there are none, or it is YAML; out says nothing.
 */
struct buf;
bool json_blank_comments(struct str text, struct buf *out);

unsigned yaml_line(const struct yaml *y, const struct json *v); /* from 1 */

#endif
