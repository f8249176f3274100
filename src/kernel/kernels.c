/* kernels.c - envelopes of sessions, one after the other, and what the pipeline runs for them. */

#include "kernel/kernels.h"

#include <stdlib.h>

#include "base/clock.h"

struct kernel_ask {
	struct buf envelope;
	bool attended;
	kernel_answer_fn done; /* NULL: nobody waits */
	void *arg;
	struct node node;
};

/* A kernel and its session. */
struct seat {
	struct kernels *kernels;
	struct session *session; /* NULL: it has ended */
	struct id id;            /* the session's */
	struct session_end end;
	struct kernel *kernel;
	struct list waiting;        /* struct kernel_ask */
	struct kernel_ask *running; /* in the pipeline, or NULL */
	bool answering;
	struct deferred next;
};

struct kernels {
	struct gateway *gw;
	struct map seats; /* by session id */
	struct kernels_rules rules;
	struct kernel_index *standard; /* made with the first session that needs it */
};

struct kernels *
kernels_new(struct gateway *gw)
{
	struct kernels *ks = calloc(1, sizeof(*ks));

	if (!ks)
		return NULL;
	ks->gw = gw;
	map_init(&ks->seats, LIMIT_KERNELS);
	return ks;
}

void
kernels_free(struct kernels *ks)
{
	if (!ks)
		return;
	CHECK(ks->seats.len == 0);
	map_done(&ks->seats);
	kernel_index_unref(ks->rules.index);
	kernel_index_unref(ks->standard);
	free(ks);
}

void
kernels_rule(struct kernels *ks, const struct kernels_rules *rules)
{
	struct kernel_index *old = ks->rules.index;

	ks->rules = *rules;
	if (rules->index)
		kernel_index_ref(rules->index);
	kernel_index_unref(old);
	kernel_index_unref(ks->standard); /* its namespaces may be others now */
	ks->standard = NULL;
}

/* ---- seats ---- */

static void
answer(struct kernel_ask *ask, const struct emission *emission)
{
	list_remove(&ask->node);
	if (ask->done)
		ask->done(emission, ask->arg);
	buf_done(&ask->envelope);
	free(ask);
}

static void
seat_free(struct seat *seat)
{
	defer_cancel(&seat->next);
	LIST_EACH (&seat->waiting, at)
		answer(CONTAINER_OF(at, struct kernel_ask, node), NULL);
	kernel_free(seat->kernel);
	free(seat);
}

/* What runs for it in the pipeline has been cancelled, and ends later. */
static void
session_over(struct session_end *end)
{
	struct seat *seat = CONTAINER_OF(end, struct seat, end);

	map_remove(&seat->kernels->seats, id_str(&seat->id));
	seat->session = NULL;
	if (!seat->running && !seat->answering)
		seat_free(seat);
}

static struct seat *
seat_find(const struct kernels *ks, const struct session *s)
{
	return map_find(&ks->seats, id_str(&s->id));
}

static struct index_rules
rules_of(const struct kernels *ks)
{
	return (struct index_rules){ks->rules.namespaces, ks->rules.namespace_count};
}

static int
standard_index(struct kernels *ks, struct kernel_index **ret, struct err *e)
{
	struct index_rules rules = rules_of(ks);
	struct json_doc *bundle;
	int code;

	if (!ks->standard) {
		if ((code = bundle_standard(&bundle, e)) < 0)
			return code;
		code = kernel_index_new(bundle, &rules, &ks->standard, e);
		json_doc_unref(bundle);
		if (code < 0)
			return code;
	}
	*ret = kernel_index_ref(ks->standard);
	return 0;
}

static int
choose_index(struct kernels *ks, struct json_doc *bundle, struct kernel_index **ret, struct err *e)
{
	struct index_rules rules = rules_of(ks);

	if (bundle && ks->rules.index)
		return err_set(e, E_FORBIDDEN,
			       "the configuration has an index: there is no other here");
	if (bundle)
		return kernel_index_new(bundle, &rules, ret, e);
	if (!ks->rules.index)
		return standard_index(ks, ret, e);
	*ret = kernel_index_ref(ks->rules.index);
	return 0;
}

