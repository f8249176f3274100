/* fetch_curl.c - libcurl's multi interface on the loop: its sockets, its clock, and one request's
 * way.
 *
 * curl forbids most of its functions inside its own callbacks; there the request is only marked,
 * and its next turn tells curl.
 */

#include "net/fetch_curl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct curl_side {
	struct fetcher *fetcher;
	CURLM *multi;
	struct timer clock;     /* curl's */
	struct watch **watches; /* by descriptor: what curl waits for */
	size_t watch_cap;
	CURL *spare[LIMIT_FETCH_SPARE];
	size_t spares;
};

/*
 * A descriptor curl waits for. That of a connection is watched until it is closed: curl lets go of
 * it after every request, and taking it up again would cost five calls of the system each time.
 */
struct watch {
	struct curl_side *side;
	uv_poll_t poll;
	int fd;
	int events;  /* polled for now */
	bool ours;   /* a connection's */
	bool wanted; /* curl waits for it */
};

static struct curl_fetch *
curl_fetch_of(struct fetch *f)
{
	return CONTAINER_OF(f, struct curl_fetch, fetch);
}

static bool
curl_fetch_sent(const struct fetch *fetch)
{
	const struct curl_fetch *f = CONTAINER_OF(fetch, const struct curl_fetch, fetch);
	long bytes = 0;

	return f->added &&
	       libcurl.easy_getinfo(f->easy, CURLINFO_REQUEST_SIZE, &bytes) == CURLE_OK &&
	       bytes > 0;
}

/* How it ended */

static const struct {
	CURLcode rc;
	const char *text;
} endings[] = {
    {CURLE_COULDNT_RESOLVE_HOST, "the server's name is not known"},
    {CURLE_COULDNT_CONNECT, "the server cannot be reached"},
    {CURLE_OPERATION_TIMEDOUT, "the server did not take the connection in time"},
    {CURLE_PEER_FAILED_VERIFICATION, "the server's certificate is not trusted"},
    {CURLE_SSL_CONNECT_ERROR, "no secure connection to the server can be made"},
    {CURLE_GOT_NOTHING, "the server closed the connection without an answer"},
    {CURLE_SEND_ERROR, "the server closed the connection without an answer"},
    {CURLE_RECV_ERROR, "the connection to the server broke off"},
    {CURLE_PARTIAL_FILE, "the server's answer broke off"},
    {CURLE_BAD_CONTENT_ENCODING, "the server's answer cannot be decompressed"},
    {CURLE_WEIRD_SERVER_REPLY, "the server does not answer with HTTP"},
    {CURLE_UNSUPPORTED_PROTOCOL, "the server does not answer with HTTP"},
    /* Only our own refusal to send a request twice ends so. */
    {CURLE_ABORTED_BY_CALLBACK, "the connection was closed before an answer came"},
};

/* The code says whether it left us: curl may also fail to connect again after it was sent. */
static void
ending_of(const struct curl_fetch *f, CURLcode rc, struct err *e)
{
	int code = fetch__broken(&f->fetch);

	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (endings[i].rc == rc) {
			err_set(e, code, "%s", endings[i].text);
			return;
		}
	err_set(e, code, "the request failed: %s", libcurl.easy_strerror(rc));
}

static void
curl_fetch_explain(const struct curl_fetch *f, CURLcode rc, struct err *e)
{
	if (rc == CURLE_OK && !f->fetch.headed)
		err_set(e, E_EXECUTION, "the server did not answer");
	else if (rc == CURLE_OK)
		return;
	else if (f->fetch.refused && !curl_fetch_sent(&f->fetch))
		err_set(e, E_PERMISSION, "requests to this address are not allowed");
	else if (rc == CURLE_OUT_OF_MEMORY)
		err_plain(e, E_NOMEM);
	else
		ending_of(f, rc, e);
	if (f->problem[0])
		err_inside(e, "%s", f->problem);
}

/* The end */

static void
easy_give_back(struct curl_side *side, CURL *easy)
{
	libcurl.easy_reset(easy);
	if (side->spares < LIMIT_FETCH_SPARE)
		side->spare[side->spares++] = easy;
	else
		libcurl.easy_cleanup(easy);
}

static CURL *
easy_take(struct curl_side *side)
{
	return side->spares ? side->spare[--side->spares] : libcurl.easy_init();
}

/* So that what a rush of requests opened is closed again as it passes. */
static void
side_keep(struct curl_side *side)
{
	libcurl.multi_setopt(side->multi, CURLMOPT_MAXCONNECTS,
			     (long)(side->fetcher->fetches.len + LIMIT_FETCH_KEPT));
}

