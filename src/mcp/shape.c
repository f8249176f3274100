/* shape.c - the members that clients check, what each must be, and what is done where it is not. */

#include "mcp/shape.h"

#include "base/clock.h"

struct rule;

/* What a value has to be. */
struct kind {
	const char *words;
	bool (*fits)(const struct rule *r, const struct json *v);
	void (*write)(struct jw *w, const struct rule *r, const struct json *v); /* NULL: as is */
};

struct rules {
	const struct rule *at;
	size_t count;
};

struct rule {
	const char *key;
	const struct kind *kind;
	bool needed;              /* the thing is nothing without it */
	const char *instead;      /* the member that can stand for it */
	struct rules of;          /* the object, or those in the array */
	const char *const *words; /* one of these */
};

static const struct rule *
rule_find(const struct rules *rs, struct str key)
{
	for (size_t i = 0; i < rs->count; i++)
		if (str_is(key, rs->at[i].key))
			return &rs->at[i];
	return NULL;
}

static bool
rule_takes(const struct rule *r, const struct json *v)
{
	return v && r->kind->fits(r, v);
}

/* NULL: it has all it needs. */
static const struct rule *
rules_missed(const struct rules *rs, const struct json *thing)
{
	for (size_t i = 0; i < rs->count; i++) {
		const struct rule *r = &rs->at[i];
		if (r->needed && !r->instead && !rule_takes(r, json_get(thing, str_of(r->key))))
			return r;
	}
	return NULL;
}

static void
rule_write(struct jw *w, const struct rule *r, const struct json *v)
{
	if (r && r->kind->write)
		r->kind->write(w, r, v);
	else
		jw_value(w, v);
}

/* What no rule is about stays as it is. */
static void
member_write(struct jw *w, const struct rules *rs, struct str key, const struct json *v)
{
	const struct rule *r = rule_find(rs, key);

	if (r && !rule_takes(r, v))
		return;
	jw_key_str(w, key);
	rule_write(w, r, v);
}

static void
members_write(struct jw *w, const struct rules *rs, const struct json *thing, const char *renamed,
	      struct str name)
{
	jw_object(w);
	for (struct json_iter it = json_iter(thing); json_next(&it);)
		if (renamed && str_is(it.key, renamed))
			jw_member(w, renamed, name);
		else
			member_write(w, rs, it.key, it.value);
	for (size_t i = 0; i < rs->count; i++) {
		const struct rule *r = &rs->at[i];
		if (r->instead && !rule_takes(r, json_get(thing, str_of(r->key))))
			jw_member(w, r->key, json_str(json_get(thing, str_of(r->instead))));
	}
	jw_end(w);
}

/* ---- kinds ---- */

static bool
is_text(const struct rule *r, const struct json *v)
{
	(void)r;
	return json_is(v, JSON_STRING);
}

static bool
is_flag(const struct rule *r, const struct json *v)
{
	(void)r;
	return json_is(v, JSON_BOOL);
}

static bool
is_integer(const struct rule *r, const struct json *v)
{
	(void)r;
	return json_is_integer(v);
}

static bool
is_share(const struct rule *r, const struct json *v)
{
	double d;

	(void)r;
	return json_double(v, &d) && d >= 0 && d <= 1;
}

static bool
is_word(const struct rule *r, const struct json *v)
{
	for (const char *const *word = r->words; *word; word++)
		if (str_is(json_str(v), *word))
			return true;
	return false;
}

static bool
all_fit(bool (*fits)(const struct rule *r, const struct json *v), const struct rule *r,
	const struct json *array)
{
	for (struct json_iter it = json_iter(array); json_next(&it);)
		if (!fits(r, it.value))
			return false;
	return json_is(array, JSON_ARRAY);
}

static bool
are_texts(const struct rule *r, const struct json *v)
{
	return all_fit(is_text, r, v);
}

static bool
are_words(const struct rule *r, const struct json *v)
{
	return all_fit(is_word, r, v);
}

static bool
is_object(const struct rule *r, const struct json *v)
{
	return json_is(v, JSON_OBJECT) && !rules_missed(&r->of, v);
}

static void
object_write(struct jw *w, const struct rule *r, const struct json *v)
{
	members_write(w, &r->of, v, NULL, (struct str){NULL, 0});
}

static bool
is_array(const struct rule *r, const struct json *v)
{
	(void)r;
	return json_is(v, JSON_ARRAY);
}

