/* test_shape.c - what a server lists, as clients take it (issue 5). */

#include "unit.h"

#include <stdio.h>

#include "json/parsed.h"
#include "mcp/shape.h"

static void
assert_shown(enum shape s, const char *thing, const char *want)
{
	struct json_doc *doc = parsed(thing);
	struct buf out = BUF_INIT(10000);
	struct jw w = jw(&out);
	struct err e = ERR_NONE;

	assert_int_equal(shape_check(s, json_root(doc), &e), 0);
	shape_write(&w, s, json_root(doc), NULL, (struct str){NULL, 0});
	assert_string_equal(buf_z(&out), want);
	buf_done(&out);
	json_doc_unref(doc);
}

static void
assert_refused(enum shape s, const char *thing, const char *why)
{
	struct json_doc *doc = parsed(thing);
	struct err e = ERR_NONE;

	assert_int_equal(shape_check(s, json_root(doc), &e), E_VALIDATION);
	assert_string_equal(e.text, why);
	json_doc_unref(doc);
}

#define TOOL(schema, more) "{\"name\":\"t\",\"inputSchema\":" schema more "}"
#define PLAIN "{\"type\":\"object\"}"

static void
what_is_right_stays_as_it_is(void **state)
{
	static const char *const tools[] = {
	    TOOL("{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"],\"$defs\":1}",
		 ",\"title\":\"T\",\"x\":null,\"_meta\":{\"k\":[1]}"),
	    TOOL(PLAIN, ",\"annotations\":{\"readOnlyHint\":true,\"title\":\"\",\"x\":3}"),
	    TOOL(PLAIN, ",\"icons\":[{\"src\":\"a:b\",\"sizes\":[\"any\"],\"theme\":\"dark\"}]"),
	    TOOL(PLAIN, ",\"outputSchema\":{\"type\":\"array\",\"properties\":3}"),
	    TOOL(PLAIN, ",\"execution\":{\"taskSupport\":\"forbidden\"}"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		assert_shown(SHAPE_TOOL, tools[i], tools[i]);
}

static void
a_schema_that_means_an_object_says_so(void **state)
{
	static const struct {
		const char *said, *shown;
	} rows[] = {
	    {TOOL("{}", ""), TOOL(PLAIN, "")},
	    {TOOL("{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{}}}", ""),
	     TOOL("{\"type\":\"object\",\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{}}}", "")},
	    {TOOL("{\"type\":[\"null\",\"object\"],\"x\":1}", ""),
	     TOOL("{\"type\":\"object\",\"x\":1}", "")},
	    {TOOL("{\"type\":\"object\",\"properties\":{\"a\":true,\"b\":false,\"c\":{}}}", ""),
	     TOOL("{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{\"not\":{}},\"c\":{}}}",
		  "")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_shown(SHAPE_TOOL, rows[i].said, rows[i].shown);
}

static void
a_tool_without_a_schema_of_an_object_is_not_listed(void **state)
{
	static const char *const tools[] = {
	    TOOL("{\"type\":\"banana\"}", ""),
	    TOOL("{\"type\":[\"string\"]}", ""),
	    TOOL("{\"type\":null}", ""),
	    TOOL("{\"type\":{\"a\":\"object\"}}", ""),
	    TOOL("[]", ""),
	    TOOL("true", ""),
	    TOOL("{\"type\":\"object\",\"properties\":[]}", ""),
	    TOOL("{\"type\":\"object\",\"properties\":{\"a\":\"string\"}}", ""),
	    TOOL("{\"type\":\"object\",\"required\":true}", ""),
	    TOOL("{\"type\":\"object\",\"required\":[1]}", ""),
	    "{\"name\":\"t\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		assert_refused(SHAPE_TOOL, tools[i],
			       "inputSchema: must be the schema of an object");
	assert_refused(SHAPE_TOOL, "{\"name\":7,\"inputSchema\":{}}", "name: must be a text");
	assert_refused(SHAPE_TOOL, "[7]", "must be an object");
}

static void
what_need_not_be_there_is_left_out_where_it_is_wrong(void **state)
{
	static const struct {
		enum shape shape;
		const char *said, *shown;
	} rows[] = {
	    {SHAPE_TOOL, TOOL(PLAIN, ",\"title\":7,\"description\":null,\"_meta\":[],\"x\":7"),
	     TOOL(PLAIN, ",\"x\":7")},
	    {SHAPE_TOOL, TOOL(PLAIN, ",\"annotations\":[1]"), TOOL(PLAIN, "")},
	    {SHAPE_TOOL,
	     TOOL(PLAIN, ",\"annotations\":{\"readOnlyHint\":\"yes\",\"openWorldHint\":false}"),
	     TOOL(PLAIN, ",\"annotations\":{\"openWorldHint\":false}")},
	    {SHAPE_TOOL, TOOL(PLAIN, ",\"icons\":{\"src\":\"a:b\"}"), TOOL(PLAIN, "")},
	    {SHAPE_TOOL, TOOL(PLAIN, ",\"icons\":[7,{\"src\":\"a:b\",\"sizes\":\"1x1\"},{}]"),
	     TOOL(PLAIN, ",\"icons\":[{\"src\":\"a:b\"}]")},
	    {SHAPE_TOOL, TOOL(PLAIN, ",\"execution\":{\"taskSupport\":true}"),
	     TOOL(PLAIN, ",\"execution\":{}")},
	    {SHAPE_TOOL, TOOL(PLAIN, ",\"outputSchema\":{\"type\":\"object\",\"required\":\"a\"}"),
	     TOOL(PLAIN, "")},
	    {SHAPE_TOOL, TOOL(PLAIN, ",\"outputSchema\":true"), TOOL(PLAIN, "")},
	    {SHAPE_PROMPT, "{\"name\":\"p\",\"arguments\":{\"name\":\"a\"}}", "{\"name\":\"p\"}"},
	    {SHAPE_PROMPT,
	     "{\"name\":\"p\",\"arguments\":[\"a\",{\"name\":\"b\",\"required\":\"no\"},{}]}",
	     "{\"name\":\"p\",\"arguments\":[{\"name\":\"b\"}]}"},
	    {SHAPE_RESOURCE,
	     "{\"uri\":\"a:b\",\"name\":\"n\",\"mimeType\":1,\"size\":\"9\",\"annotations\":"
	     "{\"audience\":[\"nobody\"],\"priority\":7,\"lastModified\":\"today\"}}",
	     "{\"uri\":\"a:b\",\"name\":\"n\",\"annotations\":{}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_shown(rows[i].shape, rows[i].said, rows[i].shown);
}

static void
a_resource_needs_an_address_and_is_named_after_it(void **state)
{
	(void)state;
	assert_shown(SHAPE_RESOURCE, "{\"uri\":\"mem+x://a b\"}",
		     "{\"uri\":\"mem+x://a b\",\"name\":\"mem+x://a b\"}");
	assert_shown(SHAPE_TEMPLATE, "{\"uriTemplate\":\"{x}\",\"name\":7}",
		     "{\"uriTemplate\":\"{x}\",\"name\":\"{x}\"}");
	assert_refused(SHAPE_RESOURCE, "{\"uri\":\"notes/today\",\"name\":\"n\"}",
		       "uri: must be an address with a scheme");
	assert_refused(SHAPE_RESOURCE, "{\"uri\":\":x\"}", "uri: must be an address with a scheme");
	assert_refused(SHAPE_RESOURCE, "{\"name\":\"n\"}", "uri: must be an address with a scheme");
	assert_refused(SHAPE_TEMPLATE, "{\"name\":\"n\"}", "uriTemplate: must be a text");
	assert_refused(SHAPE_PROMPT, "{\"name\":null}", "name: must be a text");
}

static void
a_moment_is_a_day_that_was_and_a_time_with_its_zone(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
	    {"2026-07-28T09:30:00Z", true},
	    {"2024-02-29T23:59:59.123456+02:00", true},
	    {"2023-02-29T00:00:00Z", false},
	    {"2026-04-31T00:00:00Z", false},
	    {"2026-13-01T00:00:00Z", false},
	    {"2026-07-28T24:00:00Z", false},
	    {"2026-07-28T09:30:00", false},
	    {"2026-07-28T09:30:00.Z", false},
	    {"2026-07-28T09:30:00+2:00", false},
	    {"2026-07-28T09:30:00Zx", false},
	    {"2026-07-28", false},
	    {"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char said[200], note[100];
		snprintf(note, sizeof(note), "\"lastModified\":\"%s\"", rows[i].text);
		snprintf(said, sizeof(said),
			 "{\"uri\":\"a:b\",\"name\":\"n\",\"annotations\":{%s}}", note);
		assert_shown(SHAPE_RESOURCE, said,
			     rows[i].good ? said
					  : "{\"uri\":\"a:b\",\"name\":\"n\",\"annotations\":{}}");
	}
}

static void
a_thing_can_be_written_under_another_name(void **state)
{
	struct json_doc *doc = parsed("{\"title\":7,\"name\":\"p\",\"x\":1}");
	struct buf out = BUF_INIT(1000);
	struct jw w = jw(&out);

	(void)state;
	shape_write(&w, SHAPE_PROMPT, json_root(doc), "name", S("s__p"));
	assert_string_equal(buf_z(&out), "{\"name\":\"s__p\",\"x\":1}");
	buf_done(&out);
	json_doc_unref(doc);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_right_stays_as_it_is),
	    cmocka_unit_test(a_schema_that_means_an_object_says_so),
	    cmocka_unit_test(a_tool_without_a_schema_of_an_object_is_not_listed),
	    cmocka_unit_test(what_need_not_be_there_is_left_out_where_it_is_wrong),
	    cmocka_unit_test(a_resource_needs_an_address_and_is_named_after_it),
	    cmocka_unit_test(a_moment_is_a_day_that_was_and_a_time_with_its_zone),
	    cmocka_unit_test(a_thing_can_be_written_under_another_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
