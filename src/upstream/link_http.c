/* link_http.c - MCP messages over Streamable HTTP, of both eras, as a client. */

#include "upstream/link_http.h"

#include <stdlib.h>

static struct web *
web_of(struct link *l)
{
	return CONTAINER_OF(l, struct web, link);
}

static void
web_free(struct web *w)
{
	fetcher_free(w->fetcher);
	for (size_t i = 0; i < w->header_count; i++)
		free(w->headers[i]);
	free(w->headers);
	free(w->url);
	free(w->endpoint);
	buf_done(&w->hello);
	buf_done(&w->session);
	free(w);
}

void
web__over(void *arg)
{
	struct web *w = arg;
	struct err how;

	err_set(&how, E_STOPPING, "the connection was closed");
	if (w->why.code)
		how = w->why;
	w->ev.closed(w->ev.arg, &how);
	web_free(w);
}

static enum stream_kind
kind_of(const struct web *w, const struct link_message *m)
{
	return w->line ? STREAM_POST : m->id ? STREAM_REQUEST : STREAM_NOTE;
}

static int
web_has_room(const struct web *w, const struct link_message *m, struct err *e)
{
	size_t notes = w->streams.len - w->requests;

	if (w->closing)
		return err_set(e, E_STOPPING, "the connection is being closed");
	if (w->line && !w->endpoint)
		return err_set(e, E_UNAVAILABLE, "the server has not said where messages go");
	if (m->text.len > LIMIT_LINE_BYTES)
		return err_set(e, E_TOO_LARGE, "the message is too large");
	if (m->id ? w->requests >= LIMIT_LINK_REQUESTS : notes >= LIMIT_LINK_NOTES)
		return err_set(e, E_LIMIT, "too much is on its way to the server");
	return 0;
}

/* What was before belongs to a session that is over. */
static void
session_begin(struct web *w, struct str text)
{
	buf_reset(&w->session);
	w->session_lost = false;
	w->sessions++;
	if (w->ear)
		stream__drop(w->ear);
	w->ear = NULL;
	buf_reset(&w->hello);
	buf_add(&w->hello, text);
}

static int
web_send(struct link *l, const struct link_message *m, struct err *e)
{
	struct web *w = web_of(l);
	bool initializes = m->id && str_is(m->method, "initialize");
	int r = web_has_room(w, m, e);

	if (r < 0)
		return r;
	if (initializes)
		session_begin(w, m->text);
	struct stream *s = stream__new(w, kind_of(w, m), m->id);
	if (!s)
		return err_plain(e, E_NOMEM);
	s->era = m->era;
	s->revision = m->revision;
	if (m->revision != MCP_UNKNOWN)
		w->spoken = m->revision;
	s->initializes = initializes;
	r = stream__post(s, m, e);
	if (r < 0)
		stream__free(s);
	return r;
}

static void
web_drop(struct link *l, uint64_t id)
{
	struct web *w = web_of(l);

	if (!id)
		return;
	LIST_EACH (&w->streams, n) {
		struct stream *s = CONTAINER_OF(n, struct stream, node);

		if (s->id == id) {
			stream__drop(s);
			return;
		}
	}
}

static void
web_listen(struct link *l, enum mcp_revision revision)
{
	struct web *w = web_of(l);
	struct err e;

	if (w->closing || w->line || w->ear || (w->ear = stream__new(w, STREAM_EAR, 0)) == NULL)
		return;
	w->ear->era = ERA_LEGACY;
	w->ear->revision = revision;
	if (stream__get(w->ear, &e) < 0)
		stream__free(w->ear);
}

static void
farewell_rung(void *arg)
{
	struct stream *s = arg;

	fetch_cancel(s->fetch);
}

/* A courtesy: the server would otherwise keep the session until it tires of it. */
static void
web_farewell(struct web *w)
{
	struct stream *s = stream__new(w, STREAM_FAREWELL, 0);
	struct err e;

	if (!s)
		return;
	s->era = ERA_LEGACY;
	s->revision = w->spoken;
	if (stream__delete(s, &e) < 0)
		stream__free(s);
	else if (timer_start(w->loop, &s->clock, LIMIT_LINK_FAREWELL_MS, farewell_rung, s) < 0)
		fetch_cancel(s->fetch);
}

static void
web_close(struct link *l)
{
	struct web *w = web_of(l);

	if (w->closing)
		return;
	LIST_EACH (&w->streams, n)
		stream__drop(CONTAINER_OF(n, struct stream, node));
	if (w->session.len && !w->session_lost)
		web_farewell(w);
	w->closing = true;
	if (w->streams.len == 0)
		defer(w->loop, &w->gone, web__over, w);
}

static int
web_pid(const struct link *l)
{
	(void)l;
	return 0;
}

static const struct link_ops web_ops = {
    .send = web_send,
    .drop = web_drop,
    .listen = web_listen,
    .close = web_close,
    .pid = web_pid,
};

/* What we say ourselves a configuration does not say otherwise: such lines are passed over. */
static bool
header_is_ours(struct str name)
{
	static const char *const ours[] = {"Accept", "Content-Type", "Last-Event-ID"};

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (str_eq_nocase(name, str_of(ours[i])))
			return true;
	return str_eq_nocase(str_upto(name, 4), S("Mcp-"));
}

static struct str
header_name(const char *line)
{
	ptrdiff_t colon = str_index(str_of(line), ':');

	return str_upto(str_of(line), colon < 0 ? 0 : (size_t)colon);
}

static int
web_configure(struct web *w, const struct upstream_spec *spec, struct err *e)
{
	size_t count = 0;

	while (spec->headers && spec->headers[count])
		count++;
	if (count > LIMIT_HTTP_HEADERS / 2)
		return err_set(e, E_LIMIT, "headers: there are too many");
	w->url = strdup(spec->url);
	w->headers = calloc(count + 1, sizeof(*w->headers));
	if (!w->url || !w->headers)
		return err_plain(e, E_NOMEM);
	for (size_t i = 0; i < count; i++) {
		struct str name = header_name(spec->headers[i]);

		if (header_is_ours(name))
			continue;
		w->named |= str_eq_nocase(name, S("User-Agent"));
		if ((w->headers[w->header_count] = strdup(spec->headers[i])) == NULL)
			return err_plain(e, E_NOMEM);
		w->header_count++;
	}
	return fetcher_new(w->loop, &w->fetcher, e);
}

int
link_http(struct loop *l, const struct upstream_spec *spec, const struct link_events *ev,
	  struct link **ret, struct err *e)
{
	struct web *w = calloc(1, sizeof(*w));

	if (!w)
		return err_plain(e, E_NOMEM);
	w->link.ops = &web_ops;
	w->ev = *ev;
	w->loop = l;
	list_init(&w->streams);
	buf_init(&w->session, LIMIT_LINK_ID);
	buf_init(&w->hello, LIMIT_LINE_BYTES);
	int r = web_configure(w, spec, e);
	if (r < 0) {
		web_free(w);
		return r;
	}
	*ret = &w->link;
	return 0;
}
