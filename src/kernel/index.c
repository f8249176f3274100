/* index.c - reading a tool index: every entry, every schema, or nothing. */

#include "kernel/index.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/embedded.h"
#include "catalog/toolid.h"
#include "kernel/closed.h"
#include "kernel/tool.h"

#define FORMS_OF_ENTRY 4 /* at most: two, and two of its validator */

static const char *const usual_namespaces[] = {"lens", "move", "closure", "recap", "policy"};

/* ---- the router's own forms ---- */

static int
form_compile(const char *name, struct schema **ret, struct err *e)
{
	static const struct schema_options strict = {.assert_formats = true};
	const struct embedded *file = embedded_kernel;
	struct json_doc *doc;

	while (file->name && strcmp(file->name, name) != 0)
		file++;
	CHECK(file->name);
	int code = json_parse(file->bytes, &json_door, &doc, e);
	if (code < 0)
		return code;
	code = schema_compile(doc, json_root(doc), &strict, ret, e);
	json_doc_unref(doc);
	return code;
}

static int
forms_compile(struct kernel_index *x, struct err *e)
{
	const struct {
		const char *name;
		struct schema **at;
	} forms[] = {
	    {"envelope.v1.json", &x->envelope},
	    {"emission.v1.json", &x->emission},
	    {"error.v1.json", &x->error},
	    {"state.v1.json", &x->state},
	};
	int code = 0;

	for (size_t i = 0; code == 0 && i < ARRAY_LEN(forms); i++)
		code = form_compile(forms[i].name, forms[i].at, e);
	return code;
}

/* ---- one entry ---- */

struct entry_fields {
	struct str id, tool, payload_schema_ref, result_schema_ref;
	struct str payload_schema_sha256, result_schema_sha256;
	const struct json *preconditions, *quota, *validator;
	bool disabled, heavy;
};
static const struct json_field entry_table[] = {
    FIELD_REQUIRED(struct entry_fields, id, WANT_STR),
    FIELD(struct entry_fields, tool, WANT_STR),
    FIELD_REQUIRED(struct entry_fields, payload_schema_ref, WANT_STR),
    FIELD_REQUIRED(struct entry_fields, result_schema_ref, WANT_STR),
    FIELD(struct entry_fields, payload_schema_sha256, WANT_STR),
    FIELD(struct entry_fields, result_schema_sha256, WANT_STR),
    FIELD(struct entry_fields, preconditions, WANT_ARRAY),
    FIELD(struct entry_fields, quota, WANT_OBJECT),
    FIELD(struct entry_fields, validator, WANT_OBJECT),
    FIELD(struct entry_fields, disabled, WANT_BOOL),
    FIELD(struct entry_fields, heavy, WANT_BOOL),
};

struct validator_fields {
	struct str payload_schema_ref, result_schema_ref, mode;
	struct str payload_schema_sha256, result_schema_sha256;
};
static const struct json_field validator_table[] = {
    FIELD_REQUIRED(struct validator_fields, payload_schema_ref, WANT_STR),
    FIELD_REQUIRED(struct validator_fields, result_schema_ref, WANT_STR),
    FIELD_REQUIRED(struct validator_fields, mode, WANT_STR),
    FIELD(struct validator_fields, payload_schema_sha256, WANT_STR),
    FIELD(struct validator_fields, result_schema_sha256, WANT_STR),
};

struct quota_fields {
	struct str ledger_append;
};
static const struct json_field quota_table[] = {
    FIELD_REQUIRED(struct quota_fields, ledger_append, WANT_STR),
};

/* While an index is read. */
struct reading {
	struct kernel_index *index;
	const struct json *schemas;
	struct err *e;
};

/* Put before what is wrong where it is. */
static int
name_place(struct err *e, int code, const char *what, struct str which)
{
	struct err inner = *e;

	return err_set(e, code, "%s%.*s: %s", what, STR_ARG(str_utf8_upto(which, 120)),
		       err_text(&inner));
}

static void
form_free(struct index_form *form)
{
	schema_free(form->schema);
	free(form);
}

static int
form_fill(struct reading *r, const struct json *schema, struct index_form *form)
{
	static const struct schema_options strict = {.assert_formats = true};
	int code;

	if ((code = closed_check(schema, r->e)) < 0 ||
	    (code = digest_value(schema, CANON_JCS, form->digest, r->e)) < 0 ||
	    (code = schema_compile(r->index->bundle, schema, &strict, &form->schema, r->e)) < 0)
		return name_place(r->e, code, "", form->ref);
	code = map_put(&r->index->forms, form->ref, form);
	return code < 0 ? err_plain(r->e, code) : 0;
}

