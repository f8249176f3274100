/* test_args.c - what an input must be, how it is told when it is not, and what is repaired. */

#include "world.h"

#define CARD(name)                                                                                 \
	"{\"name\":\"" name "\",\"description\":\"For tests.\",\"capability\":\"none\","           \
	"\"reversibility\":\"pure\",\"input_schema\":{\"type\":\"object\",\"properties\":{"        \
	"\"n\":{\"type\":\"integer\"}}}}"

static int
tell_input(void *instance, struct hf_job *job)
{
	(void)instance;
	hf_job_text(job, hf_job_input(job), strlen(hf_job_input(job)));
	return 0;
}

static const struct hf_tool strict = {.run = tell_input},
			    tolerant = {.run = tell_input, .repair_arguments = true};

static struct str
first_told(const struct world *w)
{
	return json_str(
	    json_at(json_get(world_last(w, "tool.input_invalid"), S("validation_errors")), 0));
}

static void
what_is_no_json_is_told_where_the_whole_input_stands(void **state)
{
	struct world *w = world_new(NULL);

	(void)state;
	assert_int_equal(hf_register(w->hf, CARD("strict"), &strict, NULL), 0);
	struct result r = world_call(w, "strict", "{oops");
	assert_true(r.is_error);
	assert_true(str_starts(result_text(&r), S("(root): line 1, column 2: ")));
	assert_true(str_starts(first_told(w), S("$: line 1, column 2: ")));
	assert_tool_events(w, "input_invalid");
	result_free(&r);
	world_free(w);
}

static void
the_agent_gets_pointers_and_the_event_the_dispatchers_sentences(void **state)
{
	struct world *w = world_new(NULL);

	(void)state;
	assert_int_equal(hf_register(w->hf, CARD("strict"), &strict, NULL), 0);
	struct result r = world_call(w, "strict", "{\"n\":\"1\"}");
	assert_true(r.is_error);
	assert_true(str_is(result_text(&r), "/n: must be an integer, got \"1\""));
	assert_true(str_is(first_told(w), "n: '1' is not of type 'integer'"));
	result_free(&r);
	world_free(w);
}

static void
many_errors_are_told_whole(void **state)
{
	struct world *w = world_new(NULL);
	struct buf card = BUF_INIT(64 * KIB), input = BUF_INIT(64 * KIB);

	(void)state;
	buf_addz(&card, "{\"name\":\"wide\",\"description\":\"d\",\"capability\":\"none\","
			"\"reversibility\":\"pure\",\"input_schema\":{\"type\":\"object\","
			"\"properties\":{");
	for (int i = 0; i < LIMIT_SCHEMA_ERRORS; i++) {
		buf_addf(&card, "%s\"p%0100d\":{\"type\":\"integer\"}", i ? "," : "", i);
		buf_addf(&input, "%c\"p%0100d\":\"x\"", i ? ',' : '{', i);
	}
	buf_addz(&card, "}}}");
	buf_addz(&input, "}");
	assert_int_equal(hf_register(w->hf, buf_z(&card), &strict, NULL), 0);
	struct result r = world_call(w, "wide", buf_z(&input));
	struct str rest = result_text(&r), line;
	size_t lines = 0;
	for (; str_split(&rest, '\n', &line); lines++)
		assert_true(str_ends(line, S(": must be an integer, got \"x\"")));
	assert_int_equal(lines, LIMIT_SCHEMA_ERRORS);
	const struct json *told =
	    json_get(world_last(w, "tool.input_invalid"), S("validation_errors"));
	assert_int_equal(json_len(told), LIMIT_SCHEMA_ERRORS);
	result_free(&r);
	buf_done(&card);
	buf_done(&input);
	world_free(w);
}

static void
a_tool_that_lets_arguments_be_repaired_gets_them_repaired(void **state)
{
	struct world *w = world_new(NULL);

	(void)state;
	assert_int_equal(hf_register(w->hf, CARD("tolerant"), &tolerant, NULL), 0);
	struct result r =
	    world_call(w, "tolerant", "\"{\\\"n\\\":\\\"12345678901234567890123\\\"}\"");
	assert_false(r.is_error);
	assert_true(str_is(result_text(&r), "{\"n\":12345678901234567890123}"));
	assert_int_equal(json_len(json_root(r.doc)), 4); /* the block keeps its shape */
	const struct json *repairs = json_get(world_last(w, "tool.called"), S("arg_repairs"));
	assert_int_equal(json_len(repairs), 2);
	assert_member(json_at(repairs, 0), "rule", "parse_stringified_object");
	assert_member(json_at(repairs, 1), "path", "$.n");
	result_free(&r);

	r = world_call(w, "tolerant", "{\"n\":7}");
	assert_null(json_get(world_last(w, "tool.called"), S("arg_repairs")));
	result_free(&r);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_no_json_is_told_where_the_whole_input_stands),
	    cmocka_unit_test(the_agent_gets_pointers_and_the_event_the_dispatchers_sentences),
	    cmocka_unit_test(many_errors_are_told_whole),
	    cmocka_unit_test(a_tool_that_lets_arguments_be_repaired_gets_them_repaired),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
