/* http_server.c - listening sockets: bind, accept within bounds, stop. */

#include "net/http_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ACCEPT_BATCH 64    /* in one turn of the loop, so that accepting starves nobody */
#define ACCEPT_REST_MS 100 /* when the system gives no descriptor at all */

struct listener {
	struct http_server *server;
	struct node node;
	uv_poll_t poll;
	int fd;
	bool local;
	uint16_t port;
	struct timer rest;
	struct sockaddr_un name; /* of a Unix socket, and which inode it was */
	dev_t dev;
	ino_t ino;
};

static const struct http_limits defaults = {
    .body_bytes = LIMIT_HTTP_BODY,
    .connections = LIMIT_HTTP_CONNECTIONS,
    .header_ms = LIMIT_HTTP_HEADER_MS,
    .body_ms = LIMIT_HTTP_BODY_MS,
    .idle_ms = LIMIT_HTTP_IDLE_MS,
    .stall_ms = LIMIT_HTTP_STALL_MS,
    .wires_bytes = LIMIT_WIRES_QUEUED,
};

static void
limits_fill(struct http_limits *l)
{
#define FILL(field) l->field = l->field ? l->field : defaults.field
	FILL(body_bytes);
	FILL(connections);
	FILL(header_ms);
	FILL(body_ms);
	FILL(idle_ms);
	FILL(stall_ms);
	FILL(wires_bytes);
#undef FILL
}

static int
reserve_open(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int
http_server_new(struct loop *l, const struct http_server_spec *spec, struct http_server **ret,
		struct err *e)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (!s)
		return err_plain(e, E_NOMEM);
	s->loop = l;
	s->spec = *spec;
	limits_fill(&s->spec.limits);
	list_init(&s->conns);
	list_init(&s->listeners);
	s->reserve_fd = reserve_open();
	if (s->reserve_fd < 0) {
		int errnum = errno;
		free(s);
		return err_errno(e, E_SYSTEM, errnum, "reserve descriptor");
	}
	*ret = s;
	return 0;
}

void
http_server_free(struct http_server *s)
{
	if (!s)
		return;
	CHECK(s->conns.len == 0 && s->listeners.len == 0);
	timer_stop(s->loop, &s->grace);
	defer_cancel(&s->over);
	if (s->reserve_fd >= 0)
		close(s->reserve_fd);
	free(s);
}

size_t
http_connections(const struct http_server *s)
{
	return s->conns.len;
}

static bool
server_is_full(const struct http_server *s, bool local)
{
	size_t max = s->spec.limits.connections;

	return s->conns.len >= max + LIMIT_HTTP_LOCAL || (!local && s->tcp_count >= max);
}

int
http_adopt(struct http_server *s, int fd, struct err *e)
{
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (s->stopping || server_is_full(s, true)) {
		close(fd);
		return err_plain(e, s->stopping ? E_STOPPING : E_LIMIT);
	}
	return conn__start(s, fd, true, 0, e);
}

/* Accepting */

/* Read what is there first: closing with unread input would overtake the answer. */
static void
turn_away(int fd)
{
	struct str answer = reply__turned_away();
	char unread[4096];

	while (recv(fd, unread, sizeof(unread), MSG_DONTWAIT) == (ssize_t)sizeof(unread))
		;
	if (send(fd, answer.ptr, answer.len, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		shutdown(fd, SHUT_WR);
	close(fd);
}

static void
listener_take(struct listener *l, int fd)
{
	struct http_server *s = l->server;

	if (server_is_full(s, l->local))
		turn_away(fd);
	else
		conn__start(s, fd, l->local, l->port, NULL); /* its failure is the peer's alone */
}

static void on_acceptable(uv_poll_t *poll, int status, int events);

static void
listener_wake(void *arg)
{
	struct listener *l = arg;

	if (l->server->reserve_fd < 0)
		l->server->reserve_fd = reserve_open();
	uv_poll_start(&l->poll, UV_READABLE, on_acceptable);
}

/* The waiting peer keeps the socket readable: without a rest the loop would spin. */
static void
listener_rest(struct listener *l)
{
	if (timer_start(l->server->loop, &l->rest, ACCEPT_REST_MS, listener_wake, l) == 0)
		uv_poll_stop(&l->poll);
}

/* No descriptor left: with the reserve's place the first in line can at least be told. */
static bool
listener_shed(struct listener *l)
{
	struct http_server *s = l->server;

	if (s->reserve_fd < 0)
		return false;
	close(s->reserve_fd);
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		turn_away(fd);
	s->reserve_fd = reserve_open();
	return fd >= 0;
}

static void
on_acceptable(uv_poll_t *poll, int status, int events)
{
	struct listener *l = poll->data;

	(void)status;
	(void)events;
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			listener_take(l, fd);
			continue;
		}
		switch (errno) {
		case EAGAIN: return;
		case EINTR:
		case ECONNABORTED: continue;
		case EMFILE:
		case ENFILE:
			if (listener_shed(l))
				continue;
			break;
		}
		listener_rest(l);
		return;
	}
}

