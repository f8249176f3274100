/* file.c - writing a file so that nobody ever sees half of it. */

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/limits.h"

static int
write_all(int fd, struct str s)
{
	while (s.len > 0) {
		ssize_t n = write(fd, s.ptr, s.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		s = str_from(s, (size_t)n);
	}
	return fdatasync(fd);
}

int
file_replace(const char *path, struct str content)
{
	char beside[LIMIT_PATH];
	int n = snprintf(beside, sizeof(beside), "%s.new", path);

	if (n < 0 || (size_t)n >= sizeof(beside)) {
		errno = ENAMETOOLONG;
		return E_SYSTEM;
	}
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return E_SYSTEM;
	bool fine = write_all(fd, content) == 0;
	close(fd);
	return fine && rename(beside, path) == 0 ? 0 : E_SYSTEM;
}

bool
file_slurp(int fd, struct buf *out)
{
	char part[64 * KIB];

	for (;;) {
		ssize_t n = pread(fd, part, sizeof(part), (off_t)out->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		buf_add(out, (struct str){part, (size_t)n});
		if (buf_failed(out))
			return false;
	}
}
