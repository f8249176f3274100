/* test_tool.c - a card becomes a tool, or is refused by the name of its field. */

#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "catalog/tool.h"

#define SCHEMA                                                                                     \
	"\"input_schema\": {\"type\": \"object\", \"properties\": {\"p\": {\"type\": "             \
	"\"string\"}}}"
#define EFFECTS "\"capability\": \"write\", \"reversibility\": \"pure\""
#define START "{\"name\": \"t\", \"description\": \"d\", "
#define GOOD START EFFECTS ", " SCHEMA "}"

static struct tool *
made(const char *card)
{
	struct tool *t = NULL;
	struct err e = ERR_NONE;

	if (tool_new(str_of(card), &t, &e) < 0)
		print_error("%s\n", e.text);
	assert_non_null(t);
	return t;
}

static void
refused(const char *card, const char *text)
{
	struct tool *t = NULL;
	struct err e;

	assert_int_equal(tool_new(str_of(card), &t, &e), E_VALIDATION);
	assert_string_equal(e.text, text);
	assert_null(t);
}

static void
a_small_card_gets_its_defaults(void **state)
{
	struct tool *t = made(GOOD);

	(void)state;
	assert_true(str_is(t->name, "t"));
	assert_null(t->title.ptr);
	assert_int_equal(t->capability, CAP_WRITE);
	assert_int_equal(t->reversibility, REV_PURE);
	assert_int_equal(t->timeout_ms, LIMIT_CALL_MS);
	assert_int_equal(t->max_running, 0);
	assert_false(t->requires_workspace);
	assert_false(t->memory);
	assert_non_null(t->compiled);
	tool_unref(t);
}

static void
a_full_card_is_taken_as_it_stands(void **state)
{
	struct tool *t =
	    made(START "\"title\": \"T\", \"capability\": \"network\", \"reversibility\": "
		       "\"irreversible\", " SCHEMA ", \"path_arguments\": [\"p\"], "
		       "\"command_argument\": \"p\", \"memory\": true, \"timeout_ms\": 5, "
		       "\"max_running\": 1, \"examples\": [{\"input\": {\"p\": \"x\"}, \"note\": "
		       "\"n\"}]}");

	(void)state;
	assert_true(str_is(t->title, "T"));
	assert_int_equal(t->timeout_ms, 5);
	assert_int_equal(t->max_running, 1);
	assert_true(t->memory);
	assert_true(t->requires_workspace); /* because it has paths */
	assert_int_equal(json_len(t->path_arguments), 1);
	assert_true(str_is(t->command_argument, "p"));
	assert_int_equal(json_len(t->examples), 1);
	tool_unref(t);
}

static void
slow_capabilities_get_ten_minutes(void **state)
{
	static const struct {
		const char *word;
		unsigned timeout_ms;
	} cases[] = {{"none", LIMIT_CALL_MS},
		     {"read", LIMIT_CALL_MS},
		     {"write", LIMIT_CALL_MS},
		     {"execute", LIMIT_CALL_SLOW_MS},
		     {"network", LIMIT_CALL_SLOW_MS}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char card[512];
		snprintf(card, sizeof(card),
			 START "\"capability\": \"%s\", \"reversibility\": \"pure\", " SCHEMA "}",
			 cases[i].word);
		struct tool *t = made(card);
		assert_string_equal(capability_name(t->capability), cases[i].word);
		assert_int_equal(t->timeout_ms, cases[i].timeout_ms);
		tool_unref(t);
	}
}

