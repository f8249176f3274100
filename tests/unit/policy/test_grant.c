/* test_grant.c - what a remembered answer covers, and above all what it does not. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "policy/grant.h"

static struct loop *loop;
static struct store *store;
static struct grants *grants;

static const struct str none = {NULL, 0};

static int
setup(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(store_open(loop, NULL, &store, &e), 0);
	assert_int_equal(grants_new(store, &grants, &e), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	grants_free(grants);
	store_free(store);
	loop_free(loop);
	return 0;
}

static struct grant_ask
ask_for(const char *session, const char *workspace, const char *tool, const char *command)
{
	return (struct grant_ask){str_of(session), str_of(workspace), str_of(tool),
				  str_of(command)};
}

static int
add(struct grant_ask ask, enum grant_scope scope, bool allow, struct str prefix, char ret_id[40])
{
	return grant_add(grants, &ask, scope, allow, prefix, S("test"), ret_id, NULL);
}

static enum grant_answer
find(struct grant_ask ask)
{
	struct str rule = none;
	enum grant_answer answer = grant_find(grants, &ask, &rule);

	assert_true(answer == GRANT_NONE || str_starts(rule, S("remembered")));
	return answer;
}

static void
scopes_have_names(void **state)
{
	static const char *const names[] = {"once", "session", "prefix", "workspace",
					    "workspace_prefix"};
	enum grant_scope scope;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_true(grant_scope_parse(str_of(names[i]), &scope));
		assert_int_equal(scope, i);
		assert_string_equal(grant_scope_name(scope), names[i]);
	}
	assert_false(grant_scope_parse(S("always"), &scope));
	assert_false(grant_scope_parse(S("Session"), &scope));
}

static void
the_prefix_that_is_offered_is_never_too_wide(void **state)
{
	static const struct {
		const char *command, *prefix; /* NULL: none is safe */
	} cases[] = {
	    {"ls", "ls"},
	    {"ls -la src", "ls"},
	    {"  ls", "ls"},
	    {"git status", "git status"},
	    {"git  status -s", "git  status"},
	    {"git status --short", "git status"},
	    {"npm run build", "npm run"},
	    {"cargo test --all", "cargo test"},
	    {"./configure", "./configure"},
	    {"/usr/bin/git log", "/usr/bin/git log"},
	    {"pip3 install x", "pip3 install"},
	    {"git", NULL},
	    {"git -C /etc status", NULL},
	    {"make -f /tmp/x", NULL},
	    {"", NULL},
	    {"   ", NULL},
	    {"sudo ls", NULL},
	    {"env rm x", NULL},
	    {"rm x", NULL},
	    {"/bin/mv a b", NULL},
	    {"/usr/bin/env rm x", NULL},
	    {"bash x.sh", NULL},
	    {"python3 x.py", NULL},
	    {"python3.11 x.py", NULL},
	    {"xargs rm", NULL},
	    {"eval ls", NULL},
	    {". x", NULL},
	    {"/", NULL},
	    {"ls; rm", NULL},
	    {"ls | wc", NULL},
	    {"ls & rm", NULL},
	    {"ls > x", NULL},
	    {"ls < x", NULL},
	    {"ls $HOME", NULL},
	    {"ls `x`", NULL},
	    {"ls (x)", NULL},
	    {"ls {a,b}", NULL},
	    {"ls 'x'", NULL},
	    {"ls \"x\"", NULL},
	    {"ls x\\ y", NULL},
	    {"ls\nrm", NULL},
	    {"ls\rrm", NULL},
	    {"ls\trm", NULL},
	    {"ls *", NULL},
	    {"ls ?", NULL},
	    {"ls [a]", NULL},
	    {"ls ~", NULL},
	    {"ls # x", NULL},
	    {"X=1 ls", NULL},
	    {"! ls", NULL},
	    {"ls ^x", NULL},
	    {"ls %1", NULL},
	    {"ls \xc2\xa0x", NULL},
	    {"ls \x7f", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str prefix = none;
		bool safe = grant_prefix(str_of(cases[i].command), &prefix);
		if (safe != (cases[i].prefix != NULL))
			fail_msg("'%s'", cases[i].command);
		if (safe && !str_is(prefix, cases[i].prefix))
			fail_msg("'%s' gives '%.*s'", cases[i].command, STR_ARG(prefix));
	}
	struct str prefix = none;
	assert_false(grant_prefix((struct str){"ls\0rm", 5}, &prefix));
	assert_false(grant_prefix(none, &prefix));
}

