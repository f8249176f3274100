/* act.c - what the writer does to the tables, each in the transaction of all that came with it. */

#include "effect/inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "json/canon.h"
#include "json/write.h"

#define STANDING                                                                                   \
	"id, state, digest, owner, result, COALESCE(ended_us, started_us), expires_us,"            \
	" compensation_state, call, session, tenant, agent, tool, key, policy, turn,"              \
	" compensates"
#define SETTLE                                                                                     \
	"UPDATE effects SET state = ?2, result = ?3, error = ?4, ended_us = ?5,"                   \
	" resolved_by = ?6, note = ?7, expires_us = ?5 + (expires_us - COALESCE(ended_us, "        \
	"started_us)) WHERE id = ?1 AND "
enum column {
	COL_ID,
	COL_STATE,
	COL_DIGEST,
	COL_OWNER,
	COL_RESULT,
	COL_AT,
	COL_EXPIRES,
	COL_COMPENSATION,
	COL_CALL,
	COL_SESSION,
	COL_TENANT,
	COL_AGENT,
	COL_TOOL,
	COL_KEY,
	COL_POLICY,
	COL_TURN,
	COL_COMPENSATES,
};

const char *const ledger__sql[ST__COUNT] = {
    [ST_BEGIN] = "BEGIN IMMEDIATE",
    [ST_COMMIT] = "COMMIT",
    [ST_ROLLBACK] = "ROLLBACK",
    [ST_BY_CLAIM] = "SELECT " STANDING " FROM effects WHERE claim = ?",
    [ST_BY_ID] = "SELECT " STANDING " FROM effects WHERE id = ?",
    [ST_INSERT] = "INSERT INTO effects (id, claim, key, digest, call, session, turn, turn_group,"
		  " tenant, agent, tool, policy, args, compensation_tool, compensates, state,"
		  " result, started_us, ended_us, expires_us, owner)"
		  " VALUES (?, ?2, ?2, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [ST_RELEASE] = "UPDATE effects SET claim = NULL WHERE id = ?",
    [ST_SETTLE] = SETTLE "(state = 'started' OR (state = 'unknown' AND ?6 IS NOT NULL))",
    [ST_SETTLE_OWN] = SETTLE "state = 'started' AND owner = ?8",
    [ST_REPEATED] = "UPDATE effects SET claim = NULL, resolved_by = 'repeated', note = ?2"
		    " WHERE id = ?1",
    [ST_COMPENSATION] = "UPDATE effects SET compensation_state = ?2,"
			" compensation_id = COALESCE(?3, compensation_id),"
			" compensation_result = ?4 WHERE id = ?1",
    [ST_GIVEN_PUT] = "INSERT OR REPLACE INTO given (effect, given) VALUES (?, ?)",
    [ST_GIVEN_DROP] = "DELETE FROM given WHERE effect = ?",
    [ST_OWNERS] = "SELECT DISTINCT owner FROM effects WHERE state = 'started'",
    [ST_ORPHANS] = "SELECT " STANDING " FROM effects WHERE state = 'started' AND owner = ? LIMIT 1",
    [ST_COUNT_UNKNOWN] = "SELECT count(*) FROM effects WHERE state = 'unknown'"
			 " AND resolved_by IS NULL",
    [ST_LOG_LAST] = "SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1",
    [ST_LOG_ADD] = "INSERT INTO log (seq, effect, at_us, kind, body, hash)"
		   " VALUES (?, ?, ?, ?, ?, ?)",
    [ST_ANCHOR] = "SELECT seq, hash FROM anchor",
    [ST_ANCHOR_SET] = "INSERT OR REPLACE INTO anchor (one, seq, hash)"
		      " SELECT 1, seq, hash FROM log WHERE seq = ?",
    [ST_PRUNE_LAST] = "SELECT max(seq) FROM log WHERE at_us < ?",
    [ST_PRUNE_LOG] = "DELETE FROM log WHERE seq <= ?",
    [ST_PRUNE_EFFECTS] = "DELETE FROM effects WHERE COALESCE(ended_us, started_us) < ?1"
			 " AND (claim IS NULL OR expires_us < ?2)"
			 " AND (state IN ('done', 'failed') OR resolved_by IS NOT NULL)"
			 " AND NOT EXISTS (SELECT 1 FROM effects AS was"
			 " WHERE was.id = effects.compensates)", /* that goes first */
    [ST_PRUNE_GIVEN] = "DELETE FROM given WHERE effect NOT IN (SELECT id FROM effects)",
    /* What stays although its first record goes. */
    [ST_CARRY] = "SELECT id, state, digest, result, error, resolved_by, compensation_state,"
		 " (SELECT given FROM given WHERE effect = effects.id)"
		 " FROM effects WHERE id IN (SELECT effect FROM log WHERE seq <= ?"
		 " AND kind IN ('started', 'carried'))",
};

