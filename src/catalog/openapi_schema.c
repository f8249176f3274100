/* openapi_schema.c - schemas of OpenAPI as those of JSON Schema, with all they refer to. */

#include <stdio.h>
#include <stdlib.h>

#include "base/sha256.h"
#include "catalog/openapi_inside.h"

#define DEPTH_MOST 22 /* schemas in each other; each takes two levels of JSON at most */
#define CHAIN_MOST 16 /* references to references */

/* What a keyword's value is. */
enum shape { PLAIN, SCHEMA, LIST, MAP, DROP, SPECIAL };

static const struct {
	const char *word;
	enum shape shape;
} keywords[] = {
    {"$ref", SPECIAL},
    {"nullable", SPECIAL},
    {"type", SPECIAL},
    {"enum", SPECIAL},
    {"required", SPECIAL},
    {"minimum", SPECIAL},
    {"maximum", SPECIAL},
    {"exclusiveMinimum", SPECIAL},
    {"exclusiveMaximum", SPECIAL},
    {"properties", MAP},
    {"patternProperties", MAP},
    {"dependentSchemas", MAP},
    {"$defs", MAP},
    {"definitions", MAP},
    {"allOf", LIST},
    {"anyOf", LIST},
    {"oneOf", LIST},
    {"prefixItems", LIST},
    {"items", SCHEMA},
    {"additionalProperties", SCHEMA},
    {"not", SCHEMA},
    {"if", SCHEMA},
    {"then", SCHEMA},
    {"else", SCHEMA},
    {"contains", SCHEMA},
    {"propertyNames", SCHEMA},
    {"unevaluatedItems", SCHEMA},
    {"unevaluatedProperties", SCHEMA},
    {"discriminator", DROP},
    {"xml", DROP},
    {"externalDocs", DROP},
    {"example", DROP},
    {"examples", DROP},
    {"readOnly", DROP},
    {"writeOnly", DROP},
    {"deprecated", DROP},
    {"$schema", DROP},
    {"$id", DROP},
    {"$anchor", DROP},
    {"$dynamicRef", DROP},
    {"$dynamicAnchor", DROP},
    {"$comment", DROP},
    {"contentMediaType", DROP},
    {"contentEncoding", DROP},
};

static enum shape
shape_of(struct str word)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (str_is(word, keywords[i].word))
			return keywords[i].shape;
	return str_starts(word, S("x-")) ? DROP : PLAIN;
}

/* ---- references ---- */

void
openapi__refs_done(struct openapi_refs *r)
{
	free(r->at);
	*r = (struct openapi_refs){0};
}

/* "#/components/schemas/A%20B": without '#', percent-encoding undone. False: it leads elsewhere. */
static bool
pointer_read(struct str ref, struct buf *out)
{
	if (!str_starts(ref, S("#")))
		return false;
	for (size_t i = 1; i < ref.len; i++) {
		unsigned byte;
		char hex[3] = {0};
		if (ref.ptr[i] != '%' || i + 2 >= ref.len) {
			buf_addc(out, ref.ptr[i]);
			continue;
		}
		memcpy(hex, ref.ptr + i + 1, 2);
		if (sscanf(hex, "%2x", &byte) != 1)
			return false;
		buf_addc(out, (char)byte);
		i += 2;
	}
	return !buf_failed(out);
}

static const struct json *
follow(const struct json *root, struct str ref)
{
	struct buf pointer = BUF_INIT(4 * KIB);
	const struct json *v =
	    pointer_read(ref, &pointer) ? json_pointer(root, buf_str(&pointer)) : NULL;

	buf_done(&pointer);
	return v;
}

const struct json *
openapi__resolve(const struct json *root, const struct json *v)
{
	for (int i = 0; i < CHAIN_MOST; i++) {
		struct str ref = json_str(json_get(v, S("$ref")));
		if (!ref.ptr)
			return v;
		v = follow(root, ref);
	}
	return NULL;
}

static bool
name_is_taken(const struct openapi_refs *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->at[i].name, name) == 0)
			return true;
	return false;
}

