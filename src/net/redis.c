/* redis.c - dial, greet, ask in order; again after a while when it breaks. */

#include "net/redis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/library.h"
#include "base/limits.h"
#include "net/dial.h"

#ifdef HAVE_HIREDIS
#include <hiredis/hiredis.h>
#else
/* Never called: redis_load fails first. */
typedef struct redisReader redisReader;
typedef struct redisReply {
	int type;
	long long integer;
	size_t len;
	char *str;
	size_t elements;
	struct redisReply **element;
} redisReply;
redisReader *redisReaderCreate(void);
void redisReaderFree(redisReader *r);
int redisReaderFeed(redisReader *r, const char *buf, size_t len);
int redisReaderGetReply(redisReader *r, void **reply);
void freeReplyObject(void *reply);
enum {
	REDIS_REPLY_STRING = 1,
	REDIS_REPLY_ARRAY,
	REDIS_REPLY_INTEGER,
	REDIS_REPLY_NIL,
	REDIS_REPLY_STATUS,
	REDIS_REPLY_ERROR
};
#endif

/* ---- hiredis ---- */

#define HIREDIS_FUNCTIONS(X)                                                                       \
	X(redisReaderCreate)                                                                       \
	X(redisReaderFree)                                                                         \
	X(redisReaderFeed)                                                                         \
	X(redisReaderGetReply)                                                                     \
	X(freeReplyObject)

static struct hiredis_functions {
#define FUNCTION(name) __typeof__(&name) name;
	HIREDIS_FUNCTIONS(FUNCTION)
#undef FUNCTION
} hiredis;

#ifdef HAVE_HIREDIS
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* Of exactly the version this was built with: its answers are structs of ours to look into. */
static int
redis_load(struct err *e)
{
	static const struct library_function functions[] = {
#define FUNCTION(name) {#name, offsetof(struct hiredis_functions, name)},
	    HIREDIS_FUNCTIONS(FUNCTION)
#undef FUNCTION
	};
	static const char *const names[] = {"libhiredis.so." TEXT(HIREDIS_SONAME), NULL};
	static void *library;
	struct err why = ERR_NONE;

	if (!library)
		library = library_load(names, functions, ARRAY_LEN(functions), &hiredis, &why);
	return library ? 0 : err_set(e, E_UNAVAILABLE, "Redis needs hiredis: %s", err_text(&why));
}
#else
static int
redis_load(struct err *e)
{
	return err_set(e, E_UNAVAILABLE, "this holdfast was built without hiredis");
}
#endif

/* ---- where it is ---- */

static int
address_fail(struct redis_address *a, struct err *e, const char *what)
{
	redis_address_done(a);
	return err_set(e, E_CONFIG, "%s (redis://[user:password@]host[:port][/db] or unix:///path)",
		       what);
}

static int
hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Percent-decoded; NULL: malformed, a NUL in it, or no memory. */
static char *
decoded(struct str s)
{
	char *out = malloc(s.len + 1), *at = out;

	for (size_t i = 0; out && i < s.len; i++) {
		int c = (unsigned char)s.ptr[i];
		if (c == '%') {
			int high = i + 2 < s.len ? hex(s.ptr[i + 1]) : -1;
			int low = high >= 0 ? hex(s.ptr[i + 2]) : -1;
			c = low < 0 ? 0 : high << 4 | low;
			i += 2;
		}
		if (c == 0) {
			free(out);
			return NULL;
		}
		*at++ = (char)c;
	}
	if (out)
		*at = '\0';
	return out;
}

static bool
read_login(struct str login, struct redis_address *a)
{
	ptrdiff_t colon = str_index(login, ':');
	struct str user = str_upto(login, colon < 0 ? 0 : (size_t)colon);

	if (user.len && !(a->user = decoded(user)))
		return false;
	return (a->password = decoded(str_from(login, (size_t)(colon + 1)))) != NULL;
}

static bool
read_db(struct str text, struct redis_address *a)
{
	uint64_t n = 0;

	if (text.len && (!str_to_u64(text, &n) || n > UINT16_MAX))
		return false;
	a->db = (unsigned)n;
	return true;
}

