/*
 * defining.c - tools that people define while the gateway runs: kept in the store per tenant, and
 * put into the catalog beside those of the configuration.
 *
 * What the file defines goes first: one of the same name in the store waits until the file has it
 * no more. One of a tenant that is gone waits for that, too.
 */

#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/hf.h"

/* ---- those there are ---- */

static bool
is_of(const struct definition *d, struct str tenant, struct str word)
{
	if (tenant.ptr && !str_eq(d->tenant, tenant))
		return false;
	return str_eq(d->name, word) || (word.len == UUID_TEXT - 1 && str_is(word, d->id));
}

static struct made *
made_find(const struct hf *hf, struct str tenant, struct str word)
{
	for (size_t i = 0; i < hf->made_count; i++)
		if (is_of(hf->made[i].definition, tenant, word))
			return &hf->made[i];
	return NULL;
}

static const struct definition *
configured_find(const struct hf *hf, struct str tenant, struct str word)
{
	const struct config *c = &hf->config;

	for (size_t i = 0; i < c->definition_count; i++) {
		const struct definition *d = c->definitions[i].definition;
		if (d && is_of(d, tenant, word))
			return d;
	}
	return NULL;
}

/* By tenant and name: lists are always in the same order. */
static int
made_add(struct hf *hf, struct made one, struct err *e)
{
	struct made *grown = realloc(hf->made, (hf->made_count + 1) * sizeof(*grown));
	size_t at = 0;

	if (!grown)
		return err_plain(e, E_NOMEM);
	hf->made = grown;
	for (; at < hf->made_count; at++) {
		const struct definition *d = grown[at].definition;
		int order = str_cmp(d->tenant, one.definition->tenant);
		if (order > 0 || (order == 0 && str_cmp(d->name, one.definition->name) > 0))
			break;
	}
	memmove(grown + at + 1, grown + at, (hf->made_count - at) * sizeof(*grown));
	grown[at] = one;
	hf->made_count++;
	return 0;
}

/* Whoever takes it out has its reference. */
static struct made
made_take(struct hf *hf, struct made *one)
{
	struct made taken = *one;

	hf->made_count--;
	memmove(one, one + 1, (size_t)(hf->made + hf->made_count - one) * sizeof(*one));
	return taken;
}

/* ---- loading ---- */

struct loading {
	struct hf *hf;
	int code;
	struct err *err;
};

/* One that cannot be read any more is no reason not to start; but it is said. */
static void
load_row(const struct store_setting *row, void *arg)
{
	struct loading *l = arg;
	struct json_doc *doc = NULL;
	struct made one = {.created_us = row->created_us};
	struct err why = ERR_NONE;

	if (strcmp(row->kind, "definition") != 0 || l->code < 0)
		return;
	int code = json_parse(row->json, &json_door, &doc, &why);
	if (code == 0)
		code = definition_parse(doc, json_root(doc), &one.definition, &why);
	json_doc_unref(doc);
	if (code == E_NOMEM)
		l->code = err_plain(l->err, E_NOMEM);
	else if (code < 0 || l->hf->made_count >= LIMIT_MADE_DEFINITIONS)
		log_line(LOG_WARN, "a definition in the store cannot be used", "problem",
			 code < 0 ? err_text(&why) : "there are too many", NULL);
	else if ((l->code = made_add(l->hf, one, l->err)) == 0)
		return;
	definition_unref(one.definition);
}

int
hf__made_load(struct hf *hf, struct err *e)
{
	struct loading l = {hf, 0, e};
	int code = hf->store ? store_load_settings(hf->store, load_row, &l, e) : 0;

	return code < 0 ? code : l.code;
}

void
hf__made_free(struct hf *hf)
{
	while (hf->made_count > 0)
		definition_unref(hf->made[--hf->made_count].definition);
	free(hf->made);
	hf->made = NULL;
}

/* ---- making ---- */

