/* config_env.c - the environment of a server that is started here: built, not inherited. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config_inside.h"
#include "loop/environ.h"

extern char **environ;

/* What programs need to find their way. Secrets live in the rest. */
static const char *const handed_on[] = {
    "USER",   "LOGNAME", "SHELL", "LANG",          "LC_*",         "TERM",
    "TMPDIR", "XDG_*",   "TZ",    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
};
/* Whatever else its name may be like. */
static const char *const never[] = {"TOKEN", "KEY", "SECRET", "PASSWORD", "CREDENTIAL"};

static bool
is_listed(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(handed_on); i++) {
		struct str row = str_of(handed_on[i]);
		bool prefix = str_ends(row, S("*"));
		row.len -= prefix;
		if (prefix ? str_starts(name, row) : str_eq(name, row))
			return true;
	}
	return false;
}

bool
env_is_secret(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		if (memmem(name.ptr, name.len, never[i], strlen(never[i])))
			return true;
	return false;
}

bool
env_is_public(struct str name)
{
	return (is_listed(name) || str_is(name, "HOME") || str_is(name, "PATH")) &&
	       !env_is_secret(name);
}

static bool
is_harmless(struct str name, struct str value)
{
	return is_listed(name) && !env_is_secret(name) && value.len > 0 &&
	       value.len <= ENVIRON_VALUE_MAX;
}

bool
env_name_fits(struct str name)
{
	return name.len > 0 && str_index(name, '=') < 0 && str_index(name, '\0') < 0;
}

void
env_put(struct env *e, struct str name, struct str value)
{
	char *text = arena_printf(e->arena, "%.*s=%.*s", STR_ARG(name), STR_ARG(value));
	size_t i = 0;

	while (i < e->count && strncmp(e->list[i], text ? text : "", name.len + 1) != 0)
		i++;
	if (!text || i >= LIMIT_SERVER_ENV) {
		e->failed = true;
		return;
	}
	e->list[i] = text;
	e->count += i == e->count;
}

void
env_init(struct env *e, struct arena *a)
{
	*e = (struct env){.arena = a};
	e->list = arena_alloc(a, (LIMIT_SERVER_ENV + 1) * sizeof(*e->list));
	const char *path = environ_path(a);
	if (!e->list || !path) {
		e->failed = true;
		return;
	}
	env_put(e, S("PATH"), str_of(path));
	env_put(e, S("HOME"), str_of(environ_home()));
	for (char **at = environ; at && *at; at++) {
		struct str value = str_of(*at), name;
		if (str_split(&value, '=', &name) && is_harmless(name, value))
			env_put(e, name, value);
	}
}

/* A dotenv file. */

static const char *
file_read(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	ssize_t n = 1;

	if (fd < 0)
		return strerror(errno);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) { /* a pipe could be waited for for ever */
		close(fd);
		return "no regular file";
	}
	while (n > 0) {
		char *room = buf_room(out, 4096);
		n = room ? read(fd, room, 4096) : -1;
		out->len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	return n < 0 ? "cannot be read" : NULL;
}

/* Inside double quotes \n and its like mean what they do elsewhere. */
static void
unescape(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] != '\\' || i + 1 == s.len) {
			buf_addc(out, s.ptr[i]);
			continue;
		}
		char c = s.ptr[++i];
		buf_addc(out, c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
	}
}

/* What stands behind "NAME=": in quotes, or up to a comment. */
static bool
value_read(struct str s, struct buf *out)
{
	char quote = s.len && (s.ptr[0] == '"' || s.ptr[0] == '\'') ? s.ptr[0] : '\0';
	size_t end = 1;

	if (!quote) {
		for (size_t i = 1; i < s.len; i++)
			if (s.ptr[i] == '#' && (s.ptr[i - 1] == ' ' || s.ptr[i - 1] == '\t'))
				s = str_upto(s, i);
		buf_add(out, str_starts(s, S("#")) ? S("") : str_trim(s));
		return true;
	}
	while (end < s.len && s.ptr[end] != quote)
		end += quote == '"' && s.ptr[end] == '\\' ? 2 : 1;
	if (end >= s.len)
		return false;
	struct str inside = str_from(str_upto(s, end), 1);
	if (quote == '"')
		unescape(out, inside);
	else
		buf_add(out, inside);
	return true;
}

static bool
line_put(struct env *e, struct str line, struct buf *value)
{
	struct str name;

	line = str_trim(line);
	if (line.len == 0 || line.ptr[0] == '#')
		return true;
	if (str_starts(line, S("export ")))
		line = str_trim(str_from(line, 7));
	if (str_index(line, '=') < 0 || !str_split(&line, '=', &name))
		return false;
	name = str_trim(name);
	buf_reset(value);
	if (!env_name_fits(name) || !value_read(str_trim(line), value) ||
	    str_index(buf_str(value), '\0') >= 0)
		return false;
	env_put(e, name, value->len ? buf_str(value) : S(""));
	return true;
}

bool
env_put_file(struct env *e, const char *path, struct buf *problem)
{
	struct buf text = BUF_INIT(LIMIT_CONFIG_BYTES), value = BUF_INIT(LIMIT_CONFIG_BYTES);
	const char *wrong = file_read(path, &text);
	struct str rest = buf_str(&text), line;

	if (wrong)
		buf_addf(problem, "the file: %s", wrong);
	for (unsigned n = 1; !wrong && str_split(&rest, '\n', &line); n++)
		if (!line_put(e, line, &value)) {
			wrong = "no assignment";
			buf_addf(problem, "the file's line %u is not NAME=value", n);
		}
	buf_done(&text);
	buf_done(&value);
	return !wrong;
}
