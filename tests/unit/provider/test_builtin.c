/* test_builtin.c - what is registered is a factory; each job gets an instance of its own. */

#include "bench.h"

#include <semaphore.h>

#define CARD(name)                                                                                 \
	"{\"name\": \"" name "\", \"description\": \"d\", \"capability\": \"none\", "              \
	"\"reversibility\": \"pure\", \"input_schema\": {\"type\": \"object\"}}"

/* What happened, for the instances of one test. */
static struct {
	void *made[8];
	size_t made_count, freed;
	atomic_int runs;
	sem_t entered, go_on;
	int code;
	const char *says;
} seen;

static void *
instance_make(void *arg)
{
	assert_ptr_equal(arg, &seen);
	return seen.made[seen.made_count++] = malloc(1);
}

static void
instance_free(void *instance)
{
	seen.freed++;
	free(instance);
}

static int
run_count(void *instance, struct job *j)
{
	assert_ptr_equal(instance, j->instance);
	atomic_fetch_add(&seen.runs, 1);
	if (seen.says)
		return err_set(&j->out.err, seen.code, "%s", seen.says);
	return seen.code;
}

/* Says that it is there, and waits to be let go. */
static int
run_hold(void *instance, struct job *j)
{
	sem_post(&seen.entered);
	sem_wait(&seen.go_on);
	return run_count(instance, j);
}

static const struct builtin_ops count_ops = {.make = instance_make,
					     .free = instance_free,
					     .run = run_count};
static const struct builtin_ops hold_ops = {.make = instance_make,
					    .free = instance_free,
					    .run = run_hold};

static int
add(struct bench *b, struct str card, const struct builtin_ops *ops, struct err *e)
{
	return builtin_register(b->builtins, b->catalog,
				&(struct builtin_spec){.card = card, .ops = ops, .arg = &seen}, e);
}

static int
seen_setup(void **state)
{
	bench_setup(state);
	struct bench *b = *state;
	memset(&seen, 0, sizeof(seen));
	sem_init(&seen.entered, 0, 0);
	sem_init(&seen.go_on, 0, 0);
	assert_int_equal(add(b, S(CARD("count")), &count_ops, &b->sandbox->err), 0);
	assert_int_equal(add(b, S(CARD("hold")), &hold_ops, &b->sandbox->err), 0);
	return 0;
}

static void
wait_for_reports(struct bench *b, unsigned n)
{
	while (b->reports < n)
		loop_run(b->loop);
}

static void
jobs_at_once_get_distinct_instances_that_are_freed_with_them(void **state)
{
	struct bench *b = *state;
	struct job *jobs[3];

	for (size_t i = 0; i < 3; i++)
		jobs[i] = bench_start(b, JOB_RUN, "hold", "{}");
	assert_int_equal(seen.made_count, 3);
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(seen.made[i], seen.made[k]);
	for (size_t i = 0; i < 3; i++)
		sem_post(&seen.go_on);
	wait_for_reports(b, 3);
	assert_int_equal(seen.freed, 0);
	for (size_t i = 0; i < 3; i++)
		job_free(&jobs[i]);
	assert_int_equal(seen.freed, 3);
}

static void
the_five_tools_are_factories_too(void **state)
{
	struct bench *b = *state;
	static const char *const inputs[][2] = {
	    {"list_dir", "{}"},
	    {"patch_file", "{\"path\":\"a\",\"old\":\"a\",\"new\":\"b\"}"},
	    {"read_file", "{\"path\":\"a\"}"},
	    {"shell", "{\"command\":\"true\"}"},
	    {"write_file", "{\"path\":\"a\",\"content\":\"\"}"},
	};

	for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
		struct job *one = bench_start(b, JOB_RUN, inputs[i][0], inputs[i][1]);
		struct job *two = bench_start(b, JOB_RUN, inputs[i][0], inputs[i][1]);
		assert_non_null(one->instance);
		assert_ptr_not_equal(one->instance, two->instance);
		wait_for_reports(b, (unsigned)(i + 1) * 2);
		job_free(&one);
		job_free(&two);
	}
}

static void
a_reason_that_was_given_reaches_the_agent_and_no_other(void **state)
{
	struct bench *b = *state;

	seen.code = -12345;
	bench_run(b, JOB_RUN, "count", "{}");
	fails(b, E_EXECUTION, "Tool execution failed.");
	assert_string_equal(b->job->out.err.inside, "count returned -12345");
	seen.code = E_VALIDATION;
	seen.says = "too blue";
	bench_run(b, JOB_RUN, "count", "{}");
	fails(b, E_VALIDATION, "too blue");
}

