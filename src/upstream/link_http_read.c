/* link_http_read.c - what a server sends: sessions, events, messages, and what is none. */

#include "upstream/link_http.h"

#include <stdio.h>

#include "net/url.h"

/* Messages */

static bool
is_answer_to(const struct json *root, uint64_t to)
{
	int64_t id;

	return to && json_int(json_get(root, S("id")), &id) && (uint64_t)id == to;
}

/* An error that names nobody, on the stream of a request: the server could not read it. */
static bool
is_misreading(const struct json *root)
{
	const struct json *id = json_get(root, S("id"));

	return json_is(json_get(root, S("error")), JSON_OBJECT) && (!id || json_is(id, JSON_NULL));
}

static void
misreading_take(struct stream *s)
{
	if (s->content == CONTENT_EVENTS) {
		buf_reset(&s->body);
		buf_add(&s->body, str_upto(buf_str(&s->events.text), LIMIT_LINK_PROBLEM));
	}
	stream__break(s, E_EXECUTION, "the server could not read the request");
}

/* An answer belongs on the stream of its own request; anywhere else it is somebody's mischief. */
static void
message_take(struct stream *s, struct json_doc *doc)
{
	const struct json *root = json_root(doc);
	struct web *w = s->web;
	uint64_t of = s->id;

	if (json_get(root, S("method"))) {
		w->ev.message(w->ev.arg, doc, of);
	} else if (is_answer_to(root, of)) {
		stream__answered(s);
		w->ev.message(w->ev.arg, doc, of);
	} else if (of && is_misreading(root)) {
		misreading_take(s);
	} else if (s->kind == STREAM_LINE) {
		w->ev.message(w->ev.arg, doc, 0); /* all answers come by it */
	}
}

static int
message_parse(struct stream *s, struct buf *text, struct json_doc **ret)
{
	struct err e = ERR_NONE;
	int r = json_parse_buf(text, &json_door, ret, &e);

	if (r == E_NOMEM || r == E_TOO_LARGE)
		stream__break(s, r, "a message of the server is too large, or nested too deeply");
	else if (r < 0)
		stream__break(s, E_EXECUTION, "the server answers with what is not JSON");
	return r;
}

/* Up to 2025-03-26 several may come in an array: each is then a document of its own. */
static void
batch_take(struct stream *s, const struct json *array)
{
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);

	for (struct json_iter it = json_iter(array); json_next(&it) && !s->dropped;) {
		struct jw w = jw(&text);
		struct json_doc *doc;

		jw_value(&w, it.value);
		if (buf_failed(&text) || message_parse(s, &text, &doc) < 0)
			break;
		message_take(s, doc);
		json_doc_unref(doc);
		buf_reset(&text);
	}
	buf_done(&text);
}

void
stream__take(struct stream *s, struct buf *text)
{
	struct json_doc *doc;

	if (message_parse(s, text, &doc) < 0)
		return;
	if (json_is(json_root(doc), JSON_OBJECT))
		message_take(s, doc);
	else if (json_is(json_root(doc), JSON_ARRAY) && s->revision <= MCP_2025_03_26)
		batch_take(s, json_root(doc));
	else
		stream__break(s, E_EXECUTION, "the server answers with what is no message");
	json_doc_unref(doc);
}

/* What comes */

static bool
type_is(struct str type, const char *wanted)
{
	ptrdiff_t end = str_index(type, ';');

	return str_eq_nocase(str_trim(end < 0 ? type : str_upto(type, (size_t)end)),
			     str_of(wanted));
}

static enum stream_content
content_of(const struct stream *s, int status, struct str type)
{
	bool posted = s->kind == STREAM_REQUEST && !s->last_id.len;

	if (status / 100 != 2 || stream_is_one_way(s) || s->kind == STREAM_FAREWELL)
		return CONTENT_OTHER;
	if (type_is(type, "text/event-stream"))
		return CONTENT_EVENTS;
	return posted && type_is(type, "application/json") ? CONTENT_JSON : CONTENT_OTHER;
}

static bool
session_id_good(struct str id)
{
	for (size_t i = 0; i < id.len; i++)
		if (id.ptr[i] < '!' || id.ptr[i] > '~')
			return false;
	return id.len > 0 && id.len <= LIMIT_LINK_ID;
}

static void
session_take(struct stream *s, struct str id)
{
	struct web *w = s->web;

	if (!id.ptr || s->session != w->sessions)
		return;
	if (!session_id_good(id)) {
		stream__break(s, E_EXECUTION, "the server gave a session id that cannot be used");
		return;
	}
	buf_reset(&w->session);
	buf_add(&w->session, id);
	if (buf_failed(&w->session))
		stream__break(s, E_NOMEM, "out of memory");
}

