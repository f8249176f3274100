/* test_question.c - one answer each: the first; and every way a question can end. */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "policy/question.h"

static struct loop *loop;
static struct grants *grants;
static struct questions *questions;
static unsigned told;       /* calls of `changed` */
static unsigned told_until; /* then stop the loop */

static const struct str none = {NULL, 0};
#define LONG_MS 300000

static int
setup(void **state)
{
	struct err e;

	(void)state;
	told = 0;
	told_until = 1;
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(grants_new(NULL, &grants, &e), 0);
	questions = questions_new(loop, grants);
	return questions ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	questions_free(questions);
	grants_free(grants);
	loop_free(loop);
	return 0;
}

static void
changed(struct question *q, void *arg)
{
	assert_int_not_equal(question_state(q), Q_OPEN);
	if (arg)
		*(enum question_state *)arg = question_state(q);
	if (++told == told_until)
		loop_stop(loop);
}

static int
try_ask(const char *session, const char *tool, const char *command, unsigned timeout_ms, void *arg,
	struct question **ret)
{
	struct question_text text = {
	    .session = str_of(session),
	    .turn = S("turn_1"),
	    .call = S("call_1"),
	    .tool_use_id = S("tu_1"),
	    .tool = str_of(tool),
	    .side_effects = "execute",
	    .workspace = S("/w"),
	    .command = str_of(command),
	};

	return question_open(questions, &text, timeout_ms, changed, arg, ret, NULL);
}

static struct question *
ask(const char *session, const char *tool, const char *command)
{
	struct question *q = NULL;

	assert_int_equal(try_ask(session, tool, command, LONG_MS, NULL, &q), 0);
	assert_int_equal(question_state(q), Q_OPEN);
	assert_string_equal(question_by(q), "");
	return q;
}

static int
answer_as(const char *id, bool allow, enum grant_scope scope, const char *by)
{
	return question_answer(questions, str_of(id),
			       &(struct answer){.allow = allow, .scope = scope, .by = str_of(by)},
			       NULL, NULL);
}

static void
the_first_answer_wins_and_the_second_learns_the_outcome(void **state)
{
	struct question *q = ask("s", "shell", "ls");
	enum question_state got = Q_OPEN;
	struct err e;
	char id[ULID_LEN + 1];

	(void)state;
	strcpy(id, question_id(q));
	assert_true(ulid_valid(str_of(id)));
	assert_int_equal(questions_count(questions), 1);
	assert_int_equal(question_answer(questions, str_of(id),
					 &(struct answer){.allow = true, .by = S("terminal")}, &got,
					 &e),
			 0);
	assert_int_equal(got, Q_ALLOWED);
	assert_int_equal(told, 0); /* never inside */
	assert_int_equal(question_state(q), Q_ALLOWED);
	assert_string_equal(question_by(q), "terminal");
	assert_int_equal(questions_count(questions), 0);

	got = Q_OPEN;
	assert_int_equal(question_answer(questions, str_of(id),
					 &(struct answer){.allow = false, .by = S("rest")}, &got,
					 &e),
			 E_ANSWERED);
	assert_int_equal(got, Q_ALLOWED);
	assert_string_equal(e.text, "already allowed by terminal");
	loop_run(loop);
	assert_int_equal(told, 1);
	question_withdraw(questions, &q);
	assert_null(q);
	question_withdraw(questions, &q);
	assert_int_equal(answer_as(id, false, SCOPE_ONCE, "rest"), E_ANSWERED);
	assert_int_equal(answer_as("01ARZ3NDEKTSV4RRFFQ69G5FAV", true, SCOPE_ONCE, "x"),
			 E_NO_QUESTION);
	assert_int_equal(answer_as("", true, SCOPE_ONCE, "x"), E_NO_QUESTION);
}

static void
of_a_hundred_racing_answers_one_counts(void **state)
{
	struct question *q = ask("s", "shell", "ls");
	unsigned taken = 0, late = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		char by[16];
		enum question_state got = Q_OPEN;
		snprintf(by, sizeof(by), "client %d", i);
		int code = question_answer(questions, str_of(question_id(q)),
					   &(struct answer){.allow = i % 2 == 1, .by = str_of(by)},
					   &got, NULL);
		taken += code == 0;
		late += code == E_ANSWERED;
		assert_int_equal(got, Q_DENIED);
	}
	assert_int_equal(taken, 1);
	assert_int_equal(late, 99);
	assert_string_equal(question_by(q), "client 0");
	loop_run(loop);
	assert_int_equal(told, 1);
	question_withdraw(questions, &q);
}

