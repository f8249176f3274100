/*
 * show_event.c - an event in one line, by a table of patterns.
 *
 * In a pattern {name} is a member of the payload, {~name} the end of an identifier, and {*} what
 * it is about. What stands in brackets is left out when a member in it is missing, null, zero or
 * empty.
 */

#include "base/limits.h"
#include "cli/show.h"
#include "cli/term.h"

static const struct gist {
	const char *type;
	enum paint paint;
	const char *pattern;
	bool whole; /* wrapped where others are cut: nobody can say yes to half a command */
} gists[] = {
    {"session.created", DIM, "in {workspace_path}[ by {client}]"},
    {"session.ended", DIM, "[after {turn_count} turn(s)]"},
    {"turn.started", DIM, "{tool_call_count} call(s)"},
    {"turn.completed", DIM, "{tool_call_count} result(s)[, {failed} failed]"},
    {"turn.cancelled", YELLOW, "{reason}"},
    {"turn.message_absorbed", BOLD, "{message_id}"},
    {"inbound_message", BOLD, "{content}"},
    {"supersede.requested", YELLOW, "before {tool_name}[, unless somebody decides: {default}]"},
    {"supersede.decision", BOLD, "{decision}[ by {by}][: {reason}]"},
    {"supersede.executed", YELLOW,
     "before {interrupt_point}[, {compensated} taken back][, {failed} not]"},
    {"commit.reached", DIM, "{tool_name}"},
    {"tool.called", CYAN, "{tool_name}[ ({side_effects})]"},
    {"tool.completed", GREEN,
     "{tool_name} in {latency_ms} ms[, changed {files_modified}][: {command_executed}]"},
    {"tool.failed", RED, "{tool_name}: {error_class}: {error_message}"},
    {"tool.input_invalid", RED, "{tool_name}: {validation_errors}"},
    {"tool.confirmation_requested", YELLOW,
     "{tool_name} needs a yes ({side_effects})[ (holdfast approve {~confirmation_request_id})]: "
     "{*}",
     true},
    {"tool.confirmation_resolved", BOLD, "{tool_name}: {decision}[ by {by}][, {scope}]"},
    {"tool.confirmation_outdated", YELLOW, "{tool_name}: what was shown has changed; asked again"},
    {"tool.output_delta", PLAIN, "{tool_name}: {text}"},
    {"tool_side_effect_started", DIM, "{tool_name} ({side_effect_policy}), effect {~effect_id}"},
    {"tool_side_effect_completed", DIM, "{tool_name} ({side_effect_policy}), effect {~effect_id}"},
    {"tool_side_effect_failed", YELLOW, "{tool_name}, effect {~effect_id}[: {error}]"},
    {"tool.retrying", YELLOW,
     "{tool_name}: attempt {attempt} of {of} in {delay_ms} ms: {error_message}"},
    {"tool.late_report", YELLOW, "[{tool_name}][{server}] ({~call_id}), {after_ms} ms late"},
    {"breaker.opened", RED, "[{server}][{tool}] is left alone for {retry_after_ms} ms"},
    {"breaker.closed", GREEN, "[{server}][{tool}]"},
    {"tool.hooked", YELLOW, "{tool_name}: {event} {hook}: {outcome}[: {reason}]"},
    {"file.changed", PLAIN, "{type} [{old_path} -> ]{path} by {tool_name} ({~call_id})"},
    {"file.undone", BOLD, "{path}, changed by {~undone_call_id}"},
    {"effect.compensated", BOLD, "{tool_name} ({~undone_call_id}), by {~compensation_call_id}"},
    {"tool.definition_changed", YELLOW, "{server}: {tool} (holdfast pins)"},
    {"tool.definition_accepted", BOLD, "{server}: {tool}"},
    {"server.state_changed", DIM, "{server}: {state}[: {reason}]"},
    {"server.tools_changed", DIM,
     "{server}[, new: {added}][, gone: {removed}][, changed: {changed}]"},
    {"progress.started", DIM, "{tool_name}[: {label}]"},
    {"progress.updated", DIM, "{tool_name}: {current}[ of {total}][, {label}]"},
    {"progress.ended", DIM, "{tool_name}"},
    {"toast.shown", YELLOW, "{title}[: {message}]"},
    {"toast.dismissed", DIM, "{title}: {reason}"},
    {"config.reloaded", DIM, "{file}"},
    {"config.rejected", RED, "{error}"},
};

