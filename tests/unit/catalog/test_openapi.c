/* test_openapi.c - documents become definitions; what is wrong in one is named with its place. */

#include "unit.h"

#include "base/limits.h"
#include "catalog/openapi.h"

#define DOC(version, rest)                                                                         \
	"{\"openapi\":\"" version "\",\"servers\":[{\"url\":\"https://api.example/v1/\"}]," rest "}"

static struct openapi
imported(const char *text, const char *name)
{
	struct openapi_options options = {.name = str_of(name)};
	struct openapi found;
	struct err e = ERR_NONE;

	if (openapi_import(str_of(text), &options, &found, &e) < 0)
		fail_msg("%s", e.text);
	return found;
}

static struct str
text_at(const struct definition *d, const char *pointer)
{
	return json_str(json_pointer(d->gateway_config, str_of(pointer)));
}

static void
an_operation_becomes_a_definition(void **state)
{
	struct openapi o = imported(
	    DOC("3.0.0",
		"\"paths\":{\"/a/{id}\":{\"get\":{\"operationId\":\"readA\",\"summary\":\"Reads\","
		"\"description\":\"More.\",\"tags\":[\"x\"],\"parameters\":[{\"name\":\"id\","
		"\"in\":"
		"\"path\",\"schema\":{\"type\":\"string\"}},{\"name\":\"id\",\"in\":\"query\","
		"\"schema\":{\"type\":\"integer\",\"nullable\":true,\"enum\":[1]}},{\"name\":"
		"\"Authorization\",\"in\":\"header\",\"schema\":{}}]}}}"),
	    "shop");
	const struct definition *d = o.definitions[0];

	(void)state;
	assert_int_equal(o.count, 1);
	assert_true(str_is(d->name, "shop__readA"));
	assert_true(str_is(d->description, "Reads. More."));
	assert_int_equal(d->reversibility, REV_PURE);
	assert_true(str_is(text_at(d, "/url"), "https://api.example/v1/a/{id}"));
	assert_true(str_is(text_at(d, "/method"), "GET"));
	assert_true(str_is(text_at(d, "/query/id/argument"), "id_query"));
	assert_null(json_pointer(d->gateway_config, S("/headers/Authorization")));
	const struct json *p = json_pointer(d->parameter_schema, S("/properties/id_query"));
	assert_true(str_is(json_str(json_pointer(p, S("/type/1"))), "null"));
	assert_int_equal(json_len(json_get(p, S("enum"))), 2);
	assert_int_equal(json_len(json_get(d->parameter_schema, S("required"))), 1);
	openapi_done(&o);
}

static void
methods_say_what_can_be_taken_back(void **state)
{
	static const struct {
		const char *name;
		enum reversibility is;
	} wanted[] = {{"x__get_a", REV_PURE},          {"x__head_a", REV_PURE},
		      {"x__put_a", REV_IDEMPOTENT},    {"x__delete_a", REV_IDEMPOTENT},
		      {"x__post_a", REV_IRREVERSIBLE}, {"x__patch_a", REV_IRREVERSIBLE}};
	struct openapi o = imported(DOC("3.1.0", "\"paths\":{\"/a\":{\"patch\":{},\"get\":{},"
						 "\"head\":{},\"put\":{},\"delete\":{},\"post\":"
						 "{},\"options\":{}}}"),
				    "x");

	(void)state;
	assert_int_equal(o.count, ARRAY_LEN(wanted));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		assert_true(str_is(o.definitions[i]->name, wanted[i].name));
		assert_int_equal(o.definitions[i]->reversibility, wanted[i].is);
	}
	openapi_done(&o);
}

