/*
 * behind.c - whoever made a call, as its job sees them: what the upstream says goes on to them, and
 * moves the call's deadline.
 *
 * Whoever made it may go away at any time; the call stays until it is told.
 */

#include "base/clock.h"
#include "call/stage.h"

static struct call *
call_of(struct behind *b)
{
	return CONTAINER_OF(b, struct call, behind);
}

static void
progressed(struct behind *b, const struct json *params)
{
	struct call *c = call_of(b);

	call_extend(c, call_timeout_ms(c));
	progressing_tell(c, params);
	behind_progress(c->turn->behind, params);
}

static void
said(struct behind *b, const struct json *params)
{
	behind_message(call_of(b)->turn->behind, params);
}

/* A person is about to think: the tool's own time begins again when that is over. */
static int
asked(struct behind *b, struct inquiry *q, struct err *e)
{
	struct call *c = call_of(b);
	int code = behind_ask(c->turn->behind, q, e);

	if (code == 0) {
		c->people_ms += policy_confirm_ms(c->gw->policy);
		call_extend(c, policy_confirm_ms(c->gw->policy) + call_timeout_ms(c));
	}
	return code;
}

static struct behind *
next(const struct behind *b)
{
	return CONTAINER_OF(b, struct call, behind)->turn->behind;
}

static void
begun(struct behind *b)
{
	struct call *c = call_of(b);

	call_extend(c, call_timeout_ms(c));
}

static const struct behind_ops ops = {progressed, said, asked, NULL, next, begun};

struct behind *
call_behind(struct call *c)
{
	behind_done(&c->behind);
	behind_copy(&c->behind, c->turn->behind, &ops);
	return &c->behind;
}

/* What the configuration says of the tool, else what the tool says of itself. */
static unsigned
quiet_ms(const struct call *c)
{
	if (c->tuning->timeout_ms)
		return c->tuning->timeout_ms;
	return c->wished_ms ? c->wished_ms : c->tool->timeout_ms;
}

static unsigned
tool_max_ms(const struct call *c)
{
	const struct tuning *t = c->tuning;
	unsigned own = c->tool->max_ms ? c->tool->max_ms : LIMIT_CALL_SLOW_MS;
	unsigned quiet = quiet_ms(c);

	if (t->max_ms)
		return t->max_ms;
	return own > quiet ? own : quiet;
}

unsigned
call_max_ms(const struct call *c)
{
	unsigned most = tool_max_ms(c);

	return c->given_ms && c->given_ms < most ? c->given_ms : most;
}

unsigned
call_timeout_ms(const struct call *c)
{
	unsigned quiet = quiet_ms(c);
	unsigned most = call_max_ms(c);

	return quiet < most ? quiet : most;
}

/* However much progress there is, a call ends at call_max_ms of its own time. */
void
call_extend(struct call *c, uint64_t by_ms)
{
	uint64_t ran = (clock_mono_us() - c->called_mono_us) / 1000;
	uint64_t most = call_max_ms(c) + c->people_ms;

	if (c->ending || c->place != PLACE_RUNNING || ran >= most)
		return;
	uint64_t more = by_ms < most - ran ? by_ms : most - ran;
	c->allowed_ms = (unsigned)(ran + more);
	call_alarm(c, more);
}
