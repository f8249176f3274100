/*
 * test_child.c - what goes into a child and comes out of it, and that nothing of it is left.
 *
 * Everything a command starts inherits a mark in its environment, by which survivors are
 * found in /proc. Commands say when they are ready; nothing here waits for a guessed time.
 */

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "loop/child.h"

#define OUTPUT_MAX (32 * MIB)

static struct loop *loop;
static char mark[64];

struct run {
	struct child *child;
	struct child_spec spec;
	struct buf out[2];
	struct child_exit how;
	unsigned overs;
	unsigned lines;                 /* on stdout, so far */
	unsigned ready_lines;           /* after so many... */
	void (*ready)(struct run *run); /* ...this, once */
	struct timer timer;
};

static unsigned running;

static void
run_output(struct child *c, enum child_stream stream, struct str bytes, void *arg)
{
	struct run *run = arg;

	assert_ptr_equal(c, run->child);
	assert_int_equal(run->overs, 0);
	buf_add(&run->out[stream], bytes);
	if (stream == CHILD_STDERR)
		return;
	for (size_t i = 0; i < bytes.len; i++)
		run->lines += bytes.ptr[i] == '\n';
	if (run->ready && run->lines >= run->ready_lines) {
		void (*ready)(struct run *) = run->ready;
		run->ready = NULL;
		ready(run);
	}
}

static void
run_over(struct child *c, const struct child_exit *how, void *arg)
{
	struct run *run = arg;

	(void)c;
	run->how = *how;
	run->overs++;
	if (--running == 0)
		loop_stop(loop);
}

static void
run_start_argv(struct run *run, const char *const *argv)
{
	const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", mark, NULL};
	struct err e;

	run->out[0] = run->out[1] = BUF_INIT(OUTPUT_MAX);
	run->spec.argv = argv;
	if (!run->spec.env)
		run->spec.env = env;
	if (run->spec.cwd_fd == 0)
		run->spec.cwd_fd = AT_FDCWD;
	int cwd = run->spec.cwd_fd == AT_FDCWD ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (cwd >= 0)
		run->spec.cwd_fd = cwd;
	run->spec.output = run_output;
	run->spec.over = run_over;
	run->spec.arg = run;
	if (child_start(loop, &run->spec, &run->child, &e) < 0)
		fail_msg("%s (%s)", e.text, e.inside);
	assert_int_equal(run->overs, 0);
	running++;
	if (cwd >= 0)
		close(cwd);
}

/* The mark is in the script as well: so the minder, which has it in its arguments, counts. */
static void
run_start(struct run *run, const char *script)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s\n# %s", script, mark);
	run_start_argv(run, (const char *const[]){"sh", "-c", text, NULL});
}

static void
run_finish(struct run *run)
{
	loop_run(loop);
	assert_int_equal(run->overs, 1);
	assert_false(buf_failed(&run->out[0]));
}

static void
run_done(struct run *run)
{
	buf_done(&run->out[0]);
	buf_done(&run->out[1]);
}

static const char *
run_text(struct run *run, enum child_stream stream)
{
	return buf_z(&run->out[stream]);
}

static void
end_it(struct run *run)
{
	child_end(run->child);
	child_end(run->child);
}

static void
kill_it(struct run *run)
{
	child_kill(run->child);
}

/* Does /proc/<pid>/<file> hold the mark? */
static bool
proc_file_marked(const char *pid, const char *file)
{
	static char text[64 * 1024];
	char path[300];

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text));
	close(fd);
	return n > 0 && memmem(text, (size_t)n, mark, strlen(mark)) != NULL;
}

/* Living processes of this test; the dead that are not yet buried have no environment. */
static unsigned
marked_count(void)
{
	DIR *dir = opendir("/proc");
	unsigned count = 0;

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (atoi(entry->d_name) > 0 && (proc_file_marked(entry->d_name, "environ") ||
						proc_file_marked(entry->d_name, "cmdline")))
			count++;
	closedir(dir);
	return count;
}

static unsigned
descriptors_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int
set_up(void **state)
{
	static unsigned number;
	struct err e;

	(void)state;
	snprintf(mark, sizeof(mark), "HOLDFAST_TEST_MARK=%d-%u.", (int)getpid(), ++number);
	running = 0;
	return loop_new(&loop, &e);
}

