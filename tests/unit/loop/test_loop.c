/* test_loop.c - timers, deferred calls, work and messages come when they should, and only then. */

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/loop.h"

#define MANY 10000

static struct loop *loop;
static char trace[64]; /* letters, in the order in which things happened */

static void
note(char letter)
{
	size_t n = strlen(trace);

	assert_true(n + 1 < sizeof(trace));
	trace[n] = letter;
	trace[n + 1] = '\0';
}

static int
set_up(void **state)
{
	struct err e;

	(void)state;
	trace[0] = '\0';
	return loop_new(&loop, &e);
}

static int
tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

struct lettered {
	struct timer timer;
	struct deferred deferred;
	char letter;
	int again;
};

static void
fire(void *arg)
{
	note(((struct lettered *)arg)->letter);
}

static void
stop(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

static void
fire_and_stop(void *arg)
{
	fire(arg);
	stop(NULL);
}

static void
timers_fire_in_the_order_they_are_due(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'}, c = {.letter = 'c'};

	(void)state;
	assert_int_equal(timer_start(loop, &c.timer, 30, fire_and_stop, &c), 0);
	assert_int_equal(timer_start(loop, &a.timer, 0, fire, &a), 0);
	assert_int_equal(timer_start(loop, &b.timer, 10, fire, &b), 0);
	assert_true(timer_running(&a.timer));
	loop_run(loop);
	assert_string_equal(trace, "abc");
	assert_false(timer_running(&c.timer));
}

static void
a_stopped_timer_does_not_fire(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'};

	(void)state;
	timer_stop(loop, &a.timer); /* not even running */
	timer_start(loop, &a.timer, 0, fire, &a);
	timer_start(loop, &b.timer, 1, fire_and_stop, &b);
	timer_stop(loop, &a.timer);
	assert_false(timer_running(&a.timer));
	loop_run(loop);
	assert_string_equal(trace, "b");
}

static void
a_timer_started_again_takes_the_new_delay(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'};

	(void)state;
	timer_start(loop, &a.timer, 3600 * 1000, fire, &a);
	timer_start(loop, &b.timer, 20, fire_and_stop, &b);
	timer_start(loop, &a.timer, 0, fire, &a);
	loop_run(loop);
	assert_string_equal(trace, "ab");
}

static void
fire_thrice(void *arg)
{
	struct lettered *x = arg;

	note(x->letter);
	assert_false(timer_running(&x->timer));
	if (++x->again < 3)
		assert_int_equal(timer_start(loop, &x->timer, 0, fire_thrice, x), 0);
	else
		loop_stop(loop);
}

static void
a_timer_may_start_itself_again_when_it_fires(void **state)
{
	struct lettered a = {.letter = 'a'};

	(void)state;
	timer_start(loop, &a.timer, 0, fire_thrice, &a);
	loop_run(loop);
	assert_string_equal(trace, "aaa");
}

static void
fire_and_free(void *arg)
{
	free(arg);
	loop_stop(loop);
}

static void
a_timer_may_be_freed_when_it_fires(void **state)
{
	struct timer *t = calloc(1, sizeof(*t));

	(void)state;
	timer_start(loop, t, 0, fire_and_free, t);
	loop_run(loop);
}

static struct timer many[MANY];
static size_t fired;
static uint64_t last_due, last_order;

static void
fire_one_of_many(void *arg)
{
	struct timer *t = arg;

	assert_true(t->due_ms > last_due || (t->due_ms == last_due && t->order > last_order));
	assert_true(loop_now_ms(loop) >= t->due_ms);
	last_due = t->due_ms;
	last_order = t->order;
	if (++fired == MANY - MANY / 3 - 1)
		loop_stop(loop);
}

static void
ten_thousand_timers_fire_in_order_whatever_is_stopped_between(void **state)
{
	(void)state;
	memset(many, 0, sizeof(many));
	fired = 0;
	last_due = last_order = 0;
	for (size_t i = 0; i < MANY; i++)
		timer_start(loop, &many[i], i * 7919 % 50, fire_one_of_many, &many[i]);
	for (size_t i = 0; i < MANY; i += 3)
		timer_stop(loop, &many[i]);
	loop_run(loop);
	assert_int_equal(fired, MANY - MANY / 3 - 1);
	for (size_t i = 0; i < MANY; i++)
		assert_false(timer_running(&many[i]));
}

/* Of as many lengths as there are lanes, and more; stopped first, in the middle and last, started
 * again, and some let run. */
static void
long_timers_come_and_go(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'}, c = {.letter = 'c'};

	(void)state;
	memset(many, 0, sizeof(many));
	for (size_t i = 0; i < MANY; i++)
		timer_start(loop, &many[i], 1000 * (1 + i % 23), fire, &a);
	for (size_t i = 0; i < MANY; i++)
		assert_true(timer_running(&many[i]));
	timer_start(loop, &c.timer, 1001, fire_and_stop, &c);
	timer_start(loop, &b.timer, 1001, fire, &b);
	timer_start(loop, &c.timer, 1001, fire_and_stop, &c); /* now behind it */
	for (size_t i = 0; i < MANY; i += 2)
		timer_start(loop, &many[i], 3600 * 1000, fire, &a);
	for (size_t i = 0; i < MANY; i++)
		timer_stop(loop, &many[(i * 7919 + 3) % MANY]);
	for (size_t i = 0; i < MANY; i++)
		assert_false(timer_running(&many[i]));
	loop_run(loop);
	assert_string_equal(trace, "bc");
}

static void
deferred_calls_run_later_in_order_and_once(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'};

	(void)state;
	defer(loop, &a.deferred, fire, &a);
	defer(loop, &b.deferred, fire_and_stop, &b);
	defer(loop, &a.deferred, fire, &a);
	assert_string_equal(trace, "");
	loop_run(loop);
	assert_string_equal(trace, "ab");
}

static void
a_cancelled_deferred_call_does_not_run(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'};

	(void)state;
	defer_cancel(&a.deferred); /* not even put off */
	defer(loop, &a.deferred, fire, &a);
	defer(loop, &b.deferred, fire_and_stop, &b);
	defer_cancel(&a.deferred);
	loop_run(loop);
	assert_string_equal(trace, "b");
}

static struct lettered victim = {.letter = 'v'};

static void
cancel_the_victim(void *arg)
{
	fire(arg);
	defer_cancel(&victim.deferred);
}

static void
a_deferred_call_may_cancel_one_of_the_same_turn(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'};

	(void)state;
	defer(loop, &a.deferred, cancel_the_victim, &a);
	defer(loop, &victim.deferred, fire, &victim);
	defer(loop, &b.deferred, fire_and_stop, &b);
	loop_run(loop);
	assert_string_equal(trace, "ab");
}

static void
run_thrice(void *arg)
{
	struct lettered *x = arg;

	note(x->letter);
	if (++x->again < 3)
		defer(loop, &x->deferred, run_thrice, x);
	else
		loop_stop(loop);
}

static void
what_is_put_off_while_others_run_comes_after_them(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'};

	(void)state;
	defer(loop, &a.deferred, run_thrice, &a);
	defer(loop, &b.deferred, fire, &b);
	loop_run(loop);
	assert_string_equal(trace, "abaa");
}

static void
note_the_crowd(void *arg)
{
	fire(arg);
	note(loop_crowded(loop) ? '+' : '-');
}

static void
the_last_come_when_the_others_of_the_turn_have(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'}, z = {.letter = 'z'};

	(void)state;
	defer_last(loop, &z.deferred, fire, &z);
	defer_last(loop, &victim.deferred, fire, &victim);
	defer(loop, &a.deferred, run_thrice, &a);
	defer(loop, &b.deferred, fire, &b);
	defer_cancel(&victim.deferred);
	loop_run(loop);
	assert_string_equal(trace, "abaaz");
}

static void
a_turn_is_crowded_while_somebody_has_to_do_in_it(void **state)
{
	struct lettered a = {.letter = 'a'}, b = {.letter = 'b'}, z = {.letter = 'z'};

	(void)state;
	assert_false(loop_crowded(loop));
	defer(loop, &a.deferred, note_the_crowd, &a);
	defer(loop, &b.deferred, note_the_crowd, &b);
	defer_last(loop, &z.deferred, fire_and_stop, &z);
	assert_true(loop_crowded(loop));
	loop_run(loop);
	assert_string_equal(trace, "a+b+z"); /* the last one wants to write, too */
	assert_false(loop_crowded(loop));
	defer(loop, &a.deferred, note_the_crowd, &a);
	(void)timer_start(loop, &z.timer, 1, stop, NULL);
	loop_run(loop);
	assert_string_equal(trace, "a+b+za-");
}

static void
a_deferred_call_may_free_itself(void **state)
{
	struct deferred *d = calloc(1, sizeof(*d));

	(void)state;
	defer(loop, d, fire_and_free, d);
	loop_run(loop);
}

struct sum {
	struct work work;
	pthread_t thread;
	int value;
};

static void
sum_work(void *arg)
{
	struct sum *s = arg;

	s->thread = pthread_self();
	s->value = 42;
}

static void
work_runs_on_another_thread_and_is_done_on_the_loop(void **state)
{
	struct sum s = {0};

	(void)state;
	assert_int_equal(work_start(loop, &s.work, sum_work, stop, &s), 0);
	loop_run(loop);
	assert_int_equal(s.value, 42);
	assert_false(pthread_equal(s.thread, pthread_self()));
}

static void
wake_noted(void *arg)
{
	(void)arg;
	note('w');
	loop_stop(loop);
}

static void *
post_from_there(void *arg)
{
	mailbox_post(arg);
	return NULL;
}

static void
a_message_from_another_thread_wakes_the_loop(void **state)
{
	struct mailbox box;
	struct err e;
	pthread_t thread;

	(void)state;
	assert_int_equal(mailbox_init(loop, &box, wake_noted, NULL, &e), 0);
	assert_int_equal(pthread_create(&thread, NULL, post_from_there, &box), 0);
	loop_run(loop);
	pthread_join(thread, NULL);
	assert_string_equal(trace, "w");
	mailbox_done(&box);
	mailbox_done(&box);
}

static void
a_closed_mailbox_wakes_nobody(void **state)
{
	struct mailbox box;
	struct lettered a = {.letter = 'a'};
	struct err e;

	(void)state;
	assert_int_equal(mailbox_init(loop, &box, wake_noted, NULL, &e), 0);
	mailbox_post(&box);
	mailbox_done(&box);
	timer_start(loop, &a.timer, 5, fire_and_stop, &a);
	loop_run(loop);
	assert_string_equal(trace, "a");
}

static void *
stop_from_there(void *arg)
{
	loop_stop(arg);
	return NULL;
}

static void
another_thread_can_stop_the_loop(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stop_from_there, loop), 0);
	loop_run(loop);
	pthread_join(thread, NULL);
}

