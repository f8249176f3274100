/* cmd_tenants.c - who shares the gateway, and what is enabled for each. */

#include <stdio.h>
#include <stdlib.h>

#include "base/glob.h"
#include "base/limits.h"
#include "cli/args.h"
#include "cli/owner.h"
#include "cli/servers.h"
#include "cli/show.h"
#include "json/write.h"

static const struct column tenant_columns[] = {
    {"NAME", "name", SHOW_TEXT},
    {"FROM", "from", SHOW_TEXT},
    {"TOOLS", "tools", SHOW_TEXT},
    {"ID", "id", SHOW_TEXT, 1},
};

static const struct column agent_columns[] = {
    {"NAME", "name", SHOW_TEXT},
    {"FROM", "from", SHOW_TEXT},
    {"SAID OF TOOLS", "activations", SHOW_TEXT},
    {"ID", "id", SHOW_TEXT, 1},
};

const char *
owner_tenant(const struct args *a)
{
	return args_value(a, "tenant") ? args_value(a, "tenant") : "default";
}

void
owner_path(struct buf *out, const struct args *a)
{
	buf_addz(out, "/tenants/");
	segment_add(out, str_of(owner_tenant(a)));
}

int
owner_ask(const char *method, struct buf *target, struct buf *body, struct reply *ret)
{
	struct api *api = NULL;
	int code = buf_z(target) && (!body || !buf_failed(body)) ? api_enter(API_ANY, &api)
								 : refuse("no name is this long");

	if (code == EXIT_FINE) {
		code = api_ask(api, method, target->ptr,
			       body ? buf_str(body) : (struct str){NULL, 0}, ret);
		api_close(api);
	}
	buf_done(target);
	if (body)
		buf_done(body);
	return code;
}

int
owner_list(const char *target, bool json, const char *key, const struct column *columns,
	   size_t count)
{
	struct buf path = BUF_INIT(LIMIT_HTTP_FIELD);
	struct reply reply;

	buf_addz(&path, target);
	int code = owner_ask("GET", &path, NULL, &reply);
	if (code != EXIT_FINE)
		return code;
	if (json)
		show_json(&reply);
	else
		show_table(json_get(reply.root, str_of(key)), columns, count);
	api_done(&reply);
	return EXIT_FINE;
}

static int
add(struct buf *target, const struct args *a, bool with_tools)
{
	struct buf body = BUF_INIT(64 * KIB);
	struct jw w = jw(&body);
	struct reply reply;
	const char *tool;
	size_t at = 0;

	jw_object(&w);
	jw_member_z(&w, "name", a->words[0]);
	if (with_tools && args_given(a, "tools")) {
		jw_key(&w, "tools");
		jw_array(&w);
		while ((tool = args_next(a, "tools", &at)))
			jw_z(&w, tool);
		jw_end(&w);
	}
	jw_end(&w);
	int code = owner_ask("POST", target, &body, &reply);
	if (code == EXIT_FINE)
		api_done(&reply);
	return code;
}

int
owner_drop(struct buf *target)
{
	struct reply reply;
	int code = owner_ask("DELETE", target, NULL, &reply);

	if (code == EXIT_FINE)
		api_done(&reply);
	return code;
}

int
cmd_tenants(const struct args *a)
{
	return owner_list("/tenants", args_given(a, "json"), "tenants", tenant_columns,
			  ARRAY_LEN(tenant_columns));
}

int
cmd_tenants_add(const struct args *a)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);

	buf_addz(&target, "/tenants");
	return add(&target, a, true);
}

int
cmd_tenants_remove(const struct args *a)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);

	buf_addz(&target, "/tenants/");
	segment_add(&target, str_of(a->words[0]));
	return owner_drop(&target);
}

int
cmd_agents(const struct args *a)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);

	owner_path(&target, a);
	if (!buf_z(&target)) {
		buf_done(&target);
		return refuse("no name is this long");
	}
	int code = owner_list(target.ptr, args_given(a, "json"), "agents", agent_columns,
			      ARRAY_LEN(agent_columns));
	buf_done(&target);
	return code;
}

int
cmd_agents_add(const struct args *a)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);

	owner_path(&target, a);
	buf_addz(&target, "/agents");
	return add(&target, a, false);
}

int
cmd_agents_remove(const struct args *a)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);

	owner_path(&target, a);
	buf_addz(&target, "/agents/");
	segment_add(&target, str_of(a->words[0]));
	return owner_drop(&target);
}

/* ---- enable and disable ---- */

/* A tool may come later; a slip of the pen leaves the one that was meant as it is. Only a running
 * gateway knows what there is. */
static void
warn_unknown(const char *named)
{
	struct api *api = NULL;
	struct reply tools = {0};
	bool known = false;
	struct err e;

	if (api_open(API_DAEMON, NULL, &api, &e) < 0)
		return;
	if (api_get(api, &tools, "/tools") == EXIT_FINE) {
		const struct json *rows = json_get(tools.root, S("tools"));
		for (struct json_iter it = json_iter(rows); !known && json_next(&it);)
			known = glob_path(str_of(named), member(it.value, "name"));
		struct str near = tool_near(rows, named);
		if (!known)
			refuse("warning: no tool is called %s now%s%.*s%s", named,
			       near.len ? "; did you mean " : "", STR_ARG(near),
			       near.len ? "?" : "");
		api_done(&tools);
	}
	api_close(api);
}

static int
say(const struct args *a, bool enabled)
{
	const char *agent = args_value(a, "agent"), *asks = args_value(a, "confirm");
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD), body = BUF_INIT(64 * KIB);
	struct jw w = jw(&body);
	struct reply reply;

	if (asks && strcmp(asks, "yes") != 0 && strcmp(asks, "no") != 0) {
		return usage_error(a, "--confirm: must be yes or no");
	}
	owner_path(&target, a);
	buf_addz(&target, "/agents/");
	segment_add(&target, str_of(agent ? agent : "default"));
	buf_addz(&target, "/activations");
	jw_object(&w);
	jw_member_z(&w, "tool", a->words[0]);
	jw_member_bool(&w, "enabled", enabled);
	if (asks) {
		jw_key(&w, "policy_overrides");
		jw_object(&w);
		jw_member_bool(&w, "requires_confirmation", strcmp(asks, "yes") == 0);
		jw_end(&w);
	}
	jw_end(&w);
	int code = owner_ask("POST", &target, &body, &reply);
	if (code != EXIT_FINE)
		return code;
	if (args_given(a, "json"))
		show_json(&reply);
	else
		printf("%s is %s\n", a->words[0], enabled ? "enabled" : "disabled");
	api_done(&reply);
	warn_unknown(a->words[0]);
	return EXIT_FINE;
}

int
cmd_enable(const struct args *a)
{
	return say(a, true);
}

int
cmd_disable(const struct args *a)
{
	return say(a, false);
}
