/*
 * run.c - a value held against a program.
 *
 * Once without words: the first thing that does not fit ends it. Only a value that does not fit
 * is gone through again, and then everything wrong with it is told (report.c).
 */

#include <stdlib.h>

#include "json/peek.h"
#include "schema/program.h"

#define MARK_WORDS 32 /* on the stack: enough for 2048 members or items in all */
#define UNIQUE_FEW 16 /* items that are simply compared with each other */
#define UNIQUE_ROOM 256

/* What has an array of its own must not become part of what is recursive. */
#define NOINLINE __attribute__((noinline))

/* The resources one is inside of, the innermost first; kept only for programs with $dynamicRef. */
struct scope {
	const struct scope *up;
	uint32_t resource;
};

struct run {
	const struct schema *s;
	struct report *report; /* NULL: yes or no is enough */
	const struct scope *scope;
	int64_t work; /* what may still be done; below 0 it is over */
	unsigned nesting;
	const char *ended; /* why, if the run ended early; NULL: it did not */
	const struct json *ended_at;
	size_t mark_used;
	uint64_t mark_room[MARK_WORDS];
	struct matcher matcher;
};

/* Which members or items of one value were evaluated; NULL where nobody asks. */
struct marks {
	uint64_t *bits;
	size_t words;
	bool heap;
};

static bool run_list(struct run *r, const struct op *op, const struct json *v, struct marks *marks);
static bool run_deep(struct run *r, const struct rule *rule, const struct json *v, enum json_type t,
		     struct marks *marks);

/* The end of everything: also inside a `not` the answer is no. */
static bool
end(struct run *r, const struct json *v, const char *why)
{
	if (!r->ended) {
		r->ended = why;
		r->ended_at = v;
	}
	return false;
}

static inline bool
spend(struct run *r, const struct json *v, size_t work)
{
	r->work -= (int64_t)work;
	return r->work >= 0 || end(r, v, "is too much work to check");
}

static NOINLINE size_t
weight_inside(const struct json *v)
{
	size_t n = peek_size(v), sum = n;

	for (const struct json *at = v; n-- > 0; at = peek_value(at)) /* one behind the other */
		sum += peek_type(at) < JSON_ARRAY ? peek_len(at) / 16 : 0;
	return sum;
}

/* What it costs to go through a value once: all inside, and its texts by their length. */
static inline size_t
weight(const struct json *v)
{
	return peek_type(v) < JSON_ARRAY ? 1 + peek_len(v) / 16 : weight_inside(v);
}

/* Go on after this? Only to tell more. */
static inline bool
telling(const struct run *r)
{
	return r->report && !r->ended && !report_full(r->report);
}

/* ---- rules ---- */

static bool
is_integer(struct run *r, const struct json *v)
{
	int64_t n;

	return peek_int(v, &n) || (spend(r, v, weight(v)) && json_is_integer(v));
}

static inline bool
apply(struct run *r, uint32_t number, const struct json *v, struct marks *marks)
{
	const struct rule *rule = &r->s->rules.row[number];
	enum json_type t = peek_type(v);

	if (!spend(r, v, 1))
		return false;
	bool typed = (rule->types & TYPE_BIT(t)) ||
		     (t == JSON_NUMBER && (rule->types & TYPE_INTEGER) && is_integer(r, v));
	if (!typed) {
		if (r->report)
			schema__tell_type(r->report, rule, v);
		return false;
	}
	if (rule->start[t] == 0)
		return true;
	return rule->deep & TYPE_BIT(t) ? run_deep(r, rule, v, t, marks)
					: run_list(r, r->s->ops.row + rule->start[t], v, NULL);
}

/* Whether it fits, without a word. */
static bool
quietly(struct run *r, uint32_t number, const struct json *v, struct marks *marks)
{
	struct report *report = r->report;

	r->report = NULL;
	bool fits = apply(r, number, v, marks);
	r->report = report;
	return fits;
}

static inline bool
fail(struct run *r, const struct op *op, const struct json *v, size_t number)
{
	if (telling(r))
		schema__tell(r->report, op, v, number);
	return false;
}

/* ---- marks ---- */

