/*
 * hook_run.c - one run of a hook that is a program.
 *
 * It gets the call as one JSON object on its stdin, in the words Claude Code uses, and answers by
 * how it ends: 0 goes on (an object on stdout may say more), 2 blocks with stderr as the reason.
 * Every other end is a failure. What it is told and what it may answer have limits, and so has its
 * time.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "call/hooks.h"
#include "call/stage.h"
#include "loop/child.h"

#define STATUS_BLOCK 2

struct hook_run {
	struct call *call; /* NULL once it has left */
	struct hook *hook; /* a reference */
	struct loop *loop;
	struct arena *arena; /* of the run and its texts */
	struct child *child; /* NULL: over */
	struct timer timer;
	struct confinement confinement;
	struct buf out, err;
	bool late, noisy; /* why it was told to end */
	struct child_exit how;
	uint64_t began_us, ended_us;
	struct json_doc *doc; /* of its answer */
};

/* Its question. */

/* What the agent would get, as things stand. */
static void
write_response(struct jw *w, const struct call *c)
{
	bool failed = c->err.code < 0;

	jw_object(w);
	jw_key(w, "content");
	jw_array(w);
	if (failed) {
		jw_object(w);
		jw_member_z(w, "type", "text");
		jw_member_z(w, "text", err_text(&c->err));
		jw_end(w);
	}
	if (c->out.content.len)
		jw_raw(w, buf_str(&c->out.content));
	jw_end(w);
	jw_member_bool(w, "is_error", call_is_error(c));
	jw_end(w);
}

static void
write_question(struct buf *out, const struct call *c, enum hook_event event)
{
	struct jw w = jw(out);

	jw_object(&w);
	jw_member_z(&w, "session_id", c->session->id.text);
	jw_member_z(&w, "cwd", workspace_path(c->session->workspace));
	jw_member_z(&w, "hook_event_name", hook_event_name(event));
	jw_member(&w, "tool_name", c->tool->name);
	jw_key(&w, "tool_input");
	jw_value(&w, c->input);
	jw_member(&w, "tool_use_id", c->tool_use_id);
	if (event == HOOK_POST) {
		jw_key(&w, "tool_response");
		write_response(&w, c);
	}
	jw_end(&w);
	buf_addc(out, '\n');
}

/* The hook's own, and a few that say where it is. */
static const char *const *
env_build(const struct hook_run *r)
{
	const struct call *c = r->call;
	const char *workspace = workspace_path(c->session->workspace);
	const struct {
		const char *name, *value;
	} more[] = {
	    {"PWD", workspace},
	    {"CLAUDE_PROJECT_DIR", workspace},
	    {"HOLDFAST_WORKSPACE", workspace},
	    {"HOLDFAST_SESSION", c->session->id.text},
	    {"HOLDFAST_CALL", c->id.text},
	    {"HOLDFAST_TOOL", c->tool->name.ptr},
	    {"HOLDFAST_HOOK", hook_event_name(r->hook->event)},
	};
	size_t count = 0, n = 0;

	while (r->hook->env && r->hook->env[count])
		count++;
	const char **env = arena_alloc(r->arena, (count + ARRAY_LEN(more) + 1) * sizeof(*env));
	for (size_t i = 0; env && i < ARRAY_LEN(more); i++, n++)
		if (!(env[n] = arena_printf(r->arena, "%s=%s", more[i].name, more[i].value)))
			return NULL;
	for (size_t i = 0; env && i < count; i++)
		env[n++] = r->hook->env[i];
	return env;
}

/* Its time. */

static void
run_free(struct hook_run *r)
{
	json_doc_unref(r->doc);
	buf_done(&r->out);
	buf_done(&r->err);
	hook_unref(r->hook);
	arena_free(r->arena);
}

static void
said(struct child *child, enum child_stream stream, struct str bytes, void *arg)
{
	struct hook_run *r = arg;

	(void)child;
	if (stream == CHILD_STDERR) {
		buf_add(&r->err, str_upto(bytes, LIMIT_HOOK_REASON - r->err.len));
		return;
	}
	buf_add(&r->out, bytes);
	if (buf_failed(&r->out) && !r->noisy) {
		r->noisy = true;
		child_end(r->child);
	}
}

static void
over(struct child *child, const struct child_exit *how, void *arg)
{
	struct hook_run *r = arg;

	(void)child;
	r->child = NULL;
	r->how = *how;
	r->ended_us = clock_mono_us();
	timer_stop(r->loop, &r->timer);
	if (r->call)
		call_wake(r->call);
	else
		run_free(r);
}

