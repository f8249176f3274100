/* client.c - a blocking HTTP/1.1 client: poll, never without a bound, one exchange at a time. */

#include "net/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <llhttp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "json/json.h"
#include "net/sse.h"

#define READ_BYTES (16 * KIB)
#define EVENT_BYTES (2 * LIMIT_EVENT_BYTES) /* an event and its framing, with room to spare */

struct client {
	int fd;                  /* -1: not connected */
	struct sockaddr_un name; /* to connect again; empty when adopted */
	llhttp_t parser;
	struct buf *sink;  /* where body bytes go */
	size_t head_bytes; /* until the headers are over */
	bool head_over;
	bool bodyless;      /* the answer to HEAD */
	bool over;          /* the whole answer is here */
	bool keep;          /* and another may follow */
	struct buf overrun; /* read past the answer */

	struct buf stream; /* body bytes of an event stream, not yet read as events */
	size_t stream_at;
	bool streaming;
	struct sse_reader events;
};

/* llhttp's callbacks */

static int
on_head_end(llhttp_t *p)
{
	struct client *c = p->data;

	c->head_over = true;
	return c->bodyless ? 1 : HPE_OK;
}

static int
on_body(llhttp_t *p, const char *at, size_t len)
{
	struct client *c = p->data;

	buf_add(c->sink, (struct str){at, len});
	return buf_failed(c->sink) ? HPE_USER : HPE_OK;
}

static int
on_end(llhttp_t *p)
{
	struct client *c = p->data;

	c->over = true;
	c->keep = llhttp_should_keep_alive(p);
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_headers_complete = on_head_end,
    .on_body = on_body,
    .on_message_complete = on_end,
};

/* Connecting */

static struct client *
client_new(int fd)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = fd;
	buf_init(&c->overrun, READ_BYTES);
	buf_init(&c->stream, 2 * READ_BYTES);
	sse_reader_init(&c->events, EVENT_BYTES);
	return c;
}

static void
client_hang_up(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

void
client_free(struct client *c)
{
	if (!c)
		return;
	client_hang_up(c);
	buf_done(&c->overrun);
	buf_done(&c->stream);
	sse_reader_done(&c->events);
	free(c);
}

int
client_fd(const struct client *c)
{
	return c->fd;
}

static int
connect_to(const struct sockaddr_un *name, int *ret_fd, struct err *e)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(e, E_SYSTEM, errno, "socket");
	if (connect(fd, (const struct sockaddr *)name, sizeof(*name)) < 0) {
		int errnum = errno;
		close(fd);
		err_set(e, E_STOPPING, "nobody answers on %s", name->sun_path);
		err_inside(e, "connect: %s", strerror(errnum));
		return E_STOPPING;
	}
	*ret_fd = fd;
	return 0;
}

int
client_connect_unix(const char *path, struct client **ret, struct err *e)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd;

	if (path[0] == '\0' || strlen(path) >= sizeof(name.sun_path))
		return err_set(e, E_VALIDATION, "not a usable socket path: %s", path);
	memcpy(name.sun_path, path, strlen(path));
	int r = connect_to(&name, &fd, e);
	if (r < 0)
		return r;
	r = client_adopt(fd, ret, e);
	if (r == 0)
		(*ret)->name = name;
	return r;
}