static void
a_loop_that_was_stopped_can_run_again(void **state)
{
	struct lettered a = {.letter = 'a'};

	(void)state;
	loop_stop(loop);
	loop_run(loop);
	timer_start(loop, &a.timer, 0, fire_and_stop, &a);
	loop_run(loop);
	assert_string_equal(trace, "a");
}

static void
write_to_nobody(void *arg)
{
	assert_int_equal(write(*(int *)arg, "x", 1), -1);
	loop_stop(loop);
}

/* With SIGPIPE at its default the test program itself would die of it. */
static void
a_broken_pipe_does_not_end_the_program(void **state)
{
	struct timer t = {0};
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	timer_start(loop, &t, 0, write_to_nobody, &ends[1]);
	loop_run(loop);
	close(ends[1]);
}

static sigset_t seen;

static void
mask_see(void *arg)
{
	(void)arg;
	pthread_sigmask(SIG_BLOCK, NULL, &seen);
}

/* Of issue 6: a crash on a worker was not told, because its signal was blocked there. */
static void
a_worker_takes_no_signals_but_those_of_its_own_faults(void **state)
{
	struct work w = {0};

	(void)state;
	assert_int_equal(work_start(loop, &w, mask_see, stop, NULL), 0);
	loop_run(loop);
	assert_true(sigismember(&seen, SIGTERM) && sigismember(&seen, SIGPIPE) &&
		    sigismember(&seen, SIGXFSZ) && sigismember(&seen, SIGCHLD));
	assert_false(sigismember(&seen, SIGSEGV) || sigismember(&seen, SIGABRT));
}

