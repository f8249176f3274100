/* definition.c - definitions read strictly, written again, and made into tools. */

#include "catalog/definition.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/sha256.h"
#include "mcp/shape.h"

#define TENANT_CHARS 64
#define PROMPT_BYTES (4 * KIB)

/* As it is written. */
struct written {
	struct str id, tenant_id, name, description, gateway, side_effect_policy;
	const struct json *gateway_config, *parameter_schema, *categories;
	const struct json *compensation_tool_id, *compensation_args, *confirmation_prompt;
	bool requires_confirmation;
	struct str created_at, updated_at;
};

/* What may be null, as the seed's own program writes it, is WANT_ANY here and looked at below. */
static const struct json_field fields[] = {
    FIELD(struct written, id, WANT_STR),
    FIELD(struct written, tenant_id, WANT_STR),
    FIELD_REQUIRED(struct written, name, WANT_STR),
    FIELD_REQUIRED(struct written, description, WANT_STR),
    FIELD_REQUIRED(struct written, gateway, WANT_STR),
    FIELD(struct written, gateway_config, WANT_OBJECT),
    FIELD(struct written, side_effect_policy, WANT_STR),
    FIELD(struct written, compensation_tool_id, WANT_ANY),
    FIELD(struct written, compensation_args, WANT_ANY),
    FIELD(struct written, requires_confirmation, WANT_BOOL),
    FIELD(struct written, confirmation_prompt, WANT_ANY),
    FIELD(struct written, parameter_schema, WANT_OBJECT),
    FIELD(struct written, categories, WANT_ARRAY),
    FIELD(struct written, created_at, WANT_STR),
    FIELD(struct written, updated_at, WANT_STR),
};

/* "refund: side_effect_policy: must be ..." */
static int PRINTF_LIKE(4, 5)
    refuse(struct err *e, struct str name, const char *field, const char *fmt, ...)
{
	char why[sizeof(e->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (name.len == 0)
		return err_set(e, E_VALIDATION, "%s%s%s", field, *field ? ": " : "", why);
	return err_set(e, E_VALIDATION, "%.*s: %s%s%s", STR_ARG(str_utf8_upto(name, 64)), field,
		       *field ? ": " : "", why);
}

/* ---- checks ---- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool
is_word(struct str s, const char *others, size_t most)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && !is_digit(c) && !(c && strchr(others, c)))
			return false;
	}
	return s.len > 0 && s.len <= most;
}

/* RFC 3339, also without the offset, which Python leaves out: the seed's times are UTC. */
static bool
is_time(struct str s)
{
	static const char form[] = "0000-00-00T00:00:00";
	size_t i = 0;

	for (; i < sizeof(form) - 1; i++)
		if (i >= s.len || (form[i] == '0' ? !is_digit(s.ptr[i]) : s.ptr[i] != form[i]))
			return false;
	if (i < s.len && s.ptr[i] == '.')
		for (i++; i < s.len && is_digit(s.ptr[i]);)
			i++;
	struct str zone = str_from(s, i);
	if (zone.len == 0 || str_is(zone, "Z"))
		return true;
	return zone.len == 6 && (zone.ptr[0] == '+' || zone.ptr[0] == '-') &&
	       is_digit(zone.ptr[1]) && is_digit(zone.ptr[2]) && zone.ptr[3] == ':' &&
	       is_digit(zone.ptr[4]) && is_digit(zone.ptr[5]);
}

static bool
is_uuid(struct str s)
{
	if (s.len != UUID_TEXT - 1)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? s.ptr[i] != '-' : !is_hex(s.ptr[i]))
			return false;
	}
	return true;
}

static int
check_words(const struct written *w, struct err *e)
{
	if (!is_word(w->name, "_-", ALIAS_MAX))
		return refuse(e, w->name, "name", "must be 1 to %d of A-Z a-z 0-9 _ -", ALIAS_MAX);
	if (str_trim(w->description).len == 0)
		return refuse(e, w->name, "description", "must not be empty");
	if (w->gateway.len == 0)
		return refuse(e, w->name, "gateway", "must not be empty");
	if (w->id.ptr && !is_uuid(w->id))
		return refuse(e, w->name, "id", "must be a UUID");
	if (w->tenant_id.ptr && !is_word(w->tenant_id, "_.-", TENANT_CHARS))
		return refuse(e, w->name, "tenant_id", "must be 1 to %d of A-Z a-z 0-9 _ . -",
			      TENANT_CHARS);
	return 0;
}

