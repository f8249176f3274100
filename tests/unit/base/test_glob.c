/* test_glob.c - which files a pattern means. */

#include "unit.h"

#include "base/bug.h"
#include "base/glob.h"

static void
patterns_mean_these_files_and_no_others(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool fits;
	} cases[] = {
	    /* the vectors of the document */
	    {"**/.env", ".env", true},
	    {"**/.env", "/home/user/project/.env", true},
	    {"**/.env", "/home/.env/notes.txt", false},
	    {"**/.env.*", "/home/.env.bak/notes.txt", false},
	    {"**/*credentials*", "secrets/aws-credentials.json", true},
	    {"**/id_rsa*", "/home/user/.ssh/id_rsa", true},
	    {"**/id_rsa*", "/home/user/.ssh/known_hosts", false},
	    {"*.env", "sub/.env", false},
	    /* our own */
	    {"", "", true},
	    {"", "a", false},
	    {"a", "a", true},
	    {"a", "ab", false},
	    {"ab", "a", false},
	    {"*", "", true},
	    {"*", "abc", true},
	    {"*", "a/b", false},
	    {"a*", "a", true},
	    {"*a", "ba", true},
	    {"*a*b*c", "xaxbxc", true},
	    {"*a*b*c", "xaxbx", false},
	    {"a?c", "abc", true},
	    {"a?c", "ac", false},
	    {"a?c", "a/c", false},
	    {"?", "\xc3\xa9", true},
	    {"[!a]", "\xc3\xa9", true},
	    {"?", "\xff", true},
	    {"[a-c]x", "bx", true},
	    {"[a-c]x", "dx", false},
	    {"[!a-c]x", "dx", true},
	    {"[!a-c]x", "bx", false},
	    {"[]]", "]", true},
	    {"[a-]", "-", true},
	    {"[!/]", "/", false},
	    {"a[/]b", "a/b", false},
	    {"[ab", "[ab", true},
	    {"\\*", "*", true},
	    {"\\*", "a", false},
	    {"a\\", "a\\", true},
	    {"[\\]]", "]", true},
	    {"**", "", true},
	    {"**", "a/b/c", true},
	    {"a/**", "a/b/c", true},
	    {"a/**", "a", false},
	    {"a/**/z", "a/z", true},
	    {"a/**/z", "a/b/c/z", true},
	    {"a/**/z", "a/b/c/zz", false},
	    {"a/**/z", "az", false},
	    {"**/a/*/b", "x/a/y/a/z/b", true},
	    {"**/a/*/b", "x/a/y/z/b", false},
	    {"**/x*/**/y*", "x1/q/x2/r/s/y3", true},
	    {"**/*.c", "src/base/glob.c", true},
	    {"src/**/*.[ch]", "src/glob.h", true},
	    {"src/**/*.[ch]", "test/glob.h", false},
	    {"a**b", "axb", true}, /* no whole part: as one star */
	    {"a**b", "a/b", false},
	    {"**/", "a/", true},
	    {"**/", "a", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (glob_path(str_of(cases[i].pattern), str_of(cases[i].path)) != cases[i].fits)
			fail_msg("%s, %s", cases[i].pattern, cases[i].path);
}

static void
a_pattern_without_a_slash_means_the_name(void **state)
{
	(void)state;
	assert_true(glob_file(S(""), S("a/b.c")));
	assert_true(glob_file(S("*"), S("a/b.c")));
	assert_true(glob_file(S("*.c"), S("a/b.c")));
	assert_true(glob_file(S("b.c"), S("b.c")));
	assert_true(glob_file(S(".env"), S("deep/er/.env")));
	assert_true(glob_file(S("a/*.c"), S("a/b.c")));
	assert_false(glob_file(S("a/*.c"), S("x/a/b.c")));
	assert_false(glob_file(S("*.h"), S("a.h/b.c")));
	assert_true(glob_file(S("**/b.c"), S("x/a/b.c")));
}

/* Would take longer than the test may, if stars were tried in all combinations. */
static void
many_stars_take_no_time(void **state)
{
	char pattern[400], path[4000];

	(void)state;
	for (size_t i = 0; i < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 2);
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = 'b';
	assert_false(
	    glob_path((struct str){pattern, sizeof(pattern)}, (struct str){path, sizeof(path)}));
	for (size_t i = 0; i + 4 <= sizeof(pattern); i += 4)
		memcpy(pattern + i, "**/a", 4);
	for (size_t i = 4; i < sizeof(pattern); i += 5)
		pattern[i] = '/';
	for (size_t i = 1; i < sizeof(path); i += 2)
		path[i] = '/';
	assert_false(
	    glob_path((struct str){pattern, sizeof(pattern)}, (struct str){path, sizeof(path)}));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(patterns_mean_these_files_and_no_others),
	    cmocka_unit_test(a_pattern_without_a_slash_means_the_name),
	    cmocka_unit_test(many_stars_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
