/* test_show.c - events, tables and questions as people read them. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/show.h"
#include "cli/term.h"

static struct json_doc *
parse(const char *text)
{
	struct json_doc *doc;
	struct err e;

	assert_int_equal(json_parse(str_of(text), &json_door, &doc, &e), 0);
	return doc;
}

/* What a function prints to standard output. */
static void
assert_prints(void (*print)(const struct json *v), const char *json, const char *expected)
{
	struct json_doc *doc = parse(json);
	FILE *f = tmpfile();
	char *text = NULL;
	size_t len = 0;

	fflush(stdout);
	int kept = dup(STDOUT_FILENO);
	dup2(fileno(f), STDOUT_FILENO);
	print(json_root(doc));
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	rewind(f);
	assert_true(getdelim(&text, &len, '\0', f) >= 0);
	assert_string_equal(text, expected);
	free(text);
	fclose(f);
	json_doc_unref(doc);
}

static void
an_event_is_one_line_with_its_gist(void **state)
{
	(void)state;
	assert_prints(
	    show_event,
	    "{\"timestamp\":\"2026-05-08T12:00:00.000000Z\",\"session_id\":\"sess_01ABCDEFGH\","
	    "\"type\":\"tool.failed\",\"payload\":{\"tool_name\":\"shell\",\"error_class\":"
	    "\"timeout\",\"error_message\":\"a\\n\\u001b[2Jb\"}}",
	    "12:00:00 ABCDEFGH tool.failed                 shell: timeout: a\\n\\e[2Jb\n");
}

static void
what_has_no_value_is_left_out_with_its_words(void **state)
{
	(void)state;
	assert_prints(
	    show_event,
	    "{\"timestamp\":\"2026-05-08T12:00:00.000000Z\",\"session_id\":\"s\",\"type\":"
	    "\"tool.completed\",\"payload\":{\"tool_name\":\"t\",\"latency_ms\":3,"
	    "\"files_modified\":[\"a\",\"b\"],\"command_executed\":null}}",
	    "12:00:00 s        tool.completed              t in 3 ms, changed a, b\n");
}

static void
an_event_of_a_newer_gateway_shows_its_payload(void **state)
{
	(void)state;
	assert_prints(
	    show_event,
	    "{\"timestamp\":\"2026-05-08T12:00:00.000000Z\",\"session_id\":\"s\",\"type\":\"new."
	    "kind\",\"payload\":{\"x\":1}}",
	    "12:00:00 s        new.kind                    {\"x\":1}\n");
}

static void
table(const struct json *rows)
{
	static const struct column columns[] = {{"NAME", "n", SHOW_TEXT},
						{"RAN", "ms", SHOW_MS},
						{"SAYS", "description", SHOW_TOOL}};

	show_table(rows, columns, ARRAY_LEN(columns));
}

static void
columns_of_a_table_are_as_wide_as_their_widest_cell(void **state)
{
	(void)state;
	assert_prints(
	    table,
	    "[{\"n\":\"longer\",\"ms\":12345,\"description\":\"First. Second.\"},{\"n\":null,"
	    "\"ms\":5,\"description\":\"v1.2 is one\",\"changed\":true}]",
	    "NAME    RAN     SAYS\n"
	    "longer  12.3 s  First\n"
	    "        5 ms    [changed: see `holdfast pins`] v1.2 is one\n");
}

static void
what(const struct json *row)
{
	struct buf text = BUF_INIT(1000);

	what_text(&text, row);
	printf("%s.", buf_z(&text));
	buf_done(&text);
}