static int
check_times(const struct written *w, struct err *e)
{
	if (w->created_at.ptr && !is_time(w->created_at))
		return refuse(e, w->name, "created_at", "must be a date and time of RFC 3339");
	if (w->updated_at.ptr && !is_time(w->updated_at))
		return refuse(e, w->name, "updated_at", "must be a date and time of RFC 3339");
	return 0;
}

/* A string, null or nothing. */
static int
text_or_null(const struct written *w, const char *field, const struct json *v, struct str *ret,
	     struct err *e)
{
	*ret = json_str(v);
	if (!v || json_is(v, JSON_NULL))
		return 0;
	if (!ret->ptr)
		return refuse(e, w->name, field, "must be a string or null, got %s",
			      json_type_name(json_type(v)));
	if (str_trim(*ret).len == 0)
		return refuse(e, w->name, field, "must not be empty");
	return 0;
}

static int
check_strings(const struct written *w, const char *field, const struct json *list, struct err *e)
{
	if (list && !json_is(list, JSON_ARRAY))
		return refuse(e, w->name, field, "must be an array of strings, got %s",
			      json_type_name(json_type(list)));
	if (json_len(list) > LIMIT_DEFINITION_LIST)
		return refuse(e, w->name, field, "has more than %d entries", LIMIT_DEFINITION_LIST);
	for (struct json_iter it = json_iter(list); json_next(&it);)
		if (json_str(it.value).len == 0)
			return refuse(e, w->name, field, "must hold strings that are not empty");
	return 0;
}

/* An argument that is named must be one, as far as the schema tells which there are. */
static int
check_key_fields(const struct written *w, const struct json *list, struct err *e)
{
	const struct json *properties = json_get(w->parameter_schema, S("properties"));
	const char *where = "gateway_config.idempotency_key_fields";
	int code = check_strings(w, where, list, e);

	if (code == 0 && list && json_len(list) == 0)
		return refuse(e, w->name, where, "must name an argument");
	for (struct json_iter it = json_iter(list); code == 0 && json_next(&it);)
		if (properties && !json_get(properties, json_str(it.value)))
			code = refuse(e, w->name, where, "parameter_schema has no property '%.*s'",
				      STR_ARG(str_utf8_upto(json_str(it.value), 64)));
	return code;
}

/* ---- compensation ---- */

bool
compensation_is_pointer(struct str s)
{
	static const struct str roots[] = {S("/args"), S("/result")};

	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		if (str_starts(s, roots[i]) &&
		    (s.len == roots[i].len || s.ptr[roots[i].len] == '/'))
			return true;
	return false;
}

int
compensation_check(const struct json *args, const char *where, struct err *e)
{
	if (!json_is(args, JSON_OBJECT))
		return err_set(e, E_VALIDATION, "%s: must be an object", where);
	if (json_len(args) > LIMIT_DEFINITION_LIST)
		return err_set(e, E_VALIDATION, "%s: has more than %d arguments", where,
			       LIMIT_DEFINITION_LIST);
	for (struct json_iter it = json_iter(args); json_next(&it);) {
		bool constant = json_is(it.value, JSON_OBJECT) && json_len(it.value) == 1 &&
				json_get(it.value, S("const"));
		if (!constant && !compensation_is_pointer(json_str(it.value)))
			return err_set(e, E_VALIDATION,
				       "%s.%.*s: must be a JSON Pointer that begins with /args or "
				       "/result, or {\"const\": value}",
				       where, STR_ARG(str_utf8_upto(it.key, 64)));
	}
	return 0;
}

static int
read_compensation(const struct written *w, struct definition *d, struct err *e)
{
	struct err why;
	int code = text_or_null(w, "compensation_tool_id", w->compensation_tool_id,
				&d->compensation_tool, e);

	if (code < 0)
		return code;
	d->compensation_args =
	    json_is(w->compensation_args, JSON_NULL) ? NULL : w->compensation_args;
	if (d->compensation_args &&
	    compensation_check(d->compensation_args, "compensation_args", &why) < 0)
		return refuse(e, w->name, "", "%s", err_text(&why));
	if (d->compensation_args && !d->compensation_tool.ptr)
		return refuse(e, w->name, "compensation_args",
			      "needs a compensation_tool_id to be for");
	if (d->reversibility == REV_COMPENSATABLE && !d->compensation_tool.ptr)
		return refuse(e, w->name, "compensation_tool_id",
			      "is required where side_effect_policy is compensatable");
	return 0;
}

