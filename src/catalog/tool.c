/* tool.c - a card is read once, checked, and never changes. */

#include "catalog/tool.h"

#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>

#include "base/limits.h"
#include "mcp/era.h"
#include "mcp/header.h"
#include "mcp/shape.h"

#define NAME_CHARS 64
#define TIMEOUT_MAX_MS (24 * 3600 * 1000)
#define RUNNING_MAX 1024

enum { TEXT_ID, TEXT_NAME, TEXT_SERVER };

static const char *const capabilities[] = {
    [CAP_NONE] = "none",       [CAP_READ] = "read",       [CAP_WRITE] = "write",
    [CAP_EXECUTE] = "execute", [CAP_NETWORK] = "network",
};

static const char *const reversibilities[] = {
    [REV_PURE] = "pure",
    [REV_IDEMPOTENT] = "idempotent",
    [REV_COMPENSATABLE] = "compensatable",
    [REV_IRREVERSIBLE] = "irreversible",
};

const char *
capability_name(enum capability c)
{
	CHECK((size_t)c < ARRAY_LEN(capabilities));
	return capabilities[c];
}

bool
capability_parse(struct str name, enum capability *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(capabilities); i++)
		if (str_eq_nocase(name, str_of(capabilities[i]))) {
			*ret = (enum capability)i;
			return true;
		}
	return false;
}

const char *
reversibility_name(enum reversibility r)
{
	CHECK((size_t)r < ARRAY_LEN(reversibilities));
	return reversibilities[r];
}

bool
reversibility_parse(struct str name, enum reversibility *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(reversibilities); i++)
		if (str_is(name, reversibilities[i])) {
			*ret = (enum reversibility)i;
			return true;
		}
	return false;
}

/* The card as it is written; see cards/README.md. */
struct card {
	struct str name, title, description, capability, reversibility, command_argument;
	const struct json *input_schema, *path_arguments, *examples;
	bool requires_workspace, memory;
	int64_t timeout_ms, max_running;
};

static const struct json_field card_fields[] = {
    FIELD_REQUIRED(struct card, name, WANT_STR),
    FIELD(struct card, title, WANT_STR),
    FIELD_REQUIRED(struct card, description, WANT_STR),
    FIELD_REQUIRED(struct card, capability, WANT_STR),
    FIELD_REQUIRED(struct card, reversibility, WANT_STR),
    FIELD_REQUIRED(struct card, input_schema, WANT_OBJECT),
    FIELD(struct card, path_arguments, WANT_ARRAY),
    FIELD(struct card, command_argument, WANT_STR),
    FIELD(struct card, requires_workspace, WANT_BOOL),
    FIELD(struct card, memory, WANT_BOOL),
    FIELD(struct card, timeout_ms, WANT_INT),
    FIELD(struct card, max_running, WANT_INT),
    FIELD(struct card, examples, WANT_ARRAY),
};

struct example {
	const struct json *input;
	struct str note;
};

static const struct json_field example_fields[] = {
    FIELD_REQUIRED(struct example, input, WANT_OBJECT),
    FIELD(struct example, note, WANT_STR),
};

/* "write_file: capability: must be ..." */
static int PRINTF_LIKE(4, 5)
    refuse(struct err *e, struct str tool, const char *field, const char *fmt, ...)
{
	char why[sizeof(e->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	tool = tool.len ? str_utf8_upto(tool, NAME_CHARS) : S("card");
	return err_set(e, E_VALIDATION, "%.*s: %s%s%s", STR_ARG(tool), field, *field ? ": " : "",
		       why);
}

/* What a function below said, with the tool's name before it. */
static int
refuse_with(struct err *e, struct str tool, const char *field, int code)
{
	if (code == E_NOMEM || !e)
		return code;
	struct err why = *e;
	return refuse(e, tool, field, "%s", why.text);
}

static bool
name_is_good(struct str name)
{
	if (name.len == 0 || name.len > NAME_CHARS)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '-')
			return false;
	}
	return true;
}

/* Index of the word, or a refusal that lists them all. */
static int
word_index(struct err *e, struct str tool, const char *field, const char *const *words,
	   size_t count, struct str word)
{
	struct buf all = BUF_INIT(256);

	for (size_t i = 0; i < count; i++) {
		if (str_is(word, words[i])) {
			buf_done(&all);
			return (int)i;
		}
		buf_addf(&all, "%s%s", i ? ", " : "", words[i]);
	}
	int rc = refuse(e, tool, field, "must be one of %.*s", STR_ARG(buf_str(&all)));
	buf_done(&all);
	return rc;
}