static int
tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

/* What comes out */

static void
the_exit_status_comes_back(void **state)
{
	struct run run = {0};

	(void)state;
	run_start(&run, "exit 7");
	run_finish(&run);
	assert_true(run.how.ran);
	assert_int_equal(run.how.status, 7);
	assert_int_equal(run.how.signal, 0);
	assert_int_equal(run.how.leftovers, 0);
	assert_string_equal(run.how.reason, "");
	run_done(&run);
}

static void
the_signal_that_ended_it_comes_back(void **state)
{
	struct run run = {0};

	(void)state;
	run_start(&run, "kill -SEGV $$");
	run_finish(&run);
	assert_true(run.how.ran);
	assert_int_equal(run.how.signal, SIGSEGV);
	run_done(&run);
}

static void
both_streams_are_read_to_their_end(void **state)
{
	struct run run = {0};

	(void)state;
	run_start(&run, "head -c 10485760 /dev/zero & head -c 5000001 /dev/zero >&2; wait");
	run_finish(&run);
	assert_int_equal(run.out[CHILD_STDOUT].len, 10485760);
	assert_int_equal(run.out[CHILD_STDERR].len, 5000001);
	run_done(&run);
}

static void
a_program_that_is_not_there_is_named(void **state)
{
	struct run run = {0};

	(void)state;
	run_start_argv(&run, (const char *const[]){"no-such-program", "x", NULL});
	run_finish(&run);
	assert_false(run.how.ran);
	assert_string_equal(run.how.reason, "no such program: no-such-program");
	run_done(&run);
}

static void
a_file_that_is_no_program_is_named(void **state)
{
	struct run run = {0};

	(void)state;
	run_start_argv(&run, (const char *const[]){"/etc/passwd", NULL});
	run_finish(&run);
	assert_false(run.how.ran);
	assert_string_equal(run.how.reason, "cannot start /etc/passwd: Permission denied");
	run_done(&run);
}

