/* test_meta.c - the meta-schemas of the two drafts: what is a schema, and what is not. */

#include "unit.h"

#include <dirent.h>

#include "schema/schemas.h"
#include "testdata.h"

struct draft {
	const char *uri;
	const char *file;  /* from the project's root */
	const char *suite; /* its folder in the test suite */
};

static const struct draft draft_7 = {"http://json-schema.org/draft-07/schema#",
				     "src/schema/meta/draft-07.json", "draft7"};
static const struct draft draft_2020 = {"https://json-schema.org/draft/2020-12/schema",
					"src/schema/meta/draft-2020-12.json", "draft2020-12"};

static struct schema *
meta(const struct draft *d)
{
	struct buf text = BUF_INIT(KIB);
	struct schema *s = NULL;
	struct err e = ERR_NONE;

	buf_addf(&text, "{\"$ref\":\"%s\"}", d->uri);
	struct json_doc *doc = parsed(buf_str(&text));
	if (schema_compile(doc, json_root(doc), NULL, &s, &e) < 0)
		fail_msg("%s: %s", d->uri, e.text);
	json_doc_unref(doc);
	buf_done(&text);
	return s;
}

static void
check_all(const struct draft *d, const char *const *schemas, bool valid)
{
	struct schema *s = meta(d);

	for (; *schemas; schemas++) {
		struct json_doc *doc = parsed(str_of(*schemas));
		if (schema_fits(s, json_root(doc)) != valid)
			fail_msg("%s: %s: %s", d->uri, *schemas, valid ? "refused" : "taken");
		json_doc_unref(doc);
	}
	schema_free(s);
}

static void
takes_what_is_a_schema(void **state)
{
	static const char *const both[] = {
	    "true",
	    "false",
	    "{}",
	    "{\"unheard of\":[1]}",
	    "{\"$comment\":\"c\",\"title\":\"t\",\"description\":\"d\",\"default\":[],"
	    "\"examples\":[1,null],\"readOnly\":true,\"writeOnly\":false}",
	    "{\"type\":\"integer\",\"minimum\":-1.5,\"exclusiveMaximum\":1e400,\"multipleOf\":0."
	    "01}",
	    "{\"type\":[\"string\",\"null\"],\"minLength\":0,\"maxLength\":2.0,\"pattern\":\"^a\"}",
	    "{\"enum\":[],\"const\":null,\"format\":\"own\",\"required\":[],\"uniqueItems\":true}",
	    "{\"properties\":{\"a\":true},\"patternProperties\":{\"^b\":{}},\"propertyNames\":"
	    "false}",
	    "{\"allOf\":[{}],\"anyOf\":[true],\"oneOf\":[{},{}],\"not\":{},\"if\":{},\"then\":"
	    "true}",
	    "{\"$ref\":\"#/definitions/a\",\"definitions\":{\"a\":{\"items\":{\"not\":true}}}}",
	    "{\"dependencies\":{\"a\":[\"b\"],\"c\":{}}}",
	    NULL,
	};
	static const char *const only_7[] = {
	    "{\"$id\":\"http://x/y#z\",\"items\":[{},true],\"additionalItems\":false}",
	    "{\"$anchor\":7,\"dependentRequired\":[],\"prefixItems\":1,\"deprecated\":\"yes\"}",
	    NULL,
	};
	static const char *const only_2020[] = {
	    "{\"$id\":\"http://x/y#\",\"$anchor\":\"a-1._\",\"$dynamicAnchor\":\"_\"}",
	    "{\"$vocabulary\":{\"http://x/v\":false},\"$defs\":{\"a\":true},\"deprecated\":true}",
	    "{\"prefixItems\":[{}],\"items\":false,\"minContains\":0,\"unevaluatedItems\":{}}",
	    "{\"dependentRequired\":{\"a\":[]},\"dependentSchemas\":{\"a\":{\"else\":false}}}",
	    "{\"additionalItems\":\"nothing any more\",\"contentSchema\":{}}",
	    NULL,
	};

	(void)state;
	check_all(&draft_7, both, true);
	check_all(&draft_7, only_7, true);
	check_all(&draft_2020, both, true);
	check_all(&draft_2020, only_2020, true);
}

