/* bench.h - a loop, a catalog with the five tools, a workspace; jobs are run to their report. */

#ifndef TESTS_PROVIDER_BENCH_H
#define TESTS_PROVIDER_BENCH_H

#include "workspace/sandbox.h"

#include "provider/builtin.h"

struct bench {
	struct sandbox *sandbox;
	struct loop *loop;
	struct builtins *builtins;
	struct catalog *catalog;
	struct job *job; /* of the last run, reported */
	struct buf text; /* its text blocks, joined */
	struct buf streamed[2];
	const char *ready; /* when this has been streamed... */
	void (*on_ready)(struct bench *b);
	unsigned reports;
};

static inline int
bench_setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	void *sandbox;

	sandbox_setup(&sandbox);
	b->sandbox = sandbox;
	assert_int_equal(loop_new(&b->loop, &b->sandbox->err), 0);
	b->builtins = builtins_new(b->loop);
	b->catalog = catalog_new(100);
	assert_int_equal(builtin_register_all(b->builtins, b->catalog, NULL, false,
					      &b->sandbox->err),
			 0);
	b->text = BUF_INIT(LIMIT_RESULT_BYTES);
	b->streamed[0] = b->streamed[1] = BUF_INIT(LIMIT_RESULT_BYTES);
	*state = b;
	return 0;
}

static inline int
bench_teardown(void **state)
{
	struct bench *b = *state;
	void *sandbox = b->sandbox;

	job_free(&b->job);
	catalog_free(b->catalog);
	builtins_free(b->builtins);
	loop_free(b->loop);
	buf_done(&b->text);
	buf_done(&b->streamed[0]);
	buf_done(&b->streamed[1]);
	free(b);
	return sandbox_teardown(&sandbox);
}

static inline void
bench_reported(struct job *j, void *owner)
{
	struct bench *b = owner;

	(void)j;
	b->reports++;
	loop_stop(b->loop);
}

static inline void
bench_streamed(struct job *j, struct str bytes, bool is_stderr, void *owner)
{
	struct bench *b = owner;

	(void)j;
	buf_add(&b->streamed[is_stderr], bytes);
	if (b->on_ready && strstr(buf_z(&b->streamed[is_stderr]), b->ready)) {
		void (*on_ready)(struct bench *) = b->on_ready;
		b->on_ready = NULL;
		on_ready(b);
	}
}

/* The blocks' texts, one after the other. */
static inline void
bench_join(struct bench *b)
{
	struct buf json = BUF_INIT(LIMIT_RESULT_BYTES + 2);
	struct json_doc *doc;
	struct err e;

	buf_addf(&json, "[%.*s]", STR_ARG(buf_str(&b->job->out.content)));
	assert_int_equal(json_parse(buf_str(&json), &json_door, &doc, &e), 0);
	buf_reset(&b->text);
	for (struct json_iter it = json_iter(json_root(doc)); json_next(&it);) {
		assert_true(str_is(json_str(json_get(it.value, S("type"))), "text"));
		buf_add(&b->text, json_str(json_get(it.value, S("text"))));
	}
	json_doc_unref(doc);
	buf_done(&json);
}

static inline struct job *
bench_start(struct bench *b, enum job_kind kind, const char *tool, const char *input)
{
	struct job_spec spec = {
	    .kind = kind,
	    .tool = catalog_find(b->catalog, str_of(tool)),
	    .context = {.session = S("sess_1"),
			.turn = S("turn_1"),
			.tool_use_id = S("tu_1"),
			.workspace = b->sandbox->ws},
	    .report = bench_reported,
	    .stream = bench_streamed,
	    .owner = b,
	};
	struct job *j = NULL;
	struct err e;

	assert_non_null(spec.tool);
	assert_int_equal(json_parse(str_of(input), &json_door, &spec.input_doc, &e), 0);
	spec.input = json_root(spec.input_doc);
	assert_true(schema_fits(spec.tool->compiled, spec.input));
	assert_int_equal(job_start(b->loop, &spec, &j, &e), 0);
	json_doc_unref(spec.input_doc); /* the job has its own reference */
	return j;
}

/* The code of its error, 0 for none. */
static inline int
bench_run(struct bench *b, enum job_kind kind, const char *tool, const char *input)
{
	unsigned before = b->reports;

	job_free(&b->job);
	buf_reset(&b->streamed[0]);
	buf_reset(&b->streamed[1]);
	b->job = bench_start(b, kind, tool, input);
	assert_int_equal(b->reports, before);
	loop_run(b->loop);
	assert_int_equal(b->reports, before + 1);
	bench_join(b);
	assert_true(b->job->out.err.code == 0 || !b->job->out.success);
	return b->job->out.err.code;
}

static inline void
says(struct bench *b, const char *text)
{
	if (b->job->out.err.code)
		print_error("%s\n", b->job->out.err.text);
	assert_int_equal(b->job->out.err.code, 0);
	assert_string_equal(buf_z(&b->text), text);
}

static inline void
fails(struct bench *b, int code, const char *text)
{
	assert_int_equal(b->job->out.err.code, code);
	assert_string_equal(b->job->out.err.text, text);
}

#define ON_BENCH(test) cmocka_unit_test_setup_teardown(test, bench_setup, bench_teardown)

#endif
