/* input.c - reading a file or standard input to its end. */

#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/args.h"

#define READ_BYTES (64 * KIB)

const char *
input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

static int
refuse_file(const char *path, const char *why)
{
	refuse("%s: %s", input_name(path), why);
	return EXIT_USAGE;
}

static int
read_all(const char *path, int fd, struct buf *out)
{
	for (;;) {
		char *room = buf_room(out, READ_BYTES);
		if (!room) {
			refuse("%s is longer than %zu bytes", input_name(path), LIMIT_JSON_BYTES);
			return EXIT_USAGE;
		}
		ssize_t n = read(fd, room, READ_BYTES);
		if (n == 0)
			return EXIT_FINE;
		if (n < 0 && errno != EINTR)
			return refuse_file(path, strerror(errno));
		out->len += n > 0 ? (size_t)n : 0;
	}
}

int
input_read(const char *path, struct buf *out)
{
	if (strcmp(path, "-") == 0)
		return read_all(path, STDIN_FILENO, out);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return refuse_file(path, strerror(errno));
	int code = read_all(path, fd, out);
	close(fd);
	return code;
}

int
input_json(const char *path, struct json_doc **ret)
{
	struct buf text = BUF_INIT(INPUT_BYTES);
	struct err e;
	int code = input_read(path, &text);

	if (code == EXIT_FINE && json_parse(buf_str(&text), &json_door, ret, &e) < 0)
		code = refuse_file(path, err_text(&e));
	buf_done(&text);
	return code;
}
