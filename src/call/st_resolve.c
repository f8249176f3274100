/* st_resolve.c - from a name to a definition this session may see, and how it is to be run. */

#include "call/stage.h"

/* What is said of it in the configuration as it is now: a reload changes nothing for this call. */
static enum verdict
take_tuning(struct call *c)
{
	struct tunings *all = c->gw->tunings;

	c->tunings = all ? tunings_ref(all) : NULL;
	if ((c->tuning = tunings_find(all, c->tool->name)))
		return NEXT;
	struct tuning *own = ARENA_NEW(c->arena, struct tuning);
	if (!own)
		return call_fail(c, E_NOMEM, "out of memory");
	tunings_read(all, c->tool->name, own);
	c->tuning = own;
	return NEXT;
}

enum verdict
resolve_enter(struct call *c)
{
	struct tool *t = catalog_find(c->gw->catalog, c->tool_name);

	if (t && t->changed && tool_visible(t, c->session))
		return call_fail(
		    c, E_CHANGED,
		    "%.*s is no longer what was accepted: its definition has changed, and a "
		    "person has to look at it first (holdfast pins)",
		    STR_ARG(t->name));
	if (t && tool_visible(t, c->session)) {
		c->tool = tool_ref(t);
		c->catalog_was = catalog_version(c->gw->catalog);
		enum verdict v = take_tuning(c);
		c->does = effect_of(c->tool, c->tuning);
		return v == NEXT ? meters_admit(c) : v;
	}
	struct err e;
	if (t && tool_disabled(t, c->session))
		tool_say_disabled(t, c->session, &e);
	else
		tool_say_unknown(c->gw, c->session, c->tool_name, &e);
	return call_fail_with(c, &e);
}