int
client_adopt(int fd, struct client **ret, struct err *e)
{
	struct client *c = client_new(fd);

	if (!c) {
		close(fd);
		return err_plain(e, E_NOMEM);
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	*ret = c;
	return 0;
}

/* Between exchanges nothing may be readable: what is there is the end, or nonsense. */
static bool
client_alive(const struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	return c->fd >= 0 && poll(&p, 1, 0) == 0;
}

static int
client_ready(struct client *c, struct err *e)
{
	if (client_alive(c))
		return 0;
	client_hang_up(c);
	if (c->name.sun_path[0] == '\0')
		return err_set(e, E_STOPPING, "the connection to the gateway is closed");
	return connect_to(&c->name, &c->fd, e);
}

/* Bytes out and in */

static int
ms_left(uint64_t deadline_ms)
{
	uint64_t now = clock_mono_ms();

	if (deadline_ms == UINT64_MAX)
		return -1;
	if (now >= deadline_ms)
		return 0;
	return deadline_ms - now > INT_MAX ? INT_MAX : (int)(deadline_ms - now);
}

/* 1 ready, 0 deadline or, with *ret_signal, a signal; negative broken. */
static int
client_poll(struct client *c, short events, uint64_t deadline_ms, bool *ret_signal, struct err *e)
{
	struct pollfd p = {.fd = c->fd, .events = events};
	int n;

	for (;;) {
		n = poll(&p, 1, ms_left(deadline_ms));
		if (n >= 0)
			return n > 0;
		if (errno != EINTR)
			return err_errno(e, E_SYSTEM, errno, "poll");
		if (ret_signal) {
			*ret_signal = true;
			return 0;
		}
	}
}

/* A gateway that refuses may stop listening before all is sent: then its answer matters. */
static int
client_send(struct client *c, struct str bytes, uint64_t deadline_ms, struct err *e)
{
	while (bytes.len) {
		ssize_t n = send(c->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			bytes = str_from(bytes, (size_t)n);
		} else if (errno == EAGAIN) {
			int r = client_poll(c, POLLOUT, deadline_ms, NULL, e);
			if (r < 0)
				return r;
			if (r == 0)
				return err_set(e, E_TIMEOUT, "the gateway takes no bytes");
		} else if (errno == EPIPE || errno == ECONNRESET) {
			return 0;
		} else if (errno != EINTR) {
			return err_errno(e, E_SYSTEM, errno, "send");
		}
	}
	return 0;
}

static int
client_parse(struct client *c, struct str bytes, struct err *e)
{
	const char *end = bytes.ptr + bytes.len;

	if (!c->head_over && (c->head_bytes += bytes.len) > LIMIT_HTTP_HEADER_BYTES)
		return err_set(e, E_TOO_LARGE, "the answer's headers are too long");
	switch (llhttp_execute(&c->parser, bytes.ptr, bytes.len)) {
	case HPE_OK: return 0;
	case HPE_PAUSED: {
		const char *at = llhttp_get_error_pos(&c->parser);
		buf_add(&c->overrun, (struct str){at, (size_t)(end - at)});
		return buf_failed(&c->overrun) ? err_plain(e, E_NOMEM) : 0;
	}
	case HPE_USER: return err_set(e, E_TOO_LARGE, "the answer is larger than expected");
	default:
		err_set(e, E_SYSTEM, "the gateway's answer cannot be understood");
		err_inside(e, "%s", llhttp_get_error_reason(&c->parser));
		return E_SYSTEM;
	}
}

/* An answer without a length ends with the connection; any other is cut off. */
static int
client_ended(struct client *c, struct err *e)
{
	llhttp_errno_t r = llhttp_finish(&c->parser);

	c->keep = false;
	if ((r == HPE_OK || r == HPE_PAUSED) && c->over)
		return 0;
	return err_set(e, E_STOPPING, "the gateway closed the connection");
}

/* Read once. 1: something came (perhaps the end), 0 and negative as client_poll. */
static int
client_read(struct client *c, uint64_t deadline_ms, bool *ret_signal, struct err *e)
{
	char bytes[READ_BYTES];
	int r;

	for (;;) {
		ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n > 0)
			r = client_parse(c, (struct str){bytes, (size_t)n}, e);
		else if (n == 0 || errno == ECONNRESET)
			r = client_ended(c, e);
		else if (errno == EINTR)
			continue;
		else if (errno != EAGAIN)
			r = err_errno(e, E_SYSTEM, errno, "recv");
		else if ((r = client_poll(c, POLLIN, deadline_ms, ret_signal, e)) > 0)
			continue;
		else
			return r;
		return r < 0 ? r : 1;
	}
}

/* Exchanges */