static void
a_call_is_about_its_command_its_files_or_its_arguments(void **state)
{
	static const struct {
		const char *row, *shown;
	} rows[] = {
	    {"{\"command\":\"ls\\n\",\"input\":{\"path\":\"p\"}}", "ls\\n."},
	    {"{\"command_summary\":\"ls\",\"input_summary\":\"{}\"}", "ls."},
	    {"{\"command\":null,\"projected_modifications\":[\"a\",\"b\"]}", "a, b."},
	    {"{\"projected_modifications\":[],\"input\":{\"path\":\"p\"}}", "p."},
	    {"{\"files_modified\":null,\"input\":{\"command\":\"x\"}}", "x."},
	    {"{\"input\":{\"n\":1}}", "{\"n\":1}."},
	    {"{\"input_summary\":\"{\\\"n\\\": 1}\"}", "{\"n\": 1}."},
	    {"{\"input\":{}}", "."},
	    {"{\"input\":null}", "."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_prints(what, rows[i].row, rows[i].shown);
}

static void
journal(const struct json *rows)
{
	static const struct column columns[] = {{"OUTCOME", NULL, SHOW_OUTCOME}};

	show_table(rows, columns, ARRAY_LEN(columns));
}

static void
how_a_call_ended_is_one_word(void **state)
{
	(void)state;
	assert_prints(journal,
		      "[{\"state\":\"completed\",\"success\":true},{\"state\":\"completed\","
		      "\"success\":false},{\"state\":\"failed\",\"success\":false},"
		      "{\"state\":\"running\"}]",
		      "OUTCOME\nok\nerror\nfailed\nrunning\n");
}

static void
content(const struct json *blocks)
{
	show_content(blocks, 0);
}

static void
text_blocks_pass_as_bytes_and_others_are_named(void **state)
{
	(void)state;
	assert_prints(content,
		      "[{\"type\":\"text\",\"text\":\"a\\u001bb\"},{\"type\":\"image\",\"source\":"
		      "{\"media_type\":\"image/png\",\"data\":\"AAAAAA==\"}}]",
		      "a\033b\n[image image/png 4 bytes]\n");
}

static void
nothing_typed_is_no_and_only_the_choices_are_taken(void **state)
{
	struct json_doc *plain = parse("{}"), *command = parse("{\"prefix\":\"git status\"}");

	(void)state;
	assert_false(ask_choice(json_root(plain), S("\n"))->allow);
	assert_true(ask_choice(json_root(plain), S(" y \n"))->allow);
	assert_string_equal(ask_choice(json_root(plain), S("y"))->scope, "once");
	assert_string_equal(ask_choice(json_root(plain), S("a"))->scope, "workspace");
	assert_false(ask_choice(json_root(plain), S("never"))->allow);
	assert_string_equal(ask_choice(json_root(plain), S("N"))->scope, "workspace");
	assert_string_equal(ask_choice(json_root(plain), S("n"))->scope, "once");
	assert_null(ask_choice(json_root(plain), S("p")));
	assert_string_equal(ask_choice(json_root(command), S("p"))->scope, "workspace_prefix");
	assert_null(ask_choice(json_root(plain), S("yy")));
	json_doc_unref(plain);
	json_doc_unref(command);
}

static void
effect(const struct json *q)
{
	ask_show(stdout, q);
}

static void
question(const struct json *q)
{
	ask_show(stdout, q);
	ask_keys(stdout, q);
}

static void
a_question_shows_the_whole_command_behind_a_margin(void **state)
{
	(void)state;
	assert_prints(
	    question,
	    "{\"tool_name\":\"shell\",\"side_effects\":\"execute\",\"workspace_path\":\"/w\","
	    "\"rule\":\"default.EXECUTE\",\"command\":\"ls\\nAllow? y\\r\\u202e\","
	    "\"confirmation_prompt\":\"Money.\\nSure?\\u001b\"}",
	    "\nshell wants to execute in /w\n"
	    "  │ Money.\n"
	    "  │ Sure?\\e\n"
	    "  asked by rule  default.EXECUTE\n"
	    "  │ ls\n"
	    "  │ Allow? y\\r\\u{202e}\n"
	    "  y  yes, this once\n"
	    "  n  no (Enter alone is no, too)\n"
	    "  a  always: allow shell in this workspace from now on\n"
	    "  N  never: refuse shell in this workspace from now on\n");
}

static void
behind_a_diff_that_is_cut_stands_the_whole_input(void **state)
{
	(void)state;
	assert_prints(effect,
		      "{\"tool_name\":\"write_file\",\"side_effects\":\"write\","
		      "\"workspace_path\":\"/w\",\"rule\":\"default.WRITE\","
		      "\"diff\":\"+x\\n[1 more lines of this diff are not shown]\\n\","
		      "\"diff_cut\":true,\"input\":{\"content\":\"x\\ny\\u001b\"}}",
		      "\nwrite_file wants to write in /w\n"
		      "  asked by rule  default.WRITE\n"
		      "  │ +x\n"
		      "  │ [1 more lines of this diff are not shown]\n"
		      "  the diff does not show all; the whole input (24 bytes):\n"
		      "  │ {\"content\":\"x\\ny\\u001b\"}\n");
}

/* Issue 5: "wants to network". */
static void
what_a_tool_wants_is_a_verb(void **state)
{
	(void)state;
	assert_prints(effect,
		      "{\"tool_name\":\"far\",\"side_effects\":\"network\","
		      "\"workspace_path\":\"/w\",\"rule\":\"default.NETWORK\",\"input\":{}}",
		      "\nfar wants to reach the network in /w\n"
		      "  asked by rule  default.NETWORK\n"
		      "  │ {}\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_event_is_one_line_with_its_gist),
	    cmocka_unit_test(what_has_no_value_is_left_out_with_its_words),
	    cmocka_unit_test(an_event_of_a_newer_gateway_shows_its_payload),
	    cmocka_unit_test(columns_of_a_table_are_as_wide_as_their_widest_cell),
	    cmocka_unit_test(a_call_is_about_its_command_its_files_or_its_arguments),
	    cmocka_unit_test(how_a_call_ended_is_one_word),
	    cmocka_unit_test(text_blocks_pass_as_bytes_and_others_are_named),
	    cmocka_unit_test(nothing_typed_is_no_and_only_the_choices_are_taken),
	    cmocka_unit_test(a_question_shows_the_whole_command_behind_a_margin),
	    cmocka_unit_test(what_a_tool_wants_is_a_verb),
	    cmocka_unit_test(behind_a_diff_that_is_cut_stands_the_whole_input),
	};
	setenv("TZ", "UTC", 1);
	tzset();
	term_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