static void
every_refusal_names_tool_and_field(void **state)
{
	static const struct {
		const char *card, *text;
	} cases[] = {
	    {START "\"capability\": \"Write\", \"reversibility\": \"pure\", " SCHEMA "}",
	     "t: capability: must be one of none, read, write, execute, network"},
	    {START "\"capability\": \"write\", \"reversibility\": \"maybe\", " SCHEMA "}",
	     "t: reversibility: must be one of pure, idempotent, compensatable, irreversible"},
	    {START "\"reversibility\": \"pure\", " SCHEMA "}", "t: capability: is required"},
	    {START "\"capability\": \"write\", " SCHEMA "}", "t: reversibility: is required"},
	    {START EFFECTS "}", "t: input_schema: is required"},
	    {START EFFECTS ", " SCHEMA ", \"colour\": 1}", "t: colour: is not a known field"},
	    {START EFFECTS ", " SCHEMA ", \"timeout_ms\": 0}",
	     "t: timeout_ms: must be between 1 and 86400000"},
	    {START EFFECTS ", " SCHEMA ", \"max_running\": -1}",
	     "t: max_running: must be between 0 and 1024"},
	    {START EFFECTS ", " SCHEMA ", \"path_arguments\": [\"q\"]}",
	     "t: path_arguments: input_schema has no property 'q'"},
	    {START EFFECTS ", " SCHEMA ", \"path_arguments\": [1]}",
	     "t: path_arguments: must hold strings"},
	    {START EFFECTS ", " SCHEMA ", \"command_argument\": \"q\"}",
	     "t: command_argument: input_schema has no property 'q'"},
	    {START EFFECTS ", " SCHEMA ", \"examples\": [{\"note\": \"n\"}]}",
	     "t: examples[0].input: is required"},
	    {START EFFECTS ", \"input_schema\": {\"type\": \"string\"}}",
	     "t: input_schema: type must be \"object\""},
	    {"{" EFFECTS ", " SCHEMA ", \"description\": \" \", \"name\": \"t\"}",
	     "t: description: must not be empty"},
	    {"{" EFFECTS ", " SCHEMA ", \"description\": \"d\", \"name\": \"a b\"}",
	     "a b: name: must be 1 to 64 of A-Z a-z 0-9 _ -"},
	    {"{" EFFECTS ", " SCHEMA ", \"description\": \"d\", \"name\": \"\"}",
	     "card: name: must be 1 to 64 of A-Z a-z 0-9 _ -"},
	    {"{" EFFECTS ", " SCHEMA ", \"description\": \"d\"}", "card: name: is required"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		refused(cases[i].card, cases[i].text);
}

static void
what_is_no_card_is_refused(void **state)
{
	struct tool *t = NULL;
	struct err e;

	(void)state;
	assert_int_equal(tool_new(S("{"), &t, &e), E_VALIDATION);
	assert_int_equal(tool_new(S("[]"), &t, &e), E_VALIDATION);
	assert_int_equal(tool_new(S("{\"name\": \"a\", \"name\": \"b\"}"), &t, &e), E_VALIDATION);
}

/* Required test 1 of the dispatcher's document. */
static void
a_schema_outside_the_portable_subset_is_refused_with_its_path(void **state)
{
	(void)state;
	refused(START EFFECTS ", \"input_schema\": {\"type\": \"object\", \"properties\": {\"x\": "
			      "{\"anyOf\": [{\"type\": \"string\"}]}}}}",
		"t: input_schema: $.properties.x: disallowed JSON Schema keyword 'anyOf'");
}

static void
capabilities_are_parsed_in_any_case(void **state)
{
	enum capability c = CAP_NONE;

	(void)state;
	assert_true(capability_parse(S("EXECUTE"), &c));
	assert_int_equal(c, CAP_EXECUTE);
	assert_true(capability_parse(S("read"), &c));
	assert_int_equal(c, CAP_READ);
	assert_false(capability_parse(S("reads"), &c));
	assert_false(capability_parse(S(""), &c));
}

static int freed;

static void
count_free(void *provider_data)
{
	(void)provider_data;
	freed++;
}

static void
a_tool_lives_until_its_last_reference(void **state)
{
	struct tool *t = made(GOOD);

	(void)state;
	t->provider_free = count_free;
	tool_ref(t);
	tool_unref(t);
	assert_int_equal(freed, 0);
	assert_true(str_is(t->description, "d"));
	tool_unref(t);
	assert_int_equal(freed, 1);
	tool_unref(NULL);
}

static void
lists_show_effects_and_schema(void **state)
{
	struct tool *t = made(GOOD);
	struct buf b = BUF_INIT(4096);
	struct jw w = jw(&b);

	(void)state;
	tool_write(&w, t);
	assert_string_equal(
	    buf_z(&b),
	    "{\"name\":\"t\",\"id\":\"builtin:t#143efa09\",\"description\":\"d\",\"capability\":"
	    "\"write\",\"side_effects\":"
	    "\"write\","
	    "\"reversibility\":\"pure\",\"requires_workspace\":false,\"timeout_ms\":60000,"
	    "\"input_schema\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"string\"}}}}");
	buf_done(&b);
	tool_unref(t);
}

/* Tools of servers (issue 5). */

static struct tool *
adopted(const char *definition, bool trusted)
{
	struct json_doc *doc = NULL;
	struct tool *t = NULL;
	struct err e = ERR_NONE;

	assert_int_equal(json_parse(str_of(definition), &json_door, &doc, &e), 0);
	struct tool_origin from = {.server = S("git.hub"),
				   .ns = S("git.hub"),
				   .name = S("git_hub__make"),
				   .definition = json_root(doc),
				   .doc = doc,
				   .trusted = trusted};
	if (tool_adopt(&from, &t, &e) < 0)
		print_error("%s\n", e.text);
	json_doc_unref(doc);
	return t;
}

static void
a_stranger_is_network_and_irreversible_whatever_it_says(void **state)
{
	const char *text = "{\"name\":\"make\",\"annotations\":{\"readOnlyHint\":true}}";
	struct tool *t = adopted(text, false);

	(void)state;
	assert_int_equal(t->capability, CAP_NETWORK);
	assert_int_equal(t->reversibility, REV_IRREVERSIBLE);
	assert_int_equal(t->confirm, -1);
	tool_unref(t);
	t = adopted(text, true);
	assert_int_equal(t->capability, CAP_READ);
	assert_int_equal(t->reversibility, REV_PURE);
	tool_unref(t);
}

static void
hints_that_are_not_given_are_the_careful_ones(void **state)
{
	static const struct {
		const char *annotations;
		enum capability capability;
		enum reversibility reversibility;
	} rows[] = {
	    {"{}", CAP_NETWORK, REV_IRREVERSIBLE},
	    {"{\"openWorldHint\":false}", CAP_WRITE, REV_IRREVERSIBLE},
	    {"{\"openWorldHint\":false,\"idempotentHint\":true}", CAP_WRITE, REV_IDEMPOTENT},
	    {"{\"readOnlyHint\":\"yes\"}", CAP_NETWORK, REV_IRREVERSIBLE},
	    {"[]", CAP_NETWORK, REV_IRREVERSIBLE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[160];
		snprintf(text, sizeof(text), "{\"name\":\"make\",\"annotations\":%s}",
			 rows[i].annotations);
		struct tool *t = adopted(text, true);
		assert_int_equal(t->capability, rows[i].capability);
		assert_int_equal(t->reversibility, rows[i].reversibility);
		tool_unref(t);
	}
}

static void
what_a_server_says_of_its_tool_is_listed_as_it_is(void **state)
{
	struct tool *t =
	    adopted("{\"name\":\"make\",\"x\":1.5,\"inputSchema\":{\"type\":\"object\","
		    "\"$defs\":{\"a\":{}}},\"_meta\":{\"k\":[1]}}",
		    false);

	(void)state;
	assert_true(str_is(t->upstream_name, "make"));
	assert_true(str_starts(t->id, S("git_hub:make#")));
	assert_true(str_is(tool_listing(t),
			   "\"description\":\"make\",\"inputSchema\":{\"type\":\"object\","
			   "\"$defs\":{\"a\":{}}},\"x\":1.5,\"_meta\":{\"k\":[1]}"));
	tool_unlist(t); /* forgotten, it is made again */
	assert_true(str_starts(tool_listing(t), S("\"description\":\"make\",")));
	tool_unref(t);
}

static void
a_schema_is_compiled_when_it_is_needed_and_a_bad_one_says_so_again(void **state)
{
	struct tool *t =
	    adopted("{\"name\":\"make\",\"inputSchema\":{\"$ref\":\"http://x.test/s\"}}", false);
	const struct schema *s = NULL;
	struct err e;

	(void)state;
	assert_null(t->compiled);
	for (int i = 0; i < 2; i++) {
		e = ERR_NONE;
		assert_int_equal(tool_schema(t, &s, &e), E_VALIDATION);
		assert_non_null(strstr(e.text, "git_hub__make cannot be called"));
	}
	tool_unref(t);
	t = adopted("{\"name\":\"make\"}", false);
	assert_int_equal(tool_schema(t, &s, &e), 0);
	assert_ptr_equal(s, t->compiled);
	tool_unref(t);
}

static void
what_is_no_definition_is_refused(void **state)
{
	(void)state;
	assert_null(adopted("{\"description\":\"x\"}", true));
	assert_null(adopted("[]", true));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_small_card_gets_its_defaults),
	    cmocka_unit_test(a_full_card_is_taken_as_it_stands),
	    cmocka_unit_test(slow_capabilities_get_ten_minutes),
	    cmocka_unit_test(every_refusal_names_tool_and_field),
	    cmocka_unit_test(what_is_no_card_is_refused),
	    cmocka_unit_test(a_schema_outside_the_portable_subset_is_refused_with_its_path),
	    cmocka_unit_test(capabilities_are_parsed_in_any_case),
	    cmocka_unit_test(a_tool_lives_until_its_last_reference),
	    cmocka_unit_test(lists_show_effects_and_schema),
	    cmocka_unit_test(a_stranger_is_network_and_irreversible_whatever_it_says),
	    cmocka_unit_test(hints_that_are_not_given_are_the_careful_ones),
	    cmocka_unit_test(what_a_server_says_of_its_tool_is_listed_as_it_is),
	    cmocka_unit_test(a_schema_is_compiled_when_it_is_needed_and_a_bad_one_says_so_again),
	    cmocka_unit_test(what_is_no_definition_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
