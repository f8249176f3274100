/* plain.c - one line of plain text. */

#include "text/plain.h"

struct range {
	uint32_t first, last;
};

static const struct range blanks[] = {
    {0x09, 0x0d},     {0x1c, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
};

static const struct range controls[] = {{0x00, 0x1f}, {0x7f, 0x9f}};

/* The joiners U+200C and U+200D are not here: Persian, Hindi and many emoji are written with them.
 */
static const struct range hidden[] = {
    {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f},
    {0x202a, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
};

static bool
is_in(uint32_t c, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

bool
plain_is_blank(uint32_t c)
{
	return is_in(c, blanks, ARRAY_LEN(blanks));
}

bool
plain_line(struct buf *out, struct str text, size_t max_chars)
{
	size_t chars = 0, n;
	bool blank = false;

	for (; text.len > 0; text = str_from(text, n)) {
		uint32_t c = 0xfffd;
		struct str shown = S("\xef\xbf\xbd");
		n = str_utf8_char(text, &c);
		if (n > 0)
			shown = str_upto(text, n);
		else
			n = 1;
		if (plain_is_blank(c) || is_in(c, controls, ARRAY_LEN(controls))) {
			blank = chars > 0;
			continue;
		}
		if (is_in(c, hidden, ARRAY_LEN(hidden)))
			continue;
		if (chars + blank + 1 > max_chars)
			return true;
		if (blank)
			buf_addc(out, ' ');
		buf_add(out, shown);
		chars += blank + 1;
		blank = false;
	}
	return false;
}

struct str
plain_trim_end(struct str text)
{
	while (text.len > 0) {
		size_t start = text.len - 1;
		uint32_t c;
		while (start > 0 && ((unsigned char)text.ptr[start] & 0xc0) == 0x80)
			start--;
		if (str_utf8_char(str_from(text, start), &c) != text.len - start ||
		    !plain_is_blank(c))
			break;
		text.len = start;
	}
	return text;
}
