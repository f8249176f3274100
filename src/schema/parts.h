/* parts.h - the parts of the engine that know nothing of schemas: URIs, regexes, formats. */

#ifndef SCHEMA_PARTS_H
#define SCHEMA_PARTS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* ---- uri.c: RFC 3986 section 5 ---- */

/* A part that is not there is {NULL,0}; the path always is. Nothing is checked. */
struct uri_parts {
	struct str scheme, authority, path, query, fragment;
};
struct uri_parts schema__uri_split(struct str text);

/*
 * The reference seen from base, as one text with its fragment, added to out: scheme and host in
 * lower case, dot segments gone. base may be "" or have no scheme (a schema need not say where it
 * is); the base's own fragment does not count. A URN has no path, so that only "#fragment" means
 * something seen from it; the rest is resolved as the RFC does ("urn:a:b" and "c": "urn:c").
 */
void schema__uri_resolve(struct buf *out, struct str base, struct str reference);

/* What stands before the first '#', and behind it ({NULL,0}: there is none). */
struct str schema__uri_whole(struct str uri);
struct str schema__uri_fragment(struct str uri);

/* %41 becomes A. False: a '%' without two hex digits behind it, or no UTF-8 in the end. */
bool schema__uri_decode(struct buf *out, struct str text);

/* ---- regex.c: ECMA 262 regular expressions (with the u flag) for PCRE2 ---- */

/*
 * Adds PCRE2's way to write the same pattern to out, for PCRE2_UTF, PCRE2_DOLLAR_ENDONLY,
 * PCRE2_MATCH_UNSET_BACKREF, PCRE2_ALLOW_EMPTY_CLASS, PCRE2_ALT_BSUX and PCRE2_NEVER_BACKSLASH_C,
 * never with PCRE2_UCP. What it makes of a byte is at most 128.
 *
 * strict: E_VALIDATION with the reason for all that ECMA 262 has not (format "regex"). Otherwise
 * what Python, Go and JavaScript without the u flag have passes too ((?i), \A, (?P<n>x), \-,
 * a{x), where it can mean only one thing; the rest is refused, never guessed. A pattern that
 * passed may still be refused by PCRE2 (a lookbehind without a fixed length).
 */
int schema__regex_write(struct buf *out, struct str ecma, bool strict, struct err *e);

/* ---- format.c ---- */

/*
 * The formats of both drafts, which differ only in what they have (draft 7 has no duration and no
 * uuid; to check them is allowed). NULL for a format nobody checks. text is UTF-8.
 */
typedef bool schema_format(struct str text);
schema_format *schema__format(struct str name);

#endif
