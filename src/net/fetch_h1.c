/* fetch_h1.c - one exchange over plain HTTP/1.1, by ourselves. */

#include "net/fetch_h1.h"

#include <stdlib.h>

#define SPARE_BYTES (16 * KIB) /* of a buffer that is kept for the next */

static struct h1_fetch *
h1_of(struct fetch *f)
{
	return CONTAINER_OF(f, struct h1_fetch, fetch);
}

static bool
h1_sent(const struct fetch *f)
{
	return CONTAINER_OF(f, const struct h1_fetch, fetch)->sent;
}

/* The end */

static void
buf_spare(struct buf *b)
{
	if (b->cap > SPARE_BYTES)
		buf_done(b);
	buf_reset(b);
}

/* Its memory is the next one's. */
static void
h1_free(struct fetch *fetch)
{
	struct h1_fetch *f = h1_of(fetch), clean = {.intro = 0};
	struct h1_pool *pool = &fetch->fetcher->h1;

	buf_spare(&fetch->head);
	buf_spare(&f->out);
	buf_spare(&f->host);
	buf_done(&f->rest);
	clean.fetch.head = fetch->head;
	clean.out = f->out;
	clean.host = f->host;
	clean.rest = f->rest;
	*f = clean;
	if (pool->spares.len < LIMIT_FETCH_SPARE) {
		list_push(&pool->spares, &fetch->node);
		return;
	}
	buf_done(&fetch->head);
	buf_done(&f->out);
	buf_done(&f->host);
	free(f);
}

static void
h1_end(struct fetch *fetch)
{
	struct h1_fetch *f = h1_of(fetch);

	dial_cancel(f->dial);
	f->dial = NULL;
	if (f->conn && f->keep && !f->conn->writing)
		h1__conn_keep(f->conn);
	else if (f->conn)
		h1__conn_close(f->conn);
	f->conn = NULL;
}

static void
h1_break(struct h1_fetch *f, const char *text)
{
	struct err e = ERR_NONE;

	err_set(&e, fetch__broken(&f->fetch), "%s", text);
	fetch__end(&f->fetch, &e);
}

/* Its way */

static void h1_dial(struct h1_fetch *f);

/* A kept connection that takes nothing was closed meanwhile; a new one says why. */
static void
h1_send(struct h1_fetch *f, struct h1_conn *c)
{
	bool kept = c->used;

	h1__answer_expect(f);
	if (h1__conn_send(c, f)) {
		f->conn = c;
		f->sent = true;
		fetch__heard(&f->fetch);
	} else if (kept && f->out.len) {
		h1_dial(f);
	} else {
		h1_break(f, "the server closed the connection without an answer");
	}
}

static void
h1_connected(int fd, const union dial_address *peer, void *arg)
{
	struct h1_fetch *f = arg;

	f->dial = NULL;
	struct h1_conn *c = h1__conn_new(f, fd, peer);
	if (c) {
		h1_send(f, c);
		return;
	}
	f->fetch.fault = E_NOMEM;
	fetch__end(&f->fetch, NULL);
}

static void
h1_unreachable(const struct err *e, void *arg)
{
	struct h1_fetch *f = arg;
	struct err how = *e;

	f->dial = NULL;
	if (f->sent && how.code == E_UNAVAILABLE)
		how.code = E_EXECUTION; /* the first attempt may have been read */
	fetch__end(&f->fetch, &how);
}

static void
h1_dial(struct h1_fetch *f)
{
	const struct fetch_spec *spec = &f->fetch.spec;
	struct dial_spec to = {
	    .host = buf_str(&f->host),
	    .port = f->port,
	    .connect_ms = spec->connect_ms ? spec->connect_ms : LIMIT_FETCH_CONNECT_MS,
	    .allows = spec->allows,
	    .allows_arg = spec->arg,
	    .connected = h1_connected,
	    .failed = h1_unreachable,
	    .arg = f,
	};
	struct err e = ERR_NONE;

	if (dial_start(f->fetch.fetcher->loop, &to, &f->dial, &e) < 0)
		fetch__end(&f->fetch, &e);
}

static void
h1_begin(struct fetch *fetch)
{
	struct h1_fetch *f = h1_of(fetch);
	struct h1_conn *c = h1__conn_take(f);

	if (c)
		h1_send(f, c);
	else
		h1_dial(f);
}

/* What comes */

