/* format.c - the formats by name, and the small ones. */

#include "base/limits.h"
#include "schema/format.h"

/* RFC 4122 section 3, of any version and variant. */
static bool
is_uuid(struct str text)
{
	if (text.len != 36)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? text.ptr[i] != '-' : !format_is_hex(text.ptr[i]))
			return false;
	}
	return true;
}

/* RFC 6901 */
static bool
is_json_pointer(struct str text)
{
	if (text.len > 0 && text.ptr[0] != '/')
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '~' &&
		    (i + 1 == text.len || (text.ptr[i + 1] != '0' && text.ptr[i + 1] != '1')))
			return false;
	return true;
}

/* draft-bhutton-relative-json-pointer-00; "0+1/a" is of a later one. */
static bool
is_relative_json_pointer(struct str text)
{
	size_t n = 0;

	while (n < text.len && format_is_digit(text.ptr[n]))
		n++;
	if (n == 0 || (n > 1 && text.ptr[0] == '0'))
		return false;
	struct str rest = str_from(text, n);
	return str_is(rest, "#") || is_json_pointer(rest);
}

/* One that a schema could have as its pattern. Only a script's name makes PCRE2 allocate. */
static bool
is_regex(struct str text)
{
	struct buf unwanted = BUF_INIT(0); /* takes nothing, so nothing is allocated */

	return text.len <= LIMIT_PATTERN_BYTES &&
	       schema__regex_write(&unwanted, text, true, NULL) == 0;
}

schema_format *
schema__format(struct str name)
{
	static const struct {
		struct str name;
		schema_format *check;
	} formats[] = {
#define FORMAT(name, check) {{name, sizeof(name) - 1}, check}
	    FORMAT("date-time", schema__is_date_time),
	    FORMAT("date", schema__is_date),
	    FORMAT("time", schema__is_time),
	    FORMAT("duration", schema__is_duration),
	    FORMAT("email", schema__is_email),
	    FORMAT("idn-email", schema__is_idn_email),
	    FORMAT("hostname", schema__is_hostname),
	    FORMAT("idn-hostname", schema__is_idn_hostname),
	    FORMAT("ipv4", schema__is_ipv4),
	    FORMAT("ipv6", schema__is_ipv6),
	    FORMAT("uri", schema__is_uri),
	    FORMAT("uri-reference", schema__is_uri_reference),
	    FORMAT("iri", schema__is_iri),
	    FORMAT("iri-reference", schema__is_iri_reference),
	    FORMAT("uri-template", schema__is_uri_template),
	    FORMAT("uuid", is_uuid),
	    FORMAT("json-pointer", is_json_pointer),
	    FORMAT("relative-json-pointer", is_relative_json_pointer),
	    FORMAT("regex", is_regex),
	};

	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (str_eq(formats[i].name, name))
			return formats[i].check;
	return NULL;
}
