/* test_header.c - values in headers, and the arguments that headers repeat. */

#include "unit.h"

#include "json/parsed.h"
#include "mcp/header.h"

/* ---- values ---- */

static void
writes_plain_what_is_plain(void **state)
{
	static const struct {
		struct str value;
		const char *header;
	} cases[] = {
	    {S("us-west1"), "us-west1"},
	    {S("two words"), "two words"},
	    {S("~!\"#"), "~!\"#"},
	    {S("=?base64?"), "=?base64?"},
	    {S("=?BASE64?eA==?="), "=?BASE64?eA==?="},
	    {S(""), "=?base64?\?="},
	    {S(" x"), "=?base64?IHg=?="},
	    {S("x "), "=?base64?eCA=?="},
	    {S("a\tb"), "=?base64?YQli?="},
	    {S("a\r\nX: y"), "=?base64?YQ0KWDogeQ==?="},
	    {S("\0"), "=?base64?AA==?="},
	    {S("\x7f"), "=?base64?fw==?="},
	    {S("caf\xc3\xa9"), "=?base64?Y2Fmw6k=?="},
	    {S("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
	    {S("=?base64?\?="), "=?base64?PT9iYXNlNjQ/Pz0=?="},
	    {S("\xf0\x9f\x98\x80\xef\xbf\xbf"), "=?base64?8J+YgO+/vw==?="},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT(200), back = BUF_INIT(200);
		header_encode(&out, cases[i].value);
		assert_string_equal(buf_z(&out), cases[i].header);
		assert_true(header_decode(buf_str(&out), &back));
		assert_true(str_eq(buf_str(&back), cases[i].value));
		assert_true(header_says(buf_str(&out), cases[i].value));
		buf_done(&out), buf_done(&back);
	}
}

static void
reads_base64_strictly(void **state)
{
	static const char *const bad[] = {
	    "=?base64?eA=?=",        /* one pad too few */
	    "=?base64?eA?=",         /* none */
	    "=?base64?eA===?=",      /* one too many */
	    "=?base64?eA==eA==?=",   /* in the middle */
	    "=?base64?e===?=",       /* nothing but pads */
	    "=?base64?====?=",       /* the same */
	    "=?base64?eB==?=",       /* bits that stand for nothing */
	    "=?base64?eHl=?=",       /* the same with one pad */
	    "=?base64?eA= ?=",       /* blanks */
	    "=?base64? eA==?=",      /* blanks */
	    "=?base64?_-==?=",       /* the alphabet for URLs */
	    "=?base64?SGVs!G8=?=",   /* none */
	    "=?base64?\xc3\xa9zz?=", /* not ASCII */
	    "=?base64?/w==?=",       /* 0xff is no UTF-8 */
	    "=?base64?w6k==?=",      /* five characters */
	    "=?base64?=?=",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct buf out = BUF_INIT(100);
		if (header_decode(str_of(bad[i]), &out))
			fail_msg("%s", bad[i]);
		assert_false(header_says(str_of(bad[i]), S("x")));
		buf_done(&out);
	}
}

static void
takes_literally_what_is_not_wrapped(void **state)
{
	static const char *const plain[] = {
	    "x", "", "=?base64?eA==", "eA==?=", "=?base64?=", "=?Base64?eA==?=", "=? base64?eA==?=",
	    "=?"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		struct buf out = BUF_INIT(100);
		assert_true(header_decode(str_of(plain[i]), &out));
		assert_true(str_is(buf_str(&out), plain[i]));
		buf_done(&out);
		assert_true(header_says(str_of(plain[i]), str_of(plain[i])));
	}
	assert_true(header_says(S(" \tx\t "), S("x")));
	assert_true(header_says(S(" =?base64?eA==?= "), S("x")));
	assert_false(header_says(S("X"), S("x")));
	assert_false(header_says(S("x"), S("xy")));
	assert_false(header_says((struct str){NULL, 0}, S("x")));
}

/* A buffer that is too small is an answer too. */
static void
stays_in_its_buffer(void **state)
{
	struct buf out = BUF_INIT(8);

	(void)state;
	header_encode(&out, S("\xc3\xa9"));
	assert_true(buf_failed(&out));
	buf_reset(&out);
	assert_false(header_decode(S("=?base64?YWFhYWFhYWFhYWFh?="), &out));
	buf_reset(&out);
	assert_false(header_decode(S("123456789"), &out));
	buf_done(&out);
}

static void
knows_what_is_named(void **state)
{
	struct json_doc *doc = parsed("{\"name\":\"n\",\"uri\":\"u\",\"taskId\":\"t\"}");
	static const struct {
		const char *method, *name;
	} cases[] = {
	    {"tools/call", "n"},           {"prompts/get", "n"},
	    {"resources/read", "u"},       {"tasks/get", "t"},
	    {"tasks/update", "t"},         {"tasks/cancel", "t"},
	    {"tools/list", NULL},          {"", NULL},
	    {"resources/subscribe", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str name = header_name_of(str_of(cases[i].method), json_root(doc));
		assert_true(str_eq(name, str_of(cases[i].name)));
		assert_int_equal(name.ptr != NULL, cases[i].name != NULL);
	}
	assert_null(header_name_of(S("tools/call"), NULL).ptr);
	json_doc_unref(doc);
	doc = parsed("{\"name\":7}");
	assert_null(header_name_of(S("tools/call"), json_root(doc)).ptr);
	json_doc_unref(doc);
}

/* ---- arguments ---- */

#define P(members) "{\"type\":\"object\",\"properties\":{" members "}}"
#define H(type, name) "{\"type\":\"" type "\",\"x-mcp-header\":\"" name "\"}"

/* "Name=value;" for each, in order; "Name;" for those without a value. */
static int
told(const char *schema, const char *arguments, struct buf *out, struct err *e)
{
	struct json_doc *s = parsed(schema), *a = arguments ? parsed(arguments) : NULL;
	struct header_param params[4];
	size_t count = 99;
	int rc = header_params(json_root(s), a ? json_root(a) : NULL, params, ARRAY_LEN(params),
			       &count, e);

	assert_int_equal(count == 99, rc < 0);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		buf_add(out, params[i].name);
		if (params[i].value) {
			struct buf value = BUF_INIT(200);
			buf_addc(out, '=');
			header_param_value(&value, params[i].value);
			buf_add(out, buf_str(&value));
			assert_true(header_param_says(buf_str(&value), params[i].value));
			buf_done(&value);
		}
		buf_addc(out, ';');
	}
	assert_int_equal(header_has_params(json_root(s)), rc < 0 || count > 0);
	json_doc_unref(s);
	json_doc_unref(a);
	return rc;
}

static void
finds_the_annotated_arguments(void **state)
{
	static const struct {
		const char *schema, *arguments, *told;
	} cases[] = {
	    {"{}", "{}", ""},
	    {"true", "{}", ""},
	    {"[]", "{}", ""},
	    {P("\"a\":{\"type\":\"string\"}"), "{\"a\":\"x\"}", ""},
	    {P("\"a\":" H("string", "Region")), "{\"a\":\"x\"}", "Region=x;"},
	    {P("\"a\":" H("string", "A") ",\"b\":" H("integer", "B") ",\"c\":" H("boolean", "C")),
	     "{\"c\":true,\"b\":-12,\"a\":\"\xc3\xa9\"}", "A==?base64?w6k=?=;B=-12;C=true;"},
	    {P("\"a\":" H("string", "A") ",\"b\":" H("string", "B")), "{\"a\":null}", "A;B;"},
	    {P("\"a\":" H("string", "A")), NULL, "A;"},
	    {P("\"a\":" H("string", "A")), "[1]", "A;"},
	    {P("\"o\":" P("\"p\":" P("\"q\":" H("integer", "Deep")))), "{\"o\":{\"p\":{\"q\":7}}}",
	     "Deep=7;"},
	    {P("\"o\":" P("\"p\":" H("integer", "D"))), "{\"p\":7,\"o\":[]}", "D;"},
	    /* Annotated behind its own properties, before and after others. */
	    {P("\"o\":" P("\"z\":" H("string", "Z")) ",\"a\":" H("string", "A")),
	     "{\"a\":\"1\",\"o\":{\"z\":\"2\"}}", "Z=2;A=1;"},
	    /* Integers that every peer holds, and those that not. */
	    {P("\"a\":" H("integer", "A")), "{\"a\":9007199254740991}", "A=9007199254740991;"},
	    {P("\"a\":" H("integer", "A")), "{\"a\":-9007199254740991}", "A=-9007199254740991;"},
	    {P("\"a\":" H("integer", "A")), "{\"a\":9007199254740992}", "A;"},
	    {P("\"a\":" H("integer", "A")), "{\"a\":1e30}", "A;"},
	    {P("\"a\":" H("integer", "A")), "{\"a\":5.0}", "A=5;"},
	    {P("\"a\":" H("integer", "A")), "{\"a\":5.5}", "A;"},
	    {P("\"a\":" H("string", "A")), "{\"a\":{\"x\":1}}", "A;"},
	    {P("\"a\":" H("string", "A")), "{\"a\":[]}", "A;"},
	    /* A property of that name, and data that looks like one. */
	    {P("\"x-mcp-header\":{\"type\":\"string\"}"), "{\"x-mcp-header\":\"v\"}", ""},
	    {"{\"default\":{\"x-mcp-header\":\"A\"},\"enum\":[{\"x-mcp-header\":\"\"}],"
	     "\"const\":{\"x-mcp-header\":1},\"examples\":[{\"x-mcp-header\":1}]}",
	     "{}", ""},
	    {P("\"properties\":" H("string", "A")), "{\"properties\":\"v\"}", "A=v;"},
	    /* Every character that a token has. */
	    {P("\"a\":" H("string", "!#$%&'*+-.^_`|~09azAZ")), "{}", "!#$%&'*+-.^_`|~09azAZ;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT(1000);
		struct err e = ERR_NONE;
		if (told(cases[i].schema, cases[i].arguments, &out, &e) < 0)
			fail_msg("%s: %s", cases[i].schema, e.text);
		assert_true(!buf_failed(&out) && str_is(buf_str(&out), cases[i].told));
		buf_done(&out);
	}
}

static void
refuses_what_breaks_a_rule(void **state)
{
	static const struct {
		const char *schema, *says;
	} cases[] = {
	    {P("\"a\":" H("string", "")), "token"},
	    {P("\"a\":{\"type\":\"string\",\"x-mcp-header\":7}"), "token"},
	    {P("\"a\":{\"type\":\"string\",\"x-mcp-header\":null}"), "token"},
	    {P("\"a\":" H("string", "My Region")), "token"},
	    {P("\"a\":" H("string", "Region:Primary")), "token"},
	    {P("\"a\":" H("string", "R\xc3\xa9gion")), "token"},
	    {P("\"a\":" H("string", "Region\\t1")), "token"},
	    {P("\"a\":" H("string", "R\\u0000")), "token"},
	    {P("\"a\":" H("string", "R\\r\\nX")), "token"},
	    {P("\"a\":" H("object", "A")), "type"},
	    {P("\"a\":" H("array", "A")), "type"},
	    {P("\"a\":" H("null", "A")), "type"},
	    {P("\"a\":" H("number", "A")), "type"},
	    {P("\"a\":{\"x-mcp-header\":\"A\"}"), "type"},
	    {P("\"a\":{\"type\":[\"string\"],\"x-mcp-header\":\"A\"}"), "type"},
	    {P("\"a\":" H("string", "A") ",\"b\":" H("string", "A")), "twice"},
	    {P("\"a\":" H("string", "My") ",\"b\":" H("string", "mY")), "twice"},
	    {P("\"a\":" H("string", "A") ",\"b\":" P("\"c\":" H("string", "a"))), "twice"},
	    {H("string", "A"), "`properties`"},
	    {"{\"items\":" P("\"a\":" H("string", "A")) "}", "`properties`"},
	    {P("\"a\":{\"items\":" H("string", "A") "}"), "`properties`"},
	    {P("\"a\":{\"items\":[" H("string", "A") "]}"), "`properties`"},
	    {P("\"a\":{\"prefixItems\":[" H("string", "A") "]}"), "`properties`"},
	    {"{\"oneOf\":[{}," P("\"a\":" H("string", "A")) "]}", "`properties`"},
	    {"{\"anyOf\":[" H("string", "A") "]}", "`properties`"},
	    {"{\"allOf\":[" P("\"a\":" H("string", "A")) "]}", "`properties`"},
	    {"{\"not\":" P("\"a\":" H("string", "A")) "}", "`properties`"},
	    {"{\"if\":" P("\"a\":" H("string", "A")) "}", "`properties`"},
	    {"{\"then\":" P("\"a\":" H("string", "A")) "}", "`properties`"},
	    {"{\"else\":" P("\"a\":" H("string", "A")) "}", "`properties`"},
	    {"{\"$ref\":\"#/$defs/d\",\"$defs\":{\"d\":" H("string", "A") "}}", "`properties`"},
	    {"{\"definitions\":{\"d\":" P("\"a\":" H("string", "A")) "}}", "`properties`"},
	    {"{\"patternProperties\":{\"^a\":" H("string", "A") "}}", "`properties`"},
	    {"{\"additionalProperties\":" H("string", "A") "}", "`properties`"},
	    {"{\"dependentSchemas\":{\"d\":" P("\"a\":" H("string", "A")) "}}", "`properties`"},
	    {"{\"properties\":[" H("string", "A") "]}", "`properties`"},
	    {P("\"a\":" H("string", "A") ",\"b\":" H("string", "B") ",\"c\":" H(
		 "string", "C") ",\"d\":" H("string", "D") ",\"e\":" H("string", "E")),
	     "too many"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT(100);
		struct err e = ERR_NONE;
		if (told(cases[i].schema, "{\"a\":\"x\"}", &out, &e) != E_VALIDATION)
			fail_msg("%s: %d", cases[i].schema, e.code);
		if (!strstr(e.text, cases[i].says))
			fail_msg("%s: %s", cases[i].schema, e.text);
		for (const char *p = e.text; *p; p++)
			assert_true(*p >= ' ' && *p <= '~'); /* nothing odd of theirs */
		buf_done(&out);
	}
}

/* As deep as JSON may be, and an annotation at the end of it. */
static void
goes_to_the_bottom(void **state)
{
	struct buf schema = BUF_INIT(100000), arguments = BUF_INIT(100000);
	struct buf out = BUF_INIT(100);
	const int deep = LIMIT_JSON_DEPTH / 2 - 1;

	(void)state;
	for (int i = 0; i < deep; i++)
		buf_addz(&schema, "{\"properties\":{\"a\":"), buf_addz(&arguments, "{\"a\":");
	buf_addz(&schema, H("string", "A")), buf_addz(&arguments, "\"x\"");
	for (int i = 0; i < deep; i++)
		buf_addz(&schema, "}}"), buf_addz(&arguments, "}");
	assert_int_equal(told(buf_z(&schema), buf_z(&arguments), &out, NULL), 0);
	assert_true(str_is(buf_str(&out), "A=x;"));
	buf_done(&schema), buf_done(&arguments), buf_done(&out);

	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		buf_addz(&schema, i % 2 ? "[" : "{\"allOf\":");
	for (int i = LIMIT_JSON_DEPTH - 1; i >= 0; i--)
		buf_addz(&schema, i % 2 ? "]" : "}");
	assert_int_equal(told(buf_z(&schema), "{}", &out, NULL), 0);
	buf_reset(&schema);
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		buf_addz(&schema, "{\"not\":");
	buf_addz(&schema, "7");
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		buf_addz(&schema, "}");
	assert_int_equal(told(buf_z(&schema), "{}", &out, NULL), 0);
	buf_done(&schema), buf_done(&out);
}

static void
compares_by_type(void **state)
{
	static const struct {
		const char *value;
		struct str received;
		bool same;
	} cases[] = {
	    {"\"x\"", S("x"), true},
	    {"\"x\"", S(" x "), true},
	    {"\"x\"", S("=?base64?eA==?="), true},
	    {"\"x\"", S("=?base64?eA=?="), false},
	    {"\"42\"", S("42.0"), false},
	    {"42", S("42"), true},
	    {"42", S("42.0"), true},
	    {"42", S("4.2e1"), true},
	    {"42", S("=?base64?NDI=?="), true},
	    {"42", S("042"), false},
	    {"42", S("+42"), false},
	    {"42", S("0x2a"), false},
	    {"42", S("43"), false},
	    {"42", S("42 43"), false},
	    {"42", S(""), false},
	    {"42", S("\"42\""), false},
	    {"42", S("true"), false},
	    {"42", S("[42]"), false},
	    {"42", S("42.00000000000000000000000000000000000000000000000000000000000000000"),
	     false}, /* longer than anybody writes it */
	    {"9007199254740991", S("9007199254740992"), false},
	    {"-0", S("0"), true},
	    {"true", S("true"), true},
	    {"true", S("True"), false},
	    {"true", S("1"), false},
	    {"false", S("false"), true},
	    {"false", S(""), false},
	    {"null", S("null"), false},
	    {"{}", S("{}"), false},
	    {"[]", S(""), false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_doc *doc = parsed(cases[i].value);
		if (header_param_says(cases[i].received, json_root(doc)) != cases[i].same)
			fail_msg("%s: %s", cases[i].value, cases[i].received.ptr);
		json_doc_unref(doc);
	}
	assert_false(header_param_says(S("x"), NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(writes_plain_what_is_plain),
	    cmocka_unit_test(reads_base64_strictly),
	    cmocka_unit_test(takes_literally_what_is_not_wrapped),
	    cmocka_unit_test(stays_in_its_buffer),
	    cmocka_unit_test(knows_what_is_named),
	    cmocka_unit_test(finds_the_annotated_arguments),
	    cmocka_unit_test(refuses_what_breaks_a_rule),
	    cmocka_unit_test(goes_to_the_bottom),
	    cmocka_unit_test(compares_by_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
