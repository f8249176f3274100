/* claims_sqlite.c - the ledger's own table as the claims of all processes of this machine. */

#include "effect/inside.h"

static struct ledger *
of(struct claims *c)
{
	return CONTAINER_OF(c, struct ledger, claims);
}

static int
look(struct claims *c, struct str key, claims_fn done, void *arg)
{
	struct op op = {.done = done, .arg = arg};

	op.texts[T_KEY] = key;
	return ledger__put(of(c), OP_LOOK, &op);
}

static void
ask_fill(struct op *op, const struct claim_ask *ask)
{
	const struct effect_record *r = ask->record;
	struct str *t = op->texts;

	op->keep_ms = ask->keep_ms;
	op->twice = ask->twice;
	t[T_KEY] = ask->key;
	t[T_DIGEST] = ask->digest;
	t[T_EFFECT] = ask->effect;
	if (!r)
		return;
	t[T_CALL] = r->call;
	t[T_SESSION] = r->session;
	t[T_TURN] = r->turn;
	t[T_GROUP] = r->group;
	t[T_TENANT] = r->tenant;
	t[T_AGENT] = r->agent;
	t[T_TOOL] = r->tool;
	t[T_POLICY] = str_of(r->policy);
	t[T_ARGS] = r->args;
	t[T_COMPENSATION_TOOL] = r->compensation_tool;
	t[T_COMPENSATES] = r->compensates;
}

static int
take(struct claims *c, const struct claim_ask *ask, claims_fn done, void *arg)
{
	struct op op = {.done = done, .arg = arg};

	ask_fill(&op, ask);
	return ledger__put(of(c), OP_TAKE, &op);
}

static int
settle(struct claims *c, const struct claim_end *end, claims_fn done, void *arg)
{
	struct op op = {.state = end->state, .done = done, .arg = arg};
	enum op_kind kind = end->untaken ? OP_PUT : OP_SETTLE;

	if (end->untaken)
		ask_fill(&op, end->untaken);
	op.texts[T_EFFECT] = end->effect;
	op.texts[T_KEY] = end->key;
	op.texts[T_RESULT] = end->result;
	op.texts[T_ERROR] = end->error;
	op.texts[T_GIVEN] = end->given;
	op.texts[T_BY] = str_of(end->by);
	op.texts[T_NOTE] = end->note;
	return ledger__put(of(c), kind, &op);
}

/* They end with their ledger. */
static void
nothing(struct claims *c)
{
	(void)c;
}

static const struct claims_ops ops = {
    .name = "sqlite", .look = look, .take = take, .settle = settle, .free = nothing};

void
claims__sqlite_init(struct ledger *l)
{
	l->claims.ops = &ops;
}