static void
a_prefix_covers_only_plain_words_after_it(void **state)
{
	static const struct {
		const char *command;
		bool covered;
	} cases[] = {
	    {"git status", true},
	    {"git status -s", true},
	    {"git status src/a.c -- x,y:z@1+2_3", true},
	    {"git  status", true}, /* the same words to the shell */
	    {" git status ", true},
	    {"git statusx", false},
	    {"git status-x", false},
	    {"git stat", false},
	    {"git", false},
	    {"", false},
	    {"Git status", false},
	    {"git -c x status", false},
	    {"xgit status", false},
	    {"/tmp/git status", false},
	    {"git status; rm -rf /", false},
	    {"git status;rm", false},
	    {"git status\nrm", false},
	    {"git status\rrm", false},
	    {"git\nstatus", false},
	    {"git\tstatus", false},
	    {"git status$(x)", false},
	    {"git status $(x)", false},
	    {"git status `x`", false},
	    {"git status $X", false},
	    {"git status && a", false},
	    {"git status || a", false},
	    {"git status | sh", false},
	    {"git status & a", false},
	    {"git status > /etc/passwd", false},
	    {"git status < x", false},
	    {"git status (x)", false},
	    {"git status {a,b}", false},
	    {"git status 'x'", false},
	    {"git status \"x\"", false},
	    {"git status \\x", false},
	    {"git status *", false},
	    {"git status ?", false},
	    {"git status [a]", false},
	    {"git status ~", false},
	    {"git status #", false},
	    {"git status --x=y", false},
	    {"X=1 git status", false},
	    {"git status !x", false},
	    {"git status \x1b[2K", false},
	    {"git status \xe2\x80\xae", false},
	};

	(void)state;
	assert_int_equal(add(ask_for("s", "/w", "shell", "git status"), SCOPE_PREFIX, true, none,
			     NULL),
			 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool covered = find(ask_for("s", "/w", "shell", cases[i].command)) == GRANT_ALLOW;
		if (covered != cases[i].covered)
			fail_msg("'%s'", cases[i].command);
	}
	struct grant_ask ask = ask_for("s", "/w", "shell", NULL);
	assert_int_equal(find(ask), GRANT_NONE);
	ask.command = (struct str){"git status\0; rm", 15};
	assert_int_equal(find(ask), GRANT_NONE);
	assert_int_equal(find(ask_for("other", "/w", "shell", "git status")), GRANT_NONE);
	assert_int_equal(find(ask_for("s", "/w", "other", "git status")), GRANT_NONE);
}

