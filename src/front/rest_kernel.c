/* rest_kernel.c - envelopes of the kernel router over HTTP. */

#include "front/visit.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernel/kernels.h"

static void
reply_kernel(const struct visit *v, int status, const struct session *s)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);
	struct err e;

	if (kernels_write(&w, v->front->spec.kernels, s)) {
		reply_json(v->http, status, &b);
		return;
	}
	buf_done(&b);
	err_set(&e, E_NO_ROUTE, "this session has no kernel: it begins with the first envelope");
	reply_err(v->http, &e);
}

void
route_kernel_show(const struct visit *v)
{
	struct session *s = visit_session(v);

	if (s)
		reply_kernel(v, 200, s);
}

struct kernel_body {
	const struct json *index, *state;
};
static const struct json_field body_table[] = {
    FIELD(struct kernel_body, index, WANT_OBJECT),
    FIELD(struct kernel_body, state, WANT_OBJECT),
};

/* The index is a document of its own: the session keeps it. */
static int
bundle_of(const struct json *index, struct json_doc **ret, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_KERNEL_BUNDLE);
	struct jw w = jw(&text);
	int code;

	if (!index)
		return 0;
	jw_value(&w, index);
	code = buf_failed(&text)
		   ? err_set(e, E_TOO_LARGE, "index: larger than %zu bytes", LIMIT_KERNEL_BUNDLE)
		   : json_parse(buf_str(&text), &json_door, ret, e);
	buf_done(&text);
	return code;
}

static int
open_kernel(const struct visit *v, struct session *s, const struct kernel_body *body, struct err *e)
{
	struct json_doc *bundle = NULL;
	int code = bundle_of(body->index, &bundle, e);

	if (code == 0)
		code = kernels_open(v->front->spec.kernels, s, bundle, body->state, e);
	json_doc_unref(bundle);
	return code;
}

void
route_kernel_open(const struct visit *v)
{
	struct session *s = visit_session(v);
	struct kernel_body body = {0};
	struct json_doc *doc = NULL;
	struct err e;

	if (!s)
		return;
	int code = body_parse(v->http, &doc, &e);
	if (code == 0)
		code =
		    json_fields(json_root(doc), body_table, ARRAY_LEN(body_table), "", &body, &e);
	if (code == 0)
		code = open_kernel(v, s, &body, &e);
	if (code < 0)
		reply_err(v->http, &e);
	else
		reply_kernel(v, 201, s);
	json_doc_unref(doc);
}

/* ---- envelopes ---- */

static void
peer_gone(struct http_request *r)
{
	kernel_ask_orphan(r->user);
}

/* An emission has no room for the warning: it goes beside it. */
static void
emitted(const struct emission *emission, void *arg)
{
	struct http_request *r = arg;
	struct buf body = BUF_INIT(LIMIT_KERNEL_EMISSION + 64);
	char warning[96] = "";

	r->gone = NULL;
	if (!emission) {
		reply_code(r, E_SESSION_ENDED);
		return;
	}
	const struct latency *l = &emission->latency;
	if (l->status == LATENCY_WARNING)
		snprintf(warning, sizeof(warning), "Holdfast-Latency: %s %.3f %u\r\n", l->code,
			 (double)l->observed_us / 1e6, l->ceiling_s);
	buf_add(&body, emission->text);
	buf_addc(&body, '\n');
	if (buf_failed(&body)) {
		buf_done(&body);
		reply_code(r, E_NOMEM);
		return;
	}
	http_reply_take(r, 200, "application/json", &body, warning[0] ? warning : NULL);
}

void
route_kernel_envelope(const struct visit *v)
{
	struct session *s = visit_session(v);
	bool attended = !query_flag(v->http, "unattended");
	struct kernel_ask *ask;
	struct err e;

	if (!s)
		return;
	if (kernels_ask(v->front->spec.kernels, s, v->http->body, attended, emitted, v->http, &ask,
			&e) < 0) {
		reply_err(v->http, &e);
		return;
	}
	v->http->user = ask;
	v->http->gone = peer_gone;
}