static int
check_range(struct err *e, struct str tool, const char *field, int64_t value, int64_t min,
	    int64_t max)
{
	if (value >= min && value <= max)
		return 0;
	return refuse(e, tool, field, "must be between %lld and %lld", (long long)min,
		      (long long)max);
}

/* An argument that is named must be one. */
static int
check_argument(struct err *e, const struct card *c, const char *field, const struct json *name)
{
	const struct json *properties = json_get(c->input_schema, S("properties"));

	if (!json_is(name, JSON_STRING))
		return refuse(e, c->name, field, "must hold strings");
	if (!json_get(properties, json_str(name)))
		return refuse(e, c->name, field, "input_schema has no property '%.*s'",
			      STR_ARG(str_utf8_upto(json_str(name), NAME_CHARS)));
	return 0;
}

static int
check_arguments(struct err *e, const struct card *c, const struct json *card)
{
	int rc = 0;

	for (struct json_iter it = json_iter(c->path_arguments); rc == 0 && json_next(&it);)
		rc = check_argument(e, c, "path_arguments", it.value);
	if (rc == 0 && c->command_argument.ptr)
		rc =
		    check_argument(e, c, "command_argument", json_get(card, S("command_argument")));
	return rc;
}

static int
check_examples(struct err *e, const struct card *c)
{
	struct example example;
	char where[32];
	size_t i = 0;

	for (struct json_iter it = json_iter(c->examples); json_next(&it); i++) {
		snprintf(where, sizeof(where), "examples[%zu]", i);
		int rc = json_fields(it.value, example_fields, ARRAY_LEN(example_fields), where,
				     &example, e);
		if (rc < 0)
			return refuse_with(e, c->name, "", rc);
	}
	return 0;
}

static int
check_schema(struct err *e, const struct card *c)
{
	struct buf problems = BUF_INIT(sizeof(e->text));
	int rc = 0;

	if (!str_is(json_str(json_get(c->input_schema, S("type"))), "object"))
		return refuse(e, c->name, "input_schema", "type must be \"object\"");
	if (schema_subset(c->input_schema, &problems) < 0)
		rc = refuse(e, c->name, "input_schema", "%.*s", STR_ARG(buf_str(&problems)));
	buf_done(&problems);
	return rc;
}

static int
card_read(const struct json *root, struct card *c, struct err *e)
{
	/* A refusal should name the tool even where the name comes last. */
	struct str name = json_str(json_get(root, S("name")));

	*c = (struct card){
	    .requires_workspace = json_len(json_get(root, S("path_arguments"))) > 0,
	    .timeout_ms = -1,
	};
	int rc = json_fields(root, card_fields, ARRAY_LEN(card_fields), "", c, e);
	if (rc < 0)
		return refuse_with(e, name, "", rc);
	if (!name_is_good(c->name))
		return refuse(e, c->name, "name", "must be 1 to %d of A-Z a-z 0-9 _ -", NAME_CHARS);
	if (str_trim(c->description).len == 0)
		return refuse(e, c->name, "description", "must not be empty");
	return 0;
}

/* How long a call may take where nobody says it. */
static unsigned
usual_ms(enum capability c)
{
	return c >= CAP_EXECUTE ? LIMIT_CALL_SLOW_MS : LIMIT_CALL_MS;
}

/* The words and numbers of the card become the tool's. */
static int
card_apply(const struct card *c, struct tool *t, struct err *e)
{
	int capability = word_index(e, c->name, "capability", capabilities, ARRAY_LEN(capabilities),
				    c->capability);
	if (capability < 0)
		return capability;
	int reversibility = word_index(e, c->name, "reversibility", reversibilities,
				       ARRAY_LEN(reversibilities), c->reversibility);
	if (reversibility < 0)
		return reversibility;
	int64_t timeout_ms = c->timeout_ms;
	if (timeout_ms == -1)
		timeout_ms = usual_ms((enum capability)capability);
	int rc = check_range(e, c->name, "timeout_ms", timeout_ms, 1, TIMEOUT_MAX_MS);
	if (rc == 0)
		rc = check_range(e, c->name, "max_running", c->max_running, 0, RUNNING_MAX);
	if (rc < 0)
		return rc;
	t->name = c->name;
	t->title = c->title;
	t->description = c->description;
	t->capability = (enum capability)capability;
	t->reversibility = (enum reversibility)reversibility;
	t->requires_workspace = c->requires_workspace;
	t->memory = c->memory;
	t->timeout_ms = (unsigned)timeout_ms;
	t->max_running = (unsigned)c->max_running;
	t->command_argument = c->command_argument;
	t->path_arguments = c->path_arguments;
	t->input_schema = c->input_schema;
	t->examples = c->examples;
	t->confirm = -1;
	return 0;
}

