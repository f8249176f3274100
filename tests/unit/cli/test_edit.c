/* test_edit.c - servers put into configuration files and taken out, everything else untouched
 * (issue 5). */

#include "unit.h"

#include "base/limits.h"
#include "cli/edit.h"

#define ENTRY "{\"command\":\"npx\",\"args\":[\"-y\",\"@a/b\"],\"env\":{\"K\":\"a b\"}}"

static void
assert_added(const char *before, const char *after)
{
	struct buf out = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct err e;

	if (edit_add(str_of(before), NULL, S("new"), S(ENTRY), false, &out, &e) < 0)
		fail_msg("%s", err_text(&e));
	assert_string_equal(buf_z(&out), after);
	buf_done(&out);
}

static void
assert_removed(const char *before, const char *name, const char *after)
{
	struct buf out = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct err e;

	if (edit_remove(str_of(before), str_of(name), &out, &e) < 0)
		fail_msg("%s", err_text(&e));
	assert_string_equal(out.len ? buf_z(&out) : "", after);
	buf_done(&out);
}

static int
refusal(const char *before, const char *name, bool force)
{
	struct buf out = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct err e;
	int code = edit_add(str_of(before), NULL, str_of(name), S(ENTRY), force, &out, &e);

	buf_done(&out);
	return code;
}

#define NEW "  new:\n    command: npx\n    args: [\"-y\",\"@a/b\"]\n    env:\n      K: \"a b\"\n"

static void
the_first_server_makes_the_section(void **state)
{
	(void)state;
	assert_added("", "mcpServers:\n" NEW);
	assert_added("# mine\nretention_days: 3", "# mine\nretention_days: 3\n\nmcpServers:\n" NEW);
	assert_added("mcpServers:\nretention_days: 3\n", "mcpServers:\n" NEW "retention_days: 3\n");
	assert_added("mcpServers: ~ # none yet\n", "mcpServers: # none yet\n" NEW);
	assert_added("mcpServers: {}\n", "mcpServers: {\"new\":" ENTRY "}\n");
}

static void
others_and_their_comments_stay(void **state)
{
	(void)state;
	assert_added("# top\nmcpServers: # all\n  # the first\n  a:\n    command: x # so\n"
		     "  # the end\n\n# and more\nresults: {redact: false}\n",
		     "# top\nmcpServers: # all\n  # the first\n  a:\n    command: x # so\n"
		     "  # the end\n" NEW "\n# and more\nresults: {redact: false}\n");
	assert_added("mcpServers:\n    a: {command: x}",
		     "mcpServers:\n    a: {command: x}\n    new:\n      command: npx\n"
		     "      args: [\"-y\",\"@a/b\"]\n      env:\n        K: \"a b\"\n");
	assert_added(
	    "servers:\n  a:\n    args:\n    - |\n      # no comment\n    command: x\n",
	    "servers:\n  a:\n    args:\n    - |\n      # no comment\n    command: x\n" NEW);
}

/* Issue 5. */
static void
json_with_comments_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(refusal("{ // mine\n\"mcpServers\": {}}", "new", false), E_CONFIG);
	assert_int_equal(refusal("{\"retention_days\": 3} // three", "new", false), E_CONFIG);
}

static void
json_stays_json(void **state)
{
	(void)state;
	assert_added("{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"results\":{}}",
		     "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\"\n    },\n"
		     "    \"new\": {\n      \"command\": \"npx\",\n      \"args\": "
		     "[\"-y\",\"@a/b\"],\n      \"env\": {\n        \"K\": \"a b\"\n      }\n"
		     "    }\n  },\n  \"results\": {}\n}\n");
	assert_added("x: 1\nservers: {a: {command: '}'}}\n",
		     "x: 1\nservers: {\"a\":{\"command\":\"}\"},\"new\":" ENTRY "}\n");
}

static void
one_is_taken_out_alone(void **state)
{
	(void)state;
	assert_removed("mcpServers:\n  a:\n    command: x\n\n  # of b\n  b: {command: y}\nz: 1\n",
		       "a", "mcpServers:\n\n  # of b\n  b: {command: y}\nz: 1\n");
	assert_removed("mcpServers:\n  a: {command: x}\n  b:\n    command: y\n    env:\n"
		       "      K: v\n# end\n",
		       "b", "mcpServers:\n  a: {command: x}\n# end\n");
	assert_removed("mcpServers:\n  a: {command: x}\n", "a", "mcpServers:\n");
	assert_removed(
	    "mcpServers: {a: {command: x}}\nservers:\n  b: {command: y}\n  c: {url: z}\n", "b",
	    "mcpServers: {a: {command: x}}\nservers:\n  c: {url: z}\n");
	assert_removed("{\"servers\": {\"a\": {}, \"b\": {}}}", "a",
		       "{\n  \"servers\": {\n    \"b\": {}\n  }\n}\n");
}

static void
a_name_that_is_taken_is_refused_unless_it_is_meant(void **state)
{
	struct buf out = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct err e;

	(void)state;
	assert_int_equal(refusal("mcpServers: {new: {command: x}}", "new", false), E_EXISTS);
	assert_int_equal(refusal("servers: {new: {command: x}}", "new", false), E_EXISTS);
	assert_int_equal(edit_add(S("mcpServers:\n  new: {command: x} # old\n  b: {url: y}\n"),
				  NULL, S("new"), S("{\"url\":\"http://z\"}"), true, &out, &e),
			 0);
	assert_string_equal(buf_z(&out),
			    "mcpServers:\n  b: {url: y}\n  new:\n    url: \"http://z\"\n");
	buf_done(&out);
}

static void
what_cannot_be_read_is_left_alone(void **state)
{
	struct buf out = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct err e;

	(void)state;
	assert_int_equal(refusal("mcpServers: [\n", "x", false), E_CONFIG);
	assert_int_equal(refusal("- a\n", "x", false), E_CONFIG);
	assert_int_equal(refusal("mcpServers: 3\n", "x", false), E_CONFIG);
	assert_int_equal(refusal("a: 1\n...\n", "x", false), E_CONFIG);
	assert_int_equal(edit_remove(S("mcpServers:\n  a: {command: x}\n"), S("b"), &out, &e),
			 E_NO_SERVER);
	assert_non_null(strstr(e.text, "there are: a"));
	buf_done(&out);
}

/* Names that YAML would take for something else. */
static void
odd_names_are_quoted(void **state)
{
	static const char *const names[] = {"true",  "1",  "a b", "a: b", "#x",
					    "\"q\"", "@x", "-",   "a/b",  "Ünï"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(refusal("mcpServers:\n  a: {command: x}\n", names[i], false), 0);
		assert_int_equal(refusal("", names[i], false), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_server_makes_the_section),
	    cmocka_unit_test(others_and_their_comments_stay),
	    cmocka_unit_test(json_with_comments_is_left_alone),
	    cmocka_unit_test(json_stays_json),
	    cmocka_unit_test(one_is_taken_out_alone),
	    cmocka_unit_test(a_name_that_is_taken_is_refused_unless_it_is_meant),
	    cmocka_unit_test(what_cannot_be_read_is_left_alone),
	    cmocka_unit_test(odd_names_are_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
