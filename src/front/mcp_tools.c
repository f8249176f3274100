/*
 * mcp_tools.c - tools/list and tools/call of the four surfaces.
 *
 * A list is in order of names and the same bytes every time. What a server said of a tool stays as
 * it was said.
 */

#include <stdlib.h>

#include "front/mcp_offer.h"
#include "text/truncate.h"

/* ---- what is listed ---- */

/* The tools of one surface, by the name they have there. */
struct shown {
	const struct mcp_client *client;
	struct tool **own; /* of one server; NULL: all of the catalog */
	size_t count;
};

static const struct catalog *
catalog_of(const struct mcp_client *c)
{
	return c->front->gw->catalog;
}

static struct tool *
shown_at(const struct shown *s, size_t i)
{
	return s->own ? s->own[i] : catalog_at(catalog_of(s->client), i);
}

static struct str
shown_name(const struct shown *s, size_t i)
{
	const struct tool *t = shown_at(s, i);

	return s->own ? mcp_plain_name(t) : t->name;
}

static int
by_plain_name(const void *a, const void *b)
{
	return str_cmp(mcp_plain_name(*(struct tool *const *)a),
		       mcp_plain_name(*(struct tool *const *)b));
}

static int
shown_of_server(struct shown *s, const char *server)
{
	const struct catalog *catalog = catalog_of(s->client);
	size_t count = catalog_count(catalog);

	s->own = calloc(count + 1, sizeof(struct tool *));
	if (!s->own)
		return E_NOMEM;
	s->count = 0;
	for (size_t i = 0; i < count; i++)
		if (mcp_tool_is_of(catalog_at(catalog, i), server))
			s->own[s->count++] = catalog_at(catalog, i);
	qsort(s->own, s->count, sizeof(struct tool *), by_plain_name);
	return 0;
}

static int
shown_init(struct shown *s, const struct mcp_client *c)
{
	*s = (struct shown){.client = c, .count = catalog_count(catalog_of(c))};
	if (c->surface.kind == SURFACE_GATEWAY)
		s->count = 0; /* what it has is found by browsing */
	if (c->surface.kind == SURFACE_SERVER)
		return shown_of_server(s, c->surface.server);
	return 0;
}

