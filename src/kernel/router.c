/* router.c - START HERE: the steps of an envelope, in the order of the document. */

#include "kernel/router.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kernel/caps.h"
#include "kernel/envelope.h"
#include "kernel/replay.h"
#include "kernel/tool.h"

#define REASON_BYTES (4 * LIMIT_KERNEL_REASON)

struct kernel {
	struct kernel_index *index;
	struct kernel_state state;
	struct kernel_clock clock;
	struct replays replays;

	/* the envelope that is on its way */
	bool open;
	uint64_t since_us; /* monotonic */
	char now[KERNEL_TIME];
	struct envelope envelope;
	const struct index_entry *entry; /* NULL: not found yet */
	unsigned char digest[SHA256_BYTES];
	bool digested; /* what leaves is to be remembered */
	const struct replay *replayed;
	const char *code; /* E_...: why it failed; NULL: it has not */
	struct buf reason;
	struct buf trace; /* JSON strings, comma-separated */
	size_t frames;
	struct buf result; /* JSON */
	struct effects fx;

	struct buf out; /* the emission */
	struct buf scratch;
};

enum step { STEP_NEXT, STEP_FAIL, STEP_REPLAY, STEP_ORDER };

/* ---- telling ---- */

static enum step PRINTF_LIKE(3, 4) fail(struct kernel *k, const char *code, const char *fmt, ...)
{
	va_list ap;

	buf_reset(&k->reason);
	va_start(ap, fmt);
	buf_vaddf(&k->reason, fmt, ap);
	va_end(ap);
	k->code = code;
	return STEP_FAIL;
}

/* For failures that errors.def has a name for. */
static enum step
fail_err(struct kernel *k, const char *where, const struct err *e)
{
	return fail(k, err_row(e->code)->kernel, "%s%s", where, err_text(e));
}

/* Why a value does not fit, in one line. */
static enum step
fail_misfit(struct kernel *k, const char *code, const char *where, const struct schema *s,
	    const struct json *v)
{
	struct buf lines = BUF_INIT(LIMIT_SCHEMA_TEXT);
	struct str first = S("does not fit"), rest;

	(void)schema_validate(s, v, SCHEMA_LINES, &lines);
	rest = buf_str(&lines);
	(void)str_split(&rest, '\n', &first);
	fail(k, code, "%s: %.*s", where, STR_ARG(str_utf8_upto(first, LIMIT_KERNEL_REASON)));
	buf_done(&lines);
	return STEP_FAIL;
}

/* A frame of the trace, for whoever asked for it. */
static void PRINTF_LIKE(2, 3) frame(struct kernel *k, const char *fmt, ...)
{
	struct buf text = BUF_INIT(1 * KIB);
	va_list ap;

	if (!k->envelope.trace || k->frames == LIMIT_KERNEL_TRACE)
		return;
	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	if (k->frames++)
		buf_addc(&k->trace, ',');
	json_quote(&k->trace, buf_str(&text));
	buf_done(&text);
}

/* ---- the steps ---- */

static enum step
step_namespace(struct kernel *k)
{
	if (!index_allows(k->index, k->envelope.ns))
		return fail(k, "E_NAMESPACE", "namespace '%.*s' not allowed",
			    STR_ARG(str_upto(k->envelope.ns, 200)));
	return STEP_NEXT;
}

static enum step
step_index(struct kernel *k)
{
	k->entry = index_find(k->index, k->envelope.id);
	if (!k->entry)
		return fail(k, "E_TOOL", "tool '%.*s' is not in the index",
			    STR_ARG(str_upto(k->envelope.id, 200)));
	if (k->entry->disabled)
		return fail(k, "E_DISABLED", "tool '%.*s' is disabled", STR_ARG(k->envelope.id));
	return STEP_NEXT;
}

static enum step
step_caps(struct kernel *k)
{
	struct err e;

	return caps_check(k->envelope.payload, &e) < 0 ? fail_err(k, "", &e) : STEP_NEXT;
}

