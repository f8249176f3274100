/* mcp_flow.c - answers of /mcp: JSON where one message is all, else a stream of events. */

#include "front/mcp_flow.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/spare.h"
#include "net/sse.h"

#define PIECE (256 * KIB) /* written at once; a stream takes more when that is gone */

struct flow_event {
	struct node node;
	uint64_t number;
	struct buf text; /* as it is written */
};

static const char type_json[] = "application/json";
static const char type_stream[] = "text/event-stream";

/* ---- events ---- */

static void
event_free(struct flow *f, struct flow_event *e)
{
	list_remove(&e->node);
	f->bytes -= e->text.len;
	if (f->home)
		f->front->mcp.kept -= e->text.len;
	buf_done(&e->text);
	free(e);
}

static void
events_free(struct flow *f)
{
	LIST_EACH (&f->events, at)
		event_free(f, CONTAINER_OF(at, struct flow_event, node));
	f->next = NULL;
	f->written = 0;
}

/* No room for one more. */
static bool
events_are_full(const struct flow *f)
{
	return f->events.len >= LIMIT_MCP_STREAM_EVENTS || f->bytes > LIMIT_MCP_STREAM_BYTES;
}

static bool
is_crowded(const struct flow *f)
{
	return f->front->mcp.kept > LIMIT_MCP_KEPT;
}

/* Those before the next one are kept for who comes back, as long as there is room. */
static void
events_trim(struct flow *f)
{
	LIST_EACH (&f->events, at) {
		struct flow_event *e = CONTAINER_OF(at, struct flow_event, node);
		if (e == f->next)
			return;
		if (f->home && !is_crowded(f) && !events_are_full(f))
			return;
		event_free(f, e);
	}
}

/* {NULL,0}: the event that only has an id. */
static bool
event_add(struct flow *f, struct str message)
{
	struct flow_event *e = calloc(1, sizeof(*e));
	char id[48];

	if (!e)
		return false;
	e->number = ++f->last_event;
	buf_init(&e->text, 2 * LIMIT_LINE_BYTES);
	snprintf(id, sizeof(id), "%llu-%llu", (unsigned long long)f->number,
		 (unsigned long long)e->number);
	if (!message.ptr)
		buf_addf(&e->text, "id: %s\nretry: %d\ndata: \n\n", id, LIMIT_MCP_RETRY_MS);
	else
		sse_write(&e->text, f->home ? str_of(id) : (struct str){NULL, 0}, S("message"),
			  message);
	if (buf_failed(&e->text)) {
		buf_done(&e->text);
		free(e);
		return false;
	}
	buf_trim(&e->text);
	list_push(&f->events, &e->node);
	f->bytes += e->text.len;
	if (f->home)
		f->front->mcp.kept += e->text.len;
	f->numbered = f->numbered || f->home;
	if (!f->next)
		f->next = e;
	return true;
}

/* ---- the end ---- */

static void
flow_free(struct flow *f)
{
	timer_stop(f->front->gw->loop, &f->timer);
	events_free(f);
	list_remove(&f->node);
	if (f->home && f->home->unasked == f)
		f->home->unasked = NULL;
	json_doc_unref(f->doc);
	spare_put(f, sizeof(*f));
}

static void
flow_forgotten(void *arg)
{
	flow_free(arg);
}

/* Nobody reads: without a way back, or with nothing to come back for, it is gone. */
static void
flow_loose(struct flow *f)
{
	f->peer = NULL;
	f->stream = NULL;
	f->written = 0; /* whoever comes back gets the whole event */
	timer_stop(f->front->gw->loop, &f->timer);
	if (!f->home) {
		if (f->channel.request)
			mcp_hang_up(f->channel.request);
		flow_free(f);
	} else if (f->ended || (!f->channel.request && !f->numbered)) {
		flow_free(f);
	} else if (!f->channel.request) {
		timer_start(f->front->gw->loop, &f->timer, LIMIT_MCP_LOST_MS, flow_forgotten, f);
	}
}

/* ---- the stream ---- */

static void flow_quiet(struct flow *f);

/* All that the stream takes now. */
static void
flow_pump(struct flow *f)
{
	while (f->stream && f->next) {
		struct flow_event *e = f->next;
		struct str rest = str_from(buf_str(&e->text), f->written);
		struct str piece = str_upto(rest, PIECE);

		if (!http_stream_write(f->stream, piece))
			return; /* `ready` comes */
		f->written += piece.len;
		if (f->written < e->text.len)
			continue;
		struct node *next = list_next(&e->node);
		f->next = next ? CONTAINER_OF(next, struct flow_event, node) : NULL;
		f->written = 0;
		events_trim(f);
	}
	if (!f->stream || !f->over || f->ended)
		return;
	/* Until it is sent, it is something to come back for. */
	if (f->numbered && http_stream_queued(f->stream) > 0)
		return; /* `ready` comes */
	f->ended = true;
	http_stream_end(f->stream);
}

