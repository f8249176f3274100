/* holder.c - a locked file with a line in it: "PROCESS SOCKET". */

#include "cli/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"

#define LOCK_FILE "gateway.lock"
#define LINE_BYTES (LIMIT_PATH + 32)

/* Of the open file, not of the process: it can be asked about without being taken. */
static struct flock
whole_file(void)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static bool
line_parse(struct str line, struct holder *ret)
{
	struct str pid;

	if (!str_ends(line, S("\n")) || !str_split(&line, ' ', &pid) ||
	    !str_to_u64(pid, &ret->pid) || line.len < 2 || line.len > sizeof(ret->socket.text))
		return false;
	snprintf(ret->socket.text, sizeof(ret->socket.text), "%.*s", (int)line.len - 1, line.ptr);
	return true;
}

enum holder_state
holder_find(struct holder *ret)
{
	struct buf line = BUF_INIT(LINE_BYTES);
	struct flock lock = whole_file();
	struct path path;

	*ret = (struct holder){0};
	if (path_in_state(&path, LOCK_FILE, NULL) < 0)
		return HOLDER_NONE;
	int fd = open(path.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return HOLDER_NONE;
	/* First the lock: what is read after it is no older. */
	bool lives = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	bool told = file_slurp(fd, &line) && line_parse(buf_str(&line), ret);
	close(fd);
	buf_done(&line);
	if (lives)
		return HOLDER_LIVES;
	return told ? HOLDER_FELL : HOLDER_NONE;
}

/* Others are elsewhere: they need the whole path. */
static int
line_write(int fd, const char *socket, struct err *e)
{
	struct buf line = BUF_INIT(LINE_BYTES);
	char here[LIMIT_PATH] = "";

	if (socket[0] != '/' && !getcwd(here, sizeof(here)))
		return err_set(e, E_CONFIG, "the current directory: %s", strerror(errno));
	buf_addf(&line, "%d %s%s%s\n", (int)getpid(), here, here[0] ? "/" : "", socket);
	bool written = !buf_failed(&line) && ftruncate(fd, 0) == 0 &&
		       pwrite(fd, line.ptr, line.len, 0) == (ssize_t)line.len;
	buf_done(&line);
	return written ? 0 : err_set(e, E_CONFIG, "cannot write to %s", LOCK_FILE);
}

int
holder_become(const char *socket, int *ret_fd, struct err *e)
{
	struct flock lock = whole_file();
	struct path path;
	int code = path_in_state(&path, LOCK_FILE, e);

	if (code < 0)
		return code;
	int fd = open(path.text, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set(e, E_CONFIG, "%s: %s", path.text, strerror(errno));
	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		code = line_write(fd, socket, e);
	else if (errno == EAGAIN || errno == EACCES)
		code = err_plain(e, E_EXISTS);
	else
		code = err_set(e, E_CONFIG, "cannot lock %s: %s", path.text, strerror(errno));
	if (code < 0)
		close(fd);
	else
		*ret_fd = fd;
	return code;
}

void
holder_leave(int fd)
{
	if (fd < 0)
		return;
	(void)!ftruncate(fd, 0); /* what stays says that we fell */
	close(fd);
}
