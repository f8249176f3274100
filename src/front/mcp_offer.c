/*
 * mcp_offer.c - resources and prompts: the lists of all servers as one, and whose each is.
 *
 * Lists are what is known of the servers now, in order of names; no server is waited for. Where two
 * servers claim one name, the first of them by its own name has it, and the other never gets to
 * answer for it. Definitions stay as they were given, but for what clients would refuse (shape.h)
 * and the names of prompts, which say on a surface of many servers whose they are: SERVER__PROMPT.
 */

#include <stdlib.h>

#include "base/arena.h"
#include "base/log.h"
#include "front/mcp_offer.h"
#include "front/uri_template.h"
#include "mcp/shape.h"

static const struct str none = {NULL, 0};

/* What is offered, and how. */
static const struct kind {
	enum upstream_list list;
	const char *capability;
	const char *field;  /* the name of one */
	const char *member; /* of the result */
	char cursor;
	enum shape shape;
} resources = {LIST_RESOURCES, "resources", "uri", "resources", 'r', SHAPE_RESOURCE},
  templates = {LIST_TEMPLATES,      "resources", "uriTemplate",
	       "resourceTemplates", 'u',         SHAPE_TEMPLATE},
  prompts = {LIST_PROMPTS, "prompts", "name", "prompts", 'p', SHAPE_PROMPT};

/* ---- one list of all servers ---- */

struct offer {
	struct str name;
	struct upstream *server;
	size_t rank; /* by the servers' names, then as they were given */
	const struct json *definition;
};

struct offers {
	struct arena *arena;
	struct offer *items; /* by name; each name once */
	size_t count;
};

static bool
is_aggregated(const struct mcp_client *c)
{
	return c->surface.kind != SURFACE_SERVER;
}

/* {NULL,0}: it has none that can be used. */
static struct str
plain_name(const struct kind *k, const struct json *definition)
{
	struct str name = json_str(json_get(definition, str_of(k->field)));

	return name.len > 0 && name.len <= LIMIT_MCP_URI ? name : none;
}

static void
add_prompt_name(struct buf *out, const struct upstream *u, struct str name)
{
	toolid_alias(out, upstream_name(u), name, none);
}

static struct str
offered_name(const struct mcp_client *c, const struct kind *k, const struct upstream *u,
	     struct str plain, struct arena *arena)
{
	struct buf alias = BUF_INIT(2 * ALIAS_MAX);

	if (k != &prompts || !is_aggregated(c))
		return plain;
	add_prompt_name(&alias, u, plain);
	struct str name = buf_failed(&alias) ? none : arena_str(arena, buf_str(&alias));
	buf_done(&alias);
	return name;
}

/* It is asked for often and said once. */
static bool
told_before(uint64_t what)
{
	static uint64_t told[64];
	static size_t next;

	for (size_t i = 0; i < ARRAY_LEN(told); i++)
		if (told[i] == what)
			return true;
	told[next++ % ARRAY_LEN(told)] = what;
	return false;
}

static void
tell_unfit(const struct kind *k, const struct upstream *u, struct str name, const char *why)
{
	struct buf what = BUF_INIT(512), server = BUF_INIT(LIMIT_NAME_BYTES);

	buf_add(&what, str_utf8_upto(name, 200));
	buf_add(&server, str_utf8_upto(upstream_name(u), 200));
	if (!told_before(str_hash(buf_str(&server)) ^ str_hash(buf_str(&what)) ^ k->shape))
		log_line(LOG_WARN, "a server lists something that clients would refuse", "server",
			 buf_z(&server), "in", k->member, "name", buf_z(&what), "why", why, NULL);
	buf_done(&what);
	buf_done(&server);
}

/* One that would spoil the list for every client is not in it. */
static bool
can_be_listed(const struct kind *k, const struct upstream *u, struct str name,
	      const struct json *definition)
{
	struct err why = ERR_NONE;

	if (shape_check(k->shape, definition, &why) == 0)
		return name.ptr != NULL;
	tell_unfit(k, u, name, why.text);
	return false;
}

