/* test_workspace.c - each operation does what it says, and says what went wrong. */

#include "sandbox.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

static void
text_is_read_as_it_is(void **state)
{
	struct sandbox *s = *state;

	put(s, "ws/a.txt", "grüße\n");
	assert_int_equal(workspace_read(s->ws, S("a.txt"), &s->out, &s->err), 0);
	assert_true(str_is(buf_str(&s->out), "grüße\n"));
}

static void
what_cannot_be_read_is_explained(void **state)
{
	struct sandbox *s = *state;
	struct workspace *ws = s->ws;

	mkdir(sandbox_path(s, "ws/src"), 0755);
	put(s, "ws/bin", "\xff\xfe");
	put(s, "ws/a.txt", "a");
	refused(s, workspace_read(ws, S("b.txt"), &s->out, &s->err), E_EXECUTION,
		"no such file: b.txt");
	refused(s, workspace_read(ws, S("src"), &s->out, &s->err), E_EXECUTION,
		"is a directory: src");
	refused(s, workspace_read(ws, S("."), &s->out, &s->err), E_EXECUTION, "is a directory: .");
	refused(s, workspace_read(ws, S("a.txt/x"), &s->out, &s->err), E_EXECUTION,
		"not a directory: a.txt/x");
	refused(s, workspace_read(ws, S("bin"), &s->out, &s->err), E_EXECUTION,
		"not a text file (invalid UTF-8): bin");
	buf_reset(&s->out);
	assert_int_equal(workspace_read_bytes(ws, S("bin"), &s->out, &s->err), 0);
	assert_int_equal(s->out.len, 2);
}

static void
paths_that_are_none_are_refused(void **state)
{
	struct sandbox *s = *state;
	char *longest = malloc(LIMIT_PATH + 1);
	struct str nul = {"a\0b", 3};

	memset(longest, 'x', LIMIT_PATH + 1);
	refused(s, workspace_read(s->ws, S(""), &s->out, &s->err), E_VALIDATION,
		"the path is empty");
	refused(s, workspace_read(s->ws, nul, &s->out, &s->err), E_VALIDATION,
		"the path has a NUL character in it");
	refused(s, workspace_check(s->ws, nul, &s->err), E_VALIDATION, NULL);
	refused(s, workspace_write(s->ws, (struct str){longest, LIMIT_PATH}, S("x"), NULL, &s->err),
		E_VALIDATION, "the path is too long: 4096 bytes; the limit is 4095");
	/* Short enough as a path, too long as a name. */
	refused(s, workspace_write(s->ws, (struct str){longest, 300}, S("x"), NULL, &s->err),
		E_VALIDATION, NULL);
	refused(s, workspace_read(s->ws, (struct str){longest, 300}, &s->out, &s->err),
		E_VALIDATION, NULL);
	assert_int_equal(entries(s), 0);
	free(longest);
}