static bool
read_host(struct str rest, struct redis_address *a)
{
	ptrdiff_t slash = str_index(rest, '/');
	struct str authority = slash < 0 ? rest : str_upto(rest, (size_t)slash), host = authority;
	uint64_t port = 6379;
	size_t end = authority.len;

	while (end > 0 && authority.ptr[end - 1] != ':' && authority.ptr[end - 1] != ']')
		end--;
	if (end > 0 && authority.ptr[end - 1] == ':') {
		host = str_upto(authority, end - 1);
		if (!str_to_u64(str_from(authority, end), &port) || port < 1 || port > UINT16_MAX)
			return false;
	}
	if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = str_upto(str_from(host, 1), host.len - 2);
	a->port = (uint16_t)port;
	return host.len > 0 && host.len <= LIMIT_DIAL_HOST && (a->host = str_dup(host)) &&
	       (slash < 0 || read_db(str_from(rest, (size_t)slash + 1), a));
}

static bool
read_path(struct str rest, struct redis_address *a)
{
	ptrdiff_t query = str_index(rest, '?');
	struct str path = query < 0 ? rest : str_upto(rest, (size_t)query);
	struct str db = query < 0 ? S("") : str_from(rest, (size_t)query + 1);

	if (query >= 0 && !str_starts(db, S("db=")))
		return false;
	return path.len > 0 && path.ptr[0] == '/' &&
	       path.len < sizeof(((struct sockaddr_un *)NULL)->sun_path) &&
	       (a->path = decoded(path)) && read_db(str_from(db, query < 0 ? 0 : 3), a);
}

int
redis_address_read(struct str url, struct redis_address *ret, struct err *e)
{
	bool is_unix = str_starts(url, S("unix://"));

	*ret = (struct redis_address){0};
	if (str_starts(url, S("rediss://")))
		return address_fail(ret, e, "TLS to Redis is not spoken");
	if (!is_unix && !str_starts(url, S("redis://")))
		return address_fail(ret, e, "not a URL of a Redis server");
	struct str rest = str_from(url, is_unix ? 7 : 8);
	/* A password may hold "@" and "/" only as %40 and %2F. */
	ptrdiff_t slash = is_unix ? -1 : str_index(rest, '/');
	ptrdiff_t at = str_index(slash < 0 ? rest : str_upto(rest, (size_t)slash), '@');
	if (is_unix && rest.len && rest.ptr[0] == '/')
		at = -1;
	if (at >= 0 && !read_login(str_upto(rest, (size_t)at), ret))
		return address_fail(ret, e, "the user or the password cannot be read");
	rest = str_from(rest, (size_t)(at + 1));
	if (is_unix ? !read_path(rest, ret) : !read_host(rest, ret))
		return address_fail(ret, e, "the server's address cannot be read");
	return 0;
}

void
redis_address_done(struct redis_address *a)
{
	if (a->password)
		explicit_bzero(a->password, strlen(a->password));
	free(a->host);
	free(a->path);
	free(a->user);
	free(a->password);
	*a = (struct redis_address){0};
}

void
redis_address_text(const struct redis_address *a, char *out, size_t size)
{
	if (a->path)
		snprintf(out, size, "%s", a->path);
	else
		snprintf(out, size, strchr(a->host, ':') ? "[%s]:%u" : "%s:%u", a->host, a->port);
}

/* ---- a connection ---- */

struct conn {
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	} uv;
	struct redis *redis; /* NULL: it is being closed */
	redisReader *reader;
	size_t unread; /* fed since the last answer */
	char input[LIMIT_REDIS_INPUT];
};

struct ask {
	struct node node;
	redis_fn done;
	void *arg;
	uint64_t due_ms;
};

struct out {
	uv_write_t request;
	struct buf bytes;
};

enum state { DOWN, DIALING, GREETING, UP };

struct redis {
	struct redis_spec spec;
	struct loop *loop;
	enum state state;
	struct dial *dial;
	struct conn *conn;
	struct list asks; /* in the order they were sent */
	struct timer retry, late;
	struct deferred soon; /* the end of a connection, out of whatever is going on */
	struct err why;
	unsigned failures; /* in a row */
	bool freeing;
};

