/* validate.c - a value held against a compiled schema; errors in the words of Python's jsonschema.
 */

#include "schema/inside.h"

#include <stdlib.h>

#include "base/near.h"

/* ---- the report: lines as they are found, put in order at the end ---- */

struct row {
	size_t at, path_len, len;
};

struct report {
	struct buf text;
	struct row rows[LIMIT_SCHEMA_ERRORS];
	size_t count;
};

static bool
report_full(const struct report *r)
{
	return r->count == LIMIT_SCHEMA_ERRORS;
}

static struct buf *
report_begin(struct report *r, const struct place *at)
{
	struct row *row = &r->rows[r->count];

	row->at = r->text.len;
	if (at->up)
		schema__place(&r->text, at, "");
	row->path_len = r->text.len - row->at;
	buf_addz(&r->text, at->up ? ": " : "$: ");
	return &r->text;
}

static void
report_end(struct report *r)
{
	struct row *row = &r->rows[r->count++];

	row->len = r->text.len - row->at;
}

/* "'abc' is too long", "0 is less than the minimum of 1"; other may be NULL. */
static void
report(struct report *r, const struct place *at, const struct json *v, const char *words,
       const struct json *other)
{
	if (report_full(r))
		return;
	struct buf *out = report_begin(r, at);
	schema__show(out, v);
	buf_addz(out, words);
	if (other)
		schema__show(out, other);
	report_end(r);
}

static struct str
report_text(const struct report *r, size_t at, size_t len)
{
	return str_upto(str_from(buf_str(&r->text), at), len);
}

/* Names by their bytes, indexes by their value; the root, which has no path, comes first. */
static int
path_cmp(struct str a, struct str b)
{
	struct str x, y;
	uint64_t i, k;

	while (a.len && b.len) {
		str_split(&a, '.', &x);
		str_split(&b, '.', &y);
		int d = str_cmp(x, y);
		if (d && str_to_u64(x, &i) && str_to_u64(y, &k) && i != k)
			return i < k ? -1 : 1;
		if (d)
			return d;
	}
	return (a.len > 0) - (b.len > 0);
}

static void
report_sort(struct report *r)
{
	for (size_t i = 1; i < r->count; i++) {
		struct row row = r->rows[i];
		size_t k = i;
		for (; k > 0; k--) {
			struct row *before = &r->rows[k - 1];
			if (path_cmp(report_text(r, before->at, before->path_len),
				     report_text(r, row.at, row.path_len)) <= 0)
				break;
			r->rows[k] = r->rows[k - 1];
		}
		r->rows[k] = row;
	}
}

/* ---- unknown properties ---- */

#define UNEXPECTED_SHOWN 5

/* The declared property that name was probably meant to be; {NULL,0} for none. */
static struct str
nearest(const struct schema *s, const struct node *n, struct str name)
{
	struct str found = {NULL, 0};
	unsigned best = NEAR_NONE;

	for (size_t i = n->name_at; i < n->name_at + n->name_len; i++)
		if (s->names[i].schema && near_better(name, s->names[i].text, &best))
			found = s->names[i].text;
	return found;
}

static struct name *
name_find(const struct schema *s, const struct node *n, struct str text)
{
	const struct name wanted = {.text = text};

	return n->name_len ? bsearch(&wanted, s->names + n->name_at, n->name_len, sizeof(wanted),
				     schema__name_cmp)
			   : NULL;
}

/* The first of the unexpected names by their order; answers how many. */
static size_t
unexpected_names(const struct schema *s, const struct node *n, const struct json *v,
		 struct str names[static UNEXPECTED_SHOWN])
{
	size_t count = 0;

	for (struct json_iter it = json_iter(v); json_next(&it);) {
		const struct name *known = name_find(s, n, it.key);
		struct str name = it.key;
		if (known && known->schema)
			continue;
		for (size_t i = 0; i < count; i++)
			if (str_cmp(name, names[i]) < 0) {
				struct str later = names[i];
				names[i] = name;
				name = later;
			}
		if (count < UNEXPECTED_SHOWN)
			names[count++] = name;
	}
	return count;
}

