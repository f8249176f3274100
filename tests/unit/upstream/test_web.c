/* test_web.c - servers behind HTTP: the ladder by status, lost sessions, headers, ends of streams.
 */

#include "house.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "upstream/inside.h"
#include "upstream/link_http.h"

static pid_t fake;
static char url[64];

/* The server is a child of the test, and says where it is on its stdout. */
static void
fake_start(const char *const *words)
{
	const char *argv[WORDS + 3] = {"python3", "tests/unit/upstream/fake_http.py"};
	posix_spawn_file_actions_t actions;
	char port[16] = "";
	int pipes[2];

	for (size_t i = 0; words[i]; i++)
		argv[i + 2] = words[i];
	assert_int_equal(pipe(pipes), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
	posix_spawn_file_actions_addclose(&actions, pipes[0]);
	assert_int_equal(posix_spawnp(&fake, "python3", &actions, NULL, (char **)argv,
				      (char **)env),
			 0);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	assert_true(read(pipes[0], port, sizeof(port) - 1) > 0);
	close(pipes[0]);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/mcp", atoi(port));
}

static void
fake_end(void)
{
	if (fake <= 0)
		return;
	kill(fake, SIGKILL);
	waitpid(fake, NULL, 0);
	fake = 0;
}

static struct upstream *
web_server(const char *name)
{
	struct upstream_spec spec = {.name = str_of(name),
				     .kind = UPSTREAM_HTTP,
				     .url = url,
				     .start_ms = 5000,
				     .timeout_ms = 5000};
	struct err e;

	if (upstreams_set(set, &spec, 1, &e) < 0)
		fail_msg("%s", e.text);
	return upstream_at(set, 0);
}

static struct upstream *
web_started(const char *const *words)
{
	fake_start(words);
	struct upstream *u = web_server("web");
	UNTIL(upstream_state(u) == UPSTREAM_STARTED);
	return u;
}

static int
teardown(void **state)
{
	int rc = house_teardown(state);

	fake_end();
	return rc;
}

static const struct {
	const char *words[4];
	const char *shows;
	bool starts;
} ladders[] = {
    {{"modern"}, "\"era\":\"modern\"", true},
    {{NULL}, "\"era\":\"legacy\"", true},
    {{"probe=400"}, "\"era\":\"legacy\"", true},
    {{"probe=405"}, "\"era\":\"legacy\"", true},
    {{"probe-null"}, "\"era\":\"legacy\"", true},
    {{"sessions"}, "\"era\":\"legacy\"", true},
    {{"old"}, "\"era\":\"legacy\",\"version\":\"2024-11-05\"", true},
    {{"old=http://127.0.0.2:1/message"}, "an address that is not its own", false},
    {{"probe=500"}, "HTTP 500", false},
    {{"status=401"}, "wants credentials (HTTP 401)", false},
    {{"status=403"}, "HTTP 403", false},
    {{"status=404"}, "no MCP server at its URL (HTTP 404)", false},
    {{"status=503"}, "HTTP 503", false},
    {{"status=302"}, "HTTP 302", false},
    {{"moved=/mcp/?k=secret"}, "it is at /mcp/, and is not followed", false},
    {{"moved=https://other.example/k/secret"}, "it is at other.example, and", false},
    {{"html"}, "\"problem\"", false},
};

static void
the_era_is_found_by_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ladders); i++) {
		char name[16];
		snprintf(name, sizeof(name), "w%zu", i);
		fake_start(ladders[i].words);
		struct upstream *u = web_server(name);
		UNTIL(upstream_state(u) != UPSTREAM_CONFIGURED);
		if (!strstr(house_shown(u), ladders[i].shows) ||
		    (upstream_state(u) == UPSTREAM_STARTED) != ladders[i].starts)
			fail_msg("%zu: %s", i, house_shown(u));
		fake_end();
	}
}

/* Issue 5: what was legacy may be modern now, and need not say so in words of MCP. */
static void
a_server_that_is_no_longer_legacy_is_asked_anew(void **state)
{
	char path[128], word[160];

	(void)state;
	snprintf(path, sizeof(path), "%s/modern", dir);
	snprintf(word, sizeof(word), "modern-if=%s", path);
	struct upstream *u = web_started((const char *const[]){word, NULL});
	assert_non_null(strstr(house_shown(u), "\"era\":\"legacy\""));
	house_end();
	fclose(fopen(path, "w"));
	house_make();
	u = web_server("web");
	assert_int_equal(upstream_state(u), UPSTREAM_KNOWN);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_non_null(strstr(house_shown(u), "\"era\":\"modern\""));
}

