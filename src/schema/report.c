/*
 * report.c - what is wrong, in sentences.
 *
 * Two manners from one table: ours, which a model can act upon, and that of Python's jsonschema,
 * in which the dispatcher's contract is written (seed 000).
 */

#include "base/near.h"
#include "json/peek.h"
#include "json/write.h"
#include "schema/program.h"

#define UNKNOWN_SHOWN 5

/*
 * %v the value, %k what the keyword said, %l the list it said, %n what the operation counted, %s
 * "s" unless the keyword said 1, %a the bounds of an operation, %b the number of its rules.
 */
static const struct {
	const char *ours, *dispatcher;
} sentences[] = {
    [OP_MINIMUM] = {"must be at least %k, got %v", "%v is less than the minimum of %k"},
    [OP_MAXIMUM] = {"must be at most %k, got %v", "%v is greater than the maximum of %k"},
    [OP_EXCLUSIVE_MINIMUM] = {"must be greater than %k, got %v",
			      "%v is less than or equal to the minimum of %k"},
    [OP_EXCLUSIVE_MAXIMUM] = {"must be less than %k, got %v",
			      "%v is greater than or equal to the maximum of %k"},
    [OP_MULTIPLE_OF] = {"must be a multiple of %k, got %v", "%v is not a multiple of %k"},
    [OP_MIN_LENGTH] = {"must have at least %k character%s, got %n", "%v is too short"},
    [OP_MAX_LENGTH] = {"must have at most %k character%s, got %n", "%v is too long"},
    [OP_PATTERN] = {"must match the pattern %k, got %v", "%v does not match %k"},
    [OP_FORMAT] = {"must have the format %k, got %v", "%v is not a %k"},
    [OP_MIN_ITEMS] = {"must have at least %k item%s, got %n", "%v is too short"},
    [OP_MAX_ITEMS] = {"must have at most %k item%s, got %n", "%v is too long"},
    [OP_UNIQUE_ITEMS] = {"is the same as an item before it, got %v",
			 "%v is not unique among its items"},
    [OP_CONTAINS] = {"must have %a of the wanted kind, got %n",
		     "%v does not contain items matching the given schema"},
    [OP_MIN_PROPERTIES] = {"must have at least %k member%s, got %n",
			   "%v does not have enough properties"},
    [OP_MAX_PROPERTIES] = {"must have at most %k member%s, got %n", "%v has too many properties"},
    [OP_ENUM] = {"must be one of %l, got %v", "%v is not one of %k"},
    [OP_CONST] = {"must be %w, got %v", "%k was expected"},
    [OP_ANY_OF] = {"fits none of the %b alternatives, got %v",
		   "%v is not valid under any of the given schemas"},
    [OP_ONE_OF] = {"must fit exactly one of the %b alternatives, fits %n",
		   "%v is not valid under exactly one of the given schemas"},
    [OP_NOT] = {"must not be what the schema excludes, got %v", "%v should not be valid under %k"},
};

/* ---- errors: found in some order, written in another ---- */

static bool
is_ours(const struct report *r)
{
	return r->form != SCHEMA_DISPATCHER;
}

/* Begin an error about v, or about a member of it that is not there. */
static struct buf *
begin(struct report *r, const struct json *v, struct str missing, enum keyword_id keyword)
{
	static const enum where forms[] = {[SCHEMA_LINES] = WHERE_LINE,
					   [SCHEMA_JSON] = WHERE_POINTER,
					   [SCHEMA_DISPATCHER] = WHERE_DOTTED};
	struct error *error = &r->errors[r->count];
	enum where form = forms[r->form];

	*error = (struct error){.at = v, .from = r->text.len, .keyword = keyword};
	if (!missing.ptr || v != r->root)
		schema__where(&r->text, r->root, v, form);
	if (missing.ptr)
		schema__where_name(&r->text, missing, form);
	error->path_len = r->text.len - error->from;
	if (v == r->key && is_ours(r))
		buf_addz(&r->text, "the name ");
	return &r->text;
}

/* Is there anything to write? Otherwise the error is only counted, or there are enough. */
static bool
wanted(struct report *r, const struct json *v, enum keyword_id keyword)
{
	if (report_full(r))
		return false;
	if (r->counting)
		r->errors[r->count++] = (struct error){.at = v, .keyword = keyword};
	return !r->counting;
}

/* One that there is no room for is left out. */
static void
finish(struct report *r)
{
	struct error *error = &r->errors[r->count];

	if (buf_failed(&r->text)) {
		r->text.len = error->from;
		r->text.failed = false;
		return;
	}
	error->len = r->text.len - error->from - error->path_len;
	r->count++;
}

