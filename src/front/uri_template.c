/*
 * uri_template.c - a URI held against a template.
 *
 * All places of the URI where a part can begin are followed at once, so the time is parts times
 * letters, whatever the template.
 */

#include "front/uri_template.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/limits.h"

/* What an operator writes before its values, and which letters come in them as they are. */
static const struct operator
{
	char letter;
	char first;       /* 0: nothing */
	const char *ends; /* letters that are never in it */
}
operators[] = {
    {0, 0, "/"}, /* many write more letters into it than they should */
    {'+', 0, ""},      {'#', '#', ""},  {'.', '.', "/?#"}, {'/', '/', "?#"},
    {';', ';', "/?#"}, {'?', '?', "#"}, {'&', '&', "#"},
};

static const struct operator* operator_of(char letter)
{
	for (size_t i = 1; i < ARRAY_LEN(operators); i++)
		if (operators[i].letter == letter)
			return &operators[i];
	return &operators[0];
}

/* The next part of *rest: a text, or what stands between braces. False: there is no closing one. */
static bool
next_part(struct str *rest, struct str *part, bool *expression)
{
	*expression = rest->ptr[0] == '{';
	ptrdiff_t end = str_index(*rest, *expression ? '}' : '{');

	if (*expression && end < 0)
		return false;
	size_t len = end < 0 ? rest->len : (size_t)end;
	*part = *expression ? str_from(str_upto(*rest, len), 1) : str_upto(*rest, len);
	*rest = str_from(*rest, len + (*expression ? 1 : 0));
	return true;
}

static bool
goes_on(const struct operator* op, char c)
{
	return c && !strchr(op->ends, c);
}

/* at[i]: the part may begin at i. Afterwards: the next one may. */
static void
pass_text(bool *at, struct str uri, struct str text)
{
	for (size_t i = uri.len + 1; i-- > 0;) {
		bool here = i >= text.len && at[i - text.len] &&
			    str_eq(str_upto(str_from(uri, i - text.len), text.len), text);
		at[i] = here;
	}
}

static void
pass_expression(bool *at, struct str uri, const struct operator* op)
{
	bool inside = false; /* a value that began before reaches up to here */

	for (size_t i = 0; i <= uri.len; i++) {
		bool begins = at[i];
		at[i] = begins || inside;
		if (i == uri.len)
			break;
		bool first =
		    begins && (op->first ? uri.ptr[i] == op->first : goes_on(op, uri.ptr[i]));
		inside = first || (inside && goes_on(op, uri.ptr[i]));
	}
}

static bool
fits(struct str tmpl, struct str uri, bool *at)
{
	size_t parts = 0;

	at[0] = true;
	while (tmpl.len > 0) {
		struct str part;
		bool expression;
		if (++parts > LIMIT_URI_PARTS || !next_part(&tmpl, &part, &expression))
			return false;
		if (!expression)
			pass_text(at, uri, part);
		else if (part.len > 0)
			pass_expression(at, uri, operator_of(part.ptr[0]));
		else
			return false;
	}
	return at[uri.len];
}

bool
uri_template_fits(struct str tmpl, struct str uri)
{
	if (uri.len > LIMIT_MCP_URI || tmpl.len > LIMIT_MCP_URI)
		return false;
	if (!str_starts(uri, uri_template_prefix(tmpl)))
		return false;
	bool *at = calloc(uri.len + 1, sizeof(*at));
	bool yes = at && fits(tmpl, uri, at);
	free(at);
	return yes;
}

struct str
uri_template_prefix(struct str tmpl)
{
	ptrdiff_t brace = str_index(tmpl, '{');

	return brace < 0 ? tmpl : str_upto(tmpl, (size_t)brace);
}
