/* test_edges.c - what happens at the edges of the pipeline; each was once wrong. */

#include "world.h"

#define CARD(name)                                                                                 \
	"{\"name\":\"" name "\",\"description\":\"For tests.\",\"capability\":\"none\","           \
	"\"reversibility\":\"pure\",\"input_schema\":{\"type\":\"object\"}}"

static int
tell_length(void *instance, struct hf_job *job)
{
	char text[32];

	(void)instance;
	int n = snprintf(text, sizeof(text), "%zu", strlen(hf_job_input(job)));
	hf_job_text(job, text, (size_t)n);
	return 0;
}

static void
a_tool_gets_the_whole_of_a_large_input(void **state)
{
	static const struct hf_tool tool = {.run = tell_length};
	struct world *w = world_new(NULL);
	struct buf input = BUF_INIT(4 * MIB);

	(void)state;
	assert_int_equal(hf_register(w->hf, CARD("length"), &tool, NULL), 0);
	buf_addz(&input, "{\"x\":\"");
	for (size_t i = 0; i < 2 * MIB; i++)
		buf_addc(&input, 'x');
	buf_addz(&input, "\"}");
	struct result r = world_call(w, "length", buf_z(&input));
	char expected[32];
	snprintf(expected, sizeof(expected), "%zu", 2 * MIB + 8);
	assert_true(str_is(result_text(&r), expected));
	result_free(&r);
	buf_done(&input);
	world_free(w);
}

static int
say_too_much(void *instance, struct hf_job *job)
{
	char *text = malloc(LIMIT_RESULT_BYTES + 1);

	(void)instance;
	memset(text, 'x', LIMIT_RESULT_BYTES + 1);
	hf_job_modified(job, "touched.txt");
	hf_job_text(job, "first", 5);
	hf_job_text(job, text, LIMIT_RESULT_BYTES + 1);
	free(text);
	return 0;
}

static int
say_too_much_and_fail(void *instance, struct hf_job *job)
{
	say_too_much(instance, job);
	return hf_job_fail(job, "it did not work");
}

static void
a_result_that_does_not_fit_is_an_error_of_the_tool(void **state)
{
	static const struct hf_tool tool = {.run = say_too_much},
				    failing = {.run = say_too_much_and_fail};
	struct world *w = world_new(NULL);

	(void)state;
	assert_int_equal(hf_register(w->hf, CARD("much"), &tool, NULL), 0);
	assert_int_equal(hf_register(w->hf, CARD("much_and_fail"), &failing, NULL), 0);
	struct result r = world_call(w, "much", "{}");
	assert_true(r.is_error);
	assert_member(world_last(w, "tool.failed"), "error_class", "execution_error");
	assert_true(contains(result_text(&r), "larger than the limit"));
	result_free(&r);

	/* The block that was cut never reaches anybody: what does is JSON. */
	r = world_call(w, "much_and_fail", "{}");
	assert_true(r.is_error);
	assert_true(str_is(result_text(&r), "it did not work"));
	assert_int_equal(json_len(json_get(json_root(r.doc), S("content"))), 1);
	result_free(&r);
	world_free(w);
}

static void
a_call_cancelled_before_it_began_leaves_its_traces(void **state)
{
	struct world *w = world_new(NULL);
	struct result r;

	(void)state;
	world_start(w, "list_dir", "{}", &r);
	assert_int_equal(hf_cancel_session(w->hf, w->session), 0);
	UNTIL(w, r.here && world_count(w, "tool.failed") > 0);
	assert_true(r.is_error);
	assert_tool_events(w, "failed");
	assert_member(world_last(w, "tool.failed"), "error_class", "cancelled");
	assert_int_equal(w->hf->gw.count.failed, 1);
	result_free(&r);
	world_free(w);
}

static void
output_that_is_no_text_at_all_ends(void **state)
{
	struct world *w = world_new("tool_confirmation: {default: {EXECUTE: auto}}");

	(void)state;
	struct result r =
	    world_call(w, "shell",
		       "{\"command\":\"head -c 100000 /dev/zero | tr '\\\\000' '\\\\200'\"}");
	assert_false(r.is_error);
	result_free(&r);
	world_free(w);
}

static void
nobody_else_is_let_in_without_a_token(void **state)
{
	struct world *w = world_new(NULL);
	uint16_t port;

	(void)state;
	assert_true(hf_listen(w->hf, "0.0.0.0", 0, &port) < 0);
	assert_non_null(strstr(hf_error(w->hf), "token"));
	assert_int_equal(hf_listen(w->hf, "127.0.0.1", 0, &port), 0);
	assert_int_equal(hf_require_token(w->hf, "secret"), 0);
	assert_int_equal(hf_require_token(w->hf, NULL), 0); /* loopback only: as you like */
	world_free(w);
}

static void
tools_can_come_and_go(void **state)
{
	static const struct hf_tool tool = {.run = tell_length};
	struct world *w = world_new(NULL);

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(hf_register(w->hf, CARD("fleeting"), &tool, NULL), 0);
		assert_true(hf_register(w->hf, CARD("fleeting"), &tool, NULL) < 0);
		assert_true(hf_register(w->hf, "{", &tool, NULL) < 0);
		assert_int_equal(hf_unregister(w->hf, "fleeting"), 0);
	}
	struct result r = world_call(w, "fleeting", "{}");
	assert_member(world_last(w, "tool.failed"), "error_class", "not_found");
	result_free(&r);
	world_free(w);
}

static void
a_worker_does_not_see_memory_tools(void **state)
{
	static const struct hf_tool tool = {.run = tell_length};
	static const char card[] =
	    "{\"name\":\"memory_add\",\"description\":\"For tests.\",\"capability\":\"none\","
	    "\"reversibility\":\"pure\",\"memory\":true,\"input_schema\":{\"type\":\"object\"}}";
	struct world *w = world_new(NULL);
	struct result r;

	(void)state;
	assert_int_equal(hf_register(w->hf, card, &tool, NULL), 0);
	r = world_call(w, "memory_add", "{}");
	assert_false(r.is_error);
	result_free(&r);
	assert_int_equal(hf_session_open(w->hf, w->workspace, true, w->session), 0);
	r = world_call(w, "memory_add", "{}");
	assert_true(r.is_error);
	assert_member(world_last(w, "tool.failed"), "error_class", "not_found");
	result_free(&r);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tool_gets_the_whole_of_a_large_input),
	    cmocka_unit_test(a_result_that_does_not_fit_is_an_error_of_the_tool),
	    cmocka_unit_test(a_call_cancelled_before_it_began_leaves_its_traces),
	    cmocka_unit_test(output_that_is_no_text_at_all_ends),
	    cmocka_unit_test(nobody_else_is_let_in_without_a_token),
	    cmocka_unit_test(tools_can_come_and_go),
	    cmocka_unit_test(a_worker_does_not_see_memory_tools),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