static int
seat_new(struct kernels *ks, struct session *s, struct kernel_index *index,
	 const struct json *state, struct seat **ret, struct err *e)
{
	struct seat *seat = calloc(1, sizeof(*seat));
	struct kernel_spec spec = {.index = index, .state = state};
	int code;

	if (!seat)
		return err_plain(e, E_NOMEM);
	*seat = (struct seat){.kernels = ks, .session = s, .id = s->id, .end.ended = session_over};
	list_init(&seat->waiting);
	if ((code = kernel_new(&spec, &seat->kernel, e)) == 0 &&
	    (code = map_put(&ks->seats, id_str(&seat->id), seat)) < 0)
		err_set(e, code, "too many sessions have a kernel");
	if (code < 0) {
		seat_free(seat);
		return code;
	}
	list_push(&s->at_end, &seat->end.node);
	*ret = seat;
	return 0;
}

static int
open_seat(struct kernels *ks, struct session *s, struct json_doc *bundle, const struct json *state,
	  struct seat **ret, struct err *e)
{
	struct kernel_index *index;
	int code = choose_index(ks, bundle, &index, e);

	if (code < 0)
		return code;
	code = seat_new(ks, s, index, state, ret, e);
	kernel_index_unref(index);
	return code;
}

int
kernels_open(struct kernels *ks, struct session *s, struct json_doc *bundle,
	     const struct json *state, struct err *e)
{
	struct seat *seat;

	if (seat_find(ks, s))
		return err_set(e, E_EXISTS,
			       "this session has a kernel already; its index and state stay");
	return open_seat(ks, s, bundle, state, &seat, e);
}

/* ---- orders ---- */

/* All text of a result, or what stands in it as an object. */
static void
result_object(struct buf *out, const struct json *content, const struct json *extra)
{
	const struct json *structured = json_get(extra, S("structuredContent"));
	struct buf text = BUF_INIT(LIMIT_RESULT_BYTES);
	struct jw w = jw(out);

	if (json_is(structured, JSON_OBJECT)) {
		jw_value(&w, structured);
		return;
	}
	for (struct json_iter it = json_iter(content); json_next(&it);)
		if (str_is(json_str(json_get(it.value, S("type"))), "text"))
			buf_add(&text, json_str(json_get(it.value, S("text"))));
	jw_object(&w);
	jw_member(&w, "text", buf_str(&text));
	jw_end(&w);
	out->failed |= buf_failed(&text);
	buf_done(&text);
}

static struct json_doc *
parse_around(char open, const struct buf *inside, char close)
{
	struct buf text = BUF_INIT(2 * LIMIT_RESULT_BYTES);
	struct json_doc *doc = NULL;

	buf_addc(&text, open);
	buf_add(&text, buf_str(inside));
	buf_addc(&text, close);
	if (!buf_failed(&text))
		(void)json_parse(buf_str(&text), &(struct json_limits){text.max, LIMIT_JSON_DEPTH},
				 &doc, NULL);
	buf_done(&text);
	return doc;
}

static struct str
first_text(const struct json *content)
{
	return json_str(json_get(json_at(content, 0), S("text")));
}

static void
settle(struct seat *seat, const struct turn_result *r, struct emission *ret)
{
	struct json_doc *content = parse_around('[', &r->content, ']');
	struct json_doc *extra = parse_around('{', &r->extra, '}');
	struct buf result = BUF_INIT(2 * LIMIT_RESULT_BYTES);
	struct kernel_outcome came = {0};

	if (!content || !extra) {
		came = (struct kernel_outcome){.error = E_EXECUTION,
					       .reason = S("the result cannot be read")};
	} else if (r->is_error) {
		came.error = r->code < 0 ? r->code : E_EXECUTION;
		came.reason = first_text(json_root(content));
	} else {
		result_object(&result, json_root(content), json_root(extra));
		came.result = buf_str(&result);
		if (buf_failed(&result))
			came = (struct kernel_outcome){.error = E_TOO_LARGE,
						       .reason = S("the result is too large")};
	}
	kernel_settle(seat->kernel, &came, ret);
	buf_done(&result);
	json_doc_unref(content);
	json_doc_unref(extra);
}

static void go_on(struct seat *seat);
static void seat_answer(struct seat *seat, struct kernel_ask *ask, const struct emission *emission);