static void
stream_ready(struct http_stream *st, void *arg)
{
	(void)st;
	flow_pump(arg);
}

static void
stream_closed(void *arg)
{
	flow_loose(arg);
}

static void
say_alive(void *arg)
{
	struct flow *f = arg;

	if (!f->next) /* else there is something on its way that says so */
		http_stream_write(f->stream, S(": still here\n\n"));
	flow_quiet(f);
}

static void
flow_quiet(struct flow *f)
{
	timer_start(f->front->gw->loop, &f->timer, LIMIT_FEED_QUIET_MS, say_alive, f);
}

/* The peer gets a stream; events that are here already go first. */
static void
flow_stream(struct flow *f, struct http_request *http)
{
	struct http_stream_spec spec = {
	    .ready = stream_ready,
	    .closed = stream_closed,
	    .arg = f,
	    .extra = "X-Accel-Buffering: no\r\n",
	};

	f->peer = http;
	f->stream = http_reply_stream(http, type_stream, &spec);
	flow_quiet(f);
}

/* Older parsers choke on an event without data. */
static void
flow_prime(struct flow *f)
{
	if (f->home && f->revision >= MCP_2025_11_25 && f->events.len == 0)
		event_add(f, (struct str){NULL, 0});
}

static void
flow_begin_stream(struct flow *f)
{
	struct http_request *http = f->peer;

	http->gone = NULL;
	flow_prime(f);
	flow_stream(f, http);
	flow_pump(f);
}

static void
flow_slow(void *arg)
{
	flow_begin_stream(arg);
}

bool
flow_put(struct flow *f, struct str message)
{
	events_trim(f);
	if (events_are_full(f) || (!f->stream && is_crowded(f)))
		return false;
	if (!event_add(f, message))
		return false;
	flow_pump(f);
	return true;
}

/* ---- as the channel of a request ---- */

static struct flow *
flow_of(const struct mcp_channel *ch)
{
	return CONTAINER_OF(ch, struct flow, channel);
}

static bool
channel_note(struct mcp_channel *ch, struct str message)
{
	struct flow *f = flow_of(ch);

	if (!f->stream && f->peer && f->streams)
		flow_begin_stream(f);
	if (!f->stream && !f->numbered)
		return false;
	return flow_put(f, message);
}

static void
answer_plain(struct flow *f, int status, struct buf *message)
{
	struct http_request *http = f->peer;

	http->gone = NULL;
	f->peer = NULL;
	/* What could not be written is an answer too: somebody waits. */
	if (buf_failed(message)) {
		buf_done(message);
		status = 500;
	}
	http_reply_take(http, status, type_json, message,
			f->greets ? guest_greeting(f->greets) : NULL);
	flow_free(f);
}

static void
answer_plain_around(struct flow *f, int status, struct buf *message, size_t at, struct buf *part)
{
	struct http_request *http = f->peer;

	http->gone = NULL;
	f->peer = NULL;
	http_reply_around(http, status, type_json, str_upto(buf_str(message), at), part,
			  str_from(buf_str(message), at), NULL);
	buf_done(message);
	flow_free(f);
}

static void
channel_answer(struct mcp_channel *ch, int status, struct buf *message)
{
	struct flow *f = flow_of(ch);

	ch->request = NULL;
	if (f->peer && !f->stream) {
		answer_plain(f, status, message);
		return;
	}
	f->over = true;
	bool wanted = f->stream || (f->numbered && f->front->mcp.kept < LIMIT_MCP_KEPT);
	bool kept = wanted && !buf_failed(message) && event_add(f, buf_str(message));
	buf_done(message);
	if (f->stream)
		flow_pump(f);
	else if (kept)
		flow_loose(f);
	else
		flow_free(f);
}

static void
channel_answer_around(struct mcp_channel *ch, int status, struct buf *message, size_t at,
		      struct buf *part)
{
	struct flow *f = flow_of(ch);

	if (f->peer && !f->stream && !f->greets && !buf_failed(message)) {
		ch->request = NULL;
		answer_plain_around(f, status, message, at, part);
	} else {
		mcp_join(message, at, part);
		channel_answer(ch, status, message);
	}
}

static void
channel_drop(struct mcp_channel *ch)
{
	struct flow *f = flow_of(ch);

	ch->request = NULL;
	if (f->stream) {
		f->over = true;
		flow_pump(f);
	} else if (f->peer) {
		f->peer->gone = NULL;
		http_reply(f->peer, 202, NULL, S(""), NULL);
		flow_free(f);
	} else {
		flow_free(f);
	}
}

static bool
channel_from_tool(const struct mcp_channel *ch)
{
	const struct flow *f = flow_of(ch);

	return !f->peer || access_from_tool(f->peer);
}

