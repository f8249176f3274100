#include "unit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"
#include "testdata.h"
#include "text/pretoken.h"
#include "text/tokens.h"

/* ---- helpers ---- */

static unsigned
chance(unsigned *seed, unsigned below)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % below;
}

static size_t
streamed(struct str text, size_t at_most)
{
	static struct tokens t;

	tokens_begin(&t, SIZE_MAX);
	while (text.len) {
		assert_true(tokens_feed(&t, str_upto(text, at_most)));
		text = str_from(text, at_most);
	}
	return tokens_end(&t);
}

static int
print_id(uint32_t id, struct str bytes, void *out)
{
	(void)bytes;
	buf_addf(out, "%u ", id);
	return 0;
}

static void
expect(struct str text, const char *ids)
{
	struct buf out = BUF_INIT(MIB);

	assert_int_equal(tokens_each(text, print_id, &out), 0);
	assert_string_equal(out.len ? buf_z(&out) : "", ids);
	buf_done(&out);
}

/* The pre-tokens with a bar between them. */
static void
expect_parts(const char *text, const char *parts)
{
	struct buf out = BUF_INIT(MIB);
	struct str rest = str_of(text);

	while (rest.len) {
		size_t n = pretoken__next(rest.ptr, rest.ptr + rest.len).len;
		buf_addf(&out, "%s%.*s", out.len ? "|" : "", (int)n, rest.ptr);
		rest = str_from(rest, n);
	}
	assert_string_equal(buf_z(&out), parts);
	buf_done(&out);
}

/* ---- pre-tokens ---- */

static void
letters_take_one_character_before_them(void **state)
{
	(void)state;
	expect_parts("one two\tthree!four", "one| two|\tthree|!four");
	expect_parts("a\nb\r\nc", "a|\n|b|\r\n|c");
	expect_parts("a  b", "a| | b");
	expect_parts("x\u00e4\u4f60\u597d\u05d0", "x\u00e4\u4f60\u597d\u05d0");
	expect_parts("\u3000x", "\u3000x");
}

static void
contractions_stand_alone_in_any_case(void **state)
{
	(void)state;
	expect_parts("don't we'LL I'm", "don|'t| we|'LL| I|'m");
	expect_parts("'rex'vex'x", "'re|x|'ve|x|'x");
	expect_parts("'s's'l'r", "'s|'s|'l|'r");
	expect_parts("a'\u017ft", "a|'\u017f|t"); /* a long s */
	expect_parts("''s '", "''|s| '");
}

static void
numbers_come_by_threes(void **state)
{
	(void)state;
	expect_parts("1234567 89", "123|456|7| |89");
	expect_parts("1\u0663\u2167\u00bd2", "1\u0663\u2167|\u00bd2");
}

static void
symbols_take_a_space_before_and_newlines_behind(void **state)
{
	(void)state;
	expect_parts("a ==\n\n b", "a| ==\n\n| b");
	expect_parts("a\t==", "a|\t|==");
	expect_parts("!\n!", "!\n|!");
	expect_parts("a \U0001f600\u0301", "a| \U0001f600\u0301");
}

static void
white_space_goes_to_its_last_newline(void **state)
{
	(void)state;
	expect_parts(" \n \n  x", " \n \n| | x");
	expect_parts("   ", "   ");
	expect_parts("a   1", "a|  | |1");
	expect_parts("\n  ", "\n|  ");
	expect_parts(" \u3000\u2003\xc2\x85!", " \u3000\u2003|\xc2\x85|!");
}

static void
a_bad_byte_is_a_symbol(void **state)
{
	(void)state;
	expect_parts("ab\xff\xc3(\xe2\x82", "ab|\xff\xc3(\xe2\x82");
	expect_parts("\xc3"
		     "a",
		     "\xc3"
		     "a");
	expect_parts("\xed\xa0\x80 x", "\xed\xa0\x80| x");
}

/* ---- tokens ---- */

