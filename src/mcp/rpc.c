/* rpc.c - JSON-RPC messages read and written. */

#include "mcp/rpc.h"

/* ---- reading ---- */

/* The members that matter, each NULL when it is not there. */
struct parts {
	const struct json *version, *id, *method, *params, *result, *error;
};

/* One walk: json_get is linear, and a peer may send many members. */
static struct parts
parts_of(const struct json *root)
{
	static const struct {
		const char *key;
		size_t offset;
	} rows[] = {
	    {"jsonrpc", offsetof(struct parts, version)},
	    {"id", offsetof(struct parts, id)},
	    {"method", offsetof(struct parts, method)},
	    {"params", offsetof(struct parts, params)},
	    {"result", offsetof(struct parts, result)},
	    {"error", offsetof(struct parts, error)},
	};
	struct parts p = {0};

	for (struct json_iter it = json_iter(root); json_next(&it);) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			if (str_is(it.key, rows[i].key))
				memcpy((char *)&p + rows[i].offset, &it.value, sizeof(it.value));
		}
	}
	return p;
}

static bool
is_id(const struct json *v)
{
	return json_is(v, JSON_STRING) || json_is_integer(v);
}

static enum rpc_kind
kind_of(const struct parts *p)
{
	if (p->method)
		return p->id ? RPC_REQUEST : RPC_NOTE;
	if (p->error)
		return RPC_ERROR;
	return p->result ? RPC_RESULT : RPC_REQUEST;
}

/* What is wrong with the message as such, or NULL. */
static const char *
fault_of(const struct parts *p, const struct rpc *r)
{
	/* A peer that could not read our id says null, or nothing. */
	bool id_lost = r->kind == RPC_ERROR && (!p->id || json_is(p->id, JSON_NULL));

	if (!str_is(json_str(p->version), "2.0"))
		return "jsonrpc: must be \"2.0\"";
	if (p->id && !r->id && !id_lost)
		return "id: must be a string or a whole number";
	if (p->method && r->method.len == 0)
		return "method: must be a string that is not empty";
	if (p->method && (p->result || p->error))
		return "a message is a request or an answer, this has a method and a result or an "
		       "error";
	if (p->result && p->error)
		return "an answer has a result or an error, this has both";
	if (!p->method && !p->result && !p->error)
		return "a message has a method, a result or an error, this has none";
	if (p->result && !p->id)
		return "id: is missing, a result must say what it answers";
	if (p->result && !json_is(p->result, JSON_OBJECT))
		return "result: must be an object";
	if (p->error && !json_is(p->error, JSON_OBJECT))
		return "error: must be an object";
	return NULL;
}

static int
read_params(const struct json *params, struct rpc *ret, struct err *e)
{
	const struct json *meta = json_get(params, S("_meta"));

	if (params && !json_is(params, JSON_OBJECT))
		return err_set(e, E_VALIDATION, "params: must be an object, got %s",
			       json_type_name(json_type(params)));
	if (meta && !json_is(meta, JSON_OBJECT))
		return err_set(e, E_VALIDATION, "params._meta: must be an object, got %s",
			       json_type_name(json_type(meta)));
	ret->params = params;
	ret->meta = meta;
	return 0;
}

int
rpc_read(const struct json *root, struct rpc *ret, struct err *e)
{
	*ret = (struct rpc){.kind = RPC_REQUEST};
	if (json_is(root, JSON_ARRAY))
		return err_set(e, E_BAD_REQUEST, "this batch is not taken");
	if (!json_is(root, JSON_OBJECT))
		return err_set(e, E_BAD_REQUEST, "a message must be an object");

	struct parts p = parts_of(root);
	ret->kind = kind_of(&p);
	ret->id = is_id(p.id) ? p.id : NULL;
	ret->method = json_str(p.method);
	const char *fault = fault_of(&p, ret);
	if (fault)
		return err_set(e, E_BAD_REQUEST, "%s", fault);
	ret->result = p.result;
	ret->error = p.error;
	return p.method ? read_params(p.params, ret, e) : 0;
}

int64_t
rpc_error_code(const struct json *error)
{
	int64_t code;

	return json_int(json_get(error, S("code")), &code) ? code : RPC_INTERNAL;
}

