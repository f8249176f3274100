/* stages.c - stages and hooks that come through the public header, and what they see of a call. */

#include "base/log.h"
#include "call/call.h"
#include "call/hooks.h"
#include "daemon/hf.h"

int
hf_use(struct hf *hf, const struct hf_stage *stage, enum hf_side side, const char *neighbour)
{
	struct guest_stage guest = {
	    .name = stage->name,
	    .sentence = stage->sentence,
	    .enter = stage->enter,
	    .wake = stage->wake,
	    .leave = stage->leave,
	    .arg = stage->arg,
	};
	struct err e;

	if (gateway_use(&hf->gw, &guest, side == HF_AFTER, str_of(neighbour), &e) < 0)
		return hf__fail(hf, &e);
	return 0;
}

static int
add_hook(struct hf *hf, enum hook_event event, const char *tool, hf_hook_fn hook, void *arg)
{
	struct hook *h = hook_new(event, str_of(tool), S("a function"));
	struct err e;
	int code;

	if (h) {
		h->function = hook;
		h->arg = arg;
		code = gateway_hook(&hf->gw, h, &e);
		hook_unref(h);
	} else {
		code = err_plain(&e, E_NOMEM);
	}
	return code < 0 ? hf__fail(hf, &e) : 0;
}

int
hf_hook_pre(struct hf *hf, const char *tool, hf_hook_fn hook, void *arg)
{
	return add_hook(hf, HOOK_PRE, tool, hook, arg);
}

int
hf_hook_post(struct hf *hf, const char *tool, hf_hook_fn hook, void *arg)
{
	return add_hook(hf, HOOK_POST, tool, hook, arg);
}

int
hf__hooks_set(struct hf *hf, const struct config *c, struct err *e)
{
	return gateway_set_programs(&hf->gw, c->hooks, c->hook_count, e);
}

/* Names may come later, with a server; but one that is nearly right is worth a word. */
void
hf__hooks_warn(struct hf *hf)
{
	const struct config *c = &hf->config;

	for (size_t i = 0; i < c->hook_count; i++) {
		struct str name = c->hooks[i]->matcher;
		bool of_server = c->server_count && memmem(name.ptr, name.len, "__", 2);
		if (!c->hooks[i]->plain || of_server || catalog_find(hf->catalog, name))
			continue;
		const struct tool *near = catalog_near(hf->catalog, name);
		log_line(LOG_WARN, "hooks: there is no tool of this name, so it never runs",
			 "matcher", name.ptr, "hook", c->hooks[i]->name.ptr, near ? "near" : NULL,
			 near ? near->name.ptr : NULL, NULL);
	}
}

static struct call *
call_of(struct hf_call *call)
{
	return (struct call *)call;
}

static struct hf *
hf_of(struct hf_call *call)
{
	return CONTAINER_OF(call_of(call)->gw, struct hf, gw);
}

const char *
hf_call_tool(struct hf_call *call)
{
	const struct call *c = call_of(call);

	return c->tool ? c->tool->name.ptr : c->tool_name.ptr;
}

const char *
hf_call_id(struct hf_call *call)
{
	return call_of(call)->tool_use_id.ptr;
}

const char *
hf_call_session(struct hf_call *call)
{
	return call_of(call)->session->id.text;
}

const char *
hf_call_workspace(struct hf_call *call)
{
	return workspace_path(call_of(call)->session->workspace);
}

const char *
hf_call_input(struct hf_call *call)
{
	return call_input_text(call_of(call));
}

const char *
hf_call_capability(struct hf_call *call)
{
	const struct call *c = call_of(call);

	return c->tool ? capability_name(c->tool->capability) : NULL;
}

bool
hf_call_is_error(struct hf_call *call)
{
	return call_is_error(call_of(call));
}

const char *
hf_call_result(struct hf_call *call)
{
	return call_result_text(call_of(call));
}

int
hf_call_fail(struct hf_call *call, const char *sentence)
{
	struct call *c = call_of(call);

	if (!c->returning)
		err_set(&c->err, E_PERMISSION, "%s", sentence);
	return HF_FAIL;
}

int
hf_call_set_input(struct hf_call *call, const char *json)
{
	struct err e;

	if (hook_set_input(call_of(call), str_of(json), &e) < 0)
		return hf__fail(hf_of(call), &e);
	return 0;
}

int
hf_call_abort(struct hf_call *call, const char *reason, const char *result)
{
	return hook_abort(call_of(call), str_of(reason), str_of(result));
}

int
hf_call_set_result(struct hf_call *call, const char *text, size_t len, bool is_error)
{
	return hook_set_result(call_of(call), (struct str){text, len}, is_error);
}

/* The call may be over when the loop gets to it, so it is remembered by its id. When there are too
 * many, all are woken: that is allowed. */
void
hf_call_wake(struct hf_call *call)
{
	struct hf *hf = hf_of(call);

	pthread_mutex_lock(&hf->lock);
	if (hf->woken_count < HF_WOKEN)
		hf->woken[hf->woken_count++] = call_of(call)->id;
	else
		hf->woken_all = true;
	pthread_mutex_unlock(&hf->lock);
	mailbox_post(&hf->mailbox);
}

void
hf__wake_calls(struct hf *hf)
{
	struct id woken[HF_WOKEN];

	pthread_mutex_lock(&hf->lock);
	size_t count = hf->woken_count;
	bool all = hf->woken_all;
	memcpy(woken, hf->woken, sizeof(woken));
	hf->woken_count = 0;
	hf->woken_all = false;
	pthread_mutex_unlock(&hf->lock);
	for (size_t i = 0; i < count; i++)
		gateway_wake_call(&hf->gw, id_str(&woken[i]));
	if (all)
		gateway_wake_guests(&hf->gw);
}
