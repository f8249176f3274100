/*
 * rules.c - the Landlock ruleset of a confined child: which files it may reach, and which ports.
 *
 * Landlock only ever allows, and what it allows of a directory it allows of all beneath. So where
 * something shut lies inside a directory that is granted, the directory is granted entry by entry,
 * down to the shut one:
 *
 *	granted /home/u, shut /home/u/.state/us:   /home/u (names alone), /home/u/a, /home/u/b, ...,
 *	                                           /home/u/.state (names alone), /home/u/.state/x,
 *...
 *
 * New entries can then not be made in the directories on the way. Links are never granted: what
 * they lead to is granted where it lies, or not.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/confine_inside.h"
#include "loop/environ.h"

/* The kernel's interface, defined here because headers are older than kernels. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#endif
#define QUERY_VERSION 1
#define RULE_PATH 1
#define RULE_PORT 2

#define LINKS_MAX 8 /* that lead to one another */

struct ruleset_attr {
	uint64_t files, net, scoped;
};
struct path_rule {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));
struct port_rule {
	uint64_t access, port;
};

enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_BLOCK = 1 << 11,
	FS_ABI_1 = (1 << 13) - 1,
	FS_REFER = 1 << 13,     /* ABI 2 */
	FS_TRUNCATE = 1 << 14,  /* ABI 3 */
	FS_IOCTL_DEV = 1 << 15, /* ABI 5 */
	FS_ALL = (1 << 16) - 1,
	/* What can be said of a file; the others are about directories. */
	FS_OF_FILE = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
	/* What is granted. */
	NAMES = FS_READ_DIR,
	READ = FS_READ_FILE | FS_READ_DIR,
	RUN = READ | FS_EXECUTE,
	DEVICE = FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
	WRITE = FS_ALL & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK),
	TCP_BIND = 1 << 0,
	TCP_CONNECT = 1 << 1,
	SCOPE_ALL = 3, /* abstract Unix sockets, signals */
};

/* The system, as every program needs it. No disk, no memory and no terminal is among the devices.
 */
static const struct {
	const char *path;
	uint64_t access;
	bool loose; /* not in strict */
} system_places[] = {
    {"/usr", RUN},
    {"/bin", RUN},
    {"/sbin", RUN},
    {"/lib", RUN},
    {"/lib32", RUN},
    {"/lib64", RUN},
    {"/libx32", RUN},
    {"/etc", RUN},
    {"/opt", RUN},
    {"/nix", RUN},
    {"/gnu", RUN},
    {"/snap", RUN},
    {"/run/current-system", RUN},
    {"/run/opengl-driver", RUN},
    {"/run/systemd/resolve", READ}, /* where /etc/resolv.conf may lead */
    {"/run/resolvconf", READ},
    {"/run/NetworkManager/resolv.conf", READ},
    {"/proc", READ},
    {"/sys", READ},
    {"/dev", NAMES},
    {"/dev/null", DEVICE},
    {"/dev/zero", DEVICE},
    {"/dev/full", DEVICE},
    {"/dev/random", DEVICE},
    {"/dev/urandom", DEVICE},
    {"/dev/tty", DEVICE}, /* its own, and it has none */
    {"/dev/shm", WRITE, true},
};

/* In the home directory: without its configuration git does not run, and programs that people
 * install for themselves lie in these. */
static const char *const home_places[] = {
    ".gitconfig", ".config/git",     ".rustup",           ".pyenv",      ".asdf",
    ".local/lib", ".local/share/uv", ".local/share/mise", ".local/pipx", ".local/share/pipx",
};

/* There, never: beside programs, or beside what they are told. */
static const char *const home_secrets[] = {
    ".cargo/credentials",  ".cargo/credentials.toml",     ".config/git/credentials",
    ".docker/config.json", ".local/share/uv/credentials", ".pulumi/credentials.json",
    ".fly/config.yml",
};

struct rules {
	struct arena *arena;
	int fd;
	uint64_t handled;
	const char *shut[LIMIT_CONFINE_SHUT];
	size_t shut_count;
	size_t count;
	bool around; /* something shut was gone around */
};

int
rules__abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, QUERY_VERSION);

	return abi > 0 ? (int)abi : 0;
}

/* Where things are */

