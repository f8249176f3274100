/* format_net.c - addresses and mailboxes. */

#include "schema/format.h"

enum {
	LOCAL_PART_BYTES = 64, /* RFC 5321 section 4.5.3.1.1 */
	HOST_BYTES = 253,
	LABEL_BYTES = 63,
};

/* RFC 2673 section 3.2: four numbers without leading zeros. */
bool
schema__is_ipv4(struct str text)
{
	struct str part;
	unsigned parts = 0;
	uint64_t n;

	while (parts <= 4 && str_split(&text, '.', &part)) {
		if (part.len > 3 || !str_to_u64(part, &n) || n > 255)
			return false;
		if (part.len > 1 && part.ptr[0] == '0')
			return false;
		parts++;
	}
	return parts == 4;
}

static bool
is_hextet(struct str part)
{
	if (part.len < 1 || part.len > 4)
		return false;
	for (size_t i = 0; i < part.len; i++)
		if (!format_is_hex(part.ptr[i]))
			return false;
	return true;
}

/* Groups of 16 bits; an IPv4 address may stand for the last two. False: not groups. */
static bool
hextets_count(struct str text, bool last, unsigned *count)
{
	struct str part;

	if (text.len == 0)
		return true;
	while (*count <= 8 && str_split(&text, ':', &part)) {
		bool ipv4 = last && !text.ptr && schema__is_ipv4(part);
		if (!ipv4 && !is_hextet(part))
			return false;
		*count += ipv4 ? 2 : 1;
	}
	return *count <= 8;
}

/* RFC 4291 section 2.2 */
bool
schema__is_ipv6(struct str text)
{
	const char *gap = text.len ? memmem(text.ptr, text.len, "::", 2) : NULL;
	unsigned count = 0;

	if (!gap)
		return hextets_count(text, true, &count) && count == 8;
	struct str front = {text.ptr, (size_t)(gap - text.ptr)};
	struct str back = str_from(text, front.len + 2);
	return hextets_count(front, false, &count) && hextets_count(back, true, &count) &&
	       count < 8;
}

/* The domain of a mailbox: labels of letters, digits and hyphens, with utf8 of anything above. */
static bool
is_domain(struct str text, bool utf8)
{
	struct str label;

	if (text.len == 0 || text.len > HOST_BYTES)
		return false;
	while (str_split(&text, '.', &label)) {
		if (label.len == 0 || label.len > LABEL_BYTES || label.ptr[0] == '-' ||
		    label.ptr[label.len - 1] == '-')
			return false;
		for (size_t i = 0; i < label.len; i++)
			if (!format_is_among(label.ptr[i], "-") && !(utf8 && label.ptr[i] & 0x80))
				return false;
	}
	return true;
}

/* RFC 5321 section 4.1.3, the two kinds that exist. */
static bool
is_address_literal(struct str text)
{
	static const struct str tag = {"IPv6:", 5};

	if (text.len < 2 || text.ptr[0] != '[' || text.ptr[text.len - 1] != ']')
		return false;
	text = (struct str){text.ptr + 1, text.len - 2};
	if (str_eq_nocase(str_upto(text, tag.len), tag))
		return schema__is_ipv6(str_from(text, tag.len));
	return schema__is_ipv4(text);
}

/* The length of the quoted string the text begins with; 0: none. */
static size_t
quoted_length(struct str text, bool utf8)
{
	for (size_t i = 1; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (c == '"')
			return i + 1;
		if (c == '\\' && ++i < text.len)
			c = (unsigned char)text.ptr[i];
		if (c < ' ' || c == 0x7f || (c > 0x7f && !utf8))
			return 0;
	}
	return 0;
}

/* The length of the words with dots between that the text begins with; 0: none. */
static size_t
dotted_length(struct str text, bool utf8)
{
	bool word = false;
	size_t i = 0;

	for (; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '.' && !word)
			return 0;
		if (c != '.' && !format_is_among(c, "!#$%&'*+-/=?^_`{|}~") && !(utf8 && c & 0x80))
			break;
		word = c != '.';
	}
	return word ? i : 0;
}

/* RFC 5321 section 4.1.2, with utf8 as RFC 6531 section 3.3 extends it. */
static bool
is_mailbox(struct str text, bool utf8)
{
	size_t n =
	    str_starts(text, S("\"")) ? quoted_length(text, utf8) : dotted_length(text, utf8);

	if (n == 0 || n > LOCAL_PART_BYTES || n == text.len || text.ptr[n] != '@')
		return false;
	struct str domain = str_from(text, n + 1);
	return is_domain(domain, utf8) || is_address_literal(domain);
}

bool
schema__is_email(struct str text)
{
	return is_mailbox(text, false);
}

bool
schema__is_idn_email(struct str text)
{
	return is_mailbox(text, true);
}
