/* test_escape.c - no path, link or race leads out of the workspace, and shut directories stay shut.
 */

#include "sandbox.h"

#include <sys/prctl.h>
#include <pthread.h>

#include "testdata.h"

/* Every operation on a path that leads out; the canaries must be whole afterwards. */
static void
leads_nowhere(struct sandbox *s, struct str path)
{
	struct buf after = BUF_INIT(MIB);
	size_t n;

	buf_reset(&s->out);
	assert_int_equal(workspace_check(s->ws, path, &s->err), E_PERMISSION);
	assert_int_equal(workspace_read(s->ws, path, &s->out, &s->err), E_PERMISSION);
	assert_int_equal(workspace_read_bytes(s->ws, path, &s->out, &s->err), E_PERMISSION);
	assert_int_equal(workspace_write(s->ws, path, S("x"), NULL, &s->err), E_PERMISSION);
	assert_int_equal(workspace_write_bytes(s->ws, path, S("x"), NULL, &s->err), E_PERMISSION);
	assert_int_equal(workspace_append(s->ws, path, S("x"), NULL, &s->err), E_PERMISSION);
	assert_int_equal(workspace_list(s->ws, path, &s->out, &n, &s->err), E_PERMISSION);
	assert_int_equal(workspace_patch(s->ws, path, S("canary"), S("x"), NULL, &s->err),
			 E_PERMISSION);
	assert_int_equal(workspace_patched(s->ws, path, S("canary"), S("x"), &s->out, &after,
					   &s->err),
			 E_PERMISSION);
	assert_false(workspace_exists(s->ws, path));
	assert_int_equal(s->out.len, 0);
	assert_string_equal(got(s, "secret"), CANARY);
	assert_string_equal(got(s, "ws_evil/secret"), CANARY);
	buf_done(&after);
}

static void
dots_do_not_lead_out(void **state)
{
	struct sandbox *s = *state;
	const char *const paths[] = {
	    "..",
	    "../secret",
	    "../../etc/passwd",
	    "./../secret",
	    "d/../../secret",
	    "nope/../../secret",
	    "nope/../../../../../../etc/passwd",
	    "../ws_evil/secret",
	    "d/d2/../../../secret",
	    "d//..//..//secret",
	};

	mkdir(sandbox_path(s, "ws/d"), 0755);
	mkdir(sandbox_path(s, "ws/d/d2"), 0755);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		leads_nowhere(s, str_of(paths[i]));
	refused(s, workspace_read(s->ws, S("../../etc/passwd"), &s->out, &s->err), E_PERMISSION,
		"Path '../../etc/passwd' escapes workspace boundary");
	/* Dots that stay inside are welcome. */
	put(s, "ws/a", "1");
	assert_int_equal(workspace_read(s->ws, S("d/d2/../../a"), &s->out, &s->err), 0);
}

static void
absolute_paths_are_taken_by_components(void **state)
{
	struct sandbox *s = *state;
	char twice[PATH_MAX];

	put(s, "ws/a", "1");
	leads_nowhere(s, S("/etc/passwd"));
	leads_nowhere(s, S("/"));
	leads_nowhere(s, str_of(s->base));
	leads_nowhere(s, str_of(sandbox_path(s, "secret")));
	leads_nowhere(s, str_of(sandbox_path(s, "ws_evil/secret")));
	leads_nowhere(s, str_of(sandbox_path(s, "ws/../secret")));
	leads_nowhere(s, str_of(sandbox_path(s, "ws/../ws_evil/secret")));
	const char *const inside[] = {"ws/a", "ws//a", "ws/./a", "/ws/a"};
	for (size_t i = 0; i < ARRAY_LEN(inside); i++) {
		buf_reset(&s->out);
		struct str path = str_of(sandbox_path(s, inside[i]));
		assert_int_equal(workspace_check(s->ws, path, &s->err), 0);
		assert_int_equal(workspace_read(s->ws, path, &s->out, &s->err), 0);
	}
	/* The root is taken off once. */
	snprintf(twice, sizeof(twice), "%s%s", sandbox_path(s, "ws"), sandbox_path(s, "secret"));
	assert_false(workspace_exists(s->ws, str_of(twice)));
	assert_true(workspace_exists(s->ws, str_of(sandbox_path(s, "ws"))));
	assert_true(workspace_exists(s->ws, str_of(sandbox_path(s, "ws/"))));
}

