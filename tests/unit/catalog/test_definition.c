/* test_definition.c - definitions are read strictly, written again, and become tools. */

#include "unit.h"

#include "base/limits.h"
#include "catalog/definition.h"

#define START "{\"name\": \"refund\", \"description\": \"Pays back.\", \"gateway\": \"http\""
#define SMALL START "}"

static int
parsed(const char *text, struct definition **ret, struct err *e)
{
	struct json_doc *doc = NULL;
	int code = json_parse(str_of(text), &json_door, &doc, e);

	if (code == 0)
		code = definition_parse(doc, json_root(doc), ret, e);
	json_doc_unref(doc);
	return code;
}

static struct definition *
made(const char *text)
{
	struct definition *d = NULL;
	struct err e = ERR_NONE;

	if (parsed(text, &d, &e) < 0)
		print_error("%s\n", e.text);
	assert_non_null(d);
	return d;
}

static struct tool *
tool_of(const char *text)
{
	struct definition *d = made(text);
	struct str none = {NULL, 0};
	struct tool *t = NULL;
	struct err e = ERR_NONE;

	if (definition_tool(d, none, none, &t, &e) < 0)
		print_error("%s\n", e.text);
	assert_non_null(t);
	definition_unref(d);
	return t;
}

static void
a_small_one_gets_its_defaults(void **state)
{
	struct definition *d = made(SMALL), *again = made(SMALL);
	struct definition *other =
	    made(START ", \"tenant_id\": \"acme\", \"created_at\": \"2025-12-11T10:00:00Z\"}");

	(void)state;
	assert_true(str_is(d->tenant, "default"));
	assert_int_equal(d->reversibility, REV_IRREVERSIBLE); /* never pure by silence */
	assert_false(d->requires_confirmation);
	assert_null(d->parameter_schema);
	assert_int_equal(strlen(d->id), 36);
	assert_int_equal(d->id[14], '8');
	assert_string_equal(d->id, again->id); /* a reload keeps it */
	assert_string_equal(d->digest, again->digest);
	assert_string_not_equal(d->id, other->id); /* another tenant's is another */
	definition_unref(d);
	definition_unref(again);
	definition_unref(other);
}

static void
every_field_is_written_again(void **state)
{
	static const char text[] =
	    "{\"id\":\"0b9f3c5e-1111-4222-8333-444455556666\",\"tenant_id\":\"acme\",\"name\":"
	    "\"refund\",\"description\":\"Pays back.\",\"gateway\":\"http\",\"gateway_config\":{"
	    "\"url\":\"https://a/${KEY}\",\"idempotency_key_fields\":[\"order\"]},"
	    "\"side_effect_policy\":\"compensatable\",\"compensation_tool_id\":\"charge\","
	    "\"compensation_args\":{\"order\":\"/args/order\",\"why\":{\"const\":1}},"
	    "\"requires_confirmation\":true,\"confirmation_prompt\":\"Really?\","
	    "\"parameter_schema\":{\"type\":\"object\",\"properties\":{\"order\":{\"type\":"
	    "\"string\"}}},\"categories\":[\"money\"],\"created_at\":\"2025-12-11T10:00:00Z\","
	    "\"updated_at\":\"2025-12-11T10:00:00.123456\"}";
	struct definition *d = made(text);
	struct buf out = BUF_INIT(8 * KIB);
	struct jw w = jw(&out);

	(void)state;
	definition_write(&w, d);
	assert_string_equal(buf_z(&out), text);
	buf_done(&out);
	definition_unref(d);
}

