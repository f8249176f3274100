/* test_envelope.c - a tool.call read, and its digest. */

#include "kernel_unit.h"

#include "kernel/envelope.h"

static int
read_text(const char *text, struct envelope *ret, struct err *e)
{
	struct kernel_index *x = standard_index();
	int code = envelope_read(x, str_of(text), ret, e);

	kernel_index_unref(x);
	return code;
}

static void
reads_json_and_yaml_alike(void **state)
{
	static const char *const texts[] = {
	    "{\"tool.call\":{\"id\":\"a.b\",\"payload\":{\"n\":3},\"meta\":{\"trace\":true}}}",
	    "tool.call:\n  id: a.b\n  payload: {n: 3}\n  meta:\n    trace: true\n",
	    "---\ntool.call: {id: 'a.b', payload: {n: 3}, meta: {trace: true}}\n",
	    "{tool.call: {id: a.b, payload: {n: 3}, meta: {trace: true}}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct envelope v;
		struct err e;
		int64_t n = 0;
		if (read_text(texts[i], &v, &e) < 0)
			fail_msg("%s: %s", texts[i], err_text(&e));
		assert_str(v.id, "a.b");
		assert_str(v.ns, "a");
		assert_true(v.trace && json_int(json_get(v.payload, S("n")), &n) && n == 3);
		assert_null(v.request_id.ptr);
		envelope_done(&v);
	}
}

static void
takes_what_is_strange_out_of_meta_alone(void **state)
{
	struct envelope v;
	struct err e;

	(void)state;
	assert_int_equal(read_text("{\"tool.call\":{\"id\":\"a.b\",\"payload\":{},\"meta\":{\"x\":{"
				   "\"y\":[1]},\"origin\":\"o\",\"Trace\":1}}}",
				   &v, &e),
			 0);
	const struct json *meta = json_pointer(json_root(v.doc), S("/tool.call/meta"));
	assert_int_equal(json_len(meta), 1);
	assert_str(json_str(json_get(meta, S("origin"))), "o");
	envelope_done(&v);
}

static void
refuses_what_does_not_fit(void **state)
{
	static const struct {
		const char *text, *id; /* the id is told where there is one */
	} cases[] = {
	    {"", ""},
	    {"hello", ""},
	    {"[]", ""},
	    {"{", ""},
	    {"{}", ""},
	    {"{\"tool.call\":{}}", ""},
	    {"{\"tool.call\":{\"id\":\"a.b\"}}", "a.b"},
	    {"{\"tool.call\":{\"id\":\"a.b\",\"payload\":[]}}", "a.b"},
	    {"{\"tool.call\":{\"id\":\"a.b\",\"payload\":{},\"x\":1}}", "a.b"},
	    {"{\"tool.call\":{\"id\":\"a.b\",\"payload\":{}},\"x\":1}", "a.b"},
	    {"{\"tool.call\":{\"id\":\"a.b\",\"id\":\"a.c\",\"payload\":{}}}", ""},
	    {"{\"tool.call\":{\"id\":\"a.b\",\"payload\":{},\"meta\":[]}}", "a.b"},
	    {"{\"tool.call\":{\"id\":\"a.b\",\"payload\":{},\"meta\":{\"trace\":1}}}", "a.b"},
	    {"{\"tool.call\":{\"id\":\"a.b\",\"payload\":{},\"meta\":{\"request_id\":\"1\"}}}",
	     "a.b"},
	    {"{\"tool.call\":{\"id\":\"A.b\",\"payload\":{}}}", ""},
	    {"{\"tool.call\":{\"id\":\"a.b.c\",\"payload\":{}}}", ""},
	    {"{\"tool.call\":{\"id\":\"a.\",\"payload\":{}}}", ""},
	    {"{\"tool.call\":{\"id\":\".b\",\"payload\":{}}}", ""},
	    {"{\"tool.call\":{\"id\":\"ab\",\"payload\":{}}}", ""},
	    {"{\"tool.call\":{\"id\":\"a.1\",\"payload\":{}}}", ""},
	    {"{\"tool.call\":{\"id\":\"a.b\\n\",\"payload\":{}}}", ""},
	    {"tool.call: {id: a.b, payload: {}}\n---\ntool.call: {id: a.b, payload: {}}\n", ""},
	    {"tool.call: &x {id: a.b, payload: {}}\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct envelope v;
		struct err e = ERR_NONE;
		if (read_text(cases[i].text, &v, &e) != E_VALIDATION)
			fail_msg("taken: %s", cases[i].text);
		assert_str(v.id, cases[i].id);
		envelope_done(&v);
	}
}

static void
check_digest(const struct json *row)
{
	struct buf text = BUF_INIT(64 * KIB), scratch = BUF_INIT(64 * KIB);
	struct jw w = jw(&text);
	unsigned char digest[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];
	struct envelope v;
	struct err e;

	jw_object(&w);
	jw_key(&w, "tool.call");
	jw_object(&w);
	jw_key(&w, "id"), jw_value(&w, json_get(row, S("id")));
	jw_key(&w, "payload"), jw_value(&w, json_get(row, S("payload")));
	jw_end(&w);
	jw_end(&w);
	assert_int_equal(read_text(buf_z(&text), &v, &e), 0);
	assert_int_equal(envelope_digest(&v, &scratch, digest, &e), 0);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	assert_str(json_str(json_get(row, S("sha256"))), hex);
	assert_true(str_eq(buf_str(&scratch), json_str(json_get(row, S("canonical")))));
	envelope_done(&v);
	buf_done(&text);
	buf_done(&scratch);
}

static void
digests_by_the_vectors(void **state)
{
	char path[512];
	size_t count = 0;

	(void)state;
	TESTDATA_OR_SKIP("vectors/potm_vectors.json", path);
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text.ptr);
	const struct json *list = json_pointer(json_root(doc), S("/digest_proposed/cases"));
	for (struct json_iter it = json_iter(list); json_next(&it); count++)
		check_digest(it.value);
	assert_true(count >= 5);
	json_doc_unref(doc);
	free((void *)text.ptr);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_json_and_yaml_alike),
	    cmocka_unit_test(takes_what_is_strange_out_of_meta_alone),
	    cmocka_unit_test(refuses_what_does_not_fit),
	    cmocka_unit_test(digests_by_the_vectors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
