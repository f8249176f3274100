/*
 * claim.c - nothing that changes the world begins before the journal holds that it does.
 *
 * Committed means that it outlives this process, however that ends; a power cut may still take it.
 * The store answers in its own time, and the call may be cancelled meanwhile: a claim that has
 * lost its call frees itself.
 */

#include <stdlib.h>

#include "call/stage.h"

struct claim {
	struct call *call; /* NULL once it has left */
	bool settled;
	int code;
};

static void
claimed(int code, void *arg)
{
	struct claim *m = arg;

	m->settled = true;
	m->code = code;
	if (m->call)
		call_wake(m->call);
	else
		free(m);
}

bool
claim_needed(const struct call *c)
{
	return c->tool->capability > CAP_READ && c->gw->store;
}

int
claim_start(struct call *c, struct err *e)
{
	struct claim *m;
	int code;

	if ((code = store_health(c->gw->store, e)) < 0)
		return code;
	if ((code = journal_put(c, "running")) < 0)
		return err_plain(e, code);
	if (!(m = calloc(1, sizeof(*m))))
		return err_plain(e, E_NOMEM);
	m->call = c;
	if ((code = store_sync(c->gw->store, claimed, m)) < 0) {
		free(m);
		return err_plain(e, code);
	}
	c->claim = m;
	return 0;
}

bool
claim_settled(const struct call *c, int *ret_code)
{
	if (c->claim->settled)
		*ret_code = c->claim->code;
	return c->claim->settled;
}

void
claim_drop(struct call *c)
{
	struct claim *m = c->claim;

	c->claim = NULL;
	if (m && m->settled)
		free(m);
	else if (m)
		m->call = NULL;
}
