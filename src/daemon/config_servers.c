/*
 * config_servers.c - mcpServers, VS Code's servers, and plugins: from what the file says to what is
 * run.
 *
 * The document fits the schema here, so types and ranges are right. What is still wrong with one
 * server (a variable that is not set, a header that cannot be one) becomes its problem, and it is
 * not used; the first problem is the one that is told.
 */

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include "daemon/config_inside.h"

#define MS_OVER 86400     /* seconds beyond this are milliseconds */
#define SECONDS_MANY 3600 /* beyond this they may be meant to be */

static const char *const sections[] = {"mcpServers", "servers", "plugins"};
#define PLUGINS sections[2]

/* Keys of a server that are not ours: the schema has them, and nothing comes of them. */
static const char *const foreign[] = {
    "sandbox",     "sandboxEnabled", "dev",         "oauth",         "auth",
    "alwaysAllow", "alwaysLoad",     "autoApprove", "description",   "gallery",
    "version",     "name",           "icon",        "title",         "note",
    "notes",       "tags",           "trustLevel",  "headersHelper", "_meta",
};

/* One server being read. */
struct server {
	struct config_reading *r;
	struct vars vars;
	const char *section;
	struct str name;
	const struct json *object;
	struct upstream_spec *spec;
	struct mcp_settings *settings;
	const char *plugin; /* its file; NULL: it is none */
	struct buf problem; /* empty: none */
	struct buf values;  /* of variables, a NUL behind each */
	bool nomem;
};

static struct arena *
arena_of(const struct server *s)
{
	return s->r->config->arena;
}

static const struct json *
field(const struct server *s, const char *key)
{
	return json_get(s->object, str_of(key));
}

/* Only the first one counts; "where: why". */
static void
problem(struct server *s, const char *where, struct str why)
{
	if (s->problem.len == 0)
		buf_addf(&s->problem, "%s: %.*s", where, STR_ARG(why));
}

/* Text */

/* A scalar as text: env has numbers and booleans, too. */
static void
scalar_text(struct buf *out, const struct json *v)
{
	struct jw w = jw(out);

	if (json_is(v, JSON_STRING))
		buf_add(out, json_str(v));
	else
		jw_value(&w, v);
}

/* With variables filled in, as the system takes it. NULL: a problem, or no memory. */
static const char *
filled(struct server *s, const char *where, const struct json *v)
{
	struct buf raw = BUF_INIT(LIMIT_CONFIG_BYTES), out = BUF_INIT(LIMIT_VARIABLES_BYTES),
		   why = BUF_INIT(512);
	const char *text = NULL;

	scalar_text(&raw, v);
	if (!vars_fill(&s->vars, buf_str(&raw), &out, &why))
		problem(s, where, buf_str(&why));
	else if (buf_failed(&out) || buf_failed(&raw))
		problem(s, where, S("too long"));
	else if (str_index(buf_str(&out), '\0') >= 0)
		problem(s, where, S("has a NUL character in it"));
	else if (!(text = arena_strz(arena_of(s), out.len ? buf_str(&out) : S(""))))
		s->nomem = true;
	buf_done(&raw);
	buf_done(&out);
	buf_done(&why);
	return text;
}

/* The same of a path: "~/" is home. */
static const char *
filled_path(struct server *s, const char *where, const struct json *v)
{
	const char *path = filled(s, where, v);

	if (!path || strncmp(path, "~/", 2) != 0)
		return path;
	if (!s->r->home) {
		problem(s, where, S("'~' is not known here; write the whole path"));
		return NULL;
	}
	path = arena_printf(arena_of(s), "%s%s", s->r->home, path + 1);
	s->nomem = s->nomem || !path;
	return path;
}

/* An array of strings, NULL-terminated; `first` before them unless NULL. NULL when there is none,
 * or something was wrong. */
