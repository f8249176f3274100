/* cmd_toolbox.c - an agent's toolbox: what it has, and running what was planned. */

#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/input.h"
#include "cli/owner.h"
#include "cli/servers.h"
#include "cli/show.h"
#include "json/write.h"

void
owner_toolbox(struct buf *out, const struct args *a)
{
	const char *agent = args_value(a, "agent");
	struct buf name = BUF_INIT(LIMIT_HTTP_FIELD);

	buf_addf(&name, "%s:%s", owner_tenant(a), agent ? agent : "default");
	buf_addz(out, "/toolbox/");
	segment_add(out, buf_str(&name));
	buf_done(&name);
}

static int
show(const struct args *a, const char *what, const char *tool)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	struct reply reply;
	struct api *api;
	int code = api_enter(API_ANY | API_SERVERS, &api);

	if (code != EXIT_FINE)
		return code;
	owner_toolbox(&target, a);
	buf_addf(&target, "/%s", what);
	if (tool) {
		buf_addc(&target, '/');
		segment_add(&target, str_of(tool));
	}
	if (!api_is_daemon(api))
		servers_settle(api, COME_UP_MS);
	code = buf_z(&target) ? api_ask(api, "GET", target.ptr, (struct str){NULL, 0}, &reply)
			      : refuse("no name is this long");
	api_close(api);
	buf_done(&target);
	if (code != EXIT_FINE)
		return code;
	show_json(&reply);
	api_done(&reply);
	return EXIT_FINE;
}

int
cmd_toolbox_metadata(const struct args *a)
{
	return show(a, "metadata", a->words[0]);
}

int
cmd_toolbox_available(const struct args *a)
{
	return show(a, "available", NULL);
}

int
cmd_toolbox_unavailable(const struct args *a)
{
	return show(a, "unavailable", NULL);
}

/* ---- running ---- */

static int
write_tools(struct jw *w, const struct args *a, bool batch)
{
	struct json_doc *doc;
	int code = EXIT_FINE;

	if (batch) {
		if ((code = input_json(a->words[0], &doc)) != EXIT_FINE)
			return code;
		jw_key(w, "tools"), jw_value(w, json_root(doc));
		json_doc_unref(doc);
		return EXIT_FINE;
	}
	jw_member_z(w, "tool_name", a->words[0]);
	if (args_value(a, "idempotency-key"))
		jw_member_z(w, "idempotency_key", args_value(a, "idempotency-key"));
	if (a->count > 1) {
		struct err e;
		if (json_parse(str_of(a->words[1]), &json_door, &doc, &e) < 0)
			return usage_error(a, "the input is not JSON: %s", err_text(&e));
		jw_key(w, "args"), jw_value(w, json_root(doc));
		json_doc_unref(doc);
	}
	return code;
}

static int
print(const struct reply *reply, bool batch)
{
	bool failed = !batch && !str_is(member(reply->root, "status"), "success");

	for (struct json_iter it = json_iter(json_get(reply->root, S("results"))); json_next(&it);)
		failed = failed || !str_is(member(it.value, "status"), "success");
	show_json(reply);
	return failed ? EXIT_REFUSED : EXIT_FINE;
}

static int
run(const struct args *a, bool batch)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD), body = BUF_INIT(2 * LIMIT_JSON_BYTES);
	struct jw w = jw(&body);
	struct path workspace;
	struct reply reply;
	struct api *api = NULL;
	int code = find_workspace(a, &workspace);

	jw_object(&w);
	jw_member_z(&w, "workspace", workspace.text);
	if (args_value(a, "turn-group"))
		jw_member_z(&w, "turn_group_id", args_value(a, "turn-group"));
	if (code == EXIT_FINE)
		code = write_tools(&w, a, batch);
	jw_end(&w);
	owner_toolbox(&target, a);
	buf_addz(&target, batch ? "/batch" : "/execute");
	if (code == EXIT_FINE && (!buf_z(&target) || buf_failed(&body)))
		code = refuse("this is too long");
	if (code == EXIT_FINE && (code = api_enter(API_ANY | API_SERVERS, &api)) == EXIT_FINE) {
		if (!api_is_daemon(api))
			servers_settle(api, COME_UP_MS);
		code = api_ask(api, "POST", target.ptr, buf_str(&body), &reply);
		if (code == EXIT_FINE) {
			code = print(&reply, batch);
			api_done(&reply);
		}
		api_close(api);
	}
	buf_done(&target);
	buf_done(&body);
	return code;
}

int
cmd_toolbox_execute(const struct args *a)
{
	return run(a, false);
}

int
cmd_toolbox_batch(const struct args *a)
{
	return run(a, true);
}