/* ---- reading ---- */

static int
read_policy(const struct written *w, struct definition *d, struct err *e)
{
	d->reversibility = REV_IRREVERSIBLE;
	d->policy_said = w->side_effect_policy.ptr != NULL;
	if (d->policy_said && !reversibility_parse(w->side_effect_policy, &d->reversibility))
		return refuse(e, w->name, "side_effect_policy",
			      "must be one of pure, idempotent, compensatable, irreversible");
	return 0;
}

/* RFC 9562 version 8: of what is ours. Tenants and names have no NUL in them. */
static void
uuid_of(struct str tenant, struct str name, char out[static UUID_TEXT])
{
	unsigned char hash[SHA256_BYTES];
	struct sha256 s;
	size_t at = 0;

	sha256_begin(&s);
	sha256_add(&s, S("holdfast definition"));
	sha256_add(&s, (struct str){"", 1});
	sha256_add(&s, tenant);
	sha256_add(&s, (struct str){"", 1});
	sha256_add(&s, name);
	sha256_end(&s, hash);
	hash[6] = (unsigned char)(0x80 | (hash[6] & 0x0f));
	hash[8] = (unsigned char)(0x80 | (hash[8] & 0x3f));
	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[at++] = '-';
		at += (size_t)snprintf(out + at, UUID_TEXT - at, "%02x", hash[i]);
	}
}

static void
read_id(const struct written *w, struct definition *d)
{
	d->tenant = w->tenant_id.ptr ? w->tenant_id : S(DEFINITION_TENANT);
	if (!w->id.ptr) {
		uuid_of(d->tenant, w->name, d->id);
		return;
	}
	for (size_t i = 0; i < w->id.len; i++) /* RFC 9562 section 4: lower case */
		d->id[i] = w->id.ptr[i] >= 'A' && w->id.ptr[i] <= 'F' ? (char)(w->id.ptr[i] | 0x20)
								      : w->id.ptr[i];
}

static int
read_written(const struct written *w, struct definition *d, struct err *e)
{
	const struct json *keys = json_get(w->gateway_config, S("idempotency_key_fields"));
	int code;

	d->name = w->name;
	d->description = w->description;
	d->gateway = w->gateway;
	d->gateway_config = w->gateway_config;
	d->requires_confirmation = w->requires_confirmation;
	d->parameter_schema = json_len(w->parameter_schema) ? w->parameter_schema : NULL;
	d->categories = w->categories;
	d->created_at = w->created_at;
	d->updated_at = w->updated_at;
	d->idempotency_key_fields = keys;
	if ((code = check_words(w, e)) < 0 || (code = check_times(w, e)) < 0 ||
	    (code = read_policy(w, d, e)) < 0 || (code = read_compensation(w, d, e)) < 0 ||
	    (code = check_strings(w, "categories", w->categories, e)) < 0 ||
	    (code = check_key_fields(w, keys, e)) < 0 ||
	    (code = text_or_null(w, "confirmation_prompt", w->confirmation_prompt,
				 &d->confirmation_prompt, e)) < 0)
		return code;
	if (d->confirmation_prompt.len > PROMPT_BYTES)
		return refuse(e, w->name, "confirmation_prompt", "is longer than %zu bytes",
			      PROMPT_BYTES);
	read_id(w, d);
	return 0;
}

static void
write_members(struct jw *w, const struct definition *d, bool times)
{
	jw_member_z(w, "id", d->id);
	jw_member(w, "tenant_id", d->tenant);
	jw_member(w, "name", d->name);
	jw_member(w, "description", d->description);
	jw_member(w, "gateway", d->gateway);
	jw_key(w, "gateway_config");
	d->gateway_config ? jw_value(w, d->gateway_config) : jw_raw(w, S("{}"));
	jw_member_z(w, "side_effect_policy", reversibility_name(d->reversibility));
	jw_member(w, "compensation_tool_id", d->compensation_tool);
	if (d->compensation_args)
		jw_key(w, "compensation_args"), jw_value(w, d->compensation_args);
	jw_member_bool(w, "requires_confirmation", d->requires_confirmation);
	jw_member(w, "confirmation_prompt", d->confirmation_prompt);
	jw_key(w, "parameter_schema");
	d->parameter_schema ? jw_value(w, d->parameter_schema) : jw_raw(w, S("{}"));
	jw_key(w, "categories");
	d->categories ? jw_value(w, d->categories) : jw_raw(w, S("[]"));
	if (times && d->created_at.ptr)
		jw_member(w, "created_at", d->created_at);
	if (times && d->updated_at.ptr)
		jw_member(w, "updated_at", d->updated_at);
}