/* ---- the log ---- */

static struct jw
body_begin(struct ledger *l)
{
	buf_reset(&l->body);
	struct jw w = jw(&l->body);
	jw_object(&w);
	return w;
}

static int
body_end(struct ledger *l, struct jw *w, struct str effect, const char *kind, int64_t at_us)
{
	jw_end(w);
	if (buf_failed(&l->body))
		return SQLITE_NOMEM;
	return ledger__chain_add(l, &(struct link_text){effect, at_us, str_of(kind),
							buf_str(&l->body)});
}

/* Its members are written in the order of their names: the form of RFC 8785. */
static int
log_started(struct ledger *l, const struct op *op, int64_t at_us)
{
	static const struct {
		const char *name;
		enum text text;
	} members[] = {
	    {"agent", T_AGENT},   {"call", T_CALL},       {"compensates", T_COMPENSATES},
	    {"digest", T_DIGEST}, {"group", T_GROUP},     {"key", T_KEY},
	    {"policy", T_POLICY}, {"session", T_SESSION}, {"tenant", T_TENANT},
	    {"tool", T_TOOL},     {"turn", T_TURN},
	};
	struct jw w = body_begin(l);

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (op->texts[members[i].text].ptr)
			jw_member(&w, members[i].name, op->texts[members[i].text]);
	return body_end(l, &w, op->texts[T_EFFECT], "started", at_us);
}

static void
digest_member(struct jw *w, const char *name, struct str text)
{
	char digest[DIGEST_TEXT];

	if (!text.ptr)
		return;
	digest_bytes(text, digest);
	jw_member_z(w, name, digest);
}

struct ending {
	struct str effect;
	enum claim_state state;
	struct str result, error, by, note, given;
};

static int
log_ended(struct ledger *l, const struct ending *x, bool was_unknown, int64_t at_us)
{
	struct jw w = body_begin(l);

	if (x->by.ptr)
		jw_member(&w, "by", x->by);
	if (x->error.ptr)
		jw_member(&w, "error", x->error);
	digest_member(&w, "given", x->given);
	if (x->note.ptr)
		jw_member(&w, "note", x->note);
	digest_member(&w, "result", x->result);
	jw_member_z(&w, "state", claim_state_name(x->state));
	return body_end(l, &w, x->effect, was_unknown ? "resolved" : claim_state_name(x->state),
			at_us);
}

/* ---- what stands there ---- */

struct standing {
	sqlite3_stmt *st; /* on its row: texts are valid until it is reset */
	enum claim_state state;
	int64_t owner, at_us, expires_us;
	bool compensates; /* it takes another back */
};

static int
stands(struct ledger *l, enum statement by, struct str what, struct standing *ret)
{
	sqlite3_stmt *st = l->st[by];
	struct value v = value_str(what);

	sqlite3_reset(st);
	*ret = (struct standing){.st = st};
	int rc = db_bind(st, 1, &v);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	if (rc != SQLITE_ROW)
		return rc;
	if (!claim_state_parse(db_text(st, COL_STATE), &ret->state))
		ret->state = CLAIM_UNKNOWN; /* of a later version: nobody here knows */
	ret->owner = sqlite3_column_int64(st, COL_OWNER);
	ret->at_us = sqlite3_column_int64(st, COL_AT);
	ret->expires_us = sqlite3_column_int64(st, COL_EXPIRES);
	ret->compensates = db_text(st, COL_COMPENSATES).ptr != NULL;
	return SQLITE_OK;
}

/* What takes another back is done once, however long ago: its key stands as long as it does. */
static bool
is_over(const struct standing *s)
{
	return s->state == CLAIM_FAILED ||
	       (s->state == CLAIM_DONE && !s->compensates && s->expires_us <= clock_wall_us());
}

