/* launch.c - starting a minder: where it is, what it is given, and the vfork. */

#include "loop/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/limits.h"
#include "loop/confine_inside.h"
#include "loop/libexec.h"

#define PIPE_BYTES (1024 * 1024)

static char minder_set[LIMIT_PATH];

void
child_set_minder(const char *path)
{
	CHECK(strlen(path) < sizeof(minder_set));
	strcpy(minder_set, path);
}

static bool
minder_find(char path[static LIMIT_PATH])
{
	if (!minder_set[0])
		return libexec_find("holdfast-minder", path);
	strcpy(path, minder_set);
	return true; /* whether it is there, the start will tell */
}

struct launch {
	const struct child_spec *spec;
	struct launched *ours;
	const struct minder_orders *orders;
	int fds[MINDER_FDS]; /* the minder's, all of them at MINDER_FDS or above; -1 = none yet */
	char path[LIMIT_PATH];
	char **argv;
	char **env;
	volatile int error; /* of exec; written by the vfork child in our memory */
};

/* Each descriptor comes out above those that the minder is to have, so that none is in the way. */
static int
fd_raise(int *fd)
{
	if (*fd < 0 || *fd >= MINDER_FDS)
		return 0;
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, MINDER_FDS);
	if (high < 0)
		return -1;
	close(*fd);
	*fd = high;
	return 0;
}