static void
out_of_time(void *arg)
{
	struct hook_run *r = arg;

	r->late = true;
	child_end(r->child);
}

static struct hook_run *
run_new(struct call *c, struct hook *h)
{
	struct arena *arena = arena_new(LIMIT_HOOK_ARENA);
	struct hook_run *r = arena ? ARENA_NEW(arena, struct hook_run) : NULL;

	if (!r) {
		arena_free(arena);
		return NULL;
	}
	r->call = c;
	r->hook = hook_ref(h);
	r->loop = c->gw->loop;
	r->arena = arena;
	r->out = BUF_INIT(LIMIT_HOOK_OUTPUT);
	r->err = BUF_INIT(LIMIT_HOOK_REASON + 1);
	r->began_us = clock_mono_us();
	return r;
}

/* The workspace to write, and what its command names to read. */
static int
confine(struct hook_run *r, struct err *e)
{
	const struct workspace *ws = r->call->session->workspace;
	/* The directory that is held, whatever has its name by now; see builtin/shell.c. */
	const char *const place[] = {arena_printf(r->arena, "/proc/self/fd/%d", workspace_fd(ws)),
				     NULL};
	const struct confinement said = {.read = r->hook->read, .write = place};

	if (!place[0])
		return err_plain(e, E_NOMEM);
	return confine_child(r->call->gw->house, CONFINED_HOOKS, &said, str_of(workspace_path(ws)),
			     r->arena, &r->confinement, e);
}

static int
launch(struct hook_run *r, struct str question, struct err *e)
{
	struct child_spec spec = {
	    .argv = r->hook->argv,
	    .env = env_build(r),
	    .cwd_fd = workspace_fd(r->call->session->workspace),
	    .with_stdin = true,
	    .grace_ms = LIMIT_KILL_GRACE_MS,
	    .confinement = &r->confinement,
	    .output = said,
	    .over = over,
	    .arg = r,
	};
	int code;

	if ((code = confine(r, e)) < 0)
		return code;
	if (!spec.env || timer_start(r->loop, &r->timer, r->hook->timeout_ms, out_of_time, r) < 0)
		return err_plain(e, E_NOMEM);
	if ((code = child_start(r->loop, &spec, &r->child, e)) < 0) {
		timer_stop(r->loop, &r->timer);
		return code;
	}
	/* One that does not read it does not need it. */
	(void)child_write(r->child, question);
	child_close_stdin(r->child);
	return 0;
}

int
hook_run_start(struct call *c, struct hook *h, struct hook_run **ret, struct err *e)
{
	struct buf question = BUF_INIT(LIMIT_HOOK_INPUT);
	struct hook_run *r = run_new(c, h);
	int code;

	if (!r)
		return err_plain(e, E_NOMEM);
	write_question(&question, c, h->event);
	if (buf_failed(&question))
		code = err_set(e, E_LIMIT, "the call is larger than what a hook is told");
	else
		code = launch(r, buf_str(&question), e);
	buf_done(&question);
	if (code < 0)
		run_free(r);
	else
		*ret = r;
	return code;
}

bool
hook_run_over(const struct hook_run *r)
{
	return !r->child;
}

struct hook *
hook_run_hook(const struct hook_run *r)
{
	return r->hook;
}

struct json_doc *
hook_run_doc(const struct hook_run *r)
{
	return r->doc;
}

int
hook_run_exit(const struct hook_run *r)
{
	return r->how.ran && !r->how.signal ? r->how.status : -1;
}

unsigned
hook_run_ms(const struct hook_run *r)
{
	return (unsigned)((r->ended_us - r->began_us) / 1000);
}

void
hook_run_drop(struct hook_run **at)
{
	struct hook_run *r = *at;

	*at = NULL;
	if (!r)
		return;
	r->call = NULL;
	if (!r->child) {
		run_free(r);
		return;
	}
	timer_stop(r->loop, &r->timer);
	child_end(r->child);
}

/* Its answer. */

/* The first line of what it complained about. */
static struct str
complaint(const struct hook_run *r)
{
	struct str rest = str_trim(buf_str(&r->err)), line = {"", 0};

	str_split(&rest, '\n', &line);
	return str_utf8_upto(line, 200);
}