static int
collect_of(struct offers *o, const struct mcp_client *c, const struct kind *k, struct upstream *u)
{
	const struct json *list = upstream_list(u, k->list);

	for (struct json_iter it = json_iter(list); json_next(&it);) {
		struct str plain = plain_name(k, it.value);
		if (!can_be_listed(k, u, plain, it.value))
			continue;
		struct str name = offered_name(c, k, u, plain, o->arena);
		if (!name.ptr)
			return E_NOMEM;
		o->items[o->count] = (struct offer){name, u, o->count, it.value};
		o->count++;
	}
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;
	int order = str_cmp(x->name, y->name);

	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static void
tell_double(const struct offer *first, const struct offer *second)
{
	struct buf name = BUF_INIT(256), a = BUF_INIT(LIMIT_NAME_BYTES),
		   b = BUF_INIT(LIMIT_NAME_BYTES);

	if (first->server == second->server || told_before(str_hash(first->name)))
		return;
	buf_add(&name, str_utf8_upto(first->name, 200));
	buf_add(&a, str_utf8_upto(upstream_name(first->server), 200));
	buf_add(&b, str_utf8_upto(upstream_name(second->server), 200));
	log_line(LOG_WARN, "two servers claim one name: the first has it", "name", buf_z(&name),
		 "first", buf_z(&a), "second", buf_z(&b), NULL);
	buf_done(&name);
	buf_done(&a);
	buf_done(&b);
}

static void
drop_doubles(struct offers *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->count; i++)
		if (kept > 0 && str_eq(o->items[kept - 1].name, o->items[i].name))
			tell_double(&o->items[kept - 1], &o->items[i]);
		else
			o->items[kept++] = o->items[i];
	o->count = kept;
}

static void
offers_done(struct offers *o)
{
	arena_free(o->arena);
}

static int
offers_collect(struct offers *o, const struct mcp_client *c, const struct kind *k, struct err *e)
{
	size_t servers = mcp_server_count(c), most = 0;
	int rc = 0;

	*o = (struct offers){.arena = arena_new(LIMIT_MCP_OFFERS)};
	for (size_t i = 0; i < servers; i++)
		most += json_len(upstream_list(mcp_server_at(c, i), k->list));
	if (o->arena)
		o->items = arena_alloc(o->arena, (most + 1) * sizeof(*o->items));
	if (!o->items)
		rc = E_NOMEM;
	for (size_t i = 0; i < servers && rc == 0; i++)
		if (mcp_server_has(c, mcp_server_at(c, i), k->capability))
			rc = collect_of(o, c, k, mcp_server_at(c, i));
	if (rc < 0) {
		offers_done(o);
		return err_set(e, E_LIMIT, "there are too many %s to list", k->member);
	}
	qsort(o->items, o->count, sizeof(*o->items), by_name);
	drop_doubles(o);
	return 0;
}

/* ---- lists ---- */

static void
write_offer(struct jw *w, const struct kind *k, const struct offer *o)
{
	shape_write(w, k->shape, o->definition, k->field, o->name);
}

static int
answer_list(struct mcp_request *q, const struct kind *k, struct err *e)
{
	struct mcp_page page;
	struct offers offers;
	struct buf b;
	int rc = mcp_page_begin(&page, k->cursor, q->rpc.params, e);

	if (rc < 0)
		return rc;
	if ((rc = offers_collect(&offers, q->client, k, e)) < 0) {
		buf_done(&page.decoded);
		return rc;
	}
	q->hint = mcp_list_hint(q->client, k->list);
	mcp_look(q->client);
	struct jw w = mcp_begin(q, &b);
	jw_key(&w, k->member);
	jw_array(&w);
	if (page.first && k != &prompts)
		mcp_tiers_list(&w, q->client, k == &templates);
	for (size_t i = 0; i < offers.count; i++) {
		const struct offer *o = &offers.items[i];
		if (str_cmp(o->name, page.after) <= 0)
			continue;
		if (!mcp_page_take(&page, &w, o->name))
			break;
		write_offer(&w, k, o);
		mcp_page_taken(&page, &w);
	}
	jw_end(&w);
	mcp_page_end(&page, &w);
	offers_done(&offers);
	mcp_write_meta(q, &w, NULL, none);
	mcp_end(q, &w, &b);
	return 0;
}