/* Listening */

static void
on_listener_closed(uv_handle_t *h)
{
	struct listener *l = h->data;
	struct http_server *s = l->server;

	list_remove(&l->node);
	free(l);
	server__conn_gone(s);
}

/* Only if it is still ours: another gateway may have taken the name over. */
static void
listener_unlink(struct listener *l)
{
	struct stat st;

	if (l->name.sun_path[0] && lstat(l->name.sun_path, &st) == 0 && st.st_dev == l->dev &&
	    st.st_ino == l->ino)
		unlink(l->name.sun_path);
}

static void
listener_close(struct listener *l)
{
	listener_unlink(l);
	timer_stop(l->server->loop, &l->rest);
	uv_close((uv_handle_t *)&l->poll, on_listener_closed);
	close(l->fd); /* libuv has let go of it; nobody may connect from here on */
}

/* Consumes the bound fd. */
static int
listener_start(struct http_server *s, int fd, struct listener **ret, struct err *e)
{
	struct listener *l = calloc(1, sizeof(*l));
	int r;

	if (!l) {
		close(fd);
		return err_plain(e, E_NOMEM);
	}
	l->server = s;
	l->fd = fd;
	if (listen(fd, SOMAXCONN) < 0)
		r = -errno;
	else
		r = uv_poll_init(loop_uv(s->loop), &l->poll, fd);
	if (r < 0) {
		close(fd);
		free(l);
		return err_errno(e, E_SYSTEM, -r, "listen");
	}
	l->poll.data = l;
	list_push(&s->listeners, &l->node);
	uv_poll_start(&l->poll, UV_READABLE, on_acceptable);
	*ret = l;
	return 0;
}

static bool
address_parse(const char *host, uint16_t port, struct sockaddr_storage *ret, socklen_t *ret_len)
{
	if (uv_ip4_addr(host, port, (struct sockaddr_in *)ret) == 0) {
		*ret_len = sizeof(struct sockaddr_in);
		return true;
	}
	*ret_len = sizeof(struct sockaddr_in6);
	return uv_ip6_addr(host, port, (struct sockaddr_in6 *)ret) == 0;
}

bool
http_is_loopback(const char *host)
{
	struct sockaddr_storage a;
	socklen_t len;

	return address_parse(host, 0, &a, &len) &&
	       address_is_loopback((const union address *)(const void *)&a);
}

static uint16_t
bound_port(int fd)
{
	union address a = {.v6 = {0}};
	socklen_t len = sizeof(a);

	return getsockname(fd, &a.any, &len) < 0 ? 0 : address_port(&a);
}

/* Some machines send at the pace they think a network bears (BBR), by timers. On the way back to
 * itself there is no network; every machine has reno, which waits for nothing there. */
