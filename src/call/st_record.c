/* st_record.c - the journal entry, and the event that closes every call. */

#include "base/clock.h"
#include "base/log.h"
#include "call/changes.h"
#include "call/stage.h"

enum verdict
record_enter(struct call *c)
{
	c->opened_us = clock_wall_us();
	c->opened_mono_us = c->since_us;
	c->gw->count.calls++;
	return NEXT;
}

static void
add_lines(struct jw *w, struct str lines)
{
	struct str line;

	jw_array(w);
	while (str_split(&lines, '\n', &line))
		if (line.len)
			jw_str(w, line);
	jw_end(w);
}

/* A list as it was rendered; null, and a mark, when the event has no room for it. */
static void
add_list(struct jw *w, const char *key, const struct buf *items)
{
	bool fits = items->len <= LIMIT_EVENT_BYTES / 2;

	jw_key(w, key);
	if (items->len && fits) {
		jw_array(w);
		jw_raw(w, buf_str(items));
		jw_end(w);
	} else {
		jw_null(w);
	}
	if (!fits)
		jw_member_bool(w, "truncated", true);
}

static void
announce_completed(struct call *c, int64_t latency_ms)
{
	struct jw *w = call_event(c, EVENT_TOOL_COMPLETED, c->called_event);

	jw_member_bool(w, "success", c->out.success);
	jw_member_int(w, "output_size_bytes", (int64_t)c->out.content.len + 2);
	jw_member_int(w, "latency_ms", latency_ms);
	if (c->cached)
		jw_member_bool(w, "cached", true);
	add_list(w, "files_modified", &c->out.modified);
	jw_member(w, "command_executed",
		  c->out.command.len ? str_utf8_upto(buf_str(&c->out.command), LIMIT_EVENT_TEXT)
				     : (struct str){NULL, 0});
	bus_end(c->gw->bus, NULL);
}

static void
announce_failed(struct call *c, int64_t latency_ms)
{
	struct jw *w = call_event(c, EVENT_TOOL_FAILED, c->called_event);

	jw_member_z(w, "error_class", err_class_name(err_row(c->err.code)->class));
	jw_member_z(w, "error_message", err_text(&c->err));
	jw_member_int(w, "latency_ms", latency_ms);
	/* What a cancelled or timed-out tool had said so far (seed 000 section 9.4). */
	if (c->out.content.len)
		add_list(w, "partial_output", &c->out.content);
	bus_end(c->gw->bus, NULL);
}

static void
announce_invalid(struct call *c)
{
	struct jw *w = call_event(c, EVENT_TOOL_INPUT_INVALID, NULL);

	jw_key(w, "validation_errors");
	add_lines(w, c->invalid);
	call_add_repairs(c, w);
	bus_end(c->gw->bus, NULL);
}

void
record_leave(struct call *c)
{
	bool failed = c->err.code < 0;
	int64_t latency_ms = (int64_t)(c->since_us - c->opened_mono_us) / 1000;

	changes_tell(c);
	if (failed && c->invalid.ptr)
		announce_invalid(c);
	else if (failed)
		announce_failed(c, latency_ms);
	else
		announce_completed(c, latency_ms);
	if (failed)
		c->gw->count.failed++;
	else
		c->gw->count.completed++;
	metrics_call_over(c);
	if (!failed)
		browsing_ran(c);
	if (failed && c->err.inside[0])
		log_line(LOG_ERROR, "a call failed inside", "call", c->id.text, "tool",
			 c->tool_name.ptr, "error", err_text(&c->err), "inside", c->err.inside,
			 NULL);
	if (journal_put(c, failed ? "failed" : "completed") < 0)
		log_line(LOG_ERROR, "the journal did not take a row", "call", c->id.text, NULL);
}