/* Compiled once: what entries share costs what it costs one of them. */
static int
get_form(struct reading *r, struct str ref, const struct index_form **ret)
{
	const struct json *schema = json_get(r->schemas, ref);

	if ((*ret = map_find(&r->index->forms, ref)))
		return 0;
	if (!schema)
		return err_set(r->e, E_VALIDATION, "there is no schema '%.*s'",
			       STR_ARG(str_utf8_upto(ref, 120)));
	struct index_form *form = calloc(1, sizeof(*form));
	if (!form)
		return err_plain(r->e, E_NOMEM);
	form->ref = ref;
	int code = form_fill(r, schema, form);
	if (code < 0)
		form_free(form);
	else
		*ret = form;
	return code;
}

static int
read_form(struct reading *r, struct str ref, struct str pin, const struct index_form **ret)
{
	int code = get_form(r, ref, ret);

	if (code == 0 && pin.ptr && !str_is(pin, (*ret)->digest))
		return err_set(r->e, E_VALIDATION,
			       "%.*s: is not what was pinned: its digest is %s, not %.*s",
			       STR_ARG(str_utf8_upto(ref, 120)), (*ret)->digest,
			       STR_ARG(str_utf8_upto(pin, 64)));
	return code;
}

static int
read_validator(struct reading *r, const struct json *v, struct index_entry *ret)
{
	struct validator_fields f = {0};
	int code;

	if (!v)
		return 0;
	if ((code = json_fields(v, validator_table, ARRAY_LEN(validator_table), "validator", &f,
				r->e)) < 0)
		return code;
	if (!str_is(f.mode, "fail_closed"))
		return err_set(r->e, E_VALIDATION, "validator.mode: must be fail_closed");
	ret->validated = true;
	code = read_form(r, f.payload_schema_ref, f.payload_schema_sha256, &ret->validator_payload);
	return code < 0 ? code
			: read_form(r, f.result_schema_ref, f.result_schema_sha256,
				    &ret->validator_result);
}

static int
read_conditions(struct reading *r, const struct json *list, struct index_entry *ret)
{
	int code = 0;

	if (json_len(list) > LIMIT_KERNEL_CONDITIONS)
		return err_set(r->e, E_LIMIT, "more than %d preconditions",
			       LIMIT_KERNEL_CONDITIONS);
	for (struct json_iter it = json_iter(list); code == 0 && json_next(&it);)
		code = condition_parse(json_str(it.value), &ret->conditions[ret->condition_count++],
				       r->e);
	return code;
}

static int
read_quota(struct reading *r, const struct json *v, struct index_entry *ret)
{
	struct quota_fields f = {0};
	int code;

	if (!v)
		return 0;
	if ((code = json_fields(v, quota_table, ARRAY_LEN(quota_table), "quota", &f, r->e)) < 0)
		return code;
	if (!str_is(f.ledger_append, "policy.cap.ledger_max"))
		return err_set(r->e, E_VALIDATION,
			       "quota.ledger_append: must be policy.cap.ledger_max");
	ret->quota = true;
	return 0;
}

/* The kernel's own by its name, or one of the catalog that can be no other than this one. */
static int
read_tool(struct reading *r, const struct entry_fields *f, struct index_entry *ret)
{
	struct toolid parts;
	int code;

	if (!f->tool.ptr) {
		ret->own = kernel_tool_find(f->id);
		return ret->own ? 0
				: err_set(r->e, E_VALIDATION,
					  "is no tool of the kernel; 'tool' names one of the "
					  "catalog by its id");
	}
	if ((code = toolid_parse(f->tool, &parts, r->e)) < 0)
		return name_place(r->e, code, "tool", S(""));
	if (!parts.hash8.ptr && !parts.version.ptr)
		return err_set(r->e, E_VALIDATION,
			       "tool: must be a whole id, with its hash or version: "
			       "`holdfast tools` shows it");
	ret->tool = f->tool;
	return 0;
}

static bool
is_word(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (!((c >= 'a' && c <= 'z') || (i > 0 && (c == '_' || (c >= '0' && c <= '9')))))
			return false;
	}
	return s.len > 0 && s.len <= LIMIT_KERNEL_KEY;
}

