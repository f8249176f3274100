/*
 * claim.c - what a call asks of the claims, and their answer; what came of it, for the ledger.
 *
 * Nothing that changes the world begins before the ledger holds that it does. The claims answer in
 * their own time, and a look may have lost its call by then: it frees itself. What was taken is
 * always waited for, so that it is settled by whoever took it.
 */

#include <stdlib.h>

#include "base/clock.h"
#include "base/crash_at.h"
#include "base/log.h"
#include "call/stage.h"
#include "policy/effect.h"
#include "effect/emission.h"
#include "effect/ledger.h"

struct claim {
	struct call *call; /* NULL once it has left */
	bool answered;
	struct err err;
	struct claim_found found; /* texts in `texts` */
	struct buf texts;
};

static void
claim_free(struct claim *m)
{
	buf_done(&m->texts);
	free(m);
}

/* What was found is valid inside the answer only. */
static void
found_copy(struct claim *m, const struct claim_found *from)
{
	const struct str in[] = {from->digest, from->owner, from->effect, from->result};
	struct claim_found *f = &m->found;
	struct str *const to[] = {&f->digest, &f->owner, &f->effect, &f->result};
	size_t at = 0;

	*f = *from;
	for (size_t i = 0; i < ARRAY_LEN(in); i++)
		buf_add(&m->texts, in[i]);
	if (buf_failed(&m->texts)) {
		err_plain(&m->err, E_NOMEM);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(in); i++) {
		*to[i] =
		    in[i].ptr ? (struct str){m->texts.ptr + at, in[i].len} : (struct str){NULL, 0};
		at += in[i].len;
	}
}

static void
answered(const struct err *e, const struct claim_found *found, void *arg)
{
	struct claim *m = arg;

	if (!m->call) {
		claim_free(m);
		return;
	}
	m->answered = true;
	m->err = e ? *e : ERR_NONE;
	if (m->err.code == 0)
		found_copy(m, found);
	call_go_on(m->call);
}

static struct claim *
claim_new(struct call *c)
{
	struct claim *m = calloc(1, sizeof(*m));

	if (m) {
		m->call = c;
		buf_init(&m->texts, LIMIT_EFFECT_FOUND);
	}
	return m;
}

/* The answer comes, or it is this. */
static int
asked(struct call *c, struct claim *m, int code, struct err *e)
{
	if (code < 0) {
		claim_free(m);
		return err_plain(e, code);
	}
	c->claim = m;
	return 0;
}

bool
claim_answered(const struct call *c)
{
	return c->claim && c->claim->answered;
}

const struct claim_found *
claim_found(const struct call *c, struct err *e)
{
	if (c->claim->err.code < 0) {
		*e = c->claim->err;
		return NULL;
	}
	return &c->claim->found;
}

void
claim_drop(struct call *c)
{
	struct claim *m = c->claim;

	c->claim = NULL;
	if (m && m->answered)
		claim_free(m);
	else if (m)
		m->call = NULL;
}

/* ---- what is asked ---- */

int
claim_look(struct call *c, struct err *e)
{
	struct claim *m = claim_new(c);

	if (!m)
		return err_plain(e, E_NOMEM);
	return asked(c, m, c->gw->claims->ops->look(c->gw->claims, c->effect_key, answered, m), e);
}

/* Everything about it that the ledger writes down. Texts are the call's, or in *args. */
static void
record_fill(const struct call *c, struct buf *args, struct effect_record *r)
{
	struct jw w = jw(args);

	jw_value(&w, c->input);
	*r = (struct effect_record){
	    .call = id_str(&c->id),
	    .session = id_str(&c->session->id),
	    .turn = id_str(&c->turn->id),
	    .group = c->turn->group[0] ? str_of(c->turn->group) : (struct str){NULL, 0},
	    .tenant = str_of(c->session->tenant),
	    .agent = str_of(c->session->agent),
	    .tool = c->tool->name,
	    .policy = reversibility_name(call_reversibility(c)),
	    .args = buf_failed(args) ? (struct str){NULL, 0} : buf_str(args),
	    .compensation_tool = c->does.compensation_tool,
	    .compensates = c->compensates,
	};
}

static struct claim_ask
ask_of(const struct call *c, const struct effect_record *r)
{
	return (struct claim_ask){
	    .key = c->effect_key,
	    .digest = str_of(c->effect_digest),
	    .effect = id_str(&c->effect),
	    .keep_ms =
		(uint64_t)(c->gw->keep_keys_s ? c->gw->keep_keys_s : LIMIT_EFFECT_KEEP_S) * 1000,
	    .twice = call_reversibility(c) <= REV_IDEMPOTENT,
	    .record = r,
	};
}

bool
claim_needed(const struct call *c)
{
	return c->gw->claims && call_reversibility(c) != REV_PURE;
}

int
claim_digest(struct call *c, struct err *e)
{
	return c->effect_digest[0] ? 0 : digest_value(c->input, CANON_JCS, c->effect_digest, e);
}

