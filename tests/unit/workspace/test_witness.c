/* test_witness.c - whoever is told of changes: what, when, and that a no counts. */

#include "sandbox.h"

#include "workspace/snapshot.h"

struct heard {
	struct witness witness;
	struct sandbox *s;
	int refuse; /* a code */
	int abouts, mades, misses;
	enum change_kind kind;
	char path[256], old[256], before[64], after[64];
	bool there;
	uint32_t mode;
	const struct file_change *about;
	const char *seen; /* what the file was when it was made */
};

static int
about(struct witness *w, const struct file_change *ch, struct err *e)
{
	struct heard *h = CONTAINER_OF(w, struct heard, witness);
	ssize_t n = ch->before >= 0 ? read(ch->before, h->before, sizeof(h->before) - 1) : 0;

	h->abouts++;
	h->about = ch;
	h->kind = ch->kind;
	h->there = ch->before >= 0;
	h->mode = ch->mode;
	h->before[n > 0 ? n : 0] = '\0';
	snprintf(h->path, sizeof(h->path), "%.*s", STR_ARG(ch->path));
	snprintf(h->after, sizeof(h->after), "%.*s", STR_ARG(ch->after));
	return h->refuse ? err_set(e, h->refuse, "no") : 0;
}

static void
made(struct witness *w, const struct file_change *ch)
{
	struct heard *h = CONTAINER_OF(w, struct heard, witness);

	assert_ptr_equal(ch, h->about);
	h->mades++;
	h->seen = got(h->s, "ws/a");
}

static void
missed(struct witness *w, const struct file_change *ch)
{
	struct heard *h = CONTAINER_OF(w, struct heard, witness);

	assert_ptr_equal(ch, h->about);
	h->misses++;
}

static struct heard
heard(struct sandbox *s)
{
	return (struct heard){.witness = {about, made, missed, NULL}, .s = s};
}

static void
writes_are_told_before_and_after(void **state)
{
	struct sandbox *s = *state;
	struct heard h = heard(s);

	put(s, "ws/a", "one");
	chmod(sandbox_path(s, "ws/a"), 0640);
	assert_int_equal(workspace_write(s->ws, S("./a"), S("two"), &h.witness, &s->err), 0);
	assert_int_equal(h.kind, CHANGE_MODIFIED);
	assert_string_equal(h.path, "a");
	assert_string_equal(h.before, "one");
	assert_string_equal(h.after, "two");
	assert_int_equal(h.mode, 0640);
	assert_string_equal(h.seen, "two");
	assert_int_equal(workspace_append(s->ws, S("a"), S("!"), &h.witness, &s->err), 0);
	assert_string_equal(h.after, "two!");
	assert_int_equal(workspace_patch(s->ws, S("a"), S("two"), S("2"), &h.witness, &s->err), 0);
	assert_string_equal(h.before, "two!");
	assert_string_equal(h.after, "2!");
	assert_int_equal(workspace_write(s->ws, S("n/e/w"), S("x"), &h.witness, &s->err), 0);
	assert_int_equal(h.kind, CHANGE_CREATED);
	assert_false(h.there);
	assert_string_equal(h.path, "n/e/w");
	assert_int_equal(h.abouts, 4);
	assert_int_equal(h.mades, 4);
	assert_int_equal(h.misses, 0);
}

static void
links_are_told_where_they_lead(void **state)
{
	struct sandbox *s = *state;
	struct heard h = heard(s);

	mkdir(sandbox_path(s, "ws/real"), 0755);
	put(s, "ws/real/f", "x");
	assert_int_equal(symlink("real", sandbox_path(s, "ws/dir")), 0);
	assert_int_equal(symlink("real/f", sandbox_path(s, "ws/l")), 0);
	assert_int_equal(workspace_write(s->ws, S("dir/f"), S("1"), &h.witness, &s->err), 0);
	assert_string_equal(h.path, "real/f");
	assert_int_equal(workspace_write(s->ws, S("l"), S("2"), &h.witness, &s->err), 0);
	assert_string_equal(h.path, "real/f");
	assert_string_equal(h.before, "1");
	/* of a deleted link the link itself, which has no content */
	assert_int_equal(workspace_delete(s->ws, S("l"), &h.witness, &s->err), 0);
	assert_string_equal(h.path, "l");
	assert_false(h.there);
	assert_int_equal(h.kind, CHANGE_DELETED);
	assert_string_equal(got(s, "ws/real/f"), "2");
}

static void
a_no_counts(void **state)
{
	struct sandbox *s = *state;
	struct heard h = heard(s);

	put(s, "ws/a", "one");
	h.refuse = E_CHANGED;
	assert_int_equal(workspace_write(s->ws, S("a"), S("2"), &h.witness, &s->err), E_CHANGED);
	assert_int_equal(workspace_append(s->ws, S("a"), S("2"), &h.witness, &s->err), E_CHANGED);
	assert_int_equal(workspace_patch(s->ws, S("a"), S("one"), S("2"), &h.witness, &s->err),
			 E_CHANGED);
	assert_int_equal(workspace_delete(s->ws, S("a"), &h.witness, &s->err), E_CHANGED);
	assert_int_equal(workspace_write(s->ws, S("b"), S("2"), &h.witness, &s->err), E_CHANGED);
	assert_string_equal(got(s, "ws/a"), "one");
	assert_null(got(s, "ws/b"));
	assert_int_equal(h.abouts, 5);
	assert_int_equal(h.mades + h.misses, 0);
}

