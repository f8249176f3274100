/* test_proc.c - descent is told right, and signals reach the process meant or nobody. */

#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minder/proc.h"

/* A process that waits to be killed; it says when it is ready. */
static pid_t
sleeper_start(void)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, "x) R 1 (1 1"); /* a name made to mislead */
		if (write(ready[1], "r", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void
sleeper_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void
a_process_is_read_whatever_its_name(void **state)
{
	uint64_t before = proc_now();
	pid_t pid = sleeper_start();
	struct proc p;

	(void)state;
	assert_true(proc_read(pid, &p));
	assert_int_equal(p.pid, pid);
	assert_int_equal(p.parent, getpid());
	assert_int_equal(p.group, getpgrp());
	assert_int_equal(p.session, getsid(0));
	assert_in_range(p.start, before, proc_now());
	sleeper_end(pid);
	assert_false(proc_read(pid, &p));
	assert_false(proc_read(0, &p));
	assert_false(proc_read(-1, &p));
}

static void
the_branch_is_the_child_by_which_one_descends(void **state)
{
	struct proc me, parent, child;
	pid_t pid = sleeper_start();

	(void)state;
	assert_true(proc_read(getpid(), &me));
	assert_true(proc_read(getppid(), &parent));
	assert_true(proc_read(pid, &child));
	assert_int_equal(proc_branch(pid, &me), pid);
	assert_int_equal(proc_branch(pid, &parent), getpid());
	assert_int_equal(proc_branch(getpid(), &child), 0);
	assert_int_equal(proc_branch(getppid(), &me), 0);
	assert_int_equal(proc_branch(1, &me), 0);
	assert_int_equal(proc_branch(getpid(), &me), 0);
	sleeper_end(pid);
	assert_int_equal(proc_branch(pid, &me), -1);
}

static void
another_process_of_the_same_number_is_not_signalled(void **state)
{
	pid_t pid = sleeper_start();
	struct proc p;

	(void)state;
	assert_true(proc_read(pid, &p));
	p.start--;
	assert_int_equal(proc_signal(&p, SIGKILL), -ESRCH);
	p.start++;
	assert_int_equal(proc_signal(&p, 0), 0);
	assert_int_equal(proc_signal(&p, SIGKILL), 0);
	waitpid(pid, NULL, 0);
	assert_int_equal(proc_signal(&p, SIGKILL), -ESRCH);
}

static void
seen(const struct proc *p, void *arg)
{
	int *wanted = arg;

	if (p->pid == wanted[0])
		wanted[1]++;
}

static void
every_process_is_visited_once(void **state)
{
	int wanted[2] = {getpid(), 0};

	(void)state;
	assert_int_equal(proc_each(seen, wanted), 0);
	assert_int_equal(wanted[1], 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_process_is_read_whatever_its_name),
	    cmocka_unit_test(the_branch_is_the_child_by_which_one_descends),
	    cmocka_unit_test(another_process_of_the_same_number_is_not_signalled),
	    cmocka_unit_test(every_process_is_visited_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
