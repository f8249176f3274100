/* st_policy.c - allow, ask or deny, and which rule decided. */

#include "call/stage.h"

/* The value of the tool's command argument, or {NULL,0}. */
static struct str
command_of(const struct call *c)
{
	if (!c->tool->command_argument.ptr)
		return (struct str){NULL, 0};
	return json_str(json_get(c->input, c->tool->command_argument));
}

struct grant_ask
call__grant_ask(const struct call *c)
{
	return (struct grant_ask){
	    .session = id_str(&c->session->id),
	    .workspace = str_of(workspace_path(c->session->workspace)),
	    /* A name may come to mean another server's tool; an id may not. */
	    .tool = c->tool->server.ptr ? c->tool->id : c->tool->name,
	    .command = command_of(c),
	};
}

enum verdict
call__remembered(struct call *c)
{
	struct grant_ask ask = call__grant_ask(c);
	struct str rule;
	enum grant_answer answer = grant_find(c->gw->grants, &ask, &rule);

	if (answer == GRANT_NONE)
		return WAIT;
	c->rule = arena_str(c->arena, rule);
	if (answer == GRANT_ALLOW)
		return NEXT;
	return call_fail(c, E_USER_DENIED, "User denied this operation (%.*s).", STR_ARG(c->rule));
}

enum verdict
policy_enter(struct call *c)
{
	struct ruling ruling = policy_decide(c->gw->policy, c->tool->name, c->tool->capability,
					     workspace_path(c->session->workspace));

	c->mode = ruling.mode;
	c->rule = arena_str(c->arena, ruling.rule);
	if (c->tool->confirm >= 0 && !str_starts(c->rule, S("per_tool."))) {
		c->mode = (enum policy_mode)c->tool->confirm;
		c->rule = str_of(
		    arena_printf(c->arena, "mcpServers.%.*s.confirm", STR_ARG(c->tool->server)));
	}
	if (c->mode == MODE_AUTO)
		return NEXT;
	if (c->mode == MODE_DENY)
		return call_fail(c, E_USER_DENIED, "the policy denies this tool (%.*s)",
				 STR_ARG(c->rule));

	enum verdict v = call__remembered(c);
	c->ask = v == WAIT;
	return c->ask ? NEXT : v;
}
