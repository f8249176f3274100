/*
 * test_confine.c - what a confined child reaches, and what not.
 *
 * Each case is a small shell script in a directory of its own; each wall is first shown to be no
 * wall for an open child. The escapes themselves are in tests/scenario/test_confinement.py.
 */

#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/child.h"

#define LANDLOCK (LAYER_FILES | LAYER_SIGNALS)

static struct loop *loop;
static char box[64];

static const char *
at(const char *name)
{
	static char paths[8][128];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", box, name);
	return path;
}

static void
put(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

struct run {
	struct child_exit how;
	struct buf out;
};

static void
said(struct child *c, enum child_stream stream, struct str bytes, void *arg)
{
	(void)c;
	(void)stream;
	buf_add(&((struct run *)arg)->out, bytes);
}

static void
over(struct child *c, const struct child_exit *how, void *arg)
{
	(void)c;
	((struct run *)arg)->how = *how;
	loop_stop(loop);
}

static int
start(struct run *run, const char *const *argv, const struct confinement *c, struct err *e)
{
	const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=/nowhere", NULL};
	struct child_spec spec = {.argv = argv,
				  .env = env,
				  .cwd_fd = open(box, O_PATH | O_DIRECTORY | O_CLOEXEC),
				  .grace_ms = 1000,
				  .confinement = c,
				  .output = said,
				  .over = over,
				  .arg = run};
	struct child *child;

	*run = (struct run){.out = BUF_INIT(1 * MIB)};
	int rc = child_start(loop, &spec, &child, e);
	close(spec.cwd_fd);
	if (rc == 0)
		loop_run(loop);
	return rc;
}

/* Its exit status. */
static int
sh(const struct confinement *c, const char *script)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	struct run run;
	struct err e;

	if (start(&run, argv, c, &e) < 0)
		fail_msg("%s (%s)", e.text, e.inside);
	buf_done(&run.out);
	assert_true(run.how.ran);
	return run.how.signal ? 128 + run.how.signal : run.how.status;
}

static bool
has(uint32_t layers)
{
	return (confine_available() & layers) == layers;
}

static void
needs(uint32_t layers)
{
	if (!has(layers))
		skip();
}

