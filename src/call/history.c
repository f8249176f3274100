/* history.c - changes to files, newest first, for people. */

#include <stdlib.h>

#include "call/gateway.h"
#include "undo/undo.h"

struct reading {
	struct undo *undo;
	struct undo_query query; /* texts in `texts` */
	struct buf texts, rows;
	bool more;
	struct err err;
	gateway_answer_fn done;
	void *arg;
	struct work work;
};

static void
read_there(void *arg)
{
	struct reading *r = arg;

	(void)undo_list(r->undo, &r->query, &r->rows, &r->more, &r->err);
}

static void
reading_free(struct reading *r)
{
	buf_done(&r->texts);
	buf_done(&r->rows);
	free(r);
}

static void
read_over(void *arg)
{
	struct reading *r = arg;
	struct buf answer = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&answer);

	jw_object(&w);
	jw_key(&w, "changes");
	jw_array(&w);
	if (r->rows.len)
		jw_raw(&w, buf_str(&r->rows));
	jw_end(&w);
	jw_member_bool(&w, "more", r->more);
	jw_end(&w);
	r->done(&r->err, &answer, r->arg);
	buf_done(&answer);
	reading_free(r);
}

/* One after the other, so that their place is known when all are here. */
static void
texts_fill(struct reading *r, const struct changes_query *q)
{
	struct str parts[] = {q->session, q->call, q->pattern};
	struct str *to[] = {&r->query.session, &r->query.call, &r->query.pattern};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		buf_add(&r->texts, parts[i]);
	for (size_t i = 0, at = 0; i < ARRAY_LEN(parts); at += parts[i++].len)
		if (parts[i].ptr && !buf_failed(&r->texts))
			*to[i] = (struct str){buf_str(&r->texts).ptr + at, parts[i].len};
	r->query.limit = q->limit;
}

int
gateway_changes(struct gateway *gw, const struct changes_query *q, gateway_answer_fn done,
		void *arg, struct err *e)
{
	if (!gw->undo)
		return err_set(e, E_UNAVAILABLE, "this gateway keeps no history of changes");
	struct reading *r = calloc(1, sizeof(*r));
	if (!r)
		return err_plain(e, E_NOMEM);
	r->undo = gw->undo;
	r->done = done;
	r->arg = arg;
	buf_init(&r->texts, 2 * LIMIT_PATH);
	buf_init(&r->rows, LIMIT_ANSWER_BYTES / 2);
	texts_fill(r, q);
	int code = buf_failed(&r->texts) ? err_set(e, E_BAD_REQUEST, "the pattern is too long") : 0;
	if (code == 0 && work_start(gw->loop, &r->work, read_there, read_over, r) < 0)
		code = err_plain(e, E_SYSTEM);
	if (code < 0)
		reading_free(r);
	return code;
}
