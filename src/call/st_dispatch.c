/*
 * st_dispatch.c - the job goes to its provider under a deadline, and again where that does no harm.
 *
 *	held (the ledger) --> running --> over
 *	                      ^    '-- it failed on the way, and may be done twice or never left
 *	                      '- pausing <'
 *
 * Every attempt is a job of its own with a fresh deadline, which begins when the job does: a server
 * may have to be started first, or have others to serve. All of them together end at call_max_ms.
 * The slot is kept meanwhile, and the claim is made once. Which failures are worth another attempt
 * is for flags to say (struct output), never for words.
 *
 * A job that is told to stop (cancel, deadline) still reports, with what it had so far. One that
 * does not within LIMIT_ABANDON_MS is left behind: the call ends, the job frees itself when it
 * reports after all.
 */

#include "base/clock.h"
#include "base/crash_at.h"
#include "base/log.h"
#include "base/ulid.h"
#include "call/changes.h"
#include "call/stage.h"
#include "effect/ledger.h"
#include "minder/minder.h"
#include "policy/effect.h"

/* A command that is being killed is not left behind: grace, a minder that had to be killed, what
 * that one left to be found, and the ends of the streams. */
_Static_assert(LIMIT_ABANDON_MS > LIMIT_KILL_GRACE_MS + LIMIT_CHILD_MINDER_MS + MINDER_STUCK_MS +
				      LIMIT_CHILD_DRAIN_MS,
	       "the kill ladder is shorter than the patience with it");

static void
reported(struct job *j, void *owner)
{
	(void)j;
	call_wake(owner);
}

static void
announce_delta(struct call *c, struct str bytes, bool is_stderr)
{
	struct jw *w = call_event(c, EVENT_TOOL_OUTPUT_DELTA, c->called_event);

	jw_member_z(w, "stream", is_stderr ? "stderr" : "stdout");
	jw_member(w, "text", bytes);
	bus_end(c->gw->bus, NULL);
}

/* Pipes cut where they like; events are text, so a character that is cut waits for its rest. */
static void
streamed(struct job *j, struct str bytes, bool is_stderr, void *owner)
{
	struct call *c = owner;

	(void)j;
	if (!c->spool && (c->spool = ARENA_NEW(c->arena, struct spool)))
		spool_init(c->spool, c->gw->artifacts,
			   &(struct artifact_note){str_of(c->session->tenant), c->tool->name,
						   S("text/plain"), S("output")});
	if (c->spool)
		spool_feed(c->spool, bytes);
	if (c->streamed + bytes.len > LIMIT_SHELL_DELTAS_BYTES)
		return;
	c->streamed += bytes.len;
	struct buf b = BUF_INIT(bytes.len + sizeof(c->cut[0].bytes));
	buf_add(&b, (struct str){c->cut[is_stderr].bytes, c->cut[is_stderr].len});
	buf_add(&b, bytes);
	struct str whole = str_utf8_whole(buf_str(&b)), rest = str_from(buf_str(&b), whole.len);
	memcpy(c->cut[is_stderr].bytes, rest.ptr, rest.len);
	c->cut[is_stderr].len = rest.len;
	while (whole.len > 0) {
		struct str part = str_utf8_upto(whole, LIMIT_SHELL_DELTA);
		announce_delta(c, part, is_stderr);
		whole = str_from(whole, part.len);
	}
	buf_done(&b);
}

static void
announce_called(struct call *c)
{
	struct jw *w = call_event(c, EVENT_TOOL_CALLED, c->asked_event);

	jw_member_z(w, "input_hash", c->input_hash);
	jw_member_int(w, "input_size_bytes", (int64_t)c->input_bytes);
	jw_member_z(w, "side_effects", capability_name(c->tool->capability));
	call_add_repairs(c, w);
	bus_end(c->gw->bus, c->called_event);
}

static unsigned
patience_ms(const struct call *c)
{
	return c->gw->patience_ms ? c->gw->patience_ms : LIMIT_ABANDON_MS;
}

static void
tell_to_stop(struct call *c, int why)
{
	if (c->ending)
		return;
	c->ending = why;
	call_move(c, PLACE_ENDING);
	call_alarm(c, patience_ms(c));
	if (why == E_TIMEOUT)
		job_expire(c->job);
	else
		job_cancel(c->job);
}

/* ---- an attempt ---- */

