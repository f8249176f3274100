/* servers.c - asking the gateway about its servers until they have come up. */

#include "cli/servers.h"

#include <poll.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/near.h"
#include "cli/args.h"
#include "cli/show.h"
#include "cli/term.h"

#define LOOK_MS 100

void
segment_add(struct buf *out, struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		url_add(out, c == '/' ? S("~1") : c == '~' ? S("~0") : (struct str){&c, 1});
	}
}

bool
server_settled(const struct json *server)
{
	return !str_is(member(server, "state"), "configured");
}

const struct json *
server_in(const struct reply *servers, struct str name)
{
	for (struct json_iter it = json_iter(json_get(servers->root, S("servers")));
	     json_next(&it);)
		if (str_eq(member(it.value, "name"), name))
			return it.value;
	return NULL;
}

/* One that somebody has just changed must come up; of the others it is enough what is known. */
static bool
has_come_up(const struct json *server)
{
	return server_settled(server) && !str_is(member(server, "state"), "known");
}

static bool
all_settled(const struct reply *servers, const char *name)
{
	for (struct json_iter it = json_iter(json_get(servers->root, S("servers")));
	     json_next(&it);) {
		bool named = name && str_is(member(it.value, "name"), name);
		if ((!name || named) && !(named ? has_come_up : server_settled)(it.value))
			return false;
	}
	return true;
}

int
servers_wait(struct api *api, const char *name, unsigned ms, struct reply *ret)
{
	uint64_t until = clock_mono_ms() + ms;
	struct progress progress = {0};
	int code;

	while ((code = api_get(api, ret, "/servers")) == EXIT_FINE && !all_settled(ret, name) &&
	       clock_mono_ms() < until) {
		api_done(ret);
		progress_draw(&progress, "waiting for servers", str_of(name));
		poll(NULL, 0, LOOK_MS);
	}
	progress_erase(&progress);
	return code;
}

void
servers_settle(struct api *api, unsigned ms)
{
	struct reply servers;

	if (servers_wait(api, NULL, ms, &servers) == EXIT_FINE)
		api_done(&servers);
}

static bool
tool_there(struct api *api, const char *tool)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	struct reply shown = {0};
	struct err e;

	buf_addz(&target, "/tools/");
	url_add(&target, str_of(tool));
	const char *z = buf_z(&target);
	bool there = z && api_request(api, "GET", z, (struct str){NULL, 0}, &shown, &e) == 0 &&
		     shown.status == 200;
	api_done(&shown);
	buf_done(&target);
	return there;
}

void
tool_await(struct api *api, const char *tool, unsigned ms)
{
	uint64_t until = clock_mono_ms() + ms;
	bool settled = false;

	/* Once more after all are there: the last one may have brought it. */
	while (!tool_there(api, tool) && !settled && clock_mono_ms() < until) {
		struct reply servers;
		if (api_get(api, &servers, "/servers") != EXIT_FINE)
			return;
		settled = all_settled(&servers, NULL);
		api_done(&servers);
		if (!settled)
			poll(NULL, 0, LOOK_MS);
	}
}

int
server_refuse(const struct reply *servers, const char *name)
{
	struct str near = {NULL, 0};
	unsigned best = NEAR_NONE;

	for (struct json_iter it = json_iter(json_get(servers->root, S("servers")));
	     json_next(&it);)
		if (near_better(str_of(name), member(it.value, "name"), &best))
			near = member(it.value, "name");
	return refuse("there is no server '%.100s'%s%.*s%s", name,
		      near.len ? "; did you mean " : "", STR_ARG(near),
		      near.len ? "?" : "; `holdfast servers` lists them");
}

struct str
tool_near(const struct json *tools, const char *name)
{
	struct str near = {NULL, 0};
	unsigned best = NEAR_NONE;

	for (struct json_iter it = json_iter(tools); json_next(&it);)
		if (near_better(str_of(name), member(it.value, "name"), &best))
			near = member(it.value, "name");
	return near;
}

void
server_text(struct buf *out, const struct json *server)
{
	int64_t changed = member_int(server, "changed");
	struct str problem = member(server, "problem");

	text_safe(out, member(server, "state"), SAFE_LINE);
	if (!str_is(member(server, "state"), "configured")) {
		buf_addz(out, ", ");
		offered_text(out, server, true);
	}
	if (changed)
		buf_addf(out, ", %lld changed", (long long)changed);
	if (problem.len) {
		buf_addz(out, ": ");
		text_safe(out, problem, SAFE_LINE);
	}
	if (problem.len && member(server, "last_words").len) {
		buf_addz(out, " (it said: ");
		text_safe(out, member(server, "last_words"), SAFE_LINE);
		buf_addc(out, ')');
	}
}
