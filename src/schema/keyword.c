/* keyword.c - finding keywords, and holding their values to what they take. */

#include "schema/keyword.h"

#include <stdlib.h>

#include "base/bug.h"

static const struct keyword keywords[] = {
#define KEYWORD(id, name, drafts, vocabulary, takes, subset)                                       \
	{name, K_##id, DRAFT_##drafts, VOCABULARY_##vocabulary, TAKES_##takes, SUBSET_##subset},
#include "../../tbl/keywords.def"
#undef KEYWORD
};

static int
by_name(const void *name, const void *row)
{
	return str_cmp(*(const struct str *)name, str_of(((const struct keyword *)row)->name));
}

const struct keyword *
keyword_find(struct str name, enum draft draft)
{
	const struct keyword *k =
	    bsearch(&name, keywords, ARRAY_LEN(keywords), sizeof(*keywords), by_name);

	if (!k || (k->drafts & draft))
		return k;
	/* A name that differs between the drafts has two rows; the search may have met either. */
	for (const struct keyword *other = k - (k > keywords); other <= k + 1; other++)
		if (other < keywords + ARRAY_LEN(keywords) && str_is(name, other->name) &&
		    (other->drafts & draft))
			return other;
	return NULL;
}

const char *
keyword_name(enum keyword_id id)
{
	return keywords[id].name;
}

unsigned
keyword_type(const struct json *name)
{
	static const struct {
		const char *name;
		unsigned bit;
	} types[] = {
	    {"string", TYPE_BIT(JSON_STRING)}, {"object", TYPE_BIT(JSON_OBJECT)},
	    {"integer", TYPE_INTEGER},         {"number", TYPE_BIT(JSON_NUMBER)},
	    {"boolean", TYPE_BIT(JSON_BOOL)},  {"array", TYPE_BIT(JSON_ARRAY)},
	    {"null", TYPE_BIT(JSON_NULL)},
	};
	struct str text = json_str(name);

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_is(text, types[i].name))
			return types[i].bit;
	return 0;
}

/* ---- values ---- */

static bool
is_schema(const struct json *v)
{
	return json_is(v, JSON_OBJECT) || json_is(v, JSON_BOOL);
}

static bool
is_names(const struct json *v)
{
	for (struct json_iter it = json_iter(v); json_next(&it);)
		if (!json_is(it.value, JSON_STRING))
			return false;
	return json_is(v, JSON_ARRAY);
}

/* Letters, digits, and behind the first one some signs: no '#', no '/', no blank. */
static bool
is_anchor(const struct json *v)
{
	struct str s = json_str(v);

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		if (!letter && (i == 0 || !strchr("0123456789-.", c)))
			return false;
	}
	return s.len > 0;
}

/* A number kept as text may be too small for a double. */
static bool
is_positive(const struct json *v)
{
	struct str big = json_big(v);
	double d;

	if (!big.ptr)
		return json_double(v, &d) && d > 0;
	for (size_t i = 0; i < big.len && big.ptr[0] != '-' && (big.ptr[i] | 32) != 'e'; i++)
		if (big.ptr[i] >= '1' && big.ptr[i] <= '9')
			return true;
	return false;
}

static bool
is_count(const struct json *v)
{
	double d;

	return json_is_integer(v) && json_double(v, &d) && d >= 0;
}

static bool
is_type(const struct json *v)
{
	if (json_is(v, JSON_STRING))
		return keyword_type(v);
	for (struct json_iter it = json_iter(v); json_next(&it);)
		if (!keyword_type(it.value))
			return false;
	return json_is(v, JSON_ARRAY) && json_len(v) > 0;
}

static bool
is_schemas(const struct json *v)
{
	return json_is(v, JSON_ARRAY) && json_len(v) > 0;
}

static bool
is_items(const struct json *v)
{
	return is_schema(v) || json_is(v, JSON_ARRAY);
}

static bool
is_lists(const struct json *v)
{
	for (struct json_iter it = json_iter(v); json_next(&it);)
		if (!is_names(it.value))
			return false;
	return json_is(v, JSON_OBJECT);
}

static bool
is_dependencies(const struct json *v)
{
	for (struct json_iter it = json_iter(v); json_next(&it);)
		if (!is_schema(it.value) && !is_names(it.value))
			return false;
	return json_is(v, JSON_OBJECT);
}

/* clang-format off */
static bool is_any(const struct json *v) { (void)v; return true; }
static bool is_never(const struct json *v) { (void)v; return false; }
static bool is_string(const struct json *v) { return json_is(v, JSON_STRING); }
static bool is_bool(const struct json *v) { return json_is(v, JSON_BOOL); }
static bool is_number(const struct json *v) { return json_is(v, JSON_NUMBER); }
static bool is_array(const struct json *v) { return json_is(v, JSON_ARRAY); }
static bool is_object(const struct json *v) { return json_is(v, JSON_OBJECT); }
/* clang-format on */

const char *
keyword_wrong(const struct keyword *k, const struct json *value)
{
	static const struct {
		bool (*is)(const struct json *v);
		const char *must;
	} values[] = {
	    [TAKES_ANY] = {is_any, ""},
	    [TAKES_NEVER] = {is_never, "is of Draft 2019-09, and is not known here"},
	    [TAKES_STRING] = {is_string, "must be a string"},
	    [TAKES_NAME] = {is_anchor, "must be a name that begins with a letter"},
	    [TAKES_BOOL] = {is_bool, "must be a boolean"},
	    [TAKES_NUMBER] = {is_number, "must be a number"},
	    [TAKES_POSITIVE] = {is_positive, "must be a number greater than 0"},
	    [TAKES_COUNT] = {is_count, "must be a whole number that is not negative"},
	    [TAKES_ARRAY] = {is_array, "must be an array"},
	    [TAKES_TYPE] = {is_type, "must name a type"},
	    [TAKES_NAMES] = {is_names, "must be an array of strings"},
	    [TAKES_LISTS] = {is_lists, "must be an object of arrays of strings"},
	    [TAKES_SCHEMA] = {is_schema, "must be a schema: an object or a boolean"},
	    [TAKES_SCHEMAS] = {is_schemas, "must be an array of schemas that is not empty"},
	    [TAKES_MAP] = {is_object, "must be an object of schemas"},
	    [TAKES_ITEMS] = {is_items, "must be a schema or an array of schemas"},
	    [TAKES_DEPENDENCIES] = {is_dependencies,
				    "must be an object of schemas and arrays of strings"},
	};

	return values[k->takes].is(value) ? NULL : values[k->takes].must;
}
