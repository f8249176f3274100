/*
 * repair.h - arguments that are nearly right, made right by five rules.
 *
 * Models often send the right thing in the wrong clothes: "42" where a number is asked for, the
 * whole object as a string of JSON. What is repaired here is only what can be meant in one way:
 *
 *	parse_stringified_object   the whole input is a string that holds an object
 *	str_to_integer             "42"     where an integer is asked for, and no string
 *	str_to_number              "1.5e3"  where a number is
 *	str_to_boolean             "true"   where a boolean is
 *	str_to_null                "null"   where null is
 *
 * Blanks around such a text do not count, nor does a byte order mark before an object. Only the
 * input's own members are looked at, and only `type` of the schema's `properties`. No name is
 * guessed, no member dropped, no digit lost. Everything else stays as it is, for the validation
 * to refuse. Repairing is off unless whoever brought the tool asked for it.
 */

#ifndef SCHEMA_REPAIR_H
#define SCHEMA_REPAIR_H

#include "base/buf.h"
#include "json/json.h"

/*
 * The repaired value is the root of *ret; NULL when there was nothing to repair, and then nothing
 * was allocated but to look into a text that might have been a number or an object. Each repair is
 * added to *repairs, with commas between: {"path":"$.n","rule":"str_to_integer"}. What finds no
 * room there is not repaired. E_NOMEM.
 */
int schema_repair(const struct json *schema, const struct json *value, struct json_doc **ret,
		  struct buf *repairs, struct err *e);

#endif
