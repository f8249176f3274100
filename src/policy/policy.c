/* policy.c - the confirmation policy: read from the configuration, asked once per call. */

#include "policy/policy.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/near.h"

#define SECTION "tool_confirmation"
#define CONFIRM_SECONDS_MAX 86400

static const char *const mode_names[] = {
    [MODE_AUTO] = "auto",
    [MODE_PROMPT] = "prompt",
    [MODE_PROMPT_ONCE] = "prompt_once",
    [MODE_DENY] = "deny",
};
#define MODES "auto, prompt, prompt_once, deny"

/* As the file spells them: exactly so. */
static const char *const class_names[CAP__COUNT] = {
    [CAP_NONE] = "NONE",       [CAP_READ] = "READ",       [CAP_WRITE] = "WRITE",
    [CAP_EXECUTE] = "EXECUTE", [CAP_NETWORK] = "NETWORK",
};

static const struct str default_rules[CAP__COUNT] = {
    [CAP_NONE] = S("default.NONE"),       [CAP_READ] = S("default.READ"),
    [CAP_WRITE] = S("default.WRITE"),     [CAP_EXECUTE] = S("default.EXECUTE"),
    [CAP_NETWORK] = S("default.NETWORK"),
};

static const struct str override_rules[CAP__COUNT] = {
    [CAP_NONE] = S("trusted_workspace_overrides.NONE"),
    [CAP_READ] = S("trusted_workspace_overrides.READ"),
    [CAP_WRITE] = S("trusted_workspace_overrides.WRITE"),
    [CAP_EXECUTE] = S("trusted_workspace_overrides.EXECUTE"),
    [CAP_NETWORK] = S("trusted_workspace_overrides.NETWORK"),
};

struct class_modes {
	enum policy_mode mode[CAP__COUNT];
	bool set[CAP__COUNT];
};

struct trusted {
	struct trusted *next;
	struct str path; /* absolute, real where it exists, no slash at the end */
};

struct policy {
	struct arena *arena; /* everything below that is text */
	struct class_modes by_default;
	struct class_modes overrides;
	struct map per_tool; /* tool -> struct ruling */
	struct trusted *trusted;
	struct secrets_list secrets;
	unsigned confirm_ms;
};

const char *
policy_mode_name(enum policy_mode m)
{
	CHECK((size_t)m < ARRAY_LEN(mode_names));
	return mode_names[m];
}

struct policy *
policy_default(void)
{
	struct policy *p = malloc(sizeof(*p));
	struct arena *a = arena_new(LIMIT_CONFIG_BYTES * 2);

	if (!p || !a) {
		free(p);
		arena_free(a);
		return NULL;
	}
	*p = (struct policy){.arena = a, .confirm_ms = LIMIT_CONFIRM_MS};
	map_init(&p->per_tool, LIMIT_TOOLS);
	for (size_t i = 0; i < CAP__COUNT; i++)
		p->by_default.mode[i] = i <= CAP_READ ? MODE_AUTO : MODE_PROMPT;
	return p;
}

void
policy_free(struct policy *p)
{
	if (!p)
		return;
	map_done(&p->per_tool);
	arena_free(p->arena);
	free(p);
}

/* Reading the file */

/* The reading of one section, and where in it we are. */
struct reading {
	struct policy *policy;
	const struct yaml *yaml;
	const char *home;
	struct err *err;
};

/* The key stands right before its value in reading order. */
static unsigned
key_line(const struct reading *r, const struct json *value)
{
	size_t order = json_order(r->yaml->doc, value);

	return order > 0 && order <= r->yaml->count ? r->yaml->lines[order - 1]
						    : yaml_line(r->yaml, value);
}

static const char *
nearest(struct str key, const char *const *known, size_t count)
{
	const char *near = NULL;
	unsigned best = NEAR_NONE;

	for (size_t i = 0; i < count; i++)
		if (near_better(key, str_of(known[i]), &best))
			near = known[i];
	return near;
}

