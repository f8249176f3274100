/* cmd_servers.c - the MCP servers behind the gateway, and starting one again. */

#include <poll.h>
#include <stdio.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/servers.h"
#include "cli/show.h"
#include "cli/term.h"

#define AGAIN_MS 1000

static const struct column columns[] = {
    {"SERVER", "name", SHOW_TEXT},
    {"STATE", "state", SHOW_TEXT},
    {"ERA", "era", SHOW_TEXT, 2},
    {"TOOLS", NULL, SHOW_OFFERED},
    {"P50/P99 MS", "latency_ms", SHOW_LATENCY, 1},
    {"RESTARTS", "restarts", SHOW_TEXT, 1},
    {"BREAKER", "breaker", SHOW_TEXT, 2},
    {"PROBLEM", "problem", SHOW_TEXT},
};

static const struct column fields[] = {
    {"server", "name", SHOW_TEXT},       {"state", "state", SHOW_TEXT},
    {"problem", "problem", SHOW_TEXT},   {"kind", "kind", SHOW_TEXT},
    {"era", "era", SHOW_TEXT},           {"revision", "version", SHOW_TEXT},
    {"tools", NULL, SHOW_OFFERED},       {"changed", "changed", SHOW_TEXT},
    {"process", "pid", SHOW_TEXT},       {"since", "started_at", SHOW_TIME},
    {"restarts", "restarts", SHOW_TEXT}, {"p50/p99 ms", "latency_ms", SHOW_LATENCY},
    {"running", "in_flight", SHOW_TEXT}, {"waiting", "waiting", SHOW_TEXT},
    {"calls", "calls", SHOW_TEXT},       {"failures", "failures", SHOW_TEXT},
    {"breaker", "breaker", SHOW_TEXT},   {"left out", "left_out", SHOW_TEXT},
    {"problems", "problems", SHOW_TEXT}, {"no room", "no_room", SHOW_TEXT},
};

/* Documents of OpenAPI. */
static const struct column import_columns[] = {
    {"OPENAPI", "name", SHOW_TEXT},      {"TOOLS", "tools", SHOW_TEXT},
    {"LEFT OUT", "left_out", SHOW_TEXT}, {"FROM", "from", SHOW_TEXT, 1},
    {"PROBLEM", "problem", SHOW_TEXT},
};

static const struct column import_fields[] = {
    {"openapi", "name", SHOW_TEXT},    {"from", "from", SHOW_TEXT},
    {"tools", "tools", SHOW_TEXT},     {"left out", "left_out", SHOW_TEXT},
    {"problem", "problem", SHOW_TEXT}, {"problems", "problems", SHOW_TEXT},
};

static const struct json *
import_in(const struct reply *servers, struct str name)
{
	for (struct json_iter it = json_iter(json_get(servers->root, S("imports")));
	     json_next(&it);)
		if (str_eq(member(it.value, "name"), name))
			return it.value;
	return NULL;
}

static int
print_one(const struct reply *servers, const char *name, bool json)
{
	const struct json *server = server_in(servers, str_of(name));
	const struct json *import = server ? NULL : import_in(servers, str_of(name));

	if (!server && !import)
		return server_refuse(servers, name);
	if (import && !json) {
		show_fields(import, import_fields, ARRAY_LEN(import_fields));
		return EXIT_FINE;
	}
	server = server ? server : import;
	if (json)
		show_json_value(server);
	else
		show_fields(server, fields, ARRAY_LEN(fields));
	return EXIT_FINE;
}

/* What servers have and nobody is shown. */
static void
print_left_out(const struct json *rows)
{
	for (struct json_iter it = json_iter(rows); json_next(&it);) {
		int64_t count = 0;
		if (json_int(json_get(it.value, S("left_out")), &count) && count > 0)
			printf("%.*s: %lld left out, because clients would refuse them; `holdfast "
			       "servers %.*s` says why\n",
			       STR_ARG(member(it.value, "name")), (long long)count,
			       STR_ARG(member(it.value, "name")));
	}
}

