/* stock.h - a set of artifacts for tests: on disk and in memory, with a clock of its own. */

#ifndef TESTS_ARTIFACT_STOCK_H
#define TESTS_ARTIFACT_STOCK_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "artifact/artifact.h"

#define HOUR INT64_C(3600000000)

static int64_t stock_now; /* what the clock says */

static inline int64_t
stock_clock(void)
{
	return stock_now;
}

struct stock {
	char dir[64]; /* "" in memory */
	struct artifacts *set;
};

static inline void
stock_open(struct stock *s, const struct artifacts_spec *like)
{
	struct artifacts_spec spec = *like;
	struct err e = ERR_NONE;

	spec.now = stock_clock;
	spec.dir = s->dir[0] ? s->dir : NULL;
	if (artifacts_open(&spec, &s->set, &e) < 0)
		fail_msg("%s", err_text(&e));
}

static inline struct stock
stock_new(bool on_disk, const struct artifacts_spec *like)
{
	struct stock s = {0};

	stock_now = INT64_C(1800000000) * 1000000;
	if (on_disk) {
		strcpy(s.dir, "/tmp/holdfast-unit-XXXXXX");
		assert_non_null(mkdtemp(s.dir));
	}
	stock_open(&s, like);
	return s;
}

static inline void
stock_free(struct stock *s)
{
	char command[128];

	artifacts_free(s->set);
	snprintf(command, sizeof(command), "rm -rf '%s'", s->dir);
	if (s->dir[0])
		assert_int_equal(system(command), 0);
}

/* Stored in pieces of that size. */
static inline struct artifact
stock_put(struct stock *s, struct str tenant, struct str text, size_t piece)
{
	struct artifact_note note = {tenant, S("tool"), S("text/plain"), S("a label")};
	struct artifact_writer *w = NULL;
	struct artifact a = {0};
	struct err e = ERR_NONE;

	assert_int_equal(artifact_begin(s->set, &note, &w, &e), 0);
	for (; text.len; text = str_from(text, piece))
		assert_int_equal(artifact_feed(w, str_upto(text, piece), &e), 0);
	if (artifact_finish(&w, &a, &e) < 0)
		fail_msg("%s %s", err_text(&e), e.inside);
	assert_null(w);
	return a;
}

static inline struct artifact_reader *
stock_reader(struct stock *s, struct str tenant, const char *handle)
{
	struct artifact_reader *r = NULL;
	struct err e = ERR_NONE;

	int code = artifact_open(s->set, tenant, str_of(handle), &r, &e);
	assert_true((code == 0) == (r != NULL));
	assert_true(code == 0 || (code == E_NO_ARTIFACT && e.code == code));
	return r;
}

static inline bool
stock_has(struct stock *s, struct str tenant, const char *handle)
{
	struct artifact_reader *r = stock_reader(s, tenant, handle);

	artifact_close(r);
	return r != NULL;
}

#endif