static void
curl_fetch_free(struct fetch *fetch)
{
	struct curl_fetch *f = curl_fetch_of(fetch);

	if (f->easy)
		easy_give_back(fetch->fetcher->curl, f->easy);
	if (f->added)
		side_keep(fetch->fetcher->curl);
	libcurl.slist_free_all(f->headers);
	buf_done(&fetch->head);
	free(f->body);
	free(f);
}

static void
curl_fetch_end(struct fetch *fetch)
{
	struct curl_fetch *f = curl_fetch_of(fetch);

	if (f->added)
		libcurl.multi_remove_handle(fetch->fetcher->curl->multi, f->easy);
}

static void
curl_fetch_over(struct curl_fetch *f, CURLcode rc)
{
	struct err e = ERR_NONE;

	curl_fetch_explain(f, rc, &e);
	fetch__end(&f->fetch, e.code ? &e : NULL);
}

/* Curl's turn: it does what it can, then those that are over are told. */
static void
side_act(struct curl_side *side, curl_socket_t fd, int events)
{
	CURLMsg *m;
	int left;

	libcurl.multi_socket_action(side->multi, fd, events, &left);
	while ((m = libcurl.multi_info_read(side->multi, &left)) != NULL) {
		struct curl_fetch *f = NULL;
		CURLcode rc = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		libcurl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&f);
		curl_fetch_over(f, rc);
	}
}

/* Curl's clock and sockets */

static void
clock_rung(void *arg)
{
	side_act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int
on_clock(CURLM *multi, long delay_ms, void *arg)
{
	struct curl_side *side = arg;

	(void)multi;
	if (delay_ms >= 0)
		return timer_start(side->fetcher->loop, &side->clock, (uint64_t)delay_ms,
				   clock_rung, side);
	timer_stop(side->fetcher->loop, &side->clock);
	return 0;
}

static void on_ready(uv_poll_t *poll, int status, int events);

static void
watch_poll(struct watch *w, int events)
{
	if (w->events == events)
		return;
	w->events = events;
	if (events)
		uv_poll_start(&w->poll, events, on_ready);
	else
		uv_poll_stop(&w->poll);
}

static void
on_ready(uv_poll_t *poll, int status, int events)
{
	struct watch *w = poll->data;
	int flags = status < 0 ? CURL_CSELECT_ERR : 0;

	if (!w->wanted) { /* the server ends a connection that is not used; curl will notice */
		watch_poll(w, 0);
		return;
	}
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	side_act(w->side, w->fd, flags);
}

static struct watch *
watch_find(const struct curl_side *side, int fd)
{
	return (size_t)fd < side->watch_cap ? side->watches[fd] : NULL;
}

static bool
watches_reserve(struct curl_side *side, int fd)
{
	size_t cap = ((size_t)fd / 64 + 1) * 64;

	if ((size_t)fd < side->watch_cap)
		return true;
	struct watch **p = realloc(side->watches, cap * sizeof(*p));
	if (!p)
		return false;
	memset(p + side->watch_cap, 0, (cap - side->watch_cap) * sizeof(*p));
	side->watches = p;
	side->watch_cap = cap;
	return true;
}

static void
on_watch_closed(uv_handle_t *h)
{
	free(h->data);
}

static void
watch_close(struct watch *w)
{
	if (!w)
		return;
	w->side->watches[w->fd] = NULL;
	uv_close((uv_handle_t *)&w->poll, on_watch_closed);
}

static struct watch *
watch_new(struct curl_side *side, int fd, bool ours)
{
	struct watch *w = watches_reserve(side, fd) ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return NULL;
	watch_close(side->watches[fd]); /* none, unless curl has closed one without a word */
	if (uv_poll_init(loop_uv(side->fetcher->loop), &w->poll, fd) < 0) {
		free(w);
		return NULL;
	}
	w->side = side;
	w->fd = fd;
	w->ours = ours;
	w->poll.data = w;
	side->watches[fd] = w;
	return w;
}

/* An idle connection is still looked at: that saves arming it again. One that was given up before
 * it stood curl closes without a word, and its number may be anybody's next. */
static void
watch_unwanted(struct watch *w)
{
	w->wanted = false;
	if (w->events & UV_WRITABLE)
		watch_poll(w, 0);
}

static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
	struct curl_side *side = arg;
	struct watch *w = watch_find(side, fd);
	int events = 0;

	(void)easy;
	(void)unused;
	if (what == CURL_POLL_REMOVE) {
		if (w && !w->ours)
			watch_close(w);
		else if (w)
			watch_unwanted(w);
		return 0;
	}
	/* To say so would end every request, now and later: this one meets its deadline instead. */
	if (!w && (w = watch_new(side, fd, false)) == NULL)
		return 0;
	if (what != CURL_POLL_OUT)
		events |= UV_READABLE;
	if (what != CURL_POLL_IN)
		events |= UV_WRITABLE;
	w->wanted = true;
	watch_poll(w, events);
	return 0;
}

