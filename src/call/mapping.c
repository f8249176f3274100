/* mapping.c - arguments out of a record, by JSON Pointers. */

#include "call/mapping.h"

#include "base/limits.h"
#include "json/write.h"

/* "/args/seat" begins with "/args", and with it alone: "/argsx" does not. */
static bool
leads_into(struct str pointer, const char *part, struct str *ret_rest)
{
	if (!str_starts(pointer, str_of(part)))
		return false;
	*ret_rest = str_from(pointer, strlen(part));
	return ret_rest->len == 0 || ret_rest->ptr[0] == '/';
}

static const struct json *
find(struct str pointer, const struct json *args, const struct json *result)
{
	struct str rest;

	if (leads_into(pointer, "/args", &rest))
		return args ? json_pointer(args, rest) : NULL;
	if (leads_into(pointer, "/result", &rest))
		return result ? json_pointer(result, rest) : NULL;
	return NULL;
}

static int
refuse(struct str name, const struct json *from, struct err *e)
{
	struct str shown = str_utf8_upto(name, 64), pointer = json_str(from);

	if (!pointer.ptr)
		return err_set(e, E_VALIDATION,
			       "compensation_args.%.*s: must be a JSON Pointer into /args or "
			       "/result, or {\"const\": value}",
			       STR_ARG(shown));
	return err_set(e, E_VALIDATION,
		       "compensation_args.%.*s: %.*s leads to nothing in what is recorded of the "
		       "effect",
		       STR_ARG(shown), STR_ARG(str_utf8_upto(pointer, 128)));
}

static int
too_long(struct buf *out, struct err *e)
{
	return buf_failed(out) ? err_set(e, E_LIMIT, "the arguments are too long") : 0;
}

int
mapping_fill(const struct json *mapping, const struct json *args, const struct json *result,
	     struct buf *out, struct err *e)
{
	struct jw w = jw(out);

	if (!mapping) {
		if (args)
			jw_value(&w, args);
		else
			buf_addz(out, "{}");
		return too_long(out, e);
	}
	jw_object(&w);
	for (struct json_iter it = json_iter(mapping); json_next(&it);) {
		const struct json *value = json_is(it.value, JSON_STRING)
					       ? find(json_str(it.value), args, result)
					       : json_get(it.value, S("const"));
		if (!value)
			return refuse(it.key, it.value, e);
		jw_key_str(&w, it.key);
		jw_value(&w, value);
	}
	jw_end(&w);
	return too_long(out, e);
}
