/*
 * uri_template.h - could this URI have come from that template (RFC 6570)?
 *
 * Which values it was made with is not asked. An expression stands for what its operator can write:
 * {id} for anything without a slash, {+path} and {#part} for anything at all, {/dir} {.ext} {;x}
 * {?q} {&q} for nothing or for something that begins with that letter.
 */

#ifndef FRONT_URI_TEMPLATE_H
#define FRONT_URI_TEMPLATE_H

#include "base/str.h"

/* A template that is none, or has too many parts, fits nothing. */
bool uri_template_fits(struct str tmpl, struct str uri);
/* What stands before its first expression. */
struct str uri_template_prefix(struct str tmpl);

#endif
