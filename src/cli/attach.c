/* attach.c - standard input and output become a connection to a gateway that speaks MCP. */

#include "cli/attach.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/relay.h"

/* Who started us, for lists: the client's program. */
static void
client_name(struct buf *out)
{
	char path[64], name[32];
	ssize_t n = -1;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)getppid());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, sizeof(name));
		close(fd);
	}
	url_add(out, n > 0 ? str_trim((struct str){name, (size_t)n}) : S("mcp"));
}

static void
add_part(struct buf *target, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addz(target, name);
	url_add(target, str_of(value));
}

static int
upgrade(struct api *api, const struct attach_wish *wish, int *ret_fd, struct buf *early,
	struct err *e)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	struct client *c = NULL;
	int code;

	buf_addz(&target, "/mcp/stdio?workspace=");
	url_add(&target, str_of(wish->workspace));
	buf_addz(&target, "&client=");
	client_name(&target);
	add_part(&target, "&surface=", wish->surface);
	add_part(&target, "&tenant=", wish->tenant);
	add_part(&target, "&agent=", wish->agent);
	if (!buf_z(&target))
		code = err_set(e, E_TOO_LARGE, "the workspace's path is too long");
	else if ((code = api_connect(api, &c, e)) == 0)
		code = client_upgrade(c, target.ptr, "mcp-stdio", ret_fd, early, e);
	client_free(c);
	buf_done(&target);
	return code;
}

int
attach_pipes(struct api *api, const int fds[static 2], const struct attach_wish *wish)
{
	struct buf early = BUF_INIT(64 * KIB);
	struct err e;
	int fd = -1, code;

	if (upgrade(api, wish, &fd, &early, &e) < 0) {
		refuse("%s", err_text(&e));
		code = EXIT_NO_GATEWAY;
	} else {
		code = relay_run(fds[0], fds[1], fd, buf_str(&early));
		close(fd);
		if (code == EXIT_NO_GATEWAY)
			refuse("the gateway ended the connection: it stopped, or the session was "
			       "ended");
	}
	buf_done(&early);
	return code;
}

int
attach_stdio(struct api *api, const struct attach_wish *wish)
{
	return attach_pipes(api, (const int[2]){STDIN_FILENO, STDOUT_FILENO}, wish);
}