static void
special_files_neither_block_nor_open(void **state)
{
	struct sandbox *s = *state;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(mkfifo(sandbox_path(s, "ws/fifo"), 0666), 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", sandbox_path(s, "ws/sock"));
	assert_int_equal(bind(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	const char *const names[] = {"fifo", "sock"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char text[64];
		struct str name = str_of(names[i]);
		snprintf(text, sizeof(text), "not a regular file: %s", names[i]);
		refused(s, workspace_read(s->ws, name, &s->out, &s->err), E_EXECUTION, text);
		refused(s, workspace_write(s->ws, name, S("x"), NULL, &s->err), E_EXECUTION, text);
		refused(s, workspace_append(s->ws, name, S("x"), NULL, &s->err), E_EXECUTION, text);
		refused(s, workspace_patch(s->ws, name, S("x"), S("y"), NULL, &s->err), E_EXECUTION,
			text);
	}
	close(sock);
}

static void
large_files_are_refused_with_their_size(void **state)
{
	struct sandbox *s = *state;
	int fd = open(sandbox_path(s, "ws/big"), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);

	assert_int_equal(ftruncate(fd, 20 * 1024 * 1024), 0);
	refused(s, workspace_read(s->ws, S("big"), &s->out, &s->err), E_TOO_LARGE,
		"too large: big (20 MB; the limit is 16 MB)");
	assert_int_equal(ftruncate(fd, (off_t)LIMIT_FILE_READ), 0);
	assert_int_equal(workspace_read(s->ws, S("big"), &s->out, &s->err), 0);
	assert_int_equal(s->out.len, LIMIT_FILE_READ);
	/* And one byte more than may be written. */
	refused(s, workspace_append(s->ws, S("big"), S("x"), NULL, &s->err), E_TOO_LARGE, NULL);
	close(fd);
}

static void
a_file_that_fills_the_buffer_exactly_fits(void **state)
{
	struct sandbox *s = *state;
	struct buf four = BUF_INIT(4), three = BUF_INIT(3);

	put(s, "ws/a", "1234");
	assert_int_equal(workspace_read(s->ws, S("a"), &four, &s->err), 0);
	refused(s, workspace_read(s->ws, S("a"), &three, &s->err), E_TOO_LARGE, NULL);
	buf_done(&four);
	buf_done(&three);
}

static void
writing_makes_parents_and_reads_back(void **state)
{
	struct sandbox *s = *state;

	assert_int_equal(workspace_write(s->ws, S("a/b/c/d.txt"), S("x\n"), NULL, &s->err), 0);
	assert_string_equal(got(s, "ws/a/b/c/d.txt"), "x\n");
	assert_int_equal(workspace_write(s->ws, S("a//b/./c/e.txt"), S("y"), NULL, &s->err), 0);
	assert_string_equal(got(s, "ws/a/b/c/e.txt"), "y");
	refused(s, workspace_write(s->ws, S("a/b/c/d.txt/x"), S("y"), NULL, &s->err), E_EXECUTION,
		"not a directory: a/b/c/d.txt/x");
	refused(s, workspace_write(s->ws, S("a/b"), S("y"), NULL, &s->err), E_EXECUTION,
		"is a directory: a/b");
	refused(s, workspace_write(s->ws, S("new/"), S("y"), NULL, &s->err), E_EXECUTION,
		"is a directory: new/");
	refused(s, workspace_write(s->ws, S("t"), S("\xff"), NULL, &s->err), E_VALIDATION, NULL);
	assert_int_equal(workspace_write_bytes(s->ws, S("t"), S("\xff"), NULL, &s->err), 0);
}

static void
nothing_is_made_for_a_path_that_turns_back(void **state)
{
	struct sandbox *s = *state;

	refused(s, workspace_write(s->ws, S("new/../../secret"), S("x"), NULL, &s->err),
		E_PERMISSION, "Path 'new/../../secret' escapes workspace boundary");
	refused(s, workspace_write(s->ws, S("new/../deep/x"), S("x"), NULL, &s->err), E_EXECUTION,
		"no such file: new/../deep/x");
	assert_int_equal(entries(s), 0);
}

static mode_t
mode_of(struct sandbox *s, const char *rel)
{
	struct stat st;

	assert_int_equal(stat(sandbox_path(s, rel), &st), 0);
	return st.st_mode & 07777;
}

static void
modes_are_kept_and_new_files_follow_the_umask(void **state)
{
	struct sandbox *s = *state;
	mode_t old = umask(027);

	put(s, "ws/run.sh", "1");
	chmod(sandbox_path(s, "ws/run.sh"), 0751);
	put(s, "ws/suid", "1");
	chmod(sandbox_path(s, "ws/suid"), 04755);
	assert_int_equal(workspace_write(s->ws, S("run.sh"), S("2"), NULL, &s->err), 0);
	assert_int_equal(workspace_write(s->ws, S("suid"), S("2"), NULL, &s->err), 0);
	assert_int_equal(workspace_write(s->ws, S("new"), S("2"), NULL, &s->err), 0);
	umask(old);
	assert_int_equal(mode_of(s, "ws/run.sh"), 0751);
	assert_int_equal(mode_of(s, "ws/suid"), 0755);
	assert_int_equal(mode_of(s, "ws/new"), 0640);
}

static void
a_read_only_file_stays_as_it_is(void **state)
{
	struct sandbox *s = *state;
	uid_t me = geteuid();

	put(s, "ws/ro", "1");
	chmod(sandbox_path(s, "ws/ro"), 0444);
	if (me == 0) { /* root may do anything: be nobody for a while */
		assert_int_equal(chown(sandbox_path(s, "ws"), 65534, 65534), 0);
		assert_int_equal(chown(sandbox_path(s, "ws/ro"), 65534, 65534), 0);
		chmod(s->base, 0755);
		assert_int_equal(seteuid(65534), 0);
	}
	int rc = workspace_write(s->ws, S("ro"), S("2"), NULL, &s->err);
	if (me == 0)
		assert_int_equal(seteuid(0), 0);
	refused(s, rc, E_PERMISSION, "the file is read-only: ro");
	assert_string_equal(got(s, "ws/ro"), "1");
	assert_int_equal(entries(s), 1); /* no temporary file either */
}

static void
a_hard_link_is_broken_and_the_outside_name_keeps_its_content(void **state)
{
	struct sandbox *s = *state;
	const char *const names[] = {"w", "a", "p"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char inside[32];
		snprintf(inside, sizeof(inside), "ws/%s", names[i]);
		assert_int_equal(link(sandbox_path(s, "secret"), sandbox_path(s, inside)), 0);
	}
	assert_int_equal(workspace_write(s->ws, S("w"), S("new"), NULL, &s->err), 0);
	assert_int_equal(workspace_append(s->ws, S("a"), S("!"), NULL, &s->err), 0);
	assert_int_equal(workspace_patch(s->ws, S("p"), S("canary"), S("bird"), NULL, &s->err), 0);
	assert_string_equal(got(s, "secret"), CANARY);
	assert_string_equal(got(s, "ws/w"), "new");
	assert_string_equal(got(s, "ws/a"), CANARY "!");
}

static void
a_failed_write_leaves_no_temporary_file(void **state)
{
	struct sandbox *s = *state;
	char *much = calloc(1, LIMIT_FILE_WRITE + 1);

	put(s, "ws/a", "old");
	refused(s,
		workspace_write_bytes(s->ws, S("a"), (struct str){much, LIMIT_FILE_WRITE + 1}, NULL,
				      &s->err),
		E_TOO_LARGE, NULL);
	assert_string_equal(got(s, "ws/a"), "old");
	assert_int_equal(entries(s), 1);
	free(much);
}

struct reader {
	struct workspace *ws;
	atomic_bool *stop;
	int halves;
};

static void *
read_on(void *arg)
{
	struct reader *r = arg;
	struct buf b = BUF_INIT(LIMIT_FILE_READ);
	struct err e;

	while (!atomic_load(r->stop)) {
		buf_reset(&b);
		if (workspace_read(r->ws, S("f"), &b, &e) < 0 || b.len != 100000 ||
		    b.ptr[0] != b.ptr[b.len - 1])
			r->halves++;
	}
	buf_done(&b);
	return NULL;
}

static void
readers_see_the_old_file_or_the_new_one(void **state)
{
	struct sandbox *s = *state;
	atomic_bool stop = false;
	struct reader r = {s->ws, &stop, 0};
	char *text = malloc(100000);
	pthread_t thread;

	memset(text, 'a', 100000);
	assert_int_equal(workspace_write(s->ws, S("f"), (struct str){text, 100000}, NULL, &s->err),
			 0);
	assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);
	for (int i = 0; i < 200; i++) {
		memset(text, 'a' + i % 26, 100000);
		assert_int_equal(workspace_write(s->ws, S("f"), (struct str){text, 100000}, NULL,
						 &s->err),
				 0);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(r.halves, 0);
	free(text);
}

static void *
append_on(void *arg)
{
	struct sandbox *s = arg;
	struct err e;

	for (int i = 0; i < 50; i++)
		assert_int_equal(workspace_append(s->ws, S("log"), S("x\n"), NULL, &e), 0);
	return NULL;
}

static void
two_who_change_one_file_lose_nothing(void **state)
{
	struct sandbox *s = *state;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, append_on, s), 0);
	append_on(s);
	pthread_join(thread, NULL);
	assert_int_equal(strlen(got(s, "ws/log")), 200);
}

static void
appending_adds_and_creates(void **state)
{
	struct sandbox *s = *state;

	assert_int_equal(workspace_append(s->ws, S("d/log"), S("a\n"), NULL, &s->err), 0);
	assert_int_equal(workspace_append(s->ws, S("d/log"), S("b\n"), NULL, &s->err), 0);
	assert_string_equal(got(s, "ws/d/log"), "a\nb\n");
}

static void
exists_tells_files_and_directories_from_nothing(void **state)
{
	struct sandbox *s = *state;

	put(s, "ws/a", "");
	assert_true(workspace_exists(s->ws, S("a")));
	assert_true(workspace_exists(s->ws, S(".")));
	assert_false(workspace_exists(s->ws, S("b")));
	assert_false(workspace_exists(s->ws, S("../secret")));
	assert_false(workspace_exists(s->ws, S("")));
}

static void
peeking_at_a_missing_file_is_no_error(void **state)
{
	struct sandbox *s = *state;
	bool there = true;

	assert_int_equal(workspace_peek(s->ws, S("no/where"), &s->out, &there, &s->err), 0);
	assert_false(there);
	put(s, "ws/a", "1");
	assert_int_equal(workspace_peek(s->ws, S("a"), &s->out, &there, &s->err), 0);
	assert_true(there && s->out.len == 1);
	refused(s, workspace_peek(s->ws, S("no/../../secret"), &s->out, &there, &s->err),
		E_PERMISSION, NULL);
	refused(s, workspace_peek(s->ws, S("."), &s->out, &there, &s->err), E_EXECUTION,
		"is a directory: .");
}

static void
a_listing_is_sorted_and_marks_directories(void **state)
{
	struct sandbox *s = *state;
	size_t n = 99;

	assert_int_equal(workspace_list(s->ws, S("."), &s->out, &n, &s->err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(s->out.len, 0);
	put(s, "ws/b", "");
	put(s, "ws/B", "");
	put(s, "ws/.hidden", "");
	mkdir(sandbox_path(s, "ws/a"), 0755);
	link_to(s, "a", "ws/to_a");
	assert_int_equal(workspace_list(s->ws, S("."), &s->out, &n, &s->err), 0);
	assert_int_equal(n, 5);
	assert_string_equal(buf_z(&s->out), ".hidden\nB\na/\nb\nto_a");
	refused(s, workspace_list(s->ws, S("b"), &s->out, &n, &s->err), E_EXECUTION,
		"not a directory: b");
	refused(s, workspace_list(s->ws, S("no"), &s->out, &n, &s->err), E_EXECUTION,
		"no such file: no");
}

static void
odd_names_are_shown_escaped(void **state)
{
	struct sandbox *s = *state;
	size_t n;

	put(s, "ws/a\nb\033", "");
	put(s, "ws/bad\xff\xc3\xa9", "");
	put(s, "ws/gut\xc3\xa9", "");
	assert_int_equal(workspace_list(s->ws, S("."), &s->out, &n, &s->err), 0);
	assert_string_equal(buf_z(&s->out), "a\\x0ab\\x1b\nbad\\xff\\xc3\\xa9\ngut\xc3\xa9");
	buf_reset(&s->out);
	assert_int_equal(workspace_read(s->ws, S("a\nb\033"), &s->out, &s->err), 0);
}

static void
long_listings_are_cut_but_counted(void **state)
{
	struct sandbox *s = *state;
	size_t n = 0, lines = 1;
	char name[32];

	for (int i = 0; i < LIMIT_DIR_ENTRIES + 7; i++) {
		snprintf(name, sizeof(name), "ws/%d", i);
		close(open(sandbox_path(s, name), O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
	}
	assert_int_equal(workspace_list(s->ws, S("."), &s->out, &n, &s->err), 0);
	assert_int_equal(n, LIMIT_DIR_ENTRIES + 7);
	for (size_t i = 0; i < s->out.len; i++)
		lines += s->out.ptr[i] == '\n';
	assert_int_equal(lines, LIMIT_DIR_ENTRIES);
}

static void
deleting_takes_files_and_links_but_no_directories(void **state)
{
	struct sandbox *s = *state;

	put(s, "ws/a", "1");
	link_to(s, "a", "ws/l");
	link_to(s, sandbox_path(s, "secret"), "ws/out");
	mkdir(sandbox_path(s, "ws/d"), 0755);
	assert_int_equal(workspace_delete(s->ws, S("l"), NULL, &s->err), 0);
	assert_int_equal(workspace_delete(s->ws, S("out"), NULL, &s->err), 0);
	assert_string_equal(got(s, "ws/a"), "1");
	assert_string_equal(got(s, "secret"), CANARY);
	assert_int_equal(workspace_delete(s->ws, S("a"), NULL, &s->err), 0);
	assert_null(got(s, "ws/a"));
	refused(s, workspace_delete(s->ws, S("a"), NULL, &s->err), E_EXECUTION, "no such file: a");
	refused(s, workspace_delete(s->ws, S("d"), NULL, &s->err), E_EXECUTION,
		"is a directory: d");
	refused(s, workspace_delete(s->ws, S("../secret"), NULL, &s->err), E_PERMISSION,
		"Path '../secret' escapes workspace boundary");
	refused(s, workspace_delete(s->ws, S(".."), NULL, &s->err), E_PERMISSION, NULL);
	assert_string_equal(got(s, "secret"), CANARY);
}

static void
a_patch_needs_exactly_one_place(void **state)
{
	struct sandbox *s = *state;

	put(s, "ws/f", "one two two\r\n");
	refused(s, workspace_patch(s->ws, S("f"), S("three"), S("x"), NULL, &s->err), E_EXECUTION,
		"patch source not found in 'f'");
	refused(s, workspace_patch(s->ws, S("f"), S("two"), S("x"), NULL, &s->err), E_EXECUTION,
		"patch source appears 2 times in 'f'; must be unique");
	refused(s, workspace_patch(s->ws, S("f"), S(""), S("x"), NULL, &s->err), E_VALIDATION,
		NULL);
	refused(s, workspace_patch(s->ws, S("g"), S("a"), S("x"), NULL, &s->err), E_EXECUTION,
		"no such file: g");
	assert_string_equal(got(s, "ws/f"), "one two two\r\n");
	assert_int_equal(workspace_patch(s->ws, S("f"), S("one "), S(""), NULL, &s->err), 0);
	assert_string_equal(got(s, "ws/f"), "two two\r\n");
	put(s, "ws/aaa", "aaa");
	refused(s, workspace_patch(s->ws, S("aaa"), S("aa"), S("b"), NULL, &s->err), E_EXECUTION,
		"patch source appears 2 times in 'aaa'; must be unique");
	put(s, "ws/empty", "");
	refused(s, workspace_patch(s->ws, S("empty"), S("aa"), S("b"), NULL, &s->err), E_EXECUTION,
		"patch source not found in 'empty'");
}

static void
a_patch_can_be_seen_without_being_made(void **state)
{
	struct sandbox *s = *state;
	struct buf after = BUF_INIT(LIMIT_FILE_PATCH);

	put(s, "ws/f", "a b c");
	assert_int_equal(workspace_patched(s->ws, S("f"), S("b"), S("B"), &s->out, &after, &s->err),
			 0);
	assert_string_equal(buf_z(&s->out), "a b c");
	assert_string_equal(buf_z(&after), "a B c");
	assert_string_equal(got(s, "ws/f"), "a b c");
	buf_done(&after);
}

static void
a_target_is_where_the_write_goes(void **state)
{
	struct sandbox *s = *state;
	const struct {
		const char *path, *want;
	} cases[] = {
	    {"a", "a"},
	    {"./sub//a", "sub/a"},
	    {"sub/../b", "b"},
	    {"link/../x", "sub/x"},             /* not "x": the link leads to sub/deep */
	    {"link/new/./x", "sub/deep/new/x"}, /* parents that will be made */
	    {"new//y/x", "new/y/x"},
	    {"file", "sub/f"}, /* a link as the last part */
	};

	mkdir(sandbox_path(s, "ws/sub"), 0755);
	mkdir(sandbox_path(s, "ws/sub/deep"), 0755);
	put(s, "ws/sub/f", "f");
	assert_int_equal(symlink("sub/deep", sandbox_path(s, "ws/link")), 0);
	assert_int_equal(symlink("link/../f", sandbox_path(s, "ws/file")), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str path = str_of(cases[i].path);
		buf_reset(&s->out);
		assert_int_equal(workspace_target(s->ws, path, &s->out, &s->err), 0);
		assert_string_equal(buf_z(&s->out), cases[i].want);
		assert_int_equal(workspace_write(s->ws, path, path, NULL, &s->err), 0);
		char name[64];
		snprintf(name, sizeof(name), "ws/%s", cases[i].want);
		assert_string_equal(got(s, name), cases[i].path);
	}
	buf_reset(&s->out);
	assert_int_equal(workspace_target(s->ws, str_of(sandbox_path(s, "ws/x/y")), &s->out,
					  &s->err),
			 0);
	assert_string_equal(buf_z(&s->out), "x/y");
}

static void
what_cannot_be_written_has_no_target(void **state)
{
	struct sandbox *s = *state;

	mkdir(sandbox_path(s, "ws/sub"), 0755);
	refused(s, workspace_target(s->ws, S("sub/../.."), &s->out, &s->err), E_PERMISSION, NULL);
	refused(s, workspace_target(s->ws, S("../x"), &s->out, &s->err), E_PERMISSION, NULL);
	refused(s, workspace_target(s->ws, S("new/../x"), &s->out, &s->err), E_EXECUTION,
		"no such file: new/../x");
	assert_int_equal(s->out.len, 0);
}

static void
a_root_must_be_a_directory(void **state)
{
	struct sandbox *s = *state;
	struct workspace *ws = NULL;

	assert_int_equal(workspace_open(sandbox_path(s, "nope"), NULL, &ws, &s->err),
			 E_NO_WORKSPACE);
	assert_int_equal(workspace_open(sandbox_path(s, "secret"), NULL, &ws, &s->err),
			 E_NO_WORKSPACE);
	assert_null(ws);
	assert_string_equal(workspace_path(s->ws), sandbox_path(s, "ws"));
	assert_true(workspace_fd(s->ws) >= 0);
}

static void
a_root_reached_by_a_link_takes_both_names(void **state)
{
	struct sandbox *s = *state;
	struct workspace *ws;

	put(s, "ws/a", "1");
	link_to(s, "ws", "alias");
	assert_int_equal(workspace_open(sandbox_path(s, "alias"), NULL, &ws, &s->err), 0);
	assert_string_equal(workspace_path(ws), sandbox_path(s, "ws"));
	assert_true(workspace_exists(ws, str_of(sandbox_path(s, "alias/a"))));
	assert_true(workspace_exists(ws, str_of(sandbox_path(s, "ws/a"))));
	workspace_unref(ws);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_SANDBOX(text_is_read_as_it_is),
	    IN_SANDBOX(what_cannot_be_read_is_explained),
	    IN_SANDBOX(paths_that_are_none_are_refused),
	    IN_SANDBOX(special_files_neither_block_nor_open),
	    IN_SANDBOX(large_files_are_refused_with_their_size),
	    IN_SANDBOX(a_file_that_fills_the_buffer_exactly_fits),
	    IN_SANDBOX(writing_makes_parents_and_reads_back),
	    IN_SANDBOX(nothing_is_made_for_a_path_that_turns_back),
	    IN_SANDBOX(modes_are_kept_and_new_files_follow_the_umask),
	    IN_SANDBOX(a_read_only_file_stays_as_it_is),
	    IN_SANDBOX(a_hard_link_is_broken_and_the_outside_name_keeps_its_content),
	    IN_SANDBOX(a_failed_write_leaves_no_temporary_file),
	    IN_SANDBOX(readers_see_the_old_file_or_the_new_one),
	    IN_SANDBOX(two_who_change_one_file_lose_nothing),
	    IN_SANDBOX(appending_adds_and_creates),
	    IN_SANDBOX(exists_tells_files_and_directories_from_nothing),
	    IN_SANDBOX(peeking_at_a_missing_file_is_no_error),
	    IN_SANDBOX(a_listing_is_sorted_and_marks_directories),
	    IN_SANDBOX(odd_names_are_shown_escaped),
	    IN_SANDBOX(long_listings_are_cut_but_counted),
	    IN_SANDBOX(deleting_takes_files_and_links_but_no_directories),
	    IN_SANDBOX(a_patch_needs_exactly_one_place),
	    IN_SANDBOX(a_patch_can_be_seen_without_being_made),
	    IN_SANDBOX(a_target_is_where_the_write_goes),
	    IN_SANDBOX(what_cannot_be_written_has_no_target),
	    IN_SANDBOX(a_root_must_be_a_directory),
	    IN_SANDBOX(a_root_reached_by_a_link_takes_both_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
