/* test_holder.c - one gateway holds a state directory, and says where it is. */

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/holder.h"

static char lock_file[LIMIT_PATH + sizeof("/gateway.lock")];

static int
state_made(void **state)
{
	static char home[] = "/tmp/holdfast-unit-XXXXXX";
	struct path dir;
	struct err e;

	(void)state;
	if (!mkdtemp(home) || setenv("XDG_STATE_HOME", home, 1) < 0 || path_state(&dir, &e) < 0)
		return -1;
	snprintf(lock_file, sizeof(lock_file), "%s/gateway.lock", dir.text);
	return path_make_dir(dir.text, &e);
}

static int
state_gone(void **state)
{
	(void)state;
	unlink(lock_file);
	*strrchr(lock_file, '/') = '\0';
	return rmdir(lock_file) == 0 && rmdir(getenv("XDG_STATE_HOME")) == 0 ? 0 : -1;
}

/* Issue 5. */
static void
one_holds_it_while_it_lives(void **state)
{
	struct holder h;
	struct err e;
	int fd, second;

	(void)state;
	assert_int_equal(holder_find(&h), HOLDER_NONE);
	assert_int_equal(holder_become("/run/one.sock", &fd, &e), 0);
	assert_int_equal(holder_find(&h), HOLDER_LIVES);
	assert_int_equal(h.pid, getpid());
	assert_string_equal(h.socket.text, "/run/one.sock");
	assert_int_equal(holder_become("/run/two.sock", &second, &e), E_EXISTS);
	assert_int_equal(holder_find(&h), HOLDER_LIVES);
	assert_string_equal(h.socket.text, "/run/one.sock");
	holder_leave(fd);
	assert_int_equal(holder_find(&h), HOLDER_NONE);
}

static void
what_a_killed_one_leaves_holds_nothing(void **state)
{
	struct holder h;
	struct err e;
	int fd;

	(void)state;
	assert_int_equal(holder_become("a longer name than the next.sock", &fd, &e), 0);
	close(fd); /* as the kernel does it */
	assert_int_equal(holder_find(&h), HOLDER_FELL);
	assert_int_equal(h.socket.text[0], '/');
	assert_int_equal(holder_become("/next.sock", &fd, &e), 0);
	assert_int_equal(holder_find(&h), HOLDER_LIVES);
	assert_string_equal(h.socket.text, "/next.sock");
	holder_leave(fd);
}

static void
what_is_no_line_of_ours_says_nothing(void **state)
{
	static const char *const lines[] = {"", "\n", "12", "12 /a", "x /a\n", "12 \n", " /a\n"};
	struct holder h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		int fd = open(lock_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(write(fd, lines[i], strlen(lines[i])), strlen(lines[i]));
		close(fd);
		assert_int_equal(holder_find(&h), HOLDER_NONE);
		assert_string_equal(h.socket.text, "");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_holds_it_while_it_lives),
	    cmocka_unit_test(what_a_killed_one_leaves_holds_nothing),
	    cmocka_unit_test(what_is_no_line_of_ours_says_nothing),
	};
	return cmocka_run_group_tests(tests, state_made, state_gone);
}
