/* wire.c - peers on one epoll, and the messages in their bytes. */

#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_BYTES (256u << 20)
#define READ_BYTES (256u << 10)
#define EVENTS 256

static int epoll = -1;

static _Noreturn void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* Sockets */

void
wire_pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity");
}

static struct sockaddr_in
loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int
wire_listen(int port)
{
	struct sockaddr_in at = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1024) < 0)
		die("listen");
	return fd;
}

int
wire_connect(int port)
{
	struct sockaddr_in to = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The epoll */

static void
control(int how, int fd, void *key, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = key};

	if (epoll < 0 && (epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
		die("epoll_create1");
	if (epoll_ctl(epoll, how, fd, &ev) < 0)
		die("epoll_ctl");
}

void
wire_watch(int fd, void *key, uint32_t events)
{
	control(EPOLL_CTL_ADD, fd, key, events);
}

void
wire_change(int fd, void *key, uint32_t events)
{
	control(EPOLL_CTL_MOD, fd, key, events);
}

int
wire_wait(int timeout_ms, void **ret_keys, uint32_t *ret_events, int max)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(epoll, ev, max < EVENTS ? max : EVENTS, timeout_ms);

	for (int i = 0; i < n; i++) {
		ret_keys[i] = ev[i].data.ptr;
		ret_events[i] = ev[i].events;
	}
	return n < 0 ? 0 : n;
}

/* Peers */

void
peer_open(struct peer *p, int in_fd, int out_fd, enum framing framing)
{
	struct buf in = p->in.ptr ? p->in : BUF_INIT(MAX_BYTES);
	struct buf out = p->out.ptr ? p->out : BUF_INIT(MAX_BYTES);
	unsigned since = p->since + 1;

	*p = (struct peer){in_fd, out_fd, framing, false, since, in, .out = out};
	buf_reset(&p->in);
	buf_reset(&p->out);
	fcntl(in_fd, F_SETFL, O_NONBLOCK);
	fcntl(out_fd, F_SETFL, O_NONBLOCK);
	if (framing == HTTP)
		setsockopt(in_fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	wire_watch(in_fd, p, EPOLLIN);
	if (out_fd != in_fd)
		wire_watch(out_fd, p, 0);
}

void
peer_close(struct peer *p)
{
	close(p->in_fd);
	if (p->out_fd != p->in_fd)
		close(p->out_fd);
	p->in_fd = p->out_fd = -1;
	p->since++;
}

bool
peer_read(struct peer *p)
{
	if (p->eaten) {
		buf_eat(&p->in, p->eaten);
		p->scanned = p->scanned > p->eaten ? p->scanned - p->eaten : 0;
		p->eaten = 0;
	}
	char *room = buf_room(&p->in, READ_BYTES);
	ssize_t n = room ? read(p->in_fd, room, READ_BYTES) : 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	p->in.len += (size_t)n;
	return n > 0;
}

/* Ask to be told when there is room again, or no longer. */
static void
peer_mark_full(struct peer *p, bool full)
{
	if (p->full == full)
		return;
	p->full = full;
	uint32_t in = p->in_fd == p->out_fd ? EPOLLIN : 0;
	wire_change(p->out_fd, p, full ? in | EPOLLOUT : in);
}

bool
peer_flush(struct peer *p)
{
	while (p->sent < p->out.len) {
		ssize_t n = write(p->out_fd, p->out.ptr + p->sent, p->out.len - p->sent);
		if (n < 0 && errno == EAGAIN) {
			peer_mark_full(p, true);
			return true;
		}
		if (n < 0 && errno != EINTR)
			return false;
		p->sent += n > 0 ? (size_t)n : 0;
	}
	buf_reset(&p->out);
	p->sent = 0;
	peer_mark_full(p, false);
	return true;
}

/* Messages */

static bool
next_line(struct peer *p, struct message *ret)
{
	size_t from = p->scanned > p->eaten ? p->scanned : p->eaten;
	const char *end = memchr(p->in.ptr + from, '\n', p->in.len - from);

	p->scanned = p->in.len;
	if (!end)
		return false;
	const char *start = p->in.ptr + p->eaten;
	*ret = (struct message){.body = {start, (size_t)(end - start)}};
	p->scanned = p->eaten = (size_t)(end + 1 - p->in.ptr);
	return true;
}

/* The size of a chunk, and where its bytes begin; NULL when that is not there yet. */
static char *
chunk_start(char *at, char *end, size_t *ret_size)
{
	char *line = memmem(at, (size_t)(end - at), "\r\n", 2);

	if (!line)
		return NULL;
	*ret_size = strtoul(at, NULL, 16);
	return line + 2;
}

/* Bytes of a whole chunked body, 0 when there is more to come. */
static size_t
chunks_len(char *from, char *end)
{
	size_t size = 1;
	char *at = from;

	while (size) {
		if (!(at = chunk_start(at, end, &size)) || (size_t)(end - at) < size + 2)
			return 0;
		at += size + 2;
	}
	return (size_t)(at - from);
}

/* What the chunks hold, moved together. */
static struct str
chunks_join(char *from, char *end)
{
	size_t size = 1;
	char *to = from;

	for (char *at = from; size;) {
		at = chunk_start(at, end, &size);
		memmove(to, at, size);
		to += size;
		at += size + 2;
	}
	return (struct str){from, (size_t)(to - from)};
}

static bool
next_http(struct peer *p, struct message *ret)
{
	char *start = p->in.ptr + p->eaten;
	char *end = p->in.ptr + p->in.len;
	char *body;
	uint64_t len = 0;

	if ((size_t)(end - start) < p->need || p->in.len == p->eaten ||
	    !(body = memmem(start, (size_t)(end - start), "\r\n\r\n", 4)))
		return false;
	ret->head = (struct str){start, (size_t)(body + 2 - start)};
	body += 4;
	bool chunked = head_field(ret->head, "transfer-encoding").ptr;
	if (chunked && (len = chunks_len(body, end)) == 0)
		return false;
	if (!chunked)
		str_to_u64(head_field(ret->head, "content-length"), &len);
	p->need = (size_t)(body - start) + len;
	if ((size_t)(end - start) < p->need)
		return false;
	ret->body = chunked ? chunks_join(body, body + len) : (struct str){body, len};
	p->eaten += p->need;
	p->need = 0;
	return true;
}

bool
peer_next(struct peer *p, struct message *ret)
{
	return p->framing == HTTP ? next_http(p, ret) : next_line(p, ret);
}

struct str
head_field(struct str head, const char *name)
{
	struct str line;
	struct str wanted = str_of(name);

	str_split(&head, '\n', &line);
	while (str_split(&head, '\n', &line))
		if (line.len > wanted.len && line.ptr[wanted.len] == ':' &&
		    str_eq_nocase(str_upto(line, wanted.len), wanted))
			return str_trim(str_from(line, wanted.len + 1));
	return (struct str){NULL, 0};
}

/* JSON */

static const char *
skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
		at++;
	return at;
}

/* Behind the quote that ends the string which begins before at. */
static const char *
skip_string(const char *at, const char *end)
{
	for (const char *quote; (quote = memchr(at, '"', (size_t)(end - at))); at = quote + 1) {
		const char *slash = quote;
		while (slash > at && slash[-1] == '\\')
			slash--;
		if ((quote - slash) % 2 == 0)
			return quote + 1;
	}
	return end;
}

static const char *
skip_value(const char *at, const char *end)
{
	int depth = 0;

	for (at = skip_blanks(at, end); at < end;) {
		char c = *at;
		if (depth == 0 && (c == ',' || c == '}' || c == ']'))
			return at;
		at = c == '"' ? skip_string(at + 1, end) : at + 1;
		depth += (c == '{' || c == '[') - (c == '}' || c == ']');
		if (depth == 0 && (c == '"' || c == '}' || c == ']'))
			return at;
	}
	return end;
}

struct str
json_member(struct str object, const char *key)
{
	const char *end = object.ptr + object.len;
	const char *at = object.len ? skip_blanks(object.ptr, end) : end;
	struct str wanted = str_of(key);

	if (at == end || *at++ != '{')
		return (struct str){NULL, 0};
	for (;;) {
		at = skip_blanks(at, end);
		if (at < end && *at == ',')
			at = skip_blanks(at + 1, end);
		if (at >= end || *at != '"')
			return (struct str){NULL, 0};
		const char *name = at + 1;
		at = skip_string(name, end);
		struct str found = {name, (size_t)(at - name - 1)};
		const char *value = skip_blanks(skip_blanks(at, end) + 1, end);
		at = value < end ? skip_value(value, end) : end;
		if (str_eq(found, wanted))
			return (struct str){value, (size_t)(at - value)};
	}
}