static void
without_a_minder_nothing_starts(void **state)
{
	struct child_spec spec = {.argv = (const char *const[]){"true", NULL},
				  .env = (const char *const[]){NULL},
				  .cwd_fd = STDIN_FILENO,
				  .over = run_over};
	struct child *c;
	struct err e = ERR_NONE;
	unsigned before = descriptors_count();

	(void)state;
	child_set_minder("/nonexistent/holdfast-minder");
	int rc = child_start(loop, &spec, &c, &e);
	child_set_minder("");
	assert_int_equal(rc, E_SYSTEM);
	assert_string_equal(e.inside, "/nonexistent/holdfast-minder: No such file or directory");
	assert_int_equal(descriptors_count(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void
still_paused(void *arg)
{
	struct run *run = arg;

	assert_int_equal(run->out[CHILD_STDOUT].len, run->ready_lines);
	child_pause(run->child, false);
}

static void
pause_it(struct run *run)
{
	run->ready_lines = (unsigned)run->out[CHILD_STDOUT].len;
	child_pause(run->child, true);
	timer_start(loop, &run->timer, 50, still_paused, run);
}

static void
nothing_is_read_while_paused_and_nothing_is_lost(void **state)
{
	struct run run = {.ready = pause_it};

	(void)state;
	run_start(&run, "head -c 1000000 /dev/zero");
	run_finish(&run);
	assert_int_equal(run.out[CHILD_STDOUT].len, 1000000);
	run_done(&run);
}

/* What goes in */

static void
it_starts_in_the_directory_given(void **state)
{
	char dir[] = "/tmp/holdfast-test-XXXXXX", want[64];
	struct run run = {0};

	(void)state;
	assert_non_null(mkdtemp(dir));
	run.spec.cwd_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	run_start(&run, "pwd -P");
	run_finish(&run);
	snprintf(want, sizeof(want), "%s\n", dir);
	assert_string_equal(run_text(&run, CHILD_STDOUT), want);
	close(run.spec.cwd_fd);
	rmdir(dir);
	run_done(&run);
}

static void
it_cannot_start_in_a_file(void **state)
{
	struct run run = {0};

	(void)state;
	run.spec.cwd_fd = open("/etc/passwd", O_PATH | O_CLOEXEC);
	run_start(&run, "pwd");
	run_finish(&run);
	assert_false(run.how.ran);
	assert_string_equal(run.how.reason, "cannot enter its directory: Not a directory");
	close(run.spec.cwd_fd);
	run_done(&run);
}

static void
its_environment_is_just_what_was_given(void **state)
{
	struct run run = {.spec.env = (const char *const[]){"A=1", "B=two words", "EMPTY=", NULL}};

	(void)state;
	setenv("HOLDFAST_TEST_CANARY", "x", 1);
	run_start_argv(&run, (const char *const[]){"/usr/bin/env", NULL});
	run_finish(&run);
	assert_string_equal(run_text(&run, CHILD_STDOUT), "A=1\nB=two words\nEMPTY=\n");
	run_done(&run);
}

/* ld.so complains once, for the command; it would twice if the minder had it too. */
static void
its_environment_does_not_act_on_the_minder(void **state)
{
	struct run run = {.spec.env = (const char *const[]){"LD_PRELOAD=/nonexistent.so", NULL}};

	(void)state;
	run_start_argv(&run, (const char *const[]){"/bin/true", NULL});
	run_finish(&run);
	const char *first = strstr(run_text(&run, CHILD_STDERR), "nonexistent");
	assert_non_null(first);
	assert_null(strstr(first + 1, "nonexistent"));
	run_done(&run);
}

static void
it_has_three_descriptors(void **state)
{
	struct run run = {0};
	int leak = open("/dev/null", O_RDONLY); /* of a host less careful than we are */

	(void)state;
	run_start(&run, "i=0; while [ $i -lt 300 ]; do"
			" [ -e /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done");
	run_finish(&run);
	assert_string_equal(run_text(&run, CHILD_STDOUT), "0\n1\n2\n");
	close(leak);
	run_done(&run);
}

static void
its_signals_and_limits_are_the_usual_ones(void **state)
{
	struct run run = {0};
	sigset_t usr, before;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr, &before);
	run_start(&run, "grep -E 'Sig(Blk|Ign)' /proc/self/status; ulimit -c; ulimit -H -c");
	run_finish(&run);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_string_equal(run_text(&run, CHILD_STDOUT), "SigBlk:\t0000000000000000\n"
							  "SigIgn:\t0000000000000000\n0\n0\n");
	assert_int_equal(run.how.status, 0);
	run_done(&run);
}

static void
stdin_is_empty_unless_wanted(void **state)
{
	struct run run = {0};

	(void)state;
	run_start(&run, "cat");
	assert_int_equal(child_write(run.child, S("x")), E_SYSTEM);
	run_finish(&run);
	assert_int_equal(run.how.status, 0);
	assert_int_equal(run.out[CHILD_STDOUT].len, 0);
	run_done(&run);
}

static void
what_is_written_comes_to_its_stdin(void **state)
{
	enum { CHUNK = 300001, CHUNKS = 10 };
	struct run run = {.spec.with_stdin = true};
	char *chunk = malloc(CHUNK);

	(void)state;
	run_start(&run, "cat");
	for (int i = 0; i < CHUNKS; i++) {
		memset(chunk, 'a' + i, CHUNK);
		assert_int_equal(child_write(run.child, (struct str){chunk, CHUNK}), 0);
	}
	child_close_stdin(run.child);
	assert_int_equal(child_write(run.child, S("late")), E_SYSTEM);
	run_finish(&run);
	assert_int_equal(run.out[CHILD_STDOUT].len, CHUNK * CHUNKS);
	for (size_t i = 0; i < CHUNK * CHUNKS; i++)
		if (run.out[CHILD_STDOUT].ptr[i] != (char)('a' + i / CHUNK))
			fail_msg("byte %zu is wrong", i);
	free(chunk);
	run_done(&run);
}

static void
what_is_queued_for_its_stdin_is_bounded(void **state)
{
	struct run run = {.spec.with_stdin = true, .ready = kill_it, .ready_lines = 1};
	char *half = calloc(1, LIMIT_LINE_BYTES);

	(void)state;
	run_start(&run, "echo ready; sleep 1000");
	assert_int_equal(child_write(run.child, (struct str){half, LIMIT_LINE_BYTES}), 0);
	assert_int_equal(child_write(run.child, (struct str){half, LIMIT_LINE_BYTES}), 0);
	assert_int_equal(child_write(run.child, S("x")), E_LIMIT);
	run_finish(&run);
	assert_int_equal(run.how.signal, SIGKILL);
	free(half);
	run_done(&run);
}

static void
stdin_is_broken(void *arg)
{
	struct run *run = arg;

	if (child_write(run->child, S("x")) == 0)
		timer_start(loop, &run->timer, 1, stdin_is_broken, run);
	else
		child_end(run->child);
}

static void
write_until_it_breaks(struct run *run)
{
	stdin_is_broken(run);
}

static void
a_command_may_close_its_stdin(void **state)
{
	struct run run = {.spec.with_stdin = true,
			  .ready = write_until_it_breaks,
			  .ready_lines = 1};

	(void)state;
	run_start(&run, "exec <&-; echo ready; exec sleep 1000");
	run_finish(&run);
	assert_int_equal(run.how.signal, SIGTERM);
	run_done(&run);
}

/* A host may have closed its own streams: then ours get their numbers. */
static void
low_descriptors_are_not_in_the_way(void **state)
{
	struct run run = {.spec.with_stdin = true};
	int kept[3];

	(void)state;
	run.spec.cwd_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 3; i++) {
		kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
		close(i);
	}
	run_start(&run, "cat; pwd; echo error >&2");
	child_write(run.child, S("hello\n"));
	child_close_stdin(run.child);
	run_finish(&run);
	close(run.spec.cwd_fd);
	for (int i = 0; i < 3; i++) {
		dup2(kept[i], i);
		close(kept[i]);
	}
	assert_string_equal(run_text(&run, CHILD_STDOUT), "hello\n/\n");
	assert_string_equal(run_text(&run, CHILD_STDERR), "error\n");
	run_done(&run);
}

/* How it ends */

static void
the_ladder_lets_it_clean_up(void **state)
{
	struct run run = {.spec.grace_ms = 60000, .ready = end_it, .ready_lines = 1};

	(void)state;
	/* The trap comes second: a process forked under it would lose a SIGTERM before its exec. */
	run_start(&run, "sleep 1000 & trap 'echo bye; exit 3' TERM; echo ready; wait");
	run_finish(&run);
	assert_int_equal(run.how.status, 3);
	assert_int_equal(run.how.signal, 0);
	assert_int_equal(run.how.leftovers, 0);
	assert_string_equal(run_text(&run, CHILD_STDOUT), "ready\nbye\n");
	assert_int_equal(marked_count(), 0);
	run_done(&run);
}

/* The shell dies of SIGTERM at once; what it had started still has its grace. */
static void
the_grace_is_for_all_of_them(void **state)
{
	struct run run = {.spec.grace_ms = 60000, .ready = end_it, .ready_lines = 1};

	(void)state;
	run_start(&run, "sh -c 'trap \"sleep 0.2; echo saved; exit\" TERM; echo ready;"
			" while :; do sleep 0.01; done'; true");
	run_finish(&run);
	assert_int_equal(run.how.signal, SIGTERM);
	assert_string_equal(run_text(&run, CHILD_STDOUT), "ready\nsaved\n");
	run_done(&run);
}

static void
who_ignores_sigterm_is_killed_after_the_grace(void **state)
{
	struct run run = {.spec.grace_ms = 50, .ready = end_it, .ready_lines = 1};

	(void)state;
	run_start(&run, "trap '' TERM; sleep 1000 & echo ready; wait");
	run_finish(&run);
	assert_int_equal(run.how.signal, SIGKILL);
	assert_int_equal(run.how.leftovers, 1);
	assert_int_equal(marked_count(), 0);
	run_done(&run);
}

static void
end_then_kill_it(struct run *run)
{
	child_end(run->child);
	child_kill(run->child);
	child_kill(run->child);
	child_end(run->child);
}

static void
to_kill_does_not_wait_for_the_grace(void **state)
{
	struct run run = {.spec.grace_ms = 3600000, .ready = end_then_kill_it, .ready_lines = 1};

	(void)state;
	run_start(&run, "trap '' TERM; sleep 1000 & echo ready; wait");
	run_finish(&run);
	assert_int_equal(run.how.signal, SIGKILL);
	assert_int_equal(marked_count(), 0);
	run_done(&run);
}

static void
who_is_stopped_still_hears_sigterm(void **state)
{
	struct run run = {.spec.grace_ms = 5000, .ready = end_it, .ready_lines = 1};

	(void)state;
	run_start(&run, "sh -c 'kill -STOP $$' & until grep -q 'State:.T' /proc/$!/status; do :;"
			" done; echo ready; wait");
	run_finish(&run);
	assert_int_equal(run.how.signal, SIGTERM);
	assert_int_equal(run.how.leftovers, 0);
	assert_int_equal(marked_count(), 0);
	run_done(&run);
}

static void
what_it_leaves_behind_is_ended_and_counted(void **state)
{
	struct run run = {0};

	(void)state;
	run_start(&run, "sleep 1000 & sleep 1000 & exit 4");
	run_finish(&run);
	assert_int_equal(run.how.status, 4);
	assert_int_equal(run.how.signal, 0);
	assert_int_equal(run.how.leftovers, 2);
	assert_int_equal(marked_count(), 0);
	run_done(&run);
}

/*
 * Five who do what they can to stay: other sessions, no parents, deaf to SIGTERM, stopped,
 * streams kept open. Each says a line when it is there.
 */
#define HOSTILE_LINES 5
static const char hostile[] =
    "trap '' TERM HUP INT QUIT\n"
    "(setsid sh -c 'echo 1; sleep 1000' &)\n"
    "(setsid sh -c '(setsid sh -c \"echo 2; exec sleep 1000\" &); sleep 1000' &)\n"
    "(setsid sh -c 'echo 3; exec >/dev/null 2>&1; sleep 1000; sleep 1000' &)\n"
    "(setsid sh -c 'echo 4; kill -STOP $$' &)\n"
    "echo 5\n";

static void
no_descendant_survives_the_ladder(void **state)
{
	struct run run = {.spec.grace_ms = 50, .ready = end_it, .ready_lines = HOSTILE_LINES};
	char script[2048];

	(void)state;
	snprintf(script, sizeof(script), "%s while :; do sleep 1000; done", hostile);
	run_start(&run, script);
	run_finish(&run);
	assert_int_equal(run.how.signal, SIGKILL);
	assert_true(run.how.leftovers >= 4);
	assert_int_equal(marked_count(), 0);
	run_done(&run);
}

static void
no_descendant_survives_the_end_of_the_command(void **state)
{
	struct run run = {.spec.with_stdin = true};
	char script[2048];

	(void)state;
	snprintf(script, sizeof(script), "%s exit 0", hostile);
	run_start(&run, script);
	run_finish(&run);
	assert_int_equal(run.how.status, 0);
	assert_true(run.how.leftovers >= 1);
	assert_int_equal(marked_count(), 0);
	run_done(&run);
}

static void
one_who_keeps_forking_is_ended(void **state)
{
	struct run run = {.ready = kill_it, .ready_lines = 50};

	(void)state;
	run_start(&run, "trap '' TERM; f() { while :; do (setsid sleep 0.1 &); echo x; done; };"
			" (f &); (f &); f");
	run_finish(&run);
	assert_int_equal(run.how.signal, SIGKILL);
	assert_int_equal(marked_count(), 0);
	run_done(&run);
}

static void
a_minder_that_is_stopped_still_obeys(void **state)
{
	struct run run = {.spec.grace_ms = 60000, .ready = end_it, .ready_lines = 1};

	(void)state;
	run_start(&run, "kill -STOP $PPID; echo ready; exec sleep 1000");
	run_finish(&run);
	assert_int_equal(run.how.signal, SIGTERM);
	assert_string_equal(run.how.reason, "");
	run_done(&run);
}

static void
a_command_that_kills_its_minder_dies_with_its_group(void **state)
{
	struct run run = {0};

	(void)state;
	run_start(&run, "sleep 1000 & sleep 1000 & kill -KILL $PPID; sleep 1000");
	run_finish(&run);
	assert_true(run.how.ran);
	assert_int_equal(run.how.signal, SIGKILL);
	assert_string_equal(run.how.reason, "its minder was killed");
	assert_int_equal(marked_count(), 0);
	run_done(&run);
}

static void
many_run_at_once_and_leave_no_descriptor(void **state)
{
	enum { MANY = 24 };
	static struct run runs[MANY];
	unsigned before;

	(void)state;
	memset(runs, 0, sizeof(runs));
	before = descriptors_count();
	for (int i = 0; i < MANY; i++) {
		char script[64];
		snprintf(script, sizeof(script), "echo %d; exit %d", i, i);
		run_start(&runs[i], script);
	}
	loop_run(loop);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(runs[i].overs, 1);
		assert_int_equal(runs[i].how.status, i);
		assert_int_equal(atoi(run_text(&runs[i], CHILD_STDOUT)), i);
		run_done(&runs[i]);
	}
	assert_int_equal(descriptors_count(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Whose they are */

static int seen_pid;

static void
check_whose_it_is(struct run *run)
{
	seen_pid = atoi(run_text(run, CHILD_STDOUT));
	assert_true(seen_pid > 0);
	assert_true(child_is_ours(seen_pid));
	assert_false(child_is_ours(getpid()));
	assert_false(child_is_ours(getppid()));
	assert_false(child_is_ours(1));
	child_kill(run->child);
}

static void
a_descendant_is_known_however_it_hides(void **state)
{
	struct run run = {.ready = check_whose_it_is, .ready_lines = 1};

	(void)state;
	run_start(&run,
		  "(setsid sh -c '(setsid sh -c \"echo \\$\\$; sleep 1000\" &)' &); sleep 1000");
	run_finish(&run);
	assert_int_equal(run.overs, 1);
	assert_true(child_is_ours(seen_pid)); /* gone: it cannot be told */
	assert_true(child_is_ours(0));
	run_done(&run);
}

static void
a_child_of_the_host_is_not_ours(void **state)
{
	int hold[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(hold[1]);
		_exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
	}
	assert_false(child_is_ours(pid));
	close(hold[0]);
	close(hold[1]);
	waitpid(pid, NULL, 0);
}

/*
 * The death of the owner: this program again, with a hostile tree, killed when all of it is
 * there. Only here a time is waited, for the kernel and the minder, and never all of it.
 */
#define PATIENCE_MS 20000

static void
owner_tell(struct run *run)
{
	(void)run;
	if (write(STDOUT_FILENO, "r", 1) != 1)
		exit(1);
}

static int
owner_main(const char *given_mark, bool stop_minder)
{
	struct run run = {.ready = owner_tell, .ready_lines = HOSTILE_LINES};
	char script[2048];
	struct err e;

	snprintf(mark, sizeof(mark), "%s", given_mark);
	if (loop_new(&loop, &e) < 0)
		return 1;
	snprintf(script, sizeof(script), "%s%s while :; do sleep 1000; done",
		 stop_minder ? "kill -STOP $PPID\n" : "", hostile);
	run_start(&run, script);
	loop_run(loop);
	return 1;
}

static void
owner_killed(const char *how)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ready[1], STDOUT_FILENO);
		execl("/proc/self/exe", "unit_loop_child", how, mark, NULL);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_true(marked_count() >= HOSTILE_LINES);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int ms = 0; ms < PATIENCE_MS && marked_count() > 0; ms += 10)
		usleep(10000);
	assert_int_equal(marked_count(), 0);
}