static void
a_lost_session_is_begun_anew_and_nothing_is_done_twice(void **state)
{
	char calls[128], word[160], text[64] = "";

	(void)state;
	snprintf(calls, sizeof(calls), "%s/calls", dir);
	snprintf(word, sizeof(word), "calls=%s", calls);
	struct upstream *u =
	    web_started((const char *const[]){"sessions", "lose-once", word, NULL});
	struct call c = {.argument = "hello"};
	call(&c, u, "echo");
	assert_int_equal(c.code, 0);
	assert_string_equal(c.text, "hello");
	FILE *f = fopen(calls, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(text, "call\n");
}

/* Issue 5: a server that was started again says 400 to sessions it does not know. */
static void
begins_anew_after(const char *way)
{
	char path[128], word[160];
	struct call calls[3] = {0};

	snprintf(path, sizeof(path), "%s/lose", dir);
	snprintf(word, sizeof(word), "lose-if=%s", path);
	struct upstream *u = web_started((const char *const[]){"sessions", word, way, NULL});
	fclose(fopen(path, "w"));
	for (size_t n = 0; n < ARRAY_LEN(calls); n++) {
		calls[n].argument = "hello";
		call_begin(&calls[n], u, "echo");
	}
	for (size_t n = 0; n < ARRAY_LEN(calls); n++) {
		UNTIL(calls[n].over);
		if (calls[n].code != 0 || strcmp(calls[n].text, "hello") != 0)
			fail_msg("%zu: %s", n, calls[n].text);
	}
}

static void
a_session_that_is_refused_with_400_is_begun_anew(void **state)
{
	(void)state;
	begins_anew_after("lost=400");
}

static void
a_session_that_is_refused_in_plain_words_is_begun_anew(void **state)
{
	(void)state;
	begins_anew_after("lost-text=400");
}

/* Issue 5: what may have been done is not done again for a status. */
static void
a_request_that_is_refused_with_400_is_not_made_again(void **state)
{
	char calls[128], word[160], text[64] = "";

	(void)state;
	snprintf(calls, sizeof(calls), "%s/calls", dir);
	snprintf(word, sizeof(word), "calls=%s", calls);
	struct upstream *u = web_started((const char *const[]){"sessions", word, NULL});
	struct call *c = CALL(u, "half_done");
	assert_int_equal(c->rpc, -32000);
	assert_string_equal(c->text, "it failed in the middle");
	assert_int_equal(u->sessions, 1);
	FILE *f = fopen(calls, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(text, "call\n");
}

static void
look_again(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

/* For what nobody tells. */
#define POLL(condition)                                                                            \
	do {                                                                                       \
		struct timer look = {0};                                                           \
		while (!(condition)) {                                                             \
			timer_start(loop, &look, 10, look_again, NULL);                            \
			loop_run(loop);                                                            \
			timer_stop(loop, &look);                                                   \
		}                                                                                  \
	} while (0)

static bool
ear_is_open(const struct upstream *u)
{
	const struct web *w = CONTAINER_OF(u->link, struct web, link);

	return w->ear && w->ear->heard;
}

/* Issue 5: nobody has to call it for that. */
static void
a_session_that_is_lost_is_noticed_by_who_listens(void **state)
{
	char path[128], word[160];

	(void)state;
	snprintf(path, sizeof(path), "%s/lose", dir);
	snprintf(word, sizeof(word), "lose-if=%s", path);
	struct upstream *u =
	    web_started((const char *const[]){"sessions", "ear", "lost=400", word, NULL});
	POLL(ear_is_open(u));
	unsigned before = u->sessions;
	fclose(fopen(path, "w"));
	POLL(u->sessions == before + 1);
	assert_int_equal(CALL(u, "echo")->code, 0);
	assert_int_equal(u->sessions, before + 1);
}

static void
headers_that_were_wrong_are_made_anew_once(void **state)
{
	(void)state;
	struct upstream *u = web_started((const char *const[]){"modern", "header-once", NULL});
	struct call c = {.argument = "hello"};
	call(&c, u, "echo");
	assert_int_equal(c.code, 0);
	assert_string_equal(c.text, "hello");
	/* And a tool whose headers cannot be told is not there. */
	assert_non_null(upstream_tool(u, S("echo")));
	assert_null(upstream_tool(u, S("bad_header")));
}

static void
errors_of_the_server_are_given_as_they_came(void **state)
{
	(void)state;
	struct upstream *u = web_started((const char *const[]){NULL});
	struct call *c = CALL(u, "missing");
	assert_int_equal(c->code, 0);
	assert_int_equal(c->rpc, RPC_PARAMS);
	assert_string_equal(c->text, "no such tool");
}

static void
a_stream_ends_with_the_answer(void **state)
{
	(void)state;
	struct upstream *u = web_started((const char *const[]){"modern", "stream", NULL});
	assert_string_equal(CALL(u, "echo")->text, "streamed");
}

/* Issue 5: one that does not tell is looked at again, when somebody looks and it is old. */
static void
a_list_that_is_old_is_read_again_when_somebody_looks(void **state)
{
	static const char *const eras[] = {"modern", "legacy"};
	static const char *const names[] = {"new", "old"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(eras); i++) {
		char path[128], word[160];
		snprintf(path, sizeof(path), "%s/more%zu", dir, i);
		snprintf(word, sizeof(word), "more-if=%s", path);
		fake_start((const char *const[]){eras[i], word, "ttl=40000", NULL});
		struct upstream *u = web_server(names[i]);
		UNTIL(upstream_state(u) == UPSTREAM_STARTED);
		struct listing *ls = &u->listings[LIST_TOOLS];
		struct mcp_hint hint = upstream_hint(u, LIST_TOOLS);
		assert_true(hint.ttl_ms > 0 && hint.ttl_ms <= 40000 && hint.everybody);
		fclose(fopen(path, "w"));
		upstream_look(u); /* it is young */
		ls->read_at -= LIMIT_UPSTREAM_STALE_MS;
		upstream_look(u); /* and may be held for longer than that */
		assert_int_equal(ls->ask.id, 0);
		ls->read_at -= 10000;
		assert_int_equal(upstream_hint(u, LIST_TOOLS).ttl_ms, 0);
		upstream_look(u);
		UNTIL(upstream_tool(u, S("later")));
		assert_true(upstream_hint(u, LIST_TOOLS).ttl_ms > 0);
		fake_end();
	}
}

/* Issue 5: what was known before may be long ago; over HTTP nobody has to be started to ask. */
static void
a_server_that_was_not_asked_yet_is_when_somebody_looks(void **state)
{
	char path[128], word[160];

	(void)state;
	snprintf(path, sizeof(path), "%s/more", dir);
	snprintf(word, sizeof(word), "more-if=%s", path);
	struct upstream *u = web_started((const char *const[]){"modern", word, NULL});
	house_end();
	fclose(fopen(path, "w"));
	house_make();
	u = web_server("web");
	assert_int_equal(upstream_state(u), UPSTREAM_KNOWN);
	assert_null(upstream_tool(u, S("later")));
	upstream_look(u);
	UNTIL(upstream_tool(u, S("later")));
}

/* HTTP+SSE: all answers come by one stream, and without it there is no server. */
static void
an_old_server_is_spoken_to_by_two_addresses(void **state)
{
	struct call calls[4] = {0};

	(void)state;
	struct upstream *u = web_started((const char *const[]){"old", NULL});
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		calls[i].argument = (const char *[]){"a", "b", "c", "d"}[i];
		call_begin(&calls[i], u, "echo");
	}
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		UNTIL(calls[i].over);
		assert_int_equal(calls[i].code, 0);
		assert_string_equal(calls[i].text, calls[i].argument);
	}
	assert_int_equal(CALL(u, "missing")->rpc, RPC_PARAMS);
	fake_end();
	UNTIL(upstream_state(u) == UPSTREAM_FAILED);
}

static void
a_server_that_is_gone_has_done_nothing(void **state)
{
	(void)state;
	struct upstream *u = web_started((const char *const[]){"modern", NULL});
	assert_int_equal(CALL(u, "echo")->code, 0);
	fake_end();
	struct call c = {0}, again = {0};
	call(&c, u, "echo");
	assert_true(c.code == E_UNAVAILABLE || c.code == E_EXECUTION);
	call(&again, u, "echo"); /* there is no connection that could be tried any more */
	assert_int_equal(again.code, E_UNAVAILABLE);
	assert_false(again.sent);
	UNTIL(upstream_state(u) == UPSTREAM_FAILED);
	assert_non_null(upstream_tool(u, S("echo"))); /* still listed */
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, house_setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(the_era_is_found_by_status),
	    TEST(a_server_that_is_no_longer_legacy_is_asked_anew),
	    TEST(a_lost_session_is_begun_anew_and_nothing_is_done_twice),
	    TEST(a_session_that_is_refused_with_400_is_begun_anew),
	    TEST(a_session_that_is_refused_in_plain_words_is_begun_anew),
	    TEST(a_request_that_is_refused_with_400_is_not_made_again),
	    TEST(a_session_that_is_lost_is_noticed_by_who_listens),
	    TEST(headers_that_were_wrong_are_made_anew_once),
	    TEST(errors_of_the_server_are_given_as_they_came),
	    TEST(a_stream_ends_with_the_answer),
	    TEST(a_list_that_is_old_is_read_again_when_somebody_looks),
	    TEST(a_server_that_was_not_asked_yet_is_when_somebody_looks),
	    TEST(an_old_server_is_spoken_to_by_two_addresses),
	    TEST(a_server_that_is_gone_has_done_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
