/* dial.c - name, addresses, attempts; the first that stands wins. */

#include "net/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"

/* A connection that is being made. */
struct attempt {
	struct dial *dial;
	uv_poll_t poll;
	int fd;
	size_t at; /* its place in the dial */
};

/* It outlives a dial that is cancelled: the resolver cannot be. */
struct lookup {
	uv_getaddrinfo_t request;
	struct dial *dial; /* NULL: nobody waits for it */
};

struct dial {
	struct loop *loop;
	struct dial_spec spec;
	struct lookup *lookup; /* NULL: none on its way */
	union dial_address addresses[LIMIT_DIAL_ADDRESSES];
	struct attempt *attempts[LIMIT_DIAL_ADDRESSES]; /* NULL: not begun, or failed */
	size_t count;
	size_t next; /* address to be tried */
	size_t trying;
	bool refused;
	int errnum;           /* of the last attempt that failed */
	struct timer late;    /* the end of patience */
	struct timer another; /* time for the next address */
	struct deferred turn;
};

static void
attempt_closed(uv_handle_t *h)
{
	free(CONTAINER_OF((uv_poll_t *)h, struct attempt, poll));
}

/* Gives the socket out of its hands. */
static int
attempt_end(struct attempt *a)
{
	struct dial *d = a->dial;
	int fd = a->fd;

	d->attempts[a->at] = NULL;
	d->trying--;
	uv_close((uv_handle_t *)&a->poll, attempt_closed);
	return fd;
}

void
dial_cancel(struct dial *d)
{
	if (!d)
		return;
	timer_stop(d->loop, &d->late);
	timer_stop(d->loop, &d->another);
	defer_cancel(&d->turn);
	for (size_t i = 0; i < d->count; i++)
		if (d->attempts[i])
			close(attempt_end(d->attempts[i]));
	if (d->lookup) {
		d->lookup->dial = NULL;
		uv_cancel((uv_req_t *)&d->lookup->request);
	}
	free(d);
}

static void
dial_fail(struct dial *d, const char *text)
{
	struct dial_spec spec = d->spec;
	struct err e = ERR_NONE;

	if (d->refused)
		err_set(&e, E_PERMISSION, "requests to this address are not allowed");
	else
		err_set(&e, E_UNAVAILABLE, "%s", text);
	if (d->errnum)
		err_inside(&e, "connect: %s", strerror(d->errnum));
	dial_cancel(d);
	spec.failed(&e, spec.arg);
}

static void
dial_late(void *arg)
{
	dial_fail(arg, "the server did not take the connection in time");
}

static void
dial_won(struct dial *d, struct attempt *a)
{
	struct dial_spec spec = d->spec;
	union dial_address peer = d->addresses[a->at];
	int fd = attempt_end(a);

	dial_cancel(d);
	spec.connected(fd, &peer, spec.arg);
}

/* Attempts */

static void dial_turn(void *arg);

static void
attempt_ready(uv_poll_t *poll, int status, int events)
{
	struct attempt *a = CONTAINER_OF(poll, struct attempt, poll);
	struct dial *d = a->dial;
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	(void)events;
	/* libuv calls every failure EBADF; the socket knows which it was. */
	if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
		errnum = errno;
	if (!errnum && status < 0)
		errnum = -status;
	if (!errnum) {
		dial_won(d, a);
		return;
	}
	d->errnum = errnum;
	close(attempt_end(a));
	dial_turn(d);
}

/* Close-on-exec from birth. 0, or an errno. */
static int
attempt_open(struct attempt *a, const union dial_address *to)
{
	socklen_t len = to->any.sa_family == AF_INET ? sizeof(to->v4) : sizeof(to->v6);

	a->fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0)
		return errno;
	if (connect(a->fd, &to->any, len) < 0 && errno != EINPROGRESS) {
		int errnum = errno;
		close(a->fd);
		return errnum;
	}
	int r = uv_poll_init(loop_uv(a->dial->loop), &a->poll, a->fd);
	if (r < 0) {
		close(a->fd);
		return -r;
	}
	uv_poll_start(&a->poll, UV_WRITABLE, attempt_ready);
	return 0;
}

static bool
attempt_start(struct dial *d, size_t at)
{
	struct attempt *a;

	if (d->spec.allows && !d->spec.allows(&d->addresses[at].any, d->spec.allows_arg)) {
		d->refused = true;
		return false;
	}
	if ((a = calloc(1, sizeof(*a))) == NULL) {
		d->errnum = ENOMEM;
		return false;
	}
	a->dial = d;
	a->at = at;
	int errnum = attempt_open(a, &d->addresses[at]);
	if (errnum) {
		d->errnum = errnum;
		free(a);
		return false;
	}
	d->attempts[at] = a;
	d->trying++;
	return true;
}