/* Absolute and real as far as it is there, and the rest as it is written. NULL: no memory. */
static const char *
real_path(struct arena *a, const char *path)
{
	char real[PATH_MAX], head[PATH_MAX];
	size_t len = path ? strlen(path) : sizeof(head);

	if (len >= sizeof(head))
		return NULL;
	memcpy(head, path, len + 1);
	while (!realpath(head, real)) {
		while (len > 0 && head[--len] != '/')
			;
		head[len] = '\0';
		if (len == 0)
			return arena_strz(a, str_of(path));
	}
	return arena_printf(a, "%s%s", strcmp(real, "/") == 0 ? "" : real, path + len);
}

static bool
is_inside(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return path[0] == '/';
	return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static int
shut_push(struct rules *r, const char *path)
{
	if (!path)
		return E_NOMEM;
	for (size_t i = 0; i < r->shut_count; i++)
		if (strcmp(r->shut[i], path) == 0)
			return 0;
	if (r->shut_count == ARRAY_LEN(r->shut))
		return E_LIMIT;
	r->shut[r->shut_count++] = path;
	return 0;
}

static int shut_add(struct rules *r, const char *path, unsigned depth);

/* One that lies on the way to something shut, itself and what it says. */
static int
shut_add_link(struct rules *r, char *link, unsigned depth)
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target));
	char *name = strrchr(link, '/');

	if (n < 0 || !name)
		return 0; /* none */
	*name = '\0';
	const char *dir = real_path(r->arena, link[0] ? link : "/");
	int rc = shut_push(r, dir ? arena_printf(r->arena, "%s/%s", dir, name + 1) : NULL);
	if (rc < 0 || n == 0)
		return rc;
	bool whole = target[0] == '/';
	return shut_add(r,
			arena_printf(r->arena, "%s%s%.*s", whole ? "" : dir, whole ? "" : "/",
				     (int)n, target),
			depth + 1);
}

/* Where it really is; and each link on the way to it, which must not be led elsewhere. */
static int
shut_add(struct rules *r, const char *path, unsigned depth)
{
	int rc = shut_push(r, real_path(r->arena, path));
	char part[PATH_MAX];

	for (const char *end = path; rc == 0 && *end && depth < LINKS_MAX;) {
		end = strchrnul(end + 1, '/');
		if ((size_t)(end - path) >= sizeof(part))
			return E_LIMIT;
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		rc = shut_add_link(r, part, depth);
	}
	return rc;
}

enum meeting { APART, SHUT, HOLDS_SHUT };

static enum meeting
shut_meets(const struct rules *r, const char *real)
{
	enum meeting m = APART;

	for (size_t i = 0; i < r->shut_count; i++) {
		if (is_inside(real, r->shut[i]))
			return SHUT;
		if (is_inside(r->shut[i], real))
			m = HOLDS_SHUT;
	}
	return m;
}

/* What is granted */

/* Takes fd; -1 is nothing. `public`: only what everybody may read. */
static int
rule_add(struct rules *r, int fd, uint64_t access, bool public)
{
	struct path_rule rule = {.access = access & r->handled, .fd = fd};
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode) || (public && !(st.st_mode & S_IROTH)))
		rule.access = 0;
	else if (!S_ISDIR(st.st_mode))
		rule.access &= FS_OF_FILE;
	if (rule.access && ++r->count > LIMIT_CONFINE_RULES)
		rc = -E2BIG;
	else if (rule.access && syscall(SYS_landlock_add_rule, r->fd, RULE_PATH, &rule, 0) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static int grant_entries(struct rules *r, int at, const char *real, uint64_t access, bool public);

/* Takes fd, whose place is `real`. */
static int
grant_fd(struct rules *r, int fd, const char *real, uint64_t access, bool public)
{
	enum meeting m = fd < 0 ? SHUT : shut_meets(r, real);

	if (m == APART)
		return rule_add(r, fd, access, public);
	int rc = m == HOLDS_SHUT ? grant_entries(r, fd, real, access, public) : 0;
	r->around = true;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int
grant_entries(struct rules *r, int at, const char *real, uint64_t access, bool public)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char path[PATH_MAX];

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0; /* no directory, or not ours to read: nothing in it is granted */
	}
	int rc = rule_add(r, fcntl(fd, F_DUPFD_CLOEXEC, 0), access & NAMES, false);
	for (struct dirent *entry; rc == 0 && (entry = readdir(dir)) != NULL;) {
		const char *name = entry->d_name;
		int n = snprintf(path, sizeof(path), "%s/%s", real[1] ? real : "", name);
		if (entry->d_type == DT_LNK || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    n >= (int)sizeof(path))
			continue;
		rc = grant_fd(r, openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), path, access,
			      public);
	}
	closedir(dir);
	return rc;
}