static bool
is_same_id(const char *a, struct str b)
{
	return b.len == strlen(a) && strncasecmp(a, b.ptr, b.len) == 0;
}

/* Whose it is to be; a tenant may be named by its UUID, and twice. */
static int
find_tenant(const struct hf *hf, const struct definition_order *o, const struct tenant **ret,
	    struct err *e)
{
	struct str said = json_str(json_get(o->object, S("tenant_id")));
	struct str name = o->tenant.ptr ? o->tenant : said.ptr ? said : S(DEFINITION_TENANT);
	const struct tenant *t = tenant_find(hf->tenants, name);

	if (!t)
		return err_set(e, E_NO_TENANT, "there is no tenant '%.*s'",
			       STR_ARG(str_utf8_upto(name, 80)));
	if (said.ptr && tenant_find(hf->tenants, said) != t)
		return err_set(e, E_VALIDATION, "tenant_id: it is another than asked for");
	*ret = t;
	return 0;
}

static int
find_name(const struct definition_order *o, struct str *ret, struct err *e)
{
	struct str said = json_str(json_get(o->object, S("name")));

	*ret = o->name.ptr ? o->name : said;
	if (!json_is(o->object, JSON_OBJECT))
		return err_set(e, E_VALIDATION, "a definition must be an object");
	if (o->name.ptr && said.ptr && !str_eq(o->name, said))
		return err_set(e, E_VALIDATION, "name: it is another than asked for");
	return 0;
}

/* What is written here and not there: what people may leave out, and what is not theirs to say. */
static void
write_whole(struct jw *w, const struct definition_order *o, const struct tenant *t,
	    const struct definition *old)
{
	const struct json *name = json_get(o->object, S("name"));
	const struct json *tenant = json_get(o->object, S("tenant_id"));
	struct str created = json_str(json_get(o->object, S("created_at")));
	char now[CLOCK_TEXT];

	clock_text(clock_wall_us(), now);
	jw_object(w);
	for (struct json_iter it = json_iter(o->object); json_next(&it);) {
		if (str_is(it.key, "name") || str_is(it.key, "tenant_id") ||
		    str_is(it.key, "created_at") || str_is(it.key, "updated_at") ||
		    (old && str_is(it.key, "id")))
			continue;
		jw_key_str(w, it.key);
		jw_value(w, it.value);
	}
	if (old)
		jw_member_z(w, "id", old->id);
	/* What is no string stays, for its refusal. */
	jw_key(w, "tenant_id");
	tenant && !json_is(tenant, JSON_STRING) ? jw_value(w, tenant) : jw_z(w, t->name);
	if (name && !json_is(name, JSON_STRING))
		jw_key(w, "name"), jw_value(w, name);
	else if (name || o->name.ptr)
		jw_member(w, "name", name ? json_str(name) : o->name);
	jw_member(w, "created_at", old ? old->created_at : created.ptr ? created : str_of(now));
	jw_member_z(w, "updated_at", now);
	jw_end(w);
}

static int
parse_whole(const struct definition_order *o, const struct tenant *t, const struct definition *old,
	    struct buf *text, struct definition **ret, struct err *e)
{
	struct jw w = jw(text);
	struct json_doc *doc = NULL;

	write_whole(&w, o, t, old);
	if (buf_failed(text))
		return err_plain(e, E_NOMEM);
	int code = json_parse(buf_str(text), &json_door, &doc, e);
	if (code == 0)
		code = definition_parse(doc, json_root(doc), ret, e);
	json_doc_unref(doc);
	return code;
}

