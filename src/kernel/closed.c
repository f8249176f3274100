/* closed.c - schemas that leave nothing open. */

#include "kernel/closed.h"

#include "base/buf.h"
#include "base/limits.h"

#define NESTING 16   /* schemas in one another; what refers to itself passes it */
#define SCHEMAS 4096 /* looked at, those that are referred to each time */
#define PLACE_BYTES 300

struct looking {
	const struct json *root;
	struct buf place; /* a JSON Pointer */
	unsigned depth, looked;
	struct err *e;
};

static int look(struct looking *l, const struct json *schema);

static int
refuse(struct looking *l, const char *why)
{
	return err_set(l->e, E_VALIDATION, "%.*s%s%s", STR_ARG(buf_str(&l->place)),
		       l->place.len ? ": " : "", why);
}

/* A schema behind `step`. */
static int
look_into(struct looking *l, const char *step, struct str name, const struct json *schema)
{
	size_t before = l->place.len;

	buf_addf(&l->place, "/%s%s%.*s", step, name.len ? "/" : "",
		 STR_ARG(str_utf8_upto(name, 60)));
	l->place.failed = false; /* only for showing */
	int code = look(l, schema);
	l->place.len = code < 0 ? l->place.len : before;
	return code;
}

/* ---- keywords ---- */

static bool
given(const struct json *schema, const char *keyword)
{
	return json_get(schema, str_of(keyword)) != NULL;
}

static int
of_object(struct looking *l, const struct json *schema)
{
	const struct json *rest = json_get(schema, S("additionalProperties"));

	if (!json_is(rest, JSON_BOOL) || json_bool(rest))
		return refuse(l, "an object must have additionalProperties: false");
	return 0;
}

static int
of_string(struct looking *l, const struct json *schema)
{
	return given(schema, "maxLength") ? 0 : refuse(l, "a string without maxLength");
}

static int
of_number(struct looking *l, const struct json *schema)
{
	bool least = given(schema, "minimum") || given(schema, "exclusiveMinimum");
	bool most = given(schema, "maximum") || given(schema, "exclusiveMaximum");

	return least && most ? 0 : refuse(l, "a number without minimum and maximum");
}

static int
of_array(struct looking *l, const struct json *schema)
{
	return given(schema, "items") ? 0 : refuse(l, "an array without items");
}

static const struct {
	const char *name;
	int (*check)(struct looking *l, const struct json *schema);
} types[] = {
    {"object", of_object}, {"string", of_string}, {"number", of_number}, {"integer", of_number},
    {"array", of_array},   {"boolean", NULL},     {"null", NULL},
};

static int
look_type(struct looking *l, const struct json *schema, struct str type)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_is(type, types[i].name))
			return types[i].check ? types[i].check(l, schema) : 0;
	return refuse(l, "has no type that is known");
}

static int
look_types(struct looking *l, const struct json *schema)
{
	const struct json *type = json_get(schema, S("type"));
	int code = 0;

	/* Values that are listed have their caps in them. */
	if (given(schema, "enum") || given(schema, "const"))
		return 0;
	if (json_is(type, JSON_STRING))
		return look_type(l, schema, json_str(type));
	if (json_len(type) == 0)
		return refuse(l, "does not say what type its values have");
	for (struct json_iter it = json_iter(type); code == 0 && json_next(&it);)
		code = look_type(l, schema, json_str(it.value));
	return code;
}

static int
each_member(struct looking *l, const char *keyword, const struct json *v)
{
	int code = json_is(v, JSON_OBJECT) ? 0 : refuse(l, "has no schemas where some must be");

	for (struct json_iter it = json_iter(v); code == 0 && json_next(&it);)
		code = look_into(l, keyword, it.key, it.value);
	return code;
}

static int
each_item(struct looking *l, const char *keyword, const struct json *v)
{
	int code = json_is(v, JSON_ARRAY) ? 0 : refuse(l, "has no schemas where some must be");

	for (struct json_iter it = json_iter(v); code == 0 && json_next(&it);)
		code = look_into(l, keyword, S(""), it.value);
	return code;
}

static int
one(struct looking *l, const char *keyword, const struct json *v)
{
	return look_into(l, keyword, S(""), v);
}

static int
nothing(struct looking *l, const char *keyword, const struct json *v)
{
	(void)l;
	(void)keyword;
	(void)v;
	return 0;
}

