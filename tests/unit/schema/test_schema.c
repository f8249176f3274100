/* test_schema.c - compiling schemas, running them within limits, and what they say. */

#include "unit.h"

#include <malloc.h>

#include "schema/schemas.h"

static void
check(const struct schema *s, struct str value, const char *expected)
{
	check_words(s, value, SCHEMA_LINES, expected);
}

static void
check_one(const char *schema, const char *value, const char *expected)
{
	struct schema *s = compiled(schema);

	check(s, str_of(value), expected);
	schema_free(s);
}

static void
says_what_to_do_about_it(void **state)
{
	static const struct {
		const char *schema, *value, *errors;
	} cases[] = {
	    {"{\"type\":\"integer\"}", "\"12\"", "(root): must be an integer, got \"12\""},
	    {"{\"type\":[\"string\",\"null\",\"array\"]}", "{}",
	     "(root): must be a string, null or an array, got an object"},
	    {"{\"properties\":{\"items\":{\"items\":{\"properties\":{\"qty\":{\"minimum\":1}}}}}}",
	     "{\"items\":[{},{},{},{\"qty\":0}]}", "/items/3/qty: must be at least 1, got 0"},
	    {"{\"maximum\":2.5}", "1e400", "(root): must be at most 2.5, got 1e400"},
	    {"{\"exclusiveMinimum\":0}", "0", "(root): must be greater than 0, got 0"},
	    {"{\"exclusiveMaximum\":1}", "1.0", "(root): must be less than 1, got 1"},
	    {"{\"multipleOf\":0.01}", "4.025", "(root): must be a multiple of 0.01, got 4.025"},
	    {"{\"minLength\":1}", "\"\"", "(root): must have at least 1 character, got 0"},
	    {"{\"minLength\":2}", "\"\xf0\x9f\x98\x80\"",
	     "(root): must have at least 2 characters, got 1"},
	    {"{\"maxLength\":2}", "\"abc\"", "(root): must have at most 2 characters, got 3"},
	    {"{\"pattern\":\"^a\\\\d\"}", "\"b\\n\"",
	     "(root): must match the pattern \"^a\\\\d\", got \"b\\n\""},
	    {"{\"enum\":[\"read\",\"write\",3]}", "\"raed\"",
	     "(root): must be one of \"read\", \"write\", 3, got \"raed\"; did you mean "
	     "\"read\"?"},
	    {"{\"enum\":[1,null]}", "true", "(root): must be one of 1, null, got true"},
	    {"{\"const\":5}", "6", "(root): must be 5, got 6"},
	    {"{\"minItems\":2}", "[1]", "(root): must have at least 2 items, got 1"},
	    {"{\"maxItems\":1}", "[1,2]", "(root): must have at most 1 item, got 2"},
	    {"{\"uniqueItems\":true}", "[1,2,1.0]", "/2: is the same as an item before it, got 1"},
	    {"{\"contains\":{\"type\":\"null\"}}", "[1]",
	     "(root): must have at least 1 item of the wanted kind, got 0"},
	    {"{\"contains\":{\"type\":\"null\"},\"minContains\":2,\"maxContains\":2}", "[null]",
	     "(root): must have exactly 2 items of the wanted kind, got 1"},
	    {"{\"const\":{\"a\":[1]}}", "{}", "(root): must be {\"a\": [1]}, got an object"},
	    {"{\"enum\":[]}", "1", "(root): must be one of no values, got 1"},
	    {"{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
	     "\"dependencies\":{\"a\":[\"b\"]}}",
	     "{\"a\":1}", "/b: is required when there is \"a\""},
	    {"{\"minProperties\":1}", "{}", "(root): must have at least 1 member, got 0"},
	    {"{\"required\":[\"a\",\"b/c\",\"a\"]}", "{}", "/a: is required\n/b~1c: is required"},
	    {"{\"properties\":{\"o\":{\"required\":[\"x\"]}}}", "{\"o\":{}}", "/o/x: is required"},
	    {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
	     "/b: is required when there is \"a\""},
	    {"{\"properties\":{\"path\":{}},\"additionalProperties\":false}", "{\"pathh\":1}",
	     "/pathh: unknown property; did you mean path?"},
	    {"{\"properties\":{\"path\":{}},\"unevaluatedProperties\":false}", "{\"x\":1}",
	     "/x: unknown property"},
	    {"{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}",
	     "/abc: the name must have at most 2 characters, got 3"},
	    {"{\"properties\":{\"a\":false}}", "{\"a\":1}", "/a: is not allowed"},
	    {"{\"not\":{\"type\":\"string\"}}", "\"x\"",
	     "(root): must not be what the schema excludes, got \"x\""},
	    {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "3",
	     "(root): must fit exactly one of the 2 alternatives, fits 2"},
	    {"{\"if\":{\"minimum\":5},\"then\":{\"multipleOf\":5}}", "7",
	     "(root): must be a multiple of 5, got 7"},
	    {"{\"properties\":{\"a\\nb\\u001b\":{\"type\":\"null\"}}}",
	     "{\"a\\nb\\u001b\":\"\\u001b[2J\"}", "/a?b?: must be null, got \"\\u001b[2J\""},
	    {"false", "1", "(root): is not allowed"},
	    {"true", "1", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_one(cases[i].schema, cases[i].value, cases[i].errors);
}

/* Of several alternatives the errors of the one that was probably meant are told. */
static void
tells_of_the_alternative_that_was_meant(void **state)
{
	struct schema *s = compiled(
	    "{\"anyOf\":[{\"type\":\"string\"},"
	    "{\"properties\":{\"kind\":{\"const\":\"file\"},\"path\":{\"type\":\"string\"}},"
	    "\"required\":[\"kind\",\"path\"]},"
	    "{\"properties\":{\"kind\":{\"const\":\"url\"},\"url\":{\"type\":\"string\"}},"
	    "\"required\":[\"kind\",\"url\"]}]}");

	(void)state;
	check(s, S("{\"kind\":\"url\",\"path\":1}"),
	      "(root): fits none of the 3 alternatives, got an object\n/url: is required");
	check(s, S("{\"kind\":\"file\",\"path\":1}"),
	      "(root): fits none of the 3 alternatives, got an object\n"
	      "/path: must be a string, got 1");
	check(s, S("\"x\""), "");
	schema_free(s);
	check_one("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1",
		  "(root): must be a string or null, got 1");
	check_one("{\"oneOf\":[{\"type\":\"string\"},{\"type\":[\"integer\",\"array\"]}]}", "true",
		  "(root): must be a string, an integer or an array, got true");
}

static void
tells_all_errors_in_document_order_each_once(void **state)
{
	struct schema *s =
	    compiled("{\"allOf\":[{\"required\":[\"z\"]},{\"required\":[\"z\"]}],"
		     "\"properties\":{\"a\":{\"type\":\"null\"},\"b\":{\"type\":\"null\"}},"
		     "\"additionalProperties\":false}");
	struct buf value = BUF_INIT(4 * KIB), errors = BUF_INIT(64 * KIB);

	(void)state;
	check(s, S("{\"b\":1,\"x\":2,\"a\":3}"),
	      "/z: is required\n/b: must be null, got 1\n/x: unknown property\n"
	      "/a: must be null, got 3");
	for (int i = 0; i < 100; i++)
		buf_addf(&value, "%s\"k%d\":%d", i ? "," : "{", i, i);
	buf_addc(&value, '}');
	struct json_doc *doc = parsed(buf_str(&value));
	assert_int_equal(schema_validate(s, json_root(doc), SCHEMA_LINES, &errors), E_VALIDATION);
	struct str rest = buf_str(&errors), line;
	size_t lines = 0;
	while (str_split(&rest, '\n', &line))
		lines++;
	assert_int_equal(lines, LIMIT_SCHEMA_ERRORS);
	json_doc_unref(doc);
	schema_free(s);
	buf_done(&value);
	buf_done(&errors);
}

static void
gives_errors_as_json(void **state)
{
	struct schema *s = compiled("{\"properties\":{\"a/b\":{\"minimum\":1},\"d\":false},"
				    "\"required\":[\"c\"]}");

	(void)state;
	check_words(s, S("{\"a/b\":0,\"d\":1}"), SCHEMA_JSON,
		    "[{\"path\":\"/c\",\"keyword\":\"required\",\"message\":\"is required\"},"
		    "{\"path\":\"/a~1b\",\"keyword\":\"minimum\",\"message\":\"must be at least 1, "
		    "got 0\"},"
		    "{\"path\":\"/d\",\"keyword\":null,\"message\":\"is not allowed\"}]");
	schema_free(s);
}

/* An error whose path alone is longer than all of them may be is left out, not cut. */
static void
leaves_out_what_there_is_no_room_for(void **state)
{
	struct schema *s = compiled("{\"additionalProperties\":{\"type\":\"null\"}}");
	struct buf value = BUF_INIT(MIB), errors = BUF_INIT(MIB);

	(void)state;
	buf_addz(&value, "{\"");
	for (size_t i = 0; i < LIMIT_SCHEMA_TEXT; i++)
		buf_addc(&value, 'k');
	buf_addz(&value, "\":1,\"b\":2}");
	struct json_doc *doc = parsed(buf_str(&value));
	assert_int_equal(schema_validate(s, json_root(doc), SCHEMA_JSON, &errors), E_VALIDATION);
	assert_string_equal(
	    buf_z(&errors),
	    "[{\"path\":\"/b\",\"keyword\":\"type\",\"message\":\"must be null, got 2\"}]");
	json_doc_unref(doc);
	schema_free(s);
	buf_done(&value);
	buf_done(&errors);
}

static void
refuses_schemas_that_are_wrong(void **state)
{
	static const struct {
		const char *schema, *error;
	} cases[] = {
	    {"{\"properties\":{\"x\":{\"minLength\":-1}}}",
	     "/properties/x/minLength: must be a whole number that is not negative"},
	    {"{\"maxItems\":1.5}", "/maxItems: must be a whole number that is not negative"},
	    {"{\"minimum\":\"1\"}", "/minimum: must be a number"},
	    {"{\"multipleOf\":0}", "/multipleOf: must be a number greater than 0"},
	    {"{\"required\":[1]}", "/required: must be an array of strings"},
	    {"{\"enum\":1}", "/enum: must be an array"},
	    {"{\"properties\":[]}", "/properties: must be an object of schemas"},
	    {"{\"properties\":{\"a\":1}}",
	     "/properties/a: must be a schema: an object or a boolean"},
	    {"{\"title\":1}", "/title: must be a string"},
	    {"{\"type\":[]}", "/type: must name a type"},
	    {"{\"type\":\"strng\"}", "/type: must name a type"},
	    {"{\"items\":[{}]}", "/items: must be a schema: an object or a boolean"},
	    {"{\"oneOf\":[]}", "/oneOf: must be an array of schemas that is not empty"},
	    {"{\"items\":{\"pattern\":\"(\"}}", "/items/pattern: is not a regular expression: "},
	    {"{\"patternProperties\":{\"[\":{}}}",
	     "/patternProperties/[: is not a regular expression: "},
	    {"{\"properties\":{\"a\":{\"$ref\":\"http://x/y\"}}}",
	     "/properties/a/$ref: refers to http://x/y, which is not known here"},
	    {"{\"$ref\":\"#/$defs/a\"}", "/$ref: refers to #/$defs/a, where there is nothing"},
	    {"{\"$schema\":\"http://x/meta\"}",
	     "/$schema: names http://x/meta, a dialect that is not known here"},
	    {"{\"$schema\":\"http://json-schema.org/draft-07/schemaX\"}",
	     "/$schema: names http://json-schema.org/draft-07/schemaX, a dialect that is not "},
	    {"{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\","
	     "\"additionalProperties\":{\"$recursiveRef\":\"#\"}}",
	     "/additionalProperties/$recursiveRef: is of Draft 2019-09, and is not known here"},
	    {"{\"$ref\":\"a\\u001b[2Jb\"}", "/$ref: refers to a?[2Jb, which is not known here"},
	    {"[]", "(root): must be a schema: an object or a boolean"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(str_of(cases[i].schema));
		struct schema *s = NULL;
		struct err e = ERR_NONE;
		assert_int_equal(schema_compile(doc, json_root(doc), NULL, &s, &e), E_VALIDATION);
		assert_null(s);
		if (!str_starts(str_of(e.text), str_of(cases[i].error)))
			fail_msg("\"%s\" should be \"%s\"", e.text, cases[i].error);
		json_doc_unref(doc);
	}
	schema_free(NULL);
}

static void
finds_its_way_among_many_properties(void **state)
{
	struct buf schema = BUF_INIT(64 * KIB), value = BUF_INIT(64 * KIB);

	(void)state;
	buf_addz(&schema,
		 "{\"additionalProperties\":false,\"required\":[\"p7\",\"p999\"],\"properties\":{");
	for (int i = 0; i < 1000; i++) {
		buf_addf(&schema, "%s\"p%d\":{\"const\":%d}", i ? "," : "", i, i);
		buf_addf(&value, "%s\"p%d\":%d", i ? "," : "{", 999 - i, 999 - i);
	}
	buf_addz(&schema, "}}");
	buf_addc(&value, '}');
	struct schema *s = compiled(buf_z(&schema));
	check(s, buf_str(&value), "");
	check(s, S("{\"p500\":500,\"p501\":500,\"p7\":7}"),
	      "/p999: is required\n/p501: must be 501, got 500");
	schema_free(s);
	buf_reset(&schema);
	buf_addz(&schema, "{\"properties\":{");
	for (int i = 0; i <= LIMIT_SCHEMA_NAMES; i++)
		buf_addf(&schema, "%s\"p%d\":{}", i ? "," : "", i);
	buf_addz(&schema, "}}");
	struct json_doc *doc = parsed(buf_str(&schema));
	struct err e;
	assert_int_equal(schema_compile(doc, json_root(doc), NULL, &s, &e), E_VALIDATION);
	assert_string_equal(e.text, "(root): has more than 2048 properties");
	json_doc_unref(doc);
	buf_done(&schema);
	buf_done(&value);
}

static void
a_name_written_twice_counts_once(void **state)
{
	struct buf names = BUF_INIT(64 * KIB), schema = BUF_INIT(64 * KIB);

	(void)state;
	for (int i = 0; i < 200; i++)
		buf_addf(&names, "%s\"n%d\",\"n%d\"", i ? "," : "", i, i);
	buf_addf(&schema, "{\"enum\":[%s],\"required\":[%s]}", buf_z(&names), buf_z(&names));
	struct schema *s = compiled(buf_z(&schema));
	check(s, S("\"n199\""), "");
	schema_free(s);
	buf_done(&names);
	buf_done(&schema);
}

/* ---- bounds ---- */

/* Something far behind in a long text is found, or known not to be there. */
static void
long_texts_are_searched_to_their_end(void **state)
{
	struct schema *last = compiled("{\"pattern\":\"\\\\n$\"}");
	struct schema *none = compiled("{\"not\":{\"pattern\":\"<script\"}}");
	struct schema *wide = compiled("{\"pattern\":\"[x-z]\"}");
	struct buf value = BUF_INIT(2 * MIB);

	(void)state;
	buf_addc(&value, '"');
	for (size_t i = 0; i < 300000; i++)
		buf_addz(&value, "\xc3\xa9");
	size_t len = value.len;
	buf_addz(&value, "\\n\"");
	check(last, buf_str(&value), "");
	check(none, buf_str(&value), "");
	value.len = len;
	buf_addz(&value, "y\"");
	check(wide, buf_str(&value), "");
	schema_free(last);
	schema_free(none);
	schema_free(wide);
	buf_done(&value);
}

static void
a_pattern_that_takes_too_long_is_not_matched(void **state)
{
	struct schema *evil = compiled("{\"pattern\":\"^(([a-z])+.)+[A-Z]([a-z])+$\"}");
	struct schema *loose = compiled("{\"pattern\":\"[a-z](?=[a-z]*1)\"}");
	struct schema *bound = compiled("{\"pattern\":\"^x\"}");
	struct schema *near = compiled("{\"pattern\":\"\\\\S\"}");
	struct schema *groups = compiled("{\"pattern\":\"^(?:[w-z]{4})*$\"}");
	struct schema *not = compiled("{\"not\":{\"pattern\":\"[a-z](?=[a-z]*1)\"}}");
	struct buf value = BUF_INIT(MIB);

	(void)state;
	check(evil, S("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""),
	      "(root): is too much work to match against a pattern");
	buf_addc(&value, '"');
	for (size_t i = 0; i < 400000; i++)
		buf_addc(&value, 'x');
	buf_addc(&value, '"');
	check(loose, buf_str(&value), "(root): is too much work to match against a pattern");
	check(not, buf_str(&value), "(root): is too much work to match against a pattern");
	check(bound, buf_str(&value), "");
	check(near, buf_str(&value), "");
	check(groups, buf_str(&value), ""); /* many cheap steps are not too much work */
	schema_free(evil);
	schema_free(loose);
	schema_free(bound);
	schema_free(near);
	schema_free(groups);
	schema_free(not );
	buf_done(&value);
}

static void
a_schema_without_end_ends(void **state)
{
	static const struct {
		const char *schema, *error;
	} cases[] = {
	    {"{\"$ref\":\"#\"}", "meets a schema that refers to itself without end"},
	    {"{\"not\":{\"$ref\":\"#\"}}", "meets a schema that refers to itself without end"},
	    {"{\"allOf\":[{\"$ref\":\"#/$defs/a\"},{\"$ref\":\"#/$defs/a\"}],"
	     "\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}}}",
	     "meets a schema that refers to itself without end"},
	};
	struct buf error = BUF_INIT(KIB), bomb = BUF_INIT(64 * KIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_reset(&error);
		buf_addf(&error, "(root): %s", cases[i].error);
		check_one(cases[i].schema, "1", buf_z(&error));
	}
	/* Each schema asks the next one twice: 2^40 rules to run. */
	buf_addz(&bomb, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
	for (int i = 0; i < 40; i++)
		buf_addf(&bomb,
			 "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},"
			 "{\"$ref\":\"#/$defs/d%d\"}]},",
			 i, i + 1, i + 1);
	buf_addz(&bomb, "\"d40\":true}}");
	check_one(buf_z(&bomb), "1", "(root): is too much work to check");
	buf_done(&bomb);
	buf_done(&error);
}

static void
many_items_are_told_apart(void **state)
{
	struct schema *s = compiled("{\"uniqueItems\":true}");
	struct buf value = BUF_INIT(MIB);

	(void)state;
	for (int i = 0; i < 20000; i++)
		buf_addf(&value, "%s[%d,{\"a\":%d,\"b\":\"x\"}]", i ? "," : "[", i, i);
	size_t len = value.len;
	buf_addc(&value, ']');
	check(s, buf_str(&value), "");
	value.len = len;
	buf_addz(&value, ",[7.0,{\"b\":\"x\",\"a\":7}]]");
	check(s, buf_str(&value), "/20000: is the same as an item before it, got an array");
	schema_free(s);
	buf_done(&value);
}

static void
too_many_schemas_are_refused(void **state)
{
	struct buf schema = BUF_INIT(MIB);
	struct schema *s = NULL;
	struct err e = ERR_NONE;

	(void)state;
	for (int i = 0; i <= LIMIT_SCHEMA_RULES; i++)
		buf_addz(&schema, i ? ",{}" : "{\"allOf\":[{}");
	buf_addz(&schema, "]}");
	struct json_doc *doc = parsed(buf_str(&schema));
	assert_int_equal(schema_compile(doc, json_root(doc), NULL, &s, &e), E_TOO_LARGE);
	assert_null(s);
	json_doc_unref(doc);
	buf_done(&schema);
}

/* ---- memory ---- */

static size_t allocations;

#if defined(__SANITIZE_ADDRESS__)
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *));

static void
on_malloc(const volatile void *p, size_t n)
{
	(void)p, (void)n;
	allocations++;
}

static void
on_free(const volatile void *p)
{
	(void)p;
}

static void
count_allocations(void)
{
	__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
}
#else
static void
count_allocations(void)
{
}
#endif

static void
a_value_that_fits_costs_no_memory(void **state)
{
	struct schema *s = compiled(
	    "{\"$defs\":{\"node\":{\"properties\":{\"next\":{\"$ref\":\"#/$defs/node\"},"
	    "\"name\":{\"pattern\":\"^[a-z]+$\",\"maxLength\":10},\"n\":{\"multipleOf\":0.1}}}},"
	    "\"allOf\":[{\"$ref\":\"#/$defs/node\"}],\"properties\":{\"kind\":{\"enum\":"
	    "[\"a\",\"b\",1]},\"list\":{\"uniqueItems\":true,\"contains\":{\"const\":3}}},"
	    "\"anyOf\":[{\"required\":[\"x\"]},{\"required\":[\"kind\"]}],"
	    "\"required\":[\"kind\"],\"unevaluatedProperties\":false}");
	struct json_doc *doc =
	    parsed(S("{\"kind\":\"b\",\"next\":{\"next\":{\"name\":\"abc\",\"n\":0.3}},\"list\":"
		     "[1,2,3,{\"a\":1},\"x\",0,0.5,7,8,9,10,11,12,13,14,15,16,17,18]}"));

	(void)state;
	count_allocations();
	size_t before = allocations;
	bool fits = schema_fits(s, json_root(doc));
	size_t after = allocations;
	assert_true(fits);
	assert_int_equal(after, before);
	json_doc_unref(doc);
	schema_free(s);
}

/* ---- registry ---- */

static void
refers_to_documents_of_the_registry_alone(void **state)
{
	struct schema_registry *registry = schema_registry_new();
	struct json_doc *doc = parsed(S("{\"$ref\":\"http://x/lib.json#/$defs/n\"}"));
	struct json_doc *lib =
	    parsed(S("{\"$defs\":{\"n\":{\"type\":\"integer\",\"$ref\":\"other.json\"}}}"));
	struct json_doc *other = parsed(S("{\"minimum\":3}"));
	const struct schema_options options = {.registry = registry};
	struct schema *s = NULL;
	struct err e = ERR_NONE;

	(void)state;
	assert_int_equal(schema_registry_add(registry, S("http://x/lib.json"), lib, &e), 0);
	assert_int_equal(schema_registry_add(registry, S("http://x/lib.json"), lib, &e), E_EXISTS);
	assert_int_equal(schema_compile(doc, json_root(doc), &options, &s, &e), E_VALIDATION);
	assert_string_equal(
	    e.text, "/$defs/n/$ref: refers to http://x/other.json, which is not known here");
	assert_int_equal(schema_registry_add(registry, S("HTTP://X/y/../other.json"), other, &e),
			 0);
	assert_int_equal(schema_compile(doc, json_root(doc), &options, &s, &e), 0);
	json_doc_unref(lib);
	json_doc_unref(other);
	json_doc_unref(doc);
	schema_registry_free(registry);
	check(s, S("2"), "(root): must be at least 3, got 2");
	check(s, S("4"), "");
	schema_free(s);
}

static void
formats_are_remarks_until_they_are_asserted(void **state)
{
	struct json_doc *doc = parsed(S("{\"format\":\"date\"}")), *value = parsed(S("\"x\""));
	const struct schema_options asserted = {.assert_formats = true};
	struct schema *s = NULL;

	(void)state;
	assert_int_equal(schema_compile(doc, json_root(doc), NULL, &s, NULL), 0);
	assert_true(schema_fits(s, json_root(value)));
	schema_free(s);
	assert_int_equal(schema_compile(doc, json_root(doc), &asserted, &s, NULL), 0);
	check(s, S("\"x\""), "(root): must have the format \"date\", got \"x\"");
	check(s, S("\"2024-02-29\""), "");
	schema_free(s);
	json_doc_unref(doc);
	json_doc_unref(value);
}

static void
the_draft_decides_what_a_keyword_means(void **state)
{
	struct json_doc *doc = parsed(S("{\"items\":[{\"type\":\"null\"}],\"$defs\":{}}"));
	struct schema *s = NULL;
	struct err e = ERR_NONE;

	(void)state;
	assert_int_equal(schema_compile(doc, json_root(doc), NULL, &s, &e), E_VALIDATION);
	assert_int_equal(schema_compile(doc, json_root(doc), &(struct schema_options){.draft = 7},
					&s, &e),
			 0);
	check(s, S("[1]"), "/0: must be null, got 1");
	schema_free(s);
	assert_int_equal(schema_compile(doc, json_root(doc), &(struct schema_options){.draft = 4},
					&s, &e),
			 E_VALIDATION);
	json_doc_unref(doc);
	check_one("{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
		  "\"items\":[{\"type\":\"null\"}]}",
		  "[1]", "/0: must be null, got 1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(says_what_to_do_about_it),
	    cmocka_unit_test(tells_of_the_alternative_that_was_meant),
	    cmocka_unit_test(tells_all_errors_in_document_order_each_once),
	    cmocka_unit_test(gives_errors_as_json),
	    cmocka_unit_test(leaves_out_what_there_is_no_room_for),
	    cmocka_unit_test(refuses_schemas_that_are_wrong),
	    cmocka_unit_test(finds_its_way_among_many_properties),
	    cmocka_unit_test(a_name_written_twice_counts_once),
	    cmocka_unit_test(long_texts_are_searched_to_their_end),
	    cmocka_unit_test(a_pattern_that_takes_too_long_is_not_matched),
	    cmocka_unit_test(a_schema_without_end_ends),
	    cmocka_unit_test(many_items_are_told_apart),
	    cmocka_unit_test(too_many_schemas_are_refused),
	    cmocka_unit_test(a_value_that_fits_costs_no_memory),
	    cmocka_unit_test(refers_to_documents_of_the_registry_alone),
	    cmocka_unit_test(formats_are_remarks_until_they_are_asserted),
	    cmocka_unit_test(the_draft_decides_what_a_keyword_means),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
