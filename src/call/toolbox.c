/* toolbox.c - planned executions: one call after the other, and what came of each. */

#include "call/toolbox.h"

#include <stdlib.h>

#include "call/gateway.h"

static const struct str none = {NULL, 0};

/* ---- plans ---- */

bool
planned_when_parse(struct str name, enum planned_when *ret)
{
	static const char *const names[] = {"BEFORE_STEP", "DURING_STEP", "AFTER_STEP"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_is(name, names[i])) {
			*ret = (enum planned_when)i;
			return true;
		}
	return false;
}

struct plan {
	struct str tool_name, idempotency_key, when, bound_rule_id, bound_step_id;
	const struct json *args;
	bool critical;
};

/* What has None for its default in the seed comes as null from those who write all fields. */
static const struct json_field plan_fields[] = {
    FIELD_REQUIRED(struct plan, tool_name, WANT_STR),
    FIELD(struct plan, args, WANT_ANY),
    FIELD(struct plan, idempotency_key, WANT_STR_OR_NULL),
    FIELD(struct plan, when, WANT_STR),
    FIELD(struct plan, bound_rule_id, WANT_STR_OR_NULL),
    FIELD(struct plan, bound_step_id, WANT_STR_OR_NULL),
    FIELD(struct plan, critical, WANT_BOOL),
};

int
planned_read(const struct json *object, const char *where, struct planned *ret, struct err *e)
{
	struct plan p = {.critical = true, .when = S("DURING_STEP")};
	const char *dot = where[0] ? "." : "";
	int code = json_fields(object, plan_fields, ARRAY_LEN(plan_fields), where, &p, e);

	if (code < 0)
		return code;
	if (p.tool_name.len == 0 || p.tool_name.len > LIMIT_NAME_BYTES)
		return err_set(e, E_VALIDATION, "%s%stool_name: must be the name of a tool", where,
			       dot);
	if (p.args && !json_is(p.args, JSON_OBJECT) && !json_is(p.args, JSON_NULL))
		return err_set(e, E_VALIDATION, "%s%sargs: must be an object, got %s", where, dot,
			       json_type_name(json_type(p.args)));
	if (p.idempotency_key.len > LIMIT_IDEMPOTENCY_KEY)
		return err_set(e, E_VALIDATION, "%s%sidempotency_key: at most %d bytes", where, dot,
			       LIMIT_IDEMPOTENCY_KEY);
	*ret = (struct planned){.tool_name = p.tool_name,
				.args = json_is(p.args, JSON_OBJECT) ? p.args : NULL,
				.idempotency_key = p.idempotency_key,
				.bound_rule_id = p.bound_rule_id,
				.bound_step_id = p.bound_step_id,
				.critical = p.critical};
	if (!planned_when_parse(p.when, &ret->when))
		return err_set(e, E_VALIDATION,
			       "%s%swhen: must be BEFORE_STEP, DURING_STEP or AFTER_STEP", where,
			       dot);
	return 0;
}

/* ---- a run ---- */

struct outcome {
	struct buf json; /* its ToolResult */
	bool ran;        /* or at least tried; else it was skipped */
	bool success;
};

struct toolbox_run {
	struct gateway *gw;
	struct session *session; /* a reference */
	struct json_doc *doc, *empty;
	struct planned *planned;
	struct outcome *outcomes;
	size_t *order; /* of running */
	size_t count, next;
	char group[LIMIT_TURN_GROUP + 1];
	bool attended;
	void (*done)(struct buf *results, void *arg); /* NULL: nobody waits */
	void *arg;
	struct deferred soon;
};

static void
run_free(struct toolbox_run *r)
{
	for (size_t i = 0; r->outcomes && i < r->count; i++)
		buf_done(&r->outcomes[i].json);
	defer_cancel(&r->soon);
	free(r->outcomes);
	free(r->planned);
	free(r->order);
	json_doc_unref(r->doc);
	json_doc_unref(r->empty);
	session_unref(r->session);
	free(r);
}

void
toolbox_leave(struct toolbox_run *r)
{
	r->done = NULL;
}

/* ---- results ---- */

static void
write_head(struct jw *w, const struct planned *p, const char *status)
{
	jw_object(w);
	jw_member(w, "tool_name", p->tool_name);
	jw_member_z(w, "status", status);
}

static void
write_tail(struct jw *w, const struct planned *p, bool cached, int64_t ms)
{
	jw_member_bool(w, "cached", cached);
	jw_key(w, "execution_time_ms");
	if (ms < 0)
		jw_null(w);
	else
		jw_int(w, ms);
	if (p->bound_rule_id.ptr)
		jw_member(w, "bound_rule_id", p->bound_rule_id);
	if (p->bound_step_id.ptr)
		jw_member(w, "bound_step_id", p->bound_step_id);
}