static const char *const *
filled_list(struct server *s, const char *key, const char *first,
	    const char *(*fill)(struct server *s, const char *where, const struct json *v))
{
	const struct json *v = field(s, key);
	const char **list = arena_alloc(arena_of(s), (json_len(v) + 2) * sizeof(*list));
	size_t n = 0, i = 0;
	char where[64];

	if (!list) {
		s->nomem = true;
		return NULL;
	}
	if (first)
		list[n++] = first;
	for (struct json_iter it = json_iter(v); json_next(&it); i++) {
		snprintf(where, sizeof(where), "%s[%zu]", key, i);
		if (!(list[n++] = fill(s, where, it.value)))
			return NULL;
	}
	return list;
}

/* Names of tools: as they are. */
static const char *
verbatim(struct server *s, const char *where, const struct json *v)
{
	const char *text = arena_strz(arena_of(s), json_str(v));

	(void)where;
	s->nomem = s->nomem || !text;
	return text;
}

/* stdio */

static void
read_env(struct server *s)
{
	const struct json *file = field(s, "envFile");
	struct buf why = BUF_INIT(512);
	struct env env;
	char where[96];

	env_init(&env, arena_of(s));
	const char *path = file ? filled_path(s, "envFile", file) : NULL;
	if (path && !env.failed && !env_put_file(&env, path, &why))
		problem(s, "envFile", buf_str(&why));
	for (struct json_iter it = json_iter(field(s, "env")); !env.failed && json_next(&it);) {
		snprintf(where, sizeof(where), "env.%.*s", STR_ARG(str_utf8_upto(it.key, 64)));
		const char *value = filled(s, where, it.value);
		if (!env_name_fits(it.key))
			problem(s, where, S("is no name of a variable"));
		else if (value)
			env_put(&env, it.key, str_of(value));
	}
	if (env.failed && env.count >= LIMIT_SERVER_ENV)
		problem(s, "env", S("too many variables"));
	else if (env.failed)
		s->nomem = true;
	s->spec->env = env.list;
	buf_done(&why);
}

/* A relative one is below the workspace. */
static void
read_cwd(struct server *s)
{
	const struct json *v = field(s, "cwd");
	const char *cwd = v ? filled_path(s, "cwd", v) : NULL;

	if (cwd && cwd[0] != '/' && !s->vars.workspace)
		problem(s, "cwd", S("must begin with '/' or '~/' where there is no workspace"));
	else if (cwd && cwd[0] != '/') {
		cwd = arena_printf(arena_of(s), "%s/%s", s->vars.workspace, cwd);
		s->nomem = s->nomem || !cwd;
	}
	s->spec->cwd = cwd;
}

static void
read_stdio(struct server *s)
{
	const char *command = filled_path(s, "command", field(s, "command"));

	s->spec->kind = UPSTREAM_STDIO;
	if (command && !command[0])
		problem(s, "command", S("is empty"));
	if (command)
		s->spec->argv = filled_list(s, "args", command, filled);
	read_env(s);
	read_cwd(s);
}

/* A plugin is a server of ours that runs it (src/cli/cmd_plugin_host.c). */
static void
read_plugin(struct server *s)
{
	const char **argv = arena_alloc(arena_of(s), 6 * sizeof(*argv));
	const char *path = filled_path(s, "path", field(s, "path"));
	struct buf host = BUF_INIT(LIMIT_PATH);
	int64_t memory_mib = LIMIT_PLUGIN_MIB;

	json_int(field(s, "memory_mib"), &memory_mib);
	s->plugin = path;
	s->spec->kind = UPSTREAM_STDIO;
	if (path && path[0] != '/')
		problem(s, "path", S("must begin with '/' or '~/'"));
	else if (path && access(path, R_OK) < 0)
		problem(s, "path", S("there is no such file, or it cannot be read"));
	if (!config__plugin_host(&host))
		problem(s, "path", S("the program `holdfast`, which runs plugins, was not found"));
	else if (argv) {
		argv[0] = arena_strz(arena_of(s), buf_str(&host));
		argv[1] = "plugin-host";
		argv[2] = "--memory";
		argv[3] = arena_printf(arena_of(s), "%" PRId64, memory_mib);
		argv[4] = path;
		argv[5] = NULL;
	}
	s->nomem = s->nomem || !argv || (argv[0] == NULL && s->problem.len == 0);
	s->spec->argv = argv;
	read_env(s);
	read_cwd(s);
	buf_done(&host);
}

