/* test_view.c - each selector finds its part, in pages if need be, and says what is wrong. */

#include "stock.h"

#include "artifact/match.h"
#include "artifact/view.h"
#include "testdata.h"

#define T S("default")

/* The part, with at most so many bytes; NULL: E_VIEW, and why in *e. */
static struct view
view_of(struct str raw, const char *selector, size_t max, struct err *e)
{
	struct stock s = stock_new(false, &(struct artifacts_spec){.keep_secrets = true});
	struct artifact a = stock_put(&s, T, raw, 10007);
	struct artifact_reader *r = stock_reader(&s, T, a.handle);
	struct json_doc *doc = NULL;
	struct view v = {0};

	assert_int_equal(json_parse(str_of(selector), &json_door, &doc, e), 0);
	*e = ERR_NONE;
	int code = view_select(r, json_root(doc), max, &v, e);
	assert_true(code == 0 || (code == E_VIEW && e->code == code && e->text[0]));
	json_doc_unref(doc);
	artifact_close(r);
	stock_free(&s);
	return v;
}

static void
expect(struct str raw, const char *selector, const char *part)
{
	struct err e;
	struct view v = view_of(raw, selector, LIMIT_VIEW_BYTES, &e);

	if (e.code < 0)
		fail_msg("%s: %s", selector, err_text(&e));
	assert_string_equal(buf_z(&v.text), part);
	assert_false(v.more);
	view_done(&v);
}

static void
refused(const char *selector, const char *because)
{
	struct err e;
	struct view v = view_of(S("{\"a\":1}"), selector, LIMIT_VIEW_BYTES, &e);

	assert_int_equal(e.code, E_VIEW);
	if (!strstr(e.text, because))
		fail_msg("%s: %s", selector, e.text);
	view_done(&v);
}

static void
the_vectors_give_the_same_text(void **state)
{
	char path[256];
	struct json_doc *doc = NULL;
	struct err e = ERR_NONE;

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_selectors.json", path);
	struct str text = testdata_read(path);
	assert_int_equal(json_parse(text, &json_door, &doc, &e), 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		struct buf selector = BUF_INIT(4096);
		struct jw w = jw(&selector);
		struct str result = json_str(json_get(it.value, S("result")));
		jw_value(&w, json_get(it.value, S("selector")));
		if (result.ptr)
			expect(json_str(json_get(it.value, S("raw"))), buf_z(&selector),
			       result.ptr);
		else
			refused(buf_z(&selector), "there is no selector ''");
		buf_done(&selector);
	}
	json_doc_unref(doc);
	free((char *)text.ptr);
}

static void
head_and_tail_count_characters(void **state)
{
	(void)state;
	expect(S("h\xc3\xa9llo w\xc3\xb6rld"), "{\"type\":\"head\",\"chars\":3}", "h\xc3\xa9l");
	expect(S("h\xc3\xa9llo w\xc3\xb6rld"), "{\"type\":\"tail\",\"chars\":4}", "\xc3\xb6rld");
	expect(S("short"), "{\"type\":\"tail\"}", "short");
	expect(S("short"), "{\"type\":\"head\",\"chars\":0}", "");
	expect(S("short"), "{\"type\":\"tail\",\"chars\":0}", "");
	expect(S(""), "{\"type\":\"tail\"}", "");
}

static void
lines_are_sliced_as_python_does(void **state)
{
	static const struct {
		const char *slice, *expected;
	} rows[] = {
	    {"", "a\nb\nc\nd"},
	    {",\"start\":1,\"end\":3", "b\nc"},
	    {",\"start\":-2", "c\nd"},
	    {",\"end\":-1", "a\nb\nc"},
	    {",\"start\":-3,\"end\":-1", "b\nc"},
	    {",\"start\":-99,\"end\":2", "a\nb"},
	    {",\"start\":3,\"end\":1", ""},
	    {",\"start\":4", ""},
	    {",\"start\":0,\"end\":0", ""},
	    {",\"end\":-99", ""},
	};
	char selector[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(selector, sizeof(selector), "{\"type\":\"lines\"%s}", rows[i].slice);
		expect(S("a\nb\nc\nd\n"), selector, rows[i].expected);
		expect(S("a\nb\nc\nd"), selector, rows[i].expected);
	}
	/* Every end that splitlines knows; and what only looks like one. */
	expect(S("1\n2\r3\r\n4\v5\f6\x1c"
		 "7\x1d"
		 "8\x1e"
		 "9\xc2\x85"
		 "10\xe2\x80\xa8"
		 "11\xe2\x80\xa9"
		 "12\xc2\xa0\xe2\x82\xac"),
	       "{\"type\":\"lines\",\"start\":1}",
	       "2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\xc2\xa0\xe2\x82\xac");
	expect(S("a\n\n"), "{\"type\":\"lines\"}", "a\n");
	expect(S("\r\n\r"), "{\"type\":\"lines\"}", "\n");
	expect(S(""), "{\"type\":\"lines\",\"start\":-1}", "");
}

