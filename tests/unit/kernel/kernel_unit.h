/* kernel_unit.h - a kernel with the pack that is part of the program, and a clock of its own. */

#ifndef TESTS_KERNEL_UNIT_H
#define TESTS_KERNEL_UNIT_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "../json/parsed.h"
#include "kernel/router.h"
#include "testdata.h"

#define ACCEPTED "{\"meta_locus\":{\"accepted\":true}}"

struct bench {
	struct kernel_index *index;
	struct kernel *kernel;
	int64_t wall_us;
	uint64_t mono_us, step_us; /* that passes with each look at the clock */
	struct emission last;
	struct json_doc *doc; /* of the last emission */
};

static inline int64_t
bench_wall(void *arg)
{
	return ((struct bench *)arg)->wall_us;
}

static inline uint64_t
bench_mono(void *arg)
{
	struct bench *b = arg;

	b->mono_us += b->step_us;
	return b->mono_us;
}

static inline struct kernel_index *
standard_index(void)
{
	struct kernel_index *x = NULL;
	struct json_doc *bundle = NULL;
	struct err e;

	if (bundle_standard(&bundle, &e) < 0 || kernel_index_new(bundle, NULL, &x, &e) < 0)
		fail_msg("%s", err_text(&e));
	json_doc_unref(bundle);
	return x;
}

/* Keeps the index; state: JSON, or NULL. */
static inline struct bench *
bench_with(struct kernel_index *index, const char *state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct json_doc *doc = state ? parsed(state) : NULL;
	struct kernel_clock clock = {bench_wall, bench_mono, b};
	struct err e;

	assert_non_null(b);
	b->index = index;
	b->wall_us = 1767225600000000; /* 2026-01-01 */
	struct kernel_spec spec = {index, doc ? json_root(doc) : NULL, &clock};
	if (kernel_new(&spec, &b->kernel, &e) < 0)
		fail_msg("%s", err_text(&e));
	json_doc_unref(doc);
	return b;
}

static inline struct bench *
bench_new(const char *state)
{
	return bench_with(standard_index(), state);
}

static inline void
bench_free(struct bench *b)
{
	json_doc_unref(b->doc);
	kernel_free(b->kernel);
	kernel_index_unref(b->index);
	free(b);
}

/* The emission, which fits the schema emissions have. */
static inline const struct json *
bench_take_text(struct bench *b, struct str text)
{
	struct kernel_order order;

	json_doc_unref(b->doc);
	b->doc = NULL;
	assert_true(kernel_take(b->kernel, text, &b->last, &order));
	struct err e;
	if (json_parse(b->last.text, &json_door, &b->doc, &e) < 0)
		fail_msg("%.*s: %s", STR_ARG(b->last.text), err_text(&e));
	if (!schema_fits(b->index->emission, json_root(b->doc)) &&
	    !schema_fits(b->index->error, json_root(b->doc)))
		fail_msg("no emission: %.*s", STR_ARG(b->last.text));
	return json_root(b->doc);
}

static inline const struct json *
bench_take(struct bench *b, const char *text)
{
	return bench_take_text(b, str_of(text));
}

/* A call without meta; the result, or NULL with the code in *ret_code. */
static inline const struct json *
bench_call(struct bench *b, const char *id, const char *payload)
{
	struct buf text = BUF_INIT(64 * KIB);

	buf_addf(&text, "{\"tool.call\":{\"id\":\"%s\",\"payload\":%s}}", id, payload);
	const struct json *emission = bench_take_text(b, buf_str(&text));
	buf_done(&text);
	return json_get(json_get(emission, S("tool.emit")), S("result"));
}

static inline struct str
bench_code(const struct bench *b)
{
	return json_str(json_pointer(json_root(b->doc), S("/tool.error/code")));
}

static inline struct str
bench_reason(const struct bench *b)
{
	return json_str(json_pointer(json_root(b->doc), S("/tool.error/reason")));
}

static inline void
assert_code(const struct bench *b, const char *code)
{
	if (!str_is(bench_code(b), code))
		fail_msg("%s, got %.*s", code, STR_ARG(b->last.text));
}

static inline void
assert_str(struct str got, const char *expected)
{
	if (!str_is(got, expected))
		fail_msg("expected '%s', got '%.*s'", expected, STR_ARG(got));
}

#endif
