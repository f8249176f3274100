/* cmd_watch.c - `holdfast watch` becomes holdfast-watch. */

#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/args.h"
#include "loop/libexec.h"

int
cmd_watch(const struct args *a)
{
	char path[LIMIT_PATH];

	(void)a;
	if (libexec_find("holdfast-watch", path))
		execl(path, "holdfast-watch", (char *)NULL);
	else
		errno = ENOENT;
	return refuse("the screen cannot be shown: holdfast-watch: %s", strerror(errno));
}