static struct json_doc *
parse_between(const char *before, const struct buf *inner, const char *after)
{
	struct buf text = BUF_INIT(inner->len + 4);
	struct json_limits limits = {inner->len + 4, LIMIT_JSON_DEPTH};
	struct json_doc *doc = NULL;

	buf_addz(&text, before);
	buf_add(&text, buf_str(inner));
	buf_addz(&text, after);
	if (buf_failed(&text) || json_parse(buf_str(&text), &limits, &doc, NULL) < 0)
		doc = NULL;
	buf_done(&text);
	return doc;
}

/* All text of a result. */
static void
join_text(struct buf *out, const struct json *blocks)
{
	for (struct json_iter it = json_iter(blocks); json_next(&it);) {
		struct str text = json_str(json_get(it.value, S("text")));
		if (!text.ptr)
			continue;
		if (out->len)
			buf_addc(out, '\n');
		buf_add(out, text);
	}
}

/* What it is in structured form; else its text if that is an object; else the text itself; and
 * what is no text as it came. */
static void
write_data(struct jw *w, const struct json *blocks, const struct json *extra)
{
	const struct json *structured = json_get(extra, S("structuredContent"));
	struct str text = json_str(json_get(json_at(blocks, 0), S("text")));
	bool single = json_len(blocks) == 1 && text.ptr;
	struct json_doc *object = NULL;

	jw_key(w, "data");
	if (single && !json_is(structured, JSON_OBJECT) &&
	    json_parse(text, &json_door, &object, NULL) == 0 &&
	    json_is(json_root(object), JSON_OBJECT))
		structured = json_root(object);
	if (json_is(structured, JSON_OBJECT)) {
		jw_value(w, structured);
	} else {
		jw_object(w);
		if (single)
			jw_member(w, "result", text);
		else
			jw_key(w, "content"), jw_value(w, blocks);
		jw_end(w);
	}
	json_doc_unref(object);
}

/* The seed's own sentence where there is no such tool for this agent, whatever the reason. */
static void
write_error(struct jw *w, const struct planned *p, const struct turn_result *came,
	    const struct json *blocks)
{
	struct buf text = BUF_INIT(LIMIT_RESULT_BYTES);

	if (came->code == E_NOT_FOUND || came->code == E_DISABLED)
		buf_addf(&text, "Tool '%.*s' not found or not enabled",
			 STR_ARG(str_utf8_upto(p->tool_name, 100)));
	else
		join_text(&text, blocks);
	jw_key(w, "data"), jw_null(w);
	jw_member(w, "error", buf_str(&text));
	if (came->code < 0)
		jw_member_z(w, "error_code", err_row(came->code)->word);
	buf_done(&text);
}

static void
write_outcome(struct buf *out, const struct turn *t, const struct planned *p)
{
	const struct turn_result *came = &t->results[0];
	struct json_doc *blocks = parse_between("[", &came->content, "]");
	struct json_doc *extra = parse_between("{", &came->extra, "}");
	struct jw w = jw(out);

	write_head(&w, p, came->is_error ? "error" : "success");
	if (came->is_error) {
		write_error(&w, p, came, blocks ? json_root(blocks) : NULL);
	} else {
		write_data(&w, blocks ? json_root(blocks) : NULL, extra ? json_root(extra) : NULL);
		jw_key(&w, "error"), jw_null(&w);
	}
	write_tail(&w, p, came->cached, came->latency_ms);
	jw_member_z(&w, "call_id", came->call.text);
	jw_member_z(&w, "turn_id", t->id.text);
	jw_end(&w);
	json_doc_unref(blocks);
	json_doc_unref(extra);
}

static void
write_skipped(struct jw *w, const struct planned *p)
{
	write_head(w, p, "skipped");
	jw_key(w, "data"), jw_null(w);
	jw_member_z(w, "error", "a critical one before it failed");
	write_tail(w, p, false, -1);
	jw_end(w);
}

/* ---- one after the other ---- */

static void
finish(void *arg)
{
	struct toolbox_run *r = arg;
	struct buf all = BUF_INIT(LIMIT_ANSWER_BYTES);
	struct jw w = jw(&all);

	jw_array(&w);
	for (size_t i = 0; i < r->count; i++) {
		const struct outcome *o = &r->outcomes[i];
		if (!o->ran)
			write_skipped(&w, &r->planned[i]);
		else
			jw_raw(&w, buf_str(&o->json));
		all.failed = all.failed || buf_failed(&o->json); /* half of one is none */
	}
	jw_end(&w);
	if (r->done)
		r->done(&all, r->arg);
	buf_done(&all);
	run_free(r);
}

