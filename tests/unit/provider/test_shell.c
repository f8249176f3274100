/* test_shell.c - commands: their output, their end, and what they get to know. */

#include "bench.h"

static int
sh(struct bench *b, const char *command)
{
	struct buf input = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&input);

	jw_object(&w);
	jw_member_z(&w, "command", command);
	jw_end(&w);
	int code = bench_run(b, JOB_RUN, "shell", buf_z(&input));
	buf_done(&input);
	return code;
}

static void
output_and_exit_code_come_back_in_the_documents_form(void **state)
{
	struct bench *b = *state;

	sh(b, "echo hello");
	says(b, "$ echo hello\nexit_code=0\n\nhello\n");
	assert_true(b->job->out.success);
	assert_string_equal(buf_z(&b->job->out.command), "echo hello");
	assert_string_equal(buf_z(&b->job->out.metadata),
			    "\"exit_code\":0,\"signal\":null,\"leftovers\":0,\"bytes\":6");
}

static void
another_exit_code_is_a_result_without_success(void **state)
{
	struct bench *b = *state;

	sh(b, "echo no; exit 3");
	says(b, "$ echo no; exit 3\nexit_code=3\n\nno\n");
	assert_false(b->job->out.success);
}

static void
a_signal_is_told_by_its_name(void **state)
{
	struct bench *b = *state;

	sh(b, "kill -KILL $$");
	says(b, "$ kill -KILL $$\nsignal=SIGKILL\n\n");
	assert_false(b->job->out.success);
	assert_non_null(strstr(buf_z(&b->job->out.metadata), "\"signal\":\"SIGKILL\""));
}

static void
let_c(struct bench *b)
{
	put(b->sandbox, "ws/c", "");
}

static void
let_b(struct bench *b)
{
	put(b->sandbox, "ws/b", "");
	b->ready = "b";
	b->on_ready = let_c;
}

/* The first read of a pipe is not all of the output. Each piece waits until the last was seen. */
static void
everything_that_is_written_is_kept_from_both_streams_in_order(void **state)
{
	struct bench *b = *state;

	b->ready = "a";
	b->on_ready = let_b;
	sh(b, "wait_for() { while [ ! -e $1 ]; do sleep 0.01; done; }; "
	      "echo a; wait_for b; echo b >&2; wait_for c; echo c");
	assert_true(str_ends(buf_str(&b->text), S("exit_code=0\n\na\nb\nc\n")));
	assert_string_equal(buf_z(&b->streamed[0]), "a\nc\n");
	assert_string_equal(buf_z(&b->streamed[1]), "b\n");
}

static void
it_starts_in_the_workspace(void **state)
{
	struct bench *b = *state;

	sh(b, "echo x > made; pwd -P");
	assert_string_equal(got(b->sandbox, "ws/made"), "x\n");
	assert_non_null(strstr(buf_z(&b->text), workspace_path(b->sandbox->ws)));
}

static void
the_environment_is_built_and_holds_no_secrets(void **state)
{
	struct bench *b = *state;

	setenv("HOLDFAST_UNIT_SECRET", "s3cret", 1);
	char *path = strdup(getenv("PATH"));
	setenv("PATH", ".::bin:/opt/unit/bin:/usr/bin", 1);
	sh(b, "env | cut -d= -f1 | sort | tr '\\n' ' '; echo; echo $PATH; echo $TERM $SHELL; "
	      "env | grep -c s3cret");
	setenv("PATH", path, 1);
	free(path);
	assert_non_null(strstr(buf_z(&b->text), "\n/opt/unit/bin:/usr/bin:/usr/local/bin:/bin\n"));
	assert_non_null(strstr(buf_z(&b->text), "\ndumb /bin/sh\n0\n"));
	static const char *const known[] = {"HOME",   "LANG", "LC_ALL", "LOGNAME", "OLDPWD",
					    "PATH",   "PWD",  "SHELL",  "SHLVL",   "TERM",
					    "TMPDIR", "TZ",   "USER",   "_"};
	struct str rest = str_of(strstr(b->text.ptr, "\n\n") + 2), names, name;
	str_split(&rest, '\n', &names);
	names = str_trim(names);
	while (str_split(&names, ' ', &name)) {
		bool found = false;
		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			found = found || str_is(name, known[i]);
		assert_true(found);
	}
}