static bool
marks_open(struct run *r, struct marks *m, const struct json *v)
{
	m->words = (peek_len(v) + 63) / 64;
	m->heap = m->words > MARK_WORDS - r->mark_used;
	if (!m->heap) {
		m->bits = r->mark_room + r->mark_used;
		r->mark_used += m->words;
		memset(m->bits, 0, m->words * sizeof(*m->bits));
		return spend(r, v, m->words);
	}
	m->bits = calloc(m->words, sizeof(*m->bits));
	return m->bits ? spend(r, v, m->words) : end(r, v, "is too large to check");
}

/* In the reverse order of opening. */
static void
marks_close(struct run *r, struct marks *m)
{
	if (m->heap)
		free(m->bits);
	else
		r->mark_used -= m->words;
}

static inline void
mark(struct marks *m, size_t i)
{
	if (m)
		m->bits[i / 64] |= UINT64_C(1) << i % 64;
}

static void
mark_all(struct marks *m)
{
	if (m)
		memset(m->bits, 0xff, m->words * sizeof(*m->bits));
}

/* A branch that may fail: what it marks counts only if it does not. */
static bool
branch(struct run *r, uint32_t rule, const struct json *v, struct marks *marks)
{
	struct marks own;

	if (!marks)
		return quietly(r, rule, v, NULL);
	if (!marks_open(r, &own, v)) {
		marks_close(r, &own);
		return false;
	}
	bool fits = quietly(r, rule, v, &own);
	for (size_t i = 0; fits && i < own.words; i++)
		marks->bits[i] |= own.bits[i];
	marks_close(r, &own);
	return fits;
}

/* ---- numbers and strings ---- */

/* The order of a number and the operation's. */
static inline int
compare(struct run *r, const struct op *op, const struct json *v)
{
	int64_t n;

	if (op->whole && peek_int(v, &n))
		return (n > op->limit) - (n < op->limit);
	return spend(r, v, weight(v) + weight(op->said)) ? json_number_cmp(v, op->said) : 0;
}

static size_t
code_points(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	return n;
}

/* A text has at least a quarter as many characters as bytes: mostly nothing is counted. */
static bool
run_length(struct run *r, const struct op *op, const struct json *v)
{
	struct str s = peek_str(v);
	bool least = op->code == OP_MIN_LENGTH;

	if (least ? (int64_t)((s.len + 3) / 4) >= op->limit : (int64_t)s.len <= op->limit)
		return true;
	if (!spend(r, v, s.len / 16))
		return false;
	size_t n = code_points(s);
	if (least ? (int64_t)n >= op->limit : (int64_t)n <= op->limit)
		return true;
	return fail(r, op, v, n);
}

static bool
matches(struct run *r, uint32_t regex, const struct json *text, const struct json *v)
{
	enum matched m =
	    schema__match(&r->s->regexes.row[regex], peek_str(text), &r->matcher, &r->work);

	if (m == MATCH_TOO_MUCH || r->work < 0)
		return end(r, v, "is too much work to match against a pattern");
	return m == MATCH_YES;
}

/* ---- arrays ---- */

struct hashed {
	uint64_t hash;
	const struct json *v;
};

static int
by_hash(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->v > y->v) - (x->v < y->v);
}

/* Equal items are neighbours once the row is sorted; those that only collide are paid for. */
static bool
unique_sorted(struct run *r, const struct op *op, const struct json *v, struct hashed *row)
{
	size_t n = peek_len(v), i = 0;

	for (const struct json *item = peek_first(v); i < n; item = peek_next(item))
		row[i++] = (struct hashed){json_hash(item), item};
	qsort(row, n, sizeof(*row), by_hash);
	for (i = 1; i < n; i++)
		for (size_t k = i; k-- > 0 && row[k].hash == row[i].hash;) {
			if (!spend(r, v, weight(row[i].v)))
				return false;
			if (json_equal(row[k].v, row[i].v))
				return fail(r, op, row[i].v, 0);
		}
	return true;
}

static NOINLINE bool
run_unique(struct run *r, const struct op *op, const struct json *v)
{
	size_t n = peek_len(v);
	struct hashed few[UNIQUE_ROOM];

	if (n < 2)
		return true;
	if (!spend(r, v, (n <= UNIQUE_FEW ? n : 4) * weight(v)))
		return false;
	if (n <= UNIQUE_FEW) {
		const struct json *a = peek_next(peek_first(v));
		for (size_t i = 1; i < n; i++, a = peek_next(a)) {
			const struct json *b = peek_first(v);
			for (size_t k = 0; k < i; k++, b = peek_next(b))
				if (peek_type(a) == peek_type(b) && json_equal(a, b))
					return fail(r, op, a, 0);
		}
		return true;
	}
	struct hashed *row = n <= UNIQUE_ROOM ? few : malloc(n * sizeof(*row));
	if (!row)
		return end(r, v, "is too large to check");
	bool unique = unique_sorted(r, op, v, row);
	if (row != few)
		free(row);
	return unique;
}