/* http */

static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		bool fine = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			    (c >= 'a' && c <= 'z') || (c && strchr("!#$%&'*+-.^_`|~", c));
		if (!fine)
			return false;
	}
	return s.len > 0;
}

static bool
has_control(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
			return true;
	return false;
}

static const char *
header(struct server *s, const struct json_iter *at)
{
	char where[96];

	snprintf(where, sizeof(where), "headers.%.*s", STR_ARG(str_utf8_upto(at->key, 64)));
	const char *value = filled(s, where, at->value), *line = NULL;
	if (!is_token(at->key))
		problem(s, where, S("is no name of a header"));
	else if (value && has_control(value))
		problem(s, where, S("has a control character in it"));
	else if (value && !(line = arena_printf(arena_of(s), "%.*s: %s", STR_ARG(at->key), value)))
		s->nomem = true;
	return line;
}

static void
read_headers(struct server *s)
{
	const struct json *v = field(s, "headers");
	const char **list = arena_alloc(arena_of(s), (json_len(v) + 1) * sizeof(*list));
	size_t n = 0;

	if (!list)
		s->nomem = true;
	for (struct json_iter it = json_iter(v); list && json_next(&it);)
		if ((list[n] = header(s, &it)))
			n++;
	s->spec->headers = list;
}