static void
circles_stay_circles(void **state)
{
	struct openapi o = imported(
	    DOC("3.1.0",
		"\"paths\":{\"/a\":{\"post\":{\"requestBody\":{\"content\":{\"application/json\":{"
		"\"schema\":{\"$ref\":\"#/components/schemas/"
		"A\"}}}}}}},\"components\":{\"schemas\":"
		"{\"A\":{\"properties\":{\"$ref\":{\"type\":\"string\"},\"nullable\":{\"$ref\":\"#/"
		"components/schemas/B\"}}},\"B\":{\"anyOf\":[{\"$ref\":\"#/components/schemas/A\"},"
		"{\"$ref\":\"other.yaml#/X\"},{\"$ref\":\"#/components/schemas/"
		"Gone\"}]},\"Unused\":"
		"{}}}"),
	    "x");
	const struct definition *d = o.definitions[0];
	struct str none = {NULL, 0};
	struct tool *t = NULL;
	struct err e = ERR_NONE;

	(void)state;
	assert_int_equal(json_len(json_get(d->parameter_schema, S("$defs"))), 2);
	assert_true(str_is(json_str(json_pointer(d->parameter_schema,
						 S("/$defs/A/properties/nullable/$ref"))),
			   "#/$defs/B"));
	/* A property may be called like a keyword. */
	assert_true(
	    str_is(json_str(json_pointer(d->parameter_schema, S("/$defs/A/properties/$ref/type"))),
		   "string"));
	assert_int_equal(definition_tool(o.definitions[0], none, none, &t, &e), 0);
	tool_unref(t);
	openapi_done(&o);
}

static void
two_of_one_name_both_get_another(void **state)
{
	static const char both[] = DOC("3.0.0", "\"paths\":{\"/a-b\":{\"get\":{\"operationId\":"
						"\"x\"}},\"/a_b\":{\"get\":{\"operationId\":\"x\"}"
						",\"post\":{}}}");
	struct openapi o = imported(both, "s"), again = imported(both, "s");

	(void)state;
	assert_int_equal(o.count, 3);
	assert_true(str_starts(o.definitions[0]->name, S("s__x-")));
	assert_true(str_starts(o.definitions[1]->name, S("s__x-")));
	assert_false(str_eq(o.definitions[0]->name, o.definitions[1]->name));
	assert_true(str_eq(o.definitions[0]->name, again.definitions[0]->name));
	assert_true(str_is(o.definitions[2]->name, "s__post_a_b"));
	openapi_done(&o);
	openapi_done(&again);
}

static void
what_cannot_be_is_left_out_with_its_place(void **state)
{
	struct openapi o =
	    imported(DOC("3.0.0",
			 "\"paths\":{\"/a\":{\"get\":{},\"post\":{\"requestBody\":{\"required\":"
			 "true,\"content\":{\"multipart/form-data\":{}}}}},\"/{b}\":{\"get\":{}}}"),
		     "s");

	(void)state;
	assert_int_equal(o.count, 1);
	assert_int_equal(o.problem_count, 2);
	assert_string_equal(buf_z(&o.problems),
			    "/paths/~1a/post: requestBody/content: multipart/form-data cannot be "
			    "sent\n/paths/~1{b}/get: {b} of the path is no parameter\n");
	openapi_done(&o);
}

/* The gateway's environment is filled into addresses: a document must not name any of it. */
static void
test_7_a_document_reads_no_variable(void **state)
{
	static const char *const docs[] = {
	    DOC("3.0.0", "\"paths\":{\"/s/${SECRET}\":{\"get\":{\"parameters\":[{\"name\":"
			 "\"SECRET\",\"in\":\"path\",\"schema\":{\"type\":\"string\"}}]}}}"),
	    "{\"openapi\":\"3.0.0\",\"servers\":[{\"url\":\"https://evil.example/${k}\","
	    "\"variables\":{\"k\":{\"default\":\"{SECRET}\"}}}],\"paths\":{\"/a\":{\"get\":{}}}}",
	    "{\"openapi\":\"3.0.0\",\"servers\":[{\"url\":\"https://{k}.example\","
	    "\"variables\":{\"k\":{\"default\":\"${SECRET}\"}}}],\"paths\":{\"/a\":{\"get\":{}}}}",
	};
	struct openapi_options ours = {.name = S("s"), .base_url = S("https://${HOST}/v1/")};
	struct openapi o;
	struct err e = ERR_NONE;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(docs); i++) {
		o = imported(docs[i], "s");
		assert_int_equal(o.count, 0);
		assert_int_equal(o.problem_count, 1);
		assert_non_null(strstr(buf_z(&o.problems), "/get: has ${ in its address\n"));
		openapi_done(&o);
	}
	assert_int_equal(openapi_import(str_of(docs[0]), &ours, &o, &e), 0);
	assert_int_equal(o.count, 0);
	openapi_done(&o);
	/* Who imports it may. */
	assert_int_equal(openapi_import(str_of(docs[1]), &ours, &o, &e), 0);
	assert_int_equal(o.count, 1);
	assert_true(str_is(text_at(o.definitions[0], "/url"), "https://${HOST}/v1/a"));
	openapi_done(&o);
}

