/*
 * st_admit.c - what is checked before anything about the tool is known.
 *
 * Calls can be faster than the disk. When the journal has too much to write, new calls are held
 * back until it has caught up: nothing is dropped, and the agent only notices that it waits.
 */

#include "call/stage.h"

static void
caught_up(int code, void *arg)
{
	struct gateway *gw = arg;

	(void)code; /* a store that fails is dispatch's business: reading may go on */
	gw->catching_up = false;
	LIST_EACH (&gw->at[PLACE_HELD], at)
		call_wake(CONTAINER_OF(at, struct call, in_place));
}

enum verdict
admit_enter(struct call *c)
{
	struct gateway *gw = c->gw;

	if (c->cancelled)
		return call_fail_stopped(c);
	if (gw->stopping)
		return call_fail(c, E_STOPPING, "the gateway is shutting down");
	if (c->session->ended)
		return call_fail(c, E_SESSION_ENDED, "this session has ended");
	if (!gw->store || !store_crowded(gw->store))
		return NEXT;
	if (!gw->catching_up && store_sync(gw->store, caught_up, gw) < 0)
		return call_fail(c, E_LIMIT, "the journal cannot follow; try again later");
	gw->catching_up = true;
	call_move(c, PLACE_HELD);
	return WAIT;
}

enum verdict
admit_wake(struct call *c)
{
	if (!c->cancelled && c->gw->catching_up)
		return WAIT;
	call_move(c, PLACE_MOVING);
	return c->cancelled ? call_fail_stopped(c) : NEXT;
}
