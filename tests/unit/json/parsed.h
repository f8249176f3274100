/* parsed.h - JSON text of a test made into a value. */

#ifndef TESTS_JSON_PARSED_H
#define TESTS_JSON_PARSED_H

#include "base/limits.h"
#include "json/json.h"

/* Fails the test when the text is not JSON. To be unref'ed. */
static inline struct json_doc *
parsed(const char *text)
{
	struct json_doc *doc = NULL;
	struct err e = ERR_NONE;

	if (json_parse(str_of(text), &(struct json_limits){LIMIT_JSON_BYTES, LIMIT_JSON_DEPTH},
		       &doc, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return doc;
}

#endif
