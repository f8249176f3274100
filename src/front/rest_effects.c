/* rest_effects.c - the ledger of effects: what was done, and what a person knows of it. */

#include "effect/ledger.h"
#include "front/visit.h"

static void
list_ask(const struct visit *v, const struct effects_query *q)
{
	struct later *l = later_new(v);
	struct err e;

	if (l)
		later_begun(v, l, gateway_effects(v->front->gw, q, later_answer, l, &e), &e);
}

void
route_effects_list(const struct visit *v)
{
	enum { STATE, SESSION, TURN, CALL, KEY, TENANT, AGENT, BEFORE, UNKNOWN, COUNT };
	static const char *const names[COUNT] = {"state",  "session", "turn",   "call",   "key",
						 "tenant", "agent",   "before", "unknown"};
	struct buf bufs[COUNT];
	struct str given[COUNT];
	struct effects_query q = {.limit = 100};
	enum claim_state state;
	struct err e;

	for (size_t i = 0; i < COUNT; i++) {
		buf_init(&bufs[i], LIMIT_HTTP_FIELD);
		given[i] = query_text(v->http, names[i], &bufs[i]);
	}
	q.state = given[STATE];
	q.session = given[SESSION];
	q.turn = given[TURN];
	q.call = given[CALL];
	q.key = given[KEY];
	q.tenant = given[TENANT];
	q.agent = given[AGENT];
	q.before = given[BEFORE];
	q.unresolved = given[UNKNOWN].ptr && !str_is(given[UNKNOWN], "0");
	int code = query_number(v->http, "limit", LIMIT_EFFECT_PAGE, &q.limit, &e);
	if (code == 0 && q.state.ptr && !claim_state_parse(q.state, &state))
		code =
		    err_set(&e, E_BAD_REQUEST, "state: must be started, done, failed or unknown");
	if (code < 0)
		reply_err(v->http, &e);
	else
		list_ask(v, &q);
	for (size_t i = 0; i < COUNT; i++)
		buf_done(&bufs[i]);
}

void
route_effects_log(const struct visit *v)
{
	size_t after = 0, limit = 100;
	struct err e;
	struct buf given = BUF_INIT(LIMIT_HTTP_FIELD);
	/* From the beginning is no number to begin after. */
	bool first = !query_text(v->http, "after", &given).ptr || str_is(buf_str(&given), "0");
	int code = first ? 0 : query_number(v->http, "after", INT64_MAX, &after, &e);

	buf_done(&given);
	if (code == 0)
		code = query_number(v->http, "limit", LIMIT_EFFECT_PAGE, &limit, &e);
	struct later *l = code == 0 ? later_new(v) : NULL;
	if (code < 0)
		reply_err(v->http, &e);
	else if (l)
		later_begun(v, l,
			    gateway_effects_export(v->front->gw, (int64_t)after, limit,
						   later_answer, l, &e),
			    &e);
}

void
route_effects_verify(const struct visit *v)
{
	struct later *l = later_new(v);
	struct err e;

	if (l)
		later_begun(v, l, gateway_effects_verify(v->front->gw, later_answer, l, &e), &e);
}

void
route_effect_show(const struct visit *v)
{
	struct later *l = later_new(v);
	struct err e;

	if (l)
		later_begun(v, l,
			    gateway_effect_show(v->front->gw, visit_param(v, "id"), later_answer, l,
						&e),
			    &e);
}

struct resolution {
	bool done;
	struct str note;
};

static const struct json_field resolution_fields[] = {
    FIELD_REQUIRED(struct resolution, done, WANT_BOOL),
    FIELD(struct resolution, note, WANT_STR),
};

void
route_effect_resolve(const struct visit *v)
{
	struct resolution r = {0};
	struct json_doc *doc = NULL;
	struct err e;
	int code = body_parse(v->http, &doc, &e);

	if (code == 0)
		code = json_fields(json_root(doc), resolution_fields, ARRAY_LEN(resolution_fields),
				   "", &r, &e);
	if (code == 0 && r.note.len > LIMIT_EFFECT_NOTE)
		code = err_set(&e, E_BAD_REQUEST, "note: at most %d bytes", LIMIT_EFFECT_NOTE);
	struct later *l = code == 0 ? later_new(v) : NULL;
	if (code < 0)
		reply_err(v->http, &e);
	else if (l)
		later_begun(v, l,
			    gateway_effect_resolve(v->front->gw, visit_param(v, "id"), r.done,
						   r.note, later_answer, l, &e),
			    &e);
	json_doc_unref(doc);
}
