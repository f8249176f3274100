/* compile.c - a schema made into a row of nodes, checked on the way. */

#include "schema/inside.h"

#include <stdlib.h>

static int
refuse(struct err *e, const struct place *at, const char *reason)
{
	struct buf path = BUF_INIT(sizeof(e->text));

	schema__place(&path, at, "$");
	err_set(e, E_VALIDATION, "%.*s: %s", STR_ARG(buf_str(&path)), reason);
	buf_done(&path);
	return E_VALIDATION;
}

/* ---- storage ---- */

/* Room for n more; NULL when there is no memory. */
static void *
grow(void *row, size_t len, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? *cap : 16;

	if (row && len + n <= *cap)
		return row;
	while (want < len + n)
		want *= 2;
	void *bigger = reallocarray(row, want, size);
	if (bigger)
		*cap = want;
	return bigger;
}

static int
node_new(struct schema *s, uint32_t *ret, struct err *e)
{
	struct node *nodes = grow(s->nodes, s->node_len, &s->node_cap, 1, sizeof(*nodes));

	if (!nodes)
		return err_plain(e, E_NOMEM);
	s->nodes = nodes;
	*ret = (uint32_t)s->node_len++;
	nodes[*ret] = (struct node){.max_length = INT64_MAX, .max_items = INT64_MAX};
	return 0;
}

/* ---- names ---- */

