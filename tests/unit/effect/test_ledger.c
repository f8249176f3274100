/* The ledger: who may begin, what is found, what is left by the dead, and what verifies. */

#include "unit.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "effect/emission.h"
#include "effect/inside.h"

static struct loop *loop;
static char dir[64], path[96];
static struct {
	int code;
	enum claim_state state;
	char effect[64], result[64];
} came;
static struct {
	size_t count;
	enum claim_state state;
} found_orphans;
static enum claim_state verdict;

static void
answer(const struct err *e, const struct claim_found *f, void *arg)
{
	(void)arg;
	came.code = e ? e->code : 0;
	came.state = f->state;
	snprintf(came.effect, sizeof(came.effect), "%.*s", STR_ARG(f->effect));
	snprintf(came.result, sizeof(came.result), "%.*s", STR_ARG(f->result));
	loop_stop(loop);
}

static enum claim_state
judge(const struct effect_orphan *o, void *arg)
{
	(void)arg;
	assert_true(str_is(o->tool, "tool"));
	return verdict;
}

static void
orphan(const struct effect_orphan *o, enum claim_state s, void *arg)
{
	(void)arg;
	assert_true(o->effect.len > 0);
	found_orphans.count++;
	found_orphans.state = s;
}

static struct ledger *
open_ledger(void)
{
	struct ledger *l;
	struct err e;

	assert_int_equal(ledger_open(&(struct ledger_spec){.loop = loop,
							   .path = path,
							   .judge = judge,
							   .recovered = orphan},
				     &l, &e),
			 0);
	return l;
}

static const struct effect_record record = {.call = {"call_1", 6},
					    .tool = {"tool", 4},
					    .policy = "irreversible",
					    .args = {"{\"a\":1}", 7}};

static enum claim_state
take_with(struct ledger *l, const char *key, const char *effect, const char *digest, bool twice,
	  uint64_t keep_ms)
{
	struct claims *c = ledger_claims(l);
	struct claim_ask ask = {.key = str_of(key),
				.digest = str_of(digest),
				.effect = str_of(effect),
				.keep_ms = keep_ms,
				.twice = twice,
				.record = &record};

	assert_int_equal(c->ops->take(c, &ask, answer, NULL), 0);
	loop_run(loop);
	assert_int_equal(came.code, 0);
	return came.state;
}

/* Of {"a":1}, so that the ledger verifies. */
#define DIGEST "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"

static enum claim_state
take(struct ledger *l, const char *key, const char *effect)
{
	return take_with(l, key, effect, DIGEST, false, 60000);
}

static enum claim_state
look(struct ledger *l, const char *key)
{
	struct claims *c = ledger_claims(l);

	assert_int_equal(c->ops->look(c, str_of(key), answer, NULL), 0);
	loop_run(loop);
	assert_int_equal(came.code, 0);
	return came.state;
}

static enum claim_state
settle_by(struct ledger *l, const char *effect, enum claim_state s, const char *result,
	  const char *by)
{
	struct claims *c = ledger_claims(l);
	struct claim_end end = {.effect = str_of(effect),
				.state = s,
				.result = str_of(result),
				.by = by};

	assert_int_equal(c->ops->settle(c, &end, answer, NULL), 0);
	loop_run(loop);
	assert_int_equal(came.code, 0);
	return came.state;
}

static enum claim_state
settle(struct ledger *l, const char *effect, enum claim_state s, const char *result)
{
	return settle_by(l, effect, s, result, NULL);
}

static void
verifies(struct ledger *l, bool wanted)
{
	struct buf out = BUF_INIT(1 * MIB);
	struct err e;
	bool ok;

	assert_int_equal(ledger_verify(l, &out, &ok, &e), 0);
	if (ok != wanted)
		print_error("%s\n", buf_z(&out));
	assert_int_equal(ok, wanted);
	buf_done(&out);
}

