/* cmd_add.c - a server into the configuration, or out of it. */

#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/edit.h"
#include "cli/import.h"
#include "cli/servers.h"
#include "cli/settings.h"
#include "cli/term.h"
#include "json/write.h"

#define NAME_MOST 128 /* as in data/config.schema.json */

/* What the file is to say of it */

/* "NAME=VALUE" and "Name: value" into an object; what is neither is a slip. */
static int
write_pairs(const struct args *a, const char *option, char between, const char *key, struct jw *w)
{
	const char *text;
	size_t at = 0;

	if (!args_given(a, option))
		return EXIT_FINE;
	jw_key(w, key);
	jw_object(w);
	while ((text = args_next(a, option, &at))) {
		struct str value = str_of(text), name;
		if (!strchr(text, between) || !str_split(&value, between, &name) || !name.len)
			return usage_error(a, "--%s: '%.100s' is not NAME%cVALUE", option, text,
					   between);
		jw_key_str(w, str_trim(name));
		jw_str(w, between == ':' ? str_trim(value) : value.ptr ? value : S(""));
	}
	jw_end(w);
	return EXIT_FINE;
}

static int
write_command(const struct args *a, const struct path *cwd, struct jw *w)
{
	jw_member_z(w, "command", a->rest[0]);
	if (a->rest[1]) {
		jw_key(w, "args");
		jw_array(w);
		for (char *const *word = a->rest + 1; *word; word++)
			jw_z(w, *word);
		jw_end(w);
	}
	jw_member_z(w, "cwd", cwd->text);
	return write_pairs(a, "env", '=', "env", w);
}

static int
write_address(const struct args *a, struct jw *w)
{
	jw_member_z(w, "type", "http");
	jw_member_z(w, "url", args_value(a, "url"));
	return write_pairs(a, "header", ':', "headers", w);
}

/* It becomes a part of addresses and of the names of tools, and stands beside the surfaces. */
static int
check_name(const struct args *a)
{
	static const char *const taken[] = {"gateway", "proxy", "all", "builtin"};
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.-";
	const char *name = a->words[0];

	if (!name[0] || name[strspn(name, plain)] || strlen(name) > NAME_MOST)
		return usage_error(a, "NAME: takes letters, digits, '_', '.' and '-', %d at most",
				   NAME_MOST);
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		if (strcmp(name, taken[i]) == 0)
			return usage_error(a, "NAME: '%s' is a name of the gateway's own", name);
	return EXIT_FINE;
}

/* Variables are filled in later, so only what stands there is looked at. */
static int
check_url(const struct args *a)
{
	struct str url = str_of(args_value(a, "url")), host = url;

	if (str_index(url, ' ') >= 0)
		return usage_error(a, "--url: has a blank in it");
	if (str_starts(url, S("${")))
		return EXIT_FINE;
	if (str_starts(url, S("http://")))
		host = str_from(url, 7);
	else if (str_starts(url, S("https://")))
		host = str_from(url, 8);
	if (host.len == url.len)
		return usage_error(a, "--url: must begin with http:// or https://");
	if (host.len == 0 || strchr("/?#:", host.ptr[0]))
		return usage_error(a, "--url: names no host");
	return EXIT_FINE;
}

/* One of the two, and only what goes with it. */
static int
check(const struct args *a)
{
	bool url = args_given(a, "url"), command = a->rest && a->rest[0];
	int code = check_name(a);

	if (code != EXIT_FINE)
		return code;
	if (args_given(a, "openapi")) {
		if (url || command || args_given(a, "env") || args_given(a, "cwd"))
			return usage_error(a, "--openapi is neither started nor an MCP server");
		return EXIT_FINE;
	}
	if (args_given(a, "base-url") || args_given(a, "only"))
		return usage_error(a, "--base-url and --only go with --openapi");
	if (url && command)
		return usage_error(a, "it is a url or a command, not both");
	if (!url && !command)
		return usage_error(a, "it needs a command behind --, --url or --openapi");
	if (url && (args_given(a, "env") || args_given(a, "cwd")))
		return usage_error(a, "--env and --cwd are for servers that are started here");
	if (!url && args_given(a, "header"))
		return usage_error(a, "--header goes with --url");
	return url ? check_url(a) : EXIT_FINE;
}

/* What its words mean, they mean where they were typed: a path that is not whole begins there. ""
 * of what is not started here. */
