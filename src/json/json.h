/*
 * json.h - the one door to yyjson: strict parsing under limits, and reading.
 *
 * RFC 8259 strictly, UTF-8 strictly, no duplicate keys, no NUL-in-the-middle
 * surprises: what passed here is the same for the validator and for the tool.
 * A number is never changed: what neither 64 bits nor a double hold for certain is kept
 * as its text.
 *
 * A document is counted by reference: jobs may outlive the call that parsed it.
 * `struct json` is never defined; it stands for yyjson's value, and no file outside
 * src/json includes yyjson.h.
 */

#ifndef JSON_JSON_H
#define JSON_JSON_H

#include "base/err.h"
#include "base/str.h"

struct json; /* a value inside a document */
struct json_doc;

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_limits {
	size_t max_bytes;
	unsigned max_depth; /* at most LIMIT_JSON_DEPTH */
};
extern const struct json_limits json_door; /* LIMIT_JSON_BYTES, LIMIT_JSON_DOOR_DEPTH */

/*
 * E_TOO_LARGE (bytes or depth), E_BAD_JSON (says where and why; duplicate keys are
 * named), E_NOMEM. The text is copied: it may go away.
 */
int json_parse(struct str text, const struct json_limits *limits, struct json_doc **ret,
	       struct err *e);

/*
 * The same for a text that nobody needs any more. A long one, most of which is plain strings, is
 * not copied: its memory moves into the document, and the buffer is empty then. Otherwise, and on
 * failure, the buffer stays as it was.
 */
struct buf;
int json_parse_buf(struct buf *text, const struct json_limits *limits, struct json_doc **ret,
		   struct err *e);

/*
 * A long text that is written as it stands in the memory json_parse_buf was given moves out with
 * that memory, if nobody else holds the document: it is gone then. False: nothing has happened.
 */
bool json_text_take(struct json_doc **doc, const struct json *v, struct buf *ret);

struct json_doc *json_doc_ref(struct json_doc *doc);
void json_doc_unref(struct json_doc *doc); /* takes NULL; any thread */
const struct json *json_root(const struct json_doc *doc);
size_t json_doc_bytes(const struct json_doc *doc); /* of memory, about; takes NULL */

/* Position of a value in reading order (the root is 0, then keys and values): see yaml.h. */
size_t json_order(const struct json_doc *doc, const struct json *v);

/* Reading. All take NULL for v and then answer as for a value of another type. */
enum json_type json_type(const struct json *v); /* v not NULL */
const char *json_type_name(enum json_type t);   /* "null", "boolean", "number"... */
bool json_is(const struct json *v, enum json_type t);
bool json_bool(const struct json *v);              /* false for what is none */
struct str json_str(const struct json *v);         /* {NULL,0} for what is none */
bool json_is_integer(const struct json *v);        /* 1.0 is one, as in JSON Schema */
bool json_int(const struct json *v, int64_t *ret); /* false: no integer, or out of range */
bool json_double(const struct json *v,
		 double *ret); /* nearest, perhaps infinite; false: no number */
int json_number_cmp(const struct json *a, const struct json *b); /* exact order of two numbers */
/*
 * Is v a whole number of times `of`, both as decimals are written: 0.3 is three times 0.1. An
 * `of` with more than 19 digits is only found in itself and its ten-, hundredfold...
 */
bool json_is_multiple(const struct json *v, const struct json *of);
/* The digits as they were, for a number kept as text; {NULL,0} for others. */
struct str json_big(const struct json *v);
size_t json_len(const struct json *v); /* members or items, 0 for others */
const struct json *json_get(const struct json *obj, struct str key); /* NULL = none */
const struct json *json_at(const struct json *arr,
			   size_t i); /* NULL = none; O(1) for flat arrays */
/* What a JSON Pointer (RFC 6901) leads to, "" to root itself; NULL = none, or no pointer. */
const struct json *json_pointer(const struct json *root, struct str pointer);
bool json_equal(const struct json *a,
		const struct json *b); /* numbers by value, keys in any order */
/*
 * Equal values have equal hashes: 1 and 1.0, members in any order. Another in every process, so
 * that nobody can choose what collides: not for keeping.
 */
uint64_t json_hash(const struct json *v);

/* for (struct json_iter it = json_iter(v); json_next(&it);) it.key, it.value */
struct json_iter {
	const struct json *at; /* private */
	size_t left;           /* private */
	bool object;           /* private */
	struct str key;        /* of an object's member */
	const struct json *value;
};
struct json_iter json_iter(const struct json *v); /* over nothing when v is no container */
bool json_next(struct json_iter *it);

/*
 * Reading an object by a table. Unknown, missing and mistyped members end it with
 * an error that names the field: "kind: must be a string, got number".
 */
enum json_want {
	WANT_STR,
	WANT_INT,
	WANT_BOOL,
	WANT_OBJECT,
	WANT_ARRAY,
	WANT_ANY,
	WANT_STR_OR_NULL, /* struct str; null is as if it were not given */
};

struct json_field {
	const char *name;
	enum json_want want; /* struct str, int64_t, bool, const struct json * (three of them) */
	size_t offset;
	bool required;
};
/* clang-format off */
#define FIELD(type, member, want) {#member, want, offsetof(type, member), false}
#define FIELD_REQUIRED(type, member, want) {#member, want, offsetof(type, member), true}
/* clang-format on */

/*
 * where names the object in errors; "" for the top. Members not given leave *out as
 * it was. 0 or E_BAD_REQUEST.
 */
int json_fields(const struct json *obj, const struct json_field *table, size_t count,
		const char *where, void *out, struct err *e);

#endif