static int
unknown_key(const struct reading *r, const char *where, const struct json_iter *at,
	    const char *const *known, size_t count)
{
	const char *near = nearest(at->key, known, count);

	return err_set(r->err, E_CONFIG, "line %u: %s.%.*s: there is no such key%s%s%s",
		       key_line(r, at->value), where, STR_ARG(str_utf8_upto(at->key, 64)),
		       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Absent and empty (null) are the same: a key whose entries are all commented out. */
static int
must_be(const struct reading *r, const char *where, const struct json *v, enum json_type type)
{
	if (json_is(v, type) || json_is(v, JSON_NULL))
		return 0;
	return err_set(r->err, E_CONFIG, "line %u: %s: must be %s %s, got %s", key_line(r, v),
		       where, type == JSON_STRING ? "a" : "an", json_type_name(type),
		       json_type_name(json_type(v)));
}

static int
mode_read(const struct reading *r, const char *where, const struct json_iter *at,
	  enum policy_mode *ret)
{
	struct str given = json_str(at->value);

	for (size_t i = 0; i < ARRAY_LEN(mode_names); i++) {
		if (given.ptr && str_is(given, mode_names[i])) {
			*ret = (enum policy_mode)i;
			return 0;
		}
	}
	const char *type = json_type_name(json_type(at->value));
	if (given.ptr)
		return err_set(r->err, E_CONFIG, "line %u: %s.%.*s: '%.*s' is not one of " MODES,
			       yaml_line(r->yaml, at->value), where,
			       STR_ARG(str_utf8_upto(at->key, 64)),
			       STR_ARG(str_utf8_upto(given, 64)));
	return err_set(r->err, E_CONFIG, "line %u: %s.%.*s: must be one of " MODES ", got %s",
		       yaml_line(r->yaml, at->value), where, STR_ARG(str_utf8_upto(at->key, 64)),
		       type);
}

static int
classes_read(const struct reading *r, const char *where, const struct json *v,
	     struct class_modes *ret)
{
	int code = must_be(r, where, v, JSON_OBJECT);

	for (struct json_iter at = json_iter(v); code == 0 && json_next(&at);) {
		size_t cap = 0;
		while (cap < CAP__COUNT && !str_is(at.key, class_names[cap]))
			cap++;
		if (cap == CAP__COUNT)
			return unknown_key(r, where, &at, class_names, CAP__COUNT);
		code = mode_read(r, where, &at, &ret->mode[cap]);
		ret->set[cap] = true;
	}
	return code;
}

static int
default_read(const struct reading *r, const char *where, const struct json *v)
{
	return classes_read(r, where, v, &r->policy->by_default);
}

static int
overrides_read(const struct reading *r, const char *where, const struct json *v)
{
	return classes_read(r, where, v, &r->policy->overrides);
}

static int
per_tool_add(const struct reading *r, const char *where, const struct json_iter *at)
{
	struct arena *a = r->policy->arena;
	struct ruling *rule = ARENA_NEW(a, struct ruling);
	struct str name = arena_str(a, at->key);
	char *text = arena_printf(a, "per_tool.%.*s", STR_ARG(at->key));

	if (!rule || !name.ptr || !text)
		return err_plain(r->err, E_NOMEM);
	int code = mode_read(r, where, at, &rule->mode);
	if (code < 0)
		return code;
	rule->rule = str_of(text);
	code = map_put(&r->policy->per_tool, name, rule);
	return code < 0 ? err_plain(r->err, code) : 0;
}

static int
per_tool_read(const struct reading *r, const char *where, const struct json *v)
{
	int code = must_be(r, where, v, JSON_OBJECT);

	for (struct json_iter at = json_iter(v); code == 0 && json_next(&at);)
		code = per_tool_add(r, where, &at);
	return code;
}

/* "~" and "~/x" are home; real where it exists. NULL: no memory. */
static const char *
path_settle(const struct reading *r, struct str given)
{
	struct arena *a = r->policy->arena;
	char real[PATH_MAX];
	const char *path;

	if (given.ptr[0] == '~')
		path = arena_printf(a, "%s%.*s", r->home, STR_ARG(str_from(given, 1)));
	else
		path = arena_strz(a, given);
	if (path && realpath(path, real))
		path = arena_strz(a, str_of(real));
	return path;
}

static int
trusted_add(const struct reading *r, const char *where, size_t i, const struct json *v)
{
	struct str given = json_str(v);
	const char *wrong = NULL;

	if (!given.ptr)
		wrong = "must be a string";
	else if (given.len == 0 || memchr(given.ptr, '\0', given.len) || given.len >= LIMIT_PATH)
		wrong = "is no path";
	else if (given.ptr[0] == '~' && given.len > 1 && given.ptr[1] != '/')
		wrong = "'~' of another user is not known; write the whole path";
	else if (given.ptr[0] == '~' && !r->home)
		wrong = "'~' is not known here; write the whole path";
	else if (given.ptr[0] != '~' &&
		 given.ptr[0] != '/') /* trust must not depend on where one stands */
		wrong = "must begin with '/' or '~/'";
	if (wrong)
		return err_set(r->err, E_CONFIG, "line %u: %s[%zu]: %s", yaml_line(r->yaml, v),
			       where, i, wrong);

	struct trusted *t = ARENA_NEW(r->policy->arena, struct trusted);
	const char *path = t ? path_settle(r, given) : NULL;
	if (!path)
		return err_plain(r->err, E_NOMEM);
	t->path = str_of(path);
	while (t->path.len && str_ends(t->path, S("/"))) /* the root becomes "" */
		t->path.len--;
	t->next = r->policy->trusted;
	r->policy->trusted = t;
	return 0;
}

static int
trusted_read(const struct reading *r, const char *where, const struct json *v)
{
	int code = must_be(r, where, v, JSON_ARRAY);
	size_t i = 0;

	for (struct json_iter at = json_iter(v); code == 0 && json_next(&at); i++)
		code = trusted_add(r, where, i, at.value);
	return code;
}

static int
secrets_read(const struct reading *r, const char *where, const struct json *v)
{
	int code = must_be(r, where, v, JSON_ARRAY);
	size_t count = json_is(v, JSON_ARRAY) ? json_len(v) : 0, i = 0;
	struct str *patterns = arena_alloc(r->policy->arena, (count + 1) * sizeof(*patterns));

	if (!patterns)
		return err_plain(r->err, E_NOMEM);
	for (struct json_iter at = json_iter(v); code == 0 && json_next(&at); i++) {
		struct str given = json_str(at.value);
		if (str_from(given, str_starts(given, S("!"))).len == 0 || given.len >= LIMIT_PATH)
			return err_set(r->err, E_CONFIG, "line %u: %s[%zu]: is no pattern",
				       yaml_line(r->yaml, at.value), where, i);
		patterns[i] = arena_str(r->policy->arena, given);
		code = patterns[i].ptr ? 0 : err_plain(r->err, E_NOMEM);
	}
	r->policy->secrets = (struct secrets_list){patterns, i};
	return code;
}

static int
timeout_read(const struct reading *r, const char *where, const struct json *v)
{
	int64_t seconds;

	if (!json_int(v, &seconds) || seconds < 1 || seconds > CONFIRM_SECONDS_MAX)
		return err_set(r->err, E_CONFIG, "line %u: %s: must be a whole number from 1 to %d",
			       yaml_line(r->yaml, v), where, CONFIRM_SECONDS_MAX);
	r->policy->confirm_ms = (unsigned)seconds * 1000;
	return 0;
}

static const char *const key_names[] = {
    "default",
    "per_tool",
    "trusted_workspaces",
    "trusted_workspace_overrides",
    "confirmation_timeout_seconds",
    "secret_files",
};

static const struct {
	const char *where;
	int (*read)(const struct reading *r, const char *where, const struct json *v);
} keys[ARRAY_LEN(key_names)] = {
    {SECTION ".default", default_read},
    {SECTION ".per_tool", per_tool_read},
    {SECTION ".trusted_workspaces", trusted_read},
    {SECTION ".trusted_workspace_overrides", overrides_read},
    {SECTION ".confirmation_timeout_seconds", timeout_read},
    {SECTION ".secret_files", secrets_read},
};

static int
section_read(const struct reading *r, const struct json *section)
{
	int code = must_be(r, SECTION, section, JSON_OBJECT);

	for (struct json_iter at = json_iter(section); code == 0 && json_next(&at);) {
		size_t i = 0;
		while (i < ARRAY_LEN(keys) && !str_is(at.key, key_names[i]))
			i++;
		code = i < ARRAY_LEN(keys)
			   ? keys[i].read(r, keys[i].where, at.value)
			   : unknown_key(r, SECTION, &at, key_names, ARRAY_LEN(key_names));
	}
	return code;
}

int
policy_new(const struct yaml *y, const struct json *section, const char *home, struct policy **ret,
	   struct err *e)
{
	struct policy *p = policy_default();
	if (!p)
		return err_plain(e, E_NOMEM);
	struct reading r = {.policy = p, .yaml = y, .home = home, .err = e};
	int code = section ? section_read(&r, section) : 0;
	if (code < 0)
		policy_free(p);
	else
		*ret = p;
	return code;
}

/* Deciding */

/* By whole components: /a/b trusts /a/b and /a/b/c, not /a/bc. */
static bool
workspace_trusted(const struct policy *p, const char *workspace)
{
	struct str w = str_of(workspace);

	if (w.len == 0 || w.ptr[0] != '/')
		return false;
	for (const struct trusted *t = p->trusted; t; t = t->next)
		if (str_starts(w, t->path) && (w.len == t->path.len || w.ptr[t->path.len] == '/'))
			return true;
	return false;
}

struct ruling
policy_decide(const struct policy *p, struct str tool, enum capability cap, const char *workspace)
{
	const struct ruling *own = map_find(&p->per_tool, tool);

	if (own)
		return *own;
	if ((size_t)cap >= CAP__COUNT) /* not known what it can do: it does nothing */
		return (struct ruling){MODE_DENY, S("unknown class")};

	struct ruling by_default = {p->by_default.mode[cap], default_rules[cap]};
	if (by_default.mode == MODE_DENY || !workspace_trusted(p, workspace))
		return by_default;
	if (p->overrides.set[cap])
		return (struct ruling){p->overrides.mode[cap], override_rules[cap]};
	if (by_default.mode == MODE_AUTO || cap == CAP_NETWORK)
		return by_default;
	return (struct ruling){MODE_AUTO, S("trusted_workspaces")};
}

unsigned
policy_confirm_ms(const struct policy *p)
{
	return p->confirm_ms;
}

const struct secrets_list *
policy_secrets(const struct policy *p)
{
	return &p->secrets;
}

void
policy_each_tool(const struct policy *p, void (*each)(struct str tool, void *arg), void *arg)
{
	size_t at = 0;

	for (const struct ruling *rule; (rule = map_each(&p->per_tool, &at));)
		each(str_from(rule->rule, sizeof("per_tool.") - 1), arg);
}