void
definition_write_members(struct jw *w, const struct definition *d)
{
	write_members(w, d, true);
}

void
definition_write(struct jw *w, const struct definition *d)
{
	jw_object(w);
	write_members(w, d, true);
	jw_end(w);
}

static int
take_digest(struct definition *d, struct err *e)
{
	struct buf text = BUF_INIT(2 * LIMIT_JSON_BYTES);
	struct jw w = jw(&text);

	jw_object(&w);
	write_members(&w, d, false);
	jw_end(&w);
	if (!d->policy_said) /* then an internal one follows its function */
		buf_addc(&text, '?');
	bool failed = buf_failed(&text);
	if (!failed)
		digest_bytes(buf_str(&text), d->digest);
	buf_done(&text);
	return failed ? err_plain(e, E_NOMEM) : 0;
}

static int
read_object(struct definition *d, const struct json *object, struct err *e)
{
	struct str name = json_str(json_get(object, S("name")));
	struct written w = {0};
	struct err why;
	int code = json_fields(object, fields, ARRAY_LEN(fields), "", &w, &why);

	if (code < 0)
		return refuse(e, name, "", "%s", err_text(&why));
	if ((code = read_written(&w, d, e)) < 0)
		return code;
	return take_digest(d, e);
}

int
definition_parse(struct json_doc *doc, const struct json *object, struct definition **ret,
		 struct err *e)
{
	struct definition *d = calloc(1, sizeof(*d));

	if (!d)
		return err_plain(e, E_NOMEM);
	d->refs = 1;
	d->doc = json_doc_ref(doc);
	int code = read_object(d, object, e);
	if (code < 0)
		definition_unref(d);
	else
		*ret = d;
	return code;
}

struct definition *
definition_ref(struct definition *d)
{
	d->refs++;
	return d;
}

void
definition_unref(struct definition *d)
{
	if (!d || --d->refs > 0)
		return;
	json_doc_unref(d->doc);
	free(d);
}

/* ---- tools ---- */

static int
check_schema(const struct definition *d, struct tool *t, struct err *e)
{
	const struct schema *schema;
	struct err why = ERR_NONE;

	if (tool_schema(t, &schema, &why) == 0)
		return shape_is_of_object(t->input_schema)
			   ? 0
			   : refuse(e, d->name, "parameter_schema",
				    "must be the schema of an object");
	if (why.code == E_NOMEM)
		return err_plain(e, E_NOMEM);
	return refuse(e, d->name, "parameter_schema", "%s", tool_unfit(t));
}

int
definition_tool(struct definition *d, struct str ns, struct str server, struct tool **ret,
		struct err *e)
{
	bool of_default = str_is(d->tenant, DEFINITION_TENANT);
	struct tool_outline outline = {
	    .name = d->name,
	    .description = d->description,
	    .ns = ns.len       ? ns
		  : of_default ? d->gateway
			       : d->tenant,
	    .server = server,
	    .schema = d->parameter_schema,
	    .doc = d->doc,
	    /* What only looks is asked about like what looks; all else reaches out. */
	    .capability = d->reversibility == REV_PURE ? CAP_READ : CAP_NETWORK,
	    .reversibility = d->reversibility,
	};
	struct tool *t;
	int code = tool_outlined(&outline, &t, e);

	if (code < 0)
		return code;
	t->tenant = of_default ? (struct str){NULL, 0} : d->tenant;
	t->gateway = d->gateway;
	t->categories = d->categories;
	t->confirmation_prompt = d->confirmation_prompt;
	t->compensation_tool = d->compensation_tool;
	t->compensation_args = d->compensation_args;
	t->idempotency_key_fields = d->idempotency_key_fields;
	t->requires_confirmation = d->requires_confirmation;
	memcpy(t->uuid, d->id, sizeof(t->uuid));
	memcpy(t->digest, d->digest, sizeof(t->digest));
	/* Those of an import are many: theirs are compiled when they are used. */
	if (!server.ptr && (code = check_schema(d, t, e)) < 0) {
		tool_unref(t);
		return code;
	}
	*ret = t;
	return 0;
}