static uint64_t
ran_ms(const struct call *c)
{
	return c->called_mono_us ? (clock_mono_us() - c->called_mono_us) / 1000 : 0;
}

/* What is left of all its time, for one attempt. */
static unsigned
attempt_ms(const struct call *c)
{
	uint64_t most = call_max_ms(c) + c->people_ms, ran = ran_ms(c);
	uint64_t left = most > ran ? most - ran : 1;

	return left < call_timeout_ms(c) ? (unsigned)left : call_timeout_ms(c);
}

static int
start_job(struct call *c)
{
	const enum reversibility policy = call_reversibility(c);
	struct job_spec spec = {
	    .kind = JOB_RUN,
	    .tool = c->tool,
	    .input_doc = c->input_doc,
	    .input = c->input,
	    .context = {.session = id_str(&c->session->id),
			.turn = id_str(&c->turn->id),
			.call = id_str(&c->id),
			.tool_use_id = c->tool_use_id,
			.effect_key = c->effect_key,
			.tenant = str_of(c->session->tenant),
			.shared = c->session->shared,
			.workspace = c->session->workspace,
			.witness = changes_begin(c),
			.track = c->tuning->track_changes,
			.profile = c->tuning->confinement},
	    .policy = &policy,
	    .behind = call_behind(c),
	    .report = reported,
	    .stream = streamed,
	    .owner = c,
	};
	struct err e;

	/* Nobody would see whether the file is still what a person was shown. */
	if (c->shown_image[0] && !spec.context.witness)
		return E_NOMEM;
	return job_start(c->gw->loop, &spec, &c->job, &e);
}

static enum verdict
launch(struct call *c)
{
	enum verdict v = meters_begin(c);

	if (v != NEXT)
		return v;
	if (!c->tool->requires_workspace && c->tool->capability > CAP_NONE)
		log_line(LOG_DEBUG, "a tool runs outside the workspace file interface", "call",
			 c->id.text, "tool", c->tool_name.ptr, NULL);
	c->ending = 0;
	c->allowed_ms = attempt_ms(c);
	if (call_alarm(c, c->allowed_ms) < 0 || start_job(c) < 0)
		return call_fail(c, E_NOMEM, "out of memory");
	superseding_effect_begins(c);
	crash_at(CRASH_JOB_BEGUN);
	if (c->attempts++ == 0)
		c->called_mono_us = clock_mono_us();
	if (!c->called_event[0]) {
		announce_called(c);
		metrics_call_begins(c);
	}
	call_move(c, PLACE_RUNNING);
	return WAIT;
}

/* While a person was thinking or a slot was waited for, the tool may have become another. */
static bool
is_still_the_same(const struct call *c)
{
	if (c->catalog_was == catalog_version(c->gw->catalog))
		return true;
	const struct tool *now = catalog_find(c->gw->catalog, c->tool->id);
	if (c->tool->gateway.ptr)
		return now == c->tool || (now && str_eq(now->gateway, c->tool->gateway) &&
					  strcmp(now->digest, c->tool->digest) == 0);
	return now == c->tool || !c->tool->server.ptr ||
	       (now && !now->changed && str_eq(now->server, c->tool->server) &&
		json_equal(now->definition, c->tool->definition));
}

static enum verdict
refuse_other(struct call *c)
{
	return call_fail(c, E_CHANGED, "%.*s has changed since this call was made",
			 STR_ARG(c->tool->name));
}

static enum verdict
begin(struct call *c)
{
	enum verdict v = superseding_look(c); /* a person may have thought for long */

	CHECK(c->taken || !claim_needed(c));
	if (v != NEXT)
		return v;
	return is_still_the_same(c) ? launch(c) : refuse_other(c);
}

enum verdict
dispatch_enter(struct call *c)
{
	struct err e;

	/* At once: while somebody decides about a new message it may come back as it was, and
	 * nothing would have been written down. */
	if (!is_still_the_same(c))
		return refuse_other(c);
	if (!claim_needed(c) || c->taken)
		return begin(c);
	if (claim_take(c, &e) < 0)
		return call_fail_with(c, &e);
	call_move(c, PLACE_HELD);
	return WAIT;
}

static enum verdict
held(struct call *c)
{
	struct err e = ERR_NONE;

	if (!claim_answered(c)) /* cancelled or not: what is taken has to be settled */
		return WAIT;
	const struct claim_found *f = claim_found(c, &e);
	enum verdict v = f ? replay_taken(c, f) : call_fail_with(c, &e);
	if (v == NEXT)
		claim_begun(c);
	claim_drop(c);
	call_move(c, PLACE_MOVING);
	if (v == NEXT && c->cancelled)
		return call_fail_stopped(c);
	return v == NEXT ? begin(c) : v;
}