static enum step
step_payload(struct kernel *k)
{
	const struct index_entry *entry = k->entry;
	const struct json *payload = k->envelope.payload;

	if (!schema_fits(entry->payload->schema, payload))
		return fail_misfit(k, "E_PAYLOAD", "payload", entry->payload->schema, payload);
	if (entry->validated && !schema_fits(entry->validator_payload->schema, payload))
		return fail_misfit(k, "E_PAYLOAD", "validator", entry->validator_payload->schema,
				   payload);
	return STEP_NEXT;
}

static enum step
step_preconditions(struct kernel *k)
{
	for (size_t i = 0; i < k->entry->condition_count; i++) {
		const struct condition *c = &k->entry->conditions[i];
		if (condition_holds(c, &k->state))
			continue;
		buf_reset(&k->scratch);
		condition_write(&k->scratch, c);
		return fail(k, "E_PRECONDITION", "precondition not met: %.*s",
			    STR_ARG(buf_str(&k->scratch)));
	}
	return STEP_NEXT;
}

static enum step
step_idempotency(struct kernel *k)
{
	struct err e;

	if (!k->envelope.request_id.ptr)
		return STEP_NEXT;
	if (envelope_digest(&k->envelope, &k->scratch, k->digest, &e) < 0)
		return fail_err(k, "", &e);
	k->replayed = replay_find(&k->replays, k->envelope.request_id);
	if (!k->replayed) {
		k->digested = true;
		return STEP_NEXT;
	}
	if (memcmp(k->replayed->digest, k->digest, SHA256_BYTES) == 0)
		return STEP_REPLAY;
	k->replayed = NULL;
	return fail(k, "E_INVARIANT", "request_id_reuse_mismatch");
}

/* Behind idempotency: to say again what was said needs no room. */
static enum step
step_quota(struct kernel *k)
{
	if (k->entry->quota && state_ledger_full(&k->state))
		return fail(k, "E_QUOTA", "ledger_append: the ledger has %zu entries of %d",
			    k->state.ledger_len, LIMIT_KERNEL_LEDGER);
	return STEP_NEXT;
}

static enum step
step_execute(struct kernel *k)
{
	struct jw w = jw(&k->result);
	struct tool_run run = {.state = &k->state,
			       .payload = k->envelope.payload,
			       .now = k->now,
			       .w = &w,
			       .fx = &k->fx};

	if (!k->entry->own)
		return STEP_ORDER;
	jw_object(&w);
	k->entry->own->run(&run);
	jw_end(&w);
	if (buf_failed(&k->result) || buf_failed(&k->fx.meta))
		return fail(k, "E_INVARIANT", "the result is larger than the limit");
	return STEP_NEXT;
}

/* Names are what the trace says. */
static const struct {
	const char *name;
	enum step (*run)(struct kernel *k);
} steps[] = {
    {"namespace", step_namespace},
    {"index", step_index},
    {"caps", step_caps},
    {"payload", step_payload},
    {"preconditions", step_preconditions},
    {"idempotency", step_idempotency},
    {"quota", step_quota},
    {"execute", step_execute},
};

/* ---- what came out ---- */

static void
write_emission(struct kernel *k)
{
	struct jw w = jw(&k->out);

	buf_reset(&k->out);
	jw_object(&w);
	jw_key(&w, k->code ? "tool.error" : "tool.emit");
	jw_object(&w);
	jw_member(&w, "id", k->envelope.id);
	jw_member_bool(&w, "ok", !k->code);
	if (k->code) {
		jw_member_z(&w, "code", k->code);
		jw_member(&w, "reason", chars_upto(buf_str(&k->reason), LIMIT_KERNEL_REASON));
	} else {
		jw_key(&w, "result");
		jw_raw(&w, buf_str(&k->result));
	}
	if (k->frames) {
		jw_key(&w, "trace");
		buf_addc(&k->out, '[');
		jw_raw(&w, buf_str(&k->trace));
		buf_addc(&k->out, ']');
	}
	jw_end(&w);
	jw_end(&w);
}

