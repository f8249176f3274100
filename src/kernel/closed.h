/*
 * closed.h - is a schema one that a kernel index may use?
 *
 * It says of every value what type it has; every object forbids additional properties; every
 * string has a longest, every number a least and a most; and it stands alone, so that its digest
 * is the digest of all it means. Keywords that are not known here are refused.
 */

#ifndef KERNEL_CLOSED_H
#define KERNEL_CLOSED_H

#include "json/json.h"

/* E_VALIDATION with the place: "/properties/a: a string without maxLength". */
int closed_check(const struct json *schema, struct err *e);

#endif
