/* rest_journal.c - what is kept: pages of events and calls, read from the store. */

#include "front/visit.h"

#include <stdlib.h>

/* A visit that waits for the store. */
struct later {
	struct visit visit; /* http is NULL once the peer is gone */
	journal_answer_fn answer;
};

static void
peer_gone(struct http_request *r)
{
	struct later *l = r->user;

	l->visit.http = NULL;
}

/* The front itself may be gone by now if the peer is: it is not touched then. */
static void
page_here(const struct store_page *page, void *arg)
{
	struct later l = *(struct later *)arg;

	free(arg);
	if (!l.visit.http)
		return;
	l.visit.http->gone = NULL;
	if (page->code < 0)
		reply_code(l.visit.http, page->code);
	else
		l.answer(&l.visit, page);
}

static int
ask(struct later *l, journal_find_fn find, const struct store_query *q, struct err *e)
{
	struct store *store = l->visit.front->gw->store;

	if (!store)
		return err_set(e, E_UNAVAILABLE, "this gateway keeps no journal");
	int code = find(store, q, page_here, l);
	return code < 0 ? err_plain(e, code) : 0;
}

void
journal_ask(const struct visit *v, journal_find_fn find, const struct store_query *q,
	    journal_answer_fn answer)
{
	struct later *l = malloc(sizeof(*l));
	struct err e;

	if (!l) {
		reply_code(v->http, E_NOMEM);
		return;
	}
	*l = (struct later){*v, answer};
	if (ask(l, find, q, &e) < 0) {
		free(l);
		reply_err(v->http, &e);
		return;
	}
	v->http->user = l;
	v->http->gone = peer_gone;
}

void
journal_reply(const struct visit *v, const char *name, const struct store_page *page)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	jw_object(&w);
	jw_key(&w, name);
	jw_array(&w);
	for (size_t i = 0; i < page->count; i++)
		jw_raw(&w, page->rows[i].json);
	jw_end(&w);
	jw_member_bool(&w, "more", page->more);
	jw_member(&w, "last_id",
		  page->count ? page->rows[page->count - 1].id : (struct str){NULL, 0});
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

/* Query parameters */

static int
type_bit(struct str name, uint64_t *mask, struct err *e)
{
	for (size_t i = 0; i < EVENT__COUNT; i++)
		if (str_is(name, event_row((enum event_type)i)->type)) {
			*mask |= UINT64_C(1) << i;
			return 0;
		}
	return err_set(e, E_BAD_REQUEST, "event_types: there is no event '%.*s'",
		       STR_ARG(str_utf8_upto(name, 64)));
}

static int
read_types(struct wanted *w, struct err *e)
{
	struct str rest = buf_str(&w->types), name;
	int code = 0;

	_Static_assert(EVENT__COUNT <= 64, "a bit for each event type");
	w->mask = 0;
	while (code == 0 && str_split(&rest, ',', &name))
		code = type_bit(name, &w->mask, e);
	w->query.types = buf_str(&w->types);
	return code;
}

static int
read_id(const struct http_request *r, const char *name, struct buf *b, struct str *ret,
	struct err *e)
{
	if (!http_query(r, name, b))
		return 0;
	if (b->len && !name_fits(buf_str(b)))
		return err_set(e, E_BAD_REQUEST, "%s: is not an id", name);
	*ret = buf_str(b);
	return 0;
}

int
wanted_read(const struct http_request *r, struct wanted *w, struct err *e)
{
	*w = (struct wanted){.query.limit = 100, .mask = UINT64_MAX};
	buf_init(&w->since, LIMIT_HTTP_FIELD);
	buf_init(&w->until, LIMIT_HTTP_FIELD);
	buf_init(&w->types, LIMIT_HTTP_FIELD);
	w->query.newest = query_flag(r, "newest");
	int code = read_id(r, "since", &w->since, &w->query.since, e);
	if (code == 0)
		code = read_id(r, "until", &w->until, &w->query.until, e);
	if (code == 0)
		code = query_number(r, "limit", LIMIT_EVENT_PAGE, &w->query.limit, e);
	if (code == 0 && http_query(r, "event_types", &w->types) && w->types.len)
		code = read_types(w, e);
	return code;
}

void
wanted_done(struct wanted *w)
{
	buf_done(&w->since);
	buf_done(&w->until);
	buf_done(&w->types);
}

/* Pages */

static void
ask_page(const struct visit *v, journal_find_fn find, struct str session, bool newest,
	 journal_answer_fn answer)
{
	struct wanted w;
	struct err e;

	if (wanted_read(v->http, &w, &e) < 0) {
		reply_err(v->http, &e);
	} else {
		w.query.session = session;
		w.query.newest |= newest && !w.query.since.ptr;
		journal_ask(v, find, &w.query, answer);
	}
	wanted_done(&w);
}

static void
reply_events(const struct visit *v, const struct store_page *page)
{
	journal_reply(v, "events", page);
}

static bool
wants_stream(const struct http_request *r)
{
	struct str accept = http_header(r, "accept"), part;

	while (str_split(&accept, ',', &part)) {
		ptrdiff_t end = str_index(part, ';');
		if (end >= 0)
			part = str_upto(part, (size_t)end);
		if (str_eq_nocase(str_trim(part), S("text/event-stream")))
			return true;
	}
	return false;
}

static void
events(const struct visit *v)
{
	struct str session = visit_param(v, "id");
	struct err e;

	if (wants_stream(v->http)) {
		feed_open(v, session);
	} else if (query_flag(v->http, "attach")) {
		err_set(&e, E_BAD_REQUEST, "attach: needs Accept: text/event-stream");
		reply_err(v->http, &e);
	} else {
		ask_page(v, store_find_events, session, false, reply_events);
	}
}

void
route_session_events(const struct visit *v)
{
	visit_known_session(v, events);
}

void
route_all_events(const struct visit *v)
{
	events(v);
}

static void
reply_calls(const struct visit *v, const struct store_page *page)
{
	journal_reply(v, "calls", page);
}

static void
session_journal(const struct visit *v)
{
	ask_page(v, store_find_calls, visit_param(v, "id"), false, reply_calls);
}

void
route_session_calls(const struct visit *v)
{
	visit_known_session(v, session_journal);
}

void
route_calls_list(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (query_flag(v->http, "all")) {
		ask_page(v, store_find_calls, (struct str){NULL, 0}, true, reply_calls);
		return;
	}
	jw_object(&w);
	jw_key(&w, "calls");
	gateway_write_live(&w, v->front->gw, (struct str){NULL, 0});
	jw_end(&w);
	reply_json(v->http, 200, &b);
}

static void
reply_call(const struct visit *v, const struct store_page *page)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);

	if (page->count == 0) {
		reply_code(v->http, E_NO_CALL);
		return;
	}
	buf_add(&b, page->rows[page->count - 1].json);
	reply_json(v->http, 200, &b);
}

/* One that is alive may have no row yet. Of several with one tool_use_id, the newest. */
void
route_call_show(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&b);

	if (gateway_write_call(&w, v->front->gw, visit_param(v, "call"))) {
		reply_json(v->http, 200, &b);
		return;
	}
	journal_ask(v, store_find_calls,
		    &(struct store_query){.id = visit_param(v, "call"), .newest = true, .limit = 1},
		    reply_call);
}