/* Of issue 6: with SIGPIPE blocked, SIGXFSZ stayed blocked behind it. */
static void
the_host_has_its_signals_back_after_a_run(void **state)
{
	sigset_t pipe, before, after;

	(void)state;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	loop_stop(loop);
	loop_run(loop);
	pthread_sigmask(SIG_SETMASK, &before, &after);
	assert_true(sigismember(&after, SIGPIPE));
	assert_false(sigismember(&after, SIGXFSZ));
}

/* With no assertions: they belong to the parent. An alarm ends what waits for ever. */
static int
work_in_child(void)
{
	struct loop *own;
	struct work w = {0};
	struct err e;

	alarm(10);
	if (loop_new(&own, &e) < 0)
		return 1;
	loop = own;
	if (work_start(own, &w, mask_see, stop, NULL) < 0)
		return 2;
	loop_run(own);
	loop_free(own);
	return 0;
}

/* Of issue 6: the child waited for threads that only its parent has. */
static void
a_forked_child_has_workers_of_its_own(void **state)
{
	struct work w = {0};
	int status;

	(void)state;
	assert_int_equal(work_start(loop, &w, mask_see, stop, NULL), 0);
	loop_run(loop);
	pid_t pid = fork();
	if (pid == 0)
		_exit(work_in_child());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
#define LOOP_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    LOOP_TEST(timers_fire_in_the_order_they_are_due),
	    LOOP_TEST(a_stopped_timer_does_not_fire),
	    LOOP_TEST(a_timer_started_again_takes_the_new_delay),
	    LOOP_TEST(a_timer_may_start_itself_again_when_it_fires),
	    LOOP_TEST(a_timer_may_be_freed_when_it_fires),
	    LOOP_TEST(ten_thousand_timers_fire_in_order_whatever_is_stopped_between),
	    LOOP_TEST(long_timers_come_and_go),
	    LOOP_TEST(deferred_calls_run_later_in_order_and_once),
	    LOOP_TEST(a_cancelled_deferred_call_does_not_run),
	    LOOP_TEST(a_deferred_call_may_cancel_one_of_the_same_turn),
	    LOOP_TEST(what_is_put_off_while_others_run_comes_after_them),
	    LOOP_TEST(the_last_come_when_the_others_of_the_turn_have),
	    LOOP_TEST(a_turn_is_crowded_while_somebody_has_to_do_in_it),
	    LOOP_TEST(a_deferred_call_may_free_itself),
	    LOOP_TEST(work_runs_on_another_thread_and_is_done_on_the_loop),
	    LOOP_TEST(a_message_from_another_thread_wakes_the_loop),
	    LOOP_TEST(a_closed_mailbox_wakes_nobody),
	    LOOP_TEST(another_thread_can_stop_the_loop),
	    LOOP_TEST(a_loop_that_was_stopped_can_run_again),
	    LOOP_TEST(a_broken_pipe_does_not_end_the_program),
	    LOOP_TEST(a_worker_takes_no_signals_but_those_of_its_own_faults),
	    LOOP_TEST(the_host_has_its_signals_back_after_a_run),
	    LOOP_TEST(a_forked_child_has_workers_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
