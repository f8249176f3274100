/*
 * effects.c - the ledger, for people and fronts: lists, one effect, what became of an unknown one;
 * and which of them an agent has to be told of.
 */

#include <stdlib.h>

#include "base/log.h"
#include "call/stage.h"
#include "effect/ledger.h"

/* ---- unknown ones that nobody was told of ---- */

/* Found after a crash: whoever made it may have made its call anew, in another session. */
struct untold {
	struct node node;
	struct id effect;
	char tenant[LIMIT_OWNER_NAME + 1], agent[LIMIT_OWNER_NAME + 1];
	char tool[LIMIT_NAME_BYTES + 1];
};

static void
text_copy(char *to, size_t size, struct str from)
{
	from = str_upto(from, size - 1);
	memcpy(to, from.ptr ? from.ptr : "", from.len);
	to[from.len] = '\0';
}

void
gateway_recovered(struct gateway *gw, const struct effect_orphan *o, enum claim_state state)
{
	log_line(LOG_WARN, "an effect was interrupted", "effect", o->effect.ptr, "tool",
		 o->tool.ptr ? o->tool.ptr : "", "state", claim_state_name(state), NULL);
	if (state != CLAIM_UNKNOWN)
		return;
	struct untold *u = calloc(1, sizeof(*u));
	if (!u)
		return;
	text_copy(u->effect.text, sizeof(u->effect.text), o->effect);
	text_copy(u->tenant, sizeof(u->tenant), o->tenant);
	text_copy(u->agent, sizeof(u->agent), o->agent);
	text_copy(u->tool, sizeof(u->tool), o->tool);
	list_push(&gw->untold, &u->node);
	if (gw->untold.len <= LIMIT_EFFECTS_TOLD)
		return;
	u = CONTAINER_OF(list_first(&gw->untold), struct untold, node);
	list_remove(&u->node);
	free(u);
}

void
effects_mention(struct gateway *gw, const struct session *s, struct buf *out)
{
	LIST_EACH (&gw->untold, at) {
		struct untold *u = CONTAINER_OF(at, struct untold, node);
		if (strcmp(u->tenant, s->tenant) != 0 || strcmp(u->agent, s->agent) != 0)
			continue;
		struct jw w = jw(out);
		buf_addz(out, out->len ? "," : "");
		jw_object(&w);
		jw_member_z(&w, "effect_id", u->effect.text);
		jw_member_z(&w, "tool_name", u->tool);
		jw_member_z(&w, "state", "unknown");
		jw_end(&w);
		list_remove(at);
		free(u);
	}
}

void
effects_forget(struct gateway *gw)
{
	LIST_EACH (&gw->untold, at) {
		list_remove(at);
		free(CONTAINER_OF(at, struct untold, node));
	}
}

/* ---- reading, on a worker ---- */

enum looking_for { LIST, SHOW, EXPORT, VERIFY };

struct inquiring {
	struct ledger *ledger;
	enum looking_for what;
	struct effects_query query; /* texts in `texts` */
	struct str id;
	int64_t after, last;
	struct buf texts, rows;
	bool more, ok;
	struct err err;
	gateway_answer_fn done;
	void *arg;
	struct work work;
};

static void
inquire_there(void *arg)
{
	struct inquiring *q = arg;

	switch (q->what) {
	case LIST: (void)ledger_list(q->ledger, &q->query, &q->rows, &q->more, &q->err); return;
	case SHOW: (void)ledger_show(q->ledger, q->id, &q->rows, &q->err); return;
	case EXPORT:
		(void)ledger_export(q->ledger, q->after, q->query.limit, &q->rows, &q->last,
				    &q->err);
		return;
	case VERIFY: (void)ledger_verify(q->ledger, &q->rows, &q->ok, &q->err); return;
	}
}

static void
inquiring_free(struct inquiring *q)
{
	buf_done(&q->texts);
	buf_done(&q->rows);
	free(q);
}

/* Lines become items: no record has a line end in it. */
static void
export_write(struct inquiring *q, struct jw *w)
{
	struct str lines = buf_str(&q->rows), line;

	jw_object(w);
	jw_key(w, "records");
	jw_array(w);
	while (str_split(&lines, '\n', &line))
		if (line.len)
			jw_raw(w, line);
	jw_end(w);
	jw_member_int(w, "last", q->last);
	jw_end(w);
}

static void
inquired(void *arg)
{
	struct inquiring *q = arg;
	struct buf answer = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&answer);

	if (q->what == LIST) {
		jw_object(&w);
		jw_key(&w, "effects");
		jw_array(&w);
		if (q->rows.len)
			jw_raw(&w, buf_str(&q->rows));
		jw_end(&w);
		jw_member_bool(&w, "more", q->more);
		jw_member_int(&w, "unknown", (int64_t)ledger_unknown(q->ledger));
		jw_end(&w);
	}
	if (q->what == EXPORT)
		export_write(q, &w);
	q->done(&q->err, answer.len ? &answer : &q->rows, q->arg);
	buf_done(&answer);
	inquiring_free(q);
}

