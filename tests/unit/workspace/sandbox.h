/* sandbox.h - a workspace in a fresh directory, with a neighbour that must stay untouched. */

#ifndef TESTS_WORKSPACE_SANDBOX_H
#define TESTS_WORKSPACE_SANDBOX_H

#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "workspace/workspace.h"

#define CANARY "canary: nobody inside may read this"

/* base/ws is the root; base/ws_evil and base/secret lie outside. */
struct sandbox {
	char base[64];
	struct workspace *ws;
	struct buf out;
	struct err err;
};

static inline char *
sandbox_path(struct sandbox *s, const char *rel)
{
	static char path[4][PATH_MAX];
	static int at;
	char *p = path[at++ % 4];

	snprintf(p, PATH_MAX, "%s/%s", s->base, rel);
	return p;
}

static inline void
put(struct sandbox *s, const char *rel, const char *text)
{
	FILE *f = fopen(sandbox_path(s, rel), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static inline const char *
got(struct sandbox *s, const char *rel)
{
	static char text[4096];
	FILE *f = fopen(sandbox_path(s, rel), "r");

	if (!f)
		return NULL;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

static inline void
link_to(struct sandbox *s, const char *target, const char *rel)
{
	assert_int_equal(symlink(target, sandbox_path(s, rel)), 0);
}

static inline int
sandbox_setup(void **state)
{
	struct sandbox *s = calloc(1, sizeof(*s));

	strcpy(s->base, "/tmp/holdfast-unit-XXXXXX");
	assert_non_null(mkdtemp(s->base));
	assert_int_equal(mkdir(sandbox_path(s, "ws"), 0755), 0);
	assert_int_equal(mkdir(sandbox_path(s, "ws_evil"), 0755), 0);
	put(s, "secret", CANARY);
	put(s, "ws_evil/secret", CANARY);
	s->out = BUF_INIT(LIMIT_FILE_READ * 2);
	assert_int_equal(workspace_open(sandbox_path(s, "ws"), NULL, &s->ws, &s->err), 0);
	*state = s;
	return 0;
}

static inline int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static inline int
sandbox_teardown(void **state)
{
	struct sandbox *s = *state;

	workspace_unref(s->ws);
	buf_done(&s->out);
	nftw(s->base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(s);
	return 0;
}

static inline void
refused(struct sandbox *s, int rc, int code, const char *text)
{
	if (rc != code || (text && strcmp(s->err.text, text) != 0))
		print_error("got %d \"%s\"\n", rc, rc ? s->err.text : "");
	assert_int_equal(rc, code);
	if (text)
		assert_string_equal(s->err.text, text);
}

/* Files in the root, without "." and "..". */
static inline size_t
entries(struct sandbox *s)
{
	size_t n = 0;

	buf_reset(&s->out);
	assert_int_equal(workspace_list(s->ws, S("."), &s->out, &n, &s->err), 0);
	return n;
}

#define IN_SANDBOX(test) cmocka_unit_test_setup_teardown(test, sandbox_setup, sandbox_teardown)

#endif
