/* tool_recap.c - what a session is about, in lines of so many words, and whether it kept to that.
 */

#include <stdio.h>

#include "kernel/tool.h"

struct recap {
	struct tool_run *t;
	int64_t max_items, max_words;
};

/* ---- lines ---- */

static struct str
upto_words(struct str text, int64_t words)
{
	size_t i = 0;

	for (; words > 0 && i < text.len; words--) {
		while (i < text.len && text.ptr[i] == ' ')
			i++;
		while (i < text.len && text.ptr[i] != ' ')
			i++;
	}
	return str_upto(text, i);
}

static int64_t
words_of(struct str text)
{
	int64_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] != ' ' && (i == 0 || text.ptr[i - 1] == ' ');
	return n;
}

static void PRINTF_LIKE(2, 3) line(const struct recap *r, const char *fmt, ...)
{
	struct buf b = BUF_INIT(4 * KIB);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	jw_str(r->t->w, chars_upto(upto_words(buf_str(&b), r->max_words), 256));
	buf_done(&b);
}

/* ---- sections ---- */

static void
write_summary(const struct recap *r)
{
	const struct kernel_state *s = r->t->state;

	jw_object(r->t->w);
	jw_key(r->t->w, "aim_line");
	line(r, "%s", s->aim[0] ? s->aim : "no aim was scanned for");
	jw_key(r->t->w, "state_line");
	line(r, "%s, %zu in review, containment %s, %zu ledger entries",
	     s->accepted ? "accepted" : "not accepted", s->review_count,
	     s->containment ? "on" : "off", s->ledger_len);
	jw_end(r->t->w);
}

static void
write_questions(const struct recap *r)
{
	const struct kernel_state *s = r->t->state;

	jw_array(r->t->w);
	for (size_t i = 0; i < s->review_count && (int64_t)i < r->max_items; i++)
		line(r, "in review: %s", s->reviews[i]);
	jw_end(r->t->w);
}

static void
write_hints(const struct recap *r)
{
	const struct kernel_state *s = r->t->state;
	const struct {
		bool said;
		const char *hint;
	} hints[] = {
	    {!s->accepted, "accept the session before anything else"},
	    {s->review_count > 0, "closure.waiting_with, or empty the review queue"},
	    {s->drift != DRIFT_NONE, "move.align_scan again: the last output was off the aim"},
	    {s->review_count == 0 && s->accepted, "closure.archive when it is settled"},
	    {state_ledger_full(s), "the ledger is full: nothing is entered any more"},
	};
	int64_t count = 0;

	jw_array(r->t->w);
	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (hints[i].said && count++ < r->max_items)
			line(r, "%s", hints[i].hint);
	jw_end(r->t->w);
}

static size_t
last_of(size_t len, int64_t max)
{
	return len > (size_t)max ? len - (size_t)max : 0;
}

static void
write_moves(const struct recap *r)
{
	const struct kernel_state *s = r->t->state;
	struct jw *w = r->t->w;

	jw_array(w);
	for (size_t i = last_of(s->move_count, r->max_items); i < s->move_count; i++)
		state_write_move(w, &s->moves[i]);
	jw_end(w);
}

static void
write_flags(const struct recap *r)
{
	const struct kernel_state *s = r->t->state;
	struct jw *w = r->t->w;

	jw_object(w);
	jw_member_z(w, "drift", drift_names[s->drift]);
	jw_member_z(w, "zone", s->containment ? "toxic" : s->review_count ? "messy" : "insight");
	jw_member_z(w, "uncertainty",
		    s->review_count == 0  ? "low"
		    : s->review_count < 4 ? "med"
					  : "high");
	jw_end(w);
}

static void
write_refs(const struct recap *r)
{
	const struct kernel_state *s = r->t->state;

	jw_array(r->t->w);
	for (size_t i = last_of(s->ledger_len, r->max_items); i < s->ledger_len; i++)
		jw_z(r->t->w, s->ledger[i].ref[0] ? s->ledger[i].ref : s->ledger[i].id);
	jw_end(r->t->w);
}

static const struct section {
	const char *name;
	void (*write)(const struct recap *r);
	bool usual; /* when nothing is said of what to include */
} sections[] = {
    {"summary", write_summary, true},  {"open_questions", write_questions, true},
    {"next_hints", write_hints, true}, {"last_moves", write_moves, true},
    {"flags", write_flags, true},      {"ledger_refs", write_refs, false},
};

static bool
wanted(const struct json *include, const struct section *section)
{
	if (!include)
		return section->usual;
	for (struct json_iter it = json_iter(include); json_next(&it);)
		if (str_is(json_str(it.value), section->name))
			return true;
	return false;
}

static void
write_locus(struct jw *w, const struct kernel_state *s)
{
	jw_object(w);
	jw_member_bool(w, "accepted", s->accepted);
	jw_member_bool(w, "fracture_active", s->review_count > 0);
	jw_member_bool(w, "containment", s->containment);
	jw_key(w, "review_queue");
	jw_array(w);
	for (size_t i = 0; i < s->review_count; i++)
		jw_z(w, s->reviews[i]);
	jw_end(w);
	jw_end(w);
}

static struct recap
recap_of(const struct json *payload)
{
	struct recap r = {.max_items = 5, .max_words = 24};

	(void)json_int(json_get(payload, S("max_items")), &r.max_items);
	(void)json_int(json_get(payload, S("max_words_line")), &r.max_words);
	return r;
}

void
tool_recap_spec(struct tool_run *t)
{
	const struct json *include = json_get(t->payload, S("include"));
	struct recap r = recap_of(t->payload);

	r.t = t;
	jw_member_z(t->w, "ts", t->now);
	jw_key(t->w, "kernel");
	jw_object(t->w);
	jw_member_z(t->w, "version", KERNEL_VERSION);
	jw_member_bool(t->w, "accepted", t->state->accepted);
	jw_end(t->w);
	jw_key(t->w, "meta_locus");
	write_locus(t->w, t->state);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		if (wanted(include, &sections[i])) {
			jw_key(t->w, sections[i].name);
			sections[i].write(&r);
		}
	jw_member_z(t->w, "note", "session-local; nothing of this is exported");
}

/* ---- the validator ---- */

static void
violation(struct jw *w, const char *field, const char *reason)
{
	jw_object(w);
	jw_member_z(w, "field", field);
	jw_member_z(w, "reason", reason);
	jw_end(w);
}

static bool
lines_fit(const struct json *v, int64_t max_words)
{
	for (struct json_iter it = json_iter(v); json_next(&it);)
		if (words_of(json_str(it.value)) > max_words)
			return false;
	return true;
}

/* At most one violation for each section: as many as the result's schema has room for. */
void
tool_recap_validate(struct jw *violations, const struct json *payload, const struct json *result)
{
	const struct json *include = json_get(payload, S("include"));
	struct recap r = recap_of(payload);

	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const char *name = sections[i].name;
		const struct json *v = json_get(result, str_of(name));
		if ((v != NULL) != wanted(include, &sections[i]))
			violation(violations, name, v ? "was not asked for" : "is missing");
		else if (json_is(v, JSON_ARRAY) && (int64_t)json_len(v) > r.max_items)
			violation(violations, name, "has more than max_items");
		else if (!lines_fit(v, r.max_words))
			violation(violations, name, "has a line of more than max_words_line");
	}
}
