/* rest_definitions.c - tools that people define, per tenant: looked at, made and unmade. */

#include "front/visit.h"

/* NULL: it is answered for. */
static const struct definitions_ops *
ops_of(const struct visit *v)
{
	const struct definitions_ops *ops = v->front->spec.definitions;

	if (!ops)
		reply_code(v->http, E_NO_ROUTE);
	return ops;
}

/*
 * Which tenant is meant, by its name; {NULL,0}: none is said. An agent that says who it is sees
 * those of its own tenant alone; others are not there for it.
 */
static int
whose(const struct visit *v, struct buf *b, struct str *ret, struct err *e)
{
	const struct str none = {NULL, 0};
	struct str said = none;
	struct agent *a = NULL;
	int code = query_owner(v->http, "tenant_id", b, &said, e);

	*ret = none;
	if (code == 0)
		code = access_owner(v, none, none, &a, e);
	if (code < 0)
		return code;
	const struct tenants *all = v->front->gw->tenants;
	const struct tenant *t = said.ptr && all ? tenant_find(all, said) : NULL;
	const struct tenant *own = a && access_names_agent(v->http) ? a->tenant : NULL;
	if (said.ptr && (!t || (own && own != t)))
		return err_set(e, E_NO_TENANT, "there is no tenant '%.*s'",
			       STR_ARG(str_utf8_upto(said, 80)));
	if (t || own)
		*ret = str_of(t ? t->name : own->name);
	return 0;
}

/* The one in the path; by its id of any tenant, by its name of the default one if none is said. */
static int
one_of(const struct visit *v, struct str *ret_tenant, struct buf *b, struct err *e)
{
	struct str word = visit_param(v, "definition");
	struct uuid id;
	int code = whose(v, b, ret_tenant, e);

	if (code == 0 && !ret_tenant->ptr && !uuid_read(word, &id))
		*ret_tenant = S(DEFINITION_TENANT);
	return code;
}

void
route_definitions_list(const struct visit *v)
{
	const struct definitions_ops *ops = ops_of(v);
	struct buf given = BUF_INIT(LIMIT_HTTP_FIELD), b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);
	struct str tenant;
	struct err e;

	if (!ops)
		return;
	if (whose(v, &given, &tenant, &e) < 0) {
		reply_err(v->http, &e);
	} else {
		jw_object(&w);
		jw_key(&w, "definitions");
		jw_array(&w);
		ops->write(&w, tenant, v->front->spec.arg);
		jw_end(&w);
		jw_end(&w);
		reply_json(v->http, 200, &b);
	}
	buf_done(&given);
}

void
route_definition_show(const struct visit *v)
{
	const struct definitions_ops *ops = ops_of(v);
	struct buf given = BUF_INIT(LIMIT_HTTP_FIELD), b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);
	const struct definition *d = NULL;
	struct str tenant;
	struct err e;

	if (!ops)
		return;
	if (one_of(v, &tenant, &given, &e) < 0)
		reply_err(v->http, &e);
	else if (!(d = ops->find(v->front->spec.arg, tenant, visit_param(v, "definition"))))
		reply_code(v->http, E_NOT_FOUND);
	if (d) {
		definition_write(&w, d);
		reply_json(v->http, 200, &b);
	}
	buf_done(&given);
}

static void
put(const struct visit *v, struct str name, bool fresh)
{
	const struct definitions_ops *ops = ops_of(v);
	struct buf given = BUF_INIT(LIMIT_HTTP_FIELD), b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);
	struct definition_order o = {.name = name, .fresh = fresh};
	const struct definition *made = NULL;
	struct json_doc *doc = NULL;
	bool created = false;
	struct err e;

	if (!ops)
		return;
	int code = whose(v, &given, &o.tenant, &e);
	if (code == 0)
		code = body_parse(v->http, &doc, &e);
	if (code == 0) {
		o.object = json_root(doc);
		code = ops->put(v->front->spec.arg, &o, &made, &created, &e);
	}
	if (code < 0) {
		reply_err(v->http, &e);
	} else {
		definition_write(&w, made);
		reply_settled(v, created ? 201 : 200, &b);
	}
	json_doc_unref(doc);
	buf_done(&given);
}

void
route_definition_create(const struct visit *v)
{
	put(v, (struct str){NULL, 0}, true);
}

void
route_definition_put(const struct visit *v)
{
	put(v, visit_param(v, "definition"), false);
}

void
route_definition_delete(const struct visit *v)
{
	const struct definitions_ops *ops = ops_of(v);
	struct buf given = BUF_INIT(LIMIT_HTTP_FIELD);
	struct str tenant, word = visit_param(v, "definition");
	struct err e;

	if (!ops)
		return;
	int code = one_of(v, &tenant, &given, &e);
	if (code == 0)
		code = ops->drop(v->front->spec.arg, tenant, word, &e);
	if (code < 0)
		reply_err(v->http, &e);
	else
		reply_removed(v, word);
	buf_done(&given);
}