static struct str
own_text(char **at, struct str s)
{
	*at = s.ptr ? str_dup(s) : NULL;
	return (struct str){*at, *at ? s.len : 0};
}

static int
id_fill(struct tool *t, struct str name, struct str ns, struct str version, struct err *e)
{
	struct buf id = BUF_INIT(TOOLID_MAX);

	toolid_derive(&id, name, ns, version, t->input_schema);
	if (!buf_failed(&id))
		t->id = own_text(&t->texts[TEXT_ID], buf_str(&id));
	buf_done(&id);
	return t->id.ptr ? 0 : err_plain(e, E_NOMEM);
}

static int
tool_fill(struct tool *t, struct err *e)
{
	const struct json *root = json_root(t->card);
	struct card c;
	int rc = card_read(root, &c, e);

	if (rc == 0)
		rc = card_apply(&c, t, e);
	if (rc == 0)
		rc = check_schema(e, &c);
	if (rc == 0)
		rc = check_arguments(e, &c, root);
	if (rc == 0)
		rc = check_examples(e, &c);
	if (rc < 0)
		return rc;
	if ((rc = id_fill(t, t->name, S("builtin"), (struct str){NULL, 0}, e)) < 0)
		return rc;
	rc = schema_compile(t->card, t->input_schema, NULL, &t->compiled, e);
	return rc < 0 ? refuse_with(e, t->name, "input_schema", rc) : 0;
}

int
tool_new(struct str card, struct tool **ret, struct err *e)
{
	const struct json_limits limits = {LIMIT_CARD_BYTES, LIMIT_JSON_DEPTH};
	struct tool *t = calloc(1, sizeof(*t));

	if (!t)
		return err_plain(e, E_NOMEM);
	t->refs = 1;
	int rc = json_parse(card, &limits, &t->card, e);
	if (rc < 0)
		rc = refuse_with(e, S("card"), "", rc);
	else
		rc = tool_fill(t, e);
	if (rc < 0)
		tool_unref(t);
	else
		*ret = t;
	return rc;
}

struct tool *
tool_ref(struct tool *t)
{
	t->refs++;
	return t;
}

void
tool_unref(struct tool *t)
{
	if (!t || --t->refs > 0)
		return;
	if (t->provider_free)
		t->provider_free(t->provider_data);
	schema_free(t->compiled);
	json_doc_unref(t->card);
	json_doc_unref(t->spare);
	buf_done(&t->listing);
	free(t->unfit);
	for (size_t i = 0; i < ARRAY_LEN(t->texts); i++)
		free(t->texts[i]);
	tool_unref(t->inner);
	free(t);
}

/* Tools of servers. */

static bool
hint(const struct json *annotations, struct str name, bool otherwise)
{
	const struct json *v = json_get(annotations, name);

	return json_is(v, JSON_BOOL) ? json_bool(v) : otherwise;
}

/* What is not said counts as MCP's defaults, which are the careful ones. */
static void
effects_from(struct tool *t, const struct json *annotations)
{
	if (hint(annotations, S("readOnlyHint"), false)) {
		t->capability = CAP_READ;
		t->reversibility = REV_PURE;
		return;
	}
	t->capability = hint(annotations, S("openWorldHint"), true) ? CAP_NETWORK : CAP_WRITE;
	t->reversibility =
	    hint(annotations, S("idempotentHint"), false) ? REV_IDEMPOTENT : REV_IRREVERSIBLE;
}

static struct str
first_text(const struct json *definition, const char *const *names, struct str otherwise)
{
	for (; *names; names++) {
		struct str s = json_str(json_get(definition, str_of(*names)));
		if (str_trim(s).len)
			return s;
	}
	return otherwise;
}

/* One that has none takes any object. */
static int
spare_schema(struct tool *t, struct err *e)
{
	if (json_is(t->input_schema, JSON_OBJECT))
		return 0;
	int rc = json_parse(S("{\"type\":\"object\"}"), &json_door, &t->spare, e);
	t->input_schema = rc == 0 ? json_root(t->spare) : NULL;
	return rc;
}

