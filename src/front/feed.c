/*
 * feed.c - event streams: what was kept first, then what happens.
 *
 *   since an id that the ring still has, or none      since an older id
 *                   |                                        |
 *                   v         the ring has it again          v
 *                 LIVE  <-------------------------------  REPLAY  pages of the store, up to
 *                                                          ^   |   the seam
 *                                                          '---' it has not: a new seam
 *
 * The seam is an id made when the replay begins: smaller than any event still to come, greater
 * than any that was. The store is read up to it and the ring from it, so there is neither a gap
 * nor a double. The seam holds because reads of the store see every write put before them.
 *
 * A feed writes only when all it wrote before is with the peer, one batch at a time. So a slow
 * reader costs one batch; if it falls behind the ring it is told how many events it missed.
 */

#include "front/visit.h"

#include <stdlib.h>

#include "net/sse.h"

struct feed {
	struct front *front;
	struct gateway *gw;
	struct node node;           /* in front->feeds while the peer is there */
	struct http_stream *stream; /* NULL once the peer is gone */
	struct bus_reader reader;
	struct timer quiet;
	char session[LIMIT_NAME_BYTES + 1]; /* "" = all */
	char types[LIMIT_FEED_TYPES];       /* "" = all; for the store */
	uint64_t mask;                      /* the same, for the ring */
	char last[LIMIT_NAME_BYTES + 1];    /* the id sent last, or given as since */
	char seam[ULID_LEN + 1];            /* "" = live */
	bool ready;                         /* to write */
	bool reading;                       /* the store is asked */
	bool watching;
	struct session *attached; /* a reference: ends with this stream; NULL = none */
};

static void feed_step(struct feed *f);

static void
stay_alive(void *arg)
{
	struct feed *f = arg;

	if (f->ready)
		http_stream_write(f->stream, S(": still here\n\n"));
	f->ready = false;
	timer_start(f->gw->loop, &f->quiet, LIMIT_FEED_QUIET_MS, stay_alive, f);
}

/* Consumes out. */
static void
feed_write(struct feed *f, struct buf *out)
{
	if (buf_failed(out)) /* a hole nobody would see is worse than an end everybody sees */
		http_stream_end(f->stream);
	else if (out->len) {
		f->ready = false;
		CHECK(http_stream_write(f->stream, buf_str(out)));
		timer_start(f->gw->loop, &f->quiet, LIMIT_FEED_QUIET_MS, stay_alive, f);
	}
	buf_done(out);
}

static void
add_event(struct feed *f, struct buf *out, struct str id, struct str type, struct str json)
{
	sse_write(out, id, type, json);
	memcpy(f->last, id.ptr, id.len);
	f->last[id.len] = '\0';
}

/* Live */

static void
add_gap(const struct feed *f, struct buf *out, uint64_t missed)
{
	struct buf json = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&json);

	jw_object(&w);
	jw_member_int(&w, "missed", (int64_t)missed);
	jw_member_z(&w, "since", f->last[0] ? f->last : NULL);
	jw_end(&w);
	sse_write(out, (struct str){NULL, 0}, S("gap"), buf_str(&json));
	buf_done(&json);
}

static bool
is_wanted(const struct feed *f, const struct event *ev)
{
	return f->mask >> ev->type & 1 && (!f->session[0] || str_is(ev->session, f->session));
}

static void
feed_live(struct feed *f)
{
	struct buf out = BUF_INIT(LIMIT_HTTP_QUEUED);
	const struct event *ev;
	uint64_t missed;

	while (out.len < LIMIT_FEED_BATCH && (ev = bus_next(f->gw->bus, &f->reader, &missed))) {
		if (missed)
			add_gap(f, &out, missed);
		if (is_wanted(f, ev))
			add_event(f, &out, str_of(ev->id), str_of(event_row(ev->type)->type),
				  ev->json);
	}
	feed_write(f, &out);
}

static void
news(void *arg)
{
	feed_step(arg);
}

/* From here on the ring is kept for it. */
static void
go_back(struct feed *f)
{
	if (!f->seam[0])
		bus_expect(f->gw->bus, true);
	ulid_new(f->seam);
}

static void
seam_drop(struct feed *f)
{
	if (f->seam[0])
		bus_expect(f->gw->bus, false);
	f->seam[0] = '\0';
}

static void
go_live(struct feed *f, uint64_t seq)
{
	f->reader = (struct bus_reader){.next = seq, .news = news, .arg = f};
	bus_attach(f->gw->bus, &f->reader);
	seam_drop(f);
}

/* Replay */

static void
page_here(const struct store_page *page, void *arg)
{
	struct feed *f = arg;
	struct buf out = BUF_INIT(LIMIT_HTTP_QUEUED);
	size_t i = 0;

	f->reading = false;
	if (!f->stream) {
		free(f);
		return;
	}
	if (page->code < 0) {
		http_stream_end(f->stream);
		return;
	}
	/* What does not fit into a batch is read again: pages are short. */
	for (; i < page->count && out.len < LIMIT_FEED_BATCH; i++)
		add_event(f, &out, page->rows[i].id, page->rows[i].type, page->rows[i].json);
	if (i == page->count && !page->more) {
		uint64_t seq = bus_seq_after(f->gw->bus, str_of(f->seam));
		if (seq)
			go_live(f, seq);
		else
			go_back(f); /* meanwhile the ring has moved on */
	}
	bool quiet = out.len == 0;
	feed_write(f, &out);
	if (quiet)
		feed_step(f);
}