struct str
rpc_error_message(const struct json *error)
{
	struct str text = json_str(json_get(error, S("message")));

	return text.ptr ? text : S("");
}

/* ---- writing ---- */

static struct jw
begin(struct buf *out)
{
	struct jw w = jw(out);

	jw_object(&w);
	jw_member_z(&w, "jsonrpc", "2.0");
	return w;
}

struct jw
rpc_answer(struct buf *out, const struct json *id, const char *key)
{
	struct jw w = begin(out);

	jw_key(&w, "id"), jw_value(&w, id);
	jw_key(&w, key);
	return w;
}

struct jw
rpc_note(struct buf *out, const char *method)
{
	struct jw w = begin(out);

	jw_member_z(&w, "method", method);
	jw_key(&w, "params"), jw_object(&w);
	return w;
}

struct jw
rpc_request(struct buf *out, uint64_t id, struct str method)
{
	struct jw w = begin(out);

	CHECK(id <= INT64_MAX);
	jw_member_int(&w, "id", (int64_t)id);
	jw_member(&w, "method", method);
	jw_key(&w, "params"), jw_object(&w);
	return w;
}

void
rpc_write_error(struct buf *out, const struct json *id, int64_t code, struct str message,
		struct str data)
{
	struct jw w = rpc_answer(out, id, "error");

	jw_object(&w);
	jw_member_int(&w, "code", code);
	jw_member(&w, "message", message.ptr ? message : S(""));
	if (data.ptr)
		jw_key(&w, "data"), jw_raw(&w, data);
	jw_end(&w);
	jw_end(&w);
}

/* ---- what is too large to be read ---- */

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void
skip_space(struct str *s)
{
	while (s->len > 0 && is_space(s->ptr[0]))
		*s = str_from(*s, 1);
}

static bool
take(struct str *s, struct str token)
{
	skip_space(s);
	if (!str_starts(*s, token))
		return false;
	*s = str_from(*s, token.len);
	return true;
}

static uint64_t
take_number(struct str *s)
{
	uint64_t n = 0;
	size_t digits = 0;

	skip_space(s);
	for (; s->len > 0 && s->ptr[0] >= '0' && s->ptr[0] <= '9' && digits < 19; digits++) {
		n = n * 10 + (uint64_t)(s->ptr[0] - '0');
		*s = str_from(*s, 1);
	}
	return n;
}

static bool
take_version(struct str *s)
{
	return take(s, S("\"jsonrpc\"")) && take(s, S(":")) && take(s, S("\"2.0\""));
}

/* {"jsonrpc":"2.0","id":7,"result": - the first two are there or not. True: it is an answer; its id
 * is 0 where it does not stand here. */
static bool
head_is_answer(struct str s, uint64_t *ret_id)
{
	*ret_id = 0;
	if (!take(&s, S("{")) || (take_version(&s) && !take(&s, S(","))))
		return false;
	if (take(&s, S("\"id\"")) &&
	    (!take(&s, S(":")) || !(*ret_id = take_number(&s)) || !take(&s, S(","))))
		return false;
	return take(&s, S("\"result\"")) || take(&s, S("\"error\""));
}

/* ..."id":7} or with the version behind it. What ends like this is no text inside. */
static uint64_t
id_at_tail(struct str tail)
{
	static const char key[] = "\"id\"";
	const char *at = NULL;

	for (const char *next = tail.ptr;
	     next && (next = memmem(next, (size_t)(tail.ptr + tail.len - next), key, 4)); next++)
		at = next;
	struct str s = at ? str_from(tail, (size_t)(at - tail.ptr) + 4) : (struct str){NULL, 0};
	if (!take(&s, S(":")))
		return 0;
	uint64_t id = take_number(&s);
	if (take(&s, S(",")) && !take_version(&s))
		return 0;
	bool ends = take(&s, S("}"));
	skip_space(&s);
	return ends && s.len == 0 ? id : 0;
}

bool
rpc_peek(struct str head, struct str tail, uint64_t *ret_id)
{
	if (!head_is_answer(head, ret_id))
		return false; /* requests of a server have ids of their own */
	if (!*ret_id)
		*ret_id = id_at_tail(tail);
	return true;
}
