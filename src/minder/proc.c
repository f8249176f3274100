/* proc.c - reading /proc, and signals that reach the process meant or nobody. */

#include "minder/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TRIES 64   /* a walk begun again because a parent went away under it */
#define DEPTH 8192 /* generations */

/* proc(5): pid (name) state ppid pgrp session ..., start is field 22. The name may hold anything.
 */
static bool
stat_parse(const char *text, struct proc *ret)
{
	const char *end = strrchr(text, ')');
	unsigned long long start;

	if (!end ||
	    sscanf(end + 1,
		   " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &ret->state, &ret->parent, &ret->group, &ret->session, &start) != 5)
		return false;
	ret->start = start;
	return true;
}

bool
proc_read(int pid, struct proc *ret)
{
	char path[32], text[1024];

	if (pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	ret->pid = pid;
	return stat_parse(text, ret);
}

uint64_t
proc_now(void)
{
	struct timespec t;
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * hz + (uint64_t)t.tv_nsec * hz / 1000000000;
}

/* One walk from pid up; -1 when the way broke off. */
static int
branch_walk(int pid, const struct proc *top)
{
	struct proc at, up;

	if (pid == top->pid)
		return 0;
	if (!proc_read(pid, &at))
		return -1;
	for (int depth = 0; depth < DEPTH; depth++) {
		if (at.parent == top->pid)
			return at.pid;
		if (at.parent == 0 || at.start < top->start)
			return 0; /* as old as the machine, or older than top */
		if (!proc_read(at.parent, &up) || up.start > at.start)
			return -1;
		at = up;
	}
	return -1;
}

int
proc_branch(int pid, const struct proc *top)
{
	int branch = -1;

	for (int i = 0; i < TRIES && branch < 0; i++)
		branch = branch_walk(pid, top);
	return branch;
}

/* A pidfd holds on to a process, so what is read after it was opened is about that process. */
int
proc_signal(const struct proc *p, int signum)
{
	struct proc now;
	int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);

	if (fd < 0)
		return -errno;
	int rc = -ESRCH;
	if (proc_read(p->pid, &now) && now.start == p->start)
		rc = syscall(SYS_pidfd_send_signal, fd, signum, NULL, 0) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

int
proc_each(void (*visit)(const struct proc *p, void *arg), void *arg)
{
	DIR *dir = opendir("/proc");
	struct proc p;

	if (!dir)
		return -errno;
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (proc_read(atoi(entry->d_name), &p))
			visit(&p, arg);
	closedir(dir);
	return 0;
}
