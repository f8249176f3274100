/* header.c - values and annotated arguments as HTTP headers repeat them. */

#include "mcp/header.h"

#include "base/sha256.h"
#include "base/limits.h"

#define WRAP_BEGIN S("=?base64?")
#define WRAP_END S("?=")
#define ANNOTATION "x-mcp-header"
#define SAFE_INTEGER                                                                               \
	((INT64_C(1) << 53) - 1) /* beyond it, doubles of a peer would not be exact                \
				  */
#define NUMBER_TEXT 64           /* of a received number that is looked at */

/* ---- base64 (RFC 4648 section 4): padded, canonical, nothing else ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* -1: it is none. */
static int
base64_digit(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* Four characters, the last pad of them "=". Bits that stand for nothing must be zero. */
static bool
base64_group(const char *four, size_t pad, struct buf *out)
{
	unsigned bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int digit = i < 4 - pad ? base64_digit(four[i]) : 0;
		if (digit < 0)
			return false;
		bits = bits << 6 | (unsigned)digit;
	}
	if (bits & ((1U << 8 * pad) - 1))
		return false;
	const char bytes[] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
	buf_add(out, (struct str){bytes, 3 - pad});
	return true;
}

static bool
base64_read(struct str text, struct buf *out)
{
	if (text.len % 4 != 0)
		return false;
	for (; text.len; text = str_from(text, 4)) {
		size_t pad = text.len > 4 ? 0 : text.ptr[3] != '=' ? 0 : text.ptr[2] != '=' ? 1 : 2;
		if (!base64_group(text.ptr, pad, out))
			return false;
	}
	return true;
}

/* ---- values ---- */

static bool
is_wrapped(struct str value)
{
	return value.len >= WRAP_BEGIN.len + WRAP_END.len && str_starts(value, WRAP_BEGIN) &&
	       str_ends(value, WRAP_END);
}

/*
 * Tabs are allowed inside a field, but not everybody between us leaves them alone. An empty field
 * is no field to some.
 */
static bool
is_plain(struct str value)
{
	if (value.len == 0 || value.ptr[0] == ' ' || value.ptr[value.len - 1] == ' ')
		return false;
	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] < 0x20 || value.ptr[i] > 0x7e)
			return false;
	}
	return !is_wrapped(value);
}

void
header_encode(struct buf *out, struct str value)
{
	if (is_plain(value)) {
		buf_add(out, value);
		return;
	}
	buf_add(out, WRAP_BEGIN);
	base64_add(out, value);
	buf_add(out, WRAP_END);
}

bool
header_decode(struct str value, struct buf *out)
{
	size_t from = out->len;

	if (!is_wrapped(value)) {
		buf_add(out, value);
		return !buf_failed(out);
	}
	struct str inner = str_from(value, WRAP_BEGIN.len);
	inner = str_upto(inner, inner.len - WRAP_END.len);
	if (!base64_read(inner, out) || buf_failed(out))
		return false;
	return str_is_utf8(str_from(buf_str(out), from));
}

bool
header_says(struct str value, struct str body)
{
	value = str_trim(value);
	if (!is_wrapped(value))
		return str_eq(value, body);
	struct buf text = BUF_INIT(value.len);
	bool same = header_decode(value, &text) && str_eq(buf_str(&text), body);
	buf_done(&text);
	return same;
}

struct str
header_name_of(struct str method, const struct json *params)
{
	static const struct {
		const char *method, *member;
	} rows[] = {
	    {"tools/call", "name"},  {"prompts/get", "name"},    {"resources/read", "uri"},
	    {"tasks/get", "taskId"}, {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str_is(method, rows[i].method))
			return json_str(json_get(params, str_of(rows[i].member)));
	}
	return (struct str){NULL, 0};
}

/* ---- a walk over the schemas in a schema ---- */

enum part { SCHEMA, SCHEMAS }; /* one, or several by name or in a row */

struct step {
	struct json_iter it;
	const struct json *schema; /* of a SCHEMA */
	enum part part;
	bool plain; /* only `properties` led here */
};

/* Depth is that of JSON, and each value is looked at once. */
struct walk {
	struct step steps[LIMIT_JSON_DEPTH];
	size_t depth;
};

static const struct keyword {
	const char *name;
	bool map;   /* its members are schemas; else it is one itself, or a row of them */
	bool plain; /* an annotation may stand behind it */
} keywords[] = {
    {"properties", true, true},
    {"patternProperties", true, false},
    {"dependentSchemas", true, false},
    {"dependencies", true, false},
    {"$defs", true, false},
    {"definitions", true, false},
    {"items", false, false},
    {"prefixItems", false, false},
    {"additionalItems", false, false},
    {"unevaluatedItems", false, false},
    {"contains", false, false},
    {"additionalProperties", false, false},
    {"unevaluatedProperties", false, false},
    {"propertyNames", false, false},
    {"contentSchema", false, false},
    {"oneOf", false, false},
    {"anyOf", false, false},
    {"allOf", false, false},
    {"not", false, false},
    {"if", false, false},
    {"then", false, false},
    {"else", false, false},
};

static const struct keyword *
keyword_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
		if (str_is(name, keywords[i].name))
			return &keywords[i];
	}
	return NULL;
}

/* Only what contains something, so no walk is deeper than what was parsed. */
static void
walk_push(struct walk *k, const struct json *v, enum part part, bool plain)
{
	if (json_len(v) == 0)
		return;
	CHECK(k->depth < ARRAY_LEN(k->steps));
	k->steps[k->depth++] = (struct step){json_iter(v), v, part, plain};
}

