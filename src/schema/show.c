/* show.c - values and places as errors name them: bounded, and harmless on a terminal. */

#include "json/canon.h"
#include "schema/inside.h"

#define NAME_SHOWN 80

static bool
is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/* A name inside a path: errors are lines, so it must not make new ones. */
static void
add_name(struct buf *out, struct str name)
{
	uint32_t c;

	name = str_utf8_upto(name, NAME_SHOWN);
	for (size_t n; (n = str_utf8_char(name, &c)) > 0; name = str_from(name, n))
		buf_add(out, is_control(c) ? S("?") : str_upto(name, n));
}

void
schema__place(struct buf *out, const struct place *at, const char *root)
{
	const struct place *row[2 * LIMIT_JSON_DEPTH]; /* a schema has two names for a level */
	size_t depth = 0;

	for (; at->up; at = at->up) {
		CHECK(depth < ARRAY_LEN(row));
		row[depth++] = at;
	}
	buf_addz(out, root);
	for (bool dot = *root; depth-- > 0; dot = true) {
		if (dot)
			buf_addc(out, '.');
		if (row[depth]->name.ptr)
			add_name(out, row[depth]->name);
		else
			buf_addf(out, "%zu", row[depth]->index);
	}
}

/* repr() of a string, as much of it as room allows. */
static void
show_quoted(struct buf *out, struct str s, size_t room)
{
	char quote = str_index(s, '\'') >= 0 && str_index(s, '"') < 0 ? '"' : '\'';
	uint32_t c;

	s = str_utf8_upto(s, room);
	buf_addc(out, quote);
	for (size_t i = 0, n; i < s.len; i += n) {
		n = str_utf8_char(str_from(s, i), &c);
		if (n == 0) /* the cut end of a character */
			break;
		if (c == (unsigned char)quote || c == '\\')
			buf_addf(out, "\\%c", (int)c);
		else if (c == '\n' || c == '\r' || c == '\t')
			buf_addz(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
		else if (is_control(c))
			buf_addf(out, "\\x%02x", c);
		else
			buf_add(out, str_upto(str_from(s, i), n));
	}
	buf_addc(out, quote);
}

static void
show_scalar(struct buf *out, const struct json *v, size_t room)
{
	switch (json_type(v)) {
	case JSON_NULL: buf_addz(out, "None"); return;
	case JSON_BOOL: buf_addz(out, json_bool(v) ? "True" : "False"); return;
	case JSON_STRING: show_quoted(out, json_str(v), room); return;
	default: break;
	}
	if (json_big(v).ptr)
		buf_add(out, str_upto(json_big(v), room));
	else
		canon_write(out, v, CANON_SPACED); /* numbers are Python's there */
}

/* Stops soon after there is enough: what is too much is cut by the caller. */
static void
show_value(struct buf *out, const struct json *v, size_t end)
{
	bool object = json_is(v, JSON_OBJECT), first = true;

	if (out->len >= end)
		return;
	if (!object && !json_is(v, JSON_ARRAY)) {
		show_scalar(out, v, end - out->len + 1);
		return;
	}
	buf_addc(out, object ? '{' : '[');
	for (struct json_iter it = json_iter(v); out->len < end && json_next(&it); first = false) {
		if (!first)
			buf_addz(out, ", ");
		if (object) {
			show_quoted(out, it.key, LIMIT_SCHEMA_SHOWN);
			buf_addz(out, ": ");
		}
		show_value(out, it.value, end); /* as deep as the door lets values be */
	}
	buf_addc(out, object ? '}' : ']');
}

static void
cut(struct buf *out, size_t from)
{
	struct str shown = str_from(buf_str(out), from);

	if (shown.len <= LIMIT_SCHEMA_SHOWN)
		return;
	out->len = from + str_utf8_upto(shown, LIMIT_SCHEMA_SHOWN).len;
	buf_addz(out, "...");
}

void
schema__show(struct buf *out, const struct json *v)
{
	size_t from = out->len;

	show_value(out, v, from + LIMIT_SCHEMA_SHOWN + 1);
	cut(out, from);
}

void
schema__show_str(struct buf *out, struct str s)
{
	size_t from = out->len;

	show_quoted(out, s, LIMIT_SCHEMA_SHOWN + 1);
	cut(out, from);
}