static void
a_key_is_taken_once(void **state)
{
	struct ledger *l = open_ledger();

	(void)state;
	assert_int_equal(look(l, "k"), CLAIM_NONE);
	assert_int_equal(take(l, "k", "eff_1"), CLAIM_NONE);
	assert_int_equal(take(l, "k", "eff_2"), CLAIM_STARTED);
	assert_string_equal(came.effect, "eff_1");
	assert_int_equal(settle(l, "eff_2", CLAIM_DONE, "{}"), CLAIM_NONE); /* not its own */
	assert_int_equal(settle(l, "eff_1", CLAIM_DONE, "{}"), CLAIM_DONE);
	assert_int_equal(settle(l, "eff_1", CLAIM_FAILED, NULL), CLAIM_DONE); /* it is over */
	assert_int_equal(look(l, "k"), CLAIM_DONE);
	assert_string_equal(came.result, "{}"); /* presence decides */
	assert_int_equal(take(l, "k", "eff_3"), CLAIM_DONE);
	assert_int_equal(take(l, NULL, "eff_4"), CLAIM_NONE); /* stands for itself */
	assert_int_equal(take(l, NULL, "eff_5"), CLAIM_NONE);
	verifies(l, true);
	ledger_free(l);
}

static void
what_failed_or_is_old_is_taken_again(void **state)
{
	struct ledger *l = open_ledger();

	(void)state;
	assert_int_equal(take(l, "k", "eff_1"), CLAIM_NONE);
	settle(l, "eff_1", CLAIM_FAILED, NULL);
	assert_int_equal(look(l, "k"), CLAIM_NONE);
	assert_int_equal(take_with(l, "k", "eff_2", DIGEST, false, 0), CLAIM_NONE);
	settle(l, "eff_2", CLAIM_DONE, "{}");
	assert_int_equal(look(l, "k"), CLAIM_NONE); /* its time is over at once */
	assert_int_equal(take(l, "k", "eff_3"), CLAIM_NONE);
	verifies(l, true);
	ledger_free(l);
}

static void
the_unknown_waits_for_a_word(void **state)
{
	struct ledger *l = open_ledger();

	(void)state;
	take(l, "k", "eff_1");
	assert_int_equal(settle(l, "eff_1", CLAIM_UNKNOWN, NULL), CLAIM_UNKNOWN);
	assert_int_equal(ledger_unknown(l), 1);
	assert_int_equal(take(l, "k", "eff_2"), CLAIM_UNKNOWN);
	assert_int_equal(settle(l, "eff_1", CLAIM_DONE, "{}"), CLAIM_UNKNOWN); /* by nobody */
	assert_int_equal(take_with(l, "k", "eff_3", "other", true, 60000), CLAIM_UNKNOWN);
	assert_int_equal(take_with(l, "k", "eff_4", DIGEST, true, 60000), CLAIM_NONE);
	assert_int_equal(ledger_unknown(l), 0);
	take(l, "j", "eff_5");
	settle(l, "eff_5", CLAIM_UNKNOWN, NULL);
	assert_int_equal(settle_by(l, "eff_5", CLAIM_FAILED, NULL, "person"), CLAIM_FAILED);
	assert_int_equal(look(l, "j"), CLAIM_NONE);
	verifies(l, true);
	ledger_free(l);
}

/* A process that dies with an effect under way, when it is told to. Made before there is a ledger:
 * what its thread has locked would stay locked in the child. */
struct dying {
	pid_t pid;
	int go;
};

static struct dying
dying_new(const char *key)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		struct err e;
		struct ledger *l;
		char go;
		close(ends[1]);
		if (read(ends[0], &go, 1) != 1)
			_exit(1);
		loop_new(&loop, &e);
		ledger_open(&(struct ledger_spec){.loop = loop, .path = path}, &l, &e);
		take(l, key, "eff_dead");
		_exit(0); /* nothing is closed */
	}
	close(ends[0]);
	return (struct dying){child, ends[1]};
}

static void
dying_go(const struct dying *d)
{
	int status;

	assert_int_equal(write(d->go, "!", 1), 1);
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	assert_int_equal(status, 0);
	close(d->go);
}

static void
the_dead_are_looked_into_at_the_opening(void **state)
{
	struct dying d = dying_new("k");

	(void)state;
	dying_go(&d);
	verdict = CLAIM_UNKNOWN;
	struct ledger *l = open_ledger();
	assert_int_equal(ledger_unknown(l), 1);
	assert_int_equal(look(l, "k"), CLAIM_UNKNOWN);
	assert_int_equal(found_orphans.count, 1);
	assert_int_equal(found_orphans.state, CLAIM_UNKNOWN);
	verifies(l, true);
	ledger_free(l);
}

static void
the_dead_are_looked_into_when_they_are_met(void **state)
{
	struct dying d = dying_new("k");
	struct ledger *l = open_ledger();

	(void)state;
	dying_go(&d);
	verdict = CLAIM_DONE;
	assert_int_equal(look(l, "k"), CLAIM_DONE); /* a look alone has to write */
	assert_string_equal(came.result, "");
	verifies(l, true);
	ledger_free(l);
}