static void
walk_into(struct walk *k, const struct step *from)
{
	const struct json *v = from->it.value;
	bool object = json_is(v, JSON_OBJECT);

	if (from->part == SCHEMAS) {
		if (object)
			walk_push(k, v, SCHEMA, from->plain);
		return;
	}
	const struct keyword *word = keyword_find(from->it.key);
	if (!word)
		return;
	if (object && word->map)
		walk_push(k, v, SCHEMAS, from->plain && word->plain);
	else
		walk_push(k, v, object ? SCHEMA : SCHEMAS, false);
}

/* The next schema with an annotation, which is *ret_annotation; NULL: there is no more. */
static const struct step *
walk_next(struct walk *k, const struct json **ret_annotation)
{
	while (k->depth) {
		struct step *top = &k->steps[k->depth - 1];
		if (!json_next(&top->it)) {
			k->depth--;
		} else if (top->part == SCHEMA && str_is(top->it.key, ANNOTATION)) {
			*ret_annotation = top->it.value;
			return top;
		} else {
			walk_into(k, top);
		}
	}
	return NULL;
}

/* ---- annotated arguments ---- */

static bool
is_token(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool alnum =
		    (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!alnum && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return name.len > 0;
}

static bool
is_type_taken(const struct json *type)
{
	struct str t = json_str(type);

	return str_is(t, "string") || str_is(t, "integer") || str_is(t, "boolean");
}

static bool
is_repeated(struct str name, const struct header_param *params, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq_nocase(params[i].name, name))
			return true;
	}
	return false;
}

/* Which rule an annotation breaks, or NULL. */
static const char *
fault_of(const struct walk *k, const struct step *at, struct str name)
{
	if (!at->plain || k->depth < 2)
		return "only `properties` may lead to it";
	if (!is_token(name))
		return "its name must be a token as in RFC 9110";
	if (!is_type_taken(json_get(at->schema, S("type"))))
		return "the type must be string, integer or boolean";
	return NULL;
}

/* A header can say it: text, a truth value, or an integer that any peer holds exactly. */
static bool
is_sayable(const struct json *v)
{
	int64_t n;

	if (json_is(v, JSON_NUMBER))
		return json_int(v, &n) && n >= -SAFE_INTEGER && n <= SAFE_INTEGER;
	return json_is(v, JSON_STRING) || json_is(v, JSON_BOOL);
}

/* The names that led here lead through the arguments too. */
static const struct json *
argument_of(const struct walk *k, const struct json *arguments)
{
	const struct json *v = arguments;

	for (size_t i = 0; i < k->depth; i++) {
		if (k->steps[i].part == SCHEMAS)
			v = json_get(v, k->steps[i].it.key);
	}
	return is_sayable(v) ? v : NULL;
}

int
header_params(const struct json *schema, const struct json *arguments, struct header_param *ret,
	      size_t max, size_t *ret_count, struct err *e)
{
	struct walk k = {.depth = 0};
	const struct json *annotation;
	const struct step *at;
	size_t count = 0;

	walk_push(&k, schema, SCHEMA, true);
	while ((at = walk_next(&k, &annotation))) {
		struct str name = json_str(annotation);
		struct str shown = is_token(name) ? str_upto(name, 64) : S("(?)");
		const char *fault = fault_of(&k, at, name);
		if (!fault && is_repeated(name, ret, count))
			fault = "this name stands there twice";
		if (!fault && count == max)
			fault = "there are too many";
		if (fault)
			return err_set(e, E_VALIDATION, ANNOTATION " %.*s: %s", STR_ARG(shown),
				       fault);
		ret[count++] = (struct header_param){name, argument_of(&k, arguments)};
	}
	*ret_count = count;
	return 0;
}

bool
header_has_params(const struct json *schema)
{
	struct walk k = {.depth = 0};
	const struct json *annotation;

	walk_push(&k, schema, SCHEMA, true);
	return walk_next(&k, &annotation) != NULL;
}

/* ---- their values ---- */

void
header_param_value(struct buf *out, const struct json *value)
{
	int64_t n;

	if (json_is(value, JSON_STRING))
		header_encode(out, json_str(value));
	else if (json_is(value, JSON_BOOL))
		buf_addz(out, json_bool(value) ? "true" : "false");
	else if (json_int(value, &n))
		buf_add_i64(out, n);
}

/* 42 and 42.0 are one number. */
static bool
says_number(struct str received, const struct json *value)
{
	static const struct json_limits limits = {NUMBER_TEXT, 1};
	struct json_doc *doc = NULL;

	if (json_parse(received, &limits, &doc, NULL) < 0)
		return false;
	const struct json *n = json_root(doc);
	bool same = json_is(n, JSON_NUMBER) && json_number_cmp(n, value) == 0;
	json_doc_unref(doc);
	return same;
}

bool
header_param_says(struct str received, const struct json *value)
{
	received = str_trim(received);
	if (json_is(value, JSON_STRING))
		return header_says(received, json_str(value));
	if (json_is(value, JSON_BOOL))
		return header_says(received, json_bool(value) ? S("true") : S("false"));
	if (!json_is(value, JSON_NUMBER))
		return false;
	struct buf text = BUF_INIT(NUMBER_TEXT);
	bool same = header_decode(received, &text) && says_number(buf_str(&text), value);
	buf_done(&text);
	return same;
}