/* ---- sentences ---- */

/* A container is not worth its letters in a sentence. */
static void
add_value(struct buf *out, const struct json *v, bool ours)
{
	if (ours && peek_type(v) == JSON_ARRAY)
		buf_addz(out, "an array");
	else if (ours && peek_type(v) == JSON_OBJECT)
		buf_addz(out, "an object");
	else
		schema__show(out, v, ours ? MANNER_JSON : MANNER_PYTHON);
}

/* "r", "w" - as many as there is room for. */
static void
add_list(struct buf *out, const struct json *list)
{
	size_t from = out->len, left = json_len(list);

	if (left == 0)
		buf_addz(out, "no values");
	for (struct json_iter it = json_iter(list); json_next(&it); left--) {
		if (out->len > from)
			buf_addz(out, ", ");
		if (out->len - from > LIMIT_SCHEMA_SHOWN) {
			buf_addf(out, "and %zu more", left);
			return;
		}
		schema__show(out, it.value, MANNER_JSON);
	}
}

static void
add_bounds(struct buf *out, const struct op *op)
{
	bool open = op->c == UINT32_MAX;
	uint32_t last = open ? op->b : op->c;

	if (op->b == op->c || open)
		buf_addf(out, "%s %u", open ? "at least" : "exactly", op->b);
	else if (op->b == 0)
		buf_addf(out, "at most %u", op->c);
	else
		buf_addf(out, "%u to %u", op->b, op->c);
	buf_addz(out, last == 1 ? " item" : " items");
}

static void
add_sentence(struct buf *out, const char *sentence, const struct op *op, const struct json *v,
	     size_t number, bool ours)
{
	for (const char *z = sentence; *z; z++) {
		if (*z != '%') {
			buf_addc(out, *z);
			continue;
		}
		switch (*++z) {
		case 'v': add_value(out, v, ours); break;
		case 'k': add_value(out, op->said, ours); break;
		case 'l': add_list(out, op->said); break;
		case 'w': schema__show(out, op->said, MANNER_JSON); break;
		case 'n': buf_add_u64(out, number); break;
		case 's': buf_addz(out, op->limit == 1 ? "" : "s"); break;
		case 'a': add_bounds(out, op); break;
		case 'b': buf_add_u64(out, op->b); break;
		default: BUG("a sentence asks for what there is not");
		}
	}
}

/* The choice that a text was probably meant to be. */
static void
add_meant_choice(struct buf *out, const struct json *list, const struct json *v)
{
	struct str found = {NULL, 0};
	unsigned best = NEAR_NONE;

	for (struct json_iter it = json_iter(list); json_next(&it);)
		if (json_is(v, JSON_STRING) && json_is(it.value, JSON_STRING) &&
		    near_better(json_str(v), json_str(it.value), &best))
			found = json_str(it.value);
	if (!found.ptr)
		return;
	buf_addz(out, "; did you mean ");
	schema__show_str(out, found, MANNER_JSON);
	buf_addc(out, '?');
}

void
schema__tell(struct report *r, const struct op *op, const struct json *v, size_t number)
{
	if (!wanted(r, v, op->keyword))
		return;
	bool ours = is_ours(r);
	struct buf *out = begin(r, v, (struct str){NULL, 0}, op->keyword);
	add_sentence(out, ours ? sentences[op->code].ours : sentences[op->code].dispatcher, op, v,
		     number, ours);
	if (ours && op->code == OP_ENUM)
		add_meant_choice(out, op->said, v);
	finish(r);
}

void
schema__tell_plain(struct report *r, const struct json *v, const char *sentence)
{
	if (!wanted(r, v, K_NONE))
		return;
	buf_addz(begin(r, v, (struct str){NULL, 0}, K_NONE), sentence);
	finish(r);
}

/* ---- types ---- */

/* "a string", "an integer" - or, in the other manner, 'string'. */
static void
add_type(struct buf *out, struct str name, bool ours)
{
	if (!ours) {
		schema__show_str(out, name, MANNER_PYTHON);
		return;
	}
	if (!str_is(name, "null"))
		buf_addz(out, strchr("aeiou", name.ptr[0]) ? "an " : "a ");
	buf_add(out, name);
}

