/*
 * config_hooks.c - the section `hooks`: programs that look at calls.
 *
 *	hooks:
 *	  PreToolUse:
 *	    - {matcher: "write_file|git__*", command: ~/bin/check, timeout_seconds: 5}
 *	    - {matcher: shell, hooks: [{type: command, command: [/usr/bin/env, true]}]}
 *
 * The second form is Claude Code's. What is wrong is an error, never a hook that does not run: who
 * writes one relies on it.
 */

#include <stdio.h>

#include "call/hooks.h"
#include "daemon/config_inside.h"

#define NAME_KEPT 200    /* of a command, when something is said of the hook */
#define READABLE_MOST 16 /* files a command names */

/* Claude Code has more of them; calls of tools are all there is here. */
static const char *const foreign[] = {
    "PostToolUseFailure", "PermissionRequest", "PermissionDenied",
    "UserPromptSubmit",   "Notification",      "Stop",
    "SubagentStart",      "SubagentStop",      "PreCompact",
    "SessionStart",       "SessionEnd",
};

/* One hook as the file has it; what its matcher's entry says holds for all in it. */
struct entry {
	struct config_reading *reading;
	char where[96]; /* "hooks.PreToolUse[0]" */
	enum hook_event event;
	const struct json *matcher, *command, *timeout, *on_error, *type, *nested;
};

static int
refuse(const struct entry *at, const struct json *v, const char *key, const char *wrong)
{
	return err_set(at->reading->err, E_CONFIG, "line %u: %s%s%s: %s",
		       config__line(at->reading, v), at->where, key[0] ? "." : "", key, wrong);
}

static int
read_keys(struct entry *at, const struct json *v, bool inner)
{
	const struct {
		const char *key;
		const struct json **to;
	} keys[] = {
	    {"command", &at->command}, {"timeout_seconds", &at->timeout},
	    {"timeout", &at->timeout}, {"on_error", &at->on_error},
	    {"type", &at->type},       {"matcher", &at->matcher},
	    {"hooks", &at->nested},
	};
	size_t count = ARRAY_LEN(keys) - (inner ? 2 : 0);
	char wrong[160];

	for (struct json_iter it = json_iter(v); json_next(&it);) {
		size_t i = 0;
		while (i < count && !str_is(it.key, keys[i].key))
			i++;
		if (i < count) {
			*keys[i].to = it.value;
			continue;
		}
		snprintf(wrong, sizeof(wrong),
			 "there is no such key '%.*s' (there are: %scommand, timeout_seconds, "
			 "on_error)",
			 STR_ARG(str_utf8_upto(it.key, 40)), inner ? "" : "matcher, hooks, ");
		return refuse(at, it.value, "", wrong);
	}
	return 0;
}

/* A pattern that means something else here would be a hook that never runs. */
static int
check_matcher(const struct entry *at)
{
	struct str m = json_str(at->matcher);

	if (!at->matcher || json_is(at->matcher, JSON_NULL))
		return 0;
	if (!m.ptr)
		return refuse(at, at->matcher, "matcher", "must be a string");
	bool odd = memmem(m.ptr, m.len, ".*", 2) || memmem(m.ptr, m.len, ".+", 2);
	for (size_t i = 0; i < m.len; i++)
		odd = odd || !m.ptr[i] || strchr("^$(){}+\\,;\"'", m.ptr[i]);
	if (odd)
		return refuse(
		    at, at->matcher, "matcher",
		    "must be names of tools, which may hold * and ?, with | between them; "
		    "it is no regular expression");
	return 0;
}

/* The whole list is the command, or sh runs it. */
static const char *const *
read_words(const struct entry *at, struct arena *a)
{
	size_t n = json_len(at->command), i = 0;
	const char **words = arena_alloc(a, (n + 4) * sizeof(*words));

	if (!words)
		return NULL;
	if (json_is(at->command, JSON_STRING)) {
		words[0] = "/bin/sh";
		words[1] = "-c";
		words[2] = arena_strz(a, json_str(at->command));
		return words[2] ? words : NULL;
	}
	for (struct json_iter it = json_iter(at->command); json_next(&it); i++)
		if (!(words[i] = arena_strz(a, json_str(it.value))))
			return NULL;
	return words;
}

