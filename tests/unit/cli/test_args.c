/* test_args.c - command lines are read by the table, and slips are named. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cli/args.h"

static int
parse(const char *command, const char *const *argv, struct args *a, struct err *e)
{
	return args_parse(command_find(command), (char *const *)argv, a, e);
}

static void
options_may_stand_anywhere_and_take_values_in_every_form(void **state)
{
	const char *argv[] = {"shell", "-w", "/a", "{}", "--session=s1", "-y", NULL};
	struct args a;
	struct err e;

	(void)state;
	assert_int_equal(parse("call", argv, &a, &e), 0);
	assert_int_equal(a.count, 2);
	assert_string_equal(a.words[1], "{}");
	assert_string_equal(args_value(&a, "workspace"), "/a");
	assert_string_equal(args_value(&a, "session"), "s1");
	assert_true(args_given(&a, "yes"));
	assert_false(args_given(&a, "json"));
}

static void
a_dash_is_an_argument_and_two_end_the_options(void **state)
{
	const char *dash[] = {"shell", "-", NULL}, *two[] = {"--", "--json", NULL};
	struct args a;
	struct err e;

	(void)state;
	assert_int_equal(parse("call", dash, &a, &e), 0);
	assert_string_equal(a.words[1], "-");
	assert_int_equal(parse("call", two, &a, &e), 0);
	assert_string_equal(a.words[0], "--json");
	assert_false(args_given(&a, "json"));
}

/* `holdfast add` runs what stands behind "--", and takes options more than once (issue 5). */
static void
a_command_line_of_its_own_stays_whole(void **state)
{
	const char *argv[] = {"-e", "A=1", "x", "--env=B=2", "--", "npx", "-y", "--", "z", NULL};
	struct args a;
	struct err e;
	size_t at = 0;

	(void)state;
	assert_int_equal(parse("add", argv, &a, &e), 0);
	assert_int_equal(a.count, 1);
	assert_string_equal(a.words[0], "x");
	assert_string_equal(args_next(&a, "env", &at), "A=1");
	assert_string_equal(args_next(&a, "env", &at), "B=2");
	assert_null(args_next(&a, "env", &at));
	assert_string_equal(args_value(&a, "env"), "B=2");
	assert_non_null(a.rest);
	assert_string_equal(a.rest[0], "npx");
	assert_string_equal(a.rest[2], "--");
	assert_string_equal(a.rest[3], "z");
	assert_null(a.rest[4]);
}

static void
letters_share_a_dash_and_the_last_may_take_the_rest(void **state)
{
	const char *argv[] = {"-yw/a", "t", NULL};
	struct args a;
	struct err e;

	(void)state;
	assert_int_equal(parse("call", argv, &a, &e), 0);
	assert_true(args_given(&a, "yes"));
	assert_string_equal(args_value(&a, "workspace"), "/a");
}

static void
slips_are_named(void **state)
{
	static const struct {
		const char *command;
		const char *argv[4];
		const char *says;
	} rows[] = {
	    {"call", {"t", "--jsn"}, "there is no option --jsn; did you mean --json?"},
	    {"call", {"t", "--workspace"}, "--workspace needs DIR"},
	    {"call", {"t", "--yes=no"}, "--yes takes no value"},
	    {"call", {"t", "-q"}, "there is no option -q"},
	    {"call", {NULL}, "it needs TOOL [JSON|-]"},
	    {"status", {"more"}, "'more' is one argument too many"},
	    {"tools", {"--xyzzy"}, "there is no option --xyzzy"},
	};
	struct args a;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(parse(rows[i].command, rows[i].argv, &a, &e), E_BAD_REQUEST);
		assert_string_equal(e.text, rows[i].says);
	}
}

static void
help_is_asked_for_without_arguments(void **state)
{
	const char *argv[] = {"-h", NULL};
	struct args a;
	struct err e;

	(void)state;
	assert_int_equal(parse("call", argv, &a, &e), 0);
	assert_true(a.help);
}