static void
write_halt(struct kernel *k, const char *code)
{
	struct jw w = jw(&k->out);

	buf_reset(&k->out);
	jw_object(&w);
	jw_key(&w, "kernel.error");
	jw_object(&w);
	jw_member_z(&w, "code", code);
	jw_end(&w);
	jw_end(&w);
}

/* The tool's own validator, held to its schema too. */
static bool
passes_validator(struct kernel *k, const struct json *result)
{
	const struct index_entry *entry = k->entry;
	struct buf b = BUF_INIT(LIMIT_KERNEL_EMISSION), list = BUF_INIT(LIMIT_KERNEL_EMISSION);
	struct jw w = jw(&list);
	struct json_doc *doc = NULL;
	struct err e;

	jw_array(&w);
	entry->own->validate(&w, k->envelope.payload, result);
	jw_end(&w);
	bool fine = str_is(buf_str(&list), "[]");
	buf_addf(&b, "{\"ok\":%s,\"violations\":%.*s}", fine ? "true" : "false",
		 STR_ARG(buf_str(&list)));
	if (buf_failed(&b) || buf_failed(&list) ||
	    json_parse(buf_str(&b), &json_door, &doc, &e) < 0 ||
	    !schema_fits(entry->validator_result->schema, json_root(doc)))
		fine = false;
	if (!fine)
		fail(k, "E_INVARIANT", "validator: %.*s", STR_ARG(str_utf8_upto(buf_str(&b), 400)));
	json_doc_unref(doc);
	buf_done(&b);
	buf_done(&list);
	return fine;
}

/* The emission as it would leave, against both schemas. */
static bool
emission_fits(struct kernel *k)
{
	struct json_doc *doc = NULL;
	struct err e;

	if (buf_failed(&k->out)) {
		fail(k, "E_INVARIANT", "the emission is larger than %zu bytes",
		     LIMIT_KERNEL_EMISSION);
		return false;
	}
	if (json_parse(buf_str(&k->out), &json_door, &doc, &e) < 0) {
		fail(k, "E_INVARIANT", "result: %s", err_text(&e));
		return false;
	}
	const struct json *result = json_get(json_get(json_root(doc), S("tool.emit")), S("result"));
	bool fits = true;
	if (!k->code && !schema_fits(k->entry->result->schema, result)) {
		fail_misfit(k, "E_INVARIANT", "result", k->entry->result->schema, result);
		fits = false;
	} else if (!k->code && k->entry->validated) {
		fits = passes_validator(k, result);
	}
	if (fits && !schema_fits(k->index->emission, json_root(doc))) {
		fail_misfit(k, "E_INVARIANT", "emission", k->index->emission, json_root(doc));
		fits = false;
	}
	json_doc_unref(doc);
	return fits;
}

/* An error is what is left when the result cannot leave, and this when not even that can. */
static void
write_checked(struct kernel *k)
{
	write_emission(k);
	if (emission_fits(k))
		return;
	k->fx.enters = k->fx.contains = k->fx.scanned = k->fx.moved = false;
	write_emission(k);
	if (emission_fits(k))
		return;
	k->frames = 0;
	buf_reset(&k->trace);
	k->envelope.id = S("");
	fail(k, "E_INVARIANT", "out of memory");
	write_emission(k);
	if (buf_failed(&k->out)) {
		static const char last[] = "{\"tool.error\":{\"id\":\"\",\"ok\":false,\"code\":"
					   "\"E_INVARIANT\",\"reason\":\"out of memory\"}}";
		buf_reset(&k->out);
		buf_addz(&k->out, last);
	}
}

/* ---- before it leaves ---- */

