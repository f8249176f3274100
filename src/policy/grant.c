/*
 * grant.c - remembered answers, and which commands a remembered prefix covers.
 *
 * A command is compared by its words and only when the shell, too, would see nothing but
 * words in it. What is plain is a list of what is allowed, so that whatever was forgotten in
 * it is asked about.
 */

#include "policy/grant.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/ulid.h"

struct grants {
	struct store *store; /* or NULL: nothing is kept */
	struct list all;     /* of struct grant, oldest first */
	bool incomplete;     /* a row did not load */
};

/* One block, texts behind. */
struct grant {
	struct node node;
	struct id id;
	enum grant_scope scope;
	bool allow;
	int64_t created_us;
	struct str session, workspace, tool, prefix, by;
	struct str rule;
	char text[];
};

static const char *const scope_names[] = {
    [SCOPE_ONCE] = "once",
    [SCOPE_SESSION] = "session",
    [SCOPE_PREFIX] = "prefix",
    [SCOPE_WORKSPACE] = "workspace",
    [SCOPE_WORKSPACE_PREFIX] = "workspace_prefix",
};

const char *
grant_scope_name(enum grant_scope s)
{
	CHECK((size_t)s < ARRAY_LEN(scope_names));
	return scope_names[s];
}

bool
grant_scope_parse(struct str name, enum grant_scope *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(scope_names); i++) {
		if (str_is(name, scope_names[i])) {
			*ret = (enum grant_scope)i;
			return true;
		}
	}
	return false;
}

static bool
scope_is_kept(enum grant_scope s)
{
	return s == SCOPE_WORKSPACE || s == SCOPE_WORKSPACE_PREFIX;
}

static bool
scope_has_prefix(enum grant_scope s)
{
	return s == SCOPE_PREFIX || s == SCOPE_WORKSPACE_PREFIX;
}

/* Commands */

/* Programs whose second word says what they do: one word would cover too much. */
static const char *const with_subcommands[] = {
    "apt",  "apt-get",   "brew",      "bundle", "cargo",  "composer", "conda",  "docker", "dotnet",
    "gh",   "git",       "glab",      "go",     "gradle", "helm",     "hg",     "just",   "kubectl",
    "make", "meson",     "mvn",       "npm",    "pip",    "pnpm",     "podman", "poetry", "rustup",
    "svn",  "systemctl", "terraform", "uv",     "yarn",   "zig",
};

/* Programs and builtins that run what comes after them: their name says nothing. */
static const char *const wrappers[] = {
    ".",       "ash",    "awk",      "bash",   "builtin", "bun",    "busybox", "chroot", "command",
    "csh",     "dash",   "deno",     "doas",   "env",     "eval",   "exec",    "expect", "find",
    "fish",    "flock",  "gdb",      "ionice", "ksh",     "lua",    "nice",    "node",   "nohup",
    "nsenter", "npx",    "parallel", "perl",   "php",     "pkexec", "python",  "ruby",   "runuser",
    "script",  "setsid", "sh",       "source", "ssh",     "stdbuf", "strace",  "su",     "sudo",
    "tclsh",   "time",   "timeout",  "trap",   "unshare", "uvx",    "watch",   "xargs",  "zsh",
};

/* Programs whose plain arguments can do harm anywhere: a person looks at each use. */
static const char *const destroyers[] = {
    "chgrp",    "chmod",    "chown",   "cp",     "crontab", "curl",  "dd",    "halt",
    "install",  "kill",     "killall", "ln",     "mkfs",    "mount", "mv",    "pkill",
    "poweroff", "reboot",   "rm",      "rmdir",  "rsync",   "scp",   "shred", "shutdown",
    "tee",      "truncate", "umount",  "unlink", "wget",
};

static bool
word_in(struct str word, const char *const *table, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_is(word, table[i]))
			return true;
	return false;
}

/* No beginning with this program may be remembered. */
static bool
is_unsafe(struct str program)
{
	return word_in(program, wrappers, ARRAY_LEN(wrappers)) ||
	       word_in(program, destroyers, ARRAY_LEN(destroyers));
}

