/* st_slot.c - a place among the session's running calls. Nothing that waits for a person holds one.
 */

#include "call/stage.h"

static void
granted(void *arg)
{
	call_wake(arg);
}

enum verdict
slot_enter(struct call *c)
{
	c->slot = (struct slot){
	    .tool = c->tool->name,
	    .max_running = c->tool->max_running,
	    .granted = granted,
	    .arg = c,
	};
	if (slot_take(c->session, &c->slot))
		return NEXT;
	call_move(c, PLACE_QUEUED);
	return WAIT;
}

enum verdict
slot_wake(struct call *c)
{
	if (!c->cancelled && !c->slot.held)
		return WAIT;
	call_move(c, PLACE_MOVING);
	return c->cancelled ? call_fail_stopped(c) : NEXT;
}

void
slot_leave(struct call *c)
{
	slot_give(c->session, &c->slot);
}
