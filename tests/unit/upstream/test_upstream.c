/* test_upstream.c - servers of both eras: found, listed, called, remembered, ended. */

#include "house.h"

#include <limits.h>
#include <signal.h>

#include "base/clock.h"

/* A word "KEY=DIR/KEY" for the fake server; the file is its. */
struct file {
	char path[128], word[160];
};

static void
file_name(struct file *f, const char *key)
{
	snprintf(f->path, sizeof(f->path), "%s/%s", dir, key);
	snprintf(f->word, sizeof(f->word), "%s=%s", key, f->path);
}

static void
file_put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const char *
file_text(const char *path)
{
	static char text[256 * 1024];
	FILE *f = fopen(path, "r");

	text[0] = '\0';
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	return text;
}

static unsigned
times(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static int
server_pid(const struct upstream *u)
{
	const char *at = strstr(house_shown(u), "\"pid\":");

	return at ? atoi(at + 6) : 0;
}

/* ---- eras ---- */

static const struct {
	const char *words[3];
	const char *shows; /* NULL: it cannot be used */
} ladders[] = {
    {{"start-garbage"}, "\"era\":\"legacy\",\"version\":\"2025-11-25\""},
    {{"version=2024-11-05"}, "\"era\":\"legacy\",\"version\":\"2024-11-05\""},
    {{"modern"}, "\"era\":\"modern\",\"version\":\"2026-07-28\""},
    {{"modern", "refuse-version"}, "\"era\":\"modern\""},
    {{"nul-probe"}, "\"era\":\"legacy\""},
    {{"mute-probe"}, "\"era\":\"legacy\""},
    {{"slow"}, "\"era\":\"legacy\""},
    {{"slow", "modern"}, "\"era\":\"modern\""}, /* issue 5 */
    {{"exit-probe"}, "\"era\":\"legacy\""},
    {{"modern", "version=2030-01-01"}, NULL},
    {{"version=2030-01-01"}, NULL},
};

static void
the_era_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ladders); i++) {
		struct server s = {.name = ladders[i].words[0], .start_ms = 1500};
		memcpy(s.words, ladders[i].words, sizeof(ladders[i].words));
		char name[64];
		snprintf(name, sizeof(name), "s%zu", i);
		s.name = name;
		struct upstream *u = house_server(s);
		if (!ladders[i].shows) {
			UNTIL(upstream_state(u) == UPSTREAM_FAILED);
			assert_non_null(strstr(house_shown(u), "of the protocol"));
			continue;
		}
		UNTIL(upstream_state(u) == UPSTREAM_STARTED);
		if (!strstr(house_shown(u), ladders[i].shows))
			fail_msg("%zu: %s", i, house_shown(u));
		struct call c = {.argument = "hello"};
		call(&c, u, "echo");
		assert_string_equal(c.text, "hello");
	}
}

/* A server that ends when it is asked is started once more, and from then on not asked. */
static void
that_one_is_legacy_is_remembered(void **state)
{
	struct file count, log;

	(void)state;
	file_name(&count, "count");
	file_name(&log, "log");
	struct server s = {.words = {"exit-probe", count.word, log.word}};
	house_started(s);
	assert_int_equal(times(file_text(count.path), "\n"), 2);
	assert_int_equal(times(file_text(log.path), "server/discover"), 1);
	house_end();
	house_make();
	struct upstream *u = house_server(s);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_int_equal(times(file_text(count.path), "\n"), 3);
	assert_int_equal(times(file_text(log.path), "server/discover"), 1);
	assert_int_equal(times(file_text(log.path), "\"initialize\""), 2);
	/* Issue 5: until a person wants it started anew. */
	upstream_restart(u);
	UNTIL(upstream_state(u) != UPSTREAM_STARTED);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_int_equal(times(file_text(log.path), "server/discover"), 2);
}

