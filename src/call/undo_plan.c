/* undo_plan.c - what there is to take back: what the ledger has of a call or a turn. */

#include <stdio.h>

#include "call/undoing.h"
#include "effect/ledger.h"

#define EFFECTS_MOST 1000 /* of one order */
#define LAST_LOOK 50      /* effects, to find the last one of a workspace */
#define PAGE 25           /* effects that are read at once: each may have 64 KiB in the list */

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

/* Our own words around what was let in: deeper than that may be. */
static const struct json_limits rows_limits = {LIMIT_ANSWER_BYTES, LIMIT_JSON_DEPTH};

static int
record_read(struct undoing *u, struct effect_step *s, struct str id)
{
	struct buf text = BUF_INIT(LIMIT_ANSWER_BYTES), given = BUF_INIT(LIMIT_EFFECT_GIVEN);
	struct err e = ERR_NONE;
	int code = ledger_recall(u->gw->ledger, id, &text, &given, &e);

	if (code == 0)
		code = json_parse(buf_str(&text), &rows_limits, &s->doc, &e);
	if (code == 0 && given.len)
		code = json_parse(buf_str(&given), &json_door, &s->given, &e);
	if (code < 0)
		err_set(&s->err, code, "what the ledger has of it cannot be read: %.200s",
			err_text(&e));
	buf_done(&text);
	buf_done(&given);
	return code;
}

/* All that is known of one effect. One that cannot be read is told, and keeps no other from being
 * taken back: its names are those of the list. */
static int
effect_read(struct undoing *u, const struct json *row)
{
	static const char *const names[] = {"id",     "call",  "session",          "tool",
					    "tenant", "agent", "compensation_tool"};
	struct effect_step *s = ARENA_NEW(u->arena, struct effect_step);

	if (!s)
		return err_plain(&u->err, E_NOMEM);
	struct str *const to[] = {&s->id,     &s->call,  &s->session,  &s->tool,
				  &s->tenant, &s->agent, &s->tool_back};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct str text = json_str(json_get(row, str_of(names[i])));
		if (text.ptr && !(*to[i] = arena_str(u->arena, text)).ptr)
			return err_plain(&u->err, E_NOMEM);
	}
	s->unread = record_read(u, s, s->id) < 0;
	s->files = !s->unread && has_files(u, s->call);
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
		if (!json_bool(json_get(it.value, S("undoable"))) ||
		    (u->ask.workspace.ptr && !str_eq(where, u->ask.workspace)))
			continue;
		snprintf(u->last_change, sizeof(u->last_change), "%.*s",
			 STR_ARG(json_str(json_get(it.value, S("at")))));
		snprintf(u->last_call.text, sizeof(u->last_call.text), "%.*s",
			 STR_ARG(json_str(json_get(it.value, S("call_id")))));
	}
	json_doc_unref(doc);
	buf_done(&rows);
}

/* The next rows of the list, and each that counts read; the last row is where it goes on. */
static int
page_read(struct undoing *u, struct effects_query *q, struct id *last, bool *ret_more)
{
	struct buf rows = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct json_doc *doc = NULL;

	buf_addc(&rows, '[');
	int code = ledger_list(u->gw->ledger, q, &rows, ret_more, &u->err);
	buf_addc(&rows, ']');
	if (code == 0)
		code = json_parse(buf_str(&rows), &rows_limits, &doc, &u->err);
	buf_done(&rows);
	for (struct json_iter it = json_iter(doc ? json_root(doc) : NULL);
	     code == 0 && json_next(&it);) {
		snprintf(last->text, sizeof(last->text), "%.*s",
			 STR_ARG(json_str(json_get(it.value, S("id")))));
		if (is_of_interest(it.value))
			code = effect_read(u, it.value);
	}
	json_doc_unref(doc);
	return code;
}

void
undo_plan(struct undoing *u)
{
	struct effects_query q = {.call = u->ask.call,
				  .turn = u->ask.turn,
				  .compensatable = u->ask.last};
	size_t most = u->ask.last ? LAST_LOOK : EFFECTS_MOST;
	struct id last;
	bool more = true;

	for (size_t n = 0; n < most && more; n += PAGE) {
		q.limit = most - n < PAGE ? most - n : PAGE;
		q.before = n ? id_str(&last) : (struct str){NULL, 0};
		if (page_read(u, &q, &last, &more) < 0)
			return;
	}
	if (u->ask.last)
		last_change_there(u);
}
