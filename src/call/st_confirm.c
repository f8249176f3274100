/*
 * st_confirm.c - rest until a person has answered, or the question expires.
 *
 * First the tool says what it would do (a preview job: no effect), so that the question can show
 * it. A call whose preview fails is never asked about: it could not run; and one that would change
 * nothing needs no yes. Not so where a secret file is touched: whether a patch fits it tells what
 * is in it, guess by guess, so somebody is asked first in any case. What was shown is bound to the
 * file as it was then (c->shown_image): where that has changed when the tool is about to write,
 * nothing is written and the call comes back here (verdict BACK), to be asked about again.
 */

#include <stdio.h>

#include "base/clock.h"
#include "call/stage.h"

static void
previewed(struct job *j, void *owner)
{
	(void)j;
	call_wake(owner);
}

static struct job_context
context_of(struct call *c)
{
	return (struct job_context){
	    .session = id_str(&c->session->id),
	    .turn = id_str(&c->turn->id),
	    .tool_use_id = c->tool_use_id,
	    .workspace = c->session->workspace,
	};
}

enum verdict
confirm_enter(struct call *c)
{
	struct err e;

	if (!c->ask)
		return NEXT;
	struct job_spec spec = {
	    .kind = JOB_PREVIEW,
	    .tool = c->tool,
	    .input_doc = c->input_doc,
	    .input = c->input,
	    .context = context_of(c),
	    .report = previewed,
	    .owner = c,
	};
	if (job_start(c->gw->loop, &spec, &c->preview, &e) < 0)
		return call_fail_with(c, &e);
	if (call_alarm(c, LIMIT_CALL_MS) < 0)
		return call_fail(c, E_NOMEM, "out of memory");
	call_move(c, PLACE_ASKING);
	return WAIT;
}

static void
answered(struct question *q, void *arg)
{
	(void)q;
	call_wake(arg);
}

/* As much as an event takes, up to the end of a line if that leaves half; *ret_cut: not all. */
static struct str
beginning(struct str text, bool *ret_cut)
{
	const size_t half = LIMIT_EVENT_TEXT / 2;

	*ret_cut = text.len > LIMIT_EVENT_TEXT;
	if (!*ret_cut)
		return text;
	const char *newline = memrchr(text.ptr + half, '\n', half);
	return newline ? str_upto(text, (size_t)(newline - text.ptr) + 1)
		       : str_utf8_upto(text, LIMIT_EVENT_TEXT);
}

/* The id must reach whoever answers, so long texts are whole in the question only. */
static void
announce_requested(struct call *c, const struct question_text *t)
{
	char expires[CLOCK_TEXT];
	struct jw *w = call_event(c, EVENT_TOOL_CONFIRMATION_REQUESTED, NULL);
	bool command_cut, diff_cut, prompt_cut;
	struct str command = beginning(t->command, &command_cut);
	struct str diff = beginning(t->diff, &diff_cut);

	clock_text(question_expires_us(c->question), expires);
	jw_member_z(w, "side_effects", t->side_effects);
	jw_member_z(w, "confirmation_request_id", question_id(c->question));
	if (t->prompt.ptr)
		jw_member(w, "confirmation_prompt", beginning(t->prompt, &prompt_cut));
	jw_member(w, "input_summary", t->summary);
	jw_key(w, "projected_modifications");
	if (t->modifications.ptr)
		jw_raw(w, t->modifications);
	else
		jw_null(w);
	jw_member(w, "command_summary", command);
	jw_member_bool(w, "command_cut", command_cut);
	jw_member(w, "diff", diff);
	jw_member_bool(w, "diff_cut", diff_cut || t->diff_cut);
	jw_member(w, "shown_hash", t->shown_hash);
	jw_member_bool(w, "once_only", t->alone);
	jw_member_bool(w, "asked_again", t->again);
	jw_member(w, "remembered_prefix", t->prefix);
	jw_member(w, "rule", t->rule);
	jw_member_z(w, "expires_at", expires);
	bus_end(c->gw->bus, c->asked_event);
}

/* An empty buffer is "none" in what people and programs read. */
static struct str
or_none(const struct buf *b)
{
	return b->len ? buf_str(b) : (struct str){NULL, 0};
}

/* A server's tool shows nothing of what it would do; but what it is given may be a patch. */
static struct str
patch_in(const struct json *input)
{
	static const struct str names[] = {S("patch"), S("diff"), S("unified_diff")};
	static const struct str heads[] = {S("--- "), S("diff --git "), S("*** Begin Patch")};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct str text = json_str(json_get(input, names[i]));
		for (size_t k = 0; text.ptr && k < ARRAY_LEN(heads); k++)
			if (str_starts(text, heads[k]))
				return text;
	}
	return (struct str){NULL, 0};
}