int
claim_take(struct call *c, struct err *e)
{
	struct effect_record r;
	struct buf args = BUF_INIT(LIMIT_EFFECT_ARGS);
	int code;

	if (c->gw->store && (code = store_health(c->gw->store, e)) < 0)
		return code;
	if ((code = claim_digest(c, e)) < 0)
		return code;
	if ((code = journal_put(c, "running")) < 0)
		return err_plain(e, code);
	struct claim *m = claim_new(c);
	if (!m)
		return err_plain(e, E_NOMEM);
	c->effect = id_new("eff_");
	record_fill(c, &args, &r);
	struct claim_ask ask = ask_of(c, &r);
	crash_at(CRASH_BEFORE_STARTED);
	code = asked(c, m, c->gw->claims->ops->take(c->gw->claims, &ask, answered, m), e);
	buf_done(&args);
	return code;
}

/* ---- what came of it ---- */

/* Errors after which nobody can say that nothing was done, unless it never left. */
static bool
is_doubtful(int code)
{
	static const int doubtful[] = {E_CANCELLED, E_SUPERSEDED, E_TIMEOUT, E_STOPPING,
				       E_NOMEM,     E_SYSTEM,     E_STORE,   E_UNAVAILABLE};

	for (size_t i = 0; i < ARRAY_LEN(doubtful); i++)
		if (code == doubtful[i])
			return true;
	return false;
}

/* A file is changed as a whole and last of all: one that says that it failed has changed none. */
static bool
tells_all(const struct tool *t)
{
	return !t->server.ptr && str_starts(t->id, S("builtin:")) && t->capability == CAP_WRITE;
}

/* The server did not even look at it, or wants something of the client first, by the meaning of
 * these codes. */
static bool
is_rpc_refusal(int64_t code)
{
	static const int64_t codes[] = {RPC_PARSE,  RPC_INVALID,    RPC_NO_METHOD,
					RPC_PARAMS, RPC_CAPABILITY, RPC_LEGACY_URL_NEEDED};

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (code == codes[i])
			return true;
	return false;
}

static bool
did_nothing(const struct tool *t, const struct output *out)
{
	return out->never_left || out->refused || tells_all(t) || is_rpc_refusal(out->rpc_code) ||
	       out->err.code == E_CHANGED || out->err.code == E_DISABLED;
}

static bool
went_well(const struct output *out)
{
	return out->err.code == 0 && out->success;
}

static bool
is_in_doubt(const struct tool *t, const struct output *out, bool told_to_stop)
{
	if (went_well(out) || did_nothing(t, out))
		return false;
	return told_to_stop || out->broke || out->unknown || is_doubtful(out->err.code);
}

bool
claim_tells(const struct tool *t, const struct output *out)
{
	return !is_in_doubt(t, out, true);
}

void
claim_ran(struct call *c, const struct output *out)
{
	crash_at(CRASH_REPORTED);
	c->ran_well = went_well(out);
	c->ran_badly = !c->ran_well && !did_nothing(c->tool, out);
	c->doubt = c->doubt || is_in_doubt(c->tool, out, c->ending != 0);
}

/*
 * A tool that answered with an error may have done a part of its work, and doing that part twice is
 * what a key is there to prevent: its answer is the answer. Whoever takes an effect back is told by
 * a person to try again.
 */
static bool
is_error_kept(const struct call *c)
{
	return c->ran_badly && call_reversibility(c) > REV_IDEMPOTENT && !c->compensates.ptr;
}

static enum claim_state
outcome(const struct call *c)
{
	if (!c->called_mono_us)
		return c->doubt ? CLAIM_UNKNOWN : CLAIM_FAILED; /* its job never began */
	if (c->left_behind)
		return CLAIM_UNKNOWN;
	if (c->ran_well)
		return CLAIM_DONE; /* whatever became of its result */
	if (c->doubt)
		return CLAIM_UNKNOWN;
	return is_error_kept(c) ? CLAIM_DONE : CLAIM_FAILED;
}

static void
error_write(struct call *c, struct buf *out)
{
	struct jw w = jw(out);

	jw_object(&w);
	if (c->err.code < 0) {
		jw_member_z(&w, "code", err_row(c->err.code)->word);
		jw_member_z(&w, "text", err_text(&c->err));
	}
	if (c->err.code < 0 && c->out.rpc_code) {
		jw_member_int(&w, "rpc_code", c->out.rpc_code);
		if (c->out.rpc_data.len) {
			jw_key(&w, "rpc_data");
			jw_raw(&w, buf_str(&c->out.rpc_data));
		}
	}
	jw_end(&w);
}