static enum verdict
decided(struct call *c)
{
	enum verdict v = superseding_wake(c);

	return v == NEXT ? begin(c) : v;
}

/* ---- what came of it ---- */

/* What the tool gave back decides, but a call that ran out of time has, whatever came later. An
 * error stays in the output: what there is of it is a result, too. */
static void
judge(struct call *c)
{
	struct err *e = &c->out.err;

	output_move(&c->out, &c->job->out);
	claim_ran(c, &c->out);
	if (c->ran_well && given_is_wanted(c))
		given_take(&c->out, &c->given);
	/* Half a block is no JSON: an error that carries what there was carries none of it then. */
	if (buf_failed(&c->out.content) && (c->ending || e->code < 0))
		buf_done(&c->out.content);
	if (c->ending == E_TIMEOUT && c->job->waits)
		err_set(e, E_TIMEOUT,
			"%.*s was not begun: its server had no time for it within %g seconds",
			STR_ARG(c->tool->name), c->allowed_ms / 1000.0);
	else if (c->ending == E_TIMEOUT)
		err_set(e, E_TIMEOUT, "%.*s did not finish within %g seconds%s",
			STR_ARG(c->tool->name), c->allowed_ms / 1000.0,
			c->attempts > 1 ? ", nor when it was tried before" : "");
	/* Cancelled too late it is done, and saying otherwise would be a lie. */
	if (c->ending == E_CANCELLED && e->code < 0)
		call_stopped(c, e);
}

/* Errors of the tool are answers: whoever gives them is well. */
static enum breaker_outcome
outcome_of(const struct call *c)
{
	int code = c->out.err.code;

	if (c->ending == E_TIMEOUT)
		return c->out.never_left ? BREAKER_UNKNOWN : BREAKER_BAD;
	if (code == E_CANCELLED || code == E_SUPERSEDED || code == E_STOPPING ||
	    code == E_CHANGED || code == E_LIMIT)
		return BREAKER_UNKNOWN; /* by us, or there were too many of us */
	if (code < 0 && c->out.broke)
		return BREAKER_BAD;
	return c->out.never_left ? BREAKER_UNKNOWN : BREAKER_GOOD;
}

/* Why it is worth another attempt, in a word; NULL: it is not. */
static const char *
worth_again(const struct call *c)
{
	enum reversibility taken_back = call_reversibility(c);
	bool twice_is_fine = taken_back <= REV_IDEMPOTENT;

	if (c->cancelled || c->out.err.code == 0 || c->gw->stopping)
		return NULL;
	if (c->ending == E_TIMEOUT)
		return taken_back == REV_PURE ? "timeout" : NULL;
	if (c->ending || !c->out.broke || (!twice_is_fine && !c->out.never_left && !c->out.refused))
		return NULL;
	return c->out.never_left ? "not_sent" : err_row(c->out.err.code)->word;
}

/* As long as the server wants, if it says so: earlier is no use. */
static uint64_t
pause_ms(const struct call *c)
{
	uint32_t dice;

	random_bytes(&dice, sizeof(dice));
	uint64_t own = retry_delay_ms(&c->tuning->retry, c->attempts, dice / (double)UINT32_MAX);
	uint64_t said = c->out.err.retry_after_ms;
	return said > own ? said : own;
}

/* What the configuration says of the tool, or of its gateway. */
static unsigned
call_attempts(const struct call *c)
{
	return c->tool->attempts && !c->tuning->attempts_said ? c->tool->attempts
							      : c->tuning->retry.attempts;
}

static void
announce_retrying(struct call *c, const char *reason, uint64_t delay_ms)
{
	struct jw *w = call_event(c, EVENT_TOOL_RETRYING, c->called_event);

	jw_member_int(w, "attempt", c->attempts + 1);
	jw_member_int(w, "of", call_attempts(c));
	jw_member_int(w, "delay_ms", (int64_t)delay_ms);
	jw_member_z(w, "reason", reason);
	jw_member_z(w, "error_message", err_text(&c->out.err));
	bus_end(c->gw->bus, NULL);
}