/* What it ends by is not known: the probe and initialize have both come when it wakes up. */
static void
test_5_a_slow_server_that_ends_while_it_starts_comes_up(void **state)
{
	struct file count;
	const struct server servers[] = {
	    {.name = "a", .words = {"modern", "asleep=6", "exit-initialize", NULL}},
	    {.name = "b", .words = {"modern", "asleep=6", "refuse-and-exit"}},
	    {.name = "c", .words = {"asleep=6", "exit-probe"}},
	};
	static const char *const eras[] = {"modern", "modern", "legacy"};

	(void)state;
	_Static_assert(LIMIT_UPSTREAM_PROBE_MS < 6000, "they sleep longer than a probe waits");
	file_name(&count, "count");
	struct server s[ARRAY_LEN(servers)];
	memcpy(s, servers, sizeof(s));
	s[0].words[3] = count.word;
	house_servers(s, ARRAY_LEN(s));
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		struct upstream *u = upstream_at(set, i);
		UNTIL(upstream_state(u) == UPSTREAM_STARTED ||
		      upstream_state(u) == UPSTREAM_FAILED);
		if (!strstr(house_shown(u), eras[i]))
			fail_msg("%zu: %s", i, house_shown(u));
		assert_int_equal(CALL(u, "echo")->code, 0);
	}
	/* The next time it is known to answer the probe, and is waited for. */
	assert_int_equal(times(file_text(count.path), "\n"), 2);
	house_end();
	house_make();
	house_servers(s, 1);
	assert_int_equal(CALL(upstream_at(set, 0), "echo")->code, 0);
	assert_int_equal(times(file_text(count.path), "\n"), 3);
}

static void
a_server_that_must_not_be_asked_is_not(void **state)
{
	struct file log;

	(void)state;
	file_name(&log, "log");
	house_started((struct server){.words = {"exit-probe", log.word}, .no_probe = true});
	assert_int_equal(times(file_text(log.path), "server/discover"), 0);
}

/* ---- lists ---- */

static void
lists_are_read_page_by_page(void **state)
{
	(void)state;
	struct upstream *u = house_started((struct server){.words = {"page=2", "tools=5"}});
	assert_non_null(upstream_tool(u, S("echo")));
	assert_non_null(upstream_tool(u, S("t4")));
	assert_null(upstream_tool(u, S("t5")));
	assert_int_equal(json_len(upstream_list(u, LIST_TOOLS)), upstream_tool_count(u));
	for (size_t i = 1; i < upstream_tool_count(u); i++)
		assert_true(
		    str_cmp(upstream_tool_at(u, i - 1)->name, upstream_tool_at(u, i)->name) < 0);
	UNTIL(json_len(upstream_list(u, LIST_RESOURCES)) == 1);
	UNTIL(json_len(upstream_list(u, LIST_PROMPTS)) == 1);
	assert_int_equal(json_len(upstream_list(u, LIST_TEMPLATES)), 0);
	assert_true(str_is(upstream_instructions(u), "be kind"));
	assert_non_null(json_get(upstream_capabilities(u), S("tools")));
}

static size_t told_resources;

static void
resources_news(struct upstream *u, unsigned what, void *arg)
{
	(void)u;
	(void)arg;
	told_resources += (what & NEWS_RESOURCES) != 0;
}

/* To a client they are one list. */
static void
test_5_resources_and_templates_are_told_at_once(void **state)
{
	struct upstream_watch w = {.news = resources_news};

	(void)state;
	told_resources = 0;
	upstreams_watch(set, &w);
	struct upstream *u = house_started((struct server){.words = {"templates"}});
	CALL(u, "echo"); /* its resources are here */
	assert_int_equal(told_resources, 0);
	CALL(u, "templates");
	UNTIL(told_resources > 0);
	assert_int_equal(json_len(upstream_list(u, LIST_RESOURCES)), 1);
	assert_int_equal(json_len(upstream_list(u, LIST_TEMPLATES)), 1);
	CALL(u, "echo");
	assert_int_equal(told_resources, 1);
	upstreams_unwatch(set, &w);
}

