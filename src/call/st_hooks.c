/*
 * st_hooks.c - hooks look at the call before its arguments are checked, and at its result.
 *
 * They run one after the other. A function is called and has returned; a program is waited for.
 * What they change comes before the stages that check, ask and digest, so an approval always covers
 * what really runs. One that fails before the tool ends the call (unless it is lenient); one that
 * fails after it leaves the result as it is.
 */

#include "base/clock.h"
#include "base/log.h"
#include "call/hooks.h"
#include "call/stage.h"
#include "text/secrets.h"

/* Telling. */

/* Every run of a hook that did more than look is in the journal. */
static void
announce(struct call *c, const struct hook *h, const char *outcome, struct str reason)
{
	struct jw *w = call_event(c, EVENT_TOOL_HOOKED, c->called_event);
	const struct hook_run *run = c->hook_run;

	jw_member(w, "hook", str_utf8_upto(h->name, 200));
	jw_member_z(w, "event", hook_event_name(h->event));
	jw_member_z(w, "outcome", outcome);
	jw_member(w, "reason",
		  reason.len ? str_utf8_upto(reason, LIMIT_HOOK_REASON) : (struct str){NULL, 0});
	if (run && hook_run_exit(run) >= 0)
		jw_member_int(w, "exit", hook_run_exit(run));
	if (run)
		jw_member_int(w, "duration_ms", hook_run_ms(run));
	bus_end(c->gw->bus, NULL);
}

/* Changing. */

static void
take_input(struct call *c, struct json_doc *doc, const struct json *input)
{
	struct json_doc *old = c->input_doc;

	c->input_doc = json_doc_ref(doc);
	c->input = input;
	c->input_text_of = NULL;
	json_doc_unref(old);
}

/* A text block, its secrets taken out; in place of what there was, or behind it. */
static void
add_text(struct call *c, struct str text)
{
	struct buf clean = BUF_INIT(SECRETS_GROWTH * LIMIT_RESULT_BYTES);

	if (artifacts_redact(c->gw->artifacts) && secrets_redact(text, &clean) > 0)
		text = buf_str(&clean);
	output_text(&c->out, text);
	buf_done(&clean);
}

/* Also what was beside the text, and where the rest of it can be seen, was the old result. */
static void
clear_result(struct call *c)
{
	struct buf *parts[] = {&c->out.content, &c->out.extra, &c->artifacts};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		buf_reset(parts[i]);
	c->out.content.max = c->out.extra.max = LIMIT_RESULT_BYTES;
}

/* More than a result may have is not shown in part: half a block is no JSON. */
static void
close_result(struct call *c, size_t whole)
{
	if (!buf_failed(&c->out.content))
		return;
	c->out.content.len = whole;
	c->out.content.failed = false;
}

static void
put_result(struct call *c, struct str text, bool is_error)
{
	clear_result(c);
	add_text(c, text);
	close_result(c, 0);
	c->out.success = !is_error;
}

/* As a string, as {"content": [text blocks]} like the hook was given, or as whatever it is. */
static void
take_output(struct call *c, const struct json *output)
{
	const struct json *blocks = json_get(output, S("content")), *failed;
	struct buf text = BUF_INIT(LIMIT_HOOK_OUTPUT * 6);
	struct jw w = jw(&text);

	failed = json_get(output, S("is_error"));
	bool is_error = json_is(failed, JSON_BOOL) ? json_bool(failed) : !c->out.success;
	if (json_is(output, JSON_STRING)) {
		put_result(c, json_str(output), is_error);
	} else if (json_is(blocks, JSON_ARRAY)) {
		clear_result(c);
		for (struct json_iter it = json_iter(blocks); json_next(&it);)
			if (json_is(json_get(it.value, S("text")), JSON_STRING))
				add_text(c, json_str(json_get(it.value, S("text"))));
		close_result(c, 0);
		c->out.success = !is_error;
	} else {
		jw_value(&w, output);
		put_result(c, buf_str(&text), is_error);
	}
	buf_done(&text);
}

static void
append_text(struct call *c, struct str text)
{
	size_t whole = c->out.content.len;

	c->out.content.max = LIMIT_RESULT_BYTES;
	add_text(c, text);
	close_result(c, whole);
}

/* Before the tool. */