static int
adopt(struct tool *t, const struct tool_origin *from, struct err *e)
{
	const struct json *d = from->definition;
	struct str version = json_str(json_pointer(d, S("/_meta/version")));
	int rc;

	t->definition = d;
	t->differs[ERA_LEGACY] = era_tool_differs(d, MCP_2025_11_25);
	t->differs[ERA_MODERN] = era_tool_differs(d, MCP_2026_07_28);
	t->upstream_name = json_str(json_get(d, S("name")));
	if (!json_is(d, JSON_OBJECT) || t->upstream_name.len == 0)
		return err_set(e, E_VALIDATION, "a tool must be an object with a name");
	t->name = own_text(&t->texts[TEXT_NAME], from->name);
	t->server = own_text(&t->texts[TEXT_SERVER], from->server);
	if (!t->name.ptr || !t->server.ptr)
		return err_plain(e, E_NOMEM);
	t->title = json_str(json_get(d, S("title")));
	t->description =
	    first_text(d, (const char *const[]){"description", "title", NULL}, t->upstream_name);
	t->capability = CAP_NETWORK;
	t->reversibility = REV_IRREVERSIBLE;
	t->stranger = !from->trusted;
	if (from->trusted)
		effects_from(t, json_get(d, S("annotations")));
	t->timeout_ms = from->timeout_ms ? from->timeout_ms : usual_ms(t->capability);
	t->max_ms = from->max_ms ? from->max_ms : LIMIT_CALL_SLOW_MS;
	t->confirm = -1;
	t->input_schema = json_get(d, S("inputSchema"));
	if ((rc = spare_schema(t, e)) < 0)
		return rc;
	return id_fill(t, t->upstream_name, from->ns, version, e);
}

int
tool_adopt(const struct tool_origin *from, struct tool **ret, struct err *e)
{
	struct tool *t = calloc(1, sizeof(*t));

	if (!t)
		return err_plain(e, E_NOMEM);
	t->refs = 1;
	t->card = json_doc_ref(from->doc);
	int rc = adopt(t, from, e);
	if (rc < 0)
		tool_unref(t);
	else
		*ret = t;
	return rc;
}

/* Tools that were defined. */

static int
outline_apply(struct tool *t, const struct tool_outline *o, struct err *e)
{
	struct str none = {NULL, 0};
	int rc;

	t->name = own_text(&t->texts[TEXT_NAME], o->name);
	t->server = own_text(&t->texts[TEXT_SERVER], o->server);
	if (!t->name.ptr || (o->server.ptr && !t->server.ptr))
		return err_plain(e, E_NOMEM);
	t->description = o->description;
	t->capability = o->capability;
	t->reversibility = o->reversibility;
	t->timeout_ms = usual_ms(t->capability);
	t->confirm = -1;
	t->input_schema = o->schema;
	if ((rc = spare_schema(t, e)) < 0)
		return rc;
	/* The namespace says whose it is; the name in the id need not say it again. */
	struct str rest = str_from(t->name, t->server.len);
	bool twice = t->server.ptr && str_starts(t->name, t->server) && rest.len > 2 &&
		     str_starts(rest, S("__"));
	return id_fill(t, twice ? str_from(rest, 2) : t->name, o->ns, none, e);
}

int
tool_outlined(const struct tool_outline *o, struct tool **ret, struct err *e)
{
	struct tool *t = calloc(1, sizeof(*t));

	if (!t)
		return err_plain(e, E_NOMEM);
	t->refs = 1;
	t->card = json_doc_ref(o->doc);
	int rc = outline_apply(t, o, e);
	if (rc < 0)
		tool_unref(t);
	else
		*ret = t;
	return rc;
}

const char *
tool_unfit(const struct tool *t)
{
	return t->unfit ? t->unfit->inside : "";
}

bool
tool_in_headers(struct tool *t)
{
	if (t->in_headers == 0)
		t->in_headers = header_has_params(t->input_schema) ? 1 : -1;
	return t->in_headers > 0;
}

int
tool_schema(struct tool *t, const struct schema **ret, struct err *e)
{
	struct err why;

	if (!t->compiled && !t->unfit &&
	    schema_compile(t->spare ? t->spare : t->card, t->input_schema, NULL, &t->compiled,
			   &why) < 0) {
		if (why.code == E_NOMEM || !(t->unfit = malloc(sizeof(why))))
			return err_plain(e, E_NOMEM);
		err_set(t->unfit, E_VALIDATION, "%.*s cannot be called: its input schema: %s",
			STR_ARG(t->name), err_text(&why));
		snprintf(t->unfit->inside, sizeof(t->unfit->inside), "%s", err_text(&why));
	}
	if (t->unfit) {
		*e = *t->unfit;
		return e->code;
	}
	*ret = t->compiled;
	return 0;
}

