/* test_given.c - what of a tool's output is kept for taking its effect back. */

#include "unit.h"

#include <stdlib.h>

#include "call/stage.h"

static struct buf
taken(const char *content, const char *extra)
{
	struct buf to = BUF_INIT(LIMIT_EFFECT_GIVEN);
	struct output out;

	output_init(&out);
	buf_addz(&out.content, content);
	buf_addz(&out.extra, extra);
	given_take(&out, &to);
	output_done(&out);
	return to;
}

static void
test_7_data_of_an_output(void **state)
{
	static const struct {
		const char *content, *extra, *gives;
	} rows[] = {
	    {"{\"type\":\"text\",\"text\":\"{\\\"id\\\":1}\"}",
	     "\"_meta\":{},\"structuredContent\":{\"id\":2.0}", "{\"id\":2.0}"},
	    {"{\"type\":\"text\",\"text\":\"{\\\"id\\\":1}\"}", "", "{\"id\":1}"},
	    {"{\"type\":\"text\",\"text\":\"{\\\"id\\\":1}\"}", "\"_meta\":{}", "{\"id\":1}"},
	    {"{\"type\":\"text\",\"text\":\"done\"}", "", ""},
	    {"{\"type\":\"image\",\"data\":\"\"}", "", ""},
	    {"", "\"structuredContent\":[]", "[]"},
	    {"", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf to = taken(rows[i].content, rows[i].extra);
		assert_string_equal(to.len ? buf_z(&to) : "", rows[i].gives);
		buf_done(&to);
	}
}

/* Blocks that came parsed are the same. */
static void
test_7_data_of_parsed_blocks(void **state)
{
	struct buf to = BUF_INIT(LIMIT_EFFECT_GIVEN);
	struct output out;
	struct err e;

	(void)state;
	output_init(&out);
	assert_int_equal(json_parse(S("[{\"type\":\"text\",\"text\":\"[7]\"}]"), &json_door,
				    &out.doc, &e),
			 0);
	out.blocks = json_root(out.doc);
	given_take(&out, &to);
	assert_string_equal(buf_z(&to), "[7]");
	output_done(&out);
	buf_done(&to);
}

/* All of it or nothing, and never the text in place of data that is too long. */
static void
test_7_too_much_is_none(void **state)
{
	static const size_t lengths[] = {LIMIT_EFFECT_GIVEN - 2, LIMIT_EFFECT_GIVEN - 1,
					 8 * LIMIT_EFFECT_GIVEN};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		char *long_one = malloc(lengths[i] + 64), *at = long_one;
		at += sprintf(at, "\"structuredContent\":\"");
		memset(at, 'x', lengths[i]);
		strcpy(at + lengths[i], "\"");
		struct buf to = taken("{\"type\":\"text\",\"text\":\"{}\"}", long_one);
		assert_int_equal(to.len, i == 0 ? LIMIT_EFFECT_GIVEN : 0);
		assert_false(buf_failed(&to));
		buf_done(&to);
		free(long_one);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_7_data_of_an_output),
	    cmocka_unit_test(test_7_data_of_parsed_blocks),
	    cmocka_unit_test(test_7_too_much_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