static enum verdict
abort_call(struct call *c, const struct hook *h, struct str reason)
{
	struct str shown = str_utf8_upto(str_trim(reason), 400);

	c->aborted = true;
	announce(c, h, "blocked", reason);
	return call_fail(c, E_PERMISSION, "aborted by hook%s%.*s", shown.len ? ": " : "",
			 STR_ARG(shown));
}

/* Whether it failed or was never run: what it should have looked at does not go on. */
static enum verdict
fail_call(struct call *c, const struct hook *h, const char *problem)
{
	announce(c, h, "failed", str_of(problem));
	if (h->lenient)
		return NEXT;
	c->aborted = true;
	return call_fail(c, E_PERMISSION, "the hook '%.*s' failed, so the call is not made: %s",
			 STR_ARG(str_utf8_upto(h->name, 100)), problem);
}

static enum verdict
take_answer(struct call *c)
{
	struct hook *h = hook_run_hook(c->hook_run);
	struct hook_said said;
	enum verdict v = NEXT;

	hook_run_read(c->hook_run, &said);
	if (said.input) { /* first, also when it blocks: the journal tells what it would have been
			   */
		take_input(c, hook_run_doc(c->hook_run), said.input);
		announce(c, h, "changed", S("input"));
	}
	if (said.problem) {
		v = fail_call(c, h, said.problem);
	} else if (said.blocks) {
		v = abort_call(c, h, said.reason);
	} else if (said.asks) {
		struct str why = str_utf8_upto(said.reason, 200);
		c->must_ask =
		    arena_printf(c->arena, "hook%s%.*s", why.len ? ": " : "", STR_ARG(why));
		announce(c, h, "ask", said.reason);
		if (!c->must_ask)
			v = call_fail(c, E_NOMEM, "out of memory");
	}
	hook_run_drop(&c->hook_run);
	return v;
}

static int
start(struct call *c, struct hook *h, struct err *e)
{
	int code = hook_run_start(c, h, &c->hook_run, e);

	if (code < 0)
		log_line(LOG_ERROR, "a hook was not started", "call", c->id.text, "hook",
			 h->name.ptr, "error", err_text(e), "inside", e->inside, NULL);
	return code;
}

static enum verdict
start_program(struct call *c, struct hook *h)
{
	struct err e;

	if (start(c, h, &e) < 0)
		return fail_call(c, h, err_text(&e));
	call_move(c, PLACE_HOOKING);
	return WAIT;
}

static void
call_hook(struct call *c, struct hook *h)
{
	c->hook_calls = true;
	h->function((struct hf_call *)c, h->arg);
	c->hook_calls = false;
}

static enum verdict
call_function(struct call *c, struct hook *h)
{
	/* Held, or arguments that are changed twice may come to stand where these did. */
	struct json_doc *before = c->input_doc ? json_doc_ref(c->input_doc) : NULL;

	call_hook(c, h);
	if (c->input_doc != before)
		announce(c, h, "changed", S("input"));
	json_doc_unref(before);
	c->aborted = c->aborted || c->err.code < 0; /* hf_call_fail is for stages, but no joke */
	if (!c->aborted)
		return NEXT;
	announce(c, h, "blocked", str_of(err_text(&c->err)));
	return FAIL;
}

/* From the hook that is next on. */
static enum verdict
go_on(struct call *c)
{
	struct hooks *list = c->hooks;
	enum verdict v = NEXT;

	while (v == NEXT && c->hook_at < list->count[HOOK_PRE]) {
		struct hook *h = list->at[HOOK_PRE][c->hook_at++];
		if (hook_fits(h, c->tool->name))
			v = h->argv ? start_program(c, h) : call_function(c, h);
	}
	if (v != WAIT) {
		call_move(c, PLACE_MOVING);
		c->hook_at = 0;
	}
	return v;
}

enum verdict
hooks_enter(struct call *c)
{
	if (!c->gw->hooks || !c->input) /* what could not be read is refused by args */
		return NEXT;
	c->hooks = hooks_ref(c->gw->hooks);
	return go_on(c);
}