/* Of all that a person decides by. */
static void
hash_shown(struct call *c, const struct question_text *t)
{
	struct buf b = BUF_INIT(LIMIT_JSON_BYTES * 4);

	buf_addf(&b, "%.*s\n%s\n%s\n", STR_ARG(c->tool->id), c->input_hash, c->shown_image);
	buf_add(&b, t->command.ptr ? t->command : t->diff);
	if (t->prompt.ptr)
		buf_addf(&b, "\n%.*s", STR_ARG(t->prompt));
	digest_bytes(buf_str(&b), c->shown_hash);
	buf_done(&b);
}

static enum verdict
open_question(struct call *c, const struct question_text *text)
{
	int code = question_open(c->gw->questions, text, policy_confirm_ms(c->gw->policy), answered,
				 c, &c->question, &c->err);

	if (code < 0)
		return FAIL;
	c->asked++;
	c->reviewed_us = 0; /* an answer to an earlier one was to something else */
	c->gw->count.asked++;
	announce_requested(c, text);
	form_show(c, text);
	return WAIT;
}

/* What would happen, for a person to look at; *ret_cut: the arguments say more. */
static struct str
diff_of(struct call *c, bool *ret_cut)
{
	const struct output *would = &c->preview->out;

	*ret_cut = would->diff_cut || would->err.code < 0;
	if (would->err.code < 0)
		return str_of(
		    arena_printf(c->arena, "[this would fail: %s]\n", err_text(&would->err)));
	if (would->diff.len)
		return buf_str(&would->diff);
	struct str patch = patch_in(c->input);
	*ret_cut = *ret_cut || (patch.ptr && json_len(c->input) > 1);
	return patch;
}

/* What the agent's activation says goes before what the tool itself does. */
static struct str
prompt_of(const struct call *c)
{
	struct agent *owner = c->session->owner;
	const char *said = owner ? agent_standing(owner, c->tool)->prompt : NULL;

	return said ? str_of(said) : c->tool->confirmation_prompt;
}

static enum verdict
ask(struct call *c)
{
	const struct output *would = &c->preview->out;
	struct buf input = BUF_INIT(LIMIT_JSON_BYTES * 2), paths = BUF_INIT(LIMIT_RESULT_BYTES);
	struct jw w = jw(&input);
	struct str prefix = {NULL, 0};
	bool cut;
	struct str diff = diff_of(c, &cut);

	jw_value(&w, c->input);
	if (would->modified.len)
		buf_addf(&paths, "[%.*s]", STR_ARG(buf_str(&would->modified)));
	/* Of a request nothing is a command line, whatever it looks like. */
	bool described = !c->tool->command_argument.ptr;
	if (would->command.len && !described)
		grant_prefix(buf_str(&would->command), &prefix);
	struct question_text text = {
	    .session = id_str(&c->session->id),
	    .turn = id_str(&c->turn->id),
	    .call = id_str(&c->id),
	    .tool_use_id = c->tool_use_id,
	    .tool = c->tool->name,
	    .subject = call__grant_ask(c).tool,
	    .side_effects = capability_name(c->tool->capability),
	    .stranger = c->tool->stranger ? c->tool->server : (struct str){NULL, 0},
	    .workspace = str_of(workspace_path(c->session->workspace)),
	    .summary = c->input_summary,
	    .modifications = or_none(&paths),
	    .command = or_none(&would->command),
	    .described = described,
	    .prefix = prefix,
	    .diff = diff,
	    .diff_cut = cut,
	    .input = buf_str(&input),
	    .input_hash = str_of(c->input_hash),
	    .image = c->shown_image[0] ? str_of(c->shown_image) : (struct str){NULL, 0},
	    .alone = c->alone,
	    .again = c->asked > 0,
	    .rule = c->rule,
	    .prompt = prompt_of(c),
	};
	hash_shown(c, &text);
	text.shown_hash = str_of(c->shown_hash);
	enum verdict v = buf_failed(&input) || buf_failed(&paths)
			     ? call_fail(c, E_NOMEM, "out of memory")
			     : open_question(c, &text);
	buf_done(&input);
	buf_done(&paths);
	return v;
}

