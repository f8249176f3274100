/* store_unit.h - a loop, a store, and pages copied out for looking at. */

#ifndef TESTS_STORE_UNIT_H
#define TESTS_STORE_UNIT_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "store/sqlite.h"

static struct loop *loop;

/* The last page read. */
static struct {
	int code;
	size_t count;
	bool more;
	char *ids[LIMIT_EVENT_PAGE];
	char *types[LIMIT_EVENT_PAGE];
	char *json[LIMIT_EVENT_PAGE];
} page;

static inline void
page_clear(void)
{
	for (size_t i = 0; i < page.count; i++) {
		free(page.ids[i]);
		free(page.types[i]);
		free(page.json[i]);
	}
	page.count = 0;
}

static inline char *
text_copy(struct str s)
{
	return s.ptr ? strndup(s.ptr, s.len) : strdup("");
}

static inline void
page_keep(const struct store_page *p, void *arg)
{
	(void)arg;
	page_clear();
	page.code = p->code;
	page.more = p->more;
	for (size_t i = 0; i < p->count; i++) {
		page.ids[i] = text_copy(p->rows[i].id);
		page.types[i] = text_copy(p->rows[i].type);
		page.json[i] = text_copy(p->rows[i].json);
	}
	page.count = p->count;
	loop_stop(loop);
}

static int synced;

static inline void
sync_keep(int code, void *arg)
{
	(void)arg;
	synced = code;
	loop_stop(loop);
}

static inline int
sync_now(struct store *s)
{
	synced = 1;
	assert_int_equal(store_sync(s, sync_keep, NULL), 0);
	assert_int_equal(synced, 1); /* never inside */
	loop_run(loop);
	return synced;
}

static inline void
find_events(struct store *s, struct store_query q)
{
	assert_int_equal(store_find_events(s, &q, page_keep, NULL), 0);
	loop_run(loop);
	assert_int_equal(page.code, 0);
}

static inline void
find_calls(struct store *s, struct store_query q)
{
	assert_int_equal(store_find_calls(s, &q, page_keep, NULL), 0);
	loop_run(loop);
	assert_int_equal(page.code, 0);
}

static inline void
find_sessions(struct store *s, struct store_query q)
{
	assert_int_equal(store_find_sessions(s, &q, page_keep, NULL), 0);
	loop_run(loop);
	assert_int_equal(page.code, 0);
}

static inline struct store *
open_store(const char *path)
{
	struct store *s = NULL;
	struct err e = ERR_NONE;

	if (store_open(loop, path, &s, &e) < 0)
		fail_msg("%s (%s)", e.text, e.inside);
	return s;
}

static inline int
put_event(struct store *s, const char *id, const char *session, const char *type)
{
	return store_put_event(s, &(struct store_event){
				      .id = str_of(id),
				      .wall_us = 1,
				      .session = str_of(session),
				      .turn = S("turn_1"),
				      .type = type,
				      .actor = "tool",
				      .sensitivity = "private",
				      .payload = S("{}"),
				  });
}

/* A directory of its own for each test that wants one. */
static char dir[64];
static char path_text[128];

static inline const char *
path_in(const char *name)
{
	snprintf(path_text, sizeof(path_text), "%s/%s", dir, name);
	return path_text;
}

static inline int
setup(void **state)
{
	struct err e;

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/unit_store.XXXXXX");
	return mkdtemp(dir) && loop_new(&loop, &e) == 0 ? 0 : -1;
}

static inline int
teardown(void **state)
{
	char command[192];

	(void)state;
	page_clear();
	loop_free(loop);
	snprintf(command, sizeof(command), "chmod -R u+w %s; rm -rf %s", dir, dir);
	return system(command);
}

#endif
