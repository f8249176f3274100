/*
 * format.h - the functions behind the names of format.c.
 *
 * Each reads its text once, from front to end, and allocates nothing. The text is UTF-8 and may
 * be hostile, have NULs in it, and be megabytes long.
 */

#ifndef SCHEMA_FORMAT_H
#define SCHEMA_FORMAT_H

#include "schema/parts.h"

static inline bool
format_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
format_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool
format_is_alnum(char c)
{
	return format_is_digit(c) || format_is_letter(c);
}

/* What a hexadecimal digit counts; -1: it is none. */
static inline int
format_hex(char c)
{
	int lower = c | 0x20;

	if (format_is_digit(c))
		return c - '0';
	return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static inline bool
format_is_hex(char c)
{
	return format_hex(c) >= 0;
}

/* A letter, a digit or one of the others. */
static inline bool
format_is_among(char c, const char *others)
{
	return format_is_alnum(c) || (c && strchr(others, c));
}

/* format_time.c: RFC 3339 */
schema_format schema__is_date, schema__is_time, schema__is_date_time, schema__is_duration;

/* format_net.c: RFC 2673, 4291, 5321, 6531 */
schema_format schema__is_ipv4, schema__is_ipv6, schema__is_email, schema__is_idn_email;

/* format_host.c: RFC 1123, 5890 to 5893 */
schema_format schema__is_hostname, schema__is_idn_hostname;

/* format_uri.c: RFC 3986, 3987, 6570 */
schema_format schema__is_uri, schema__is_uri_reference, schema__is_iri, schema__is_iri_reference,
    schema__is_uri_template;

#endif
