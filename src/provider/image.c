/* image.c - a file's content in one short text. */

#include "provider/image.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"

/* All of it, without moving where it is read from. False: too long, or it cannot be read. */
static bool
bytes_of(int fd, struct buf *out)
{
	char part[64 * KIB];

	for (;;) {
		ssize_t n = pread(fd, part, sizeof(part), (off_t)out->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			return true;
		if (n < 0 || out->len + (size_t)n > LIMIT_FILE_READ)
			return false;
		buf_add(out, (struct str){part, (size_t)n});
		if (buf_failed(out))
			return false;
	}
}

/* Changed by every write, and by every other file that takes its place. */
static void
image_of_stat(int fd, char out[static DIGEST_TEXT])
{
	char text[256];
	struct stat st = {0};

	int failed = fstat(fd, &st) < 0 ? errno : 0;
	snprintf(text, sizeof(text), "stat %d %llu %llu %lld %lld.%09ld", failed,
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
		 (long long)st.st_size, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	digest_bytes(str_of(text), out);
}

void
image_of_bytes(struct str bytes, char out[static DIGEST_TEXT])
{
	if (bytes.ptr)
		digest_bytes(bytes, out);
	else
		snprintf(out, DIGEST_TEXT, "%s", IMAGE_ABSENT);
}

void
image_of(int fd, char out[static DIGEST_TEXT])
{
	struct buf bytes = BUF_INIT(LIMIT_FILE_READ);

	if (fd < 0)
		image_of_bytes((struct str){NULL, 0}, out);
	else if (bytes_of(fd, &bytes))
		image_of_bytes(bytes.len ? buf_str(&bytes) : S(""), out);
	else
		image_of_stat(fd, out);
	buf_done(&bytes);
}