static void
nothing_costs_nothing(void **state)
{
	(void)state;
	assert_int_equal(tokens_count(S("")), 0);
	assert_int_equal(tokens_count((struct str){NULL, 0}), 0);
	assert_int_equal(streamed(S(""), 1), 0);
}

static void
ids_are_those_of_the_encoding(void **state)
{
	(void)state;
	expect(S(""), "");
	expect(S("tiktoken is great!"), "83 1609 5963 374 2294 0 ");
	expect(S("antidisestablishmentarianism"), "519 85342 34500 479 8997 2191 ");
	expect(S("<|endoftext|>"), "27 91 8862 728 428 91 29 ");
	expect(S("\ufeff a"), "3305 264 ");
	expect(S("\xc2\x85"
		 "z"),
	       "126 227 89 ");
}

static void
the_vectors_hold(void **state)
{
	char path[4096];
	struct json_doc *doc;
	struct err e;
	size_t rows = 0;

	(void)state;
	TESTDATA_OR_SKIP("vectors/cl100k_vectors.json", path);
	struct str file = testdata_read(path);
	assert_int_equal(json_parse(file, &json_door, &doc, &e), 0);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it); rows++) {
		struct buf ids = BUF_INIT(MIB);
		struct str text = json_str(json_get(it.value, S("text")));
		const struct json *tokens = json_get(it.value, S("tokens"));
		for (struct json_iter each = json_iter(tokens); json_next(&each);) {
			int64_t id = -1;
			assert_true(json_int(each.value, &id));
			buf_addf(&ids, "%" PRId64 " ", id);
		}
		expect(text, ids.len ? buf_z(&ids) : "");
		assert_int_equal(tokens_count(text), json_len(tokens));
		assert_int_equal(streamed(text, 1), json_len(tokens));
		buf_done(&ids);
	}
	assert_true(rows > 10);
	json_doc_unref(doc);
	free((char *)file.ptr);
}

/* ---- long runs ---- */

static struct buf
repeated(const char *before, const char *unit, size_t bytes, const char *behind)
{
	struct buf out = BUF_INIT(4 * MIB);

	buf_addz(&out, before);
	while (out.len < bytes)
		buf_addz(&out, unit);
	buf_addz(&out, behind);
	assert_false(buf_failed(&out));
	return out;
}

static size_t
count_of(struct buf text) /* freed */
{
	size_t count = tokens_count(buf_str(&text));

	assert_int_equal(streamed(buf_str(&text), SIZE_MAX), count);
	assert_int_equal(streamed(buf_str(&text), 1000), count);
	buf_done(&text);
	return count;
}

/* The figures are tiktoken's. */
static void
runs_longer_than_what_is_held_are_counted_exactly(void **state)
{
	(void)state;
	assert_int_equal(count_of(repeated("", "a", 20000, "")), 2500);
	assert_int_equal(count_of(repeated("", "ab", 20000, "'s")), 10001);
	assert_int_equal(count_of(repeated("x", " ", 20000, "x")), 159);
	assert_int_equal(count_of(repeated("\t", "\t ", 20000, "\n")), 10000);
	assert_int_equal(count_of(repeated("", "=", 20000, "\n\n\nx")), 315);
	assert_int_equal(count_of(repeated(" ", "\u4f60\u597d", 20000, " ")), 6670);
	assert_int_equal(count_of(repeated("", " \n\t", 20000, "\u3000\u3000x")), 6671);
	assert_int_equal(count_of(repeated("\n", "\u3000", 20000, "!")), 3336);
}

static void
a_megabyte_of_one_letter_is_no_trouble(void **state)
{
	(void)state;
	assert_int_equal(count_of(repeated("", "a", 1000000, "")), 125000);
}

struct seen {
	struct str rest;
	size_t count;
};

static int
check_bytes(uint32_t id, struct str bytes, void *arg)
{
	struct seen *seen = arg;

	assert_true(id < 100256 && bytes.len > 0);
	assert_ptr_equal(bytes.ptr, seen->rest.ptr);
	seen->rest = str_from(seen->rest, bytes.len);
	seen->count++;
	return 0;
}