static void conn_begin(void *arg);

static void
conn_closed(uv_handle_t *h)
{
	struct conn *c = h->data;

	if (c->reader)
		hiredis.redisReaderFree(c->reader);
	free(c);
}

static void
asks_fail(struct redis *r, const struct err *e)
{
	for (struct node *n; (n = list_first(&r->asks));) {
		struct ask *a = CONTAINER_OF(n, struct ask, node);
		list_remove(n);
		a->done(e, NULL, a->arg);
		free(a);
	}
}

/* Everything of it ends; another try comes later, unless this is the end. */
static void
drop(struct redis *r)
{
	struct err why = r->why;

	dial_cancel(r->dial);
	r->dial = NULL;
	timer_stop(r->loop, &r->late);
	if (r->conn) {
		r->conn->redis = NULL;
		uv_close(&r->conn->uv.handle, conn_closed);
		r->conn = NULL;
	}
	r->state = DOWN;
	asks_fail(r, &why);
	if (r->freeing)
		return;
	unsigned times = r->failures < 10 ? r->failures : 10;
	uint64_t delay_ms = (uint64_t)LIMIT_REDIS_BACKOFF_MS << times;
	if (delay_ms > LIMIT_REDIS_BACKOFF_MAX_MS)
		delay_ms = LIMIT_REDIS_BACKOFF_MAX_MS;
	r->failures++;
	timer_start(r->loop, &r->retry, delay_ms, conn_begin, r);
	r->spec.changed(false, &why, r->spec.arg);
}

static void
drop_now(void *arg)
{
	drop(arg);
}

static void
break_soon(struct redis *r, const char *why)
{
	char where[LIMIT_HOST_BYTES + 16];

	redis_address_text(r->spec.address, where, sizeof(where));
	err_set(&r->why, E_UNAVAILABLE, "Redis at %s: %s", where, why);
	defer(r->loop, &r->soon, drop_now, r);
}

void
redis_restart(struct redis *r, const char *why)
{
	if (r->state != DOWN)
		break_soon(r, why);
}

/* ---- answers ---- */

static struct redis_answer
answer_of(const redisReply *p)
{
	struct redis_answer a = {.kind = REDIS_NIL};

	switch (p->type) {
	case REDIS_REPLY_STRING:
	case REDIS_REPLY_STATUS: a.kind = REDIS_TEXT; break;
	case REDIS_REPLY_ERROR: a.kind = REDIS_ERROR; break;
	case REDIS_REPLY_INTEGER: a.kind = REDIS_NUMBER; break;
	case REDIS_REPLY_ARRAY: a.kind = REDIS_LIST; break;
	default: break;
	}
	a.number = p->integer;
	if (a.kind == REDIS_TEXT || a.kind == REDIS_ERROR)
		a.text = (struct str){p->str, p->len};
	return a;
}

static void
answered(struct redis *r, const redisReply *p)
{
	struct redis_answer items[LIMIT_REDIS_ITEMS], a = answer_of(p);
	struct node *n = list_first(&r->asks);

	if (!n) {
		break_soon(r, "it says what nobody asked");
		return;
	}
	if (a.kind == REDIS_LIST) {
		a.items = items;
		a.count = p->elements < LIMIT_REDIS_ITEMS ? p->elements : LIMIT_REDIS_ITEMS;
		for (size_t i = 0; i < a.count; i++)
			items[i] = answer_of(p->element[i]);
	}
	struct ask *ask = CONTAINER_OF(n, struct ask, node);
	list_remove(n);
	ask->done(NULL, &a, ask->arg);
	free(ask);
}

static void
overdue(void *arg)
{
	break_soon(arg, "it did not answer in time");
}

/* The oldest is answered first, so its time is the one that counts. */
static void
watch_oldest(struct redis *r)
{
	struct node *n = list_first(&r->asks);
	uint64_t now = loop_now_ms(r->loop);

	if (!n) {
		timer_stop(r->loop, &r->late);
		return;
	}
	uint64_t due = CONTAINER_OF(n, struct ask, node)->due_ms;
	timer_start(r->loop, &r->late, due > now ? due - now : 1, overdue, r);
}