static int
read_id(struct reading *r, struct str id, struct index_entry *ret)
{
	ptrdiff_t dot = str_index(id, '.');

	if (dot < 0 || !is_word(str_upto(id, (size_t)dot)) ||
	    !is_word(str_from(id, (size_t)dot + 1)))
		return err_set(r->e, E_VALIDATION,
			       "id: must be two words of a-z, 0-9 and _ with a point between");
	ret->id = id;
	ret->ns = str_upto(id, (size_t)dot);
	int code = map_put(&r->index->by_id, ret->id, ret);
	return code < 0 ? err_plain(r->e, code) : 0;
}

static int
read_entry(struct reading *r, const struct json *v, struct index_entry *ret)
{
	struct entry_fields f = {0};
	int code = json_fields(v, entry_table, ARRAY_LEN(entry_table), "", &f, r->e);

	if (code < 0)
		return code;
	if ((code = read_id(r, f.id, ret)) < 0 || (code = read_tool(r, &f, ret)) < 0 ||
	    (code = read_form(r, f.payload_schema_ref, f.payload_schema_sha256, &ret->payload)) <
		0 ||
	    (code = read_form(r, f.result_schema_ref, f.result_schema_sha256, &ret->result)) < 0 ||
	    (code = read_conditions(r, f.preconditions, ret)) < 0 ||
	    (code = read_quota(r, f.quota, ret)) < 0 ||
	    (code = read_validator(r, f.validator, ret)) < 0)
		return code;
	ret->disabled = f.disabled;
	ret->heavy = f.heavy;
	/* Whatever appends must be held to what there is room for. */
	if (ret->own && ret->own->enters && !ret->quota)
		return err_set(r->e, E_VALIDATION,
			       "needs the quota ledger_append: policy.cap.ledger_max");
	if (ret->validated && !(ret->own && ret->own->validate))
		return err_set(r->e, E_VALIDATION, "validator: this tool has none");
	return 0;
}

/* ---- all of it ---- */

struct bundle_fields {
	const struct json *index, *namespaces, *schemas;
};
static const struct json_field bundle_table[] = {
    {"tool.index", WANT_ARRAY, offsetof(struct bundle_fields, index), true},
    {"namespaces", WANT_ARRAY, offsetof(struct bundle_fields, namespaces), false},
    {"schemas", WANT_OBJECT, offsetof(struct bundle_fields, schemas), true},
};

static bool
rules_allow(const struct index_rules *rules, struct str ns)
{
	if (!rules || !rules->namespaces)
		return true;
	for (size_t i = 0; i < rules->count; i++)
		if (str_is(ns, rules->namespaces[i]))
			return true;
	return false;
}

static int
add_namespace(struct kernel_index *x, struct str ns, const struct index_rules *rules, struct err *e)
{
	if (x->namespace_count == LIMIT_KERNEL_NAMESPACES)
		return err_set(e, E_LIMIT, "namespaces: more than %d", LIMIT_KERNEL_NAMESPACES);
	if (!is_word(ns))
		return err_set(e, E_VALIDATION, "namespaces: '%.*s' is no word of a-z, 0-9 and _",
			       STR_ARG(str_utf8_upto(ns, 60)));
	if (!rules_allow(rules, ns))
		return err_set(e, E_VALIDATION, "namespace '%.*s' not allowed", STR_ARG(ns));
	/* A copy: the rules go with the configuration, sessions keep their index. */
	memcpy(x->namespaces[x->namespace_count++], ns.ptr, ns.len);
	return 0;
}

/* Those of the index; else those that the gateway allows; else the usual ones. */
static int
read_namespaces(struct kernel_index *x, const struct json *list, const struct index_rules *rules,
		struct err *e)
{
	int code = 0;

	for (struct json_iter it = json_iter(list); code == 0 && json_next(&it);)
		code = add_namespace(x, json_str(it.value), rules, e);
	if (code < 0 || list)
		return code;
	bool ruled = rules && rules->namespaces;
	const char *const *names = ruled ? rules->namespaces : usual_namespaces;
	size_t count = ruled ? rules->count : ARRAY_LEN(usual_namespaces);
	for (size_t i = 0; code == 0 && i < count; i++)
		code = add_namespace(x, str_of(names[i]), rules, e);
	return code;
}

