/*
 * minder.c - holdfast-minder: runs one program and ends everything that came of it.
 *
 *   owner --control--> minder --fork--> program --> whatever it starts
 *         <--notes---'   ^-- orphans come back here (child subreaper)
 *
 * Invariants:
 *  1. Nothing but SIGKILL and SIGSTOP acts on the minder: all signals stay blocked, and the
 *     death of the owner brings SIGCONT, so that even a stopped minder sees the control
 *     socket end.
 *  2. It leaves only when waitpid knows no child any more (or only such as the kernel does
 *     not let go), so whatever the program left behind is gone by then.
 *  3. It signals only descendants of its own, each by pidfd, and the program's process group
 *     only while the program is not reaped and its number cannot mean another group.
 */

#include "minder/minder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "minder/proc.h"

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif
#define PASS_MS 10 /* between two looks for survivors; SIGCHLD comes sooner as a rule */

struct minder {
	struct proc self;
	char **argv; /* of the program */
	unsigned grace_ms;
	pid_t program;
	bool program_over;   /* and reaped */
	bool ladder;         /* SIGTERM was sent */
	uint64_t kill_at_ms; /* the end of the grace */
	bool killing;
	uint64_t stuck_at_ms; /* when to give up on those SIGKILL does not end */
	struct minder_note start, end;
};