static int
setup(void **state)
{
	struct err e;

	(void)state;
	strcpy(box, "/tmp/holdfast-confine-XXXXXX");
	assert_non_null(mkdtemp(box));
	assert_int_equal(mkdir(at("ws"), 0700), 0);
	assert_int_equal(mkdir(at("ws/sub"), 0700), 0);
	assert_int_equal(mkdir(at("out"), 0700), 0);
	assert_int_equal(mkdir(at("tmp"), 0700), 0);
	put("ws/sub/a", "a");
	put("out/secret", "secret");
	return loop_new(&loop, &e);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

static int
teardown(void **state)
{
	(void)state;
	loop_free(loop);
	return nftw(box, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The workspace to write, and nothing else of the box. */
static struct confinement
standard(const char *const *write, const char *const *shut)
{
	return (struct confinement){.profile = CONFINE_STANDARD, .write = write, .shut = shut};
}

static void
profiles_and_layers_have_names(void **state)
{
	char text[CONFINE_TEXT];

	(void)state;
	assert_int_equal(confine_profile(S("strict")), CONFINE_STRICT);
	assert_int_equal(confine_profile(S("Strict")), CONFINE_UNSET);
	assert_int_equal(confine_profile((struct str){NULL, 0}), CONFINE_UNSET);
	assert_string_equal(confine_profile_name(CONFINE_OPEN), "open");
	assert_string_equal(confine_text(0, text), "");
	assert_string_equal(confine_text(LAYER_GROUP | LAYER_TCP, text), "group,tcp");
	assert_string_equal(
	    confine_text(CONFINE_LAYERS(CONFINE_STRICT, ~(uint32_t)0 >> 8), text),
	    "strict: group,death,limits,descriptors,privileges,files,signals,tcp,syscalls,"
	    "environment");
}

static void
what_was_put_on_comes_back(void **state)
{
	const char *const argv[] = {"/bin/true", NULL};
	struct confinement c = {.profile = CONFINE_STANDARD};
	char text[CONFINE_TEXT];
	struct run run;
	struct err e;

	(void)state;
	assert_int_equal(start(&run, argv, NULL, &e), 0);
	assert_string_equal(confine_text(run.how.layers, text),
			    "open: group,death,limits,descriptors,privileges,environment");
	buf_done(&run.out);
	assert_int_equal(start(&run, argv, &c, &e), 0);
	assert_int_equal(run.how.layers >> 24, CONFINE_STANDARD);
	assert_int_equal(run.how.layers & 0xffffff,
			 confine_wanted(CONFINE_STANDARD, false) & confine_available());
	buf_done(&run.out);
}

static void
a_confined_child_writes_its_workspace_alone(void **state)
{
	const char *const write[] = {at("ws"), NULL};
	struct confinement c = standard(write, NULL);

	(void)state;
	needs(LANDLOCK);
	assert_int_equal(sh(&c, "echo x > ws/new && mkdir ws/d && mv ws/new ws/d/n && rm -r ws/d "
				"&& cat ws/sub/a && ls ws && echo y >> ws/sub/a"),
			 0);
	assert_int_equal(sh(NULL, "cat out/secret && echo x > out/new && rm out/new"), 0);
	assert_int_not_equal(sh(&c, "cat out/secret"), 0);
	assert_int_not_equal(sh(&c, "ls out"), 0);
	assert_int_not_equal(sh(&c, "echo x > out/new"), 0);
	assert_int_not_equal(sh(&c, "echo x >> out/secret"), 0);
	assert_int_not_equal(sh(&c, "rm out/secret"), 0);
	assert_int_not_equal(sh(&c, "ln -s ../out ws/way && cat ws/way/secret"), 0);
	assert_int_not_equal(sh(&c, "ln out/secret ws/hard"), 0);
	assert_int_not_equal(sh(&c, "mv out ws/out"), 0);
}

static void
what_is_only_read_is_not_written(void **state)
{
	const char *const read[] = {at("ws"), at("not there"), NULL};
	struct confinement c = {.profile = CONFINE_STANDARD, .read = read};

	(void)state;
	needs(LANDLOCK);
	assert_int_equal(sh(&c, "cat ws/sub/a"), 0);
	assert_int_not_equal(sh(&c, "echo x > ws/new"), 0);
	assert_int_not_equal(sh(&c, "mkdir ws/d"), 0);
	assert_int_not_equal(sh(&c, "echo x > /etc/holdfast-test"), 0);
	assert_int_not_equal(sh(&c, "echo x > /usr/holdfast-test"), 0);
	assert_int_not_equal(sh(&c, "echo x > /proc/self/oom_score_adj"), 0);
}

static void
ours_stays_shut_inside_what_is_granted(void **state)
{
	const char *const write[] = {at("ws"), NULL}, *const shut[] = {at("ws/sub/ours"), NULL};
	struct confinement c = standard(write, shut);

	(void)state;
	needs(LANDLOCK);
	assert_int_equal(mkdir(at("ws/sub/ours"), 0700), 0);
	assert_int_equal(mkdir(at("ws/dir"), 0700), 0);
	put("ws/sub/ours/token", "token");
	put("ws/file", "f");
	assert_int_equal(sh(NULL, "cat ws/sub/ours/token"), 0);
	/* Beside it, all goes on... */
	assert_int_equal(sh(&c, "cat ws/file ws/sub/a && echo x >> ws/sub/a && ls ws ws/sub && "
				"echo x > ws/dir/new"),
			 0);
	/* ...but not in it, nor can it be moved away or be replaced. */
	assert_int_not_equal(sh(&c, "cat ws/sub/ours/token"), 0);
	assert_int_not_equal(sh(&c, "echo x > ws/sub/ours/new"), 0);
	assert_int_not_equal(sh(&c, "mv ws/sub/ours ws/dir/mine"), 0);
	assert_int_not_equal(sh(&c, "mv ws/sub ws/dir/mine"), 0);
	assert_int_not_equal(sh(&c, "ln ws/sub/ours/token ws/dir/token"), 0);
	assert_int_not_equal(sh(&c, "ln -s ../sub/ours ws/dir/way && cat ws/dir/way/token"), 0);
}

static void
ours_that_is_not_there_yet_cannot_be_made(void **state)
{
	const char *const write[] = {at("ws"), NULL}, *const shut[] = {at("ws/sub/x/ours"), NULL};
	struct confinement c = standard(write, shut);

	(void)state;
	needs(LANDLOCK);
	assert_int_equal(sh(NULL, "mkdir -p ws/sub/x/ours && rm -r ws/sub/x"), 0);
	assert_int_not_equal(sh(&c, "mkdir ws/sub/x"), 0);
	assert_int_not_equal(sh(&c, "ln -s /tmp ws/sub/x"), 0);
	assert_int_equal(sh(&c, "cat ws/sub/a"), 0);
}

static void
a_link_that_leads_to_ours_cannot_be_led_elsewhere(void **state)
{
	const char *const write[] = {at("ws"), NULL}, *const shut[] = {at("ws/link/ours"), NULL};
	struct confinement c = standard(write, shut);

	(void)state;
	needs(LANDLOCK);
	assert_int_equal(symlink("../out", at("ws/link")), 0);
	assert_int_not_equal(sh(&c, "rm ws/link"), 0);
	assert_int_not_equal(sh(&c, "ln -sfn sub ws/link"), 0);
	assert_int_equal(sh(NULL, "rm ws/link"), 0);
}

/* Of issue 6: ~/.config/holdfast or its file may be a link, and that one to another. */
static void
ours_may_be_a_link_itself(void **state)
{
	const char *const write[] = {at("ws"), NULL}, *const shut[] = {at("ws/first"), NULL};
	struct confinement c = standard(write, shut);

	(void)state;
	needs(LANDLOCK);
	assert_int_equal(symlink("sub/second", at("ws/first")), 0);
	assert_int_equal(symlink("../../out", at("ws/sub/second")), 0);
	assert_int_not_equal(sh(&c, "rm ws/first"), 0);
	assert_int_not_equal(sh(&c, "ln -sfn sub ws/first"), 0);
	assert_int_not_equal(sh(&c, "rm ws/sub/second"), 0);
	assert_int_equal(sh(&c, "cat ws/sub/a"), 0);
	assert_int_equal(sh(NULL, "rm ws/first ws/sub/second"), 0);
}

/* Of issue 6: git is to find its configuration, and nobody the passwords beside it. */
static void
what_programs_keep_beside_their_settings_is_shut(void **state)
{
	const char *const write[] = {at("ws/sub"), NULL};
	struct confinement c = standard(write, NULL);
	char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");

	(void)state;
	needs(LANDLOCK);
	assert_int_equal(sh(NULL, "mkdir -p ws/home/.config/git && cd ws/home/.config/git && "
				  "echo a > config && echo b > credentials"),
			 0);
	setenv("HOME", at("ws/home"), 1);
	assert_int_equal(sh(&c, "cat ws/home/.config/git/config"), 0);
	assert_int_not_equal(sh(&c, "cat ws/home/.config/git/credentials"), 0);
	setenv("HOME", home, 1);
	free(home);
	assert_int_equal(sh(NULL, "rm -r ws/home"), 0);
}

static void
a_granted_directory_inside_ours_is_not_granted(void **state)
{
	const char *const write[] = {at("ws/sub"), NULL}, *const shut[] = {at("ws"), NULL};
	struct confinement c = standard(write, shut);

	(void)state;
	needs(LANDLOCK);
	assert_int_not_equal(sh(&c, "cat ws/sub/a"), 0);
}

static void
its_temporary_directory_is_told_in_its_environment(void **state)
{
	struct confinement c = {.profile = CONFINE_STANDARD, .temporary = at("tmp")};

	(void)state;
	assert_int_equal(sh(&c, "test \"$TMPDIR\" != /nowhere && echo x > $TMPDIR/x && "
				"test \"$XDG_CACHE_HOME\" = \"$TMPDIR/cache\" && "
				"mkdir -p $XDG_CACHE_HOME"),
			 0);
	assert_int_equal(sh(NULL, "test \"$TMPDIR\" = /nowhere"), 0);
}

static void
programs_of_the_system_run(void **state)
{
	struct confinement c = {.profile = CONFINE_STRICT};

	(void)state;
	needs(confine_wanted(CONFINE_STRICT, false));
	assert_int_equal(sh(&c, "ls /usr > /dev/null && cat /etc/passwd | sort | head -n 1 && "
				"echo x > /dev/null && head -c 8 /dev/urandom > /dev/null && "
				"cat /proc/self/status > /dev/null && (sleep 0 & wait) && "
				"echo x > /dev/stderr && test -r /etc/hosts"),
			 0);
}

static void
a_program_elsewhere_runs_when_it_is_the_one_to_run(void **state)
{
	const char *argv[] = {at("out/tool"), NULL};
	struct confinement c = {.profile = CONFINE_STANDARD};
	struct run run;
	struct err e;

	(void)state;
	needs(LANDLOCK);
	put("out/tool", "#!/bin/sh\necho ran\n");
	assert_int_equal(chmod(argv[0], 0700), 0);
	assert_int_equal(start(&run, argv, &c, &e), 0);
	assert_string_equal(buf_z(&run.out), "ran\n");
	buf_done(&run.out);
	assert_int_not_equal(sh(&c, "out/tool"), 0);
}

static void
what_may_not_be_run_is_told(void **state)
{
	const char *const argv[] = {"tool", NULL};
	const char *const env_path[] = {at("out"), NULL};
	struct confinement c = {.profile = CONFINE_STANDARD};
	char path[160];
	struct run run = {.out = BUF_INIT(1 * KIB)};
	struct child *child;
	struct err e;

	(void)state;
	needs(LANDLOCK);
	put("out/tool", "#!/bin/sh\necho ran\n");
	assert_int_equal(chmod(at("out/tool"), 0700), 0);
	snprintf(path, sizeof(path), "PATH=%s", env_path[0]);
	const char *const env[] = {path, NULL};
	struct child_spec spec = {.argv = argv,
				  .env = env,
				  .cwd_fd = open(box, O_PATH | O_DIRECTORY | O_CLOEXEC),
				  .confinement = &c,
				  .over = over,
				  .arg = &run};
	assert_int_equal(child_start(loop, &spec, &child, &e), 0);
	close(spec.cwd_fd);
	loop_run(loop);
	assert_false(run.how.ran);
	assert_string_equal(run.how.reason, "confined as it is, it may not run tool");
}

static void
limits_are_tighter_in_strict(void **state)
{
	struct confinement c = {.profile = CONFINE_STANDARD}, strict = {.profile = CONFINE_STRICT};

	(void)state;
	assert_int_equal(sh(&c, "test $(ulimit -c) = 0 && test $(ulimit -n) -le 1024"), 0);
	assert_int_equal(sh(NULL, "test $(ulimit -c) = 0 && test $(ulimit -n) -le 1024"), 0);
	needs(confine_wanted(CONFINE_STRICT, false));
	assert_int_equal(sh(&strict,
			    "test $(ulimit -f) != unlimited && "
			    "test $(ulimit -Hn) -le 4096 && test $(ulimit -v) != unlimited"),
			 0);
}

static void
a_house_makes_and_removes_temporary_directories(void **state)
{
	struct confine_settings settings = confine_defaults;
	struct confine_house house = {.settings = &settings};
	struct confinement a, b, c, open;
	struct arena *arena = arena_new(64 * KIB);
	char dir[LIMIT_PATH];
	struct err e;

	(void)state;
	assert_int_equal(confine_child(&house, CONFINED_SERVERS, NULL, S("s"), arena, &open, &e),
			 0);
	assert_int_equal(open.profile, CONFINE_OPEN);
	assert_null(open.temporary);
	assert_string_equal(house.temporary, "");
	assert_int_equal(confine_child(&house, CONFINED_SHELL, NULL, S("a"), arena, &a, &e), 0);
	assert_int_equal(confine_child(&house, CONFINED_SHELL, NULL, S("a"), arena, &b, &e), 0);
	assert_int_equal(confine_child(&house, CONFINED_SHELL, NULL, S("c"), arena, &c, &e), 0);
	assert_int_equal(a.profile, CONFINE_STANDARD);
	assert_string_equal(a.temporary, b.temporary);
	assert_string_not_equal(a.temporary, c.temporary);
	assert_int_equal(sh(&a, "mkdir -p $TMPDIR/a/b && echo x > $TMPDIR/a/b/c"), 0);
	strcpy(dir, house.temporary);
	assert_int_equal(access(dir, F_OK), 0);
	confine_house_done(&house);
	assert_int_not_equal(access(dir, F_OK), 0);
	arena_free(arena);
}

static size_t
entries_of(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *at; (at = readdir(d));)
		n += at->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Whoever is killed removes nothing: the next one does. */
static void
a_house_that_was_left_is_swept_away(void **state)
{
	struct confine_settings settings = confine_defaults;
	struct confine_house house = {.settings = &settings};
	struct arena *arena = arena_new(64 * KIB);
	struct confinement c;
	struct err e;
	int status;

	(void)state;
	assert_int_equal(mkdir(at("houses"), 0700), 0);
	setenv("TMPDIR", at("houses"), 1);
	assert_int_equal(mkdir(at("houses/holdfast-tmp-strange"), 0700), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int code = confine_child(&house, CONFINED_SHELL, NULL, S("a"), arena, &c, &e);
		_exit(code == 0 && mkdir(c.temporary, 0700) < 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(entries_of(at("houses")), 2);
	assert_int_equal(confine_child(&house, CONFINED_SHELL, NULL, S("a"), arena, &c, &e), 0);
	assert_int_equal(entries_of(at("houses")), 3);
	confine_sweep();
	assert_int_equal(access(c.temporary, F_OK), 0); /* somebody lives there */
	assert_int_equal(entries_of(at("houses")), 2);
	confine_house_done(&house);
	confine_sweep();
	assert_int_equal(entries_of(at("houses")), 1); /* nobody has said that it is one */
	unsetenv("TMPDIR");
	arena_free(arena);
}

static void
rules_that_are_kept_are_those_of_the_same_child(void **state)
{
	const char *const ws[] = {at("ws"), NULL}, *const out[] = {at("out"), NULL},
			  *const late[] = {at("late"), NULL};
	struct confine_settings settings = confine_defaults;
	struct confine_house house = {.settings = &settings};
	struct confinement one = {.write = ws}, other = {.write = out}, third = {.write = late}, c;
	struct arena *arena = arena_new(64 * KIB);
	struct err e;

	(void)state;
	needs(LANDLOCK);
	assert_int_equal(confine_child(&house, CONFINED_SHELL, &one, S("a"), arena, &c, &e), 0);
	assert_int_equal(sh(&c, "echo x > ws/new"), 0);
	assert_true(house.kept.key.len > 0);
	int fd = house.kept.fd;
	assert_int_equal(sh(&c, "echo x > ws/new && ! echo x > out/new"), 0);
	assert_int_equal(house.kept.fd, fd);
	assert_int_equal(confine_child(&house, CONFINED_SHELL, &other, S("a"), arena, &c, &e), 0);
	assert_int_equal(sh(&c, "echo x > out/new && ! cat ws/new"), 0);
	/* What was not there when it was asked for is there now. */
	assert_int_equal(confine_child(&house, CONFINED_SHELL, &third, S("a"), arena, &c, &e), 0);
	assert_int_not_equal(sh(&c, "echo x > late/new"), 0);
	assert_int_equal(mkdir(at("late"), 0700), 0);
	assert_int_equal(sh(&c, "echo x > late/new"), 0);
	confine_house_done(&house);
	arena_free(arena);
}

static void
what_is_said_of_a_child_counts_more_than_the_house(void **state)
{
	static const uint16_t all_ports[] = {443}, own_ports[] = {80, 81};
	const char *const r[] = {"/r", NULL}, *const w[] = {"/w", NULL},
			  *const w2[] = {"/w2", NULL};
	struct confine_settings settings = confine_defaults;
	settings.read = r, settings.write = w, settings.tcp = all_ports, settings.tcp_count = 1;
	struct confine_house house = {.settings = &settings};
	struct confinement own = {.profile = CONFINE_STRICT, .write = w2}, c;
	struct arena *arena = arena_new(64 * KIB);
	struct err e;

	(void)state;
	assert_int_equal(confine_child(&house, CONFINED_SERVERS, &own, S("s"), arena, &c, &e), 0);
	assert_int_equal(c.profile, CONFINE_STRICT);
	assert_string_equal(c.read[0], "/r");
	assert_null(c.read[1]);
	assert_string_equal(c.write[0], "/w");
	assert_string_equal(c.write[1], "/w2");
	assert_int_equal(c.tcp[0], 443);
	own.tcp = own_ports, own.tcp_count = 2;
	assert_int_equal(confine_child(&house, CONFINED_SERVERS, &own, S("s"), arena, &c, &e), 0);
	assert_int_equal(c.tcp_count, 2);
	assert_int_equal(c.tcp[0], 80);
	confine_house_done(&house);
	assert_int_equal(confine_child(NULL, CONFINED_SHELL, &own, S("s"), arena, &c, &e), 0);
	assert_int_equal(c.profile, CONFINE_OPEN);
	arena_free(arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(profiles_and_layers_have_names),
	    TEST(what_was_put_on_comes_back),
	    TEST(a_confined_child_writes_its_workspace_alone),
	    TEST(what_is_only_read_is_not_written),
	    TEST(ours_stays_shut_inside_what_is_granted),
	    TEST(ours_that_is_not_there_yet_cannot_be_made),
	    TEST(a_link_that_leads_to_ours_cannot_be_led_elsewhere),
	    TEST(ours_may_be_a_link_itself),
	    TEST(what_programs_keep_beside_their_settings_is_shut),
	    TEST(a_granted_directory_inside_ours_is_not_granted),
	    TEST(its_temporary_directory_is_told_in_its_environment),
	    TEST(programs_of_the_system_run),
	    TEST(a_program_elsewhere_runs_when_it_is_the_one_to_run),
	    TEST(what_may_not_be_run_is_told),
	    TEST(limits_are_tighter_in_strict),
	    TEST(a_house_makes_and_removes_temporary_directories),
	    TEST(a_house_that_was_left_is_swept_away),
	    TEST(rules_that_are_kept_are_those_of_the_same_child),
	    TEST(what_is_said_of_a_child_counts_more_than_the_house),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