/* The first behind that name. */
static size_t
shown_after(const struct shown *s, struct str name)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (str_cmp(shown_name(s, middle), name) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A name of the proxy's own tools means those; another of that name can be had by its id. */
static bool
is_listed(const struct shown *s, size_t i)
{
	const struct mcp_client *c = s->client;

	return tool_visible(shown_at(s, i), c->session) &&
	       !mcp_meta_find(c->surface.kind, shown_name(s, i));
}

/* ---- how ---- */

/* {definition, with "holdfast/changed" in its _meta}. */
static void
write_marked(struct jw *w, const struct json *definition)
{
	const struct json *meta = json_get(definition, S("_meta"));

	jw_object(w);
	for (struct json_iter it = json_iter(definition); json_next(&it);)
		if (!str_is(it.key, "_meta"))
			jw_key_str(w, it.key), jw_value(w, it.value);
	jw_key(w, "_meta");
	jw_object(w);
	for (struct json_iter it = json_iter(meta); json_next(&it);)
		if (!str_is(it.key, META_CHANGED))
			jw_key_str(w, it.key), jw_value(w, it.value);
	jw_member_bool(w, META_CHANGED, true);
	jw_end(w);
	jw_end(w);
}

/* NULL: there was no room for it. */
static struct json_doc *
parse(struct buf *text)
{
	struct json_limits limits = {text->len, LIMIT_JSON_DEPTH};
	struct json_doc *doc = NULL;

	if (buf_failed(text) || json_parse(buf_str(text), &limits, &doc, NULL) < 0)
		doc = NULL;
	buf_done(text);
	return doc;
}

static struct json_doc *
parse_listing(struct tool *t)
{
	struct str listing = tool_listing(t);
	struct buf text = BUF_INIT(listing.len + 2);

	buf_addc(&text, '{');
	buf_add(&text, listing);
	buf_addc(&text, '}');
	return parse(&text);
}

/* It is no longer what was accepted: shown as it was, and marked. This is rare, and may take its
 * time. */
static void
write_changed(struct jw *w, struct tool *t, struct str name, enum mcp_revision to)
{
	struct json_doc *listing = parse_listing(t), *adapted = NULL;
	struct buf text = BUF_INIT(8 * LIMIT_JSON_BYTES);
	struct jw inner = jw(&text);

	if (listing)
		era_write_tool(&inner, json_root(listing), name, to);
	adapted = parse(&text);
	if (adapted)
		write_marked(w, json_root(adapted));
	else
		w->out->failed = true;
	json_doc_unref(adapted);
	json_doc_unref(listing);
}

/* What a server must say of a tool and may have left out is in the listing only. */
static void
write_adapted(struct jw *w, struct tool *t, struct str name, enum mcp_revision to)
{
	bool complete = json_str(json_get(t->definition, S("description"))).len &&
			json_is(json_get(t->definition, S("inputSchema")), JSON_OBJECT);
	struct json_doc *listing = complete ? NULL : parse_listing(t);

	if (complete || listing)
		era_write_tool(w, complete ? t->definition : json_root(listing), name, to);
	else
		w->out->failed = true;
	json_doc_unref(listing);
}

static void
write_listing(struct jw *w, struct tool *t, struct str name)
{
	struct str listing = tool_listing(t);

	/* A thousand in a row: what is JSON already is only put side by side. */
	jw_raw(w, S("{\"name\":"));
	json_quote(w->out, name);
	buf_addc(w->out, ',');
	buf_add(w->out, listing);
	buf_addc(w->out, '}');
	w->out->failed |= !listing.ptr;
}

static void
write_whole(struct mcp_request *q, struct jw *w, struct tool *t, struct str name)
{
	if (t->definition && t->changed)
		write_changed(w, t, name, q->revision);
	else if (t->definition && t->differs[q->era])
		write_adapted(w, t, name, q->revision);
	else
		write_listing(w, t, name);
}

/* As its card says it; what has no card is cut the same way. */
static void
write_description(struct jw *w, const struct shelf *shelf, const struct tool *t)
{
	const struct shelf_item *item = shelf ? shelf_find(shelf, t->id) : NULL;
	struct buf cut = BUF_INIT(LIMIT_CARD_BYTES);
	struct str text;

	if (item && !item->problem.ptr) {
		text = item->card.description;
	} else {
		truncate_tokens(&cut, t->description.ptr ? t->description : S(""), CARD_TARGET);
		text = buf_str(&cut);
	}
	if (text.len == 0) /* some clients refuse tools that say nothing */
		text = t->title.len ? t->title : t->name;
	jw_member(w, "description", text);
	buf_done(&cut);
}

static void
write_stripped(struct mcp_request *q, struct jw *w, struct tool *t, struct str name)
{
	struct shelf *shelf = NULL;

	if (catalog_shelf(q->client->front->gw->catalog, &shelf, NULL) < 0)
		shelf = NULL;
	jw_object(w);
	jw_member(w, "name", name);
	write_description(w, shelf, t);
	jw_key(w, "inputSchema");
	jw_raw(w, S("{\"type\":\"object\"}"));
	jw_key(w, "_meta");
	jw_object(w);
	jw_member(w, META_TOOL_ID, t->id);
	if (t->changed)
		jw_member_bool(w, META_CHANGED, true);
	jw_end(w);
	jw_end(w);
}

int
mcp_tools_list(struct mcp_request *q, struct err *e)
{
	enum surface kind = q->client->surface.kind;
	struct mcp_page page;
	struct shown shown;
	struct buf b;
	int rc = mcp_page_begin(&page, 't', q->rpc.params, e);

	if (rc < 0)
		return rc;
	if (shown_init(&shown, q->client) < 0) {
		buf_done(&page.decoded);
		return err_plain(e, E_NOMEM);
	}
	if (kind != SURFACE_GATEWAY)
		q->hint = mcp_list_hint(q->client, LIST_TOOLS);
	mcp_look(q->client);
	struct jw w = mcp_begin(q, &b);
	jw_key(&w, "tools");
	jw_array(&w);
	if (page.first)
		mcp_meta_list(&w, kind);
	for (size_t i = shown_after(&shown, page.after); i < shown.count; i++) {
		if (!is_listed(&shown, i))
			continue;
		if (!mcp_page_take(&page, &w, shown_name(&shown, i)))
			break;
		(kind == SURFACE_PROXY ? write_stripped : write_whole)(q, &w, shown_at(&shown, i),
								       shown_name(&shown, i));
		mcp_page_taken(&page, &w);
	}
	jw_end(&w);
	mcp_page_end(&page, &w);
	free(shown.own);
	mcp_write_meta(q, &w, NULL, (struct str){NULL, 0});
	mcp_end(q, &w, &b);
	return 0;
}

/* ---- calls ---- */

static int
fail_unknown(struct str name, const char *hint, struct err *e)
{
	return err_set(e, E_NOT_FOUND, "there is no tool '%.*s' here%s",
		       STR_ARG(str_utf8_upto(name, 100)), hint);
}

static int
call_on_gateway(struct mcp_request *q, struct str name, const struct json *input, struct err *e)
{
	(void)q;
	(void)input;
	return fail_unknown(name, "; find tools with tool_browse and run them with tool_execute",
			    e);
}

/* What is listed there is for looking at. */
static int
call_on_proxy(struct mcp_request *q, struct str name, const struct json *input, struct err *e)
{
	const struct tool *t = catalog_find(catalog_of(q->client), name);
	struct err why;

	(void)input;
	if (t && tool_disabled(t, q->client->session)) {
		tool_say_disabled(t, q->client->session, &why);
		mcp_refuse(q, &why, (struct str){NULL, 0});
		return 0;
	}
	if (!t || !tool_visible(t, q->client->session))
		return tool_say_unknown(q->client->front->gw, q->client->session, name, e);
	err_set(&why, E_VALIDATION,
		"%.*s is listed without its schema and is not called directly: call tool_execute "
		"with {\"tool_id\": \"%.*s\", \"args\": {...}}; tool_hydrate shows its schema",
		STR_ARG(t->name), STR_ARG(t->id));
	mcp_refuse(q, &why, (struct str){NULL, 0});
	return 0;
}

/* Also an unknown name goes through the pipeline: the journal shows what was tried, and who tried
 * is told a name that is near. */
static int
call_on_all(struct mcp_request *q, struct str name, const struct json *input, struct err *e)
{
	return mcp_submit(q, name, input, SHOW_WHOLE, e);
}

/* But here it could mean a tool of somebody else's. */
static int
call_on_server(struct mcp_request *q, struct str name, const struct json *input, struct err *e)
{
	const struct mcp_client *c = q->client;
	const struct tool *t = mcp_tool_of(c, name);

	if (t)
		return mcp_submit(q, t->name, input, SHOW_WHOLE, e);
	struct buf alias = BUF_INIT(2 * ALIAS_MAX);
	toolid_alias(&alias, str_of(c->surface.server), name, (struct str){NULL, 0});
	int rc = tool_say_unknown(c->front->gw, c->session, buf_str(&alias), e);
	buf_done(&alias);
	return rc == E_UNAVAILABLE ? rc : fail_unknown(name, "", e);
}

typedef int (*call_fn)(struct mcp_request *q, struct str name, const struct json *input,
		       struct err *e);

static const call_fn calls[] = {
    [SURFACE_GATEWAY] = call_on_gateway,
    [SURFACE_PROXY] = call_on_proxy,
    [SURFACE_ALL] = call_on_all,
    [SURFACE_SERVER] = call_on_server,
};

int
mcp_tools_call(struct mcp_request *q, struct err *e)
{
	const struct mcp_surface *surface = &q->client->surface;
	struct str name = json_str(json_get(q->rpc.params, S("name")));
	const struct json *input = json_get(q->rpc.params, S("arguments"));

	if (!name_fits(name))
		return err_set(e, E_VALIDATION, "name: must be the name of a tool");
	const struct mcp_meta *meta = mcp_meta_find(surface->kind, name);
	if (meta)
		return mcp_meta_call(q, meta, input, e);
	if (json_is(input, JSON_NULL))
		input = NULL;
	const struct tool *t = mcp_tool_of(q->client, name);
	bool mendable = t && t->repair_arguments && json_is(input, JSON_STRING);
	if (input && !json_is(input, JSON_OBJECT) && !mendable)
		return err_set(e, E_VALIDATION, "arguments: must be an object");
	q->behind.params = q->rpc.params;
	return calls[surface->kind](q, name, input, e);
}
