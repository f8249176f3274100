/*
 * grant.h - answers that are remembered, with the scope they were given for.
 *
 * A grant never overrides deny; it only answers a question before it is asked. Session
 * grants die with the session; workspace grants are kept in the store, listed and revocable.
 * A command prefix allows only commands that go on with plain words: nothing the shell would
 * treat specially (; & | < > $ ` ( ) { } quotes, backslash, newline, globs, ~, #, =) may stand
 * after it or in it, and it ends at a word boundary. Words are compared, so "git  status" is
 * "git status". Where a prefix is refused, an allowed tool does not answer for a command that
 * is not plain: what was refused may be hidden in it.
 */

#ifndef POLICY_GRANT_H
#define POLICY_GRANT_H

#include "base/err.h"
#include "json/write.h"
#include "store/store.h"

struct grants;
struct grant;

int grants_new(struct store *store, struct grants **ret, struct err *e); /* loads the kept ones */
void grants_free(struct grants *g);

struct grant_ask {
	struct str session;
	struct str workspace;
	struct str tool;
	struct str command; /* of a tool with a command argument, or {NULL,0} */
};

enum grant_answer { GRANT_NONE, GRANT_ALLOW, GRANT_DENY }; /* deny wins over allow */
/* *ret_rule: "remembered: write_file in this session"; lives as long as the grant. */
enum grant_answer grant_find(struct grants *g, const struct grant_ask *ask, struct str *ret_rule);

enum grant_scope {
	SCOPE_ONCE,             /* remembers nothing */
	SCOPE_SESSION,          /* this tool in this session */
	SCOPE_PREFIX,           /* commands that begin like this, in this session */
	SCOPE_WORKSPACE,        /* this tool in this workspace, for ever */
	SCOPE_WORKSPACE_PREFIX, /* commands that begin like this, in this workspace, for ever */
};
bool grant_scope_parse(
    struct str name,
    enum grant_scope *ret); /* "once" "session" "prefix" "workspace" "workspace_prefix" */
const char *grant_scope_name(enum grant_scope s);

/*
 * ask->command is cut to `prefix` for the prefix scopes ({NULL,0}: the first word, or the first
 * two where the first is a program with subcommands: git, npm, cargo...). E_VALIDATION when there
 * is no command, the command does not begin with the prefix, the prefix has shell syntax, or is
 * only the name of a program that runs others (sudo, env, bash...). The same answer for the same
 * place given again takes the place of the earlier one. E_LIMIT, E_NOMEM: nothing is remembered.
 * ret_id (may be NULL) gets the grant's id, "" for SCOPE_ONCE.
 */
int grant_add(struct grants *g, const struct grant_ask *ask, enum grant_scope scope, bool allow,
	      struct str prefix, struct str by, char ret_id[40], struct err *e);
/* What prefix would be remembered; for showing in the question. False: none is safe. */
bool grant_prefix(struct str command, struct str *ret);

int grant_revoke(struct grants *g, struct str id); /* E_NO_GRANT */
void grants_end_session(struct grants *g, struct str session);
void grants_write(struct jw *w, const struct grants *g); /* array, oldest first */

#endif
