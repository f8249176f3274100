/* test_definitions.c - C functions under the name, the schema and the policy of a definition. */

#include "call/world.h"

#define FUNCTION(schema)                                                                           \
	"{\"name\":\"lookup\",\"description\":\"Looks.\",\"capability\":\"read\","                 \
	"\"reversibility\":\"pure\",\"input_schema\":" schema "}"
#define ANY "{\"type\":\"object\"}"
#define KEYED                                                                                      \
	"{\"type\":\"object\",\"required\":[\"key\"],\"properties\":{\"key\":{\"type\":"           \
	"\"string\"}}}"

static unsigned ran;

static int
look(void *instance, struct hf_job *job)
{
	const char *input = hf_job_input(job);

	(void)instance;
	ran++;
	hf_job_text(job, input, strlen(input));
	return 0;
}
static const struct hf_tool looker = {.run = look};

static void
check(struct world *w, const char *tool, const char *input, bool fails, const char *says)
{
	struct result r = world_call(w, tool, input);

	assert_int_equal(r.is_error, fails);
	if (!contains(result_text(&r), says))
		fail_msg("%.*s", STR_ARG(result_text(&r)));
	result_free(&r);
}

static const struct tool *
tool_of(struct world *w, const char *name)
{
	return catalog_find(w->hf->catalog, str_of(name));
}

static void
test_7_a_function_has_the_name_and_policy_of_its_definition(void **state)
{
	struct world *w = world_new(
	    "definitions:\n"
	    "- {name: find_key, description: Finds., gateway: internal, side_effect_policy: "
	    "idempotent,\n"
	    "   gateway_config: {function: lookup}, parameter_schema: {type: object, properties: "
	    "{n: {type: integer}}}}\n"
	    "tool_confirmation: {default: {READ: auto, NETWORK: auto}}\n");

	(void)state;
	ran = 0;
	assert_null(tool_of(w, "find_key")); /* nobody could run it yet */
	assert_int_equal(hf_register(w->hf, FUNCTION(KEYED), &looker, NULL), 0);
	const struct tool *t = tool_of(w, "find_key");
	assert_non_null(t);
	assert_int_equal(t->capability, CAP_READ); /* what it can touch, the function says */
	assert_int_equal(t->reversibility, REV_IDEMPOTENT);
	check(w, "find_key", "{\"key\":\"k\",\"n\":1}", false, "\"key\":\"k\"");
	check(w, "find_key", "{\"key\":\"k\",\"n\":\"x\"}", true, "/n");
	check(w, "find_key", "{\"n\":1}", true, "key"); /* the function's own schema counts, too */
	assert_int_equal(ran, 1);
	assert_int_equal(hf_unregister(w->hf, "lookup"), 0);
	assert_null(tool_of(w, "find_key"));
	world_free(w);
}

static void
test_7_a_definition_of_the_same_name_stands_for_its_function(void **state)
{
	struct world *w = world_new(
	    "definitions:\n"
	    "- {name: lookup, description: Ours., gateway: internal}\n"
	    "- {name: other, description: None., gateway: internal, gateway_config: {function: "
	    "nowhere}}\n"
	    "tool_confirmation: {default: {READ: auto}}\n");

	(void)state;
	assert_int_equal(hf_register(w->hf, FUNCTION(ANY), &looker, NULL), 0);
	assert_true(str_is(tool_of(w, "lookup")->description, "Ours."));
	assert_null(tool_of(w, "other"));
	check(w, "lookup", "{\"a\":1}", false, "\"a\":1");
	assert_int_equal(hf_unregister(w->hf, "lookup"), 0);
	assert_null(tool_of(w, "lookup"));
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_7_a_function_has_the_name_and_policy_of_its_definition),
	    cmocka_unit_test(test_7_a_definition_of_the_same_name_stands_for_its_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