static int
inquire(struct gateway *gw, enum looking_for what, struct inquiring **ret, gateway_answer_fn done,
	void *arg, struct err *e)
{
	if (!gw->ledger)
		return err_set(e, E_UNAVAILABLE, "this gateway keeps no ledger of effects");
	struct inquiring *q = calloc(1, sizeof(*q));
	if (!q)
		return err_plain(e, E_NOMEM);
	*q = (struct inquiring){.ledger = gw->ledger, .what = what, .done = done, .arg = arg};
	buf_init(&q->texts, 8 * LIMIT_HTTP_FIELD);
	buf_init(&q->rows, LIMIT_ANSWER_BYTES / 2);
	*ret = q;
	return 0;
}

static int
inquiry_start(struct gateway *gw, struct inquiring *q, struct err *e)
{
	int code = buf_failed(&q->texts) ? err_plain(e, E_NOMEM) : 0;

	if (code == 0 && work_start(gw->loop, &q->work, inquire_there, inquired, q) < 0)
		code = err_plain(e, E_SYSTEM);
	if (code < 0)
		inquiring_free(q);
	return code;
}

/* The texts of the query are copied: one after the other, so that their place is known. */
static void
query_copy(struct inquiring *q, const struct effects_query *from)
{
	q->query = *from;
	struct str *const texts[] = {&q->query.state, &q->query.session, &q->query.turn,
				     &q->query.call,  &q->query.key,     &q->query.tenant,
				     &q->query.agent, &q->query.before};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		buf_add(&q->texts, *texts[i]);
	for (size_t i = 0, at = 0; i < ARRAY_LEN(texts); at += texts[i++]->len)
		if (texts[i]->ptr && !buf_failed(&q->texts))
			texts[i]->ptr = buf_str(&q->texts).ptr + at;
}

int
gateway_effects(struct gateway *gw, const struct effects_query *from, gateway_answer_fn done,
		void *arg, struct err *e)
{
	struct inquiring *q;
	int code = inquire(gw, LIST, &q, done, arg, e);

	if (code < 0)
		return code;
	query_copy(q, from);
	return inquiry_start(gw, q, e);
}

int
gateway_effect_show(struct gateway *gw, struct str id, gateway_answer_fn done, void *arg,
		    struct err *e)
{
	struct inquiring *q;
	int code = inquire(gw, SHOW, &q, done, arg, e);

	if (code < 0)
		return code;
	buf_add(&q->texts, id);
	q->id = buf_str(&q->texts);
	return inquiry_start(gw, q, e);
}

int
gateway_effects_export(struct gateway *gw, int64_t after, size_t limit, gateway_answer_fn done,
		       void *arg, struct err *e)
{
	struct inquiring *q;
	int code = inquire(gw, EXPORT, &q, done, arg, e);

	if (code < 0)
		return code;
	q->after = after;
	q->query.limit = limit;
	return inquiry_start(gw, q, e);
}

int
gateway_effects_verify(struct gateway *gw, gateway_answer_fn done, void *arg, struct err *e)
{
	struct inquiring *q;
	int code = inquire(gw, VERIFY, &q, done, arg, e);

	return code < 0 ? code : inquiry_start(gw, q, e);
}

/* ---- a person has looked ---- */

struct resolving {
	struct gateway *gw;
	struct id effect;
	enum claim_state state;
	gateway_answer_fn done;
	void *arg;
};

static int
resolve_check(const struct resolving *r, const struct claim_found *f, struct err *e)
{
	if (f->state == CLAIM_NONE)
		return err_plain(e, E_NO_EFFECT);
	if (f->state == CLAIM_STARTED)
		return err_set(e, E_IN_FLIGHT, "%s is still under way", r->effect.text);
	return 0;
}

static void
resolved(const struct err *e, const struct claim_found *found, void *arg)
{
	struct resolving r = *(struct resolving *)arg;
	struct err why = e && e->code < 0 ? *e : ERR_NONE;
	struct buf answer = BUF_INIT(LIMIT_PROBLEM_BYTES);
	struct jw w = jw(&answer);

	free(arg);
	if (why.code == 0)
		(void)resolve_check(&r, found, &why);
	if (why.code == 0 && found->state != r.state)
		err_set(&why, E_ANSWERED, "%s is %s already", r.effect.text,
			claim_state_name(found->state));
	jw_object(&w);
	jw_member_z(&w, "id", r.effect.text);
	jw_member_z(&w, "state", claim_state_name(r.state));
	jw_end(&w);
	r.done(&why, &answer, r.arg);
	buf_done(&answer);
}

int
gateway_effect_resolve(struct gateway *gw, struct str id, bool was_done, struct str note,
		       gateway_answer_fn done, void *arg, struct err *e)
{
	if (!gw->claims)
		return err_set(e, E_UNAVAILABLE, "this gateway keeps no ledger of effects");
	if (id.len >= sizeof(struct id))
		return err_plain(e, E_NO_EFFECT);
	struct resolving *r = calloc(1, sizeof(*r));
	if (!r)
		return err_plain(e, E_NOMEM);
	*r = (struct resolving){.gw = gw,
				.state = was_done ? CLAIM_DONE : CLAIM_FAILED,
				.done = done,
				.arg = arg};
	memcpy(r->effect.text, id.ptr, id.len);
	struct claim_end end = {
	    .effect = id,
	    .state = r->state,
	    .error = was_done ? (struct str){NULL, 0} : S("a person says that it was not done"),
	    .by = "person",
	    .note = note,
	};
	int code = gw->claims->ops->settle(gw->claims, &end, resolved, r);
	if (code < 0) {
		free(r);
		return err_plain(e, code);
	}
	return 0;
}
