/* image.c - a file's content in one short text. */

#include "provider/image.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limits.h"

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
	else if (file_slurp(fd, &bytes))
		image_of_bytes(bytes.len ? buf_str(&bytes) : S(""), out);
	else
		image_of_stat(fd, out);
	buf_done(&bytes);
}