static void
the_living_are_left_alone(void **state)
{
	struct ledger *a = open_ledger(), *b = open_ledger();

	(void)state;
	take(a, "k", "eff_1");
	assert_int_equal(take(b, "k", "eff_2"), CLAIM_STARTED);
	ledger_sweep(b);
	assert_int_equal(look(b, "k"), CLAIM_STARTED);
	settle(a, "eff_1", CLAIM_DONE, "{}");
	assert_int_equal(look(b, "k"), CLAIM_DONE);
	verifies(b, true);
	ledger_free(a);
	ledger_free(b);
}

static void
forgetting_keeps_the_chain(void **state)
{
	struct ledger *l = open_ledger();
	struct buf out = BUF_INIT(1 * MIB);
	struct err e;
	int64_t last;

	(void)state;
	take_with(l, "old", "eff_1", DIGEST, false, 0);
	settle(l, "eff_1", CLAIM_DONE, "{}");
	take(l, "open", "eff_2");
	settle(l, "eff_2", CLAIM_UNKNOWN, NULL);
	take(l, "kept", "eff_3"); /* its key still counts */
	settle(l, "eff_3", CLAIM_DONE, "{}");
	ledger_prune(l, INT64_MAX);
	assert_int_equal(look(l, "open"), CLAIM_UNKNOWN);
	assert_int_equal(look(l, "kept"), CLAIM_DONE);
	assert_int_equal(ledger_show(l, S("eff_1"), &out, &e), E_NO_EFFECT);
	verifies(l, true);
	take(l, "new", "eff_4");
	verifies(l, true);
	assert_int_equal(ledger_export(l, 0, 100, &out, &last, &e), 0);
	assert_true(last > 6);
	assert_null(memmem(out.ptr, out.len, "eff_1", 5));
	buf_done(&out);
	ledger_free(l);
}

static void
compensation_begins_once(void **state)
{
	struct ledger *l = open_ledger();
	struct compensation c = {.effect = S("eff_1"), .by = S("eff_2")};

	(void)state;
	take(l, NULL, "eff_1");
	settle(l, "eff_1", CLAIM_DONE, "{}");
	static const struct {
		enum compensation_step step;
		enum claim_state answer;
	} steps[] = {{COMPENSATION_BEGIN, CLAIM_NONE},  {COMPENSATION_BEGIN, CLAIM_DONE},
		     {COMPENSATION_FAILED, CLAIM_NONE}, {COMPENSATION_BEGIN, CLAIM_NONE},
		     {COMPENSATION_DONE, CLAIM_NONE},   {COMPENSATION_BEGIN, CLAIM_DONE}};
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		c.step = steps[i].step;
		assert_int_equal(ledger_compensate(l, &c, answer, NULL), 0);
		loop_run(loop);
		assert_int_equal(came.state, steps[i].answer);
	}
	verifies(l, true);
	ledger_free(l);
}

/* As long as there is something to take back, nobody does it again. */
static void
test_7_what_takes_back_stands_for_ever(void **state)
{
	struct ledger *l = open_ledger();
	struct claims *c = ledger_claims(l);
	struct buf out = BUF_INIT(1 * MIB);
	struct err e;

	(void)state;
	take(l, "booking", "eff_1");
	settle(l, "eff_1", CLAIM_DONE, "{}");
	struct effect_record back = record;
	back.compensates = S("eff_1");
	struct claim_ask ask = {.key = S("compensate"),
				.digest = S(DIGEST),
				.effect = S("eff_2"),
				.record = &back};
	assert_int_equal(c->ops->take(c, &ask, answer, NULL), 0);
	loop_run(loop);
	assert_int_equal(came.state, CLAIM_NONE);
	settle(l, "eff_2", CLAIM_DONE, "{\"r\":1}"); /* its time is over at once */
	assert_int_equal(look(l, "compensate"), CLAIM_DONE);
	ask.effect = S("eff_3");
	assert_int_equal(c->ops->take(c, &ask, answer, NULL), 0);
	loop_run(loop);
	assert_int_equal(came.state, CLAIM_DONE);
	assert_string_equal(came.result, "{\"r\":1}");
	assert_string_equal(came.effect, "eff_2");
	ledger_prune(l, INT64_MAX); /* the key of the booking still counts */
	assert_int_equal(look(l, "compensate"), CLAIM_DONE);
	verifies(l, true);

	/* Without it there is nothing left to take back. */
	take_with(l, NULL, "eff_4", DIGEST, false, 0);
	settle(l, "eff_4", CLAIM_DONE, "{}");
	back.compensates = S("eff_4");
	ask.key = S("other");
	ask.effect = S("eff_5");
	assert_int_equal(c->ops->take(c, &ask, answer, NULL), 0);
	loop_run(loop);
	settle(l, "eff_5", CLAIM_DONE, "{}");
	for (int i = 0; i < 2; i++) {
		ledger_prune(l, INT64_MAX);
		assert_int_equal(look(l, "other"), i ? CLAIM_NONE : CLAIM_DONE);
		assert_int_equal(ledger_show(l, S("eff_4"), &out, &e), E_NO_EFFECT);
	}
	verifies(l, true);
	buf_done(&out);
	ledger_free(l);
}

