/* test_words.c - which words a text has. */

#include "unit.h"

#include "base/buf.h"
#include "base/limits.h"
#include "search/words.h"

static bool
join(struct str stem, size_t at, void *arg)
{
	struct buf *out = arg;

	(void)at;
	if (out->len > 0)
		buf_addc(out, ' ');
	buf_add(out, stem);
	return true;
}

static void
has_words(struct words *w, const char *text, const char *wanted)
{
	struct buf out = BUF_INIT(64 * KIB);

	words_each(w, str_of(text), join, &out);
	assert_string_equal(out.len ? buf_z(&out) : "", wanted);
	buf_done(&out);
}

static void
splits_names_and_keeps_them_whole(void **state)
{
	static const char *const cases[][2] = {
	    {"create_issue", "creat issu"},
	    {"create-issue.v2:now/then", "creat issu v2"},
	    {"getHTTPResponse", "gethttprespons get http respons"},
	    {"MySQL", "mysql sql"}, /* "my" says nothing */
	    {"APIs", "api ap"},
	    {"s3Bucket", "s3bucket bucket"},
	    {"utf8", "utf8 utf"},
	    {"x", "x"},
	    {"2024", "2024"},
	    {"", ""},
	    {"  ,;-- ", ""},
	};
	struct words *w = words_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		has_words(w, cases[i][0], cases[i][1]);
	words_free(w);
}

static void
leaves_out_words_that_say_nothing_and_stems_the_others(void **state)
{
	struct words *w = words_new();

	(void)state;
	has_words(w, "Please help me with the running of my reports", "run report");
	has_words(w, "Get the weather, getting forecasts", "get weather get forecast");
	has_words(w, "THE Emails", "email");
	words_free(w);
}

static void
pairs_characters_of_scripts_without_blanks(void **state)
{
	struct words *w = words_new();

	(void)state;
	has_words(w, "天气预报", "天气预报 天气 气预 预报");
	has_words(w, "MCP天气", "mcp天气 mcp 天气");
	has_words(w, "caf\xc3\xa9", "caf\xc3\xa9 caf");
	words_free(w);
}

static void
answers_the_same_from_memory(void **state)
{
	struct words *w = words_new();

	(void)state;
	for (int i = 0; i < 3; i++)
		has_words(w, "relational databases generalizations internationalizations",
			  "relat databas general internation");
	words_free(w);
}

static void
hears_only_the_begin_of_a_long_word_and_takes_any_bytes(void **state)
{
	char text[1000], whole[LIMIT_SEARCH_WORD + 1];
	struct words *w = words_new();

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(whole, 'x', LIMIT_SEARCH_WORD);
	whole[LIMIT_SEARCH_WORD] = '\0';
	has_words(w, text, whole);
	for (int c = 1; c < 256; c++) {
		struct buf out = BUF_INIT(64 * KIB);
		memset(text, c, sizeof(text) - 1);
		words_each(w, str_of(text), join, &out);
		assert_true(out.len <= 64 * sizeof(text));
		buf_done(&out);
	}
	words_free(w);
}

static bool
stop_at_second(struct str stem, size_t at, void *arg)
{
	int *count = arg;

	(void)stem;
	assert_int_equal(at, *count == 0 ? 0 : 4);
	return ++*count < 2;
}

static void
stops_when_it_is_told_and_says_where(void **state)
{
	struct words *w = words_new();
	int count = 0;

	(void)state;
	words_each(w, S("one two three"), stop_at_second, &count);
	assert_int_equal(count, 2);
	words_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(splits_names_and_keeps_them_whole),
	    cmocka_unit_test(leaves_out_words_that_say_nothing_and_stems_the_others),
	    cmocka_unit_test(pairs_characters_of_scripts_without_blanks),
	    cmocka_unit_test(answers_the_same_from_memory),
	    cmocka_unit_test(hears_only_the_begin_of_a_long_word_and_takes_any_bytes),
	    cmocka_unit_test(stops_when_it_is_told_and_says_where),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