static void
feed_replay(struct feed *f)
{
	struct store_query q = {
	    .session = str_of(f->session[0] ? f->session : NULL),
	    .since = str_of(f->last),
	    .until = str_of(f->seam),
	    .types = str_of(f->types[0] ? f->types : NULL),
	    .limit = LIMIT_FEED_PAGE,
	};

	f->reading = true;
	if (store_find_events(f->gw->store, &q, page_here, f) < 0) {
		f->reading = false;
		http_stream_end(f->stream);
	}
}

static void
feed_step(struct feed *f)
{
	if (!f->ready || f->reading)
		return;
	if (f->seam[0])
		feed_replay(f);
	else
		feed_live(f);
}

/* Beginning and end */

static void
ready(struct http_stream *st, void *arg)
{
	struct feed *f = arg;

	(void)st;
	f->ready = true;
	feed_step(f);
}

static void
closed(void *arg)
{
	struct feed *f = arg;

	f->stream = NULL;
	list_remove(&f->node);
	bus_detach(f->gw->bus, &f->reader);
	seam_drop(f);
	timer_stop(f->gw->loop, &f->quiet);
	if (f->watching)
		gateway_watch(f->gw, false);
	if (f->attached)
		gateway_end_session(f->gw, f->attached);
	session_unref(f->attached);
	if (!f->reading)
		free(f);
}

/* Where to begin: since ID, as the parameter or as browsers repeat it; otherwise now. */
static void
feed_begin(struct feed *f, struct str since)
{
	if (!since.ptr) {
		go_live(f, 0);
		return;
	}
	memcpy(f->last, since.ptr, since.len);
	uint64_t seq = bus_seq_after(f->gw->bus, since);
	if (seq)
		go_live(f, seq);
	else if (f->gw->store)
		go_back(f);
	else
		go_live(f, 1); /* and hear how much is lost */
}

static struct feed *
feed_new(const struct visit *v, const struct wanted *w, struct str session, struct err *e)
{
	if (v->front->feeds.len >= LIMIT_FEEDS) {
		err_set(e, E_LIMIT, "%d event streams are open already", LIMIT_FEEDS);
		return NULL;
	}
	if (w->types.len >= LIMIT_FEED_TYPES) {
		err_set(e, E_BAD_REQUEST, "event_types: must be shorter than %d bytes",
			LIMIT_FEED_TYPES);
		return NULL;
	}
	struct feed *f = calloc(1, sizeof(*f));
	if (!f || session.len >= sizeof(f->session)) {
		err_plain(e, f ? E_BAD_REQUEST : E_NOMEM);
		free(f);
		return NULL;
	}
	f->front = v->front;
	f->gw = v->front->gw;
	f->mask = w->mask;
	if (session.len)
		memcpy(f->session, session.ptr, session.len);
	if (w->types.len)
		memcpy(f->types, w->types.ptr, w->types.len);
	return f;
}

static int
feed_attach(struct feed *f, struct err *e)
{
	struct session *s = session_find(f->gw->sessions, str_of(f->session));

	if (!f->session[0])
		return err_set(e, E_BAD_REQUEST, "attach: must name a session in the path");
	if (!s)
		return err_plain(e, E_SESSION_ENDED);
	if (s->attached)
		return err_set(e, E_EXISTS, "this session is attached to another connection");
	s->attached = true;
	f->attached = session_ref(s);
	return 0;
}

/* A process inside a tool call is no person who could answer, and no owner of sessions: for it both
 * count for nothing. So does a HEAD, which is over before anything is seen. */
static int
feed_bind(struct feed *f, const struct http_request *r, struct err *e)
{
	bool watch = query_flag(r, "watch"), attach = query_flag(r, "attach");

	if ((!watch && !attach) || str_is(r->method, "HEAD") || access_from_tool(r))
		return 0;
	int code = attach ? feed_attach(f, e) : 0;
	if (code == 0 && watch) {
		f->watching = true;
		gateway_watch(f->gw, true);
	}
	return code;
}

void
feed_open(const struct visit *v, struct str session)
{
	struct str resumed = http_header(v->http, "last-event-id");
	struct feed *f = NULL;
	struct wanted w;
	struct err e;

	if (wanted_read(v->http, &w, &e) == 0)
		f = feed_new(v, &w, session, &e);
	if (f && feed_bind(f, v->http, &e) < 0) {
		free(f);
		f = NULL;
	}
	if (f) {
		struct http_stream_spec spec = {.ready = ready, .closed = closed, .arg = f};

		list_push(&v->front->feeds, &f->node);
		feed_begin(f, name_fits(resumed) ? resumed : w.query.since);
		timer_start(f->gw->loop, &f->quiet, LIMIT_FEED_QUIET_MS, stay_alive, f);
		f->stream = http_reply_stream(v->http, "text/event-stream", &spec);
	} else {
		reply_err(v->http, &e);
	}
	wanted_done(&w);
}

void
feeds_end(struct front *f)
{
	LIST_EACH (&f->feeds, at)
		http_stream_end(CONTAINER_OF(at, struct feed, node)->stream);
}
