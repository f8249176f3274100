/*
 * world.h - a small world for tests of the pipeline: a gateway that keeps nothing, a workspace
 * of its own, every event it emitted, and turning the loop until something is so.
 */

#ifndef TESTS_CALL_WORLD_H
#define TESTS_CALL_WORLD_H

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "daemon/hf.h"

#ifndef WORLD_EVENTS
#define WORLD_EVENTS 512
#endif

struct result {
	bool here;
	bool is_error;
	struct json_doc *doc; /* the tool_result block */
};

struct world {
	struct hf *hf;
	char dir[64]; /* everything is below it */
	char workspace[96];
	char session[40];
	struct json_doc *events[WORLD_EVENTS];
	size_t event_count;
	char log[65536];
	size_t log_len;
};

static inline void
world_event(const char *event, size_t len, void *arg)
{
	struct world *w = arg;
	struct err e;

	assert_true(w->event_count < WORLD_EVENTS);
	assert_int_equal(json_parse((struct str){event, len}, &json_door,
				    &w->events[w->event_count++], &e),
			 0);
}

static inline void
world_log(const char *line, size_t len, void *arg)
{
	struct world *w = arg;

	if (w->log_len + len < sizeof(w->log)) {
		memcpy(w->log + w->log_len, line, len);
		w->log_len += len;
		w->log[w->log_len] = '\0';
	}
}

static inline void
world_write(struct world *w, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", w->workspace, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* config: the text of config.yaml, "%s" in it is the workspace; NULL for none. */
static inline struct world *
world_new(const char *config)
{
	struct world *w = calloc(1, sizeof(*w));
	char file[128], home[128];

	strcpy(w->dir, "/tmp/holdfast-unit-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->workspace, sizeof(w->workspace), "%s/ws", w->dir);
	assert_int_equal(mkdir(w->workspace, 0755), 0);
	snprintf(file, sizeof(file), "%s/config.yaml", w->dir);
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	const char *mark = config ? strstr(config, "%s") : NULL;
	if (mark)
		fprintf(f, "%.*s%s%s", (int)(mark - config), config, w->workspace, mark + 2);
	else if (config)
		fputs(config, f);
	fclose(f);
	log_set_sink(world_log, w);
	log_set_form(LOG_FORM_JSON);
	log_set_level(LOG_DEBUG);
	snprintf(home, sizeof(home), "%s/state", w->dir);
	if (hf_open(&(struct hf_options){.config = file, .state = home, .ephemeral = true},
		    &w->hf) < 0)
		fail_msg("hf_open: %s", hf_error(NULL));
	assert_int_equal(hf_subscribe(w->hf, world_event, w), 0);
	assert_int_equal(hf_session_open(w->hf, w->workspace, false, w->session), 0);
	return w;
}

static inline void
world_free(struct world *w)
{
	char command[128];

	hf_close(w->hf);
	for (size_t i = 0; i < w->event_count; i++)
		json_doc_unref(w->events[i]);
	log_set_sink(NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf '%s'", w->dir);
	assert_int_equal(system(command), 0);
	free(w);
}

/* Turn the loop until cond, for at most 60 seconds. */
#define UNTIL(w, cond)                                                                             \
	do {                                                                                       \
		uint64_t until_end = clock_mono_ms() + 60000;                                      \
		while (!(cond)) {                                                                  \
			if (clock_mono_ms() > until_end)                                           \
				fail_msg("did not happen: %s", #cond);                             \
			world_turn(w);                                                             \
		}                                                                                  \
	} while (0)

static inline void
world_tick(void *arg)
{
	(void)arg;
}

static inline void
world_turn(struct world *w)
{
	/* A timer of our own, so that one turn always ends. */
	struct timer t = {0};

	timer_start(w->hf->loop, &t, 5, world_tick, NULL);
	uv_run(loop_uv(w->hf->loop), UV_RUN_ONCE);
	timer_stop(w->hf->loop, &t);
}

static inline void
world_result(const char *result, size_t len, bool is_error, void *arg)
{
	struct result *r = arg;
	struct err e;

	assert_false(r->here);
	r->here = true;
	r->is_error = is_error;
	assert_int_equal(json_parse((struct str){result, len}, &json_door, &r->doc, &e), 0);
}

static inline void
world_start(struct world *w, const char *tool, const char *input, struct result *r)
{
	*r = (struct result){0};
	if (hf_dispatch(w->hf, w->session, tool, input, world_result, r) < 0)
		fail_msg("hf_dispatch: %s", hf_error(w->hf));
}

static inline struct result
world_call(struct world *w, const char *tool, const char *input)
{
	struct result r;

	world_start(w, tool, input, &r);
	UNTIL(w, r.here);
	world_turn(w); /* and the events of it */
	return r;
}

/* Text of the first content block. */
static inline struct str
result_text(const struct result *r)
{
	return json_str(json_get(json_at(json_get(json_root(r->doc), S("content")), 0), S("text")));
}

static inline void
result_free(struct result *r)
{
	json_doc_unref(r->doc);
	r->doc = NULL;
}

static inline bool
contains(struct str s, const char *part)
{
	return s.ptr && memmem(s.ptr, s.len, part, strlen(part)) != NULL;
}

static inline const struct json *
event_payload(const struct world *w, size_t i)
{
	return json_get(json_root(w->events[i]), S("payload"));
}

static inline struct str
event_type_of(const struct world *w, size_t i)
{
	return json_str(json_get(json_root(w->events[i]), S("type")));
}

/* The last event of that type; NULL = none. */
static inline const struct json *
world_last(const struct world *w, const char *type)
{
	for (size_t i = w->event_count; i-- > 0;)
		if (str_is(event_type_of(w, i), type))
			return event_payload(w, i);
	return NULL;
}

static inline size_t
world_count(const struct world *w, const char *type)
{
	size_t n = 0;

	for (size_t i = 0; i < w->event_count; i++)
		n += str_is(event_type_of(w, i), type);
	return n;
}

/* The tool.* events so far, "called completed ..." without their domain. */
static inline void
world_tool_events(const struct world *w, struct buf *out)
{
	for (size_t i = 0; i < w->event_count; i++)
		if (str_starts(event_type_of(w, i), S("tool.")))
			buf_addf(out, "%s%.*s", out->len ? " " : "",
				 STR_ARG(str_from(event_type_of(w, i), 5)));
}

static inline void
assert_tool_events(const struct world *w, const char *expected)
{
	struct buf b = BUF_INIT(4096);

	world_tool_events(w, &b);
	assert_string_equal(buf_z(&b), expected);
	buf_done(&b);
}

static inline void
assert_member(const struct json *payload, const char *key, const char *expected)
{
	struct str got = json_str(json_get(payload, str_of(key)));

	if (!str_is(got, expected))
		fail_msg("%s: expected '%s', got '%.*s'", key, expected, STR_ARG(got));
}

#endif