static void
what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"[]", "must be an object, got array"},
	    {"{}", "name: is required"},
	    {"{\"name\": \"x\"}", "x: description: is required"},
	    {START ", \"colour\": 1}", "refund: colour: is not a known field"},
	    {START ", \"gateway_config\": []}",
	     "refund: gateway_config: must be an object, got array"},
	    {START ", \"id\": \"7\"}", "refund: id: must be a UUID"},
	    {START ", \"tenant_id\": \"a b\"}",
	     "refund: tenant_id: must be 1 to 64 of A-Z a-z 0-9 _ . -"},
	    {START ", \"side_effect_policy\": \"PURE\"}",
	     "refund: side_effect_policy: must be one of pure, idempotent, compensatable, "
	     "irreversible"},
	    {START ", \"side_effect_policy\": \"compensatable\"}",
	     "refund: compensation_tool_id: is required where side_effect_policy is compensatable"},
	    {START ", \"compensation_args\": {\"a\": \"/args/a\"}}",
	     "refund: compensation_args: needs a compensation_tool_id to be for"},
	    {START ", \"compensation_tool_id\": \"c\", \"compensation_args\": {\"a\": \"/argsx\"}}",
	     "refund: compensation_args.a: must be a JSON Pointer that begins with /args or "
	     "/result, or {\"const\": value}"},
	    {START ", \"compensation_tool_id\": 3}",
	     "refund: compensation_tool_id: must be a string or null, got number"},
	    {START ", \"requires_confirmation\": \"yes\"}",
	     "refund: requires_confirmation: must be a boolean, got string"},
	    {START ", \"categories\": [1]}",
	     "refund: categories: must hold strings that are not empty"},
	    {START ", \"created_at\": \"yesterday\"}",
	     "refund: created_at: must be a date and time of RFC 3339"},
	    {START ", \"gateway_config\": {\"idempotency_key_fields\": [\"x\"]}, "
		   "\"parameter_schema\": {\"properties\": {\"y\": {}}}}",
	     "refund: gateway_config.idempotency_key_fields: parameter_schema has no property 'x'"},
	    {"{\"name\": \"a b\", \"description\": \"d\", \"gateway\": \"http\"}",
	     "a b: name: must be 1 to 64 of A-Z a-z 0-9 _ -"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct definition *d = NULL;
		struct err e = ERR_NONE;
		assert_int_equal(parsed(cases[i].text, &d, &e), E_VALIDATION);
		assert_string_equal(e.text, cases[i].says);
		assert_null(d);
	}
}

static void
a_field_twice_is_refused(void **state)
{
	struct definition *d = NULL;
	struct err e = ERR_NONE;

	(void)state;
	assert_int_equal(parsed(START ", \"gateway\": \"internal\"}", &d, &e), E_BAD_JSON);
	assert_non_null(strstr(e.text, "gateway"));
}

static void
nothing_said_is_null(void **state)
{
	struct definition *d = made(START ", \"compensation_tool_id\": null, "
					  "\"confirmation_prompt\": null, \"parameter_schema\": "
					  "{}}");

	(void)state;
	assert_null(d->compensation_tool.ptr);
	assert_null(d->confirmation_prompt.ptr);
	assert_null(d->parameter_schema);
	definition_unref(d);
}

static void
a_tool_has_what_was_defined(void **state)
{
	struct tool *t =
	    tool_of(START ", \"side_effect_policy\": \"compensatable\", \"compensation_tool_id\": "
			  "\"charge\", \"compensation_args\": {\"a\": \"/result/b\"}, "
			  "\"requires_confirmation\": true, \"confirmation_prompt\": \"Sure?\", "
			  "\"tenant_id\": \"acme\", \"categories\": [\"money\"], "
			  "\"gateway_config\": {\"idempotency_key_fields\": [\"a\"]}}");

	(void)state;
	assert_true(str_is(t->name, "refund"));
	assert_true(str_is(t->gateway, "http"));
	assert_true(str_is(t->tenant, "acme"));
	assert_true(str_starts(t->id, S("acme:refund")));
	assert_int_equal(t->capability, CAP_NETWORK);
	assert_int_equal(t->reversibility, REV_COMPENSATABLE);
	assert_true(t->requires_confirmation);
	assert_true(str_is(t->confirmation_prompt, "Sure?"));
	assert_true(str_is(t->compensation_tool, "charge"));
	assert_int_equal(json_len(t->compensation_args), 1);
	assert_int_equal(json_len(t->idempotency_key_fields), 1);
	assert_int_equal(json_len(t->categories), 1);
	assert_null(t->server.ptr);
	tool_unref(t);
	t = tool_of(START ", \"side_effect_policy\": \"pure\"}");
	assert_int_equal(t->capability, CAP_READ);
	assert_null(t->tenant.ptr); /* everybody's */
	tool_unref(t);
}

static void
a_schema_that_is_none_is_refused(void **state)
{
	struct definition *d = made(START ", \"parameter_schema\": {\"type\": \"objekt\"}}");
	struct str none = {NULL, 0};
	struct tool *t = NULL;
	struct err e = ERR_NONE;

	(void)state;
	assert_int_equal(definition_tool(d, none, none, &t, &e), E_VALIDATION);
	assert_non_null(
	    strstr(e.text, "refund: parameter_schema: /parameter_schema/type: must name a type"));
	definition_unref(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_small_one_gets_its_defaults),
	    cmocka_unit_test(every_field_is_written_again),
	    cmocka_unit_test(what_is_wrong_is_named),
	    cmocka_unit_test(a_field_twice_is_refused),
	    cmocka_unit_test(nothing_said_is_null),
	    cmocka_unit_test(a_tool_has_what_was_defined),
	    cmocka_unit_test(a_schema_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
