/*
 * list.c - reading one list of an upstream, page by page, and again when it has changed.
 *
 * One reading at a time, and not more often than once a second, less often when it costs us much:
 * however often an upstream says that a list has changed, it costs us one more reading, and never
 * more than a small part of our time. One that does not say so is asked again when somebody looks
 * at what has grown old.
 */

#include "upstream/inside.h"

#include "base/clock.h"
#include "mcp/header.h"

static const struct {
	const char *method, *key, *capability, *name; /* name: what an item must have */
} kinds[LIST__COUNT] = {
    [LIST_TOOLS] = {"tools/list", "tools", "tools", "name"},
    [LIST_PROMPTS] = {"prompts/list", "prompts", "prompts", "name"},
    [LIST_RESOURCES] = {"resources/list", "resources", "resources", "uri"},
    [LIST_TEMPLATES] = {"resources/templates/list", "resourceTemplates", "resources",
			"uriTemplate"},
};

static bool page_ask(struct listing *ls);

static void
listing_reset(struct listing *ls)
{
	buf_done(&ls->items);
	buf_done(&ls->cursor);
	buf_done(&ls->mark);
	ls->count = 0;
	ls->pages = ls->marked_at = 0;
	ls->whole = false;
}

/* ---- items ---- */

/* Modern, over HTTP: a tool whose arguments cannot be told in headers must not be used. */
static bool
tool_headers_fit(const struct listing *ls, const struct json *tool, struct err *e)
{
	const struct json *schema = json_get(tool, S("inputSchema"));
	struct header_param params[LIMIT_MCP_PARAMS];
	size_t count;

	if (ls->u->era == ERA_LEGACY || ls->u->spec.kind == UPSTREAM_STDIO ||
	    !header_has_params(schema))
		return true;
	return header_params(schema, NULL, params, ARRAY_LEN(params), &count, e) == 0;
}

static bool
item_fits(const struct listing *ls, const struct json *item, struct err *e)
{
	struct str name = json_str(json_get(item, str_of(kinds[ls->which].name)));

	if (!name.ptr || name.len == 0 || name.len > LIMIT_HTTP_FIELD) {
		err_set(e, E_VALIDATION, "%s: must be a text", kinds[ls->which].name);
		return false;
	}
	if (ls->which != LIST_TOOLS)
		return true;
	if (name.len > LIMIT_NAME_BYTES) {
		err_set(e, E_VALIDATION, "name: is too long");
		return false;
	}
	return tool_headers_fit(ls, item, e);
}

/* False: there is no room for it. */
static bool
item_add(struct listing *ls, const struct json *item)
{
	size_t before = ls->items.len;
	struct jw w = jw(&ls->items);

	if (ls->count >= LIMIT_UPSTREAM_ITEMS)
		return false;
	buf_addc(&ls->items, ls->count ? ',' : '[');
	jw_value(&w, item);
	if (buf_failed(&ls->items)) {
		ls->items.failed = false;
		ls->items.len = before;
		return false;
	}
	ls->count++;
	return true;
}

static bool
items_add(struct listing *ls, const struct json *items)
{
	struct err e = ERR_NONE;

	for (struct json_iter it = json_iter(items); json_next(&it);) {
		if (!item_fits(ls, it.value, &e))
			upstream__complain(ls->u, "a server lists something that cannot be used",
					   e.text);
		else if (!item_add(ls, it.value))
			return false;
	}
	return true;
}

/* ---- the end of a reading ---- */

static void pause_over(void *arg);

static void
read_later(struct listing *ls, uint64_t delay_ms)
{
	(void)timer_start(ls->u->set->loop, &ls->pause, delay_ms, pause_over, ls);
}

/* How long until it may be read again. */
static uint64_t
rest_ms(const struct listing *ls)
{
	uint64_t cost_ms = (ls->cost_us + ls->u->news_cost_us) / 1000;
	uint64_t next = ls->read_at + LIMIT_UPSTREAM_RELIST_MS + cost_ms * LIMIT_UPSTREAM_REST;
	uint64_t now = loop_now_ms(ls->u->set->loop);

	return next > now ? next - now : 0;
}

/* What it has cost is only known when all have been told. */
static void
pause_over(void *arg)
{
	struct listing *ls = arg;
	uint64_t rest = rest_ms(ls);

	if (rest > 0)
		read_later(ls, rest);
	else
		listing__start(ls);
}

/* To clients resources and templates are one list: what is read of both is taken together. Itself
 * where there is no other. */
