/*
 * late.c - jobs that were left behind: what they report in the end is thrown away, and told.
 */

#include "base/clock.h"
#include "base/log.h"
#include "call/stage.h"
#include "effect/claims.h"

#include <stdlib.h>

struct straggler {
	struct node node; /* in the gateway's */
	struct gateway *gw;
	struct job *job;
	struct id call, session, turn;
	struct id effect; /* "": none was written down */
	bool given;       /* what it gives is kept */
	char parent[ULID_LEN + 1];
	char *tool_use_id, *tool_name;
	struct tool *tool; /* a reference; NULL until it is complete */
	uint64_t since_us;
};

static void
straggler_free(struct straggler *s)
{
	list_remove(&s->node);
	job_free(&s->job);
	tool_unref(s->tool);
	free(s->tool_use_id);
	free(s->tool_name);
	free(s);
}

/* What was unknown until now. */
static void
settle(const struct straggler *s, const struct output *out)
{
	bool well = out->err.code == 0 && out->success;
	struct buf given = BUF_INIT(LIMIT_EFFECT_GIVEN);
	struct claim_end end = {
	    .effect = id_str(&s->effect),
	    .state = well ? CLAIM_DONE : CLAIM_FAILED,
	    .error = well ? (struct str){NULL, 0} : S("it was left behind, and failed"),
	    .by = "late",
	};

	if (well && s->given)
		given_take(out, &given);
	if (given.len)
		end.given = buf_str(&given);
	if (s->effect.text[0] && (well || claim_tells(s->tool, out)))
		(void)s->gw->claims->ops->settle(s->gw->claims, &end, NULL, NULL);
	buf_done(&given);
}

static void
came_late(struct job *j, void *owner)
{
	struct straggler *s = owner;
	int64_t after_ms = (int64_t)(clock_mono_us() - s->since_us) / 1000;
	struct jw *w = bus_begin(s->gw->bus, &(struct event_draft){
						 .type = EVENT_TOOL_LATE_REPORT,
						 .session = id_str(&s->session),
						 .turn = id_str(&s->turn),
						 .parent = str_of(s->parent),
					     });

	jw_member_z(w, "tool_use_id", s->tool_use_id);
	jw_member_z(w, "tool_name", s->tool_name);
	jw_member_z(w, "call_id", s->call.text);
	jw_member_int(w, "after_ms", after_ms);
	jw_member_bool(w, "success", j->out.success);
	bus_end(s->gw->bus, NULL);
	settle(s, &j->out);
	log_line(LOG_WARN, "a tool that was left behind has ended", "call", s->call.text, "tool",
		 s->tool_name, NULL);
	straggler_free(s);
}

void
late_leave(struct call *c)
{
	struct straggler *s = calloc(1, sizeof(*s));

	if (s) {
		s->tool_use_id = str_dup(c->tool_use_id);
		s->tool_name = str_dup(c->tool_name);
	}
	if (!s || !s->tool_use_id || !s->tool_name) {
		if (s)
			straggler_free(s);
		job_free(&c->job);
		return;
	}
	s->gw = c->gw;
	s->call = c->id;
	if (c->taken)
		s->effect = c->effect;
	s->given = given_is_wanted(c);
	s->tool = tool_ref(c->tool);
	s->session = c->session->id;
	s->turn = c->turn->id;
	memcpy(s->parent, c->called_event, sizeof(s->parent));
	s->since_us = clock_mono_us();
	s->job = c->job;
	c->job = NULL;
	job_leave(s->job, came_late, s);
	list_push(&c->gw->stragglers, &s->node);
}

void
late_forget(struct gateway *gw)
{
	LIST_EACH (&gw->stragglers, at)
		straggler_free(CONTAINER_OF(at, struct straggler, node));
}