/* What a move came to is referred to by its digest. */
static void
note_move(struct kernel *k)
{
	char digest[DIGEST_TEXT];

	digest_bytes(buf_str(&k->result), digest);
	k->fx.moved = true;
	snprintf(k->fx.move.id, sizeof(k->fx.move.id), "%.*s", STR_ARG(k->envelope.id));
	snprintf(k->fx.move.ref, sizeof(k->fx.move.ref), "sha256:%s", digest);
}

/* A breach is entered where there is room; there is nobody left to be refused for it. */
static void
enter_breach(struct kernel *k, const struct latency *l)
{
	struct effects fx = {.meta = BUF_INIT(1 * KIB)};

	latency_enter(l, &fx);
	(void)state_apply(&k->state, &fx, k->now, NULL);
	buf_done(&fx.meta);
}

static struct latency
check_latency(struct kernel *k)
{
	uint64_t now = k->state.clock[0] ? k->since_us : k->clock.mono_us(k->clock.arg);
	bool heavy = k->entry && k->entry->heavy && !k->replayed && !k->code;

	return latency_check(k->state.mode, now > k->since_us ? now - k->since_us : 0, heavy);
}

static void
trace_latency(struct kernel *k, const struct latency *l)
{
	if (l->status == LATENCY_WARNING)
		frame(k, "[LATENCY WARNING] %s: %.3f s, ceiling %u s", l->code,
		      (double)l->observed_us / 1e6, l->ceiling_s);
	else
		frame(k, "latency: ok");
}

/* What is said for the first time, and what becomes of the state by it. */
static void
make_emission(struct kernel *k, const struct latency *l)
{
	struct err e;

	if (l->status == LATENCY_ERROR) {
		write_halt(k, l->code);
		return;
	}
	trace_latency(k, l);
	if (!k->code && k->entry->own && k->entry->own->moves)
		note_move(k);
	write_checked(k);
	if (!k->code && state_apply(&k->state, &k->fx, k->now, &e) < 0) {
		fail_err(k, "", &e);
		write_checked(k);
	}
}

static void
close_envelope(struct kernel *k)
{
	envelope_done(&k->envelope);
	k->open = false;
}

static void
finish(struct kernel *k, struct emission *ret)
{
	struct latency l = check_latency(k);

	*ret = (struct emission){.latency = l};
	if (!k->replayed) {
		make_emission(k, &l);
		ret->ok = !k->code && l.status != LATENCY_ERROR;
	} else if (l.status == LATENCY_ERROR) {
		write_halt(k, l.code);
	} else {
		buf_reset(&k->out);
		buf_add(&k->out, buf_str(&k->replayed->emission));
		ret->ok = k->replayed->ok;
	}
	if (l.breach)
		enter_breach(k, &l);
	if (k->digested)
		(void)replay_put(&k->replays, k->envelope.request_id, k->digest, buf_str(&k->out),
				 ret->ok);
	ret->text = buf_str(&k->out);
	close_envelope(k);
}

/* ---- one envelope ---- */

static int64_t
system_wall(void *arg)
{
	(void)arg;
	return clock_wall_us();
}

static uint64_t
system_mono(void *arg)
{
	(void)arg;
	return clock_mono_us();
}

static const struct kernel_clock system_clock = {system_wall, system_mono, NULL};

static void
begin(struct kernel *k)
{
	CHECK(!k->open);
	k->open = true;
	if (k->state.clock[0]) {
		memcpy(k->now, k->state.clock, sizeof(k->now));
	} else {
		k->since_us = k->clock.mono_us(k->clock.arg);
		clock_text(k->clock.wall_us(k->clock.arg), k->now);
	}
	k->entry = NULL;
	k->digested = false;
	k->replayed = NULL;
	k->code = NULL;
	k->frames = 0;
	buf_reset(&k->reason);
	buf_reset(&k->trace);
	buf_reset(&k->result);
	struct buf meta = k->fx.meta;
	buf_reset(&meta);
	k->fx = (struct effects){.meta = meta};
}

