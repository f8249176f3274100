/*
 * mcp_fetch.c - a resource, a prompt, a completion: asked of the server that has it, and its answer
 * passed on.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "front/mcp_offer.h"

static const struct str none = {NULL, 0};

/* ---- asking it ---- */

static void
over(struct exchange *x, const struct exchange_end *end, void *arg)
{
	struct mcp_request *q = arg;

	(void)x;
	q->exchange = NULL;
	if (end->code == 0 && end->result)
		mcp_relay(q, end->result);
	else
		mcp_fail_exchange(q, end);
}

/* What the client said stays as it is, but for what is between it and us. */
static bool
is_passed_on(struct str key)
{
	static const char *const ours[] = {"_meta", "inputResponses", "requestState"};

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (str_is(key, ours[i]))
			return false;
	return true;
}

/* q->own is the server's own name for what the client calls otherwise. */
static void
write_named(struct jw *w, const struct json *object, const char *own)
{
	for (struct json_iter it = json_iter(object); json_next(&it);) {
		if (!is_passed_on(it.key))
			continue;
		jw_key_str(w, it.key);
		if (own && str_is(it.key, "name"))
			jw_z(w, own);
		else
			jw_value(w, it.value);
	}
}

static void
write_params(struct jw *w, void *arg)
{
	const struct mcp_request *q = arg;

	write_named(w, q->rpc.params, q->own);
}

static void
write_completion(struct jw *w, void *arg)
{
	const struct mcp_request *q = arg;

	for (struct json_iter it = json_iter(q->rpc.params); json_next(&it);) {
		if (!is_passed_on(it.key))
			continue;
		jw_key_str(w, it.key);
		if (!str_is(it.key, "ref")) {
			jw_value(w, it.value);
			continue;
		}
		jw_object(w);
		write_named(w, it.value, q->own);
		jw_end(w);
	}
}

static int
ask(struct mcp_request *q, struct upstream *u, void (*params)(struct jw *w, void *arg),
    struct str name, struct err *e)
{
	/* What a server asks must not reach another client of a session that is shared. */
	char alone[2 * sizeof(void *) + 1];
	snprintf(alone, sizeof(alone), "%" PRIxPTR, (uintptr_t)q);
	struct exchange_spec spec = {
	    .method = q->rpc.method,
	    .params = params,
	    .name = name,
	    .behind = &q->behind,
	    .group = q->client->shared ? str_of(alone) : id_str(&q->client->session->id),
	    .over = over,
	    .arg = q,
	};

	return exchange_start(u, &spec, &q->exchange, e);
}

static void
own_free(struct mcp_request *q)
{
	free(q->own);
}

/* Lists come and go while the server is asked. */
static int
keep_name(struct mcp_request *q, struct str plain, struct err *e)
{
	q->own = str_dup(plain);
	q->own_free = own_free;
	return q->own ? 0 : err_plain(e, E_NOMEM);
}

/* ---- requests ---- */

static int
fail_no_resource(struct mcp_request *q, struct str uri)
{
	struct buf data = BUF_INIT(8 * LIMIT_MCP_URI);
	struct jw w = jw(&data);
	bool modern = q->era == ERA_MODERN;

	jw_object(&w);
	jw_member(&w, "uri", str_utf8_upto(uri, LIMIT_MCP_URI));
	jw_end(&w);
	mcp_fail(q, modern ? RPC_PARAMS : RPC_LEGACY_NO_RESOURCE,
		 S("Resource not found: no server has it"), buf_str(&data));
	buf_done(&data);
	return 0;
}

int
mcp_resources_read(struct mcp_request *q, struct err *e)
{
	struct str uri = json_str(json_get(q->rpc.params, S("uri")));

	if (uri.len == 0)
		return err_set(e, E_VALIDATION, "uri: must be the address of a resource");
	if (mcp_tiers_own(uri) && mcp_tiers_read(q, uri))
		return 0;
	struct upstream *u = mcp_upstream_of_uri(q->client, uri);
	return u ? ask(q, u, write_params, uri, e) : fail_no_resource(q, uri);
}

static int
fail_no_prompt(struct str name, struct err *e)
{
	return err_set(e, E_NOT_FOUND, "there is no prompt '%.*s'",
		       STR_ARG(str_utf8_upto(name, 100)));
}

int
mcp_prompts_get(struct mcp_request *q, struct err *e)
{
	struct str name = json_str(json_get(q->rpc.params, S("name"))), plain;

	if (name.len == 0)
		return err_set(e, E_VALIDATION, "name: must be the name of a prompt");
	struct upstream *u = mcp_upstream_of_prompt(q->client, name, &plain);
	if (!u)
		return fail_no_prompt(name, e);
	int rc = keep_name(q, plain, e);
	return rc < 0 ? rc : ask(q, u, write_params, str_of(q->own), e);
}

/* It has nothing to propose, and neither have we. */
static int
answer_no_values(struct mcp_request *q)
{
	struct buf b;
	struct jw w = mcp_begin(q, &b);

	jw_key(&w, "completion");
	jw_raw(&w, S("{\"values\":[]}"));
	mcp_write_meta(q, &w, NULL, none);
	mcp_end(q, &w, &b);
	return 0;
}

static int
complete_at(struct mcp_request *q, struct upstream *u, struct err *e)
{
	if (!mcp_server_has(q->client, u, "completions"))
		return answer_no_values(q);
	return ask(q, u, write_completion, none, e);
}

static int
complete_prompt(struct mcp_request *q, const struct json *ref, struct err *e)
{
	struct str name = json_str(json_get(ref, S("name"))), plain;
	struct upstream *u = name.len ? mcp_upstream_of_prompt(q->client, name, &plain) : NULL;

	if (!u)
		return fail_no_prompt(name, e);
	int rc = keep_name(q, plain, e);
	return rc < 0 ? rc : complete_at(q, u, e);
}

/* The template itself, or an address. */
static int
complete_resource(struct mcp_request *q, const struct json *ref, struct err *e)
{
	struct str uri = json_str(json_get(ref, S("uri")));
	struct upstream *u = mcp_upstream_of_template(q->client, uri);

	if (!u)
		u = mcp_upstream_of_uri(q->client, uri);
	return u ? complete_at(q, u, e) : fail_no_resource(q, uri);
}

static const struct {
	const char *type;
	int (*complete)(struct mcp_request *q, const struct json *ref, struct err *e);
} refs[] = {
    {"ref/prompt", complete_prompt},
    {"ref/resource", complete_resource},
};

int
mcp_complete(struct mcp_request *q, struct err *e)
{
	const struct json *ref = json_get(q->rpc.params, S("ref"));
	struct str type = json_str(json_get(ref, S("type")));

	for (size_t i = 0; i < ARRAY_LEN(refs); i++)
		if (str_is(type, refs[i].type))
			return refs[i].complete(q, ref, e);
	return err_set(e, E_VALIDATION, "ref.type: must be ref/prompt or ref/resource");
}