static struct minder_orders orders;

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int
note_send(const struct minder_note *note)
{
	return send(MINDER_CONTROL, note, sizeof(*note), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/*
 * What happens between fork and the program, top to bottom. Each step returns 0, or -1 with
 * errno; one that fails keeps the program from starting. The order matters: the directory is
 * entered while all of them can be, the privileges go before what needs no_new_privs, and the
 * filter comes last of what confines. (Until exec the process is not dumpable, as the minder is.)
 */

static int
step_leash(struct minder *m)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -1;
	if (getppid() == m->self.pid)
		return 0;
	errno = ESRCH; /* the minder died before the leash was on */
	return -1;
}

static int
step_session(struct minder *m)
{
	(void)m;
	return setsid() < 0 ? -1 : 0;
}

static int
step_name(struct minder *m)
{
	struct proc me;

	if (!proc_read(getpid(), &me))
		return -1;
	m->start.word = MINDER_STARTED;
	m->start.pid = me.pid;
	m->start.start = me.start;
	return 0;
}

static rlim_t
limit_value(uint64_t wanted, rlim_t now, rlim_t base)
{
	return wanted == MINDER_KEEP || wanted + base > now ? now : wanted + base;
}

/* Limits only go down. */
static int
step_limits(struct minder *m)
{
	struct sysinfo machine;
	struct rlimit now;

	(void)m;
	if (sysinfo(&machine) < 0)
		return -1;
	for (size_t i = 0; i < orders.limit_count; i++) {
		const struct minder_limit *l = &orders.limits[i];
		rlim_t base = l->beyond ? machine.procs : 0;
		if (getrlimit((__rlimit_resource_t)l->resource, &now) < 0)
			return -1;
		now.rlim_max = limit_value(l->hard, now.rlim_max, base);
		now.rlim_cur = limit_value(l->soft, now.rlim_max, base);
		if (setrlimit((__rlimit_resource_t)l->resource, &now) < 0)
			return -1;
	}
	return 0;
}

static int
step_directory(struct minder *m)
{
	(void)m;
	return fchdir(MINDER_CWD);
}

static int
step_descriptors(struct minder *m)
{
	(void)m;
	return close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int
step_signals(struct minder *m)
{
	sigset_t none;

	(void)m;
	/* libc refuses its own two, and the kernel SIGKILL and SIGSTOP: no matter. */
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What root is left with after exec is what the bounding set holds. Others have none to lose. */
static int
step_privileges(struct minder *m)
{
	(void)m;
	if (orders.capabilities != MINDER_KEEP)
		(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int i = 0; geteuid() == 0 && i < 64 && prctl(PR_CAPBSET_READ, i) >= 0; i++)
		if (!(orders.capabilities >> i & 1) && prctl(PR_CAPBSET_DROP, i) < 0 &&
		    errno != EPERM) /* who may not drop any is no real root */
			return -1;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int
step_rules(struct minder *m)
{
	(void)m;
	return orders.rules ? (int)syscall(SYS_landlock_restrict_self, MINDER_RULES, 0) : 0;
}

static int
step_filter(struct minder *m)
{
	struct sock_fprog program = {(unsigned short)orders.filter_len, orders.filter};

	(void)m;
	return orders.filter_len ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) : 0;
}

/* The owner must know the program before the program can do anything about its minder. */
static int
step_announce(struct minder *m)
{
	return note_send(&m->start);
}

static int
step_exec(struct minder *m)
{
	return execvp(m->argv[0], m->argv); /* environ is the program's own by now */
}

static const struct {
	const char *what; /* after "cannot" */
	int (*take)(struct minder *m);
	uint32_t layers; /* that are on then, where they were ordered */
} steps[] = {
    {"tie the program to its minder", step_leash, LAYER_DEATH},
    {"make a session", step_session, LAYER_GROUP},
    {"read who it is", step_name, 0},
    {"set its limits", step_limits, LAYER_LIMITS},
    {"enter its directory", step_directory, 0},
    {"close its descriptors", step_descriptors, LAYER_DESCRIPTORS},
    {"reset its signals", step_signals, 0},
    {"take its privileges", step_privileges, LAYER_PRIVILEGES},
    {"confine its files", step_rules, LAYER_FILES | LAYER_SIGNALS | LAYER_TCP},
    {"confine its system calls", step_filter, LAYER_SYSCALLS},
    {"announce the program", step_announce, 0},
    {"start", step_exec, 0},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

struct failure {
	uint32_t step;
	int32_t error;
};

_Noreturn static void
program_become(struct minder *m, int failure_fd)
{
	struct failure f = {0};

	while (f.step < STEPS && steps[f.step].take(m) == 0)
		m->start.layers |= steps[f.step++].layers & orders.layers;
	f.error = errno;
	if (write(failure_fd, &f, sizeof(f)) < 0)
		_exit(126);
	_exit(127);
}

static void
failure_describe(struct minder *m, struct failure f)
{
	char *reason = m->end.reason;
	size_t room = sizeof(m->end.reason);

	m->end.word = MINDER_FAILED;
	if (f.step != STEPS - 1)
		snprintf(reason, room, "cannot %s: %s", steps[f.step].what, strerror(f.error));
	else if (f.error == ENOENT)
		snprintf(reason, room, "no such program: %s", m->argv[0]);
	else if (f.error == EACCES && orders.rules)
		snprintf(reason, room, "confined as it is, it may not run %s", m->argv[0]);
	else
		snprintf(reason, room, "cannot start %s: %s", m->argv[0], strerror(f.error));
}

/* The pipe closes on exec: what can be read from it is why there was none. */
static int
program_start(struct minder *m)
{
	int pipe_fds[2];
	struct failure f;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0 || (m->program = fork()) < 0) {
		m->end.word = MINDER_FAILED;
		snprintf(m->end.reason, sizeof(m->end.reason), "cannot make a process: %s",
			 strerror(errno));
		return -1;
	}
	if (m->program == 0)
		program_become(m, pipe_fds[1]);
	close(pipe_fds[1]);
	ssize_t n = read(pipe_fds[0], &f, sizeof(f));
	close(pipe_fds[0]);
	if (n != sizeof(f))
		return 0;
	waitpid(m->program, NULL, 0);
	failure_describe(m, f);
	return -1;
}

/* The minder must not hold the program's streams open: their end is the program's to make. */
static void
streams_let_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	close(MINDER_CWD);
	if (orders.rules)
		close(MINDER_RULES);
}

/* One look at all descendants. */
struct pass {
	const struct minder *m;
	int signums[2]; /* 0 = none */
	unsigned found;
	unsigned stuck; /* asleep in the kernel, waiting for such a one, or of another user */
};

static void
pass_visit(const struct proc *p, void *arg)
{
	struct pass *pass = arg;
	int rc = 0;

	if (p->start < pass->m->self.start || proc_branch(p->pid, &pass->m->self) <= 0)
		return;
	for (size_t i = 0; i < 2 && pass->signums[i]; i++)
		rc = proc_signal(p, pass->signums[i]);
	pass->found++;
	pass->stuck += p->state == 'D' || p->state == 'Z' || rc == -EPERM;
}

/* SIGCONT, because one who is stopped cannot answer SIGTERM. */
static void
ladder_start(struct minder *m)
{
	struct pass pass = {.m = m, .signums = {SIGTERM, SIGCONT}};

	if (m->ladder)
		return;
	m->ladder = true;
	m->kill_at_ms = now_ms() + m->grace_ms;
	proc_each(pass_visit, &pass);
}

/*
 * Called again and again until nobody is left: who forks faster than one look takes is met
 * at the next, and orphans of the killed have become children of the minder by then.
 * False when only those remain that SIGKILL did not end for a long time.
 */
static bool
kill_everything(struct minder *m)
{
	struct pass pass = {.m = m, .signums = {SIGKILL, 0}};

	if (!m->program_over)
		kill(-m->program, SIGKILL); /* the whole group at one instant */
	proc_each(pass_visit, &pass);
	if (pass.found > pass.stuck || m->stuck_at_ms == 0)
		m->stuck_at_ms = now_ms() + MINDER_STUCK_MS;
	if (now_ms() < m->stuck_at_ms)
		return true;
	m->end.leftovers += pass.found;
	return false;
}

static void
program_ended(struct minder *m, int code, int status)
{
	m->program_over = true;
	if (code == CLD_EXITED)
		m->end.status = status;
	else
		m->end.signal = status;
	/* Before it is reaped, while the group's number is still its own. In the ladder the others
	 * have their grace too. */
	if (!m->ladder)
		kill(-m->program, SIGKILL);
}

/* Bury the dead. True while there are others. */
static bool
reap(struct minder *m)
{
	siginfo_t dead;

	for (;;) {
		dead.si_pid = 0;
		if (waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) < 0)
			return false;
		if (dead.si_pid == 0)
			return true;
		if (dead.si_pid == m->program)
			program_ended(m, dead.si_code, dead.si_status);
		else if ((m->killing || m->program_over) && dead.si_code == CLD_KILLED &&
			 dead.si_status == SIGKILL)
			m->end.leftovers++;
		waitpid(dead.si_pid, NULL, 0);
	}
}

/* False at the end of the control socket. */
static bool
control_obey(struct minder *m)
{
	char order = MINDER_KILL;
	ssize_t n = recv(MINDER_CONTROL, &order, 1, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n == 1 && order == MINDER_END)
		ladder_start(m);
	else
		m->killing = true;
	return n == 1;
}

static int
patience_ms(const struct minder *m)
{
	if (m->killing)
		return PASS_MS;
	if (!m->ladder)
		return -1;
	uint64_t now = now_ms(), left = m->kill_at_ms > now ? m->kill_at_ms - now : 0;
	return left < INT_MAX ? (int)left : INT_MAX;
}

static void
mind(struct minder *m, int deaths_fd)
{
	struct pollfd fds[] = {{.fd = MINDER_CONTROL, .events = POLLIN},
			       {.fd = deaths_fd, .events = POLLIN}};
	struct signalfd_siginfo ignored;

	while (reap(m)) {
		if (m->ladder ? now_ms() >= m->kill_at_ms : m->program_over)
			m->killing = true;
		if (m->killing && !kill_everything(m))
			break;
		if (poll(fds, 2, patience_ms(m)) <= 0)
			continue;
		if (fds[0].revents && !control_obey(m))
			fds[0].fd = -1;
		while (fds[1].revents && read(deaths_fd, &ignored, sizeof(ignored)) > 0)
			;
	}
}

static int
orders_take(void)
{
	ssize_t n = recv(MINDER_CONTROL, &orders, sizeof(orders), 0);

	if (n >= (ssize_t)MINDER_ORDERS_BYTES(0) && orders.filter_len <= MINDER_FILTER &&
	    n == (ssize_t)MINDER_ORDERS_BYTES(orders.filter_len) &&
	    orders.limit_count <= MINDER_LIMITS)
		return 0;
	errno = n < 0 ? errno : EPROTO;
	return -1;
}

/* Where the minder stands alone; see invariant 1. */
static int
minder_prepare(struct minder *m)
{
	sigset_t all, deaths;

	sigfillset(&all);
	sigemptyset(&deaths);
	sigaddset(&deaths, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || signal(SIGCHLD, SIG_DFL) == SIG_ERR)
		return -1;
	setsid(); /* no terminal's signals; fails only where there is nothing to do */
	/* Not dumpable: the program cannot take the control socket out of its minder. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGCONT) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0) < 0 || !proc_read(getpid(), &m->self))
		return -1;
	fcntl(MINDER_CWD, F_SETFD, FD_CLOEXEC);
	if (fcntl(MINDER_CONTROL, F_SETFD, FD_CLOEXEC) < 0 || orders_take() < 0)
		return -1;
	return signalfd(-1, &deaths, SFD_CLOEXEC | SFD_NONBLOCK);
}

int
main(int argc, char **argv)
{
	struct minder m = {.end.word = MINDER_OVER};

	if (argc < 3) {
		fputs("holdfast-minder is started by holdfast, not by hand\n", stderr);
		return 2;
	}
	m.grace_ms = (unsigned)strtoul(argv[1], NULL, 10);
	m.argv = argv + 2;
	for (char **entry = environ; *entry; entry++)
		(*entry)++; /* over MINDER_ENV_MARK */
	int deaths_fd = minder_prepare(&m);
	if (deaths_fd < 0) {
		m.end.word = MINDER_FAILED;
		snprintf(m.end.reason, sizeof(m.end.reason), "the minder cannot work: %s",
			 strerror(errno));
	} else if (program_start(&m) == 0) {
		streams_let_go();
		mind(&m, deaths_fd);
	}
	note_send(&m.end);
	_exit(0);
}
