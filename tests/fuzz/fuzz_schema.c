/*
 * fuzz_schema.c - any JSON as a schema, in both drafts: it is refused with a reason, or it
 * compiles and says yes or no to every value, in the end.
 */

#include "fuzz.h"
#include "schema/schema.h"

/* What the schemas may refer to: by URI, by anchor, and back to themselves. */
static const struct {
	const char *uri, *text;
} known[] = {
    {"http://x/a", "{\"type\":\"object\",\"properties\":{\"b\":{\"$ref\":\"b\"}}}"},
    {"http://x/b", "{\"$defs\":{\"n\":{\"$anchor\":\"n\",\"minimum\":1}},\"$ref\":\"a\"}"},
    {"http://x/t", "{\"$dynamicAnchor\":\"t\",\"items\":{\"$dynamicRef\":\"#t\"}}"},
    {"http://x/7", "{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
		   "\"items\":[{\"$ref\":\"#\"}],\"additionalItems\":false}"},
};

static const char values[] =
    "[null,true,0,-1.5,1e400,12345678901234567890123,\"\",\"a\",\"2020-02-30T00:00:00Z\","
    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\",[],[1,1.0,\"1\"],[[[[]]],{}],{},"
    "{\"a\":1,\"b\":[1,2],\"c\":{\"a\":null,\"\":0}},{\"b\":{\"b\":{\"b\":{\"b\":1}}}}]";

static struct schema_registry *registry;
static struct json_doc *samples;

static void
start(void)
{
	registry = schema_registry_new();
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		struct json_doc *doc = fuzz_parse(str_of(known[i].text));
		CHECK(schema_registry_add(registry, str_of(known[i].uri), doc, NULL) == 0);
		json_doc_unref(doc);
	}
	samples = fuzz_parse(str_of(values));
	CHECK(registry && samples);
}

static void
try_samples(const struct schema *s)
{
	for (struct json_iter it = json_iter(json_root(samples)); json_next(&it);) {
		struct buf errors = BUF_INIT(256 * KIB);
		int rc = schema_validate(s, it.value, SCHEMA_LINES, &errors);

		CHECK(rc == 0 || rc == E_VALIDATION);
		CHECK(schema_fits(s, it.value) == (rc == 0));
		CHECK((errors.len == 0) == (rc == 0));
		buf_done(&errors);
	}
}

static void
try_schema(struct json_doc *doc, unsigned draft)
{
	struct schema_options options = {registry, draft, .assert_formats = draft == 7};
	struct schema *s = NULL;
	struct err e = ERR_NONE;
	int rc = schema_compile(doc, json_root(doc), &options, &s, &e);

	CHECK((rc == 0) == (s != NULL));
	if (rc == 0) {
		try_samples(s);
	} else {
		CHECK(rc == E_VALIDATION || rc == E_TOO_LARGE);
		CHECK(e.text[0]);
		check_harmless(str_of(e.text));
	}
	schema_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str text = {(const char *)bytes, size};
	struct json_doc *doc = size > LIMIT_SCHEMA_BYTES ? NULL : fuzz_parse(text);

	if (!doc)
		return 0;
	if (!registry)
		start();
	try_schema(doc, 0);
	try_schema(doc, 7);
	json_doc_unref(doc);
	return 0;
}
