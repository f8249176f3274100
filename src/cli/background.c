/*
 * background.c - a gateway as a daemon: forked twice, so that it is no descendant of the client.
 *
 *	holdfast mcp --> a child, over at once --> holdfast serve, a child of init
 *
 * Clients end what they started with all that descends from it, and others share this gateway.
 */

#include "cli/background.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define START_MS 15000 /* it may have to wait for one that ends */
#define LOOK_MS 20
#define IDLE_SECONDS "600" /* then a daemon nobody uses ends */

/* Its own session, nothing of ours open, its complaints in a file. What it says at the start has
 * the token in it, and goes nowhere. */
static _Noreturn void
become_daemon(const struct background *wish, const char *log)
{
	const char *argv[12] = {"holdfast", "serve",       "--listen",
				"auto",     "--idle-exit", IDLE_SECONDS};
	const struct {
		const char *option, *value;
	} more[] = {{"--config", wish->config}, {"--workspace", wish->workspace}};
	size_t n = 6;
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		if (!more[i].value)
			continue;
		argv[n++] = more[i].option;
		argv[n++] = more[i].value;
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	int null = open("/dev/null", O_RDWR), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(out, 2) < 0)
		_exit(127);
	closefrom(3);
	if (chdir("/") < 0) /* it outlives whatever is mounted here */
		_exit(127);
	execv("/proc/self/exe", (char *const *)argv);
	_exit(127);
}

/* In the child that is over at once: who it was that it started. */
static _Noreturn void
fork_again(const struct background *wish, const char *log, int tell)
{
	pid_t daemon = fork();

	if (daemon == 0)
		become_daemon(wish, log);
	bool told = daemon > 0 && write(tell, &daemon, sizeof(daemon)) == sizeof(daemon);
	_exit(told ? 0 : 1);
}

/* A descriptor that can be read once the daemon has ended; -1: it has already. */
static int
start(const struct background *wish, const char *log, int *ret_pidfd, struct err *e)
{
	pid_t daemon = 0, child;
	int told[2];

	if (pipe2(told, O_CLOEXEC) < 0)
		return err_errno(e, E_SYSTEM, errno, "pipe");
	if ((child = fork()) == 0)
		fork_again(wish, log, told[1]);
	int errnum = errno;
	close(told[1]);
	bool started = child > 0 && read(told[0], &daemon, sizeof(daemon)) == sizeof(daemon);
	close(told[0]);
	if (child < 0)
		return err_errno(e, E_SYSTEM, errnum, "fork");
	waitpid(child, NULL, 0);
	if (!started)
		return err_set(e, E_SYSTEM, "the gateway could not be started");
	*ret_pidfd = (int)syscall(SYS_pidfd_open, daemon, 0);
	return 0;
}

/* Somebody else may be starting one at the same moment; then ours ends when that one answers. */
static int
await(int pidfd, const char *log, struct api **ret, struct err *e)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	uint64_t until = clock_mono_ms() + START_MS;

	while (pidfd >= 0 && clock_mono_ms() < until && poll(&ended, 1, LOOK_MS) <= 0)
		if (api_open(API_DAEMON, NULL, ret, e) == 0)
			return 0;
	if (api_open(API_DAEMON, NULL, ret, e) == 0)
		return 0;
	return err_set(e, E_STOPPING, "the gateway did not start; %s says why", log);
}

int
background_start(const struct background *wish, struct api **ret, struct err *e)
{
	struct background whole = *wish;
	struct path dir, log, config;
	int pidfd = -1, code;

	if ((code = path_state(&dir, e)) < 0 || (code = path_make_dir(dir.text, e)) < 0 ||
	    (code = path_in_state(&log, "daemon.log", e)) < 0)
		return code;
	if (wish->config && !(whole.config = realpath(wish->config, config.text)))
		return err_set(e, E_CONFIG, "%s: %s", wish->config, strerror(errno));
	if ((code = start(&whole, log.text, &pidfd, e)) < 0)
		return code;
	code = await(pidfd, log.text, ret, e);
	if (pidfd >= 0)
		close(pidfd);
	return code;
}