/* The two axes of effect in MCP's words. */
void
tool_write_hints(struct jw *w, const struct tool *t)
{
	bool reads = t->capability <= CAP_READ;

	jw_object(w);
	jw_member_bool(w, "readOnlyHint", reads);
	/* Whether it may overwrite or delete, not whether we could bring that back. */
	jw_member_bool(w, "destructiveHint", !reads && t->reversibility >= REV_COMPENSATABLE);
	jw_member_bool(w, "idempotentHint", t->reversibility <= REV_IDEMPOTENT);
	jw_member_bool(w, "openWorldHint", t->capability >= CAP_EXECUTE);
	jw_end(w);
}

static void
list_native(struct jw *w, const struct tool *t)
{
	if (t->title.ptr)
		jw_member(w, "title", t->title);
	jw_member(w, "description", t->description);
	shape_write_member(w, SHAPE_TOOL, S("inputSchema"), t->input_schema);
	jw_key(w, "annotations");
	tool_write_hints(w, t);
}

/* As the server gave it, as far as clients take that; a description and a schema it must have. */
static void
list_adopted(struct jw *w, const struct tool *t)
{
	jw_member(w, "description", t->description);
	shape_write_member(w, SHAPE_TOOL, S("inputSchema"), t->input_schema);
	for (struct json_iter it = json_iter(t->definition); json_next(&it);) {
		if (str_is(it.key, "name") || str_is(it.key, "description") ||
		    str_is(it.key, "inputSchema"))
			continue;
		shape_write_member(w, SHAPE_TOOL, it.key, it.value);
	}
}

struct str
tool_listing(struct tool *t)
{
	if (t->listing.len == 0) {
		buf_init(&t->listing, 8 * LIMIT_JSON_BYTES);
		struct jw w = jw(&t->listing);
		jw_object(&w);
		(t->definition ? list_adopted : list_native)(&w, t);
		jw_end(&w);
		buf_trim(&t->listing);
	}
	if (buf_failed(&t->listing)) {
		buf_done(&t->listing);
		return (struct str){NULL, 0};
	}
	/* Without the braces. */
	return (struct str){t->listing.ptr + 1, t->listing.len - 2};
}

/* What only those have that were defined. */
static void
write_defined(struct jw *w, const struct tool *t)
{
	jw_member_z(w, "definition_id", t->uuid);
	jw_member(w, "gateway", t->gateway);
	if (t->tenant.ptr)
		jw_member(w, "tenant_id", t->tenant);
	jw_member_bool(w, "requires_confirmation", t->requires_confirmation);
	if (t->confirmation_prompt.ptr)
		jw_member(w, "confirmation_prompt", t->confirmation_prompt);
	if (t->compensation_tool.ptr)
		jw_member(w, "compensation_tool_id", t->compensation_tool);
	if (t->categories)
		jw_key(w, "categories"), jw_value(w, t->categories);
}

void
tool_unlist(struct tool *t)
{
	buf_done(&t->listing);
}

void
tool_write(struct jw *w, const struct tool *t)
{
	jw_object(w);
	jw_member(w, "name", t->name);
	jw_member(w, "id", t->id);
	if (t->title.ptr)
		jw_member(w, "title", t->title);
	jw_member(w, "description", t->description);
	if (t->server.ptr) {
		jw_member(w, "server", t->server);
		jw_member(w, "upstream_name", t->upstream_name.ptr ? t->upstream_name : t->name);
		jw_member_bool(w, "changed", t->changed);
	}
	jw_member_z(w, "capability", capability_name(t->capability));
	jw_member_z(w, "side_effects", capability_name(t->capability)); /* as events call it */
	jw_member_z(w, "reversibility", reversibility_name(t->reversibility));
	jw_member_bool(w, "requires_workspace", t->requires_workspace);
	jw_member_int(w, "timeout_ms", t->timeout_ms);
	if (t->gateway.ptr)
		write_defined(w, t);
	jw_key(w, "input_schema");
	jw_value(w, t->input_schema);
	if (t->examples) {
		jw_key(w, "examples");
		jw_value(w, t->examples);
	}
	jw_end(w);
}