/* It is known what the call would do: does a person have to look? */
static enum verdict
consider(struct call *c)
{
	const struct output *would = &c->preview->out;

	if (would->err.code < 0 && !c->secret)
		return call_fail_with(c, &would->err);
	memcpy(c->shown_image, would->image, sizeof(c->shown_image));
	if (would->unchanged && !c->alone) {
		c->rule = S("nothing would change");
		return NEXT;
	}
	/* "Always" may have been said to a sister call while this one was previewed. */
	enum verdict remembered = call__remembered(c);
	if (remembered == NEXT)
		c->shown_image[0] = '\0'; /* nothing was shown */
	if (remembered != WAIT)
		return remembered;
	if (!c->turn->attended && c->gw->watchers == 0)
		return call_fail(c, E_CONFIRM_TIMEOUT,
				 "%.*s needs a yes (%.*s), and nobody can be asked: there is no "
				 "terminal and nobody watches this gateway",
				 STR_ARG(c->tool->name), STR_ARG(c->rule));
	return ask(c);
}

static void
announce_resolved(struct call *c)
{
	static const char *const decisions[] = {
	    [Q_ALLOWED] = "allow", [Q_DENIED] = "deny", [Q_EXPIRED] = "timeout"};
	enum question_state state = question_state(c->question);
	struct jw *w = call_event_by(c, EVENT_TOOL_CONFIRMATION_RESOLVED, c->asked_event,
				     state == Q_EXPIRED ? "system" : NULL);

	jw_member_z(w, "confirmation_request_id", question_id(c->question));
	jw_member_z(w, "decision", decisions[state]);
	jw_member_z(w, "scope",
		    state == Q_EXPIRED ? NULL : grant_scope_name(question_scope(c->question)));
	jw_member_z(w, "by", question_by(c->question));
	jw_member_z(w, "responding_client_attach_token",
		    NULL); /* of the catalogue; clients are not attached here */
	bus_end(c->gw->bus, NULL);
}

/* prompt_once: a plain yes holds for the rest of the session; not for strangers who share it. */
static void
remember_once(struct call *c)
{
	struct grant_ask ask = call__grant_ask(c);

	if (c->mode != MODE_PROMPT_ONCE || question_scope(c->question) != SCOPE_ONCE ||
	    c->session->shared || c->alone)
		return;
	grant_add(c->gw->grants, &ask, SCOPE_SESSION, true, (struct str){NULL, 0},
		  str_of(question_by(c->question)), NULL, NULL);
	questions_recheck(c->gw->questions, str_of(question_by(c->question)));
}

/* For the journal: who has looked at it, and what they decided. */
static void
reviewed(struct call *c, const char *decision)
{
	const char *by = question_by(c->question);

	announce_resolved(c);
	snprintf(c->reviewed_by, sizeof(c->reviewed_by), "%s", by);
	c->reviewed_us = question_answered_us(c->question);
	c->rule = str_of(arena_printf(c->arena, "%s by %s", decision, by));
}

static enum verdict
settle(struct call *c)
{
	const struct err *failed = &c->preview->out.err;

	switch (question_state(c->question)) {
	case Q_OPEN: return WAIT; /* woken for nothing */
	case Q_ALLOWED:
		reviewed(c, "allowed");
		remember_once(c);
		return failed->code < 0 ? call_fail_with(c, failed) : NEXT;
	case Q_DENIED:
		reviewed(c, "denied");
		return call_fail(c, E_USER_DENIED, "%s",
				 form_put_away(c) ? "The form was dismissed without an answer, "
						    "which counts as no: nothing was done."
						  : "User denied this operation.");
	case Q_EXPIRED:
		announce_resolved(c);
		return call_fail(c, E_CONFIRM_TIMEOUT, "nobody answered within %u second%s",
				 policy_confirm_ms(c->gw->policy) / 1000,
				 policy_confirm_ms(c->gw->policy) == 1000 ? "" : "s");
	case Q_WITHDRAWN: break; /* only by us */
	}
	BUG("question in no state");
}

enum verdict
confirm_wake(struct call *c)
{
	enum verdict v = WAIT;

	if (c->cancelled) {
		if (c->question && question_state(c->question) != Q_OPEN)
			announce_resolved(c); /* somebody was told that the answer counts */
		v = call_fail_stopped(c);
	} else if (c->question) {
		v = settle(c);
	} else if (c->preview->reported) {
		call_calm(c);
		v = consider(c);
	} else if (c->overdue) {
		v = call_fail(c, E_TIMEOUT,
			      "what this would do could not be told within %d seconds",
			      LIMIT_CALL_MS / 1000);
	}
	if (v != WAIT)
		call_move(c, PLACE_MOVING);
	return v;
}

/* Also reached when the agent hangs up: the question must not outlive the call. */
void
confirm_leave(struct call *c)
{
	call_calm(c);
	job_free(&c->preview);
	form_drop(c);
	question_withdraw(c->gw->questions, &c->question);
}