/* Copied: the row is gone when whoever asked hears of it. */
static int
found_fill(struct op *op, const struct standing *s)
{
	struct str owner, from[4];
	char number[24];
	struct claim_found *f = &op->found;
	struct str *const to[] = {&f->digest, &f->owner, &f->effect, &f->result};
	size_t at = 0;

	snprintf(number, sizeof(number), "%lld", (long long)s->owner);
	owner = str_of(number);
	from[0] = db_text(s->st, COL_DIGEST);
	from[1] = owner;
	from[2] = db_text(s->st, COL_ID);
	from[3] = db_text(s->st, COL_RESULT);
	buf_reset(&op->found_text);
	for (size_t i = 0; i < ARRAY_LEN(from); i++)
		buf_add(&op->found_text, from[i]);
	if (buf_failed(&op->found_text))
		return SQLITE_NOMEM;
	*f = (struct claim_found){.state = s->state, .at_us = s->at_us};
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		if (from[i].ptr)
			*to[i] = (struct str){op->found_text.ptr + at, from[i].len};
		at += from[i].len;
	}
	return SQLITE_OK;
}

static int
ended_by(struct ledger *l, enum statement by, const struct ending *x, bool was_unknown,
	 bool *ret_changed)
{
	int64_t now = clock_wall_us();
	const struct value values[] = {
	    value_str(x->effect), value_z(claim_state_name(x->state)),
	    value_str(x->result), value_str(x->error),
	    value_int(now),       value_str(x->by),
	    value_str(x->note),   value_int(l->owner),
	};
	size_t count = ARRAY_LEN(values) - (by != ST_SETTLE_OWN);
	int rc = db_run(l->st[by], values, count);

	*ret_changed = rc == SQLITE_OK && sqlite3_changes(l->db) > 0;
	if (*ret_changed && x->given.ptr) {
		const struct value given[] = {value_str(x->effect), value_str(x->given)};
		rc = db_run(l->st[ST_GIVEN_PUT], given, ARRAY_LEN(given));
	}
	return rc == SQLITE_OK && *ret_changed ? log_ended(l, x, was_unknown, now) : rc;
}

static int
ended_write(struct ledger *l, const struct ending *x, bool was_unknown)
{
	bool changed;

	return ended_by(l, ST_SETTLE, x, was_unknown, &changed);
}

/* ---- orphans ---- */

static struct recovered *
orphan_copy(sqlite3_stmt *st)
{
	static const enum column columns[] = {COL_ID,   COL_CALL,   COL_SESSION,
					      COL_TURN, COL_TENANT, COL_AGENT,
					      COL_TOOL, COL_KEY,    COL_POLICY};
	size_t bytes = sizeof(struct recovered);

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		bytes += db_text(st, columns[i]).len + 1;
	struct recovered *r = calloc(1, bytes);
	if (!r)
		return NULL;
	struct effect_orphan *o = &r->orphan;
	struct str policy, *const to[] = {&o->effect, &o->call, &o->session, &o->turn, &o->tenant,
					  &o->agent,  &o->tool, &o->key,     &policy};
	char *at = (char *)(r + 1);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		struct str text = db_text(st, columns[i]);
		*to[i] = (struct str){text.ptr ? at : NULL, text.len};
		memcpy(at, text.ptr ? text.ptr : "", text.len);
		at += text.len + 1;
	}
	o->policy = policy.ptr ? policy.ptr : "irreversible";
	return r;
}

void
recovered__free(struct recovered *all)
{
	for (struct recovered *r = all, *next; r; r = next) {
		next = r->next;
		free(r);
	}
}

static const char *
sentence_of(enum claim_state state)
{
	switch (state) {
	case CLAIM_DONE: return NULL;
	case CLAIM_FAILED: return "its process ended before it was done";
	default: return "its process ended while it was under way";
	}
}

