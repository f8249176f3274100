/* redis_house.h - a real Redis or Valkey on a socket in a directory of its own, ended by its id. */

#ifndef TESTS_EFFECT_REDIS_HOUSE_H
#define TESTS_EFFECT_REDIS_HOUSE_H

#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct redis_house {
	char dir[64];
	char url[128];
	pid_t pid; /* 0: it does not run */
};

static inline void
redis_house_start(struct redis_house *h, const char *appendonly)
{
	char socket[96];
	/* Debian has the server in redis-tools, too, under the name of a program that checks. */
	static const char *const names[] = {"redis-server", "valkey-server", "redis-check-rdb"};

	snprintf(socket, sizeof(socket), "%s/s", h->dir);
	h->pid = fork();
	assert_true(h->pid >= 0);
	if (h->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves it behind */
		int null = open("/dev/null", O_RDWR);
		dup2(null, 0), dup2(null, 1), dup2(null, 2);
		for (size_t i = 0; i < 3; i++)
			execlp(names[i], "redis-server", "--port", "0", "--unixsocket", socket,
			       "--dir", h->dir, "--appendonly", appendonly, "--appendfsync",
			       "always", "--save", "", (char *)NULL);
		_exit(127);
	}
}

static inline void
redis_house_kill(struct redis_house *h)
{
	int status;

	if (h->pid <= 0)
		return;
	kill(h->pid, SIGKILL);
	waitpid(h->pid, &status, 0);
	h->pid = 0;
}

static inline bool
redis_house_is_there(void)
{
	return system(
		   "command -v redis-server >/dev/null || command -v valkey-server >/dev/null || "
		   "command -v redis-check-rdb >/dev/null") == 0;
}

static inline void
redis_house_open(struct redis_house *h)
{
	*h = (struct redis_house){.pid = 0};
	strcpy(h->dir, "/tmp/holdfast-redis-XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	snprintf(h->url, sizeof(h->url), "unix://%s/s", h->dir);
}

static inline void
redis_house_close(struct redis_house *h)
{
	char command[128];

	redis_house_kill(h);
	snprintf(command, sizeof(command), "rm -rf '%s'", h->dir);
	assert_int_equal(system(command), 0);
}

#endif