static int
read_entries(struct reading *r, const struct json *list)
{
	struct kernel_index *x = r->index;
	size_t count = json_len(list), at = 0;
	int code = 0;

	if (count == 0 || count > LIMIT_KERNEL_TOOLS)
		return err_set(r->e, E_VALIDATION, "tool.index: must have 1 to %d tools",
			       LIMIT_KERNEL_TOOLS);
	if (!(x->entries = calloc(count, sizeof(*x->entries))))
		return err_plain(r->e, E_NOMEM);
	x->count = count;
	for (struct json_iter it = json_iter(list); code == 0 && json_next(&it); at++) {
		char where[48];
		code = read_entry(r, it.value, &x->entries[at]);
		snprintf(where, sizeof(where), "tool.index[%zu] ", at);
		if (code < 0)
			name_place(r->e, code, where, x->entries[at].id);
	}
	return code;
}

static int
read_bundle(struct kernel_index *x, const struct index_rules *rules, struct err *e)
{
	const struct json *root = json_root(x->bundle);
	struct bundle_fields f = {0};
	int code = json_fields(root, bundle_table, ARRAY_LEN(bundle_table), "", &f, e);

	if (code < 0)
		return code;
	struct reading r = {.index = x, .schemas = f.schemas, .e = e};
	if ((code = read_namespaces(x, f.namespaces, rules, e)) < 0 ||
	    (code = read_entries(&r, f.index)) < 0 ||
	    (code = digest_value(root, CANON_JCS, x->digest, e)) < 0)
		return code;
	return forms_compile(x, e);
}

int
kernel_index_new(struct json_doc *bundle, const struct index_rules *rules,
		 struct kernel_index **ret, struct err *e)
{
	struct kernel_index *x = calloc(1, sizeof(*x));
	struct err local;

	if (!x)
		return err_plain(e, E_NOMEM);
	x->refs = 1;
	x->bundle = json_doc_ref(bundle);
	map_init(&x->by_id, LIMIT_KERNEL_TOOLS);
	map_init(&x->forms, FORMS_OF_ENTRY * LIMIT_KERNEL_TOOLS);
	int code = read_bundle(x, rules, e ? e : &local);
	if (code < 0) {
		kernel_index_unref(x);
		return code;
	}
	*ret = x;
	return 0;
}

struct kernel_index *
kernel_index_ref(struct kernel_index *x)
{
	x->refs++;
	return x;
}

void
kernel_index_unref(struct kernel_index *x)
{
	struct index_form *form;

	if (!x || --x->refs > 0)
		return;
	for (size_t at = 0; (form = map_each(&x->forms, &at));)
		form_free(form);
	schema_free(x->envelope);
	schema_free(x->emission);
	schema_free(x->error);
	schema_free(x->state);
	map_done(&x->by_id);
	map_done(&x->forms);
	free(x->entries);
	json_doc_unref(x->bundle);
	free(x);
}

const struct index_entry *
index_find(const struct kernel_index *x, struct str id)
{
	return map_find(&x->by_id, id);
}

bool
index_allows(const struct kernel_index *x, struct str ns)
{
	for (size_t i = 0; i < x->namespace_count; i++)
		if (str_is(ns, x->namespaces[i]))
			return true;
	return false;
}

static void
write_entry(struct jw *w, const struct index_entry *entry)
{
	jw_object(w);
	jw_member(w, "id", entry->id);
	if (entry->tool.ptr)
		jw_member(w, "tool", entry->tool);
	jw_member(w, "payload_schema_ref", entry->payload->ref);
	jw_member_z(w, "payload_schema_sha256", entry->payload->digest);
	jw_member(w, "result_schema_ref", entry->result->ref);
	jw_member_z(w, "result_schema_sha256", entry->result->digest);
	if (entry->disabled)
		jw_member_bool(w, "disabled", true);
	jw_end(w);
}

void
index_write(struct jw *w, const struct kernel_index *x)
{
	jw_member_z(w, "index_sha256", x->digest);
	jw_key(w, "namespaces");
	jw_array(w);
	for (size_t i = 0; i < x->namespace_count; i++)
		jw_z(w, x->namespaces[i]);
	jw_end(w);
	jw_key(w, "tool.index");
	jw_array(w);
	for (size_t i = 0; i < x->count; i++)
		write_entry(w, &x->entries[i]);
	jw_end(w);
}