static size_t
recalled(struct ledger *l, const char *effect, struct buf *given)
{
	struct buf out = BUF_INIT(1 * MIB);
	struct err e;

	buf_reset(given);
	assert_int_equal(ledger_recall(l, str_of(effect), &out, given, &e), 0);
	assert_non_null(memmem(out.ptr, out.len, "\"args\":{\"a\":1}", 14));
	buf_done(&out);
	return given->len;
}

/* What a tool gave: for taking it back, until that is done; nobody is shown it. */
static void
test_7_what_was_given_is_kept_until_it_is_taken_back(void **state)
{
	struct ledger *l = open_ledger();
	struct claims *c = ledger_claims(l);
	struct buf out = BUF_INIT(1 * MIB), given = BUF_INIT(1 * MIB);
	sqlite3 *db;
	struct err e;

	(void)state;
	for (int i = 0; i < 4; i++) {
		char id[] = "eff_0";
		id[4] += (char)i;
		take(l, i == 3 ? "kept" : NULL, id);
		struct claim_end end = {.effect = str_of(id),
					.state = CLAIM_DONE,
					.result = S("{}"),
					.given = i ? S("{\"token\":7}") : (struct str){NULL, 0}};
		assert_int_equal(c->ops->settle(c, &end, answer, NULL), 0);
		loop_run(loop);
	}
	assert_int_equal(recalled(l, "eff_0", &given), 0);
	assert_int_equal(recalled(l, "eff_1", &given), 11);
	assert_string_equal(buf_z(&given), "{\"token\":7}");
	assert_int_equal(ledger_show(l, S("eff_1"), &out, &e), 0);
	assert_null(memmem(out.ptr, out.len, "token", 5));
	verifies(l, true);

	struct compensation back = {.effect = S("eff_1")};
	for (back.step = COMPENSATION_BEGIN; back.step <= COMPENSATION_DONE; back.step++) {
		assert_int_equal(ledger_compensate(l, &back, answer, NULL), 0);
		loop_run(loop);
	}
	assert_int_equal(recalled(l, "eff_1", &given), 0);
	assert_int_equal(recalled(l, "eff_2", &given), 11);
	verifies(l, true);

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE given SET given = '{\"token\":8}'", NULL, NULL,
				      NULL),
			 SQLITE_OK);
	verifies(l, false);
	assert_int_equal(sqlite3_exec(db, "UPDATE given SET given = '{\"token\":7}'", NULL, NULL,
				      NULL),
			 SQLITE_OK);
	verifies(l, true);
	sqlite3_close(db);
	ledger_prune(l, INT64_MAX);
	look(l, "k");
	assert_int_equal(ledger_recall(l, S("eff_2"), &out, &given, &e), E_NO_EFFECT);
	assert_int_equal(recalled(l, "eff_3", &given), 11); /* its key still counts */
	verifies(l, true);
	buf_done(&out);
	buf_done(&given);
	ledger_free(l);
}

static void
parts_come_back_as_they_were(void **state)
{
	struct emission in = {S("{\"n\":1.0e0}"), S("\"x\":[]"), S(""), S("{}")}, out;
	struct buf text = BUF_INIT(4096);

	(void)state;
	emission_write(&text, &in);
	assert_true(emission_read(buf_str(&text), &out));
	assert_true(str_eq(in.content, out.content) && str_eq(in.extra, out.extra) &&
		    str_eq(in.modified, out.modified) && str_eq(in.artifacts, out.artifacts));
	for (size_t i = 0; i < text.len; i++)
		assert_false(emission_read(str_upto(buf_str(&text), i), &out));
	assert_false(emission_read(S("{}"), &out));
	assert_null(out.error.ptr);
	buf_done(&text);
}

