/*
 * exchange.c - one request: its clocks, its retries, its end.
 *
 *	waiting --place--> flying --answer--> over
 *	   ^                 |  ^
 *	   |  session lost,  |  |  answered: sent again (modern), or the server goes on (legacy)
 *	   '--other version--'  '--- asking
 *
 * What may have had an effect is never sent twice: again is only what the upstream has refused to
 * do (another version, another session, other headers, somebody must go elsewhere first), and what
 * it has asked for more to do.
 */

#include "upstream/inside.h"

#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"

struct exchange *
exchange__of(struct node *n)
{
	return n ? CONTAINER_OF(n, struct exchange, node) : NULL;
}

static void
move(struct exchange *x, struct list *to)
{
	if (x->node.list == to)
		return;
	list_remove(&x->node);
	list_push(to, &x->node);
}

static bool
is_ending(const struct exchange *x)
{
	return x->node.list == &x->u->ending;
}

/* ---- the end ---- */

static void
latency_note(struct exchange *x)
{
	struct upstream *u = x->u;
	uint64_t us = clock_mono_us() - x->sent_us;

	u->latency_us[u->latencies++ % LATENCIES] = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static void
exchange_free(struct exchange *x)
{
	json_doc_unref(x->shelf);
	json_doc_unref(x->state_doc);
	json_doc_unref(x->doubted.doc);
	arena_free(x->arena);
}

static void
exchange_quieten(struct exchange *x)
{
	struct loop *l = x->u->set->loop;

	timer_stop(l, &x->quiet);
	timer_stop(l, &x->limit);
	ask__forget(&x->ask);
	plea__end(x);
	plea__free(x->answers);
	x->answers = NULL;
}

/* x->end is filled in. */
static void
exchange_over(void *arg)
{
	struct exchange *x = arg;
	struct upstream *u = x->u;

	exchange_quieten(x);
	defer_cancel(&x->over);
	move(x, &u->ending); /* cancel is a no-op now */
	u->calls++;
	u->failures += x->end.code < 0;
	x->end.sent = x->sent;
	x->end.server = u->spec.name;
	x->spec.over(x, &x->end, x->spec.arg);
	list_remove(&x->node);
	exchange_free(x);
	upstream__busy(u);
	upstream__pump(u);
	upstream_unref(u);
}

void
exchange__fail(struct exchange *x, const struct err *e)
{
	if (is_ending(x))
		return;
	x->end.code = e->code;
	x->end.err = *e;
	exchange_over(x);
}

void
exchange__broke(struct exchange *x, const struct err *e)
{
	x->end.broke = true;
	exchange__fail(x, e);
}

void
exchange__fail_soon(struct exchange *x, int code, const char *text)
{
	if (is_ending(x))
		return;
	x->end.code = err_set(&x->end.err, code, "%s", text);
	exchange_quieten(x);
	move(x, &x->u->ending);
	defer(x->u->set->loop, &x->over, exchange_over, x);
}

static void
give_up(struct exchange *x, const char *reason)
{
	ask__cancel(&x->ask, reason);
	exchange__fail_soon(x, E_CANCELLED, err_row(E_CANCELLED)->sentence);
}

void
exchange_cancel(struct exchange *x)
{
	if (!is_ending(x))
		give_up(x, "cancelled");
}

void
exchange_expire(struct exchange *x)
{
	bool deaf = x->ask.id != 0;

	if (is_ending(x))
		return;
	give_up(x, "timeout");
	if (deaf)
		upstream__timed_out(x->u);
}

/* ---- clocks ---- */

static void
late(struct exchange *x, const char *text)
{
	struct upstream *u = upstream_ref(x->u);
	bool deaf = x->ask.id != 0;
	struct err e;

	err_set(&e, E_TIMEOUT, "%s", text);
	ask__cancel(&x->ask, "timeout");
	exchange__broke(x, &e);
	if (deaf)
		upstream__timed_out(u);
	upstream_unref(u);
}

static void
quiet_too_long(void *arg)
{
	struct exchange *x = arg;

	late(x, x->pleas.len > 0 ? "nobody answered what the server asked"
		: x->sent        ? "the server has not answered in time"
				 : "the server had no time for this in time");
}

static void
limit_reached(void *arg)
{
	late(arg, "the server has not come to an end in time");
}

/* Out of memory there is no clock, and the other one, or the caller's, must do. */
static void
clock_set(struct exchange *x, struct timer *t, uint64_t ms, void (*fire)(void *))
{
	if (ms < UINT_MAX)
		(void)timer_start(x->u->set->loop, t, ms, fire, x);
}

/* A start has its own clock; what waits for it must not give up before. */
static void
wait_begin(struct exchange *x)
{
	uint64_t quiet = x->spec.timeout_ms;

	if (x->u->phase != PHASE_READY && quiet < UINT_MAX)
		quiet += x->u->spec.start_ms;
	clock_set(x, &x->quiet, quiet, quiet_too_long);
}

void
exchange__asking(struct exchange *x)
{
	struct loop *l = x->u->set->loop;
	uint64_t now = loop_now_ms(l);

	if (x->node.list != &x->u->flying)
		return;
	move(x, &x->u->asking);
	x->limit_left_ms = UINT_MAX;
	if (timer_running(&x->limit))
		x->limit_left_ms = x->limit.due_ms > now ? x->limit.due_ms - now : 1;
	timer_stop(l, &x->limit);
	clock_set(x, &x->quiet, LIMIT_UPSTREAM_ASKING_MS, quiet_too_long);
	upstream__pump(x->u); /* its place is free */
}

void
exchange__answered(struct exchange *x)
{
	if (x->node.list != &x->u->asking || x->pleas.len > 0)
		return;
	move(x, &x->u->flying);
	timer_stop(x->u->set->loop, &x->quiet);
	clock_set(x, &x->quiet, x->spec.timeout_ms, quiet_too_long);
	clock_set(x, &x->limit, x->limit_left_ms, limit_reached);
}

/* ---- what comes while it flies ---- */

/* The token is between the upstream and us. */
static struct json_doc *
progress_strip(const struct json *params)
{
	struct buf text = BUF_INIT(LIMIT_JSON_BYTES);
	struct jw w = jw(&text);
	struct json_doc *doc = NULL;
	struct err e;

	jw_object(&w);
	for (struct json_iter it = json_iter(params); json_next(&it);)
		if (!str_is(it.key, META_PROGRESS))
			jw_key_str(&w, it.key), jw_value(&w, it.value);
	jw_end(&w);
	if (buf_failed(&text) || json_parse(buf_str(&text), &json_door, &doc, &e) < 0)
		doc = NULL;
	buf_done(&text);
	return doc;
}

void
exchange__progress(struct exchange *x, const struct json *params)
{
	struct loop *l = x->u->set->loop;

	if (is_ending(x))
		return;
	if (timer_running(&x->quiet) && x->pleas.len == 0)
		clock_set(x, &x->quiet, x->spec.timeout_ms, quiet_too_long);
	if (!x->spec.behind || !faucet__takes(&x->progress, l, LIMIT_UPSTREAM_MESSAGES))
		return;
	struct json_doc *doc = progress_strip(params);
	if (doc)
		behind_progress(x->spec.behind, json_root(doc));
	json_doc_unref(doc);
}

void
exchange__message(struct exchange *x, const struct json *params)
{
	behind_message(x->spec.behind, params);
}

/* ---- the answer ---- */

/* Back to those that wait: the upstream has refused it without doing anything. */
static void
again_later(struct exchange *x)
{
	x->sent = false;
	move(x, &x->u->waiting);
	upstream__pump(x->u);
}

static bool
again_with_new_session(struct exchange *x, const struct reply *r)
{
	struct upstream *u = x->u;

	if (x->resessioned || !upstream__lost_session(u, r))
		return false;
	x->resessioned = true;
	upstream__reladder(u);
	again_later(x);
	return true;
}

/* It waits for what becomes of its session, with the answer it has. */
static bool
waits_for_session(struct exchange *x, const struct reply *r)
{
	if (x->resessioned || !upstream__doubts_session(x->u, r) || !upstream__knock(x->u))
		return false;
	x->resessioned = x->in_doubt = true;
	x->doubted = *r;
	if (r->doc)
		x->doubted.doc = json_doc_ref(r->doc);
	if (r->err) {
		x->end.err = *r->err;
		x->doubted.err = &x->end.err;
	}
	move(x, &x->u->asking);
	return true;
}

static bool
again_with_new_headers(struct exchange *x)
{
	if (x->relisted || x->u->era != ERA_MODERN)
		return false;
	x->relisted = x->relisting = true;
	x->sent = false;
	move(x, &x->u->asking);
	listing__changed(&x->u->listings[LIST_TOOLS]);
	return true;
}

static bool
again_with_other_version(struct exchange *x)
{
	if (x->reladdered || x->u->era != ERA_MODERN)
		return false;
	x->reladdered = true;
	upstream__reladder(x->u);
	again_later(x);
	return true;
}

/* The definition may be another now: its headers are those of the one that counts. */
static void
schema_renew(struct exchange *x)
{
	const struct upstream_tool *t = known__tool(&x->u->known, x->spec.name);

	if (!x->spec.schema || !t || !x->u->known.shelf.doc)
		return;
	json_doc_unref(x->shelf);
	x->shelf = json_doc_ref(x->u->known.shelf.doc);
	x->spec.schema = json_get(t->definition, S("inputSchema"));
}

void
exchange__relisted(struct upstream *u)
{
	LIST_EACH (&u->asking, n) {
		struct exchange *x = exchange__of(n);
		if (!x->relisting)
			continue;
		x->relisting = false;
		schema_renew(x);
		move(x, &u->flying);
		exchange__send(x);
	}
}

/* These describe the hop between the upstream and us: nobody else can do anything about them. */
static void
hop_error(struct exchange *x, int64_t code, const struct json *error)
{
	struct str message = str_utf8_upto(rpc_error_message(error), 300);
	struct err e;

	err_set(&e, E_EXECUTION,
		code == RPC_HEADER
		    ? "the server finds headers and body at odds: %.*s"
		    : "the server speaks no version of the protocol that we do: %.*s",
		STR_ARG(message));
	x->end.refused = true;
	exchange__fail(x, &e);
}

static bool
has_no_time(int status)
{
	return status == 429 || status == 503;
}

static void
answer_error(struct exchange *x, const struct reply *r)
{
	int64_t code = rpc_error_code(r->error);

	if (code == RPC_HEADER && again_with_new_headers(x))
		return;
	if (code == RPC_LEGACY_URL_NEEDED && plea__elsewhere(x, r->doc, r->error))
		return;
	if (code == RPC_VERSION && again_with_other_version(x))
		return;
	if (code == RPC_HEADER || code == RPC_VERSION) {
		hop_error(x, code, r->error);
		return;
	}
	x->end.doc = r->doc;
	x->end.error = r->error;
	x->end.broke = has_no_time(r->status);
	x->end.retry_after_ms = r->retry_after_ms;
	latency_note(x);
	exchange_over(x);
}

static void
answer_result(struct exchange *x, const struct reply *r)
{
	const struct json *type = json_get(r->result, S("resultType"));
	struct err e;
	int rc;

	if (x->u->era == ERA_LEGACY || !type || str_is(json_str(type), "complete")) {
		x->end.doc = r->doc;
		x->end.result = r->result;
		latency_note(x);
		exchange_over(x);
		return;
	}
	if (str_is(json_str(type), "input_required"))
		rc = plea__modern(x, r->doc, r->result, &e);
	else
		rc = err_set(&e, E_EXECUTION, "the server answered with a result of unknown type");
	if (rc < 0)
		exchange__fail(x, &e);
}

/* What a server refuses to us it does not refuse to the client: 401 is not about its token. Nor is
 * an answer that is too large the fault of the arguments. */
static int
code_of(const struct reply *r)
{
	static const int kept[] = {E_TIMEOUT,   E_LIMIT,    E_UNAVAILABLE, E_EXECUTION,
				   E_CANCELLED, E_STOPPING, E_NOMEM};

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (r->code == kept[i])
			return r->code;
	return r->status == 401 || r->status == 403 ? E_UNAVAILABLE : E_EXECUTION;
}

/* Was it the way, and not what was asked? 400 or 401 are the same the next time. */
static bool
is_broken(const struct reply *r)
{
	if (r->code == E_TOO_LARGE)
		return false; /* and so it will be the next time */
	return r->status == 0 || r->status == 408 || has_no_time(r->status) || r->status > 500 ||
	       (r->status / 100 == 2 && r->code == E_UNAVAILABLE);
}

static void
answer_failed(struct exchange *x, const struct reply *r)
{
	struct upstream *u = upstream_ref(x->u);
	bool unsent = r->status == 0 && r->code == E_UNAVAILABLE;
	struct err why = *r->err;

	why.code = code_of(r);
	x->sent &= !unsent;
	x->end.broke = is_broken(r) && why.code != E_STOPPING && why.code != E_NOMEM;
	x->end.retry_after_ms = why.retry_after_ms;
	exchange__fail(x, &why);
	/* Nobody is at home: the next one begins with a new start, or with its back-off. */
	if (unsent && u->phase == PHASE_READY && u->flying.len + u->asking.len == 0)
		upstream__close(u, &why);
	upstream_unref(u);
}

static void
answer_take(struct exchange *x, const struct reply *r)
{
	if (r->code < 0)
		answer_failed(x, r);
	else if (r->error)
		answer_error(x, r);
	else
		answer_result(x, r);
}

static void
answer(struct ask *a, const struct reply *r)
{
	struct exchange *x = CONTAINER_OF(a, struct exchange, ask);

	if (!again_with_new_session(x, r) && !waits_for_session(x, r))
		answer_take(x, r);
}

static struct exchange *
first_in_doubt(const struct upstream *u)
{
	LIST_EACH (&u->asking, n)
		if (exchange__of(n)->in_doubt)
			return exchange__of(n);
	return NULL;
}

void
exchange__knocked(struct upstream *u, bool lost)
{
	struct exchange *x;

	upstream_ref(u);
	while ((x = first_in_doubt(u))) {
		struct json_doc *doc = x->doubted.doc;

		x->in_doubt = false;
		x->doubted.doc = NULL;
		if (lost) {
			again_later(x);
		} else {
			struct reply r = x->doubted;
			r.doc = doc;
			answer_take(x, &r);
		}
		json_doc_unref(doc);
	}
	upstream_unref(u);
}

/* ---- sending ---- */

static void
params_write(struct jw *w, void *arg)
{
	struct exchange *x = arg;

	if (x->spec.params)
		x->spec.params(w, x->spec.arg);
	if (x->answers)
		jw_key(w, "inputResponses"), plea__write_responses(w, x->answers);
	if (x->state)
		jw_key(w, "requestState"), jw_value(w, x->state);
}

/* Answers and state belong to this one request: they never leak into another. */
static void
answers_forget(struct exchange *x)
{
	plea__free(x->answers);
	x->answers = NULL;
	json_doc_unref(x->state_doc);
	x->state_doc = NULL;
	x->state = NULL;
}

/* While it waited the server may have been started, and say now that it is another. NULL: no. */
static const char *
tool_is_another(const struct exchange *x)
{
	const struct upstream_tool *t;

	if (!x->pin[0])
		return NULL;
	if (!(t = known__tool(&x->u->known, x->spec.name)))
		return "the server no longer has this tool";
	if (t->changed || strcmp(t->pin, x->pin) != 0)
		return "this tool is no longer what was accepted: its definition has changed, and "
		       "a person has to look at it first (holdfast pins)";
	return NULL;
}

void
exchange__send(struct exchange *x)
{
	struct upstream *u = x->u;
	const char *another = tool_is_another(x);
	struct ask_spec s = {
	    .method = x->spec.method,
	    .params = params_write,
	    .arg = x,
	    .name = x->spec.name,
	    .schema = x->spec.schema,
	    .arguments = x->spec.arguments,
	    .behind = x->spec.behind,
	    .tracked = x->spec.behind != NULL,
	    .era = u->era,
	};
	struct err e;

	if (another) {
		exchange__fail_soon(x, E_CHANGED, another);
		return;
	}
	upstream__tell_level(u, x->spec.behind);
	x->ask.x = x;
	x->ask.answer = answer;
	int rc = ask__send(u, &x->ask, &s, &e);
	answers_forget(x);
	if (rc < 0) {
		exchange__fail_soon(x, rc, e.text);
		return;
	}
	move(x, &u->flying);
	x->sent = true;
	x->sent_us = clock_mono_us();
	clock_set(x, &x->quiet, x->spec.timeout_ms, quiet_too_long);
	behind_begun(x->spec.behind);
}

void
exchange__inherit(struct upstream *u, struct upstream *from)
{
	while (from->waiting.len > 0) {
		struct exchange *x = exchange__of(list_first(&from->waiting));

		move(x, &u->waiting);
		x->u = upstream_ref(u);
		upstream_unref(from);
	}
}

/* ---- the start ---- */

/* Method, name and so on behind each other. */
static int
texts_copy(struct exchange *x)
{
	struct str *texts[] = {&x->spec.method, &x->spec.name, &x->spec.group, &x->spec.about};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i]->ptr && !(*texts[i] = arena_str(x->arena, *texts[i])).ptr)
			return E_NOMEM;
	return 0;
}