static enum step
walk(struct kernel *k, struct str text)
{
	enum step verdict = STEP_NEXT;
	struct err e;

	if (envelope_read(k->index, text, &k->envelope, &e) < 0)
		return fail_err(k, "", &e);
	frame(k, "envelope: ok");
	for (size_t i = 0; verdict == STEP_NEXT && i < ARRAY_LEN(steps); i++) {
		verdict = steps[i].run(k);
		if (verdict == STEP_FAIL)
			frame(k, "%s: %s", steps[i].name, k->code);
		else
			frame(k, "%s: ok", steps[i].name);
	}
	return verdict;
}

bool
kernel_take(struct kernel *k, struct str envelope, struct emission *ret, struct kernel_order *order)
{
	begin(k);
	if (walk(k, envelope) == STEP_ORDER) {
		*order =
		    (struct kernel_order){k->entry->tool, k->envelope.doc, k->envelope.payload};
		return false;
	}
	finish(k, ret);
	return true;
}

void
kernel_settle(struct kernel *k, const struct kernel_outcome *came, struct emission *ret)
{
	CHECK(k->open && k->entry && !k->entry->own);
	if (came->error < 0) {
		fail(k, err_row(came->error)->kernel, "%.*s",
		     STR_ARG(str_utf8_upto(came->reason, REASON_BYTES / 2)));
		frame(k, "pipeline: %s", k->code);
	} else {
		buf_add(&k->result, came->result);
		if (buf_failed(&k->result))
			fail(k, "E_INVARIANT", "the result is larger than %zu bytes",
			     LIMIT_KERNEL_EMISSION);
	}
	finish(k, ret);
}

/* ---- life ---- */

static int
read_state(struct kernel *k, const struct json *state, struct err *e)
{
	struct buf lines = BUF_INIT(LIMIT_SCHEMA_TEXT);
	struct str rest, first = S("does not fit");
	int code = 0;

	if (!state)
		return 0;
	if (schema_validate(k->index->state, state, SCHEMA_LINES, &lines) < 0) {
		rest = buf_str(&lines);
		(void)str_split(&rest, '\n', &first);
		code = err_set(e, E_VALIDATION, "state: %.*s", STR_ARG(str_utf8_upto(first, 400)));
	}
	buf_done(&lines);
	return code < 0 ? code : state_read(state, &k->state, e);
}

int
kernel_new(const struct kernel_spec *spec, struct kernel **ret, struct err *e)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return err_plain(e, E_NOMEM);
	k->index = kernel_index_ref(spec->index);
	k->clock = spec->clock ? *spec->clock : system_clock;
	state_init(&k->state);
	replays_init(&k->replays);
	buf_init(&k->reason, REASON_BYTES);
	buf_init(&k->trace, LIMIT_KERNEL_EMISSION);
	buf_init(&k->result, LIMIT_KERNEL_EMISSION);
	buf_init(&k->out, LIMIT_KERNEL_EMISSION);
	buf_init(&k->scratch, LIMIT_KERNEL_EMISSION);
	buf_init(&k->fx.meta, LIMIT_KERNEL_EMISSION);
	int code = read_state(k, spec->state, e);
	if (code < 0) {
		kernel_free(k);
		return code;
	}
	*ret = k;
	return 0;
}

void
kernel_free(struct kernel *k)
{
	if (!k)
		return;
	envelope_done(&k->envelope);
	replays_done(&k->replays);
	state_done(&k->state);
	buf_done(&k->reason);
	buf_done(&k->trace);
	buf_done(&k->result);
	buf_done(&k->out);
	buf_done(&k->scratch);
	buf_done(&k->fx.meta);
	kernel_index_unref(k->index);
	free(k);
}

const struct kernel_state *
kernel_state(const struct kernel *k)
{
	return &k->state;
}

const struct kernel_index *
kernel_index(const struct kernel *k)
{
	return k->index;
}
