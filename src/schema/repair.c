/* repair.c - five rules, and nothing that would need a guess. */

#include "schema/repair.h"

#include <math.h>

#include "base/limits.h"
#include "json/write.h"

#define BOM "\xef\xbb\xbf"
#define WHOLE "parse_stringified_object"

/* ---- one text ---- */

static bool
is_integer(struct str text)
{
	size_t sign = str_starts(text, S("-"));
	struct str digits = str_from(text, sign);

	for (size_t i = 0; i < digits.len; i++)
		if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
			return false;
	return digits.len == 1 || (digits.len > 1 && digits.ptr[0] != '0');
}

/* As the door reads it. What is beyond every double would be another value for the tool. */
static bool
is_number(struct str text)
{
	struct json_doc *doc;
	double d;

	if (json_parse(text, &(struct json_limits){LIMIT_REPAIR_TEXT, 1}, &doc, NULL) < 0)
		return false;
	bool yes = json_double(json_root(doc), &d) && isfinite(d);
	json_doc_unref(doc);
	return yes;
}

static bool
is_boolean(struct str text)
{
	return str_is(text, "true") || str_is(text, "false");
}

static bool
is_null(struct str text)
{
	return str_is(text, "null");
}

/* In this order: an integer is a number, too. */
static const struct rule {
	const char *name;
	const char *type; /* that the schema asks for */
	bool (*fits)(struct str text);
} rules[] = {
    {"str_to_integer", "integer", is_integer},
    {"str_to_number", "number", is_number},
    {"str_to_boolean", "boolean", is_boolean},
    {"str_to_null", "null", is_null},
};

/* Does the schema name this type? One that names none asks for nothing. */
static bool
asks_for(const struct json *schema, const char *type)
{
	const struct json *types = json_get(schema, S("type"));

	if (json_is(types, JSON_STRING))
		return str_is(json_str(types), type);
	for (struct json_iter it = json_iter(types); json_next(&it);)
		if (str_is(json_str(it.value), type))
			return true;
	return false;
}

/* NULL: stays as it is. *ret_text is the JSON that takes its place. */
static const struct rule *
rule_find(const struct json *schema, const struct json *value, struct str *ret_text)
{
	struct str text = str_trim(json_str(value));

	if (text.len == 0 || text.len > LIMIT_REPAIR_TEXT || asks_for(schema, "string"))
		return NULL;
	*ret_text = text;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (asks_for(schema, rules[i].type) && rules[i].fits(text))
			return &rules[i];
	return NULL;
}

/* ---- the report ---- */

/* False, and nothing added, when there is no room. */
static bool
report(struct buf *repairs, struct str name, const char *rule)
{
	size_t before = repairs->len;
	struct buf path = BUF_INIT(LIMIT_REPAIRS_BYTES);
	struct jw w = jw(repairs);

	buf_addz(&path, name.ptr ? "$." : "$");
	buf_add(&path, name);
	if (before)
		buf_addc(repairs, ',');
	jw_object(&w);
	jw_member(&w, "path", buf_str(&path));
	jw_member_z(&w, "rule", rule);
	jw_end(&w);
	bool whole = !buf_failed(repairs) && !buf_failed(&path);
	buf_done(&path);
	if (!whole) {
		repairs->len = before;
		repairs->failed = false;
	}
	return whole;
}

/* How many members, from the first on, are repaired. */
static size_t
report_members(const struct json *value, const struct json *properties, struct buf *repairs)
{
	size_t count = 0;
	struct str text;

	for (struct json_iter it = json_iter(value); json_next(&it);) {
		const struct rule *r = rule_find(json_get(properties, it.key), it.value, &text);
		if (r && !report(repairs, it.key, r->name))
			break;
		count += r != NULL;
	}
	return count;
}

/* ---- the value ---- */

/* The value with its first `count` members that can be repaired written anew. */
static int
rewrite(const struct json *value, const struct json *properties, size_t count,
	struct json_doc **ret, struct err *e)
{
	/* A short number can be written in a longer way: 1E20. */
	const struct json_limits limits = {LIMIT_JSON_BYTES * 6, json_door.max_depth};
	struct buf b = BUF_INIT(limits.max_bytes);
	struct jw w = jw(&b);
	struct str text;

	jw_object(&w);
	for (struct json_iter it = json_iter(value); json_next(&it);) {
		jw_key_str(&w, it.key);
		if (count > 0 && rule_find(json_get(properties, it.key), it.value, &text)) {
			jw_raw(&w, text);
			count--;
		} else {
			jw_value(&w, it.value);
		}
	}
	jw_end(&w);
	/* What is reported is made: only without memory a rule that fitted can fit no more. */
	int rc = buf_failed(&b) || count > 0 ? err_plain(e, E_NOMEM)
					     : json_parse(buf_str(&b), &limits, ret, e);
	buf_done(&b);
	return rc;
}

/* *ret stays NULL for what is no object in a string. */
static int
parse_whole(const struct json *schema, struct str text, struct json_doc **ret)
{
	while (str_starts(text, S(BOM)))
		text = str_from(text, strlen(BOM));
	text = str_trim(text);
	if (!str_starts(text, S("{")) || asks_for(schema, "string"))
		return 0;
	return json_parse(text, &json_door, ret, NULL) == E_NOMEM ? E_NOMEM : 0;
}

static int
repair_members(const struct json *value, const struct json *properties, struct json_doc **ret,
	       struct buf *repairs, struct err *e)
{
	/* With too many the search for their properties would be the work of the call. */
	if (!json_is(value, JSON_OBJECT) || json_len(value) > LIMIT_REPAIR_MEMBERS)
		return 0;
	size_t count = report_members(value, properties, repairs);
	return count > 0 ? rewrite(value, properties, count, ret, e) : 0;
}

int
schema_repair(const struct json *schema, const struct json *value, struct json_doc **ret,
	      struct buf *repairs, struct err *e)
{
	struct json_doc *parsed = NULL, *rewritten = NULL;
	int rc = json_is(value, JSON_STRING) ? parse_whole(schema, json_str(value), &parsed) : 0;

	if (rc < 0 || (parsed && !report(repairs, (struct str){NULL, 0}, WHOLE)))
		rc = err_plain(e, E_NOMEM);
	if (rc == 0)
		rc = repair_members(parsed ? json_root(parsed) : value,
				    json_get(schema, S("properties")), &rewritten, repairs, e);
	if (rc < 0 || rewritten)
		json_doc_unref(parsed);
	if (rc == 0)
		*ret = rewritten ? rewritten : parsed;
	return rc;
}
