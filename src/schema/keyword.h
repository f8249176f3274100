/* keyword.h - the keywords of tbl/keywords.def, and what their values must be. */

#ifndef SCHEMA_KEYWORD_H
#define SCHEMA_KEYWORD_H

#include "json/json.h"

enum keyword_id {
#define KEYWORD(id, name, drafts, vocabulary, takes, subset) K_##id,
#include "../../tbl/keywords.def"
#undef KEYWORD
	K__COUNT,
	K_NONE = K__COUNT /* of an error that no keyword is to blame for */
};

enum draft { DRAFT_7 = 1, DRAFT_2020 = 2, DRAFT_BOTH = 3 };

enum vocabulary {
	VOCABULARY_CORE = 1,
	VOCABULARY_APPLICATOR = 2,
	VOCABULARY_UNEVALUATED = 4,
	VOCABULARY_VALIDATION = 8,
	VOCABULARY_FORMAT = 16,
	VOCABULARY_REMARKS = 32,
	VOCABULARY_FORMAT_ASSERTION = 64,
	VOCABULARY_USUAL = 63,
};

enum takes {
	TAKES_ANY,
	TAKES_NEVER, /* it would have to be enforced, and is not */
	TAKES_STRING,
	TAKES_NAME, /* of an anchor */
	TAKES_BOOL,
	TAKES_NUMBER,
	TAKES_POSITIVE,
	TAKES_COUNT,
	TAKES_ARRAY,
	TAKES_TYPE,
	TAKES_NAMES,
	TAKES_LISTS,        /* object of arrays of names */
	TAKES_SCHEMA,       /* from here on: schemas are inside */
	TAKES_SCHEMAS,      /* array */
	TAKES_MAP,          /* object */
	TAKES_ITEMS,        /* a schema or an array of them */
	TAKES_DEPENDENCIES, /* object of schemas or arrays of names */
};

enum subset { SUBSET_PORTABLE, SUBSET_NAMED, SUBSET_OTHER };

struct keyword {
	const char *name;
	enum keyword_id id;
	enum draft drafts;
	enum vocabulary vocabulary;
	enum takes takes;
	enum subset subset;
};

/* NULL for what the draft has not. */
const struct keyword *keyword_find(struct str name, enum draft draft);
const char *keyword_name(enum keyword_id id);

/* What is wrong with a keyword's value ("must be a string"), or NULL. Not deep: the schemas
 * inside speak for themselves. */
const char *keyword_wrong(const struct keyword *k, const struct json *value);

/* The names a type may have, as bits: one for each json_type, and one more for integers. */
#define TYPE_BIT(type) (1U << (type))
#define TYPE_INTEGER (1U << 6)
#define TYPES_ALL 0x3fU
#define TYPES_NAMES "['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']"
unsigned keyword_type(const struct json *name); /* a bit; 0 for what names no type */

#endif
