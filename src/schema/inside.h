/* inside.h - what the files of src/schema share: the keywords, the compiled form, places. */

#ifndef SCHEMA_INSIDE_H
#define SCHEMA_INSIDE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/buf.h"
#include "base/limits.h"
#include "schema/schema.h"

/* A node of the compiled schema. What a keyword did not set lets everything pass. */
struct node {
	unsigned types;          /* bits by schema__type(); 0: all */
	const struct json *type; /* as written, for errors */
	const struct json *enums, *constant;
	const struct json *minimum, *maximum;
	int64_t min_length, max_length;
	int64_t min_items, max_items;
	const struct json *pattern;
	pcre2_code *regex;
	bool anchored;
	uint32_t items;             /* a node, 0 for none: the root is nobody's child */
	uint32_t name_at, name_len; /* in schema.names, sorted */
	const struct json *required;
	uint32_t required_len; /* without repetitions */
	bool closed;           /* additionalProperties: false */
};

/* A property that is declared, required, or both. */
struct name {
	struct str text;
	const struct json *schema; /* NULL: only required */
	uint32_t node;
	bool required;
};

struct schema {
	struct json_doc *doc;
	struct node *nodes;
	struct name *names;
	size_t node_len, node_cap;
	size_t name_len, name_cap;
	pcre2_match_context *matching; /* the limits */
};

/* What a keyword takes as its value. */
enum takes {
	TAKES_ANY,
	TAKES_STRING,
	TAKES_ARRAY,
	TAKES_NUMBER,
	TAKES_COUNT,
	TAKES_BOOL,
	TAKES_TYPE,
	TAKES_PATTERN,
	TAKES_NAMES,
	TAKES_SCHEMA,
	TAKES_SCHEMAS,
};

struct keyword {
	const char *name;
	enum takes takes;
	size_t offset; /* where in struct node the value goes; 0: nowhere, or by hand */
};

/* NULL for what the portable subset has not. */
const struct keyword *schema__keyword(struct str name);

#define SCHEMA__TYPES "['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']"
enum type_bit {
	BIT_ARRAY = 1,
	BIT_BOOLEAN = 2,
	BIT_INTEGER = 4,
	BIT_NULL = 8,
	BIT_NUMBER = 16,
	BIT_OBJECT = 32,
	BIT_STRING = 64,
};
unsigned schema__type(const struct json *name); /* a bit; 0 for what names no type */

int schema__name_cmp(const void *a, const void *b); /* of two struct name */

/* Where one is, in a schema or in a value: a chain that lives on the stack. */
struct place {
	const struct place *up; /* NULL for the root */
	struct str name;        /* or {NULL,0}: */
	size_t index;
};

/* root, then the names with dots between; without the dot when root is "". */
void schema__place(struct buf *out, const struct place *at, const char *root);

/* A value as Python's repr() shows it, cut after LIMIT_SCHEMA_SHOWN bytes. */
void schema__show(struct buf *out, const struct json *v);
void schema__show_str(struct buf *out, struct str s);

#endif
