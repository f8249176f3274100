/*
 * cmd_plugin_host.c - the process a plugin lives in: a small gateway whose tools are the plugin's,
 * speaking MCP over standard input and output to the gateway that asks, keeps and undoes.
 *
 * Foreign code runs here and nowhere else. What it does to this process, by a wild pointer, an exit
 * or a loop, costs its own calls; whoever started this one starts another.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "cli/args.h"
#include "cli/attach.h"
#include "cli/crash.h"
#include "holdfast.h"

#define LEAVE_S 2 /* for tools that are still at work, before this process goes without them */

/* So that a plugin that eats memory finds its own plate empty, not everybody's. With the address
 * sanitizer, whose shadow is larger than any limit, there is none. */
static bool
memory_limit(const char *mib)
{
	char *end = NULL;
	unsigned long n = mib ? strtoul(mib, &end, 10) : 0;
	struct rlimit limit = {.rlim_cur = n << 20, .rlim_max = n << 20};

	if (!mib)
		return true;
	if (*end || n < 16 || n > 1UL << 24)
		return false;
#if defined(__SANITIZE_ADDRESS__)
	return limit.rlim_cur > 0;
#else
	return setrlimit(RLIMIT_AS, &limit) == 0;
#endif
}

/* What a plugin prints must not fall into what is said to the gateway: its standard output is
 * standard error, and its input is empty. */
static bool
pipes_take(int ret[static 2])
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ret[0] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	ret[1] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return null >= 0 && ret[0] >= 0 && ret[1] >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
	       dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

typedef int plugin_entry(struct hf *hf);

/* NULL: what was wrong has been said. */
static plugin_entry *
plugin_load(const char *file)
{
	char path[LIMIT_PATH];

	/* A name without a slash would be looked for among the system's libraries. */
	if (!realpath(file, path)) {
		refuse("%s: there is no such plugin", file);
		return NULL;
	}
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		refuse("%s", dlerror());
		return NULL;
	}
	void *entry = dlsym(so, HF_PLUGIN_SYMBOL);
	if (!entry)
		refuse("%s: is no plugin for this version (it has no " HF_PLUGIN_SYMBOL ")", file);
	plugin_entry *call;
	memcpy(&call, &entry, sizeof(call)); /* ISO C knows no such cast */
	return call;
}

static void *
run(void *arg)
{
	hf_run(arg);
	return NULL;
}

/* Signals are for the thread that relays. */
static int
start_thread(struct hf *hf, pthread_t *ret)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(ret, NULL, run, hf);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* A tool that never returns must not keep the process. */
static void
leave(struct hf *hf, pthread_t thread, int code)
{
	struct timespec until;

	hf_stop(hf);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LEAVE_S;
	if (pthread_timedjoin_np(thread, NULL, &until) == 0)
		hf_close(hf);
	_exit(code); /* what the plugin would do at exit is nobody's wish */
}

static int
serve(struct hf *hf, plugin_entry *entry, const char *file, const int pipes[static 2])
{
	char here[LIMIT_PATH];
	pthread_t thread;

	if (entry(hf) < 0) {
		refuse("%s: the plugin refused to start: %s", file, hf_error(hf));
		hf_close(hf);
		return EXIT_NO_GATEWAY;
	}
	if (!getcwd(here, sizeof(here)) || start_thread(hf, &thread) != 0) {
		refuse("the system refused an operation");
		hf_close(hf);
		return EXIT_NO_GATEWAY;
	}
	struct api *api = api_around(hf);
	struct attach_wish wish = {.workspace = here, .surface = "all"};
	int code = api ? attach_pipes(&api, pipes, &wish) : EXIT_NO_GATEWAY;
	api_close(api);
	leave(hf, thread, code);
	return code;
}

int
cmd_plugin_host(const struct args *a)
{
	const char *file = a->words[0];
	struct hf *hf;
	int pipes[2];

	if (!memory_limit(args_value(a, "memory")))
		return usage_error(a, "--memory: a number of MiB from 16 on");
	crash_watch();
	log_set_level(LOG_WARN);
	log_set_form(LOG_FORM_TEXT);
	if (!pipes_take(pipes)) {
		refuse("the system refused an operation");
		return EXIT_NO_GATEWAY;
	}
	plugin_entry *entry = plugin_load(file);
	if (!entry)
		return EXIT_NO_GATEWAY;
	if (hf_open(&(struct hf_options){.inner = true, .alone = true}, &hf) < 0) {
		refuse("%s", hf_error(NULL));
		return EXIT_NO_GATEWAY;
	}
	return serve(hf, entry, file, pipes);
}