static void step_on(struct toolbox_run *r);

static void
turn_over(struct turn *t, void *arg)
{
	struct toolbox_run *r = arg;
	size_t i = r->order[r->next++];
	struct outcome *o = &r->outcomes[i];

	o->ran = true;
	o->success = !t->results[0].is_error;
	write_outcome(&o->json, t, &r->planned[i]);
	if (!o->success && r->planned[i].critical)
		r->next = r->count;
	step_on(r);
}

static int
submit(struct toolbox_run *r, const struct planned *p, struct err *e)
{
	struct call_spec call = {
	    .tool = p->tool_name,
	    .input_doc = p->args ? r->doc : r->empty,
	    .input = p->args ? p->args : json_root(r->empty),
	    .showing = SHOW_WHOLE,
	    .idempotency_key = p->idempotency_key,
	    .usual_ms = r->gw->toolbox.timeout_ms,
	};
	struct turn_spec turn = {
	    .calls = &call,
	    .count = 1,
	    .group = r->group[0] ? str_of(r->group) : none,
	    .attended = r->attended,
	    .done = turn_over,
	    .arg = r,
	};
	struct turn *made;

	return gateway_submit(r->gw, r->session, &turn, &made, e);
}

/* The next one, or the end. One that cannot even begin is an error as any other. */
static void
step_on(struct toolbox_run *r)
{
	while (r->done && r->next < r->count) {
		size_t i = r->order[r->next];
		const struct planned *p = &r->planned[i];
		struct err e;

		if (submit(r, p, &e) == 0)
			return;
		r->outcomes[i].ran = true;
		struct jw w = jw(&r->outcomes[i].json);
		write_head(&w, p, "error");
		jw_key(&w, "data"), jw_null(&w);
		jw_member_z(&w, "error", err_text(&e));
		jw_member_z(&w, "error_code", err_row(e.code)->word);
		write_tail(&w, p, false, -1);
		jw_end(&w);
		r->next = p->critical ? r->count : r->next + 1;
	}
	defer(r->gw->loop, &r->soon, finish, r); /* nobody is told anything inside toolbox_start */
}

/* Stable: in each step as they were given. */
static void
put_in_order(struct toolbox_run *r)
{
	size_t at = 0;

	for (enum planned_when s = BEFORE_STEP; s <= AFTER_STEP; s++)
		for (size_t i = 0; i < r->count; i++)
			if (r->planned[i].when == s)
				r->order[at++] = i;
}

static int
run_fill(struct toolbox_run *r, const struct toolbox_order *o, struct err *e)
{
	r->planned = calloc(o->count, sizeof(*r->planned));
	r->outcomes = calloc(o->count, sizeof(*r->outcomes));
	r->order = calloc(o->count, sizeof(*r->order));
	if (!r->planned || !r->outcomes || !r->order)
		return err_plain(e, E_NOMEM);
	r->count = o->count;
	for (size_t i = 0; i < o->count; i++)
		buf_init(&r->outcomes[i].json, LIMIT_ANSWER_BYTES);
	memcpy(r->planned, o->planned, o->count * sizeof(*r->planned));
	memcpy(r->group, o->group.ptr ? o->group.ptr : "", o->group.len);
	put_in_order(r);
	return json_parse(S("{}"), &json_door, &r->empty, e);
}

int
toolbox_start(struct gateway *gw, struct session *s, const struct toolbox_order *o,
	      struct toolbox_run **ret, struct err *e)
{
	if (o->count == 0)
		return err_set(e, E_BAD_REQUEST, "there is no tool to run");
	if (o->count > (size_t)gw->toolbox.max_batch_size)
		return err_set(e, E_LIMIT, "a batch may have at most %lld tools, this has %zu",
			       (long long)gw->toolbox.max_batch_size, o->count);
	if (o->group.len > LIMIT_TURN_GROUP)
		return err_set(e, E_BAD_REQUEST, "turn_group_id: at most %d characters",
			       LIMIT_TURN_GROUP);
	struct toolbox_run *r = calloc(1, sizeof(*r));
	if (!r)
		return err_plain(e, E_NOMEM);
	r->gw = gw;
	r->session = session_ref(s);
	r->doc = json_doc_ref(o->doc);
	r->attended = o->attended;
	r->done = o->done;
	r->arg = o->arg;
	int code = run_fill(r, o, e);
	if (code < 0) {
		run_free(r);
		return code;
	}
	*ret = r;
	step_on(r);
	return 0;
}