/* Random words of few letters, so that merges compete; runs over BPE_SHORT among them. */
static void
text_make(struct buf *out, unsigned *seed)
{
	static const char *const units[] = {"a", "e",  "t",      "s",      " ", "  ", "\n",
					    "=", "--", "\u4f60", "\u0430", "1", "'",  "\xff"};
	unsigned pieces = chance(seed, 12);

	buf_reset(out);
	for (unsigned i = 0; i < pieces; i++) {
		unsigned first = chance(seed, ARRAY_LEN(units) - 2), times = chance(seed, 1500);
		if (chance(seed, 2))
			times %= 20;
		for (unsigned k = 0; k < times; k++)
			buf_addz(out, units[first + chance(seed, 3)]);
	}
}

static void
count_ids_and_stream_agree_on_random_texts(void **state)
{
	struct buf text = BUF_INIT(MIB);
	unsigned seed = 5;

	(void)state;
	for (int i = 0; i < 300; i++) {
		text_make(&text, &seed);
		struct seen seen = {buf_str(&text), 0};
		assert_int_equal(tokens_each(buf_str(&text), check_bytes, &seen), 0);
		assert_int_equal(seen.rest.len, 0);
		assert_int_equal(tokens_count(buf_str(&text)), seen.count);
		assert_int_equal(streamed(buf_str(&text), 1 + chance(&seed, 5000)), seen.count);
	}
	buf_done(&text);
}

static uint32_t
rank_of(struct str bytes) /* of one token, or UINT32_MAX */
{
	uint32_t ids[BPE_SHORT];

	return bpe__encode(bytes, ids) == 1 ? ids[0] : UINT32_MAX;
}

/* The plain way: merge the two neighbours of the lowest rank until none merge. */
static size_t
merged_plainly(struct str text)
{
	size_t ends[64], count = text.len;

	for (size_t i = 0; i < count; i++)
		ends[i] = i + 1;
	for (;;) {
		uint32_t best = UINT32_MAX;
		size_t at = 0;
		for (size_t i = 0; i + 1 < count; i++) {
			size_t from = i ? ends[i - 1] : 0;
			uint32_t rank = rank_of((struct str){text.ptr + from, ends[i + 1] - from});
			if (rank < best)
				best = rank, at = i;
		}
		if (best == UINT32_MAX)
			return count;
		memmove(ends + at, ends + at + 1, (--count - at) * sizeof(*ends));
	}
}

static void
the_search_finds_what_merging_gives(void **state)
{
	static const char letters[] = "aeinrst aeinrst \xc3\xa4\xe4\xbd\xa0";
	unsigned seed = 3;
	char text[40];
	uint32_t ids[BPE_SHORT];

	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t len = 1 + chance(&seed, sizeof(text) - 1);
		for (size_t k = 0; k < len; k++)
			text[k] = letters[chance(&seed, sizeof(letters) - 1)];
		struct str s = {text, len};
		assert_int_equal(bpe__encode(s, ids), merged_plainly(s));
	}
}

/* ---- pieces and budgets ---- */

static void
a_text_may_be_cut_anywhere(void **state)
{
	const struct str text = S("It's \u00e9t\u00e9 \u4f60\u597d\r\n\r\n  12345 \U0001f600!! "
				  "\u3000 x'LL \xe2\x82 end  ");
	size_t count = tokens_count(text);
	static struct tokens t;

	(void)state;
	for (size_t a = 0; a <= text.len; a++)
		for (size_t b = a; b <= text.len; b++) {
			tokens_begin(&t, SIZE_MAX);
			tokens_feed(&t, str_upto(text, a));
			tokens_feed(&t, str_upto(str_from(text, a), b - a));
			tokens_feed(&t, str_from(text, b));
			assert_int_equal(tokens_end(&t), count);
		}
}