static void
conn_input(struct conn *c, struct str bytes)
{
	struct redis *r = c->redis;
	void *reply = NULL;

	c->unread += bytes.len;
	if (c->unread > LIMIT_REDIS_ANSWER)
		break_soon(r, "an answer is larger than the limit");
	else if (hiredis.redisReaderFeed(c->reader, bytes.ptr, bytes.len) != 0)
		break_soon(r, "its answer cannot be read");
	else
		while (c->redis && hiredis.redisReaderGetReply(c->reader, &reply) == 0 && reply) {
			c->unread = 0;
			answered(r, reply);
			hiredis.freeReplyObject(reply);
			reply = NULL;
		}
	if (c->redis)
		watch_oldest(r);
}

static void
conn_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	struct conn *c = h->data;

	(void)suggested;
	*ret = uv_buf_init(c->input, sizeof(c->input));
}

static void
conn_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
	struct conn *c = stream->data;

	if (n == 0 || !c->redis)
		return;
	if (n > 0)
		conn_input(c, (struct str){b->base, (size_t)n});
	else
		break_soon(c->redis, n == UV_EOF ? "the connection ended" : uv_strerror((int)n));
}

/* ---- asking ---- */

static void
written(uv_write_t *w, int status)
{
	struct out *o = CONTAINER_OF(w, struct out, request);
	struct conn *c = w->handle->data;

	if (status < 0 && c->redis)
		break_soon(c->redis, uv_strerror(status));
	buf_done(&o->bytes);
	free(o);
}

static int
send_words(struct redis *r, const struct str *words, size_t count)
{
	struct out *o = calloc(1, sizeof(*o));

	if (!o)
		return E_NOMEM;
	buf_init(&o->bytes, LIMIT_REDIS_COMMAND);
	buf_addf(&o->bytes, "*%zu\r\n", count);
	for (size_t i = 0; i < count; i++) {
		buf_addf(&o->bytes, "$%zu\r\n", words[i].len);
		buf_add(&o->bytes, words[i]);
		buf_addz(&o->bytes, "\r\n");
	}
	uv_buf_t all = uv_buf_init(o->bytes.ptr, (unsigned)o->bytes.len);
	int code = buf_failed(&o->bytes) ? E_LIMIT : 0;
	if (code == 0 && uv_write(&o->request, &r->conn->uv.stream, &all, 1, written) == 0)
		return 0;
	buf_done(&o->bytes);
	free(o);
	return code ? code : E_UNAVAILABLE;
}

static int
ask(struct redis *r, const struct str *words, size_t count, redis_fn done, void *arg)
{
	if (r->asks.len >= LIMIT_REDIS_ASKS)
		return E_LIMIT;
	struct ask *a = calloc(1, sizeof(*a));
	if (!a)
		return E_NOMEM;
	*a = (struct ask){.done = done,
			  .arg = arg,
			  .due_ms = loop_now_ms(r->loop) + LIMIT_REDIS_ANSWER_MS};
	int code = send_words(r, words, count);
	if (code < 0) {
		free(a);
		return code;
	}
	list_push(&r->asks, &a->node);
	if (r->asks.len == 1)
		watch_oldest(r);
	return 0;
}

int
redis_ask(struct redis *r, const struct str *words, size_t count, redis_fn done, void *arg)
{
	return r->state == UP ? ask(r, words, count, done, arg) : E_UNAVAILABLE;
}

size_t
redis_waiting(const struct redis *r)
{
	return r->asks.len;
}

/* ---- connecting ---- */

static void
greeted(const struct err *e, const struct redis_answer *a, void *arg)
{
	struct redis *r = arg;
	char why[200];

	if (e || r->state != GREETING)
		return;
	if (a->kind == REDIS_ERROR) {
		snprintf(why, sizeof(why), "it refuses us: %.*s",
			 STR_ARG(str_utf8_upto(a->text, 120)));
		r->state = DIALING; /* what follows is not listened to */
		break_soon(r, why);
	} else if (list_first(&r->asks) == NULL) {
		r->state = UP;
		r->failures = 0;
		r->spec.changed(true, NULL, r->spec.arg);
	}
}