/* Nothing of the attempt that failed is left but its error, should there be no other. */
static void
forget_output(struct call *c)
{
	output_done(&c->out);
	c->out = (struct output){0};
	if (c->spool)
		spool_done(c->spool);
	c->spool = NULL;
	c->cut[0].len = c->cut[1].len = 0;
}

/* True: it waits for the next attempt. */
static bool
pauses(struct call *c)
{
	const struct retry *r = &c->tuning->retry;
	const char *reason = c->attempts < call_attempts(c) ? worth_again(c) : NULL;
	uint64_t delay_ms = reason ? pause_ms(c) : 0;

	if (!reason || delay_ms > r->max_ms || ran_ms(c) + delay_ms >= call_max_ms(c) ||
	    !meters_closed(c) || call_alarm(c, delay_ms) < 0)
		return false;
	announce_retrying(c, reason, delay_ms);
	forget_output(c);
	job_free(&c->job);
	call_move(c, PLACE_PAUSING);
	return true;
}

static enum verdict
paused(struct call *c)
{
	if (!c->cancelled && !c->overdue)
		return WAIT;
	call_move(c, PLACE_MOVING);
	if (c->cancelled)
		return call_fail_stopped(c);
	return begin(c);
}

static enum verdict
abandon(struct call *c)
{
	unsigned seconds = patience_ms(c) / 1000;

	log_line(LOG_WARN, "a tool ignored the order to stop and was left behind", "call",
		 c->id.text, "tool", c->tool_name.ptr, NULL);
	c->gw->count.abandoned++;
	c->left_behind = true;
	if (c->gw->left_behind)
		c->gw->left_behind();
	late_leave(c);
	if (c->ending == E_TIMEOUT)
		return call_fail(
		    c, E_TIMEOUT,
		    "%.*s did not finish in time, nor stop within %u seconds of being told to",
		    STR_ARG(c->tool->name), seconds);
	return call_fail(c, c->turn->superseding ? E_SUPERSEDED : E_CANCELLED,
			 "the call was cancelled, but %.*s did not stop within %u seconds",
			 STR_ARG(c->tool->name), seconds);
}

/* A file is no longer what a person was shown, and nothing was done: they are asked again. */
static enum verdict
ask_again(struct call *c)
{
	if (c->asked >= LIMIT_ASKED_AGAIN) /* somebody else is at work there */
		return NEXT;
	call_event(c, EVENT_TOOL_CONFIRMATION_OUTDATED, c->called_event);
	bus_end(c->gw->bus, NULL);
	forget_output(c);
	c->attempts = 0;
	c->called_mono_us = 0;
	c->called_event[0] = '\0';
	return BACK;
}

static enum verdict
over(struct call *c)
{
	judge(c);
	meters_end(c, outcome_of(c));
	call_move(c, PLACE_MOVING);
	if (c->out.err.code < 0 && !c->ending && !c->cancelled && changes_outdated(c))
		return ask_again(c);
	return c->out.err.code < 0 && pauses(c) ? WAIT : NEXT;
}

/* Its time has not begun: only that of the whole call ends the waiting. */
static bool
waits_on(struct call *c)
{
	uint64_t most = call_max_ms(c) + c->people_ms, ran = ran_ms(c);

	if (!c->job->waits || c->cancelled || c->ending || ran >= most)
		return false;
	c->allowed_ms = (unsigned)most;
	return call_alarm(c, most - ran) == 0;
}

static enum verdict
running(struct call *c)
{
	if (c->job->reported)
		return over(c);
	if (c->overdue && c->ending) {
		meters_end(c, c->ending == E_TIMEOUT ? BREAKER_BAD : BREAKER_UNKNOWN);
		call_move(c, PLACE_MOVING);
		return abandon(c);
	}
	if (c->overdue && waits_on(c))
		return WAIT;
	if (c->overdue || c->cancelled)
		tell_to_stop(c, c->cancelled ? E_CANCELLED : E_TIMEOUT);
	return WAIT;
}

enum verdict
dispatch_wake(struct call *c)
{
	switch (c->place) {
	case PLACE_HELD: return held(c);
	case PLACE_PAUSING: return paused(c);
	case PLACE_DECIDING: return decided(c);
	default: return running(c);
	}
}

void
dispatch_leave(struct call *c)
{
	meters_end(c, BREAKER_UNKNOWN);
	superseding_effect_ends(c);
	repeat_ended(c);
	call_calm(c);
	job_free(&c->job);
}