/* The piece that is read at once ends at every place of a line's end in turn. */
static void
a_line_end_may_be_cut_by_the_reading(void **state)
{
	static const char *const ends[] = {"\n", "\r\n", "\r", "\xe2\x80\xa8", "\xc2\x85"};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(ends); k++)
		for (size_t before = 64 * KIB - 4; before <= 64 * KIB; before++) {
			struct buf raw = BUF_INIT(MIB);
			while (raw.len < before)
				buf_addc(&raw, 'x');
			buf_addz(&raw, ends[k]);
			buf_addz(&raw, "second");
			buf_addz(&raw, ends[k]);
			expect(buf_str(&raw), "{\"type\":\"lines\",\"start\":1}", "second");
			expect(buf_str(&raw), "{\"type\":\"lines\",\"start\":-1}", "second");
			buf_done(&raw);
		}
}

static void
members_and_pointers_of_json(void **state)
{
	const struct str raw =
	    S("{\"b\":[1,{\"x\":\"\xc3\xa9\"}],\"a\":{},\"c\":[],\"a/b\":2.50,\"\":\"e\"}");

	(void)state;
	expect(raw, "{\"type\":\"json_keys\",\"keys\":[\"c\",\"b\",\"a\",\"c\"]}",
	       "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"x\": \"\\u00e9\"\n    }\n  ],\n"
	       "  \"c\": []\n}");
	expect(raw, "{\"type\":\"json_keys\",\"keys\":[]}", "{}");
	expect(raw, "{\"type\":\"pointer\",\"pointer\":\"/b/1/x\"}", "\"\\u00e9\"");
	expect(raw, "{\"type\":\"pointer\",\"pointer\":\"/b/0\"}", "1");
	expect(raw, "{\"type\":\"pointer\",\"pointer\":\"/a~1b\"}", "2.5");
	expect(raw, "{\"type\":\"pointer\",\"pointer\":\"/\"}", "\"e\"");
	expect(S("\"a\\\"{,:\""), "{\"type\":\"pointer\",\"pointer\":\"\"}", "\"a\\\"{,:\"");
	refused("{\"type\":\"pointer\",\"pointer\":\"/z\"}", "there is nothing at '/z'");
}

static void
grep_shows_matches_with_their_lines(void **state)
{
	const struct str raw = S("zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\n");

	(void)state;
	expect(raw, "{\"type\":\"grep\",\"pattern\":\"e$\"}", "1:one\n--\n3:three\n--\n5:five");
	expect(raw, "{\"type\":\"grep\",\"pattern\":\"five\",\"context\":1}",
	       "4-four\n5:five\n6-six");
	expect(raw, "{\"type\":\"grep\",\"pattern\":\"t\",\"before\":1,\"after\":2}",
	       "1-one\n2:two\n3:three\n4-four\n5-five");
	expect(raw, "{\"type\":\"grep\",\"pattern\":\"^zero|^seven\",\"context\":2}",
	       "0:zero\n1-one\n2-two\n--\n5-five\n6-six\n7:seven");
	expect(raw, "{\"type\":\"grep\",\"pattern\":\"ZERO\",\"ignore_case\":true}", "0:zero");
	expect(raw, "{\"type\":\"grep\",\"pattern\":\"nine\"}", "");
	expect(raw, "{\"type\":\"grep\",\"pattern\":\"o\",\"start\":3}", "4:four");
	expect(S("a\xff"
		 "b\nc"),
	       "{\"type\":\"grep\",\"pattern\":\"b\"}",
	       "0:a\xff"
	       "b");
}