/* The last part of the pointer, in harmless letters; and of two that are called the same the second
 * has a hash. */
static void
name_make(struct openapi_refs *r, struct str pointer, char out[static 80])
{
	struct str last = pointer;
	char digest[DIGEST_TEXT];
	ptrdiff_t slash;
	size_t n = 0;

	while ((slash = str_index(last, '/')) >= 0)
		last = str_from(last, (size_t)slash + 1);
	for (size_t i = 0; i < last.len && n < 48; i++) {
		char c = last.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		out[n++] =
		    letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ? c : '_';
	}
	out[n] = '\0';
	if (n && !name_is_taken(r, out))
		return;
	digest_bytes(pointer, digest);
	snprintf(out + n, 80 - n, "-%.16s", digest);
}

/* The name it has under $defs; NULL: it is left open. */
static const char *
ref_name(struct openapi_refs *r, const struct json *root, struct str ref)
{
	struct buf pointer = BUF_INIT(4 * KIB);
	struct str stands = {NULL, 0};

	if (!pointer_read(ref, &pointer) || !json_pointer(root, buf_str(&pointer))) {
		buf_done(&pointer);
		return NULL;
	}
	buf_done(&pointer);
	stands = ref; /* which stands in the document, as long as that does */
	for (size_t i = 0; i < r->count; i++)
		if (str_eq(r->at[i].pointer, stands))
			return r->at[i].name;
	if (r->full || r->count == LIMIT_IMPORT_DEFS) {
		r->full = true;
		return NULL;
	}
	if ((r->count & (r->count - 1)) == 0) {
		size_t cap = r->count ? 2 * r->count : 1;
		void *more = realloc(r->at, cap * sizeof(*r->at));
		if (!more) {
			r->nomem = true;
			return NULL;
		}
		r->at = more;
	}
	struct openapi_ref *fresh = &r->at[r->count];
	name_make(r, stands, fresh->name);
	fresh->pointer = stands;
	r->count++;
	return fresh->name;
}

/* ---- copying ---- */

static void copy_schema(struct jw *w, const struct json *root, const struct json *v,
			struct openapi_refs *refs, unsigned depth);

static bool
is_true(const struct json *v, const char *key)
{
	return json_bool(json_get(v, str_of(key)));
}

/* 3.0 says that null is fine with a word of its own. */
static void
copy_type(struct jw *w, const struct json *schema, const struct json *type)
{
	bool null_too = is_true(schema, "nullable");

	jw_key(w, "type");
	if (!null_too || !json_is(type, JSON_STRING)) {
		jw_value(w, type);
		return;
	}
	jw_array(w);
	jw_value(w, type);
	jw_z(w, "null");
	jw_end(w);
}

static void
copy_enum(struct jw *w, const struct json *schema, const struct json *values)
{
	bool has_null = false;

	jw_key(w, "enum");
	if (!json_is(values, JSON_ARRAY)) {
		jw_value(w, values);
		return;
	}
	jw_array(w);
	for (struct json_iter it = json_iter(values); json_next(&it);) {
		jw_value(w, it.value);
		has_null = has_null || json_is(it.value, JSON_NULL);
	}
	if (is_true(schema, "nullable") && !has_null)
		jw_null(w);
	jw_end(w);
}

/* What only comes back cannot be asked for. In 3.0 `required` may be anything; a list it must be.
 */
static void
copy_required(struct jw *w, const struct json *schema, const struct json *names)
{
	const struct json *properties = json_get(schema, S("properties"));

	if (!json_is(names, JSON_ARRAY))
		return;
	jw_key(w, "required");
	jw_array(w);
	for (struct json_iter it = json_iter(names); json_next(&it);)
		if (!is_true(json_get(properties, json_str(it.value)), "readOnly"))
			jw_value(w, it.value);
	jw_end(w);
}

