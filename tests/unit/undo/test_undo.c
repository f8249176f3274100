/* test_undo.c - files become what they were, and are not when somebody changed them since. */

#include "../workspace/sandbox.h"

#include "base/clock.h"
#include "undo/undo.h"

/* A witness as a call has one. */
struct author {
	struct witness witness;
	struct undo *undo;
	struct undo_author by;
	struct undo_note note;
	bool dies; /* before it can say that it was made */
};

static int
about(struct witness *w, const struct file_change *ch, struct err *e)
{
	struct author *a = CONTAINER_OF(w, struct author, witness);

	(void)e;
	undo_about(a->undo, &a->by, ch, &a->note);
	return 0;
}

static void
made(struct witness *w, const struct file_change *ch)
{
	struct author *a = CONTAINER_OF(w, struct author, witness);

	(void)ch;
	if (!a->dies)
		undo_made(a->undo, &a->note);
}

struct bench {
	struct sandbox *s;
	struct undo *undo;
	char file[PATH_MAX];
	/* of the last undo */
	size_t done, failed;
	struct err err; /* of the last step that failed */
	enum change_kind kind;
	struct str call_of_undo;
};

static struct author
author(struct bench *b, const char *call, const char *turn)
{
	return (struct author){.witness = {.about = about, .made = made},
			       .undo = b->undo,
			       .by = {.call = str_of(call),
				      .turn = str_of(turn),
				      .session = S("sess_1"),
				      .tool = S("write_file"),
				      .workspace = str_of(workspace_path(b->s->ws))}};
}

static void
write_as(struct bench *b, const char *call, const char *path, const char *text)
{
	struct author a = author(b, call, "turn_1");

	assert_int_equal(workspace_write_bytes(b->s->ws, str_of(path), str_of(text), &a.witness,
					       &b->s->err),
			 0);
}

static void
count_step(const struct undo_step *step, void *arg)
{
	struct bench *b = arg;

	b->done += step->err.code == 0;
	b->failed += step->err.code < 0;
	if (step->err.code < 0)
		b->err = step->err;
	else
		b->kind = step->kind;
}

static int
undo_as(struct bench *b, struct undo_ask ask)
{
	b->done = b->failed = 0;
	b->err = ERR_NONE;
	if (!ask.by.ptr)
		ask.by = S("call_undo");
	return undo_run(b->undo, &ask, count_step, b, &b->s->err);
}

static int
undo_call(struct bench *b, const char *call)
{
	return undo_as(b, (struct undo_ask){.call = str_of(call)});
}

static void
bench_open(struct bench *b, uint64_t max_bytes)
{
	struct undo_spec spec = {b->file, max_bytes, INT64_C(3600000000)};

	assert_int_equal(undo_open(&spec, &b->undo, &b->s->err), 0);
}

static struct bench
bench(void **state)
{
	struct bench b = {.s = *state};

	snprintf(b.file, sizeof(b.file), "%s", sandbox_path(b.s, "undo.db"));
	bench_open(&b, 10 * MIB);
	return b;
}

