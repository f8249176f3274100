/* fields.c - an object read by a table, strictly. */

#include "json/inside.h"

#include <stdio.h>

static const struct {
	enum json_type type;
	const char *name;
} wants[] = {
    [WANT_STR] = {JSON_STRING, "a string"},
    [WANT_INT] = {JSON_NUMBER, "an integer"},
    [WANT_BOOL] = {JSON_BOOL, "a boolean"},
    [WANT_OBJECT] = {JSON_OBJECT, "an object"},
    [WANT_ARRAY] = {JSON_ARRAY, "an array"},
    [WANT_ANY] = {JSON_NULL, "a value"},
    [WANT_STR_OR_NULL] = {JSON_STRING, "a string or null"},
};

/* "where.name: reason", without what is empty; names of strangers are cut and made harmless. */
static int
refuse(struct err *e, const char *where, struct str name, const char *reason)
{
	struct buf quoted = BUF_INIT(512);

	json__quote(&quoted, str_utf8_upto(name, 64), false);
	struct str shown = buf_str(&quoted);
	if (shown.len >= 2)
		shown = (struct str){shown.ptr + 1, shown.len - 2};
	err_set(e, E_BAD_REQUEST, "%s%s%.*s%s%s", where, *where && name.len ? "." : "",
		STR_ARG(shown), *where || name.len ? ": " : "", reason);
	buf_done(&quoted);
	return E_BAD_REQUEST;
}

static int
refuse_type(struct err *e, const char *where, struct str name, const char *want,
	    const struct json *got)
{
	char reason[80];
	bool fraction = json_is(got, JSON_NUMBER) && want == wants[WANT_INT].name;

	snprintf(reason, sizeof(reason), "must be %s, got %s", want,
		 fraction ? "another number" : json_type_name(json_type(got)));
	return refuse(e, where, name, reason);
}

static bool
store(void *out, enum json_want want, const struct json *v)
{
	if (want == WANT_STR_OR_NULL && json_is(v, JSON_NULL))
		return true;
	if (want != WANT_ANY && !json_is(v, wants[want].type))
		return false;
	switch (want) {
	case WANT_STR:
	case WANT_STR_OR_NULL: *(struct str *)out = json_str(v); return true;
	case WANT_INT: return json_int(v, out);
	case WANT_BOOL: *(bool *)out = json_bool(v); return true;
	case WANT_OBJECT:
	case WANT_ARRAY:
	case WANT_ANY: *(const struct json **)out = v; return true;
	}
	BUG("a field that wants nothing");
}

static const struct json_field *
field_find(const struct json_field *table, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++)
		if (str_is(name, table[i].name))
			return &table[i];
	return NULL;
}

int
json_fields(const struct json *obj, const struct json_field *table, size_t count, const char *where,
	    void *out, struct err *e)
{
	if (!obj)
		return refuse(e, where, S(""), "must be an object");
	if (!json_is(obj, JSON_OBJECT))
		return refuse_type(e, where, S(""), wants[WANT_OBJECT].name, obj);
	for (struct json_iter it = json_iter(obj); json_next(&it);) {
		const struct json_field *f = field_find(table, count, it.key);
		if (!f)
			return refuse(e, where, it.key, "is not a known field");
		if (!store((char *)out + f->offset, f->want, it.value))
			return refuse_type(e, where, it.key, wants[f->want].name, it.value);
	}
	for (size_t i = 0; i < count; i++)
		if (table[i].required && !json_get(obj, str_of(table[i].name)))
			return refuse(e, where, str_of(table[i].name), "is required");
	return 0;
}