static void
greet(struct redis *r)
{
	const struct redis_address *a = r->spec.address;
	char db[16];
	struct str auth[] = {S("AUTH"), str_of(a->user ? a->user : ""), str_of(a->password)};
	int code = 0;

	r->state = GREETING;
	snprintf(db, sizeof(db), "%u", a->db);
	if (!a->user)
		auth[1] = auth[2];
	if (a->password)
		code = ask(r, auth, a->user ? 3 : 2, greeted, r);
	if (code == 0 && a->db)
		code = ask(r, (struct str[]){S("SELECT"), str_of(db)}, 2, greeted, r);
	if (code == 0)
		code = ask(r, (struct str[]){S("PING")}, 1, greeted, r);
	if (code < 0)
		break_soon(r, err_row(code)->sentence);
}

/* Consumes fd. */
static void
conn_open(struct redis *r, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));
	bool local = r->spec.address->path != NULL;

	if (!c || !(c->reader = hiredis.redisReaderCreate())) {
		free(c);
		close(fd);
		break_soon(r, "out of memory");
		return;
	}
	if (local)
		uv_pipe_init(loop_uv(r->loop), &c->uv.pipe, 0);
	else
		uv_tcp_init(loop_uv(r->loop), &c->uv.tcp);
	c->uv.handle.data = c;
	c->redis = r;
	r->conn = c;
	if ((local ? uv_pipe_open(&c->uv.pipe, fd) : uv_tcp_open(&c->uv.tcp, fd)) < 0) {
		close(fd);
		break_soon(r, "the socket cannot be used");
		return;
	}
	if (!local) {
		uv_tcp_nodelay(&c->uv.tcp, 1);
		uv_tcp_keepalive(&c->uv.tcp, 1, 60);
	}
	uv_read_start(&c->uv.stream, conn_alloc, conn_read);
	greet(r);
}

static void
dialed(int fd, const union dial_address *peer, void *arg)
{
	struct redis *r = arg;

	(void)peer;
	r->dial = NULL;
	conn_open(r, fd);
}

static void
dial_failed(const struct err *e, void *arg)
{
	struct redis *r = arg;

	r->dial = NULL;
	break_soon(r, err_text(e));
}

static void
connect_path(struct redis *r)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(to.sun_path, r->spec.address->path); /* it fits: read_path */
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0) {
		conn_open(r, fd);
		return;
	}
	break_soon(r, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void
conn_begin(void *arg)
{
	struct redis *r = arg;
	const struct redis_address *a = r->spec.address;
	struct dial_spec to = {.host = str_of(a->host),
			       .port = a->port,
			       .connect_ms = LIMIT_REDIS_CONNECT_MS,
			       .connected = dialed,
			       .failed = dial_failed,
			       .arg = r};
	struct err e;

	r->state = DIALING;
	if (a->path)
		connect_path(r);
	else if (dial_start(r->loop, &to, &r->dial, &e) < 0)
		break_soon(r, err_text(&e));
}

int
redis_new(const struct redis_spec *spec, struct redis **ret, struct err *e)
{
	int code = redis_load(e);
	struct redis *r = code < 0 ? NULL : calloc(1, sizeof(*r));

	if (code < 0)
		return code;
	if (!r)
		return err_plain(e, E_NOMEM);
	r->spec = *spec;
	r->loop = spec->loop;
	list_init(&r->asks);
	err_set(&r->why, E_UNAVAILABLE, "Redis is not connected yet");
	if ((code = timer_start(r->loop, &r->retry, 0, conn_begin, r)) < 0) {
		free(r);
		return err_plain(e, code);
	}
	*ret = r;
	return 0;
}

void
redis_free(struct redis *r)
{
	if (!r)
		return;
	r->freeing = true;
	err_set(&r->why, E_UNAVAILABLE, "the gateway is shutting down");
	timer_stop(r->loop, &r->retry);
	defer_cancel(&r->soon);
	drop(r);
	free(r);
}
