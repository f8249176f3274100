/*
 * test_cw_session.c - the origin's recorded session, from a long result on: kept, seen, not found.
 *
 * Its handles have the tool's name in them; ours are of the bytes alone. Its label is
 * "text result from" and the id; ours "text". Its summary is the first 500 characters; ours has the
 * end too.
 */

#include "stock.h"

#include "artifact/envelope.h"
#include "artifact/view.h"
#include "testdata.h"

#define T S("default")

enum entry { LISTED, BROWSED, EXECUTED, VIEWED, MISSED, ENTRIES };

static struct json_doc *
parsed(struct str text)
{
	struct json_doc *doc = NULL;
	struct err e = ERR_NONE;

	if (json_parse(text, &json_door, &doc, &e) < 0)
		fail_msg("%s", err_text(&e));
	return doc;
}

static struct json_doc *
session(const char *path)
{
	struct str text = testdata_read(path);
	struct json_doc *doc = parsed(text);

	free((char *)text.ptr);
	assert_int_equal(json_len(json_get(json_root(doc), S("entries"))), ENTRIES);
	return doc;
}

static const struct json *
at(const struct json *value, const char *pointer)
{
	const struct json *v = json_pointer(value, str_of(pointer));

	if (!v)
		fail_msg("nothing at %s", pointer);
	return v;
}

static const struct json *
entry(struct json_doc *doc, enum entry number)
{
	return json_at(json_get(json_root(doc), S("entries")), number);
}

/* What the upstream said then: the recording has only its beginning, its length and its digest. */
static struct json_doc *
result(void)
{
	struct buf text = BUF_INIT(64 * KIB);

	buf_addz(&text, "{\"content\":[{\"type\":\"text\",\"text\":\"ISSUE-42 opened. ");
	for (int i = 0; i < 120; i++)
		buf_addz(&text, "detail line for the created issue. ");
	buf_addz(&text, "\"}]}");
	struct json_doc *doc = parsed(buf_str(&text));
	buf_done(&text);
	return doc;
}

static struct json_doc *
execute(struct stock *s, const struct json *recorded)
{
	const struct json *from = at(recorded, "/response/content/0/text/provenance");
	struct envelope_spec spec = {s->set, T, json_str(at(from, "/tool")),
				     json_str(at(from, "/tool_id")), "mcp"};
	struct json_doc *said = result();
	struct buf text = BUF_INIT(MIB);
	struct jw w = jw(&text);
	struct err e = ERR_NONE;

	if (envelope_write(&w, &spec, json_root(said), &e) < 0)
		fail_msg("%s", err_text(&e));
	struct json_doc *doc = parsed(buf_str(&text));
	buf_done(&text);
	json_doc_unref(said);
	return doc;
}

static void
same(const struct json *ours, const struct json *theirs, const char *pointer)
{
	if (!json_equal(at(ours, pointer), at(theirs, pointer)))
		fail_msg("%s differs", pointer);
}

static void
the_long_result_is_the_same_bytes(void **state)
{
	static const char *const members[] = {
	    "/status",
	    "/facts",
	    "/provenance",
	    "/artifacts/0/content_hash",
	    "/artifacts/0/media_type",
	    "/artifacts/0/size_bytes",
	    "/firewall_stats/triggered",
	    "/firewall_stats/strategy",
	    "/firewall_stats/original_chars",
	    "/firewall_stats/summarized_by_llm",
	};
	char path[256];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_gateway_session_v1.json", path);
	struct stock s = stock_new(false, &(struct artifacts_spec){.shown = 2000});
	struct json_doc *recorded = session(path);
	struct json_doc *doc = execute(&s, entry(recorded, EXECUTED));
	const struct json *ours = json_root(doc);
	const struct json *theirs = at(entry(recorded, EXECUTED), "/response/content/0/text");

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		same(ours, theirs, members[i]);
	assert_int_equal(json_len(at(ours, "/artifacts")), 1);
	assert_true(
	    json_equal(at(ours, "/artifacts/0/handle"), at(ours, "/firewall_stats/artifact_ref")));
	assert_true(str_starts(json_str(at(ours, "/summary")),
			       str_upto(json_str(at(theirs, "/summary")), 200)));
	json_doc_unref(doc);
	json_doc_unref(recorded);
	stock_free(&s);
}

static void
its_head_is_the_same_text(void **state)
{
	struct view v = {0};
	struct err e = ERR_NONE;
	char path[256];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_gateway_session_v1.json", path);
	struct stock s = stock_new(false, &(struct artifacts_spec){.shown = 2000});
	struct json_doc *recorded = session(path);
	struct json_doc *doc = execute(&s, entry(recorded, EXECUTED));
	const struct json *asked = entry(recorded, VIEWED);
	struct str handle = json_str(at(json_root(doc), "/artifacts/0/handle"));
	struct artifact_reader *r = stock_reader(&s, T, handle.ptr);

	assert_non_null(r);
	if (view_select(r, at(asked, "/request/arguments/selector"), LIMIT_VIEW_BYTES, &v, &e) < 0)
		fail_msg("%s", err_text(&e));
	assert_true(str_eq(buf_str(&v.text), json_str(at(asked, "/response/content/0/text"))));
	view_done(&v);
	artifact_close(r);
	json_doc_unref(doc);
	json_doc_unref(recorded);
	stock_free(&s);
}

static void
a_handle_of_nothing_is_refused_with_the_same_code(void **state)
{
	struct artifact_reader *r = NULL;
	struct err e = ERR_NONE;
	char path[256];

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_gateway_session_v1.json", path);
	struct stock s = stock_new(false, &(struct artifacts_spec){0});
	struct json_doc *recorded = session(path);
	const struct json *asked = entry(recorded, MISSED);
	struct str handle = json_str(at(asked, "/request/arguments/handle"));

	assert_true(artifact_open(s.set, T, handle, &r, &e) < 0);
	assert_true(str_is(json_str(at(asked, "/response/content/0/text/error")),
			   err_row(e.code)->gateway));
	json_doc_unref(recorded);
	stock_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_long_result_is_the_same_bytes),
	    cmocka_unit_test(its_head_is_the_same_text),
	    cmocka_unit_test(a_handle_of_nothing_is_refused_with_the_same_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
