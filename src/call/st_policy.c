/* st_policy.c - allow, ask or deny, and which rule decided; and whether the turn is still wanted.
 */

#include "call/stage.h"

/* The value of the tool's command argument, or {NULL,0}. */
static struct str
command_of(const struct call *c)
{
	if (!c->tool->command_argument.ptr)
		return (struct str){NULL, 0};
	return json_str(json_get(c->input, c->tool->command_argument));
}

/* What one agent was allowed no other is. A name may come to mean another server's tool; an id may
 * not. */
static struct str
subject_of(const struct call *c)
{
	struct str tool = c->tool->server.ptr || c->tool->gateway.ptr ? c->tool->id : c->tool->name;

	if (agent_is_default(c->session->owner))
		return tool;
	return str_of(arena_printf(c->arena, "%s/%s:%.*s", c->session->tenant, c->session->agent,
				   STR_ARG(tool)));
}

struct grant_ask
call__grant_ask(const struct call *c)
{
	return (struct grant_ask){
	    .session = id_str(&c->session->id),
	    .workspace = str_of(workspace_path(c->session->workspace)),
	    .tool = subject_of(c),
	    .command = command_of(c),
	};
}

enum verdict
call__remembered(struct call *c)
{
	struct grant_ask ask = call__grant_ask(c);
	struct str rule;
	enum grant_answer answer = grant_find(c->gw->grants, &ask, &rule);

	if (answer == GRANT_NONE || (c->alone && answer == GRANT_ALLOW))
		return WAIT;
	c->rule = arena_str(c->arena, rule);
	if (answer == GRANT_ALLOW)
		return NEXT;
	return call_fail(c, E_USER_DENIED, "User denied this operation (%.*s).", STR_ARG(c->rule));
}

/* Servers tell no paths: whatever they are given beside long texts may be one, however deep it lies
 * (and that has a limit: LIMIT_JSON_DEPTH). */
static struct str
secret_in_strings(const struct secrets_list *secrets, const struct json *input)
{
	struct str found = {NULL, 0};

	if (json_is(input, JSON_STRING) && json_str(input).len < LIMIT_PATH)
		return secret_file(secrets, json_str(input));
	for (struct json_iter at = json_iter(input); !found.ptr && json_next(&at);)
		found = secret_in_strings(secrets, at.value);
	return found;
}

/* The pattern of a secret file that the call touches, as far as that can be seen; or {NULL,0}. */
static struct str
secret_touched(const struct call *c)
{
	const struct secrets_list *secrets = policy_secrets(c->gw->policy);
	struct str found = {NULL, 0}, rest = c->targets, path, command = command_of(c);

	while (!found.ptr && str_split(&rest, '\0', &path))
		found = secret_file(secrets, path);
	if (!found.ptr && command.ptr)
		found = secret_in_command(secrets, command);
	if (!found.ptr && (c->tool->server.ptr || c->tool->gateway.ptr))
		found = secret_in_strings(secrets, c->input);
	return found;
}

/* Something else than the policy wants a person to look: what was remembered does not count. */
static void
ask_anyway(struct call *c)
{
	struct str secret = secret_touched(c);

	c->secret = secret.ptr != NULL;
	if (secret.ptr)
		c->rule = str_of(arena_printf(c->arena, "secret_files %.*s", STR_ARG(secret)));
	else if (c->must_ask)
		c->rule = arena_str(c->arena, str_of(c->must_ask));
	else
		return;
	c->ask = c->alone = true;
	if (c->mode == MODE_AUTO)
		c->mode = MODE_PROMPT;
}

/* What a person has said of this tool for this agent (seed 004 section 2.2). It may raise the bar
 * and lower it, but a tool that is denied stays denied. */
static void
override(struct call *c)
{
	struct agent *owner = c->session->owner;
	int asks = owner ? agent_standing(owner, c->tool)->requires_confirmation : -1;

	if (asks < 0 || c->mode == MODE_DENY || (c->mode == MODE_AUTO) == !asks)
		return;
	c->mode = asks ? MODE_PROMPT : MODE_AUTO;
	c->rule = S("activation.requires_confirmation");
}

struct tool_ruling
call__ruling(const struct policy *p, const struct tool *t, const char *workspace)
{
	struct ruling by = policy_decide(p, t->name, t->capability, workspace);
	struct tool_ruling r = {by.mode, RULED_BY_POLICY, by.rule};

	if (str_starts(by.rule, S("per_tool.")))
		return r;
	if (t->confirm >= 0) {
		r.mode = (enum policy_mode)t->confirm;
		r.by = RULED_BY_SERVER;
	}
	if (t->requires_confirmation && r.mode == MODE_AUTO) {
		r.mode = MODE_PROMPT;
		r.by = RULED_BY_DEFINITION;
	}
	return r;
}

static struct str
rule_name(const struct call *c, const struct tool_ruling *r)
{
	const struct tool *t = c->tool;

	switch (r->by) {
	case RULED_BY_POLICY: return arena_str(c->arena, r->rule);
	case RULED_BY_SERVER:
		return str_of(arena_printf(c->arena, "%s.%.*s.confirm",
					   t->gateway.ptr ? "openapi" : "mcpServers",
					   STR_ARG(t->server)));
	case RULED_BY_DEFINITION:
		return str_of(arena_printf(c->arena, "definitions.%.*s.requires_confirmation",
					   STR_ARG(t->name)));
	}
	BUG("nobody ruled");
}

static enum verdict
rule(struct call *c)
{
	struct tool_ruling ruling =
	    call__ruling(c->gw->policy, c->tool, workspace_path(c->session->workspace));

	c->mode = ruling.mode;
	c->rule = rule_name(c, &ruling);
	override(c);
	if (c->mode == MODE_DENY)
		return call_fail(c, E_USER_DENIED, "the policy denies this tool (%.*s)",
				 STR_ARG(c->rule));
	ask_anyway(c);
	if (c->mode == MODE_AUTO)
		return NEXT;

	enum verdict v = call__remembered(c);
	if (v == FAIL)
		return v;
	c->ask = c->alone || v == WAIT;
	return NEXT;
}

enum verdict
policy_enter(struct call *c)
{
	enum verdict v = rule(c);

	return v == NEXT ? superseding_look(c) : v;
}

enum verdict
policy_wake(struct call *c)
{
	return superseding_wake(c);
}