/* Close-on-exec from birth, and only to where the request may go. */
static curl_socket_t
on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct curl_fetch *f = arg;

	(void)purpose;
	if (f->fetch.spec.allows && !f->fetch.spec.allows(&to->addr, f->fetch.spec.arg)) {
		f->fetch.refused = true;
		return CURL_SOCKET_BAD;
	}
	int fd = socket(to->family, to->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->protocol);
	if (fd >= 0 && !watch_new(f->fetch.fetcher->curl, fd, true)) {
		close(fd);
		return CURL_SOCKET_BAD;
	}
	return fd;
}

/* Of a connection, which may have outlived the request it was opened for. */
static int
on_close(void *arg, curl_socket_t fd)
{
	struct curl_side *side = arg;

	watch_close(watch_find(side, fd));
	return close(fd);
}

/* Curl itself, when it is first needed */

static void
multi_set(struct curl_side *side)
{
	libcurl.multi_setopt(side->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	libcurl.multi_setopt(side->multi, CURLMOPT_SOCKETDATA, side);
	libcurl.multi_setopt(side->multi, CURLMOPT_TIMERFUNCTION, on_clock);
	libcurl.multi_setopt(side->multi, CURLMOPT_TIMERDATA, side);
}

static int
side_need(struct fetcher *fr, struct err *e)
{
	int r = fr->curl ? 0 : curl_load(e);

	if (fr->curl || r < 0)
		return r;
	struct curl_side *side = calloc(1, sizeof(*side));
	if (!side || libcurl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(side);
		return err_plain(e, E_NOMEM);
	}
	side->fetcher = fr;
	side->multi = libcurl.multi_init();
	if (!side->multi) {
		libcurl.global_cleanup();
		free(side);
		return err_plain(e, E_NOMEM);
	}
	multi_set(side);
	fr->curl = side;
	return 0;
}

void
fetch__curl_done(struct fetcher *fr)
{
	struct curl_side *side = fr->curl;

	if (!side)
		return;
	while (side->spares)
		libcurl.easy_cleanup(side->spare[--side->spares]);
	libcurl.multi_cleanup(side->multi);
	timer_stop(fr->loop, &side->clock);
	for (size_t i = 0; i < side->watch_cap; i++)
		watch_close(side->watches[i]);
	free(side->watches);
	libcurl.global_cleanup();
	free(side);
	fr->curl = NULL;
}

/* Guards */

/* A connection that is used again was opened for another, who may have been allowed more. */
static bool
peer_allowed(struct curl_fetch *f, const char *ip, int port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};

	if (!f->fetch.spec.allows)
		return true;
	if (inet_pton(AF_INET, ip, &v4.sin_addr) == 1)
		return f->fetch.spec.allows((struct sockaddr *)&v4, f->fetch.spec.arg);
	return inet_pton(AF_INET6, ip, &v6.sin6_addr) == 1 &&
	       f->fetch.spec.allows((struct sockaddr *)&v6, f->fetch.spec.arg);
}

/*
 * Before each attempt to send. Curl sends a request again when a kept connection ended without an
 * answer; but the server may have read it and done it, and a POST is done once or not at all.
 */
static int
on_connected(void *arg, char *peer_ip, char *own_ip, int peer_port, int own_port)
{
	struct curl_fetch *f = arg;

	(void)own_ip;
	(void)own_port;
	fetch__heard(&f->fetch);
	if (!peer_allowed(f, peer_ip, peer_port)) {
		f->fetch.refused = true;
		return CURL_PREREQFUNC_ABORT;
	}
	if (f->attempts++ > 0 && !f->fetch.repeatable && curl_fetch_sent(&f->fetch))
		return CURL_PREREQFUNC_ABORT;
	return CURL_PREREQFUNC_OK;
}

/* What comes */