static void
answer_expect(struct client *c, struct buf *sink)
{
	llhttp_init(&c->parser, HTTP_RESPONSE, &settings);
	c->parser.data = c;
	c->sink = sink;
	c->head_bytes = 0;
	c->head_over = c->over = c->keep = false;
	buf_reset(&c->overrun);
}

/* 100 and its like precede the answer; they are no answer. */
static int
interim_skip(struct client *c, struct err *e)
{
	struct buf rest = buf_take(&c->overrun);
	size_t head_bytes = c->head_bytes;

	answer_expect(c, c->sink);
	c->head_bytes = head_bytes; /* a flood of them has an end too */
	int r = client_parse(c, buf_str(&rest), e);
	buf_done(&rest);
	return r;
}

static bool
is_interim(const struct client *c)
{
	int status = c->parser.status_code;

	return c->over && status >= 100 && status < 200 && status != 101;
}

/* Until the headers, or with `whole` the whole answer, are here. */
static int
answer_await(struct client *c, bool whole, uint64_t deadline_ms, struct err *e)
{
	for (;;) {
		int r;

		if (is_interim(c))
			r = interim_skip(c, e);
		else if (c->over || (c->head_over && !whole))
			return 0;
		else if ((r = client_read(c, deadline_ms, NULL, e)) == 0)
			return err_set(e, E_TIMEOUT, "the gateway did not answer in time");
		if (r < 0)
			return r;
	}
}

