/* turn_body.c - reading the calls of a message. */

#include "front/turn_body.h"

#include <stdio.h>
#include <stdlib.h>

#include "front/visit.h"

enum { ANTHROPIC = 1, OPENAI = 2, SHORT = 4, ALL = ANTHROPIC | OPENAI | SHORT };

/* Every member a message may have, by shape. Those that are not ours are passed over. */
static const struct {
	const char *name;
	unsigned shapes;
} members[] = {
    {"wait", ALL},
    {"attended", ALL},
    {"turn_group_id", ALL},
    {"content", ANTHROPIC | OPENAI},
    {"role", ANTHROPIC | OPENAI},
    {"id", ANTHROPIC | SHORT},
    {"type", ANTHROPIC},
    {"model", ANTHROPIC},
    {"stop_reason", ANTHROPIC},
    {"stop_sequence", ANTHROPIC},
    {"stop_details", ANTHROPIC},
    {"container", ANTHROPIC},
    {"usage", ANTHROPIC},
    {"tool_calls", OPENAI},
    {"refusal", OPENAI},
    {"annotations", OPENAI},
    {"audio", OPENAI},
    {"function_call", OPENAI},
    {"reasoning_content", OPENAI},
    {"name", SHORT},
    {"input", SHORT},
    {"idempotency_key", SHORT},
};

static int
check_members(const struct json *root, unsigned shape, struct err *e)
{
	for (struct json_iter it = json_iter(root); json_next(&it);) {
		size_t i = 0;
		while (i < ARRAY_LEN(members) &&
		       !(members[i].shapes & shape && str_is(it.key, members[i].name)))
			i++;
		if (i == ARRAY_LEN(members))
			return err_set(e, E_BAD_REQUEST, "%.*s: is not a known field here",
				       STR_ARG(str_utf8_upto(it.key, 64)));
	}
	return 0;
}

static int
read_option(const struct json *root, const char *name, bool *ret, struct err *e)
{
	const struct json *v = json_get(root, str_of(name));

	if (v && !json_is(v, JSON_BOOL))
		return err_set(e, E_BAD_REQUEST, "%s: must be a boolean, got %s", name,
			       json_type_name(json_type(v)));
	if (v)
		*ret = json_bool(v);
	return 0;
}

/* Name and id of a call; `where` is "content[2]." or "". An empty id is none: one is made. */
static int
read_names(const struct json *name, const struct json *id, const char *where, struct call_spec *ret,
	   struct err *e)
{
	if (!name_fits(json_str(name)))
		return err_set(e, E_BAD_REQUEST, "%sname: must be a string of 1 to %d bytes", where,
			       LIMIT_NAME_BYTES);
	ret->tool = json_str(name);
	if (!id || json_is(id, JSON_NULL) || (json_is(id, JSON_STRING) && json_str(id).len == 0))
		return 0;
	if (!name_fits(json_str(id)))
		return err_set(e, E_BAD_REQUEST, "%sid: must be a string of at most %d bytes",
			       where, LIMIT_NAME_BYTES);
	ret->tool_use_id = json_str(id);
	return 0;
}

/* The caller's own word for the call, or what its calls are done once in. */
static int
read_key(const struct json *v, const char *where, const char *name, size_t most, struct str *ret,
	 struct err *e)
{
	struct str s = json_str(v);

	if (!v || json_is(v, JSON_NULL))
		return 0;
	if (!s.len || s.len > most)
		return err_set(e, E_BAD_REQUEST, "%s%s: must be a string of 1 to %zu bytes", where,
			       name, most);
	*ret = s;
	return 0;
}

static int
read_call_key(const struct json *from, const char *where, struct call_spec *ret, struct err *e)
{
	return read_key(json_get(from, S("idempotency_key")), where, "idempotency_key",
			LIMIT_IDEMPOTENCY_KEY, &ret->idempotency_key, e);
}

static int
more_room(const struct turn_body *b, struct err *e)
{
	if (b->count < LIMIT_CALLS_PER_TURN)
		return 0;
	return err_set(e, E_LIMIT, "a message may hold at most %d calls", LIMIT_CALLS_PER_TURN);
}

static int
add_block(struct turn_body *b, struct json_doc *doc, const struct json *block, size_t at,
	  struct err *e)
{
	struct call_spec *call = &b->calls[b->count];
	struct str type = json_str(json_get(block, S("type")));
	char where[32];

	snprintf(where, sizeof(where), "content[%zu].", at);
	if (!type.ptr)
		return err_set(e, E_BAD_REQUEST, "%stype: must be a string", where);
	if (!str_is(type, "tool_use"))
		return 0; /* text, thinking... */
	if (more_room(b, e) < 0)
		return e->code;
	b->count++;
	call->input_doc = doc;
	call->input = json_get(block, S("input"));
	int code = read_call_key(block, where, call, e);
	return code < 0 ? code
			: read_names(json_get(block, S("name")), json_get(block, S("id")), where,
				     call, e);
}

