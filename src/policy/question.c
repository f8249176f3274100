/*
 * question.c - open questions, their deadlines, and what became of them.
 *
 * A question is open, then settled once: by an answer, by an answer to another question that
 * was remembered, by its deadline, or by its call going away. A small record outlives it and
 * tells late answers what happened.
 */

#include "policy/question.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"

#define ID_BYTES 64 /* of a session or turn, with the NUL */
#define BY_BYTES 32

struct question {
	struct node node; /* in open or settled */
	struct questions *all;
	char id[ULID_LEN + 1];
	char by[BY_BYTES];
	enum question_state state;
	enum grant_scope scope;
	int64_t expires_us;
	int64_t answered_us;
	struct timer deadline;
	struct deferred tell;
	void (*changed)(struct question *q, void *arg);
	void *arg;
	struct question_text text; /* its strings stand behind */
	size_t bytes;
	char strings[];
};

/* What is left of a question. */
struct record {
	char id[ULID_LEN + 1]; /* "" = never used */
	char by[BY_BYTES];
	char session[ID_BYTES];
	char turn[ID_BYTES];
	enum question_state state;
};

struct questions {
	struct loop *loop;
	struct grants *grants;
	struct list open;
	struct list settled; /* not yet withdrawn by their calls */
	size_t bytes;        /* of the open ones */
	struct record *kept; /* a ring of LIMIT_ANSWERS_KEPT */
	size_t next;
};

/* The strings of a question's text, for copying all of them alike. */
static const size_t text_fields[] = {
    offsetof(struct question_text, session),    offsetof(struct question_text, turn),
    offsetof(struct question_text, call),       offsetof(struct question_text, tool_use_id),
    offsetof(struct question_text, tool),       offsetof(struct question_text, workspace),
    offsetof(struct question_text, summary),    offsetof(struct question_text, modifications),
    offsetof(struct question_text, command),    offsetof(struct question_text, prefix),
    offsetof(struct question_text, diff),       offsetof(struct question_text, input),
    offsetof(struct question_text, input_hash), offsetof(struct question_text, rule),
    offsetof(struct question_text, subject),    offsetof(struct question_text, image),
    offsetof(struct question_text, shown_hash), offsetof(struct question_text, prompt),
    offsetof(struct question_text, stranger),
};

static struct str *
text_field(struct question_text *t, size_t i)
{
	return (struct str *)(void *)((char *)t + text_fields[i]);
}

struct questions *
questions_new(struct loop *l, struct grants *grants)
{
	struct questions *qs = calloc(1, sizeof(*qs));

	if (qs)
		qs->kept = calloc(LIMIT_ANSWERS_KEPT, sizeof(*qs->kept));
	if (!qs || !qs->kept) {
		free(qs);
		return NULL;
	}
	qs->loop = l;
	qs->grants = grants;
	list_init(&qs->open);
	list_init(&qs->settled);
	return qs;
}

static void
question_free(struct question *q)
{
	list_remove(&q->node);
	timer_stop(q->all->loop, &q->deadline);
	defer_cancel(&q->tell);
	free(q);
}

void
questions_free(struct questions *qs)
{
	if (!qs)
		return;
	CHECK(qs->open.len == 0);
	LIST_EACH (&qs->settled, n)
		question_free(CONTAINER_OF(n, struct question, node));
	free(qs->kept);
	free(qs);
}

/* Settling */

static void
question_tell(void *arg)
{
	struct question *q = arg;

	q->changed(q, q->arg);
}

/* The one way out of Q_OPEN. */
static void
question_settle(struct question *q, enum question_state state, struct str by,
		enum grant_scope scope)
{
	struct questions *qs = q->all;
	struct record *r = &qs->kept[qs->next++ % LIMIT_ANSWERS_KEPT];

	CHECK(q->state == Q_OPEN && state != Q_OPEN);
	q->state = state;
	q->scope = scope;
	q->answered_us = clock_wall_us();
	snprintf(q->by, sizeof(q->by), "%.*s", STR_ARG(str_utf8_upto(by, sizeof(q->by) - 1)));
	timer_stop(qs->loop, &q->deadline);
	qs->bytes -= q->bytes;
	list_remove(&q->node);
	list_push(&qs->settled, &q->node);

	*r = (struct record){.state = state};
	memcpy(r->id, q->id, sizeof(r->id));
	memcpy(r->by, q->by, sizeof(r->by));
	snprintf(r->session, sizeof(r->session), "%.*s", STR_ARG(q->text.session));
	snprintf(r->turn, sizeof(r->turn), "%.*s", STR_ARG(q->text.turn));
}

static void
question_expire(void *arg)
{
	struct question *q = arg;

	question_settle(q, Q_EXPIRED, S(""), SCOPE_ONCE);
	defer(q->all->loop, &q->tell, question_tell, q);
}

static void
question_resolve(struct question *q, bool allow, struct str by, enum grant_scope scope)
{
	question_settle(q, allow ? Q_ALLOWED : Q_DENIED, by, scope);
	defer(q->all->loop, &q->tell, question_tell, q);
}