static const struct mcp_channel_ops flow_ops = {
    .note = channel_note,
    .answer = channel_answer,
    .answer_around = channel_answer_around,
    .drop = channel_drop,
    .from_tool = channel_from_tool,
};

/* ---- the beginning ---- */

static void
peer_gone(struct http_request *r)
{
	flow_loose(r->user);
}

/* A client that lists what it takes, and not this, gets none. */
static bool
takes_streams(const struct http_request *r)
{
	struct str rest = http_header(r, "accept"), one;

	if (!rest.ptr)
		return true;
	while (str_split(&rest, ',', &one)) {
		ptrdiff_t end = str_index(one, ';');
		one = str_trim(end >= 0 ? str_upto(one, (size_t)end) : one);
		if (str_eq_nocase(one, str_of(type_stream)) || str_is(one, "*/*") ||
		    str_eq_nocase(one, S("text/*")))
			return true;
	}
	return false;
}

struct flow *
flow_new(struct front *front, struct http_request *http)
{
	struct flow *f = spare_new(sizeof(*f));

	if (!f)
		return NULL;
	f->channel.ops = &flow_ops;
	f->front = front;
	f->peer = http;
	f->streams = takes_streams(http);
	list_init(&f->events);
	http->user = f;
	http->gone = peer_gone;
	if (f->streams)
		timer_start(front->gw->loop, &f->timer, LIMIT_MCP_STREAM_MS, flow_slow, f);
	return f;
}

void
flow_stay_plain(struct flow *f)
{
	f->streams = false;
	timer_stop(f->front->gw->loop, &f->timer);
}

void
flow_live_in(struct flow *f, struct flow_home *home, enum mcp_revision revision)
{
	f->home = home;
	f->revision = revision;
	f->number = ++home->last;
	list_push(&home->flows, &f->node);
	if (f->streams && revision >= MCP_2025_11_25)
		timer_start(f->front->gw->loop, &f->timer, LIMIT_MCP_PRIME_MS, flow_slow, f);
}

/* Whoever read it before is cut off: there is one reader. */
static void
flow_hand_over(struct flow *f, struct http_request *http)
{
	struct http_stream *old = f->stream;

	if (old) {
		/* Its end is nobody's loss any more. */
		http_stream_disown(old);
		f->stream = NULL;
	}
	f->written = 0;
	flow_stream(f, http);
	flow_pump(f);
}

void
flow_open_unasked(struct front *front, struct flow_home *home, enum mcp_revision revision,
		  struct http_request *http)
{
	struct flow *f = home->unasked;

	if (!f) {
		f = spare_new(sizeof(*f));
		if (!f) {
			reply_code(http, E_NOMEM);
			return;
		}
		f->channel.ops = &flow_ops;
		f->front = front;
		f->home = home;
		f->revision = revision;
		list_init(&f->events);
		list_push(&home->flows, &f->node);
		home->unasked = f;
		flow_prime(f);
	}
	flow_hand_over(f, http);
}

/* "STREAM-EVENT" */
static bool
parse_event_id(struct str text, uint64_t *ret_flow, uint64_t *ret_event)
{
	struct str first;

	return str_split(&text, '-', &first) && str_to_u64(first, ret_flow) &&
	       str_to_u64(text, ret_event);
}

static struct flow *
flow_find(const struct flow_home *home, uint64_t number)
{
	LIST_EACH (&home->flows, at) {
		struct flow *f = CONTAINER_OF(at, struct flow, node);
		if (f->number == number && f->numbered)
			return f;
	}
	return NULL;
}

int
flow_resume(struct flow_home *home, struct str last_event, struct http_request *http)
{
	uint64_t number, event;

	if (!parse_event_id(last_event, &number, &event))
		return E_NOT_FOUND;
	struct flow *f = flow_find(home, number);
	if (!f)
		return E_NOT_FOUND;
	f->next = NULL;
	LIST_EACH (&f->events, at) {
		struct flow_event *e = CONTAINER_OF(at, struct flow_event, node);
		if (!f->next && e->number > event)
			f->next = e;
	}
	f->ended = false;
	flow_hand_over(f, http);
	return 0;
}

void
flow_home_end(struct flow_home *home)
{
	home->unasked = NULL;
	LIST_EACH (&home->flows, at) {
		struct flow *f = CONTAINER_OF(at, struct flow, node);

		/* What is kept is no longer counted as the session's. */
		LIST_EACH (&f->events, one)
			f->front->mcp.kept -= CONTAINER_OF(one, struct flow_event, node)->text.len;
		f->home = NULL;
		list_remove(&f->node);
		if (!f->stream && !f->peer) {
			if (f->channel.request)
				f->channel.request->channel = NULL;
			flow_free(f);
		} else if (!f->channel.request) {
			f->over = true;
			flow_pump(f);
		}
	}
}
