/* test_truncate.c - what is left of a text that is too long. */

#include "unit.h"

#include "base/limits.h"
#include "json/json.h"
#include "testdata.h"
#include "text/plain.h"
#include "text/tokens.h"
#include "text/truncate.h"

#define ELLIPSIS "\xe2\x80\xa6"

static struct buf
cut(struct str text, size_t budget)
{
	struct buf out = BUF_INIT(MIB);

	truncate_tokens(&out, text, budget);
	assert_false(buf_failed(&out));
	return out;
}

static void
check(const char *text, size_t budget, const char *expected)
{
	struct buf out = cut(str_of(text), budget);

	assert_string_equal(buf_z(&out), expected);
	buf_done(&out);
}

/*
 * Where the origin cuts inside a sentence it does not find the longest beginning, because the
 * number of tokens does not always grow with the text; the vectors have the longest besides.
 */
static void
agrees_with_the_gateways_vectors(void **state)
{
	struct json_doc *doc = NULL;
	char path[512];
	size_t longer = 0;

	(void)state;
	TESTDATA_OR_SKIP("vectors/cw_truncate.json", path);
	struct str file = testdata_read(path);
	assert_int_equal(json_parse(file, &json_door, &doc, NULL), 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		struct str text = json_str(json_get(it.value, S("text")));
		struct str result = json_str(json_get(it.value, S("result")));
		struct str longest = json_str(json_get(it.value, S("longest_prefix_result")));
		int64_t budget = 0;
		json_int(json_get(it.value, S("budget")), &budget);
		struct buf out = cut(text, (size_t)budget);
		if (!str_eq(buf_str(&out), longest.ptr ? longest : result))
			fail_msg("%.*s at %d: %s", STR_ARG(text), (int)budget, buf_z(&out));
		longer += longest.ptr && !str_eq(longest, result);
		buf_done(&out);
	}
	assert_true(longer > 0);
	free((void *)(uintptr_t)file.ptr);
	json_doc_unref(doc);
}

static void
whole_sentences_come_first(void **state)
{
	(void)state;
	check("One two. Three four. Five six seven eight.", 20,
	      "One two. Three four. Five six seven eight.");
	check("One two. Three four. Five six seven eight.", 7, "One two. Three four.");
	check("One two. Three four. Five six seven eight.", 3, "One two.");
	check("One two. Three four. Five six seven eight.", 2, "One" ELLIPSIS);
	check("Really? Yes! And then nothing ends any more at all", 5, "Really? Yes!");
	check("Ends here.\xe3\x80\x80 But that was a wide blank, and this goes on", 4,
	      "Ends here.");
	check("No end.of a sentence without a blank behind it", 5, "No end.of a" ELLIPSIS);
}

static void
nothing_fits_in_nothing(void **state)
{
	(void)state;
	check("text", 0, "");
	check("", 0, "");
	check("", 5, "");
	check("several words", 1, ELLIPSIS);
}

static size_t
random_text(uint64_t *seed, char *out, size_t max)
{
	static const char *const pieces[] = {"the ",       "issue",
					     ". ",         "! ",
					     "?\n",        ".",
					     " ",          "   ",
					     "\n\n",       "é",
					     "日本語",     "。",
					     "😀",          "👩‍👩‍👧",
					     "x",          "xxxxxxxxxxxx",
					     "0123456789", "'s ",
					     "...",        "\t",
					     "\xc2\xa0",   "Ünïcode ",
					     "{}"};
	size_t len = 0;

	while (len + 32 < max) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		const char *piece = pieces[(*seed >> 33) % ARRAY_LEN(pieces)];
		memcpy(out + len, piece, strlen(piece));
		len += strlen(piece);
	}
	return len;
}

/* Valid, within the budget, the same again, and a beginning of the text with or without "…". */
static void
check_invariants(struct str text, size_t budget)
{
	struct buf out = cut(text, budget), again = cut(text, budget);
	struct str got = buf_str(&out), kept = got;

	assert_true(str_is_utf8(got));
	assert_true(tokens_count(got) <= budget);
	assert_true(str_eq(got, buf_str(&again)));
	if (!str_eq(got, text) && str_ends(got, S(ELLIPSIS)) && !str_starts(text, got))
		kept = str_upto(got, got.len - strlen(ELLIPSIS));
	assert_true(str_starts(text, kept));
	if (kept.len == got.len && kept.len < text.len && kept.len > 0)
		assert_non_null(memchr(".!?", kept.ptr[kept.len - 1], 3));
	assert_true(tokens_count(text) > budget || str_eq(got, text));
	buf_done(&out);
	buf_done(&again);
}

static void
whatever_the_text_the_rules_hold(void **state)
{
	char text[700];
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < 1500; i++) {
		size_t len = random_text(&seed, text, 40 + i % 600);
		check_invariants((struct str){text, len}, i % 70);
	}
}

/* No sentence that would fit is missed: the slow way finds none that is longer. */
static void
no_longer_sentence_would_fit(void **state)
{
	char text[400];
	uint64_t seed = 2;

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		struct str t = {text, random_text(&seed, text, 60 + i)};
		size_t budget = 2 + i % 50, longest = 0;
		if (tokens_count(t) <= budget)
			continue;
		for (size_t at = 1; at <= t.len; at++) {
			uint32_t c = ' ';
			if (memchr(".!?", text[at - 1], 3) &&
			    (at == t.len || str_utf8_char(str_from(t, at), &c)) &&
			    plain_is_blank(c) && tokens_count(str_upto(t, at)) <= budget)
				longest = at;
		}
		struct buf out = cut(t, budget);
		if (longest > 0)
			assert_int_equal(out.len, longest);
		buf_done(&out);
	}
}

/* A stranger's text costs what its beginning costs; 4 MiB forty times would take minutes. */
static void
hostile_texts_are_not_read_to_the_end(void **state)
{
	static const char *const pieces[] = {". ", "x", "é", "! \n", " "};
	size_t len = 4 * MIB;
	char *text = malloc(len);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		size_t n = strlen(pieces[i]), whole = len / n * n;
		for (size_t at = 0; at < whole; at += n)
			memcpy(text + at, pieces[i], n);
		for (size_t budget = 1; budget < 60; budget += 8) {
			struct buf out = cut((struct str){text, whole}, budget);
			assert_true(tokens_count(buf_str(&out)) <= budget);
			buf_done(&out);
		}
	}
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(agrees_with_the_gateways_vectors),
	    cmocka_unit_test(whole_sentences_come_first),
	    cmocka_unit_test(nothing_fits_in_nothing),
	    cmocka_unit_test(whatever_the_text_the_rules_hold),
	    cmocka_unit_test(no_longer_sentence_would_fit),
	    cmocka_unit_test(hostile_texts_are_not_read_to_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