static int
check_command(const struct entry *at)
{
	bool list = json_is(at->command, JSON_ARRAY), fine = json_len(at->command) > 0;
	struct str text = json_str(at->command);

	for (struct json_iter it = json_iter(at->command); list && json_next(&it);)
		fine = fine && json_str(it.value).ptr && str_index(json_str(it.value), '\0') < 0;
	if (text.ptr)
		fine = str_trim(text).len > 0 && str_index(text, '\0') < 0;
	if (!fine)
		return refuse(at, at->command, "command",
			      "must be a command for the shell, or a list of words");
	if (str_starts(text.ptr ? text : json_str(json_at(at->command, 0)), S("./")))
		config__warn(at->reading,
			     "line %u: %s.command: './' is the workspace, where tools may write; "
			     "who changes the program is not stopped by it",
			     config__line(at->reading, at->command), at->where);
	return 0;
}

static int
read_timeout(const struct entry *at, unsigned *ret)
{
	int64_t seconds = LIMIT_HOOK_MS / 1000;

	if (at->timeout && (!json_int(at->timeout, &seconds) || seconds < 1 ||
			    seconds > LIMIT_HOOK_MOST_MS / 1000))
		return refuse(at, at->timeout, "timeout_seconds",
			      "must be a whole number of seconds from 1 to 600");
	*ret = (unsigned)seconds * 1000;
	return 0;
}

static int
read_on_error(const struct entry *at, bool *ret)
{
	*ret = str_is(json_str(at->on_error), "continue");
	if (!at->on_error || *ret || str_is(json_str(at->on_error), "block"))
		return 0;
	return refuse(at, at->on_error, "on_error", "must be block or continue");
}

/* Files and directories that a command names by their whole path; confined it may read them. */
static const char *const *
named_files(const struct entry *at, const char *const *words, struct arena *a)
{
	static const char between[] = " \t\n;|&()<>\"'=";
	const char **paths = arena_alloc(a, (READABLE_MOST + 1) * sizeof(*paths));
	const char *home = at->reading->home;
	size_t n = 0;

	for (size_t i = 0; paths && words[i]; i++)
		for (const char *p = words[i]; *p && n < READABLE_MOST;) {
			size_t len = strcspn(p, between);
			bool in_home = len > 2 && strncmp(p, "~/", 2) == 0 && home;
			if (len > 1 && (p[0] == '/' || in_home))
				paths[n++] = arena_printf(a, "%s%.*s", in_home ? home : "",
							  (int)len - in_home, p + in_home);
			p += len + (p[len] != '\0');
		}
	return paths;
}

static int
make_hook(const struct entry *at, unsigned timeout_ms, bool lenient, struct hook **ret)
{
	struct buf name = BUF_INIT(LIMIT_CONFIG_BYTES);
	struct jw w = jw(&name);
	struct env env;

	if (json_is(at->command, JSON_STRING))
		buf_add(&name, json_str(at->command));
	else
		jw_value(&w, at->command);
	struct hook *h = hook_new(at->event, json_str(at->matcher),
				  str_utf8_upto(str_trim(buf_str(&name)), NAME_KEPT));
	buf_done(&name);
	if (!h)
		return err_plain(at->reading->err, E_NOMEM);
	env_init(&env, h->arena);
	h->argv = read_words(at, h->arena);
	h->env = env.list;
	h->read = h->argv ? named_files(at, h->argv, h->arena) : NULL;
	h->timeout_ms = timeout_ms;
	h->lenient = lenient;
	if (!h->argv || !h->read || env.failed) {
		hook_unref(h);
		return err_set(at->reading->err, E_CONFIG, "line %u: %s: too long",
			       config__line(at->reading, at->command), at->where);
	}
	*ret = h;
	return 0;
}