int
mcp_resources_list(struct mcp_request *q, struct err *e)
{
	return answer_list(q, &resources, e);
}

int
mcp_templates_list(struct mcp_request *q, struct err *e)
{
	return answer_list(q, &templates, e);
}

int
mcp_prompts_list(struct mcp_request *q, struct err *e)
{
	return answer_list(q, &prompts, e);
}

/* ---- whose it is ---- */

/* The first server that lists it. */
static struct upstream *
server_listing(const struct mcp_client *c, const struct kind *k, struct str name)
{
	for (size_t i = 0; i < mcp_server_count(c); i++) {
		struct upstream *u = mcp_server_at(c, i);
		if (!mcp_server_has(c, u, k->capability))
			continue;
		for (struct json_iter it = json_iter(upstream_list(u, k->list)); json_next(&it);)
			if (str_eq(plain_name(k, it.value), name))
				return u;
	}
	return NULL;
}

/* The one whose template says most of it as it stands. */
static struct upstream *
server_fitting(const struct mcp_client *c, struct str uri)
{
	struct upstream *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < mcp_server_count(c); i++) {
		struct upstream *u = mcp_server_at(c, i);
		if (!mcp_server_has(c, u, templates.capability))
			continue;
		for (struct json_iter it = json_iter(upstream_list(u, LIST_TEMPLATES));
		     json_next(&it);) {
			struct str tmpl = plain_name(&templates, it.value);
			size_t prefix = uri_template_prefix(tmpl).len;
			if ((!best || prefix > most) && uri_template_fits(tmpl, uri)) {
				best = u;
				most = prefix;
			}
		}
	}
	return best;
}

/* A surface of one server: it knows best what it has. */
static struct upstream *
only_server(const struct mcp_client *c, const char *capability)
{
	if (is_aggregated(c) || mcp_server_count(c) == 0)
		return NULL;
	struct upstream *u = mcp_server_at(c, 0);
	return mcp_server_has(c, u, capability) ? u : NULL;
}

struct upstream *
mcp_upstream_of_uri(const struct mcp_client *c, struct str uri)
{
	struct upstream *u = only_server(c, resources.capability);

	if (uri.len == 0 || uri.len > LIMIT_MCP_URI || (is_aggregated(c) && mcp_tiers_own(uri)))
		return NULL;
	if (!u)
		u = server_listing(c, &resources, uri);
	return u ? u : server_fitting(c, uri);
}

struct upstream *
mcp_upstream_of_template(const struct mcp_client *c, struct str tmpl)
{
	return tmpl.len ? server_listing(c, &templates, tmpl) : NULL;
}

struct upstream *
mcp_upstream_of_prompt(const struct mcp_client *c, struct str name, struct str *ret_plain)
{
	struct buf alias = BUF_INIT(2 * ALIAS_MAX);
	struct upstream *found = only_server(c, prompts.capability);

	*ret_plain = name;
	for (size_t i = 0; is_aggregated(c) && !found && i < mcp_server_count(c); i++) {
		struct upstream *u = mcp_server_at(c, i);
		if (!mcp_server_has(c, u, prompts.capability))
			continue;
		for (struct json_iter it = json_iter(upstream_list(u, LIST_PROMPTS));
		     !found && json_next(&it);) {
			struct str plain = plain_name(&prompts, it.value);
			buf_reset(&alias);
			if (plain.ptr)
				add_prompt_name(&alias, u, plain);
			if (alias.len && str_eq(buf_str(&alias), name)) {
				found = u;
				*ret_plain = plain;
			}
		}
	}
	buf_done(&alias);
	return found;
}
