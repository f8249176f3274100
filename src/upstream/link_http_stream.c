/* link_http_stream.c - a stream's life: begun, broken, taken up again, over. */

#include "upstream/link_http.h"

#include <stdlib.h>

struct stream *
stream__new(struct web *w, enum stream_kind kind, uint64_t id)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->web = w;
	s->kind = kind;
	s->id = id;
	s->session = w->sessions;
	buf_init(&s->body, LIMIT_LINK_PROBLEM);
	buf_init(&s->last_id, LIMIT_LINK_ID);
	sse_reader_init(&s->events, LIMIT_LINE_BYTES);
	list_push(&w->streams, &s->node);
	w->requests += kind == STREAM_REQUEST;
	return s;
}

void
stream__free(struct stream *s)
{
	struct web *w = s->web;

	w->held -= s->held;
	w->requests -= s->kind == STREAM_REQUEST;
	if (w->ear == s)
		w->ear = NULL;
	if (w->line == s)
		w->line = NULL;
	if (w->first == s)
		w->first = NULL;
	timer_stop(w->loop, &s->clock);
	sse_reader_done(&s->events);
	buf_done(&s->body);
	buf_done(&s->last_id);
	list_remove(&s->node);
	free(s);
	if (w->closing && w->streams.len == 0)
		defer(w->loop, &w->gone, web__over, w);
}

/* Nothing more is heard of it; it may be gone when this returns. */
void
stream__drop(struct stream *s)
{
	s->dropped = true;
	timer_stop(s->web->loop, &s->clock);
	if (s->fetch)
		fetch_cancel(s->fetch);
	else if (!s->ending)
		stream__free(s);
}

/* We have had enough of it: its end comes, with this. */
void
stream__break(struct stream *s, int code, const char *text)
{
	if (s->fault)
		return;
	s->fault = code;
	s->fault_text = text;
	if (s->fetch)
		fetch_cancel(s->fetch);
}

static void
stream_fail(struct stream *s, int status, const struct err *e)
{
	struct web *w = s->web;
	struct str body = str_upto(buf_str(&s->body), LIMIT_LINK_PROBLEM);

	if (s->dropped)
		return;
	s->dropped = true;
	w->ev.failed(w->ev.arg, s->id, status, body, e);
}

static void
stream_linger_rung(void *arg)
{
	struct stream *s = arg;

	fetch_cancel(s->fetch);
}

/* The server ends it by itself now; waiting for that keeps the connection. */
void
stream__answered(struct stream *s)
{
	struct web *w = s->web;

	s->answered = true;
	s->id = 0;
	if (!s->fetch)
		return;
	/* Where many are open, those that are over would keep others from being sent. */
	if (w->requests > LIMIT_LINK_REQUESTS / 4 ||
	    timer_start(w->loop, &s->clock, LIMIT_LINK_LINGER_MS, stream_linger_rung, s) < 0)
		fetch_cancel(s->fetch);
}

/* The end */

static const struct {
	int status, code;
	const char *text;
} refusals[] = {
    {401, E_UNAUTHORIZED, "it wants credentials, or other ones"},
    {403, E_FORBIDDEN, "it does not permit this"},
    {404, E_NOT_FOUND, "there is nothing at this address, or the session is over"},
    {405, E_METHOD, "it does not take this method"},
    {406, E_BAD_REQUEST, "it cannot answer in a form we take"},
    {408, E_TIMEOUT, "it did not get the request in time"},
    {413, E_TOO_LARGE, "the request is too large for it"},
    {415, E_MEDIA_TYPE, "it does not take JSON"},
    {429, E_LIMIT, "it gets too many requests"},
    {502, E_UNAVAILABLE, "what is behind it does not answer"},
    {503, E_UNAVAILABLE, "it is not available now"},
    {504, E_TIMEOUT, "what is behind it does not answer in time"},
};

static void
refusal_explain(int status, const char *moved, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
		if (refusals[i].status == status) {
			err_set(e, refusals[i].code, "the server answers with HTTP %d: %s", status,
				refusals[i].text);
			return;
		}
	if (status / 100 == 3 && moved[0])
		err_set(e, E_EXECUTION,
			"the server answers with HTTP %d: it is at %s, and is not followed there; "
			"write that into its url",
			status, moved);
	else if (status / 100 == 3)
		err_set(e, E_EXECUTION,
			"the server answers with HTTP %d: it is elsewhere, and is not followed",
			status);
	else
		err_set(e, status / 100 == 4 ? E_BAD_REQUEST : E_EXECUTION,
			"the server answers with HTTP %d", status);
}

void
stream__refused(struct stream *s)
{
	struct web *w = s->web;
	struct err e = ERR_NONE;

	if (s->status == 404 && s->with_session && s->session == w->sessions)
		w->session_lost = true;
	refusal_explain(s->status, s->moved, &e);
	e.retry_after_ms = s->retry_after_ms;
	stream_fail(s, s->status, &e);
}

static void
stream_fail_by(struct stream *s, int code, const char *text)
{
	struct err e;

	err_set(&e, code, "%s", text);
	stream_fail(s, s->status, &e);
}

static void
stream_return(void *arg)
{
	struct stream *s = arg;
	struct err e = ERR_NONE;

	if (stream__get(s, &e) == 0)
		return;
	s->ending = true;
	stream_fail(s, 0, &e);
	stream__free(s);
}

