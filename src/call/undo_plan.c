/* undo_plan.c - what there is to take back: what the ledger has of a call or a turn. */

#include <stdio.h>

#include "call/undoing.h"
#include "effect/ledger.h"

#define EFFECTS_MOST 1000 /* of one order */
#define LAST_LOOK 50      /* effects, to find the last one of a workspace */

static bool
has_files(struct undoing *u, struct str call)
{
	struct buf rows = BUF_INIT(64 * KIB);
	bool more;
	int code = u->gw->undo
		       ? undo_list(u->gw->undo, &(struct undo_query){.call = call, .limit = 1},
				   &rows, &more, NULL)
		       : E_NO_CALL;
	bool some = code == 0 && rows.len > 0;

	buf_done(&rows);
	return some;
}

/* What the ledger has of one effect, whole. */
static int
effect_read(struct undoing *u, struct str id, struct err *e)
{
	static const char *const names[] = {"id",     "call",  "session",          "tool",
					    "tenant", "agent", "compensation_tool"};
	struct effect_step *s = ARENA_NEW(u->arena, struct effect_step);
	struct buf text = BUF_INIT(LIMIT_ANSWER_BYTES), given = BUF_INIT(LIMIT_EFFECT_GIVEN);
	int code = s ? ledger_recall(u->gw->ledger, id, &text, &given, e) : err_plain(e, E_NOMEM);

	if (code == 0)
		code = json_parse(buf_str(&text), &json_door, &s->doc, e);
	if (code == 0 && given.len)
		code = json_parse(buf_str(&given), &json_door, &s->given, e);
	buf_done(&text);
	buf_done(&given);
	if (code < 0)
		return code;
	struct str *const to[] = {&s->id,     &s->call,  &s->session,  &s->tool,
				  &s->tenant, &s->agent, &s->tool_back};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		*to[i] = json_str(json_get(json_root(s->doc), str_of(names[i])));
	s->files = has_files(u, s->call);
	*u->effects_end = s;
	u->effects_end = &s->next;
	return 0;
}

/* Reading, and what was never done, is nothing to be told of. */
static bool
is_of_interest(const struct json *row)
{
	struct str policy = json_str(json_get(row, S("policy")));
	bool harmless = str_is(policy, "pure") || str_is(policy, "idempotent");

	return !str_is(json_str(json_get(row, S("state"))), "failed") &&
	       (!harmless || json_str(json_get(row, S("compensation_tool"))).len > 0);
}

/* The last change to a file there, for comparison. */
static void
last_change_there(struct undoing *u)
{
	struct buf rows = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct json_doc *doc = NULL;
	bool more;

	buf_addc(&rows, '[');
	if (u->gw->undo && undo_list(u->gw->undo, &(struct undo_query){.limit = LAST_LOOK}, &rows,
				     &more, NULL) == 0) {
		buf_addc(&rows, ']');
		(void)json_parse(buf_str(&rows), &json_door, &doc, NULL);
	}
	for (struct json_iter it = json_iter(doc ? json_root(doc) : NULL);
	     !u->last_change[0] && json_next(&it);) {
		struct str where = json_str(json_get(it.value, S("workspace")));
		if (json_bool(json_get(it.value, S("undoable"))) &&
		    (!u->ask.workspace.ptr || str_eq(where, u->ask.workspace)))
			snprintf(u->last_change, sizeof(u->last_change), "%.*s",
				 STR_ARG(json_str(json_get(it.value, S("at")))));
	}
	json_doc_unref(doc);
	buf_done(&rows);
}

void
undo_plan(struct undoing *u)
{
	struct buf rows = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct json_doc *doc = NULL;
	struct effects_query q = {.call = u->ask.call,
				  .turn = u->ask.turn,
				  .compensatable = u->ask.last,
				  .limit = u->ask.last ? LAST_LOOK : EFFECTS_MOST};
	bool more;

	buf_addc(&rows, '[');
	int code = ledger_list(u->gw->ledger, &q, &rows, &more, &u->err);
	buf_addc(&rows, ']');
	if (code == 0)
		code = json_parse(buf_str(&rows), &json_door, &doc, &u->err);
	for (struct json_iter it = json_iter(doc ? json_root(doc) : NULL);
	     code == 0 && json_next(&it);)
		if (is_of_interest(it.value))
			code = effect_read(u, json_str(json_get(it.value, S("id"))), &u->err);
	json_doc_unref(doc);
	buf_done(&rows);
	if (u->ask.last)
		last_change_there(u);
}
