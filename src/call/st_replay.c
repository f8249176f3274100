/*
 * st_replay.c - what was done under this key is not done again: its result is given, once more.
 *
 *	joined (a twin is at work here) --> held (the claims are asked) --> on, or the result
 *
 * Only calls with a key look: the caller's own, or that of its turn group. In this process one call
 * of a key goes on and the others wait for it, wherever it rests meanwhile; when it has left, the
 * next looks what stands there. So a twin of one that was denied or cancelled goes on by itself.
 * On the way out what came of an effect is on the disk before anybody hears of it.
 */

#include "base/crash_at.h"
#include "base/log.h"
#include "call/stage.h"
#include "effect/claims.h"
#include "effect/emission.h"
#include "effect/key.h"

#define RETRY_MS 1000 /* somebody elsewhere is at work */

/* ---- the key ---- */

static bool
has_key(const struct call *c)
{
	return c->gw->claims && (c->idempotency_key.ptr || c->turn->group[0]);
}

static int
key_make(struct call *c, struct err *e)
{
	struct buf text = BUF_INIT(16 * LIMIT_EFFECT_KEY);

	effect_key_write(&text, &(struct effect_key){
				    .tenant = str_of(c->session->tenant),
				    .agent = str_of(c->session->agent),
				    .tool = c->tool->name,
				    .fields = call_key_fields(c),
				    .args = c->input,
				    .group = str_of(c->turn->group),
				    .given = c->idempotency_key,
				});
	if (!buf_failed(&text))
		c->effect_key = arena_str(c->arena, buf_str(&text));
	buf_done(&text);
	return c->effect_key.ptr ? claim_digest(c, e) : err_plain(e, E_NOMEM);
}

/* ---- who goes on ---- */

static struct call *
leader_of(const struct call *c)
{
	return map_find(&c->gw->leaders, c->effect_key);
}

static enum verdict
lead(struct call *c)
{
	struct err e;
	int code = map_put(&c->gw->leaders, c->effect_key, c);

	if (code < 0)
		return call_fail(c, code, "%s", err_row(code)->sentence);
	c->leads = true;
	if (claim_look(c, &e) < 0)
		return call_fail_with(c, &e);
	call_move(c, PLACE_HELD);
	return WAIT;
}

static enum verdict
refuse_other(struct call *c)
{
	return call_fail(c, E_KEY_REUSED,
			 "this idempotency key was used with other arguments; use a new key for "
			 "another call");
}

static enum verdict
approach(struct call *c)
{
	const struct call *twin = leader_of(c);

	if (!twin)
		return lead(c);
	if (strcmp(twin->effect_digest, c->effect_digest) != 0)
		return refuse_other(c);
	call_move(c, PLACE_JOINED);
	return WAIT;
}

static void
lead_no_more(struct call *c)
{
	if (!c->leads)
		return;
	c->leads = false;
	map_remove(&c->gw->leaders, c->effect_key);
	LIST_EACH (&c->gw->at[PLACE_JOINED], at) {
		struct call *twin = CONTAINER_OF(at, struct call, in_place);
		if (str_eq(twin->effect_key, c->effect_key))
			call_wake(twin);
	}
}

/* ---- what stands there ---- */

static int
part_add(struct buf *to, struct str part)
{
	buf_done(to);
	buf_init(to, LIMIT_RESULT_BYTES + 8 * KIB);
	buf_add(to, part);
	return buf_failed(to) ? E_NOMEM : 0;
}

static int
code_named(struct str word)
{
	for (int code = E__FIRST + 1; code < E__END; code++)
		if (str_is(word, err_row(code)->word))
			return code;
	return E_EXECUTION;
}

/* The tool answered with an error then, and may have done a part of its work: the same error. */
static enum verdict
hit_error(struct call *c, struct str text)
{
	struct json_doc *doc = NULL;

	c->out.success = false;
	if (json_parse(text, &json_door, &doc, NULL) < 0)
		return call_fail(c, E_STORE, "this was tried before, but its error cannot be read");
	const struct json *error = json_root(doc), *rpc = json_get(error, S("rpc_code"));
	const struct json *data = json_get(error, S("rpc_data"));
	struct str word = json_str(json_get(error, S("code")));
	struct str said = json_str(json_get(error, S("text")));
	if (rpc)
		json_int(rpc, &c->out.rpc_code);
	if (data) {
		struct jw w = jw(&c->out.rpc_data);
		jw_value(&w, data);
	}
	enum verdict v = word.ptr ? call_fail(c, code_named(word), "%.*s", STR_ARG(said)) : DONE;
	json_doc_unref(doc);
	return v;
}

