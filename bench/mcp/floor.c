/*
 * floor.c - a relay with no features: HTTP or stdio in front, one stdio MCP server behind.
 *
 *   mcp_floor PORT COMMAND [ARG...]      PORT 0: stdio in front
 *
 * Of each request the id is replaced on the way there and put back on the way home; nothing is
 * validated, decided, counted or written down. This is the floor for any gateway: what it costs is
 * the price of the two hops, and nobody can be below it.
 */

#include "wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEERS 4096
#define EVENTS 256
#define OPEN 4096 /* requests that were not answered; the id is a place here */
#define PIPE_BYTES (1 << 20)

struct open {
	struct peer *from;
	unsigned since;
	bool session; /* initialize: its answer carries a session id */
	char id[48];
	size_t id_len;
};

static struct peer peers[PEERS]; /* by descriptor */
static struct peer front;        /* stdio */
static struct peer behind;
static struct open opens[OPEN];
static unsigned opened;
static unsigned sessions;

/* There */

static void
request_pass(struct peer *p, struct str body)
{
	struct str id = json_member(body, "id");
	struct open *o = &opens[opened % OPEN];

	if (id.len >= sizeof(o->id))
		return;
	if (id.ptr) {
		const char *rest = id.ptr + id.len;
		*o = (struct open){p, p->since,
				   str_is(json_member(body, "method"), "\"initialize\"")};
		memcpy(o->id, id.ptr, id.len);
		o->id_len = id.len;
		buf_add(&behind.out, (struct str){body.ptr, (size_t)(id.ptr - body.ptr)});
		buf_add_u64(&behind.out, opened++ % OPEN);
		buf_add(&behind.out, (struct str){rest, (size_t)(body.ptr + body.len - rest)});
	} else {
		buf_add(&behind.out, body);
		if (p->framing == HTTP)
			buf_addz(&p->out, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
	}
	buf_addc(&behind.out, '\n');
}

static void
peer_serve(struct peer *p, uint32_t events)
{
	struct message m;
	bool fine = true;

	if (p->in_fd < 0)
		return; /* closed earlier in this round */
	if (events & EPOLLOUT)
		fine = peer_flush(p);
	if (fine && events & ~(uint32_t)EPOLLOUT) {
		fine = peer_read(p);
		while (fine && peer_next(p, &m))
			if (p->framing == LINES || str_starts(m.head, S("POST ")))
				request_pass(p, m.body);
			else
				buf_addz(&p->out, "HTTP/1.1 405 Method Not Allowed\r\n"
						  "Content-Length: 0\r\n\r\n");
		fine = fine && peer_flush(p);
	}
	if (!fine && p->framing == LINES)
		exit(0);
	if (!fine)
		peer_close(p);
}

/* And home */

static void
head_add(struct peer *p, size_t len, bool session)
{
	buf_addz(&p->out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
	if (session)
		buf_addf(&p->out, "Mcp-Session-Id: floor-%u\r\n", ++sessions);
	buf_addz(&p->out, "Content-Length: ");
	buf_add_u64(&p->out, len);
	buf_addz(&p->out, "\r\n\r\n");
}

static void
answer_pass(struct str line)
{
	uint64_t place;
	struct str id = json_member(line, "id");

	if (!id.ptr || !str_to_u64(id, &place) || place >= OPEN)
		return;
	struct open *o = &opens[place];
	struct peer *p = o->from;
	if (!p || p->since != o->since)
		return;
	const char *rest = id.ptr + id.len;
	if (p->framing == HTTP)
		head_add(p, line.len - id.len + o->id_len, o->session);
	buf_add(&p->out, (struct str){line.ptr, (size_t)(id.ptr - line.ptr)});
	buf_add(&p->out, (struct str){o->id, o->id_len});
	buf_add(&p->out, (struct str){rest, (size_t)(line.ptr + line.len - rest)});
	o->from = NULL;
	if (p->framing == LINES)
		buf_addc(&p->out, '\n');
	else if (!peer_flush(p))
		peer_close(p);
}

static void
behind_serve(uint32_t events)
{
	struct message m;

	if (events & ~(uint32_t)EPOLLOUT) {
		if (!peer_read(&behind))
			exit(0);
		while (peer_next(&behind, &m))
			answer_pass(m.body);
		if (front.out.len && !peer_flush(&front))
			exit(0);
	}
}

static void
behind_start(char **argv)
{
	int there[2];
	int home[2];

	if (pipe2(there, O_CLOEXEC) < 0 || pipe2(home, O_CLOEXEC) < 0) {
		perror("pipe2");
		exit(1);
	}
	if (fork() == 0) {
		dup2(there[0], STDIN_FILENO);
		dup2(home[1], STDOUT_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(there[0]);
	close(home[1]);
	/* A result of a megabyte comes in one piece then. */
	fcntl(home[0], F_SETPIPE_SZ, PIPE_BYTES);
	peer_open(&behind, home[0], there[1], LINES);
}

static void
peers_accept(int door)
{
	int fd;

	while ((fd = accept4(door, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (fd < PEERS)
			peer_open(&peers[fd], fd, fd, HTTP);
		else
			close(fd);
}

int
main(int argc, char **argv)
{
	void *keys[EVENTS];
	uint32_t events[EVENTS];

	if (argc < 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	behind_start(argv + 2);
	int port = atoi(argv[1]);
	int door = port ? wire_listen(port) : -1;
	if (port)
		wire_watch(door, NULL, EPOLLIN);
	else
		peer_open(&front, STDIN_FILENO, STDOUT_FILENO, LINES);
	for (;;) {
		int n = wire_wait(-1, keys, events, EVENTS);
		for (int i = 0; i < n; i++)
			if (!keys[i])
				peers_accept(door);
			else if (keys[i] == &behind)
				behind_serve(events[i]);
			else
				peer_serve(keys[i], events[i]);
		/* Once for all that came in this round, as any gateway may. */
		if (behind.out.len && !peer_flush(&behind))
			return 0;
	}
}
