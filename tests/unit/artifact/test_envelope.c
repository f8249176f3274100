/* test_envelope.c - results become envelopes to the schema; what is long is kept and can be seen.
 */

#include "stock.h"

#include "artifact/envelope.h"
#include "schema/schema.h"
#include "testdata.h"

#define T S("default")

static struct json_doc *
parsed(struct str text)
{
	struct json_doc *doc = NULL;
	struct err e = ERR_NONE;

	if (json_parse(text, &json_door, &doc, &e) < 0)
		fail_msg("%s: %.*s", err_text(&e), STR_ARG(text));
	return doc;
}

static struct json_doc *
parsed_file(const char *path)
{
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text);

	free((char *)text.ptr);
	return doc;
}

/* Every envelope of these tests is held to the origin's schema, where it is there. */
static void
check_schema(const struct json *envelope)
{
	char path[256];
	struct schema *schema = NULL;
	struct buf errors = BUF_INIT(64 * KIB);
	struct err e = ERR_NONE;

	if (!testdata_find("vectors/cw_result_envelope.schema.json", path, sizeof(path)))
		return;
	struct json_doc *doc = parsed_file(path);
	assert_int_equal(schema_compile(doc, json_root(doc), NULL, &schema, &e), 0);
	if (schema_validate(schema, envelope, SCHEMA_LINES, &errors) < 0)
		fail_msg("%s", buf_z(&errors));
	buf_done(&errors);
	schema_free(schema);
	json_doc_unref(doc);
}

static struct json_doc *
envelope_of(struct stock *s, struct str tool, const struct json *result)
{
	struct envelope_spec spec = {s->set, T, tool, {NULL, 0}, "mcp"};
	struct buf text = BUF_INIT(MIB);
	struct jw w = jw(&text);
	struct err e = ERR_NONE;

	if (envelope_write(&w, &spec, result, &e) < 0)
		fail_msg("%s", err_text(&e));
	struct json_doc *doc = parsed(buf_str(&text));
	buf_done(&text);
	check_schema(json_root(doc));
	return doc;
}

static struct str
member(const struct json *object, const char *name)
{
	return json_str(json_get(object, str_of(name)));
}

/* All but handles and digests, which are those of the bytes with us. */
static void
same_artifacts(struct stock *s, const struct json *ours, const struct json *theirs)
{
	assert_int_equal(json_len(ours), json_len(theirs));
	for (size_t i = 0; i < json_len(ours); i++) {
		const struct json *a = json_at(ours, i), *b = json_at(theirs, i);
		assert_true(str_eq(member(a, "media_type"), member(b, "media_type")));
		assert_true(str_eq(member(a, "label"), member(b, "label")));
		assert_true(json_equal(json_get(a, S("size_bytes")), json_get(b, S("size_bytes"))));
		struct artifact_reader *r = stock_reader(s, T, member(a, "handle").ptr);
		assert_non_null(r);
		assert_true(str_is(member(a, "content_hash"), artifact_about(r)->sha256));
		artifact_close(r);
	}
}

static void
compare(struct stock *s, const struct json *row, const char *input, const struct json *expected)
{
	struct json_doc *doc =
	    envelope_of(s, member(row, "tool_name"), json_get(row, str_of(input)));
	const struct json *ours = json_root(doc);

	for (struct json_iter it = json_iter(expected); json_next(&it);) {
		const struct json *mine = json_get(ours, it.key);
		if (str_is(it.key, "artifacts"))
			same_artifacts(s, mine, it.value);
		else if (!json_equal(mine, it.value))
			fail_msg("%.*s differs", STR_ARG(it.key));
	}
	assert_int_equal(json_len(ours), json_len(expected));
	json_doc_unref(doc);
}

static void
the_vectors_become_the_same_envelopes(void **state)
{
	char path[256];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_envelope.json", path);
	struct stock s = stock_new(false, &(struct artifacts_spec){0});
	struct json_doc *doc = parsed_file(path);
	assert_true(json_len(json_root(doc)) > 5);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);)
		compare(&s, it.value, "result", json_get(it.value, S("envelope")));
	json_doc_unref(doc);
	stock_free(&s);
}

static void
the_ingestion_vectors_too(void **state)
{
	static const char *const files[] = {"text_result", "image_result", "error_result"};
	char name[128], path[256];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_mcp_ingestion", path);
	struct stock s = stock_new(false, &(struct artifacts_spec){0});
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(name, sizeof(name), "vectors/cw_mcp_ingestion/%s.json", files[i]);
		TESTDATA_OR_SKIP(name, path);
		struct json_doc *doc = parsed_file(path);
		compare(&s, json_root(doc), "input",
			json_get(json_get(json_root(doc), S("expected")), S("envelope")));
		json_doc_unref(doc);
	}
	stock_free(&s);
}

