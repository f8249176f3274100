/* fetch.c - libcurl's multi interface on the loop: its sockets, its clock, and one request's way.
 *
 * curl forbids most of its functions inside its own callbacks. So starting, cancelling and going on
 * after a pause only mark the request, and its next turn (fetch_turn, put off) tells curl.
 */

#include "net/fetch_inside.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A descriptor curl waits for. That of a connection is watched until it is closed: curl lets go of
 * it after every request, and taking it up again would cost five calls of the system each time.
 */
struct watch {
	struct fetcher *fetcher;
	uv_poll_t poll;
	int fd;
	int events;  /* polled for now */
	bool ours;   /* a connection's */
	bool wanted; /* curl waits for it */
};

static bool
fetch_done_with(const struct fetch *f)
{
	return f->cancelled || f->ended || f->fault;
}

bool
fetch_sent(const struct fetch *f)
{
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
static int
ending_of(const struct fetch *f, CURLcode rc, struct err *e)
{
	int code = fetch_sent(f) ? E_EXECUTION : E_UNAVAILABLE;

	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (endings[i].rc == rc)
			return err_set(e, code, "%s", endings[i].text);
	return err_set(e, code, "the request failed: %s", libcurl.easy_strerror(rc));
}

static int
fault_of(const struct fetch *f, struct err *e)
{
	switch (f->fault) {
	case E_TOO_LARGE: return err_set(e, E_TOO_LARGE, "the server's answer is too large");
	case E_TIMEOUT: return err_set(e, E_TIMEOUT, "nothing came from the server for too long");
	default: return err_plain(e, f->fault);
	}
}

static void
fetch_explain(const struct fetch *f, CURLcode rc, struct err *e)
{
	if (f->cancelled)
		err_plain(e, E_CANCELLED);
	else if (f->fault)
		fault_of(f, e);
	else if (rc == CURLE_OK && !f->headed)
		err_set(e, E_EXECUTION, "the server did not answer");
	else if (rc == CURLE_OK)
		return;
	else if (f->refused && !fetch_sent(f))
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
easy_give_back(struct fetcher *fr, CURL *easy)
{
	libcurl.easy_reset(easy);
	if (fr->spares < LIMIT_FETCH_SPARE)
		fr->spare[fr->spares++] = easy;
	else
		libcurl.easy_cleanup(easy);
}

static CURL *
easy_take(struct fetcher *fr)
{
	return fr->spares ? fr->spare[--fr->spares] : libcurl.easy_init();
}

static void
fetch_free(struct fetch *f)
{
	if (f->easy)
		easy_give_back(f->fetcher, f->easy);
	libcurl.slist_free_all(f->headers);
	buf_done(&f->head);
	free(f->body);
	free(f);
}

/* So that what a rush of requests opened is closed again as it passes. */
static void
fetcher_keep(struct fetcher *fr)
{
	libcurl.multi_setopt(fr->multi, CURLMOPT_MAXCONNECTS,
			     (long)(fr->fetches.len + LIMIT_FETCH_KEPT));
}

static void
fetch_end(struct fetch *f, CURLcode rc)
{
	struct fetcher *fr = f->fetcher;
	struct err e = ERR_NONE;
	long status = 0;

	f->ended = true;
	timer_stop(fr->loop, &f->stall);
	defer_cancel(&f->turn);
	if (f->headed)
		libcurl.easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
	fetch_explain(f, rc, &e);
	if (f->added)
		libcurl.multi_remove_handle(fr->multi, f->easy);
	f->spec.over(f, (int)status, &e, f->spec.arg);
	list_remove(&f->node);
	fetcher_keep(fr);
	fetch_free(f);
}

/* Curl's turn: it does what it can, then those that are over are told. */
static void
fetcher_act(struct fetcher *fr, curl_socket_t fd, int events)
{
	CURLMsg *m;
	int left;

	libcurl.multi_socket_action(fr->multi, fd, events, &left);
	while ((m = libcurl.multi_info_read(fr->multi, &left)) != NULL) {
		struct fetch *f = NULL;
		CURLcode rc = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		libcurl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&f);
		fetch_end(f, rc);
	}
}

/* Curl's clock and sockets */

static void
clock_rung(void *arg)
{
	fetcher_act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int
on_clock(CURLM *multi, long delay_ms, void *arg)
{
	struct fetcher *fr = arg;

	(void)multi;
	if (delay_ms >= 0)
		return timer_start(fr->loop, &fr->clock, (uint64_t)delay_ms, clock_rung, fr);
	timer_stop(fr->loop, &fr->clock);
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
	fetcher_act(w->fetcher, w->fd, flags);
}

static struct watch *
watch_find(const struct fetcher *fr, int fd)
{
	return (size_t)fd < fr->watch_cap ? fr->watches[fd] : NULL;
}

static bool
watches_reserve(struct fetcher *fr, int fd)
{
	size_t cap = ((size_t)fd / 64 + 1) * 64;

	if ((size_t)fd < fr->watch_cap)
		return true;
	struct watch **p = realloc(fr->watches, cap * sizeof(*p));
	if (!p)
		return false;
	memset(p + fr->watch_cap, 0, (cap - fr->watch_cap) * sizeof(*p));
	fr->watches = p;
	fr->watch_cap = cap;
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
	w->fetcher->watches[w->fd] = NULL;
	uv_close((uv_handle_t *)&w->poll, on_watch_closed);
}

static struct watch *
watch_new(struct fetcher *fr, int fd, bool ours)
{
	struct watch *w = watches_reserve(fr, fd) ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return NULL;
	watch_close(fr->watches[fd]); /* none, unless curl has closed one without a word */
	if (uv_poll_init(loop_uv(fr->loop), &w->poll, fd) < 0) {
		free(w);
		return NULL;
	}
	w->fetcher = fr;
	w->fd = fd;
	w->ours = ours;
	w->poll.data = w;
	fr->watches[fd] = w;
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
	struct fetcher *fr = arg;
	struct watch *w = watch_find(fr, fd);
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
	if (!w && (w = watch_new(fr, fd, false)) == NULL)
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
	struct fetch *f = arg;

	(void)purpose;
	if (f->spec.allows && !f->spec.allows(&to->addr, f->spec.arg)) {
		f->refused = true;
		return CURL_SOCKET_BAD;
	}
	int fd = socket(to->family, to->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->protocol);
	if (fd >= 0 && !watch_new(f->fetcher, fd, true)) {
		close(fd);
		return CURL_SOCKET_BAD;
	}
	return fd;
}

/* Of a connection, which may have outlived the request it was opened for. */
static int
on_close(void *arg, curl_socket_t fd)
{
	struct fetcher *fr = arg;

	watch_close(watch_find(fr, fd));
	return close(fd);
}

/* The fetcher */

static void
multi_set(struct fetcher *fr)
{
	libcurl.multi_setopt(fr->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	libcurl.multi_setopt(fr->multi, CURLMOPT_SOCKETDATA, fr);
	libcurl.multi_setopt(fr->multi, CURLMOPT_TIMERFUNCTION, on_clock);
	libcurl.multi_setopt(fr->multi, CURLMOPT_TIMERDATA, fr);
}

int
fetcher_new(struct loop *l, struct fetcher **ret, struct err *e)
{
	int rc = curl_load(e);

	if (rc < 0)
		return rc;
	struct fetcher *fr = calloc(1, sizeof(*fr));
	if (!fr || libcurl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(fr);
		return err_plain(e, E_NOMEM);
	}
	fr->loop = l;
	list_init(&fr->fetches);
	fr->multi = libcurl.multi_init();
	if (!fr->multi) {
		libcurl.global_cleanup();
		free(fr);
		return err_plain(e, E_NOMEM);
	}
	multi_set(fr);
	*ret = fr;
	return 0;
}

void
fetcher_free(struct fetcher *fr)
{
	if (!fr)
		return;
	CHECK(fr->fetches.len == 0);
	while (fr->spares)
		libcurl.easy_cleanup(fr->spare[--fr->spares]);
	libcurl.multi_cleanup(fr->multi);
	timer_stop(fr->loop, &fr->clock);
	for (size_t i = 0; i < fr->watch_cap; i++)
		watch_close(fr->watches[i]);
	free(fr->watches);
	libcurl.global_cleanup();
	free(fr);
}

/* Guards */

/* A connection that is used again was opened for another, who may have been allowed more. */
static bool
peer_allowed(struct fetch *f, const char *ip)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (!f->spec.allows)
		return true;
	if (inet_pton(AF_INET, ip, &v4.sin_addr) == 1)
		return f->spec.allows((struct sockaddr *)&v4, f->spec.arg);
	return inet_pton(AF_INET6, ip, &v6.sin6_addr) == 1 &&
	       f->spec.allows((struct sockaddr *)&v6, f->spec.arg);
}

/*
 * Before each attempt to send. Curl sends a request again when a kept connection ended without an
 * answer; but the server may have read it and done it, and a POST is done once or not at all.
 */
static int
on_connected(void *arg, char *peer_ip, char *own_ip, int peer_port, int own_port)
{
	struct fetch *f = arg;

	(void)own_ip;
	(void)peer_port;
	(void)own_port;
	f->heard_ms = loop_now_ms(f->fetcher->loop);
	if (!peer_allowed(f, peer_ip)) {
		f->refused = true;
		return CURL_PREREQFUNC_ABORT;
	}
	if (f->attempts++ > 0 && !f->repeatable && fetch_sent(f))
		return CURL_PREREQFUNC_ABORT;
	return CURL_PREREQFUNC_OK;
}

/* What comes */

static void
head_over(struct fetch *f)
{
	long status = 0;

	libcurl.easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200) { /* an interim answer; the real one follows */
		buf_reset(&f->head);
		return;
	}
	f->headed = true;
	if (f->spec.head)
		f->spec.head(f, (int)status, f->spec.arg);
}

/* One line, its end included; an empty one is the end. Trailers come here too, and are dropped. */
static size_t
on_header(char *line, size_t size, size_t count, void *arg)
{
	struct fetch *f = arg;
	struct str s = {line, size * count};

	f->heard_ms = loop_now_ms(f->fetcher->loop);
	if (f->cancelled)
		return 0;
	f->head_bytes += s.len;
	if (f->head_bytes > LIMIT_HTTP_HEADER_BYTES || ++f->head_lines > LIMIT_HTTP_HEADERS) {
		f->fault = E_TOO_LARGE;
		return 0;
	}
	if (f->headed)
		return s.len;
	if (str_trim(s).len == 0)
		head_over(f);
	else
		buf_add(&f->head, s);
	if (buf_failed(&f->head))
		f->fault = E_NOMEM;
	return fetch_done_with(f) ? 0 : s.len;
}

static size_t
on_body(char *ptr, size_t size, size_t count, void *arg)
{
	struct fetch *f = arg;
	struct str bytes = {ptr, size * count};

	f->heard_ms = loop_now_ms(f->fetcher->loop);
	if (f->cancelled)
		return 0;
	if (f->paused) {
		f->stopped = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	f->body_bytes += bytes.len;
	if (f->spec.max_bytes && f->body_bytes > f->spec.max_bytes) {
		f->fault = E_TOO_LARGE;
		return 0;
	}
	if (f->spec.piece && bytes.len)
		f->spec.piece(f, bytes, f->spec.arg);
	return f->cancelled ? 0 : bytes.len;
}

struct str
fetch_header(const struct fetch *f, const char *name)
{
	struct str rest = buf_str(&f->head), line, wanted = str_of(name);

	while (str_split(&rest, '\n', &line)) {
		ptrdiff_t colon = str_index(line, ':');

		if (colon >= 0 && str_eq_nocase(str_upto(line, (size_t)colon), wanted))
			return str_trim(str_from(line, (size_t)colon + 1));
	}
	return (struct str){0};
}

/* Its turns */

static void stall_rung(void *arg);
static void fetch_turn(void *arg);

static void
stall_watch(struct fetch *f, uint64_t delay_ms)
{
	struct loop *l = f->fetcher->loop;

	if (f->spec.stall_ms == 0 || timer_start(l, &f->stall, delay_ms, stall_rung, f) == 0)
		return;
	f->fault = E_NOMEM;
	defer(l, &f->turn, fetch_turn, f);
}

static void
stall_rung(void *arg)
{
	struct fetch *f = arg;
	uint64_t now = loop_now_ms(f->fetcher->loop);
	uint64_t quiet = now > f->heard_ms ? now - f->heard_ms : 0;

	if (f->paused) {
		stall_watch(f, f->spec.stall_ms);
	} else if (quiet < f->spec.stall_ms) {
		stall_watch(f, f->spec.stall_ms - quiet);
	} else {
		f->fault = E_TIMEOUT;
		fetch_end(f, CURLE_OPERATION_TIMEDOUT);
	}
}

static void
fetch_turn(void *arg)
{
	struct fetch *f = arg;
	struct fetcher *fr = f->fetcher;

	if (fetch_done_with(f)) {
		fetch_end(f, CURLE_OK);
	} else if (!f->added) {
		if (libcurl.multi_add_handle(fr->multi, f->easy) != CURLM_OK) {
			fetch_end(f, CURLE_OUT_OF_MEMORY);
			return;
		}
		f->added = true;
		fetcher_keep(fr);
		fetcher_act(fr, CURL_SOCKET_TIMEOUT, 0);
	} else if (f->stopped && !f->paused) {
		f->stopped = false;
		libcurl.easy_pause(f->easy, CURLPAUSE_CONT);
		fetcher_act(fr, CURL_SOCKET_TIMEOUT, 0);
	}
}

void
fetch_cancel(struct fetch *f)
{
	if (f->ended)
		return;
	f->cancelled = true;
	defer(f->fetcher->loop, &f->turn, fetch_turn, f);
}

void
fetch_pause(struct fetch *f, bool paused)
{
	f->paused = paused;
	if (paused || f->ended)
		return;
	f->heard_ms = loop_now_ms(f->fetcher->loop);
	defer(f->fetcher->loop, &f->turn, fetch_turn, f);
}

/* Starting */

static void
callbacks_set(struct fetch *f)
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
	libcurl.easy_setopt(f->easy, CURLOPT_CLOSESOCKETDATA, f->fetcher);
	libcurl.easy_setopt(f->easy, CURLOPT_PREREQFUNCTION, on_connected);
	libcurl.easy_setopt(f->easy, CURLOPT_PREREQDATA, f);
}

int
fetch_start(struct fetcher *fr, const struct fetch_spec *spec, struct fetch **ret, struct err *e)
{
	if (fr->fetches.len >= LIMIT_FETCHES)
		return err_set(e, E_LIMIT, "too many requests are on their way");
	struct fetch *f = calloc(1, sizeof(*f));
	if (!f)
		return err_plain(e, E_NOMEM);
	f->fetcher = fr;
	f->spec = *spec;
	buf_init(&f->head, LIMIT_HTTP_HEADER_BYTES);
	f->easy = easy_take(fr);
	int r = f->easy ? fetch__set(f, e) : err_plain(e, E_NOMEM);
	if (r < 0) {
		fetch_free(f);
		return r;
	}
	callbacks_set(f);
	list_push(&fr->fetches, &f->node);
	f->heard_ms = loop_now_ms(fr->loop);
	stall_watch(f, spec->stall_ms);
	defer(fr->loop, &f->turn, fetch_turn, f);
	*ret = f;
	return 0;
}