static void
read_http(struct server *s)
{
	const char *url = filled(s, "url", field(s, "url"));

	s->spec->kind = UPSTREAM_HTTP;
	s->spec->url = url;
	if (url && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		problem(s, "url", S("must begin with http:// or https://"));
	else if (url && (has_control(url) || strchr(url, ' ')))
		problem(s, "url", S("has a blank or a control character in it"));
	read_headers(s);
}

/* What is not told of it: all that was filled in, and what is secret by its name. A log has lines,
 * so each line of such a value is one; what is short would be found everywhere. */

struct secret_list {
	const char **at;
	size_t count;
};

static bool
secret_is_there(const struct secret_list *all, struct str line)
{
	for (size_t i = 0; i < all->count; i++)
		if (str_is(line, all->at[i]))
			return true;
	return false;
}

static void
secret_add(struct server *s, struct secret_list *to, struct str value)
{
	struct str line;

	while (str_split(&value, '\n', &line)) {
		line = str_trim(line);
		if (line.len < LIMIT_SECRET_LEAST || secret_is_there(to, line))
			continue;
		if (to->count == LIMIT_SERVER_SECRETS)
			problem(s, "env", S("too many secrets to keep them out of the log"));
		else if ((to->at[to->count] = arena_strz(arena_of(s), line)))
			to->count++;
		else
			s->nomem = true;
	}
}

static void
read_secrets(struct server *s)
{
	struct secret_list list = {0};
	struct str values = buf_str(&s->values), value, name;

	list.at = arena_alloc(arena_of(s), (LIMIT_SERVER_SECRETS + 1) * sizeof(*list.at));
	s->nomem = s->nomem || !list.at || buf_failed(&s->values);
	if (!list.at)
		return;
	while (values.len > 0 && str_split(&values, '\0', &value))
		secret_add(s, &list, value);
	for (const char *const *e = s->spec->env; e && *e; e++) {
		value = str_of(*e);
		if (str_split(&value, '=', &name) && env_is_secret(name))
			secret_add(s, &list, value);
	}
	s->spec->secrets = list.at;
}

/* What both have */

static unsigned
milliseconds(struct server *s, const char *key)
{
	const struct json *v = field(s, key);
	double n = 0;

	if (!json_double(v, &n))
		return 0;
	if (n > MS_OVER)
		config__warn(s->r,
			     "line %u: %s.%.*s.%s: taken as milliseconds, as no server is waited "
			     "for so many seconds",
			     config__line(s->r, v), s->section, STR_ARG(s->name), key);
	else
		n *= 1000;
	return n < 1 ? 1 : (unsigned)n;
}

/* The same for how long something may take: nobody waits for an hour on purpose. */
static unsigned
patience(struct server *s, const char *key)
{
	const struct json *v = field(s, key);
	double n = 0;

	if (json_double(v, &n) && n > SECONDS_MANY && n <= MS_OVER)
		config__warn(s->r,
			     "line %u: %s.%.*s.%s: more than an hour; it is in seconds here, some "
			     "clients write milliseconds",
			     config__line(s->r, v), s->section, STR_ARG(s->name), key);
	return milliseconds(s, key);
}

static void
read_times(struct server *s)
{
	const struct json *idle = field(s, "idle_stop");
	int64_t concurrency = 0;

	s->spec->timeout_ms = s->settings->timeout_ms = patience(s, "timeout");
	s->spec->max_ms = s->settings->max_ms = patience(s, "max_timeout");
	s->spec->start_ms = patience(s, "startup_timeout");
	s->spec->idle_ms =
	    json_is(idle, JSON_BOOL) && !json_bool(idle) ? UINT_MAX : milliseconds(s, "idle_stop");
	json_int(field(s, "concurrency"), &concurrency);
	s->spec->concurrency = (unsigned)concurrency;
	s->spec->no_probe = str_is(json_str(field(s, "protocol")), "legacy");
}

static int
mode_of(struct str name)
{
	for (int m = MODE_AUTO; m <= MODE_DENY; m++)
		if (str_is(name, policy_mode_name((enum policy_mode)m)))
			return m;
	return -1;
}

static struct str
kept(struct server *s, struct str text)
{
	struct str copy = arena_str(arena_of(s), text);

	s->nomem = s->nomem || !copy.ptr;
	return copy;
}

static void
read_settings(struct server *s)
{
	const struct json *prefix = field(s, "prefix"), *ns = field(s, "namespace");
	struct mcp_settings *set = s->settings;

	set->server = s->spec->name;
	if (ns)
		set->ns = kept(s, json_str(ns));
	if (json_is(prefix, JSON_STRING))
		set->prefix = kept(s, json_str(prefix));
	else if (prefix && !json_bool(prefix))
		set->prefix = S("");
	/* Who lists a file to be loaded believes what it says of its tools. */
	const struct json *trust = field(s, "trust");
	set->trust = trust ? json_bool(trust) : s->section == PLUGINS;
	set->repair_arguments = json_bool(field(s, "repair_arguments"));
	set->confirm = mode_of(json_str(field(s, "confirm")));
	if (field(s, "enabled_tools"))
		set->enabled = filled_list(s, "enabled_tools", NULL, verbatim);
	if (field(s, "disabled_tools"))
		set->disabled = filled_list(s, "disabled_tools", NULL, verbatim);
}

static void
read_roots(struct server *s)
{
	s->spec->roots = field(s, "roots") ? filled_list(s, "roots", NULL, filled_path) : NULL;
	for (size_t i = 0; s->spec->roots && s->spec->roots[i]; i++)
		if (s->spec->roots[i][0] != '/')
			problem(s, "roots", S("each must begin with '/' or '~/'"));
}

/* Paths of its own word, and more, which may be NULL. */
static const char *const *
confined_paths(struct server *s, const char *key, const char *const *more, const char *one)
{
	const struct json *v = json_get(field(s, "confinement"), str_of(key));
	size_t n = 0, count = json_len(v);
	char where[64];

	for (const char *const *m = more; m && *m; m++)
		count++;
	const char **list = arena_alloc(arena_of(s), (count + 2) * sizeof(*list));
	snprintf(where, sizeof(where), "confinement.%s", key);
	for (struct json_iter it = json_iter(v); list && json_next(&it);) {
		const char *path = filled_path(s, where, it.value);
		if (path && path[0] != '/')
			problem(s, where, S("each must begin with '/' or '~/'"));
		else if (path)
			list[n++] = path;
	}
	for (; list && more && *more; more++)
		list[n++] = *more;
	if (list) {
		list[n++] = one;
		list[n] = NULL;
	}
	s->nomem = s->nomem || !list;
	return list;
}

/* Its own word, or what counts for its kind. Where it was put and what it is told of, it may write;
 * a plugin may be read. */
static void
read_confinement(struct server *s)
{
	const struct confine_settings *all = &s->r->config->confinement;
	const struct json *v = field(s, "confinement"), *tcp = json_get(v, S("tcp"));
	struct confinement *c = &s->spec->confinement;
	bool plugin = s->section == PLUGINS;

	c->profile =
	    confine_profile(json_str(json_is(v, JSON_STRING) ? v : json_get(v, S("profile"))));
	if (!c->profile)
		c->profile = all->profiles[plugin ? CONFINED_PLUGINS : CONFINED_SERVERS];
	if (c->profile == CONFINE_OPEN)
		return;
	c->read = confined_paths(s, "read", NULL, s->plugin);
	c->write = confined_paths(s, "write", s->spec->roots, s->spec->cwd);
	c->tcp = config__ports(arena_of(s), tcp, &c->tcp_count);
	s->nomem = s->nomem || (tcp && !c->tcp);
}

/* Which of the two it is. E_CONFIG: the file does not say, or says both. */
static int
kind_of(const struct server *s, enum upstream_kind *ret)
{
	struct str type = json_str(field(s, "type"));
	bool command = field(s, "command") != NULL, url = field(s, "url") != NULL;
	bool http = type.ptr ? !str_is(type, "stdio") : url;
	const char *wrong = NULL;

	if (command && url && !type.ptr)
		wrong = "has a command and a url; which one counts?";
	else if (!type.ptr && !command && !url)
		wrong = "needs a command or a url";
	else if (http && !url)
		wrong = "needs a url";
	else if (!http && !command)
		wrong = "needs a command";
	if (wrong)
		return err_set(s->r->err, E_CONFIG, "line %u: %s.%.*s: %s",
			       config__line(s->r, s->object), s->section,
			       STR_ARG(str_utf8_upto(s->name, 64)), wrong);
	*ret = http ? UPSTREAM_HTTP : UPSTREAM_STDIO;
	return 0;
}

static void
warn_foreign(const struct server *s)
{
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		const struct json *v = field(s, foreign[i]);
		if (v)
			config__warn(s->r, "line %u: %s.%.*s.%s: has no effect here",
				     config__line(s->r, v), s->section,
				     STR_ARG(str_utf8_upto(s->name, 64)), foreign[i]);
	}
}