enum verdict
hooks_wake(struct call *c)
{
	if (c->cancelled) {
		call_move(c, PLACE_MOVING);
		return call_fail_stopped(c);
	}
	if (!hook_run_over(c->hook_run))
		return WAIT;
	enum verdict v = take_answer(c);
	if (v == NEXT)
		return go_on(c);
	call_move(c, PLACE_MOVING);
	return v;
}

/* After the tool. */

static void
take_remark(struct call *c)
{
	struct hook *h = hook_run_hook(c->hook_run);
	struct hook_said said;

	hook_run_read(c->hook_run, &said);
	if (said.problem) {
		announce(c, h, "failed", str_of(said.problem));
		log_line(LOG_WARN, "a hook failed; the result stays as it is", "call", c->id.text,
			 "hook", h->name.ptr, "problem", said.problem, NULL);
	}
	if (said.output) {
		take_output(c, said.output);
		announce(c, h, "changed", S("result"));
	}
	if (said.context.len)
		append_text(c, said.context);
	if (said.blocks) { /* it is done; the agent hears what is wrong with it */
		append_text(c, said.reason.len ? said.reason : S("a hook objects to this result"));
		c->out.success = false;
		announce(c, h, "blocked", said.reason);
	}
	hook_run_drop(&c->hook_run);
}

static bool
start_post_program(struct call *c, struct hook *h)
{
	struct err e;

	if (c->cancelled) /* whoever wanted the result waits no more */
		return false;
	if (start(c, h, &e) < 0) {
		announce(c, h, "failed", str_of(err_text(&e)));
		return false;
	}
	call_move(c, PLACE_HOOKING);
	return true;
}

/* On the way out; again each time a program has ended. The tool is done: a cancel ends the
 * program, and changes nothing else. */
enum verdict
hooks_after(struct call *c)
{
	struct hooks *list = c->hooks;

	if (!list || c->aborted || !c->called_mono_us)
		return NEXT;
	if (c->hook_run && !hook_run_over(c->hook_run) && !c->cancelled)
		return WAIT;
	if (c->hook_run && hook_run_over(c->hook_run))
		take_remark(c);
	hook_run_drop(&c->hook_run);
	while (c->hook_at < list->count[HOOK_POST]) {
		struct hook *h = list->at[HOOK_POST][list->count[HOOK_POST] - ++c->hook_at];
		if (!hook_fits(h, c->tool->name))
			continue;
		if (!h->argv)
			call_hook(c, h);
		else if (start_post_program(c, h))
			return WAIT;
	}
	call_move(c, PLACE_MOVING);
	return NEXT;
}

void
hooks_leave(struct call *c)
{
	hook_run_drop(&c->hook_run);
	hooks_unref(c->hooks);
	c->hooks = NULL;
}

/* For functions at work. */

int
hook_set_input(struct call *c, struct str json, struct err *e)
{
	struct json_doc *doc = NULL;
	struct err bad;

	if (!c->hook_calls || c->returning || c->aborted)
		return err_set(e, E_FORBIDDEN, "arguments are changed by a hook before the tool");
	int code = json_parse(json, &json_door, &doc, &bad);
	if (code == 0 && !json_is(json_root(doc), JSON_OBJECT))
		code = err_set(&bad, E_BAD_JSON, "they are no object");
	if (code == 0)
		take_input(c, doc, json_root(doc));
	json_doc_unref(doc);
	if (code == 0)
		return 0;
	c->aborted = true;
	call_fail(c, E_VALIDATION, "a hook gave arguments that cannot be read: %s", err_text(&bad));
	return err_set(e, E_VALIDATION, "%s", err_text(&bad));
}

int
hook_abort(struct call *c, struct str reason, struct str result)
{
	struct str shown = str_utf8_upto(reason, 400);

	if (!c->hook_calls || c->returning)
		return E_FORBIDDEN;
	c->aborted = true;
	if (c->err.code == 0)
		call_fail(c, E_PERMISSION, "aborted by hook%s%.*s", shown.len ? ": " : "",
			  STR_ARG(shown));
	if (result.ptr) {
		output_done(&c->out); /* of an abort before this one */
		output_init(&c->out);
		put_result(c, result, true);
	}
	return 0;
}

int
hook_set_result(struct call *c, struct str text, bool is_error)
{
	if (!c->hook_calls || !c->returning)
		return E_FORBIDDEN;
	put_result(c, text, is_error);
	return 0;
}
