/* fetch.c - what every request to elsewhere has: its turns, deadlines, limits, and its end.
 *
 * Starting, cancelling and going on after a pause only mark the request; its next turn, put off,
 * does it. So nobody is called back inside a function he called.
 */

#include "net/fetch_inside.h"

#include <stdlib.h>

bool
fetch__done_with(const struct fetch *f)
{
	return f->cancelled || f->ended || f->fault;
}

void
fetch__heard(struct fetch *f)
{
	f->heard_ms = loop_now_ms(f->fetcher->loop);
}

bool
fetch_sent(const struct fetch *f)
{
	return f->ops->sent(f);
}

int
fetch__broken(const struct fetch *f)
{
	return fetch_sent(f) ? E_EXECUTION : E_UNAVAILABLE;
}

/* The end */

static void
fault_explain(const struct fetch *f, struct err *e)
{
	if (f->cancelled)
		err_plain(e, E_CANCELLED);
	else if (f->fault == E_TOO_LARGE)
		err_set(e, E_TOO_LARGE, "the server's answer is too large");
	else if (f->fault == E_TIMEOUT)
		err_set(e, E_TIMEOUT, "nothing came from the server for too long");
	else
		err_plain(e, f->fault);
}

void
fetch__end(struct fetch *f, const struct err *how)
{
	static const struct err none;
	struct err e;

	f->ended = true;
	timer_stop(f->fetcher->loop, &f->stall);
	defer_cancel(&f->turn);
	if (f->cancelled || f->fault) {
		e = none;
		fault_explain(f, &e);
		how = &e;
	}
	f->ops->end(f);
	f->spec.over(f, f->status, how ? how : &none, f->spec.arg);
	list_remove(&f->node);
	f->ops->free(f);
}

/* What comes */

bool
fetch__count(struct fetch *f, size_t lines, size_t bytes)
{
	f->head_lines += lines;
	f->head_bytes += bytes;
	if (f->head_bytes <= LIMIT_HTTP_HEADER_BYTES && f->head_lines <= LIMIT_HTTP_HEADERS)
		return true;
	f->fault = E_TOO_LARGE;
	return false;
}

bool
fetch__headed(struct fetch *f, int status)
{
	f->headed = true;
	f->status = status;
	if (f->spec.head)
		f->spec.head(f, status, f->spec.arg);
	return !fetch__done_with(f);
}

bool
fetch__piece(struct fetch *f, struct str bytes)
{
	f->body_bytes += bytes.len;
	if (f->spec.max_bytes && f->body_bytes > f->spec.max_bytes) {
		f->fault = E_TOO_LARGE;
		return false;
	}
	if (f->spec.piece && bytes.len)
		f->spec.piece(f, bytes, f->spec.arg);
	return !fetch__done_with(f);
}

struct str
fetch_header(const struct fetch *f, const char *name)
{
	struct str rest = buf_str(&f->head), line, wanted = str_of(name);

	while (str_split(&rest, '\n', &line))
		if (line.len > wanted.len && line.ptr[wanted.len] == ':' &&
		    str_eq_nocase(str_upto(line, wanted.len), wanted))
			return str_trim(str_from(line, wanted.len + 1));
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
		fetch__end(f, NULL);
	}
}

static void
fetch_turn(void *arg)
{
	struct fetch *f = arg;

	if (fetch__done_with(f)) {
		fetch__end(f, NULL);
	} else if (!f->begun) {
		f->begun = true;
		f->ops->begin(f);
	} else if (!f->paused) {
		f->ops->resume(f);
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
	fetch__heard(f);
	defer(f->fetcher->loop, &f->turn, fetch_turn, f);
}

/* Starting */

static bool
method_repeatable(const char *method)
{
	return strcmp(method, "POST") != 0 && strcmp(method, "PATCH") != 0;
}

int
fetch_start(struct fetcher *fr, const struct fetch_spec *spec, struct fetch **ret, struct err *e)
{
	struct fetch *f = NULL;

	if (fr->fetches.len >= LIMIT_FETCHES)
		return err_set(e, E_LIMIT, "too many requests are on their way");
	if (!fetch__is_token(str_of(spec->method)))
		return err_set(e, E_VALIDATION, "this is not a method of HTTP");
	int r = fetch__h1(fr, spec, &f, e);
	if (r == FETCH_OTHERS)
		r = fetch__curl(fr, spec, &f, e);
	if (r < 0)
		return r;
	f->repeatable = !spec->once && method_repeatable(spec->method);
	list_push(&fr->fetches, &f->node);
	fetch__heard(f);
	stall_watch(f, spec->stall_ms);
	defer(fr->loop, &f->turn, fetch_turn, f);
	*ret = f;
	return 0;
}

/* The fetcher */

int
fetcher_new(struct loop *l, struct fetcher **ret, struct err *e)
{
	struct fetcher *fr = calloc(1, sizeof(*fr));

	if (!fr)
		return err_plain(e, E_NOMEM);
	fr->loop = l;
	list_init(&fr->fetches);
	fetch__h1_init(fr);
	*ret = fr;
	return 0;
}

void
fetcher_free(struct fetcher *fr)
{
	if (!fr)
		return;
	CHECK(fr->fetches.len == 0);
	fetch__h1_done(fr);
	fetch__curl_done(fr);
	free(fr);
}
