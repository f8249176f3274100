/*
 * st_scope.c - every path argument lies inside the workspace.
 *
 * This is the early and friendly check, before a person is asked. The file operations decide for
 * themselves again in the moment they open. Resolving names can block on a slow disk, so it runs on
 * a worker; the check owns references to all it uses, because the call may be cancelled meanwhile.
 */

#include <stdlib.h>

#include "call/stage.h"

struct scope_check {
	struct call *call; /* NULL once the call has left */
	struct workspace *workspace;
	struct tool *tool;
	struct json_doc *doc;
	const struct json *input;
	struct work work;
	bool finished;
	struct buf targets; /* as struct call has them */
	struct err err;
};

/* Where the path leads decides what it is, whatever it is called: a link to .env is .env. */
static int
check_path(struct scope_check *k, struct str path)
{
	int code = workspace_check(k->workspace, path, &k->err);
	size_t before = k->targets.len;

	if (code < 0)
		return code;
	if (workspace_target(k->workspace, path, &k->targets, NULL) < 0) {
		k->targets.len = before;
		buf_add(&k->targets, path); /* nothing is there */
	}
	buf_addc(&k->targets, '\0');
	return buf_failed(&k->targets) ? err_set(&k->err, E_LIMIT, "too many paths") : 0;
}

static int
check_value(struct scope_check *k, const struct json *v)
{
	int code = 0;

	if (json_is(v, JSON_STRING))
		return check_path(k, json_str(v));
	for (struct json_iter it = json_iter(v); code == 0 && json_next(&it);)
		if (json_is(it.value, JSON_STRING))
			code = check_path(k, json_str(it.value));
	return code;
}

static void
check_paths(void *arg)
{
	struct scope_check *k = arg;

	for (struct json_iter it = json_iter(k->tool->path_arguments); json_next(&it);)
		if (check_value(k, json_get(k->input, json_str(it.value))) < 0)
			return;
}

static void
check_free(struct scope_check *k)
{
	workspace_unref(k->workspace);
	tool_unref(k->tool);
	json_doc_unref(k->doc);
	buf_done(&k->targets);
	free(k);
}

static void
checked(void *arg)
{
	struct scope_check *k = arg;

	k->finished = true;
	if (k->call)
		call_wake(k->call);
	else
		check_free(k);
}

enum verdict
scope_enter(struct call *c)
{
	if (json_len(c->tool->path_arguments) == 0)
		return NEXT;
	struct scope_check *k = calloc(1, sizeof(*k));
	if (!k)
		return call_fail(c, E_NOMEM, "out of memory");
	*k = (struct scope_check){
	    .call = c,
	    .workspace = workspace_ref(c->session->workspace),
	    .tool = tool_ref(c->tool),
	    .doc = json_doc_ref(c->input_doc),
	    .input = c->input,
	    .targets = BUF_INIT(LIMIT_JSON_BYTES),
	};
	if (work_start(c->gw->loop, &k->work, check_paths, checked, k) < 0) {
		check_free(k);
		return call_fail(c, E_SYSTEM, "the system refused an operation");
	}
	c->check = k;
	if (call_alarm(c, LIMIT_CALL_MS) < 0)
		return call_fail(c, E_NOMEM, "out of memory");
	call_move(c, PLACE_CHECKING);
	return WAIT;
}

enum verdict
scope_wake(struct call *c)
{
	if (c->cancelled) {
		call_move(c, PLACE_MOVING);
		return call_fail_stopped(c);
	}
	if (!c->check->finished && !c->overdue)
		return WAIT;
	call_move(c, PLACE_MOVING);
	call_calm(c);
	if (!c->check->finished)
		return call_fail(c, E_TIMEOUT, "the workspace did not answer within %d seconds",
				 LIMIT_CALL_MS / 1000);
	c->targets = buf_str(&c->check->targets); /* the check stays until the call leaves */
	return c->check->err.code < 0 ? call_fail_with(c, &c->check->err) : NEXT;
}

void
scope_leave(struct call *c)
{
	struct scope_check *k = c->check;

	call_calm(c);
	c->check = NULL;
	if (k && k->finished)
		check_free(k);
	else if (k)
		k->call = NULL;
}