static void
a_job_cancelled_before_its_turn_does_nothing(void **state)
{
	struct bench *b = *state;
	struct job *holder = bench_start(b, JOB_RUN, "hold", "{}");

	sem_wait(&seen.entered); /* the only worker is busy now */
	struct job *next = bench_start(b, JOB_RUN, "count", "{}");
	job_cancel(next);
	job_cancel(holder); /* has begun: ends as if nothing were */
	sem_post(&seen.go_on);
	wait_for_reports(b, 2);
	assert_int_equal(atomic_load(&seen.runs), 1);
	assert_int_equal(next->out.err.code, E_CANCELLED);
	assert_int_equal(holder->out.err.code, 0);
	job_free(&next);
	job_free(&holder);
}

static void
a_tool_unregistered_while_it_runs_ends_in_peace(void **state)
{
	struct bench *b = *state;
	struct job *j = bench_start(b, JOB_RUN, "hold", "{}");

	sem_wait(&seen.entered);
	assert_int_equal(builtin_unregister(b->builtins, b->catalog, S("hold")), 0);
	assert_int_equal(builtin_unregister(b->builtins, b->catalog, S("hold")), E_NOT_FOUND);
	assert_null(catalog_find(b->catalog, S("hold")));
	sem_post(&seen.go_on);
	wait_for_reports(b, 1);
	assert_int_equal(j->out.err.code, 0);
	job_free(&j);
	assert_int_equal(seen.freed, 1);
}

static void
an_abandoned_job_is_freed_when_it_ends_after_all(void **state)
{
	struct bench *b = *state;
	struct job *j = bench_start(b, JOB_RUN, "hold", "{}");

	sem_wait(&seen.entered);
	job_free(&j);
	assert_int_equal(seen.freed, 0);
	sem_post(&seen.go_on);
	/* The worker takes jobs in order: when this one is done, so is the other. */
	bench_run(b, JOB_RUN, "count", "{}");
	assert_int_equal(b->reports, 1);
	assert_int_equal(seen.freed, 1);
}

static void
a_tool_that_has_nothing_to_show_previews_as_nothing(void **state)
{
	struct bench *b = *state;

	assert_int_equal(bench_run(b, JOB_PREVIEW, "count", "{}"), 0);
	assert_int_equal(seen.made_count, 0);
	assert_int_equal(atomic_load(&seen.runs), 0);
	assert_int_equal(b->job->out.modified.len + b->job->out.diff.len, 0);
}

static void
a_bad_card_or_a_taken_name_is_refused(void **state)
{
	struct bench *b = *state;
	struct err e;

	assert_int_equal(add(b, S("{}"), &count_ops, &e), E_VALIDATION);
	assert_int_equal(add(b, S(CARD("shell")), &count_ops, &e), E_EXISTS);
	assert_int_equal(builtin_register_all(b->builtins, b->catalog, NULL, false, &e), E_EXISTS);
	assert_int_equal(catalog_count(b->catalog), 7);
}

/* cards/README.md: every example is validated. */
static void
the_examples_of_the_cards_fit_their_schemas(void **state)
{
	struct bench *b = *state;
	struct buf errors = BUF_INIT(4096);
	size_t count = 0;

	for (size_t i = 0; i < catalog_count(b->catalog); i++) {
		const struct tool *t = catalog_at(b->catalog, i);
		for (struct json_iter it = json_iter(t->examples); json_next(&it); count++)
			assert_int_equal(schema_validate(t->compiled,
							 json_get(it.value, S("input")),
							 SCHEMA_LINES, &errors),
					 0);
	}
	assert_true(count >= 5);
	buf_done(&errors);
}

static void
the_cards_declare_what_the_document_says(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *name;
		enum capability capability;
		enum reversibility reversibility;
	} cases[] = {
	    {"read_file", CAP_READ, REV_PURE},
	    {"write_file", CAP_WRITE, REV_COMPENSATABLE},
	    {"patch_file", CAP_WRITE, REV_COMPENSATABLE},
	    {"list_dir", CAP_READ, REV_PURE},
	    {"shell", CAP_EXECUTE, REV_IRREVERSIBLE},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct tool *t = catalog_find(b->catalog, str_of(cases[i].name));
		assert_int_equal(t->capability, cases[i].capability);
		assert_int_equal(t->reversibility, cases[i].reversibility);
		assert_true(t->requires_workspace);
	}
}

#define SEEN(test) cmocka_unit_test_setup_teardown(test, seen_setup, bench_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    SEEN(jobs_at_once_get_distinct_instances_that_are_freed_with_them),
	    SEEN(the_five_tools_are_factories_too),
	    SEEN(a_reason_that_was_given_reaches_the_agent_and_no_other),
	    SEEN(a_job_cancelled_before_its_turn_does_nothing),
	    SEEN(a_tool_unregistered_while_it_runs_ends_in_peace),
	    SEEN(an_abandoned_job_is_freed_when_it_ends_after_all),
	    SEEN(a_tool_that_has_nothing_to_show_previews_as_nothing),
	    SEEN(a_bad_card_or_a_taken_name_is_refused),
	    SEEN(the_examples_of_the_cards_fit_their_schemas),
	    SEEN(the_cards_declare_what_the_document_says),
	};
	pool__most = 1; /* so that the order of work is known */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
