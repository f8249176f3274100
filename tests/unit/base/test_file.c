/* test_file.c - a file that is replaced is the old one or the new one. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

static char dir[] = "/tmp/holdfast-unit-XXXXXX";

static void
read_back(const char *path, char out[static 64])
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	out[fread(out, 1, 63, f)] = '\0';
	fclose(f);
}

static void
content_is_replaced_and_is_ours_alone(void **state)
{
	char path[64], text[64];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/a", dir);
	assert_int_equal(file_replace(path, S("first, and longer")), 0);
	assert_int_equal(file_replace(path, S("second")), 0);
	read_back(path, text);
	assert_string_equal(text, "second");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void
nothing_is_written_through_a_link(void **state)
{
	char path[64], beside[80], victim[64], text[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/b", dir);
	snprintf(beside, sizeof(beside), "%s.new", path);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	assert_int_equal(file_replace(victim, S("untouched")), 0);
	assert_int_equal(symlink(victim, beside), 0);
	assert_int_equal(file_replace(path, S("x")), E_SYSTEM);
	read_back(victim, text);
	assert_string_equal(text, "untouched");
	assert_int_not_equal(access(path, F_OK), 0);
}

static void
a_directory_that_is_not_there_is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(file_replace("/nowhere/at/all", S("x")), E_SYSTEM);
}

static int
make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int
remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(content_is_replaced_and_is_ours_alone),
	    cmocka_unit_test(nothing_is_written_through_a_link),
	    cmocka_unit_test(a_directory_that_is_not_there_is_a_failure),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
