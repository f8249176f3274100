/* compensating.c - one effect is taken back by the tool that can: begun, called, written down. */

#include "call/compensating.h"

#include <stdio.h>
#include <stdlib.h>

#include "call/mapping.h"
#include "call/stage.h"
#include "effect/ledger.h"
#include "policy/effect.h"

struct compensating {
	struct gateway *gw;
	struct effect_step *step;
	struct workspace *where; /* a reference */
	struct session *session; /* for this call alone, a reference; NULL: not yet */
	struct json_doc *input;
	struct buf result; /* JSON, for the ledger */
	compensated_fn done;
	void *arg;
	struct deferred soon;
};

/* ---- what it is called with ---- */

/* What is said of its tool now: by its definition, or by the configuration. */
static bool
effect_now(struct gateway *gw, const struct effect_step *s, struct effect *ret)
{
	const struct tool *t = catalog_find(gw->catalog, s->tool);

	if (t)
		*ret = effect_of(t, tunings_find(gw->tunings, t->name));
	return t != NULL;
}

/* Whose tool takes it back: what was recorded then, or what is said of the tool now. */
static struct str
tool_back(struct gateway *gw, const struct effect_step *s)
{
	struct effect now;

	if (s->tool_back.len)
		return s->tool_back;
	return effect_now(gw, s, &now) ? now.compensation_tool : (struct str){NULL, 0};
}

static int
input_fill(struct gateway *gw, const struct effect_step *s, struct buf *out, struct err *e)
{
	struct effect now;

	if (!effect_now(gw, s, &now))
		return err_set(e, E_UNAVAILABLE, "there is no tool %.*s any more",
			       STR_ARG(str_utf8_upto(s->tool, 100)));
	return mapping_fill(now.compensation_args, json_get(json_root(s->doc), S("args")),
			    s->given ? json_root(s->given) : NULL, out, e);
}

/* ---- is there anything to take back? ---- */

void
effect_step_done(struct effect_step *s)
{
	json_doc_unref(s->doc);
	json_doc_unref(s->given);
}

static const char *
why_not(struct gateway *gw, const struct effect_step *s, struct str state, struct str policy)
{
	if (str_is(state, "done") && json_get(json_root(s->doc), S("error")))
		return "its tool answered with an error, so what it did is not known";
	if (str_is(state, "unknown"))
		return "whether it was done is not known (holdfast effects)";
	if (!str_is(state, "done"))
		return "it is not over";
	if (tool_back(gw, s).len)
		return NULL;
	return str_is(policy, "irreversible") ? "it cannot be taken back: it is irreversible"
					      : "no tool is known that takes it back";
}

void
effect_step_judge(struct gateway *gw, struct effect_step *s, bool files)
{
	if (s->unread)
		return;
	const struct json *record = json_root(s->doc);
	struct str stage = json_str(json_get(record, S("compensation_state")));
	struct str by = json_str(json_get(record, S("compensation_id")));

	s->tool_back = tool_back(gw, s);
	/* What its tool can take back is more than files; those are looked at last in any case. */
	s->files = files && !s->tool_back.len;
	const char *why = s->files ? NULL
				   : why_not(gw, s, json_str(json_get(record, S("state"))),
					     json_str(json_get(record, S("policy"))));
	if (str_is(stage, "done")) {
		s->before = true;
		snprintf(s->by_call.text, sizeof(s->by_call.text), "%.*s", STR_ARG(by));
		err_set(&s->err, E_EXISTS, "it was taken back already");
	} else if (why) {
		err_set(&s->err, E_FORBIDDEN, "%s", why);
	}
}

void
compensate_rehearse(struct gateway *gw, struct effect_step *s)
{
	struct buf input = BUF_INIT(LIMIT_JSON_BYTES);

	(void)input_fill(gw, s, &input, &s->err);
	if (s->err.code == 0 && !catalog_find(gw->catalog, tool_back(gw, s)))
		err_set(&s->err, E_NOT_FOUND, "there is no tool %.*s",
			STR_ARG(str_utf8_upto(tool_back(gw, s), 100)));
	buf_done(&input);
}

/* ---- one after the other ---- */

static void
over(void *arg)
{
	struct compensating *k = arg;
	struct effect_step *step = k->step;
	compensated_fn done = k->done;
	void *to = k->arg;

	if (k->session) { /* somebody may have ended it meanwhile */
		gateway_end_session(k->gw, k->session);
		session_unref(k->session);
	}
	workspace_unref(k->where);
	json_doc_unref(k->input);
	buf_done(&k->result);
	free(k);
	done(step, to);
}

/* Never inside whoever brought the news. */
static void
over_soon(struct compensating *k)
{
	defer(k->gw->loop, &k->soon, over, k);
}

static void
written(const struct err *e, const struct claim_found *found, void *arg)
{
	struct compensating *k = arg;

	(void)found; /* somebody else may have written it down: it is the same */
	if (e && e->code < 0 && k->step->err.code == 0)
		k->step->err = *e;
	over_soon(k);
}

static void
write_down(struct compensating *k, enum compensation_step how)
{
	struct effect_step *s = k->step;
	struct str result =
	    k->result.len && !buf_failed(&k->result) ? buf_str(&k->result) : (struct str){NULL, 0};

	if (how != COMPENSATION_BEGIN)
		k->gw->metrics.compensations[how == COMPENSATION_DONE]++;
	if (ledger_compensate(k->gw->ledger,
			      &(struct compensation){.effect = s->id,
						     .step = how,
						     .by = s->by_call.text[0]
							       ? id_str(&s->by_call)
							       : (struct str){NULL, 0},
						     .result = result},
			      written, k) < 0) {
		if (s->err.code == 0)
			err_plain(&s->err, E_STORE);
		over_soon(k);
	}
}