/* Those that say more about what others have let in. */
static const struct {
	const char *name;
	int (*look)(struct looking *l, const char *keyword, const struct json *v);
} keywords[] = {
    {"$id", nothing},        {"$schema", nothing},
    {"$comment", nothing},   {"$defs", nothing},
    {"title", nothing},      {"description", nothing},
    {"default", nothing},    {"examples", nothing},
    {"type", nothing},       {"enum", nothing},
    {"const", nothing},      {"required", nothing},
    {"pattern", nothing},    {"format", nothing},
    {"minLength", nothing},  {"maxLength", nothing},
    {"minimum", nothing},    {"maximum", nothing},
    {"multipleOf", nothing}, {"exclusiveMinimum", nothing},
    {"minItems", nothing},   {"exclusiveMaximum", nothing},
    {"maxItems", nothing},   {"uniqueItems", nothing},
    {"$ref", nothing},       {"additionalProperties", nothing},
    {"items", one},          {"minProperties", nothing},
    {"anyOf", each_item},    {"maxProperties", nothing},
    {"oneOf", each_item},    {"properties", each_member},
};

static int
look_keyword(struct looking *l, struct str name, const struct json *v)
{
	struct buf text = BUF_INIT(128);

	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (str_is(name, keywords[i].name))
			return keywords[i].look(l, keywords[i].name, v);
	buf_addf(&text, "'%.*s' cannot be used here", STR_ARG(str_utf8_upto(name, 60)));
	int code = refuse(l, buf_z(&text) ? text.ptr : "a keyword that cannot be used here");
	buf_done(&text);
	return code;
}

/* ---- a schema ---- */

/* Below one that has an $id, references are read from there: another schema than is seen here. */
static bool
stands_alone(const struct json *schema)
{
	return given(schema, "$id") || given(schema, "$schema");
}

/* Where a reference leads, if it can mean nothing else to whoever compiles it; or NULL. */
static const struct json *
target_of(const struct json *root, struct str ref)
{
	struct str rest = str_from(ref, 1);
	const struct json *at = root;

	if (!str_starts(ref, S("#")) || str_index(rest, '%') >= 0 || str_index(rest, '#') >= 0)
		return NULL;
	while (at && rest.len > 0) {
		ptrdiff_t step = str_index(str_from(rest, 1), '/');
		struct str first = step < 0 ? rest : str_upto(rest, (size_t)step + 1);
		at = json_pointer(at, first);
		rest = str_from(rest, first.len);
		if (at && stands_alone(at))
			return NULL;
	}
	return at;
}

static int
follow(struct looking *l, struct str ref)
{
	const struct json *target = target_of(l->root, ref);

	if (!target)
		return refuse(l, "$ref leads out of the schema, or nowhere");
	return look_into(l, "$ref", S(""), target);
}

static int
look_keywords(struct looking *l, const struct json *schema)
{
	int code = 0;

	for (struct json_iter it = json_iter(schema); code == 0 && json_next(&it);)
		code = look_keyword(l, it.key, it.value);
	if (code < 0)
		return code;
	if (given(schema, "$ref"))
		return follow(l, json_str(json_get(schema, S("$ref"))));
	/* Branches say it, each for itself. */
	if ((given(schema, "anyOf") || given(schema, "oneOf")) && !given(schema, "type"))
		return 0;
	return look_types(l, schema);
}

static int
look(struct looking *l, const struct json *schema)
{
	if (!json_is(schema, JSON_OBJECT))
		return refuse(l, "is no schema that says what it takes");
	if (l->depth == NESTING || ++l->looked > SCHEMAS)
		return refuse(l, "is nested too deep, or refers to itself");
	if (schema != l->root && stands_alone(schema))
		return refuse(l, "$id and $schema are for the whole schema alone");
	l->depth++;
	int code = look_keywords(l, schema);
	l->depth--;
	return code;
}

int
closed_check(const struct json *schema, struct err *e)
{
	struct looking l = {.root = schema, .place = BUF_INIT(PLACE_BYTES), .e = e};
	int code = look(&l, schema);

	if (code == 0 && !str_is(json_str(json_get(schema, S("type"))), "object"))
		code = refuse(&l, "must be of type object");
	buf_done(&l.place);
	return code;
}