static void
test_5_resources_are_told_though_templates_are_not(void **state)
{
	struct upstream_watch w = {.news = resources_news};

	(void)state;
	told_resources = 0;
	upstreams_watch(set, &w);
	struct upstream *u = house_started((struct server){.words = {"mute-templates"}});
	UNTIL(told_resources > 0);
	assert_int_equal(json_len(upstream_list(u, LIST_RESOURCES)), 1);
	upstreams_unwatch(set, &w);
}

/* Issue 5: a list that could not be read is read again. */
static void
a_list_that_failed_is_read_again(void **state)
{
	(void)state;
	struct upstream *u = house_started((struct server){.words = {"list-fails"}});
	assert_false(upstream_known(u));
	UNTIL(upstream_known(u));
	assert_non_null(upstream_tool(u, S("echo")));
}

/* Issue 5: a server that takes its time for each page does not start for ever. */
static void
a_list_has_a_time_in_which_it_must_end(void **state)
{
	(void)state;
	struct upstream *u = house_started((struct server){.words = {"slow-pages"}, .max_ms = 500});
	assert_in_range(upstream_tool_count(u), 1, 100);
}

static uint64_t told_at[3]; /* when lists of tools were told, one after the other */
static size_t told;

static void
costly_news(struct upstream *u, unsigned what, void *arg)
{
	(void)u;
	(void)arg;
	if (!(what & NEWS_TOOLS) || told == ARRAY_LEN(told_at))
		return;
	told_at[told++] = clock_mono_us();
	while (clock_mono_us() - told_at[told - 1] < 100000)
		; /* it has many tools */
}

/* Issue 5: a server whose list changes all the time gets a small part of our time. */
static void
a_list_that_costs_much_is_read_seldom(void **state)
{
	struct upstream_watch costly = {.news = costly_news};

	(void)state;
	told = 0;
	upstreams_watch(set, &costly);
	house_started((struct server){.words = {"restless"}});
	UNTIL(told == ARRAY_LEN(told_at));
	assert_true(told_at[2] - told_at[1] >= 2500000);
	upstreams_unwatch(set, &costly);
}

static void
a_server_is_listed_while_it_is_not_running(void **state)
{
	struct file count;

	(void)state;
	file_name(&count, "count");
	struct upstream *u = house_started((struct server){0});
	size_t tools = upstream_tool_count(u);
	UNTIL(json_len(upstream_list(u, LIST_RESOURCES)) == 1);
	house_end();
	house_make();
	u = house_server((struct server){.words = {"mute", count.word}});
	assert_int_equal(upstream_state(u), UPSTREAM_KNOWN);
	assert_true(upstream_known(u));
	assert_int_equal(upstream_tool_count(u), tools);
	assert_int_equal(json_len(upstream_list(u, LIST_RESOURCES)), 1);
	assert_string_equal(file_text(count.path), "");
}

/* ---- pins ---- */

static void
a_changed_tool_is_shown_and_not_taken(void **state)
{
	struct file list;
	struct err e;

	(void)state;
	file_name(&list, "list");
	file_put(list.path, "says it again");
	struct server s = {.words = {list.word}};
	struct upstream *u = house_started(s);
	const struct upstream_tool *t = upstream_tool(u, S("echo"));
	char pin[DIGEST_TEXT];
	memcpy(pin, t->pin, sizeof(pin));
	assert_null(t->changed);
	assert_int_equal(upstream_accept(u, S("echo"), &e), E_NOT_FOUND);

	file_put(list.path, "sends it to me");
	CALL(u, "changed"); /* list_changed */
	UNTIL((t = upstream_tool(u, S("echo")))->changed);
	assert_string_equal(t->pin, pin);
	assert_true(str_is(json_str(json_get(t->definition, S("description"))), "says it again"));
	assert_true(str_is(json_str(json_get(t->changed, S("description"))), "sends it to me"));
	assert_non_null(strstr(house_shown(u), "\"changed\":1"));

	/* It is still so in the next life. */
	house_end();
	house_make();
	u = house_server(s);
	assert_non_null(upstream_tool(u, S("echo"))->changed);
	news = 0;
	assert_int_equal(upstream_accept(u, S("echo"), &e), 0);
	t = upstream_tool(u, S("echo"));
	assert_null(t->changed);
	assert_string_not_equal(t->pin, pin);
	assert_int_equal(news, 0); /* never inside */
	UNTIL(news & NEWS_TOOLS);
	house_end();
	house_make();
	u = house_server(s);
	assert_null(upstream_tool(u, S("echo"))->changed);
}

