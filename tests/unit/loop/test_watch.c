/* test_watch.c - a file is watched however it comes to be another (issue 5). */

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "loop/watch.h"

#define QUIET_MS 10
#define NEVER_MS 20000

static struct loop *loop;
static char dir[64];
static unsigned told;

static char *
path_of(const char *name)
{
	static char path[4][LIMIT_PATH];
	static unsigned next;
	char *out = path[next++ % 4];

	snprintf(out, LIMIT_PATH, "%s/%s", dir, name);
	return out;
}

static void
put(const char *name, const char *text)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int
set_up(void **state)
{
	struct err e;

	(void)state;
	told = 0;
	strcpy(dir, "/tmp/holdfast-watch-XXXXXX");
	return mkdtemp(dir) ? loop_new(&loop, &e) : -1;
}

static int
tear_down(void **state)
{
	char command[128];

	(void)state;
	loop_free(loop);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void
changed(void *arg)
{
	(void)arg;
	told++;
	loop_stop(loop);
}

static void
too_late(void *arg)
{
	(void)arg;
	fail_msg("nothing was told");
}

/* Until it is told once more. */
static void
assert_told(void)
{
	struct timer timer = {0};
	unsigned before = told;

	assert_int_equal(timer_start(loop, &timer, NEVER_MS, too_late, NULL), 0);
	while (told == before)
		loop_run(loop);
	timer_stop(loop, &timer);
}

static struct watch *
watch_of(const char *name)
{
	struct watch *w;
	struct err e;

	assert_int_equal(watch_new(loop, path_of(name), QUIET_MS, changed, NULL, &w, &e), 0);
	return w;
}

static void
written_replaced_removed_and_made(void **state)
{
	put("a", "1");
	struct watch *w = watch_of("a");

	(void)state;
	put("a", "2");
	assert_told();
	put("b", "3");
	assert_int_equal(rename(path_of("b"), path_of("a")), 0);
	assert_told();
	assert_int_equal(unlink(path_of("a")), 0);
	assert_told();
	put("a", "4");
	assert_told();
	watch_free(w);
}

static void
a_directory_that_comes_later_is_waited_for(void **state)
{
	struct watch *w = watch_of("x/y/a");

	(void)state;
	assert_int_equal(mkdir(path_of("x"), 0700), 0);
	assert_told();
	assert_int_equal(mkdir(path_of("x/y"), 0700), 0);
	assert_told();
	put("x/y/a", "1");
	assert_told();
	watch_free(w);
}

static void
a_directory_that_is_made_anew_is_found_again(void **state)
{
	(void)state;
	assert_int_equal(mkdir(path_of("x"), 0700), 0);
	put("x/a", "1");
	struct watch *w = watch_of("x/a");
	assert_int_equal(unlink(path_of("x/a")), 0);
	assert_int_equal(rmdir(path_of("x")), 0);
	assert_int_equal(mkdir(path_of("x"), 0700), 0);
	assert_told();
	put("x/a", "2");
	assert_told();
	watch_free(w);
}

static void
what_a_link_leads_to_is_watched(void **state)
{
	(void)state;
	assert_int_equal(mkdir(path_of("far"), 0700), 0);
	put("far/real", "1");
	assert_int_equal(symlink("far/real", path_of("a")), 0);
	struct watch *w = watch_of("a");
	put("far/real", "2");
	assert_told();
	watch_free(w);
}

static void
nothing_comes_after_the_end(void **state)
{
	put("a", "1");
	struct watch *w = watch_of("a");

	(void)state;
	put("a", "2");
	watch_free(w);
	watch_free(NULL);
	assert_int_equal(told, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(written_replaced_removed_and_made, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_directory_that_comes_later_is_waited_for, set_up,
					    tear_down),
	    cmocka_unit_test_setup_teardown(a_directory_that_is_made_anew_is_found_again, set_up,
					    tear_down),
	    cmocka_unit_test_setup_teardown(what_a_link_leads_to_is_watched, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(nothing_comes_after_the_end, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
