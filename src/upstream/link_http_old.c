/*
 * link_http_old.c - HTTP+SSE, the transport of 2024-11-05, for servers that have no other.
 *
 *	POST initialize --> 400, 404, 405, and no word of MCP
 *	GET the same URL --> the line: "event: endpoint" names where messages are posted,
 *	                     "event: message" is whatever the server says, answers among them
 *	POST endpoint   --> 202
 *
 * The request that was refused waits meanwhile. Where there is no line its refusal counts after
 * all; when the line ends the link does.
 */

#include "upstream/link_http.h"

#include <stdlib.h>

#include "net/url.h"

/* A server of a later revision says what is wrong in JSON-RPC. */
static bool
is_refused_without_a_word(const struct stream *s)
{
	struct json_doc *doc = NULL;
	struct err e;

	if (s->status != 400 && s->status != 404 && s->status != 405)
		return false;
	bool word = json_parse(buf_str(&s->body), &json_door, &doc, &e) == 0 &&
		    json_is(json_get(json_root(doc), S("error")), JSON_OBJECT);
	json_doc_unref(doc);
	return !word;
}

bool
line__open(struct stream *first)
{
	struct web *w = first->web;
	struct err e;

	if (!first->initializes || w->line || w->closing || !is_refused_without_a_word(first))
		return false;
	if (!(w->line = stream__new(w, STREAM_LINE, 0)))
		return false;
	w->line->era = ERA_LEGACY;
	if (stream__get(w->line, &e) < 0) {
		stream__free(w->line);
		return false;
	}
	w->first = first;
	return true;
}

/* What waited goes where the line says. */
static void
first_send(struct web *w)
{
	struct stream *first = w->first;
	struct stream *s = first ? stream__new(w, STREAM_POST, first->id) : NULL;
	struct err e;

	if (!first) /* it was given up */
		return;
	struct link_message m = {.text = buf_str(&w->hello),
				 .id = first->id,
				 .method = S("initialize")};
	if (!s || stream__post(s, &m, &e) < 0) {
		if (s)
			stream__free(s);
		stream__break(w->line, E_EXECUTION, "the server cannot be spoken to");
		return;
	}
	stream__free(first);
}

/* With messages go the configured headers: to the same origin, or not at all. */
static int
endpoint_read(struct web *w, struct str text, struct err *e)
{
	struct buf whole = BUF_INIT(LIMIT_HTTP_FIELD);
	struct url base, there;
	int rc = url_split(str_of(w->url), &base, e);

	if (rc == 0)
		rc = url_resolve(&base, text, &whole, e);
	if (rc == 0)
		rc = url_split(buf_str(&whole), &there, e);
	if (rc == 0 && !url_same_origin(&base, &there))
		rc = err_set(e, E_FORBIDDEN, "it is of another origin");
	if (rc == 0 && !(w->endpoint = str_dup(buf_str(&whole))))
		rc = err_plain(e, E_NOMEM);
	buf_done(&whole);
	return rc;
}

void
line__endpoint(struct stream *line, struct str text)
{
	struct err e;

	if (line->web->endpoint)
		return;
	if (endpoint_read(line->web, text, &e) < 0)
		stream__break(line, E_EXECUTION,
			      "the server wants messages sent to an address that is not its own");
	else
		first_send(line->web);
}

bool
line__over(struct stream *line, const struct err *e)
{
	struct web *w = line->web;
	struct stream *first = w->first;

	w->first = w->line = NULL;
	if (first && !line->fault) {
		first->ending = true; /* nobody frees it meanwhile */
		stream__refused(first);
		stream__free(first);
	} else if (!w->closing) {
		err_set(&w->why, E_UNAVAILABLE, "%s",
			line->fault ? line->fault_text
			: e->code   ? e->text
				    : "the server ended the stream that its answers come by");
		w->link.ops->close(&w->link);
	}
	return false;
}
