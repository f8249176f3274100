/* serve.c - where to listen, and the token that lets people in. */

#include "cli/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ulid.h"

static bool
is_numeric(const char *host)
{
	struct in6_addr address;

	return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

static bool
is_digits(struct str s)
{
	uint64_t n;

	return str_to_u64(s, &n);
}

/* Where the port begins: after the last colon outside brackets. A lone address of the newer kind
 * needs brackets, so that nobody has to guess. */
static struct str
split_port(struct str *host)
{
	struct str text = *host;
	size_t at = text.len;

	if (is_digits(text)) {
		*host = S(SERVE_HOST);
		return text;
	}
	while (at > 0 && text.ptr[at - 1] != ':' && text.ptr[at - 1] != ']')
		at--;
	if (at == 0 || text.ptr[at - 1] == ']')
		return (struct str){NULL, 0};
	*host = str_upto(text, at - 1);
	return str_from(text, at);
}

int
listen_parse(const char *text, struct listen *ret, struct err *e)
{
	struct listen l = {.tcp = true, .host = SERVE_HOST, .port = SERVE_PORT};
	struct str host = str_of(text ? text : ""), port;
	uint64_t number = SERVE_PORT;

	if (text && strcmp(text, "none") == 0) {
		*ret = (struct listen){.tcp = false};
		return 0;
	}
	if (text && strcmp(text, "auto") == 0) {
		l.yields = true;
		*ret = l;
		return 0;
	}
	port = split_port(&host);
	if (port.ptr && (!str_to_u64(port, &number) || number > UINT16_MAX))
		return err_set(e, E_VALIDATION, "'%.*s' is not a port", STR_ARG(port));
	if (str_starts(host, S("[")) && str_ends(host, S("]")))
		host = str_upto(str_from(host, 1), host.len - 2);
	if (str_is(host, "localhost") || host.len == 0)
		host = S(SERVE_HOST);
	l.port = (uint16_t)number;
	if (host.len < sizeof(l.host))
		snprintf(l.host, sizeof(l.host), "%.*s", STR_ARG(host));
	if (host.len >= sizeof(l.host) || !is_numeric(l.host))
		return err_set(e, E_VALIDATION,
			       "'%.100s' is not a numeric address with a port, like 127.0.0.1:8421",
			       text);
	*ret = l;
	return 0;
}

void
token_make(char out[static TOKEN_TEXT])
{
	unsigned char bytes[(TOKEN_TEXT - 1) / 2];

	random_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static int
token_write(const char *path, char out[static TOKEN_TEXT], struct err *e)
{
	/* Linked into place whole: another process sees all of it or nothing. */
	char temporary[LIMIT_PATH];
	int n = snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());

	if (n < 0 || (size_t)n >= sizeof(temporary))
		return err_set(e, E_CONFIG, "the path of the token is too long");
	token_make(out);
	unlink(temporary);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(e, E_CONFIG, "cannot make %s: %s", temporary, strerror(errno));
	bool written = dprintf(fd, "%s\n", out) == TOKEN_TEXT && fsync(fd) == 0;
	close(fd);
	bool placed = written && (link(temporary, path) == 0 || errno == EEXIST);
	int errnum = errno;
	unlink(temporary);
	return placed ? 0 : err_set(e, E_CONFIG, "cannot write %s: %s", path, strerror(errnum));
}

static int
token_read(int fd, const char *path, char out[static TOKEN_TEXT], struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077))
		return err_set(e, E_CONFIG,
			       "%s must be a file that only you can read: chmod 600 it", path);
	ssize_t n = read(fd, out, TOKEN_TEXT - 1);
	if (n != TOKEN_TEXT - 1)
		return err_set(e, E_CONFIG, "%s holds no token: remove it and a new one is made",
			       path);
	out[n] = '\0';
	if (strspn(out, "0123456789abcdef") != TOKEN_TEXT - 1)
		return err_set(e, E_CONFIG, "%s holds no token: remove it and a new one is made",
			       path);
	return 0;
}

int
token_load(const char *path, char out[static TOKEN_TEXT], struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), code;

	if (fd < 0 && errno == ENOENT) {
		if ((code = token_write(path, out, e)) < 0)
			return code;
		fd = open(path, O_RDONLY | O_CLOEXEC |
				    O_NOFOLLOW); /* ours, or that of whoever was faster */
	}
	if (fd < 0)
		return err_set(e, E_CONFIG, "cannot read %s: %s", path, strerror(errno));
	code = token_read(fd, path, out, e);
	close(fd);
	return code;
}