static void
add_types(struct buf *out, const struct json *type, bool ours)
{
	size_t left = json_len(type);

	if (json_is(type, JSON_STRING))
		add_type(out, json_str(type), ours);
	for (struct json_iter it = json_iter(type); json_next(&it);) {
		add_type(out, json_str(it.value), ours);
		if (--left > 0)
			buf_addz(out, ours && left == 1 ? " or " : ", ");
	}
}

void
schema__tell_type(struct report *r, const struct rule *rule, const struct json *v)
{
	enum keyword_id keyword = rule->at ? K_TYPE : K_NONE;
	bool ours = is_ours(r);

	if (!wanted(r, v, keyword))
		return;
	struct buf *out = begin(r, v, (struct str){NULL, 0}, keyword);
	if (!ours && rule->at) {
		schema__show(out, v, MANNER_PYTHON);
		buf_addz(out, " is not of type ");
		add_types(out, json_get(rule->at, S("type")), false);
	} else if (!ours) {
		buf_addz(out, "False schema does not allow ");
		schema__show(out, v, MANNER_PYTHON);
	} else if (rule->at) {
		buf_addz(out, "must be ");
		add_types(out, json_get(rule->at, S("type")), true);
		buf_addz(out, ", got ");
		add_value(out, v, true);
	} else {
		buf_addz(out, "is not allowed");
	}
	finish(r);
}

void
schema__tell_types(struct report *r, const struct op *op, const struct json *v, unsigned types)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
	    {TYPE_BIT(JSON_STRING), "a string"},  {TYPE_BIT(JSON_NUMBER), "a number"},
	    {TYPE_INTEGER, "an integer"},         {TYPE_BIT(JSON_BOOL), "a boolean"},
	    {TYPE_BIT(JSON_OBJECT), "an object"}, {TYPE_BIT(JSON_ARRAY), "an array"},
	    {TYPE_BIT(JSON_NULL), "null"},
	};

	if (!wanted(r, v, op->keyword))
		return;
	struct buf *out = begin(r, v, (struct str){NULL, 0}, op->keyword);
	buf_addz(out, "must be ");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!(types & names[i].bit))
			continue;
		types &= ~names[i].bit;
		buf_addz(out, names[i].name);
		if (types)
			buf_addz(out, types & (types - 1) ? ", " : " or ");
	}
	buf_addz(out, ", got ");
	add_value(out, v, true);
	finish(r);
}

/* ---- members ---- */

void
schema__tell_missing(struct report *r, enum keyword_id keyword, const struct json *object,
		     struct str name, struct str because)
{
	bool ours = is_ours(r);
	enum manner manner = ours ? MANNER_JSON : MANNER_PYTHON;

	if (!wanted(r, object, keyword))
		return;
	struct buf *out = begin(r, object, ours ? name : (struct str){NULL, 0}, keyword);
	if (!ours)
		schema__show_str(out, name, manner);
	buf_addz(out, ours          ? "is required"
		      : because.ptr ? " is a dependency of "
				    : " is a required property");
	if (ours && because.ptr)
		buf_addz(out, " when there is ");
	if (because.ptr)
		schema__show_str(out, because, manner);
	finish(r);
}

/* The declared member that name was probably meant to be; {NULL,0} for none. */
static struct str
meant_member(struct report *r, const struct members *m, struct str name)
{
	struct str found = {NULL, 0};
	unsigned best = NEAR_NONE;

	for (uint32_t i = 0; m && i < m->names.len && r->near_left > 0; i++, r->near_left--) {
		const struct name *n = &r->schema->names.row[m->names.at + i];
		if (n->rule != RULE_NONE && near_better(name, n->text, &best))
			found = n->text;
	}
	return found;
}

/* Is a member one that the operation has nothing to say about? */
static bool
is_unknown(const struct report *r, const struct members *m, struct str name)
{
	int known = m ? schema__set_find(r->schema, &m->names, name) : -1;

	return known < 0 || r->schema->names.row[m->names.at + (uint32_t)known].rule == RULE_NONE;
}

/* The first of the unknown names by their order; answers how many there are. */
static size_t
unknown_names(const struct report *r, const struct members *m, const struct json *object,
	      struct str names[static UNKNOWN_SHOWN], size_t *shown)
{
	size_t count = 0;

	*shown = 0;
	for (struct json_iter it = json_iter(object); json_next(&it);) {
		struct str name = it.key;
		if (!is_unknown(r, m, name))
			continue;
		count++;
		for (size_t i = 0; i < *shown; i++)
			if (str_cmp(name, names[i]) < 0) {
				struct str later = names[i];
				names[i] = name;
				name = later;
			}
		if (*shown < UNKNOWN_SHOWN)
			names[(*shown)++] = name;
	}
	return count;
}