static struct exchange *
exchange_new(struct upstream *u, const struct exchange_spec *spec)
{
	struct arena *arena = arena_new(LIMIT_UPSTREAM_ASK_ARENA);
	struct exchange *x = arena ? ARENA_NEW_UPTO(arena, struct exchange, end.err) : NULL;

	if (!x) {
		arena_free(arena);
		return NULL;
	}
	err_none(&x->end.err);
	x->arena = arena;
	x->spec = *spec;
	if (spec->pin) /* the rest is zeroed */
		memcpy(x->pin, spec->pin, strnlen(spec->pin, sizeof(x->pin) - 1));
	if (texts_copy(x) < 0) {
		arena_free(arena);
		return NULL;
	}
	if (!x->spec.timeout_ms)
		x->spec.timeout_ms = u->spec.timeout_ms;
	if (!x->spec.max_ms)
		x->spec.max_ms = u->spec.max_ms;
	x->u = upstream_ref(u);
	x->shelf = u->known.shelf.doc ? json_doc_ref(u->known.shelf.doc) : NULL;
	list_init(&x->pleas);
	return x;
}

int
exchange_start(struct upstream *u, const struct exchange_spec *spec, struct exchange **ret,
	       struct err *e)
{
	int rc = upstream__takes(u, e);
	struct exchange *x = rc == 0 ? exchange_new(u, spec) : NULL;

	if (rc < 0)
		return rc;
	if (!x)
		return err_plain(e, E_NOMEM);
	list_push(&u->waiting, &x->node);
	clock_set(x, &x->limit, x->spec.max_ms, limit_reached);
	*ret = x;
	if (u->phase == PHASE_READY && u->waiting.len == 1 && upstream__has_place(u)) {
		exchange__send(x);
		return 0;
	}
	wait_begin(x);
	upstream__pump(u);
	return 0;
}
