/* vectors.h - a file of vectors, read. */

#ifndef TESTS_CATALOG_VECTORS_H
#define TESTS_CATALOG_VECTORS_H

#include "base/limits.h"
#include "json/json.h"
#include "testdata.h"

/* To be unref'ed. Fails the test when it is not JSON. */
static inline struct json_doc *
vectors(const char *path)
{
	struct str text = testdata_read(path);
	struct json_doc *doc = NULL;
	struct err e = ERR_NONE;

	if (json_parse(text, &(struct json_limits){LIMIT_JSON_BYTES, LIMIT_JSON_DEPTH}, &doc, &e) <
	    0)
		fail_msg("%s: %s", path, e.text);
	free((void *)(uintptr_t)text.ptr);
	return doc;
}

static inline struct str
text_of(const struct json *object, const char *name)
{
	return json_str(json_get(object, str_of(name)));
}

/* The same numbers in every run. */
static inline uint32_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

#endif