static void
without_an_answer_it_expires(void **state)
{
	struct question *q = NULL;
	enum question_state seen = Q_OPEN, got = Q_OPEN;
	int64_t before = clock_wall_us();
	struct err e;

	(void)state;
	assert_int_equal(try_ask("s", "shell", "ls", 1, &seen, &q), 0);
	assert_true(question_expires_us(q) >= before + 1000);
	loop_run(loop);
	assert_int_equal(seen, Q_EXPIRED);
	assert_int_equal(question_state(q), Q_EXPIRED);
	assert_int_equal(question_answer(questions, str_of(question_id(q)),
					 &(struct answer){.allow = true, .by = S("late")}, &got,
					 &e),
			 E_ANSWERED);
	assert_int_equal(got, Q_EXPIRED);
	assert_string_equal(e.text, "the time to answer has run out");
	question_withdraw(questions, &q);
}

static void
a_withdrawn_question_is_not_told_and_cannot_be_answered(void **state)
{
	struct question *q = ask("s", "shell", "ls"), *answered = ask("s", "shell", "ls");
	struct question *last = ask("s", "shell", "ls");
	char id[ULID_LEN + 1];
	enum question_state got;
	struct err e;

	(void)state;
	strcpy(id, question_id(q));
	question_withdraw(questions, &q);
	assert_int_equal(question_answer(questions, str_of(id),
					 &(struct answer){.allow = true, .by = S("late")}, &got,
					 &e),
			 E_ANSWERED);
	assert_int_equal(got, Q_WITHDRAWN);
	assert_string_equal(e.text, "the call was cancelled before an answer");
	/* Withdrawn between the answer and the telling: silence, too. */
	assert_int_equal(answer_as(question_id(answered), true, SCOPE_ONCE, "x"), 0);
	question_withdraw(questions, &answered);
	assert_int_equal(answer_as(question_id(last), true, SCOPE_ONCE, "x"), 0);
	loop_run(loop);
	assert_int_equal(told, 1);
	question_withdraw(questions, &last);
}

static void
an_answer_whose_scope_does_not_fit_leaves_it_open(void **state)
{
	struct question *q = ask("s", "shell", "ls; rm x");

	(void)state;
	assert_int_equal(answer_as(question_id(q), true, SCOPE_PREFIX, "x"), E_VALIDATION);
	assert_int_equal(question_state(q), Q_OPEN);
	assert_int_equal(answer_as(question_id(q), true, SCOPE_SESSION, "x"), 0);
	assert_int_equal(question_scope(q), SCOPE_SESSION);
	question_withdraw(questions, &q);
}

static void
a_remembered_answer_settles_the_others_it_covers(void **state)
{
	struct question *q = ask("s", "shell", "git status");
	struct question *same = ask("s", "shell", "git status -s");
	struct question *longer = ask("s", "shell", "git status; rm x");
	struct question *session = ask("t", "shell", "git status");
	struct question *tool = ask("s", "other", "git status");
	struct grant_ask again = {S("s"), S("/w"), S("shell"), S("git status x")};
	struct str rule;

	(void)state;
	told_until = 2;
	assert_int_equal(answer_as(question_id(q), true, SCOPE_PREFIX, "terminal"), 0);
	assert_int_equal(question_state(same), Q_ALLOWED);
	assert_string_equal(question_by(same), "terminal");
	assert_int_equal(question_scope(same), SCOPE_PREFIX);
	assert_int_equal(question_state(longer), Q_OPEN);
	assert_int_equal(question_state(session), Q_OPEN);
	assert_int_equal(question_state(tool), Q_OPEN);
	loop_run(loop);
	assert_int_equal(told, 2);
	assert_int_equal(grant_find(grants, &again, &rule), GRANT_ALLOW);

	assert_int_equal(answer_as(question_id(session), false, SCOPE_WORKSPACE, "terminal"), 0);
	assert_int_equal(question_state(longer), Q_DENIED);
	assert_int_equal(question_state(tool), Q_OPEN);
	question_withdraw(questions, &q);
	question_withdraw(questions, &same);
	question_withdraw(questions, &longer);
	question_withdraw(questions, &session);
	question_withdraw(questions, &tool);
}

static void
an_answer_for_once_settles_only_its_own(void **state)
{
	struct question *q = ask("s", "shell", "ls"), *twin = ask("s", "shell", "ls");

	(void)state;
	assert_int_equal(answer_as(question_id(q), true, SCOPE_ONCE, "x"), 0);
	assert_int_equal(question_state(twin), Q_OPEN);
	question_withdraw(questions, &q);
	question_withdraw(questions, &twin);
}

