/* rest_undo.c - what calls did to files, and taking it back. */

#include "front/visit.h"

static void
ask_changes(const struct visit *v, const struct changes_query *q)
{
	struct later *l = later_new(v);
	struct err e;

	if (l)
		later_begun(v, l, gateway_changes(v->front->gw, q, later_answer, l, &e), &e);
}

void
route_changes_list(const struct visit *v)
{
	struct buf pattern = BUF_INIT(LIMIT_HTTP_FIELD), session = BUF_INIT(LIMIT_HTTP_FIELD),
		   call = BUF_INIT(LIMIT_HTTP_FIELD);
	struct changes_query q = {
	    .pattern = query_text(v->http, "pattern", &pattern),
	    .session = query_text(v->http, "session", &session),
	    .call = query_text(v->http, "call", &call),
	    .limit = 100,
	};
	struct err e;

	if (query_number(v->http, "limit", LIMIT_EVENT_PAGE, &q.limit, &e) < 0)
		reply_err(v->http, &e);
	else
		ask_changes(v, &q);
	buf_done(&pattern);
	buf_done(&session);
	buf_done(&call);
}

static const struct json_field undo_fields[] = {
    FIELD(struct undo_order, call, WANT_STR),   FIELD(struct undo_order, turn, WANT_STR),
    FIELD(struct undo_order, last, WANT_BOOL),  FIELD(struct undo_order, workspace, WANT_STR),
    FIELD(struct undo_order, force, WANT_BOOL), FIELD(struct undo_order, dry_run, WANT_BOOL),
};

static int
order_read(const struct json *body, struct undo_order *o, struct err *e)
{
	int code = json_fields(body, undo_fields, ARRAY_LEN(undo_fields), "", o, e);

	if (code < 0)
		return code;
	if (!!o->call.ptr + !!o->turn.ptr + o->last != 1)
		return err_set(e, E_BAD_REQUEST, "one of call, turn and last must be there");
	if ((o->call.ptr && !name_fits(o->call)) || (o->turn.ptr && !name_fits(o->turn)))
		return err_set(e, E_BAD_REQUEST, "call and turn are ids");
	if (o->workspace.ptr && !o->last)
		return err_set(e, E_BAD_REQUEST, "workspace: goes with last");
	return 0;
}

void
route_undo(const struct visit *v)
{
	struct undo_order order = {0};
	struct json_doc *doc = NULL;
	struct err e;

	int code = body_parse(v->http, &doc, &e);
	if (code == 0)
		code = order_read(json_root(doc), &order, &e);
	struct later *l = code == 0 ? later_new(v) : NULL;
	if (code < 0)
		reply_err(v->http, &e);
	else if (l)
		later_begun(v, l, gateway_undo(v->front->gw, &order, later_answer, l, &e), &e);
	json_doc_unref(doc);
}
