/* tool_policy.c - what may be written where, what came of asking, and how often. */

#include <stdio.h>

#include "kernel/tool.h"

enum rule { RULE_CLAMP, RULE_ENUM, RULE_LEDGER, RULE_EXPORT, RULE_UNKNOWN };

struct target {
	const char *name;
	enum rule rule;
	unsigned cap; /* characters */
};

static const struct target targets[] = {
    {"spiral.diff_log", RULE_CLAMP, 400},
    {"archive.summary", RULE_CLAMP, 320},
    {"archive.takeaways", RULE_CLAMP, 240},
    {"archive.archive_status", RULE_ENUM, 0},
    {"waiting_with.wait_reason", RULE_CLAMP, 256},
    {"waiting_with.reentry_hint", RULE_CLAMP, 64},
    {"ledger.append", RULE_LEDGER, 0},
    {"export.request", RULE_EXPORT, 0},
    {"recap.export", RULE_EXPORT, 0},
};

static const char *const statuses[] = {"resolved", "parked", "stalled"};

struct ruling {
	struct str name;
	const struct target *target;
	struct str value; /* {NULL,0}: none was given */
	enum decision decision;
	const char *code; /* of the one violation; NULL: none */
	const char *reason;
	struct str suggestion; /* {NULL,0}: none */
};

static bool
is_status(struct str value)
{
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (str_is(value, statuses[i]))
			return true;
	return false;
}

static void
violate(struct ruling *r, enum decision decision, const char *code, const char *reason)
{
	r->decision = decision;
	r->code = code;
	r->reason = reason;
}

static void
judge(struct ruling *r, const struct kernel_state *s)
{
	static const struct target unknown = {"", RULE_UNKNOWN, 0};

	r->decision = DECISION_ALLOW;
	r->target = &unknown;
	for (size_t i = 0; i < ARRAY_LEN(targets); i++)
		if (str_is(r->name, targets[i].name))
			r->target = &targets[i];
	switch (r->target->rule) {
	case RULE_CLAMP:
		if (r->value.len <= r->target->cap || chars_count(r->value) <= r->target->cap)
			break;
		violate(r, DECISION_REVISE, "V_FIELD_TOO_LONG", "Exceeded cap for");
		r->suggestion = chars_upto(r->value, r->target->cap);
		break;
	case RULE_ENUM:
		if (r->value.ptr && !is_status(r->value))
			violate(r, DECISION_BLOCK, "V_UNSAFE_ACTION",
				"must be resolved, parked or stalled");
		break;
	case RULE_LEDGER:
		if (state_ledger_full(s))
			violate(r, DECISION_BLOCK, "V_LEDGER_CAP", "ledger at capacity");
		break;
	case RULE_EXPORT:
		violate(r, DECISION_BLOCK, "V_EXPORT_DISABLED", "kernel export not permitted");
		break;
	case RULE_UNKNOWN:
		violate(r, DECISION_BLOCK, "V_UNKNOWN_TARGET", "there is no such target");
		break;
	}
}

static struct ruling
rule(struct tool_run *t)
{
	struct ruling r = {
	    .name = json_str(json_get(t->payload, S("target"))),
	    .value = json_str(json_get(t->payload, S("value"))),
	};

	judge(&r, t->state);
	jw_member_z(t->w, "decision", decision_names[r.decision]);
	jw_key(t->w, "violations");
	jw_array(t->w);
	if (r.code) {
		char reason[256];
		bool named = r.decision == DECISION_REVISE;
		snprintf(reason, sizeof(reason), "%s%s%s", r.reason, named ? " " : "",
			 named ? r.target->name : "");
		jw_object(t->w);
		jw_member_z(t->w, "code", r.code);
		jw_member_z(t->w, "reason", reason);
		jw_end(t->w);
	}
	jw_end(t->w);
	return r;
}

void
tool_policy_query(struct tool_run *t)
{
	struct ruling r = rule(t);

	if (r.suggestion.ptr)
		jw_member(t->w, "suggest", r.suggestion);
}

static void
enter(struct tool_run *t, const struct ruling *r)
{
	struct effects *fx = t->fx;
	struct jw w = jw(&fx->meta);

	fx->enters = true;
	fx->entry.type = LEDGER_POLICY;
	fx->entry.decision = r->decision;
	snprintf(fx->entry.code, sizeof(fx->entry.code), "%s", r->code ? r->code : "NONE");
	snprintf(fx->entry.ref, sizeof(fx->entry.ref), "#policy:%s:%s", decision_names[r->decision],
		 fx->entry.code);
	jw_object(&w);
	buf_reset(&fx->meta); /* the braces are the ledger's */
	jw_member_z(&w, "decision", decision_names[r->decision]);
	jw_member_z(&w, "code", fx->entry.code);
	jw_member(&w, "target", chars_upto(r->name, 64));
}

void
tool_policy_enforce(struct tool_run *t)
{
	struct ruling r = rule(t);
	bool clamps = r.target->rule == RULE_CLAMP;

	if (r.suggestion.ptr)
		jw_member(t->w, "value_out", r.suggestion);
	else if (r.decision == DECISION_ALLOW && r.value.ptr)
		jw_member(t->w, "value_out", r.value);
	if (clamps)
		jw_member_int(t->w, "cap", r.target->cap);
	enter(t, &r);
}

/* ---- what came of it ---- */

static const char *const codes[] = {"V_FIELD_TOO_LONG", "V_LEDGER_CAP", "V_EXPORT_DISABLED",
				    "V_UNKNOWN_TARGET", "V_UNSAFE_ACTION"};
#define REPORTED 10

static void
write_totals(struct jw *w, const struct kernel_state *s)
{
	int64_t by_decision[DECISION_BLOCK + 1] = {0}, by_code[ARRAY_LEN(codes)] = {0};

	for (size_t i = 0; i < s->ledger_len; i++) {
		const struct ledger_entry *entry = &s->ledger[i];
		if (entry->type != LEDGER_POLICY)
			continue;
		by_decision[entry->decision]++;
		for (size_t c = 0; c < ARRAY_LEN(codes); c++)
			by_code[c] += strcmp(entry->code, codes[c]) == 0;
	}
	jw_key(w, "totals");
	jw_object(w);
	for (int d = DECISION_ALLOW; d <= DECISION_BLOCK; d++)
		jw_member_int(w, decision_names[d], by_decision[d]);
	jw_end(w);
	jw_key(w, "by_code");
	jw_object(w);
	for (size_t c = 0; c < ARRAY_LEN(codes); c++)
		if (by_code[c])
			jw_member_int(w, codes[c], by_code[c]);
	jw_end(w);
}

static size_t
first_reported(const struct kernel_state *s)
{
	size_t i = s->ledger_len;

	for (size_t found = 0; i > 0 && found < REPORTED; i--)
		found += s->ledger[i - 1].type == LEDGER_POLICY &&
			 s->ledger[i - 1].decision != DECISION_NONE;
	return i;
}

void
tool_policy_report(struct tool_run *t)
{
	const struct kernel_state *s = t->state;

	write_totals(t->w, s);
	jw_key(t->w, "last");
	jw_array(t->w);
	for (size_t i = first_reported(s); i < s->ledger_len; i++) {
		const struct ledger_entry *entry = &s->ledger[i];
		if (entry->type != LEDGER_POLICY || entry->decision == DECISION_NONE)
			continue;
		jw_object(t->w);
		jw_member_z(t->w, "ts", entry->ts);
		jw_member_z(t->w, "decision", decision_names[entry->decision]);
		jw_member_z(t->w, "code", entry->code);
		jw_end(t->w);
	}
	jw_end(t->w);
}