static void
open_questions_are_bounded(void **state)
{
	static struct question *all[LIMIT_QUESTIONS];
	struct question *q = NULL;
	char session[16];

	(void)state;
	for (size_t i = 0; i < LIMIT_QUESTIONS; i++) {
		snprintf(session, sizeof(session), "s%zu", i / LIMIT_QUESTIONS_PER_SESSION);
		if (i == LIMIT_QUESTIONS_PER_SESSION)
			assert_int_equal(try_ask("s0", "t", "x", LONG_MS, NULL, &q), E_LIMIT);
		all[i] = ask(session, "t", "x");
	}
	assert_int_equal(try_ask("new", "t", "x", LONG_MS, NULL, &q), E_LIMIT);
	assert_null(q);
	question_withdraw(questions, &all[0]);
	assert_int_equal(try_ask("new", "t", "x", LONG_MS, NULL, &q), 0);
	question_withdraw(questions, &q);
	for (size_t i = 1; i < LIMIT_QUESTIONS; i++)
		question_withdraw(questions, &all[i]);
	assert_int_equal(questions_count(questions), 0);
}

static void
their_text_is_bounded(void **state)
{
	enum { BYTES = 8 * 1024 * 1024 };
	struct question *all[LIMIT_QUESTIONS_BYTES / BYTES], *q = NULL;
	char *command = malloc(BYTES + 1);

	(void)state;
	memset(command, 'x', BYTES);
	command[BYTES - 1024] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		all[i] = ask("s", "t", command);
	assert_int_equal(try_ask("s", "t", command, LONG_MS, NULL, &q), E_LIMIT);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		question_withdraw(questions, &all[i]);
	all[0] = ask("s", "t", command);
	question_withdraw(questions, &all[0]);
	memset(command, 'x', 100);
	command[100] = '\0';
	assert_int_equal(try_ask(command, "t", "x", LONG_MS, NULL, &q), E_LIMIT);
	free(command);
}

static void
answered_ones_are_remembered_up_to_a_limit(void **state)
{
	static char ids[LIMIT_ANSWERS_KEPT + 1][ULID_LEN + 1];

	(void)state;
	for (size_t i = 0; i < LIMIT_ANSWERS_KEPT + 1; i++) {
		struct question *q = ask("s", "t", "x");
		strcpy(ids[i], question_id(q));
		assert_int_equal(answer_as(ids[i], true, SCOPE_ONCE, "x"), 0);
		question_withdraw(questions, &q);
	}
	assert_int_equal(answer_as(ids[0], true, SCOPE_ONCE, "x"), E_NO_QUESTION);
	assert_int_equal(answer_as(ids[1], true, SCOPE_ONCE, "x"), E_ANSWERED);
	assert_int_equal(answer_as(ids[LIMIT_ANSWERS_KEPT], true, SCOPE_ONCE, "x"), E_ANSWERED);
}

static void
a_question_can_be_placed_open_or_answered(void **state)
{
	struct question *q = ask("s", "t", "x");
	struct str session, turn;
	char id[ULID_LEN + 1];

	(void)state;
	strcpy(id, question_id(q));
	assert_int_equal(question_place(questions, str_of(id), &session, &turn), 0);
	assert_true(str_is(session, "s"));
	assert_true(str_is(turn, "turn_1"));
	question_withdraw(questions, &q);
	assert_int_equal(question_place(questions, str_of(id), &session, &turn), 0);
	assert_true(str_is(session, "s"));
	assert_true(str_is(turn, "turn_1"));
	assert_int_equal(question_place(questions, S("x"), &session, &turn), E_NO_QUESTION);
}

static void
an_ending_finds_a_question_when_it_is_the_only_one(void **state)
{
	struct question *a = ask("s", "t", "x"), *b = ask("s", "t", "x");
	char id[ULID_LEN + 1], lower[ULID_LEN + 1];

	(void)state;
	strcpy(id, question_id(a));
	struct str whole = str_of(id);
	assert_ptr_equal(question_find(questions, whole), a);
	assert_ptr_equal(question_find(questions, str_from(whole, 10)), a);
	for (size_t i = 0; i <= whole.len; i++)
		lower[i] = (char)(whole.ptr[i] >= 'A' ? whole.ptr[i] | 0x20 : whole.ptr[i]);
	assert_ptr_equal(question_find(questions, str_from(str_of(lower), 10)), a);
	assert_null(question_find(questions, S("")));
	assert_null(question_find(questions, none));
	assert_null(question_find(questions, S("U"))); /* no letter of ULIDs */
	assert_null(question_find(questions, str_upto(whole, 10)));
	assert_null(question_find(questions, S("0123456789012345678901234567890")));
	question_withdraw(questions, &a);
	assert_null(question_find(questions, whole));
	question_withdraw(questions, &b);
}