static bool
run_items(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	const uint32_t *first = r->s->lists.row + op->a;
	const struct json *item = peek_first(v);
	bool fits = true;

	for (size_t i = 0, n = peek_len(v); i < n; i++, item = peek_next(item)) {
		uint32_t rule = i < op->b ? first[i] : op->c;
		if (rule == RULE_NONE)
			break;
		mark(marks, i);
		if (apply(r, rule, item, NULL))
			continue;
		fits = false;
		if (!telling(r))
			break;
	}
	return fits;
}

static bool
run_contains(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	const struct json *item = peek_first(v);
	size_t found = 0;

	for (size_t i = 0, n = peek_len(v); i < n && !r->ended; i++, item = peek_next(item)) {
		if (!quietly(r, op->a, item, NULL))
			continue;
		mark(marks, i);
		if (++found >= op->b && op->c == UINT32_MAX && !marks)
			return true;
	}
	if (r->ended || (found >= op->b && found <= op->c))
		return !r->ended;
	return fail(r, op, v, found);
}

static bool
run_unevaluated_items(struct run *r, const struct op *op, const struct json *v,
		      const struct marks *marks)
{
	const struct json *item = peek_first(v);
	bool fits = true;

	for (size_t i = 0, n = peek_len(v); i < n; i++, item = peek_next(item)) {
		if (marks->bits[i / 64] >> i % 64 & 1 || apply(r, op->a, item, NULL))
			continue;
		fits = false;
		if (!telling(r))
			break;
	}
	return fits;
}

/* ---- objects ---- */

/* What is known of a member by its name; *fits when it is not what it should be. */
static bool
member_declared(struct run *r, const struct members *m, int known, const struct json *key,
		bool *fits)
{
	const struct json *value = peek_value(key);
	uint32_t rule =
	    known >= 0 ? r->s->names.row[m->names.at + (uint32_t)known].rule : RULE_NONE;
	bool declared = rule != RULE_NONE;

	if (declared && !apply(r, rule, value, NULL))
		*fits = false;
	for (uint32_t i = 0; i < m->pattern_len && (*fits || telling(r)); i++) {
		const struct pattern *p = &r->s->patterns.row[m->pattern_at + i];
		if (!matches(r, p->regex, key, value))
			continue;
		declared = true;
		if (!apply(r, p->rule, value, NULL))
			*fits = false;
	}
	return declared && !r->ended;
}

static bool
member_additional(struct run *r, const struct op *op, const struct members *m,
		  const struct json *object, const struct json *key)
{
	if (m->additional != RULE_NEVER)
		return apply(r, m->additional, peek_value(key), NULL);
	if (telling(r))
		schema__tell_unknown(r->report, op, object, key, m);
	return false;
}

static bool
required_missing(struct run *r, const struct members *m, const struct json *v, const uint64_t *seen)
{
	bool missing = false;

	for (uint32_t i = 0; i < m->required; i++) {
		if (seen[i / 64] >> i % 64 & 1)
			continue;
		missing = true;
		if (!telling(r))
			break;
		schema__tell_missing(r->report, K_REQUIRED, v,
				     r->s->names.row[m->names.at + i].text, (struct str){NULL, 0});
	}
	return missing;
}

/* Errors are then about the name. */
static bool
key_fits(struct run *r, uint32_t rule, const struct json *key)
{
	if (r->report)
		r->report->key = key;
	bool fits = apply(r, rule, key, NULL);
	if (r->report)
		r->report->key = NULL;
	return fits;
}