static struct listing *
other_of(const struct listing *ls)
{
	static const enum upstream_list others[LIST__COUNT] = {LIST_TOOLS, LIST_PROMPTS,
							       LIST_TEMPLATES, LIST_RESOURCES};

	return &ls->u->listings[others[ls->which]];
}

static void listing_take(struct listing *ls);

static void
listing_over(struct listing *ls)
{
	struct listing *other = other_of(ls);
	struct upstream *u = ls->u;

	listing_reset(ls);
	ls->read = true;
	ls->read_at = loop_now_ms(u->set->loop);
	if (ls->again)
		read_later(ls, LIMIT_UPSTREAM_RELIST_MS);
	ls->again = false;
	upstream__listed(u, ls->which);
	if (other->whole)
		listing_take(other); /* it has waited for this one */
}

static void
listing_take(struct listing *ls)
{
	static const unsigned news[LIST__COUNT] = {NEWS_TOOLS, NEWS_PROMPTS, NEWS_RESOURCES,
						   NEWS_RESOURCES};
	struct upstream *u = ls->u;
	uint64_t since = clock_mono_us();
	struct err e;
	bool new = false;

	ls->whole = false;
	ls->fails = 0;
	ls->held = ls->pages ? ls->hint : (struct mcp_hint){0};
	buf_addz(&ls->items, ls->count ? "]" : "[]");
	int rc = buf_failed(&ls->items)
		     ? err_plain(&e, E_NOMEM)
		     : known__take(&u->known, ls->which, buf_str(&ls->items), &new, &e);
	if (rc < 0)
		upstream__complain(u, "a list of a server cannot be taken", e.text);
	else if (ls->which == LIST_TOOLS && u->known.left_out > 0)
		upstream__complain(u, "not all tools of a server are taken",
				   "there have been too many, or too large ones");
	else if (ls->which == LIST_TOOLS && u->known.count < ls->count)
		upstream__complain(u, "not all tools of a server are taken",
				   "a name is there twice");
	if (rc == 0 && new) {
		upstream__news(u, news[ls->which]);
		upstreams__save(u);
	}
	ls->cost_us = clock_mono_us() - since;
	listing_over(ls);
}

static void
held_take(void *arg)
{
	struct listing *ls = arg;

	if (ls->whole)
		listing_take(ls);
}

/* All of it is there. A server may never answer for the other one: it is not waited for long. */
static void
listing_whole(struct listing *ls)
{
	const struct listing *other = other_of(ls);
	struct upstream *u = ls->u;

	ls->whole = true;
	if (other == ls || !(other->ask.id || timer_running(&other->pause)) ||
	    timer_start(u->set->loop, &u->hold, LIMIT_UPSTREAM_HOLD_MS, held_take, ls) < 0)
		listing_take(ls);
}

static void
listing_failed(struct listing *ls, const struct reply *r)
{
	struct upstream *u = ls->u;
	int64_t code = r->error ? rpc_error_code(r->error) : 0;

	if (u->phase == PHASE_READY && upstream__lost_session(u, r)) {
		listing_reset(ls);
		upstream__reladder(u); /* the session is lost: a new one is listed anew */
		return;
	}
	if (upstream__doubts_session(u, r))
		(void)upstream__knock(u);
	if (code == RPC_NO_METHOD && ls->pages == 0) {
		listing_reset(ls); /* it has none of these */
		listing_whole(ls);
		return;
	}
	if (r->error)
		upstream__complain(u, "a server does not list what it has", kinds[ls->which].key);
	else
		upstream__complain(u, "a server does not list what it has", r->err->text);
	unsigned fails = ls->fails++;
	listing_over(ls);
	if (u->phase == PHASE_READY && fails < LIMIT_UPSTREAM_RELISTS)
		read_later(ls, (uint64_t)LIMIT_UPSTREAM_RELIST_MS << fails);
}

/* ---- pages ---- */

/* Brent's way to notice a circle: the cursor is held against one that is moved on seldom. */
static bool
cursor_circles(struct listing *ls, struct str cursor)
{
	bool same = ls->marked_at && str_eq(cursor, buf_str(&ls->mark));

	if (ls->pages >= 2 * ls->marked_at) {
		ls->marked_at = ls->pages;
		buf_reset(&ls->mark);
		buf_add(&ls->mark, cursor);
	}
	return same;
}

/* Page by page a list could be read for days. */
static bool
takes_too_long(const struct listing *ls)
{
	return loop_now_ms(ls->u->set->loop) - ls->begun_at > ls->u->spec.max_ms;
}