static void
a_modified_file_gets_its_bytes_and_mode_back(void **state)
{
	struct bench b = bench(state);
	struct stat st;

	put(b.s, "ws/a", "one\n");
	chmod(sandbox_path(b.s, "ws/a"), 0640);
	write_as(&b, "call_1", "a", "two\n");
	chmod(sandbox_path(b.s, "ws/a"), 0600);
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.done, 1);
	assert_int_equal(b.kind, CHANGE_MODIFIED);
	assert_string_equal(got(b.s, "ws/a"), "one\n");
	assert_int_equal(stat(sandbox_path(b.s, "ws/a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	/* and only once */
	assert_int_equal(undo_call(&b, "call_1"), E_EXISTS);
	assert_int_equal(undo_call(&b, "call_2"), E_NO_CALL);
	undo_free(b.undo);
}

static void
a_created_file_goes_and_a_deleted_one_comes_back(void **state)
{
	struct bench b = bench(state);
	struct author a = author(&b, "call_2", "turn_1");
	struct stat st;

	write_as(&b, "call_1", "new/dir/f", "x");
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.kind, CHANGE_DELETED);
	assert_null(got(b.s, "ws/new/dir/f"));

	put(b.s, "ws/bin", "\x01\xff\xfe");
	chmod(sandbox_path(b.s, "ws/bin"), 0711);
	assert_int_equal(workspace_delete(b.s->ws, S("bin"), &a.witness, &b.s->err), 0);
	assert_null(got(b.s, "ws/bin"));
	assert_int_equal(undo_call(&b, "call_2"), 0);
	assert_int_equal(b.kind, CHANGE_CREATED);
	assert_string_equal(got(b.s, "ws/bin"), "\x01\xff\xfe");
	assert_int_equal(stat(sandbox_path(b.s, "ws/bin"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0711);
	undo_free(b.undo);
}

static void
what_was_changed_since_stays_unless_forced(void **state)
{
	struct bench b = bench(state);

	put(b.s, "ws/a", "one");
	write_as(&b, "call_1", "a", "two");
	put(b.s, "ws/a", "by hand");
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.failed, 1);
	assert_int_equal(b.err.code, E_CHANGED);
	assert_string_equal(got(b.s, "ws/a"), "by hand");
	assert_int_equal(
	    undo_as(&b, (struct undo_ask){.call = S("call_1"), .force = true, .by = S("call_f")}),
	    0);
	assert_int_equal(b.done, 1);
	assert_string_equal(got(b.s, "ws/a"), "one");
	/* also that can be taken back */
	assert_int_equal(undo_call(&b, "call_f"), 0);
	assert_string_equal(got(b.s, "ws/a"), "by hand");
	undo_free(b.undo);
}

static void
a_later_call_is_named(void **state)
{
	struct bench b = bench(state);

	write_as(&b, "call_1", "a", "one");
	write_as(&b, "call_2", "a", "two");
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.failed, 1);
	assert_non_null(strstr(b.err.text, "call_2"));
	assert_int_equal(undo_call(&b, "call_2"), 0);
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.done, 1);
	assert_null(got(b.s, "ws/a"));
	undo_free(b.undo);
}

static void
a_turn_goes_newest_first_and_a_dry_run_changes_nothing(void **state)
{
	struct bench b = bench(state);

	put(b.s, "ws/a", "zero");
	write_as(&b, "call_1", "a", "one");
	write_as(&b, "call_2", "a", "two");
	write_as(&b, "call_2", "b", "new");
	assert_int_equal(undo_as(&b, (struct undo_ask){.turn = S("turn_1"), .dry_run = true}), 0);
	assert_int_equal(b.done, 3);
	assert_string_equal(got(b.s, "ws/a"), "two");
	assert_int_equal(undo_as(&b, (struct undo_ask){.turn = S("turn_1")}), 0);
	assert_int_equal(b.done, 3);
	assert_string_equal(got(b.s, "ws/a"), "zero");
	assert_null(got(b.s, "ws/b"));
	undo_free(b.undo);
}

/* Again and again it walks back; what it did itself is not the last. */
static void
last_walks_back_and_redo_is_by_name(void **state)
{
	struct bench b = bench(state);
	struct undo_ask last = {.last = true, .by = S("call_u1")};

	write_as(&b, "call_1", "a", "one");
	write_as(&b, "call_2", "a", "two");
	assert_int_equal(undo_as(&b, last), 0);
	assert_string_equal(got(b.s, "ws/a"), "one");
	last.by = S("call_u2");
	assert_int_equal(undo_as(&b, last), 0);
	assert_null(got(b.s, "ws/a"));
	assert_int_equal(undo_as(&b, last), E_NO_CALL);
	/* redo, and the undo of that */
	assert_int_equal(undo_as(&b, (struct undo_ask){.call = S("call_u2"), .by = S("call_r")}),
			 0);
	assert_string_equal(got(b.s, "ws/a"), "one");
	last.by = S("call_u3");
	assert_int_equal(undo_as(&b, last), 0);
	assert_null(got(b.s, "ws/a"));
	undo_free(b.undo);
}

static void
last_looks_only_where_it_is_asked_to(void **state)
{
	struct bench b = bench(state);
	struct undo_ask last = {.last = true, .workspace = S("/elsewhere")};

	write_as(&b, "call_1", "a", "one");
	assert_int_equal(undo_as(&b, last), E_NO_CALL);
	last.workspace = S("/");
	last.dry_run = true;
	assert_int_equal(undo_as(&b, last), 0);
	last.workspace = str_of(workspace_path(b.s->ws));
	assert_int_equal(undo_as(&b, last), 0);
	last.workspace.len--;
	assert_int_equal(undo_as(&b, last), E_NO_CALL);
	undo_free(b.undo);
}

