/*
 * compile.c - schemas made into rules.
 *
 * A schema that another one mentions gets the next free number at once and its operations
 * later: the row of rules is also the list of what is still to be compiled. So schemas may refer
 * to each other in circles, and nothing here is recursive.
 */

#include "json/peek.h"
#include "schema/find.h"
#include "schema/row.h"

struct compiler {
	struct schema *s;
	struct finder find;
	bool formats;       /* assert them */
	bool seldom;        /* used */
	size_t regex_bytes; /* of compiled ones */
	ROW(struct str) dynamics;
	struct err *e;
};

/* The keywords of the schema being compiled. */
struct said {
	const struct json *schema;
	uint32_t resource;
	unsigned vocabularies;
	const struct json *by[K__COUNT];
};

#define REFUSE(c, at, ...) finder_refuse(&(c)->find, at, (c)->e, __VA_ARGS__)
#define NOMEM(c) err_plain((c)->e, E_NOMEM)

/* ---- schemas inside ---- */

static int
rule_new(struct compiler *c, const struct json *schema, uint32_t resource, uint32_t *ret)
{
	if (row_add(&c->s->rules, (struct rule){.at = schema, .resource = resource}) < 0)
		return NOMEM(c);
	*ret = (uint32_t)c->s->rules.len - 1;
	return 0;
}

/* The rule of a schema that was walked; booleans have theirs from the start. */
static int
rule_of(struct compiler *c, const struct json *schema, uint32_t *ret)
{
	if (json_is(schema, JSON_BOOL)) {
		*ret = json_bool(schema) ? RULE_ANY : RULE_NEVER;
		return 0;
	}
	struct spot *spot = finder_spot(&c->find, schema);
	if (!spot || !json_is(schema, JSON_OBJECT))
		return REFUSE(c, schema, "must be a schema: an object or a boolean");
	int rc = 0;
	if (spot->rule == RULE_NONE)
		rc = rule_new(c, schema, spot->resource, &spot->rule);
	*ret = spot->rule;
	return rc;
}

/* The same for a keyword that may not be there; *ret is then left as it is. */
static int
rule_said(struct compiler *c, const struct said *said, enum keyword_id k, uint32_t *ret)
{
	return said->by[k] ? rule_of(c, said->by[k], ret) : 0;
}

