/* state.c - the state of a kernel session: read, written, changed. */

#include "kernel/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *const drift_names[] = {"none", "drift", "evolution"};
const char *const decision_names[] = {"", "allow", "revise", "block"};
const char *const ledger_names[] = {"policy_event", "archive", "waiting_with", "latency_breach"};
const char *const mode_names[] = {"lite", "standard", "strict"};

void
state_init(struct kernel_state *s)
{
	*s = (struct kernel_state){.mode = MODE_STANDARD};
}

void
state_done(struct kernel_state *s)
{
	for (size_t i = 0; i < s->review_count; i++)
		free(s->reviews[i]);
	for (size_t i = 0; i < s->ledger_len; i++)
		free(s->ledger[i].meta);
	free(s->ledger);
	state_init(s);
}

/* Which of the names; the first when it is none of them. */
static unsigned
name_index(struct str name, const char *const *names, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (str_is(name, names[i]))
			return i;
	return 0;
}

/* As much as there is room for: schemas say how much that can be. */
static void
copy(char *out, size_t size, struct str from)
{
	from = str_utf8_upto(from, size - 1);
	memcpy(out, from.len ? from.ptr : "", from.len);
	out[from.len] = '\0';
}

static int
read_reviews(const struct json *queue, struct kernel_state *s)
{
	for (struct json_iter it = json_iter(queue); json_next(&it);) {
		if (s->review_count == LIMIT_KERNEL_REVIEWS)
			return E_LIMIT;
		if (!(s->reviews[s->review_count] = str_dup(json_str(it.value))))
			return E_NOMEM;
		s->review_count++;
	}
	return 0;
}

static int
read_locus(const struct json *locus, struct kernel_state *s)
{
	const struct json *mode = json_get(locus, S("latency_mode"));
	int code = read_reviews(json_get(locus, S("review_queue")), s);

	s->accepted = json_bool(json_get(locus, S("accepted")));
	/* It needs a queue, and is over when that is empty. */
	s->containment = json_bool(json_get(locus, S("containment"))) && s->review_count > 0;
	if (mode)
		s->mode = name_index(json_str(mode), mode_names, ARRAY_LEN(mode_names));
	return code;
}

/* The ledger has its room from the first entry on: appending to it cannot fail later. */
static int
ledger_room(struct kernel_state *s)
{
	if (!s->ledger)
		s->ledger = calloc(LIMIT_KERNEL_LEDGER, sizeof(*s->ledger));
	if (!s->ledger)
		return E_NOMEM;
	return s->ledger_len < LIMIT_KERNEL_LEDGER ? 0 : E_LIMIT;
}

static char *
object_text(const struct json *v)
{
	struct buf b = BUF_INIT(LIMIT_KERNEL_STATE);
	struct jw w = jw(&b);

	if (v)
		jw_value(&w, v);
	else
		buf_addz(&b, "{}");
	char *text = buf_failed(&b) ? NULL : str_dup(buf_str(&b));
	buf_done(&b);
	return text;
}

static int
read_entry(const struct json *v, struct kernel_state *s)
{
	const struct json *meta = json_get(v, S("meta"));
	int code = ledger_room(s);

	if (code < 0)
		return code;
	struct ledger_entry *entry = &s->ledger[s->ledger_len];
	*entry = (struct ledger_entry){
	    .type =
		name_index(json_str(json_get(v, S("type"))), ledger_names, ARRAY_LEN(ledger_names)),
	    .decision = name_index(json_str(json_get(meta, S("decision"))), decision_names,
				   ARRAY_LEN(decision_names)),
	};
	copy(entry->id, sizeof(entry->id), json_str(json_get(v, S("entry_id"))));
	copy(entry->ts, sizeof(entry->ts), json_str(json_get(v, S("ts"))));
	copy(entry->ref, sizeof(entry->ref), json_str(json_get(v, S("ref"))));
	copy(entry->code, sizeof(entry->code), json_str(json_get(meta, S("code"))));
	if (!(entry->meta = object_text(meta)))
		return E_NOMEM;
	s->ledger_len++;
	return 0;
}

static void
read_moves(const struct json *list, struct kernel_state *s)
{
	for (struct json_iter it = json_iter(list); json_next(&it);) {
		if (s->move_count == LIMIT_KERNEL_MOVES)
			return;
		struct kernel_move *m = &s->moves[s->move_count++];
		copy(m->id, sizeof(m->id), json_str(json_get(it.value, S("move_id"))));
		copy(m->ts, sizeof(m->ts), json_str(json_get(it.value, S("ts"))));
		copy(m->ref, sizeof(m->ref), json_str(json_get(it.value, S("artifact_ref"))));
	}
}