int
schema__name_cmp(const void *a, const void *b)
{
	return str_cmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* Sorted, a name that is both declared and required only once. */
static size_t
names_merge(struct name *names, size_t len)
{
	size_t kept = 0;

	qsort(names, len, sizeof(*names), schema__name_cmp);
	for (size_t i = 0; i < len; i++) {
		if (kept == 0 || !str_eq(names[kept - 1].text, names[i].text)) {
			names[kept++] = names[i];
			continue;
		}
		names[kept - 1].required |= names[i].required;
		if (names[i].schema)
			names[kept - 1].schema = names[i].schema;
	}
	return kept;
}

static int
names_add(struct schema *s, struct node *n, const struct json *properties, const struct place *at,
	  struct err *e)
{
	size_t count = json_len(properties) + json_len(n->required);

	if (count > LIMIT_SCHEMA_NAMES)
		return refuse(e, at, "has too many properties");
	struct name *names = grow(s->names, s->name_len, &s->name_cap, count, sizeof(*names));
	if (!names)
		return err_plain(e, E_NOMEM);
	s->names = names;
	names += s->name_len;
	size_t len = 0;
	for (struct json_iter it = json_iter(properties); json_next(&it);)
		names[len++] = (struct name){.text = it.key, .schema = it.value};
	for (struct json_iter it = json_iter(n->required); json_next(&it);)
		names[len++] = (struct name){.text = json_str(it.value), .required = true};
	len = names_merge(names, len);
	for (size_t i = 0; i < len; i++)
		n->required_len += names[i].required;
	n->name_at = (uint32_t)s->name_len;
	n->name_len = (uint32_t)len;
	s->name_len += len;
	return 0;
}

/* ---- keywords ---- */

static int
set_pattern(struct node *n, const struct json *v, const struct place *at, struct err *e)
{
	/* As near to ECMA 262 as PCRE2 comes: "$" is the very end, \uXXXX a character. */
	const uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
				 PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF |
				 PCRE2_ALLOW_EMPTY_CLASS;
	struct str text = json_str(v);
	int wrong;
	size_t offset;
	uint32_t all = 0;

	if (text.len > LIMIT_PATTERN_BYTES)
		return refuse(e, at, "is too long for a regular expression");
	n->regex = pcre2_compile((PCRE2_SPTR)text.ptr, text.len, options, &wrong, &offset, NULL);
	if (!n->regex) {
		char reason[160] = "is not a regular expression: ";
		size_t used = strlen(reason);
		pcre2_get_error_message(wrong, (PCRE2_UCHAR *)reason + used, sizeof(reason) - used);
		return refuse(e, at, reason);
	}
	pcre2_pattern_info(n->regex, PCRE2_INFO_ALLOPTIONS, &all);
	n->anchored = all & PCRE2_ANCHORED;
	return 0;
}

static int
set_types(struct node *n, const struct json *v, const struct place *at, struct err *e)
{
	if (json_is(v, JSON_STRING))
		n->types = schema__type(v);
	for (struct json_iter it = json_iter(v); json_next(&it);)
		n->types |= schema__type(it.value);
	return n->types ? 0 : refuse(e, at, "must name a type");
}

static bool
all_strings(const struct json *v)
{
	for (struct json_iter it = json_iter(v); json_next(&it);)
		if (!json_is(it.value, JSON_STRING))
			return false;
	return true;
}

/* What each keyword takes, in the words of an error. */
static const struct {
	int type; /* of the value; -1: see to it below */
	const char *must;
} values[] = {
    [TAKES_ANY] = {-1, ""},
    [TAKES_STRING] = {JSON_STRING, "must be a string"},
    [TAKES_ARRAY] = {JSON_ARRAY, "must be an array"},
    [TAKES_NUMBER] = {JSON_NUMBER, "must be a number"},
    [TAKES_COUNT] = {JSON_NUMBER, "must be a number that is not negative, without a fraction"},
    [TAKES_BOOL] = {JSON_BOOL, "must be a boolean"},
    [TAKES_TYPE] = {-1, ""},
    [TAKES_PATTERN] = {JSON_STRING, "must be a string"},
    [TAKES_NAMES] = {JSON_ARRAY, "must be an array of strings"},
    [TAKES_SCHEMA] = {JSON_OBJECT, "must be an object"},
    [TAKES_SCHEMAS] = {JSON_OBJECT, "must be an object"},
};

/* Schemas inside are left for later: their nodes come after this one is complete. */
static int
set_keyword(struct node *n, const struct keyword *k, const struct json *v, const struct place *at,
	    struct err *e)
{
	char *slot = (char *)n + k->offset;

	if (values[k->takes].type >= 0 && !json_is(v, (enum json_type)values[k->takes].type))
		return refuse(e, at, values[k->takes].must);
	switch (k->takes) {
	case TAKES_SCHEMA:
	case TAKES_SCHEMAS:
	case TAKES_STRING: return 0;
	case TAKES_BOOL: n->closed = !json_bool(v); return 0;
	case TAKES_COUNT:
		if (!json_int(v, (int64_t *)(void *)slot) || *(int64_t *)(void *)slot < 0)
			return refuse(e, at, values[k->takes].must);
		return 0;
	case TAKES_NAMES:
		if (!all_strings(v))
			return refuse(e, at, values[k->takes].must);
		break;
	case TAKES_PATTERN:
		if (set_pattern(n, v, at, e) < 0)
			return E_VALIDATION;
		break;
	case TAKES_TYPE:
		if (set_types(n, v, at, e) < 0)
			return E_VALIDATION;
		break;
	case TAKES_ANY:
	case TAKES_ARRAY:
	case TAKES_NUMBER: break;
	}
	if (k->offset)
		*(const struct json **)(void *)slot = v;
	return 0;
}

/* ---- nodes ---- */

static int compile(struct schema *s, const struct json *schema, const struct place *at,
		   uint32_t *ret, struct err *e);

static int
compile_inside(struct schema *s, uint32_t self, const struct json *schema, const struct place *at,
	       struct err *e)
{
	struct place properties = {.up = at, .name = S("properties")};
	struct place items = {.up = at, .name = S("items")};
	const struct json *item = json_get(schema, items.name);
	int rc = names_add(s, &s->nodes[self], json_get(schema, properties.name), &properties, e);

	/* By index: the rows may move while they grow. */
	size_t name_at = s->nodes[self].name_at, name_len = s->nodes[self].name_len;
	for (size_t i = name_at; rc == 0 && i < name_at + name_len; i++) {
		struct place inner = {.up = &properties, .name = s->names[i].text};
		uint32_t node = 0;
		if (s->names[i].schema)
			rc = compile(s, s->names[i].schema, &inner, &node, e);
		s->names[i].node = node;
	}
	uint32_t node = 0;
	if (rc == 0 && item)
		rc = compile(s, item, &items, &node, e);
	s->nodes[self].items = node;
	return rc;
}

static int
compile(struct schema *s, const struct json *schema, const struct place *at, uint32_t *ret,
	struct err *e)
{
	uint32_t self = 0;
	int rc = node_new(s, &self, e);

	for (struct json_iter it = json_iter(schema); rc == 0 && json_next(&it);) {
		struct place inner = {.up = at, .name = it.key};
		rc = set_keyword(&s->nodes[self], schema__keyword(it.key), it.value, &inner, e);
	}
	if (rc == 0)
		rc = compile_inside(s, self, schema, at, e);
	*ret = self;
	return rc;
}

/* Only what keeps to the subset, and so is not too deep, goes further. */
static int
subset_or_err(const struct json *schema, struct err *e)
{
	struct buf problems = BUF_INIT(LIMIT_SCHEMA_BYTES);
	struct str all, first;

	if (schema_subset(schema, &problems) == 0) {
		buf_done(&problems);
		return 0;
	}
	all = buf_str(&problems);
	str_split(&all, '\n', &first);
	err_set(e, E_VALIDATION, "%.*s", STR_ARG(first));
	buf_done(&problems);
	return E_VALIDATION;
}

static pcre2_match_context *
matching_new(void)
{
	pcre2_match_context *m = pcre2_match_context_create(NULL);

	if (m) {
		pcre2_set_match_limit(m, LIMIT_PATTERN_STEPS);
		pcre2_set_depth_limit(m, LIMIT_PATTERN_DEPTH);
		pcre2_set_heap_limit(m, LIMIT_PATTERN_HEAP_KIB);
	}
	return m;
}

int
schema_compile(struct json_doc *doc, const struct json *schema, struct schema **ret, struct err *e)
{
	const struct place root = {0};
	uint32_t node;

	if (subset_or_err(schema, e) < 0)
		return E_VALIDATION;
	struct schema *s = calloc(1, sizeof(*s));
	if (!s)
		return err_plain(e, E_NOMEM);
	s->doc = json_doc_ref(doc);
	s->matching = matching_new();
	int rc = s->matching ? compile(s, schema, &root, &node, e) : err_plain(e, E_NOMEM);
	if (rc < 0) {
		schema_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void
schema_free(struct schema *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->node_len; i++)
		pcre2_code_free(s->nodes[i].regex);
	pcre2_match_context_free(s->matching);
	free(s->nodes);
	free(s->names);
	json_doc_unref(s->doc);
	free(s);
}
