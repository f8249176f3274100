/* subset.c - who keeps to the portable subset. */

#include "schema/program.h"

struct subset_check {
	const struct json *root;
	struct buf *problems;
};

static struct buf *
begin(struct subset_check *c, const struct json *at)
{
	struct buf *out = c->problems;

	if (out->len)
		buf_addc(out, '\n');
	buf_addz(out, at == c->root ? "$" : "$.");
	schema__where(out, c->root, at, WHERE_DOTTED);
	buf_addz(out, ": ");
	return out;
}

static void
check_type(struct subset_check *c, const struct json *at, const struct json *type)
{
	if (keyword_type(type))
		return;
	struct buf *out = begin(c, at);
	schema__show(out, type, MANNER_PYTHON);
	buf_addz(out, " not in allowed types " TYPES_NAMES);
}

static void check_schema(struct subset_check *c, const struct json *schema, unsigned depth);

/* The keywords whose values the subset has an opinion on. */
static void
check_value(struct subset_check *c, const struct keyword *k, const struct json *v, unsigned depth)
{
	if (k->id == K_ADDITIONAL_PROPERTIES && !json_is(v, JSON_BOOL)) {
		buf_addf(begin(c, v), "must be boolean, got %s",
			 json_is(v, JSON_OBJECT) ? "schema" : json_type_name(json_type(v)));
	} else if (k->id == K_ITEMS) {
		check_schema(c, v, depth + 1);
	} else if (k->id == K_PROPERTIES) {
		for (struct json_iter it = json_iter(v); json_next(&it);)
			check_schema(c, it.value, depth + 1);
	} else if (k->id == K_TYPE && json_is(v, JSON_ARRAY)) {
		for (struct json_iter it = json_iter(v); json_next(&it);)
			check_type(c, v, it.value);
	} else if (k->id == K_TYPE) {
		check_type(c, v, v);
	}
}

static void
check_schema(struct subset_check *c, const struct json *schema, unsigned depth)
{
	if (!json_is(schema, JSON_OBJECT) || depth > LIMIT_SCHEMA_DEPTH) {
		buf_addz(begin(c, schema),
			 depth > LIMIT_SCHEMA_DEPTH ? "nested too deep" : "must be an object");
		return;
	}
	for (struct json_iter it = json_iter(schema); json_next(&it) && !buf_failed(c->problems);) {
		const struct keyword *k = keyword_find(it.key, DRAFT_2020);
		if (k && k->subset == SUBSET_PORTABLE) {
			check_value(c, k, it.value, depth);
			continue;
		}
		struct buf *out = begin(c, schema);
		buf_addz(out, k && k->subset == SUBSET_NAMED ? "disallowed" : "unknown");
		buf_addz(out, " JSON Schema keyword ");
		schema__show_str(out, it.key, MANNER_PYTHON);
	}
}

int
schema_subset(const struct json *schema, struct buf *problems)
{
	struct subset_check c = {schema, problems};
	size_t before = problems->len;

	check_schema(&c, schema, 0);
	return problems->len == before && !buf_failed(problems) ? 0 : E_VALIDATION;
}
