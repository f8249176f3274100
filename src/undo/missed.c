/* missed.c - a mark beside the file that a change was made which it could not take. */

#include "undo/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* False: there is none, what is in memory ends with its process. */
static bool
mark_path(struct undo *u, char out[static LIMIT_PATH])
{
	const char *file = sqlite3_db_filename(u->db, "main");
	int n = file && file[0] ? snprintf(out, LIMIT_PATH, "%s.missed", file) : 0;

	return n > 0 && n < LIMIT_PATH;
}

/* It is empty, so that it finds room on a disk that is full; its time says when it was last. */
bool
undo__missed_mark(struct undo *u)
{
	char path[LIMIT_PATH];

	if (!mark_path(u, path))
		return true;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	(void)futimens(fd, NULL);
	close(fd);
	return true;
}

/* Fail closed: what cannot be looked for is there. */
bool
undo__missed(struct undo *u)
{
	char path[LIMIT_PATH];

	return mark_path(u, path) && (access(path, F_OK) == 0 || errno != ENOENT);
}

void
undo__missed_forget(struct undo *u, int64_t before_us)
{
	char path[LIMIT_PATH];
	struct stat st;

	if (mark_path(u, path) && lstat(path, &st) == 0 &&
	    (int64_t)st.st_mtim.tv_sec * 1000000 < before_us)
		(void)unlink(path);
}
