/* subset.c - the portable subset: its keywords, and who keeps to it. */

#include "schema/inside.h"

static const struct keyword keywords[] = {
    {"additionalProperties", TAKES_BOOL, 0},
    {"const", TAKES_ANY, offsetof(struct node, constant)},
    {"default", TAKES_ANY, 0},
    {"description", TAKES_STRING, 0},
    {"enum", TAKES_ARRAY, offsetof(struct node, enums)},
    {"examples", TAKES_ARRAY, 0},
    {"format", TAKES_STRING, 0}, /* a remark for the reader, as in Draft 2020-12 */
    {"items", TAKES_SCHEMA, 0},
    {"maxItems", TAKES_COUNT, offsetof(struct node, max_items)},
    {"maxLength", TAKES_COUNT, offsetof(struct node, max_length)},
    {"maximum", TAKES_NUMBER, offsetof(struct node, maximum)},
    {"minItems", TAKES_COUNT, offsetof(struct node, min_items)},
    {"minLength", TAKES_COUNT, offsetof(struct node, min_length)},
    {"minimum", TAKES_NUMBER, offsetof(struct node, minimum)},
    {"pattern", TAKES_PATTERN, offsetof(struct node, pattern)},
    {"properties", TAKES_SCHEMAS, 0},
    {"required", TAKES_NAMES, offsetof(struct node, required)},
    {"title", TAKES_STRING, 0},
    {"type", TAKES_TYPE, offsetof(struct node, type)},
};

/* Refused by name in seed 000 section 7.1; everything else is merely unknown. */
static const char *const disallowed[] = {
    "$ref",
    "allOf",
    "anyOf",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
};

const struct keyword *
schema__keyword(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (str_is(name, keywords[i].name))
			return &keywords[i];
	return NULL;
}

static bool
is_disallowed(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(disallowed); i++)
		if (str_is(name, disallowed[i]))
			return true;
	return false;
}

unsigned
schema__type(const struct json *name)
{
	static const struct {
		const char *name;
		enum type_bit bit;
	} types[] = {
	    {"array", BIT_ARRAY},   {"boolean", BIT_BOOLEAN}, {"integer", BIT_INTEGER},
	    {"null", BIT_NULL},     {"number", BIT_NUMBER},   {"object", BIT_OBJECT},
	    {"string", BIT_STRING},
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (json_is(name, JSON_STRING) && str_is(json_str(name), types[i].name))
			return types[i].bit;
	return 0;
}

static void
begin(struct buf *problems, const struct place *at)
{
	if (problems->len)
		buf_addc(problems, '\n');
	schema__place(problems, at, "$");
	buf_addz(problems, ": ");
}

static void
check_type(struct buf *problems, const struct place *at, const struct json *type)
{
	if (schema__type(type))
		return;
	begin(problems, at);
	schema__show(problems, type);
	buf_addz(problems, " not in allowed types " SCHEMA__TYPES);
}

static void check_schema(struct buf *problems, const struct place *at, const struct json *schema,
			 unsigned depth);

/* The keywords whose values the subset has an opinion on. */
static void
check_value(struct buf *problems, const struct place *at, const struct keyword *k,
	    const struct json *v, unsigned depth)
{
	if (k->takes == TAKES_SCHEMA) {
		check_schema(problems, at, v, depth + 1);
	} else if (k->takes == TAKES_BOOL && !json_is(v, JSON_BOOL)) {
		begin(problems, at);
		buf_addf(problems, "must be boolean, got %s",
			 json_is(v, JSON_OBJECT) ? "schema" : json_type_name(json_type(v)));
	} else if (k->takes == TAKES_TYPE && json_is(v, JSON_ARRAY)) {
		for (struct json_iter it = json_iter(v); json_next(&it);)
			check_type(problems, at, it.value);
	} else if (k->takes == TAKES_TYPE) {
		check_type(problems, at, v);
	} else if (k->takes == TAKES_SCHEMAS) {
		for (struct json_iter it = json_iter(v); json_next(&it);) {
			struct place inner = {.up = at, .name = it.key};
			check_schema(problems, &inner, it.value, depth + 1);
		}
	}
}

static void
check_schema(struct buf *problems, const struct place *at, const struct json *schema,
	     unsigned depth)
{
	if (!json_is(schema, JSON_OBJECT) || depth > LIMIT_SCHEMA_DEPTH) {
		begin(problems, at);
		buf_addz(problems,
			 depth > LIMIT_SCHEMA_DEPTH ? "nested too deep" : "must be an object");
		return;
	}
	for (struct json_iter it = json_iter(schema); json_next(&it);) {
		const struct keyword *k = schema__keyword(it.key);
		struct place inner = {.up = at, .name = it.key};
		if (k) {
			check_value(problems, &inner, k, it.value, depth);
			continue;
		}
		begin(problems, at);
		buf_addz(problems, is_disallowed(it.key) ? "disallowed" : "unknown");
		buf_addz(problems, " JSON Schema keyword ");
		schema__show_str(problems, it.key);
	}
}

int
schema_subset(const struct json *schema, struct buf *problems)
{
	const struct place root = {0};
	size_t before = problems->len;

	check_schema(problems, &root, schema, 0);
	return problems->len == before && !buf_failed(problems) ? 0 : E_VALIDATION;
}
