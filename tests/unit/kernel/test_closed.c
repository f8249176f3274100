/* test_closed.c - which schemas an index may use. */

#include "kernel_unit.h"

#include "kernel/closed.h"

#define OBJ(props) "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{" props "}}"

static void
takes_closed_ones(void **state)
{
	static const char *const texts[] = {
	    OBJ(""),
	    OBJ("\"a\":{\"type\":\"string\",\"maxLength\":3}"),
	    OBJ("\"a\":{\"type\":\"string\",\"enum\":[\"x\"]}"),
	    OBJ("\"a\":{\"const\":1}"),
	    OBJ("\"a\":{\"type\":\"integer\",\"minimum\":0,\"exclusiveMaximum\":3}"),
	    OBJ("\"a\":{\"type\":\"array\",\"items\":{\"type\":\"boolean\"}}"),
	    OBJ("\"a\":{\"type\":[\"string\",\"null\"],\"maxLength\":3}"),
	    OBJ("\"a\":{\"oneOf\":[{\"type\":\"null\"},{\"type\":\"boolean\"}]}"),
	    ("{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"a\":{\"$ref\":"
	     "\"#/$defs/t\"}},\"$defs\":{\"t\":{\"type\":\"string\",\"maxLength\":1}}}"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_doc *doc = parsed(texts[i]);
		struct err e;
		if (closed_check(json_root(doc), &e) < 0)
			fail_msg("%s: %s", texts[i], err_text(&e));
		json_doc_unref(doc);
	}
}

static void
refuses_open_ones_and_says_where(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
	    {"{}", "does not say what type its values have"},
	    {"true", "is no schema that says what it takes"},
	    {"{\"type\":\"string\",\"maxLength\":3}", "must be of type object"},
	    {"{\"type\":\"object\"}", "an object must have additionalProperties: false"},
	    {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"null\"}}",
	     "an object must have additionalProperties: false"},
	    {OBJ("\"a\":{\"type\":\"object\"}"),
	     "/properties/a: an object must have additionalProperties: false"},
	    {OBJ("\"a\":{\"type\":\"string\"}"), "/properties/a: a string without maxLength"},
	    {OBJ("\"a\":{\"type\":\"string\",\"format\":\"uuid\"}"),
	     "/properties/a: a string without maxLength"},
	    {OBJ("\"a\":{\"type\":\"integer\",\"minimum\":0}"),
	     "/properties/a: a number without minimum and maximum"},
	    {OBJ("\"a\":{\"type\":\"array\"}"), "/properties/a: an array without items"},
	    {OBJ("\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
	     "/properties/a/items: a string without maxLength"},
	    {OBJ("\"a\":{\"oneOf\":[{\"type\":\"null\"},{\"type\":\"string\"}]}"),
	     "/properties/a/oneOf: a string without maxLength"},
	    {OBJ("\"a\":{\"not\":{\"type\":\"null\"}}"),
	     "/properties/a: 'not' cannot be used here"},
	    {OBJ("\"a\":{\"$ref\":\"other.json\"}"),
	     "/properties/a: $ref leads out of the schema, or nowhere"},
	    {OBJ("\"a\":{\"$ref\":\"#\"}"), NULL}, /* deeper and deeper */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].text);
		struct err e = ERR_NONE;
		assert_int_equal(closed_check(json_root(doc), &e), E_VALIDATION);
		if (cases[i].why)
			assert_string_equal(e.text, cases[i].why);
		json_doc_unref(doc);
	}
}

#define SHUT "{\"type\":\"object\",\"additionalProperties\":false}"
#define WITH_DEFS(x, defs)                                                                         \
	"{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"x\":" x "},"        \
	"\"$defs\":{" defs "}}"

/* What is compiled must be what was looked at: an $id and an escape make another schema of it. */
static void
test_8_a_reference_means_the_same_to_all(void **state)
{
	static const char *const texts[] = {
	    WITH_DEFS("{\"$id\":\"urn:x\",\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":"
		      "\"object\"}}}",
		      "\"a\":" SHUT),
	    WITH_DEFS("{\"$ref\":\"#/$defs/a%62\"}",
		      "\"a%62\":" SHUT ",\"ab\":{\"type\":\"object\"}"),
	    WITH_DEFS("{\"$ref\":\"#/$defs/outer/properties/y\"}",
		      "\"a\":" SHUT ",\"outer\":{\"$id\":\"urn:x\",\"$defs\":{\"a\":{\"type\":"
		      "\"object\"}},\"properties\":{\"y\":{\"$ref\":\"#/$defs/a\"}}}"),
	    WITH_DEFS("{\"$schema\":\"http://json-schema.org/draft-07/schema\",\"type\":"
		      "\"object\",\"additionalProperties\":false}",
		      ""),
	    WITH_DEFS("{\"$ref\":\"#/$defs/a#b\"}", "\"a#b\":" SHUT),
	};
	static const char whole[] =
	    "{\"$id\":\"urn:x\",\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	    "\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"$id\":"
	    "{\"$ref\":\"#/$defs/a\"}},\"$defs\":{\"a\":" SHUT "}}";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_doc *doc = parsed(texts[i]);
		struct err e = ERR_NONE;
		if (closed_check(json_root(doc), &e) != E_VALIDATION)
			fail_msg("taken: %s", texts[i]);
		json_doc_unref(doc);
	}
	struct json_doc *doc = parsed(whole);
	struct err e = ERR_NONE;
	if (closed_check(json_root(doc), &e) < 0)
		fail_msg("%s", err_text(&e));
	json_doc_unref(doc);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(takes_closed_ones),
	    cmocka_unit_test(refuses_open_ones_and_says_where),
	    cmocka_unit_test(test_8_a_reference_means_the_same_to_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
