/* fuzz.h - what the harnesses for JSON and schemas share. */

#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "base/limits.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Fit for a terminal: UTF-8 without control characters, newlines aside. */
static inline void
check_harmless(struct str text)
{
	uint32_t c;

	CHECK(str_is_utf8(text));
	for (size_t n; (n = str_utf8_char(text, &c)) > 0; text = str_from(text, n))
		CHECK(c == '\n' || (c >= 0x20 && c < 0x7f) || c >= 0xa0);
}

/* NULL for what is no JSON; the reason must be one that can be shown. */
static inline struct json_doc *
fuzz_parse(struct str text)
{
	struct json_doc *doc = NULL;
	struct err e = ERR_NONE;
	int rc = json_parse(text, &json_door, &doc, &e);

	CHECK((rc == 0) == (doc != NULL));
	if (rc < 0) {
		CHECK(rc == E_BAD_JSON || rc == E_TOO_LARGE);
		CHECK(e.text[0]);
		check_harmless(str_of(e.text));
	}
	return doc;
}

#endif