/* The same bytes as then. Of one whose outcome was told later there are none. */
static enum verdict
hit(struct call *c, const struct claim_found *f)
{
	struct emission m = {.content = {NULL, 0}};

	c->cached = true;
	output_done(&c->out);
	output_init(&c->out);
	c->out.success = true;
	if (!f->result.ptr) {
		output_textf(&c->out,
			     "This was done before (effect %.*s); what it gave back was not kept.",
			     STR_ARG(f->effect));
		return DONE;
	}
	if (!emission_read(f->result, &m))
		return call_fail(c, E_STORE,
				 "this was done before (effect %.*s), but its result "
				 "cannot be read",
				 STR_ARG(f->effect));
	if (part_add(&c->out.content, m.content) < 0 || part_add(&c->out.extra, m.extra) < 0 ||
	    part_add(&c->out.modified, m.modified) < 0)
		return call_fail(c, E_NOMEM,
				 "this was done before (effect %.*s), but there is no "
				 "memory for its result",
				 STR_ARG(f->effect));
	buf_reset(&c->artifacts);
	buf_add(&c->artifacts, m.artifacts);
	return m.error.ptr ? hit_error(c, m.error) : DONE;
}

static enum verdict
busy(struct call *c)
{
	(void)call_fail(c, E_IN_FLIGHT,
			"the same call is under way elsewhere; ask again in a moment");
	c->err.retry_after_ms = RETRY_MS;
	return FAIL;
}

static void
count(struct call *c, const struct claim_found *f)
{
	static const enum metric_check found[] = {[CLAIM_NONE] = CHECK_STARTED,
						  [CLAIM_FAILED] = CHECK_STARTED,
						  [CLAIM_STARTED] = CHECK_TWIN,
						  [CLAIM_DONE] = CHECK_DONE,
						  [CLAIM_UNKNOWN] = CHECK_UNKNOWN};
	bool other = f && f->digest.ptr && f->state != CLAIM_NONE && f->state != CLAIM_FAILED &&
		     !str_eq(f->digest, str_of(c->effect_digest));

	c->gw->metrics.checks[!f ? CHECK_FAILED : other ? CHECK_MISMATCH : found[f->state]]++;
}

static enum verdict
replay_judge(struct call *c, const struct claim_found *f)
{
	if (f->state == CLAIM_NONE || f->state == CLAIM_FAILED)
		return NEXT;
	if (!str_eq(f->digest, str_of(c->effect_digest)))
		return refuse_other(c);
	if (f->state == CLAIM_DONE)
		return hit(c, f);
	if (f->state == CLAIM_STARTED)
		return busy(c);
	if (call_reversibility(c) <= REV_IDEMPOTENT)
		return NEXT;
	return call_fail(c, E_OUTCOME_UNKNOWN,
			 "this was begun before, and whether it was done is not known (effect "
			 "%.*s); somebody has to look, and to say so: holdfast effects resolve "
			 "%.*s --done or --not-done",
			 STR_ARG(f->effect), STR_ARG(f->effect));
}

/* Whether it is ours now. That it may be done again is not enough: then it would be in no ledger.
 */
enum verdict
replay_taken(struct call *c, const struct claim_found *f)
{
	enum verdict v = replay_judge(c, f);

	return v == NEXT && f->state != CLAIM_NONE ? busy(c) : v;
}

/* ---- the stage ---- */

enum verdict
replay_enter(struct call *c)
{
	struct err e;

	if (!has_key(c))
		return NEXT;
	if (key_make(c, &e) < 0)
		return call_fail_with(c, &e);
	return approach(c);
}

/* Reads go on when the claims cannot be reached. */
static enum verdict
looked(struct call *c)
{
	struct err e = ERR_NONE;
	const struct claim_found *f = claim_found(c, &e);

	call_move(c, PLACE_MOVING);
	count(c, f);
	enum verdict v = f                                   ? replay_judge(c, f)
			 : call_reversibility(c) == REV_PURE ? NEXT
							     : call_fail_with(c, &e);
	claim_drop(c);
	return v;
}

enum verdict
replay_wake(struct call *c)
{
	if (c->cancelled) {
		call_move(c, PLACE_MOVING);
		claim_drop(c);
		return call_fail_stopped(c);
	}
	if (c->place == PLACE_JOINED) {
		if (leader_of(c))
			return WAIT;
		call_move(c, PLACE_MOVING);
		return approach(c);
	}
	return claim_answered(c) ? looked(c) : WAIT;
}

/* It is done, and the ledger could not be told so: unknown, should this process end now. */
static void
unrecorded(struct call *c, const struct err *e)
{
	c->unrecorded = true;
	log_line(LOG_ERROR, "what came of an effect could not be written down", "call", c->id.text,
		 "effect", c->effect.text, "error", err_text(e), "inside", e->inside, NULL);
}

enum verdict
replay_after(struct call *c)
{
	struct err e = ERR_NONE;

	if (!c->taken) {
		if (c->leads && !c->cached && call_reversibility(c) == REV_PURE)
			claim_put(c);
		return NEXT;
	}
	if (!c->settled) {
		if (claim_settle(c, &e) < 0) {
			unrecorded(c, &e);
			return NEXT;
		}
		call_move(c, PLACE_HELD);
	}
	if (c->claim && !claim_answered(c))
		return WAIT;
	if (c->claim && !claim_found(c, &e))
		unrecorded(c, &e);
	crash_at(CRASH_SETTLED);
	claim_drop(c);
	if (c->place == PLACE_HELD)
		call_move(c, PLACE_MOVING);
	return NEXT;
}

void
replay_leave(struct call *c)
{
	claim_drop(c);
	lead_no_more(c);
}
