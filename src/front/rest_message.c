/* rest_message.c - what the user says while the agent is at work, and what becomes of the turn. */

#include "front/visit.h"

struct said {
	struct str content, id;
};
static const struct json_field said_fields[] = {
    FIELD_REQUIRED(struct said, content, WANT_STR),
    FIELD(struct said, id, WANT_STR),
};

static void
reply_message(const struct visit *v, const struct session *s, const struct message *m, bool twin)
{
	const struct turn *open = session_open_turn(s);
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_member_z(&w, "message_id", m->id);
	jw_member_z(&w, "session_id", s->id.text);
	/* Pending: a turn is open, and asked about it before anything that cannot be undone. */
	jw_member_z(&w, "state", open ? "pending" : "waiting");
	jw_member_z(&w, "turn_id", open ? open->id.text : NULL);
	jw_member_int(&w, "pending_messages", (int64_t)s->inbox.waiting.len);
	jw_end(&w);
	reply_json(v->http, twin ? 200 : 201, &b);
}

void
route_message_post(const struct visit *v)
{
	struct session *s = visit_session(v);
	struct said said = {0};
	struct json_doc *doc = NULL;
	struct message *m = NULL;
	bool twin = false;
	struct err e;

	if (!s)
		return;
	int code = body_parse(v->http, &doc, &e);
	if (code == 0)
		code =
		    json_fields(json_root(doc), said_fields, ARRAY_LEN(said_fields), "", &said, &e);
	if (code == 0)
		code = session_say(s, said.id, said.content, &m, &twin, &e);
	if (code < 0)
		reply_err(v->http, &e);
	else
		reply_message(v, s, m, twin);
	json_doc_unref(doc);
}

void
route_messages_list(const struct visit *v)
{
	struct session *s = visit_session(v);
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (!s)
		return;
	jw_object(&w);
	jw_key(&w, "messages");
	messages_write(&w, &s->inbox.waiting);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

struct deciding {
	struct str decision, mode, request;
	enum supersede_action action;
};
static const struct json_field deciding_fields[] = {
    FIELD(struct deciding, decision, WANT_STR),
    FIELD(struct deciding, mode, WANT_STR),
    FIELD(struct deciding, request, WANT_STR),
};

static int
deciding_read(const struct json *body, struct deciding *d, struct err *e)
{
	int code = json_fields(body, deciding_fields, ARRAY_LEN(deciding_fields), "", d, e);

	if (code < 0)
		return code;
	if (!d->decision.ptr == !d->mode.ptr)
		return err_set(e, E_BAD_REQUEST, "one of decision and mode must be there");
	if (d->decision.ptr &&
	    (!supersede_parse(d->decision, &d->action) || d->action == BY_ASKING))
		return err_set(
		    e, E_BAD_REQUEST,
		    "decision: must be SUPERSEDE, ABSORB, FORCE_COMPLETE, QUEUE or default");
	if (d->mode.ptr && !supersede_mode_parse(d->mode, &d->action))
		return err_set(e, E_BAD_REQUEST, "mode: must be %s", SUPERSEDE_MODES);
	return 0;
}

static void
reply_deciding(const struct visit *v, const struct session *s, const struct turn *t)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_member_z(&w, "session_id", s->id.text);
	jw_member_z(&w, "mode", supersede_name(s->inbox.how));
	if (t) {
		jw_member_z(&w, "turn_id", t->id.text);
		jw_member_bool(&w, "applied", true);
	}
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_supersede(const struct visit *v)
{
	struct session *s = visit_session(v);
	struct deciding d = {0};
	struct json_doc *doc = NULL;
	struct turn *t = NULL;
	struct err e;

	if (!s)
		return;
	int code = body_parse(v->http, &doc, &e);
	if (code == 0)
		code = deciding_read(json_root(doc), &d, &e);
	if (code == 0 && d.mode.ptr)
		s->inbox.how = d.action;
	else if (code == 0)
		code = gateway_decide(v->front->gw, s, d.request, d.action, &t, &e);
	if (code < 0)
		reply_err(v->http, &e);
	else
		reply_deciding(v, s, t);
	json_doc_unref(doc);
}