static int
list_of(struct compiler *c, const struct json *schemas, struct op *op)
{
	op->a = (uint32_t)c->s->lists.len;
	op->b = (uint32_t)json_len(schemas);
	for (struct json_iter it = json_iter(schemas); json_next(&it);) {
		uint32_t rule = RULE_NONE;
		int rc = rule_of(c, it.value, &rule);
		if (rc == 0 && row_add(&c->s->lists, rule) < 0)
			rc = NOMEM(c);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
regex_of(struct compiler *c, struct str pattern, const struct json *at, uint32_t *ret)
{
	struct regex regex;
	struct err wrong = ERR_NONE;

	if (schema__regex_new(&regex, pattern, !c->seldom, &wrong) < 0)
		return REFUSE(c, at, "%s", wrong.text);
	c->regex_bytes += regex.bytes + sizeof(regex);
	if (c->regex_bytes > LIMIT_PATTERN_ALL_BYTES) {
		schema__regex_done(&regex);
		return REFUSE(c, at, "is one regular expression too many for one schema");
	}
	if (row_add(&c->s->regexes, regex) < 0) {
		schema__regex_done(&regex);
		return NOMEM(c);
	}
	*ret = (uint32_t)c->s->regexes.len - 1;
	return 0;
}

/* ---- operations ---- */

static int
emit(struct compiler *c, struct op op)
{
	return row_add(&c->s->ops, op) < 0 ? NOMEM(c) : 0;
}

/* Operations that need nothing but what the keyword said, or a count. */
struct plain {
	enum keyword_id keyword;
	enum op_code code;
};

static int
emit_plain(struct compiler *c, const struct said *said, const struct plain *row, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct json *v = said->by[row[i].keyword];
		struct op op = {.code = row[i].code, .keyword = row[i].keyword, .said = v};
		if (!v || (row[i].code == OP_UNIQUE_ITEMS && !json_bool(v)))
			continue;
		op.whole = json_int(v, &op.limit);
		if (!op.whole)
			op.limit = INT64_MAX; /* a count nothing can reach */
		if (emit(c, op) < 0)
			return E_NOMEM;
	}
	return 0;
}

static int
emit_number(struct compiler *c, const struct said *said)
{
	static const struct plain row[] = {
	    {K_MINIMUM, OP_MINIMUM},         {K_EXCLUSIVE_MINIMUM, OP_EXCLUSIVE_MINIMUM},
	    {K_MAXIMUM, OP_MAXIMUM},         {K_EXCLUSIVE_MAXIMUM, OP_EXCLUSIVE_MAXIMUM},
	    {K_MULTIPLE_OF, OP_MULTIPLE_OF},
	};

	return emit_plain(c, said, row, ARRAY_LEN(row));
}

static int
emit_string(struct compiler *c, const struct said *said)
{
	static const struct plain row[] = {
	    {K_MIN_LENGTH, OP_MIN_LENGTH},
	    {K_MAX_LENGTH, OP_MAX_LENGTH},
	};
	const struct json *pattern = said->by[K_PATTERN], *format = said->by[K_FORMAT];
	bool assert_format = c->formats || (said->vocabularies & VOCABULARY_FORMAT_ASSERTION);
	int rc = emit_plain(c, said, row, ARRAY_LEN(row));

	if (rc == 0 && pattern) {
		struct op op = {.code = OP_PATTERN, .keyword = K_PATTERN, .said = pattern};
		rc = regex_of(c, json_str(pattern), pattern, &op.a);
		if (rc == 0)
			rc = emit(c, op);
	}
	if (rc == 0 && format && assert_format) {
		struct op op = {.code = OP_FORMAT, .keyword = K_FORMAT, .said = format};
		op.format = schema__format(json_str(format));
		if (op.format)
			rc = emit(c, op);
	}
	return rc;
}

/* Draft-07's `items` with an array is what 2020-12 calls prefixItems and items. */
static int
emit_items(struct compiler *c, const struct said *said)
{
	const struct json *first = said->by[K_PREFIX_ITEMS], *rest = said->by[K_ITEMS];
	struct op op = {.code = OP_ITEMS, .keyword = K_ITEMS, .c = RULE_NONE};
	int rc = 0;

	if (json_is(said->by[K_ITEMS_7], JSON_ARRAY)) {
		first = said->by[K_ITEMS_7];
		rest = said->by[K_ADDITIONAL_ITEMS];
		op.keyword = K_ADDITIONAL_ITEMS;
	} else if (said->by[K_ITEMS_7]) {
		rest = said->by[K_ITEMS_7];
	}
	if (!first && !rest)
		return 0;
	if (first)
		rc = list_of(c, first, &op);
	if (rc == 0 && rest)
		rc = rule_of(c, rest, &op.c);
	return rc == 0 ? emit(c, op) : rc;
}

static uint32_t
count_of(const struct json *said, uint32_t otherwise)
{
	int64_t n;

	if (!said)
		return otherwise;
	return json_int(said, &n) && n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static int
emit_array(struct compiler *c, const struct said *said)
{
	static const struct plain row[] = {
	    {K_MIN_ITEMS, OP_MIN_ITEMS},
	    {K_MAX_ITEMS, OP_MAX_ITEMS},
	    {K_UNIQUE_ITEMS, OP_UNIQUE_ITEMS},
	};
	int rc = emit_plain(c, said, row, ARRAY_LEN(row));

	if (rc == 0)
		rc = emit_items(c, said);
	if (rc == 0 && said->by[K_CONTAINS]) {
		struct op op = {.code = OP_CONTAINS, .keyword = K_CONTAINS};
		op.b = count_of(said->by[K_MIN_CONTAINS], 1);
		op.c = count_of(said->by[K_MAX_CONTAINS], UINT32_MAX);
		rc = rule_of(c, said->by[K_CONTAINS], &op.a);
		if (rc == 0)
			rc = emit(c, op);
	}
	return rc;
}

/* ---- objects ---- */

/* Names that were just added, each kept once. */
static int
names_unite(struct compiler *c, struct set *set)
{
	struct schema *s = c->s;
	struct name *row = s->names.row + set->at;
	uint32_t slots = (uint32_t)s->slots.len, kept = 0;

	if (s->names.len > LIMIT_SCHEMA_ALL_NAMES)
		return err_set(c->e, E_TOO_LARGE, "the schema has more than %d names in it",
			       LIMIT_SCHEMA_ALL_NAMES);
	if (schema__set_build(s, set) < 0)
		return NOMEM(c);
	/* Of equal names the search finds the one that was added first. */
	for (uint32_t i = 0; i < set->len; i++) {
		bool first = schema__set_find(s, set, row[i].text) == (int)i;
		row[i].twice = !first;
		kept += first;
	}
	if (kept == set->len)
		return 0;
	kept = 0;
	for (uint32_t i = 0; i < set->len; i++)
		if (!row[i].twice)
			row[kept++] = row[i];
	s->names.len = set->at + kept;
	s->slots.len = slots;
	set->len = kept;
	return schema__set_build(s, set) < 0 ? NOMEM(c) : 0;
}

/* The required names, with room for the declared ones that are not among them. */
static int
required_collect(struct compiler *c, const struct said *said, struct members *m)
{
	struct schema *s = c->s;
	const struct json *required = said->by[K_REQUIRED], *properties = said->by[K_PROPERTIES];
	size_t most = json_len(required) + json_len(properties);

	if (most > LIMIT_SCHEMA_NAMES)
		return REFUSE(c, said->schema, "has more than %d properties", LIMIT_SCHEMA_NAMES);
	if (row_room(&s->names, most) < 0)
		return NOMEM(c);
	m->names = (struct set){.at = (uint32_t)s->names.len, .len = (uint32_t)json_len(required)};
	for (struct json_iter it = json_iter(required); json_next(&it);)
		s->names.row[s->names.len++] =
		    (struct name){.text = json_str(it.value), .rule = RULE_NONE};
	int rc = names_unite(c, &m->names);
	m->required = m->names.len;
	return rc;
}

static int
properties_collect(struct compiler *c, const struct said *said, struct members *m)
{
	struct schema *s = c->s;
	struct set required = m->names;

	for (struct json_iter it = json_iter(said->by[K_PROPERTIES]); json_next(&it);) {
		uint32_t rule = RULE_NONE;
		int rc = rule_of(c, it.value, &rule);
		if (rc < 0)
			return rc;
		int known = schema__set_find(s, &required, it.key);
		if (known >= 0)
			s->names.row[m->names.at + (uint32_t)known].rule = rule;
		else
			s->names.row[s->names.len++] = (struct name){.text = it.key, .rule = rule};
	}
	m->names.len = (uint32_t)s->names.len - m->names.at;
	if (m->names.len == required.len)
		return 0;
	if (required.len > 0)
		s->slots.len = required.slot_at; /* nothing was added behind it */
	return names_unite(c, &m->names);
}

static int
patterns_collect(struct compiler *c, const struct said *said, struct members *m)
{
	m->pattern_at = (uint32_t)c->s->patterns.len;
	for (struct json_iter it = json_iter(said->by[K_PATTERN_PROPERTIES]); json_next(&it);) {
		struct pattern p;
		int rc = regex_of(c, it.key, it.value, &p.regex);
		if (rc == 0)
			rc = rule_of(c, it.value, &p.rule);
		if (rc == 0 && row_add(&c->s->patterns, p) < 0)
			rc = NOMEM(c);
		if (rc < 0)
			return rc;
	}
	m->pattern_len = (uint32_t)c->s->patterns.len - m->pattern_at;
	return 0;
}

static int
emit_members(struct compiler *c, const struct said *said)
{
	struct members m = {.additional = RULE_NONE, .key = RULE_NONE};
	struct op op = {.code = OP_MEMBERS,
			.keyword = K_ADDITIONAL_PROPERTIES,
			.a = (uint32_t)c->s->members.len};

	if (!said->by[K_PROPERTIES] && !said->by[K_REQUIRED] && !said->by[K_PATTERN_PROPERTIES] &&
	    !said->by[K_ADDITIONAL_PROPERTIES] && !said->by[K_PROPERTY_NAMES])
		return 0;
	int rc = required_collect(c, said, &m);
	if (rc == 0)
		rc = properties_collect(c, said, &m);
	if (rc == 0)
		rc = patterns_collect(c, said, &m);
	if (rc == 0)
		rc = rule_said(c, said, K_ADDITIONAL_PROPERTIES, &m.additional);
	if (rc == 0)
		rc = rule_said(c, said, K_PROPERTY_NAMES, &m.key);
	if (rc == 0 && row_add(&c->s->members, m) < 0)
		rc = NOMEM(c);
	return rc == 0 ? emit(c, op) : rc;
}

/* "If there is a member of this name, then": other names must be there, or a schema must fit. */
static int
emit_dependencies(struct compiler *c, const struct json *object, enum keyword_id k)
{
	for (struct json_iter it = json_iter(object); json_next(&it);) {
		struct op op = {.code = OP_DEPENDENCY, .keyword = k, .a = RULE_NONE};
		int rc = 0;
		op.key = peek_key(it.value);
		op.said = it.value;
		if (!json_is(it.value, JSON_ARRAY))
			rc = rule_of(c, it.value, &op.a);
		if (rc == 0)
			rc = emit(c, op);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
emit_object(struct compiler *c, const struct said *said)
{
	static const struct plain row[] = {
	    {K_MIN_PROPERTIES, OP_MIN_PROPERTIES},
	    {K_MAX_PROPERTIES, OP_MAX_PROPERTIES},
	};
	static const enum keyword_id dependencies[] = {K_DEPENDENT_REQUIRED, K_DEPENDENT_SCHEMAS,
						       K_DEPENDENCIES};
	int rc = emit_plain(c, said, row, ARRAY_LEN(row));

	if (rc == 0)
		rc = emit_members(c, said);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(dependencies); i++)
		rc = emit_dependencies(c, said->by[dependencies[i]], dependencies[i]);
	return rc;
}

/* ---- what concerns values of every type ---- */

static int
emit_enum(struct compiler *c, const struct said *said)
{
	struct schema *s = c->s;
	const struct json *list = said->by[K_ENUM];
	struct choices choices = {.texts.at = (uint32_t)s->names.len,
				  .other_at = (uint32_t)s->values.len};
	struct op op = {.code = OP_ENUM, .keyword = K_ENUM, .said = list};

	if (json_len(list) > LIMIT_SCHEMA_NAMES)
		return REFUSE(c, list, "has more than %d values", LIMIT_SCHEMA_NAMES);
	if (row_room(&s->names, json_len(list)) < 0 || row_room(&s->values, json_len(list)) < 0)
		return NOMEM(c);
	for (struct json_iter it = json_iter(list); json_next(&it);)
		if (json_is(it.value, JSON_STRING))
			s->names.row[s->names.len++] =
			    (struct name){.text = json_str(it.value), .rule = RULE_NONE};
		else
			s->values.row[s->values.len++] = it.value;
	choices.texts.len = (uint32_t)s->names.len - choices.texts.at;
	choices.other_len = (uint32_t)s->values.len - choices.other_at;
	op.a = (uint32_t)s->choices.len;
	int rc = names_unite(c, &choices.texts);
	if (rc == 0 && row_add(&s->choices, choices) < 0)
		rc = NOMEM(c);
	return rc == 0 ? emit(c, op) : rc;
}

static int
emit_lists(struct compiler *c, const struct said *said)
{
	static const struct plain row[] = {{K_ALL_OF, OP_ALL_OF},
					   {K_ANY_OF, OP_ANY_OF},
					   {K_ONE_OF, OP_ONE_OF}};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct op op = {.code = row[i].code, .keyword = row[i].keyword};
		if (!said->by[row[i].keyword])
			continue;
		int rc = list_of(c, said->by[row[i].keyword], &op);
		if (rc == 0)
			rc = emit(c, op);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
emit_if(struct compiler *c, const struct said *said)
{
	struct op op = {.code = OP_IF, .keyword = K_IF, .b = RULE_ANY, .c = RULE_ANY};
	int rc = rule_said(c, said, K_IF, &op.a);

	if (rc == 0)
		rc = rule_said(c, said, K_THEN, &op.b);
	if (rc == 0)
		rc = rule_said(c, said, K_ELSE, &op.c);
	return rc == 0 ? emit(c, op) : rc;
}

/* Its number in the row of dynamic names. */
static int
dynamic_of(struct compiler *c, const struct json *said, uint32_t *ret)
{
	struct str name = schema__uri_fragment(json_str(said));

	for (uint32_t i = 0; i < c->dynamics.len; i++)
		if (str_eq(c->dynamics.row[i], name)) {
			*ret = i;
			return 0;
		}
	if (c->dynamics.len >= LIMIT_SCHEMA_DYNAMICS)
		return REFUSE(c, said, "is one of more than %d dynamic names",
			      LIMIT_SCHEMA_DYNAMICS);
	*ret = (uint32_t)c->dynamics.len;
	return row_add(&c->dynamics, name) < 0 ? NOMEM(c) : 0;
}

static int
emit_ref(struct compiler *c, const struct said *said, enum keyword_id k)
{
	struct op op = {.code = OP_REF, .keyword = k, .said = said->by[k]};
	const struct json *to = NULL;
	bool dynamic = false;
	int rc = op.said ? finder_ref(&c->find, said->resource, op.said, &to, &dynamic, c->e) : 0;

	if (rc < 0 || !op.said)
		return rc;
	rc = rule_of(c, to, &op.a);
	if (rc == 0 && k == K_DYNAMIC_REF && dynamic) {
		op.code = OP_DYNAMIC_REF;
		rc = dynamic_of(c, op.said, &op.b);
	}
	return rc == 0 ? emit(c, op) : rc;
}

static int
emit_general(struct compiler *c, const struct said *said)
{
	int rc = 0;

	if (said->by[K_CONST])
		rc = emit(c, (struct op){.code = OP_CONST,
					 .keyword = K_CONST,
					 .said = said->by[K_CONST]});
	if (rc == 0 && said->by[K_ENUM])
		rc = emit_enum(c, said);
	if (rc == 0)
		rc = emit_ref(c, said, K_REF);
	if (rc == 0)
		rc = emit_ref(c, said, K_DYNAMIC_REF);
	if (rc == 0)
		rc = emit_lists(c, said);
	if (rc == 0 && said->by[K_NOT]) {
		struct op op = {.code = OP_NOT, .keyword = K_NOT, .said = said->by[K_NOT]};
		rc = rule_of(c, said->by[K_NOT], &op.a);
		if (rc == 0)
			rc = emit(c, op);
	}
	if (rc == 0 && said->by[K_IF])
		rc = emit_if(c, said);
	return rc;
}

/* ---- rules ---- */

static int
said_read(struct compiler *c, uint32_t rule, struct said *said)
{
	const struct rule *r = &c->s->rules.row[rule];
	const struct resource *resource = &c->find.resources.row[r->resource];
	bool only_ref = resource->draft == DRAFT_7 && json_get(r->at, S("$ref"));

	*said = (struct said){.schema = r->at,
			      .resource = r->resource,
			      .vocabularies = resource->vocabularies};
	for (struct json_iter it = json_iter(r->at); json_next(&it);) {
		const struct keyword *k = keyword_find(it.key, resource->draft);
		if (!k || !(k->vocabulary & said->vocabularies) || (only_ref && k->id != K_REF))
			continue;
		const char *wrong = keyword_wrong(k, it.value);
		if (wrong)
			return REFUSE(c, it.value, "%s", wrong);
		said->by[k->id] = it.value;
	}
	return 0;
}

static unsigned
types_of(const struct json *said)
{
	unsigned types = said ? keyword_type(said) : TYPES_ALL;

	for (struct json_iter it = json_iter(said); json_next(&it);)
		types |= keyword_type(it.value);
	return types;
}

/*
 * What must come last, because it is about what the others left; the rule then keeps marks for
 * values of that type.
 */
static const struct {
	enum json_type type;
	enum keyword_id keyword;
	enum op_code code;
	int (*emit)(struct compiler *c, const struct said *said);
} by_type[] = {
    {JSON_NUMBER, K__COUNT, OP_DONE, emit_number},
    {JSON_STRING, K__COUNT, OP_DONE, emit_string},
    {JSON_ARRAY, K_UNEVALUATED_ITEMS, OP_UNEVALUATED_ITEMS, emit_array},
    {JSON_OBJECT, K_UNEVALUATED_PROPERTIES, OP_UNEVALUATED_PROPERTIES, emit_object},
};

/* The operations for one type: its own, then a copy of the general ones. */
static int
type_compile(struct compiler *c, const struct said *said, size_t i, uint32_t general,
	     size_t general_len, struct rule *rule)
{
	struct schema *s = c->s;
	size_t begin = s->ops.len;
	int rc = by_type[i].emit(c, said);
	const struct json *last = by_type[i].code == OP_DONE ? NULL : said->by[by_type[i].keyword];

	if (rc < 0 || (begin == s->ops.len && !last))
		return rc;
	rule->start[by_type[i].type] = (uint32_t)begin;
	for (size_t k = 0; rc == 0 && k < general_len; k++)
		rc = emit(c, s->ops.row[general + k]);
	if (rc == 0 && last) {
		struct op op = {.code = by_type[i].code, .keyword = by_type[i].keyword};
		rule->marked |= (uint8_t)TYPE_BIT(by_type[i].type);
		rc = rule_of(c, last, &op.a);
		if (rc == 0)
			rc = emit(c, op);
	}
	return rc == 0 ? emit(c, (struct op){.code = OP_DONE}) : rc;
}

static bool
is_deep(enum op_code code)
{
	switch (code) {
	case OP_ITEMS:
	case OP_CONTAINS:
	case OP_UNEVALUATED_ITEMS:
	case OP_MEMBERS:
	case OP_DEPENDENCY:
	case OP_UNEVALUATED_PROPERTIES:
	case OP_ALL_OF:
	case OP_ANY_OF:
	case OP_ONE_OF:
	case OP_NOT:
	case OP_IF:
	case OP_REF:
	case OP_DYNAMIC_REF: return true;
	default: return false;
	}
}

static uint8_t
deep_types(const struct schema *s, const struct rule *rule)
{
	unsigned deep = 0;

	for (unsigned t = 0; t < ARRAY_LEN(rule->start); t++)
		for (const struct op *op = s->ops.row + rule->start[t]; op->code != OP_DONE; op++)
			deep |= is_deep(op->code) ? TYPE_BIT(t) : 0;
	return (uint8_t)deep;
}

static int
rule_compile(struct compiler *c, uint32_t number)
{
	struct schema *s = c->s;
	struct rule rule = s->rules.row[number];
	uint32_t general = (uint32_t)s->ops.len;
	struct said said;
	int rc = said_read(c, number, &said);

	if (rc == 0)
		rc = emit_general(c, &said);
	size_t general_len = s->ops.len - general;
	if (rc == 0 && general_len > 0)
		rc = emit(c, (struct op){.code = OP_DONE});
	rule.types = (uint8_t)types_of(said.by[K_TYPE]);
	for (size_t t = 0; t < ARRAY_LEN(rule.start); t++)
		rule.start[t] = general_len > 0 ? general : 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(by_type); i++) {
		unsigned bits = TYPE_BIT(by_type[i].type);
		if (by_type[i].type == JSON_NUMBER)
			bits |= TYPE_INTEGER;
		if (rule.types & bits)
			rc = type_compile(c, &said, i, general, general_len, &rule);
	}
	if (rc < 0)
		return rc;
	rule.deep = deep_types(s, &rule);
	s->rules.row[number] = rule;
	return 0;
}

/*
 * Every dynamic name in every resource. Compiling one may bring more of both, so only pairs that
 * are new since `names` and `resources` are looked at; all of them, when those are 0.
 */
static int
dynamics_compile(struct compiler *c, size_t names, size_t resources)
{
	struct schema *s = c->s;

	s->dynamics.len = 0;
	s->resources = (uint32_t)c->find.resources.len;
	for (size_t n = 0; n < c->dynamics.len; n++)
		for (uint32_t r = 0; r < s->resources; r++) {
			if (n < names && r < resources)
				continue;
			const struct json *at = finder_dynamic(&c->find, r, c->dynamics.row[n]);
			uint32_t rule = 0;
			int rc = at ? rule_of(c, at, &rule) : 0;
			if (rc == 0 && row_add(&s->dynamics, rule) < 0)
				rc = NOMEM(c);
			if (rc < 0)
				return rc;
		}
	return 0;
}

/* The rule that a rule which only refers comes to; a circle is left to the run. */
static uint32_t
rule_behind(const struct schema *s, uint32_t rule)
{
	for (int steps = 0; steps < 16 && rule > RULE_ROOT && rule != RULE_NONE; steps++) {
		const struct rule *r = &s->rules.row[rule];
		const struct op *op = s->ops.row + r->start[0];
		bool same = r->types == TYPES_ALL && op->code == OP_REF && op[1].code == OP_DONE;
		for (size_t t = 1; t < ARRAY_LEN(r->start); t++)
			same &= r->start[t] == r->start[0];
		if (!same)
			break;
		rule = op->a;
	}
	return rule;
}

/* Where most rules are named, name the one behind. A dynamic scope needs every step. */
static void
refs_shorten(struct schema *s)
{
	if (s->dynamics.len > 0)
		return;
	for (size_t i = 0; i < s->names.len; i++)
		s->names.row[i].rule = rule_behind(s, s->names.row[i].rule);
	for (size_t i = 0; i < s->lists.len; i++)
		s->lists.row[i] = rule_behind(s, s->lists.row[i]);
	for (size_t i = 0; i < s->ops.len; i++)
		if (s->ops.row[i].code == OP_ITEMS)
			s->ops.row[i].c = rule_behind(s, s->ops.row[i].c);
}

static int
compile_all(struct compiler *c, const struct json *schema)
{
	struct schema *s = c->s;
	uint32_t root = RULE_NONE;
	int rc = rule_of(c, schema, &root);

	/* A program starts at RULE_ROOT, also when that is true or false. */
	if (rc == 0 && root != RULE_ROOT && row_add(&s->rules, s->rules.row[root]) < 0)
		rc = NOMEM(c);
	size_t names = 0, resources = 0;
	for (uint32_t next = RULE_ROOT; rc == 0 && next < s->rules.len;) {
		for (; rc == 0 && next < s->rules.len; next++)
			if (json_is(s->rules.row[next].at, JSON_OBJECT))
				rc = rule_compile(c, next);
		size_t new_names = c->dynamics.len, new_resources = c->find.resources.len;
		if (rc == 0)
			rc = dynamics_compile(c, names, resources);
		names = new_names;
		resources = new_resources;
	}
	if (rc == 0 && c->dynamics.len > 0)
		rc = dynamics_compile(c, 0, 0);
	if (rc == 0 && c->find.nomem)
		rc = NOMEM(c);
	if (rc == 0)
		refs_shorten(s);
	return rc;
}

/* ---- the whole ---- */

static int
compile(struct compiler *c, struct json_doc *doc, const struct json *schema, unsigned draft)
{
	struct schema *s = c->s;

	if (row_add(&s->rules, (struct rule){.types = TYPES_ALL}) < 0 ||
	    row_add(&s->rules, (struct rule){.types = 0}) < 0 ||
	    row_add(&s->ops, (struct op){.code = OP_DONE}) < 0 || row_add(&s->docs, doc) < 0)
		return NOMEM(c);
	json_doc_ref(doc);
	if (draft)
		c->find.forced = schema;
	if (!json_is(schema, JSON_OBJECT) && !json_is(schema, JSON_BOOL))
		return REFUSE(c, schema, "must be a schema: an object or a boolean");
	int rc = finder_walk(&c->find, schema, S(""), draft == 7 ? DRAFT_7 : DRAFT_2020, c->e);
	return rc == 0 ? compile_all(c, schema) : rc;
}

int
schema_compile(struct json_doc *doc, const struct json *schema,
	       const struct schema_options *options, struct schema **ret, struct err *e)
{
	static const struct schema_options usual = {0};
	const struct schema_options *o = options ? options : &usual;
	struct compiler c = {.formats = o->assert_formats, .seldom = o->seldom, .e = e};

	if (o->draft != 0 && o->draft != 7 && o->draft != 2020)
		return err_set(e, E_VALIDATION, "draft: must be 7 or 2020, got %u", o->draft);
	c.s = calloc(1, sizeof(*c.s));
	if (!c.s)
		return err_plain(e, E_NOMEM);
	int rc = finder_init(&c.find, c.s, o->registry, e);
	if (rc == 0)
		rc = compile(&c, doc, schema, o->draft);
	finder_done(&c.find);
	free(c.dynamics.row);
	if (rc < 0) {
		schema_free(c.s);
		return rc;
	}
	*ret = c.s;
	return 0;
}

void
schema_free(struct schema *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->regexes.len; i++)
		schema__regex_done(&s->regexes.row[i]);
	for (size_t i = 0; i < s->docs.len; i++)
		json_doc_unref(s->docs.row[i]);
	void *const rows[] = {s->rules.row,  s->ops.row,     s->lists.row,    s->names.row,
			      s->slots.row,  s->members.row, s->patterns.row, s->choices.row,
			      s->values.row, s->regexes.row, s->docs.row,     s->dynamics.row};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		free(rows[i]);
	free(s);
}