/* What is refused until somebody has looked at it. */
static void
print_changed(const struct json *rows)
{
	for (struct json_iter it = json_iter(rows); json_next(&it);) {
		int64_t count = member_int(it.value, "changed");
		if (count > 0)
			printf("%.*s: %lld tool%s no longer what was accepted, and refused; "
			       "`holdfast pins` shows the difference\n",
			       STR_ARG(member(it.value, "name")), (long long)count,
			       count == 1 ? " is" : "s are");
	}
}

/* What the file has, and what is wrong with it. */
static void
print_config(const struct reply *servers)
{
	const struct json *disabled = json_get(json_get(servers->root, S("config")), S("disabled"));
	struct str wrong = member(servers->root, "config_error");
	struct buf text = BUF_INIT(16 * KIB);

	if (json_len(disabled)) {
		value_text(&text, disabled);
		printf("disabled: %.*s\n", STR_ARG(buf_str(&text)));
	}
	if (wrong.len) {
		buf_reset(&text);
		text_safe(&text, wrong, SAFE_LINE);
		refuse("the configuration was changed and is not used: %.*s",
		       STR_ARG(buf_str(&text)));
	}
	buf_done(&text);
}

static int
print(const struct reply *servers, const struct args *a)
{
	const struct json *rows = json_get(servers->root, S("servers"));

	if (a->count)
		return print_one(servers, a->words[0], args_given(a, "json"));
	if (args_given(a, "json")) {
		show_json(servers);
		return EXIT_FINE;
	}
	const struct json *imports = json_get(servers->root, S("imports"));
	if (json_len(rows) == 0 && json_len(imports) == 0)
		printf("there are no servers; `holdfast add` adds one\n");
	else if (json_len(rows))
		show_table(rows, columns, ARRAY_LEN(columns));
	if (json_len(rows) && json_len(imports))
		printf("\n");
	if (json_len(imports))
		show_table(imports, import_columns, ARRAY_LEN(import_columns));
	print_left_out(rows);
	print_changed(rows);
	print_config(servers);
	return EXIT_FINE;
}

/* Until Ctrl-C, which ends the program. */
static int
follow(struct api *api, const struct args *a)
{
	struct reply servers;
	int code;

	while ((code = api_get(api, &servers, "/servers")) == EXIT_FINE) {
		if (term_is(stdout))
			fputs("\033[H\033[2J", stdout);
		code = print(&servers, a);
		fflush(stdout);
		api_done(&servers);
		if (code != EXIT_FINE || ferror(stdout))
			break;
		poll(NULL, 0, AGAIN_MS);
	}
	return code;
}

int
cmd_servers(const struct args *a)
{
	struct reply servers;
	struct api *api;
	int code = api_enter(API_ANY | API_SERVERS, &api);

	if (code != EXIT_FINE)
		return code;
	if (args_given(a, "watch"))
		code = follow(api, a);
	else {
		code = servers_wait(api, NULL, api_is_daemon(api) ? 0 : COME_UP_MS, &servers);
		if (code == EXIT_FINE) {
			code = print(&servers, a);
			api_done(&servers);
		}
	}
	api_close(api);
	return code;
}

static int
restart(struct api *api, const char *name)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD), text = BUF_INIT(16 * KIB);
	struct reply servers, asked;
	int code;

	buf_addz(&target, "/servers/");
	segment_add(&target, str_of(name));
	buf_addz(&target, "/restart");
	if (!buf_z(&target))
		code = refuse("no server has a name this long");
	else if ((code = api_ask(api, "POST", target.ptr, S("{}"), &asked)) == EXIT_FINE) {
		api_done(&asked);
		code = servers_wait(api, name, COME_UP_MS, &servers);
	}
	if (code == EXIT_FINE) {
		const struct json *server = server_in(&servers, str_of(name));
		server_text(&text, server);
		printf("%s: %.*s\n", name, STR_ARG(buf_str(&text)));
		api_done(&servers);
	}
	buf_done(&target);
	buf_done(&text);
	return code;
}

int
cmd_servers_restart(const struct args *a)
{
	struct api *api;
	int code = api_enter(API_DAEMON, &api);

	if (code != EXIT_FINE)
		return code;
	code = restart(api, a->words[0]);
	api_close(api);
	return code;
}