/* "/usr/bin/env" is env, "python3.11" is python. */
static struct str
program_name(struct str word)
{
	size_t at = word.len;

	while (at > 0 && word.ptr[at - 1] != '/')
		at--;
	struct str name = str_from(word, at);
	while (name.len > 1 && strchr("0123456789.", name.ptr[name.len - 1]))
		name.len--;
	return name;
}

/* Nothing but words: letters, digits and what no shell gives a meaning, parted by spaces. */
static bool
command_plain(struct str command)
{
	for (size_t i = 0; i < command.len; i++) {
		char c = command.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || (c != '\0' && strchr(" _-./,:@+", c));
		if (!plain)
			return false;
	}
	return true;
}

static bool
word_next(struct str *rest, struct str *ret)
{
	while (rest->len && rest->ptr[0] == ' ')
		*rest = str_from(*rest, 1);
	ptrdiff_t end = str_index(*rest, ' ');
	*ret = str_upto(*rest, end < 0 ? rest->len : (size_t)end);
	*rest = str_from(*rest, ret->len);
	return ret->len > 0;
}

/* The prefix's words are the command's first words. */
static bool
command_begins(struct str command, struct str prefix)
{
	struct str theirs, ours;

	while (word_next(&prefix, &ours))
		if (!word_next(&command, &theirs) || !str_eq(theirs, ours))
			return false;
	return true;
}

bool
grant_prefix(struct str command, struct str *ret)
{
	struct str rest = command, first, second;

	if (!command_plain(command) || !word_next(&rest, &first))
		return false;
	struct str program = program_name(first);
	if (program.len == 0 || is_unsafe(program))
		return false;
	struct str last = first;
	if (word_in(program, with_subcommands, ARRAY_LEN(with_subcommands))) {
		/* An option may change what the words after it mean (git -C, make -f). */
		if (!word_next(&rest, &second) || second.ptr[0] == '-')
			return false;
		last = second;
	}
	*ret = (struct str){first.ptr, (size_t)(last.ptr + last.len - first.ptr)};
	return true;
}

/* What will be remembered for this command: the prefix asked for, or the one we would choose. */
static int
prefix_choose(struct str command, struct str wanted, struct str *ret, struct err *e)
{
	struct str rest = wanted, first, second;

	if (!command.ptr)
		return err_set(e, E_VALIDATION, "this tool has no command, so no prefix of one");
	if (!wanted.ptr) {
		if (grant_prefix(command, ret))
			return 0;
		return err_set(e, E_VALIDATION, "no prefix of this command is safe to remember");
	}
	if (!command_plain(wanted) || !word_next(&rest, &first))
		return err_set(e, E_VALIDATION,
			       "a prefix must be plain words, without shell syntax");
	if (!command_plain(command) || !command_begins(command, wanted))
		return err_set(e, E_VALIDATION,
			       "the command must begin with the prefix and go on with plain words");
	if (!word_next(&rest, &second) && is_unsafe(program_name(first)))
		return err_set(e, E_VALIDATION,
			       "'%.*s' alone is not safe to remember: the prefix must say more",
			       STR_ARG(str_upto(first, 64)));
	*ret = str_trim(wanted);
	return 0;
}

/* Life */

static struct str
text_place(char **at, struct str s)
{
	if (!s.ptr)
		return s;
	struct str placed = {*at, s.len};
	memcpy(*at, s.ptr, s.len);
	*at += s.len;
	return placed;
}