/* The process that started it is dead: what came of it? */
static int
recover(struct ledger *l, sqlite3_stmt *st)
{
	struct recovered *r = orphan_copy(st);

	sqlite3_reset(st);
	if (!r)
		return SQLITE_NOMEM;
	r->state = l->spec.judge ? l->spec.judge(&r->orphan, l->spec.arg) : CLAIM_UNKNOWN;
	*l->fresh_end = r;
	l->fresh_end = &r->next;
	return ended_write(l,
			   &(struct ending){.effect = r->orphan.effect,
					    .state = r->state,
					    .error = str_of(sentence_of(r->state)),
					    .by = r->state == CLAIM_UNKNOWN ? (struct str){NULL, 0}
									    : S("recovered")},
			   false);
}

static int
sweep_owner(struct ledger *l, int64_t owner)
{
	sqlite3_stmt *st = l->st[ST_ORPHANS];
	int rc;

	for (;;) {
		struct value v = value_int(owner);
		sqlite3_reset(st);
		db_bind(st, 1, &v);
		if ((rc = sqlite3_step(st)) != SQLITE_ROW)
			break;
		if ((rc = recover(l, st)) != SQLITE_OK)
			return rc;
	}
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int
ledger__sweep_now(struct ledger *l)
{
	sqlite3_stmt *st = l->st[ST_OWNERS];
	int64_t dead[64];
	size_t n = 0;

	while (n < ARRAY_LEN(dead) && sqlite3_step(st) == SQLITE_ROW) {
		int64_t owner = sqlite3_column_int64(st, 0);
		if (!ledger__alive(l, owner))
			dead[n++] = owner;
	}
	int rc = sqlite3_reset(st);
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
		rc = sweep_owner(l, dead[i]);
	return rc;
}

/* As `stands`; an orphan there is looked into first. */
static int
stands_now(struct ledger *l, enum statement by, struct str what, struct standing *ret)
{
	for (;;) {
		int rc = stands(l, by, what, ret);
		if (rc != SQLITE_OK || ret->state != CLAIM_STARTED || ledger__alive(l, ret->owner))
			return rc;
		if (!l->in_write) {
			l->must_write = true;
			return SQLITE_OK;
		}
		if ((rc = recover(l, ret->st)) != SQLITE_OK)
			return rc;
	}
}

/* ---- the things themselves ---- */

static int
act_look(struct ledger *l, struct op *op)
{
	struct standing s;
	int rc = stands_now(l, ST_BY_CLAIM, op->texts[T_KEY], &s);

	op->found = (struct claim_found){0};
	if (rc == SQLITE_OK && s.state != CLAIM_NONE && !is_over(&s))
		rc = found_fill(op, &s);
	sqlite3_reset(l->st[ST_BY_CLAIM]);
	return rc;
}

static int
insert(struct ledger *l, const struct op *op, enum claim_state state)
{
	int64_t now = clock_wall_us();
	const struct str *t = op->texts;
	bool over = state == CLAIM_DONE;
	const struct value values[] = {
	    value_str(t[T_EFFECT]),
	    value_str(t[T_KEY]),
	    value_str(t[T_DIGEST]),
	    value_str(t[T_CALL]),
	    value_str(t[T_SESSION]),
	    value_str(t[T_TURN]),
	    value_str(t[T_GROUP]),
	    value_str(t[T_TENANT]),
	    value_str(t[T_AGENT]),
	    value_str(t[T_TOOL]),
	    value_str(t[T_POLICY]),
	    value_str(t[T_ARGS]),
	    value_str(t[T_COMPENSATION_TOOL]),
	    value_str(t[T_COMPENSATES]),
	    value_z(claim_state_name(state)),
	    value_str(over ? t[T_RESULT] : (struct str){NULL, 0}),
	    value_int(now),
	    value_time(over ? now : 0),
	    value_int(now + (int64_t)op->keep_ms * 1000),
	    value_int(l->owner),
	};
	int rc = db_run(l->st[ST_INSERT], values, ARRAY_LEN(values));

	if (rc == SQLITE_OK)
		rc = log_started(l, op, now);
	if (rc == SQLITE_OK && over)
		rc = log_ended(l,
			       &(struct ending){.effect = t[T_EFFECT],
						.state = CLAIM_DONE,
						.result = t[T_RESULT]},
			       false, now);
	return rc;
}

/* Nobody knows what came of it, and it is simply done again. */
static int
repeat(struct ledger *l, struct str old, struct str by)
{
	struct value values[] = {value_str(old), value_str(by)};
	int rc = db_run(l->st[ST_REPEATED], values, 2);

	if (rc != SQLITE_OK)
		return rc;
	struct jw w = body_begin(l);
	jw_member(&w, "by", by);
	return body_end(l, &w, old, "repeated", clock_wall_us());
}

/* The key is free when this is 0 and op->found says so. */
static int
make_free(struct ledger *l, struct op *op)
{
	struct standing s;
	char old[64];
	int rc = stands_now(l, ST_BY_CLAIM, op->texts[T_KEY], &s);

	op->found = (struct claim_found){0};
	if (rc != SQLITE_OK || s.state == CLAIM_NONE)
		return rc;
	bool over = is_over(&s);
	bool again = s.state == CLAIM_UNKNOWN && op->twice &&
		     str_eq(db_text(s.st, COL_DIGEST), op->texts[T_DIGEST]);
	struct str id = db_copy(s.st, COL_ID, old, sizeof(old));
	if (!over && !again)
		rc = found_fill(op, &s);
	sqlite3_reset(s.st);
	if (rc != SQLITE_OK || (!over && !again))
		return rc;
	return again ? repeat(l, id, op->texts[T_EFFECT])
		     : db_run(l->st[ST_RELEASE], &(struct value){VALUE_TEXT, (int64_t)id.len, old},
			      1);
}

static int
act_take(struct ledger *l, struct op *op, enum claim_state state)
{
	int rc = op->texts[T_KEY].ptr ? make_free(l, op) : SQLITE_OK;

	sqlite3_reset(l->st[ST_BY_CLAIM]);
	return rc == SQLITE_OK && op->found.state == CLAIM_NONE ? insert(l, op, state) : rc;
}

/* What is under way is for its own process to tell, and not for a person who has looked too soon:
 * its key would be free while it is at work. */
static bool
may_settle(const struct ledger *l, const struct standing *s, struct str by)
{
	if (s->state == CLAIM_STARTED)
		return s->owner == l->owner && !str_is(by, "person");
	return s->state == CLAIM_UNKNOWN && by.ptr;
}

static int
act_settle(struct ledger *l, struct op *op)
{
	struct standing s;
	const struct str *t = op->texts;
	const struct ending x = {t[T_EFFECT], op->state, t[T_RESULT], t[T_ERROR],
				 t[T_BY],     t[T_NOTE], t[T_GIVEN]};
	bool changed;
	int rc;

	op->found = (struct claim_found){.state = op->state};
	/* Nearly every one is ours and under way. */
	if (!x.by.ptr &&
	    ((rc = ended_by(l, ST_SETTLE_OWN, &x, false, &changed)) != SQLITE_OK || changed))
		return rc;
	rc = stands_now(l, ST_BY_ID, t[T_EFFECT], &s);
	op->found = (struct claim_found){0};
	if (rc == SQLITE_OK && s.state != CLAIM_NONE)
		rc = found_fill(op, &s);
	bool may = may_settle(l, &s, t[T_BY]);
	sqlite3_reset(s.st);
	if (rc != SQLITE_OK || !may)
		return rc;
	op->found.state = op->state;
	return ended_write(l, &x, s.state == CLAIM_UNKNOWN);
}

static const struct {
	const char *state, *kind;
} steps[] = {
    [COMPENSATION_BEGIN] = {"running", "compensating"},
    [COMPENSATION_DONE] = {"done", "compensated"},
    [COMPENSATION_FAILED] = {"failed", "compensation_failed"},
};

static int
log_compensation(struct ledger *l, const struct op *op)
{
	struct jw w = body_begin(l);

	if (op->texts[T_BY].ptr)
		jw_member(&w, "by", op->texts[T_BY]);
	digest_member(&w, "result", op->texts[T_RESULT]);
	return body_end(l, &w, op->texts[T_EFFECT], steps[op->step].kind, clock_wall_us());
}

static int
act_compensate(struct ledger *l, struct op *op)
{
	const struct str *t = op->texts;
	struct standing s;
	int rc = stands(l, ST_BY_ID, t[T_EFFECT], &s);
	struct str stage =
	    rc == SQLITE_OK && s.state ? db_text(s.st, COL_COMPENSATION) : (struct str){NULL, 0};
	bool idle = !stage.ptr || str_is(stage, "failed");
	bool may = op->step == COMPENSATION_BEGIN ? s.state == CLAIM_DONE && idle
						  : stage.ptr && str_is(stage, "running");

	op->found = (struct claim_found){0};
	if (rc == SQLITE_OK && s.state != CLAIM_NONE && !may)
		rc = found_fill(op, &s);
	if (rc == SQLITE_OK && s.state == CLAIM_NONE)
		op->found.state = CLAIM_FAILED;
	sqlite3_reset(s.st);
	if (rc != SQLITE_OK || !may)
		return rc;
	const struct value values[] = {value_str(t[T_EFFECT]), value_z(steps[op->step].state),
				       value_str(t[T_BY]), value_str(t[T_RESULT])};
	rc = db_run(l->st[ST_COMPENSATION], values, ARRAY_LEN(values));
	if (rc == SQLITE_OK && op->step == COMPENSATION_DONE)
		rc = db_run(l->st[ST_GIVEN_DROP], values, 1);
	return rc == SQLITE_OK ? log_compensation(l, op) : rc;
}

/* ---- forgetting ---- */

/* The state of what stays, as it was when its first record went. */
static int
carry(struct ledger *l, int64_t upto)
{
	sqlite3_stmt *st = l->st[ST_CARRY];
	struct value v = value_int(upto);
	int rc = db_bind(st, 1, &v);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct jw w = body_begin(l);
		if (db_text(st, 6).ptr)
			jw_member(&w, "compensation", db_text(st, 6));
		if (db_text(st, 2).ptr)
			jw_member(&w, "digest", db_text(st, 2));
		if (db_text(st, 4).ptr)
			jw_member(&w, "error", db_text(st, 4));
		digest_member(&w, "given", db_text(st, 7));
		digest_member(&w, "result", db_text(st, 3));
		jw_member(&w, "state", db_text(st, 1));
		rc = body_end(l, &w, db_text(st, 0), "carried", clock_wall_us());
	}
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
act_prune(struct ledger *l, const struct op *op)
{
	struct value before[] = {value_int(op->at_us), value_int(clock_wall_us())};
	sqlite3_stmt *last = l->st[ST_PRUNE_LAST];
	int rc = db_bind(last, 1, &before[0]);
	int64_t upto = 0;

	if (rc == SQLITE_OK && sqlite3_step(last) == SQLITE_ROW)
		upto = sqlite3_column_int64(last, 0);
	sqlite3_reset(last);
	if (rc != SQLITE_OK || upto == 0)
		return rc;
	struct value to = value_int(upto);
	rc = db_run(l->st[ST_PRUNE_EFFECTS], before, 2);
	if (rc == SQLITE_OK)
		rc = db_run(l->st[ST_PRUNE_GIVEN], NULL, 0);
	if (rc == SQLITE_OK)
		rc = carry(l, upto);
	if (rc == SQLITE_OK)
		rc = db_run(l->st[ST_ANCHOR_SET], &to, 1);
	return rc == SQLITE_OK ? db_run(l->st[ST_PRUNE_LOG], &to, 1) : rc;
}

int
ledger__act(struct ledger *l, struct op *op)
{
	switch (op->kind) {
	case OP_LOOK: return act_look(l, op);
	case OP_TAKE: return act_take(l, op, CLAIM_STARTED);
	case OP_PUT: return act_take(l, op, CLAIM_DONE);
	case OP_SETTLE: return act_settle(l, op);
	case OP_COMPENSATE: return act_compensate(l, op);
	case OP_SWEEP: return ledger__sweep_now(l);
	case OP_PRUNE: return act_prune(l, op);
	}
	BUG("nothing to do");
}

/* How many wait for somebody to tell is counted with them. */
int
ledger__commit(struct ledger *l)
{
	sqlite3_stmt *count = l->st[ST_COUNT_UNKNOWN];
	uint64_t unknown = 0;

	if (sqlite3_step(count) == SQLITE_ROW)
		unknown = (uint64_t)sqlite3_column_int64(count, 0);
	int rc = sqlite3_reset(count);
	if (rc == SQLITE_OK)
		rc = db_run(l->st[ST_COMMIT], NULL, 0);
	if (rc == SQLITE_OK)
		atomic_store(&l->unknown, unknown);
	return rc;
}
