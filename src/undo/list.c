/* list.c - the history of changes, as JSON. */

#include "undo/inside.h"

#include "base/clock.h"
#include "base/glob.h"
#include "json/write.h"

static void
row_write(struct jw *w, const struct undo_row *r)
{
	char when[CLOCK_TEXT];

	clock_text(r->at_us, when);
	jw_object(w);
	jw_member(w, "change_id", r->id);
	jw_member_z(w, "at", when);
	jw_member(w, "type", r->type);
	jw_member(w, "path", r->path);
	if (r->old.ptr)
		jw_member(w, "old_path", r->old);
	jw_member(w, "workspace", r->workspace);
	jw_member_int(w, "size", r->size);
	jw_member(w, "tool_name", r->tool);
	jw_member(w, "call_id", r->call);
	jw_member(w, "turn_id", r->turn);
	jw_member(w, "session_id", r->session);
	jw_member_bool(w, "undoable", undo__undoable(r));
	if (!r->made)
		jw_member_bool(w, "interrupted", true); /* it may not have been made */
	if (r->undoes.ptr)
		jw_member(w, "undoes", r->undoes);
	if (r->undone_by.ptr)
		jw_member(w, "undone_by", r->undone_by);
	jw_end(w);
}

static bool
wanted(const struct undo_query *q, const struct undo_row *r)
{
	return (!q->session.ptr || str_eq(q->session, r->session)) &&
	       (!q->call.ptr || str_eq(q->call, r->call)) && glob_file(q->pattern, r->path);
}

int
undo_list(struct undo *u, const struct undo_query *q, struct buf *out, bool *ret_more,
	  struct err *e)
{
	size_t found = 0, looked = 0;
	struct undo_row r;
	bool more = false;

	pthread_mutex_lock(&u->lock);
	sqlite3_reset(u->ops[OP_LIST]);
	while (!more && looked++ < LIMIT_CHANGES_SEARCH && undo__row(u, OP_LIST, &r)) {
		bool fits = wanted(q, &r);
		more = fits && found == q->limit;
		if (fits && !more) {
			struct jw w = jw(out);
			if (found++)
				buf_addc(out, ',');
			row_write(&w, &r);
		}
		undo__row_done(&r);
	}
	int rc = sqlite3_reset(u->ops[OP_LIST]);
	int code = rc == SQLITE_OK ? 0 : undo__failed(u, "list", e);
	pthread_mutex_unlock(&u->lock);
	*ret_more = more;
	return code == 0 && buf_failed(out) ? err_plain(e, E_TOO_LARGE) : code;
}