static int
read_server(struct server *s)
{
	enum upstream_kind kind = UPSTREAM_STDIO;
	bool plugin = s->section == PLUGINS;
	int code = plugin ? 0 : kind_of(s, &kind);

	if (code < 0)
		return code;
	s->spec->name = kept(s, s->name);
	warn_foreign(s);
	(plugin ? read_plugin : kind == UPSTREAM_HTTP ? read_http : read_stdio)(s);
	read_secrets(s);
	read_times(s);
	read_settings(s);
	read_roots(s);
	read_confinement(s);
	s->nomem = s->nomem || tunings_add_server(s->r->config->tunings, s->name, s->object) < 0;
	if (s->problem.len)
		s->spec->problem = kept(s, buf_str(&s->problem));
	return s->nomem ? err_plain(s->r->err, E_NOMEM) : 0;
}

/* All of them */

static bool
is_enabled(const struct json *server)
{
	const struct json *enabled = json_get(server, S("enabled"));

	return !json_bool(json_get(server, S("disabled"))) && (!enabled || json_bool(enabled));
}

static int
add_disabled(struct config_reading *r, struct str name)
{
	struct config *c = r->config;
	const char *copy = arena_strz(c->arena, name);

	if (!copy)
		return err_plain(r->err, E_NOMEM);
	((const char **)c->disabled)[c->disabled_count++] = copy;
	return 0;
}