/* Opening */

static size_t
session_count(const struct questions *qs, struct str session)
{
	size_t count = 0;

	LIST_EACH (&qs->open, n)
		count += str_eq(CONTAINER_OF(n, struct question, node)->text.session, session);
	return count;
}

static struct question *
question_new(const struct question_text *text, size_t bytes)
{
	struct question *q = calloc(1, sizeof(*q) + bytes);
	if (!q)
		return NULL;
	char *at = q->strings;
	q->text = *text;
	for (size_t i = 0; i < ARRAY_LEN(text_fields); i++) {
		struct str *s = text_field(&q->text, i);
		if (!s->ptr)
			continue;
		memcpy(at, s->ptr, s->len);
		s->ptr = at;
		at += s->len;
	}
	q->bytes = bytes;
	return q;
}

static int
question_room(const struct questions *qs, const struct question_text *text, size_t bytes,
	      struct err *e)
{
	if (text->session.len >= ID_BYTES || text->turn.len >= ID_BYTES)
		return err_set(e, E_LIMIT, "the id of the session or turn is too long");
	if (qs->open.len >= LIMIT_QUESTIONS || qs->bytes + bytes > LIMIT_QUESTIONS_BYTES)
		return err_set(e, E_LIMIT, "too many questions are waiting for an answer");
	if (session_count(qs, text->session) >= LIMIT_QUESTIONS_PER_SESSION)
		return err_set(e, E_LIMIT,
			       "too many questions of this session are waiting for an answer");
	return 0;
}

int
question_open(struct questions *qs, const struct question_text *text, unsigned timeout_ms,
	      void (*changed)(struct question *q, void *arg), void *arg, struct question **ret,
	      struct err *e)
{
	struct question_text copy = *text;
	size_t bytes = 0;

	for (size_t i = 0; i < ARRAY_LEN(text_fields); i++)
		bytes += text_field(&copy, i)->len;
	int code = question_room(qs, text, bytes, e);
	if (code < 0)
		return code;
	struct question *q = question_new(text, bytes);
	if (!q)
		return err_plain(e, E_NOMEM);
	q->all = qs;
	q->changed = changed;
	q->arg = arg;
	q->expires_us = clock_wall_us() + (int64_t)timeout_ms * 1000;
	ulid_new(q->id);
	/* Without a deadline it could wait for ever. */
	if (timer_start(qs->loop, &q->deadline, timeout_ms, question_expire, q) < 0) {
		free(q);
		return err_plain(e, E_NOMEM);
	}
	qs->bytes += bytes;
	list_push(&qs->open, &q->node);
	*ret = q;
	return 0;
}

/* Answering */

static struct question *
open_find(const struct questions *qs, struct str id)
{
	LIST_EACH (&qs->open, n) {
		struct question *q = CONTAINER_OF(n, struct question, node);
		if (str_is(id, q->id))
			return q;
	}
	return NULL;
}

static const struct record *
record_find(const struct questions *qs, struct str id)
{
	for (size_t i = 0; id.len && i < LIMIT_ANSWERS_KEPT; i++)
		if (str_is(id, qs->kept[i].id))
			return &qs->kept[i];
	return NULL;
}

static int
late(const struct record *r, enum question_state *ret_state, struct err *e)
{
	if (ret_state)
		*ret_state = r->state;
	switch (r->state) {
	case Q_ALLOWED: return err_set(e, E_ANSWERED, "already allowed by %s", r->by);
	case Q_DENIED: return err_set(e, E_ANSWERED, "already denied by %s", r->by);
	case Q_EXPIRED: return err_set(e, E_ANSWERED, "the time to answer has run out");
	case Q_WITHDRAWN: return err_set(e, E_ANSWERED, "the call was cancelled before an answer");
	case Q_OPEN: break;
	}
	BUG("record of an open question");
}

static struct grant_ask
question_ask(const struct question *q)
{
	return (struct grant_ask){
	    .session = q->text.session,
	    .workspace = q->text.workspace,
	    .tool = q->text.subject.ptr ? q->text.subject : q->text.tool,
	    .command = q->text.described ? (struct str){NULL, 0} : q->text.command,
	};
}

/* What was remembered just now may answer others that were asked before. */
static void
others_resolve(struct questions *qs, struct str by, enum grant_scope scope)
{
	LIST_EACH (&qs->open, n) {
		struct question *q = CONTAINER_OF(n, struct question, node);
		struct grant_ask ask = question_ask(q);
		struct str rule;
		enum grant_answer answer = grant_find(qs->grants, &ask, &rule);
		if (answer == GRANT_DENY || (answer == GRANT_ALLOW && !q->text.alone))
			question_resolve(q, answer == GRANT_ALLOW, by, scope);
	}
}

void
questions_recheck(struct questions *qs, struct str by)
{
	others_resolve(qs, by, SCOPE_SESSION);
}

int
question_answer(struct questions *qs, struct str id, const struct answer *a,
		enum question_state *ret_state, struct err *e)
{
	struct question *q = open_find(qs, id);

