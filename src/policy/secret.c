/* secret.c - which files hold secrets, by their names. */

#include "policy/secret.h"

#include "base/bug.h"
#include "base/glob.h"

/* With a piece that each path it fits must have: most have none of them, and looking is quick. */
static const struct {
	struct str pattern, piece;
} usual[] = {
    {S("**/.env"), S(".env")},
    {S("**/.env.*"), S(".env.")},
    {S("**/*.env"), S(".env")},
    {S("**/.envrc"), S(".envrc")},
    {S("**/*credentials*"), S("credentials")},
    {S("**/id_rsa*"), S("id_rsa")},
    {S("**/id_dsa*"), S("id_dsa")},
    {S("**/id_ecdsa*"), S("id_ecdsa")},
    {S("**/id_ed25519*"), S("id_ed25519")},
    {S("**/*.pem"), S(".pem")},
    {S("**/*.key"), S(".key")},
    {S("**/*.p12"), S(".p12")},
    {S("**/*.pfx"), S(".pfx")},
    {S("**/*.kdbx"), S(".kdbx")},
    {S("**/*.jks"), S(".jks")},
    {S("**/.ssh/**"), S(".ssh/")},
    {S("**/.gnupg/**"), S(".gnupg/")},
    {S("**/.aws/**"), S(".aws/")},
    {S("**/.kube/config"), S(".kube/config")},
    {S("**/.docker/config.json"), S(".docker/config.json")},
    {S("**/.netrc"), S(".netrc")},
    {S("**/.pgpass"), S(".pgpass")},
    {S("**/.npmrc"), S(".npmrc")},
    {S("**/.pypirc"), S(".pypirc")},
    {S("**/.htpasswd"), S(".htpasswd")},
    {S("**/secrets.*"), S("secrets.")},
    /* What is meant to be shown. */
    {S("!**/.env.example"), S(".env.example")},
    {S("!**/.env.sample"), S(".env.sample")},
    {S("!**/.env.template"), S(".env.template")},
    {S("!**/*.pub"), S(".pub")},
};

/* Two of the pieces have no dot. */
static bool
may_be_usual(struct str path)
{
	return str_index(path, '.') >= 0 || memmem(path.ptr, path.len, "id_", 3) ||
	       memmem(path.ptr, path.len, "credentials", 11);
}

static void
look(struct str pattern, struct str path, struct str *verdict)
{
	bool out = str_starts(pattern, S("!"));

	if (glob_file(str_from(pattern, out), path))
		*verdict = out ? (struct str){NULL, 0} : pattern;
}

struct str
secret_file(const struct secrets_list *more, struct str path)
{
	struct str verdict = {NULL, 0};

	if (!path.ptr || path.len == 0)
		return verdict;
	bool some = may_be_usual(path);
	for (size_t i = 0; some && i < ARRAY_LEN(usual); i++)
		if (memmem(path.ptr, path.len, usual[i].piece.ptr, usual[i].piece.len))
			look(usual[i].pattern, path, &verdict);
	for (size_t i = 0; i < more->count; i++)
		look(more->patterns[i], path, &verdict);
	return verdict;
}

/* Whatever may stand between two names in a command. Quotes and backslashes count too: they only
 * make words shorter, and a part of a name that is secret is enough to ask. */
static bool
ends_word(char c)
{
	return strchr(" \t\r\n;&|<>()$`'\"\\=:,{}[]!", c) != NULL; /* and the NUL */
}

struct str
secret_in_command(const struct secrets_list *more, struct str command)
{
	struct str verdict = {NULL, 0};

	for (size_t from = 0, at = 0; at <= command.len && !verdict.ptr; at++) {
		if (at < command.len && !ends_word(command.ptr[at]))
			continue;
		if (at > from)
			verdict = secret_file(more, (struct str){command.ptr + from, at - from});
		from = at + 1;
	}
	return verdict;
}
