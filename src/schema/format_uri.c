/* format_uri.c - URIs, IRIs and URI templates (RFC 3986, 3987, 6570). */

#include "schema/format.h"

#define SUB_DELIMS "!$&'()*+,;="
#define PCHAR "-._~" SUB_DELIMS ":@"

/* What is allowed beside ASCII. */
enum beyond {
	ASCII_ONLY,
	UCSCHAR,  /* letters and symbols of Unicode */
	IPRIVATE, /* private use, too */
};

/* RFC 3987 section 2.2: no controls, noncharacters, specials or tags. */
static bool
point_is_allowed(uint32_t point, enum beyond beyond)
{
	bool private = (point >= 0xe000 && point <= 0xf8ff) || point >= 0xf0000;

	if (beyond == ASCII_ONLY || point < 0xa0 || (point & 0xfffe) == 0xfffe)
		return false;
	if (private)
		return beyond == IPRIVATE;
	return !(point >= 0xfdd0 && point <= 0xfdef) && !(point >= 0xfff0 && point <= 0xffff) &&
	       !(point >= 0xe0000 && point <= 0xe0fff);
}

/* The length of the character, or %41, that the text begins with; 0: not one that is allowed. */
static size_t
char_length(struct str text, const char *others, enum beyond beyond)
{
	uint32_t point;

	if (text.ptr[0] == '%')
		return text.len > 2 && format_is_hex(text.ptr[1]) && format_is_hex(text.ptr[2]) ? 3
												: 0;
	if (!(text.ptr[0] & 0x80))
		return format_is_among(text.ptr[0], others);
	size_t n = str_utf8_char(text, &point);
	return n > 0 && point_is_allowed(point, beyond) ? n : 0;
}

static bool
is_spelled(struct str text, const char *others, enum beyond beyond)
{
	while (text.len > 0) {
		size_t n = char_length(text, others, beyond);
		if (n == 0)
			return false;
		text = str_from(text, n);
	}
	return true;
}

static bool
is_scheme(struct str text)
{
	if (text.len == 0 || format_is_digit(text.ptr[0]) || !format_is_alnum(text.ptr[0]))
		return false;
	for (size_t i = 1; i < text.len; i++)
		if (!format_is_among(text.ptr[i], "+-."))
			return false;
	return true;
}

/* v1.anything: addresses of the future */
static bool
is_ip_future(struct str text)
{
	size_t n = 1;

	if (!str_eq_nocase(str_upto(text, 1), S("v")))
		return false;
	while (n < text.len && format_is_hex(text.ptr[n]))
		n++;
	struct str rest = str_from(text, n + 1);
	if (n == 1 || n == text.len || text.ptr[n] != '.' || rest.len == 0)
		return false;
	return str_index(rest, '%') < 0 && is_spelled(rest, "-._~" SUB_DELIMS ":", ASCII_ONLY);
}

static bool
is_port(struct str text)
{
	if (text.len > 0 && text.ptr[0] != ':')
		return false;
	for (size_t i = 1; i < text.len; i++)
		if (!format_is_digit(text.ptr[i]))
			return false;
	return true;
}

static bool
is_authority(struct str text, enum beyond beyond)
{
	ptrdiff_t at = str_index(text, '@');

	if (at >= 0) {
		if (!is_spelled(str_upto(text, (size_t)at), "-._~" SUB_DELIMS ":", beyond))
			return false;
		text = str_from(text, (size_t)at + 1);
	}
	if (str_starts(text, S("["))) {
		ptrdiff_t end = str_index(text, ']');
		if (end < 0)
			return false;
		struct str address = {text.ptr + 1, (size_t)end - 1};
		return (schema__is_ipv6(address) || is_ip_future(address)) &&
		       is_port(str_from(text, (size_t)end + 1));
	}
	ptrdiff_t colon = str_index(text, ':');
	struct str host = colon < 0 ? text : str_upto(text, (size_t)colon);
	return is_spelled(host, "-._~" SUB_DELIMS, beyond) && is_port(str_from(text, host.len));
}

static bool
is_reference(struct str text, bool absolute, enum beyond beyond)
{
	struct uri_parts u = schema__uri_split(text);

	/* A colon in the first segment of a relative path has been taken for a scheme's. */
	if (u.scheme.ptr ? !is_scheme(u.scheme) : absolute || str_starts(text, S(":")))
		return false;
	return (!u.authority.ptr || is_authority(u.authority, beyond)) &&
	       is_spelled(u.path, PCHAR "/", beyond) &&
	       is_spelled(u.query, PCHAR "/?", beyond == UCSCHAR ? IPRIVATE : beyond) &&
	       is_spelled(u.fragment, PCHAR "/?", beyond);
}

bool
schema__is_uri(struct str text)
{
	return is_reference(text, true, ASCII_ONLY);
}

bool
schema__is_uri_reference(struct str text)
{
	return is_reference(text, false, ASCII_ONLY);
}

bool
schema__is_iri(struct str text)
{
	return is_reference(text, true, UCSCHAR);
}

bool
schema__is_iri_reference(struct str text)
{
	return is_reference(text, false, UCSCHAR);
}

/* ---- URI templates ---- */

/* RFC 6570 section 2.3: parts of letters, digits, _ and %41 with dots between. */
static bool
is_variable(struct str name)
{
	struct str part;

	while (str_split(&name, '.', &part))
		if (part.len == 0 || !is_spelled(part, "_", ASCII_ONLY))
			return false;
	return true;
}

/* Section 2.4: a variable with ":3" or "*" behind it. */
static bool
is_varspec(struct str text)
{
	ptrdiff_t colon = str_index(text, ':');
	uint64_t max;

	if (colon >= 0) {
		struct str prefix = str_from(text, (size_t)colon + 1);
		return prefix.len <= 4 && str_to_u64(prefix, &max) && prefix.ptr[0] != '0' &&
		       is_variable(str_upto(text, (size_t)colon));
	}
	return is_variable(str_ends(text, S("*")) ? str_upto(text, text.len - 1) : text);
}

/* What stands between { and }. */
static bool
is_expression(struct str text)
{
	struct str varspec;

	if (text.len > 0 && text.ptr[0] && strchr("+#./;?&", text.ptr[0]))
		text = str_from(text, 1);
	while (str_split(&text, ',', &varspec))
		if (!is_varspec(varspec))
			return false;
	return true;
}

bool
schema__is_uri_template(struct str text)
{
	while (text.len > 0) {
		if (text.ptr[0] == '{') {
			ptrdiff_t end = str_index(text, '}');
			if (end < 0 || !is_expression((struct str){text.ptr + 1, (size_t)end - 1}))
				return false;
			text = str_from(text, (size_t)end + 1);
			continue;
		}
		/* Section 2.1, with the apostrophe that its errata add. */
		size_t n = char_length(text, "!#$&'()*+,-./:;=?@[]_~", IPRIVATE);
		if (n == 0)
			return false;
		text = str_from(text, n);
	}
	return true;
}
