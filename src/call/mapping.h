/*
 * mapping.h - what a tool is called with that takes an effect back.
 *
 *	{"id": "/result/booking/id", "seat": "/args/seat", "why": {"const": "undone"}}
 *
 * Each argument comes from the record of the effect: what its tool was given, what it gave back, or
 * a value that stands in the mapping itself.
 */

#ifndef CALL_MAPPING_H
#define CALL_MAPPING_H

#include "base/buf.h"
#include "json/json.h"

/*
 * The arguments as JSON text. Without a mapping they are those the effect had. `result` is what its
 * tool gave (given.c), or NULL. E_VALIDATION: names the argument that cannot be had; E_LIMIT.
 */
int mapping_fill(const struct json *mapping, const struct json *args, const struct json *result,
		 struct buf *out, struct err *e);

#endif