static void
grep_ends_after_so_many_and_tells_where_to_go_on(void **state)
{
	const struct str raw = S("x0\nx1\nx2\ny\nx4\n");
	struct err e;

	(void)state;
	struct view v =
	    view_of(raw, "{\"type\":\"grep\",\"pattern\":\"x\",\"max\":2,\"after\":1}", 1000, &e);
	assert_string_equal(buf_z(&v.text), "0:x0\n1:x1"); /* the next one matches, too */
	assert_int_equal(v.hits, 2);
	assert_int_equal(v.next_line, 2);
	view_done(&v);
	v = view_of(raw, "{\"type\":\"grep\",\"pattern\":\"x\",\"max\":2,\"start\":2}", 1000, &e);
	assert_string_equal(buf_z(&v.text), "2:x2\n--\n4:x4");
	assert_int_equal(v.next_line, 0); /* nothing behind it */
	view_done(&v);
	/* Lines around are given once: the rest begins behind them. */
	v = view_of(raw, "{\"type\":\"grep\",\"pattern\":\"x2\",\"max\":1,\"after\":1}", 1000, &e);
	assert_string_equal(buf_z(&v.text), "2:x2\n3-y");
	assert_int_equal(v.next_line, 4);
	view_done(&v);
}

static void
a_costly_pattern_is_given_up(void **state)
{
	struct buf raw = BUF_INIT(MIB);
	struct err e;

	(void)state;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 2000; k++)
			buf_addc(&raw, 'a');
		buf_addc(&raw, '\n');
	}
	struct view v =
	    view_of(buf_str(&raw), "{\"type\":\"grep\",\"pattern\":\"^(a+)+[bc]\"}", 1000, &e);
	assert_int_equal(e.code, E_VIEW);
	assert_non_null(strstr(e.text, "takes too long"));
	view_done(&v);
	buf_done(&raw);
}

static bool
go_on(const struct match_line *m, void *arg)
{
	(void)m;
	(void)arg;
	return true;
}

/* Few steps at each place, but thousands of places: that is in time at every one of them. */
static void
a_pattern_that_is_costly_everywhere_is_given_up(void **state)
{
	struct stock s = stock_new(false, &(struct artifacts_spec){.keep_secrets = true});
	struct buf raw = BUF_INIT(MIB);
	struct err e = ERR_NONE;
	uint64_t next;

	(void)state;
	for (size_t k = 0; k < LIMIT_VIEW_LINE; k++)
		buf_addc(&raw, 'a');
	struct artifact a = stock_put(&s, T, buf_str(&raw), 4096);
	struct artifact_reader *r = stock_reader(&s, T, a.handle);
	struct match_spec spec = {.pattern = S("(a|a){0,13}[bc]"),
				  .max = 1,
				  .cpu_ms = 10,
				  .found = go_on};
	assert_int_equal(match_lines(r, &spec, &next, &e), E_VIEW);
	assert_non_null(strstr(e.text, "takes too long"));
	/* What is cheap finds its match behind all of them, and between two of the looks. */
	spec.pattern = S("a$");
	spec.cpu_ms = LIMIT_VIEW_CPU_MS;
	assert_int_equal(match_lines(r, &spec, &next, &e), 0);
	artifact_close(r);
	stock_free(&s);
	buf_done(&raw);
}

static void
a_long_line_is_looked_through_to_its_end(void **state)
{
	struct buf raw = BUF_INIT(MIB);

	(void)state;
	/* Wherever the looks at the clock fall: before, in or behind a character. */
	for (size_t before = 1020; before < 1030; before++) {
		char expected[2100];
		buf_reset(&raw);
		for (size_t k = 0; k < before; k++)
			buf_addc(&raw, '.');
		buf_addz(&raw, "\xc3\xa9\xe2\x82\xac");
		for (size_t k = 0; k < 1000; k++)
			buf_addc(&raw, '.');
		snprintf(expected, sizeof(expected), "0:%s", buf_z(&raw));
		expect(buf_str(&raw), "{\"type\":\"grep\",\"pattern\":\"\\u20ac\"}", expected);
		expect(buf_str(&raw), "{\"type\":\"grep\",\"pattern\":\"\\u00e9\"}", expected);
		expect(buf_str(&raw), "{\"type\":\"grep\",\"pattern\":\"\\\\.$\"}", expected);
		expect(buf_str(&raw), "{\"type\":\"grep\",\"pattern\":\".\\\\B^\"}", "");
	}
	buf_done(&raw);
}

