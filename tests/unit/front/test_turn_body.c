/* test_turn_body.c - the same calls, whichever shape the message has. */

#include "unit.h"

#include "front/turn_body.h"

static struct json_doc *doc;
static struct turn_body body;
static struct err problem;

static int
take(const char *text)
{
	turn_body_done(&body);
	json_doc_unref(doc);
	doc = NULL;
	body = (struct turn_body){0};
	problem = ERR_NONE;
	assert_int_equal(json_parse(str_of(text), &json_door, &doc, &problem), 0);
	return turn_body_read(doc, &body, &problem);
}

static int
let_go(void **state)
{
	(void)state;
	turn_body_done(&body);
	json_doc_unref(doc);
	return 0;
}

static void
a_whole_assistant_message_gives_its_tool_uses(void **state)
{
	(void)state;
	assert_int_equal(
	    take("{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
		 "\"stop_reason\":\"tool_use\",\"stop_sequence\":null,\"usage\":{},"
		 "\"content\":[{\"type\":\"text\",\"text\":\"let me see\"},"
		 "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"read_file\",\"input\":{\"path\":"
		 "\"x\"}},"
		 "{\"type\":\"thinking\",\"thinking\":\"hm\"},"
		 "{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"list_dir\",\"input\":{}}]}"),
	    0);
	assert_int_equal(body.shape, SHAPE_ANTHROPIC);
	assert_int_equal(body.count, 2);
	assert_true(body.wait && body.attended);
	assert_true(str_is(body.calls[0].tool_use_id, "a"));
	assert_true(str_is(body.calls[0].tool, "read_file"));
	assert_true(str_is(json_str(json_get(body.calls[0].input, S("path"))), "x"));
	assert_true(str_is(body.calls[1].tool, "list_dir"));
}

static void
arguments_given_as_text_are_read(void **state)
{
	(void)state;
	assert_int_equal(
	    take("{\"role\":\"assistant\",\"content\":null,\"refusal\":null,\"wait\":false,"
		 "\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":"
		 "{\"name\":\"shell\",\"arguments\":\"{\\\"command\\\":\\\"ls\\\"}\"}}]}"),
	    0);
	assert_int_equal(body.shape, SHAPE_OPENAI);
	assert_false(body.wait);
	assert_int_equal(body.count, 1);
	assert_true(str_is(body.calls[0].tool_use_id, "c1"));
	assert_true(str_is(json_str(json_get(body.calls[0].input, S("command"))), "ls"));
}

static void
arguments_that_cannot_be_read_fail_their_own_call_only(void **state)
{
	(void)state;
	assert_int_equal(
	    take("{\"tool_calls\":["
		 "{\"id\":\"c1\",\"function\":{\"name\":\"shell\",\"arguments\":\"{oops\"}},"
		 "{\"id\":\"c2\",\"function\":{\"name\":\"shell\"}},"
		 "{\"id\":\"c3\",\"function\":{\"name\":\"shell\",\"arguments\":\"{}\"}}]}"),
	    0);
	assert_int_equal(body.count, 3);
	assert_null(body.calls[0].input);
	assert_int_equal(body.calls[0].input_error->code, E_VALIDATION);
	assert_null(body.calls[1].input);
	assert_non_null(body.calls[1].input_error);
	assert_non_null(body.calls[2].input);
	assert_null(body.calls[2].input_error);
}

static void
one_call_can_be_written_short(void **state)
{
	(void)state;
	assert_int_equal(
	    take("{\"name\":\"list_dir\",\"input\":{\"path\":\".\"},\"attended\":false}"), 0);
	assert_int_equal(body.count, 1);
	assert_false(body.attended);
	assert_null(body.calls[0].tool_use_id.ptr);
	assert_true(str_is(body.calls[0].tool, "list_dir"));
}

static void
what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text;
		const char *named;
	} cases[] = {
	    {"{\"name\":\"x\",\"input\":{},\"colour\":1}", "colour:"},
	    {"{\"name\":\"x\",\"input\":{},\"model\":\"m\"}", "model:"},
	    {"{\"name\":\"x\",\"wait\":\"yes\"}", "wait:"},
	    {"{\"name\":7}", "name:"},
	    {"{\"name\":\"a\\u0000b\"}", "name:"},
	    {"{\"content\":\"text\"}", "content:"},
	    {"{\"content\":[1]}", "content[0].type:"},
	    {"{\"content\":[{\"type\":\"text\"},{\"type\":\"tool_use\",\"id\":\"a\"}]}",
	     "content[1].name:"},
	    {"{\"content\":[{\"type\":\"tool_use\",\"id\":5,\"name\":\"x\"}]}", "content[0].id:"},
	    {"{\"tool_calls\":{}}", "tool_calls:"},
	    {"{\"tool_calls\":[{\"id\":\"a\"}]}", "tool_calls[0].function:"},
	    {"{\"tool_calls\":[{\"type\":\"custom\",\"id\":\"a\"}]}", "tool_calls[0].type:"},
	    {"{}", "a message needs"},
	    {"[]", "a message needs"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(take(cases[i].text), E_BAD_REQUEST);
		assert_true(str_starts(str_of(problem.text), str_of(cases[i].named)));
	}
}

static void
a_message_holds_so_many_calls_and_no_more(void **state)
{
	struct buf text = BUF_INIT(64 * KIB);

	(void)state;
	for (size_t many = LIMIT_CALLS_PER_TURN; many <= LIMIT_CALLS_PER_TURN + 1; many++) {
		buf_reset(&text);
		buf_addz(&text, "{\"content\":[");
		for (size_t i = 0; i < many; i++)
			buf_addf(&text, "%s{\"type\":\"tool_use\",\"name\":\"x\",\"input\":{}}",
				 i ? "," : "");
		buf_addz(&text, "]}");
		assert_int_equal(take(buf_z(&text)), many > LIMIT_CALLS_PER_TURN ? E_LIMIT : 0);
	}
	buf_done(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_whole_assistant_message_gives_its_tool_uses),
	    cmocka_unit_test(arguments_given_as_text_are_read),
	    cmocka_unit_test(arguments_that_cannot_be_read_fail_their_own_call_only),
	    cmocka_unit_test(one_call_can_be_written_short),
	    cmocka_unit_test(what_is_wrong_is_named),
	    cmocka_unit_test(a_message_holds_so_many_calls_and_no_more),
	};
	return cmocka_run_group_tests_name("turn_body", tests, NULL, let_go);
}