static NOINLINE bool
run_members(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	const struct members *m = &r->s->members.row[op->a];
	uint64_t seen[LIMIT_SCHEMA_NAMES / 64];
	const struct json *key = peek_first(v);
	bool fits = true;

	seen[0] = 0;
	if (m->required > 64)
		memset(seen, 0, (m->required + 63) / 64 * sizeof(*seen));
	for (size_t i = 0, n = peek_len(v); i < n; i++, key = peek_next(peek_value(key))) {
		int known = schema__set_find(r->s, &m->names, peek_str(key));
		if (known >= 0 && (uint32_t)known < m->required)
			seen[known / 64] |= UINT64_C(1) << known % 64;
		bool declared = member_declared(r, m, known, key, &fits);
		if (!declared && m->additional != RULE_NONE && !r->ended) {
			declared = true;
			if (!member_additional(r, op, m, v, key))
				fits = false;
		}
		if (declared)
			mark(marks, i);
		if (m->key != RULE_NONE && !key_fits(r, m->key, key))
			fits = false;
		if (!spend(r, v, weight(key)) || (!fits && !telling(r)))
			return false;
	}
	if (m->required > 0 && required_missing(r, m, v, seen))
		fits = false;
	return fits;
}

static bool
run_dependency(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	bool fits = true;

	if (!spend(r, v, peek_len(v)) || !json_get(v, peek_str(op->key)))
		return !r->ended;
	if (op->a != RULE_NONE)
		return apply(r, op->a, v, marks);
	for (struct json_iter it = json_iter(op->said); json_next(&it);) {
		if (!spend(r, v, peek_len(v)))
			return false;
		if (json_get(v, json_str(it.value)))
			continue;
		fits = false;
		if (!telling(r))
			break;
		schema__tell_missing(r->report, op->keyword, v, json_str(it.value),
				     peek_str(op->key));
	}
	return fits;
}

static bool
run_unevaluated_properties(struct run *r, const struct op *op, const struct json *v,
			   const struct marks *marks)
{
	const struct json *key = peek_first(v);
	bool fits = true;

	for (size_t i = 0, n = peek_len(v); i < n; i++, key = peek_next(peek_value(key))) {
		if (marks->bits[i / 64] >> i % 64 & 1)
			continue;
		if (op->a != RULE_NEVER && apply(r, op->a, peek_value(key), NULL))
			continue;
		fits = false;
		if (!telling(r))
			break;
		if (op->a == RULE_NEVER)
			schema__tell_unknown(r->report, op, v, key, NULL);
	}
	return fits;
}

/* ---- all types ---- */

static bool
run_enum(struct run *r, const struct op *op, const struct json *v)
{
	const struct choices *c = &r->s->choices.row[op->a];
	const struct json *const *other = r->s->values.row + c->other_at;

	if (peek_type(v) == JSON_STRING)
		return (spend(r, v, weight(v)) &&
			schema__set_find(r->s, &c->texts, peek_str(v)) >= 0) ||
		       fail(r, op, v, 0);
	for (uint32_t i = 0; i < c->other_len; i++) {
		if (!spend(r, v, 1))
			return false;
		if (peek_type(v) == peek_type(other[i]) && peek_len(v) == peek_len(other[i]) &&
		    spend(r, v, weight(other[i])) && json_equal(v, other[i]))
			return true;
	}
	return fail(r, op, v, 0);
}

static bool
run_const(struct run *r, const struct op *op, const struct json *v)
{
	bool alike = peek_type(v) == peek_type(op->said) && spend(r, v, weight(op->said));
	bool equal = alike && (peek_type(v) == JSON_STRING ? str_eq(peek_str(v), peek_str(op->said))
							   : json_equal(v, op->said));

	return equal || fail(r, op, v, 0);
}

static bool
run_all_of(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	bool fits = true;

	for (uint32_t i = 0; i < op->b; i++) {
		if (apply(r, r->s->lists.row[op->a + i], v, marks))
			continue;
		fits = false;
		if (!telling(r))
			break;
	}
	return fits;
}

#define FAR_TYPE 10000 /* of another type at all */
#define FAR_APART 100  /* a constant tells it apart */

/* How far the value is from one of the alternatives. */
static size_t
distance(struct run *r, uint32_t rule, const struct json *v)
{
	struct report *report = r->report;
	size_t count = report->count, far = 0;
	bool counting = report->counting;

	report->counting = true;
	apply(r, rule, v, NULL);
	report->counting = counting;
	for (size_t i = count; i < report->count; i++) {
		const struct error *error = &report->errors[i];
		bool apart = error->keyword == K_CONST || error->keyword == K_ENUM;
		bool type = error->at == v && error->keyword == K_TYPE;
		far += type ? FAR_TYPE : apart ? FAR_APART : 1;
	}
	report->count = count;
	return far;
}