static void
h1_stop(struct h1_fetch *f, struct str rest)
{
	f->stopped = true;
	h1__conn_listen(f->conn, false);
	buf_add(&f->rest, rest);
	if (!buf_failed(&f->rest))
		return;
	f->fetch.fault = E_NOMEM;
	fetch__end(&f->fetch, NULL);
}

void
h1__input(struct h1_fetch *f, struct str bytes)
{
	struct str rest = {0};

	f->answered = true;
	fetch__heard(&f->fetch);
	if (f->fetch.paused) { /* meanwhile, and not by what came before */
		h1_stop(f, bytes);
		return;
	}
	switch (h1__answer_feed(f, bytes, &rest)) {
	case H1_PART: break;
	case H1_WHOLE:
		f->keep = f->keep && rest.len == 0; /* what follows nobody asked for */
		fetch__end(&f->fetch, NULL);
		break;
	case H1_PAUSED: h1_stop(f, rest); break;
	case H1_BAD:
		if (fetch__done_with(&f->fetch))
			fetch__end(&f->fetch, NULL);
		else
			h1_break(f, f->wrong ? f->wrong : "the server's answer is not HTTP");
		break;
	}
}

/* The server may have read the request, and done it: what is not as good twice is not sent twice.
 */
static bool
h1_again(struct h1_fetch *f)
{
	if (f->answered || f->again || !f->conn->used || !f->fetch.repeatable || !f->out.len)
		return false;
	f->again = true;
	h1__conn_close(f->conn);
	f->conn = NULL;
	h1_dial(f);
	return true;
}

void
h1__input_over(struct h1_fetch *f, int status)
{
	if (status == UV_EOF && h1__answer_finish(f))
		fetch__end(&f->fetch, NULL);
	else if (!h1_again(f))
		h1_break(f, f->answered ? "the server's answer broke off"
					: "the server closed the connection without an answer");
}

static void
h1_resume(struct fetch *fetch)
{
	struct h1_fetch *f = h1_of(fetch);

	if (!f->stopped)
		return;
	f->stopped = false;
	h1__conn_listen(f->conn, true);
	struct buf rest = buf_take(&f->rest);
	h1__input(f, buf_str(&rest));
	buf_done(&rest);
}

static const struct fetch_ops h1_ops = {
    .begin = h1_begin,
    .resume = h1_resume,
    .sent = h1_sent,
    .end = h1_end,
    .free = h1_free,
};

/* Starting */

static struct h1_fetch *
h1_new(struct h1_pool *pool)
{
	struct node *n = list_last(&pool->spares);

	if (n) {
		list_remove(n);
		return CONTAINER_OF(n, struct h1_fetch, fetch.node);
	}
	struct h1_fetch *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	buf_init(&f->fetch.head, LIMIT_HTTP_HEADER_BYTES);
	buf_init(&f->host, LIMIT_DIAL_HOST);
	buf_init(&f->rest, LIMIT_FETCH_INPUT);
	return f;
}

int
fetch__h1(struct fetcher *fr, const struct fetch_spec *spec, struct fetch **ret, struct err *e)
{
	const struct h1_place *to = h1__place_of(&fr->h1, str_of(spec->url));

	if (!to)
		return FETCH_OTHERS;
	struct h1_fetch *f = h1_new(&fr->h1);
	if (!f)
		return err_plain(e, E_NOMEM);
	f->fetch.ops = &h1_ops;
	f->fetch.fetcher = fr;
	f->fetch.spec = *spec;
	int r = h1__request_write(f, to, e);
	if (r == 0)
		*ret = &f->fetch;
	else
		h1_free(&f->fetch);
	return r;
}

void
fetch__h1_init(struct fetcher *fr)
{
	buf_init(&fr->h1.url, LIMIT_FETCH_HEAD);
	list_init(&fr->h1.idle);
	list_init(&fr->h1.spares);
}

void
fetch__h1_done(struct fetcher *fr)
{
	struct h1_pool *pool = &fr->h1;
	struct node *n;

	timer_stop(fr->loop, &pool->sweep);
	while ((n = list_first(&pool->idle)) != NULL)
		h1__conn_close(CONTAINER_OF(n, struct h1_conn, node));
	while ((n = list_first(&pool->spares)) != NULL) {
		struct h1_fetch *f = CONTAINER_OF(n, struct h1_fetch, fetch.node);

		list_remove(n);
		buf_done(&f->fetch.head);
		buf_done(&f->out);
		buf_done(&f->host);
		free(f);
	}
	buf_done(&pool->url);
	free(pool->input);
}
