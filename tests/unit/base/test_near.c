/* test_near.c - what counts as a misspelling. */

#include "unit.h"

#include "base/bug.h"
#include "base/near.h"

static void
slips_are_near_and_other_words_are_not(void **state)
{
	static const struct {
		const char *name, *candidate;
		bool near;
	} cases[] = {
	    {"pathh", "path", true},
	    {"lgo", "log", true},
	    {"EXEC", "execute", true},
	    {"Shell", "shell", true},
	    {"raed_file", "read_file", true},
	    {"read_fil", "read_file", true},
	    {"shal", "shell", false},
	    {"extra", "tags", false},
	    {"x", "n", false},
	    {"", "a", false},
	    {"write_file", "read_file", false},
	    {"defualt", "default", true},
	    {"trusted_workspace", "trusted_workspaces", true},
	    {"echo", "everything__echo", true},
	    {"echo", "everything_echo", false},
	    {"read_file", "files__read_files", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned best = NEAR_NONE;
		if (near_better(str_of(cases[i].name), str_of(cases[i].candidate), &best) !=
		    cases[i].near)
			fail_msg("%s, %s", cases[i].name, cases[i].candidate);
	}
}

static void
the_nearest_wins_and_long_names_are_nobodys(void **state)
{
	unsigned best = NEAR_NONE;
	char name[70];

	(void)state;
	assert_true(near_better(S("wrlte_flle"), S("write_file"), &best));
	assert_true(near_better(S("wrlte_flle"), S("wrlte_file"), &best));
	assert_false(near_better(S("wrlte_flle"), S("write_file"), &best));
	memset(name, 'a', sizeof(name));
	best = NEAR_NONE;
	assert_false(near_better((struct str){name, 70}, (struct str){name, 69}, &best));
	assert_true(near_better((struct str){name, 64}, (struct str){name, 63}, &best));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(slips_are_near_and_other_words_are_not),
	    cmocka_unit_test(the_nearest_wins_and_long_names_are_nobodys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
