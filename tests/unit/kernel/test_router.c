/* test_router.c - envelopes in, emissions out. */

#include "kernel_unit.h"

static void
takes_the_valid_example_of_the_document(void **state)
{
	struct bench *b = bench_new(NULL);

	(void)state;
	bench_take(b, "tool.call:\n"
		      "  id: \"recap.spec\"\n"
		      "  payload:\n"
		      "    include: [\"last_moves\",\"flags\"]\n"
		      "    max_items: 5\n"
		      "  meta:\n"
		      "    request_id: \"9f1f3f0c-9e6d-4d5b-9a1d-9d9f2c1a8a77\"\n"
		      "    trace: false\n");
	if (!b->last.ok)
		fail_msg("%.*s", STR_ARG(b->last.text));
	assert_str(
	    b->last.text,
	    "{\"tool.emit\":{\"id\":\"recap.spec\",\"ok\":true,\"result\":{"
	    "\"ts\":\"2026-01-01T00:00:00.000000Z\",\"kernel\":{\"version\":\"1.6.0-dev\","
	    "\"accepted\":false},\"meta_locus\":{\"accepted\":false,\"fracture_active\":false,"
	    "\"containment\":false,\"review_queue\":[]},\"last_moves\":[],\"flags\":{\"drift\":"
	    "\"none\",\"zone\":\"insight\",\"uncertainty\":\"low\"},\"note\":\"session-local; "
	    "nothing of this is exported\"}}}");
	bench_free(b);
}

static void
refuses_the_rejected_example_of_the_document(void **state)
{
	struct bench *b = bench_new(NULL);

	(void)state;
	bench_take(b, "tool.call:\n"
		      "  id: \"cards.draw\"      # not in allow-list\n"
		      "  payload: { n: 3 }\n");
	assert_str(b->last.text, "{\"tool.error\":{\"id\":\"cards.draw\",\"ok\":false,\"code\":"
				 "\"E_NAMESPACE\",\"reason\":\"namespace 'cards' not allowed\"}}");
	bench_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(takes_the_valid_example_of_the_document),
	    cmocka_unit_test(refuses_the_rejected_example_of_the_document),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
