/* tool_closure.c - how a session comes to rest: a log, an archive, or waiting with what is open. */

#include <stdio.h>

#include "kernel/tool.h"

/* What a session came to, counted. */
struct tally {
	size_t entries[4]; /* by enum ledger_type */
	size_t decisions[DECISION_BLOCK + 1];
	enum decision last; /* of a policy */
	bool waiting;       /* since the last archive */
};

static struct tally
tally(const struct kernel_state *s)
{
	struct tally t = {0};

	for (size_t i = 0; i < s->ledger_len; i++) {
		const struct ledger_entry *entry = &s->ledger[i];
		t.entries[entry->type]++;
		t.decisions[entry->decision] += entry->type == LEDGER_POLICY;
		if (entry->type == LEDGER_POLICY)
			t.last = entry->decision;
		if (entry->type == LEDGER_WAITING || entry->type == LEDGER_ARCHIVE)
			t.waiting = entry->type == LEDGER_WAITING;
	}
	return t;
}

/* A member written by printf, cut to so many characters. */
static void PRINTF_LIKE(4, 5)
    line(struct jw *w, const char *key, size_t chars, const char *fmt, ...)
{
	struct buf b = BUF_INIT(4 * KIB);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	tool_line(w, key, buf_str(&b), chars);
	buf_done(&b);
}

void
tool_closure_spiral(struct tool_run *t)
{
	const struct kernel_state *s = t->state;
	struct tally n = tally(s);
	const char *last = s->move_count ? s->moves[s->move_count - 1].id : "none";

	line(t->w, "diff_log", 400,
	     "moves remembered: %zu (last: %s); policy: %zu allowed, %zu revised, %zu blocked; "
	     "archived %zu, waited %zu; in review: %zu; containment: %s; drift: %s",
	     s->move_count, last, n.decisions[DECISION_ALLOW], n.decisions[DECISION_REVISE],
	     n.decisions[DECISION_BLOCK], n.entries[LEDGER_ARCHIVE], n.entries[LEDGER_WAITING],
	     s->review_count, s->containment ? "on" : "off", drift_names[s->drift]);
}

/* Blocked last: it goes no further. Waited since: it will. */
static const char *
archive_status(const struct tally *n)
{
	if (n->last == DECISION_BLOCK)
		return "stalled";
	return n->waiting ? "parked" : "resolved";
}

static void
write_summary(struct tool_run *t, const struct tally *n)
{
	const struct kernel_state *s = t->state;

	line(t->w, "summary", 320,
	     "%s%.*s%s%zu moves, %zu ledger entries, %zu of %zu policy decisions without a "
	     "violation.",
	     s->aim[0] ? "Aim: " : "", STR_ARG(chars_upto(str_of(s->aim), 160)),
	     s->aim[0] ? ". " : "", s->move_count, s->ledger_len, n->decisions[DECISION_ALLOW],
	     n->entries[LEDGER_POLICY]);
}

static void
write_takeaways(struct tool_run *t, const struct tally *n)
{
	const char *drift = t->state->drift == DRIFT_DRIFT ? "the last output drifted from the aim"
							   : "no drift was seen";

	line(t->w, "takeaways", 240, "%zu blocked, %zu revised; %s.", n->decisions[DECISION_BLOCK],
	     n->decisions[DECISION_REVISE], drift);
}

static void
write_status(struct tool_run *t, const struct tally *n)
{
	jw_member_z(t->w, "archive_status", archive_status(n));
}

static const struct {
	const char *name;
	void (*write)(struct tool_run *t, const struct tally *n);
} fields[] = {
    {"summary", write_summary},
    {"takeaways", write_takeaways},
    {"archive_status", write_status},
};

static bool
includes(const struct json *include, const char *name)
{
	if (!include)
		return true;
	for (struct json_iter it = json_iter(include); json_next(&it);)
		if (str_is(json_str(it.value), name))
			return true;
	return false;
}

static void
enter(struct tool_run *t, enum ledger_type type, const char *word, struct str what)
{
	t->fx->enters = true;
	t->fx->entry.type = type;
	snprintf(t->fx->entry.ref, sizeof(t->fx->entry.ref), "#%s:%.*s", word,
		 STR_ARG(str_utf8_upto(what, 100)));
}

void
tool_closure_archive(struct tool_run *t)
{
	const struct json *include = json_get(t->payload, S("include"));
	struct tally n = tally(t->state);

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (includes(include, fields[i].name))
			fields[i].write(t, &n);
	enter(t, LEDGER_ARCHIVE, "archive", str_of(archive_status(&n)));
}

void
tool_closure_waiting_with(struct tool_run *t)
{
	static const char *const names[] = {"wait_reason", "reentry_hint"};
	struct jw meta = jw(&t->fx->meta);

	jw_object(&meta);
	buf_reset(&t->fx->meta); /* the braces are the ledger's */
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct str text = json_str(json_get(t->payload, str_of(names[i])));
		jw_member(t->w, names[i], text);
		jw_member(&meta, names[i], text);
	}
	enter(t, LEDGER_WAITING, "waiting_with", json_str(json_get(t->payload, S("reentry_hint"))));
	t->fx->contains = true;
}
