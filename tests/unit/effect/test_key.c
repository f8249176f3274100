/* Which calls are the same one: the vectors of the document, with what Holdfast puts around them.
 */

#include "unit.h"

#include "testdata.h"

#include "effect/key.h"
#include "json/json.h"

static struct json_doc *
parse(const char *text)
{
	struct json_doc *doc = NULL;

	assert_int_equal(json_parse(str_of(text), &json_door, &doc, NULL), 0);
	return doc;
}

static void
is_key(const char *args, const char *fields, const char *group, const char *given,
       const char *wanted)
{
	struct json_doc *a = parse(args), *f = parse(fields);
	struct buf out = BUF_INIT(4096);

	effect_key_write(&out, &(struct effect_key){.tenant = S("acme"),
						    .agent = S("bot"),
						    .tool = S("t"),
						    .fields = json_root(f),
						    .args = json_root(a),
						    .group = str_of(group),
						    .given = str_of(given)});
	assert_string_equal(buf_z(&out), wanted);
	buf_done(&out);
	json_doc_unref(a);
	json_doc_unref(f);
}

static void
parts_never_collide(void **state)
{
	(void)state;
	is_key("{\"a\":\"x:y\",\"b\":\"z\"}", "[\"a\",\"b\"]", "g", NULL,
	       "acme:bot:t:x%3Ay:z:turn_group:g");
	is_key("{\"a\":\"x\",\"b\":\"y:z\"}", "[\"a\",\"b\"]", "g", NULL,
	       "acme:bot:t:x:y%3Az:turn_group:g");
	is_key("{\"a\":\"50%3A\"}", "[\"a\"]", "g:1", NULL, "acme:bot:t:50%253A:turn_group:g%3A1");
	is_key("{}", "[]", "g", "mine:1", "acme:bot:t:key:mine%3A1");
}

static void
values_are_as_python_has_them(void **state)
{
	(void)state;
	is_key("{\"v\":true}", "[\"v\"]", "g", NULL, "acme:bot:t:True:turn_group:g");
	is_key("{\"v\":null}", "[\"v\"]", "g", NULL, "acme:bot:t:None:turn_group:g");
	is_key("{\"v\":50.0}", "[\"v\"]", "g", NULL, "acme:bot:t:50.0:turn_group:g");
	is_key("{\"v\":[1,\"x\"]}", "[\"v\"]", "g", NULL, "acme:bot:t:[1, 'x']:turn_group:g");
	is_key("{\"v\":{\"a\":\"it's\"}}", "[\"v\"]", "g", NULL,
	       "acme:bot:t:{'a'%3A \"it's\"}:turn_group:g");
	is_key("{}", "[\"v\"]", "g", NULL, "acme:bot:t::turn_group:g");
}

static void
a_long_part_is_a_digest(void **state)
{
	struct json_doc *f = parse("[\"v\"]");
	struct buf text = BUF_INIT(4096), out = BUF_INIT(4096);

	(void)state;
	buf_addz(&text, "{\"v\":\"");
	for (int i = 0; i < 1000; i++)
		buf_addc(&text, 'a');
	buf_addz(&text, "\"}");
	struct json_doc *a = parse(buf_z(&text));
	effect_business_key(&out, json_root(f), json_root(a));
	assert_true(str_starts(buf_str(&out), S("%sha256-")));
	assert_int_equal(out.len, 8 + 64);
	buf_done(&out);
	buf_done(&text);
	json_doc_unref(a);
	json_doc_unref(f);
}

/* The document's keys, but for the last, which it shows to collide. */
static void
vectors(void **state)
{
	char path[4096];
	(void)state;

	TESTDATA_OR_SKIP("vectors/focal_vectors.json", path);
	struct str text = testdata_read(path);
	struct json_doc *doc = NULL;
	assert_int_equal(json_parse(text, &json_door, &doc, NULL), 0);
	size_t n = 0;
	for (struct json_iter it = json_iter(json_get(json_root(doc), S("cases")));
	     json_next(&it);) {
		struct str wanted = json_str(json_get(it.value, S("business_key")));
		struct buf out = BUF_INIT(4096);
		effect_business_key(&out, json_get(it.value, S("idempotency_key_fields")),
				    json_get(it.value, S("args")));
		if (str_is(wanted, "x:y:z"))
			assert_string_equal(buf_z(&out), "x%3Ay:z");
		else
			assert_true(str_eq(buf_str(&out), wanted));
		buf_done(&out);
		n++;
	}
	assert_true(n >= 6);
	json_doc_unref(doc);
	free((char *)text.ptr);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parts_never_collide),
	    cmocka_unit_test(values_are_as_python_has_them),
	    cmocka_unit_test(a_long_part_is_a_digest),
	    cmocka_unit_test(vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
