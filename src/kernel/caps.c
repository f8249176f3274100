/* caps.c - how deep, how many, how long a payload may be. */

#include "kernel/caps.h"

static int
check(const struct json *v, unsigned depth, struct err *e)
{
	bool object = json_is(v, JSON_OBJECT), array = json_is(v, JSON_ARRAY);
	int code = 0;

	if (json_is(v, JSON_STRING) && json_str(v).len > LIMIT_KERNEL_STRING)
		return err_set(e, E_VALIDATION,
			       "caps: a string of %zu bytes, at most %zu are taken",
			       json_str(v).len, LIMIT_KERNEL_STRING);
	if (!object && !array)
		return 0;
	if (depth == LIMIT_KERNEL_DEPTH)
		return err_set(e, E_VALIDATION, "caps: deeper than %d", LIMIT_KERNEL_DEPTH);
	if (array && json_len(v) > LIMIT_KERNEL_ITEMS)
		return err_set(e, E_VALIDATION, "caps: an array of %zu items, at most %d are taken",
			       json_len(v), LIMIT_KERNEL_ITEMS);
	for (struct json_iter it = json_iter(v); code == 0 && json_next(&it);) {
		if (object && it.key.len > LIMIT_KERNEL_KEY &&
		    chars_count(it.key) > LIMIT_KERNEL_KEY)
			return err_set(e, E_VALIDATION,
				       "caps: a key of %zu characters, at most %d are taken",
				       chars_count(it.key), LIMIT_KERNEL_KEY);
		code = check(it.value, depth + 1, e);
	}
	return code;
}

int
caps_check(const struct json *payload, struct err *e)
{
	return check(payload, 0, e);
}