/* The dispatcher has one sentence for all unknown members of an object. */
static void
tell_unknown_all(struct report *r, const struct op *op, const struct json *object,
		 const struct members *m)
{
	struct str names[UNKNOWN_SHOWN];
	size_t shown, count;

	for (size_t i = 0; i < r->count; i++)
		if (r->errors[i].at == object && r->errors[i].keyword == op->keyword)
			return;
	count = unknown_names(r, m, object, names, &shown);
	struct buf *out = begin(r, object, (struct str){NULL, 0}, op->keyword);
	buf_addz(out, op->keyword == K_ADDITIONAL_PROPERTIES ? "Additional" : "Unevaluated");
	buf_addz(out, " properties are not allowed (");
	for (size_t i = 0; i < shown; i++) {
		buf_addz(out, i ? ", " : "");
		schema__show_str(out, names[i], MANNER_PYTHON);
	}
	if (count > shown)
		buf_addf(out, " and %zu more", count - shown);
	buf_addz(out, count == 1 ? " was unexpected)" : " were unexpected)");
	finish(r);
}

void
schema__tell_unknown(struct report *r, const struct op *op, const struct json *object,
		     const struct json *key, const struct members *meant)
{
	if (!wanted(r, peek_value(key), op->keyword))
		return;
	if (!is_ours(r)) {
		tell_unknown_all(r, op, object, meant);
		return;
	}
	struct str found = meant_member(r, meant, peek_str(key));
	struct buf *out = begin(r, peek_value(key), (struct str){NULL, 0}, op->keyword);
	buf_addz(out, "unknown property");
	if (found.ptr) {
		buf_addz(out, "; did you mean ");
		schema__where_name(out, found, WHERE_DOTTED);
		buf_addc(out, '?');
	}
	finish(r);
}

/* ---- writing ---- */

static struct str
part(const struct report *r, size_t from, size_t len)
{
	return str_upto(str_from(buf_str(&r->text), from), len);
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

static int
error_cmp(const struct report *r, const struct error *a, const struct error *b)
{
	if (is_ours(r))
		return (a->at > b->at) - (a->at < b->at); /* values stand in reading order */
	return path_cmp(part(r, a->from, a->path_len), part(r, b->from, b->path_len));
}

static void
sort(struct report *r)
{
	for (size_t i = 1; i < r->count; i++) {
		struct error error = r->errors[i];
		size_t k = i;
		for (; k > 0 && error_cmp(r, &r->errors[k - 1], &error) > 0; k--)
			r->errors[k] = r->errors[k - 1];
		r->errors[k] = error;
	}
}

/* Two ways through a schema may find the same thing wrong. */
static bool
was_told(const struct report *r, size_t i)
{
	const struct error *a = &r->errors[i];

	for (size_t k = 0; k < i; k++) {
		const struct error *b = &r->errors[k];
		if (a->at == b->at && str_eq(part(r, a->from, a->path_len + a->len),
					     part(r, b->from, b->path_len + b->len)))
			return true;
	}
	return false;
}

static void
write_lines(const struct report *r, struct buf *out)
{
	const char *root = is_ours(r) ? "(root)" : "$";

	for (size_t i = 0; i < r->count; i++) {
		const struct error *e = &r->errors[i];
		if (was_told(r, i))
			continue;
		buf_addz(out, i ? "\n" : "");
		if (e->path_len)
			buf_add(out, part(r, e->from, e->path_len));
		else
			buf_addz(out, root);
		buf_addz(out, ": ");
		buf_add(out, part(r, e->from + e->path_len, e->len));
	}
}

static void
write_json(const struct report *r, struct buf *out)
{
	struct jw w = jw(out);

	jw_array(&w);
	for (size_t i = 0; i < r->count; i++) {
		const struct error *e = &r->errors[i];
		if (was_told(r, i))
			continue;
		jw_object(&w);
		jw_member(&w, "path", part(r, e->from, e->path_len));
		jw_member_z(&w, "keyword", e->keyword == K_NONE ? NULL : keyword_name(e->keyword));
		jw_member(&w, "message", part(r, e->from + e->path_len, e->len));
		jw_end(&w);
	}
	jw_end(&w);
}

void
schema__report_write(struct report *r, struct buf *out)
{
	sort(r);
	if (r->form == SCHEMA_JSON)
		write_json(r, out);
	else
		write_lines(r, out);
}