static void
pace_nothing_home(int fd, const struct sockaddr_storage *a)
{
	if (address_is_loopback((const union address *)(const void *)a))
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

/* A descriptor that is bound, or what is in the way. */
static int
tcp_bind(const char *host, uint16_t port, struct err *e)
{
	struct sockaddr_storage a;
	socklen_t len;
	int on = 1;

	if (!address_parse(host, port, &a, &len))
		return err_set(e, E_VALIDATION, "not a numeric address: %s", host);
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, E_SYSTEM, "%s: %s", host, strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	pace_nothing_home(fd, &a);
	if (bind(fd, (struct sockaddr *)&a, len) < 0) {
		int errnum = errno;
		close(fd);
		if (errnum == EADDRINUSE)
			return err_set(e, E_EXISTS, "port %u of %s is in use", port, host);
		return err_set(e, E_SYSTEM, "port %u of %s: %s", port, host, strerror(errnum));
	}
	return fd;
}

int
http_try_tcp(const char *host, uint16_t port, struct err *e)
{
	int fd = tcp_bind(host, port, e);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int
http_listen_tcp(struct http_server *s, const char *host, uint16_t port, uint16_t *ret_port,
		struct err *e)
{
	int fd = tcp_bind(host, port, e), r;
	struct listener *l;

	if (fd < 0)
		return fd;
	if ((r = listener_start(s, fd, &l, e)) < 0)
		return r;
	l->port = bound_port(fd);
	if (ret_port)
		*ret_port = l->port;
	return 0;
}

/* Unix sockets */

/* Opened, so that it can be locked. Others who could write there could put theirs in our place. */
static int
directory_open(const char *path, struct err *e)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (slash == path)
		snprintf(dir, sizeof(dir), "/");
	else if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	else
		snprintf(dir, sizeof(dir), ".");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(e, E_SYSTEM, "%s: %s", dir, strerror(errno));
	} else if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))) {
		err_set(e, E_PERMISSION, "%s is not a directory of ours alone", dir);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool
somebody_answers(const struct sockaddr_un *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return true; /* not known to be stale */
	bool refused = connect(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 &&
		       (errno == ECONNREFUSED || errno == ENOENT);
	close(fd);
	return !refused;
}

/* The directory is locked meanwhile, or two gateways could both find the socket stale. */
static int
unix_bind(int fd, const struct sockaddr_un *name, struct err *e)
{
	struct stat st;

	/* On Linux the inode takes the mode the socket has at bind: never open to others. */
	if (fchmod(fd, 0600) < 0)
		return err_errno(e, E_SYSTEM, errno, "fchmod");
	if (bind(fd, (const struct sockaddr *)name, sizeof(*name)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return err_set(e, E_SYSTEM, "%s: %s", name->sun_path, strerror(errno));
	if (lstat(name->sun_path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return err_set(e, E_EXISTS, "%s is there and is not a socket", name->sun_path);
	if (somebody_answers(name))
		return err_set(e, E_EXISTS, "somebody answers on %s already", name->sun_path);
	if (unlink(name->sun_path) < 0 && errno != ENOENT)
		return err_errno(e, E_SYSTEM, errno, "unlink");
	if (bind(fd, (const struct sockaddr *)name, sizeof(*name)) < 0)
		return err_errno(e, E_SYSTEM, errno, "bind");
	return 0;
}

static int
unix_listen(struct http_server *s, const struct sockaddr_un *name, struct err *e)
{
	struct listener *l;
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_errno(e, E_SYSTEM, errno, "socket");
	int r = unix_bind(fd, name, e);
	if (r < 0) {
		close(fd);
		return r;
	}
	r = listener_start(s, fd, &l, e);
	if (r < 0) {
		unlink(name->sun_path);
		return r;
	}
	l->local = true;
	if (lstat(name->sun_path, &st) == 0) {
		l->name = *name;
		l->dev = st.st_dev;
		l->ino = st.st_ino;
	}
	return 0;
}

int
http_listen_unix(struct http_server *s, const char *path, struct err *e)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	if (path[0] == '\0' || strlen(path) >= sizeof(name.sun_path))
		return err_set(e, E_VALIDATION, "not a usable socket path: %s", path);
	memcpy(name.sun_path, path, strlen(path));
	struct err why = ERR_NONE;
	int dir = directory_open(path, &why);
	if (dir < 0) {
		if (e)
			*e = why;
		return why.code;
	}
	flock(dir, LOCK_EX);
	int r = unix_listen(s, &name, e);
	close(dir);
	return r;
}

/* Stopping */

static void
server_over(void *arg)
{
	struct http_server *s = arg;

	s->done(s->done_arg);
}

/* Also for listeners: when nothing is open any more, a stopping server is over. */
void
server__conn_gone(struct http_server *s)
{
	if (!s->stopping || s->conns.len || s->listeners.len)
		return;
	timer_stop(s->loop, &s->grace);
	defer(s->loop, &s->over, server_over, s);
}

static void
server_out_of_grace(void *arg)
{
	struct http_server *s = arg;

	LIST_EACH (&s->conns, n)
		conn__close(CONTAINER_OF(n, struct conn, node));
}

void
http_server_stop(struct http_server *s, unsigned grace_ms, void (*done)(void *arg), void *arg)
{
	CHECK(!s->stopping);
	s->stopping = true;
	s->done = done;
	s->done_arg = arg;
	LIST_EACH (&s->listeners, l)
		listener_close(CONTAINER_OF(l, struct listener, node));
	LIST_EACH (&s->conns, c)
		conn__stop(CONTAINER_OF(c, struct conn, node));
	if (timer_start(s->loop, &s->grace, grace_ms, server_out_of_grace, s) < 0)
		server_out_of_grace(s);
	server__conn_gone(s);
}