static struct grant *
grant_new(const struct grant *from)
{
	struct buf rule = BUF_INIT(LIMIT_COMMAND_BYTES + 1 * KIB);
	struct grant *g = NULL;

	buf_addf(&rule, "remembered%s: %.*s", from->allow ? "" : " refusal", STR_ARG(from->tool));
	if (from->prefix.ptr)
		buf_addf(&rule, " '%.*s'", STR_ARG(from->prefix));
	buf_addf(&rule, " in this %s", scope_is_kept(from->scope) ? "workspace" : "session");
	if (!buf_failed(&rule))
		g = malloc(sizeof(*g) + from->session.len + from->workspace.len + from->tool.len +
			   from->prefix.len + from->by.len + rule.len);
	if (g) {
		char *at = g->text;
		*g = *from;
		g->node = (struct node){0};
		g->session = text_place(&at, from->session);
		g->workspace = text_place(&at, from->workspace);
		g->tool = text_place(&at, from->tool);
		g->prefix = text_place(&at, from->prefix);
		g->by = text_place(&at, from->by);
		g->rule = text_place(&at, buf_str(&rule));
	}
	buf_done(&rule);
	return g;
}

static void
grant_drop(struct grant *g)
{
	list_remove(&g->node);
	free(g);
}

static void
grant_load(const struct store_grant *row, void *arg)
{
	struct grants *all = arg;
	struct grant from = {
	    .scope = row->prefix.ptr ? SCOPE_WORKSPACE_PREFIX : SCOPE_WORKSPACE,
	    .allow = row->allow,
	    .created_us = row->created_us,
	    .workspace = row->workspace,
	    .tool = row->tool,
	    .prefix = row->prefix,
	    .by = row->by,
	};

	snprintf(from.id.text, sizeof(from.id.text), "%.*s", STR_ARG(row->id));
	struct grant *g = all->all.len < LIMIT_GRANTS ? grant_new(&from) : NULL;
	if (g)
		list_push(&all->all, &g->node);
	else
		all->incomplete = true;
}

int
grants_new(struct store *store, struct grants **ret, struct err *e)
{
	struct grants *all = malloc(sizeof(*all));
	if (!all)
		return err_plain(e, E_NOMEM);
	all->store = store;
	list_init(&all->all);
	all->incomplete = false;
	int code = store ? store_load_grants(store, grant_load, all, e) : 0;
	if (code == 0 && all->incomplete) /* a refusal that is forgotten would be a yes */
		code = err_set(e, E_LIMIT, "the remembered answers cannot all be loaded");
	if (code < 0)
		grants_free(all);
	else
		*ret = all;
	return code;
}

void
grants_free(struct grants *all)
{
	if (!all)
		return;
	LIST_EACH (&all->all, n)
		grant_drop(CONTAINER_OF(n, struct grant, node));
	free(all);
}

/* Same place, same tool, same prefix: the later answer takes the place of the earlier. */
static bool
grant_same(const struct grant *a, const struct grant *b)
{
	return a->scope == b->scope && str_eq(a->tool, b->tool) && str_eq(a->prefix, b->prefix) &&
	       (scope_is_kept(a->scope) ? str_eq(a->workspace, b->workspace)
					: str_eq(a->session, b->session));
}

static int
grant_keep(struct grants *all, const struct grant *g)
{
	struct store_grant row = {
	    .id = id_str(&g->id),
	    .workspace = g->workspace,
	    .tool = g->tool,
	    .prefix = g->prefix,
	    .allow = g->allow,
	    .created_us = g->created_us,
	    .by = g->by,
	};

	return all->store && scope_is_kept(g->scope) ? store_put_grant(all->store, &row) : 0;
}

static int
grant_forget(struct grants *all, struct grant *g)
{
	int code = all->store && scope_is_kept(g->scope)
		       ? store_delete_grant(all->store, id_str(&g->id))
		       : 0;

	if (code == 0)
		grant_drop(g);
	return code;
}

/* Takes g over. */
static int
grant_insert(struct grants *all, struct grant *g, struct err *e)
{
	int code = 0;

	LIST_EACH (&all->all, n) {
		struct grant *old = CONTAINER_OF(n, struct grant, node);
		if (code == 0 && grant_same(old, g))
			code = grant_forget(all, old);
	}
	if (code == 0 && all->all.len >= LIMIT_GRANTS)
		code = E_LIMIT;
	if (code == 0)
		code = grant_keep(all, g);
	if (code < 0) {
		free(g);
		return err_plain(e, code);
	}
	list_push(&all->all, &g->node);
	return 0;
}