static void
links_do_not_lead_out(void **state)
{
	struct sandbox *s = *state;

	mkdir(sandbox_path(s, "ws/d"), 0755);
	link_to(s, "../secret", "ws/file");
	link_to(s, sandbox_path(s, "secret"), "ws/absolute");
	link_to(s, "..", "ws/up");
	link_to(s, "../../secret", "ws/d/deep");
	link_to(s, "file", "ws/chain1");
	link_to(s, "chain1", "ws/chain2");
	link_to(s, "../not_there", "ws/dangling");
	link_to(s, "/not_there", "ws/dangling_absolute");
	link_to(s, "/proc/self/root", "ws/proc");
	leads_nowhere(s, S("file"));
	leads_nowhere(s, S("absolute"));
	leads_nowhere(s, S("up"));
	leads_nowhere(s, S("up/secret"));
	leads_nowhere(s, S("up/ws_evil/secret"));
	leads_nowhere(s, S("d/deep"));
	leads_nowhere(s, S("chain2"));
	leads_nowhere(s, S("dangling"));
	leads_nowhere(s, S("dangling_absolute"));
	leads_nowhere(s, S("proc"));
	leads_nowhere(s, S("proc/etc/passwd"));
	assert_null(got(s, "not_there"));
}

static void
links_inside_are_followed_and_the_target_is_replaced(void **state)
{
	struct sandbox *s = *state;
	struct stat st;

	mkdir(sandbox_path(s, "ws/d"), 0755);
	mkdir(sandbox_path(s, "ws/d/e"), 0755);
	put(s, "ws/d/real", "1");
	link_to(s, "d/real", "ws/l1");
	link_to(s, "../../l1", "ws/d/e/l2");
	link_to(s, "d/e", "ws/dir");
	assert_int_equal(workspace_check(s->ws, S("dir/l2"), &s->err), 0);
	assert_int_equal(workspace_read(s->ws, S("dir/l2"), &s->out, &s->err), 0);
	assert_int_equal(workspace_write(s->ws, S("dir/l2"), S("2"), NULL, &s->err), 0);
	assert_int_equal(workspace_append(s->ws, S("l1"), S("3"), NULL, &s->err), 0);
	assert_int_equal(workspace_patch(s->ws, S("l1"), S("3"), S("4"), NULL, &s->err), 0);
	assert_string_equal(got(s, "ws/d/real"), "24");
	assert_int_equal(lstat(sandbox_path(s, "ws/l1"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	/* New files through a linked directory. */
	assert_int_equal(workspace_write(s->ws, S("dir/new/x"), S("5"), NULL, &s->err), 0);
	assert_string_equal(got(s, "ws/d/e/new/x"), "5");
}

static void
links_to_nothing_and_loops_are_refused(void **state)
{
	struct sandbox *s = *state;

	link_to(s, "nothing", "ws/dangling");
	link_to(s, "no/thing", "ws/deeper");
	link_to(s, "b", "ws/a");
	link_to(s, "a", "ws/b");
	assert_int_equal(workspace_check(s->ws, S("dangling"), &s->err), 0);
	refused(s, workspace_read(s->ws, S("dangling"), &s->out, &s->err), E_EXECUTION,
		"no such file: dangling");
	refused(s, workspace_write(s->ws, S("dangling"), S("x"), NULL, &s->err), E_EXECUTION,
		"a link to nothing: dangling");
	refused(s, workspace_write(s->ws, S("deeper"), S("x"), NULL, &s->err), E_EXECUTION, NULL);
	refused(s, workspace_write(s->ws, S("dangling/x"), S("x"), NULL, &s->err), E_EXECUTION,
		NULL);
	leads_nowhere(s, S("a"));
	assert_int_equal(entries(s), 4);
}

static void
magic_links_are_not_followed(void **state)
{
	struct sandbox *s = *state;
	struct workspace *ws;
	size_t n;

	if (workspace_open("/proc/self", NULL, &ws, &s->err) < 0)
		skip();
	assert_int_equal(workspace_read(ws, S("exe"), &s->out, &s->err), E_PERMISSION);
	assert_int_equal(workspace_read(ws, S("root/etc/passwd"), &s->out, &s->err), E_PERMISSION);
	assert_int_equal(workspace_list(ws, S("cwd"), &s->out, &n, &s->err), E_PERMISSION);
	assert_int_equal(workspace_check(ws, S("root/etc/passwd"), &s->err), E_PERMISSION);
	/* An ordinary file there is read, though its size is said to be 0. */
	assert_int_equal(workspace_read(ws, S("status"), &s->out, &s->err), 0);
	assert_true(s->out.len > 0);
	workspace_unref(ws);
}

static void
shut_directories_stay_shut(void **state)
{
	struct sandbox *s = *state;
	struct workspace *ws = s->ws;

	mkdir(sandbox_path(s, "ws/.state"), 0755);
	mkdir(sandbox_path(s, "ws/.state/sub"), 0755);
	mkdir(sandbox_path(s, "ws/.state_not"), 0755);
	put(s, "ws/.state/journal", CANARY);
	put(s, "ws/a", "1");
	link_to(s, ".state", "ws/way");
	link_to(s, ".state/journal", "ws/straight");
	const char *const shut[] = {sandbox_path(s, "ws/.state"), sandbox_path(s, "ws/future/x"),
				    sandbox_path(s, "ws_evil"), NULL};
	assert_int_equal(workspace_open(sandbox_path(s, "ws"), shut, &s->ws, &s->err), 0);
	leads_nowhere(s, S(".state/journal"));
	leads_nowhere(s, S(".state"));
	leads_nowhere(s, S(".state/sub"));
	leads_nowhere(s, S(".state/new/er"));
	leads_nowhere(s, S("way/journal"));
	leads_nowhere(s, S("straight"));
	leads_nowhere(s, S(".state_not/../way/sub/../journal"));
	assert_int_equal(workspace_delete(s->ws, S(".state/journal"), NULL, &s->err), E_PERMISSION);
	refused(s, workspace_read(s->ws, S("way/journal"), &s->out, &s->err), E_PERMISSION,
		"closed to tools: way/journal");
	assert_string_equal(got(s, "ws/.state/journal"), CANARY);
	/* Not there yet, but already closed. */
	assert_int_equal(workspace_write(s->ws, S("future/x"), S("1"), NULL, &s->err),
			 E_PERMISSION);
	assert_int_equal(workspace_write(s->ws, S("future/x/y"), S("1"), NULL, &s->err),
			 E_PERMISSION);
	assert_null(got(s, "ws/future/x"));
	/* The neighbours are open. */
	assert_int_equal(workspace_write(s->ws, S(".state_not/x"), S("1"), NULL, &s->err), 0);
	assert_int_equal(workspace_write(s->ws, S("future/y"), S("1"), NULL, &s->err), 0);
	assert_int_equal(workspace_read(s->ws, S("a"), &s->out, &s->err), 0);
	workspace_unref(ws);
}

static void
a_shut_directory_cannot_be_the_workspace(void **state)
{
	struct sandbox *s = *state;
	const char *const shut[] = {s->base, NULL};
	struct workspace *ws = NULL;

	assert_int_equal(workspace_open(sandbox_path(s, "ws"), shut, &ws, &s->err), E_NO_WORKSPACE);
	assert_null(ws);
}

static int
hex(char c)
{
	const char *digits = "0123456789abcdef0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) % 16 : -1;
}

static size_t
percent_decode(const char *in, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bool escape =
		    in[i] == '%' && i + 2 < len && hex(in[i + 1]) >= 0 && hex(in[i + 2]) >= 0;
		out[n++] = escape ? (char)(hex(in[i + 1]) * 16 + hex(in[i + 2])) : in[i];
		i += escape ? 2 : 0;
	}
	return n;
}

/* Whatever opens must lie inside. Writing must touch nothing outside: the canaries tell. */
static void
payload_try(struct sandbox *s, struct str path, int *opened)
{
	char real[PATH_MAX];

	buf_reset(&s->out);
	if (workspace_read_bytes(s->ws, path, &s->out, &s->err) == 0) {
		(*opened)++;
		assert_true(str_is(buf_str(&s->out), "inside"));
	}
	workspace_check(s->ws, path, &s->err);
	if (workspace_write(s->ws, path, S("inside"), NULL, &s->err) == 0 && path.ptr[0] != '/') {
		char joined[PATH_MAX];
		snprintf(joined, sizeof(joined), "%s/%.*s", workspace_path(s->ws), STR_ARG(path));
		assert_non_null(realpath(joined, real));
		assert_int_equal(strncmp(real, workspace_path(s->ws),
					 strlen(workspace_path(s->ws))),
				 0);
	}
}

static void
no_payload_of_the_battery_gets_out(void **state)
{
	struct sandbox *s = *state;
	char path[PATH_MAX], line[8192], once[8192], twice[8192];
	int opened = 0, count = 0;
	struct stat before, after;

	TESTDATA_OR_SKIP("batteries/paths/payloads.txt", path);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(stat("/etc/passwd", &before), 0);
	while (fgets(line, sizeof(line), f)) {
		size_t len = strcspn(line, "\n"), len1 = percent_decode(line, len, once),
		       len2 = percent_decode(once, len1, twice);
		payload_try(s, (struct str){line, len}, &opened);
		payload_try(s, (struct str){once, len1}, &opened);
		payload_try(s, (struct str){twice, len2}, &opened);
		count++;
	}
	fclose(f);
	assert_int_equal(stat("/etc/passwd", &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_string_equal(got(s, "secret"), CANARY);
	assert_string_equal(got(s, "ws_evil/secret"), CANARY);
	assert_true(count > 0);
}

/* A second thread swaps a directory for a link that leads out, as fast as it can. */
struct swapper {
	struct sandbox *s;
	atomic_bool stop;
};

static void *
swap_on(void *arg)
{
	struct swapper *w = arg;
	char dir[PATH_MAX], link[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/ws/d", w->s->base);
	snprintf(link, sizeof(link), "%s/ws/l", w->s->base);
	while (!atomic_load(&w->stop))
		renameat2(AT_FDCWD, dir, AT_FDCWD, link, RENAME_EXCHANGE);
	return NULL;
}

static void
a_link_swapped_meanwhile_never_leads_out(void **state)
{
	struct sandbox *s = *state;
	struct swapper w = {s, false};
	pthread_t thread;
	int read = 0, refusals = 0;

	mkdir(sandbox_path(s, "ws/d"), 0755);
	put(s, "ws/d/secret", "inside");
	link_to(s, "../ws_evil", "ws/l");
	assert_int_equal(pthread_create(&thread, NULL, swap_on, &w), 0);
	for (int i = 0; i < 20000; i++) {
		struct str path = i % 2 ? S("d/secret") : S("d/../d/secret");
		buf_reset(&s->out);
		if (workspace_read(s->ws, path, &s->out, &s->err) == 0) {
			assert_true(str_starts(buf_str(&s->out), S("inside")));
			read++;
		} else {
			refusals++;
		}
		if (i % 50 == 0)
			workspace_write(s->ws, path, S("inside"), NULL, &s->err);
		if (i % 50 == 25)
			workspace_append(s->ws, path, S("!"), NULL, &s->err);
	}
	atomic_store(&w.stop, true);
	pthread_join(thread, NULL);
	assert_string_equal(got(s, "ws_evil/secret"), CANARY);
	assert_true(read + refusals == 20000);
	assert_true(read > 0);
	/* The canary is alone: nothing was made beside it, not even for a moment too long. */
	struct workspace *outside;
	size_t n;
	assert_int_equal(workspace_open(sandbox_path(s, "ws_evil"), NULL, &outside, &s->err), 0);
	assert_int_equal(workspace_list(outside, S("."), &s->out, &n, &s->err), 0);
	assert_int_equal(n, 1);
	workspace_unref(outside);
}

/* Should the walls ever fail, these tests must not be root when they try the doors. */
static void
become_nobody(void)
{
	if (geteuid() != 0)
		return;
	if (setgid(65534) < 0 || setuid(65534) < 0)
		abort();
	prctl(PR_SET_DUMPABLE, 1); /* or the leak checker may not look */
}

int
main(void)
{
	become_nobody();
	const struct CMUnitTest tests[] = {
	    IN_SANDBOX(dots_do_not_lead_out),
	    IN_SANDBOX(absolute_paths_are_taken_by_components),
	    IN_SANDBOX(links_do_not_lead_out),
	    IN_SANDBOX(links_inside_are_followed_and_the_target_is_replaced),
	    IN_SANDBOX(links_to_nothing_and_loops_are_refused),
	    IN_SANDBOX(magic_links_are_not_followed),
	    IN_SANDBOX(shut_directories_stay_shut),
	    IN_SANDBOX(a_shut_directory_cannot_be_the_workspace),
	    IN_SANDBOX(no_payload_of_the_battery_gets_out),
	    IN_SANDBOX(a_link_swapped_meanwhile_never_leads_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