/* The first text of a result, as a sentence. */
static void
read_failure(const struct turn_result *r, struct err *e)
{
	struct buf text = BUF_INIT(r->content.len + 2);
	struct json_doc *doc = NULL;
	struct str said = {NULL, 0};

	buf_addf(&text, "[%.*s]", STR_ARG(buf_str(&r->content)));
	if (!buf_failed(&text) && json_parse(buf_str(&text), &json_door, &doc, NULL) == 0)
		said = json_str(json_get(json_at(json_root(doc), 0), S("text")));
	err_set(e, r->code < 0 ? r->code : E_EXECUTION, "%.*s",
		STR_ARG(said.len ? str_utf8_upto(said, 400) : S("the tool failed")));
	json_doc_unref(doc);
	buf_done(&text);
}

static void
called(struct turn *t, void *arg)
{
	struct compensating *k = arg;
	const struct turn_result *r = &t->results[0];
	struct jw w = jw(&k->result);

	k->step->by_call = r->call;
	if (r->is_error)
		read_failure(r, &k->step->err);
	jw_object(&w);
	jw_member_z(&w, "call", r->call.text);
	jw_key(&w, r->is_error ? "error" : "content");
	if (r->is_error) {
		jw_z(&w, err_text(&k->step->err));
	} else {
		jw_array(&w);
		jw_raw(&w, buf_str(&r->content));
		jw_end(&w);
	}
	jw_end(&w);
	write_down(k, r->is_error ? COMPENSATION_FAILED : COMPENSATION_DONE);
}

static int
submit(struct compensating *k, struct err *e)
{
	struct effect_step *s = k->step;
	char key[LIMIT_IDEMPOTENCY_KEY];
	struct turn *turn;
	struct session_spec whose = {.workspace = k->where, .client = S("undo")};
	int code = 0;

	if (k->gw->tenants)
		code = agent_named(k->gw->tenants, s->tenant, s->agent, &whose.owner, e);
	if (code < 0)
		return code;
	snprintf(key, sizeof(key), COMPENSATION_KEY "%.*s", STR_ARG(s->id));
	struct call_spec call = {
	    .tool = tool_back(k->gw, s),
	    .input_doc = k->input,
	    .input = json_root(k->input),
	    .idempotency_key = str_of(key),
	    .timeout_ms = k->gw->compensate_ms ? k->gw->compensate_ms : LIMIT_COMPENSATE_MS,
	    .compensates = s->id,
	};
	struct turn_spec spec = {
	    .calls = &call, .count = 1, .attended = true, .done = called, .arg = k};
	struct session *session;
	if ((code = session_open(k->gw->sessions, &whose, &session, e)) < 0)
		return code;
	k->session = session_ref(session);
	return gateway_submit(k->gw, session, &spec, &turn, e);
}

/* Whoever came second goes on as well: the key of the call decides that it runs once, and that
 * both hear the same. So does one that comes after a crash. */
static void
begun(const struct err *e, const struct claim_found *found, void *arg)
{
	struct compensating *k = arg;
	struct effect_step *s = k->step;

	if (e && e->code < 0) {
		s->err = *e;
		over_soon(k);
		return;
	}
	if (found && found->state != CLAIM_NONE && found->state != CLAIM_DONE) {
		err_set(&s->err, E_FORBIDDEN, "it is not there any more, or not over");
		over_soon(k);
		return;
	}
	if (submit(k, &s->err) < 0)
		write_down(k, COMPENSATION_FAILED);
}

static int
prepare(struct compensating *k, struct err *e)
{
	struct buf input = BUF_INIT(LIMIT_JSON_BYTES);
	int code = input_fill(k->gw, k->step, &input, e);

	if (code == 0)
		code = json_parse(buf_str(&input), &json_door, &k->input, e);
	buf_done(&input);
	return code;
}

void
compensate_start(struct gateway *gw, struct effect_step *s, struct workspace *where,
		 compensated_fn done, void *arg)
{
	struct compensating *k = calloc(1, sizeof(*k));

	if (!k) {
		err_plain(&s->err, E_NOMEM);
		done(s, arg);
		return;
	}
	*k = (struct compensating){.gw = gw, .step = s, .done = done, .arg = arg};
	k->where = workspace_ref(where);
	buf_init(&k->result, LIMIT_MESSAGE_BYTES);
	int code = gw->stopping ? err_plain(&s->err, E_STOPPING) : prepare(k, &s->err);
	if (code == 0 && ledger_compensate(gw->ledger,
					   &(struct compensation){.effect = s->id,
								  .step = COMPENSATION_BEGIN,
								  .by = s->call},
					   begun, k) < 0)
		code = err_plain(&s->err, E_STORE);
	if (code != 0)
		over_soon(k);
}

/* ---- showing ---- */

void
effect_step_write(struct jw *w, const struct effect_step *s)
{
	jw_object(w);
	jw_member_int(w, "step", (int64_t)s->number);
	jw_member(w, "effect_id", s->id);
	jw_member(w, "call_id", s->call);
	jw_member(w, "tool_name", s->tool);
	jw_member(w, "compensation_tool", s->tool_back.len ? s->tool_back : (struct str){NULL, 0});
	jw_member_z(w, "compensation_call_id", s->by_call.text[0] ? s->by_call.text : NULL);
	jw_member_bool(w, "ok", s->err.code == 0);
	if (s->err.code < 0)
		jw_member_z(w, "error", err_text(&s->err));
	jw_end(w);
}