/* 3.0: exclusiveMinimum is a boolean beside minimum. */
static void
copy_bound(struct jw *w, const struct json *schema, struct str word, const struct json *v)
{
	bool lower = str_is(word, "minimum") || str_is(word, "exclusiveMinimum");
	const char *exclusive = lower ? "exclusiveMinimum" : "exclusiveMaximum";

	if (json_is(v, JSON_BOOL)) /* said with the other */
		return;
	if ((str_is(word, "minimum") || str_is(word, "maximum")) && is_true(schema, exclusive))
		jw_key(w, exclusive);
	else
		jw_key_str(w, word);
	jw_value(w, v);
}

static void
copy_ref(struct jw *w, const struct json *root, const struct json *v, struct openapi_refs *refs)
{
	const char *name = json_str(v).ptr ? ref_name(refs, root, json_str(v)) : NULL;
	char text[96];

	if (!name)
		return; /* everything fits what is not known */
	snprintf(text, sizeof(text), "#/$defs/%s", name);
	jw_member_z(w, "$ref", text);
}

static void
copy_special(struct jw *w, const struct json *root, const struct json *schema,
	     const struct json_iter *it, struct openapi_refs *refs)
{
	if (str_is(it->key, "$ref"))
		copy_ref(w, root, it->value, refs);
	else if (str_is(it->key, "type"))
		copy_type(w, schema, it->value);
	else if (str_is(it->key, "enum"))
		copy_enum(w, schema, it->value);
	else if (str_is(it->key, "required"))
		copy_required(w, schema, it->value);
	else if (!str_is(it->key, "nullable"))
		copy_bound(w, schema, it->key, it->value);
}

static void
copy_many(struct jw *w, const struct json *root, const struct json *v, struct openapi_refs *refs,
	  unsigned depth)
{
	bool object = json_is(v, JSON_OBJECT);

	object ? jw_object(w) : jw_array(w);
	for (struct json_iter it = json_iter(v); json_next(&it);) {
		if (object)
			jw_key_str(w, it.key);
		copy_schema(w, root, it.value, refs, depth);
	}
	jw_end(w);
}

static void
copy_schema(struct jw *w, const struct json *root, const struct json *v, struct openapi_refs *refs,
	    unsigned depth)
{
	if (json_is(v, JSON_BOOL)) {
		jw_value(w, v);
		return;
	}
	jw_object(w);
	if (depth >= DEPTH_MOST || w->out->len > LIMIT_IMPORT_SCHEMA) {
		jw_end(w);
		return;
	}
	for (struct json_iter it = json_iter(v); json_next(&it);) {
		enum shape shape = shape_of(it.key);
		bool many = json_is(it.value, JSON_OBJECT) || json_is(it.value, JSON_ARRAY);
		/* Of old `items` may be a list: of these each is copied, too. */
		bool list = json_is(it.value, JSON_ARRAY);
		if (shape == DROP)
			continue;
		if (shape == SPECIAL) {
			copy_special(w, root, v, &it, refs);
			continue;
		}
		jw_key_str(w, it.key);
		if (shape == PLAIN || ((shape == LIST || shape == MAP) && !many))
			jw_value(w, it.value);
		else if (shape == SCHEMA && !list)
			copy_schema(w, root, it.value, refs, depth + 1);
		else
			copy_many(w, root, it.value, refs, depth + 1);
	}
	jw_end(w);
}

void
openapi__schema(struct jw *w, const struct json *root, const struct json *schema,
		struct openapi_refs *refs)
{
	copy_schema(w, root, schema, refs, 0);
}

void
openapi__defs(struct jw *w, const struct json *root, struct openapi_refs *refs)
{
	if (refs->count == 0)
		return;
	jw_key(w, "$defs");
	jw_object(w);
	/* Each may add others behind it. */
	for (size_t i = 0; i < refs->count; i++) {
		char name[80];
		memcpy(name, refs->at[i].name, sizeof(name));
		jw_key_str(w, str_of(name));
		if (w->out->len > LIMIT_IMPORT_SCHEMA)
			refs->full = true;
		copy_schema(w, root, follow(root, refs->at[i].pointer), refs, 0);
	}
	jw_end(w);
}