/*
 * None of the alternatives fits: tell what is wrong with the one that was probably meant. That
 * is the one of the right type, with the right constants, and else with the fewest errors.
 */
static bool
fail_nearest(struct run *r, const struct op *op, const struct json *v)
{
	const uint32_t *rules = r->s->lists.row + op->a;
	size_t best = SIZE_MAX;
	uint32_t nearest = 0;
	unsigned types = 0;

	if (!telling(r) || r->report->form == SCHEMA_DISPATCHER || r->report->counting)
		return fail(r, op, v, 0);
	for (uint32_t i = 0; i < op->b && !r->ended; i++) {
		size_t far = distance(r, rules[i], v);
		types |= r->s->rules.row[rules[i]].types;
		if (far < best) {
			best = far;
			nearest = rules[i];
		}
	}
	/* Of nothing but wrong types there is no more to say than the right ones. */
	if (best >= FAR_TYPE && types && telling(r)) {
		schema__tell_types(r->report, op, v, types);
		return false;
	}
	fail(r, op, v, 0);
	if (telling(r))
		apply(r, nearest, v, NULL);
	return false;
}

static bool
run_any_of(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	bool fits = false;

	for (uint32_t i = 0; i < op->b && !r->ended && (!fits || marks); i++)
		fits |= branch(r, r->s->lists.row[op->a + i], v, marks);
	if (fits || r->ended)
		return !r->ended;
	return fail_nearest(r, op, v);
}

static bool
run_one_of(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	size_t fit = 0;

	for (uint32_t i = 0; i < op->b && !r->ended && (fit < 2 || r->report); i++)
		fit += branch(r, r->s->lists.row[op->a + i], v, marks);
	if (fit == 1 || r->ended)
		return !r->ended;
	return fit == 0 ? fail_nearest(r, op, v) : fail(r, op, v, fit);
}

static bool
run_not(struct run *r, const struct op *op, const struct json *v)
{
	bool fits = quietly(r, op->a, v, NULL);

	return !r->ended && (!fits || fail(r, op, v, 0));
}

static bool
run_if(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	bool fits = branch(r, op->a, v, marks);

	return !r->ended && apply(r, fits ? op->b : op->c, v, marks);
}

/* The outermost resource with a schema of that name decides. */
static uint32_t
dynamic_rule(const struct run *r, const struct op *op)
{
	uint32_t rule = op->a;

	for (const struct scope *at = r->scope; at; at = at->up) {
		uint32_t other = r->s->dynamics.row[op->b * r->s->resources + at->resource];
		if (other)
			rule = other;
	}
	return rule;
}

/* ---- operations ---- */

static inline bool
run_op(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	switch ((enum op_code)op->code) {
	case OP_DONE: break;
	case OP_MINIMUM: return compare(r, op, v) >= 0 || fail(r, op, v, 0);
	case OP_MAXIMUM: return compare(r, op, v) <= 0 || fail(r, op, v, 0);
	case OP_EXCLUSIVE_MINIMUM: return compare(r, op, v) > 0 || fail(r, op, v, 0);
	case OP_EXCLUSIVE_MAXIMUM: return compare(r, op, v) < 0 || fail(r, op, v, 0);
	case OP_MULTIPLE_OF:
		return spend(r, v, weight(v) + weight(op->said)) &&
		       (json_is_multiple(v, op->said) || fail(r, op, v, 0));
	case OP_MIN_LENGTH:
	case OP_MAX_LENGTH: return run_length(r, op, v);
	case OP_PATTERN: return matches(r, op->a, v, v) || (!r->ended && fail(r, op, v, 0));
	case OP_FORMAT:
		return spend(r, v, peek_len(v) / 4) &&
		       (op->format(peek_str(v)) || fail(r, op, v, 0));
	case OP_MIN_ITEMS:
	case OP_MIN_PROPERTIES:
		return (int64_t)peek_len(v) >= op->limit || fail(r, op, v, peek_len(v));
	case OP_MAX_ITEMS:
	case OP_MAX_PROPERTIES:
		return (int64_t)peek_len(v) <= op->limit || fail(r, op, v, peek_len(v));
	case OP_UNIQUE_ITEMS: return run_unique(r, op, v);
	case OP_ITEMS: return run_items(r, op, v, marks);
	case OP_CONTAINS: return run_contains(r, op, v, marks);
	case OP_UNEVALUATED_ITEMS: return run_unevaluated_items(r, op, v, marks);
	case OP_MEMBERS: return run_members(r, op, v, marks);
	case OP_DEPENDENCY: return run_dependency(r, op, v, marks);
	case OP_UNEVALUATED_PROPERTIES: return run_unevaluated_properties(r, op, v, marks);
	case OP_ENUM: return run_enum(r, op, v);
	case OP_CONST: return run_const(r, op, v);
	case OP_ALL_OF: return run_all_of(r, op, v, marks);
	case OP_ANY_OF: return run_any_of(r, op, v, marks);
	case OP_ONE_OF: return run_one_of(r, op, v, marks);
	case OP_NOT: return run_not(r, op, v);
	case OP_IF: return run_if(r, op, v, marks);
	case OP_REF: return apply(r, op->a, v, marks);
	case OP_DYNAMIC_REF: return apply(r, dynamic_rule(r, op), v, marks);
	}
	BUG("an operation of no kind");
}