static void
bytes_that_are_no_text_are_made_valid(void **state)
{
	struct bench *b = *state;

	sh(b, "printf 'a\\377b\\0c'");
	assert_true(str_is_utf8(buf_str(&b->text)));
	assert_true(str_ends(buf_str(&b->text), (struct str){"a\xef\xbf\xbd"
							     "b\0c",
							     7}));
}

static void
of_long_output_head_and_tail_are_kept(void **state)
{
	struct bench *b = *state;

	/* A first and a last line, and a million bytes between them. */
	sh(b, "echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last");
	struct str text = buf_str(&b->text);
	assert_non_null(strstr(text.ptr, "\n\nfirst\nxxx"));
	assert_true(str_ends(text, S("xxx\nlast\n")));
	size_t left_out = 6 + 1000000 + 1 + 5 - LIMIT_SHELL_OUTPUT;
	char note[64];
	snprintf(note, sizeof(note), "xxx\n[%zu bytes left out]\nxxx", left_out);
	assert_non_null(strstr(buf_z(&b->text), note));
	assert_true(text.len < LIMIT_SHELL_OUTPUT + 400);
}

static void
output_of_exactly_the_limit_is_whole(void **state)
{
	struct bench *b = *state;

	sh(b, "head -c 262144 /dev/zero | tr '\\0' x");
	assert_null(strstr(buf_z(&b->text), "left out"));
	sh(b, "head -c 262145 /dev/zero | tr '\\0' x");
	assert_non_null(strstr(buf_z(&b->text), "[1 bytes left out]"));
}

static void
cuts_do_not_split_characters(void **state)
{
	struct bench *b = *state;

	/* Three bytes each, so that neither cut falls between two of them by itself. */
	sh(b, "printf 'xy'; i=0; while [ $i -lt 40 ]; do printf '%4096s' '' | sed 's/ "
	      "/\xe2\x82\xac/g'; "
	      "i=$((i+1)); done");
	assert_non_null(strstr(buf_z(&b->text), " bytes left out]"));
	assert_null(strstr(buf_z(&b->text), "\xef\xbf\xbd"));
}

static void
what_stays_in_the_background_is_ended_and_told(void **state)
{
	struct bench *b = *state;

	sh(b, "sleep 1000 >/dev/null 2>&1 & echo started");
	assert_true(
	    str_ends(buf_str(&b->text), S("exit_code=0\n\nstarted\n"
					  "[1 background process was still running and ended]\n")));
	assert_non_null(strstr(buf_z(&b->job->out.metadata), "\"leftovers\":1"));
	assert_true(b->job->out.success);
}

static void
cancel_job(struct bench *b)
{
	job_cancel(b->job);
}

static void
a_cancelled_command_ends_and_gives_what_it_had(void **state)
{
	struct bench *b = *state;

	b->ready = "ready";
	b->on_ready = cancel_job;
	assert_int_equal(sh(b, "echo ready; exec sleep 1000"), E_CANCELLED);
	assert_true(str_ends(buf_str(&b->text), S("signal=SIGTERM\n\nready\n")));
	assert_false(b->job->out.success);
}

static void
timeout_seconds_is_honoured_with_the_partial_output(void **state)
{
	struct bench *b = *state;

	bench_run(b, JOB_RUN, "shell",
		  "{\"command\":\"echo early; exec sleep 1000\",\"timeout_seconds\":1}");
	fails(b, E_TIMEOUT, "the command did not finish within 1 second");
	assert_true(str_ends(buf_str(&b->text), S("signal=SIGTERM\n\nearly\n")));
}

