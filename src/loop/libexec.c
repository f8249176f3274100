/* libexec.c - where the programs are that belong to this one. */

#include "loop/libexec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"

/* Beside the program, or in the build directory as seen from it and from a unit test. */
static const char *const places[] = {"", "/src/minder", "/../../src/minder"};

bool
libexec_find(const char *name, char path[static LIMIT_PATH])
{
	char dir[LIMIT_PATH];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	dir[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && i < ARRAY_LEN(places); i++) {
		int len = snprintf(path, LIMIT_PATH, "%s%s/%s", dir, places[i], name);
		if (len < LIMIT_PATH && access(path, X_OK) == 0)
			return true;
	}
	snprintf(path, LIMIT_PATH, "%s/%s", LIBEXEC_DIR, name);
	return access(path, X_OK) == 0;
}