/* Nobody is told of what could never be done, and whoever was is told that it was not. */
static void
what_cannot_be_done_is_not_made(void **state)
{
	struct sandbox *s = *state;
	struct heard h = heard(s);

	put(s, "ws/a", "one");
	assert_int_equal(workspace_patch(s->ws, S("a"), S("x"), S("2"), &h.witness, &s->err),
			 E_EXECUTION);
	assert_int_equal(workspace_delete(s->ws, S("none"), &h.witness, &s->err), E_EXECUTION);
	assert_int_equal(workspace_write(s->ws, S("../secret"), S("2"), &h.witness, &s->err),
			 E_PERMISSION);
	assert_int_equal(h.abouts, 0);
	if (geteuid() == 0)
		return; /* to whom no directory is closed */
	chmod(sandbox_path(s, "ws"), 0500);
	assert_true(workspace_write(s->ws, S("b"), S("2"), &h.witness, &s->err) < 0);
	chmod(sandbox_path(s, "ws"), 0700);
	assert_int_equal(h.abouts, 1);
	assert_int_equal(h.misses, 1);
}

static void
restored_with_the_mode_it_had(void **state)
{
	struct sandbox *s = *state;
	struct stat st;

	put(s, "ws/a", "one");
	assert_int_equal(workspace_restore(s->ws, S("a"), S("\xff"), 04751, NULL, &s->err), 0);
	assert_int_equal(stat(sandbox_path(s, "ws/a"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0751);
	assert_int_equal(workspace_restore(s->ws, S("n/b"), S("x"), 0444, NULL, &s->err), 0);
	assert_int_equal(stat(sandbox_path(s, "ws/n/b"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
}

/* Snapshots. */

static void
note(const struct file_change *ch, void *arg)
{
	struct buf *out = arg;

	buf_addf(out, "%s %.*s%s%.*s\n", change_kind_name(ch->kind), STR_ARG(ch->path),
		 ch->old.ptr ? " was " : "", STR_ARG(ch->old));
	assert_null(ch->after.ptr);
	assert_int_equal(ch->before, -1);
}

static void
differences_are_found(void **state)
{
	struct sandbox *s = *state;
	struct snapshot *before, *after;

	put(s, "ws/same", "1");
	put(s, "ws/edit", "1");
	put(s, "ws/gone", "1");
	put(s, "ws/move", "12345");
	mkdir(sandbox_path(s, "ws/d"), 0755);
	assert_int_equal(snapshot_take(s->ws, NULL, &before, &s->err), 0);
	put(s, "ws/edit", "22");
	unlink(sandbox_path(s, "ws/gone"));
	rename(sandbox_path(s, "ws/move"), sandbox_path(s, "ws/d/moved"));
	put(s, "ws/d/new", "something else");
	put(s, "ws/.holdfast-0123", "ours");
	assert_int_equal(snapshot_take(s->ws, NULL, &after, &s->err), 0);
	snapshot_compare(before, after, note, &s->out);
	assert_string_equal(buf_z(&s->out), "modified edit\nrenamed d/moved was move\n"
					    "created d/new\ndeleted gone\n");
	buf_reset(&s->out);
	snapshot_compare(after, after, note, &s->out);
	assert_int_equal(s->out.len, 0);
	snapshot_free(before);
	snapshot_free(after);
}

static void
a_look_can_be_stopped_and_follows_no_link(void **state)
{
	struct sandbox *s = *state;
	atomic_bool stop = true;
	struct snapshot *before, *after;

	put(s, "ws/a", "1");
	assert_int_equal(snapshot_take(s->ws, &stop, &before, &s->err), E_CANCELLED);
	assert_int_equal(symlink("..", sandbox_path(s, "ws/up")), 0);
	assert_int_equal(snapshot_take(s->ws, NULL, &before, &s->err), 0);
	put(s, "secret2", "outside");
	assert_int_equal(snapshot_take(s->ws, NULL, &after, &s->err), 0);
	snapshot_compare(before, after, note, &s->out);
	assert_int_equal(s->out.len, 0);
	snapshot_free(before);
	snapshot_free(after);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_SANDBOX(writes_are_told_before_and_after),
	    IN_SANDBOX(links_are_told_where_they_lead),
	    IN_SANDBOX(a_no_counts),
	    IN_SANDBOX(what_cannot_be_done_is_not_made),
	    IN_SANDBOX(restored_with_the_mode_it_had),
	    IN_SANDBOX(differences_are_found),
	    IN_SANDBOX(a_look_can_be_stopped_and_follows_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
