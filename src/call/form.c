/*
 * form.c - the open question of a call, shown as a form in the client that made it.
 *
 * It is one more place to answer in: the first answer counts, wherever it is given. Whoever put the
 * form away has seen the question and not said yes: that is a no, and the agent need not wait until
 * the question has expired. A client that could not show it has said nothing; and one that puts it
 * away sooner than anybody could has shown it to nobody: programs without a person at them
 * (`claude -p`, `codex exec`) do that with every form.
 */

#include <stdlib.h>

#include "base/clock.h"
#include "call/stage.h"
#include "text/plain.h"

#define FORM_LINES_BYTES (8 * KIB) /* of what is shown of it: terminals are small */

#define GLANCE_MS 1000 /* nobody has read a question and put it away in less */

struct form {
	struct inquiry inquiry;
	struct inquiry_item item;
	struct json_doc *params;
	struct call *call;
	uint64_t shown_ms; /* when */
	bool put_away;     /* and that was the answer */
};

static const struct choice {
	const char *word;
	bool allow;
	enum grant_scope scope;
} choices[] = {
    {"allow once", true, SCOPE_ONCE},
    {"allow for this session", true, SCOPE_SESSION},
    {"deny", false, SCOPE_ONCE},
};

/* What is said for a session would hold for others there, where it is shared. */
static bool
is_offered(const struct call *c, const struct choice *choice)
{
	return choice->scope == SCOPE_ONCE || (!c->session->shared && !c->alone);
}

/* Line by line, without what could move a cursor or hide. Arguments are one line, however long, and
 * what is behind its beginning is approved too: where something is missing, that is said. */
static void
add_lines(struct buf *out, struct str text, bool cut)
{
	size_t from = out->len;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		size_t used = out->len - from;
		buf_addc(out, '\n');
		buf_addz(out, str_starts(line, S(" ")) ? " " : "");
		if (used >= FORM_LINES_BYTES || plain_line(out, line, FORM_LINES_BYTES - used)) {
			cut = true;
			break;
		}
	}
	if (cut)
		buf_addz(out, "\n[more than fits here: `holdfast approve` shows all of it]");
}

static void
write_message(struct buf *out, const struct call *c, const struct question_text *t)
{
	buf_addf(out, "Allow %.*s? (%s", STR_ARG(t->tool), t->side_effects);
	if (c->tool->server.ptr)
		buf_addf(out, ", server %.*s%s", STR_ARG(c->tool->server),
			 t->stranger.ptr ? ", not trusted" : "");
	if (c->tool->requires_workspace)
		buf_addf(out, ", in %.*s", STR_ARG(t->workspace));
	if (t->alone)
		buf_addf(out, ", asked each time because of %.*s", STR_ARG(t->rule));
	buf_addz(out, ")");
	if (t->prompt.ptr)
		add_lines(out, t->prompt, false);
	if (t->again)
		buf_addz(out, "\n[the file has changed since you were asked; this is what would "
			      "change now]");
	if (t->command.ptr)
		add_lines(out, t->command, false);
	else if (t->diff.ptr)
		add_lines(out, t->diff, t->diff_cut);
	else
		add_lines(out, t->input, false);
}

static int
params_make(const struct call *c, const struct question_text *t, struct json_doc **ret)
{
	struct buf message = BUF_INIT(64 * KIB), params = BUF_INIT(512 * KIB);
	struct jw w = jw(&params);

	write_message(&message, c, t);
	jw_object(&w);
	jw_member_z(&w, "mode", "form");
	jw_member(&w, "message", buf_str(&message));
	jw_key(&w, "requestedSchema");
	jw_object(&w);
	jw_member_z(&w, "type", "object");
	jw_key(&w, "properties");
	jw_object(&w);
	jw_key(&w, "decision");
	jw_object(&w);
	jw_member_z(&w, "type", "string");
	jw_member_z(&w, "title", "Decision");
	jw_key(&w, "enum");
	jw_array(&w);
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		if (is_offered(c, &choices[i]))
			jw_z(&w, choices[i].word);
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	jw_key(&w, "required");
	jw_raw(&w, S("[\"decision\"]"));
	jw_end(&w);
	jw_end(&w);
	int code = buf_failed(&message) || buf_failed(&params)
		       ? E_NOMEM
		       : json_parse(buf_str(&params), &json_door, ret, NULL);
	buf_done(&message);
	buf_done(&params);
	return code;
}

/* False: none of the choices was taken, and nothing was declined. */
static bool
read_answer(const struct call *c, const struct json *answer, struct answer *ret)
{
	struct str action = json_str(json_get(answer, S("action")));
	struct str decision = json_str(json_pointer(answer, S("/content/decision")));

	*ret = (struct answer){.allow = false, .scope = SCOPE_ONCE};
	for (size_t i = 0; str_is(action, "accept") && i < ARRAY_LEN(choices); i++)
		if (is_offered(c, &choices[i]) && str_is(decision, choices[i].word)) {
			ret->allow = choices[i].allow;
			ret->scope = choices[i].scope;
			return true;
		}
	return str_is(action, "decline");
}

static bool
was_seen(const struct form *f)
{
	bool cancelled = str_is(json_str(json_get(f->item.answer, S("action"))), "cancel");

	return !cancelled || clock_mono_ms() - f->shown_ms >= GLANCE_MS;
}

static void
settled(struct inquiry *q)
{
	struct form *f = q->owner;
	struct call *c = f->call;
	struct answer a;
	enum question_state state;

	/* An answer that makes no sense is one; that there can be none is not. */
	if (!c->question || (!f->item.answer && f->item.err.code != E_VALIDATION) || !was_seen(f))
		return;
	bool chosen = read_answer(c, f->item.answer, &a);
	a.by = c->session->client[0] ? str_of(c->session->client) : S("client");
	/* It may have been answered elsewhere meanwhile: then that counts. */
	int code =
	    question_answer(c->gw->questions, str_of(question_id(c->question)), &a, &state, NULL);
	f->put_away = code == 0 && !chosen;
}

bool
form_put_away(const struct call *c)
{
	return c->form && c->form->put_away;
}

void
form_show(struct call *c, const struct question_text *t)
{
	struct form *f;

	if (!(behind_can(c->turn->behind) & CAN_ELICIT_FORM) || !(f = calloc(1, sizeof(*f))))
		return;
	c->form = f;
	f->call = c;
	if (params_make(c, t, &f->params) < 0)
		return;
	f->item = (struct inquiry_item){.key = S("approval"),
					.method = S("elicitation/create"),
					.params = json_root(f->params)};
	f->inquiry =
	    (struct inquiry){.items = &f->item, .count = 1, .settled = settled, .owner = f};
	f->shown_ms = clock_mono_ms();
	/* A client that cannot be asked is no trouble: there are other places to answer in. */
	(void)behind_ask(c->turn->behind, &f->inquiry, NULL);
}

void
form_drop(struct call *c)
{
	struct form *f = c->form;

	c->form = NULL;
	if (!f)
		return;
	inquiry_withdraw(&f->inquiry);
	json_doc_unref(f->item.answer_doc);
	json_doc_unref(f->params);
	free(f);
}