/* 16 KiB each, 40 KiB in all: two fit. */
static void
the_oldest_makes_room(void **state)
{
	struct bench b = bench(state);
	static char text[3][16 * KIB + 1];
	const char *calls[] = {"call_0", "call_1", "call_2"};
	const char *names[] = {"f0", "f1", "f2"};

	undo_tune(b.undo, &(struct undo_spec){NULL, 40 * KIB, INT64_C(3600000000)});
	for (size_t i = 0; i < 3; i++) {
		memset(text[i], 'a' + (int)i, sizeof(text[i]) - 1);
		char rel[16];
		snprintf(rel, sizeof(rel), "ws/%s", names[i]);
		put(b.s, rel, text[i]);
		write_as(&b, calls[i], names[i], "new");
	}
	assert_int_equal(undo_call(&b, "call_0"), 0);
	assert_int_equal(b.failed, 1);
	assert_int_equal(b.err.code, E_UNAVAILABLE);
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.done, 1);
	assert_int_equal(undo_call(&b, "call_2"), 0);
	assert_int_equal(b.done, 1);
	undo_free(b.undo);
}

static void
what_is_larger_than_all_is_not_kept_and_said(void **state)
{
	struct bench b = bench(state);
	struct author a = author(&b, "call_1", "turn_1");

	undo_tune(b.undo, &(struct undo_spec){NULL, 3, INT64_C(3600000000)});
	put(b.s, "ws/a", "long");
	assert_int_equal(workspace_write(b.s->ws, S("a"), S("x"), &a.witness, &b.s->err), 0);
	assert_false(a.note.undoable);
	assert_int_equal(a.note.why.code, E_TOO_LARGE);
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.err.code, E_UNAVAILABLE);
	undo_free(b.undo);
}

static void
it_outlives_the_process_and_is_forgotten_in_time(void **state)
{
	struct bench b = bench(state);
	struct stat st;

	put(b.s, "ws/a", "one");
	write_as(&b, "call_1", "a", "two");
	undo_free(b.undo);
	assert_int_equal(stat(b.file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	bench_open(&b, 10 * MIB);
	assert_int_equal(undo_expire(b.undo, clock_wall_us(), &b.s->err), 0);
	assert_int_equal(undo_as(&b, (struct undo_ask){.call = S("call_1"), .dry_run = true}), 0);
	assert_int_equal(b.done, 1);
	assert_int_equal(undo_expire(b.undo, clock_wall_us() + INT64_C(7200000000), &b.s->err), 0);
	assert_int_equal(undo_call(&b, "call_1"), E_NO_CALL);
	undo_free(b.undo);
}

/* A process that dies between what is kept and the rename, or right behind that. */
static void
whether_an_interrupted_change_was_made_is_told_by_the_file(void **state)
{
	struct bench b = bench(state);
	struct author a = author(&b, "call_1", "turn_1");
	struct file_change ch = {.kind = CHANGE_MODIFIED, .path = S("a"), .after = S("two")};

	put(b.s, "ws/a", "one");
	ch.before = open(sandbox_path(b.s, "ws/a"), O_RDONLY);
	undo_about(b.undo, &a.by, &ch, &a.note);
	close(ch.before);
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.failed, 1);
	assert_int_equal(b.err.code, E_EXISTS);
	assert_string_equal(got(b.s, "ws/a"), "one");
	put(b.s, "ws/a", "two"); /* it was made after all */
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.done, 1);
	assert_string_equal(got(b.s, "ws/a"), "one");
	undo_free(b.undo);
}

static void
a_path_that_leads_elsewhere_now_is_left_alone(void **state)
{
	struct bench b = bench(state);

	write_as(&b, "call_1", "a", "same");
	put(b.s, "ws/other", "same");
	unlink(sandbox_path(b.s, "ws/a"));
	assert_int_equal(symlink("other", sandbox_path(b.s, "ws/a")), 0);
	assert_int_equal(undo_call(&b, "call_1"), 0);
	assert_int_equal(b.failed, 1);
	assert_string_equal(got(b.s, "ws/other"), "same");
	write_as(&b, "call_2", "a", "through the link");
	assert_string_equal(got(b.s, "ws/other"), "through the link");
	assert_int_equal(undo_call(&b, "call_2"), 0);
	assert_int_equal(b.done, 1);
	assert_string_equal(got(b.s, "ws/other"), "same");
	unlink(sandbox_path(b.s, "ws/other"));
	assert_int_equal(symlink("../secret", sandbox_path(b.s, "ws/other")), 0);
	assert_int_equal(undo_as(&b, (struct undo_ask){.call = S("call_2"), .force = true}),
			 E_EXISTS);
	undo_free(b.undo);
}