static void
an_ending_that_several_have_finds_none(void **state)
{
	struct question *all[33]; /* one more than a ULID's last character can tell apart */
	unsigned shared = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		all[i] = ask("s", "t", "x");
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct str last = str_from(str_of(question_id(all[i])), ULID_LEN - 1);
		unsigned with = 0;
		for (size_t j = 0; j < ARRAY_LEN(all); j++)
			with += str_ends(str_of(question_id(all[j])), last);
		shared += with > 1;
		assert_ptr_equal(question_find(questions, last), with > 1 ? NULL : all[i]);
	}
	assert_true(shared > 0);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		question_withdraw(questions, &all[i]);
}

static void
an_open_question_is_shown_whole(void **state)
{
	struct question_text text = {
	    .session = S("s"),
	    .turn = S("turn_1"),
	    .call = S("call_1"),
	    .tool_use_id = S("tu_1"),
	    .tool = S("write_file"),
	    .side_effects = "write",
	    .stranger = S("files"),
	    .workspace = S("/w"),
	    .summary = S("{\"path\": \"a\"}"),
	    .modifications = S("[\"a\"]"),
	    .diff = S("--- a\n"),
	    .diff_cut = true,
	    .input = S("{\"path\":\"a\"}"),
	    .input_hash = S("ff"),
	    .shown_hash = S("ee"),
	    .alone = true,
	    .rule = S("default.WRITE"),
	    .prompt = S("Really?"),
	};
	struct question *q = NULL, *other = ask("t", "shell", "ls \x1b[2K");
	struct buf b = BUF_INIT(4 * KIB);
	struct jw w = jw(&b);
	char want[1024], time[CLOCK_TEXT];

	(void)state;
	assert_int_equal(question_open(questions, &text, 1000, changed, NULL, &q, NULL), 0);
	memset(&text, 'x', sizeof(text)); /* everything was copied */
	questions_write(&w, questions, S("s"));
	clock_text(question_expires_us(q), time);
	snprintf(
	    want, sizeof(want),
	    "[{\"confirmation_request_id\":\"%s\",\"session_id\":\"s\",\"turn_id\":\"turn_1\","
	    "\"call_id\":\"call_1\",\"tool_use_id\":\"tu_1\",\"tool_name\":\"write_file\","
	    "\"side_effects\":\"write\",\"untrusted_server\":\"files\","
	    "\"confirmation_prompt\":\"Really?\",\"workspace_path\":\"/w\","
	    "\"input_summary\":\"{\\\"path\\\": \\\"a\\\"}\",\"projected_modifications\":[\"a\"],"
	    "\"command\":null,\"prefix\":null,\"diff\":\"--- a\\n\",\"diff_cut\":true,"
	    "\"input\":{\"path\":\"a\"},"
	    "\"input_hash\":\"ff\",\"image\":null,\"shown_hash\":\"ee\",\"once_only\":true,"
	    "\"asked_again\":false,\"rule\":\"default.WRITE\",\"expires_at\":\"%s\"}]",
	    question_id(q), time);
	assert_string_equal(buf_z(&b), want);

	buf_reset(&b);
	w = jw(&b);
	questions_write(&w, questions, none);
	assert_non_null(strstr(buf_z(&b), "\"ls \\u001b[2K\""));
	assert_non_null(strstr(buf_z(&b), "\"projected_modifications\":null"));
	question_withdraw(questions, &q);
	question_withdraw(questions, &other);
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(the_first_answer_wins_and_the_second_learns_the_outcome,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(of_a_hundred_racing_answers_one_counts, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(without_an_answer_it_expires, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_withdrawn_question_is_not_told_and_cannot_be_answered,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(an_answer_whose_scope_does_not_fit_leaves_it_open,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(a_remembered_answer_settles_the_others_it_covers, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(an_answer_for_once_settles_only_its_own, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(open_questions_are_bounded, setup, teardown),
	    cmocka_unit_test_setup_teardown(their_text_is_bounded, setup, teardown),
	    cmocka_unit_test_setup_teardown(answered_ones_are_remembered_up_to_a_limit, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_question_can_be_placed_open_or_answered, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(an_ending_finds_a_question_when_it_is_the_only_one,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(an_ending_that_several_have_finds_none, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(an_open_question_is_shown_whole, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