static void
long_text_is_kept_and_its_ends_are_shown(void **state)
{
	struct stock s = stock_new(true, &(struct artifacts_spec){.shown = 2000});
	struct buf raw = BUF_INIT(MIB), text = BUF_INIT(MIB);
	struct jw w = jw(&raw);

	(void)state;
	buf_addz(&text, "Status: first\n");
	while (text.len < 5000)
		buf_addz(&text, "password=hunter2secret ");
	buf_addz(&text, "\nLast: line");
	jw_object(&w);
	jw_key(&w, "content");
	jw_array(&w);
	jw_object(&w);
	jw_member_z(&w, "type", "text");
	jw_member(&w, "text", buf_str(&text));
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	struct json_doc *result = parsed(buf_str(&raw));
	struct json_doc *doc = envelope_of(&s, S("t"), json_root(result));
	const struct json *envelope = json_root(doc);
	const struct json *stats = json_get(envelope, S("firewall_stats"));
	struct str summary = member(envelope, "summary");
	struct str handle = member(json_at(json_get(envelope, S("artifacts")), 0), "handle");

	assert_true(str_is(member(envelope, "status"), "ok"));
	assert_true(str_starts(summary, S("Status: first\n")));
	assert_true(str_ends(summary, S("\nLast: line")));
	assert_non_null(strstr(summary.ptr, " characters left out]"));
	assert_null(strstr(summary.ptr, "hunter2"));
	assert_true(json_bool(json_get(stats, S("triggered"))));
	assert_true(str_eq(member(stats, "artifact_ref"), handle));
	assert_int_equal(json_len(json_get(envelope, S("views"))), 3);
	struct artifact_reader *r = stock_reader(&s, T, handle.ptr);
	assert_non_null(r);
	assert_true(artifact_about(r)->redacted > 100);
	artifact_close(r);
	json_doc_unref(doc);
	json_doc_unref(result);
	buf_done(&raw);
	buf_done(&text);
	stock_free(&s);
}

/* The origin's bug: a second call's image was that of the first. */
static void
two_images_of_one_tool_have_two_handles(void **state)
{
	static const char *const results[] = {
	    "{\"content\":[{\"type\":\"image\",\"data\":\"QUJD\",\"mimeType\":\"image/png\"}]}",
	    "{\"content\":[{\"type\":\"image\",\"data\":\"REVG\",\"mimeType\":\"image/png\"}]}"};
	struct stock s = stock_new(false, &(struct artifacts_spec){0});

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(results); i++) {
		struct json_doc *result = parsed(str_of(results[i]));
		struct json_doc *doc = envelope_of(&s, S("t"), json_root(result));
		const struct json *a = json_at(json_get(json_root(doc), S("artifacts")), 0);
		struct artifact_reader *r = stock_reader(&s, T, member(a, "handle").ptr);
		char bytes[4] = "";
		assert_int_equal(artifact_read(r, 0, bytes, 3), 3);
		assert_string_equal(bytes, i ? "DEF" : "ABC");
		artifact_close(r);
		json_doc_unref(doc);
		json_doc_unref(result);
	}
	stock_free(&s);
}

static void
what_cannot_be_read_makes_it_partial(void **state)
{
	static const char *const results[] = {
	    "{\"content\":[{\"type\":\"image\",\"data\":\"A\"}]}",
	    "{\"content\":[{\"type\":\"image\",\"data\":\"AB*D\"}]}",
	    "{\"content\":[{\"type\":\"hologram\"}]}",
	};
	struct stock s = stock_new(false, &(struct artifacts_spec){0});

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(results); i++) {
		struct json_doc *result = parsed(str_of(results[i]));
		struct json_doc *doc = envelope_of(&s, S("t"), json_root(result));
		assert_true(str_is(member(json_root(doc), "status"), "partial"));
		assert_int_equal(json_len(json_get(json_root(doc), S("artifacts"))), 0);
		json_doc_unref(doc);
		json_doc_unref(result);
	}
	stock_free(&s);
}

static void
a_preview_has_whole_lines_and_the_handle_between_them(void **state)
{
	struct artifact a = {.handle = "art_0123456789abcdef0123456789abcdef", .bytes = 123456};
	struct buf text = BUF_INIT(MIB), out = BUF_INIT(MIB);

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_addf(&text, "line %d\n", i);
	preview_write(&out, buf_str(&text), 300, &a);
	const char *z = buf_z(&out);
	assert_true(str_starts(buf_str(&out), S("line 0\nline 1\n")));
	assert_true(str_ends(buf_str(&out), S("\nline 998\nline 999\n")));
	assert_non_null(
	    strstr(z, "\n\n[the middle is left out here; all of it, 120 KiB, is kept as art_"));
	assert_non_null(strstr(z, "]\n\nline 9"));
	assert_true(out.len < 2 * 300 + 600);
	buf_reset(&out);
	buf_reset(&text);
	for (int i = 0; i < 1000; i++)
		buf_addz(&text, "\xe2\x82\xac");
	preview_write(&out, buf_str(&text), 100, NULL);
	assert_true(str_is_utf8(buf_str(&out)));
	assert_non_null(
	    strstr(buf_z(&out), "[2802 bytes are left out here; they could not be kept]"));
	buf_done(&text);
	buf_done(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_vectors_become_the_same_envelopes),
	    cmocka_unit_test(the_ingestion_vectors_too),
	    cmocka_unit_test(long_text_is_kept_and_its_ends_are_shown),
	    cmocka_unit_test(two_images_of_one_tool_have_two_handles),
	    cmocka_unit_test(what_cannot_be_read_makes_it_partial),
	    cmocka_unit_test(a_preview_has_whole_lines_and_the_handle_between_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