/* The name and the id must be free, or those of the one that is replaced. */
static int
check_free(const struct hf *hf, const struct definition *d, const struct definition *old,
	   const struct tool *inner, struct err *e)
{
	const struct tool *there = catalog_find(hf->catalog, d->name);
	const struct made *twin = made_find(hf, (struct str){NULL, 0}, str_of(d->id));

	if (configured_find(hf, (struct str){NULL, 0}, d->name) ||
	    configured_find(hf, (struct str){NULL, 0}, str_of(d->id)))
		return err_set(e, E_EXISTS,
			       "%.*s: the configuration defines a tool of this name "
			       "or id",
			       STR_ARG(d->name));
	if (twin && twin->definition != old)
		return err_set(e, E_EXISTS, "%.*s: id: there is another definition of this id",
			       STR_ARG(d->name));
	if (there && there != inner && !(old && strcmp(there->uuid, old->id) == 0))
		return err_set(e, E_EXISTS, "%.*s: name: there is a tool of this name",
			       STR_ARG(d->name));
	return 0;
}

/* Could it be a tool? Then it is known what would be wrong with it, field by field. */
static int
check_fit(struct hf *hf, struct definition *d, const struct definition *old, struct err *e)
{
	const struct variables vars = config_variables_foreign(&hf->config);
	const struct str none = {NULL, 0};
	struct tool *t;
	struct err why = ERR_NONE;
	int code = definition_tool(d, none, none, &t, e);

	if (code < 0)
		return code;
	code = kinds_fit(hf->kinds, t, d, &hf->config.gateways, &vars, &why);
	if (code == E_NOMEM)
		err_plain(e, code);
	else if (code < 0)
		code = err_set(e, E_VALIDATION, "%.*s: %s", STR_ARG(d->name), err_text(&why));
	else
		code = check_free(hf, d, old, t->inner, e);
	tool_unref(t);
	return code;
}

static int
keep(struct hf *hf, const struct made *one, struct str json)
{
	struct store_setting row = {.kind = "definition",
				    .tenant = one->definition->tenant,
				    .agent = S(""),
				    .name = one->definition->name,
				    .id = str_of(one->definition->id),
				    .json = json,
				    .created_us = one->created_us,
				    .updated_us = clock_wall_us()};

	return hf->store ? store_put_setting(hf->store, &row) : 0;
}

static bool
is_there(const struct hf *hf, const struct definition *d)
{
	const struct tool *t = catalog_find(hf->catalog, d->name);

	return t && strcmp(t->uuid, d->id) == 0;
}

/* In memory, in the catalog and in the store, or nowhere: then the old one is there again. */
static int
put_in_place(struct hf *hf, struct made one, struct made *old, struct str json, struct err *e)
{
	struct made before = {0};
	int code;

	if (old)
		before = made_take(hf, old);
	if ((code = made_add(hf, one, e)) == 0) {
		definition_ref(one.definition);
		code = hf__made_set(hf, e);
		if (code == 0 && !is_there(hf, one.definition))
			code = err_set(e, E_EXISTS, "%.*s: there is a tool of this name or id",
				       STR_ARG(one.definition->name));
		if (code == 0 && (code = keep(hf, &one, json)) < 0)
			err_plain(e, code);
		if (code < 0)
			definition_unref(made_take(hf, made_find(hf, one.definition->tenant,
								 one.definition->name))
					     .definition);
	}
	if (code < 0 && before.definition && made_add(hf, before, NULL) == 0)
		before.definition = NULL;
	if (code < 0)
		(void)hf__made_set(hf, NULL);
	definition_unref(before.definition);
	return code;
}

static int
check_order(const struct hf *hf, const struct definition_order *o, const struct made *old,
	    struct err *e)
{
	struct str id = json_str(json_get(o->object, S("id")));

	if (old && o->fresh)
		return err_set(e, E_EXISTS, "%.*s: name: it is defined already",
			       STR_ARG(old->definition->name));
	if (old && id.ptr && !is_same_id(old->definition->id, id))
		return err_set(e, E_EXISTS, "%.*s: id: another definition has this name",
			       STR_ARG(old->definition->name));
	if (!old && hf->made_count >= LIMIT_MADE_DEFINITIONS)
		return err_set(e, E_LIMIT, "there are %d definitions already",
			       LIMIT_MADE_DEFINITIONS);
	return 0;
}

