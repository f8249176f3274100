/* schemas.h - what the tests of src/schema share. */

#ifndef TESTS_SCHEMA_SCHEMAS_H
#define TESTS_SCHEMA_SCHEMAS_H

#include <string.h>

#include "base/limits.h"
#include "schema/schema.h"

/* Fails the test when the text is not JSON. To be unref'ed. */
static inline struct json_doc *
parsed(struct str text)
{
	struct json_doc *doc = NULL;
	struct err e = ERR_NONE;

	if (json_parse(text, &json_door, &doc, &e) < 0)
		fail_msg("%.*s: %s", STR_ARG(text), e.text);
	return doc;
}

/* Fails the test when the schema does not compile. To be freed. */
static inline struct schema *
compiled(const char *text)
{
	struct json_doc *doc = parsed(str_of(text));
	struct schema *s = NULL;
	struct err e = ERR_NONE;

	if (schema_compile(doc, json_root(doc), NULL, &s, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	json_doc_unref(doc); /* the schema keeps its own reference */
	return s;
}

/* What is said of a value in a form; "" for one that fits. */
static inline void
check_words(const struct schema *s, struct str value, enum schema_form form, const char *expected)
{
	struct json_doc *doc = parsed(value);
	struct buf errors = BUF_INIT(64 * KIB);

	assert_int_equal(schema_fits(s, json_root(doc)), !*expected);
	assert_int_equal(schema_validate(s, json_root(doc), form, &errors),
			 *expected ? E_VALIDATION : 0);
	assert_string_equal(buf_z(&errors), expected);
	buf_done(&errors);
	json_doc_unref(doc);
}

/* The strings of an array, with newlines between. */
static inline struct buf
joined(const struct json *lines)
{
	struct buf b = BUF_INIT(64 * KIB);

	for (struct json_iter it = json_iter(lines); json_next(&it);) {
		buf_addz(&b, b.len ? "\n" : "");
		buf_add(&b, json_str(it.value));
	}
	return b;
}

#endif
