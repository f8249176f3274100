/* caps.h - the global caps of a payload, whatever its tool's schema says (seed 003). */

#ifndef KERNEL_CAPS_H
#define KERNEL_CAPS_H

#include "base/limits.h"
#include "json/json.h"

/* Depth, lengths of keys and strings, items of arrays. E_VALIDATION says which. */
int caps_check(const struct json *payload, struct err *e);

#endif