/* Deep JSON is mostly blanks when it is spread over lines. */
static void
json_is_spread_in_pages(void **state)
{
	struct buf raw = BUF_INIT(MIB), whole = BUF_INIT(4 * MIB), selector = BUF_INIT(256);
	const int depth = 40, count = 5000;
	struct view v = {.more = true};
	struct err e;
	size_t pages = 0;

	(void)state;
	for (int i = 0; i < depth; i++)
		buf_addc(&raw, '[');
	for (int i = 0; i < count; i++)
		buf_addz(&raw, i ? ",1" : "1");
	for (int i = 0; i < depth; i++)
		buf_addc(&raw, ']');
	for (; v.more; pages++) {
		buf_reset(&selector);
		buf_addf(&selector, "{\"type\":\"pointer\",\"pointer\":\"\",\"offset\":%llu}",
			 (unsigned long long)v.next_offset);
		v = view_of(buf_str(&raw), buf_z(&selector), 100000, &e);
		assert_int_equal(e.code, 0);
		buf_add(&whole, buf_str(&v.text));
		view_done(&v);
	}
	assert_true(pages > 2);
	/* Each bracket and each number has its line. */
	const int lines = 2 * depth + count, commas = count - 1;
	const int blanks = 2 * depth * (depth - 1) + count * 2 * depth;
	assert_int_equal(whole.len, (size_t)(lines + lines - 1 + commas + blanks));
	buf_done(&raw);
	buf_done(&whole);
	buf_done(&selector);
}

/* What does not fit comes in pages that together are the whole. */
static void
pages_follow_one_another(void **state)
{
	static const char *const types[] = {"\"type\":\"head\",\"chars\":100000",
					    "\"type\":\"tail\",\"chars\":100000",
					    "\"type\":\"lines\"",
					    "\"type\":\"lines\",\"start\":-300",
					    "\"type\":\"grep\",\"pattern\":\"7\""};
	struct buf raw = BUF_INIT(MIB);
	char selector[128];

	(void)state;
	for (int i = 0; i < 400; i++)
		buf_addf(&raw, "line %d \xe2\x82\xac\n", i);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct buf all = BUF_INIT(MIB);
		struct err e;
		snprintf(selector, sizeof(selector), "{%s}", types[i]);
		struct view whole = view_of(buf_str(&raw), selector, LIMIT_VIEW_BYTES, &e), page;
		assert_false(whole.more);
		unsigned long long offset = 0;
		bool more = true;
		for (int guard = 0; more && guard < 1000; guard++) {
			snprintf(selector, sizeof(selector), "{%s,\"offset\":%llu}", types[i],
				 offset);
			page = view_of(buf_str(&raw), selector, 100, &e);
			assert_true(page.text.len <= 100 && str_is_utf8(buf_str(&page.text)));
			buf_add(&all, buf_str(&page.text));
			more = page.more;
			offset = page.next_offset;
			view_done(&page);
		}
		assert_true(whole.text.len > 1000);
		assert_true(str_eq(buf_str(&all), buf_str(&whole.text)));
		view_done(&whole);
		buf_done(&all);
	}
	buf_done(&raw);
}

static void
what_is_wrong_in_a_selector_is_named(void **state)
{
	(void)state;
	refused("{\"type\":\"middle\"}", "there is no selector 'middle' (there are: head, tail, ");
	refused("{\"type\":7}", "there is no selector ''");
	refused("[]", "a selector is an object");
	refused("{\"type\":\"head\",\"lines\":3}", "head: takes no 'lines' (it takes: chars)");
	refused("{\"type\":\"head\",\"chars\":\"3\"}", "chars: must be an integer");
	refused("{\"type\":\"head\",\"chars\":-1}", "chars: must be from 0");
	refused("{\"type\":\"grep\"}", "grep: needs pattern");
	refused("{\"type\":\"grep\",\"pattern\":\"a(\"}", "pattern: missing closing parenthesis");
	refused("{\"type\":\"grep\",\"pattern\":\"a\",\"max\":0}", "max: must be from 1");
	refused("{\"type\":\"grep\",\"pattern\":\"a\",\"start\":-1}", "start counts from 0");
	refused("{\"type\":\"pointer\"}", "pointer: needs pointer");
	refused("{\"type\":\"json_keys\"}", "json_keys: needs keys");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_vectors_give_the_same_text),
	    cmocka_unit_test(head_and_tail_count_characters),
	    cmocka_unit_test(lines_are_sliced_as_python_does),
	    cmocka_unit_test(a_line_end_may_be_cut_by_the_reading),
	    cmocka_unit_test(members_and_pointers_of_json),
	    cmocka_unit_test(grep_shows_matches_with_their_lines),
	    cmocka_unit_test(grep_ends_after_so_many_and_tells_where_to_go_on),
	    cmocka_unit_test(a_costly_pattern_is_given_up),
	    cmocka_unit_test(a_pattern_that_is_costly_everywhere_is_given_up),
	    cmocka_unit_test(a_long_line_is_looked_through_to_its_end),
	    cmocka_unit_test(json_is_spread_in_pages),
	    cmocka_unit_test(pages_follow_one_another),
	    cmocka_unit_test(what_is_wrong_in_a_selector_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