static void
report_unexpected(struct report *r, const struct schema *s, const struct node *n,
		  const struct json *v, const struct place *at, size_t count)
{
	struct str names[UNEXPECTED_SHOWN];
	struct buf near = BUF_INIT(KIB);

	if (report_full(r))
		return;
	struct buf *out = report_begin(r, at);
	size_t shown = unexpected_names(s, n, v, names);
	buf_addz(out, "Additional properties are not allowed (");
	for (size_t i = 0; i < shown; i++) {
		struct str meant = nearest(s, n, names[i]);
		buf_addz(out, i ? ", " : "");
		schema__show_str(out, names[i]);
		if (meant.ptr) {
			buf_addz(&near, near.len ? ", " : "");
			schema__show_str(&near, meant);
		}
	}
	if (count > shown)
		buf_addf(out, " and %zu more", count - shown);
	buf_addz(out, count == 1 ? " was unexpected)" : " were unexpected)");
	if (near.len)
		buf_addf(out, "; did you mean %.*s?", STR_ARG(buf_str(&near)));
	report_end(r);
	buf_done(&near);
}

/* ---- keywords ---- */

static void validate(struct report *r, const struct schema *s, uint32_t node, const struct json *v,
		     const struct place *at);

static bool
fits_type(const struct node *n, const struct json *v)
{
	static const unsigned bits[] = {
	    [JSON_NULL] = BIT_NULL,     [JSON_BOOL] = BIT_BOOLEAN, [JSON_NUMBER] = BIT_NUMBER,
	    [JSON_STRING] = BIT_STRING, [JSON_ARRAY] = BIT_ARRAY,  [JSON_OBJECT] = BIT_OBJECT,
	};

	return !n->types || (n->types & bits[json_type(v)]) ||
	       ((n->types & BIT_INTEGER) && json_is_integer(v));
}

static void
report_type(struct report *r, const struct node *n, const struct json *v, const struct place *at)
{
	if (json_is(n->type, JSON_STRING)) {
		report(r, at, v, " is not of type ", n->type);
		return;
	}
	if (report_full(r))
		return;
	struct buf *out = report_begin(r, at);
	schema__show(out, v);
	buf_addz(out, " is not of type ");
	const char *comma = "";
	for (struct json_iter it = json_iter(n->type); json_next(&it); comma = ", ") {
		buf_addz(out, comma);
		schema__show(out, it.value);
	}
	report_end(r);
}

static bool
is_one_of(const struct json *v, const struct json *enums)
{
	for (struct json_iter it = json_iter(enums); json_next(&it);)
		if (json_equal(v, it.value))
			return true;
	return false;
}

static void
validate_number(struct report *r, const struct node *n, const struct json *v,
		const struct place *at)
{
	if (n->minimum && json_number_cmp(v, n->minimum) < 0)
		report(r, at, v, " is less than the minimum of ", n->minimum);
	if (n->maximum && json_number_cmp(v, n->maximum) > 0)
		report(r, at, v, " is greater than the maximum of ", n->maximum);
}

static int64_t
code_points(struct str s)
{
	int64_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	return n;
}

/* A pattern that cannot be answered within its limits is not matched. */
static void
validate_pattern(struct report *r, const struct schema *s, const struct node *n,
		 const struct json *v, const struct place *at)
{
	struct str text = json_str(v);
	int rc = PCRE2_ERROR_MATCHLIMIT;

	if (n->anchored || text.len <= LIMIT_PATTERN_SUBJECT) {
		pcre2_match_data *match = pcre2_match_data_create(1, NULL);
		rc = match ? pcre2_match(n->regex, (PCRE2_SPTR)text.ptr, text.len, 0,
					 PCRE2_NO_UTF_CHECK, match, s->matching)
			   : PCRE2_ERROR_NOMEMORY;
		pcre2_match_data_free(match);
	}
	if (rc == PCRE2_ERROR_NOMATCH)
		report(r, at, v, " does not match ", n->pattern);
	else if (rc < 0)
		report(r, at, v, " is too much work to match against ", n->pattern);
}

