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

/* Unicode's Default_Ignorable_Code_Point and annotations, without the joints below. */
static const struct range hidden[] = {
    {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},     {0x115f, 0x1160}, {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200b},   {0x200e, 0x200f},   {0x202a, 0x202e}, {0x2060, 0x206f},
    {0x3164, 0x3164},   {0xfe00, 0xfe0e},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfffb},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
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

/*
 * Persian, Hindi and many emoji are written with characters that join what stands beside them:
 * U+FE0F, then U+200C or U+200D. There is no use for more, but to hide a text in.
 */
enum joint { JOINT_NONE, JOINT_EMOJI, JOINT_JOINER };

static enum joint
joint_of(uint32_t c)
{
	if (c == 0xfe0f)
		return JOINT_EMOJI;
	return c == 0x200c || c == 0x200d ? JOINT_JOINER : JOINT_NONE;
}

bool
plain_line(struct buf *out, struct str text, size_t max_chars)
{
	size_t chars = 0, n;
	bool blank = false;
	enum joint joint, before = JOINT_JOINER; /* there is nothing to join yet */

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
			before = JOINT_JOINER;
			continue;
		}
		joint = joint_of(c);
		if (is_in(c, hidden, ARRAY_LEN(hidden)) || (joint && joint <= before))
			continue;
		if (chars + blank + 1 > max_chars)
			return true;
		if (blank)
			buf_addc(out, ' ');
		buf_add(out, shown);
		chars += blank + 1;
		blank = false;
		before = joint;
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
