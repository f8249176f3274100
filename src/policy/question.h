/*
 * question.h - things a person is asked, and their answers.
 *
 * The first answer wins. A later one gets E_ANSWERED and learns the outcome; so does one
 * that comes after the time ran out or the call was cancelled. Answered questions are
 * remembered for that (LIMIT_ANSWERS_KEPT).
 */

#ifndef POLICY_QUESTION_H
#define POLICY_QUESTION_H

#include "base/ulid.h"
#include "json/write.h"
#include "loop/loop.h"
#include "policy/grant.h"

enum question_state { Q_OPEN, Q_ALLOWED, Q_DENIED, Q_EXPIRED, Q_WITHDRAWN };

struct questions;
struct question;

struct question_text {
	struct str session, turn, call, tool_use_id, tool;
	struct str subject;       /* what a remembered answer is for, if not the name */
	const char *side_effects; /* capability's name */
	struct str stranger;      /* the server it is of, where that is not trusted; or {NULL,0} */
	struct str workspace;
	struct str summary;       /* <= LIMIT_SUMMARY_CHARS */
	struct str modifications; /* JSON array of paths, or {NULL,0} */
	struct str command;       /* the whole command, or {NULL,0} */
	bool described;           /* it only tells what would be done: no prefix of it counts */
	struct str prefix;        /* that could be remembered, or {NULL,0} */
	struct str diff;          /* unified, or {NULL,0} */
	bool diff_cut;            /* it does not show all: only the input does */
	struct str input;         /* JSON: the arguments as they will run */
	struct str input_hash;    /* what the answer is bound to, */
	struct str image;      /* with the file as it was shown (provider/image.h), or {NULL,0} */
	struct str shown_hash; /* of all of this that is shown */
	bool alone;            /* each call is asked about: the answer can be `once` alone */
	bool again;            /* it was asked before, and then the file changed */
	struct str rule;       /* that made us ask */
	struct str prompt;     /* what a person is to know first, or {NULL,0} */
};

struct questions *questions_new(struct loop *l, struct grants *grants);
void questions_free(struct questions *q); /* all must be answered or withdrawn */

/*
 * Everything is copied. `changed` is called once, from the loop and never inside these functions,
 * when the question is no longer open - not after question_withdraw. E_LIMIT: too many are open.
 */
int question_open(struct questions *qs, const struct question_text *text, unsigned timeout_ms,
		  void (*changed)(struct question *q, void *arg), void *arg, struct question **ret,
		  struct err *e);

enum question_state question_state(const struct question *q);
const char *question_id(const struct question *q); /* a ULID */
const char *question_by(const struct question *q); /* who answered; "" while open */
enum grant_scope question_scope(const struct question *q);
int64_t question_answered_us(const struct question *q); /* wall clock; 0 while open */
int64_t question_expires_us(const struct question *q);  /* wall clock, for showing */

struct answer {
	bool allow;
	enum grant_scope scope;
	struct str prefix; /* for the prefix scopes, or {NULL,0} */
	struct str by;     /* "terminal", "dashboard", "rest", ... */
};
/*
 * E_NO_QUESTION, E_ANSWERED (the text says the outcome, *ret_state too), E_VALIDATION (the scope
 * does not fit; the question stays open). A remembered answer also settles other open questions it
 * covers.
 */
int question_answer(struct questions *qs, struct str id, const struct answer *a,
		    enum question_state *ret_state, struct err *e);

/* Answer the open ones that a remembered answer covers by now. */
void questions_recheck(struct questions *qs, struct str by);

/* The call no longer needs it; frees it, *q becomes NULL. No-op on NULL. */
void question_withdraw(struct questions *qs, struct question **q);

/* For lists: one open question as JSON (all of its text), or all open ones of a session ({NULL,0}:
 * all). */
void question_write(struct jw *w, const struct question *q);
void questions_write(struct jw *w, const struct questions *qs, struct str session);
/* Session and turn of a question, open or answered; E_NO_QUESTION. For routes that name them. */
int question_place(const struct questions *qs, struct str id, struct str *ret_session,
		   struct str *ret_turn);
/* What became of a question that is no longer open, and who answered ("" = nobody); E_NO_QUESTION.
 * by is borrowed until another question ends. */
int question_outcome(const struct questions *qs, struct str id, enum question_state *ret_state,
		     struct str *ret_by);
/* An id, or an unambiguous ending of one, of an open question; NULL = none. */
struct question *question_find(const struct questions *qs, struct str id);
size_t questions_count(const struct questions *qs); /* open */

#endif