static void
test_7_a_header_that_is_given_is_no_argument(void **state)
{
	static const char text[] =
	    DOC("3.0.0", "\"paths\":{\"/a\":{\"get\":{\"parameters\":[{\"name\":\"x-tenant\","
			 "\"in\":\"header\",\"required\":true,\"schema\":{\"type\":\"string\"}},"
			 "{\"name\":\"x-tenant\",\"in\":\"query\"},{\"name\":\"cookie\",\"in\":"
			 "\"header\"}]}}}");
	struct openapi_options options = {.name = S("s")};
	struct json_doc *headers = NULL;
	struct openapi o;
	struct err e = ERR_NONE;

	(void)state;
	assert_int_equal(json_parse(S("{\"X-Tenant\":\"acme\"}"), &json_door, &headers, &e), 0);
	options.headers = json_root(headers);
	assert_int_equal(openapi_import(str_of(text), &options, &o, &e), 0);
	assert_int_equal(o.count, 1);
	const struct definition *d = o.definitions[0];
	assert_int_equal(json_len(json_pointer(d->gateway_config, S("/headers"))), 1);
	assert_true(str_is(text_at(d, "/headers/X-Tenant"), "acme"));
	assert_int_equal(json_len(json_get(d->parameter_schema, S("required"))), 0);
	/* Of the same name, elsewhere: that is another. */
	assert_int_equal(json_len(json_get(d->parameter_schema, S("properties"))), 1);
	assert_true(str_is(text_at(d, "/query/x-tenant/argument"), "x-tenant"));
	openapi_done(&o);
	json_doc_unref(headers);
}