int
grant_add(struct grants *all, const struct grant_ask *ask, enum grant_scope scope, bool allow,
	  struct str prefix, struct str by, char ret_id[40], struct err *e)
{
	struct grant from = {
	    .id = id_new("grant_"),
	    .scope = scope,
	    .allow = allow,
	    .created_us = clock_wall_us(),
	    .session = scope_is_kept(scope) ? (struct str){NULL, 0} : ask->session,
	    .workspace = ask->workspace,
	    .tool = ask->tool,
	    .by = by,
	};

	if (ret_id)
		ret_id[0] = '\0';
	if (scope == SCOPE_ONCE)
		return 0;
	if (scope_is_kept(scope) && ask->workspace.len == 0)
		return err_set(e, E_VALIDATION, "there is no workspace to remember this for");
	int code =
	    scope_has_prefix(scope) ? prefix_choose(ask->command, prefix, &from.prefix, e) : 0;
	if (code < 0)
		return code;
	struct grant *g = grant_new(&from);
	if (!g)
		return err_plain(e, E_NOMEM);
	code = grant_insert(all, g, e);
	if (code == 0 && ret_id)
		memcpy(ret_id, from.id.text, sizeof(from.id.text));
	return code;
}

/* Asking */

static bool
grant_in_place(const struct grant *g, const struct grant_ask *ask)
{
	return str_eq(g->tool, ask->tool) &&
	       (scope_is_kept(g->scope) ? str_eq(g->workspace, ask->workspace)
					: str_eq(g->session, ask->session));
}

enum grant_answer
grant_find(struct grants *all, const struct grant_ask *ask, struct str *ret_rule)
{
	enum grant_answer answer = GRANT_NONE;
	bool plain = ask->command.ptr && command_plain(ask->command);
	bool hidden = false;

	LIST_EACH (&all->all, n) {
		const struct grant *g = CONTAINER_OF(n, struct grant, node);
		if (!grant_in_place(g, ask))
			continue;
		if (g->prefix.ptr && !plain) {
			/* What was refused may stand anywhere in it. */
			hidden = hidden || !g->allow;
			continue;
		}
		if (g->prefix.ptr && !command_begins(ask->command, g->prefix))
			continue;
		if (answer == GRANT_NONE || !g->allow) {
			answer = g->allow ? GRANT_ALLOW : GRANT_DENY;
			*ret_rule = g->rule;
		}
		if (!g->allow)
			break;
	}
	return answer == GRANT_ALLOW && hidden ? GRANT_NONE : answer;
}

int
grant_revoke(struct grants *all, struct str id)
{
	LIST_EACH (&all->all, n) {
		struct grant *g = CONTAINER_OF(n, struct grant, node);
		if (str_eq(id_str(&g->id), id))
			return grant_forget(all, g);
	}
	return E_NO_GRANT;
}

void
grants_end_session(struct grants *all, struct str session)
{
	LIST_EACH (&all->all, n) {
		struct grant *g = CONTAINER_OF(n, struct grant, node);
		if (!scope_is_kept(g->scope) && str_eq(g->session, session))
			grant_drop(g);
	}
}

static void
grant_write(struct jw *w, const struct grant *g)
{
	char time[CLOCK_TEXT];

	clock_text(g->created_us, time);
	jw_object(w);
	jw_member(w, "id", id_str(&g->id));
	jw_member_z(w, "scope", grant_scope_name(g->scope));
	jw_member_z(w, "decision", g->allow ? "allow" : "deny");
	jw_member(w, "tool_name", g->tool);
	jw_member(w, "prefix", g->prefix);
	jw_member(w, "session_id", g->session);
	jw_member(w, "workspace_path", g->workspace);
	jw_member_z(w, "created_at", time);
	jw_member(w, "by", g->by);
	jw_end(w);
}

void
grants_write(struct jw *w, const struct grants *all)
{
	jw_array(w);
	LIST_EACH (&all->all, n)
		grant_write(w, CONTAINER_OF(n, struct grant, node));
	jw_end(w);
}
