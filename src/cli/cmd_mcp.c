/*
 * cmd_mcp.c - MCP over standard input and output: a relay to the shared daemon, which is started
 * when none runs. Standard output carries nothing but MCP messages.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/attach.h"
#include "cli/find.h"

#define START_MS 5000
#define LOOK_MS 20
#define IDLE_SECONDS "600" /* then a daemon nobody uses ends */

/* In the child: its own session, nothing of ours open, its complaints in a file. What it says at
 * the start has the token in it, and goes nowhere. */
static void
become_daemon(const char *log, const char *config)
{
	const char *argv[10] = {"holdfast", "serve",       "--listen",
				"auto",     "--idle-exit", IDLE_SECONDS};
	size_t n = 6;
	sigset_t none;

	if (config) {
		argv[n++] = "--config";
		argv[n++] = config;
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

static int
log_path(struct path *out, struct err *e)
{
	struct path dir;
	int code;

	if ((code = path_state(&dir, e)) < 0 || (code = path_make_dir(dir.text, e)) < 0)
		return code;
	int n = snprintf(out->text, sizeof(out->text), "%s/daemon.log", dir.text);
	return n > 0 && (size_t)n < sizeof(out->text) ? 0
						      : err_set(e, E_CONFIG, "a path is too long");
}

/* Somebody else may be starting one at the same moment; whose it is does not matter. */
static int
await_daemon(pid_t child, const char *log, struct api **ret, struct err *e)
{
	uint64_t until = clock_mono_ms() + START_MS;
	int status, code;

	while ((code = api_open(API_DAEMON, NULL, ret, e)) < 0 && clock_mono_ms() < until) {
		bool ended = waitpid(child, &status, WNOHANG) == child;
		if (ended && api_open(API_DAEMON, NULL, ret, e) == 0)
			return 0;
		if (ended)
			break;
		poll(NULL, 0, LOOK_MS);
	}
	return code < 0 ? err_set(e, E_STOPPING, "the gateway did not start; %s says why", log) : 0;
}

static int
start_daemon(const char *config, struct api **ret, struct err *e)
{
	struct path log, whole;
	int code = log_path(&log, e);

	if (code < 0)
		return code;
	if (config && !realpath(config, whole.text))
		return err_set(e, E_CONFIG, "%s: %s", config, strerror(errno));
	pid_t child = fork();
	if (child < 0)
		return err_errno(e, E_SYSTEM, errno, "fork");
	if (child == 0)
		become_daemon(log.text, config ? whole.text : NULL);
	return await_daemon(child, log.text, ret, e);
}

static int
attach(const struct args *a, struct api **ret, struct err *e)
{
	const char *config = args_value(a, "config");

	if (args_given(a, "standalone"))
		return api_open(API_PRIVATE | API_SERVERS, config, ret, e);
	int code = api_open(API_DAEMON, NULL, ret, e);
	if (code == E_STOPPING)
		return start_daemon(config, ret, e);
	if (code == 0 && config)
		refuse("a gateway is running already: --config has no effect on it");
	return code;
}

int
cmd_mcp(const struct args *a)
{
	struct path workspace;
	struct api *api = NULL;
	struct err e;
	int code = find_workspace(a, &workspace);

	if (code != EXIT_FINE)
		return code;
	if (attach(a, &api, &e) < 0) {
		refuse("%s", err_text(&e));
		return EXIT_NO_GATEWAY;
	}
	code = attach_stdio(api, &(struct attach_wish){.workspace = workspace.text,
						       .surface = args_value(a, "surface"),
						       .tenant = args_value(a, "tenant"),
						       .agent = args_value(a, "agent")});
	api_close(api);
	return code;
}
