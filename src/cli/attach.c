/* attach.c - standard input and output become a connection to a gateway that speaks MCP. */

#include "cli/attach.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/args.h"
#include "cli/relay.h"

#define STEADY_MS 10000 /* what lasted so long was no false start */

/* Before each try to get another gateway. */
static const int pauses_ms[] = {0, 250, 500, 1000, 2000, 4000};

/* A client, and the gateway it is attached to. */
struct attachment {
	struct api **api; /* the caller's */
	const struct attach_wish *wish;
	struct relay relay;
	size_t tries;     /* to get another gateway */
	int wire;         /* to the one there is */
	struct buf early; /* what it has said already */
};

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
upgrade(struct attachment *at, struct err *e)
{
	const struct attach_wish *wish = at->wish;
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
	else if ((code = api_connect(*at->api, &c, e)) == 0)
		code = client_upgrade(c, target.ptr, "mcp-stdio", &at->wire, &at->early, e);
	client_free(c);
	buf_done(&target);
	return code;
}

/* In place of the gateway that was lost. */
static int
upgrade_again(struct attachment *at, struct err *e)
{
	err_set(e, E_STOPPING, "the client cannot be taken to another one");
	if (!at->wish->again || !relay_can_go_on(&at->relay))
		return e->code;
	while (at->tries < ARRAY_LEN(pauses_ms) && relay_rest(&at->relay, pauses_ms[at->tries++])) {
		api_close(*at->api);
		*at->api = NULL;
		buf_reset(&at->early);
		if (at->wish->again(at->wish->arg, at->api, e) < 0 || upgrade(at, e) < 0)
			continue;
		if (relay_resume(&at->relay, at->wire, &at->early))
			return 0;
		close(at->wire);
		err_set(e, E_STOPPING, "it does not take the client");
	}
	return e->code;
}

int
attach_pipes(struct api **api, const int fds[static 2], const struct attach_wish *wish)
{
	struct attachment at = {.api = api, .wish = wish, .early = BUF_INIT(LIMIT_LINE_BYTES)};
	bool lost = false;
	struct err e;

	relay_init(&at.relay, fds[0], fds[1]);
	int code = upgrade(&at, &e);
	while (code == 0) {
		uint64_t since = clock_mono_ms();
		lost = relay_run(&at.relay, at.wire, &at.early) == RELAY_LOST;
		close(at.wire);
		if (!lost)
			break;
		if (clock_mono_ms() - since > STEADY_MS)
			at.tries = 0;
		code = upgrade_again(&at, &e);
	}
	buf_done(&at.early);
	int ended_by = relay_done(&at.relay);
	if (ended_by != EXIT_FINE || code == 0)
		return ended_by;
	refuse("%s%s", lost ? "the gateway has ended, and no other could be had: " : "",
	       err_text(&e));
	return EXIT_NO_GATEWAY;
}

int
attach_stdio(struct api **api, const struct attach_wish *wish)
{
	return attach_pipes(api, (const int[2]){STDIN_FILENO, STDOUT_FILENO}, wish);
}
