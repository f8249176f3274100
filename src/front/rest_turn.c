/* rest_turn.c - taking in the calls of a message, giving back results, cancelling. */

#include "front/visit.h"

#include <stdlib.h>

#include "front/turn_body.h"

static void
reply_turn(struct http_request *r, int status, const struct turn *t)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	turn_write(&w, t);
	reply_json(r, status, &b);
}

/* Somebody waits for the results of a turn. */
struct waiting {
	struct http_request *http;
	struct turn *turn;
};

static void
turn_over(struct turn *t, void *arg)
{
	struct waiting *w = arg;

	reply_turn(w->http, 200, t);
	free(w);
}

/* The turn goes on; its results can be fetched. */
static void
peer_gone(struct http_request *r)
{
	struct waiting *w = r->user;

	w->turn->done = NULL;
	free(w);
}

static int
submit(const struct visit *v, struct session *s, const struct turn_body *body, struct err *e)
{
	struct waiting *w = calloc(1, sizeof(*w));
	struct turn_spec spec = {
	    .calls = body->calls,
	    .count = body->count,
	    .shape = body->shape,
	    .group = body->group,
	    .attended = body->attended,
	    .done = body->wait ? turn_over : NULL,
	    .arg = w,
	};
	struct turn *turn;

	if (!w)
		return err_plain(e, E_NOMEM);
	int code = gateway_submit(v->front->gw, s, &spec, &turn, e);
	if (code < 0 || !body->wait)
		free(w);
	if (code < 0)
		return code;
	if (!body->wait) {
		reply_turn(v->http, 202, turn);
		return 0;
	}
	*w = (struct waiting){v->http, turn};
	v->http->user = w;
	v->http->gone = peer_gone;
	return 0;
}

/* As a word, or as the string it is in draft-ietf-httpapi-idempotency-key-header. */
static struct str
unquoted(struct str s)
{
	bool quoted = s.len >= 2 && s.ptr[0] == '"' && s.ptr[s.len - 1] == '"';

	return quoted ? (struct str){s.ptr + 1, s.len - 2} : s;
}

/* Idempotency-Key: the key of a message with one call. */
static int
read_key_header(const struct http_request *r, struct turn_body *body, struct err *e)
{
	size_t times = http_header_times(r, "idempotency-key");
	struct str key = times ? unquoted(http_header(r, "idempotency-key")) : S("");

	if (times == 0)
		return 0;
	if (times > 1 || !key.len || key.len > LIMIT_IDEMPOTENCY_KEY || !str_is_utf8(key))
		return err_set(e, E_BAD_REQUEST,
			       "Idempotency-Key: must be there once, with 1 to %d bytes of text",
			       LIMIT_IDEMPOTENCY_KEY);
	if (body->count != 1)
		return err_set(e, E_BAD_REQUEST,
			       "Idempotency-Key: is for a message with one call; give each of "
			       "several an idempotency_key of its own");
	struct str *own = &body->calls[0].idempotency_key;
	if (own->ptr && !str_eq(*own, key))
		return err_set(e, E_BAD_REQUEST,
			       "Idempotency-Key: the call has another idempotency_key");
	*own = key;
	return 0;
}

void
route_turn_create(const struct visit *v)
{
	struct session *s = visit_session(v);
	struct json_doc *doc = NULL;
	struct turn_body body = {0};
	struct err e;

	if (!s)
		return;
	int code = body_parse(v->http, &doc, &e);
	if (code == 0)
		code = turn_body_read(doc, &body, &e);
	if (code == 0)
		code = read_key_header(v->http, &body, &e);
	if (code == 0)
		code = submit(v, s, &body, &e);
	if (code < 0)
		reply_err(v->http, &e);
	turn_body_done(&body);
	json_doc_unref(doc);
}

/* The turn the path names, or NULL: then it is being answered for. */
static struct turn *
visit_turn(const struct visit *v)
{
	struct session *s = visit_session(v);
	struct turn *t = s ? turn_find(s, visit_param(v, "turn")) : NULL;

	if (s && !t)
		reply_code(v->http, E_NO_TURN);
	return t;
}

void
route_turn_show(const struct visit *v)
{
	struct turn *t = visit_turn(v);

	if (t)
		reply_turn(v->http, 200, t);
}

static void
reply_cancelling(const struct visit *v, const char *key, struct str id)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_member(&w, key, id);
	jw_member_bool(&w, "cancellation_initiated", true);
	jw_end(&w);
	reply_json(v->http, 202, &b);
}

void
route_turn_cancel(const struct visit *v)
{
	struct turn *t = visit_turn(v);

	if (!t)
		return;
	if (t->state != TURN_OPEN) {
		reply_code(v->http, E_TURN_ENDED);
		return;
	}
	gateway_cancel_turn(v->front->gw, t);
	reply_cancelling(v, "turn_id", id_str(&t->id));
}

void
route_call_cancel(const struct visit *v)
{
	struct str id = visit_param(v, "call");
	struct err e;

	if (gateway_cancel_call(v->front->gw, id) == 0) {
		reply_cancelling(v, "call_id", id);
		return;
	}
	err_set(&e, E_NO_CALL, "no call of this id is alive");
	reply_err(v->http, &e);
}