static void
a_timeout_that_is_not_reached_does_nothing(void **state)
{
	struct bench *b = *state;

	bench_run(b, JOB_RUN, "shell", "{\"command\":\"echo ok\",\"timeout_seconds\":600}");
	says(b, "$ echo ok\nexit_code=0\n\nok\n");
}

static void
commands_that_cannot_be_run_are_refused(void **state)
{
	struct bench *b = *state;
	char *command = malloc(LIMIT_COMMAND_BYTES + 1);

	memset(command, ':', LIMIT_COMMAND_BYTES);
	command[LIMIT_COMMAND_BYTES] = '\0';
	assert_int_equal(sh(b, command), E_VALIDATION);
	command[LIMIT_COMMAND_BYTES - 1] = '\0';
	assert_int_equal(sh(b, command), 0); /* the longest that the kernel takes */
	bench_run(b, JOB_RUN, "shell", "{\"command\":\"echo \\u0000 x\"}");
	fails(b, E_VALIDATION, "command: has a NUL character in it");
	bench_run(b, JOB_PREVIEW, "shell", "{\"command\":\"echo \\u0000 x\"}");
	fails(b, E_VALIDATION, "command: has a NUL character in it");
	free(command);
}

static void
a_preview_shows_the_command_and_runs_nothing(void **state)
{
	struct bench *b = *state;

	bench_run(b, JOB_PREVIEW, "shell", "{\"command\":\"echo x > made\"}");
	says(b, "");
	assert_string_equal(buf_z(&b->job->out.command), "echo x > made");
	assert_int_equal(entries(b->sandbox), 0);
}

static void
leave_job(struct bench *b)
{
	job_cancel(b->job);
	job_free(&b->job);
}

static void
stop_loop(void *arg)
{
	loop_stop(arg);
}

/* Left behind while it runs: no report, no stream, and all is freed when it ends after all. */
static void
an_abandoned_command_is_nobodys_and_is_freed_at_its_end(void **state)
{
	struct bench *b = *state;
	const struct tool *t = catalog_find(b->catalog, S("shell"));
	const unsigned others = t->refs;
	struct timer timer = {0};

	b->ready = "ready";
	b->on_ready = leave_job;
	b->job = bench_start(
	    b, JOB_RUN, "shell",
	    "{\"command\":\"trap 'echo late; exit' TERM; echo ready; while :; do :; done\"}");
	while (t->refs > others) { /* the job holds one until it is freed */
		timer_start(b->loop, &timer, 5, stop_loop, b->loop);
		loop_run(b->loop);
	}
	timer_stop(b->loop, &timer);
	assert_null(b->job);
	assert_int_equal(b->reports, 0);
	assert_string_equal(buf_z(&b->streamed[0]), "ready\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ON_BENCH(output_and_exit_code_come_back_in_the_documents_form),
	    ON_BENCH(another_exit_code_is_a_result_without_success),
	    ON_BENCH(a_signal_is_told_by_its_name),
	    ON_BENCH(everything_that_is_written_is_kept_from_both_streams_in_order),
	    ON_BENCH(it_starts_in_the_workspace),
	    ON_BENCH(the_environment_is_built_and_holds_no_secrets),
	    ON_BENCH(bytes_that_are_no_text_are_made_valid),
	    ON_BENCH(of_long_output_head_and_tail_are_kept),
	    ON_BENCH(output_of_exactly_the_limit_is_whole),
	    ON_BENCH(cuts_do_not_split_characters),
	    ON_BENCH(what_stays_in_the_background_is_ended_and_told),
	    ON_BENCH(a_cancelled_command_ends_and_gives_what_it_had),
	    ON_BENCH(timeout_seconds_is_honoured_with_the_partial_output),
	    ON_BENCH(a_timeout_that_is_not_reached_does_nothing),
	    ON_BENCH(commands_that_cannot_be_run_are_refused),
	    ON_BENCH(a_preview_shows_the_command_and_runs_nothing),
	    ON_BENCH(an_abandoned_command_is_nobodys_and_is_freed_at_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