static void
a_tool_that_comes_back_is_the_same_or_changed(void **state)
{
	(void)state;
	struct upstream *u = house_started((struct server){0});
	assert_non_null(upstream_tool(u, S("echo")));
	u = house_started((struct server){.words = {"without-echo"}});
	assert_null(upstream_tool(u, S("echo")));
	u = house_started((struct server){.words = {"say=evil"}});
	assert_non_null(upstream_tool(u, S("echo")));
	assert_non_null(upstream_tool(u, S("echo"))->changed);
	u = house_started((struct server){0});
	assert_null(upstream_tool(u, S("echo"))->changed);
}

/* Issue 5: what is called is what was accepted, also when the call has waited for the start in
 * which the server says that it is another. */
static void
a_call_that_waited_does_not_reach_a_changed_tool(void **state)
{
	static const char *const words[] = {"say=evil", "without-echo"};
	struct file log;

	(void)state;
	file_name(&log, "log");
	for (int i = 0; i < 2; i++) {
		struct upstream *u = house_started((struct server){0});
		char pin[DIGEST_TEXT];
		memcpy(pin, upstream_tool(u, S("echo"))->pin, sizeof(pin));
		u = house_server((struct server){.words = {words[i], log.word}});
		assert_int_equal(upstream_state(u), UPSTREAM_KNOWN);
		struct call c = {.spec.pin = pin}, other = {.spec.pin = pin};
		call(&c, u, "echo");
		assert_int_equal(c.code, E_CHANGED);
		assert_false(c.sent);
		/* Nor does one that comes later. */
		call(&other, u, "echo");
		assert_int_equal(other.code, E_CHANGED);
		assert_int_equal(CALL(u, "meta")->code, 0);
		assert_int_equal(times(file_text(log.path), "\"name\":\"echo\""), 0);
	}
	/* And what has not changed is called. */
	struct upstream *u = house_started((struct server){0});
	struct call c = {.spec.pin = upstream_tool(u, S("echo"))->pin};
	assert_int_equal(call(&c, u, "echo")->code, 0);
}

/* Issue 5: a file that is there but cannot be read now has pins in it that still hold. */
static void
what_cannot_be_read_now_is_not_forgotten(void **state)
{
	char path[128], away[140];

	(void)state;
	house_started((struct server){0});
	house_end();
	snprintf(path, sizeof(path), "%s/fake.json", dir);
	snprintf(away, sizeof(away), "%s.away", path);
	assert_int_equal(rename(path, away), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	house_make();
	struct upstream *u = house_server((struct server){.words = {"say=evil"}});
	assert_int_equal(upstream_state(u), UPSTREAM_QUARANTINED);
	assert_int_equal(CALL(u, "echo")->code, E_UNAVAILABLE);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rename(away, path), 0);
	u = house_started((struct server){.words = {"say=evil"}});
	assert_non_null(upstream_tool(u, S("echo"))->changed);
}

static void
what_cannot_be_read_is_put_aside(void **state)
{
	char path[128], bad[140];

	(void)state;
	snprintf(path, sizeof(path), "%s/fake.json", dir);
	snprintf(bad, sizeof(bad), "%s.bad", path);
	static const char *const texts[] = {
	    "",
	    "{",
	    "[]",
	    "{\"version\":1,\"shelf\":3}",
	    "{\"version\":1,\"shelf\":{\"tools\":[1],\"pins\":[2]}}",
	    "{\"version\":2}"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		file_put(path, texts[i]);
		unlink(bad);
		struct upstream *u = house_server((struct server){0});
		assert_false(upstream_known(u));
		assert_int_equal(access(bad, F_OK) == 0, texts[i][0] != '\0');
		house_end();
		house_make();
	}
}

