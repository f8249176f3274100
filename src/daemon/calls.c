/* calls.c - sessions, calls, answers and events through the public header. */

#include <stdlib.h>

#include "base/limits.h"
#include "daemon/hf.h"

static struct session *
find_session(struct hf *hf, const char *id)
{
	struct session *s = session_find(hf->sessions, str_of(id));

	if (!s)
		err_set(&hf->err, E_NO_SESSION, "there is no open session '%s'", id);
	return s;
}

int
hf_session_open(struct hf *hf, const char *workspace, bool worker, char ret_id[40])
{
	struct session_spec spec = {
	    .kind = worker ? SESSION_WORKER : SESSION_MAIN,
	    .client = S("library"),
	};
	const struct str none = {NULL, 0};
	struct session *s;
	struct err e;

	/* Whoever names nobody is the default agent, at this door as at the others. */
	if (agent_named(hf->tenants, none, none, &spec.owner, &e) < 0 ||
	    workspace_open(workspace, hf->shut, &spec.workspace, &e) < 0)
		return hf__fail(hf, &e);
	int code = session_open(hf->sessions, &spec, &s, &e);
	workspace_unref(spec.workspace);
	if (code < 0)
		return hf__fail(hf, &e);
	memcpy(ret_id, s->id.text, sizeof(s->id.text));
	return 0;
}

int
hf_session_end(struct hf *hf, const char *session)
{
	struct session *s = find_session(hf, session);

	if (!s)
		return E_NO_SESSION;
	gateway_end_session(&hf->gw, s);
	return 0;
}

int
hf_cancel_session(struct hf *hf, const char *session)
{
	struct session *s = find_session(hf, session);

	if (!s)
		return E_NO_SESSION;
	gateway_cancel_session(&hf->gw, s);
	return 0;
}

struct waiting {
	hf_result_fn done;
	void *arg;
};

static void
turn_over(struct turn *t, void *arg)
{
	struct waiting *waiting = arg;
	struct buf b = BUF_INIT(LIMIT_RESULT_BYTES * 2);
	struct jw w = jw(&b);

	turn_write_result(&w, t, 0);
	if (buf_z(&b))
		waiting->done(b.ptr, b.len, t->results[0].is_error, waiting->arg);
	else
		waiting->done(NULL, 0, true, waiting->arg);
	buf_done(&b);
	free(waiting);
}

int
hf_dispatch(struct hf *hf, const char *session, const char *tool, const char *input,
	    hf_result_fn done, void *arg)
{
	return hf_dispatch_once(hf, session, tool, input, NULL, NULL, done, arg);
}

int
hf_dispatch_once(struct hf *hf, const char *session, const char *tool, const char *input,
		 const char *key, const char *turn_group, hf_result_fn done, void *arg)
{
	struct session *s = find_session(hf, session);
	struct json_doc *doc = NULL;
	struct err bad = ERR_NONE, e;
	struct turn *turn;

	if (!s)
		return E_NO_SESSION;
	struct waiting *waiting = calloc(1, sizeof(*waiting));
	if (!waiting) {
		err_plain(&e, E_NOMEM);
		return hf__fail(hf, &e);
	}
	*waiting = (struct waiting){done, arg};
	json_parse(str_of(input), &json_door, &doc, &bad);
	struct call_spec call = {
	    .tool = str_of(tool),
	    .input_doc = doc,
	    .input = doc ? json_root(doc) : NULL,
	    .input_error = &bad,
	    .idempotency_key = str_of(key),
	};
	struct turn_spec spec = {.calls = &call,
				 .count = 1,
				 .group = str_of(turn_group),
				 .attended = true,
				 .done = turn_over,
				 .arg = waiting};
	int code = gateway_submit(&hf->gw, s, &spec, &turn, &e);
	json_doc_unref(doc);
	if (code < 0) {
		free(waiting);
		return hf__fail(hf, &e);
	}
	return 0;
}

int
hf_answer(struct hf *hf, const char *request, bool allow, const char *scope)
{
	struct answer a = {.allow = allow, .by = S("library")};
	enum question_state state;
	struct err e;
	int code = 0;

	if (scope && !grant_scope_parse(str_of(scope), &a.scope))
		code = err_set(
		    &e, E_VALIDATION,
		    "scope: '%s' is not one of once, session, prefix, workspace, workspace_prefix",
		    scope);
	else
		code = question_answer(hf->questions, str_of(request), &a, &state, &e);
	return code < 0 ? hf__fail(hf, &e) : 0;
}

struct subscriber {
	struct bus_reader reader;
	struct bus *bus;
	hf_event_fn each;
	void *arg;
	struct node node;
};

static void
pass_on(void *arg)
{
	struct subscriber *s = arg;
	uint64_t missed;

	for (const struct event *ev; (ev = bus_next(s->bus, &s->reader, &missed));)
		s->each(ev->json.ptr, ev->json.len, s->arg);
}

int
hf_subscribe(struct hf *hf, hf_event_fn each, void *arg)
{
	struct subscriber *s = calloc(1, sizeof(*s));

	if (!s)
		return err_plain(&hf->err, E_NOMEM);
	*s = (struct subscriber){.bus = hf->bus, .each = each, .arg = arg};
	s->reader.news = pass_on;
	s->reader.arg = s;
	bus_attach(hf->bus, &s->reader);
	list_push(&hf->subscribers, &s->node);
	return 0;
}

void
hf__forget_subscribers(struct hf *hf)
{
	LIST_EACH (&hf->subscribers, at) {
		struct subscriber *s = CONTAINER_OF(at, struct subscriber, node);
		bus_detach(s->bus, &s->reader);
		list_remove(at);
		free(s);
	}
}
