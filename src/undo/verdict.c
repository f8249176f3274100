/* verdict.c - did a call that was interrupted do what it was about to? */

#include "undo/inside.h"

#include <stdlib.h>

/* What is there now, as a digest or UNDO_ABSENT. False: it cannot be told. */
static bool
there_now(const struct undo_row *r, const char *const *shut, char out[static DIGEST_TEXT])
{
	char *root = str_dup(r->workspace);
	struct workspace *ws = NULL;
	struct buf bytes = BUF_INIT(LIMIT_UNDO_FILE);
	bool there = false;
	int code = root ? workspace_open(root, shut, &ws, NULL) : E_NOMEM;

	if (code == 0)
		code = workspace_peek(ws, r->path, &bytes, &there, NULL);
	if (code == 0 && there)
		digest_bytes(buf_str(&bytes), out);
	else if (code == 0)
		strcpy(out, UNDO_ABSENT);
	buf_done(&bytes);
	workspace_unref(ws);
	free(root);
	return code == 0;
}

static enum undo_verdict
row_verdict(const struct undo_row *r, const char *const *shut)
{
	char now[DIGEST_TEXT];

	if (r->made || r->undone_by.ptr)
		return UNDO_DONE;
	if (!there_now(r, shut, now))
		return UNDO_UNCLEAR;
	if (r->after.ptr && str_is(r->after, now))
		return UNDO_DONE;
	return r->before.ptr && str_is(r->before, now) ? UNDO_NOT_DONE : UNDO_UNCLEAR;
}

/* All of its changes were made, or none; what lies between is for a person to look at. */
enum undo_verdict
undo_verdict(struct undo *u, struct str call, const char *const *shut)
{
	enum undo_verdict all = UNDO_NOT_DONE;
	struct undo_row r;
	size_t n = 0;

	pthread_mutex_lock(&u->lock);
	if (undo__bind(u, OP_OF_CALL, "s", call) != SQLITE_OK)
		all = UNDO_UNCLEAR;
	for (; all != UNDO_UNCLEAR && undo__row(u, OP_OF_CALL, &r); n++) {
		enum undo_verdict one = row_verdict(&r, shut);
		all = n == 0 || one == all ? one : UNDO_UNCLEAR;
		undo__row_done(&r);
	}
	(void)sqlite3_reset(u->ops[OP_OF_CALL]);
	if (n == 0 && undo__missed(u))
		all = UNDO_UNCLEAR;
	pthread_mutex_unlock(&u->lock);
	return all;
}