static void
a_prefix_that_does_not_fit_is_refused_with_its_reason(void **state)
{
	static const struct {
		const char *command, *prefix, *text;
	} cases[] = {
	    {NULL, NULL, "no command"},
	    {"ls; rm", NULL, "no prefix of this command is safe"},
	    {"git status", "git push", "must begin with the prefix"},
	    {"git statusx", "git status", "must begin with the prefix"},
	    {"git status; rm", "git status", "must begin with the prefix"},
	    {"git status", "git status;", "plain words"},
	    {"git status", "", "plain words"},
	    {"git status", " ", "plain words"},
	    {"git status", "git *", "plain words"},
	    {"sudo ls", "sudo", "'sudo' alone is not safe"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct grant_ask ask = ask_for("s", "/w", "shell", cases[i].command);
		struct err e = ERR_NONE;
		char id[40] = "x";
		assert_int_equal(grant_add(grants, &ask, SCOPE_PREFIX, true,
					   str_of(cases[i].prefix), S("test"), id, &e),
				 E_VALIDATION);
		assert_string_equal(id, "");
		if (!strstr(e.text, cases[i].text))
			fail_msg("%s", e.text);
	}
	struct grant_ask ask = ask_for("s", NULL, "shell", "ls");
	assert_int_equal(grant_add(grants, &ask, SCOPE_WORKSPACE, true, none, S("t"), NULL, NULL),
			 E_VALIDATION);
	assert_int_equal(add(ask_for("s", "/w", "shell", "sudo ls x"), SCOPE_PREFIX, true,
			     S("sudo ls"), NULL),
			 0);
	assert_int_equal(find(ask_for("s", "/w", "shell", "sudo ls y")), GRANT_ALLOW);
	assert_int_equal(find(ask_for("s", "/w", "shell", "sudo rm y")), GRANT_NONE);
}

static void
each_scope_covers_its_place_only(void **state)
{
	char id[40];

	(void)state;
	assert_int_equal(add(ask_for("s", "/w", "a", NULL), SCOPE_ONCE, true, none, id), 0);
	assert_string_equal(id, "");
	assert_int_equal(find(ask_for("s", "/w", "a", NULL)), GRANT_NONE);

	assert_int_equal(add(ask_for("s", "/w", "a", NULL), SCOPE_SESSION, true, none, id), 0);
	assert_memory_equal(id, "grant_", 6);
	assert_int_equal(find(ask_for("s", "/w", "a", NULL)), GRANT_ALLOW);
	assert_int_equal(find(ask_for("s", "/w", "a", "rm -rf /; x")), GRANT_ALLOW);
	assert_int_equal(find(ask_for("s2", "/w", "a", NULL)), GRANT_NONE);
	assert_int_equal(find(ask_for("s", "/w", "b", NULL)), GRANT_NONE);

	assert_int_equal(add(ask_for("s", "/w", "b", NULL), SCOPE_WORKSPACE, true, none, NULL), 0);
	assert_int_equal(find(ask_for("s2", "/w", "b", NULL)), GRANT_ALLOW);
	assert_int_equal(find(ask_for("s2", "/w/sub", "b", NULL)), GRANT_NONE);
	assert_int_equal(find(ask_for("s2", NULL, "b", NULL)), GRANT_NONE);

	assert_int_equal(add(ask_for("s", "/w", "sh", "ls -l"), SCOPE_WORKSPACE_PREFIX, true, none,
			     NULL),
			 0);
	assert_int_equal(find(ask_for("s3", "/w", "sh", "ls src")), GRANT_ALLOW);
	assert_int_equal(find(ask_for("s3", "/w2", "sh", "ls src")), GRANT_NONE);
	assert_int_equal(find(ask_for("s3", "/w", "sh", "lsx")), GRANT_NONE);
}

static void
deny_wins_over_allow(void **state)
{
	struct str rule;

	(void)state;
	add(ask_for("s", "/w", "shell", "git push"), SCOPE_WORKSPACE_PREFIX, false, none, NULL);
	add(ask_for("s", "/w", "shell", "git push"), SCOPE_SESSION, true, none, NULL);
	assert_int_equal(find(ask_for("s", "/w", "shell", "git push -f")), GRANT_DENY);
	assert_int_equal(find(ask_for("s", "/w", "shell", "git pull")), GRANT_ALLOW);
	/* What was refused must not hide in what cannot be read: a person is asked. */
	assert_int_equal(find(ask_for("s", "/w", "shell", "true; git push")), GRANT_NONE);
	assert_int_equal(find(ask_for("s", "/w", "shell", "git  push")), GRANT_DENY);

	struct grant_ask ask = ask_for("s", "/w", "shell", "git push");
	assert_int_equal(grant_find(grants, &ask, &rule), GRANT_DENY);
	assert_true(str_is(rule, "remembered refusal: shell 'git push' in this workspace"));
	ask = ask_for("s", "/w", "shell", "ls");
	assert_int_equal(grant_find(grants, &ask, &rule), GRANT_ALLOW);
	assert_true(str_is(rule, "remembered: shell in this session"));
}

static void
a_later_answer_takes_the_place_of_the_same_one(void **state)
{
	struct buf b = BUF_INIT(4 * KIB);
	struct jw w = jw(&b);

	(void)state;
	add(ask_for("s", "/w", "a", NULL), SCOPE_SESSION, false, none, NULL);
	add(ask_for("s", "/w", "a", NULL), SCOPE_SESSION, true, none, NULL);
	assert_int_equal(find(ask_for("s", "/w", "a", NULL)), GRANT_ALLOW);
	add(ask_for("s", "/w", "a", NULL), SCOPE_WORKSPACE, true, none, NULL);
	add(ask_for("s", "/w", "a", NULL), SCOPE_WORKSPACE, false, none, NULL);
	assert_int_equal(find(ask_for("s", "/w", "a", NULL)), GRANT_DENY);
	grants_write(&w, grants);
	const char *second = strstr(buf_z(&b), "\"scope\"");
	second = strstr(second + 1, "\"scope\"");
	assert_non_null(second);
	assert_null(strstr(second + 1, "\"scope\""));
	buf_done(&b);
}

static void
grants_are_listed_and_revocable(void **state)
{
	struct buf b = BUF_INIT(4 * KIB);
	struct jw w = jw(&b);
	char id[40], want[512];

	(void)state;
	add(ask_for("s", "/w", "shell", "ls -l"), SCOPE_PREFIX, true, none, id);
	grants_write(&w, grants);
	const char *time = strstr(buf_z(&b), "\"created_at\":\"");
	snprintf(
	    want, sizeof(want),
	    "[{\"id\":\"%s\",\"scope\":\"prefix\",\"decision\":\"allow\",\"tool_name\":\"shell\","
	    "\"prefix\":\"ls\",\"session_id\":\"s\",\"workspace_path\":\"/w\","
	    "\"created_at\":\"%.27s\",\"by\":\"test\"}]",
	    id, time ? time + 14 : "");
	assert_string_equal(buf_z(&b), want);
	assert_int_equal(grant_revoke(grants, S("grant_nothing")), E_NO_GRANT);
	assert_int_equal(grant_revoke(grants, str_of(id)), 0);
	assert_int_equal(grant_revoke(grants, str_of(id)), E_NO_GRANT);
	assert_int_equal(find(ask_for("s", "/w", "shell", "ls -l")), GRANT_NONE);
	buf_done(&b);
}

static void
workspace_grants_outlive_the_program_and_session_grants_the_session_not(void **state)
{
	struct err e;
	char id[40];

	(void)state;
	add(ask_for("s", "/w", "a", NULL), SCOPE_SESSION, true, none, NULL);
	add(ask_for("s", "/w", "b", NULL), SCOPE_WORKSPACE, true, none, NULL);
	add(ask_for("s", "/w", "sh", "ls"), SCOPE_WORKSPACE_PREFIX, false, none, id);
	grants_end_session(grants, S("s"));
	assert_int_equal(find(ask_for("s", "/w", "a", NULL)), GRANT_NONE);
	assert_int_equal(find(ask_for("s", "/w", "b", NULL)), GRANT_ALLOW);

	grants_free(grants);
	assert_int_equal(grants_new(store, &grants, &e), 0);
	assert_int_equal(find(ask_for("t", "/w", "b", NULL)), GRANT_ALLOW);
	assert_int_equal(find(ask_for("t", "/w", "sh", "ls x")), GRANT_DENY);
	assert_int_equal(find(ask_for("t", "/w", "sh", "cat x")), GRANT_NONE);

	assert_int_equal(grant_revoke(grants, str_of(id)), 0);
	grants_free(grants);
	assert_int_equal(grants_new(store, &grants, &e), 0);
	assert_int_equal(find(ask_for("t", "/w", "sh", "ls x")), GRANT_NONE);
	assert_int_equal(find(ask_for("t", "/w", "b", NULL)), GRANT_ALLOW);
}

static void
their_number_is_bounded(void **state)
{
	char tool[16];

	(void)state;
	for (int i = 0; i < LIMIT_GRANTS; i++) {
		snprintf(tool, sizeof(tool), "t%d", i);
		assert_int_equal(add(ask_for("s", "/w", tool, NULL), SCOPE_SESSION, true, none,
				     NULL),
				 0);
	}
	assert_int_equal(add(ask_for("s", "/w", "x", NULL), SCOPE_SESSION, true, none, NULL),
			 E_LIMIT);
	assert_int_equal(add(ask_for("s", "/w", "t0", NULL), SCOPE_SESSION, false, none, NULL), 0);
	assert_int_equal(find(ask_for("s", "/w", "t0", NULL)), GRANT_DENY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(scopes_have_names),
	    cmocka_unit_test(the_prefix_that_is_offered_is_never_too_wide),
	    cmocka_unit_test_setup_teardown(a_prefix_covers_only_plain_words_after_it, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_prefix_that_does_not_fit_is_refused_with_its_reason,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(each_scope_covers_its_place_only, setup, teardown),
	    cmocka_unit_test_setup_teardown(deny_wins_over_allow, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_later_answer_takes_the_place_of_the_same_one, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(grants_are_listed_and_revocable, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		workspace_grants_outlive_the_program_and_session_grants_the_session_not, setup,
		teardown),
	    cmocka_unit_test_setup_teardown(their_number_is_bounded, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