/* Those in it that lack what they need are left out. */
static void
array_write(struct jw *w, const struct rule *r, const struct json *v)
{
	jw_array(w);
	for (struct json_iter it = json_iter(v); json_next(&it);)
		if (is_object(r, it.value))
			object_write(w, r, it.value);
	jw_end(w);
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* RFC 3986: what has no scheme is no address by itself. */
static bool
is_uri(const struct rule *r, const struct json *v)
{
	struct str s = json_str(v);
	size_t i = 0;

	(void)r;
	while (i < s.len &&
	       (is_letter(s.ptr[i]) || (i > 0 && (is_digit(s.ptr[i]) || s.ptr[i] == '+' ||
						  s.ptr[i] == '-' || s.ptr[i] == '.'))))
		i++;
	return i > 0 && i < s.len && s.ptr[i] == ':';
}

/* As many characters as the pattern has: '0' a digit, another itself. */
static bool
takes(struct str *s, const char *pattern)
{
	size_t n = strlen(pattern);

	for (size_t i = 0; i < n; i++)
		if (i >= s->len ||
		    (pattern[i] == '0' ? !is_digit(s->ptr[i]) : s->ptr[i] != pattern[i]))
			return false;
	*s = str_from(*s, n);
	return true;
}

static unsigned
number(struct str digits, size_t at, size_t count)
{
	unsigned n = 0;

	for (size_t i = at; i < at + count; i++)
		n = n * 10 + (unsigned)(digits.ptr[i] - '0');
	return n;
}

/* 2026-07-28T09:30:00.5Z, or with +02:00 in place of the Z. */
static bool
is_moment(const struct rule *r, const struct json *v)
{
	struct str all = json_str(v), rest = all;

	(void)r;
	if (!takes(&rest, "0000-00-00T00:00:00") ||
	    !clock_is_date(number(all, 0, 4), number(all, 5, 2), number(all, 8, 2)) ||
	    number(all, 11, 2) > 23 || number(all, 14, 2) > 59 || number(all, 17, 2) > 59)
		return false;
	if (takes(&rest, ".0"))
		while (takes(&rest, "0"))
			;
	struct str zone = rest;
	if (takes(&rest, "+00:00") || takes(&rest, "-00:00"))
		return rest.len == 0 && number(zone, 1, 2) <= 23 && number(zone, 4, 2) <= 59;
	return str_is(rest, "Z");
}

/* ---- schemas ---- */

static bool
is_plain_type(const struct json *type)
{
	return str_is(json_str(type), "object");
}

/* Arguments are always an object: not to say so, or to allow something else too, means the same. */
static bool
type_allows_object(const struct json *type)
{
	for (struct json_iter it = json_iter(type); json_next(&it);)
		if (!it.key.ptr && is_plain_type(it.value))
			return true;
	return !type || is_plain_type(type);
}

static bool
are_schemas(const struct json *properties)
{
	for (struct json_iter it = json_iter(properties); json_next(&it);)
		if (!json_is(it.value, JSON_OBJECT) && !json_is(it.value, JSON_BOOL))
			return false;
	return !properties || json_is(properties, JSON_OBJECT);
}

static bool
has_plain_properties(const struct json *properties)
{
	for (struct json_iter it = json_iter(properties); json_next(&it);)
		if (json_is(it.value, JSON_BOOL))
			return false;
	return true;
}

static bool
has_good_members(const struct json *schema)
{
	const struct json *required = json_get(schema, S("required"));

	return are_schemas(json_get(schema, S("properties"))) &&
	       (!required || are_texts(NULL, required));
}

bool
shape_is_of_object(const struct json *schema)
{
	return json_is(schema, JSON_OBJECT) && type_allows_object(json_get(schema, S("type"))) &&
	       has_good_members(schema);
}

static bool
is_input(const struct rule *r, const struct json *v)
{
	(void)r;
	return shape_is_of_object(v);
}

/* Modern clients take any; that older ones want an object is the business of the era. */
static bool
is_output(const struct rule *r, const struct json *v)
{
	(void)r;
	return json_is(v, JSON_OBJECT) &&
	       (!is_plain_type(json_get(v, S("type"))) || has_good_members(v));
}

/* true and false are schemas, but clients want objects. */
static void
properties_write(struct jw *w, const struct json *properties)
{
	jw_object(w);
	for (struct json_iter it = json_iter(properties); json_next(&it);) {
		jw_key_str(w, it.key);
		if (json_is(it.value, JSON_BOOL))
			jw_raw(w, json_bool(it.value) ? S("{}") : S("{\"not\":{}}"));
		else
			jw_value(w, it.value);
	}
	jw_end(w);
}

/* type: what is written there; NULL: what the schema says. */
static void
schema_write(struct jw *w, const struct json *schema, const char *type)
{
	jw_object(w);
	if (type)
		jw_member_z(w, "type", type);
	for (struct json_iter it = json_iter(schema); json_next(&it);) {
		if (type && str_is(it.key, "type"))
			continue;
		jw_key_str(w, it.key);
		if (str_is(it.key, "properties"))
			properties_write(w, it.value);
		else
			jw_value(w, it.value);
	}
	jw_end(w);
}

static void
input_write(struct jw *w, const struct rule *r, const struct json *v)
{
	bool typed = is_plain_type(json_get(v, S("type")));

	(void)r;
	if (typed && has_plain_properties(json_get(v, S("properties"))))
		jw_value(w, v);
	else
		schema_write(w, v, typed ? NULL : "object");
}

static void
output_write(struct jw *w, const struct rule *r, const struct json *v)
{
	(void)r;
	if (has_plain_properties(json_get(v, S("properties"))))
		jw_value(w, v);
	else
		schema_write(w, v, NULL);
}

/* ---- the tables ---- */

static const struct kind text = {"a text", is_text, NULL}, flag = {"true or false", is_flag, NULL},
			 integer = {"an integer", is_integer, NULL},
			 share = {"a number from 0 to 1", is_share, NULL},
			 word = {"one of its words", is_word, NULL},
			 texts = {"a list of texts", are_texts, NULL},
			 words = {"a list of its words", are_words, NULL},
			 uri = {"an address with a scheme", is_uri, NULL},
			 moment = {"a date and time", is_moment, NULL},
			 input = {"the schema of an object", is_input, input_write},
			 output = {"a schema", is_output, output_write},
			 object = {"an object", is_object, object_write},
			 array = {"a list", is_array, array_write};

static const char *const themes[] = {"light", "dark", NULL};
static const char *const roles[] = {"user", "assistant", NULL};
static const char *const task_supports[] = {"required", "optional", "forbidden", NULL};

#define RULES(table)                                                                               \
	{                                                                                          \
		table, ARRAY_LEN(table)                                                            \
	}

static const struct rule icon_rules[] = {
    {"src", &text, .needed = true},
    {"mimeType", &text},
    {"sizes", &texts},
    {"theme", &word, .words = themes},
};
static const struct rule hint_rules[] = {
    {"title", &text},          {"readOnlyHint", &flag},  {"destructiveHint", &flag},
    {"idempotentHint", &flag}, {"openWorldHint", &flag},
};
static const struct rule note_rules[] = {
    {"audience", &words, .words = roles},
    {"priority", &share},
    {"lastModified", &moment},
};
static const struct rule execution_rules[] = {
    {"taskSupport", &word, .words = task_supports},
};
static const struct rule argument_rules[] = {
    {"name", &text, .needed = true},
    {"title", &text},
    {"description", &text},
    {"required", &flag},
};

/* clang-format off */
#define SHOWN_AS \
	{"title", &text}, \
	{"description", &text}, \
	{"icons", &array, .of = RULES(icon_rules)}, \
	{"_meta", &object}
/* clang-format on */

static const struct rule tool_rules[] = {
    {"name", &text, .needed = true},
    {"inputSchema", &input, .needed = true},
    {"outputSchema", &output},
    {"annotations", &object, .of = RULES(hint_rules)},
    {"execution", &object, .of = RULES(execution_rules)},
    SHOWN_AS,
};
static const struct rule prompt_rules[] = {
    {"name", &text, .needed = true},
    {"arguments", &array, .of = RULES(argument_rules)},
    SHOWN_AS,
};
static const struct rule resource_rules[] = {
    {"uri", &uri, .needed = true},
    {"name", &text, .needed = true, .instead = "uri"},
    {"mimeType", &text},
    {"size", &integer},
    {"annotations", &object, .of = RULES(note_rules)},
    SHOWN_AS,
};
static const struct rule template_rules[] = {
    {"uriTemplate", &text, .needed = true},
    {"name", &text, .needed = true, .instead = "uriTemplate"},
    {"mimeType", &text},
    {"annotations", &object, .of = RULES(note_rules)},
    SHOWN_AS,
};

static const struct rules shapes[SHAPE__COUNT] = {
    [SHAPE_TOOL] = RULES(tool_rules),
    [SHAPE_PROMPT] = RULES(prompt_rules),
    [SHAPE_RESOURCE] = RULES(resource_rules),
    [SHAPE_TEMPLATE] = RULES(template_rules),
};

int
shape_check(enum shape s, const struct json *thing, struct err *e)
{
	if (!json_is(thing, JSON_OBJECT))
		return err_set(e, E_VALIDATION, "must be an object");
	const struct rule *missed = rules_missed(&shapes[s], thing);
	return missed ? err_set(e, E_VALIDATION, "%s: must be %s", missed->key, missed->kind->words)
		      : 0;
}

void
shape_write_member(struct jw *w, enum shape s, struct str key, const struct json *value)
{
	member_write(w, &shapes[s], key, value);
}

void
shape_write(struct jw *w, enum shape s, const struct json *thing, const char *renamed,
	    struct str name)
{
	members_write(w, &shapes[s], thing, renamed, name);
}