/* What is not there is not granted. The kernel says where it lies that was opened: whoever changes
 * links meanwhile gains nothing. */
static int
grant(struct rules *r, const char *path, uint64_t access)
{
	char link[32], real[PATH_MAX];
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, real, sizeof(real) - 1);
	real[n > 0 ? n : 0] = '\0';
	if (real[0] != '/') {
		close(fd);
		return n < 0 ? -errno : 0;
	}
	/* Root may read what is for root alone: there everybody's rights decide. */
	bool public = strcmp(real, "/etc") == 0 && geteuid() == 0 && !(access & FS_WRITE_FILE);
	if (!public)
		return grant_fd(r, fd, real, access, false);
	int rc = grant_entries(r, fd, real, access, true);
	close(fd);
	return rc;
}

static int
grant_list(struct rules *r, const char *const *paths, uint64_t access)
{
	int rc = 0;

	for (; paths && *paths && rc == 0; paths++)
		rc = grant(r, *paths, access);
	return rc;
}

static int
grant_system(struct rules *r, bool strict)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(system_places); i++)
		if (!strict || !system_places[i].loose)
			rc = grant(r, system_places[i].path, system_places[i].access);
	return rc;
}

static int
grant_home(struct rules *r, const char *home)
{
	char path[PATH_MAX];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(home_places); i++)
		if (snprintf(path, sizeof(path), "%s/%s", home, home_places[i]) < (int)sizeof(path))
			rc = grant(r, path, RUN);
	return rc;
}

/* "bin" beside "lib" and "share" is of little use alone; but not all of home for ~/bin. */
static bool
is_prefix_dir(const struct rules *r, const char *home, const char *dir)
{
	char real_home[PATH_MAX], local[PATH_MAX + 8];

	if (!dir[0] || shut_meets(r, dir) != APART)
		return false;
	if (!realpath(home, real_home))
		return true;
	snprintf(local, sizeof(local), "%s/.local", real_home);
	return !is_inside(real_home, dir) && strcmp(dir, local) != 0;
}

/* One directory of PATH. */
static int
grant_programs(struct rules *r, const char *home, const char *dir)
{
	char real[PATH_MAX], real_home[PATH_MAX];

	if (!realpath(dir, real) || strcmp(real, "/") == 0 ||
	    (realpath(home, real_home) && is_inside(real_home, real)))
		return 0;
	int rc = grant(r, real, RUN);
	char *name = strrchr(real, '/');
	bool bin = strcmp(name, "/bin") == 0 || strcmp(name, "/shims") == 0;
	*name = '\0';
	return rc == 0 && bin && is_prefix_dir(r, home, real) ? grant(r, real, RUN) : rc;
}

static int
grant_path(struct rules *r, const char *home)
{
	const char *path = environ_path(r->arena);
	struct str rest = str_of(path), dir;
	int rc = path ? 0 : -ENOMEM;

	while (rc == 0 && str_split(&rest, ':', &dir)) {
		const char *z = arena_strz(r->arena, dir);
		bool system =
		    str_starts(dir, S("/usr/")) || str_is(dir, "/bin") || str_is(dir, "/sbin");
		if (!system)
			rc = z ? grant_programs(r, home, z) : -ENOMEM;
	}
	return rc;
}

static int
grant_ports(struct rules *r, const struct confinement *c)
{
	for (size_t i = 0; c->tcp && i < c->tcp_count; i++) {
		struct port_rule rule = {.access = TCP_CONNECT, .port = c->tcp[i]};
		if (syscall(SYS_landlock_add_rule, r->fd, RULE_PORT, &rule, 0) < 0)
			return -errno;
	}
	return 0;
}

/* All of it */

static uint64_t
files_of(int abi)
{
	return FS_ABI_1 | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
	       (abi >= 5 ? FS_IOCTL_DEV : 0);
}

static int
rules_open(struct rules *r, const struct confinement *c)
{
	int abi = rules__abi();
	bool strict = c->profile == CONFINE_STRICT;
	uint64_t tcp = (strict || c->tcp ? TCP_CONNECT : 0) | (strict ? TCP_BIND : 0);
	struct ruleset_attr attr = {
	    .files = r->handled = files_of(abi),
	    .net = abi >= 4 ? tcp : 0,
	    .scoped = abi >= 6 ? SCOPE_ALL : 0,
	};

	r->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (r->fd < 0)
		return -errno;
	return attr.net ? grant_ports(r, c) : 0;
}