int
state_read(const struct json *v, struct kernel_state *ret, struct err *e)
{
	int code;

	state_init(ret);
	code = read_locus(json_get(v, S("meta_locus")), ret);
	for (struct json_iter it = json_iter(json_get(v, S("ledger")));
	     code == 0 && json_next(&it);)
		code = read_entry(it.value, ret);
	read_moves(json_get(v, S("moves")), ret);
	copy(ret->aim, sizeof(ret->aim), json_str(json_get(v, S("aim"))));
	copy(ret->clock, sizeof(ret->clock), json_str(json_get(v, S("clock"))));
	ret->drift =
	    name_index(json_str(json_get(v, S("drift"))), drift_names, ARRAY_LEN(drift_names));
	ret->sequence = (int64_t)ret->ledger_len;
	(void)json_int(json_get(v, S("sequence")), &ret->sequence);
	if (code == 0)
		return 0;
	state_done(ret);
	return err_plain(e, code);
}

static void
write_locus(struct jw *w, const struct kernel_state *s)
{
	jw_object(w);
	jw_member_bool(w, "accepted", s->accepted);
	jw_member_bool(w, "containment", s->containment);
	jw_key(w, "review_queue");
	jw_array(w);
	for (size_t i = 0; i < s->review_count; i++)
		jw_z(w, s->reviews[i]);
	jw_end(w);
	jw_member_z(w, "latency_mode", mode_names[s->mode]);
	jw_end(w);
}

static void
write_entry(struct jw *w, const struct ledger_entry *entry)
{
	jw_object(w);
	jw_member_z(w, "entry_id", entry->id);
	jw_member_z(w, "ts", entry->ts);
	jw_member_z(w, "type", ledger_names[entry->type]);
	jw_member_z(w, "ref", entry->ref[0] ? entry->ref : NULL);
	jw_key(w, "meta");
	jw_raw(w, str_of(entry->meta));
	jw_end(w);
}

/* Inlined into a loop it makes gcc 12 warn of a string that it takes for the one before. */
__attribute__((noinline)) void
state_write_move(struct jw *w, const struct kernel_move *m)
{
	jw_object(w);
	jw_member_z(w, "move_id", m->id);
	jw_member_z(w, "ts", m->ts);
	jw_member_z(w, "artifact_ref", m->ref);
	jw_end(w);
}

void
state_write(struct jw *w, const struct kernel_state *s)
{
	jw_object(w);
	jw_key(w, "meta_locus");
	write_locus(w, s);
	if (s->aim[0])
		jw_member_z(w, "aim", s->aim);
	jw_member_z(w, "drift", drift_names[s->drift]);
	jw_key(w, "ledger");
	jw_array(w);
	for (size_t i = 0; i < s->ledger_len; i++)
		write_entry(w, &s->ledger[i]);
	jw_end(w);
	jw_key(w, "moves");
	jw_array(w);
	for (size_t i = 0; i < s->move_count; i++)
		state_write_move(w, &s->moves[i]);
	jw_end(w);
	jw_member_int(w, "sequence", s->sequence);
	if (s->clock[0])
		jw_member_z(w, "clock", s->clock);
	jw_end(w);
}

/* ---- changing it ---- */

static int
append(struct kernel_state *s, const struct effects *fx, const char *ts)
{
	struct buf meta = BUF_INIT(LIMIT_KERNEL_EMISSION);
	int code = ledger_room(s);

	if (code < 0)
		return code;
	buf_addf(&meta, "{%.*s}", STR_ARG(buf_str(&fx->meta)));
	struct ledger_entry entry = fx->entry;
	entry.meta = buf_failed(&meta) || buf_failed(&fx->meta) ? NULL : str_dup(buf_str(&meta));
	buf_done(&meta);
	if (!entry.meta)
		return E_NOMEM;
	snprintf(entry.id, sizeof(entry.id), "e%" PRId64, ++s->sequence);
	copy(entry.ts, sizeof(entry.ts), str_of(ts));
	s->ledger[s->ledger_len++] = entry;
	return 0;
}

static void
remember_move(struct kernel_state *s, const struct kernel_move *move, const char *ts)
{
	if (s->move_count == LIMIT_KERNEL_MOVES)
		memmove(s->moves, s->moves + 1, --s->move_count * sizeof(*s->moves));
	struct kernel_move *m = &s->moves[s->move_count++];
	*m = *move;
	copy(m->ts, sizeof(m->ts), str_of(ts));
}

int
state_apply(struct kernel_state *s, const struct effects *fx, const char *ts, struct err *e)
{
	int code = fx->enters ? append(s, fx, ts) : 0;

	if (code < 0)
		return err_plain(e, code);
	if (fx->contains)
		s->containment = s->review_count > 0;
	if (fx->scanned) {
		memcpy(s->aim, fx->aim, sizeof(s->aim));
		s->drift = fx->drift;
	}
	if (fx->moved)
		remember_move(s, &fx->move, ts);
	return 0;
}