static void
test_7_a_server_is_meant_from_where_the_document_is(void **state)
{
	static const struct {
		const char *origin, *servers, *url;
	} cases[] = {
	    {"https://h.example/api/openapi.json", "[{\"url\":\"v2\"}]",
	     "https://h.example/api/v2/a"},
	    {"https://h.example/api/openapi.json", "[{\"url\":\"./\"}]", "https://h.example/api/a"},
	    {"https://h.example/api/x/openapi.json", "[{\"url\":\"../v2/\"}]",
	     "https://h.example/api/v2/a"},
	    {"https://h.example/api/openapi.json?x=/y", "[{\"url\":\"/v3\"}]",
	     "https://h.example/v3/a"},
	    {"https://h.example/api/openapi.json", "[{\"url\":\"//b.example/v\"}]",
	     "https://b.example/v/a"},
	    {"https://h.example/api/openapi.json", "[]", "https://h.example/a"},
	    {"https://h.example:8443", "[{\"url\":\"v2\"}]", "https://h.example:8443/v2/a"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct openapi_options options = {.name = S("s"),
						  .origin = str_of(cases[i].origin)};
		struct buf doc = BUF_INIT(4 * KIB);
		struct openapi o;
		struct err e = ERR_NONE;
		buf_addf(&doc,
			 "{\"openapi\":\"3.0.0\",\"servers\":%s,\"paths\":{\"/a\":{\"get\":{}}}}",
			 cases[i].servers);
		assert_int_equal(openapi_import(buf_str(&doc), &options, &o, &e), 0);
		assert_int_equal(o.count, 1);
		assert_true(str_is(text_at(o.definitions[0], "/url"), cases[i].url));
		openapi_done(&o);
		buf_done(&doc);
	}
}

static int
import_code(struct str text)
{
	struct openapi_options options = {.name = S("x")};
	struct openapi o;
	struct err e = ERR_NONE;
	int code = openapi_import(text, &options, &o, &e);

	if (code == E_LIMIT)
		assert_non_null(strstr(e.text, "name some with `only`"));
	openapi_done(&o);
	return code;
}

/* Each operation has its own copy of a schema they share: that must not become gigabytes. */
static void
test_7_copies_of_one_schema_have_an_end(void **state)
{
	struct buf doc = BUF_INIT(4 * MIB);

	(void)state;
	buf_addz(&doc, "{\"openapi\":\"3.0.0\",\"servers\":[{\"url\":\"https://a.example\"}],"
		       "\"x\":{\"content\":{\"application/json\":{\"schema\":{\"default\":\"");
	for (size_t i = 0; i < 400 * KIB; i++)
		buf_addc(&doc, 'x');
	buf_addz(&doc, "\"}}}},\"paths\":{\"/a\":{}");
	for (int i = 0; i < 250; i++)
		buf_addf(&doc, ",\"/%d\":{\"post\":{\"requestBody\":{\"$ref\":\"#/x\"}}}", i);
	buf_addz(&doc, "}}");
	assert_int_equal(import_code(buf_str(&doc)), E_LIMIT);
	buf_done(&doc);
}

/* What is left out has been read, again and again where it is referred to. */
static void
test_7_what_is_left_out_has_an_end(void **state)
{
	struct buf doc = BUF_INIT(4 * MIB);

	(void)state;
	buf_addz(&doc, "{\"openapi\":\"3.0.0\",\"x\":{\"get\":{}},\"paths\":{\"/a\":{}");
	for (int i = 0; i < LIMIT_IMPORT_TOOLS + 1; i++)
		buf_addf(&doc, ",\"/%d\":{\"$ref\":\"#/x\"}", i);
	buf_addz(&doc, "}}");
	assert_int_equal(import_code(buf_str(&doc)), E_LIMIT);
	buf_done(&doc);
}

static void
test_7_parameters_named_twice_count(void **state)
{
	struct buf doc = BUF_INIT(4 * MIB);

	(void)state;
	buf_addz(&doc, "{\"openapi\":\"3.0.0\",\"servers\":[{\"url\":\"https://a.example\"}],"
		       "\"p\":{\"name\":\"q\",\"in\":\"query\"},\"paths\":{\"/a\":{\"get\":{"
		       "\"parameters\":[{\"$ref\":\"#/p\"}");
	for (int i = 0; i < 512; i++)
		buf_addz(&doc, ",{\"$ref\":\"#/p\"}");
	buf_addz(&doc, "]}}}}");
	struct openapi o = imported(buf_z(&doc), "x");
	assert_int_equal(o.count, 0);
	assert_string_equal(buf_z(&o.problems), "/paths/~1a/get: has more than 512 parameters\n");
	openapi_done(&o);
	buf_done(&doc);
}

static void
what_is_no_document_is_refused(void **state)
{
	static const char *const bad[] = {"",
					  "[]",
					  "{}",
					  "a: b",
					  "{\"openapi\": 3}",
					  "null",
					  "{\"openapi\":\"2.9\"}",
					  "{\"swagger\":\"2.0\"}",
					  "openapi: 3.0.0\npaths: [1]\n",
					  "{"};
	struct openapi_options options = {.name = S("x")};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct openapi o;
		struct err e = ERR_NONE;
		assert_true(openapi_import(str_of(bad[i]), &options, &o, &e) < 0);
		assert_true(e.text[0] != '\0');
		openapi_done(&o);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_operation_becomes_a_definition),
	    cmocka_unit_test(methods_say_what_can_be_taken_back),
	    cmocka_unit_test(circles_stay_circles),
	    cmocka_unit_test(two_of_one_name_both_get_another),
	    cmocka_unit_test(what_cannot_be_is_left_out_with_its_place),
	    cmocka_unit_test(what_is_no_document_is_refused),
	    cmocka_unit_test(test_7_a_document_reads_no_variable),
	    cmocka_unit_test(test_7_a_header_that_is_given_is_no_argument),
	    cmocka_unit_test(test_7_a_server_is_meant_from_where_the_document_is),
	    cmocka_unit_test(test_7_copies_of_one_schema_have_an_end),
	    cmocka_unit_test(test_7_what_is_left_out_has_an_end),
	    cmocka_unit_test(test_7_parameters_named_twice_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