/* False: no more. */
static bool
head_over(struct curl_fetch *f)
{
	long status = 0;

	libcurl.easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200)
		return fetch__headed(&f->fetch, (int)status);
	buf_reset(&f->fetch.head); /* an interim answer; the real one follows */
	return true;
}

/* One line, its end included; an empty one is the end. Trailers come here too, and are dropped. */
static size_t
on_header(char *line, size_t size, size_t count, void *arg)
{
	struct curl_fetch *f = arg;
	struct fetch *fetch = arg;
	struct str s = {line, size * count};

	fetch__heard(fetch);
	if (fetch->cancelled || !fetch__count(fetch, 1, s.len))
		return 0;
	if (fetch->headed)
		return s.len;
	if (str_trim(s).len == 0)
		return head_over(f) ? s.len : 0;
	buf_add(&fetch->head, s);
	if (buf_failed(&fetch->head))
		fetch->fault = E_NOMEM;
	return fetch->fault ? 0 : s.len;
}

static size_t
on_body(char *ptr, size_t size, size_t count, void *arg)
{
	struct curl_fetch *f = arg;
	struct str bytes = {ptr, size * count};

	fetch__heard(&f->fetch);
	if (f->fetch.cancelled)
		return 0;
	if (f->fetch.paused) {
		f->stopped = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	return fetch__piece(&f->fetch, bytes) ? bytes.len : 0;
}

/* Its turns */

static void
curl_fetch_begin(struct fetch *fetch)
{
	struct curl_fetch *f = curl_fetch_of(fetch);
	struct curl_side *side = fetch->fetcher->curl;

	if (libcurl.multi_add_handle(side->multi, f->easy) != CURLM_OK) {
		curl_fetch_over(f, CURLE_OUT_OF_MEMORY);
		return;
	}
	f->added = true;
	side_keep(side);
	side_act(side, CURL_SOCKET_TIMEOUT, 0);
}

static void
curl_fetch_resume(struct fetch *fetch)
{
	struct curl_fetch *f = curl_fetch_of(fetch);

	if (!f->stopped)
		return;
	f->stopped = false;
	libcurl.easy_pause(f->easy, CURLPAUSE_CONT);
	side_act(fetch->fetcher->curl, CURL_SOCKET_TIMEOUT, 0);
}

static const struct fetch_ops curl_ops = {
    .begin = curl_fetch_begin,
    .resume = curl_fetch_resume,
    .sent = curl_fetch_sent,
    .end = curl_fetch_end,
    .free = curl_fetch_free,
};

/* Starting */

static void
callbacks_set(struct curl_fetch *f)
{
	libcurl.easy_setopt(f->easy, CURLOPT_PRIVATE, f);
	libcurl.easy_setopt(f->easy, CURLOPT_ERRORBUFFER, f->problem);
	libcurl.easy_setopt(f->easy, CURLOPT_HEADERFUNCTION, on_header);
	libcurl.easy_setopt(f->easy, CURLOPT_HEADERDATA, f);
	libcurl.easy_setopt(f->easy, CURLOPT_WRITEFUNCTION, on_body);
	libcurl.easy_setopt(f->easy, CURLOPT_WRITEDATA, f);
	libcurl.easy_setopt(f->easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	libcurl.easy_setopt(f->easy, CURLOPT_OPENSOCKETDATA, f);
	libcurl.easy_setopt(f->easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
	libcurl.easy_setopt(f->easy, CURLOPT_CLOSESOCKETDATA, f->fetch.fetcher->curl);
	libcurl.easy_setopt(f->easy, CURLOPT_PREREQFUNCTION, on_connected);
	libcurl.easy_setopt(f->easy, CURLOPT_PREREQDATA, f);
}

int
fetch__curl(struct fetcher *fr, const struct fetch_spec *spec, struct fetch **ret, struct err *e)
{
	int r = side_need(fr, e);

	if (r < 0)
		return r;
	struct curl_fetch *f = calloc(1, sizeof(*f));
	if (!f)
		return err_plain(e, E_NOMEM);
	f->fetch.ops = &curl_ops;
	f->fetch.fetcher = fr;
	f->fetch.spec = *spec;
	buf_init(&f->fetch.head, LIMIT_HTTP_HEADER_BYTES);
	f->easy = easy_take(fr->curl);
	r = f->easy ? fetch__curl_set(f, e) : err_plain(e, E_NOMEM);
	if (r < 0) {
		curl_fetch_free(&f->fetch);
		return r;
	}
	callbacks_set(f);
	*ret = &f->fetch;
	return 0;
}