static void
turn_over(struct turn *t, void *arg)
{
	struct seat *seat = arg;
	struct kernel_ask *ask = seat->running;
	struct emission emission;

	settle(seat, &t->results[0], &emission);
	seat->running = NULL;
	seat_answer(seat, ask, &emission);
}

/* True: it is in the pipeline. */
static bool
submit(struct seat *seat, const struct kernel_ask *ask, const struct kernel_order *order,
       struct emission *ret)
{
	struct call_spec call = {.tool = order->tool,
				 .input_doc = order->input_doc,
				 .input = order->input,
				 .showing = SHOW_WHOLE};
	struct turn_spec spec = {
	    .calls = &call, .count = 1, .attended = ask->attended, .done = turn_over, .arg = seat};
	struct turn *turn;
	struct err e;

	if (gateway_submit(seat->kernels->gw, seat->session, &spec, &turn, &e) == 0)
		return true;
	struct kernel_outcome came = {.error = e.code, .reason = str_of(err_text(&e))};
	kernel_settle(seat->kernel, &came, ret);
	return false;
}

static void
take_next(void *arg)
{
	struct seat *seat = arg;
	struct kernel_ask *ask = CONTAINER_OF(list_first(&seat->waiting), struct kernel_ask, node);
	struct kernel_order order;
	struct emission emission;

	list_remove(&ask->node);
	if (!kernel_take(seat->kernel, buf_str(&ask->envelope), &emission, &order) &&
	    submit(seat, ask, &order, &emission)) {
		seat->running = ask;
		return;
	}
	seat_answer(seat, ask, &emission);
}

static void
go_on(struct seat *seat)
{
	if (!seat->running && seat->waiting.len > 0)
		defer(seat->kernels->gw->loop, &seat->next, take_next, seat);
}

/* Whoever gets the answer may end the session, and still read it. */
static void
seat_answer(struct seat *seat, struct kernel_ask *ask, const struct emission *emission)
{
	seat->answering = true;
	answer(ask, emission);
	seat->answering = false;
	if (seat->session)
		go_on(seat);
	else
		seat_free(seat);
}

/* ---- asking ---- */

int
kernels_ask(struct kernels *ks, struct session *s, struct str envelope, bool attended,
	    kernel_answer_fn done, void *arg, struct kernel_ask **ret, struct err *e)
{
	struct seat *seat = seat_find(ks, s);
	int code;

	if (s->ended)
		return err_plain(e, E_SESSION_ENDED);
	if (!seat && (code = open_seat(ks, s, NULL, NULL, &seat, e)) < 0)
		return code;
	if (seat->waiting.len >= LIMIT_KERNEL_WAITING)
		return err_set(e, E_LIMIT, "too many envelopes of this session are waiting");
	struct kernel_ask *ask = calloc(1, sizeof(*ask));
	if (!ask)
		return err_plain(e, E_NOMEM);
	*ask = (struct kernel_ask){.attended = attended, .done = done, .arg = arg};
	/* Of one that is too large enough to see that it is. */
	buf_init(&ask->envelope, LIMIT_KERNEL_ENVELOPE + 64);
	buf_add(&ask->envelope, str_upto(envelope, LIMIT_KERNEL_ENVELOPE + 1));
	if (buf_failed(&ask->envelope)) {
		buf_done(&ask->envelope);
		free(ask);
		return err_plain(e, E_NOMEM);
	}
	list_push(&seat->waiting, &ask->node);
	s->used_ms = clock_mono_ms();
	go_on(seat);
	if (ret)
		*ret = ask;
	return 0;
}

void
kernel_ask_orphan(struct kernel_ask *ask)
{
	ask->done = NULL;
}

bool
kernels_write(struct jw *w, const struct kernels *ks, const struct session *s)
{
	const struct seat *seat = seat_find(ks, s);

	if (!seat)
		return false;
	jw_object(w);
	jw_member_z(w, "session_id", seat->id.text);
	index_write(w, kernel_index(seat->kernel));
	jw_key(w, "state");
	state_write(w, kernel_state(seat->kernel));
	jw_member_int(w, "waiting", (int64_t)seat->waiting.len + (seat->running != NULL));
	jw_end(w);
	return true;
}