static int
rules_shut(struct rules *r, const struct confinement *c, const char *home)
{
	int rc = 0;

	for (const char *const *path = c->shut; rc == 0 && path && *path; path++)
		rc = shut_add(r, *path, 0);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(home_secrets); i++)
		rc = shut_push(r, real_path(r->arena, arena_printf(r->arena, "%s/%s", home,
								   home_secrets[i])));
	return rc;
}

static int
rules_fill(struct rules *r, const struct confinement *c, const char *program, const char *home)
{
	const char *const more[] = {c->temporary, NULL}, *const start[] = {program, NULL};
	int rc;

	if ((rc = grant_system(r, c->profile == CONFINE_STRICT)) < 0 ||
	    (rc = grant_home(r, home)) < 0 || (rc = grant_path(r, home)) < 0 ||
	    (rc = grant_list(r, start, RUN)) < 0 || (rc = grant_list(r, c->read, RUN)) < 0 ||
	    (rc = grant_list(r, c->write, WRITE)) < 0)
		return rc;
	return grant_list(r, more, WRITE);
}

static int
rules_make(struct rules *r, const struct confinement *c, const char *program, struct err *e)
{
	const char *home = environ_home();
	int rc = rules_shut(r, c, home);

	if (rc < 0)
		return err_plain(e, rc);
	if ((rc = rules_open(r, c)) == 0 && (rc = rules_fill(r, c, program, home)) == 0)
		return 0;
	if (r->fd >= 0)
		close(r->fd);
	if (rc == -E2BIG)
		return err_set(
		    e, E_LIMIT,
		    "a directory that holds holdfast's own files and over %d others cannot be "
		    "granted around them: use another workspace, or confinement: open",
		    LIMIT_CONFINE_RULES);
	return err_errno(e, E_SYSTEM, -rc, "the rules of a confined child");
}

/* The last one, kept */

/* A path, and what is there now: it may be replaced, or be made. */
static void
key_add(struct buf *key, const char *path)
{
	struct stat st = {0};

	(void)stat(path, &st);
	buf_addf(key, "%s%c%llx:%llx\n", path, '\0', (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
}

static void
key_add_list(struct buf *key, const char *const *paths)
{
	for (; paths && *paths; paths++)
		key_add(key, *paths);
	buf_addc(key, '\n');
}

static void
key_make(struct buf *key, const struct confinement *c, const char *program)
{
	const char *const rest[] = {program ? program : "", c->temporary, NULL};
	char git[PATH_MAX];

	snprintf(git, sizeof(git), "%s/%s", environ_home(), home_places[0]);
	key_add(key, git); /* the only file among those */
	key_add_list(key, rest);
	key_add_list(key, c->read);
	key_add_list(key, c->write);
	key_add_list(key, c->shut);
	for (size_t i = 0; c->tcp && i < c->tcp_count; i++)
		buf_addf(key, "%u,", c->tcp[i]);
	buf_addf(key, "%c%d", c->tcp ? 't' : '-', (int)c->profile);
}

void
rules__forget(struct confine_kept *k)
{
	if (k->key.len)
		close(k->fd);
	buf_done(&k->key);
}

/* Commands come in bursts, and a ruleset takes a millisecond. Kept for so short a time nobody
 * notices that /etc has a new file; one that was put around something shut is not kept at all. */
static void
rules_keep(struct confine_kept *k, const struct rules *r, struct buf *key)
{
	if (!k || r->around || buf_failed(key))
		return;
	int fd = fcntl(r->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return;
	rules__forget(k);
	*k = (struct confine_kept){.key = buf_take(key), .made_us = clock_mono_us(), .fd = fd};
}

int
rules__new(const struct confinement *c, const char *program, struct arena *a, int *ret_fd,
	   struct err *e)
{
	struct rules r = {.arena = a, .fd = -1};
	struct confine_kept *k = c->kept;
	struct buf key = BUF_INIT(LIMIT_CHILD_START);
	int rc = 0;

	key_make(&key, c, program);
	if (k && k->key.len && clock_mono_us() - k->made_us < LIMIT_CONFINE_KEPT_MS * 1000 &&
	    str_eq(buf_str(&key), buf_str(&k->key)))
		r.fd = fcntl(k->fd, F_DUPFD_CLOEXEC, 0);
	if (r.fd < 0 && (rc = rules_make(&r, c, program, e)) == 0)
		rules_keep(k, &r, &key);
	buf_done(&key);
	*ret_fd = r.fd;
	return rc;
}