static int
launch_pipe(struct launch *s, int number)
{
	int ends[2], from_child = number != STDIN_FILENO;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	/* Long messages in fewer pieces; where the system gives no more, what there is will do. */
	(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	s->fds[number] = ends[from_child];
	s->ours->streams[number] = ends[!from_child];
	return 0;
}

static int
launch_pipes(struct launch *s)
{
	int ends[2];

	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if ((i != STDIN_FILENO || s->spec->with_stdin) && launch_pipe(s, i) < 0)
			return -1;
	if (!s->spec->with_stdin)
		s->fds[STDIN_FILENO] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	s->ours->control = ends[0];
	s->fds[MINDER_CONTROL] = ends[1];
	s->fds[MINDER_CWD] = fcntl(s->spec->cwd_fd, F_DUPFD_CLOEXEC, MINDER_FDS);
	for (int i = 0; i < MINDER_FDS; i++)
		if ((s->fds[i] < 0 && i != MINDER_RULES) || fd_raise(&s->fds[i]) < 0)
			return -1;
	return 0;
}

/* They lie in the socket when the minder comes. */
static int
launch_order(const struct launch *s)
{
	size_t len = MINDER_ORDERS_BYTES(s->orders->filter_len);

	return send(s->ours->control, s->orders, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

static size_t
strings_count(const char *const *strings)
{
	size_t n = 0;

	while (strings[n])
		n++;
	return n;
}

/* Programs look for a place to write in these. */
static const struct {
	const char *name;
	const char *below; /* the temporary directory */
} temporaries[] = {{"TMPDIR=", ""}, {"XDG_CACHE_HOME=", "/cache"}};

static bool
is_temporary(const char *entry)
{
	for (size_t i = 0; i < ARRAY_LEN(temporaries); i++)
		if (strncmp(entry, temporaries[i].name, strlen(temporaries[i].name)) == 0)
			return true;
	return false;
}

static int
launch_env(struct launch *s, struct arena *a)
{
	const struct child_spec *spec = s->spec;
	const char *dir = spec->confinement ? spec->confinement->temporary : NULL;
	size_t n = 0, vars = strings_count(spec->env);

	if (!(s->env = arena_alloc(a, (vars + ARRAY_LEN(temporaries) + 1) * sizeof(char *))))
		return -1;
	for (size_t i = 0; i < vars; i++)
		if ((!dir || !is_temporary(spec->env[i])) &&
		    !(s->env[n++] = arena_printf(a, "%c%s", MINDER_ENV_MARK, spec->env[i])))
			return -1;
	for (size_t i = 0; dir && i < ARRAY_LEN(temporaries); i++)
		if (!(s->env[n++] = arena_printf(a, "%c%s%s%s", MINDER_ENV_MARK,
						 temporaries[i].name, dir, temporaries[i].below)))
			return -1;
	s->env[n] = NULL;
	return 0;
}

/* See minder/minder.h for what the minder wants to be told. */
static int
launch_strings(struct launch *s, struct arena *a)
{
	const struct child_spec *spec = s->spec;
	size_t args = strings_count(spec->argv);

	CHECK(args > 0);
	s->argv = arena_alloc(a, (args + 3) * sizeof(char *));
	if (!s->argv)
		return -1;
	s->argv[0] = s->path;
	if (!(s->argv[1] = arena_printf(a, "%u", spec->grace_ms)))
		return -1;
	for (size_t i = 0; i < args; i++)
		s->argv[i + 2] =
		    (char *)(uintptr_t)spec->argv[i]; /* NOLINT: execve writes to none */
	return launch_env(s, a);
}

/* In the vfork child: system calls only, and of our memory only s->error. */
_Noreturn static void
launch_exec(struct launch *s)
{
	for (int i = 0; i < MINDER_FDS; i++)
		if (s->fds[i] >= 0 ? dup2(s->fds[i], i) < 0 : close(i) < 0 && errno != EBADF)
			goto fail;
	close_range(MINDER_FDS, ~0U, 0);
	execve(s->path, s->argv, s->env);
fail:
	s->error = errno;
	_exit(127);
}

/* No handler of the host may run in the vfork child: it shares our memory. The mask stays so. */
__attribute__((noinline)) static int
launch_vfork(struct launch *s)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* The child calls nothing but system calls, and posix_spawn cannot do all of them. */
	pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
	if (pid == 0)
		launch_exec(s); /* NOLINT(clang-analyzer-unix.Vfork) */
	int error = pid < 0 ? errno : s->error;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->ours->pid = pid;
	return error;
}

static int
launch_minder(struct launch *s, struct err *e)
{
	struct launched *ours = s->ours;
	int error = launch_vfork(s);

	if (error == 0 && (ours->pidfd = (int)syscall(SYS_pidfd_open, ours->pid, 0)) < 0)
		error = errno;
	if (error == 0)
		return 0;
	close(ours->control); /* which ends it, if it is there */
	ours->control = -1;
	while (ours->pid > 0 && waitpid(ours->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err_errno(e, E_SYSTEM, error, s->path);
}

static int
launch_prepare(struct launch *s, struct arena *a, struct err *e)
{
	if (!minder_find(s->path))
		return err_set(e, E_SYSTEM,
			       "nothing can be started: holdfast-minder is neither beside the "
			       "program nor in its libexec directory");
	if (!a || launch_strings(s, a) < 0)
		return err_plain(e, E_NOMEM);
	const char *program = s->spec->argv[0][0] == '/' ? s->spec->argv[0] : NULL;
	int rc =
	    confine__orders(s->spec->confinement, program, a, &s->orders, &s->fds[MINDER_RULES], e);
	if (rc < 0)
		return rc;
	if (launch_pipes(s) < 0 || launch_order(s) < 0)
		return err_errno(e, E_SYSTEM, errno, "pipes of a child");
	return 0;
}

static void
fds_close(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int
child__launch(const struct child_spec *spec, struct launched *ret, struct err *e)
{
	struct launch s = {.spec = spec, .ours = ret, .fds = {-1, -1, -1, -1, -1, -1}};
	struct arena *a = arena_new(LIMIT_CHILD_START);

	*ret = (struct launched){.streams = {-1, -1, -1}, .control = -1, .pidfd = -1};
	int rc = launch_prepare(&s, a, e);
	if (rc == 0)
		rc = launch_minder(&s, e);
	arena_free(a);
	fds_close(s.fds, MINDER_FDS);
	if (rc < 0) {
		fds_close(ret->streams, 3);
		fds_close(&ret->control, 1);
	}
	return rc;
}
