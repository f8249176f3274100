/*
 * st_dispatch.c - the job goes to its provider under a deadline.
 *
 * A job that is told to stop (cancel, deadline) still reports, with what it had so far. One that
 * does not within LIMIT_ABANDON_MS is left behind: the call ends, the job frees itself when it
 * reports after all.
 */

#include "base/clock.h"
#include "base/log.h"
#include "call/stage.h"
#include "minder/minder.h"

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
			   &(struct artifact_note){ARTIFACT_TENANT, c->tool->name, S("text/plain"),
						   S("output")});
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

static void
tell_to_stop(struct call *c, int why)
{
	if (c->ending)
		return;
	c->ending = why;
	call_move(c, PLACE_ENDING);
	call_alarm(c, LIMIT_ABANDON_MS);
	job_cancel(c->job);
}

static enum verdict
launch(struct call *c)
{
	struct job_spec spec = {
	    .kind = JOB_RUN,
	    .tool = c->tool,
	    .input_doc = c->input_doc,
	    .input = c->input,
	    .context = {.session = id_str(&c->session->id),
			.turn = id_str(&c->turn->id),
			.tool_use_id = c->tool_use_id,
			.shared = c->session->shared,
			.workspace = c->session->workspace},
	    .behind = call_behind(c),
	    .report = reported,
	    .stream = streamed,
	    .owner = c,
	};
	struct err e;

	if (!c->tool->requires_workspace && c->tool->capability > CAP_NONE)
		log_line(LOG_DEBUG, "a tool runs outside the workspace file interface", "call",
			 c->id.text, "tool", c->tool_name.ptr, NULL);
	c->allowed_ms = c->tool->timeout_ms;
	if (call_alarm(c, c->allowed_ms) < 0 || job_start(c->gw->loop, &spec, &c->job, &e) < 0)
		return call_fail(c, E_NOMEM, "out of memory");
	c->called_mono_us = clock_mono_us();
	announce_called(c);
	call_move(c, PLACE_RUNNING);
	return WAIT;
}

/* While a person was thinking or a slot was waited for, the tool may have become another. */
static bool
is_still_the_same(const struct call *c)
{
	const struct tool *now = catalog_find(c->gw->catalog, c->tool->id);

	return now == c->tool || !c->tool->server.ptr ||
	       (now && !now->changed && str_eq(now->server, c->tool->server) &&
		json_equal(now->definition, c->tool->definition));
}

enum verdict
dispatch_enter(struct call *c)
{
	struct err e;

	if (!is_still_the_same(c))
		return call_fail(c, E_CHANGED, "%.*s has changed since this call was made",
				 STR_ARG(c->tool->name));
	if (!claim_needed(c))
		return launch(c);
	if (claim_start(c, &e) < 0)
		return call_fail_with(c, &e);
	call_move(c, PLACE_HELD);
	return WAIT;
}

static enum verdict
held(struct call *c)
{
	int code = 0;

	if (!c->cancelled && !claim_settled(c, &code))
		return WAIT;
	call_move(c, PLACE_MOVING);
	if (c->cancelled)
		return call_fail(c, E_CANCELLED, "the call was cancelled");
	if (code < 0)
		return call_fail(c, code, "%s", err_row(code)->sentence);
	return launch(c);
}

/* What the tool gave back decides, but a call that ran out of time has, whatever came later. An
 * error stays in the output: what there is of it is a result, too. */
static void
judge(struct call *c)
{
	struct err *e = &c->out.err;

	c->out = output_take(&c->job->out);
	/* Half a block is no JSON: an error that carries what there was carries none of it then. */
	if (buf_failed(&c->out.content) && (c->ending || e->code < 0))
		buf_done(&c->out.content);
	if (c->ending == E_TIMEOUT)
		err_set(e, E_TIMEOUT, "%.*s did not finish within %u seconds",
			STR_ARG(c->tool->name), c->allowed_ms / 1000);
	/* Cancelled too late it is done, and saying otherwise would be a lie. */
	if (c->ending == E_CANCELLED && e->code < 0)
		err_set(e, E_CANCELLED, "the call was cancelled");
}

static enum verdict
abandon(struct call *c)
{
	int seconds = LIMIT_ABANDON_MS / 1000;

	log_line(LOG_WARN, "a tool ignored the order to stop and was left behind", "call",
		 c->id.text, "tool", c->tool_name.ptr, NULL);
	c->gw->count.abandoned++;
	if (c->ending == E_TIMEOUT)
		return call_fail(
		    c, E_TIMEOUT,
		    "%.*s did not finish in time, nor stop within %d seconds of being told to",
		    STR_ARG(c->tool->name), seconds);
	return call_fail(c, E_CANCELLED,
			 "the call was cancelled, but %.*s did not stop within %d seconds",
			 STR_ARG(c->tool->name), seconds);
}

enum verdict
dispatch_wake(struct call *c)
{
	enum verdict v = NEXT;

	if (!c->job)
		return held(c);
	if (c->job->reported)
		judge(c);
	else if (c->overdue && c->ending)
		v = abandon(c);
	else {
		if (c->overdue || c->cancelled)
			tell_to_stop(c, c->cancelled ? E_CANCELLED : E_TIMEOUT);
		return WAIT;
	}
	call_move(c, PLACE_MOVING);
	return v;
}

void
dispatch_leave(struct call *c)
{
	claim_drop(c);
	call_calm(c);
	job_free(&c->job);
}