/* How it failed by the way it ended; NULL: it did not. */
static const char *
failure(const struct hook_run *r)
{
	const char *signame = r->how.signal ? sigabbrev_np(r->how.signal) : NULL;
	struct str why = complaint(r);

	if (r->late)
		return arena_printf(r->arena, "it did not end within %u second%s",
				    r->hook->timeout_ms / 1000,
				    r->hook->timeout_ms == 1000 ? "" : "s");
	if (r->noisy)
		return arena_printf(r->arena, "it wrote more than %zu bytes", LIMIT_HOOK_OUTPUT);
	if (!r->how.ran)
		return arena_printf(r->arena, "it could not be run: %s", r->how.reason);
	if (r->how.signal)
		return arena_printf(r->arena, "it was ended by SIG%s", signame ? signame : "?");
	if (r->how.status == 0 || r->how.status == STATUS_BLOCK)
		return NULL;
	return arena_printf(r->arena, "it ended with %d%s%.*s", r->how.status, why.len ? ": " : "",
			    STR_ARG(why));
}

/* What a word of an answer comes to; the first row of a word counts. */
static const struct {
	const char *member, *word;
	bool blocks, asks;
} words[] = {
    {"permissionDecision", "allow", false, false}, /* the policy is not made milder by it */
    {"permissionDecision", "deny", true, false},
    {"permissionDecision", "ask", false, true},
    {"permissionDecision", "defer", false, true},
    {"decision", "approve", false, false},
    {"decision", "allow", false, false},
    {"decision", "block", true, false},
    {"decision", "deny", true, false},
};

/* "decision" and its reason, if they are there. False: nobody knows what that means. */
static bool
read_word(const struct json *from, const char *member, const char *reason, struct hook_said *ret)
{
	const struct json *v = json_get(from, str_of(member));

	if (!v || json_is(v, JSON_NULL))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i].member, member) != 0 || !str_is(json_str(v), words[i].word))
			continue;
		ret->blocks = ret->blocks || words[i].blocks;
		ret->asks = ret->asks || words[i].asks;
		if ((words[i].blocks || words[i].asks) && !ret->reason.len)
			ret->reason = json_str(json_get(from, str_of(reason)));
		return true;
	}
	return false;
}

/* "continue": false stops, too. */
static bool
read_continue(const struct json *root, struct hook_said *ret)
{
	const struct json *v = json_get(root, S("continue"));

	if (v && !json_is(v, JSON_BOOL))
		return false;
	if (v && !json_bool(v)) {
		ret->blocks = true;
		if (!ret->reason.len)
			ret->reason = json_str(json_get(root, S("stopReason")));
	}
	return true;
}

static const char *
read_answer(const struct json *root, enum hook_event event, struct hook_said *ret)
{
	const struct json *more = json_get(root, S("hookSpecificOutput"));

	if (more && !json_is(more, JSON_OBJECT))
		return "its hookSpecificOutput is no object";
	if (!read_word(more, "permissionDecision", "permissionDecisionReason", ret))
		return "its permissionDecision is none of allow, deny and ask";
	if (!read_word(root, "decision", "reason", ret))
		return "its decision is neither block nor approve";
	if (!read_continue(root, ret))
		return "its continue is neither true nor false";
	if (event == HOOK_PRE && (ret->input = json_get(more, S("updatedInput"))) &&
	    !json_is(ret->input, JSON_OBJECT))
		return "its updatedInput is no object";
	if (event == HOOK_POST) {
		ret->output = json_get(more, S("updatedToolOutput"));
		ret->context = json_str(json_get(more, S("additionalContext")));
	}
	return NULL;
}

/* Anything but an object is words for people, and means nothing here. */
static void
read_stdout(struct hook_run *r, struct hook_said *ret)
{
	struct str text = str_trim(buf_str(&r->out));
	struct err e;

	if (!str_starts(text, S("{")))
		return;
	if (json_parse(text, &json_door, &r->doc, &e) < 0)
		ret->problem = arena_printf(r->arena, "its answer is not JSON (%s)", err_text(&e));
	else
		ret->problem = read_answer(json_root(r->doc), r->hook->event, ret);
}

void
hook_run_read(struct hook_run *r, struct hook_said *ret)
{
	*ret = (struct hook_said){.problem = failure(r)};
	if (ret->problem)
		return;
	if (r->how.status == STATUS_BLOCK) {
		ret->blocks = true;
		ret->reason = str_trim(buf_str(&r->err));
		return;
	}
	read_stdout(r, ret);
	if (ret->problem) /* then nothing of what it said counts */
		*ret = (struct hook_said){.problem = ret->problem};
}