static int
put(void *arg, const struct definition_order *o, const struct definition **ret, bool *fresh,
    struct err *e)
{
	struct hf *hf = arg;
	struct buf text = BUF_INIT(2 * LIMIT_JSON_BYTES);
	const struct tenant *t;
	struct made one = {.created_us = clock_wall_us()}, *old = NULL;
	struct str name;
	int code;

	if ((code = find_name(o, &name, e)) < 0 || (code = find_tenant(hf, o, &t, e)) < 0)
		return code;
	if (name.ptr)
		old = made_find(hf, str_of(t->name), name);
	if (old && !str_eq(old->definition->name, name))
		old = NULL; /* an id is no name to give */
	if ((code = check_order(hf, o, old, e)) < 0)
		return code;
	const struct definition *was = old ? old->definition : NULL;
	code = parse_whole(o, t, was, &text, &one.definition, e);
	if (code == 0)
		code = check_fit(hf, one.definition, was, e);
	if (code == 0) {
		*fresh = !old;
		if (old)
			one.created_us = old->created_us;
		code = put_in_place(hf, one, old, buf_str(&text), e);
	}
	if (code == 0)
		*ret = one.definition; /* it is in the list */
	definition_unref(one.definition);
	buf_done(&text);
	return code;
}

/* ---- unmaking ---- */

static int
drop(void *arg, struct str tenant, struct str word, struct err *e)
{
	struct hf *hf = arg;
	struct made *one = made_find(hf, tenant, word);

	if (!one && configured_find(hf, tenant, word))
		return err_set(e, E_FORBIDDEN,
			       "the configuration defines this tool: take it out there");
	if (!one)
		return err_set(e, E_NOT_FOUND, "there is no definition '%.*s'",
			       STR_ARG(str_utf8_upto(word, 80)));
	struct store_setting key = {.kind = "definition",
				    .tenant = one->definition->tenant,
				    .agent = S(""),
				    .name = one->definition->name};
	int code = hf->store ? store_drop_setting(hf->store, &key) : 0;
	if (code < 0)
		return err_plain(e, code);
	definition_unref(made_take(hf, one).definition);
	return hf__made_set(hf, e);
}

static void
tenant_changed(void *arg, struct str tenant, bool gone)
{
	struct hf *hf = arg;
	struct err e = ERR_NONE;

	for (size_t i = hf->made_count; gone && i-- > 0;)
		if (str_eq(hf->made[i].definition->tenant, tenant))
			definition_unref(made_take(hf, &hf->made[i]).definition);
	if (hf__made_set(hf, &e) < 0)
		log_line(LOG_WARN, "definitions", "error", err_text(&e), NULL);
}

/* ---- reading ---- */

static const struct definition *
find(void *arg, struct str tenant, struct str word)
{
	const struct hf *hf = arg;
	const struct made *one = made_find(hf, tenant, word);

	return one ? one->definition : configured_find(hf, tenant, word);
}

static void
write_row(struct jw *w, const struct hf *hf, const struct definition *d, const char *from)
{
	jw_object(w);
	definition_write_members(w, d);
	jw_member_z(w, "from", from);
	jw_member_bool(w, "available", is_there(hf, d));
	jw_end(w);
}

static void
write_all(struct jw *w, struct str tenant, void *arg)
{
	const struct hf *hf = arg;
	const struct config *c = &hf->config;

	for (size_t i = 0; i < c->definition_count; i++) {
		const struct definition *d = c->definitions[i].definition;
		if (d && (!tenant.ptr || str_eq(d->tenant, tenant)))
			write_row(w, hf, d, "config");
	}
	for (size_t i = 0; i < hf->made_count; i++)
		if (!tenant.ptr || str_eq(hf->made[i].definition->tenant, tenant))
			write_row(w, hf, hf->made[i].definition, "store");
}

const struct definitions_ops hf__definitions_ops = {
    .put = put,
    .drop = drop,
    .tenant_changed = tenant_changed,
    .find = find,
    .write = write_all,
};
