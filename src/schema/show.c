/* show.c - values and places as errors name them: bounded, and harmless on a terminal. */

#include "json/canon.h"
#include "json/peek.h"
#include "schema/program.h"

#define NAME_SHOWN 80

static bool
is_control(uint32_t c)
{
	/* Also what turns the direction of writing: it can make one text look like another. */
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0xfeff;
}

/* ---- places ---- */

void
schema__plain(struct buf *out, struct str text)
{
	uint32_t c;

	for (size_t n; (n = str_utf8_char(text, &c)) > 0; text = str_from(text, n))
		buf_add(out, is_control(c) ? S("?") : str_upto(text, n));
}

/* A name inside a path: errors are lines, so it must not make new ones. */
static void
add_name(struct buf *out, struct str name, enum where form)
{
	uint32_t c;

	if (form != WHERE_POINTER)
		name = str_utf8_upto(name, NAME_SHOWN);
	for (size_t n; (n = str_utf8_char(name, &c)) > 0; name = str_from(name, n)) {
		if (form != WHERE_POINTER && is_control(c))
			buf_addc(out, '?');
		else if (form != WHERE_DOTTED && (c == '~' || c == '/'))
			buf_addz(out, c == '~' ? "~0" : "~1");
		else
			buf_add(out, str_upto(name, n));
	}
}

void
schema__where_name(struct buf *out, struct str name, enum where form)
{
	if (form != WHERE_DOTTED)
		buf_addc(out, '/');
	add_name(out, name, form);
}

/*
 * Values stand in reading order, one behind the other: what is inside a container lies between
 * it and what follows it. So the way to a value can be found without having been kept.
 */
void
schema__where(struct buf *out, const struct json *root, const struct json *v, enum where form)
{
	size_t from = out->len;

	if (root == v && form == WHERE_LINE)
		buf_addz(out, "(root)");
	while (root != v && peek_type(root) >= JSON_ARRAY) {
		bool object = peek_type(root) == JSON_OBJECT;
		const struct json *at = peek_first(root);
		size_t i = 0, n = peek_len(root);
		for (; i < n; i++) {
			const struct json *value = object ? peek_value(at) : at;
			if (v < peek_next(value))
				break;
			at = peek_next(value);
		}
		if (i == n)
			return;
		if (form == WHERE_DOTTED && out->len > from)
			buf_addc(out, '.');
		if (object) {
			schema__where_name(out, peek_str(at), form);
		} else {
			buf_addz(out, form == WHERE_DOTTED ? "" : "/");
			buf_add_u64(out, i);
		}
		if (v == at) /* a key, or the item itself */
			return;
		root = object ? peek_value(at) : at;
	}
}

/* ---- values ---- */

static const struct {
	const char *null, *yes, *no;
	enum canon_form number;
} words[] = {
    [MANNER_JSON] = {"null", "true", "false", CANON_JCS},
    [MANNER_PYTHON] = {"None", "True", "False", CANON_SPACED},
};

/* A string in quotes, as much of it as room allows. */
static void
show_quoted(struct buf *out, struct str s, size_t room, enum manner manner)
{
	bool apostrophe = str_index(s, '\'') >= 0 && str_index(s, '"') < 0;
	char quote = manner == MANNER_JSON || apostrophe ? '"' : '\'';
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
			buf_addf(out, manner == MANNER_JSON || c > 0xff ? "\\u%04x" : "\\x%02x", c);
		else
			buf_add(out, str_upto(str_from(s, i), n));
	}
	buf_addc(out, quote);
}

static void
show_scalar(struct buf *out, const struct json *v, size_t room, enum manner manner)
{
	switch (json_type(v)) {
	case JSON_NULL: buf_addz(out, words[manner].null); return;
	case JSON_BOOL: buf_addz(out, json_bool(v) ? words[manner].yes : words[manner].no); return;
	case JSON_STRING: show_quoted(out, json_str(v), room, manner); return;
	default: break;
	}
	if (json_big(v).ptr)
		buf_add(out, str_upto(json_big(v), room));
	else
		canon_write(out, v, words[manner].number);
}

/* Stops soon after there is enough: what is too much is cut by the caller. */
static void
show_value(struct buf *out, const struct json *v, size_t end, enum manner manner)
{
	bool object = json_is(v, JSON_OBJECT), first = true;

	if (out->len >= end)
		return;
	if (!object && !json_is(v, JSON_ARRAY)) {
		show_scalar(out, v, end - out->len + 1, manner);
		return;
	}
	buf_addc(out, object ? '{' : '[');
	for (struct json_iter it = json_iter(v); out->len < end && json_next(&it); first = false) {
		if (!first)
			buf_addz(out, ", ");
		if (object) {
			show_quoted(out, it.key, LIMIT_SCHEMA_SHOWN, manner);
			buf_addz(out, ": ");
		}
		show_value(out, it.value, end, manner); /* as deep as the door lets values be */
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
schema__show(struct buf *out, const struct json *v, enum manner manner)
{
	size_t from = out->len;

	show_value(out, v, from + LIMIT_SCHEMA_SHOWN + 1, manner);
	cut(out, from);
}

void
schema__show_str(struct buf *out, struct str s, enum manner manner)
{
	size_t from = out->len;

	show_quoted(out, s, LIMIT_SCHEMA_SHOWN + 1, manner);
	cut(out, from);
}
