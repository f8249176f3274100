/* test_job.c - a job is reported once, later, to whoever still wants it. */

#include "bench.h"

/* A provider that keeps its job until it is told to report. */
struct slow {
	struct provider provider;
	struct job *job;
	int instance, cancels, dones;
};

static void
slow_start(struct provider *p, struct job *j)
{
	struct slow *s = CONTAINER_OF(p, struct slow, provider);

	s->job = j;
	j->instance = &s->instance;
}

static void
slow_cancel(struct provider *p, struct job *j)
{
	struct slow *s = CONTAINER_OF(p, struct slow, provider);

	assert_true(atomic_load(&j->cancelled));
	s->cancels++;
}

static void
slow_done(struct provider *p, struct job *j)
{
	struct slow *s = CONTAINER_OF(p, struct slow, provider);

	assert_ptr_equal(j->instance, &s->instance);
	s->dones++;
}

static const struct slow slow_new = {.provider = {"slow", slow_start, slow_cancel, slow_done}};

/* list_dir, run by another provider for the time of the test. */
static struct job *
slow_job(struct bench *b, struct slow *s)
{
	struct tool *t = catalog_find(b->catalog, S("list_dir"));

	t->provider = &s->provider;
	return bench_start(b, JOB_RUN, "list_dir", "{}");
}

static void
a_report_reaches_the_owner_once(void **state)
{
	struct bench *b = *state;
	struct slow s = slow_new;

	b->job = slow_job(b, &s);
	assert_int_equal(b->reports, 0);
	assert_false(b->job->reported);
	job_report_soon(b->job);
	assert_int_equal(b->reports, 0);
	loop_run(b->loop);
	assert_int_equal(b->reports, 1);
	assert_true(b->job->reported && b->job->out.success);
	assert_int_equal(s.dones, 0);
	job_free(&b->job);
	assert_null(b->job);
	assert_int_equal(s.dones, 1);
}

static void
an_error_is_no_success(void **state)
{
	struct bench *b = *state;
	struct slow s = slow_new;

	b->job = slow_job(b, &s);
	err_set(&b->job->out.err, E_EXECUTION, "no");
	job_report(b->job);
	assert_false(b->job->out.success);
	job_free(&b->job);
}

static void
a_job_left_behind_frees_itself_when_it_reports(void **state)
{
	struct bench *b = *state;
	struct slow s = slow_new;
	struct job *j = slow_job(b, &s);

	job_free(&j);
	assert_null(j);
	assert_int_equal(s.dones, 0);
	output_text(&s.job->out, S("too late"));
	job_report(s.job);
	assert_int_equal(s.dones, 1);
	assert_int_equal(b->reports, 0);
}

static void
cancelling_reaches_the_provider_once_and_not_after_the_report(void **state)
{
	struct bench *b = *state;
	struct slow s = slow_new;

	b->job = slow_job(b, &s);
	job_cancel(b->job);
	job_cancel(b->job);
	assert_int_equal(s.cancels, 1);
	job_report(b->job);
	job_free(&b->job);
	b->job = slow_job(b, &s);
	job_report(b->job);
	job_cancel(b->job);
	assert_int_equal(s.cancels, 1);
	job_free(&b->job);
}

static void
a_job_keeps_copies_of_what_it_was_told(void **state)
{
	struct bench *b = *state;
	struct slow s = slow_new;
	char session[] = "sess_x";
	struct job_spec spec = {
	    .tool = catalog_find(b->catalog, S("list_dir")),
	    .context = {.session = str_of(session),
			.turn = S("t"),
			.tool_use_id = S("u"),
			.workspace = b->sandbox->ws},
	    .report = bench_reported,
	    .owner = b,
	};
	struct err e;

	spec.tool->provider = &s.provider;
	assert_int_equal(job_start(b->loop, &spec, &b->job, &e), 0);
	memset(session, '?', sizeof(session));
	assert_true(str_is(b->job->context.session, "sess_x"));
	/* The tool stays while the job needs it. */
	assert_int_equal(catalog_remove(b->catalog, S("list_dir")), 0);
	assert_true(str_is(b->job->tool->name, "list_dir"));
	job_report(b->job);
	job_free(&b->job);
	job_free(&b->job); /* NULL is fine */
}

static void
output_is_json_pieces_ready_to_be_joined(void **state)
{
	struct output o, taken;

	(void)state;
	output_init(&o);
	output_text(&o, S("a\"b"));
	output_textf(&o, "%d", 7);
	output_modified(&o, S("x"));
	output_modified(&o, S("y\n"));
	output_move(&taken, &o);
	assert_int_equal(o.content.len, 0);
	assert_string_equal(
	    buf_z(&taken.content),
	    "{\"type\":\"text\",\"text\":\"a\\\"b\"},{\"type\":\"text\",\"text\":\"7\"}");
	assert_string_equal(buf_z(&taken.modified), "\"x\",\"y\\n\"");
	output_done(&taken);
	output_done(&o);
	o = (struct output){0};
	output_done(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ON_BENCH(a_report_reaches_the_owner_once),
	    ON_BENCH(an_error_is_no_success),
	    ON_BENCH(a_job_left_behind_frees_itself_when_it_reports),
	    ON_BENCH(cancelling_reaches_the_provider_once_and_not_after_the_report),
	    ON_BENCH(a_job_keeps_copies_of_what_it_was_told),
	    cmocka_unit_test(output_is_json_pieces_ready_to_be_joined),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