/* The next address, as far as there is one; the end when nothing is left to wait for. */
static void
dial_turn(void *arg)
{
	struct dial *d = arg;

	timer_stop(d->loop, &d->another);
	while (d->next < d->count)
		if (attempt_start(d, d->next++))
			break;
	if (d->trying == 0)
		dial_fail(d, "the server cannot be reached");
	else if (d->next < d->count) /* out of memory: then when this one has failed */
		(void)timer_start(d->loop, &d->another, LIMIT_DIAL_ANOTHER_MS, dial_turn, d);
}

/* Names */

static void
address_add(struct dial *d, const struct sockaddr *a)
{
	union dial_address *to = &d->addresses[d->count];

	if (d->count == ARRAY_LEN(d->addresses))
		return;
	if (a->sa_family == AF_INET)
		memcpy(&to->v4, a, sizeof(to->v4));
	else if (a->sa_family == AF_INET6)
		memcpy(&to->v6, a, sizeof(to->v6));
	else
		return;
	if (a->sa_family == AF_INET)
		to->v4.sin_port = htons(d->spec.port);
	else
		to->v6.sin6_port = htons(d->spec.port);
	d->count++;
}

static bool
address_add_text(struct dial *d, const char *text)
{
	union dial_address a = {.v6 = {0}};

	if (inet_pton(AF_INET, text, &a.v4.sin_addr) == 1)
		a.any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &a.v6.sin6_addr) == 1)
		a.any.sa_family = AF_INET6;
	else
		return false;
	address_add(d, &a.any);
	return true;
}

/* RFC 6761 section 6.3: whatever a resolver would say, it is this machine. */
static bool
is_localhost(struct str host)
{
	struct str local = S(".localhost");

	return str_eq_nocase(host, S("localhost")) ||
	       (host.len > local.len && str_eq_nocase(str_from(host, host.len - local.len), local));
}

static void
on_looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
	struct lookup *l = CONTAINER_OF(request, struct lookup, request);
	struct dial *d = l->dial;

	free(l);
	if (d) {
		d->lookup = NULL;
		for (struct addrinfo *a = status < 0 ? NULL : found; a; a = a->ai_next)
			address_add(d, a->ai_addr);
		if (d->count)
			dial_turn(d);
		else
			dial_fail(d, "the server's name is not known");
	}
	uv_freeaddrinfo(found);
}

static int
lookup_start(struct dial *d, const char *host, struct err *e)
{
	const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct lookup *l = calloc(1, sizeof(*l));

	if (!l)
		return err_plain(e, E_NOMEM);
	int r = uv_getaddrinfo(loop_uv(d->loop), &l->request, on_looked_up, host, NULL, &wanted);
	if (r < 0) {
		free(l);
		return err_set(e, E_UNAVAILABLE, "the server's name is not known");
	}
	l->dial = d;
	d->lookup = l;
	return 0;
}

static int
dial_begin(struct dial *d, struct err *e)
{
	char host[LIMIT_DIAL_HOST + 1];

	if (d->spec.host.len > LIMIT_DIAL_HOST)
		return err_set(e, E_UNAVAILABLE, "the server's name is not known");
	memcpy(host, d->spec.host.ptr, d->spec.host.len);
	host[d->spec.host.len] = '\0';
	if (timer_start(d->loop, &d->late, d->spec.connect_ms, dial_late, d) < 0)
		return err_plain(e, E_NOMEM);
	if (is_localhost(d->spec.host)) {
		address_add_text(d, "::1");
		address_add_text(d, "127.0.0.1");
	} else if (!address_add_text(d, host)) {
		return lookup_start(d, host, e);
	}
	defer(d->loop, &d->turn, dial_turn, d);
	return 0;
}

int
dial_start(struct loop *l, const struct dial_spec *spec, struct dial **ret, struct err *e)
{
	struct dial *d = calloc(1, sizeof(*d));

	if (!d)
		return err_plain(e, E_NOMEM);
	d->loop = l;
	d->spec = *spec;
	int r = dial_begin(d, e);
	d->spec.host = (struct str){0}; /* the caller's */
	if (r < 0) {
		dial_cancel(d);
		return r;
	}
	*ret = d;
	return 0;
}