static void
the_history_is_newest_first_and_by_pattern(void **state)
{
	struct bench b = bench(state);
	struct author a = author(&b, "call_3", "turn_1");
	struct buf out = BUF_INIT(MIB);
	bool more;

	write_as(&b, "call_1", "src/a.c", "1");
	write_as(&b, "call_2", "src/b.h", "2");
	undo_found(b.undo, &a.by,
		   &(struct file_change){.kind = CHANGE_RENAMED, .path = S("z"), .old = S("y")},
		   &a.note);
	struct undo_query q = {.limit = 10};
	assert_int_equal(undo_list(b.undo, &q, &out, &more, &b.s->err), 0);
	const char *text = buf_z(&out);
	assert_true(strstr(text, "call_3") < strstr(text, "call_2"));
	assert_true(strstr(text, "call_2") < strstr(text, "call_1"));
	assert_non_null(strstr(text, "\"old_path\":\"y\""));
	assert_false(more);
	buf_reset(&out);
	q.pattern = S("*.c");
	assert_int_equal(undo_list(b.undo, &q, &out, &more, &b.s->err), 0);
	assert_non_null(strstr(buf_z(&out), "src/a.c"));
	assert_null(strstr(buf_z(&out), "src/b.h"));
	buf_reset(&out);
	q = (struct undo_query){.limit = 1};
	assert_int_equal(undo_list(b.undo, &q, &out, &more, &b.s->err), 0);
	assert_true(more);
	buf_done(&out);
	undo_free(b.undo);
}

/* Of issue 6. */
static void
the_history_has_a_limit_and_the_oldest_goes_first(void **state)
{
	struct bench b = {.s = *state};
	struct file_change ch = {.kind = CHANGE_MODIFIED, .path = S("a"), .before = -1};

	assert_int_equal(undo_open(&(struct undo_spec){.max_bytes = MIB, .keep_us = INT64_MAX / 2},
				   &b.undo, &b.s->err),
			 0);
	for (const char *call = "call_1"; call; call = call[5] == '1' ? "call_2" : NULL) {
		struct author a = author(&b, call, "turn_1");
		for (size_t i = 0; i < (call[5] == '1' ? 1 : LIMIT_UNDO_NOTES + LIMIT_UNDO_TRIM);
		     i++)
			undo_found(b.undo, &a.by, &ch, &a.note);
		assert_int_equal(a.note.why.code, E_UNAVAILABLE);
	}
	assert_int_equal(undo_call(&b, "call_1"), E_NO_CALL);
	assert_int_equal(undo_call(&b, "call_2"), E_LIMIT);
	undo_free(b.undo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_SANDBOX(a_modified_file_gets_its_bytes_and_mode_back),
	    IN_SANDBOX(a_created_file_goes_and_a_deleted_one_comes_back),
	    IN_SANDBOX(what_was_changed_since_stays_unless_forced),
	    IN_SANDBOX(a_later_call_is_named),
	    IN_SANDBOX(a_turn_goes_newest_first_and_a_dry_run_changes_nothing),
	    IN_SANDBOX(last_walks_back_and_redo_is_by_name),
	    IN_SANDBOX(last_looks_only_where_it_is_asked_to),
	    IN_SANDBOX(the_oldest_makes_room),
	    IN_SANDBOX(what_is_larger_than_all_is_not_kept_and_said),
	    IN_SANDBOX(it_outlives_the_process_and_is_forgotten_in_time),
	    IN_SANDBOX(whether_an_interrupted_change_was_made_is_told_by_the_file),
	    IN_SANDBOX(a_path_that_leads_elsewhere_now_is_left_alone),
	    IN_SANDBOX(the_history_is_newest_first_and_by_pattern),
	    IN_SANDBOX(the_history_has_a_limit_and_the_oldest_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