static void
test_7_an_error_comes_back_as_it_was(void **state)
{
	struct emission in = {S("{}"), S(""), S(""), S(""), S("{\"text\":\"}}\"}")}, out;
	struct buf text = BUF_INIT(4096);

	(void)state;
	emission_write(&text, &in);
	assert_true(emission_read(buf_str(&text), &out));
	assert_true(str_eq(in.content, out.content) && str_eq(in.error, out.error));
	buf_reset(&text);
	in.error = S("{}");
	emission_write(&text, &in);
	assert_true(emission_read(buf_str(&text), &out) && str_is(out.error, "{}"));
	for (size_t i = 0; i < text.len; i++)
		assert_false(emission_read(str_upto(buf_str(&text), i), &out));
	buf_done(&text);
}

static void
test_7_what_is_at_work_is_not_settled_by_others(void **state)
{
	struct dying d = dying_new("j");
	struct ledger *a = open_ledger(), *b = open_ledger();

	(void)state;
	take(a, "k", "eff_1");
	assert_int_equal(settle_by(a, "eff_1", CLAIM_FAILED, NULL, "person"), CLAIM_STARTED);
	assert_int_equal(settle_by(b, "eff_1", CLAIM_FAILED, NULL, "person"), CLAIM_STARTED);
	assert_int_equal(settle(b, "eff_1", CLAIM_FAILED, NULL), CLAIM_STARTED);
	assert_int_equal(take(b, "k", "eff_2"), CLAIM_STARTED);
	assert_int_equal(settle(a, "eff_1", CLAIM_DONE, "{}"), CLAIM_DONE);
	/* Of one that is dead a person may tell at once. */
	dying_go(&d);
	verdict = CLAIM_UNKNOWN;
	assert_int_equal(settle_by(b, "eff_dead", CLAIM_DONE, NULL, "person"), CLAIM_DONE);
	assert_int_equal(look(a, "j"), CLAIM_DONE);
	verifies(a, true);
	ledger_free(a);
	ledger_free(b);
}

/* ---- a full disk ---- */

static void
files_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* No file may grow beyond what the log of the ledger has now. */
static void
disk_fill(void)
{
	char wal[128];
	struct stat st;

	snprintf(wal, sizeof(wal), "%s-wal", path);
	assert_int_equal(stat(wal, &st), 0);
	files_limit((rlim_t)st.st_size);
}

static int
try_take(struct ledger *l, const char *key, const char *effect)
{
	struct claims *c = ledger_claims(l);
	struct claim_ask ask = {.key = str_of(key),
				.digest = S(DIGEST),
				.effect = str_of(effect),
				.keep_ms = 60000,
				.record = &record};

	assert_int_equal(c->ops->take(c, &ask, answer, NULL), 0);
	loop_run(loop);
	return came.code;
}

static int
try_settle(struct ledger *l, const char *effect)
{
	struct claims *c = ledger_claims(l);
	struct claim_end end = {.effect = str_of(effect),
				.state = CLAIM_DONE,
				.result = S("{\"n\":1}")};

	assert_int_equal(c->ops->settle(c, &end, answer, NULL), 0);
	loop_run(loop);
	return came.code;
}

static void
test_7_a_full_disk_begins_nothing_and_forgets_nothing(void **state)
{
	struct ledger *l = open_ledger();

	(void)state;
	assert_int_equal(take(l, "k", "eff_1"), CLAIM_NONE);
	disk_fill();
	assert_int_equal(try_settle(l, "eff_1"), E_STORE); /* the effect has happened */
	assert_int_equal(ledger_health(l, NULL), E_STORE);
	assert_int_equal(try_take(l, "j", "eff_2"), E_STORE);
	assert_int_equal(try_take(l, "k", "eff_2"), E_STORE);
	files_limit(RLIM_INFINITY);
	assert_int_equal(take(l, "j", "eff_3"), CLAIM_NONE);
	assert_int_equal(ledger_health(l, NULL), 0);
	assert_int_equal(look(l, "k"), CLAIM_DONE); /* what had to be written was not given up */
	assert_string_equal(came.result, "{\"n\":1}");
	verifies(l, true);
	ledger_free(l);
}

