/* st_resolve.c - from a name to a definition this session may see. */

#include "call/stage.h"

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
		return NEXT;
	}
	struct str shown = str_utf8_upto(c->tool_name, 100);
	const struct tool *near = catalog_near(c->gw->catalog, c->tool_name);
	if (near && tool_visible(near, c->session))
		return call_fail(c, E_NOT_FOUND, "there is no tool '%.*s'; did you mean '%.*s'?",
				 STR_ARG(shown), STR_ARG(near->name));
	return call_fail(c, E_NOT_FOUND, "there is no tool '%.*s'", STR_ARG(shown));
}