/* As above, where the place of what is held ends. */
static void
it_may_be_cut_where_the_held_text_ends(void **state)
{
	struct buf text = BUF_INIT(MIB);

	(void)state;
	for (size_t before = TOKENS_HELD - 30; before <= TOKENS_HELD; before++) {
		buf_reset(&text);
		for (size_t i = 0; i < before; i++)
			buf_addc(&text, i % 7 ? 'e' : ' ');
		buf_addz(&text, " it's \u4f60\u597d \r\n  1234 \u3000 x'LL \U0001f600");
		count_of(text);
		text = BUF_INIT(MIB);
	}
}

static void
a_budget_stops_early_and_never_wrongly(void **state)
{
	struct buf prose = repeated("", "a few words, ", 100000, ""),
		   run = repeated("", "ab", 100000, "");
	static struct tokens t;

	(void)state;
	assert_int_equal(tokens_upto(S("one two three"), 3), 3);
	assert_true(tokens_upto(S("one two three"), 2) > 2);
	assert_true(tokens_upto(buf_str(&prose), 10) == 11);
	assert_true(tokens_upto(buf_str(&run), 10) > 10);
	assert_true(tokens_upto(buf_str(&run), 10) < 5000);
	assert_int_equal(tokens_upto(buf_str(&run), 50000), 50000);

	const struct buf *const texts[] = {&prose, &run};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct str text = buf_str(texts[i]);
		size_t count = tokens_count(text);
		tokens_begin(&t, count);
		assert_true(tokens_feed(&t, text));
		assert_int_equal(tokens_end(&t), count);
		tokens_begin(&t, count - 1);
		tokens_feed(&t, text);
		assert_true(tokens_end(&t) > count - 1);
		tokens_begin(&t, 10);
		assert_false(tokens_feed(&t, str_upto(text, 2 * TOKENS_HELD)));
		assert_false(tokens_feed(&t, text));
		assert_true(tokens_end(&t) > 10);
	}
	buf_done(&prose);
	buf_done(&run);
}

static int
stop_at_second(uint32_t id, struct str bytes, void *calls)
{
	(void)id, (void)bytes;
	return ++*(int *)calls == 2 ? -7 : 0;
}

static void
each_ends_when_it_is_told_to(void **state)
{
	struct buf run = repeated("", "ab", 3000, "");
	int calls = 0;

	(void)state;
	assert_int_equal(tokens_each(S("one two three"), stop_at_second, &calls), -7);
	assert_int_equal(calls, 2);
	calls = 0;
	assert_int_equal(tokens_each(buf_str(&run), stop_at_second, &calls), -7);
	assert_int_equal(calls, 2);
	buf_done(&run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(letters_take_one_character_before_them),
	    cmocka_unit_test(contractions_stand_alone_in_any_case),
	    cmocka_unit_test(numbers_come_by_threes),
	    cmocka_unit_test(symbols_take_a_space_before_and_newlines_behind),
	    cmocka_unit_test(white_space_goes_to_its_last_newline),
	    cmocka_unit_test(a_bad_byte_is_a_symbol),
	    cmocka_unit_test(nothing_costs_nothing),
	    cmocka_unit_test(ids_are_those_of_the_encoding),
	    cmocka_unit_test(the_vectors_hold),
	    cmocka_unit_test(the_search_finds_what_merging_gives),
	    cmocka_unit_test(runs_longer_than_what_is_held_are_counted_exactly),
	    cmocka_unit_test(a_megabyte_of_one_letter_is_no_trouble),
	    cmocka_unit_test(count_ids_and_stream_agree_on_random_texts),
	    cmocka_unit_test(a_text_may_be_cut_anywhere),
	    cmocka_unit_test(it_may_be_cut_where_the_held_text_ends),
	    cmocka_unit_test(a_budget_stops_early_and_never_wrongly),
	    cmocka_unit_test(each_ends_when_it_is_told_to),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
