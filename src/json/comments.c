/* comments.c - JSON as editors keep it: with comments, which become blanks. */

#include "base/buf.h"
#include "json/yaml.h"

struct scan {
	struct str text;
	size_t at;
	struct buf *out;
	bool found;
};

static char
peek(const struct scan *s, size_t ahead)
{
	return s->at + ahead < s->text.len ? s->text.ptr[s->at + ahead] : '\0';
}

static void
keep(struct scan *s, size_t n)
{
	struct str rest = str_upto(str_from(s->text, s->at), n);

	buf_add(s->out, rest);
	s->at += rest.len;
}

/* Lines and columns stay what they are. */
static void
blank(struct scan *s)
{
	char c = peek(s, 0);

	buf_addc(s->out, c == '\n' || c == '\r' ? c : ' ');
	s->at++;
}

static void
comment(struct scan *s)
{
	bool block = peek(s, 1) == '*';
	struct str rest = str_from(s->text, s->at + 2);
	const char *end = memmem(rest.ptr, rest.len, block ? "*/" : "\n", block ? 2 : 1);
	size_t to = end ? (size_t)(end - s->text.ptr) + (block ? 2 : 0) : s->text.len;

	s->found = true;
	while (s->at < to)
		blank(s);
}

/* To its end; in single quotes, which are YAML's, two of them are one. */
static void
quoted(struct scan *s)
{
	char quote = peek(s, 0);

	keep(s, 1);
	while (s->at < s->text.len) {
		bool pair =
		    quote == '"' ? peek(s, 0) == '\\' : peek(s, 0) == quote && peek(s, 1) == quote;
		bool ends = !pair && peek(s, 0) == quote;
		keep(s, pair ? 2 : 1);
		if (ends)
			return;
	}
}

static void
rest_of_line(struct scan *s)
{
	while (s->at < s->text.len && peek(s, 0) != '\n')
		keep(s, 1);
}

bool
json_blank_comments(struct str text, struct buf *out)
{
	struct scan s = {.text = text, .out = out};
	bool begun = false; /* the first brace has come */

	while (s.at < text.len) {
		char c = peek(&s, 0), before = s.at ? out->ptr[out->len - 1] : '\n';
		/* Inside a word of YAML these are letters: http://, don't, a#b. */
		bool fresh = strchr(" \t\r\n{}[],\"'", before) != NULL;
		if (buf_failed(out))
			return false;
		if (fresh && c == '/' && (peek(&s, 1) == '/' || peek(&s, 1) == '*'))
			comment(&s);
		else if (!begun && !strchr(" \t\r\n{", c))
			return false; /* YAML */
		else if ((c == '"' || c == '\'') && (fresh || before == ':'))
			quoted(&s);
		else if (c == '#' && fresh)
			rest_of_line(&s);
		else
			keep(&s, 1);
		begun = begun || c == '{';
	}
	return s.found && !buf_failed(out);
}