	if (!q) {
		const struct record *r = record_find(qs, id);
		return r ? late(r, ret_state, e) : err_plain(e, E_NO_QUESTION);
	}
	if (q->text.alone && a->scope != SCOPE_ONCE)
		return err_set(e, E_VALIDATION,
			       "scope: this is asked each time (%.*s), so the answer can be for "
			       "once alone",
			       STR_ARG(q->text.rule));
	struct grant_ask ask = question_ask(q);
	int code = grant_add(qs->grants, &ask, a->scope, a->allow, a->prefix, a->by, NULL, e);
	if (code < 0)
		return code; /* still open: the answer can be given again with another scope */
	question_resolve(q, a->allow, a->by, a->scope);
	if (ret_state)
		*ret_state = q->state;
	if (a->scope != SCOPE_ONCE)
		others_resolve(qs, a->by, a->scope);
	return 0;
}

void
question_withdraw(struct questions *qs, struct question **qp)
{
	struct question *q = *qp;

	*qp = NULL;
	if (!q)
		return;
	CHECK(q->all == qs);
	if (q->state == Q_OPEN)
		question_settle(q, Q_WITHDRAWN, S(""), SCOPE_ONCE);
	question_free(q);
}

/* Looking */

enum question_state
question_state(const struct question *q)
{
	return q->state;
}

const char *
question_id(const struct question *q)
{
	return q->id;
}

const char *
question_by(const struct question *q)
{
	return q->by;
}

enum grant_scope
question_scope(const struct question *q)
{
	return q->scope;
}

int64_t
question_answered_us(const struct question *q)
{
	return q->answered_us;
}

int64_t
question_expires_us(const struct question *q)
{
	return q->expires_us;
}

static void
raw_member(struct jw *w, const char *key, struct str json)
{
	jw_key(w, key);
	if (json.ptr)
		jw_raw(w, json);
	else
		jw_null(w);
}

void
question_write(struct jw *w, const struct question *q)
{
	const struct question_text *t = &q->text;
	char time[CLOCK_TEXT];

	clock_text(q->expires_us, time);
	jw_object(w);
	jw_member_z(w, "confirmation_request_id", q->id);
	jw_member(w, "session_id", t->session);
	jw_member(w, "turn_id", t->turn);
	jw_member(w, "call_id", t->call);
	jw_member(w, "tool_use_id", t->tool_use_id);
	jw_member(w, "tool_name", t->tool);
	jw_member_z(w, "side_effects", t->side_effects);
	jw_member(w, "untrusted_server", t->stranger);
	jw_member(w, "confirmation_prompt", t->prompt);
	jw_member(w, "workspace_path", t->workspace);
	jw_member(w, "input_summary", t->summary);
	raw_member(w, "projected_modifications", t->modifications);
	jw_member(w, "command", t->command);
	jw_member(w, "prefix", t->prefix);
	jw_member(w, "diff", t->diff);
	jw_member_bool(w, "diff_cut", t->diff_cut);
	raw_member(w, "input", t->input);
	jw_member(w, "input_hash", t->input_hash);
	jw_member(w, "image", t->image);
	jw_member(w, "shown_hash", t->shown_hash);
	jw_member_bool(w, "once_only", t->alone);
	jw_member_bool(w, "asked_again", t->again);
	jw_member(w, "rule", t->rule);
	jw_member_z(w, "expires_at", time);
	jw_end(w);
}

void
questions_write(struct jw *w, const struct questions *qs, struct str session)
{
	jw_array(w);
	LIST_EACH (&qs->open, n) {
		const struct question *q = CONTAINER_OF(n, struct question, node);
		if (!session.ptr || str_eq(session, q->text.session))
			question_write(w, q);
	}
	jw_end(w);
}

int
question_place(const struct questions *qs, struct str id, struct str *ret_session,
	       struct str *ret_turn)
{
	const struct question *q = open_find(qs, id);
	const struct record *r = q ? NULL : record_find(qs, id);

	if (!q && !r)
		return E_NO_QUESTION;
	*ret_session = q ? q->text.session : str_of(r->session);
	*ret_turn = q ? q->text.turn : str_of(r->turn);
	return 0;
}

int
question_outcome(const struct questions *qs, struct str id, enum question_state *ret_state,
		 struct str *ret_by)
{
	const struct record *r = record_find(qs, id);

	if (!r)
		return E_NO_QUESTION;
	*ret_state = r->state;
	*ret_by = str_of(r->by);
	return 0;
}

/* People read ids off a screen: case does not matter, and the end is what differs. */
struct question *
question_find(const struct questions *qs, struct str id)
{
	struct question *found = NULL;

	LIST_EACH (&qs->open, n) {
		struct question *q = CONTAINER_OF(n, struct question, node);
		struct str whole = str_of(q->id);
		if (id.len == 0 || id.len > whole.len ||
		    !str_eq_nocase(str_from(whole, whole.len - id.len), id))
			continue;
		if (found)
			return NULL;
		found = q;
	}
	return found;
}

size_t
questions_count(const struct questions *qs)
{
	return qs->open.len;
}