static bool
run_list(struct run *r, const struct op *op, const struct json *v, struct marks *marks)
{
	bool fits = true;

	for (; op->code != OP_DONE; op++) {
		/* What is left over when something failed before says nothing; it comes last. */
		bool leftover =
		    op->code == OP_UNEVALUATED_ITEMS || op->code == OP_UNEVALUATED_PROPERTIES;
		if (!fits && leftover)
			break;
		if (run_op(r, op, v, marks))
			continue;
		fits = false;
		if (!telling(r))
			break;
	}
	return fits;
}

/* A rule that must know what of the value was evaluated. Then all of it is, for those outside. */
static bool
run_marked(struct run *r, const struct op *op, const struct json *v, struct marks *outer)
{
	struct marks own;
	bool fits = marks_open(r, &own, v) && run_list(r, op, v, &own);

	if (fits)
		mark_all(outer);
	marks_close(r, &own);
	return fits;
}

/* What leads to other rules, and so might never end. */
static bool
run_deep(struct run *r, const struct rule *rule, const struct json *v, enum json_type t,
	 struct marks *marks)
{
	const struct op *op = r->s->ops.row + rule->start[t];
	const struct scope *outer = r->scope, here = {outer, rule->resource};

	if (++r->nesting > LIMIT_SCHEMA_NESTING) {
		r->nesting--;
		return end(r, v, "meets a schema that refers to itself without end");
	}
	if (outer && outer->resource != rule->resource)
		r->scope = &here;
	bool fits =
	    rule->marked & TYPE_BIT(t) ? run_marked(r, op, v, marks) : run_list(r, op, v, marks);
	r->scope = outer;
	r->nesting--;
	return fits;
}

/* ---- the whole ---- */

static bool
run(struct run *r, const struct schema *s, const struct json *value, struct report *report)
{
	const struct scope root = {NULL, s->rules.row[RULE_ROOT].resource};

	/* Not the rooms: clearing them would cost more than most validations. */
	r->s = s;
	r->report = report;
	r->scope = s->dynamics.len ? &root : NULL;
	r->work = LIMIT_SCHEMA_WORK;
	r->nesting = 0;
	r->ended = NULL;
	r->mark_used = 0;
	r->matcher.data = NULL;
	r->matcher.stack = NULL;
	r->matcher.used = 0;
	bool fits = apply(r, RULE_ROOT, value, NULL) && !r->ended;
	schema__matcher_done(&r->matcher);
	return fits;
}

bool
schema_fits(const struct schema *s, const struct json *value)
{
	struct run r;

	return run(&r, s, value, NULL);
}

int
schema_validate(const struct schema *s, const struct json *value, enum schema_form form,
		struct buf *errors)
{
	struct report report;
	struct run r;

	if (run(&r, s, value, NULL))
		return 0;
	/* Not the errors, for the same reason. */
	report.form = form;
	report.schema = s;
	report.root = value;
	report.text = BUF_INIT(LIMIT_SCHEMA_TEXT);
	report.count = 0;
	report.counting = false;
	report.key = NULL;
	report.near_left = LIMIT_SCHEMA_NEAR;
	if (!r.ended) /* what was too much work once need not be tried twice */
		run(&r, s, value, &report);
	if (r.ended)
		schema__tell_plain(&report, r.ended_at, r.ended);
	if (report.count == 0)
		schema__tell_plain(&report, value, "does not fit the schema");
	schema__report_write(&report, errors);
	buf_done(&report.text);
	return E_VALIDATION;
}