static void
refuses_what_is_none(void **state)
{
	static const char *const both[] = {
	    "null",
	    "[]",
	    "\"string\"",
	    "{\"type\":\"str\"}",
	    "{\"type\":[]}",
	    "{\"type\":[\"null\",\"null\"]}",
	    "{\"enum\":{}}",
	    "{\"minimum\":\"1\"}",
	    "{\"multipleOf\":0}",
	    "{\"maxLength\":-1}",
	    "{\"minItems\":1.5}",
	    "{\"uniqueItems\":1}",
	    "{\"pattern\":[]}",
	    "{\"required\":[\"a\",\"a\"]}",
	    "{\"required\":\"a\"}",
	    "{\"properties\":{\"a\":1}}",
	    "{\"properties\":[]}",
	    "{\"patternProperties\":{\"a\":{\"type\":1}}}",
	    "{\"additionalProperties\":null}",
	    "{\"items\":{\"items\":{\"not\":{\"title\":1}}}}",
	    "{\"allOf\":[]}",
	    "{\"anyOf\":{}}",
	    "{\"oneOf\":[{},1]}",
	    "{\"if\":0}",
	    "{\"examples\":{}}",
	    "{\"$ref\":1}",
	    "{\"definitions\":{\"a\":[]}}",
	    "{\"dependencies\":{\"a\":\"b\"}}",
	    NULL,
	};
	static const char *const only_2020[] = {
	    "{\"items\":[{}]}",
	    "{\"prefixItems\":[]}",
	    "{\"$id\":\"http://x/y#z\"}",
	    "{\"$anchor\":\"#a\"}",
	    "{\"$dynamicAnchor\":\"1\"}",
	    "{\"$vocabulary\":{\"http://x/v\":1}}",
	    "{\"$defs\":{\"a\":{\"$defs\":{\"b\":2}}}}",
	    "{\"dependentRequired\":{\"a\":\"b\"}}",
	    "{\"unevaluatedProperties\":{\"minContains\":-1}}",
	    "{\"contentSchema\":7}",
	    NULL,
	};
	static const char *const only_7[] = {"{\"items\":[]}", "{\"additionalItems\":[]}", NULL};

	(void)state;
	check_all(&draft_7, both, false);
	check_all(&draft_7, only_7, false);
	check_all(&draft_2020, both, false);
	check_all(&draft_2020, only_2020, false);
}

static void
check_file(const struct schema *s, const char *path)
{
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text);

	if (!schema_fits(s, json_root(doc)))
		fail_msg("%s: refused", path);
	json_doc_unref(doc);
	free((char *)text.ptr);
}

static void
are_schemas_themselves(void **state)
{
	struct schema *s7 = meta(&draft_7), *s2020 = meta(&draft_2020);

	(void)state;
	check_file(s7, draft_7.file);
	check_file(s2020, draft_2020.file);
	schema_free(s7);
	schema_free(s2020);
}

static int
is_json(const struct dirent *d)
{
	return str_ends(str_of(d->d_name), S(".json"));
}

static void
check_suite_file(const struct schema *s, const char *path)
{
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text);

	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);)
		if (!schema_fits(s, json_get(it.value, S("schema"))))
			fail_msg("%s / %.*s: refused", path,
				 STR_ARG(json_str(json_get(it.value, S("description")))));
	json_doc_unref(doc);
	free((char *)text.ptr);
}

static void
take_every_schema_of_the_suite(void **state)
{
	const struct draft *drafts[] = {&draft_7, &draft_2020};
	char suite[512], folder[600], path[1024];

	(void)state;
	TESTDATA_OR_SKIP("batteries/json-schema/tests", suite);
	for (size_t i = 0; i < ARRAY_LEN(drafts); i++) {
		struct schema *s = meta(drafts[i]);
		struct dirent **found;

		snprintf(folder, sizeof(folder), "%s/%s", suite, drafts[i]->suite);
		int count = scandir(folder, &found, is_json, alphasort);
		assert_true(count > 0);
		for (int k = 0; k < count; k++) {
			snprintf(path, sizeof(path), "%s/%s", folder, found[k]->d_name);
			check_suite_file(s, path);
			free(found[k]);
		}
		free(found);
		schema_free(s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(takes_what_is_a_schema),
	    cmocka_unit_test(refuses_what_is_none),
	    cmocka_unit_test(are_schemas_themselves),
	    cmocka_unit_test(take_every_schema_of_the_suite),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
