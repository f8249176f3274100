/* messages.c - what the user says, and what becomes of turns, through the public header. */

#include "daemon/hf.h"

static const enum supersede_action actions[] = {
    [HF_SUPERSEDE] = SUPERSEDE, [HF_ABSORB] = ABSORB,         [HF_FORCE_COMPLETE] = FORCE_COMPLETE,
    [HF_QUEUE] = QUEUE,         [HF_BY_DEFAULT] = BY_DEFAULT, [HF_LATER] = BY_ASKING,
};

/* Nobody is trusted to give only what the header has. */
static enum supersede_action
action_of(enum hf_supersede decision)
{
	return (size_t)decision < ARRAY_LEN(actions) ? actions[decision] : BY_DEFAULT;
}

static struct session *
find_session(struct hf *hf, const char *id)
{
	struct session *s = session_find(hf->sessions, str_of(id));

	if (!s)
		err_set(&hf->err, E_NO_SESSION, "there is no open session '%s'", id);
	return s;
}

int
hf_message(struct hf *hf, const char *session, const char *text, char ret_id[72])
{
	struct session *s = find_session(hf, session);
	struct message *m;
	struct err e;
	bool twin;

	if (!s)
		return E_NO_SESSION;
	if (session_say(s, (struct str){NULL, 0}, str_of(text), &m, &twin, &e) < 0)
		return hf__fail(hf, &e);
	if (ret_id)
		memcpy(ret_id, m->id, sizeof(m->id));
	return 0;
}

static enum supersede_action
ask(const struct supersede_ask *a, void *arg)
{
	const struct hf *hf = arg;

	return action_of(hf->decides(&(struct hf_supersede_ask){.session = a->session,
								.turn = a->turn,
								.tool = a->tool,
								.message_id = a->message_id,
								.message = a->message,
								.committed = a->committed,
								.effects = a->effects},
				     hf->decides_arg));
}

void
hf_on_supersede(struct hf *hf, hf_supersede_fn decide, void *arg)
{
	hf->decides = decide;
	hf->decides_arg = arg;
	hf->gw.supersede.asks = decide ? ask : NULL;
	hf->gw.supersede.asks_arg = hf;
}

int
hf_decide(struct hf *hf, const char *session, enum hf_supersede decision)
{
	struct session *s = find_session(hf, session);
	enum supersede_action action = action_of(decision);
	struct turn *t;
	struct err e;
	int code;

	if (!s)
		return E_NO_SESSION;
	if (action == BY_ASKING)
		code = err_set(&e, E_VALIDATION, "later is no decision");
	else
		code = gateway_decide(&hf->gw, s, (struct str){NULL, 0}, action, &t, &e);
	return code < 0 ? hf__fail(hf, &e) : 0;
}
