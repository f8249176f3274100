/* fetch_check.c - what a request may say in its headers: nothing that breaks a line or a frame. */

#include "net/fetch_inside.h"

/* RFC 9110 section 5.6.2: the characters below and from 64 on that make a word. */
#define BIT(c) (UINT64_C(1) << ((c)&63))
#define DIGITS (UINT64_C(0x3ff) << 48)
#define LETTERS (UINT64_C(0x3ffffff) << 1 | UINT64_C(0x3ffffff) << 33)

static const uint64_t token_chars[2] = {
    DIGITS | BIT('!') | BIT('#') | BIT('$') | BIT('%') | BIT('&') | BIT('\'') | BIT('*') |
	BIT('+') | BIT('-') | BIT('.'),
    LETTERS | BIT('^') | BIT('_') | BIT('`') | BIT('|') | BIT('~'),
};

bool
fetch__is_token(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c >= 0x80 || !(token_chars[c >> 6] & BIT(c)))
			return false;
	}
	return s.len > 0;
}

/* Without a way out in its middle the compiler looks at many bytes at once. */
static bool
has_control(struct str s)
{
	unsigned found = 0;

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		found |= (unsigned)((c < ' ') & (c != '\t')) | (unsigned)(c == 0x7f);
	}
	return found;
}

/* What says how the request is framed is written by those who carry it. */
static const struct str framing[] = {
    S("Connection"), S("Content-Length"),    S("Expect"),  S("Keep-Alive"), S("TE"),
    S("Trailer"),    S("Transfer-Encoding"), S("Upgrade"),
};

/* Values are never shown: they may be secrets. */
int
fetch__header_check(const char *text, struct str *ret_name, struct str *ret_value, struct err *e)
{
	struct str line = str_of(text);
	ptrdiff_t colon = str_index(line, ':');
	struct str name = str_upto(line, colon < 0 ? 0 : (size_t)colon);

	if (!fetch__is_token(name))
		return err_set(e, E_VALIDATION, "a header is not of the form \"Name: value\"");
	*ret_name = name;
	*ret_value = str_trim(str_from(line, (size_t)colon + 1));
	if (has_control(*ret_value))
		return err_set(e, E_VALIDATION, "the header %.*s has a control character",
			       STR_ARG(name));
	for (size_t i = 0; i < ARRAY_LEN(framing); i++)
		if (framing[i].len == name.len && str_eq_nocase(name, framing[i]))
			return err_set(e, E_VALIDATION, "the header %.*s cannot be given",
				       STR_ARG(framing[i]));
	return 0;
}