static int
read_hook(const struct entry *at, const struct json *v)
{
	struct config *c = at->reading->config;
	unsigned timeout_ms = 0;
	bool lenient = false;
	int code;

	if (!at->command)
		return refuse(at, v, "", "a hook has a command");
	if (at->type && !str_is(json_str(at->type), "command"))
		return refuse(at, at->type, "type", "must be command: nothing else is run here");
	if (c->hook_count == LIMIT_HOOKS)
		return refuse(at, v, "", "there are too many hooks");
	if ((code = check_matcher(at)) < 0 || (code = check_command(at)) < 0 ||
	    (code = read_timeout(at, &timeout_ms)) < 0 ||
	    (code = read_on_error(at, &lenient)) < 0 ||
	    (code = make_hook(at, timeout_ms, lenient, &c->hooks[c->hook_count])) < 0)
		return code;
	c->hook_count++;
	return 0;
}

/* Claude Code's form: several commands for one matcher. */
static int
read_nested(const struct entry *outer)
{
	size_t i = 0;
	int code = 0;

	if (!json_is(outer->nested, JSON_ARRAY) || json_len(outer->nested) == 0)
		return refuse(outer, outer->nested, "hooks", "must be a list of hooks");
	for (struct json_iter it = json_iter(outer->nested); code == 0 && json_next(&it); i++) {
		struct entry inner = *outer;
		snprintf(inner.where, sizeof(inner.where), "%.60s.hooks[%zu]", outer->where, i);
		if (!json_is(it.value, JSON_OBJECT))
			return refuse(&inner, it.value, "", "must be a mapping");
		if ((code = read_keys(&inner, it.value, true)) == 0)
			code = read_hook(&inner, it.value);
	}
	return code;
}

static int
read_entry(struct config_reading *r, const struct json *v, enum hook_event event, size_t i)
{
	struct entry at = {.reading = r, .event = event};
	int code;

	snprintf(at.where, sizeof(at.where), "hooks.%s[%zu]", hook_event_name(event), i);
	if (!json_is(v, JSON_OBJECT))
		return refuse(&at, v, "", "must be a mapping");
	if ((code = read_keys(&at, v, false)) < 0)
		return code;
	if (at.nested && at.command)
		return refuse(&at, at.nested, "", "has either a command or hooks");
	return at.nested ? read_nested(&at) : read_hook(&at, v);
}

static int
read_event(struct config_reading *r, const struct json *list, enum hook_event event)
{
	size_t i = 0;
	int code = 0;

	if (!json_is(list, JSON_ARRAY) && !json_is(list, JSON_NULL))
		return err_set(r->err, E_CONFIG, "line %u: hooks.%s: must be a list",
			       config__line(r, list), hook_event_name(event));
	for (struct json_iter it = json_iter(list); code == 0 && json_next(&it); i++)
		code = read_entry(r, it.value, event, i);
	return code;
}

static int
unknown_event(struct config_reading *r, const struct json_iter *it)
{
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
		if (str_is(it->key, foreign[i])) {
			config__warn(r, "line %u: hooks.%s: has no effect here",
				     config__line(r, it->value), foreign[i]);
			return 0;
		}
	return err_set(r->err, E_CONFIG,
		       "line %u: hooks.%.*s: there is no such key (there are: PreToolUse, "
		       "PostToolUse)",
		       config__line(r, it->value), STR_ARG(str_utf8_upto(it->key, 60)));
}

int
config__hooks(struct config_reading *r, const struct json *section)
{
	struct config *c = r->config;
	int code = 0;

	if (!section || json_is(section, JSON_NULL))
		return 0;
	if (!json_is(section, JSON_OBJECT))
		return err_set(r->err, E_CONFIG, "line %u: hooks: must be a mapping",
			       config__line(r, section));
	c->hooks = arena_alloc(c->arena, LIMIT_HOOKS * sizeof(*c->hooks));
	if (!c->hooks)
		return err_plain(r->err, E_NOMEM);
	for (struct json_iter it = json_iter(section); code == 0 && json_next(&it);) {
		if (str_is(it.key, "PreToolUse"))
			code = read_event(r, it.value, HOOK_PRE);
		else if (str_is(it.key, "PostToolUse"))
			code = read_event(r, it.value, HOOK_POST);
		else
			code = unknown_event(r, &it);
	}
	return code;
}

void
config__hooks_done(struct config *c)
{
	for (size_t i = 0; i < c->hook_count; i++)
		hook_unref(c->hooks[i]);
	c->hook_count = 0;
}
