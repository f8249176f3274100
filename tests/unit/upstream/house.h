/*
 * house.h - a set of upstreams on a loop of its own, and calls to wait for.
 *
 * Nothing here waits for a guessed time: the loop is left when something has happened, and the
 * condition is looked at again. A test that hangs ends by the guard.
 */

#ifndef TESTS_UPSTREAM_HOUSE_H
#define TESTS_UPSTREAM_HOUSE_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/log.h"
#include "upstream/upstream.h"

#define SERVER "tests/unit/upstream/fake_server.py"
#define GUARD_MS 60000

static struct loop *loop;
static struct upstreams *set;
static struct upstream_watch watch;
static char dir[64];
static unsigned news; /* all so far */
static struct buf messages, updates;
static struct timer guard;
static bool stopped;

static void
house_guard(void *arg)
{
	(void)arg;
	fail_msg("this takes too long");
}

static void
house_news(struct upstream *u, unsigned what, void *arg)
{
	(void)u;
	(void)arg;
	news |= what;
	loop_stop(loop);
}

static void
house_updated(struct upstream *u, struct str uri, void *arg)
{
	(void)u;
	(void)arg;
	buf_add(&updates, uri);
	loop_stop(loop);
}

static void
house_message(struct upstream *u, const struct json *params, void *arg)
{
	struct jw w = jw(&messages);

	(void)u;
	(void)arg;
	jw_value(&w, params);
	loop_stop(loop);
}

static void
house_done(void *arg)
{
	(void)arg;
	stopped = true;
	loop_stop(loop);
}

/* Until the condition holds; it is looked at whenever something has happened. */
#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		while (!(condition))                                                               \
			loop_run(loop);                                                            \
	} while (0)

static inline void
house_make(void)
{
	struct upstreams_spec spec = {loop, dir};
	struct err e;

	if (upstreams_new(&spec, &set, &e) < 0)
		fail_msg("%s", e.text);
	watch = (struct upstream_watch){.news = house_news,
					.updated = house_updated,
					.message = house_message};
	upstreams_watch(set, &watch);
	news = 0;
}

static inline void
house_end(void)
{
	stopped = false;
	upstreams_stop(set, house_done, NULL);
	UNTIL(stopped);
	upstreams_unwatch(set, &watch);
	upstreams_free(set);
	set = NULL;
}

static inline void
house_log(const char *line, size_t len, void *arg)
{
	(void)arg;
	if (getenv("SHOW_LOG"))
		fwrite(line, 1, len, stderr);
}