static int
find_cwd(const struct args *a, struct path *ret)
{
	const char *given = args_value(a, "cwd");
	bool whole = given && strchr("/~$", given[0]);
	char here[LIMIT_PATH] = "";

	*ret = (struct path){""};
	if (!a->rest || !a->rest[0])
		return EXIT_FINE;
	if (!whole && !getcwd(here, sizeof(here)))
		return usage_error(a, "there is no current directory; --cwd names one");
	int n = snprintf(ret->text, sizeof(ret->text), "%s%s%s", here, given && !whole ? "/" : "",
			 given ? given : "");
	return n > 0 && (size_t)n < sizeof(ret->text) ? EXIT_FINE
						      : usage_error(a, "--cwd: too long");
}

static int
write_entry(const struct args *a, const struct path *cwd, struct buf *out)
{
	struct jw w = jw(out);

	if (args_given(a, "openapi"))
		return import_entry(a, out);
	jw_object(&w);
	int code = cwd->text[0] ? write_command(a, cwd, &w) : write_address(a, &w);
	jw_end(&w);
	if (code == EXIT_FINE && buf_failed(out))
		code = usage_error(a, "that is too long");
	return code;
}

/* What became of it */

static int
tell_server(const struct settings *s, const char *name)
{
	struct buf text = BUF_INIT(16 * KIB);
	struct reply servers;
	int code = servers_wait(s->api, name, COME_UP_MS, &servers);

	if (code != EXIT_FINE)
		return code;
	const struct json *server = server_in(&servers, str_of(name));
	struct str state = member(server, "state");
	if (server)
		server_text(&text, server);
	bool bad = str_is(state, "failed") || str_is(state, "quarantined");
	if (bad)
		code = refuse("%s: %.*s", name, STR_ARG(buf_str(&text)));
	else if (server)
		printf("%s: %.*s\n", name, STR_ARG(buf_str(&text)));
	api_done(&servers);
	buf_done(&text);
	return code;
}

/* Ends with what the running gateway makes of it; `name` NULL: nothing is to come up; `cwd` "": it
 * is not started here. */
static int
put(const struct settings *s, struct str text, const char *name, const char *cwd)
{
	bool taken;
	int code = settings_write(s, text);

	if (code != EXIT_FINE)
		return code;
	printf("%s is changed\n", s->file.text);
	if (cwd[0])
		printf("%s is started in %s\n", name, cwd);
	if (!s->api)
		printf("no gateway is running; the next one will use it\n");
	else if (!s->in_use)
		printf("the running gateway has another configuration and does not see it\n");
	fflush(stdout);
	code = settings_reload(s, text, &taken);
	if (taken && name)
		code = tell_server(s, name);
	else if (taken)
		printf("the running gateway has taken it\n");
	return code;
}

int
cmd_add(const struct args *a)
{
	struct buf entry = BUF_INIT(LIMIT_CONFIG_BYTES), text = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct settings s = {.lock = -1};
	struct path cwd;
	struct err e;
	int code;

	if ((code = check(a)) == EXIT_FINE && (code = find_cwd(a, &cwd)) == EXIT_FINE &&
	    (code = write_entry(a, &cwd, &entry)) == EXIT_FINE &&
	    (code = settings_open(a, &s)) == EXIT_FINE) {
		bool document = args_given(a, "openapi");
		if (edit_add(buf_str(&s.text), document ? "openapi" : NULL, str_of(a->words[0]),
			     buf_str(&entry), args_given(a, "force"), &text, &e) < 0)
			code = refuse("%s: %s", s.file.text, err_text(&e));
		else
			code = put(&s, buf_str(&text), document ? NULL : a->words[0], cwd.text);
	}
	settings_done(&s);
	buf_done(&entry);
	buf_done(&text);
	return code;
}

int
cmd_remove(const struct args *a)
{
	struct buf text = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct settings s = {.lock = -1};
	struct err e;
	int code = settings_open(a, &s);

	if (code == EXIT_FINE) {
		if (edit_remove(buf_str(&s.text), str_of(a->words[0]), &text, &e) < 0)
			code = refuse("%s: %s", s.file.text, err_text(&e));
		else
			code = put(&s, text.len ? buf_str(&text) : S(""), NULL, "");
	}
	settings_done(&s);
	buf_done(&text);
	return code;
}
