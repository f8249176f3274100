/* rest_notice.c - how far running calls are, and short notes for a person. */

#include "front/visit.h"

void
route_progress_list(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_key(&w, "progress");
	progresses_write(&w, v->front->gw->progress);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_toasts_list(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_key(&w, "toasts");
	toasts_write(&w, v->front->gw->toasts);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

void
route_toast_dismiss(const struct visit *v)
{
	struct str id = visit_param(v, "id");
	struct buf b = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&b);
	int code = toast_dismiss(v->front->gw->toasts, id);

	if (code < 0) {
		reply_code(v->http, code);
		return;
	}
	jw_object(&w);
	jw_member(&w, "id", id);
	jw_member_bool(&w, "dismissed", true);
	jw_end(&w);
	reply_json(v->http, 200, &b);
}