static void
test_7_a_full_disk_to_the_end_leaves_it_unknown(void **state)
{
	(void)state;
	pid_t child = fork();
	if (child == 0) {
		struct err e;
		loop_new(&loop, &e);
		struct ledger *l = open_ledger();
		take(l, "k", "eff_1");
		disk_fill();
		int code = try_settle(l, "eff_1");
		ledger_free(l); /* it cannot be written now either, and is not waited for */
		_exit(code == E_STORE ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	verdict = CLAIM_UNKNOWN;
	struct ledger *l = open_ledger();
	assert_int_equal(take(l, "k", "eff_2"), CLAIM_UNKNOWN);
	assert_string_equal(came.effect, "eff_1");
	verifies(l, true);
	ledger_free(l);
}

/* ---- many ---- */

#define MANY 100000
#define MANY_DEAD 500 /* of them, under way when the process died */

static void
many_write(struct ledger *l)
{
	struct claims *c = ledger_claims(l);
	char key[24], effect[24];

	for (int i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "k%06d", i);
		snprintf(effect, sizeof(effect), "eff_%06d", i);
		struct claim_ask ask = {.key = str_of(key),
					.digest = S(DIGEST),
					.effect = str_of(effect),
					.keep_ms = 600000,
					.record = &record};
		struct claim_end end = {.effect = ask.effect,
					.state = i % 3 ? CLAIM_DONE : CLAIM_FAILED,
					.result = i % 3 ? ask.effect : (struct str){NULL, 0}};
		assert_int_equal(c->ops->take(c, &ask, NULL, NULL), 0);
		if (i >= MANY_DEAD)
			assert_int_equal(c->ops->settle(c, &end, NULL, NULL), 0);
		if (i % 5000 == 4999)
			look(l, key); /* all before it are through */
	}
}

static void
test_7_a_hundred_thousand_are_known_after_a_restart(void **state)
{
	(void)state;
	pid_t child = fork();
	if (child == 0) {
		struct err e;
		loop_new(&loop, &e);
		many_write(open_ledger());
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	verdict = CLAIM_UNKNOWN;
	struct ledger *l = open_ledger();
	assert_int_equal(ledger_unknown(l), MANY_DEAD);
	assert_int_equal(take(l, "k000499", "eff_x"), CLAIM_UNKNOWN);
	assert_int_equal(found_orphans.count, MANY_DEAD);
	assert_int_equal(take(l, "k000500", "eff_x"), CLAIM_DONE);
	assert_string_equal(came.result, "eff_000500");
	assert_int_equal(take(l, "k099998", "eff_x"), CLAIM_DONE);
	assert_string_equal(came.result, "eff_099998");
	assert_int_equal(take(l, "k099999", "eff_x"), CLAIM_NONE); /* it had failed */
	verifies(l, true);
	ledger_free(l);
}

static int
setup(void **state)
{
	struct err e;

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/holdfast-ledger-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/effects.db", dir);
	memset(&found_orphans, 0, sizeof(found_orphans));
	return loop_new(&loop, &e);
}

static int
teardown(void **state)
{
	static const char *const files[] = {"effects.db", "effects.db-wal", "effects.db-shm",
					    "effects.lock"};
	char name[128];

	(void)state;
	loop_free(loop);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, files[i]);
		unlink(name);
	}
	return rmdir(dir);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_key_is_taken_once),
	    TEST(what_failed_or_is_old_is_taken_again),
	    TEST(the_unknown_waits_for_a_word),
	    TEST(the_dead_are_looked_into_at_the_opening),
	    TEST(the_dead_are_looked_into_when_they_are_met),
	    TEST(the_living_are_left_alone),
	    TEST(forgetting_keeps_the_chain),
	    TEST(compensation_begins_once),
	    TEST(test_7_what_takes_back_stands_for_ever),
	    TEST(test_7_what_was_given_is_kept_until_it_is_taken_back),
	    TEST(parts_come_back_as_they_were),
	    TEST(test_7_an_error_comes_back_as_it_was),
	    TEST(test_7_what_is_at_work_is_not_settled_by_others),
	    TEST(test_7_a_full_disk_begins_nothing_and_forgets_nothing),
	    TEST(test_7_a_full_disk_to_the_end_leaves_it_unknown),
	    TEST(test_7_a_hundred_thousand_are_known_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