static bool
is_nothing(const struct json *v)
{
	int64_t n;

	if (!v || json_is(v, JSON_NULL))
		return true;
	if (json_is(v, JSON_STRING))
		return json_str(v).len == 0;
	if (json_is(v, JSON_ARRAY))
		return json_len(v) == 0;
	return json_int(v, &n) && n == 0;
}

/* False when the member has nothing to show. */
static bool
fill_member(struct buf *out, struct str name, const struct json *payload)
{
	bool is_id = str_starts(name, S("~"));
	size_t before = out->len;

	if (str_is(name, "*")) {
		what_text(out, payload);
		return out->len > before;
	}
	const struct json *v = json_get(payload, str_from(name, is_id));

	if (is_nothing(v)) {
		value_text(out, v);
		return false;
	}
	if (is_id)
		text_safe(out, short_id(json_str(v)), SAFE_LINE);
	else
		value_text(out, v);
	return true;
}

static void
fill_pattern(struct buf *out, struct str pattern, const struct json *payload)
{
	size_t opened = 0;
	bool whole = true;

	while (pattern.len > 0) {
		char c = pattern.ptr[0];
		size_t used = 1;
		if (c == '[') {
			opened = out->len;
			whole = true;
		} else if (c == ']') {
			if (!whole)
				out->len = opened;
		} else if (c == '{') {
			used = (size_t)str_index(pattern, '}') + 1;
			struct str name = str_upto(str_from(pattern, 1), used - 2);
			whole = fill_member(out, name, payload) && whole;
		} else {
			buf_addc(out, c);
		}
		pattern = str_from(pattern, used);
	}
}

static const struct gist *
gist_find(struct str type)
{
	for (size_t i = 0; i < ARRAY_LEN(gists); i++)
		if (str_is(type, gists[i].type))
			return &gists[i];
	return NULL;
}

#define MARGIN "  │ "
#define TYPE_COLUMNS 27
#define HEAD_COLUMNS (8 + 1 + SHORT_ID + 1 + TYPE_COLUMNS + 1)
#define GIST_LEAST 20

/* The rest of a wrapped line stands behind a margin, so that it cannot look like another event. */
static void
print_gist(struct str text, bool whole)
{
	unsigned width = term_width();
	bool roomy = width > HEAD_COLUMNS + GIST_LEAST;

	if (!term_is(stdout) || (!roomy && !whole)) {
		printf("%.*s\n", STR_ARG(text));
		return;
	}
	struct str first = roomy ? text_upto(text, width - HEAD_COLUMNS) : str_upto(text, 0);
	while (whole && first.len > 0 && first.len < text.len && first.ptr[first.len - 1] != ' ')
		first.len--; /* between words */
	printf("%.*s\n", STR_ARG(first));
	if (whole && first.len < text.len)
		text_block(stdout, MARGIN, str_from(text, first.len));
}

void
show_event(const struct json *event)
{
	static const struct column when = {"", "timestamp", SHOW_CLOCK};
	const struct json *payload = json_get(event, S("payload"));
	const struct gist *g = gist_find(member(event, "type"));
	struct buf time = BUF_INIT(64), session = BUF_INIT(64), type = BUF_INIT(KIB);
	struct buf text = BUF_INIT(4 * LIMIT_EVENT_BYTES);

	cell_text(&time, event, &when);
	text_safe(&session, short_id(member(event, "session_id")), SAFE_LINE);
	text_safe(&type, member(event, "type"), SAFE_LINE);
	if (g)
		fill_pattern(&text, str_of(g->pattern), payload);
	else
		value_text(&text, payload); /* of a newer gateway */
	printf("%s%-8.*s %-*.*s%s %s%-*.*s%s ", paint(stdout, DIM), STR_ARG(buf_str(&time)),
	       SHORT_ID, STR_ARG(buf_str(&session)), paint(stdout, PLAIN),
	       paint(stdout, g ? g->paint : PLAIN), TYPE_COLUMNS, STR_ARG(buf_str(&type)),
	       paint(stdout, PLAIN));
	print_gist(buf_str(&text), g && g->whole);
	buf_done(&time);
	buf_done(&session);
	buf_done(&type);
	buf_done(&text);
}
