/* rest_confirm.c - open questions, their answers, and the answers that are remembered. */

#include "front/visit.h"

void
route_confirmations_list(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES), session = BUF_INIT(LIMIT_HTTP_FIELD);
	struct jw w = jw(&b);
	bool one = http_query(v->http, "session", &session);

	jw_object(&w);
	jw_key(&w, "confirmations");
	questions_write(&w, v->front->gw->questions,
			one ? buf_str(&session) : (struct str){NULL, 0});
	jw_end(&w);
	buf_done(&session);
	reply_json(v->http, 200, &b);
}

void
route_confirmation_show(const struct visit *v)
{
	const struct question *q =
	    question_find(v->front->gw->questions, visit_param(v, "request"));
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (!q) {
		reply_code(v->http, E_NO_QUESTION);
		return;
	}
	question_write(&w, q);
	reply_json(v->http, 200, &b);
}

struct answer_order {
	struct str decision, scope, prefix, by;
};
static const struct json_field answer_fields[] = {
    FIELD_REQUIRED(struct answer_order, decision, WANT_STR),
    FIELD(struct answer_order, scope, WANT_STR),
    FIELD(struct answer_order, prefix, WANT_STR),
    FIELD(struct answer_order, by, WANT_STR),
};

static int
answer_read(const struct json_doc *doc, struct answer *ret, struct err *e)
{
	struct answer_order order = {.scope = S("once"), .by = S("rest")};
	int code =
	    json_fields(json_root(doc), answer_fields, ARRAY_LEN(answer_fields), "", &order, e);

	if (code < 0)
		return code;
	*ret = (struct answer){.prefix = order.prefix, .by = order.by};
	ret->allow = str_is(order.decision, "allow");
	if (!ret->allow && !str_is(order.decision, "deny"))
		return err_set(e, E_BAD_REQUEST, "decision: must be allow or deny");
	if (!grant_scope_parse(order.scope, &ret->scope))
		return err_set(
		    e, E_BAD_REQUEST,
		    "scope: must be once, session, prefix, workspace or workspace_prefix");
	if (!name_fits(order.by))
		return err_set(e, E_BAD_REQUEST, "by: must be a short text");
	return 0;
}

/* The id of the question the path names, whole; {NULL,0}: it does not stand there. */
static struct str
question_named(const struct visit *v)
{
	const struct questions *all = v->front->gw->questions;
	struct str id = visit_param(v, "request"), session, turn;

	if (visit_param(v, "id").ptr) {
		if (question_place(all, id, &session, &turn) == 0 &&
		    str_eq(session, visit_param(v, "id")) && str_eq(turn, visit_param(v, "turn")))
			return id;
		return (struct str){NULL, 0};
	}
	/* People type the end of an id. An answered one is no longer found so, but by the whole. */
	const struct question *q = question_find(all, id);
	return q ? str_of(question_id(q)) : id;
}

static void
reply_late(const struct visit *v, struct str id, const struct err *e)
{
	static const char *const decisions[] = {
	    [Q_OPEN] = NULL,         [Q_ALLOWED] = "allow",       [Q_DENIED] = "deny",
	    [Q_EXPIRED] = "timeout", [Q_WITHDRAWN] = "withdrawn",
	};
	enum question_state state = Q_OPEN;
	struct str by = {NULL, 0};
	struct buf details = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&details);

	(void)question_outcome(v->front->gw->questions, id, &state, &by);
	jw_object(&w);
	jw_member_z(&w, "decision", decisions[state]);
	if (by.len)
		jw_member(&w, "by", by);
	jw_end(&w);
	reply_problem(v->http, e, buf_failed(&details) ? S("{}") : buf_str(&details), NULL);
	buf_done(&details);
}

static void
reply_applied(const struct visit *v, struct str id, const struct answer *a)
{
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_member(&w, "request_id", id);
	jw_member_z(&w, "decision", a->allow ? "allow" : "deny");
	jw_member_z(&w, "scope", grant_scope_name(a->scope));
	jw_member_bool(&w, "applied", true);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_confirmation_answer(const struct visit *v)
{
	struct json_doc *doc = NULL;
	struct answer answer = {0};
	struct str id = {NULL, 0};
	struct err e;

	int code = body_parse(v->http, &doc, &e);
	if (code == 0)
		code = answer_read(doc, &answer, &e);
	if (code == 0 && !(id = question_named(v)).ptr)
		code = err_plain(&e, E_NO_QUESTION);
	if (code == 0)
		code = question_answer(v->front->gw->questions, id, &answer, NULL, &e);
	if (code == E_ANSWERED)
		reply_late(v, id, &e);
	else if (code < 0)
		reply_err(v->http, &e);
	else
		reply_applied(v, id, &answer);
	json_doc_unref(doc);
}

void
route_grants_list(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_key(&w, "grants");
	grants_write(&w, v->front->gw->grants);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_grant_delete(const struct visit *v)
{
	struct str id = visit_param(v, "id");
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);

	if (grant_revoke(v->front->gw->grants, id) < 0) {
		reply_code(v->http, E_NO_GRANT);
		return;
	}
	jw_object(&w);
	jw_member(&w, "id", id);
	jw_member_bool(&w, "revoked", true);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}