/* Over HTTP it is /mcp/s/NAME, and nothing is taken for something else. */
static void
warn_surface(struct config_reading *r, const char *section, const struct json_iter *at)
{
	if (str_is(at->key, "gateway") || str_is(at->key, "proxy") || str_is(at->key, "all"))
		config__warn(r,
			     "line %u: %s.%.*s: a surface has this name, so `holdfast mcp "
			     "--surface %.*s` does not mean the server",
			     config__line(r, at->value), section, STR_ARG(at->key),
			     STR_ARG(at->key));
}

static int
add(struct config_reading *r, const char *section, const struct json_iter *at)
{
	struct config *c = r->config;

	if (str_is(at->key, "builtin"))
		return err_set(r->err, E_CONFIG,
			       "line %u: %s.builtin: the built-in tools have this name",
			       config__line(r, at->value), section);
	if (!is_enabled(at->value))
		return add_disabled(r, at->key);
	warn_surface(r, section, at);
	struct server s = {
	    .r = r,
	    .vars = {.workspace = c->workspace, .home = r->home},
	    .section = section,
	    .name = at->key,
	    .object = at->value,
	    .spec = &c->servers[c->server_count],
	    .settings = &c->settings[c->server_count],
	    .problem = BUF_INIT(1 * KIB),
	    .values = BUF_INIT(LIMIT_CONFIG_BYTES),
	};
	s.vars.values = &s.values;
	int code = read_server(&s);
	buf_done(&s.problem);
	buf_done(&s.values);
	c->server_count += code == 0;
	return code;
}

/* A name twice is a mistake: which one is meant? */
static int
check_twice(struct config_reading *r, const struct json *const *all, size_t which)
{
	for (struct json_iter it = json_iter(all[which]); json_next(&it);)
		for (size_t i = 0; i < which; i++)
			if (json_get(all[i], it.key))
				return err_set(
				    r->err, E_CONFIG,
				    "line %u: %s.%.*s: there is one of this name under %s",
				    config__line(r, it.value), sections[which],
				    STR_ARG(str_utf8_upto(it.key, 64)), sections[i]);
	return 0;
}

int
config__servers(struct config_reading *r, const struct json *root)
{
	const struct json *all[ARRAY_LEN(sections)];
	struct config *c = r->config;
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		count += json_len(all[i] = json_get(root, str_of(sections[i])));
	if (count > LIMIT_SERVERS)
		return err_set(r->err, E_CONFIG, "line %u: %s: more than %d servers",
			       config__line(r, root), sections[0], LIMIT_SERVERS);
	c->servers = arena_alloc(c->arena, (count + 1) * sizeof(*c->servers));
	c->settings = arena_alloc(c->arena, (count + 1) * sizeof(*c->settings));
	c->disabled = arena_alloc(c->arena, (count + 1) * sizeof(*c->disabled));
	if (!c->servers || !c->settings || !c->disabled)
		return err_plain(r->err, E_NOMEM);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		int code = check_twice(r, all, i);
		for (struct json_iter it = json_iter(all[i]); code == 0 && json_next(&it);)
			code = add(r, sections[i], &it);
		if (code < 0)
			return code;
	}
	return 0;
}