/* Nothing that could end a line or a word may come in through the arguments. */
static bool
is_token(const char *z)
{
	for (const char *p = z; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			return false;
	return z[0] != '\0';
}

static int
request_send(struct client *c, const char *method, const char *target, const char *headers,
	     struct str body, uint64_t deadline_ms, struct err *e)
{
	struct buf head = BUF_INIT(LIMIT_HTTP_HEADER_BYTES);
	int r;

	if (!is_token(method) || !is_token(target))
		return err_set(e, E_VALIDATION, "not a usable method or path");
	r = client_ready(c, e);
	if (r < 0)
		return r;
	buf_addf(&head, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s", method, target, headers);
	if (body.ptr)
		buf_addf(&head, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			 body.len);
	buf_addz(&head, "\r\n");
	if (buf_failed(&head))
		r = err_set(e, E_TOO_LARGE, "the path is too long");
	else if ((r = client_send(c, buf_str(&head), deadline_ms, e)) == 0)
		r = client_send(c, body, deadline_ms, e);
	buf_done(&head);
	return r;
}

/* What is half said cannot be gone on with. */
static int
exchange_over(struct client *c, int r)
{
	if (r < 0 || (c->over && (!c->keep || c->overrun.len)))
		client_hang_up(c);
	return r;
}

int
client_request(struct client *c, const char *method, const char *target, struct str body,
	       int *ret_status, struct buf *ret_body, struct err *e)
{
	uint64_t deadline_ms = clock_mono_ms() + LIMIT_EXCHANGE_MS;

	CHECK(!c->streaming);
	c->bodyless = strcmp(method, "HEAD") == 0;
	answer_expect(c, ret_body);
	int r = request_send(c, method, target, "", body, deadline_ms, e);
	if (r == 0)
		r = answer_await(c, true, deadline_ms, e);
	if (r == 0)
		*ret_status = c->parser.status_code;
	c->bodyless = false;
	return exchange_over(c, r);
}

/* Events */

int
client_events(struct client *c, const char *target, int *ret_status, struct buf *problem,
	      struct err *e)
{
	uint64_t deadline_ms = clock_mono_ms() + LIMIT_EXCHANGE_MS;
	const char *accept = "Accept: text/event-stream\r\n";

	CHECK(!c->streaming);
	buf_reset(&c->stream);
	c->stream_at = 0;
	answer_expect(c, &c->stream);
	int r = request_send(c, "GET", target, accept, (struct str){0}, deadline_ms, e);
	if (r == 0)
		r = answer_await(c, false, deadline_ms, e);
	if (r < 0)
		return exchange_over(c, r);
	*ret_status = c->parser.status_code;
	if (c->parser.status_code == 200) {
		c->streaming = true;
		return 0;
	}
	/* The first bytes of the problem have already come. */
	buf_add(problem, buf_str(&c->stream));
	c->sink = problem;
	return exchange_over(c, answer_await(c, true, deadline_ms, e));
}

/* Give what was read to the reader of events: 1 an event, 0 none, negative broken. */
static int
event_next(struct client *c, struct err *e)
{
	bool event;
	size_t used;

	do {
		struct str bytes = str_from(buf_str(&c->stream), c->stream_at);
		int r = sse_reader_feed(&c->events, bytes, &used, &event);
		if (r < 0)
			return err_set(e, r, "an event is larger than the limit");
		c->stream_at += used;
	} while (event && !c->events.has_text);
	if (event)
		return 1;
	buf_reset(&c->stream); /* used up */
	c->stream_at = 0;
	return 0;
}

int
client_event(struct client *c, int timeout_ms, struct client_event *ret, struct err *e)
{
	uint64_t deadline_ms = timeout_ms < 0 ? UINT64_MAX : clock_mono_ms() + (uint64_t)timeout_ms;
	bool interrupted = false;
	int r;

	if (!c->streaming)
		return err_set(e, E_STOPPING, "the event stream has ended");
	while ((r = event_next(c, e)) == 0) {
		if (c->over)
			r = err_set(e, E_STOPPING, "the event stream has ended");
		else
			r = client_read(c, deadline_ms, &interrupted, e);
		if (r <= 0)
			break;
	}
	if (r < 0) {
		c->streaming = false;
		client_hang_up(c);
	} else if (r > 0) {
		ret->id = buf_str(&c->events.id);
		ret->type = c->events.type.len ? buf_str(&c->events.type) : S("message");
		ret->text = buf_str(&c->events.text);
	}
	return r;
}

/* Another protocol */

/* In the gateway's words, if it has said why. */
static int
refused_upgrade(struct client *c, const char *protocol, struct str body, struct err *e)
{
	struct json_doc *doc = NULL;

	client_hang_up(c);
	json_parse(body, &json_door, &doc, NULL);
	struct str why = json_str(json_pointer(doc ? json_root(doc) : NULL, S("/error/message")));
	if (why.len)
		err_set(e, E_STOPPING, "%.*s", STR_ARG(str_utf8_upto(why, 500)));
	else
		err_set(e, E_STOPPING, "the gateway does not speak %s (HTTP %d)", protocol,
			c->parser.status_code);
	json_doc_unref(doc);
	return E_STOPPING;
}

int
client_upgrade(struct client *c, const char *target, const char *protocol, int *ret_fd,
	       struct buf *early, struct err *e)
{
	uint64_t deadline_ms = clock_mono_ms() + LIMIT_EXCHANGE_MS;
	struct buf headers = BUF_INIT(LIMIT_HTTP_FIELD);
	struct buf said = BUF_INIT(LIMIT_HTTP_HEADER_BYTES);
	int r = E_NOMEM;

	CHECK(!c->streaming && is_token(protocol));
	buf_addf(&headers, "Connection: Upgrade\r\nUpgrade: %s\r\n", protocol);
	answer_expect(c, &said);
	if (buf_z(&headers))
		r = request_send(c, "GET", target, headers.ptr, (struct str){0}, deadline_ms, e);
	else
		err_plain(e, r);
	buf_done(&headers);
	if (r == 0)
		r = answer_await(c, true, deadline_ms, e);
	if (r == 0 && c->parser.status_code != 101)
		r = refused_upgrade(c, protocol, buf_str(&said), e);
	buf_done(&said);
	if (r < 0)
		return exchange_over(c, r);
	buf_add(early, buf_str(&c->overrun));
	if (buf_failed(early))
		return exchange_over(c, err_set(e, E_TOO_LARGE, "too much came at once"));
	*ret_fd = c->fd;
	c->fd = -1;
	return 0;
}
