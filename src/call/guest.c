/*
 * guest.c - a stage of the program that holds the gateway, and what such a program sees of a call.
 *
 * A guest sees and may stop; it changes nothing. So wherever it stands, what a person was asked
 * about is what runs.
 */

#include <stdlib.h>

#include "call/stage.h"
#include "holdfast.h"

struct guest {
	struct stage stage;
	struct guest_stage from; /* its texts are copies */
};

static struct guest *
guest_of(const struct call *c)
{
	return c->gw->chain[c->stage].guest;
}

static enum verdict
judge(struct call *c, int verdict)
{
	const char *name = guest_of(c)->stage.name;
	/* One that said why it must not go on means it, whatever it returns. */
	bool refused = c->input && c->err.code < 0;

	if (verdict == HF_WAIT && guest_of(c)->from.wake && !refused) {
		call_move(c, PLACE_STAYING);
		return WAIT;
	}
	call_move(c, PLACE_MOVING);
	if (refused)
		return FAIL;
	if (verdict == HF_NEXT)
		return NEXT;
	if (verdict == HF_WAIT)
		return call_fail(c, E_EXECUTION, "the stage %s waits, and has no way to be woken",
				 name);
	return c->err.code < 0 ? FAIL
			       : call_fail(c, E_PERMISSION, "the stage %s refused this call", name);
}

static enum verdict
guest_enter(struct call *c)
{
	const struct guest_stage *g = &guest_of(c)->from;

	return g->enter ? judge(c, g->enter((struct hf_call *)c, g->arg)) : NEXT;
}

static enum verdict
guest_wake(struct call *c)
{
	const struct guest_stage *g = &guest_of(c)->from;

	if (!c->cancelled)
		return judge(c, g->wake((struct hf_call *)c, g->arg));
	call_move(c, PLACE_MOVING);
	return call_fail_stopped(c);
}

static void
guest_leave(struct call *c)
{
	const struct guest_stage *g = &guest_of(c)->from;

	if (g->leave)
		g->leave((struct hf_call *)c, g->arg);
}

void
guest_free(struct guest *g)
{
	if (!g)
		return;
	free((char *)g->stage.name);
	free((char *)g->stage.sentence);
	free(g);
}

struct guest *
guest_new(const struct guest_stage *from)
{
	struct guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	*g = (struct guest){
	    .stage = {strdup(from->name), strdup(from->sentence), guest_enter, guest_wake, NULL,
		      guest_leave},
	    .from = *from,
	};
	if (g->stage.name && g->stage.sentence)
		return g;
	guest_free(g);
	return NULL;
}

const struct stage *
guest_stage(const struct guest *g)
{
	return &g->stage;
}

/* What is seen of a call. */

const char *
call_input_text(struct call *c)
{
	if (!c->input)
		return NULL;
	if (c->input_text_of != c->input) {
		struct jw w = jw(&c->input_text);
		buf_reset(&c->input_text);
		jw_value(&w, c->input);
		c->input_text_of = c->input;
	}
	return buf_z(&c->input_text);
}

bool
call_is_error(const struct call *c)
{
	return c->err.code < 0 || (c->called_mono_us && !c->out.success);
}

/* Its text blocks, a line feed between them. */
static void
add_texts(struct buf *out, const struct buf *content)
{
	struct buf text = BUF_INIT(content->max + 2);
	struct json_doc *doc = NULL;

	buf_addf(&text, "[%.*s]", STR_ARG(buf_str(content)));
	if (!buf_failed(&text))
		(void)json_parse(buf_str(&text), &json_door, &doc, NULL);
	for (struct json_iter it = json_iter(doc ? json_root(doc) : NULL); json_next(&it);) {
		struct str part = json_str(json_get(it.value, S("text")));
		if (!part.ptr)
			continue;
		buf_addz(out, out->len ? "\n" : "");
		buf_add(out, part);
	}
	json_doc_unref(doc);
	buf_done(&text);
}

const char *
call_result_text(struct call *c)
{
	struct buf *out = &c->result_text;

	if (!c->returning)
		return NULL;
	buf_reset(out);
	if (c->err.code < 0)
		buf_add(out, c->wrong.ptr ? c->wrong : str_of(err_text(&c->err)));
	if (c->out.content.len)
		add_texts(out, &c->out.content);
	return buf_z(out);
}