/* The result as it leaves here; {NULL,0}: there is none to be given again. */
static struct str
emission_of(struct call *c, struct buf *out)
{
	struct buf error = BUF_INIT(LIMIT_RESULT_BYTES);
	bool failed = c->err.code < 0 || !c->out.success;
	struct emission m = {.content = buf_str(&c->out.content),
			     .extra = buf_str(&c->out.extra),
			     .modified = buf_str(&c->out.modified),
			     .artifacts = buf_str(&c->artifacts)};

	if (failed && !c->ran_badly)
		return (struct str){NULL, 0};
	if (failed) {
		error_write(c, &error);
		m.error = buf_str(&error);
	}
	emission_write(out, &m);
	bool whole = !buf_failed(out) && !buf_failed(&error);
	buf_done(&error);
	return whole ? buf_str(out) : (struct str){NULL, 0};
}

/* What is told of an effect (seed 004 section 4.1). */
static void
announce(struct call *c, enum event_type type, const char *status, struct str error)
{
	struct jw *w = call_event(c, type, c->called_event);
	char at[CLOCK_TEXT];

	jw_member_z(w, "side_effect_policy", reversibility_name(call_reversibility(c)));
	jw_member_z(w, "effect_id", c->effect.text);
	if (error.ptr)
		jw_member(w, "error", error);
	jw_key(w, "record");
	jw_object(w);
	jw_member(w, "tool_name", c->tool->name);
	jw_member_z(w, "policy", reversibility_name(call_reversibility(c)));
	clock_text(c->opened_us, at);
	jw_member_z(w, "executed_at", at);
	jw_member_z(w, "args_digest", c->effect_digest);
	jw_member_z(w, "status", status);
	if (c->effect_key.ptr)
		jw_member(w, "idempotency_key", c->effect_key);
	jw_end(w);
	bus_end(c->gw->bus, NULL);
}

void
claim_begun(struct call *c)
{
	c->taken = true;
	crash_at(CRASH_STARTED);
	announce(c, EVENT_TOOL_SIDE_EFFECT_STARTED, "started", (struct str){NULL, 0});
}

static const char *const statuses[] = {
    [CLAIM_DONE] = "executed", [CLAIM_FAILED] = "failed", [CLAIM_UNKNOWN] = "unknown"};

/* The agent must not take it for "not done". */
static void
say_unknown(struct call *c)
{
	struct err was = c->err;

	if (call_reversibility(c) <= REV_IDEMPOTENT || c->err.code == 0)
		return;
	err_set(&c->err, was.code,
		"%.300s; whether it was done is not known, so do not simply repeat it (effect %s)",
		err_text(&was), c->effect.text);
	memcpy(c->err.inside, was.inside, sizeof(was.inside));
}

int
claim_settle(struct call *c, struct err *e)
{
	struct buf out = BUF_INIT(c->effect_key.ptr ? LIMIT_EFFECT_RESULT : LIMIT_EFFECT_UNKEYED);
	struct claim *m = claim_new(c);
	enum claim_state state = outcome(c);
	bool well = state == CLAIM_DONE && !c->ran_badly;
	struct claim_end end = {
	    .key = c->effect_key,
	    .effect = id_str(&c->effect),
	    .state = state,
	    .result = state == CLAIM_DONE ? emission_of(c, &out) : (struct str){NULL, 0},
	    .given = well && c->given.len ? buf_str(&c->given) : (struct str){NULL, 0},
	    .error = !well && c->err.code < 0 ? str_of(err_text(&c->err)) : (struct str){NULL, 0},
	};
	if (!well && state != CLAIM_UNKNOWN && !end.error.ptr)
		end.error = S("the tool answered with an error");

	c->settled = true;
	crash_at(CRASH_BEFORE_SETTLE);
	int code = m ? asked(c, m, c->gw->claims->ops->settle(c->gw->claims, &end, answered, m), e)
		     : err_plain(e, E_NOMEM);
	announce(c, well ? EVENT_TOOL_SIDE_EFFECT_COMPLETED : EVENT_TOOL_SIDE_EFFECT_FAILED,
		 state == CLAIM_DONE && !well ? "failed" : statuses[state], end.error);
	if (state == CLAIM_UNKNOWN)
		say_unknown(c);
	buf_done(&out);
	return code;
}

/* A pure one with a key: what it gave is given again, and nobody waits for that. */
void
claim_put(struct call *c)
{
	struct buf out = BUF_INIT(LIMIT_EFFECT_RESULT), args = BUF_INIT(LIMIT_EFFECT_ARGS);
	struct effect_record r;
	bool well = c->err.code == 0 && c->out.success;
	struct str result = well ? emission_of(c, &out) : (struct str){NULL, 0};

	if (result.ptr) {
		c->effect = id_new("eff_");
		record_fill(c, &args, &r);
		struct claim_ask ask = ask_of(c, &r);
		(void)c->gw->claims->ops->settle(c->gw->claims,
						 &(struct claim_end){.key = c->effect_key,
								     .effect = id_str(&c->effect),
								     .state = CLAIM_DONE,
								     .result = result,
								     .untaken = &ask},
						 NULL, NULL);
		c->effect.text[0] = '\0';
	}
	buf_done(&out);
	buf_done(&args);
}