static void
odd_names_have_files_of_their_own(void **state)
{
	static const char *const names[] = {"../../etc/x", ".", "a b", "\xc3\xa9", ""};
	struct server servers[ARRAY_LEN(names)] = {0};
	char command[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		servers[i].name = names[i];
	house_servers(servers, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		UNTIL(upstream_state(upstream_at(set, i)) == UPSTREAM_STARTED);
	house_end();
	snprintf(command, sizeof(command),
		 "test $(ls -A %s/*.json %s/*%%*.json | sort -u | wc -l) = 5", dir, dir);
	assert_int_equal(system(command), 0);
	house_make();
	house_servers(servers, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(upstream_state(upstream_at(set, i)), UPSTREAM_KNOWN);
}

/* ---- calls ---- */

static void
a_cancelled_call_is_told_to_the_server(void **state)
{
	struct file log;

	(void)state;
	file_name(&log, "log");
	struct upstream *u = house_started((struct server){.words = {log.word}});
	struct call c = {0}, waits = {0};
	call_begin(&c, u, "hang");
	exchange_cancel(c.x);
	exchange_cancel(c.x);
	assert_false(c.over); /* never inside */
	UNTIL(c.over);
	assert_int_equal(c.code, E_CANCELLED);
	assert_int_equal(c.overs, 1);
	assert_string_equal(CALL(u, "echo")->text, "");
	assert_int_equal(times(file_text(log.path), "notifications/cancelled"), 1);
	/* One that was never sent is not told. */
	u = house_started((struct server){.words = {log.word}, .concurrency = 1});
	c = (struct call){0};
	call_begin(&c, u, "hang");
	call_begin(&waits, u, "echo");
	exchange_cancel(waits.x);
	UNTIL(waits.over);
	assert_false(waits.sent);
	exchange_cancel(c.x);
	UNTIL(c.over);
}

static void
calls_wait_for_their_place_in_order(void **state)
{
	struct call calls[5] = {0};

	(void)state;
	struct upstream *u = house_started((struct server){.concurrency = 2});
	call_begin(&calls[0], u, "hang");
	call_begin(&calls[1], u, "hang");
	for (int i = 2; i < 5; i++)
		call_begin(&calls[i], u, "echo");
	assert_non_null(strstr(house_shown(u), "\"in_flight\":2,\"waiting\":3"));
	exchange_cancel(calls[0].x);
	UNTIL(calls[2].over && calls[3].over && calls[4].over);
	assert_false(calls[1].over);
	exchange_cancel(calls[1].x);
	UNTIL(calls[1].over);
}

static void
not_more_wait_than_there_is_room_for(void **state)
{
	static struct call calls[LIMIT_UPSTREAM_WAITING + 1];

	(void)state;
	memset(calls, 0, sizeof(calls));
	struct upstream *u = house_server((struct server){.words = {"mute"}});
	for (size_t i = 0; i <= LIMIT_UPSTREAM_WAITING; i++)
		call_begin(&calls[i], u, "echo");
	assert_true(calls[LIMIT_UPSTREAM_WAITING].over);
	assert_int_equal(calls[LIMIT_UPSTREAM_WAITING].code, E_LIMIT);
	assert_false(calls[0].over);
	house_end();
	for (size_t i = 0; i < LIMIT_UPSTREAM_WAITING; i++) {
		assert_int_equal(calls[i].overs, 1);
		assert_int_equal(calls[i].code, E_STOPPING);
	}
}

/* ---- life and death ---- */

static void
a_server_nobody_uses_is_ended_and_started_again(void **state)
{
	(void)state;
	struct upstream *u = house_started((struct server){.idle_ms = 1});
	int pid = server_pid(u);
	assert_true(pid > 0);
	UNTIL(upstream_state(u) == UPSTREAM_KNOWN);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_int_not_equal(server_pid(u), pid);
	assert_non_null(strstr(house_shown(u), "\"restarts\":1"));
}

static void
calls_in_flight_end_with_the_house(void **state)
{
	struct call c = {0};

	(void)state;
	struct upstream *u = house_started((struct server){.words = {"ignore-eof"}});
	int pid = server_pid(u);
	assert_int_equal(kill(pid, 0), 0);
	call_begin(&c, u, "hang");
	house_end(); /* the whole kill ladder: it ignores both the end of its stdin and SIGTERM */
	assert_int_equal(c.code, E_STOPPING);
	assert_int_equal(c.overs, 1);
	assert_int_not_equal(kill(pid, 0), 0);
}

static void
what_is_configured_the_same_stays(void **state)
{
	struct server servers[] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
	int pids[3];

	(void)state;
	house_servers(servers, 3);
	for (size_t i = 0; i < 3; i++) {
		UNTIL(upstream_state(upstream_at(set, i)) == UPSTREAM_STARTED);
		pids[i] = server_pid(upstream_at(set, i));
	}
	struct upstream *b = upstream_ref(upstream_at(set, 1)), *c = upstream_at(set, 2);
	struct call call_b = {0}, call_c = {0}, refused = {0};
	call_begin(&call_b, b, "late");
	upstream_ref(c);
	call_begin(&call_c, c, "hang");
	servers[1].timeout_ms = 1234; /* b changes, c goes */
	news = 0;
	house_servers(servers, 2);
	assert_int_equal(upstreams_count(set), 2);
	assert_null(upstream_find(set, S("c")));
	assert_int_equal(server_pid(upstream_at(set, 0)), pids[0]);
	struct upstream *new_b = upstream_find(set, S("b"));
	assert_ptr_not_equal(new_b, b);
	assert_int_equal(upstream_state(new_b), UPSTREAM_KNOWN); /* it knows what the other knew */
	assert_non_null(upstream_tool(new_b, S("echo")));
	call_begin(&refused, b, "echo");
	assert_int_equal(refused.code, E_UNAVAILABLE);
	UNTIL(news & NEWS_GONE);
	assert_false(call_b.over); /* it goes on, and its server with it */
	assert_int_equal(kill(pids[1], 0), 0);
	exchange_cancel(call_b.x);
	exchange_cancel(call_c.x);
	UNTIL(call_b.over && call_c.over);
	assert_int_equal(CALL(new_b, "echo")->code, 0);
	house_end();
	assert_int_not_equal(kill(pids[1], 0), 0);
	assert_int_not_equal(kill(pids[2], 0), 0);
	upstream_unref(b);
	upstream_unref(c);
}

/* Issue 5: a reload that changes a setting drops no calls. */
static void
calls_that_wait_go_to_the_one_that_follows(void **state)
{
	struct server s = {.concurrency = 1};
	struct call works = {0}, waits = {.argument = "still here"};

	(void)state;
	struct upstream *old = upstream_ref(house_started(s));
	call_begin(&works, old, "hang");
	call_begin(&waits, old, "echo");
	s.timeout_ms = 1234;
	house_server(s);
	UNTIL(waits.over);
	assert_int_equal(waits.code, 0);
	assert_string_equal(waits.text, "still here");
	assert_false(works.over);
	exchange_cancel(works.x);
	UNTIL(works.over);
	upstream_unref(old);
}

static struct upstream *gone; /* whose end was told */
static bool heard_of_it;      /* and something afterwards */

static void
ghost_news(struct upstream *u, unsigned what, void *arg)
{
	(void)arg;
	heard_of_it |= u == gone;
	if (what & NEWS_GONE)
		gone = u;
}

static void
tick(void *arg)
{
	timer_start(loop, arg, 20, tick, arg);
	loop_stop(loop);
}

/* Issue 5: one that was replaced works on what it has, and its list may change meanwhile. */
static void
nothing_is_told_of_one_that_has_gone(void **state)
{
	struct upstream_watch ghosts = {.news = ghost_news};
	struct server s = {.words = {"change-on-cancel"}};
	struct call a = {0}, b = {0};
	struct timer ticks = {0};

	(void)state;
	gone = NULL;
	heard_of_it = false;
	upstreams_watch(set, &ghosts);
	struct upstream *old = upstream_ref(house_started(s));
	call_begin(&a, old, "hang");
	call_begin(&b, old, "hang");
	s.timeout_ms = 1234;
	house_server(s);
	UNTIL(gone == old);
	exchange_cancel(a.x);
	tick(&ticks);
	UNTIL(upstream_tool(old, S("echo"))->changed);
	timer_stop(loop, &ticks);
	exchange_cancel(b.x);
	UNTIL(b.over);
	house_end();
	assert_false(heard_of_it);
	upstream_unref(old);
	house_make();
}

/* Issue 5: what it writes where it stands is not written over what is remembered of servers. */
static void
a_server_is_started_at_home(void **state)
{
	char home[96], variable[128], real[PATH_MAX];
	const char *const argv[] = {"/bin/sh", "-c", "pwd > where", NULL};
	const char *const environment[] = {variable, NULL};
	struct upstream_spec spec = {.name = S("a"), .argv = argv, .env = environment};
	struct err e;

	(void)state;
	snprintf(home, sizeof(home), "%s/home", dir);
	snprintf(variable, sizeof(variable), "HOME=%s", home);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(upstreams_set(set, &spec, 1, &e), 0);
	UNTIL(upstream_state(upstream_at(set, 0)) == UPSTREAM_FAILED);
	assert_non_null(realpath(home, real));
	strcat(home, "/where");
	assert_memory_equal(file_text(home), real, strlen(real));
}

static void
two_servers_of_one_name_are_refused(void **state)
{
	struct upstream_spec specs[2] = {{.name = S("x")}, {.name = S("x")}};
	struct err e;

	(void)state;
	specs[0].problem = specs[1].problem = S("no");
	assert_int_equal(upstreams_set(set, specs, 2, &e), E_EXISTS);
	assert_int_equal(upstreams_count(set), 0);
}

/* ---- resources ---- */

static void
resources_are_listened_to_in_both_eras(void **state)
{
	struct file log;
	struct err e;

	(void)state;
	file_name(&log, "log");
	struct upstream *u = house_started((struct server){.name = "old", .words = {log.word}});
	assert_int_equal(upstream_subscribe(u, S("x://1"), true, &e), 0);
	assert_int_equal(upstream_subscribe(u, S("x://1"), true, &e), 0);
	UNTIL(updates.len > 0);
	assert_string_equal(buf_z(&updates), "x://1");
	assert_int_equal(upstream_subscribe(u, S("x://1"), false, &e), 0);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_null(strstr(file_text(log.path), "resources/unsubscribe"));
	assert_int_equal(upstream_subscribe(u, S("x://1"), false, &e), 0);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_non_null(strstr(file_text(log.path), "resources/unsubscribe"));

	u = house_started((struct server){.name = "new", .words = {"modern", log.word}});
	assert_int_equal(upstream_subscribe(u, S("x://2"), true, &e), 0);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_non_null(strstr(file_text(log.path), "{\"toolsListChanged\":true,"
						    "\"resourceSubscriptions\":[\"x://2\"]}"));
	assert_int_equal(upstream_subscribe(u, S(""), true, &e), E_VALIDATION);
}

/* A server that is configured anew is told again what was listened to before (issue 5). */
static void
who_follows_is_told_what_is_listened_to(void **state)
{
	struct file log;
	struct err e;

	(void)state;
	file_name(&log, "log");
	struct upstream *u = house_started((struct server){.words = {log.word}});
	assert_int_equal(upstream_subscribe(u, S("x://1"), true, &e), 0);
	UNTIL(updates.len > 0);
	buf_reset(&updates);
	u = house_server((struct server){.words = {log.word}, .timeout_ms = 5000});
	UNTIL(updates.len > 0);
	assert_string_equal(buf_z(&updates), "x://1");
	assert_null(strstr(file_text(log.path), "resources/unsubscribe"));
	assert_int_equal(upstream_subscribe(u, S("x://1"), false, &e), 0);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_non_null(strstr(file_text(log.path), "resources/unsubscribe"));
}

static void
the_level_of_messages_is_told(void **state)
{
	struct file log;

	(void)state;
	file_name(&log, "log");
	struct upstream *u = house_started((struct server){.words = {log.word}});
	upstream_log_level(u, mcp_log_level(S("warning")));
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_non_null(strstr(file_text(log.path), "\"params\":{\"level\":\"warning\"}"));
}

/* Issue 5: who listens to a resource still does when the server's settings are others. */
static void
test_5_subscriptions_outlive_a_change_of_settings(void **state)
{
	static const char *const eras[] = {"start-garbage", "modern"};
	static const char *const wishes[] = {"\"resources/subscribe\"",
					     "\"resourceSubscriptions\":[\"x://1\"]"};
	struct file log;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(eras); i++) {
		file_name(&log, eras[i]);
		snprintf(log.word, sizeof(log.word), "log=%s", log.path);
		struct server s = {.name = eras[i], .words = {eras[i], log.word}};
		struct upstream *u = house_started(s);
		upstream_log_level(u, 0);
		assert_int_equal(upstream_subscribe(u, S("x://1"), true, &e), 0);
		while (times(file_text(log.path), wishes[i]) < 1)
			assert_int_equal(CALL(u, "echo")->code, 0);
		s.idle_ms = 1234567;
		struct upstream *new = house_server(s);
		assert_ptr_not_equal(new, u);
		/* Nobody calls it: it is started for those who listen. */
		UNTIL(upstream_state(new) == UPSTREAM_STARTED);
		while (times(file_text(log.path), wishes[i]) < 2)
			assert_int_equal(CALL(new, "echo")->code, 0);
		if (i == 0)
			assert_int_equal(times(file_text(log.path), "logging/setLevel"), 2);
		assert_int_equal(upstream_subscribe(new, S("x://1"), false, &e), 0);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, house_setup, house_teardown)
	const struct CMUnitTest tests[] = {
	    TEST(the_era_is_found),
	    TEST(that_one_is_legacy_is_remembered),
	    TEST(test_5_a_slow_server_that_ends_while_it_starts_comes_up),
	    TEST(a_server_that_must_not_be_asked_is_not),
	    TEST(lists_are_read_page_by_page),
	    TEST(a_list_that_failed_is_read_again),
	    TEST(test_5_resources_and_templates_are_told_at_once),
	    TEST(test_5_resources_are_told_though_templates_are_not),
	    TEST(a_list_has_a_time_in_which_it_must_end),
	    TEST(a_list_that_costs_much_is_read_seldom),
	    TEST(a_server_is_listed_while_it_is_not_running),
	    TEST(a_changed_tool_is_shown_and_not_taken),
	    TEST(a_tool_that_comes_back_is_the_same_or_changed),
	    TEST(a_call_that_waited_does_not_reach_a_changed_tool),
	    TEST(what_cannot_be_read_now_is_not_forgotten),
	    TEST(what_cannot_be_read_is_put_aside),
	    TEST(odd_names_have_files_of_their_own),
	    TEST(a_cancelled_call_is_told_to_the_server),
	    TEST(calls_wait_for_their_place_in_order),
	    TEST(not_more_wait_than_there_is_room_for),
	    TEST(a_server_nobody_uses_is_ended_and_started_again),
	    TEST(calls_in_flight_end_with_the_house),
	    TEST(what_is_configured_the_same_stays),
	    TEST(calls_that_wait_go_to_the_one_that_follows),
	    TEST(nothing_is_told_of_one_that_has_gone),
	    TEST(a_server_is_started_at_home),
	    TEST(two_servers_of_one_name_are_refused),
	    TEST(resources_are_listened_to_in_both_eras),
	    TEST(who_follows_is_told_what_is_listened_to),
	    TEST(the_level_of_messages_is_told),
	    TEST(test_5_subscriptions_outlive_a_change_of_settings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
