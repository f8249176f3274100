/*
 * program.h - what a schema is compiled to.
 *
 * Every subschema becomes a rule; a rule has one list of operations for each type a value can
 * have, so that a value meets only what can matter to it. Rules, operations and all they refer
 * to stand in a few rows and name each other by index: nothing is looked up by text at run time
 * but the members of an object, and those by a hash that mostly has no collisions (set.c).
 */

#ifndef SCHEMA_PROGRAM_H
#define SCHEMA_PROGRAM_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/limits.h"
#include "schema/keyword.h"
#include "schema/parts.h"
#include "schema/schema.h"

/* Rules that are always there. */
enum { RULE_ANY, RULE_NEVER, RULE_ROOT };
#define RULE_NONE UINT32_MAX /* there is no schema to hold the value to */

enum op_code {
	OP_DONE,
	/* numbers: limit (when whole) or said */
	OP_MINIMUM,
	OP_MAXIMUM,
	OP_EXCLUSIVE_MINIMUM,
	OP_EXCLUSIVE_MAXIMUM,
	OP_MULTIPLE_OF,
	/* strings */
	OP_MIN_LENGTH, /* limit */
	OP_MAX_LENGTH, /* limit */
	OP_PATTERN,    /* a: regex */
	OP_FORMAT,     /* format */
	/* arrays */
	OP_MIN_ITEMS, /* limit */
	OP_MAX_ITEMS, /* limit */
	OP_UNIQUE_ITEMS,
	OP_ITEMS,             /* a: first of b rules in lists, c: rule for the rest */
	OP_CONTAINS,          /* a: rule, b: least, c: most */
	OP_UNEVALUATED_ITEMS, /* a: rule */
	/* objects */
	OP_MIN_PROPERTIES,         /* limit */
	OP_MAX_PROPERTIES,         /* limit */
	OP_MEMBERS,                /* a: members */
	OP_DEPENDENCY,             /* key: the name, a: rule or RULE_NONE, said: array of names */
	OP_UNEVALUATED_PROPERTIES, /* a: rule */
	/* all */
	OP_ENUM, /* a: choices */
	OP_CONST,
	OP_ALL_OF, /* a: first of b rules in lists */
	OP_ANY_OF,
	OP_ONE_OF,
	OP_NOT,         /* a: rule */
	OP_IF,          /* a: rule, b: then, c: else */
	OP_REF,         /* a: rule */
	OP_DYNAMIC_REF, /* a: rule, b: name in dynamics */
};

struct op {
	uint8_t code;
	bool whole;      /* limit is what the keyword said */
	uint8_t keyword; /* for errors */
	uint32_t a, b, c;
	union {
		int64_t limit;
		schema_format *format;
		const struct json *key;
	};
	const struct json *said; /* the keyword's value */
};

struct rule {
	uint8_t types;     /* bits by keyword_type() */
	uint8_t marked;    /* types whose evaluated members or items must be known */
	uint8_t deep;      /* types whose operations go on to other rules */
	uint32_t resource; /* whose part it is */
	uint32_t start[6]; /* operations by json_type */
	const struct json *at;
};

/* A set of names. */
struct set {
	uint32_t at, len;       /* in names */
	uint32_t slot_at, mask; /* in slots: a name's number within the set + 1, 0: free */
	uint32_t seed;
};

struct name {
	struct str text;
	uint32_t rule; /* RULE_NONE: only required */
	bool twice;    /* while compiling: an earlier one is the same */
};

struct members {
	struct set names;  /* the required ones first */
	uint32_t required; /* how many */
	uint32_t pattern_at, pattern_len;
	uint32_t additional; /* RULE_NONE: nothing is said */
	uint32_t key;        /* propertyNames */
};

struct pattern {
	uint32_t regex, rule;
};

struct choices {
	struct set texts;
	uint32_t other_at, other_len; /* in values: what is no string */
};

struct regex {
	struct plain *plain; /* it needs no engine; or NULL */
	pcre2_code *code;
	size_t bytes; /* of either */
	bool anchored;
	bool jit; /* made into machine code */
};

/* A growing row. */
#define ROW(type)                                                                                  \
	struct {                                                                                   \
		type *row;                                                                         \
		size_t len, cap;                                                                   \
	}

struct schema {
	ROW(struct rule) rules;
	ROW(struct op) ops;
	ROW(uint32_t) lists;
	ROW(struct name) names;
	ROW(uint16_t) slots;
	ROW(struct members) members;
	ROW(struct pattern) patterns;
	ROW(struct choices) choices;
	ROW(const struct json *) values;
	ROW(struct regex) regexes;
	ROW(struct json_doc *) docs; /* everything above points into them */
	ROW(uint32_t) dynamics;      /* rule of name n in resource r at n * resources + r, or 0 */
	uint32_t resources;
};

/* ---- set.c ---- */

/* The slots for the names already in place. 0 or E_NOMEM. */
int schema__set_build(struct schema *s, struct set *set);