static void
nothing_survives_the_death_of_the_owner(void **state)
{
	(void)state;
	owner_killed("owner");
}

static void
nothing_survives_the_owner_with_its_minder_stopped(void **state)
{
	(void)state;
	owner_killed("owner-stopped");
}

/* From here on this process is a reaper: these must be the last. */

static void
kill_its_minder(struct run *run)
{
	int minder = atoi(run_text(run, CHILD_STDOUT));

	assert_true(minder > 1 && child_is_ours(minder));
	kill(minder, SIGKILL);
}

static void
who_escapes_a_killed_minder_is_ended_by_a_reaper(void **state)
{
	struct run good = {.spec.with_stdin = true};
	struct run bad = {.ready = kill_its_minder, .ready_lines = 1 + HOSTILE_LINES};
	char script[2048];

	(void)state;
	assert_int_equal(child_become_reaper(), 0);
	run_start(&good, "echo up; cat");
	snprintf(script, sizeof(script), "echo $PPID\n%s while :; do sleep 1000; done", hostile);
	run_start(&bad, script);
	running = 1; /* the first to be over stops the loop */
	loop_run(loop);
	assert_int_equal(bad.overs, 1);
	assert_int_equal(good.overs, 0);
	assert_int_equal(bad.how.signal, SIGKILL);
	assert_true(bad.how.leftovers >= 4);
	running = 1;
	child_write(good.child, S("still here\n"));
	child_close_stdin(good.child);
	run_finish(&good);
	assert_int_equal(good.how.status, 0);
	assert_string_equal(run_text(&good, CHILD_STDOUT), "up\nstill here\n");
	assert_int_equal(marked_count(), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	run_done(&good);
	run_done(&bad);
}

int
main(int argc, char **argv)
{
	if (argc == 3)
		return owner_main(argv[2], strcmp(argv[1], "owner-stopped") == 0);
#define CHILD_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    CHILD_TEST(the_exit_status_comes_back),
	    CHILD_TEST(the_signal_that_ended_it_comes_back),
	    CHILD_TEST(both_streams_are_read_to_their_end),
	    CHILD_TEST(a_program_that_is_not_there_is_named),
	    CHILD_TEST(a_file_that_is_no_program_is_named),
	    CHILD_TEST(without_a_minder_nothing_starts),
	    CHILD_TEST(nothing_is_read_while_paused_and_nothing_is_lost),
	    CHILD_TEST(it_starts_in_the_directory_given),
	    CHILD_TEST(it_cannot_start_in_a_file),
	    CHILD_TEST(its_environment_is_just_what_was_given),
	    CHILD_TEST(its_environment_does_not_act_on_the_minder),
	    CHILD_TEST(it_has_three_descriptors),
	    CHILD_TEST(its_signals_and_limits_are_the_usual_ones),
	    CHILD_TEST(stdin_is_empty_unless_wanted),
	    CHILD_TEST(what_is_written_comes_to_its_stdin),
	    CHILD_TEST(what_is_queued_for_its_stdin_is_bounded),
	    CHILD_TEST(a_command_may_close_its_stdin),
	    CHILD_TEST(low_descriptors_are_not_in_the_way),
	    CHILD_TEST(the_ladder_lets_it_clean_up),
	    CHILD_TEST(the_grace_is_for_all_of_them),
	    CHILD_TEST(who_ignores_sigterm_is_killed_after_the_grace),
	    CHILD_TEST(to_kill_does_not_wait_for_the_grace),
	    CHILD_TEST(who_is_stopped_still_hears_sigterm),
	    CHILD_TEST(what_it_leaves_behind_is_ended_and_counted),
	    CHILD_TEST(no_descendant_survives_the_ladder),
	    CHILD_TEST(no_descendant_survives_the_end_of_the_command),
	    CHILD_TEST(one_who_keeps_forking_is_ended),
	    CHILD_TEST(a_minder_that_is_stopped_still_obeys),
	    CHILD_TEST(a_command_that_kills_its_minder_dies_with_its_group),
	    CHILD_TEST(many_run_at_once_and_leave_no_descriptor),
	    CHILD_TEST(a_descendant_is_known_however_it_hides),
	    CHILD_TEST(a_child_of_the_host_is_not_ours),
	    CHILD_TEST(nothing_survives_the_death_of_the_owner),
	    CHILD_TEST(nothing_survives_the_owner_with_its_minder_stopped),
	    CHILD_TEST(who_escapes_a_killed_minder_is_ended_by_a_reaper),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