static int
read_anthropic(struct turn_body *b, struct json_doc *doc, struct err *e)
{
	const struct json *content = json_get(json_root(doc), S("content"));
	size_t at = 0;
	int code = 0;

	if (!json_is(content, JSON_ARRAY))
		return err_set(e, E_BAD_REQUEST, "content: must be an array of blocks");
	for (struct json_iter it = json_iter(content); code == 0 && json_next(&it);)
		code = add_block(b, doc, it.value, at++, e);
	return code;
}

/* Arguments that cannot be read are the model's mistake: that call fails and says why. */
static int
read_arguments(struct turn_body *b, const struct json *arguments, struct err *e)
{
	struct call_spec *call = &b->calls[b->count];
	struct json_doc **doc = &b->docs[b->count];
	struct err wrong;

	if (!json_is(arguments, JSON_STRING)) {
		err_set(&wrong, E_VALIDATION, "the arguments must be a string of JSON");
	} else if (json_parse(json_str(arguments), &json_door, doc, &wrong) == 0) {
		call->input_doc = *doc;
		call->input = json_root(*doc);
		return 0;
	}
	struct err *kept = calloc(1, sizeof(*kept));
	if (!kept)
		return err_plain(e, E_NOMEM);
	err_set(kept, E_VALIDATION, "%s", err_text(&wrong));
	b->errors[b->count] = kept;
	call->input_error = kept;
	return 0;
}

static int
add_tool_call(struct turn_body *b, const struct json *item, size_t at, struct err *e)
{
	const struct json *function = json_get(item, S("function"));
	const struct json *type = json_get(item, S("type"));
	char where[48];

	if (type && !str_is(json_str(type), "function"))
		return err_set(e, E_BAD_REQUEST, "tool_calls[%zu].type: must be function", at);
	if (!json_is(function, JSON_OBJECT))
		return err_set(e, E_BAD_REQUEST, "tool_calls[%zu].function: must be an object", at);
	snprintf(where, sizeof(where), "tool_calls[%zu].function.", at);
	int code = more_room(b, e);
	if (code == 0)
		code = read_names(json_get(function, S("name")), json_get(item, S("id")), where,
				  &b->calls[b->count], e);
	if (code == 0)
		code = read_call_key(item, where, &b->calls[b->count], e);
	if (code == 0)
		code = read_arguments(b, json_get(function, S("arguments")), e);
	b->count += code == 0;
	return code;
}

static int
read_openai(struct turn_body *b, struct json_doc *doc, struct err *e)
{
	const struct json *list = json_get(json_root(doc), S("tool_calls"));
	size_t at = 0;
	int code = 0;

	if (!json_is(list, JSON_ARRAY))
		return err_set(e, E_BAD_REQUEST, "tool_calls: must be an array");
	for (struct json_iter it = json_iter(list); code == 0 && json_next(&it);)
		code = add_tool_call(b, it.value, at++, e);
	return code;
}

static int
read_short(struct turn_body *b, struct json_doc *doc, struct err *e)
{
	const struct json *root = json_root(doc);
	struct call_spec *call = &b->calls[b->count++];

	call->input_doc = doc;
	call->input = json_get(root, S("input"));
	int code = read_call_key(root, "", call, e);
	return code < 0
		   ? code
		   : read_names(json_get(root, S("name")), json_get(root, S("id")), "", call, e);
}

/* The member that only one shape has tells which it is. */
static const struct {
	const char *sign;
	unsigned shape;
	enum turn_shape back; /* how results go back */
	int (*read)(struct turn_body *b, struct json_doc *doc, struct err *e);
} shapes[] = {
    {"tool_calls", OPENAI, SHAPE_OPENAI, read_openai},
    {"name", SHORT, SHAPE_ANTHROPIC, read_short},
    {"content", ANTHROPIC, SHAPE_ANTHROPIC, read_anthropic},
};

int
turn_body_read(struct json_doc *doc, struct turn_body *b, struct err *e)
{
	const struct json *root = json_root(doc);
	size_t i = 0;

	*b = (struct turn_body){.wait = true, .attended = true};
	while (i < ARRAY_LEN(shapes) && !json_get(root, str_of(shapes[i].sign)))
		i++;
	if (i == ARRAY_LEN(shapes))
		return err_set(
		    e, E_BAD_REQUEST,
		    "a message needs content (tool_use blocks), tool_calls, or name and input");
	b->shape = shapes[i].back;
	int code = check_members(root, shapes[i].shape, e);
	if (code == 0)
		code = read_option(root, "wait", &b->wait, e);
	if (code == 0)
		code = read_option(root, "attended", &b->attended, e);
	if (code == 0)
		code = read_key(json_get(root, S("turn_group_id")), "", "turn_group_id",
				LIMIT_TURN_GROUP, &b->group, e);
	return code < 0 ? code : shapes[i].read(b, doc, e);
}

void
turn_body_done(struct turn_body *b)
{
	for (size_t i = 0; i < LIMIT_CALLS_PER_TURN; i++) {
		json_doc_unref(b->docs[i]);
		free(b->errors[i]);
	}
}