/* Any bytes to 32 bits; short names cost a multiplication or two. */
static inline uint32_t
schema__set_hash(struct str s, uint32_t seed)
{
	const uint64_t k = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t h = seed ^ (s.len * k), a = 0, b = 0;
	const char *p = s.ptr;
	size_t n = s.len;

	for (; n > 16; p += 8, n -= 8) {
		memcpy(&a, p, 8);
		h = (h ^ a) * k;
		h ^= h >> 29;
	}
	if (n >= 8) {
		memcpy(&a, p, 8);
		memcpy(&b, p + n - 8, 8);
	} else if (n >= 4) {
		uint32_t x, y;
		memcpy(&x, p, 4);
		memcpy(&y, p + n - 4, 4);
		a = x, b = y;
	} else if (n > 0) {
		a = (unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8;
		b = (unsigned char)p[n - 1];
	}
	h = (h ^ a) * k;
	h = (h ^ (h >> 32) ^ b) * k;
	return (uint32_t)(h >> 32);
}

/* memcmp() is a call, and most names are shorter than one is worth. */
static inline bool
schema__set_same(const char *a, const char *b, size_t n)
{
	uint64_t x, y;
	uint32_t v, w;

	for (; n > 8; a += 8, b += 8, n -= 8) {
		memcpy(&x, a, 8);
		memcpy(&y, b, 8);
		if (x != y)
			return false;
	}
	if (n == 8) {
		memcpy(&x, a, 8);
		memcpy(&y, b, 8);
		return x == y;
	}
	if (n >= 4) {
		memcpy(&v, a, 4);
		memcpy(&w, b, 4);
		if (v != w)
			return false;
		memcpy(&v, a + n - 4, 4);
		memcpy(&w, b + n - 4, 4);
		return v == w;
	}
	return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* Its number within the set, or -1. */
static inline int
schema__set_find(const struct schema *s, const struct set *set, struct str text)
{
	const struct name *names = s->names.row + set->at;
	const uint16_t *slots = s->slots.row + set->slot_at;

	if (set->len == 0)
		return -1;
	for (uint32_t i = schema__set_hash(text, set->seed);; i++) {
		unsigned n = slots[i & set->mask];
		if (n == 0)
			return -1;
		if (names[n - 1].text.len == text.len &&
		    schema__set_same(names[n - 1].text.ptr, text.ptr, text.len))
			return (int)n - 1;
	}
}

/* ---- match.c ---- */

/*
 * Matching within limits. Most matches are easy; one that is not is tried again with more steps
 * and paid for by the time it takes. A long text is searched only near its begin by an
 * expression without anchor, whose cost can be the square of the length.
 */
struct matcher {
	pcre2_match_data *data; /* NULL: not opened */
	pcre2_match_context *limits;
	pcre2_jit_stack *stack; /* NULL: the machine's own */
	size_t used;
	_Alignas(max_align_t) char room[512]; /* memory for one match, mostly enough */
};

int schema__regex_new(struct regex *ret, struct str pattern, bool quick, struct err *e);
void schema__regex_done(struct regex *regex);

enum matched { MATCH_NO, MATCH_YES, MATCH_TOO_MUCH };
/* Takes from *work what it cost. */
enum matched schema__match(const struct regex *regex, struct str text, struct matcher *m,
			   int64_t *work);
void schema__matcher_done(struct matcher *m);

/* ---- plain.c ---- */

struct plain *schema__plain_new(struct str pattern); /* to be freed; NULL: it is not plain */
size_t schema__plain_bytes(const struct plain *p);
bool schema__plain_match(const struct plain *p, struct str text);

/* ---- report.c ---- */

struct error {
	const struct json *at; /* errors come in the order of these, then as they were found */
	size_t from, len;      /* in report.text */
	size_t path_len;
	enum keyword_id keyword;
};

struct report {
	enum schema_form form;
	const struct schema *schema;
	const struct json *root;
	struct buf text;
	struct error errors[LIMIT_SCHEMA_ERRORS];
	size_t count;
	bool counting;          /* only at and keyword matter: nothing is written */
	const struct json *key; /* the name of a member being held against propertyNames */
	size_t near_left;       /* names that may still be compared with a misspelt one */
};

static inline bool
report_full(const struct report *r)
{
	return r->count == LIMIT_SCHEMA_ERRORS;
}

/* A value that does not fit an operation; number is what the operation counted, if it did. */
void schema__tell(struct report *r, const struct op *op, const struct json *v, size_t number);
void schema__tell_type(struct report *r, const struct rule *rule, const struct json *v);
void schema__tell_missing(struct report *r, enum keyword_id keyword, const struct json *object,
			  struct str name, struct str because);
/* None of an operation's alternatives admits the value's type; these are the ones that would do. */
void schema__tell_types(struct report *r, const struct op *op, const struct json *v,
			unsigned types);
/* key is unknown to the members; meant: where to look for what was meant, or NULL. */
void schema__tell_unknown(struct report *r, const struct op *op, const struct json *object,
			  const struct json *key, const struct members *meant);
/* Something ended the check. */
void schema__tell_plain(struct report *r, const struct json *v, const char *sentence);
void schema__report_write(struct report *r, struct buf *out);

/* ---- show.c ---- */

/* Where v is, seen from the root it is inside of. */
enum where {
	WHERE_POINTER, /* "/a/0", "" for the root */
	WHERE_LINE,    /* the same without control characters, "(root)" for the root */
	WHERE_DOTTED,  /* "a.0", "" for the root */
};
void schema__where(struct buf *out, const struct json *root, const struct json *v, enum where form);
void schema__where_name(struct buf *out, struct str name, enum where form); /* one step more */

/* Text of others in a sentence of ours: what controls a terminal becomes '?'. */
void schema__plain(struct buf *out, struct str text);

/* A value cut after LIMIT_SCHEMA_SHOWN bytes, harmless on a terminal. */
enum manner { MANNER_JSON, MANNER_PYTHON };
void schema__show(struct buf *out, const struct json *v, enum manner manner);
void schema__show_str(struct buf *out, struct str s, enum manner manner);

/* ---- registry.c ---- */

/* The document in which a URI (without fragment) is to be found: one of the registry, or a
 * meta-schema, which is then parsed. A new reference, and the document's own URI in *ret_uri;
 * NULL: there is none. */
struct json_doc *schema__registry_find(const struct schema_registry *r, struct str uri,
				       struct str *ret_uri);

#endif