static void
misspelt_commands_have_a_nearest_name(void **state)
{
	(void)state;
	assert_string_equal(command_near("", "cal"), "call");
	assert_string_equal(command_near("", "evnets"), "events");
	assert_string_equal(command_near("", "aprove"), "approve");
	assert_string_equal(command_near("", "completio"), "completion");
	assert_string_equal(command_near("", "schmea"), "schema");
	assert_string_equal(command_near("schema", "chek"), "schema check");
	assert_string_equal(command_near("json", "canonn"), "json canon");
	assert_null(command_near("schema", "canon"));
	assert_null(command_near("call", "check"));
	assert_null(command_near("", "xyzzy"));
	assert_null(command_find("nothing"));
}

static void
a_command_of_a_group_has_two_words(void **state)
{
	static const struct {
		const char *words[3];
		const char *name; /* NULL: there is none */
		size_t used;
	} rows[] = {
	    {{"schema", "check"}, "schema check", 2},
	    {{"schema", "nothing"}, "schema", 1},
	    {{"schema"}, "schema", 1},
	    {{"json", "digest"}, "json digest", 2},
	    {{"call", "check"}, "call", 1},
	    {{"check"}, NULL, 1},
	    {{NULL}, NULL, 1},
	};
	size_t used;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct command_row *found = command_of(rows[i].words, &used);
		assert_int_equal(used, rows[i].used);
		assert_true(rows[i].name ? found && !strcmp(found->name, rows[i].name) : !found);
	}
	assert_true(command_is_group(command_find("schema")));
	assert_false(command_is_group(command_find("schema check")));
	assert_false(command_is_group(command_find("call")));
	assert_string_equal(command_within(command_find("schema check"), "schema"), "check");
	assert_string_equal(command_within(command_find("schema"), ""), "schema");
	assert_null(command_within(command_find("schema check"), ""));
	assert_null(command_within(command_find("schema check"), "sch"));
	assert_null(command_within(command_find("schema"), "schema"));
}

/* A second word needs its first one in the table, or nobody would find it. */
static void
every_group_has_a_row(void **state)
{
	char group[64];

	(void)state;
	for (size_t i = 0; i < command_count; i++) {
		const char *blank = strchr(command_rows[i].name, ' ');
		if (!blank)
			continue;
		snprintf(group, sizeof(group), "%.*s", (int)(blank - command_rows[i].name),
			 command_rows[i].name);
		if (!command_find(group))
			fail_msg("'%s' has no row of its own", group);
	}
}

static void
read_whole(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	out->len = fread(buf_room(out, 200000), 1, 200000, f);
	fclose(f);
}

/* In mdoc an option is "Fl -name"; elsewhere it is typed as it is. */
static void
manual_and_guide_name_every_command_and_option(void **state)
{
	struct buf man = BUF_INIT(400000), guide = BUF_INIT(400000);
	char word[64];

	(void)state;
	read_whole("docs/man/holdfast.1", &man);
	read_whole("docs/cli.md", &guide);
	for (size_t i = 0; i < command_count; i++) {
		snprintf(word, sizeof(word), ".It Cm %s", command_rows[i].name);
		assert_true(strstr(buf_z(&man), word));
		snprintf(word, sizeof(word), "holdfast %s", command_rows[i].name);
		assert_true(strstr(buf_z(&guide), word));
	}
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		snprintf(word, sizeof(word), "Fl -%s", option_rows[i].name);
		if (!strstr(buf_z(&man), word))
			fail_msg("the manual lacks --%s", option_rows[i].name);
		snprintf(word, sizeof(word), "--%s", option_rows[i].name);
		if (!strstr(buf_z(&guide), word))
			fail_msg("docs/cli.md lacks --%s", option_rows[i].name);
	}
	buf_done(&man);
	buf_done(&guide);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(options_may_stand_anywhere_and_take_values_in_every_form),
	    cmocka_unit_test(a_dash_is_an_argument_and_two_end_the_options),
	    cmocka_unit_test(a_command_line_of_its_own_stays_whole),
	    cmocka_unit_test(letters_share_a_dash_and_the_last_may_take_the_rest),
	    cmocka_unit_test(slips_are_named),
	    cmocka_unit_test(help_is_asked_for_without_arguments),
	    cmocka_unit_test(misspelt_commands_have_a_nearest_name),
	    cmocka_unit_test(a_command_of_a_group_has_two_words),
	    cmocka_unit_test(every_group_has_a_row),
	    cmocka_unit_test(manual_and_guide_name_every_command_and_option),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