static inline int
house_setup(void **state)
{
	struct err e;

	(void)state;
	log_set_sink(house_log, NULL);
	snprintf(dir, sizeof(dir), "/tmp/holdfast-up-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(loop_new(&loop, &e), 0);
	messages = BUF_INIT(MIB);
	updates = BUF_INIT(MIB);
	assert_int_equal(timer_start(loop, &guard, GUARD_MS, house_guard, NULL), 0);
	house_make();
	return 0;
}

static inline int
house_teardown(void **state)
{
	char command[128];

	(void)state;
	if (set)
		house_end();
	timer_stop(loop, &guard);
	loop_drain(loop);
	loop_free(loop);
	buf_done(&messages);
	buf_done(&updates);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* ---- servers ---- */

#define WORDS 16
struct server {
	const char *name;
	const char *words[WORDS];
	unsigned timeout_ms, max_ms, start_ms, idle_ms, concurrency;
	bool no_probe;
	const char *const *roots, *const *secrets;
	const char *problem;
};

/* Ours: a Python finds its own parts by it. */
static char env_path[4096];
static const char *const env[] = {env_path, NULL};

__attribute__((constructor)) static void
env_fill(void)
{
	const char *path = getenv("PATH");

	snprintf(env_path, sizeof(env_path), "PATH=%s",
		 path ? path : "/usr/local/bin:/usr/bin:/bin");
}

static inline void
house_servers(const struct server *servers, size_t count)
{
	struct upstream_spec specs[8] = {0};
	const char *argv[8][WORDS + 3];
	char cwd[LIMIT_PATH];
	struct err e;

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	for (size_t i = 0; i < count; i++) {
		size_t n = 0;
		argv[i][n++] = "python3";
		argv[i][n++] = SERVER;
		for (size_t w = 0; w < WORDS && servers[i].words[w]; w++)
			argv[i][n++] = servers[i].words[w];
		argv[i][n] = NULL;
		specs[i] = (struct upstream_spec){
		    .name = str_of(servers[i].name),
		    .argv = argv[i],
		    .env = env,
		    .cwd = cwd,
		    .timeout_ms = servers[i].timeout_ms,
		    .max_ms = servers[i].max_ms,
		    .start_ms = servers[i].start_ms,
		    .idle_ms = servers[i].idle_ms,
		    .concurrency = servers[i].concurrency,
		    .no_probe = servers[i].no_probe,
		    .roots = servers[i].roots,
		    .secrets = servers[i].secrets,
		    .problem = str_of(servers[i].problem),
		};
	}
	if (upstreams_set(set, specs, count, &e) < 0)
		fail_msg("%s", e.text);
}

static inline struct upstream *
house_server(struct server s)
{
	if (!s.name)
		s.name = "fake";
	house_servers(&s, 1);
	return upstream_at(set, 0);
}

static inline struct upstream *
house_started(struct server s)
{
	struct upstream *u = house_server(s);

	if (upstream_known(u))
		upstream_restart(u); /* nobody needs it yet */
	UNTIL(upstream_state(u) == UPSTREAM_STARTED);
	return u;
}

/* What upstream_write says of it. */
static inline const char *
house_shown(const struct upstream *u)
{
	static struct buf text = {.max = 64 * 1024};
	struct jw w = jw(&text);

	buf_done(&text);
	w = jw(&text);
	upstream_write(&w, u);
	static char shown[64 * 1024];
	snprintf(shown, sizeof(shown), "%s", buf_z(&text));
	buf_done(&text);
	return shown;
}

/* ---- calls ---- */

struct call {
	struct exchange *x;
	const char *tool;
	const char *argument;
	bool over;
	int code;
	bool sent;
	char text[4096]; /* of the error, or of the first block of content */
	int64_t rpc;     /* the code of a JSON-RPC error */
	unsigned overs;
	struct exchange_spec spec;
};

static inline void
call_params(struct jw *w, void *arg)
{
	struct call *c = arg;

	jw_member_z(w, "name", c->tool);
	jw_key(w, "arguments"), jw_object(w);
	if (c->argument)
		jw_member_z(w, "text", c->argument);
	jw_end(w);
}

static inline void
call_over(struct exchange *x, const struct exchange_end *end, void *arg)
{
	struct call *c = arg;
	struct str text = str_of(end->err.text);

	assert_ptr_equal(x, c->x);
	c->overs++;
	c->over = true;
	c->code = end->code;
	c->sent = end->sent;
	if (end->error) {
		c->rpc = 0;
		json_int(json_get(end->error, S("code")), &c->rpc);
		text = json_str(json_get(end->error, S("message")));
	} else if (end->result) {
		text = json_str(json_pointer(end->result, S("/content/0/text")));
	}
	snprintf(c->text, sizeof(c->text), "%.*s", STR_ARG(text));
	loop_stop(loop);
}

static inline void
call_begin(struct call *c, struct upstream *u, const char *tool)
{
	struct err e;

	c->tool = tool;
	c->over = false;
	c->spec.method = S("tools/call");
	c->spec.params = call_params;
	c->spec.name = str_of(tool);
	c->spec.over = call_over;
	c->spec.arg = c;
	if (exchange_start(u, &c->spec, &c->x, &e) < 0) {
		c->over = true;
		c->code = e.code;
		snprintf(c->text, sizeof(c->text), "%s", e.text);
	}
	assert_int_equal(c->overs, 0);
}

static inline struct call *
call(struct call *c, struct upstream *u, const char *tool)
{
	call_begin(c, u, tool);
	UNTIL(c->over);
	return c;
}

#define CALL(u, tool) call(&(struct call){0}, u, tool)

#endif
