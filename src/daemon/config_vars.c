/* config_vars.c - ${VAR}, ${VAR:-default}, ${env:VAR} and the places other clients know. */

#include <stdlib.h>

#include "daemon/config_inside.h"

/* One ${...}. */
struct reference {
	struct str name;
	struct str otherwise; /* behind ":-"; {NULL,0}: none */
};

static struct reference
reference_read(struct str inside)
{
	for (size_t i = 0; i + 1 < inside.len; i++)
		if (inside.ptr[i] == ':' && inside.ptr[i + 1] == '-')
			return (struct reference){str_upto(inside, i), str_from(inside, i + 2)};
	return (struct reference){inside, {NULL, 0}};
}

static bool
is_name(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return s.len > 0;
}

static struct str
environment(struct str name)
{
	char z[256];

	if (name.len >= sizeof(z))
		return (struct str){NULL, 0};
	memcpy(z, name.ptr, name.len);
	z[name.len] = '\0';
	return str_of(getenv(z));
}

/* Places that clients have names of their own for. */
static bool
place_find(const struct vars *v, struct str name, struct str *ret, const char **absent)
{
	struct str workspace = str_of(v->workspace), last = workspace;
	ptrdiff_t slash;

	while ((slash = str_index(last, '/')) >= 0)
		last = str_from(last, (size_t)slash + 1);
	const struct {
		const char *name;
		struct str value;
		const char *absent;
	} places[] = {
	    {"workspaceFolder", workspace,
	     "there is no workspace; the setting 'workspace' or serve's --workspace names one"},
	    {"workspaceFolderBasename", v->workspace ? last : workspace, "there is no workspace"},
	    {"userHome", str_of(v->home), "the home directory is not known"},
	    {"pathSeparator", S("/"), NULL},
	    {"/", S("/"), NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (!str_is(name, places[i].name))
			continue;
		*ret = places[i].value;
		*absent = places[i].absent;
		return true;
	}
	return false;
}

/* Without what stands behind ":-", which may be a secret. */
static bool
refuse(struct buf *problem, struct str name, const char *why)
{
	buf_addf(problem, "${%.*s}: %s", STR_ARG(str_utf8_upto(name, 80)), why);
	return false;
}

static bool
reference_fill(const struct vars *v, struct str inside, struct buf *out, struct buf *problem)
{
	struct reference ref = reference_read(inside);
	struct str name = ref.name, value;
	const char *absent = NULL;

	if (str_starts(name, S("input:")))
		return refuse(problem, name, "nobody is asked for inputs here; use a variable");
	if (place_find(v, name, &value, &absent)) {
		if (!value.ptr)
			return refuse(problem, name, absent);
		buf_add(out, value);
		return true;
	}
	if (str_starts(name, S("env:")))
		name = str_from(name, 4);
	if (!is_name(name))
		return refuse(problem, name,
			      "not known here; there are ${VAR}, ${VAR:-default}, ${env:VAR}, "
			      "${workspaceFolder}, ${userHome}");
	value = environment(name);
	if (value.len == 0 && ref.otherwise.ptr)
		value = ref.otherwise;
	buf_add(out, value);
	if (v->values && value.ptr && !env_is_public(name)) {
		buf_add(v->values, value);
		buf_addc(v->values, '\0');
	}
	if (!value.ptr)
		buf_addf(problem, "the variable %.*s is not set", STR_ARG(str_utf8_upto(name, 80)));
	return value.ptr != NULL;
}

bool
vars_fill(const struct vars *v, struct str text, struct buf *out, struct buf *problem)
{
	while (text.len) {
		ptrdiff_t dollar = str_index(text, '$');
		if (dollar < 0)
			break;
		buf_add(out, str_upto(text, (size_t)dollar));
		text = str_from(text, (size_t)dollar);
		if (!str_starts(text, S("${"))) { /* a price */
			buf_addc(out, '$');
			text = str_from(text, 1);
			continue;
		}
		ptrdiff_t end = str_index(text, '}');
		if (end < 0) {
			buf_addz(problem, "a ${ is not closed");
			return false;
		}
		struct str inside = str_from(str_upto(text, (size_t)end), 2);
		if (!reference_fill(v, inside, out, problem))
			return false;
		text = str_from(text, (size_t)end + 1);
	}
	buf_add(out, text);
	return true;
}