/* In seconds; a date is as good as nothing, for the clocks may differ. */
static unsigned
retry_after_ms(struct str text)
{
	uint64_t seconds;

	if (!text.ptr || !str_to_u64(text, &seconds))
		return 0;
	return seconds > LIMIT_RETRY_AFTER_S ? LIMIT_RETRY_AFTER_S * 1000u
					     : (unsigned)seconds * 1000;
}

/* For people: a path of the same server, or another host. There may be secrets in the rest. */
static void
moved_note(struct stream *s, struct str location)
{
	struct buf whole = BUF_INIT(LIMIT_HTTP_FIELD);
	struct url here, there;
	struct err e;

	if (location.len && url_split(str_of(s->web->url), &here, &e) == 0 &&
	    url_resolve(&here, location, &whole, &e) == 0 &&
	    url_split(buf_str(&whole), &there, &e) == 0) {
		struct str shown = url_same_origin(&here, &there) ? there.path : there.authority;
		snprintf(s->moved, sizeof(s->moved), "%.*s",
			 STR_ARG(str_utf8_upto(shown, sizeof(s->moved) - 1)));
	}
	buf_done(&whole);
}

void
stream__head(struct fetch *f, int status, void *arg)
{
	struct stream *s = arg;
	struct str type = fetch_header(f, "Content-Type");

	if (s->dropped)
		return;
	s->status = status;
	s->retry_after_ms = retry_after_ms(fetch_header(f, "Retry-After"));
	s->content = content_of(s, status, type);
	if (status / 100 == 3)
		moved_note(s, fetch_header(f, "Location"));
	s->heard |= s->content == CONTENT_EVENTS;
	s->body.max = s->content == CONTENT_JSON ? LIMIT_LINE_BYTES : LIMIT_LINK_PROBLEM;
	if (s->initializes && status / 100 == 2)
		session_take(s, fetch_header(f, "Mcp-Session-Id"));
	/* It has no answer: a stream would only hold its place. */
	if (stream_is_one_way(s) && status / 100 == 2 && type_is(type, "text/event-stream"))
		fetch_cancel(f);
}

/* An id that a header cannot carry is none. */
static void
event_id_keep(struct stream *s)
{
	struct str id = buf_str(&s->events.id);

	buf_reset(&s->last_id);
	for (size_t i = 0; i < id.len; i++)
		if ((unsigned char)id.ptr[i] < ' ' || id.ptr[i] == 0x7f)
			return;
	buf_add(&s->last_id, id);
	if (buf_failed(&s->last_id))
		buf_reset(&s->last_id);
}

static void
event_take(struct stream *s)
{
	struct sse_reader *r = &s->events;

	s->retries = 0;
	event_id_keep(s);
	/* Without text it only says where to begin again. */
	if (s->kind == STREAM_LINE && str_is(buf_str(&r->type), "endpoint"))
		line__endpoint(s, buf_str(&r->text));
	else if (r->text.len && (r->type.len == 0 || str_is(buf_str(&r->type), "message")))
		stream__take(s, &r->text);
	if (r->text.cap > LIMIT_LINK_PROBLEM) { /* a long stream does not keep a large message */
		buf_done(&r->text);
		buf_done(&r->line);
	}
}

static void
events_read(struct stream *s, struct str bytes)
{
	while (bytes.len && !s->dropped && !s->fault) {
		bool whole;
		size_t used;

		if (sse_reader_feed(&s->events, bytes, &used, &whole) < 0) {
			stream__break(s, E_TOO_LARGE, "a message of the server is too large");
			return;
		}
		bytes = str_from(bytes, used);
		if (whole)
			event_take(s);
	}
}

static void
body_read(struct stream *s, struct str bytes)
{
	if (s->content == CONTENT_JSON) {
		buf_add(&s->body, bytes);
		if (buf_failed(&s->body))
			stream__break(s, E_TOO_LARGE, "a message of the server is too large");
		return;
	}
	size_t room = LIMIT_LINK_PROBLEM - s->body.len;
	buf_add(&s->body, str_upto(bytes, bytes.len < room ? bytes.len : room));
	if (bytes.len > room)
		fetch_cancel(s->fetch); /* enough to see what it is */
}

void
stream__count(struct stream *s)
{
	size_t now = s->body.len + s->events.line.len + s->events.text.len;

	s->web->held += now - s->held;
	s->held = now;
	if (s->web->held > LIMIT_LINK_HELD)
		stream__break(s, E_TOO_LARGE, "the server sends too much at once");
}

void
stream__piece(struct fetch *f, struct str bytes, void *arg)
{
	struct stream *s = arg;

	(void)f;
	if (s->dropped || s->fault)
		return;
	s->web->ev.alive(s->web->ev.arg);
	if (s->content == CONTENT_EVENTS)
		events_read(s, bytes);
	else
		body_read(s, bytes);
	stream__count(s);
}
