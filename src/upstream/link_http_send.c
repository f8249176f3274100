/* link_http_send.c - what a request says in its headers, in either era. */

#include "upstream/link_http.h"

#include "mcp/header.h"

#define LINES_MAX LIMIT_HTTP_HEADERS

struct head {
	struct buf text; /* lines, each with a NUL behind it */
	const char *lines[LINES_MAX + 1];
	size_t count;
};

static void
head_open(struct head *h)
{
	h->text = BUF_INIT(LIMIT_LINK_HEADERS);
	h->count = 0;
	buf_room(&h->text, KIB); /* mostly enough */
}

static void
head_begin(struct head *h, const char *name)
{
	buf_addz(&h->text, name);
	buf_add(&h->text, S(": "));
	h->count++;
}

static void
head_add(struct head *h, const char *name, struct str value)
{
	head_begin(h, name);
	buf_add(&h->text, value);
	buf_addc(&h->text, '\0');
}

/* What every request of a stream says: who asks, in which session, in which tongue. */
static void
head_add_common(struct head *h, struct stream *s)
{
	struct web *w = s->web;

	if (!w->named)
		head_add(h, "User-Agent", S("holdfast/" HOLDFAST_VERSION));
	if (s->revision != MCP_UNKNOWN && !s->initializes)
		head_add(h, "MCP-Protocol-Version", str_of(mcp_revision_name(s->revision)));
	s->with_session = s->era == ERA_LEGACY && !s->initializes && w->session.len > 0;
	if (s->with_session)
		head_add(h, "Mcp-Session-Id", buf_str(&w->session));
}

static int
head_add_params(struct head *h, const struct link_message *m, struct err *e)
{
	struct header_param params[LIMIT_MCP_PARAMS];
	size_t count = 0;
	int r;

	if (!m->schema)
		return 0;
	r = header_params(m->schema, m->arguments, params, ARRAY_LEN(params), &count, e);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!params[i].value)
			continue;
		buf_addf(&h->text, "Mcp-Param-%.*s: ", STR_ARG(params[i].name));
		header_param_value(&h->text, params[i].value);
		buf_addc(&h->text, '\0');
		h->count++;
	}
	return r;
}

static int
head_add_message(struct head *h, const struct link_message *m, struct err *e)
{
	head_add(h, "Content-Type", S("application/json"));
	head_add(h, "Accept", S("application/json, text/event-stream"));
	if (m->era == ERA_LEGACY || !m->method.ptr)
		return 0;
	head_add(h, "Mcp-Method", m->method);
	if (m->name.ptr) {
		head_begin(h, "Mcp-Name");
		header_encode(&h->text, m->name);
		buf_addc(&h->text, '\0');
	}
	return head_add_params(h, m, e);
}

static int
head_finish(struct head *h, const struct web *w, struct err *e)
{
	const char *at = h->text.ptr;
	size_t n = 0;

	if (buf_failed(&h->text) || h->count + w->header_count > LINES_MAX)
		return err_set(e, E_TOO_LARGE,
			       "the request has too many headers, or too long ones");
	for (; n < h->count; n++, at += strlen(at) + 1)
		h->lines[n] = at;
	for (size_t i = 0; i < w->header_count; i++)
		h->lines[n++] = w->headers[i];
	h->lines[n] = NULL;
	return 0;
}

static int
stream_send(struct stream *s, struct head *h, const char *method, struct str body, struct err *e)
{
	struct web *w = s->web;
	struct fetch_spec spec = {
	    .method = method,
	    .url = s->kind == STREAM_POST ? w->endpoint : w->url,
	    .headers = h->lines,
	    .body = body,
	    .head = stream__head,
	    .piece = stream__piece,
	    .over = stream__over,
	    .arg = s,
	};
	int r;

	/* How long an answer may take is for those to say who asked. */
	if (stream_is_one_way(s))
		spec.stall_ms = LIMIT_LINK_NOTE_MS;
	head_add_common(h, s);
	r = head_finish(h, w, e);
	s->status = 0;
	s->content = CONTENT_NONE;
	s->opened_ms = loop_now_ms(w->loop);
	if (r == 0)
		r = fetch_start(w->fetcher, &spec, &s->fetch, e);
	return r;
}

int
stream__post(struct stream *s, const struct link_message *m, struct err *e)
{
	struct head h;

	head_open(&h);
	int r = head_add_message(&h, m, e);
	if (r == 0)
		r = stream_send(s, &h, "POST", m->text, e);
	buf_done(&h.text);
	return r;
}

int
stream__get(struct stream *s, struct err *e)
{
	struct head h;

	head_open(&h);
	head_add(&h, "Accept", S("text/event-stream"));
	if (s->last_id.len)
		head_add(&h, "Last-Event-ID", buf_str(&s->last_id));
	int r = stream_send(s, &h, "GET", (struct str){0}, e);
	buf_done(&h.text);
	return r;
}

int
stream__delete(struct stream *s, struct err *e)
{
	struct head h;

	head_open(&h);
	int r = stream_send(s, &h, "DELETE", (struct str){0}, e);
	buf_done(&h.text);
	return r;
}