static void
validate_string(struct report *r, const struct schema *s, const struct node *n,
		const struct json *v, const struct place *at)
{
	int64_t length = code_points(json_str(v));

	if (length < n->min_length)
		report(r, at, v, " is too short", NULL);
	if (length > n->max_length)
		report(r, at, v, " is too long", NULL);
	if (n->regex)
		validate_pattern(r, s, n, v, at);
}

static void
validate_array(struct report *r, const struct schema *s, const struct node *n, const struct json *v,
	       const struct place *at)
{
	struct place inner = {.up = at};

	if ((int64_t)json_len(v) < n->min_items)
		report(r, at, v, " is too short", NULL);
	if ((int64_t)json_len(v) > n->max_items)
		report(r, at, v, " is too long", NULL);
	if (!n->items)
		return;
	for (struct json_iter it = json_iter(v); !report_full(r) && json_next(&it); inner.index++)
		validate(r, s, n->items, it.value, &inner);
}

static void
validate_object(struct report *r, const struct schema *s, const struct node *n,
		const struct json *v, const struct place *at)
{
	uint64_t seen[LIMIT_SCHEMA_NAMES / 64] = {0};
	size_t unexpected = 0, required = 0;

	for (struct json_iter it = json_iter(v); !report_full(r) && json_next(&it);) {
		const struct name *known = name_find(s, n, it.key);
		struct place inner = {.up = at, .name = it.key};
		unexpected += !known || !known->schema;
		if (!known)
			continue;
		size_t i = (size_t)(known - s->names) - n->name_at;
		seen[i / 64] |= UINT64_C(1) << i % 64;
		required += known->required;
		if (known->schema)
			validate(r, s, known->node, it.value, &inner);
	}
	if (n->closed && unexpected)
		report_unexpected(r, s, n, v, at, unexpected);
	if (required == n->required_len)
		return;
	for (struct json_iter it = json_iter(n->required); json_next(&it);) {
		size_t i = (size_t)(name_find(s, n, json_str(it.value)) - s->names) - n->name_at;
		if (!(seen[i / 64] >> i % 64 & 1))
			report(r, at, it.value, " is a required property", NULL);
		seen[i / 64] |= UINT64_C(1) << i % 64; /* said once, if written twice */
	}
}

/* As deep as the schema, which is bounded. */
static void
validate(struct report *r, const struct schema *s, uint32_t node, const struct json *v,
	 const struct place *at)
{
	const struct node *n = &s->nodes[node];

	if (!fits_type(n, v))
		report_type(r, n, v, at);
	if (n->enums && !is_one_of(v, n->enums))
		report(r, at, v, " is not one of ", n->enums);
	if (n->constant && !json_equal(v, n->constant))
		report(r, at, n->constant, " was expected", NULL);
	switch (json_type(v)) {
	case JSON_NUMBER: validate_number(r, n, v, at); return;
	case JSON_STRING: validate_string(r, s, n, v, at); return;
	case JSON_ARRAY: validate_array(r, s, n, v, at); return;
	case JSON_OBJECT: validate_object(r, s, n, v, at); return;
	case JSON_NULL:
	case JSON_BOOL: return;
	}
}

int
schema_validate(const struct schema *s, const struct json *value, struct buf *errors)
{
	const struct place root = {0};
	struct report r = {.text = BUF_INIT(LIMIT_SCHEMA_BYTES)};

	validate(&r, s, 0, value, &root);
	if (r.count == 0)
		return 0;
	report_sort(&r);
	for (size_t i = 0; i < r.count; i++) {
		buf_addz(errors, i ? "\n" : "");
		buf_add(errors, report_text(&r, r.rows[i].at, r.rows[i].len));
	}
	buf_done(&r.text);
	return E_VALIDATION;
}