/* A reader begins anew with every connection; what the server said of retrying stays. */
static void
events_again(struct stream *s)
{
	uint64_t retry_ms = s->events.retry_ms;

	sse_reader_done(&s->events);
	sse_reader_init(&s->events, LIMIT_LINE_BYTES);
	s->events.retry_ms = retry_ms;
	buf_reset(&s->body);
	stream__count(s);
}

static uint64_t
retry_delay_ms(const struct stream *s)
{
	uint64_t ms = s->events.retry_ms ? s->events.retry_ms : LIMIT_LINK_RETRY_MS;

	if (ms < LIMIT_LINK_RETRY_LEAST_MS)
		ms = LIMIT_LINK_RETRY_LEAST_MS;
	if (ms > LIMIT_LINK_RETRY_MOST_MS)
		ms = LIMIT_LINK_RETRY_MOST_MS;
	ms <<= s->retries;
	return ms > LIMIT_LINK_RETRY_MOST_MS ? LIMIT_LINK_RETRY_MOST_MS : ms;
}

/* True: it waits for its time. */
static bool
stream_again(struct stream *s)
{
	struct web *w = s->web;

	/* One that was open for long was no failure: some servers end quiet streams. */
	if (s->content == CONTENT_EVENTS &&
	    loop_now_ms(w->loop) - s->opened_ms >= LIMIT_LINK_RETRY_MOST_MS)
		s->retries = 0;
	if (s->dropped || s->fault || s->retries >= LIMIT_LINK_RETRIES)
		return false;
	events_again(s);
	if (timer_start(w->loop, &s->clock, retry_delay_ms(s), stream_return, s) < 0)
		return false;
	s->retries++;
	return true;
}

/* Each kind at its end. True: it is not over yet. */

static void
json_over(struct stream *s, const struct err *e)
{
	if (e->code) {
		stream_fail(s, s->status, e);
		return;
	}
	stream__take(s, &s->body);
	if (s->fault)
		stream_fail_by(s, s->fault, s->fault_text);
	else if (!s->answered)
		stream_fail_by(s, E_EXECUTION, "the server's answer is not to what was asked");
}

static void
stream_ended(struct stream *s)
{
	s->status = 200; /* the request was taken once, whatever came of the last attempt */
	stream_fail_by(s, E_UNAVAILABLE, "the server ended the stream without an answer");
}

static bool
request_over(struct stream *s, const struct err *e)
{
	bool resumable = s->era == ERA_LEGACY && s->last_id.len > 0;

	if (s->answered || s->dropped)
		return false;
	/* Who refuses to take it up again has not refused the request: that was taken, once. */
	bool forgotten = resumable && s->status && s->status / 100 != 2 && s->status / 100 != 5;
	if (s->fault)
		stream_fail_by(s, s->fault, s->fault_text);
	else if (s->status == 0 && !resumable)
		stream_fail(s, 0, e);
	else if (forgotten)
		stream_ended(s);
	else if (s->content == CONTENT_JSON)
		json_over(s, e);
	else if (resumable && (s->content != CONTENT_OTHER || s->status / 100 == 5) &&
		 stream_again(s))
		return true;
	else if (line__open(s))
		return true;
	else if (s->content == CONTENT_OTHER && s->status / 100 != 2)
		stream__refused(s);
	else if (s->content == CONTENT_OTHER)
		stream_fail_by(s, E_EXECUTION, "the server answers with what is no message of MCP");
	else
		stream_ended(s);
	return false;
}

static bool
note_over(struct stream *s, const struct err *e)
{
	if (s->status / 100 == 2)
		return false;
	if (s->status)
		stream__refused(s);
	else
		stream_fail(s, 0, e);
	return false;
}

static void
ear_refused(struct stream *s)
{
	struct web *w = s->web;
	bool lost = s->heard && !s->dropped;
	int status = s->status;

	stream__refused(s);
	if (lost && w->ev.unheard)
		w->ev.unheard(w->ev.arg, status);
}

static bool
ear_over(struct stream *s, const struct err *e)
{
	bool refused = s->content == CONTENT_OTHER && s->status / 100 != 5;

	if (s->status == 405 || (refused && s->status / 100 == 2))
		return false; /* it has none */
	if (refused)
		ear_refused(s);
	else if (stream_again(s))
		return true;
	else if (s->fault)
		stream_fail_by(s, s->fault, s->fault_text);
	else if (e->code)
		stream_fail(s, s->status, e);
	else
		stream_fail_by(s, E_UNAVAILABLE, "the server keeps ending the listening stream");
	return false;
}

static bool
farewell_over(struct stream *s, const struct err *e)
{
	(void)s;
	(void)e;
	return false;
}

static bool (*const overs[])(struct stream *s, const struct err *e) = {
    [STREAM_REQUEST] = request_over,   [STREAM_NOTE] = note_over,  [STREAM_EAR] = ear_over,
    [STREAM_FAREWELL] = farewell_over, [STREAM_LINE] = line__over, [STREAM_POST] = note_over,
};

void
stream__over(struct fetch *f, int status, const struct err *e, void *arg)
{
	struct stream *s = arg;

	(void)f;
	(void)status;
	s->fetch = NULL;
	s->ending = true;
	timer_stop(s->web->loop, &s->clock);
	bool waits = !s->dropped && overs[s->kind](s, e);
	s->ending = false;
	if (!waits || s->dropped)
		stream__free(s);
}