static void
page_take(struct ask *a, const struct reply *r)
{
	struct listing *ls = CONTAINER_OF(a, struct listing, ask);
	const struct json *items = json_get(r->result, str_of(kinds[ls->which].key));
	struct str cursor = json_str(json_get(r->result, S("nextCursor")));

	if (!r->result || !json_is(items, JSON_ARRAY)) {
		struct err e;
		err_set(&e, E_EXECUTION, "the answer to %s is not valid", kinds[ls->which].method);
		listing_failed(ls, r->result ? &(struct reply){.code = E_EXECUTION, .err = &e} : r);
		return;
	}
	ls->hint = ls->pages++ ? mcp_hint_both(ls->hint, mcp_hint(r->result)) : mcp_hint(r->result);
	bool room = items_add(ls, items);
	if (!cursor.ptr) {
		listing_whole(ls);
		return;
	}
	if (!room || ls->pages >= LIMIT_UPSTREAM_PAGES || cursor.len > LIMIT_UPSTREAM_CURSOR ||
	    takes_too_long(ls) || cursor_circles(ls, cursor)) {
		upstream__complain(ls->u, "a list of a server does not end: the rest is left out",
				   kinds[ls->which].key);
		listing_whole(ls);
		return;
	}
	buf_reset(&ls->cursor);
	buf_add(&ls->cursor, cursor);
	if (!page_ask(ls))
		listing_over(ls);
}

static void
page_write(struct jw *w, void *arg)
{
	struct listing *ls = arg;

	if (ls->pages > 0)
		jw_member(w, "cursor", buf_str(&ls->cursor));
}

static bool
page_ask(struct listing *ls)
{
	struct upstream *u = ls->u;
	struct ask_spec s = {
	    .method = str_of(kinds[ls->which].method),
	    .params = page_write,
	    .arg = ls,
	    .era = u->era,
	    .timeout_ms = u->spec.timeout_ms,
	};
	struct err e;

	ls->ask.answer = page_take;
	if (ask__send(u, &ls->ask, &s, &e) == 0)
		return true;
	upstream__complain(u, "a list of a server cannot be asked for", e.text);
	return false;
}

/* ---- from outside ---- */

static void
nothing_to_list(void *arg)
{
	listing_whole(arg);
}

static void
not_asked(void *arg)
{
	listing_over(arg);
}

void
listing__start(struct listing *ls)
{
	struct upstream *u = ls->u;

	if (!u->link || u->phase == PHASE_CLOSING)
		return;
	timer_stop(u->set->loop, &ls->pause);
	if (ls->ask.id) {
		ls->again = true;
		return;
	}
	listing_reset(ls);
	ls->begun_at = loop_now_ms(u->set->loop);
	ls->items = BUF_INIT(LIMIT_UPSTREAM_LIST_BYTES);
	ls->cursor = ls->mark = BUF_INIT(LIMIT_UPSTREAM_CURSOR);
	/* Never inside the caller: those who wait for the list would be called. */
	if (!upstream__has(u, kinds[ls->which].capability, NULL))
		(void)timer_start(u->set->loop, &ls->pause, 0, nothing_to_list, ls);
	else if (!page_ask(ls))
		(void)timer_start(u->set->loop, &ls->pause, 0, not_asked, ls);
}

void
listing__changed(struct listing *ls)
{
	uint64_t rest = rest_ms(ls);

	if (ls->ask.id || ls->whole)
		ls->again = true;
	else if (!ls->read || timer_running(&ls->pause))
		return; /* it will be read */
	else if (rest == 0)
		listing__start(ls);
	else
		read_later(ls, rest);
}

/* Will it say when this is another? A stream of a legacy server over HTTP may have been lost, or
 * never been there. */
static bool
is_told(const struct listing *ls)
{
	const struct upstream *u = ls->u;

	if (!upstream__has(u, kinds[ls->which].capability, "listChanged"))
		return false;
	return u->era == ERA_MODERN ? u->listened : u->spec.kind == UPSTREAM_STDIO;
}

void
listing__look(struct listing *ls)
{
	struct upstream *u = ls->u;
	uint64_t age = loop_now_ms(u->set->loop) - ls->read_at;

	if (ls->read && !ls->whole && upstream__has(u, kinds[ls->which].capability, NULL) &&
	    !is_told(ls) && age >= LIMIT_UPSTREAM_STALE_MS && age >= ls->held.ttl_ms)
		listing__changed(ls);
}

void
listing__stop(struct listing *ls)
{
	ask__forget(&ls->ask);
	timer_stop(ls->u->set->loop, &ls->pause);
	timer_stop(ls->u->set->loop, &ls->u->hold);
	listing_reset(ls);
	ls->again = ls->read = false;
	ls->fails = 0;
}
